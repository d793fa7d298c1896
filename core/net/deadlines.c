/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of deadlines on one timer; see deadlines.h. */
#include "core/net/deadlines.h"

#include "core/base/clock.h"

/*
 * The timer is only ever moved to an earlier time: one that fires too early finds nothing due, and
 * most deadlines are taken away long before they are.
 */
static void arm(struct deadlines *d, int64_t now)
{
	const struct heap_node *first = heap_min(&d->heap);

	if (first && first->at < d->armed_ms) {
		d->armed_ms = first->at;
		loop_timer_set(d->timer, first->at - now);
	}
}

static void fired(void *ctx)
{
	struct deadlines *d = ctx;
	int64_t now = clock_mono_ms();
	struct heap_node *n;

	d->armed_ms = INT64_MAX;
	slice_begin(&d->slice, DEADLINES_SLICE_US);
	if (d->enter) {
		d->enter(d->ctx);
	}
	for (n = heap_min(&d->heap); n && n->at <= now; n = heap_min(&d->heap)) {
		struct deadline *x = HEAP_ENTRY(n, struct deadline, node);

		deadline_stop(d, x);
		x->fn(x->ctx);
		if (slice_spent(&d->slice)) {
			break;
		}
	}
	arm(d, now);
	if (d->leave) {
		d->leave(d->ctx);
	}
}

bool deadlines_init(struct deadlines *d, struct loop *l)
{
	heap_init(&d->heap);
	d->armed_ms = INT64_MAX;
	d->slice.clock_us = clock_mono_us;
	d->timer = loop_timer_new(l, fired, d);
	return d->timer != NULL;
}

void deadlines_done(struct deadlines *d)
{
	loop_timer_free(d->timer);
	d->timer = NULL;
	heap_done(&d->heap);
}

bool deadline_init(struct deadlines *d, struct deadline *x, loop_fn *fn, void *ctx)
{
	if (!heap_reserve(&d->heap, d->reserved + 1)) {
		return false;
	}
	d->reserved++;
	*x = (struct deadline){.fn = fn, .ctx = ctx};
	heap_node_init(&x->node);
	return true;
}

void deadline_done(struct deadlines *d, struct deadline *x)
{
	deadline_stop(d, x);
	d->reserved--;
}

void deadline_set(struct deadlines *d, struct deadline *x, int64_t at_ms)
{
	(void)heap_set(&d->heap, &x->node, at_ms); /* its place is reserved */
	if (at_ms < d->armed_ms) {
		arm(d, clock_mono_ms());
	}
}

void deadline_stop(struct deadlines *d, struct deadline *x)
{
	heap_del(&d->heap, &x->node);
}
