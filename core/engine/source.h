/* SPDX-License-Identifier: Apache-2.0 */
/* Where a cluster's kubeconfig comes from, and the link that is opened with it; see clusters.c for the cluster itself. */
#ifndef MK_ENGINE_SOURCE_H
#define MK_ENGINE_SOURCE_H

#include "core/engine/state.h"

/*
 * Follows spec.clusterSource of the MultiKueueCluster 'r': connects, connects anew when the kubeconfig changed, or says
 * in 'c' why there is no link. Returns the cluster to go on with, which is another one when 'c' had to be replaced;
 * NULL: out of memory, or told to come again.
 */
struct cluster *source_see(struct engine *e, struct cluster *c, const struct record *r);
/* Ends the link, if there is one. */
void source_disconnect(struct engine *e, struct cluster *c);
/* The same name under a new number, not connected; NULL: out of memory. 'c' is gone then, too, or says so in 'e'. */
struct cluster *source_replace(struct engine *e, struct cluster *c);

/* Says why the cluster cannot be used, in the words of its condition. */
void source_down(struct engine *e, struct cluster *c, mk_str reason, mk_str text);
/* Has the file watched that the kubeconfig is in; "" = none. A file that nobody needs is forgotten. */
void source_file(struct engine *e, struct cluster *c, mk_str path);
/* Has all files told again. */
void source_files_again(struct engine *e);

#endif
