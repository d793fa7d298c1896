/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of kinds that depend on use: opened before they are needed, closed when no workload
 * has used them for a while.
 */
#ifndef MK_ENGINE_CLUSTERS_WATCHES_H
#define MK_ENGINE_CLUSTERS_WATCHES_H

#include "core/engine/state.h"

/*
 * Opens the watch on a job kind, if it is not open. True when its list is complete; else the
 * workloads that the cluster concerns are queued when it is (touch_view).
 */
bool watches_ready(struct engine *e, struct cluster *c, uint16_t kind);
/* Sends the request for the watch, also when it is open. */
void watches_open(struct engine *e, struct table *t);
/* Are only objects with our label listed there? */
bool watches_is_labelled(cluster_id c, uint16_t kind);
/* The label selector of the watch, "" = none; in the step's arena. */
mk_str watches_selector(const struct engine *e, cluster_id c, uint16_t kind);
/*
 * Opens the watches on a cluster's queues: a worker's when a dispatcher, the quota automation or
 * rules/patience.c or engine_want_queues needs them, the manager's as engine_reads_queues says.
 */
void watches_queues(struct engine *e, struct cluster *c);
/* A dispatcher or rules/patience.c needs those of all workers, from now on. */
void watches_want_queues(struct engine *e);
/* Opens or closes those of all workers: what needs them has changed. */
void watches_queues_again(struct engine *e);
/* Sends an Event, once, about each kind whose lists or watches fail there. */
void watches_tell_failing(struct engine *e, struct cluster *c);
/* Sends an Event, once, that a worker's queues cannot be read. */
void watches_tell_queues(struct engine *e, struct cluster *c);
/*
 * Has each job kind of a worker listed, to find jobs of ours whose clone is gone: opens the
 * watches, which close soon unless a workload needs them. docs/decisions/0022.
 */
void watches_glance(struct engine *e, struct cluster *c);
/* Sends an Event, once, that a worker does not serve a kind that a Workload needs there. */
void watches_tell(struct engine *e, struct cluster *c, uint16_t kind);
/* Closes watches that no workload has used for a while. */
void watches_sweep(struct engine *e);
/*
 * Counts a workload as user of the watch, or not any more; '*counted' remembers it. While there is
 * one, a missing kind is looked for.
 */
void watches_use(struct engine *e, cluster_id c, uint16_t kind, bool *counted, bool wanted);

#endif
