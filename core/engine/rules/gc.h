/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage: remote objects of ours without a local Workload. Absence is weak evidence: a manager
 * restored from an old backup, or an API server that lags, does not show Workloads that exist. So
 * only a share of a cluster's objects is deleted in one interval, and the rest when the absence is
 * confirmed: by the Workload's deletion, seen on the watch, or by two intervals in a row in which a
 * complete list lacks it. docs/decisions/0020.
 */
#ifndef MK_ENGINE_RULES_GC_H
#define MK_ENGINE_RULES_GC_H

#include "core/engine/rules/pass.h"

/*
 * May the object be deleted now? Always with a local Workload; without one its absence must be
 * confirmed, or the interval's share not used up.
 */
bool gc_may(struct pass *p, const struct record *r);
/* Counts a delete that was sent. */
void gc_spend(struct pass *p, const struct record *r);
/* One interval of the collector: queues all workloads without a local Workload. */
void gc_pass(struct engine *e);

/* A day's Event: object 'r' may be another manager's that marks nothing, and is left. */
void gc_tell_unmarked(struct engine *e, const struct record *r);

#endif
