/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The totals of trees that have them from workers (capacityFrom): what the workers' queues add up
 * to, and when a tree follows. A total grows when the sum does, or 'raiseAfter' later; it falls
 * when the sum has been lower for 'dropAfter' without a break, to the highest that it was
 * meanwhile. A worker that is out of sight counts as it was seen last until 'lostAfter'; then it is
 * left out. While a worker is not known, because this process has not seen it, the total stays as
 * it is.
 *
 * What a tree has now is read from the ClusterQueue of its root. Only the times of changes under
 * way are remembered (struct trees_settling): a process that begins waits anew.
 */
#ifndef MK_TREES_CAPACITY_H
#define MK_TREES_CAPACITY_H

#include "core/quota/api.h"
#include "core/trees/fleet.h"

/* Changes that wait, by tree and pair. */
struct trees_settling {
	struct map pairs;
	uint64_t passes;
};

/* Nothing waits. */
void trees_settling_init(struct trees_settling *s);
/* Forgets all; it may be used again. */
void trees_settling_clear(struct trees_settling *s);

/* One tree. */
struct trees_capacity {
	bool parents; /* no ClusterQuotaTree */
	mk_str tree;  /* its name, or that of the root */
	/*
	 * False: there is no total, neither from workers nor from what was written before; nothing
	 * is written for the tree.
	 */
	bool known;
	struct api_total *totals; /* of each pair of the tree */
	size_t n;
	/* The condition CapacityFromWorkers. */
	const char *status;
	const char *reason;
	mk_str message;
};

struct trees_capacities {
	struct trees_capacity *v;
	size_t n;
	int64_t next_ms; /* monotonic: something changes then without an event; INT64_MAX: nothing */
};

struct trees_capacity_input {
	struct json *const *objects; /* of trees_snapshot_objects; not changed */
	size_t n;
	struct trees_fleet *fleet;
	int64_t lost_ms; /* lostAfter of trees that do not say it */
	int64_t mono_ms, wall_ms;
};

/* Has the object its total from workers, so that the queues of workers are to be watched? */
bool trees_capacity_asked(const struct json *o);
bool trees_capacity_asked_by_any(struct json *const *objects, size_t n);

/*
 * The totals of all trees that have them from workers and can be read; in 'a', borrows from the
 * input. ERR_NO_MEMORY.
 */
enum mk_code trees_capacity_find(struct trees_settling *s, struct arena *a,
				 const struct trees_capacity_input *in,
				 struct trees_capacities *ret, struct mk_err *err);

/* The tree of that name; NULL: its total is its own. 'all' NULL has none. */
const struct trees_capacity *trees_capacity_get(const struct trees_capacities *all, bool parents,
						mk_str tree);
/*
 * The ClusterQuotaTree, or the ClusterQueue of a root, with these totals as its own; shares with
 * 'o' what is the same. NULL: out of memory.
 */
struct json *trees_capacity_apply(struct arena *a, const struct trees_capacity *c, struct json *o);

#endif
