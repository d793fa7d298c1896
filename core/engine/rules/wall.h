/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walls (multiKueue.walls): what may leave for workers. A Workload is judged with its job, and each
 * member of a group, before anything is cloned; each object once more as it is created or changed
 * on the worker. Without a wall for the MultiKueueConfig nothing is read or judged.
 *
 * A wall may also say who creates and changes clones and jobs: an account of the tenant's own,
 * which the workers' API servers hold to its rights. What the daemon does for itself there
 * (watches, deletions, marks, the status of clones) it does as itself.
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
/*
 * Who writes the tenant's content on workers (multiKueue.walls[].impersonate): a ServiceAccount of
 * the Workload's namespace, as the user name that API servers know it by. "": the daemon's own
 * account. In the arena of operations, which has failed when memory is out: nothing is sent then.
 */
mk_str wall_author(struct pass *p);

#endif
