/* SPDX-License-Identifier: Apache-2.0 */
/* What Kueue and users do in the world of engine_world.h, which includes this. */
#ifndef MK_T_LIB_ENGINE_ACTORS_H
#define MK_T_LIB_ENGINE_ACTORS_H

#include "t/lib/engine_server.h"

#define QUOTA                                                                           \
	"{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":\"QuotaReserved\"," \
	"\"message\":\"\","                                                             \
	"\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}"
#define ADMITTED                                                                               \
	"{\"type\":\"Admitted\",\"status\":\"True\",\"reason\":\"Admitted\",\"message\":\"\"," \
	"\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}"

/* The string at 'pointer' of an object; "" when either is missing. */
const char *w_str(struct world *w, const struct object *o, const char *pointer);

/* "<status> <reason>: <message>" of an object's first condition. */
const char *w_active(struct world *w, uint16_t kind, const char *name);

/* The Secret of worker w<i>. */
void add_secret(struct world *w, size_t i);

/* Its MultiKueueCluster; 'meta': more of its metadata, as ",\"labels\":{}", or "". */
void add_cluster(struct world *w, size_t i, const char *meta);

/* Kueue's Workload "wl-<name>" of the user's job 'name', with quota. */
struct object *a_workload(struct world *w, const char *name);

/* A user's job 'name' and its Workload. */
struct object *a_job(struct world *w, const char *name);

/* Jobs "j0", "j1" ... with their Workloads; then all settles. */
void many_jobs(struct world *w, int n);

/* The other controller nominates for "wl-j"; 'names' as JSON strings. */
void they_nominate(struct world *w, const char *names);

/* Core Kueue evicts the Workload on the manager: the names go, the check is Pending again. */
void evict(struct world *w, struct object *wl, const char *message);

/* Core Kueue takes the quota from an evicted Workload. */
void release_quota(struct world *w, struct object *wl);

/* Core Kueue gives quota to a Workload that was evicted. */
void give_quota(struct world *w, struct object *wl);

/* Both, one after the other: the next round of an evicted Workload begins. */
void queue_again(struct world *w, struct object *wl);

/* Core Kueue gives quota to a slice; 'cluster': where the one that it replaces runs, or NULL. */
void quota_at(struct world *w, struct object *wl, const char *cluster);

/* The Workload 'name' on a cluster, NULL when there is none. */
struct object *clone_of(struct world *w, cluster_id c, const char *name);

/* The worker's Kueue reserves quota for the clone and admits it. */
void admit(struct world *w, cluster_id c, const char *name);

/* The next operations of a type on Jobs of w2 are answered 503. */
void refuse_jobs(struct world *w, enum op_type type, unsigned times);

/* A condition of the clone turns True, the others stay. */
void clone_condition(struct world *w, cluster_id c, const char *name, const char *type,
		     const char *reason, bool admitted);

/* The job "j" up to running on cluster 'c'. */
struct object *running_job_on(struct world *w, cluster_id c);

/* The job "j" up to running on w2. */
struct object *running_job(struct world *w);

/* The message of the Workload's first admission check. */
const char *check_message(struct world *w, const struct object *wl);

/* "<status> <reason>" of the condition OriginClash of MultiKueueCluster w1, or "". */
const char *clash_of(struct world *w);

/* How many objects a cluster has. */
size_t objects_on(const struct world *w, cluster_id c);

/* Clones of ours on w1 that no Workload of the manager knows, as after its store was restored. */
void orphans(struct world *w, int n);

/* The state of the Workload's first admission check. */
const char *check_state(struct world *w, const struct object *wl);

/* The names of the nominated clusters, as JSON. */
const char *nominated(struct world *w, const struct object *wl);

/* Settles, and then lets 'ms' pass. */
void w_later(struct world *w, int64_t ms);

/* How often the log has these words. */
size_t w_times(const char *log, const char *what);

#endif
