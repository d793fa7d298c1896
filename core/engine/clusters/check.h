/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AdmissionCheck controller: writes the condition Active, which tells Kueue whether Workloads
 * may use the check.
 */
#ifndef MK_ENGINE_CLUSTERS_CHECK_H
#define MK_ENGINE_CLUSTERS_CHECK_H

#include "core/engine/state.h"

/* Brings the check's condition up to date; frees 'k' when its AdmissionCheck is gone. */
void check_pass(struct engine *e, struct check *k);
/*
 * The first, from index 'from' on, of a Workload's or ClusterQueue's checks that belongs to our
 * controller, and its index. NULL: none.
 */
const struct record *check_of(const struct engine *e, const struct facts *f, size_t from,
			      size_t *ret_index);

#endif
