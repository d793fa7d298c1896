/* SPDX-License-Identifier: Apache-2.0 */
/* When a worker that cannot be seen counts as lost for good: multiKueue.workerLostTimeout. */
#ifndef MK_ENGINE_RULES_LOST_H
#define MK_ENGINE_RULES_LOST_H

#include "core/engine/rules/pass.h"

/* Were its objects of the kind hidden for so long that nobody waits for them any more? If not, the pass comes again then. */
bool lost_given_up(struct pass *p, const struct cluster *c, uint16_t kind);
/*
 * When the wait for a cluster that was lost at 'since' is over; not before a new process could have found it. INT64_MAX
 * with lostWorkerPolicy Keep: never.
 */
int64_t lost_deadline(const struct engine *e, int64_t since);

#endif
