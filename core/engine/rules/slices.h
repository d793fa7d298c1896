/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An elastic job that grows gets a new Workload, a slice, which replaces the one before. Kueue's
 * scheduler ends the old slice and gives the new one its cluster. The running job belongs to the
 * new slice once that slice's clone is admitted. Until then the end of the old slice must not
 * remove remote objects, and the new slice must not take what is not its own yet.
 */
#ifndef MK_ENGINE_RULES_SLICES_H
#define MK_ENGINE_RULES_SLICES_H

#include "core/engine/rules/pass.h"

/*
 * Does Finished with this reason, of the local Workload or its clone, mean that a newer slice
 * replaces it?
 */
bool slices_is_replaced(const struct pass *p, mk_str reason);
/* A remote job of the same owner names another slice: does it belong to this one now? */
bool slices_inherits(const struct pass *p, const struct facts *job);
/*
 * The local Workload was replaced while it held quota, or is gone: does a slice live that takes
 * over its remote objects?
 */
bool slices_is_inherited(const struct pass *p);
/*
 * Is it a copy of the job for which another Workload stands, which this one does not replace? It
 * goes with that one.
 */
bool slices_is_other(const struct pass *p, const struct record *job);
/* For a Workload with a recorded cluster: is it a slice whose check is still Pending? */
bool slices_waits(const struct pass *p);
/* Brings that slice's clone up to date, and copies the job's status meanwhile. */
void slices_wait(struct pass *p, struct clone *k);
/* The clone as which 'job' runs there until that slice is admitted; NULL: it is not there. */
struct record *slices_running(const struct pass *p, const struct clone *k,
			      const struct record *job);
/*
 * 'k' with the clone as which the run went that a slice waits to take over, if that has ended there
 * as the clone says, which may be out of sight now; in the scratch arena. NULL: it has not.
 */
struct clone *slices_run_ended(const struct pass *p, const struct clone *k);
/*
 * For a Workload that was replaced: keeps the clones as which a copy runs, or where it had won, and
 * no others. When such a clone was evicted, the slice that waits must know.
 */
void slices_pass_on(struct pass *p);
/* This Workload's round is over, and what it replaced has nothing to hand on any more. */
void slices_over(struct pass *p);

#endif
