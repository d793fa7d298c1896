/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clone is Finished: the job's last status is copied first, then the local Workload turns
 * Finished, and only then are clone and job removed.
 */
#ifndef MK_ENGINE_RULES_FINISH_H
#define MK_ENGINE_RULES_FINISH_H

#include "core/engine/rules/pass.h"

/*
 * Copies the last status, then writes Finished in the words of the clone, if it has some, as far as
 * each may be done now.
 */
void finish_local(struct pass *p, struct clone *k);
/*
 * The local Workload is Finished: is there a copy whose end the local job has not? It is written,
 * and until then no copy is removed: with it the end would be lost.
 */
bool finish_owes(struct pass *p);
/*
 * Has the local job each end that a copy of it was seen to have, wherever that is and whether it
 * can be seen now? If not, it is being written.
 */
bool finish_is_told(struct pass *p);
/*
 * Was an end seen of a copy or clone that is gone, and has the manager not got it? It is being
 * written then, and the pass ends.
 */
bool finish_seen(struct pass *p);
/* Frees what was kept for that, when no longer needed. */
void finish_forget(struct pass *p);
/* Is such an end kept of an object there? The watch that showed it stays open. */
bool finish_keeps(const struct pass *p, const struct clone *k);
/*
 * May the copy there be removed, as far as its end goes? One that was seen to have ended stays
 * until the local job has that end, whatever rule wants to remove it: it is being written then.
 */
bool finish_lets_go(struct pass *p, struct clone *k);
/* Would the local job have to learn of it if its copy there, which runs, came to an end now? */
bool finish_would_owe(struct pass *p, const struct clone *k);
/*
 * Has the job ended there, in this round, as its copy says, or its clone? It is not run again: its
 * end comes home by finish_local.
 */
bool finish_has_ended(struct pass *p, const struct clone *k);
/*
 * The first clone with such a job: of an earlier round, when its cluster was lost, or on the
 * winner's server under another name; or one that was seen to be Finished, whose job is out of
 * sight or gone. NULL: there is none.
 */
struct clone *finish_ended(struct pass *p);
/* Handles a Finished clone: the end of the Workload, or a new try. */
void finish_remotely(struct pass *p, struct clone *k);
/*
 * Does the clone's Finished tell how the job ended? Not when the job was removed or changed on the
 * worker.
 */
bool finish_tells_the_end(const struct clone *k);

#endif
