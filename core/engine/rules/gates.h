/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orchestrated preemption: a clone must not preempt on its worker before we open its gate, and we open one after the other,
 * so that one Workload does not push out others on every worker at once. An opened one has five minutes to be admitted. Its
 * time is written with it, so that a restart keeps the turn; which one was blocked first is what we saw, not what the
 * workers' clocks say.
 */
#ifndef MK_ENGINE_RULES_GATES_H
#define MK_ENGINE_RULES_GATES_H

#include "core/engine/rules/pass.h"

/* The preemption gates of a clone's spec, if they are to be orchestrated. */
void gates_clone(struct pass *p, struct json *spec);
/* Opens the next clone's gate, when it is its turn. */
void gates_turn(struct pass *p);

#endif
