/* SPDX-License-Identifier: Apache-2.0 */
/* Series in the order of their labels; see metric_order.h. */
#include "core/base/metric_order.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/metric_impl.h"

void metric_order_done(struct metric_order *o)
{
	for (size_t i = 0; i < o->n; i++) {
		mk_free(o->parts[i]);
	}
	mk_free(o->parts);
	*o = (struct metric_order){.n = 0};
}

/* The number of the part where the labels belong: the last that does not begin behind them. */
static size_t part_of(const struct metric_order *o, const char *labels)
{
	size_t low = 0, high = o->n;

	while (low + 1 < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(o->parts[mid]->series[0]->labels, labels) <= 0) {
			low = mid;
		} else {
			high = mid;
		}
	}
	return low;
}

/* The number of series of the part that come before the labels. */
static size_t place_in(const struct metric_order_part *p, const char *labels)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(p->series[mid]->labels, labels) < 0) {
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return low;
}

/* A new part at 'at' with the series of 'from' from 'begin' on. False: out of memory. */
static bool add_part(struct metric_order *o, size_t at, struct metric_order_part *from,
		     size_t begin)
{
	struct metric_order_part *p = mk_calloc(1, sizeof(*p)), **more;

	if (p && o->n == o->size) {
		more = mk_realloc(o->parts, (2 * o->size + 1) * sizeof(*more));
		if (!more) {
			mk_free(p);
			return false;
		}
		o->parts = more;
		o->size = 2 * o->size + 1;
	}
	if (!p) {
		return false;
	}
	if (from) {
		p->n = from->n - begin;
		memcpy(p->series, from->series + begin, p->n * sizeof(from->series[0]));
		from->n = begin;
	}
	memmove(o->parts + at + 1, o->parts + at, (o->n - at) * sizeof(*o->parts));
	o->parts[at] = p;
	o->n++;
	return true;
}

bool metric_order_add(struct metric_order *o, struct series *s)
{
	size_t i = part_of(o, s->labels), at;
	struct metric_order_part *p;

	if (o->n == 0 && !add_part(o, 0, NULL, 0)) {
		return false;
	}
	if (o->parts[i]->n == METRIC_ORDER_PART) {
		if (!add_part(o, i + 1, o->parts[i], METRIC_ORDER_PART / 2)) {
			return false;
		}
		i += strcmp(o->parts[i + 1]->series[0]->labels, s->labels) <= 0;
	}
	p = o->parts[i];
	at = place_in(p, s->labels);
	memmove(p->series + at + 1, p->series + at, (p->n - at) * sizeof(p->series[0]));
	p->series[at] = s;
	p->n++;
	return true;
}

void metric_order_del(struct metric_order *o, const struct series *s)
{
	size_t i = part_of(o, s->labels);
	struct metric_order_part *p = o->parts[i];
	size_t at = place_in(p, s->labels);

	p->n--;
	memmove(p->series + at, p->series + at + 1, (p->n - at) * sizeof(p->series[0]));
	if (p->n == 0) {
		o->n--;
		memmove(o->parts + i, o->parts + i + 1, (o->n - i) * sizeof(*o->parts));
		mk_free(p);
	}
}
