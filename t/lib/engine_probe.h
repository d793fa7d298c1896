/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dispatcher for tests of what dispatchers are told: it wants facts and places, notes what it
 * finds at a few places of its question, and picks what the test says.
 */
#ifndef MK_T_LIB_ENGINE_PROBE_H
#define MK_T_LIB_ENGINE_PROBE_H

#include "t/lib/engine_world.h"

enum { PROBE_MAX = 8 };

extern struct probe {
	/*
	 * A letter and a JSON pointer: c the clusters, j the job, r the requests, s the section;
	 * "t": reserved_ms. NULL: nothing is noted.
	 */
	const char *at[PROBE_MAX];
	char got[PROBE_MAX][1024]; /* of the last call: "-" absent; lists as "name=value," */
	uint32_t pick[4], n;
	int64_t wait_ms;
	unsigned calls;
} probe;

/* 'n' workers behind the dispatcher "test.io/probe", which picks the first. Stopped. */
struct world *probe_world(size_t n);
/*
 * A ClusterQueue of a worker; "cq" is behind the LocalQueue ns/q. 'spec' are members of its spec,
 * 'quota' those of the resource cpu of its only flavor, 'used' what is reserved of it.
 */
struct object *probe_queue(struct world *w, cluster_id c, const char *name, const char *spec,
			   const char *quota, const char *used);
/* A job with two pods that ask for one cpu each, and its Workload with quota. */
struct object *probe_job(struct world *w, const char *name);

/* What it found at place 'i', as a number; -1: it is none. */
int64_t probe_int(size_t i);

#endif
