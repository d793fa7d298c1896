/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MultiKueueClusters: a number for each, and its Active condition. A cluster whose kubeconfig goes, or that is made anew,
 * gets the next number, so nothing old can be mistaken; a number that was given up costs nothing, here or elsewhere.
 */
#ifndef MK_ENGINE_CLUSTERS_CLUSTERS_H
#define MK_ENGINE_CLUSTERS_CLUSTERS_H

#include "core/engine/state.h"

void cluster_pass(struct engine *e, struct cluster *c);
void cluster_forget(struct engine *e, struct cluster *c);
void lasting_done(struct lasting *own);
/* Frees it and all that is known of it; it is in no list any more. */
void cluster_free(struct engine *e, struct cluster *c);
struct cluster *cluster_make(struct engine *e, mk_str name);
/* Looks at an object that was seen there: another manager's with our origin? */
void cluster_clash(struct engine *e, struct cluster *c, const struct facts *f);
/* The same for all that is known of it. */
void cluster_look_for_others(struct engine *e, struct cluster *c);
/* More is known of the cluster: is that more than its share? Then its pass gives all of it up. */
void cluster_weigh(struct engine *e, struct cluster *c);
/* It rests since it was: says so. */
void cluster_say_over(struct engine *e, struct cluster *c);
/* The link led to the cluster with this identity ("" hidden): the manager's own is no worker. */
void cluster_know(struct engine *e, struct cluster *c, mk_str identity);

#endif
