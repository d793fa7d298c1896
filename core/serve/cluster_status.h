/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kueue's gauge multikueue_cluster_status: what the condition Active of each MultiKueueCluster
 * says, for each ClusterQueue of the manager that uses it. A large fleet has thousands of rows, of
 * which all may change at once, so they are written in several turns of the loop. Part of the
 * telemetry; one thread.
 */
#ifndef MK_SERVE_CLUSTER_STATUS_H
#define MK_SERVE_CLUSTER_STATUS_H

#include "core/base/list.h"
#include "core/base/map.h"
#include "core/base/metric.h"
#include "core/manager/manager.h"

/* Pairs whose rows are written in one turn: about a millisecond. */
enum { CLUSTER_STATUS_TURN = 128 };

/* Zero: none yet. */
struct cluster_status {
	struct metric *active;
	bool elects;
	struct map by_name;       /* pairs of a ClusterQueue and a cluster, which have rows */
	struct list_node pairs;   /* the same, in the order in which the engine named them last */
	struct list_node *at;     /* of these, while it names them: the one that comes next */
	struct list_node changed; /* those whose rows are to be written */
	uint64_t round;
};

/* Registers the metric; 's' is zero. 'elects': leaders are elected, which replica_role tells. */
void cluster_status_init(struct cluster_status *s, bool elects);
void cluster_status_done(struct cluster_status *s);
/*
 * Finds the rows that changed. Only who leads has rows: 'leads'. cluster_status_write then brings
 * them up to date, call by call: those of CLUSTER_STATUS_TURN pairs. True: there were none left.
 */
void cluster_status_gather(struct cluster_status *s, const struct engine *e, bool leads);
bool cluster_status_write(struct cluster_status *s);

#endif
