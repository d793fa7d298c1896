/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of every job: fed with the watch events of the manager and its workers, it notes when
 * each phase was first seen, where the job ran, how often it was created anywhere, and what is
 * still there on the workers. No I/O.
 */
#ifndef MK_T_DEMO_TRACK_H
#define MK_T_DEMO_TRACK_H

#include "core/base/json.h"

enum track_phase {
	TRACK_SUBMITTED, /* its POST was sent */
	TRACK_QUOTA,     /* quota reserved on the manager */
	TRACK_NOMINATED, /* workers to try are chosen */
	TRACK_WON,       /* one worker admitted it, and the manager committed to that */
	TRACK_CREATED,   /* the job is on that worker */
	TRACK_RUNNING,   /* the job on the manager shows active pods */
	TRACK_FINISHED,  /* the Workload on the manager is Finished */
	TRACK_CLEAN,     /* nothing of it is left on any worker */
	TRACK_N_PHASES
};

enum { TRACK_NAME_MAX = 64, TRACK_LIST_MAX = 96, TRACK_CLUSTERS_MAX = 32 };

struct track_job {
	char name[TRACK_NAME_MAX];
	int64_t at_us[TRACK_N_PHASES];  /* 0: not yet */
	char nominated[TRACK_LIST_MAX]; /* "w1,w2", the last that was seen */
	char winner[TRACK_NAME_MAX];
	char uid[40];       /* of the newest remote job */
	unsigned n_created; /* remote jobs ever seen */
	unsigned n_jobs;    /* remote jobs there now */
	const struct track_workload *workload;
	bool is_failed;
};

struct track;

/* Told of each phase that a job reaches. */
typedef void track_fn(void *ctx, const struct track_job *job, enum track_phase phase);

/* 'fn' may be NULL. NULL when out of memory. */
struct track *track_new(track_fn *fn, void *ctx);
void track_free(struct track *t); /* NULL is fine */

/*
 * Adds a job (submitted now). Borrowed; stays at its place. NULL: a name too
 * long or known, or out of memory.
 */
struct track_job *track_add(struct track *t, const char *name, int64_t now_us);
size_t track_len(const struct track *t);
/* In the order of track_add. */
const struct track_job *track_get(const struct track *t, size_t i);

/*
 * Watch events: of the manager's Workloads and Jobs, and of cluster number
 * 'cluster's. 'type' as in client.h.
 */
void track_local_workload(struct track *t, mk_str type, const struct json *o, int64_t now_us);
void track_local_job(struct track *t, mk_str type, const struct json *o, int64_t now_us);
void track_remote_workload(struct track *t, uint32_t cluster, mk_str type, const struct json *o,
			   int64_t now_us);
void track_remote_job(struct track *t, uint32_t cluster, mk_str type, const struct json *o,
		      int64_t now_us);

/* The last phase reached. */
enum track_phase track_phase_of(const struct track_job *job);
/* How many jobs have reached 'phase'. */
size_t track_count(const struct track *t, enum track_phase phase);
/* One lower-case word. */
const char *track_phase_name(enum track_phase phase);

#endif
