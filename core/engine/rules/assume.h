/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: what clones ask for that the status of their ClusterQueues does not show yet. A claim
 * counts from the create of a clone until the clone is gone, or has quota that its queue's status
 * shows; without it a burst of Workloads would see the same free quota again and again. A restart
 * forgets all claims: the next passes make those of the clones that they meet
 * (docs/decisions/0093). Kept only while a dispatcher wants facts.
 */
#ifndef MK_ENGINE_RULES_ASSUME_H
#define MK_ENGINE_RULES_ASSUME_H

#include "core/engine/rules/pass.h"

struct claim;

/* A claim counts no longer than this after its clone got quota. */
enum { ASSUME_SHOWN_MS = 10 * 1000 };

/*
 * Counts what the Workload asks for against the queue that its clone 'k' waits in, unless it
 * counts, or is shown there. The clone was sent or seen.
 */
void assume_clone(struct pass *p, const struct clone *k);
/* The clone's record has changed. */
void assume_saw(struct engine *e, struct record *r);
/* The worker's ClusterQueue has changed: what it shows does not count any more. */
void assume_queue(struct engine *e, const struct record *cq);
/* The record is being freed. */
void assume_drop(struct record *r);

/*
 * What the clones of other Workloads ask for in that ClusterQueue and it does not show, as a list
 * of {"name", "amount"}; in the scratch arena.
 */
struct json *assume_list(struct pass *p, const struct clone *k, mk_str queue);
/* The same of one resource, those of all Workloads. */
int64_t assume_amount(const struct engine *e, const struct cluster *c, mk_str queue,
		      const char *resource);
/*
 * For how long the Workload of ours has had quota on the manager that waits there for quota, has
 * had it for the longest and no lower priority; 0: none has had it for longer than this one.
 */
int64_t assume_elder_ms(struct pass *p, const struct clone *k, mk_str queue);

#endif
