/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room that comes free on workers as jobs end, for Workloads that rest after a placement timeout
 * (patience.h). They are not to wake at each end of a job, so:
 *
 *  - a worker offers its room at most every VACANCY_EVERY_MS, to VACANCY_MOST of those that rest;
 *  - to so many as fit: what is free, less what clones that wait there ask for, must take the
 *    Workload once more than pauses have ended for this offer;
 *  - from the second pause of a Workload on, not before an eighth of it is over. What came back
 *    in vain is not tried again at once when use of a worker goes up and down.
 */
#ifndef MK_ENGINE_RULES_VACANCY_H
#define MK_ENGINE_RULES_VACANCY_H

#include "core/engine/rules/pass.h"

enum { VACANCY_EVERY_MS = 10 * 1000, VACANCY_MOST = 100 };

/* A ClusterQueue of the worker has more that is free than before. */
void vacancy_saw(struct engine *e, struct cluster *c);
/*
 * A cluster of the config that has room now for the Workload, which rests since 'since' (wall ms),
 * and got it since; NULL: none.
 */
struct cluster *vacancy_for(struct pass *p, int64_t since);
/* A pause ended for the room there. */
void vacancy_taken(struct engine *e, struct cluster *c);

#endif
