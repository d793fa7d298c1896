/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which Kueue stands beside the daemon, by the schema of its Workloads that the manager's API
 * server serves. It tells minor versions apart, not patch releases. No I/O.
 */
#ifndef MK_SERVE_KUEUE_SEEN_H
#define MK_SERVE_KUEUE_SEEN_H

#include "core/base/json.h"

/* Where an API server serves it, for each account. */
#define KUEUE_SEEN_PATH "/openapi/v3/apis/kueue.x-k8s.io/v1beta2"

/* All of it counts at 'minor' of Kueue 0.minor. */
struct kueue_view {
	int takes;  /* what the daemon takes it for */
	bool named; /* ... because multiKueue.kueueVersion says so; else by default */
	int seems;  /* what it seems to be, one of kueue_seen_in */
};

/*
 * What the OpenAPI document of Kueue's API group is of: 17 (or before), 18, 19, 20 (or later). 0:
 * nothing in it tells, whatever it is; NULL is fine.
 */
int kueue_seen_in(const struct json *openapi);

/* "0.19", "0.17 or before", "0.20 or later", "not known". */
const char *kueue_seen_text(int minor);

/* It seems to be another one than the daemon takes it for. */
bool kueue_seen_differs(const struct kueue_view *v);

#endif
