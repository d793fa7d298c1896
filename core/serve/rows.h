/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of metrics that are counted in for each clone: found once by their labels, then kept, so
 * that counting formats no text. Owned by the telemetry; one thread.
 */
#ifndef MK_SERVE_ROWS_H
#define MK_SERVE_ROWS_H

#include "core/base/map.h"
#include "core/base/metric.h"

/* What is counted for a ClusterQueue and a cluster. */
struct rows_pair {
	struct metric_row dispatched, admitted;
};

/* Pairs by name. Zero: none yet. */
struct rows_pairs {
	struct map by_name;
};

/* Made when there is none, with zero rows. NULL: out of memory, too many, or names too long. */
struct rows_pair *rows_pair(struct rows_pairs *p, mk_str queue, mk_str cluster);
/* Forgets all: a ClusterQueue or a cluster is gone. */
void rows_pairs_clear(struct rows_pairs *p);

/* Adds 1 by the labels and keeps the row in '*row', unless that is NULL. */
void rows_add(struct metric_row *row, struct metric *m, const mk_str *labels);
/* Observes by '*row', or by the labels and keeps the row; 'row' may be NULL. */
void rows_observe(struct metric_row *row, struct metric *m, const mk_str *labels, double value);

#endif
