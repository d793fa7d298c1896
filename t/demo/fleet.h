/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated fleet as the demo uses it: one manager and its workers, found by their kubeconfigs;
 * the jobs to submit; questions about what is there and what it cost.
 */
#ifndef MK_T_DEMO_FLEET_H
#define MK_T_DEMO_FLEET_H

#include "t/demo/client.h"
#include "t/demo/track.h"

struct fleet {
	struct client *client;
	struct track *track;
	struct arena a;                        /* names and bodies, for life */
	const char *names[TRACK_CLUSTERS_MAX]; /* the first is the manager */
	uint32_t n;
	struct {
		const char *name, *body, *ns;
	} * jobs;
	size_t n_jobs, size_jobs;
	size_t next, in_flight; /* submission */
	int refused;            /* status of a refused submission */
};

/*
 * 'dir' holds <name>.kubeconfig of each of 'names' ("mgr,w1,w2"). Errors of client_open;
 * ERR_TOO_BIG.
 */
enum mk_code fleet_init(struct fleet *f, struct client *c, struct track *t, const char *dir,
			const char *names, struct mk_err *err);
void fleet_done(struct fleet *f);

/* Waits until all workers are Active on the manager, at most 'limit_ms'. */
bool fleet_wait_active(struct fleet *f, int64_t limit_ms);
/* Opens the watches that feed the tracker, and waits for their begin. */
bool fleet_watch(struct fleet *f, int64_t limit_ms);

/*
 * Jobs to submit: those of a file (YAML documents), or 'n' small ones named "<prefix>-00001"
 * and so on. At most 'max' in all.
 */
enum mk_code fleet_add_file(struct fleet *f, const char *file, size_t max, struct mk_err *err);
enum mk_code fleet_add_many(struct fleet *f, size_t n, const char *prefix, const char *run_ms,
			    struct mk_err *err);
/*
 * Sends what is due of them, at most 'live' (0: any number) unfinished; call
 * often. False when one was refused.
 */
bool fleet_submit(struct fleet *f, size_t live);

struct fleet_requests {
	bool is_counted; /* kubesim counts; real API servers have their audit log */
	uint64_t total;  /* of multikueued, besides watches, events and the Lease */
	uint64_t manager, workers;
	uint64_t watches, events, leases;
};

/* As the API servers counted them, if they do. False when one does not answer. */
bool fleet_requests(struct fleet *f, struct fleet_requests *ret);
/* Workloads and Jobs on all workers; -1 when one does not answer. */
long fleet_left(struct fleet *f);
/* Prints the output of every job that ran as a process. */
void fleet_print_logs(struct fleet *f);

#endif
