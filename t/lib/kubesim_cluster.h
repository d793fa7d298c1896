/* SPDX-License-Identifier: Apache-2.0 */
/* One simulated cluster with its controllers under a fake clock, for the tests of the actors. */
#ifndef MK_T_LIB_KUBESIM_CLUSTER_H
#define MK_T_LIB_KUBESIM_CLUSTER_H

#include <stdarg.h>
#include <stdlib.h>

#include "t/kubesim/actors.h"
#include "t/lib/tap.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define WORKLOADS "kueue.x-k8s.io/v1beta2/workloads"
#define JOBS "batch/v1/jobs"

struct world {
	struct ks_store *store;
	struct ks_actors *actors;
	struct arena a;
	int64_t now;
	uint64_t digest; /* of all commits */
	size_t commits;
};

#define KUEUE_HEAD "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"

#define JOB_SPEC                                                                          \
	"\"parallelism\":%d,\"completions\":%d,\"suspend\":true,\"template\":{\"spec\":{" \
	"\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","    \
	"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}"

/* Counts a commit and adds it to w->digest; given to the store as its on_commit. */
void sim_commit(void *ctx, const struct ks_commit *c);

/* Creates an object. Returns the status, and prints the answer when it is not 201. */
int sim_post(struct world *w, const char *target, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Changes an object by a merge patch. Returns the status, and prints the answer when it is not 200.
 */
int sim_merge(struct world *w, const char *target, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Applies the status of a Workload as kueue-admission. Returns the status, and prints
 * the answer when it is not 200.
 */
int sim_apply_status(struct world *w, const char *name, const char *fmt, ...);

/* Deletes an object with these options. Returns the status. */
int sim_delete(struct world *w, const char *target, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Lets everything happen that is due until 'now + ms'. */
void sim_run(struct world *w, int64_t ms);

/* An object of namespace "default", NULL when there is none. */
const struct json *sim_get(struct world *w, const char *resource, const char *name);

/* The condition of that type, NULL when there is none. */
const struct json *sim_condition(const struct json *o, const char *type);

/* "<status> <reason> <message>" of a condition, or "-". */
const char *sim_condition_text(struct world *w, const char *resource, const char *name,
			       const char *type);

/* Text at a pointer, or "-". */
const char *sim_at(struct world *w, const char *resource, const char *name, const char *pointer);

/*
 * A cluster in that role whose Jobs are admitted after, and run for, the
 * given times. False: no memory.
 */
bool sim_init(struct world *w, enum ks_role role, int64_t admit_ms, int64_t run_ms, uint64_t seed);

/* Frees the cluster; prints the last error when a controller was refused something. */
void sim_done(struct world *w);

/*
 * Flavor "f", ClusterQueue "cq" with that many cpus (with check "mk" when asked), LocalQueue "lq".
 */
void sim_queues(struct world *w, int cpus, bool check);

/* A Job of queue lq with that many pods of one cpu; 'annotations' is the inside of an object. */
int sim_job(struct world *w, const char *name, int pods, const char *annotations);

/* Name of the only Workload that belongs to Job 'job', or "-". */
const char *sim_workload_of(struct world *w, const char *job);

#endif
