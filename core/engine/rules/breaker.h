/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The breaker. A webhook that rewrites each clone, a controller or user that deletes them, or a
 * restored store can make us create the same clones again and again, or give up running jobs for a
 * spec that no user changed. Then deletes and creates that may do harm stop for a while, and an
 * Event says so; what the local Workload demands goes on. One clone that goes again and again stops
 * those of its Workload on that cluster; those of all stop when it happens to many Workloads.
 *
 * Only two cases count, which do not occur in normal operation: a clone that this process created
 * and saw, created again for the same local spec in the same round, unless we removed it for
 * another reason than its spec; and a winner that is given up because its clone was made from
 * another spec. docs/decisions/0021.
 */
#ifndef MK_ENGINE_RULES_BREAKER_H
#define MK_ENGINE_RULES_BREAKER_H

#include "core/engine/rules/pass.h"

/* May the clone be created? While the breaker is open, not one that existed already. */
bool breaker_may_create(struct pass *p, const struct wl_cluster *wc);
/* Is the breaker what keeps the clone from being created? Counts no rule. */
bool breaker_bars(const struct pass *p, const struct wl_cluster *wc);
/* The create of the clone was sent. */
void breaker_created(struct pass *p, const struct cluster *c, struct wl_cluster *wc);
/* The clone is present. */
void breaker_saw(struct pass *p, const struct clone *k, struct wl_cluster *wc);
/* A winner is given up because of its spec. */
void breaker_gave_up(struct pass *p, const struct cluster *c);
/* Closes the breaker after ten minutes without a new case. */
void breaker_tick(struct engine *e);
/*
 * Is the breaker open, of all or of this Workload on that cluster (NULL: of all)? Counts the rule
 * breaker_held if so. Nothing that a user or a standing Workload asks to be removed may ask this.
 */
bool breaker_holds(struct engine *e, const struct wl_cluster *wc);

#endif
