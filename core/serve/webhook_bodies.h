/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What webhook_objects.h reads in and writes to its three objects: pure functions of what was read.
 * Results live in the arena; NULL also when it is exhausted (arena_failed tells).
 */
#ifndef MK_SERVE_WEBHOOK_BODIES_H
#define MK_SERVE_WEBHOOK_BODIES_H

#include "core/admit/queues.h"
#include "core/serve/serving_certs.h"

#define WEBHOOK_CONFIGURATION "multikueue-mutating-webhook-configuration"
#define WEBHOOK_VALIDATING "multikueue-validating-webhook-configuration"
#define WEBHOOK_TABLE "multikueue-queues"

/* Is the Secret another program's: does it have data, and not our label? */
bool webhook_bodies_foreign(const struct json *secret);

/*
 * A Secret that holds 'certs': to be created when 'rv' is "", else a merge patch of that version.
 */
struct json *webhook_bodies_secret(struct arena *a, mk_str name, mk_str rv,
				   const struct serving_certs *certs);

/* Overwrites the data of a Secret that is not needed any more. NULL is fine. */
void webhook_bodies_wipe(const struct json *secret);

/*
 * The caBundle (base64) that all webhooks of a configuration have, or "" when they differ or have
 * none; or that of an APIService. Borrowed.
 */
mk_str webhook_bodies_trusted(const struct json *trusting);

/*
 * A server-side apply that gives every webhook of a configuration, or an APIService, the caBundle
 * 'bundle' (base64).
 */
struct json *webhook_bodies_bundle(struct arena *a, const struct json *trusting, mk_str bundle);

/*
 * A merge patch that makes a ConfigMap's data the table of queues; NULL when it is that already. A
 * long one is cut: the next one does the rest.
 */
struct json *webhook_bodies_table(struct arena *a, const struct admit_queues *q,
				  const struct json *config_map);

#endif
