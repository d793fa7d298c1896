/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The breaker: something (a webhook that rewrites every clone, a controller or a person that deletes them, a store that
 * was restored) makes us create the same clones again and again, or give up running jobs for a difference that nobody
 * made. Then what may destroy stops for a while and people are told; what the local Workload itself demands goes on.
 *
 * Counted is only what no ordinary course of things contains: a clone that this process made and saw, made again for the
 * same local spec in the same round without our having removed it for another reason than its spec; and a winner given up
 * because its clone was made from another spec. docs/decisions/0021.
 */
#ifndef MK_ENGINE_RULES_BREAKER_H
#define MK_ENGINE_RULES_BREAKER_H

#include "core/engine/rules/pass.h"

/* May a clone be created? Not one that was there already, while the breaker is open. */
bool breaker_may_create(struct pass *p, const struct wl_cluster *wc);
/* Its create was sent. */
void breaker_created(struct pass *p, const struct cluster *c, struct wl_cluster *wc);
/* It is there. */
void breaker_saw(struct pass *p, const struct clone *k, struct wl_cluster *wc);
/* A winner is given up because of its spec. */
void breaker_gave_up(struct pass *p, const struct cluster *c);
/* Closes the breaker when it was quiet for long enough. */
void breaker_tick(struct engine *e);
/* Is what may destroy halted? Counts that something was. */
bool breaker_holds(struct engine *e);

#endif
