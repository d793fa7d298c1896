/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a worker's queues for dispatchers with MK_WANTS_FACTS (sdk/multikueue/dispatcher.h).
 */
#ifndef MK_ENGINE_RULES_FACTS_QUEUE_H
#define MK_ENGINE_RULES_FACTS_QUEUE_H

#include "core/engine/rules/card.h"
#include "core/engine/rules/pass.h"

/*
 * Opens the watches that facts need. True: their lists are under way; the pass comes again when
 * they are complete.
 */
bool facts_awaited(struct pass *p);
/*
 * The ClusterQueue on the cluster that a Workload of 'local_queue' waits in; NULL: not
 * known.
 */
const struct record *facts_queue_record(const struct pass *p, const struct cluster *c,
					mk_str local_queue);
/* Adds {"name", "amount"} to 'list'. */
void facts_add_amount(struct arena *a, struct json *list, mk_str name, int64_t amount);
/*
 * The facts of the clone's cluster for a Workload that waits in 'cq', in the form of dispatcher.h;
 * 'card' is that of the cluster with this queue. In the scratch arena.
 */
struct json *facts_of_cluster(struct pass *p, const struct clone *k, const struct record *cq,
			      const struct card *card);
/* The sum of the requests of all pods of 'wl'; in the scratch arena. NULL: out of memory. */
struct json *facts_requests(struct pass *p, const struct json *wl);

#endif
