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
 *
 * A ClusterQueue whose quota another part writes (engine_options, 'has_owner') is left alone; its
 * condition says so.
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
/* Since when a cluster's queues cannot be seen, monotonic ms; INT64_MAX: they can. */
int64_t autoquota_blind_since(const struct engine *e, const struct cluster *c);
/* Were they seen by this process, so that what was seen last counts? */
bool autoquota_was_seen(const struct cluster *c);
/* Queues the pass in a second: an object changed, and others may follow; only with the gate. */
void autoquota_later(struct engine *e);
/* Queues it at once: a list is complete. So a process that lives for less gets there, too. */
void autoquota_soon(struct engine *e);

#endif
