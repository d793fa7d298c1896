/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of Workloads that wait for one server for one reason. The first twenty are Events about
 * each Workload; then one about the server says it for all, and who reads Events is not flooded.
 */
#ifndef MK_ENGINE_ACT_WAITERS_H
#define MK_ENGINE_ACT_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

enum { WAITERS_MANY = 20, WAITERS = 4 };

/* Noted of a cluster. A restart loses it; the Events that follow have the same names as before. */
struct waiters {
	uint64_t of;  /* hash of the reason */
	unsigned n;   /* Workloads that have it */
	int64_t last; /* monotonic ms of the last of them */
	int64_t said; /* ... of the Event about the server; 0 none yet */
};

struct engine;
struct cluster;
struct record;
struct note;

/*
 * Sends 'n' about the Workload 'r', unless twenty others have its reason at 'c': then, every ten
 * minutes at most, an Event about 'about' (the cluster's object, or a check's where 'c' is the
 * manager; NULL: there is none, and 'n' is sent). 'same': what others have, too, without dates and
 * names of their own. 'again': the Workload was counted.
 */
void waiters_tell(struct engine *e, struct cluster *c, const struct record *about,
		  const struct record *r, const struct note *n, uint64_t same, bool again);

#endif
