/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MultiKueue manager's decisions as a deterministic machine: events in, operations out, time an argument. It holds
 * the store of all observed objects, the workqueue, the workload step table, the cluster and admission-check
 * controllers, nomination, garbage collection and its own timers. It does no I/O and reads no clock; the same sequence
 * of steps gives the same operations, byte for byte. Everything it knows can be rebuilt from the API.
 */
#ifndef MK_ENGINE_ENGINE_H
#define MK_ENGINE_ENGINE_H

#include "core/model/event.h"
#include "core/model/op.h"
#include "core/plug/plug.h"

struct engine;

/* What people count, each once: a clone made, a check turned Ready, by us. */
enum engine_count { COUNT_DISPATCHED, COUNT_ADMITTED };

/*
 * Told of each; 'cluster_queue' is the local Workload's ("" = none). Called within engine_step: must not call back, and
 * keeps nothing borrowed.
 */
typedef void engine_count_fn(void *ctx, enum engine_count what, mk_str cluster_queue,
			     mk_str cluster);

/* Feature gates that change decisions; defaults are Kueue's, and the daemon's business. */
struct engine_gates {
	bool identifier_annotations;  /* WorkloadIdentifierAnnotations */
	bool orchestrated_preemption; /* MultiKueueOrchestratedPreemption */
	bool elastic_slices;          /* ElasticJobsViaWorkloadSlices */
	bool remote_spec_sync;        /* MultiKueueRemoteSpecSync */
	bool quota_automation;        /* MultiKueueManagerQuotaAutomation */
	bool cluster_profile;         /* MultiKueueClusterProfile */
	bool priority_boost;          /* PriorityBoost */
	bool path_validation; /* MultiKueueKubeConfigPathValidation: whoever reads files checks */
};

/* What the configuration means to the engine; strings are borrowed for the engine's life. */
struct engine_options {
	const struct kinds
		*kinds; /* fixed kinds, then one job kind per adapter of 'plug', in its order */
	struct plug *plug;
	mk_str origin;                /* multiKueue.origin */
	const mk_str *former_origins; /* multiKueue.formerOrigins */
	size_t n_former_origins;
	const mk_str *
		former_managers; /* multiKueue.formerManagers: ids of this manager before it was rebuilt */
	size_t n_former_managers;
	mk_str namespace_;              /* where kubeconfig Secrets live */
	mk_str dispatcher;              /* multiKueue.dispatcherName */
	const struct json *dispatchers; /* multiKueue.dispatchers: section by name, or NULL = {} */
	int64_t worker_lost_timeout_ms;
	bool worker_lost_keep; /* multiKueue.lostWorkerPolicy is Keep: the timeout does not count */
	int64_t gc_interval_ms; /* 0 = off */
	size_t worker_memory;   /* that what is known of one worker may take; 0 = no limit */
	struct engine_gates gates;
	bool has_profiles;       /* multiKueue.clusterProfile is there */
	const mk_str *providers; /* ... its providers' names, in order */
	size_t n_providers;
	uint64_t seed;
	engine_count_fn *count; /* or NULL */
	void *count_ctx;
};

/* MK_NO_MEMORY; MK_INVALID when no loaded dispatcher answers for the name. */
struct engine *engine_new(const struct engine_options *o, struct mk_err *err);
void engine_free(struct engine *e); /* NULL is fine */

/*
 * One step: takes in 'n' events, works off what became due (at most a slice of about 5 ms; engine_next_ms then says
 * "now"), and appends operations to 'out'. 'mono_ms' never goes back; 'wall_ms' may. Operations and their bodies live
 * in out->arena. Out of memory inside a step: the affected keys are queued again and the step ends early.
 */
void engine_step(struct engine *e, const struct event *ev, size_t n, int64_t mono_ms,
		 int64_t wall_ms, struct op_list *out);

/* Monotonic ms when the next step is needed without an event; INT64_MAX = none. */
int64_t engine_next_ms(const struct engine *e);

/* Counters and gauges for metrics, the demo and the bench. */
struct engine_stats {
	uint64_t steps, passes; /* engine_step calls; workload passes */
	size_t workloads;       /* manager Workloads in the store */
	size_t objects;         /* all records */
	size_t bytes;           /* memory of records and blobs */
	size_t queued, in_flight;
	uint64_t dispatched, admitted; /* clones made; checks turned Ready */
	uint64_t finished;           /* workloads of ours seen turning Finished, whoever wrote it */
	uint64_t unserved_workloads; /* frozen: no plugin for their kind */
	uint64_t gc_held; /* workloads whose garbage waits for a confirmation, each interval anew */
	uint64_t overweight; /* times that a worker took more than its share of memory */
	uint64_t recreated;  /* clones made again without reason, see breaker.c */
	bool breaker_open;   /* what may destroy is halted */
};
void engine_get_stats(const struct engine *e, struct engine_stats *ret);

/* How often each rule of the step table fired: 'fn' is called once per rule id, in a fixed order. */
void engine_rules(const struct engine *e, void (*fn)(void *ctx, const char *rule, uint64_t count),
		  void *ctx);

#endif
