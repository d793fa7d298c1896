/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that are missing or break their contract: their workloads wait, nothing of theirs is deleted, and people are
 * told. An event for each workload and pass would bury what it says, so they are rare: one a kind for a plugin that is
 * missing, one a workload and ten minutes for one that fails (and a fault rests the plugin for its workload).
 */
#ifndef MK_ENGINE_RULES_FAULT_H
#define MK_ENGINE_RULES_FAULT_H

#include "core/engine/rules/pass.h"

/* A hook failed with 'code' or 'verdict': tells people (at most every ten minutes a workload) and waits a while. */
void fault_tell(struct pass *p, enum mk_code code, const struct mk_err *err, int verdict,
		mk_str said);
/* True while the adapter rests for the workload, after faults; the pass comes again then. */
bool fault_resting(struct pass *p);
/* The same for the dispatcher. */
bool fault_dispatcher_resting(struct pass *p);
/* The workload is frozen: tells people once for each kind. */
void fault_frozen(struct pass *p);

#endif
