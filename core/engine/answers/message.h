/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message of a check that stays Pending: why no worker has taken the Workload, cluster by
 * cluster, what holds it before that, or where its job ends after an eviction; for who asks
 * `kubectl describe workload`. It is written when the Workload has waited for the same thing for
 * 30 s, or at once when a cluster is left out; again only when it has another text, and ever more
 * seldom: at most MESSAGE_WRITES_MAX times in an hour for a Workload that waits. One that says what
 * is so no more is not emptied before those 30 s, but says all.
 */
#ifndef MK_ENGINE_ANSWERS_MESSAGE_H
#define MK_ENGINE_ANSWERS_MESSAGE_H

#include "core/engine/rules/pass.h"

enum { MESSAGE_AFTER_MS = 30 * 1000, MESSAGE_WRITES_MAX = 12 };

/* Brings the message up to date, when its time has come. For a pass whose race goes on. */
void message_explain(struct pass *p);
/* The same for a slice that waits on the cluster of 'k', where its job runs. */
void message_growing(struct pass *p, struct clone *k);
/* The same for a pass that asks no worker, because of another check, a plugin, a missing object. */
void message_held(struct pass *p);
/* No check of ours asks for it, and nothing has begun: an Event tells that to who waits. */
void message_unasked(struct pass *p);
/* The manager runs it: the check, which waits for a place, says that there will be none. */
void message_here(struct pass *p);
/*
 * The same for a Workload that Kueue has evicted, and whose job has not stopped. A message that
 * still names the winner stays: winding.c needs it.
 */
void message_ending(struct pass *p);
/*
 * The write of a message under 'rule' was refused, or its outcome is not known: it may be sent
 * again as soon as the object may be written. Other rules: nothing happens.
 */
void message_unwritten(struct wl *w, enum rule rule);
/* Each worker of the config and its reason, "east: has no quota: ..."; in the out arena. */
mk_str message_reasons(struct pass *p);
/* That the Workload fits on no worker, and why; in the out arena. See rules/unplaceable.h. */
mk_str message_unplaceable(struct pass *p);
/*
 * The job has ended, and the manager refuses that, or does not show its jobs: for as long as that
 * is so, the message says it, in its words. It names the winner that is on record, or that it named
 * before, but not where a slice waits: that has none yet.
 */
void message_owed(struct pass *p);

/*
 * The check is Ready: its message adds to the winner what keeps the job, or a change of it, away
 * from there, for as long as it does.
 */
void message_won(struct pass *p, struct clone *k);

#endif
