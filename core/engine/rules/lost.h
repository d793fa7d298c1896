/* SPDX-License-Identifier: Apache-2.0 */
/* When a worker that cannot be seen counts as lost for good: multiKueue.workerLostTimeout. */
#ifndef MK_ENGINE_RULES_LOST_H
#define MK_ENGINE_RULES_LOST_H

#include "core/engine/rules/pass.h"

/*
 * Have the cluster's objects of the kind been hidden for so long that an evicted Workload does not
 * wait for them any more? If not, the pass comes again then.
 */
bool lost_given_up(struct pass *p, const struct cluster *c, uint16_t kind);
/* How long an evicted Workload waits for a cluster that is out of reach. */
int64_t lost_patience(const struct engine *e);
/*
 * End of the wait for a cluster that is lost since 'since' (monotonic ms): at once when an operator
 * has declared its server lost. INT64_MAX with lostWorkerPolicy Keep: never.
 */
int64_t lost_deadline(const struct engine *e, const struct cluster *c, int64_t since);
/*
 * 'timeout' after 'since' (monotonic ms), but after the wall clock was set not before there was
 * time to find what is on workers. INT64_MAX: 'since' is.
 */
int64_t lost_after(const struct engine *e, int64_t since, int64_t timeout);
/* The same after the first refusal of writes to the record, while the cluster was in reach. */
int64_t lost_refused_until(const struct engine *e, const struct cluster *c, const struct record *r,
			   int64_t timeout);
/*
 * The cluster leads to another server than when the job was sent there, and the job is not seen:
 * since when (monotonic ms). INT64_MAX: it leads to the same one, or that cannot be said now.
 */
int64_t lost_elsewhere(struct pass *p, struct clone *k);
/* When the job was sent to the recorded winner, at the latest, else when it got quota: wall ms. */
int64_t lost_sent_at(struct pass *p);
/* The end of the wait for that server, since 'since'; as lost_deadline. */
int64_t lost_elsewhere_until(struct pass *p, const struct cluster *c, int64_t since);
/* Is the job waited for at a former server? Then the pass comes again at the end. */
bool lost_waits_elsewhere(struct pass *p, struct clone *k);

#endif
