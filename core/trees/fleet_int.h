/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of fleet.h share: lists of workers and configs. */
#ifndef MK_TREES_FLEET_INT_H
#define MK_TREES_FLEET_INT_H

#include "core/base/arena.h"
#include "core/trees/fleet.h"

/* All of it in 'a'. False: out of memory, and *to is as before. */
bool trees_workers_copy(struct arena *a, const struct trees_workers *from,
			struct trees_workers *to);
/* What was hidden before, and still is, has been since then. */
void trees_workers_keep_times(const struct trees_workers *old, struct trees_workers *now);
bool trees_workers_same(const struct trees_workers *x, const struct trees_workers *y);

#endif
