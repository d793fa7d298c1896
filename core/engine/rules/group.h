/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Component Workloads: an object with N replicas has N Workloads and one remote copy (LeaderWorkerSet). All of them are
 * there before one is tried, the one with the lowest index is tried for all, and the others follow it to its cluster. The
 * copy belongs to the object, not to a Workload: it stays while one of them is live there. docs/decisions/0011.
 */
#ifndef MK_ENGINE_RULES_GROUP_H
#define MK_ENGINE_RULES_GROUP_H

#include "core/engine/rules/pass.h"

/* Does one object have several Workloads? */
bool group_has_replicas(const struct pass *p);
enum hold { HOLD_NONE, HOLD_WAIT, HOLD_PINNED };
/* May this one of them be tried, and where? HOLD_PINNED: only on *ret_pinned. */
enum hold group_hold(struct pass *p, mk_str *ret_pinned);
/* Does another one of them need the object's copy there? */
bool group_needs(const struct pass *p, const struct cluster *c);

#endif
