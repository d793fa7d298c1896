/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the win: nominate clusters, create clones there, and record the first clone that we see
 * Admitted. Nominating and cloning go in parallel. The win is one write, and comes after the
 * nomination was acknowledged, because Kueue's webhook demands it.
 */
#ifndef MK_ENGINE_RULES_RACE_H
#define MK_ENGINE_RULES_RACE_H

#include "core/engine/rules/pass.h"

/* One pass of a Workload with quota, a Pending check and no recorded cluster. */
void race_pass(struct pass *p);
/* Was the clone made from the local spec as it is now? */
bool race_in_sync(struct pass *p, const struct clone *k);
/*
 * Does the clone differ although this process made it from the local spec as it is now? A webhook
 * or client of the worker has changed it. For a clone that is not in sync.
 */
bool race_is_changed(const struct pass *p, const struct clone *k);
/*
 * A copy that has ended, on a cluster other than the one that is thought of: of an earlier round,
 * when its cluster was lost, or on the winner's server under another name. Its end counts, and the
 * job does not run again. NULL: there is none.
 */
struct clone *race_ended_copy(struct pass *p);
/* Creates the clone on the cluster that is decided already, when it may be created. */
void race_clone_pinned(struct pass *p, struct clone *k);

#endif
