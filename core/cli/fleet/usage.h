/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in use in ClusterQueues of the manager and on workers, added up from the daemon's answers
 * for `kubectl multikueue top`.
 */
#ifndef MK_CLI_FLEET_USAGE_H
#define MK_CLI_FLEET_USAGE_H

#include "core/base/map.h"
#include "core/cli/fleet/rows.h"

enum { USAGE_UNKNOWN = -1 };

/* Of one resource; cpu in thousandths, everything else in whole units. */
struct usage_amount {
	mk_str flavor; /* of a ClusterQueue; "" of a worker: all flavors together */
	mk_str resource;
	int64_t used;     /* of a worker: what Workloads that were sent there ask for */
	int64_t nominal;  /* USAGE_UNKNOWN: no queue says it */
	int64_t reserved; /* of a worker: by whomever, as its queues say; or USAGE_UNKNOWN */
};

/* A ClusterQueue or a worker. */
struct usage {
	mk_str name;
	const struct json *row; /* what /v1/queues or /v1/clusters says; NULL: nothing */
	struct usage_amount *v;
	size_t n, size;
	struct json *phases; /* how many Workloads are in each, but for those that have ended */
};

struct usages {
	struct usage **v; /* in the order of the answers; what only Workloads name comes last */
	size_t n, size;
	struct map by_name;
	bool failed; /* memory ran out */
};

/* All is in the arena of the cli. */
struct usage_fleet {
	struct usages queues, workers;
	mk_str no_quotas; /* why those of the manager's ClusterQueues are not known; "" they are */
};

/*
 * Asks the daemon, and for quotas of ClusterQueues that it does not watch kubectl, unless no queue
 * is 'wanted'. False: the error was printed. usage_done in any case.
 */
bool usage_read(struct daemon *d, bool queues_wanted, struct usage_fleet *ret);
void usage_done(struct usage_fleet *f);

/* The amount of that flavor and resource; a new one is 0, and else unknown. NULL: out of memory. */
struct usage_amount *usage_amount(struct cli *c, struct usage *u, mk_str flavor, mk_str resource);
/* The sum of two amounts; one that is unknown counts as 0. */
int64_t usage_add(int64_t x, int64_t y);

#endif
