/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers have of quota, for trees whose total is theirs (capacityFrom): the LocalQueues and
 * ClusterQueues of each worker, MultiKueueConfigs and which workers are in reach. Kept up to date
 * by the caller, who watches them: an event costs the same whatever the fleet is. Thread-safe: one
 * thread fills it, another adds up (capacity.h).
 */
#ifndef MK_TREES_FLEET_H
#define MK_TREES_FLEET_H

#include "core/api/amount.h"

struct trees_fleet;

/* The two kinds of object of a worker that are kept. */
enum trees_side { TREES_LOCALS, TREES_QUEUES, TREES_SIDES };

struct trees_quota {
	mk_str flavor, resource;
	struct api_amount nominal;
};

/* NULL: out of memory. */
struct trees_fleet *trees_fleet_new(void);
/* NULL is fine. */
void trees_fleet_free(struct trees_fleet *f);

/* --- queues of workers ------------------------------------------------------------------------ */

/*
 * A LocalQueue of worker 'id' leads to ClusterQueue 'queue'. False: it is not kept, because memory
 * ran out, or the worker has more than 200,000 of the kind or 64 MiB of both; the worker counts as
 * not known until the kind is listed, as one does of which a kind was never listed.
 */
bool trees_fleet_put_local(struct trees_fleet *f, uint32_t id, mk_str ns, mk_str name,
			   mk_str queue);
/* A ClusterQueue of worker 'id' and its quotas; likewise. */
bool trees_fleet_put_queue(struct trees_fleet *f, uint32_t id, mk_str name,
			   const struct trees_quota *quotas, size_t n);
/* Something of that kind could not be read: the same. */
void trees_fleet_lose(struct trees_fleet *f, uint32_t id, enum trees_side side);
/* One is gone; 'ns' is empty for a ClusterQueue. */
void trees_fleet_drop(struct trees_fleet *f, uint32_t id, enum trees_side side, mk_str ns,
		      mk_str name);
/*
 * A list of the kind begins, and ends: what it did not name is dropped then. False: out of memory,
 * and it is of no use.
 */
bool trees_fleet_list(struct trees_fleet *f, uint32_t id, enum trees_side side);
void trees_fleet_listed(struct trees_fleet *f, uint32_t id, enum trees_side side);
/* A kind of a worker that is not kept whole, in *ret_id and *ret_side; false: there is none. */
bool trees_fleet_torn(struct trees_fleet *f, uint32_t *ret_id, enum trees_side *ret_side);

/* --- workers ---------------------------------------------------------------------------------- */

/* A MultiKueueCluster. */
struct trees_worker {
	mk_str name;
	uint32_t id;          /* CLUSTER_MANAGER: none yet */
	const mk_str *labels; /* "name=value" */
	size_t n_labels;
	/*
	 * Monotonic and wall time since when its queues cannot be seen; INT64_MAX: they can. What
	 * was given first stays while they cannot.
	 */
	int64_t hidden_ms, hidden_wall_ms;
	bool was_seen;
	bool torn; /* of what trees_fleet_look gives: something of it is not kept */
	mk_str server;
};

struct trees_config {
	mk_str name;
	const mk_str *clusters;
	size_t n;
};

struct trees_workers {
	bool known; /* the two lists are complete */
	struct trees_worker *workers;
	size_t n_workers;
	struct trees_config *configs;
	size_t n_configs;
};

/*
 * All workers and configs, as they are now; copied. False: out of memory, and they are as before.
 */
bool trees_fleet_set(struct trees_fleet *f, const struct trees_workers *now);
/* The same back, copied into 'a'. False: out of memory. */
bool trees_fleet_look(struct trees_fleet *f, struct arena *a, struct trees_workers *ret);

/* Grows with each change that a sum may depend on. */
uint64_t trees_fleet_version(const struct trees_fleet *f);

/*
 * Calls 'add' with each quota of those ClusterQueues of worker 'id', each once, to which
 * LocalQueues "ns/name" of 'locals' lead. Strings are borrowed until 'add' returns, which must not
 * call back. Returns how many ClusterQueues these are.
 */
size_t trees_fleet_sum(struct trees_fleet *f, uint32_t id, const mk_str *locals, size_t n,
		       void (*add)(void *ctx, const struct trees_quota *q), void *ctx);

#endif
