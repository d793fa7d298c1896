/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Workload whose topology is decided on the worker (Kueue's delayedTopologyRequest) is admitted here only when that is
 * told: Pending becomes Ready once the winner's clone has an assignment. The assignment itself stays on the worker.
 */
#ifndef MK_ENGINE_RULES_TOPOLOGY_H
#define MK_ENGINE_RULES_TOPOLOGY_H

#include "core/engine/rules/pass.h"

/* Takes over into 'body', a status of the local Workload, which topologies clone 'k' has. True: something changed. */
bool topology_ready(struct pass *p, const struct clone *k, struct json *body);
/* Writes that alone, when it came after the win. */
void topology_write(struct pass *p, const struct clone *k);

#endif
