/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A changed priority is sent to the clones in place: it does not count as another spec, so no
 * running job is given up for it. Only a WorkloadPriorityClass is copied; the PriorityClass of Pods
 * has its own meaning on each worker.
 */
#ifndef MK_ENGINE_RULES_PRIORITY_H
#define MK_ENGINE_RULES_PRIORITY_H

#include "core/engine/rules/pass.h"

/* Sends the local priority to the clone, unless it is the same. */
void priority_sync(struct pass *p, struct clone *k);

#endif
