/* SPDX-License-Identifier: Apache-2.0 */
/* When a total follows the sum of the workers' quota; see capacity.h. */
#include "core/base/alloc.h"
#include "core/trees/capacity_int.h"

/* Of one pair of a tree: since when the sum is lower, or higher, and by how much at least. */
struct settle {
	uint64_t pass;
	int64_t drop_ms, drop_wall_ms; /* -1: it is not lower */
	int64_t high;                  /* the highest since */
	int64_t raise_ms, raise_wall_ms;
	int64_t low;
};

void trees_settling_init(struct trees_settling *s)
{
	*s = (struct trees_settling){.passes = 0};
	map_init(&s->pairs);
}

void trees_settling_clear(struct trees_settling *s)
{
	size_t pos = 0;
	void *one;

	while (map_next(&s->pairs, &pos, NULL, &one)) {
		mk_free(one);
	}
	map_done(&s->pairs);
	trees_settling_init(s);
}

void trees_settling_end(struct trees_settling *s)
{
	size_t pos = 0;
	mk_str key;
	void *one;

	while (map_next(&s->pairs, &pos, &key, &one)) {
		if (((struct settle *)one)->pass != s->passes) {
			(void)map_del(&s->pairs, key);
			mk_free(one);
		}
	}
}

/* NULL: out of memory. */
static struct settle *settle_of(struct trees_settling *s, struct arena *a,
				const struct trees_capacity *c, const struct api_quota *q)
{
	mk_str key = arena_printf(a, "%c/%.*s/%.*s/%.*s", c->parents ? 'p' : 't', STR_ARG(c->tree),
				  STR_ARG(q->flavor), STR_ARG(q->resource));
	struct settle *one = key.p != NULL ? map_get(&s->pairs, key) : NULL;

	if (!one && key.p != NULL) {
		one = mk_calloc(1, sizeof(*one));
		if (one && !map_put(&s->pairs, key, one)) {
			mk_free(one);
			one = NULL;
		}
		if (one) {
			one->drop_ms = one->raise_ms = -1;
		}
	}
	if (one) {
		one->pass = s->passes;
	}
	return one;
}

static int64_t most(int64_t x, int64_t y)
{
	return x > y ? x : y;
}

static int64_t least(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

/* Is the time over that a change waits? Else says when it is. */
static bool is_over(struct trees_tally *t, struct trees_pair *p, int64_t since, int64_t wall,
		    int64_t wait, int64_t *next)
{
	int64_t due = api_add(since, wait);

	if (t->in->mono_ms >= due) {
		return true;
	}
	p->waits_wall_ms = api_add(wall, wait);
	*next = least(*next, due);
	return false;
}

/*
 * What the sum was not below since it exceeds what the tree has. When that is reached, the next
 * change waits anew.
 */
static void raise(struct trees_tally *t, struct settle *s, struct trees_pair *p, int64_t *next)
{
	const struct trees_capacity_input *in = t->in;

	s->drop_ms = -1;
	if (t->from->raise_ms == 0) {
		p->goal = p->sure;
		return;
	}
	if (s->raise_ms < 0 || p->current >= s->low) {
		s->raise_ms = in->mono_ms;
		s->raise_wall_ms = in->wall_ms;
		s->low = p->sure;
	}
	s->low = least(s->low, p->sure);
	if (is_over(t, p, s->raise_ms, s->raise_wall_ms, t->from->raise_ms, next)) {
		p->goal = s->low;
	}
}

/*
 * The same the other way. A worker out of sight makes the present sum lower, so its time counts
 * from then on; its part itself is in 'sure' until it is left out.
 */
static void drop(struct trees_tally *t, struct settle *s, struct trees_pair *p, int64_t *next)
{
	const struct trees_capacity_input *in = t->in;

	s->raise_ms = -1;
	if (s->drop_ms < 0 || p->current <= s->high) {
		s->drop_ms = in->mono_ms;
		s->drop_wall_ms = in->wall_ms;
		s->high = p->present;
	}
	s->high = most(s->high, p->present);
	if (is_over(t, p, s->drop_ms, s->drop_wall_ms, t->from->drop_ms, next)) {
		p->goal = least(p->current, most(s->high, p->sure));
	}
}

bool trees_settle(struct trees_settling *all, struct trees_tally *t, struct trees_pair *p,
		  int64_t *next)
{
	struct settle *s = settle_of(all, t->a, t->out, p->declared);

	if (!s) {
		return false;
	}
	p->goal = p->has_current ? p->current : p->sure;
	if (!p->has_current) {
		s->drop_ms = s->raise_ms = -1;
	} else if (p->sure > p->current) {
		raise(t, s, p, next);
	} else if (p->present < p->current) {
		drop(t, s, p, next);
	} else {
		s->drop_ms = s->raise_ms = -1;
	}
	return true;
}
