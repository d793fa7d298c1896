/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kueue's gauge multikueue_cluster_status: what the condition Active of each MultiKueueCluster
 * says, for each ClusterQueue of the manager that uses it. Part of the telemetry; one thread.
 */
#ifndef MK_SERVE_CLUSTER_STATUS_H
#define MK_SERVE_CLUSTER_STATUS_H

#include "core/base/map.h"
#include "core/base/metric.h"
#include "core/manager/manager.h"

/* Zero: none yet. */
struct cluster_status {
	struct metric *active;
	bool elects;
	struct map pairs; /* of a ClusterQueue and a cluster, which have rows */
	uint64_t round;
};

/* Registers the metric; 's' is zero. 'elects': leaders are elected, which replica_role tells. */
void cluster_status_init(struct cluster_status *s, bool elects);
void cluster_status_done(struct cluster_status *s);
/*
 * Brings the rows up to date; writes those alone that changed. Only who leads has rows: 'leads'.
 */
void cluster_status_gather(struct cluster_status *s, const struct engine *e, bool leads);

#endif
