/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of metrics as metric.c counts in it and metric_text.c writes it. All of it is under
 * metric_lock.
 */
#ifndef MK_BASE_METRIC_IMPL_H
#define MK_BASE_METRIC_IMPL_H

#include <pthread.h>

#include "core/base/map.h"
#include "core/base/metric.h"
#include "core/base/metric_order.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct series {
	char *labels;                       /* owned: `cluster="east",code="409"` */
	double value;                       /* of a histogram: the sum */
	uint64_t n;                         /* observations */
	size_t bytes;                       /* of its text, about */
	struct series *next_gone;           /* see metric.gone */
	uint64_t hashes[METRIC_MAX_LABELS]; /* of the label values as they are shown */
	uint64_t buckets[];
};

struct metric {
	struct metric *next;
	enum metric_kind kind;
	char *name, *help; /* owned */
	char *labels[METRIC_MAX_LABELS];
	size_t n_labels;
	double bounds[METRIC_MAX_BUCKETS];
	size_t n_bounds;
	size_t limit; /* series, besides the one for the rest */
	uint64_t age; /* how often series were forgotten: older rows are invalid */
	struct map series;
	struct metric_order order; /* the same */
	size_t n_views;            /* texts that stand within the family: they read labels */
	struct series *gone;       /* owned: forgotten meanwhile; freed when there is no view */
};

extern pthread_mutex_t metric_lock;
extern struct metric *metric_all; /* sorted by name */

/* Frees those that are gone; no view reads them. */
void metric_free_gone(struct metric *m);

#endif
