/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MultiKueue manager's decisions as a deterministic machine: events go in, operations come out,
 * time is an argument. It holds the store of observed objects, the workqueue, the rules for
 * Workloads, the cluster and admission check controllers, nomination, garbage collection and its
 * timers. It does no I/O and reads no clock; the same sequence of steps gives the same operations,
 * byte for byte. Everything in it can be rebuilt from the API.
 *
 * The daemon and the simulation call it through core/manager. Life: engine_new, engine_observe for
 * each event, engine_run (when events have been observed or engine_next_ms has come), engine_free.
 * One thread.
 */
#ifndef MK_ENGINE_ENGINE_H
#define MK_ENGINE_ENGINE_H

#include "core/base/slice.h"
#include "core/model/event.h"
#include "core/model/op.h"
#include "core/plug/plug.h"

struct engine;

/* How far a Workload has come in a round, from a reservation of quota to the next one. */
enum engine_stage {
	STAGE_UNKNOWN,   /* no pass has looked at it */
	STAGE_NONE,      /* no round is under way */
	STAGE_QUOTA,     /* Kueue has reserved quota for it on the manager */
	STAGE_NOMINATED, /* workers are nominated */
	STAGE_WON,       /* one was chosen */
	STAGE_CREATED,   /* its job is there */
	STAGE_FINISHED,  /* the Workload is Finished */
	STAGE_CLEAN,     /* nothing of it is left on workers */
	STAGE_N
};
/* Their names in metrics and answers. */
extern const char *const engine_stages[STAGE_N];

/* What the metrics count, each once and only while leading. */
struct engine_count {
	enum {
		COUNT_DISPATCHED, /* we made a clone */
		COUNT_ADMITTED,   /* we turned a check to Ready */
		COUNT_EVICTED,    /* Kueue on its worker evicted a winner */
		COUNT_STAGE,      /* a Workload came to a stage */
	} what;
	mk_str cluster_queue;    /* of the local Workload's admission, "" none */
	mk_str cluster;          /* "" of COUNT_STAGE */
	mk_str reason;           /* COUNT_EVICTED: that of the clone's condition; else "" */
	enum engine_stage stage; /* COUNT_STAGE: this one, */
	int64_t ms;              /* ... so long after the one before, of which we know the time */
};

/*
 * Called for each. It runs within engine_run: it must not call back, and keeps nothing borrowed.
 */
typedef void engine_count_fn(void *ctx, const struct engine_count *count);

/* Feature gates that change decisions; core/config sets Kueue's defaults. */
struct engine_gates {
	bool identifier_annotations;  /* WorkloadIdentifierAnnotations */
	bool orchestrated_preemption; /* MultiKueueOrchestratedPreemption */
	bool elastic_slices;          /* ElasticJobsViaWorkloadSlices */
	bool remote_spec_sync;        /* MultiKueueRemoteSpecSync */
	bool quota_automation;        /* MultiKueueManagerQuotaAutomation */
	bool cluster_profile;         /* MultiKueueClusterProfile */
	bool priority_boost;          /* PriorityBoost */
	bool ray_autoscaling;         /* MultiKueueRayInTreeAutoscaling */
	bool path_validation; /* MultiKueueKubeConfigPathValidation; core/daemon checks the paths */
};

/*
 * The part of the configuration that the engine needs; strings are borrowed for the engine's life.
 */
struct engine_options {
	const struct kinds
		*kinds; /* fixed kinds, then one job kind per adapter of 'plug', in its order */
	struct plug *plug;
	mk_str origin;                /* multiKueue.origin */
	const mk_str *former_origins; /* multiKueue.formerOrigins */
	size_t n_former_origins;
	const mk_str *former_managers; /* its ids before a rebuild */
	size_t n_former_managers;
	mk_str manager_id;              /* multiKueue.managerId; "" the uid of its kube-system */
	mk_str namespace_;              /* where kubeconfig Secrets live */
	mk_str dispatcher;              /* multiKueue.dispatcherName */
	const struct json *dispatchers; /* multiKueue.dispatchers: section by name, or NULL = {} */
	const struct json *walls;       /* multiKueue.walls, or NULL */
	int64_t worker_lost_timeout_ms;
	bool worker_lost_keep; /* multiKueue.lostWorkerPolicy is Keep: the timeout does not count */
	bool collect_unmarked; /* multiKueue.takeOver is CollectUnmarked */
	int64_t placement_timeout_ms; /* multiKueue.placementTimeout; 0 = off */
	bool unplaceable_reject;      /* multiKueue.unplaceable is Reject */
	int64_t gc_interval_ms;       /* 0 = off */
	size_t job_status_size;       /* bytes of a status that are copied at most; 0 = no limit */
	size_t worker_memory;         /* limit of the store's bytes for one worker; 0 = no limit */
	struct engine_gates gates;
	bool queues; /* watch the manager's ClusterQueues and Cohorts: for answers, engine_uses */
	bool has_profiles;       /* the section multiKueue.clusterProfile exists */
	const mk_str *providers; /* names of its providers */
	size_t n_providers;
	uint64_t seed;
	/*
	 * Does another part write the quota of that ClusterQueue of the manager, so that quota
	 * automation does not? NULL: none does. When the answer changes: engine_owners_changed.
	 */
	bool (*has_owner)(void *ctx, mk_str cluster_queue);
	void *owner_ctx;
	const struct slice *slice; /* of engine_run; borrowed, NULL: no limit */
	engine_count_fn *count;    /* or NULL */
	void *count_ctx;
};

/* ERR_NO_MEMORY; ERR_INVALID when no loaded dispatcher has the name in 'o'. */
struct engine *engine_new(const struct engine_options *o, struct mk_err *err);
/* NULL is fine. */
void engine_free(struct engine *e);

/*
 * Takes in one event, which is borrowed for the call, and queues the passes that it concerns; they
 * run in engine_run. 'mono_ms' never goes back; 'wall_ms' may. What has to be asked at once is
 * appended to 'out'; operations and their bodies live in out->arena. When memory runs out, the
 * kind concerned is listed again.
 */
void engine_observe(struct engine *e, const struct event *ev, int64_t mono_ms, int64_t wall_ms,
		    struct op_list *out);
/*
 * Is the state that 'ev' (EV_OBSERVED or EV_OP_DONE, without obj) would show, or a newer one, in
 * the store? Then an EV_OBSERVED needs no engine_observe: that the object was shown is noted. An
 * EV_OP_DONE does, and needs no obj.
 */
bool engine_knows(struct engine *e, const struct event *ev);
/*
 * Runs the passes that are due and appends operations to 'out': at least one pass, at most 64, and
 * no further one when the slice is spent; engine_next_ms then says "now". When memory runs out, the
 * objects concerned are queued again and the run ends early.
 */
void engine_run(struct engine *e, int64_t mono_ms, int64_t wall_ms, struct op_list *out);

/* Monotonic ms when the next run is needed without an event; INT64_MAX = none. */
int64_t engine_next_ms(const struct engine *e);

enum { ENGINE_OVERDUE_MS = 10 * 60 * 1000 };

/* Counters and gauges for metrics, the demo and the bench. */
struct engine_stats {
	uint64_t steps, passes; /* engine_run calls; workload passes */
	uint64_t visits;        /* clusters that those passes looked at */
	size_t workloads;       /* manager Workloads in the store */
	size_t objects;         /* all records */
	size_t bytes;           /* memory of records and texts */
	size_t queued, in_flight;
	uint64_t dispatched, admitted; /* clones made; checks turned Ready */
	uint64_t finished; /* Workloads of ours seen turning Finished, written by Kueue or by us */
	uint64_t unserved_workloads; /* Workloads left as they are: no plugin serves their kind */
	/*
	 * Workloads with reserved quota that no worker has admitted for longer than this, as of
	 * the last step and only while leading; since this process saw them first.
	 */
	uint64_t overdue;
	uint64_t gc_held;    /* Workloads whose garbage waits, counted in each interval */
	uint64_t overweight; /* times that a worker exceeded worker_memory */
	uint64_t recreated;  /* clones created again without a reason, see breaker.c */
	bool breaker_open;   /* deletes that may do harm are halted, see breaker.c */
};
/* Copies the counters and gauges of now into 'ret'. */
void engine_get_stats(const struct engine *e, struct engine_stats *ret);

/*
 * Calls 'fn' with each phase of docs/visibility.md and how many Workloads are in it, in a fixed
 * order. They are counted in the pass of each: the cost does not grow with the Workloads.
 */
void engine_phases(const struct engine *e, void (*fn)(void *ctx, const char *phase, size_t n),
		   void *ctx);
/*
 * The Workload that has waited for a worker for the longest, monotonic ms since when; the names are
 * borrowed until the next step. False: none waits, or this process does not lead.
 */
bool engine_first_waiting(const struct engine *e, mk_str *ret_ns, mk_str *ret_name,
			  int64_t *ret_since_ms);

/* Does it watch the manager's objects of this kind of queue? */
bool engine_reads_queues(const struct engine *e, uint16_t kind);

/* What the condition Active of a MultiKueueCluster says. */
enum engine_active {
	ACTIVE_UNKNOWN, /* there is none yet */
	ACTIVE_FALSE,
	ACTIVE_TRUE,
	ACTIVE_N
};
/*
 * Calls 'fn' with each ClusterQueue of the manager and each MultiKueueCluster that the config of
 * its check names, where the engine watches ClusterQueues and may read them. A pair may come twice.
 */
void engine_uses(const struct engine *e,
		 void (*fn)(void *ctx, mk_str cluster_queue, mk_str cluster,
			    enum engine_active active),
		 void *ctx);

/* Quota automation asks has_owner again, in a second. */
void engine_owners_changed(struct engine *e);

/*
 * The queues of workers are to be watched, or not any more, for a part that adds up their quotas;
 * takes effect in the next run. Their events are those that engine_observe is given. Returns
 * whether that is news.
 */
bool engine_want_queues(struct engine *e, bool wanted);

/* A MultiKueueCluster, for that part. */
struct engine_worker {
	cluster_id id; /* of its events; CLUSTER_MANAGER: it has no number yet */
	mk_str name;
	const mk_str *labels; /* "name=value" */
	size_t n_labels;
	int64_t hidden_ms; /* monotonic: its queues cannot be seen since; INT64_MAX: they can */
	bool was_seen;     /* its queues were, by this process */
	mk_str server;     /* what its API server is known by; "": not known */
};
/*
 * Calls 'worker' with each MultiKueueCluster and 'config' with each MultiKueueConfig and the
 * clusters that it has, by name or by labels; in no order that means something. What they are given
 * is borrowed until they return. False, and no call: the manager's lists are not complete.
 */
bool engine_workers(const struct engine *e,
		    void (*worker)(void *ctx, const struct engine_worker *w),
		    void (*config)(void *ctx, mk_str name, const mk_str *clusters, size_t n),
		    void *ctx);

/*
 * Calls 'fn' once per rule, in a fixed order, with its name (docs/metrics.md has the table) and how
 * often it fired.
 */
void engine_rules(const struct engine *e, void (*fn)(void *ctx, const char *rule, uint64_t count),
		  void *ctx);

#endif
