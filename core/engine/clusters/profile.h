/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters that are given by a ClusterProfile: which provider of credentials serves it, and how to get there. The
 * engine does not see credentials: it names the provider, and core/kube has its program run.
 */
#ifndef MK_ENGINE_CLUSTERS_PROFILE_H
#define MK_ENGINE_CLUSTERS_PROFILE_H

#include "core/engine/state.h"

/* As source_see, for a MultiKueueCluster 'r' with a clusterProfileRef. */
struct cluster *profile_see(struct engine *e, struct cluster *c, const struct record *r);

#endif
