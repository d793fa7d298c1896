/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An evicted workload whose job runs nowhere any more. Kueue gives its quota back once the local job is not active, which
 * it reads in the job's status, where each kind has it elsewhere (mk_adapter.active). That is a copy of what a worker said
 * last: with the remote job gone, or its worker lost for good, nobody would ever correct it, and the workload would hold
 * its quota for ever.
 */
#ifndef MK_ENGINE_RULES_ABANDON_H
#define MK_ENGINE_RULES_ABANDON_H

#include "core/engine/rules/pass.h"

/* The workload is evicted and no remote job of ours can be found: sees to it that its quota can go. */
void abandon_pass(struct pass *p);

#endif
