/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which server a copy of the job is, as this process saw it. The manager's objects do not tell
 * when they are needed most: an eviction clears status.clusterName before the job has stopped, and
 * a MultiKueueCluster that is deleted meanwhile takes along all that was known of its server. Such
 * a copy is not gone, but out of sight: it is waited for as at a lost worker.
 */
#ifndef MK_ENGINE_RULES_COPIED_H
#define MK_ENGINE_RULES_COPIED_H

#include "core/engine/rules/pass.h"

/*
 * At the end of a pass: notes whether a copy of the job is, or may be, on the clone's server.
 * 'copy': its record there, or NULL.
 */
void copied_note(struct pass *p, const struct clone *k, const struct record *copy);
/* May a copy be there, as far as its cluster was seen? */
bool copied_on(const struct pass *p, const struct clone *k);
/* The same while the jobs there cannot be seen, and until they count as lost. */
bool copied_unseen(struct pass *p, const struct clone *k);
/* The same on another server than the clone's, also on one that nothing names any more. */
bool copied_elsewhere(const struct pass *p, const struct clone *k);
/*
 * Is it known that the job was sent elsewhere in this round, or there since the cluster leads to
 * its server, or to that server under an earlier name? Then no copy is at another one to which
 * it led before.
 */
bool copied_only_since(const struct pass *p, const struct clone *k);
/* The server where the recorded winner won, as server_place(); 0: not known. */
uint64_t copied_won_place(struct pass *p);
/* Is the Workload's text, which alone can tell that, still to be read? */
bool copied_is_unread(struct pass *p);
/*
 * A client took the date of Ready, or the MultiKueueCluster was made anew after it; the name may
 * have led to several servers since there is quota, and either two of them show a copy, or one is
 * out of sight: none of the copies is a winner's yet, or a loser's.
 */
bool copied_is_unclear(struct pass *p);
/* Is it so because a server is out of sight, which does not count as lost yet? */
bool copied_may_be_unseen(struct pass *p);
/*
 * 'k' is to be recorded as the winner, for the first time or again: notes its server. The date of
 * Ready that tells it, wall ms.
 */
int64_t copied_wins(struct pass *p, const struct clone *k);
/* Does the clone's cluster lead there? 1, -1: to another server, 0: not known. */
int copied_won_there(struct pass *p, const struct clone *k);
/* Does it lead where this process saw the winner, whose name an eviction has taken away since? */
bool copied_wound_there(const struct pass *p, const struct clone *k);
/*
 * The recorded winner's MultiKueueCluster is gone, perhaps because it was renamed, or leads
 * elsewhere, perhaps because two were swapped: the winner's clone under another name, or NULL.
 */
struct clone *copied_winner(struct pass *p);
/* Did a round end that may have left a copy, of which this process has seen none? */
bool copied_in_round_before(const struct pass *p);
/*
 * Was the Workload made anew while the job ran, and has this process seen no copy? The job's status
 * says that it runs; where that is not the job's own, the Workload is younger than the job.
 */
bool copied_by_workload_before(const struct pass *p);
/* Would the job say so after its Workload has gone, while this process has seen the copy? */
bool copied_is_told_by_job(const struct pass *p);
/*
 * Before the win: the same as copied_by_workload_before, or did a round end before this process
 * began, or perhaps a Workload before this one, and has it not seen the cluster since? A copy may
 * be there, which Kueue there may start again.
 */
bool copied_before(const struct pass *p, const struct cluster *c);
/*
 * Until when it is waited for that may run on a server to which 'c' led before (monotonic ms);
 * INT64_MIN: there is none.
 */
int64_t copied_behind_until(const struct pass *p, const struct cluster *c);
/*
 * Until when a copy is waited for that was seen on a server to which no MultiKueueCluster leads any
 * more (monotonic ms); INT64_MIN: there is none, or such a server is in sight again.
 */
int64_t copied_unnamed_until(const struct pass *p);
/* The same as a question: if so, an Event reports it, and the pass comes again at the end. */
bool copied_waits(struct pass *p);
/* In words for users, with the date of its end. */
mk_str copied_unnamed_words(const struct pass *p);

/* state.c: the cluster that 'wc' is about has been forgotten. */
void copied_lose(struct engine *e, struct wl *w, const struct wl_cluster *wc);

#endif
