/* SPDX-License-Identifier: Apache-2.0 */
/* What queue trees have and use, as gauges. On the thread of queue trees. */
#ifndef MK_DAEMON_TREES_GAUGES_H
#define MK_DAEMON_TREES_GAUGES_H

#include "core/base/metric.h"
#include "core/trees/pass.h"

enum { TREES_GAUGES = 4 };

struct trees_gauges {
	struct metric *amounts[TREES_GAUGES]; /* nominal, maximum, used, held */
	struct metric *pending;               /* Workloads, by queue */
	struct metric *trees;                 /* by state */
	struct arena shown[2];                /* of the last pass, and of the one before */
	struct trees_figure *figures;
	size_t n;
	unsigned turn;
};

/* Registers the metrics. */
void trees_gauges_init(struct trees_gauges *g);
void trees_gauges_done(struct trees_gauges *g);

/* Shows what a pass found; NULL: nothing any more. */
void trees_gauges_set(struct trees_gauges *g, const struct trees_plan *plan);

#endif
