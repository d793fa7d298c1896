/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects with former labels or annotations of ours. When the origin was changed while they ran,
 * they are still ours by manager and uid, and get the present label, because the watch would not
 * show them otherwise. When the manager was rebuilt, it has another id and other uids: a copy of
 * the same source is taken over if the configuration names the former id; if not, its Workload is
 * not dispatched beside it, because the job would run twice. Jobs are marked before their clones,
 * so a clone with the present marks has a job with them.
 */
#ifndef MK_ENGINE_RULES_FORMER_H
#define MK_ENGINE_RULES_FORMER_H

#include "core/engine/rules/pass.h"

/* Was this clone of another manager made from the local Workload as it is now? */
bool former_is_same(struct pass *p, const struct facts *clone);
/* Sends an Event about the copy that is in the way. */
void former_tell(struct pass *p, const struct clone *k);
/* The same about one that goes on although the Workload is inactive: it is not removed. */
void former_left(struct pass *p);
/*
 * Must the Workload not be dispatched, because a copy of another manager exists that may be its
 * own? An Event says so.
 */
bool former_holds(struct pass *p);
/* Writes the marks of this manager and origin to objects that are ours, or become ours. */
void former_adopt(struct pass *p);
/* Does multiKueue.formerManagers name that id? */
bool former_is_named(const struct engine *e, mk_str id);

#endif
