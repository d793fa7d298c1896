/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in worlds (worlds.c), and jobs of other kinds (kinds.c); a part of sim.h. */
#ifndef MK_T_SIM_WORLDS_H
#define MK_T_SIM_WORLDS_H

#include "t/sim/sim.h"

/* --- worlds.c --------------------------------------------------------------------------------- */
/* A controller on the plane deletes that object. */
void world_delete(struct plane *p, const char *resource, mk_str name);
/* Another manager deletes the Job and the Workload of that name on every worker that has them. */
void world_unmake(struct sim *s, mk_str name);
/*
 * A controller deletes what is of a manager on the plane, when it is older than so many
 * ms, and Finished if 'finished'.
 */
size_t world_deletes(struct plane *p, const char *resource, int64_t age_ms, bool finished);
/* The kind of jobs is not served there any more, and its objects are gone; or it is again. */
void world_crd(struct plane *p, bool served);
/*
 * The manager's store is another one: the id that its kube-system gives it, and the one that it
 * had.
 */
void world_know_manager(struct site *site);
/* All daemons of the manager end, and start a while after, which 'r' draws (NULL: at once). */
void world_restart(struct sim *s, struct site *site, struct rng *r);
void world_change_origin(struct site *site, const char *origin);
/*
 * The manager is built anew from the snapshot, with or without any status
 * or Workload: every uid is new.
 */
void world_rebuild(struct sim *s, struct site *site, const struct json *snapshot, bool status,
		   bool workloads);

/* --- kinds.c ---------------------------------------------------------------------------------- */
/* Serves the other kinds on every plane, and plays who works with them from now on. */
void sim_kinds_init(struct sim *s);
void sim_kinds_turn(struct sim *s); /* M_KINDS */
mk_str sim_kinds_body(struct sim *s, const struct user *u);
const char *user_resource(const struct user *u);
/* Resources of the jobs, but for Pods, that this run has, from 0; NULL after the last one. */
const char *job_resource(const struct sim *s, size_t i);
/* The user's job, or the collection that it is in. */
const char *user_path(struct sim *s, const struct user *u, bool named);
const struct json *user_job(const struct user *u, const struct plane *p);
/* What the copy is one of, on its manager: the job or the member of its uid; NULL: it is gone. */
const struct json *user_local(const struct sim *s, const struct user *u, const struct json *copy);
bool is_job_resource(mk_str resource);
/* A StatefulSet or a LeaderWorkerSet: it cannot be suspended, and its Pods are its own. */
bool is_set(const struct json *o);

#endif
