/* SPDX-License-Identifier: Apache-2.0 */
/* The AdmissionCheck controller: may workloads use this check? One condition, Active. */
#ifndef MK_ENGINE_CLUSTERS_CHECK_H
#define MK_ENGINE_CLUSTERS_CHECK_H

#include "core/engine/state.h"

void check_pass(struct engine *e, struct check *k);
/* The first of a Workload's or ClusterQueue's checks that is our controller's, and its place. NULL: none. */
const struct record *check_of(const struct engine *e, const struct facts *f, size_t *ret_index);

#endif
