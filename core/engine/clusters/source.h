/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of a cluster's kubeconfig (Secret, file, ClusterProfile), and the link that is opened
 * with it. clusters.c handles the cluster itself.
 */
#ifndef MK_ENGINE_CLUSTERS_SOURCE_H
#define MK_ENGINE_CLUSTERS_SOURCE_H

#include "core/engine/state.h"

/*
 * Follows spec.clusterSource of the MultiKueueCluster 'r': connects, connects again when the
 * kubeconfig changed, or stores in 'c' why there is no link. Returns the cluster to go on with,
 * which is another one when 'c' was replaced. NULL: the pass ends here and comes again.
 */
struct cluster *source_see(struct engine *e, struct cluster *c, const struct record *r);
/* The input of OP_CONNECT. */
struct source {
	mk_str key;              /* see op.secret */
	uint64_t hash;           /* of its content: when it changes, the link is opened again */
	const struct json *body; /* of OP_CONNECT, in the step's arena, or NULL */
};
/*
 * The cluster cannot be connected: stores the condition's reason and text. Returns as source_see.
 */
struct cluster *source_refuse(struct engine *e, struct cluster *c, const char *reason, mk_str text);
/*
 * Connects with 's', unless the link uses it already, or it leads to the manager itself. Returns as
 * source_see.
 */
struct cluster *source_follow(struct engine *e, struct cluster *c, const struct source *s);
/* Closes the link, if there is one. */
void source_disconnect(struct engine *e, struct cluster *c);
/*
 * Replaces 'c' by a new cluster of the same name with the next number, not connected; struct
 * lasting is kept. NULL: out of memory; the pass, or a new list of clusters, tries again.
 */
struct cluster *source_replace(struct engine *e, struct cluster *c);

/* Marks the link as down, with the reason and text of the condition. */
void source_down(struct engine *e, struct cluster *c, mk_str reason, mk_str text);
/*
 * Has the kubeconfig's file watched; "" = none. A file that no cluster uses is not watched any
 * more.
 */
void source_file(struct engine *e, struct cluster *c, mk_str path);
/*
 * Queues the clusters whose source has this type (F_SECRET, F_PATH, F_PROFILE) and name; "" = any
 * name.
 */
void source_touch(struct engine *e, uint32_t type, mk_str name);
/* Has the content of all files reported again. */
void source_files_again(struct engine *e);

#endif
