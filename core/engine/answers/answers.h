/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers for operators: what the engine knows of Workloads, clusters and queues, as JSON. An
 * answer reads the store: it sends no request, changes nothing, and costs what it returns. Called
 * between two steps of the engine, on its thread. docs/visibility.md describes each object for
 * clients; what is there stays compatible within version v1.
 */
#ifndef MK_ENGINE_ANSWERS_ANSWERS_H
#define MK_ENGINE_ANSWERS_ANSWERS_H

#include "core/engine/engine.h"

/* Rows of one page, at most; a page of these holds the loop for less than 5 ms. */
enum { ANSWER_ROWS_MAX = 100 };

/* What all answers take: the time as for engine_run, and where the answer lives. */
struct answer_env {
	struct engine *e;
	int64_t mono_ms, wall_ms;
	struct arena *a;
};

/*
 * One Workload: where it stands, why, each cluster's reason, and what happens next. NULL: it is
 * unknown, or memory ran out (arena_failed tells).
 */
struct json *answer_workload(const struct answer_env *env, mk_str ns, mk_str name);

/* Which Workloads a page has; "" and 0 stand for all. */
struct answer_filter {
	mk_str ns, phase, cluster, queue; /* namespace, phase, chosen cluster, ClusterQueue */
	mk_str after;  /* "ns/name" of the last row of the page before; "" the first page */
	size_t limit;  /* rows, 1 to ANSWER_ROWS_MAX; 0 stands for that */
	bool requests; /* each row with what its pods ask for, as facts_requests has it */
};

/*
 * A page of Workloads in the order in which the engine saw them first:
 * {"items": [{namespace, name, phase, ...}], "continue": "ns/name"}. At most ANSWER_LOOKS_MAX
 * Workloads are looked at, and for 'requests' texts read that take ANSWER_TEXTS_MAX of memory, so
 * a page may have fewer rows than asked for, and yet "continue".
 * NULL: 'after' is unknown (the client begins again), or memory ran out (arena_failed tells).
 */
struct json *answer_workloads(const struct answer_env *env, const struct answer_filter *f);
enum { ANSWER_LOOKS_MAX = 1000, ANSWER_TEXTS_MAX = 2 * 1024 * 1024 };

/*
 * All workers in the order of their numbers: {"items": [{name, state, reason, message, since,
 * clones, unserved, bytes}]}. NULL: out of memory.
 */
struct json *answer_clusters(const struct answer_env *env);

/*
 * ClusterQueues that are watched, on the manager and on workers, and Cohorts of the manager:
 * {"items": [{cluster, name, cohort, active, pending, flavors: [{name, resources: [{name, nominal,
 * used}]}]}], "cohorts": [{name, parent, flavors: [{name, resources: [{name, nominal}]}]}]};
 * amounts are in milli-units for cpu, else in units. NULL: out of memory.
 */
struct json *answer_queues(const struct answer_env *env);

#endif
