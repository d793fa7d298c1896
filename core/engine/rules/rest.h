/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster on which a round of a Workload ended with Retry, or a clone came to an end, rests for
 * this Workload: 1 s, doubled each time, at most 5 minutes. A run of ten seconds at least that
 * lasted longer than the rest before it begins anew. One that refuses the clone, or on which
 * another client deletes copies, rests from 5 s. Other clusters are tried meanwhile; where there is
 * no other, the rest is the date of the next try. An Event reports each case that lasts, and the
 * message of the Pending check does (answers/message.c). docs/decisions/0075, 0115.
 */
#ifndef MK_ENGINE_RULES_REST_H
#define MK_ENGINE_RULES_REST_H

#include "core/engine/rules/pass.h"

/*
 * Leaves the cluster out for a while, each time longer. 'why' is told to users; "" nothing is. When
 * it is 'quiet' it is no news: only a long wait has it in the check's message.
 */
void rest_skip(struct pass *p, struct wl_cluster *wc, mk_str why, bool quiet);
/*
 * A Retry was sent: the place that the round ended on rests. 'k': the clone there; NULL: none is
 * seen.
 */
void rest_retried(struct pass *p, const struct clone *k, enum rule rule);
/* The manager has the Retry: rests are counted from then, however long the write took. */
void rest_seen(struct pass *p);
/* How the clone, which is Finished or evicted, came to its end; in the scratch arena. */
mk_str rest_end_words(struct pass *p, const struct clone *k);
/* The cluster, under any name of its server, rests until then (monotonic ms); 0 it does not. */
int64_t rest_until(const struct pass *p, const struct cluster *c);
/* Does a cluster rest after an eviction, so that room there ends the rest? */
bool rest_awaits_room(const struct pass *p);
/* Ends the rest of clusters where room came free. */
void rest_look_for_room(struct pass *p);
/* The clone is present: its refusals count from the first again. */
void rest_saw(struct pass *p, const struct clone *k, struct wl_cluster *wc);
/* Before the win, and the clone is absent: counts a removal if another client deleted it. */
void rest_if_vanished(struct pass *p, const struct clone *k);
/*
 * Retry, because another client removed the winner's copy, "job" or "Workload". 'told': the
 * worker's Kueue says so.
 */
void rest_copy_gone(struct pass *p, const struct clone *k, const char *what, bool told);
/* Words for a cluster whose webhooks or clients change each clone. */
mk_str rest_changed(struct pass *p, const struct clone *k);
/*
 * Why the cluster is left out, or "". A refusal counts until the cluster takes the Workload, a
 * removal while the cluster rests. Borrowed until the notes about the cluster change.
 */
mk_str rest_hurdle(const struct pass *p, const struct clone *k);
/* The same, "" when it is no news. */
mk_str rest_news(const struct pass *p, const struct clone *k);
/*
 * The worker refused to create the clone, with message 'words': the cluster rests for the Workload.
 */
void rest_refused(struct engine *e, const struct record *r, mk_str words);

#endif
