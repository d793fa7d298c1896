/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people count: clones made, checks turned Ready, workloads that finished. Counted where it is seen, not where the
 * answer comes: an answer may be lost, and Kueue beside us may write Finished before we do. Only who leads counts.
 */
#ifndef MK_ENGINE_RULES_TALLY_H
#define MK_ENGINE_RULES_TALLY_H

#include "core/engine/rules/pass.h"

/* Notices what people count about the local workload. */
void tally_local(struct pass *p);
/* Counts a clone that we asked for, once it is seen. */
void tally_clone(struct pass *p, const struct clone *k, struct wl_cluster *wc);

#endif
