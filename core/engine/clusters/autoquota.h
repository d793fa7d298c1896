/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quota automation (KEP-9988, gate MultiKueueManagerQuotaAutomation). A ClusterQueue of the manager
 * gets as quota the sum of the quotas of those ClusterQueues of the workers to which LocalQueues of
 * the same names lead, and a condition that says so. One pass looks at all ClusterQueues of the
 * manager; a change queues it a second later.
 *
 * A worker that is out of reach counts with its last known quotas until it has been lost for
 * workerLostTimeout. If this process has never seen the worker's queues, its share is unknown:
 * until then the quota may grow and not shrink. docs/decisions/0045.
 */
#ifndef MK_ENGINE_CLUSTERS_AUTOQUOTA_H
#define MK_ENGINE_CLUSTERS_AUTOQUOTA_H

#include "core/engine/state.h"

/*
 * Brings the quotas and conditions of the manager's ClusterQueues up to date; only with the gate.
 */
void autoquota_pass(struct engine *e);
/*
 * An object of table 't' changed from 'old' to 'new' (NULL: it was, or is, not there): queues the
 * pass if quotas depend on it.
 */
void autoquota_saw(struct engine *e, const struct table *t, const struct facts *old,
		   const struct facts *new);
/* Queues the pass in a second; only with the gate. */
void autoquota_later(struct engine *e);

#endif
