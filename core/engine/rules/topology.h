/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Workload whose topology the worker decides (Kueue's delayedTopologyRequest). Kueue here admits
 * it only when the request's state turns from Pending to Ready, which we write once the winner's
 * clone has an assignment. The assignment itself stays on the worker.
 */
#ifndef MK_ENGINE_RULES_TOPOLOGY_H
#define MK_ENGINE_RULES_TOPOLOGY_H

#include "core/engine/rules/pass.h"

/*
 * Marks in 'body', a status of the local Workload, the requests for which clone 'k' has an
 * assignment. True: something changed.
 */
bool topology_ready(struct pass *p, const struct clone *k, struct json *body);
/* Writes that alone, when the assignment came after the win. */
void topology_write(struct pass *p, const struct clone *k);
/*
 * Which assignment is missing though clone 'k' is admitted, and what to do, in the scratch arena;
 * "": none. Kueue there gives none where its flavor has no topology, and the Workload here waits
 * for good, as with Kueue's own controller.
 */
mk_str topology_words(struct pass *p, const struct clone *k);
/* The same once it has lasted, which an Event reports as well. */
mk_str topology_late(struct pass *p, const struct clone *k);

#endif
