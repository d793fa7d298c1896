/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kueue's own hierarchies as trees: Cohorts, ClusterQueues in them and ClusterQueues in none, as
 * far as no queue tree of the cluster says more. Limits mean what they mean in Kueue: a node's
 * minimum is what it and those below it have as nominal quota, its maximum that and its
 * borrowingLimit, and what its lendingLimit keeps is its reserve. Who is next and who is preempted
 * is Kueue's.
 */
#ifndef MK_CLI_TREE_COHORTS_H
#define MK_CLI_TREE_COHORTS_H

#include "core/cli/tree/world.h"

/*
 * Appends a model to w->models for each hierarchy of w->in.limits that is no part of a tree, and
 * its origin to w->origins. A Cohort is node "cohort/<name>", or when it was compiled the queue
 * that it stands for. What cannot be taken becomes a note. False: out of memory.
 */
bool cohorts_add(struct cli *c, struct world *w);

#endif
