/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of capacity.h share. Everything lives in the arena of the call. */
#ifndef MK_TREES_CAPACITY_INT_H
#define MK_TREES_CAPACITY_INT_H

#include "core/trees/capacity.h"

enum trees_seat_state {
	TREES_COUNTED,
	TREES_LOST,     /* out of sight, counted as it was */
	TREES_LEFT_OUT, /* ... for so long that it is not */
	TREES_UNKNOWN,  /* not seen by this process yet */
	TREES_NO_SUCH,  /* there is no MultiKueueCluster of that name */
	TREES_TWIN,     /* another name of a server that counts already */
};

enum { TREES_STRANGERS = 5 };

/* A worker of a tree. */
struct trees_seat {
	mk_str name;
	const struct trees_worker *worker; /* NULL: TREES_NO_SUCH */
	enum trees_seat_state state;
	int64_t lost_ms; /* how long it counts */
};

/* One pair of a tree, in the units of quota.h. */
struct trees_pair {
	const struct api_quota *declared;
	enum api_format format;
	int64_t sure;    /* of all workers that count */
	int64_t present; /* without those out of sight */
	bool has_current;
	int64_t current;       /* what the root has now */
	int64_t goal;          /* what it gets */
	int64_t waits_wall_ms; /* a change waits until then; 0: none does */
};

/* One tree while it is added up. */
struct trees_tally {
	struct arena *a;
	const struct trees_capacity_input *in;
	const struct api_capacity *from;
	struct trees_capacity *out;
	struct trees_seat *seats;
	size_t n_seats;
	bool no_config; /* there is no such MultiKueueConfig */
	bool fleet_known;
	struct trees_pair *pairs;
	size_t n_pairs;
	size_t n_queues;                   /* ClusterQueues that were added up */
	mk_str strangers[TREES_STRANGERS]; /* what workers have and the tree has not; the first */
	size_t n_strangers;
};

/* settling.c: sets the goal of a pair, and lowers *next. False: out of memory. */
bool trees_settle(struct trees_settling *all, struct trees_tally *t, struct trees_pair *p,
		  int64_t *next);
/* Forgets trees and pairs that this pass did not settle. */
void trees_settling_end(struct trees_settling *s);

/* capacity_text.c: sets status, reason and message of 't->out'. */
void trees_capacity_say(struct trees_tally *t);

#endif
