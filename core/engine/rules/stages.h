/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a Workload has come in a round, and when: for metrics and answers, no rule decides by it.
 * The times are those of the passes that found it so, on a leader or a standby. Of a stage that it
 * had come to before this process saw it, the time is not known.
 */
#ifndef MK_ENGINE_RULES_STAGES_H
#define MK_ENGINE_RULES_STAGES_H

#include "core/engine/rules/pass.h"

/*
 * After a pass: to which stage has the Workload come? 'left': a clone or job of it may be on a
 * worker. Notes and counts the stage, when it is a new one.
 */
void stages_note(struct pass *p, bool left);
/* When it came to that stage in the last round, monotonic ms; INT64_MAX: not known, or not yet. */
int64_t stages_time(const struct wl *w, enum engine_stage stage);

#endif
