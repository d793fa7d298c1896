/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controllers that live beside an API server, as pure steps over a simulated store: the queue
 * controller (quota per ClusterQueue, admission, eviction, Workloads for jobs, suspending and
 * unsuspending), the job runner and the owner-reference garbage collector. They act through
 * ks_handle like any client, so every rule of the store holds for them.
 *
 * A commit only marks keys as dirty (constant time); ks_actors_run does the work, one write at a
 * time, in a fixed order. The same store history, seed and calls give the same requests.
 */
#ifndef MK_T_KUBESIM_ACTORS_H
#define MK_T_KUBESIM_ACTORS_H

#include "t/kubesim/store.h"

struct ks_actors;

enum ks_role { KS_MANAGER, KS_WORKER };

struct ks_actors_options {
	enum ks_role role;
	uint64_t seed;
	int64_t admit_delay_ms_min,
		admit_delay_ms_max; /* worker: from reserved quota to Admitted */
	int64_t run_ms_min,
		run_ms_max; /* duration of a job, unless its annotation says otherwise */
	bool local_mode;    /* annotation "kubesim.x-k8s.io/mode: local" is honoured: see below */
	bool publish_usage; /* ClusterQueues get a status: what is reserved, how many wait, Active */
	/*
	 * The store has one commit hook and the actors take it: yours,
	 * called after theirs. May be NULL.
	 */
	void (*on_commit)(void *ctx, const struct ks_commit *c);
	void *on_commit_ctx;
};

/*
 * Attaches controllers to 's' (which must outlive them); objects that are there already are taken
 * up. NULL when out of memory. Several may be made one after the other on one store, as a restart
 * of the controllers.
 */
struct ks_actors *ks_actors_new(struct ks_store *s, const struct ks_actors_options *o);
void ks_actors_free(struct ks_actors *a);

/*
 * Does what is due at 'now_ms' (at most 'budget' writes; 0 = no limit). Returns the number of
 * writes. A budget that ran out leaves ks_actors_next_ms at or before now.
 */
size_t ks_actors_run(struct ks_actors *a, int64_t now_ms, size_t budget);

/* Wall ms of the next thing to do without a change of the store; INT64_MAX = none. */
int64_t ks_actors_next_ms(const struct ks_actors *a);

/* Forgets all that was derived and reads the store anew: after ks_restore. */
void ks_actors_resync(struct ks_actors *a);

/*
 * What a mutating webhook of the queue controller does on the way into the API server: a POST of a
 * Job with a queue name is suspended, and gets spec.managedBy when its ClusterQueue has a check of
 * the multikueue controller. Returns the body to use: 'r's own, or a new one in 'arena'.
 */
mk_str ks_actors_admit(const struct ks_actors *a, const struct ks_request *r, struct arena *arena);

/* The last write that the store refused ("<method> <target>: <status> <message>"), or "". */
const char *ks_actors_last_error(const struct ks_actors *a);
/* Writes refused by the store since the start. */
size_t ks_actors_refused(const struct ks_actors *a);

/*
 * Local mode: the runner marks such a job as started and asks its owner (the server) to run the
 * first container's command as a process of its own. The simulation never sees these calls.
 */
struct ks_local_order {
	bool start; /* true: run it; false: it is no longer wanted, stop it */
	mk_str ns, job, uid;
	const struct json *container; /* start only: a copy, in the caller's arena */
	int64_t limit_ms;             /* start only: most it may run */
};

/* Takes the next order, strings in 'arena'. False: none. */
bool ks_actors_take_local(struct ks_actors *a, struct arena *arena, struct ks_local_order *ret);
/* Reports the end of a started process; -1 as exit code means killed or not started. */
void ks_actors_local_done(struct ks_actors *a, mk_str ns, mk_str job, mk_str uid, int exit_code,
			  int64_t now_ms);

#endif
