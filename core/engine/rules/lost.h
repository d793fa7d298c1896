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
/*
 * End of the wait for a cluster that is lost since 'since' (monotonic ms), but not before a new
 * process has had time to find it. INT64_MAX with lostWorkerPolicy Keep: never.
 */
int64_t lost_deadline(const struct engine *e, int64_t since);
/*
 * 'timeout' after 'since' (monotonic ms), but not before a new process, or one whose wall clock was
 * set, has had time to find what is on workers. INT64_MAX: 'since' is.
 */
int64_t lost_after(const struct engine *e, int64_t since, int64_t timeout);

#endif
