/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager without sockets and clock: engine, apply and kube put together over a struct
 * transport. The daemon runs it on libcurl, the simulation on simulated stores, so the simulation
 * tests the code that ships.
 *
 * Life: manager_new, manager_start; then manager_run each time manager_next_ms has come or the
 * transport has called back through manager_sink; manager_free. One thread.
 */
#ifndef MK_MANAGER_MANAGER_H
#define MK_MANAGER_MANAGER_H

#include "core/apply/apply.h"
#include "core/engine/answers/answers.h"
#include "core/engine/engine.h"
#include "core/kube/kube.h"

struct manager;

enum { MANAGER_SLICE_US = 3000 };

/*
 * Sees each event and operation, for logs, metrics and the simulation's story. Called at once; must
 * not call back.
 */
struct manager_observer {
	void *ctx;
	void (*on_event)(void *ctx, const struct event *ev);
	void (*on_op)(void *ctx, const struct op *op);
	engine_count_fn *on_count; /* the same ctx */
};

/*
 * Reads kubeconfigs from files and reports them with manager_file. A second 'watch' of the same
 * path must report the file again.
 */
struct manager_files {
	void *ctx;
	/* False: out of memory. Must not call manager_file at once. */
	bool (*watch)(void *ctx, mk_str path);
	void (*unwatch)(void *ctx, mk_str path);
};

/* Strings are borrowed for the manager's life. */
struct manager_options {
	struct plug *plug; /* borrowed */
	const struct transport *transport;
	struct manager_observer observer; /* callbacks may be NULL */
	struct manager_files files; /* NULL: clusters whose kubeconfig is a file never connect */
	mk_str origin, manager_id, namespace_, dispatcher; /* see engine_options */
	const mk_str *former_origins, *former_managers;
	size_t n_former_origins, n_former_managers;
	const struct json *dispatchers; /* their sections by name; NULL = {} */
	const struct json *walls;       /* see engine_options */
	int64_t worker_lost_timeout_ms, gc_interval_ms;
	bool worker_lost_keep;        /* see engine_options */
	bool collect_unmarked;        /* see engine_options */
	int64_t placement_timeout_ms; /* see engine_options */
	bool unplaceable_reject;
	size_t job_status_size; /* bytes of a status that are copied at most; 0 = no limit */
	size_t worker_memory;   /* limit of the store's bytes for one worker; 0 = no limit */
	struct apply_rate rate; /* of operations on each cluster */
	struct engine_gates gates;
	bool queues;                                        /* see engine_options */
	bool (*has_owner)(void *ctx, mk_str cluster_queue); /* see engine_options */
	void *owner_ctx;
	bool has_profiles;                     /* the section multiKueue.clusterProfile is there */
	const struct kube_provider *providers; /* its providers, in order; see kube_options */
	size_t n_providers;
	struct kube_programs programs;
	bool allow_loopback, allow_link_local;
	uint64_t seed;
	/* Monotonic: bounds the time of one manager_run. NULL: only counts bound it. */
	int64_t (*clock_us)(void);
};

/* ERR_NO_MEMORY; ERR_INVALID for an unknown dispatcher, or more adapters than there are kinds. */
struct manager *manager_new(const struct manager_options *o, struct mk_err *err);
/* Frees the manager, and kube, apply and engine with it; calls no callback. NULL is fine. */
void manager_free(struct manager *m);

/* The callbacks to hand to the transport; call manager_now before a batch of them. */
const struct transport_sink *manager_sink(struct manager *m);

/* The kinds in use; borrowed for the manager's life. */
const struct kinds *manager_kinds(const struct manager *m);
/* The parts, for their counters and gauges; borrowed for the manager's life. */
struct kube *manager_kube(struct manager *m);
const struct engine *manager_engine(const struct manager *m);
/* What the functions of answers.h take; the answers live in 'a'. Not within manager_run. */
struct answer_env manager_answers(struct manager *m, int64_t mono_ms, int64_t wall_ms,
				  struct arena *a);

/* Connects to the manager's own API server. */
enum mk_code manager_start(struct manager *m, const struct endpoint *e, struct mk_err *err);

/* Sets the time for the callbacks and calls that follow. */
void manager_now(struct manager *m, int64_t mono_ms, int64_t wall_ms);

/*
 * Reports the text of a file, or the problem of reading it, as kube_file. Call manager_now before.
 */
enum mk_code manager_file(struct manager *m, mk_str path, mk_str text, mk_str problem,
			  struct mk_err *err);

/* A program ended, as kube_program_done. Call manager_now before. */
void manager_program_done(struct manager *m, uint64_t id, enum mk_code code, mk_str out,
			  mk_str text);

/*
 * Leadership gained or lost, as of the time set last; false from the start. Takes effect for writes
 * at once.
 */
void manager_set_leader(struct manager *m, bool may_write);

/* engine_want_queues and engine_owners_changed; the next run follows. */
void manager_want_queues(struct manager *m, bool wanted);
void manager_owners_changed(struct manager *m);

/*
 * Handles what has arrived and what is due, in a bounded slice: at most MANAGER_SLICE_US and one
 * more pass, timer or connection. manager_next_ms says "now" when more is left.
 */
void manager_run(struct manager *m, int64_t mono_ms, int64_t wall_ms);

/* Monotonic ms of the next manager_run without callbacks; INT64_MAX = none. */
int64_t manager_next_ms(const struct manager *m);

/* Operations queued or on the wire. */
size_t manager_pending(const struct manager *m);

/*
 * True when memory ran out at a place where the manager must not lose what it was doing: the
 * process must end and start anew.
 */
bool manager_broken(const struct manager *m);

#endif
