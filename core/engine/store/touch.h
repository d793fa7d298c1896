/* SPDX-License-Identifier: Apache-2.0 */
/* Queues the objects whose passes depend on a record that changed. */
#ifndef MK_ENGINE_STORE_TOUCH_H
#define MK_ENGINE_STORE_TOUCH_H

#include "core/engine/state.h"

/* Queues the workloads, clusters, checks or quota pass that depend on this record. */
void touch_record(struct engine *e, struct record *r);
/* Queues the Workload of the group that 'r' belongs to; NULL is fine. */
void touch_group(struct engine *e, const struct record *r);
/*
 * What can be seen of a cluster has changed, by its link or lists: queues the workloads that this
 * concerns. They have objects there, or their winner is there, or they choose among the clusters of
 * a config that names it. The same for all names of its server. The manager concerns all.
 */
void touch_view(struct engine *e, struct cluster *c);
/* Queues what waits for the config of each check that names the cluster. */
void touch_choices(struct engine *e, mk_str cluster);
/*
 * Queues for 'at' (monotonic ms) what rests for the config of each check that names the cluster,
 * at most so many of each check, those that have not had a pass for the longest first.
 */
void touch_resting(struct engine *e, mk_str cluster, size_t most, int64_t at);
/* As touch_view, when a list of 't' is complete, but for one that no workload waited for. */
void touch_known(struct engine *e, struct table *t);
/*
 * As touch_view, for a cluster that is forgotten and has many objects, but for these: touch_left
 * queues the rest, for each object before it is freed.
 */
void touch_leaving(struct engine *e, const struct cluster *c);
void touch_left(struct engine *e, struct record *r);
/* Queues all workloads of the job that the Workload 'r' belongs to. */
void touch_siblings(struct engine *e, const struct record *r);
/* Queues all clusters and checks. Their passes write to objects of the manager. */
void touch_clusters(struct engine *e);

#endif
