/* SPDX-License-Identifier: Apache-2.0 */
/* The watches on workers: opened before they are needed, closed when nobody has used them for a while. */
#ifndef MK_ENGINE_CLUSTERS_WATCHES_H
#define MK_ENGINE_CLUSTERS_WATCHES_H

#include "core/engine/state.h"

/* A dispatcher's name under another domain than Kueue's, or none: another controller nominates. */
/* Sees to the watch on a job kind; true when its list is known. */
bool watches_ready(struct engine *e, struct cluster *c, uint16_t kind);
/* Sends the request for the watch, whoever asked already. */
void watches_open(struct engine *e, struct table *t);
/* Is nothing of the kind listed there but what carries our label? */
bool watches_is_labelled(cluster_id c, uint16_t kind);
mk_str watches_selector(const struct engine *e, cluster_id c,
			uint16_t kind); /* in the step's arena */
/* Opens the watches on a cluster's queues, when anybody needs them. */
void watches_queues(struct engine *e, struct cluster *c);
/* Tells people, once, that a worker's queues cannot be read. */
void watches_tell_queues(struct engine *e, struct cluster *c);
/*
 * Has every job kind of a worker listed, so that jobs of ours whose clone is gone are found: by opening the watches,
 * which close soon when nobody needs them. docs/decisions/0022.
 */
void watches_glance(struct engine *e, struct cluster *c);
/* Tells people, once, that a worker does not serve a kind that a Workload needs there. */
void watches_tell(struct engine *e, struct cluster *c, uint16_t kind);
/* Closes watches that nobody used for a while. */
void watches_sweep(struct engine *e);
/* Counts or discounts a user of the watch. While there is one, a kind that is missing is looked for. */
void watches_use(struct engine *e, cluster_id c, uint16_t kind, bool *counted, bool wanted);

#endif
