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
/* Creates the clone on the cluster that is decided already, when it may be created. */
void race_clone_pinned(struct pass *p, struct clone *k);

#endif
