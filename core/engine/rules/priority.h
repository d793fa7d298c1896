/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A changed priority goes to the clones in place: it is no other spec, and nobody must lose a running job for it. Only a
 * WorkloadPriorityClass is carried over; what a Pod's PriorityClass means is the worker's own business.
 */
#ifndef MK_ENGINE_RULES_PRIORITY_H
#define MK_ENGINE_RULES_PRIORITY_H

#include "core/engine/rules/pass.h"

/* Sends the local priority to the clone, unless it has it already. */
void priority_sync(struct pass *p, struct clone *k);

#endif
