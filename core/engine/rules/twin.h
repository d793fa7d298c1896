/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a remote object is, and whether it is there: how clones and jobs on a worker stand to the local Workload. */
#ifndef MK_ENGINE_RULES_TWIN_H
#define MK_ENGINE_RULES_TWIN_H

#include "core/engine/rules/pass.h"

enum twin twin_of_clone(struct pass *p, const struct cluster *c, const struct record *r);
enum twin twin_of_job(const struct pass *p, const struct record *r);
/* The remote job's record, present or not; NULL: never seen. */
struct record *twin_record(const struct pass *p, const struct clone *k);
/* How the remote job stands to us, by what was seen of it last; of a group's, how any of them does. */
enum twin twin_recorded(const struct pass *p, const struct clone *k);
/* The same as far as it can be seen now. */
enum twin twin_there(const struct pass *p, const struct clone *k);
/* The same of one that is not on its way out. */
enum twin twin_left(const struct pass *p, const struct clone *k);
/* Where absence decides about a job, it is asked for, not only believed: a watch may lag. False: the answer comes. */
bool twin_surely_absent(struct pass *p, struct table *t, mk_str ns, mk_str name);

#endif
