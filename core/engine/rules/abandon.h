/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An evicted Workload whose job runs nowhere any more. Kueue releases its quota when the local job
 * is not active, which it reads from the job's status, in a field that depends on the kind
 * (mk_adapter.active). This status is a copy of the worker's last one. When the remote job is gone,
 * or its worker lost for good, no update would follow, and the Workload would keep its quota for
 * ever.
 */
#ifndef MK_ENGINE_RULES_ABANDON_H
#define MK_ENGINE_RULES_ABANDON_H

#include "core/engine/rules/pass.h"

/*
 * The Workload is evicted and no remote job of ours was found: when none can run any more, lets the
 * adapter mark the local job as not active.
 */
void abandon_pass(struct pass *p);
/* The same of one member of a group, which was picked; copies of others may be there. */
void abandon_member(struct pass *p);

#endif
