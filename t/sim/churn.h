/* SPDX-License-Identifier: Apache-2.0 */
/* What clients that are no daemons do to objects: for the files of faults/, and upkeep.c. */
#ifndef MK_T_SIM_CHURN_H
#define MK_T_SIM_CHURN_H

#include "t/sim/sim.h"

/* One of the objects that are so, drawn from 'wide'; NULL: none is. Valid until the next write. */
const struct json *churn_pick(struct sim *s, const struct ks_store *store, const char *resource,
			      bool (*wanted)(const struct json *o));
bool churn_is_remote(const struct json *o); /* a manager made it on a worker */
bool churn_is_open(const struct json *wl);
bool churn_is_racing(const struct json *wl);
bool churn_has_won(const struct json *wl);
bool churn_is_running(const struct json *job);

/* The server of the fault's daemon's manager. */
struct plane *churn_home(struct sim *s, const struct fault *f);
const char *churn_path(struct sim *s, const char *collection, mk_str name, const char *sub);
void churn_patch_named(struct sim *s, struct plane *p, const char *path, mk_str name, mk_str body);
/* Nothing happens when 'wl' is NULL. */
void churn_patch_workload(struct sim *s, struct plane *p, const struct json *wl, const char *body);
/*
 * As Kueue writes a Workload's status: by apply, with all that its field manager holds. The HTTP
 * status.
 */
int churn_apply_status(struct sim *s, struct plane *p, mk_str name, const struct json *status);
/* As Kueue writes that the Workload waits at its preemption gate. The HTTP status. */
int churn_block(struct sim *s, struct plane *p, const struct json *wl);
/* The client of an external dispatcher nominates the clusters in 'list'. */
void churn_nominate(struct sim *s, struct plane *p, const struct json *wl, mk_str list);
/* A list of clusters, sometimes with a name that is none. */
mk_str churn_draw_clusters(struct sim *s);

#endif
