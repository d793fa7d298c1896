/* SPDX-License-Identifier: Apache-2.0 */
/* What is noted of clusters and workloads as places; rules/places.c decides by it. */
#ifndef MK_ENGINE_RULES_PLACED_H
#define MK_ENGINE_RULES_PLACED_H

#include "core/model/event.h"

enum { FAILURE_MINUTES = 10 };

/* Runs on a cluster that ended badly, by the minute of the monotonic clock modulo ten. */
struct failures {
	int64_t minute; /* of the newest count */
	uint16_t n[FAILURE_MINUTES];
};

/* Where a workload runs, or ran last. */
struct placed {
	struct place_group *group; /* it counts there, at cluster 'on'; NULL: in none */
	cluster_id on, ran;        /* its winner, or the last one; 0 none */
	int64_t ran_at;            /* the last pass that saw it run there */
};

#endif
