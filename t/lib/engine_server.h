/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of the engine's tests: the manager and workers as tables of JSON objects that carry
 * out operations the way an API server does (uids, resourceVersions, preconditions, server-side
 * apply of Workload status by one manager).
 */
#ifndef MK_T_LIB_ENGINE_SERVER_H
#define MK_T_LIB_ENGINE_SERVER_H

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/engine/engine.h"
#include "t/lib/tap.h"

/*
 * WORLD_CLUSTERS: the numbers that the engine gives out; a cluster that
 * is made anew gets another one.
 */
enum {
	WORLD_CLUSTERS = 1100,
	JOB = KIND_FIRST_JOB,
	MAX_OBJECTS = 4096,
	MAX_EVENTS = 4 * MAX_OBJECTS,
	T0 = 1000
};
#define WALL0 1800000000000 /* 2027-01-15T08:00:00Z */

struct object {
	cluster_id cluster;
	uint16_t kind;
	char *ns, *name, *uid, *text,
		*applied; /* applied: status last applied by kueue-admission */
	uint64_t rv;
	bool used, hidden;     /* hidden: not in the watch's selector */
	const char *nominator; /* another field manager that owns status.nominatedClusterNames */
};

struct pending {
	struct event ev;
	char *ns, *name, *uid, *text, *msg;
};

#define ANY_CLUSTER ((cluster_id)-1)

/* The next 'times' operations like this are not carried out, but answered so. */
struct rig {
	unsigned times;
	enum op_type type;
	cluster_id cluster;
	uint16_t kind;
	enum op_outcome outcome;
	enum mk_code code;
};

struct world {
	struct engine *e;
	struct plug *plug;
	struct kinds kinds;
	struct object o[MAX_OBJECTS];
	size_t n_o; /* the slots from there on were never used */
	struct pending q[MAX_EVENTS];
	size_t n_q;
	uint64_t rv, uid;
	int64_t now, wall;
	struct arena arena;
	char log[1 << 18];   /* one line per operation */
	size_t requests;     /* creates, patches, deletes, gets */
	bool hold;           /* operations are logged, but not carried out */
	bool silent_watch;   /* watch events of own writes do not arrive */
	enum mk_code refuse; /* next create of a job is refused so */
	struct rig rig;
	const char *rig_words; /* ... in these words, NULL: some */
	int rig_http;          /* ... and with this status */
	size_t lose;           /* the n-th next operation with an id is done, but its answer lost */
	bool up[WORLD_CLUSTERS];
	size_t drop; /* the n-th next operation with an id is not done, and its answer lost */
	cluster_id links[WORLD_CLUSTERS];  /* by worker number ("w<n>"): the engine's number */
	uint32_t watching[WORLD_CLUSTERS]; /* job kinds, by cluster: bit 0 is JOB */
	bool sought[WORLD_CLUSTERS]
		   [KIND_MAX];          /* kinds that are missing and looked for, by cluster */
	bool stay_down[WORLD_CLUSTERS]; /* OP_CONNECT has no effect */
	uint32_t turns[WORLD_CLUSTERS]; /* times that its store went back, by cluster */
	uint64_t fail_at; /* in the next step the n-th allocation and all later ones fail */
	bool full;        /* log whole texts; else without the check's message of those that wait */
	bool drops;       /* changes are taken, and nothing is changed */
	bool pods_pend;   /* a Pod has a status from the start, as on an API server */
	const char *dispatcher;                             /* NULL: all at once */
	bool gate_paths;                                    /* MultiKueueKubeConfigPathValidation */
	bool gate_quota;                                    /* MultiKueueManagerQuotaAutomation */
	bool (*has_owner)(void *ctx, mk_str cluster_queue); /* engine_options; ctx: the world */
	bool read_queues;                                   /* engine_options.queues */
	bool queues[WORLD_CLUSTERS];    /* LocalQueues and ClusterQueues are watched, by cluster */
	bool no_queues[WORLD_CLUSTERS]; /* ... and may not be */
	bool hold_queues;               /* ... and their lists come when the test says */
	bool hold_jobs[WORLD_CLUSTERS]; /* so do lists of jobs, by cluster */
	bool unserved[WORLD_CLUSTERS][64]; /* by kind: it said so last, and lists nothing */
	size_t worker_memory;              /* multiKueue.workerMemory; 0: no limit */
	int64_t lost_timeout;              /* workerLostTimeout; 0: 15 minutes */
	bool collect_unmarked;             /* takeOver: CollectUnmarked */
	bool lost_keep;                    /* lostWorkerPolicy: Keep */
	const struct json *dispatchers;    /* multiKueue.dispatchers; as walls */
	int64_t placement_timeout;         /* multiKueue.placementTimeout; 0: off */
	bool reject_unplaceable;           /* multiKueue.unplaceable: Reject */
	const struct json *walls;          /* multiKueue.walls; of the test, counts at a restart */
	bool gate_elastic;                 /* ElasticJobsViaWorkloadSlices */
	bool gate_ray;                     /* MultiKueueRayInTreeAutoscaling */
	bool gate_preemption;              /* MultiKueueOrchestratedPreemption */
	bool gate_no_sync;                 /* MultiKueueRemoteSpecSync is off */
	bool gate_profiles;                /* MultiKueueClusterProfile */
	bool has_profiles;                 /* multiKueue.clusterProfile is there */
	const mk_str *providers;
	size_t n_providers;
	cluster_id alias_of
		[WORLD_CLUSTERS];   /* that cluster leads to this one's server; 0: to its own */
	bool hides[WORLD_CLUSTERS]; /* its identity may not be read */
	const char *origin;         /* NULL: "multikueue" */
	const char *manager_id;     /* of its kube-system; NULL: "manager-id" */
	const char *own_id;         /* multiKueue.managerId; NULL: none */
	mk_str former_origins[2], former_managers[2]; /* those that are not empty count */
	char counts[4096];                            /* what the engine counted, one line each */
	char stages[4096]; /* stages that Workloads came to: "won 250", one line each */
};

/* The server that the cluster's number leads to. */
cluster_id w_server(const struct world *w, cluster_id c);

/* A copy of the string on the heap, ended by a zero byte. */
char *w_dup(mk_str s);

/* Is it the kind of LocalQueues or of ClusterQueues? */
bool w_is_queue(uint16_t kind);

/* Appends an event to those that wait for the next step, and returns it for further fields. */
struct pending *w_event(struct world *w, enum event_type type, cluster_id c, uint16_t kind);

/* Forgets the first n events. */
void w_drop(struct world *w, size_t n);

/*
 * The object of that name on a cluster, NULL when there is none. 'ns' is "" when it has no
 * namespace.
 */
struct object *w_find(struct world *w, cluster_id c, uint16_t kind, const char *ns,
		      const char *name);

/* As w_tell(), for the cluster number 'as' alone. */
void w_tell_as(struct world *w, const struct object *o, enum event_type type, enum event_via via,
	       cluster_id as);

/*
 * Appends an event about the object, for its cluster and each alias of that,
 * unless the watch does not show it.
 */
void w_tell(struct world *w, const struct object *o, enum event_type type, enum event_via via);

/* The origin that the engine is configured with. */
const char *w_origin(const struct world *w);

/* Does the label selector of the watches leave the object of a worker out? */
bool w_is_hidden(const struct world *w, const struct json *v);

/* Stores 'v' as the new state of 'o' and tells the watch. */
void w_store(struct world *w, struct object *o, struct json *v, struct arena *a);

/*
 * Creates an object as a user or a controller would, and tells the watches. Ends the
 * program when the text is no JSON.
 */
struct object *w_put(struct world *w, cluster_id c, uint16_t kind, const char *text);

/* Changes an object by a merge patch as a user or a controller would, and tells the watches. */
void w_patch(struct world *w, struct object *o, const char *patch);

/* Frees what the object holds and leaves its slot empty. */
void w_free_object(struct object *o);

/* Takes the object away at once, whatever its finalizers, and tells the watches. */
void w_del(struct world *w, struct object *o);

/* Core Kueue applies status as kueue-admission: 'text' is the whole status it owns. */
void w_apply(struct world *w, struct object *o, const char *text);

/*
 * Carries out an operation of the engine's as an API server would, and
 * appends its answer to the events.
 */
void w_do(struct world *w, const struct op *op, struct arena *a);

/* Writes the operation into the log: one line, or its whole text when w->full. */
void w_log(struct world *w, const struct op *op, struct arena *a);

#endif
