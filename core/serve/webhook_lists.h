/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what admission knows whole: asks for a list where something was lost to memory, or left out
 * while there were too many LocalQueues, and logs the latter. A list is asked for at once, then
 * after 5 s, doubling to 5 min.
 */
#ifndef MK_SERVE_WEBHOOK_LISTS_H
#define MK_SERVE_WEBHOOK_LISTS_H

#include "core/admit/queues.h"
#include "core/base/metric.h"
#include "core/kube/kube.h"

enum { WEBHOOK_LISTS_KINDS = 4 };

/* All zero at first. */
struct webhook_lists {
	struct {
		int64_t due_ms;  /* not asked for before */
		int64_t step_ms; /* 0: the next one is the first for a while */
	} kinds[WEBHOOK_LISTS_KINDS];
	size_t n_over; /* namespaces that are too full, as told last */
	struct metric *over;
};

/* Registers the metric. */
void webhook_lists_init(struct webhook_lists *l);

/* Tells what changed, and asks for what is due. */
void webhook_lists_run(struct webhook_lists *l, struct kube *k, const struct admit_queues *q,
		       int64_t mono_ms);

/* Monotonic ms of the next run; INT64_MAX: only an event makes one necessary. */
int64_t webhook_lists_next_ms(const struct webhook_lists *l, const struct admit_queues *q);

#endif
