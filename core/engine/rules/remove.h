/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes remote objects of ours. A delete names the uid just observed. The job is deleted first,
 * and the clone only when the job is gone or being deleted: a clone without a job does no harm, a
 * job without a clone is hard to find.
 */
#ifndef MK_ENGINE_RULES_REMOVE_H
#define MK_ENGINE_RULES_REMOVE_H

#include "core/engine/rules/pass.h"

/*
 * Deletes job and clone of ours on the cluster, the job first. True when nothing of ours is left
 * there.
 */
bool remove_remote(struct pass *p, struct clone *k, enum rule rule);
/* The same on all clusters. */
void remove_all(struct pass *p, enum rule rule);
/* The same for all clones but 'keep' (NULL: all). */
void remove_losers(struct pass *p, const struct clone *keep);
/*
 * The same while the winner is not in sight: a clone with a job, or that may have one, may be the
 * winner's under another name, and stays, unless its server is known to be another one.
 */
void remove_jobless(struct pass *p, const struct clone *keep);
/* Deletes a remote job of ours that was not made for the local job. */
void remove_copy(struct pass *p, struct record *r, enum rule rule);

/*
 * May another cluster be given the job, although the worker refuses to delete a copy there? So it
 * is after workerLostTimeout, when that copy is stopped and nothing there will start it again: its
 * clone is gone, or inactive and without quota. A copy that runs is never passed over.
 */
bool remove_is_passed_over(struct pass *p, struct clone *k);

#endif
