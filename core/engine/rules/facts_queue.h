/* SPDX-License-Identifier: Apache-2.0 */
/* How the queues of a worker stand, as dispatchers with MK_WANTS_FACTS are told (sdk/multikueue/dispatcher.h). */
#ifndef MK_ENGINE_RULES_FACTS_QUEUE_H
#define MK_ENGINE_RULES_FACTS_QUEUE_H

#include "core/engine/rules/pass.h"

/* Does the dispatcher ask for facts? 'dispatcher' of plug; -1 none. */
bool facts_are_wanted(const struct engine *e, int dispatcher);
/* Sees to the watches that facts come from. True: lists of them are complete soon, and the pass comes again then. */
bool facts_awaited(struct pass *p);
/*
 * How the queues of the clone's cluster stand for a Workload of 'local_queue', as dispatcher.h has it; in the scratch
 * arena. NULL: not known.
 */
struct json *facts_of_cluster(struct pass *p, const struct clone *k, mk_str local_queue);
/* What the pods of 'wl' ask for together; in the scratch arena. NULL: out of memory. */
struct json *facts_requests(struct pass *p, const struct json *wl);

#endif
