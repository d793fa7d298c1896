/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multiKueue.placementTimeout: a Workload with quota on the manager that no worker admits in that
 * time gives the quota back, by Retry, and comes back after a pause that grows with each time.
 *
 * The time counts from the QuotaReserved condition, and not before the other checks were Ready; it
 * is kept by the API objects alone. So is the pause: how long it is follows from the check's
 * retryCount, since when it lasts from the Evicted condition. It is written as
 * status.requeueState.requeueAt, when Kueue has evicted the Workload and has not queued it again
 * yet, and taken back when a worker has grown since, or has room for it (vacancy.h). Not as the
 * check's requeueAfterSeconds: with that Kueue holds the quota until the pause is over
 * (docs/decisions/0105).
 */
#ifndef MK_ENGINE_RULES_PATIENCE_H
#define MK_ENGINE_RULES_PATIENCE_H

#include "core/engine/rules/pass.h"

/*
 * When a Workload that waits for workers gives its quota back (monotonic ms); INT64_MAX: never, or
 * it does not wait for them. Needs a pass that is open.
 */
int64_t patience_deadline(struct pass *p);
/*
 * Before the win, when none is under way: has the time come? Then the check turns Retry, with each
 * worker's reason. If not, the pass comes again then.
 */
bool patience_ends(struct pass *p);
/*
 * A worker is asked at 'at' (monotonic ms) at the earliest, since the clone there was deleted twice
 * within a minute as rounds ended: it has the whole time from then on. Else a timeout shorter than
 * that rest would end round after round in which no worker was asked.
 */
void patience_asks_later(struct pass *p, int64_t at);
/*
 * For a Workload without quota, or that Kueue evicted: keeps it from being queued again
 * before its pause is over, if it was evicted because of patience_ends.
 */
void patience_pause(struct pass *p);
/* Was it evicted because of patience_ends, and is it without quota? Workers concern it then. */
bool patience_rests(const struct pass *p);
/*
 * A ClusterQueue on a worker becomes 'now', and was 'old' (NULL: not there). When it has more quota
 * than before, Workloads that rest need not rest any longer; when more of it is free, some.
 */
void patience_saw(struct engine *e, const struct table *t, const struct facts *old,
		  const struct facts *now);

#endif
