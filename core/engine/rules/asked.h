/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the dispatcher has to be asked again. Its answer depends on the Workload, on what is
 * there of it on workers, and on the clusters; while none of them has changed since it answered,
 * and no time has come that it named, it would say the same. Such a pass looks only at the clusters
 * that have to do with the Workload, so that its cost does not grow with the fleet.
 *
 * What has changed is told by counters: engine.seen counts what can change the answer of any
 * dispatcher, engine.load what can change facts and places. They count too much rather than too
 * little; a question too many costs time, a missing one would leave a Workload waiting.
 */
#ifndef MK_ENGINE_RULES_ASKED_H
#define MK_ENGINE_RULES_ASKED_H

#include "core/engine/rules/pass.h"

/* An event is taken in: counts it. */
void asked_event(struct engine *e, const struct event *ev);
/*
 * Would the dispatcher of the pass's check, asked now, answer what it did in the last pass that
 * asked it, which was to leave the nominations as they are? Looks at no cluster that the Workload
 * has nothing on.
 */
bool asked_same(struct pass *p);
/*
 * Notes its answer. 'same': it left the nominations as they are; it wants to be asked again at
 * 'until' at the latest (monotonic ms).
 */
void asked_note(struct pass *p, bool same, int64_t until);
/* The time from which on it must be asked, whatever has changed. */
int64_t asked_until(const struct pass *p);

#endif
