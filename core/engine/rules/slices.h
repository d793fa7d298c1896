/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An elastic job that grows gets a new Workload, a slice, that replaces the one before. Kueue's scheduler ends the old one
 * and gives the new one its cluster; the running job changes hands when the new slice's clone is admitted. Until then
 * nothing that is remote may go for the old one's end, and the new one must not take what is not its own yet.
 */
#ifndef MK_ENGINE_RULES_SLICES_H
#define MK_ENGINE_RULES_SLICES_H

#include "core/engine/rules/pass.h"

/* Does Finished with this reason, of the local workload or its clone, mean that a newer slice goes on? */
bool slices_is_replaced(const struct pass *p, mk_str reason);
/* A remote job of our owner is another slice's: has it become this one's? */
bool slices_inherits(const struct pass *p, const struct facts *job);
/* Is a newer slice there that has to take over what this one has? */
bool slices_is_inherited(const struct pass *p);
/* A slice with a cluster, whose clone is not admitted there yet. */
bool slices_waits(const struct pass *p);
/* ... sees to that clone; the job's status comes over meanwhile. */
void slices_wait(struct pass *p, struct clone *k);

#endif
