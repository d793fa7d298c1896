/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controllers share: the work items with their timers, the small API client, names.
 * Private to t/kubesim/{actors,queue_controller,job_runner,gc_actor}*.c.
 */
#ifndef MK_T_KUBESIM_ACTORS_PRIV_H
#define MK_T_KUBESIM_ACTORS_PRIV_H

#include "core/base/heap.h"
#include "core/base/list.h"
#include "core/base/map.h"
#include "core/base/rng.h"
#include "t/kubesim/actors.h"

#define RES_JOBS "batch/v1/jobs"
#define RES_WORKLOADS "kueue.x-k8s.io/v1beta2/workloads"
#define RES_CLUSTERQUEUES "kueue.x-k8s.io/v1beta2/clusterqueues"
#define RES_LOCALQUEUES "kueue.x-k8s.io/v1beta2/localqueues"
#define RES_FLAVORS "kueue.x-k8s.io/v1beta2/resourceflavors"
#define RES_TREES "kueue.x-k8s.io/v1alpha1/clusterquotatrees"
#define RES_CHECKS "kueue.x-k8s.io/v1beta2/admissionchecks"
#define RES_PRIORITIES "kueue.x-k8s.io/v1beta2/workloadpriorityclasses"

#define MULTIKUEUE_CONTROLLER "kueue.x-k8s.io/multikueue"
#define LABEL_QUEUE "kueue.x-k8s.io/queue-name"
#define KEY_PREBUILT "kueue.x-k8s.io/prebuilt-workload-name"
#define LABEL_JOB_UID "kueue.x-k8s.io/job-uid"
#define LABEL_ORIGIN "kueue.x-k8s.io/multikueue-origin"
#define FINALIZER_IN_USE "kueue.x-k8s.io/resource-in-use"
#define ANNOTATION_STOPPING "kueue.x-k8s.io/stopping"
#define JOB_CONTROLLER "kubernetes.io/job-controller"

struct cq_table;
struct cq;

enum item_kind {
	ITEM_WORKLOAD, /* queue controller: one Workload */
	ITEM_JOB,      /* queue controller: one Job */
	ITEM_QUEUE,    /* queue controller: pending Workloads of one ClusterQueue */
	ITEM_RUN,      /* job runner: one Job */
	ITEM_GC,       /* collector: one object that has or had owners, or is being deleted */
};

/* A share of quota held by a Workload; the names are interned. */
struct cq_quota_use {
	const char *flavor, *resource;
	int64_t milli;
};

enum { QUOTA_MAX_USES = 32 };

/* Something to look at, at a time: the key, its timer and what the controller remembers of it. */
struct item {
	struct heap_node node;
	enum item_kind kind;
	mk_str key;                /* in the map; the item owns its text */
	mk_str resource, ns, name; /* views into the key */
	unsigned fails;            /* refused writes in a row */
	/* ITEM_WORKLOAD */
	uint64_t order; /* first seen: the last tie-breaker of the queue */
	int64_t priority, created_ms;
	uint64_t signature;    /* of its requests, while pending */
	struct cq *pending_in; /* waits in this queue, or NULL */
	struct cq *held_in;    /* holds quota of it, or NULL */
	struct cq_quota_use use[QUOTA_MAX_USES];
	size_t n_use;
	int64_t admit_ms; /* when to write Admitted; -1 = not drawn yet */
	const char
		*evict_for; /* interned: a queue tree takes its quota back for that one; NULL: no */
	/* ITEM_QUEUE */
	struct cq *cq;
	/* ITEM_RUN */
	int64_t start_ms, run_ms; /* start_ms -1 = not started */
	uint64_t run_uid;         /* hash of the uid that start_ms is about */
	bool local;               /* a process was ordered */
	bool has_exit;
	int exit_code;
};

struct ks_actors {
	struct ks_store *store;
	struct ks_actors_options o;
	struct rng rng;
	struct map items; /* key -> struct item */
	struct heap heap;
	struct map prebuilt; /* "ns/workload" -> struct item of the job that names it */
	struct map owners;   /* uid -> struct gc_owner */
	struct map strings;  /* interned */
	struct cq_table *queues;
	struct list_node orders; /* struct local_order, oldest first */
	uint64_t next_order;
	uint64_t last_rv;
	bool detached;
	bool stale;        /* the store went back in time or memory ran out: resync */
	bool config_dirty; /* queues, flavors or checks changed */
	size_t writes, refused;
	int64_t now_ms;
	struct arena a; /* one step */
	char last_error[512];
};

/* --- items (actors.c) ------------------------------------------------------------------------- */
/* The item of that kind and key, made when it is not there; NULL when out of memory. */
struct item *item_get(struct ks_actors *k, enum item_kind kind, const char *resource, mk_str ns,
		      mk_str name);
/* The item when it is there. */
struct item *item_find(const struct ks_actors *k, enum item_kind kind, const char *resource,
		       mk_str ns, mk_str name);
/* Looks at it at 'at_ms' or earlier. */
void item_at(struct ks_actors *k, struct item *it, int64_t at_ms);
/* Makes (if needed) and looks at it as soon as possible. */
void item_dirty(struct ks_actors *k, enum item_kind kind, const char *resource, mk_str ns,
		mk_str name);
/* Forgets it. */
void item_drop(struct ks_actors *k, struct item *it);
/* The one copy of 's' that lives as long as 'k'; NULL when out of memory. */
const char *intern(struct ks_actors *k, mk_str s);

/* --- client (actors_api.c): every call is one write; true when the store took it -------------- */
bool api_create(struct ks_actors *k, struct item *it, mk_str collection, const struct json *body,
		const char *manager);
bool api_merge(struct ks_actors *k, struct item *it, mk_str target, const struct json *patch,
	       const char *manager);
bool api_apply(struct ks_actors *k, struct item *it, mk_str target, const struct json *body,
	       const char *manager);
bool api_delete(struct ks_actors *k, struct item *it, mk_str target, mk_str uid);
/*
 * "/apis/batch/v1/namespaces/ns/jobs/name" of a resource
 * "batch/v1/jobs"; name empty: the collection.
 */
mk_str obj_path(struct arena *a, mk_str resource, mk_str ns, mk_str name);

/* --- reading objects (actors_api.c) ----------------------------------------------------------- */
const struct json *obj_condition(const struct json *obj, const char *type);
bool obj_is_true(const struct json *obj, const char *type);
mk_str obj_meta(const struct json *obj, const char *field);
mk_str obj_label(const struct json *obj, const char *key);
mk_str obj_annotation(const struct json *obj, const char *key);
const struct json *obj_controller(const struct json *obj);
bool obj_has_finalizer(const struct json *obj, const char *finalizer);
/* The name of the Workload that a Job names itself: annotation first, then label. */
mk_str job_prebuilt(const struct json *job);
bool job_is_suspended(const struct json *job);
bool job_is_finished(const struct json *job);
/* RFC 3339 of k->now_ms in k->a. */
mk_str now_text(struct ks_actors *k);

/* --- controllers ------------------------------------------------------------------------------ */
bool cq_quota_init(struct ks_actors *k);
void cq_quota_done(struct ks_actors *k);
/* Resources of jobs of other kinds, which may be served; NULL after the last one. */
const char *kinds_resource(size_t i);
void queue_commit(struct ks_actors *k, const struct ks_commit *c);
void queue_workload_step(struct ks_actors *k, struct item *it);
void queue_job_step(struct ks_actors *k, struct item *it);
void queue_step(struct ks_actors *k, struct item *it);
void run_step(struct ks_actors *k, struct item *it);
void gc_commit(struct ks_actors *k, const struct json *before, const struct json *after,
	       mk_str resource, mk_str ns, mk_str name);
void gc_step(struct ks_actors *k, struct item *it);
void gc_done(struct ks_actors *k);
/* Dirties the Workloads owned by that uid. */
void gc_dirty_owned(struct ks_actors *k, mk_str uid);
/* One that the object of that uid controls, whatever it is called; NULL: none. */
const struct json *gc_owned_workload(const struct ks_actors *k, mk_str uid);
/* Reads queues, flavors and checks anew, and looks at every Workload. */
void cq_quota_reload(struct ks_actors *k);
void run_orders_done(struct ks_actors *k);

#endif
