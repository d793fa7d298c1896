/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Component Workloads: an object with N replicas has N Workloads and one remote copy
 * (LeaderWorkerSet). Dispatch waits until all of them exist; the one with the lowest index is
 * dispatched, and the others follow it to its cluster. The copy belongs to the object, not to a
 * Workload: it stays while one of the Workloads runs there. docs/decisions/0011.
 */
#ifndef MK_ENGINE_RULES_GROUP_H
#define MK_ENGINE_RULES_GROUP_H

#include "core/engine/rules/pass.h"

/* Does one object have several Workloads? */
bool group_has_replicas(const struct pass *p);
enum hold { HOLD_NONE, HOLD_WAIT, HOLD_PINNED };
/* May this Workload be dispatched, and where? HOLD_PINNED: only to *ret_pinned. */
enum hold group_hold(struct pass *p, mk_str *ret_pinned);
/* Was another Workload of the object sent to 'c'? Then this one belongs there, too. */
bool group_is_on(const struct pass *p, const struct cluster *c);
/* Was another Workload of the object sent elsewhere? Then this one does not win on 'c'. */
bool group_is_elsewhere(const struct pass *p, const struct cluster *c);
/* Is a win of another Workload of the object on its way, perhaps elsewhere? It is asked for. */
bool group_may_be_winning(struct pass *p);
/*
 * Has a Workload of the object with a lower index won elsewhere, in reach? Then this one gives way:
 * true, and the check turns to Retry.
 */
bool group_gives_way(struct pass *p, const struct clone *k);
/* Does another Workload of the object need the copy on 'c'? */
bool group_needs(const struct pass *p, const struct cluster *c);

#endif
