/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters that a ClusterProfile describes: which credentials provider serves the cluster, and the
 * address of its API server. The engine sees no credentials: it names the provider, and core/kube
 * has its program run.
 */
#ifndef MK_ENGINE_CLUSTERS_PROFILE_H
#define MK_ENGINE_CLUSTERS_PROFILE_H

#include "core/engine/state.h"

/* Like source_see, for a MultiKueueCluster 'r' with a clusterProfileRef. */
struct cluster *profile_see(struct engine *e, struct cluster *c, const struct record *r);

#endif
