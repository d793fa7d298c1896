/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clone is Finished: what the job ended as comes first, then the local Workload's Finished; all that is remote goes
 * only after that.
 */
#ifndef MK_ENGINE_RULES_FINISH_H
#define MK_ENGINE_RULES_FINISH_H

#include "core/engine/rules/pass.h"

/* The clone is Finished: the job's last status first, then the Workload's; everything remote goes after that. */
void finish_local(struct pass *p, struct clone *k);
/* What a Finished clone means: the end, or a new try. */
void finish_remotely(struct pass *p, struct clone *k);
/* Is the clone Finished with what became of the job? Not because somebody removed the job there, or changed it. */
bool finish_tells_the_end(const struct clone *k);

#endif
