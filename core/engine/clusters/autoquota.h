/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quota automation (KEP-9988, gate MultiKueueManagerQuotaAutomation): a ClusterQueue of the manager gets as quota what
 * the ClusterQueues of the workers have that its LocalQueues lead to, and a condition that says so. One pass looks at all
 * queues of the manager; whatever changes brings it a second later.
 *
 * A worker that cannot be seen counts with what was seen last until it is lost for workerLostTimeout. When this process
 * has never seen it, its share is not known: until then the quota may grow and not shrink. docs/decisions/0045.
 */
#ifndef MK_ENGINE_CLUSTERS_AUTOQUOTA_H
#define MK_ENGINE_CLUSTERS_AUTOQUOTA_H

#include "core/engine/state.h"

/* Sees to the quotas of the manager's ClusterQueues; only with the gate. */
void autoquota_pass(struct engine *e);
/* An object of a table changed: 'old' or 'new' NULL = it was or is not there. */
void autoquota_saw(struct engine *e, const struct table *t, const struct facts *old,
		   const struct facts *new);
/* Has the pass come, in a second. */
void autoquota_later(struct engine *e);

#endif
