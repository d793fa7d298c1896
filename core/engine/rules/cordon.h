/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that is taken out of use, by the annotation multikueued.io/cordon of its
 * MultiKueueCluster. Cordon: no Workload begins there any more; what has begun goes on. Evict: what
 * runs there is queued again, too. The cluster stays connected. docs/decisions/0085.
 */
#ifndef MK_ENGINE_RULES_CORDON_H
#define MK_ENGINE_RULES_CORDON_H

#include "core/engine/rules/pass.h"

/*
 * Takes over what 'r', the cluster's MultiKueueCluster, says. A change queues the Workloads that it
 * concerns.
 */
void cordon_see(struct engine *e, struct cluster *c, const struct record *r);
/*
 * Does its cordon keep the Workload from that cluster? Not the winner's, nor that of another
 * Workload of the same object, nor where a copy of the job runs that an earlier round left: that
 * work goes on. With Evict, only the copy of an ended job counts.
 */
bool cordon_bars(const struct pass *p, const struct clone *k);
/*
 * The winner's cluster is drained: the check turns Retry. False: not to be drained, or the job has
 * ended there and is reported as ever.
 */
bool cordon_drains(struct pass *p, struct clone *k);
/* "is cordoned: <reason>", or "is being drained: <reason>"; in the scratch arena. */
mk_str cordon_words(struct engine *e, const struct cluster *c);

#endif
