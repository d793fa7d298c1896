/* SPDX-License-Identifier: Apache-2.0 */
/* Where a cluster's kubeconfig comes from, and the link that is opened with it; see clusters.c for the cluster itself. */
#ifndef MK_ENGINE_CLUSTERS_SOURCE_H
#define MK_ENGINE_CLUSTERS_SOURCE_H

#include "core/engine/state.h"

/*
 * Follows spec.clusterSource of the MultiKueueCluster 'r': connects, connects anew when the kubeconfig changed, or says
 * in 'c' why there is no link. Returns the cluster to go on with, which is another one when 'c' had to be replaced;
 * NULL: out of memory, or told to come again.
 */
struct cluster *source_see(struct engine *e, struct cluster *c, const struct record *r);
/* What a link is opened with. */
struct source {
	mk_str key;    /* see op.secret */
	uint64_t hash; /* of what is behind it: another one, and the link is opened anew */
	const struct json *body; /* of OP_CONNECT, in the step's arena, or NULL */
};
/* There is nothing to connect with, for the reason of the condition and in its words. Returns as source_see. */
struct cluster *source_refuse(struct engine *e, struct cluster *c, const char *reason, mk_str text);
/* Connects with 's', unless that is in use, or is what led to the manager itself. Returns as source_see. */
struct cluster *source_follow(struct engine *e, struct cluster *c, const struct source *s);
/* Ends the link, if there is one. */
void source_disconnect(struct engine *e, struct cluster *c);
/* The same name under a new number, not connected; NULL: out of memory. 'c' is gone then, too, or says so in 'e'. */
struct cluster *source_replace(struct engine *e, struct cluster *c);

/* Says why the cluster cannot be used, in the words of its condition. */
void source_down(struct engine *e, struct cluster *c, mk_str reason, mk_str text);
/* Has the file watched that the kubeconfig is in; "" = none. A file that nobody needs is forgotten. */
void source_file(struct engine *e, struct cluster *c, mk_str path);
/* Queues the clusters whose source is of this type (F_SECRET, F_PATH, F_PROFILE) and name; "" = any name. */
void source_touch(struct engine *e, uint32_t type, mk_str name);
/* Has all files told again. */
void source_files_again(struct engine *e);

#endif
