/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A winner whose clone or job is out of sight: its worker is out of reach, leads to another API
 * server, or has no MultiKueueCluster any more. The check still says where the Workload was
 * admitted, as in Kueue; an Event reports what is out of sight, and when the job counts as lost.
 */
#ifndef MK_ENGINE_RULES_HIDDEN_H
#define MK_ENGINE_RULES_HIDDEN_H

#include "core/engine/rules/pass.h"

/*
 * Retry, when the winner's clone or job could not be seen there since 'since' for
 * workerLostTimeout, unless another cluster shows that the job has ended. INT64_MAX: it will be
 * seen soon, and that queues the pass.
 */
void hidden_lost(struct pass *p, const struct clone *k, int64_t since, enum rule rule,
		 mk_str words);
/* The same, where an Event tells that objects of the kind cannot be seen on the winner's worker. */
void hidden_winner(struct pass *p, const struct clone *k, uint16_t kind, enum rule rule,
		   mk_str words);
/*
 * The name leads to another server since 'since' than when the job was sent there. The job is not
 * gone, but out of reach: it is waited for as at a lost worker. False: that has an end now.
 */
bool hidden_elsewhere(struct pass *p, struct clone *k, int64_t since);
/* The MultiKueueCluster of that name, the winner, is gone. */
void hidden_cluster(struct pass *p, mk_str name);

#endif
