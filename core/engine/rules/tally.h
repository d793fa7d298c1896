/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters for metrics: clones created, checks turned Ready, winners evicted, Workloads that
 * finished. The observed state counts, not the answer of a write: an answer may be lost, and Kueue
 * on the manager may write Finished before we do. Only the leader counts.
 */
#ifndef MK_ENGINE_RULES_TALLY_H
#define MK_ENGINE_RULES_TALLY_H

#include "core/engine/rules/pass.h"

/* Counts a check that turned Ready, or a Workload that turned Finished. */
void tally_local(struct pass *p);
/* After a pass: does the Workload wait for a worker? */
void tally_line(struct pass *p);
/* After a pass: in which phase is it? */
void tally_phase(const struct pass *p);
/* Which Workloads have waited for too long by now? */
void tally_overdue(struct engine *e);
/* Counts that Kueue on the worker has evicted the winner's clone 'k'. */
void tally_evicted(struct pass *p, const struct clone *k);
/* Counts a clone that we created, once it is observed. */
void tally_clone(struct pass *p, const struct clone *k, struct wl_cluster *wc);

#endif
