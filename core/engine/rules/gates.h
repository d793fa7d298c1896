/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orchestrated preemption: a clone must not preempt on its worker before we open its gate. We open
 * one gate after the other, so that one Workload does not preempt others on each worker at once. A
 * clone has five minutes to be admitted after its gate was opened. The time is in the clone's
 * status, so that a restart keeps the turn. Which clone was blocked first we decide by our clock,
 * not by the workers'.
 */
#ifndef MK_ENGINE_RULES_GATES_H
#define MK_ENGINE_RULES_GATES_H

#include "core/engine/rules/pass.h"

/* Sets the preemption gates of a clone's spec, with the feature gate. */
void gates_clone(struct pass *p, struct json *spec);
/* Opens the gate of the next clone when its turn has come. */
void gates_turn(struct pass *p);
/*
 * The clone whose turn it is: its gate was opened last, less than five minutes ago. NULL: none.
 * Sets *ret_until to the wall time when the turn ends.
 */
const struct clone *gates_holder(const struct pass *p, int64_t *ret_until);

#endif
