/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series of a family of metrics in the order of their labels, as the text has them: kept as
 * they come and go, so that no text has to sort them. The series are the family's. Part of
 * core/base/metric; the caller holds its lock.
 */
#ifndef MK_BASE_METRIC_ORDER_H
#define MK_BASE_METRIC_ORDER_H

#include <stdbool.h>
#include <stddef.h>

enum { METRIC_ORDER_PART = 128 };

struct series;

/* A run of neighbours; never empty. What comes or goes moves those of one part alone. */
struct metric_order_part {
	size_t n;
	struct series *series[METRIC_ORDER_PART];
};

struct metric_order {
	struct metric_order_part **parts; /* owned */
	size_t n, size;                   /* parts */
};

/* Frees what was allocated; all zero is an empty order. */
void metric_order_done(struct metric_order *o);

/* 's' has labels that no other one has. False: out of memory, nothing is changed. */
bool metric_order_add(struct metric_order *o, struct series *s);
/* 's' is there. */
void metric_order_del(struct metric_order *o, const struct series *s);

#endif
