/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To whom a remote object belongs, and whether it exists: how clones and jobs on a worker relate to
 * the local Workload.
 */
#ifndef MK_ENGINE_RULES_TWIN_H
#define MK_ENGINE_RULES_TWIN_H

#include "core/engine/rules/pass.h"

/* How clone 'r' on cluster 'c' (NULL: never seen) relates to the local Workload. */
enum twin twin_of_clone(struct pass *p, const struct cluster *c, const struct record *r);
/* The same as it was seen last, also where the cluster cannot be seen now. */
enum twin twin_of_clone_seen(struct pass *p, const struct record *r);
/* How the remote job 'r' (NULL: never seen) relates to the pass's object, by its record alone. */
enum twin twin_of_job(const struct pass *p, const struct record *r);
/* Is the remote job 'r' a copy of the pass's object that had not ended when we saw it? */
bool twin_is_of_object(const struct pass *p, const struct record *r);
/* The remote job's record, present or not; NULL: never seen. */
struct record *twin_record(const struct pass *p, const struct clone *k);
/* twin_of_job of the remote job's record; of a group's copies, the strongest claim of any. */
enum twin twin_recorded(const struct pass *p, const struct clone *k);
/* The same; TWIN_UNKNOWN while the list of jobs is not complete. */
enum twin twin_there(const struct pass *p, const struct clone *k);
/* The same by the record alone, of jobs that are not being deleted. */
enum twin twin_left(const struct pass *p, const struct clone *k);
/*
 * Was the copy there, if any is seen, read of late? Else a get is sent. A watch may be behind for
 * as long as its connection is not found to be dead: before a round is ended for a reason that has
 * nothing to do with the copy, a look shows whether it has ended.
 */
bool twin_is_read(struct pass *p, struct clone *k);
/*
 * Is the object absent according to a get? A list alone does not suffice where absence decides
 * about a job: a watch may lag. False: present, or the get's answer queues the pass.
 */
bool twin_surely_absent(struct pass *p, struct table *t, mk_str ns, mk_str name);

#endif
