/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kueue's own hierarchy: Cohorts and ClusterQueues with their parents and limits, as they stand in
 * a cluster or as compile.h makes them.
 */
#ifndef MK_QUOTA_API_LIMITS_H
#define MK_QUOTA_API_LIMITS_H

#include "core/quota/api.h"

struct api_limited {
	struct json *json; /* borrowed */
	bool is_queue;     /* a ClusterQueue, not a Cohort */
	mk_str key;        /* "Cohort/a", "ClusterQueue/a" */
	mk_str name;
	mk_str cohort;            /* above it; empty: none */
	size_t up;                /* its index; API_NONE also when there is no such Cohort */
	size_t depth;             /* Cohorts above it */
	struct api_quotas quotas; /* spec.resourceGroups */
};

struct api_limits {
	struct api_limited *v;
	size_t n;
	struct map index; /* key to struct api_limited */
};

/*
 * Reads 'n' Cohorts and ClusterQueues. Everything in 'a'. ERR_INVALID: no such object, the same one
 * twice, an amount that cannot be read, Cohorts in a cycle; ERR_NO_MEMORY.
 */
enum mk_code api_limits_read(struct arena *a, struct json *const *objects, size_t n,
			     struct api_limits **ret, struct mk_err *err);

/* The object of that key, or NULL. */
const struct api_limited *api_limits_get(const struct api_limits *l, mk_str key);

#endif
