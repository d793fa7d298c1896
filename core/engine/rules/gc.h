/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage: remote objects of ours whose local Workload is not there. Absence is weak evidence: a manager restored from an
 * old backup, or an API server that lags, shows nothing of what lives. So a share of a cluster's objects goes in one
 * interval, and the rest when the absence is confirmed: by the Workload's deletion, which the watch brought, or by two
 * intervals in a row that found it missing from a complete list. docs/decisions/0020.
 */
#ifndef MK_ENGINE_RULES_GC_H
#define MK_ENGINE_RULES_GC_H

#include "core/engine/rules/pass.h"

/* May the object go now? Without a local Workload its absence must be certain, or the interval's share not used up. */
bool gc_may(struct pass *p, const struct record *r);
/* Its delete was sent. */
void gc_spend(struct pass *p, const struct record *r);
/* An interval of the collector: whoever has no local Workload is looked at. */
void gc_pass(struct engine *e);

#endif
