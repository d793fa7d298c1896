/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulation of queue trees on a virtual clock: workloads arrive, wait, run, are preempted and
 * end; each decision is the library's. The same input gives the same story.
 *
 * 1. replay_new; 2. replay_add for each workload; 3. replay_run; then read the story.
 */
#ifndef MK_CLI_TREE_REPLAY_H
#define MK_CLI_TREE_REPLAY_H

#include "core/cli/tree/world.h"

enum replay_what {
	REPLAY_ARRIVE,
	REPLAY_WAIT,    /* did not fit: detail says where */
	REPLAY_ADMIT,   /* detail: flavors */
	REPLAY_RESERVE, /* its room is reserved until what it preempts is gone */
	REPLAY_EXPIRE,  /* its reservation is over: detail says why */
	REPLAY_EVICT,   /* preempted: detail says by whom and why */
	REPLAY_GONE,    /* has given its quota back, and waits again */
	REPLAY_FINISH,
};

struct replay_event {
	int64_t at_ms;
	enum replay_what what;
	size_t job;
	mk_str detail;
};

enum replay_state {
	REPLAY_ABSENT,
	REPLAY_WAITING,
	REPLAY_RESERVED,
	REPLAY_RUNNING,
	REPLAY_EVICTING,
	REPLAY_DONE
};

/* A workload with its times. */
struct replay_job {
	const struct api_work *work;
	size_t tree;
	int64_t arrive_ms, duration_ms;
	enum replay_state state;
	int64_t since_ms;       /* of the present state */
	int64_t first_admit_ms; /* -1: never */
	size_t n_evicted;
	mk_str blocked;                  /* why it waits, as was told last */
	size_t blocked_node, blocked_fr; /* where */
	struct heap_node *timer;
};

/* What a leaf used of the first pair of its tree, from then on: for pictures. */
struct replay_use {
	int64_t at_ms;
	size_t tree, node;
	int64_t use;
};

struct replay {
	struct cli *c;
	struct world *w;
	struct replay_job *jobs;
	size_t n_jobs, size_jobs;
	struct replay_event *events;
	size_t n_events, size_events;
	struct replay_use *uses;
	size_t n_uses, size_uses;
	int64_t **last;   /* per tree and node: the use noted last */
	int64_t start_ms; /* when the story begins, on the clock of the workloads' times */
	int64_t grace_ms; /* between preemption and the release of quota */
	int64_t now_ms;   /* since then */
	bool cut;         /* ended at the limit of time or events, with work left */
};

enum { REPLAY_MAX_EVENTS = 1000000 };

/*
 * A replay of the trees of 'w' (borrowed; workloads in it that hold quota run from the start),
 * which begins when the clock of their times shows 'start_ms'. NULL: out of memory.
 */
struct replay *replay_new(struct cli *c, struct world *w, int64_t start_ms, int64_t grace_ms);

/*
 * Adds a workload of tree 'tree' that arrives at 'arrive_ms' and needs 'duration_ms' from its last
 * admission to its end; 'work' is borrowed. False: out of memory.
 */
bool replay_add(struct replay *r, const struct api_work *work, size_t tree, int64_t arrive_ms,
		int64_t duration_ms);

/*
 * Plays until all is done or nothing more can happen, at most until 'until_ms'. False: out of
 * memory.
 */
bool replay_run(struct replay *r, int64_t until_ms);

#endif
