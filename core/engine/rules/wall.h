/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walls (multiKueue.walls): what may leave for workers. A Workload is judged with its job, and each
 * member of a group, before anything is cloned; each object once more as it is created or changed
 * on the worker. Without a wall for the MultiKueueConfig nothing is read or judged.
 */
#ifndef MK_ENGINE_RULES_WALL_H
#define MK_ENGINE_RULES_WALL_H

#include "core/engine/rules/pass.h"

/*
 * May the Workload be cloned? If not, the check is turned to Rejected, or a text is awaited whose
 * arrival queues the pass. What was let through is not judged again before it changes.
 */
bool wall_lets(struct pass *p);
/*
 * Is 'obj' kept from workers? It is the job as it is to be there, or with 'is_job' false the spec
 * of the Workload. 'ret_why' is set when it is: why, in the scratch arena; "" out of memory.
 */
bool wall_stops(struct pass *p, const struct json *obj, bool is_job, mk_str *ret_why);
/* The same of the local job as it is now. False: also when its text is awaited. */
bool wall_stops_job(struct pass *p, mk_str *ret_why);
/*
 * "; " and what keeps the Workload here, as the texts at hand say; "" nothing, or that is not
 * known.
 */
mk_str wall_words(struct pass *p);

#endif
