/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MultiKueueClusters: each has a number, and an Active condition. A cluster that is recreated, or
 * whose kubeconfig goes, gets the next number, so that late events of the old link match no
 * cluster. Numbers that are given up cost nothing in kube and apply.
 */
#ifndef MK_ENGINE_CLUSTERS_CLUSTERS_H
#define MK_ENGINE_CLUSTERS_CLUSTERS_H

#include "core/engine/state.h"

/*
 * Follows the cluster's MultiKueueCluster: connects, reconnects, writes conditions; frees 'c' when
 * the object is gone.
 */
void cluster_pass(struct engine *e, struct cluster *c);
/*
 * Removes the cluster from all lists, queues the workloads, and frees it. One with many records is
 * freed in its own passes, some in each, which queue the workloads of these.
 */
void cluster_forget(struct engine *e, struct cluster *c);
/* Queues what cluster_forget queues, while it is known which names the cluster's server has. */
void cluster_touch(struct engine *e, struct cluster *c);
/* Frees the strings of 'own'. */
void lasting_done(struct lasting *own);
/* Frees the cluster and its tables; it must be in no list. */
void cluster_free(struct engine *e, struct cluster *c);
/* The cluster of that name, created with the next number if missing; NULL: out of memory. */
struct cluster *cluster_make(struct engine *e, mk_str name);
/* Notes when an object on the cluster has our origin and was made by another manager. */
void cluster_clash(struct engine *e, struct cluster *c, const struct facts *f);
/* The same for all objects that the cluster's tables hold. */
void cluster_look_for_others(struct engine *e, struct cluster *c);
/*
 * The cluster's tables have grown. When they exceed worker_memory, their lists do not count any
 * more, and the cluster's pass frees them.
 */
void cluster_weigh(struct engine *e, struct cluster *c);
/* Sets the reason of the cluster's Active condition: it exceeded worker_memory. */
void cluster_say_over(struct engine *e, struct cluster *c);
/*
 * The link has reached a cluster with this identity ("" = it may not be read). The manager's own
 * cluster cannot be a worker.
 */
void cluster_know(struct engine *e, struct cluster *c, mk_str identity);

#endif
