/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of metrics that are counted in for each request and each clone: found once by their labels,
 * then kept, so that counting formats no text. Owned by the telemetry; one thread.
 */
#ifndef MK_SERVE_ROWS_H
#define MK_SERVE_ROWS_H

#include "core/base/map.h"
#include "core/base/metric.h"

/* What a cluster is asked with, in the order of rows_verb_name. */
enum { ROWS_VERBS = 6 };

/* Requests of one cluster by verb and answer. Zero: none yet. */
struct rows_of_cluster {
	struct rows_request *v; /* owned */
	size_t n, size;
	struct metric_row seconds[ROWS_VERBS]; /* durations */
};

/* The number of a verb ("GET", "WATCH"), ROWS_VERBS when it is none of them. */
size_t rows_verb(const char *name);

/*
 * The row of 'verb' (below ROWS_VERBS) and 'code', which the caller chooses; zero when it is new.
 * Valid until the next call. NULL: out of memory, or more rows than a cluster can have.
 */
struct metric_row *rows_request(struct rows_of_cluster *r, size_t verb, int code);
/* Forgets all. */
void rows_of_cluster_done(struct rows_of_cluster *r);

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
