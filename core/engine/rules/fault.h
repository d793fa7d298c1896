/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that are missing or break their contract: their Workloads wait, none of their objects is
 * deleted, and an Event says so. Events for each Workload and pass would hide the cause, so there
 * is one for each kind whose plugin is missing, and one in ten minutes for each Workload whose
 * plugin fails (a fault also makes the plugin rest for its Workload).
 */
#ifndef MK_ENGINE_RULES_FAULT_H
#define MK_ENGINE_RULES_FAULT_H

#include "core/engine/rules/pass.h"

/*
 * A hook failed with 'code' or 'verdict': sends an Event (at most one in ten minutes for each
 * Workload) and queues the pass for later.
 */
void fault_tell(struct pass *p, enum mk_code code, const struct mk_err *err, int verdict,
		mk_str said);
/* True while the adapter rests for the Workload after faults; the pass comes when the rest ends. */
bool fault_resting(struct pass *p);
/* The same for the dispatcher. */
bool fault_dispatcher_resting(struct pass *p);
/* The Workload is left as it is: sends one Event for each kind. */
void fault_frozen(struct pass *p);

#endif
