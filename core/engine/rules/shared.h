/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another living manager with our id: a copy of this one, restored from its backup elsewhere. What
 * it makes on a worker carries our marks and has no Workload here, so it would be garbage, and the
 * other manager takes ours for garbage. It shows by a clone that was made just now, of a name that
 * this process knows nothing of: each clone of ours is made from a local Workload, whose record
 * outlasts it by minutes. Two managers of one id are reported, not fenced: on that worker nothing
 * new is begun, and garbage is left, until ten minutes were quiet; a process that comes after this
 * one finds it on record, and waits as long.
 */
#ifndef MK_ENGINE_RULES_SHARED_H
#define MK_ENGINE_RULES_SHARED_H

#include "core/engine/state.h"

/* Does new work, and the collection of garbage, rest there? */
static inline bool shared_rests(const struct cluster *c)
{
	return c->own.shared_id.until != 0;
}
/* The event showed an object of a worker that was not there before. */
void shared_saw(struct engine *e, const struct record *r, const struct event *ev);
/*
 * Of the cluster's pass: ends the rest when its time has come, keeps the cluster's condition
 * OriginClash, and reads there that a process before this one began it. True: the condition is in
 * use for that.
 */
bool shared_look(struct engine *e, struct cluster *c, struct record *r);
/* What waits for its end, for users: in the scratch arena. */
mk_str shared_words(struct engine *e, const struct cluster *c);

#endif
