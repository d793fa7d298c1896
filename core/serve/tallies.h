/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine counts of Workloads, as metrics: Kueue's own counters by ClusterQueue and
 * cluster, and how long Workloads take from stage to stage. Part of the telemetry; one thread.
 */
#ifndef MK_SERVE_TALLIES_H
#define MK_SERVE_TALLIES_H

#include "core/manager/manager.h"
#include "core/serve/fleet.h"
#include "core/serve/rows.h"

enum { TALLIES_REASONS = 16, TALLIES_REASON_SIZE = 64 };

struct tallies {
	bool elects;         /* leaders are elected, which replica_role tells */
	struct fleet *fleet; /* borrowed: knows the ClusterQueues */
	struct rows_pairs pairs;
	struct metric *dispatched, *admitted; /* by cluster_queue, cluster, replica_role */
	struct metric *evicted;               /* by cluster_queue, cluster, reason, replica_role */
	struct metric *seconds;               /* by stage */
	struct metric_row stages[STAGE_N];
	/* The first reasons that workers gave: they are not ours, and there is an end to them. */
	char reasons[TALLIES_REASONS][TALLIES_REASON_SIZE];
	size_t n_reasons;
};

/* Registers the metrics; 't' is zero. */
void tallies_init(struct tallies *t, struct fleet *fleet, bool elects);
void tallies_done(struct tallies *t);
/* Counts one. */
void tallies_count(struct tallies *t, const struct engine_count *count);
/* The metrics have room for each ClusterQueue and cluster of the fleet. */
void tallies_limit(struct tallies *t);
/* A cluster, or a ClusterQueue, is gone, and so are its rows; 'label' is its name in metrics. */
void tallies_forget_cluster(struct tallies *t, mk_str label);
void tallies_forget_queue(struct tallies *t, mk_str label);

#endif
