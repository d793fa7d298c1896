/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The points of each worker; see placement.h. A subject gives each worker a share of 0 to 1000;
 * points are the shares times their weights. Shares of cost, spread, block and group compare the
 * workers that are not left out with each other.
 */
#include "placement.h"

enum { SHARE_BORROW = 700, SHARE_UNKNOWN = 400, SHARE_PREEMPT = 300, SHARE_LATER = 200 };

/* What the workers that are not left out have between them. */
struct range {
	int64_t least, most;
	bool any;
};

static void widen(struct range *r, int64_t v)
{
	r->least = !r->any || v < r->least ? v : r->least;
	r->most = !r->any || v > r->most ? v : r->most;
	r->any = true;
}

/* The largest gives 1000, the least 0; all alike give 0. */
static int64_t between(const struct range *r, int64_t v)
{
	int64_t width = placement_sub(r->most, r->least);

	return width <= 0 ? 0 : placement_share(placement_sub(v, r->least), width);
}

static int64_t fit_share(const struct placement_place *p)
{
	switch (p->fit) {
	case FIT_FREE:
		return PLACEMENT_FULL;
	case FIT_BORROW:
		return SHARE_BORROW;
	case FIT_UNKNOWN:
		return SHARE_UNKNOWN;
	case FIT_PREEMPT:
		return SHARE_PREEMPT;
	case FIT_LATER:
		return SHARE_LATER * placement_falling(p->load, PLACEMENT_FULL) / PLACEMENT_FULL;
	case FIT_NEVER:
		break;
	}
	return 0;
}

enum { SLOTS = 2 * PLACEMENT_MAX };

/* The slot of 'first' for a value of the label 'spreadBy': empty, or of a place that has it. */
static size_t slot_of(const struct placement *x, const uint16_t *first, mk_str value)
{
	uint32_t hash = 2166136261u;
	size_t slot;

	for (size_t i = 0; i < value.n; i++) {
		hash = (hash ^ (unsigned char)value.p[i]) * 16777619u;
	}
	slot = hash % SLOTS;
	while (first[slot] > 0 && !mk_same(x->p[first[slot] - 1].spread, value)) {
		slot = (slot + 1) % SLOTS;
	}
	return slot;
}

/* Our clones in all places that have the same value of the label 'spreadBy', or in each. */
static void count_crowds(struct placement *x)
{
	uint16_t first[SLOTS] = {0}; /* the place that counts for its value, from 1 */

	for (size_t i = 0; i < x->n; i++) {
		struct placement_place *p = &x->p[i];
		size_t slot = x->s.spread_by.n > 0 ? slot_of(x, first, p->spread) : 0;
		int64_t here = placement_add(p->running, p->waiting);

		if (x->s.spread_by.n > 0 && first[slot] > 0) {
			p = &x->p[first[slot] - 1];
		} else if (x->s.spread_by.n > 0) {
			first[slot] = (uint16_t)(i + 1);
		}
		p->crowd = placement_add(p->crowd, here);
	}
	for (size_t i = 0; i < x->n && x->s.spread_by.n > 0; i++) {
		x->p[i].crowd = x->p[first[slot_of(x, first, x->p[i].spread)] - 1].crowd;
	}
}

void placement_score(struct placement *x)
{
	struct range left = {.any = false}, cost = {.any = false}, busy = {.any = false};
	const int64_t *w = x->s.weights;
	int64_t group = 0;

	if (w[W_SPREAD] > 0) {
		count_crowds(x);
	}
	for (size_t i = 0; i < x->n; i++) {
		struct placement_place *p = &x->p[i];

		if (p->bar != BAR_NONE) {
			continue;
		}
		if (placement_has_room(p)) {
			widen(&left, p->left);
		}
		if (p->cost >= 0) {
			widen(&cost, p->cost);
		}
		if (w[W_SPREAD] > 0) {
			widen(&busy, p->crowd);
		}
		group = placement_add(group, p->group);
	}
	left.least = 0;
	for (size_t i = 0; i < x->n; i++) {
		struct placement_place *p = &x->p[i];

		if (p->bar != BAR_NONE) {
			continue;
		}
		p->score = w[W_FIT] * fit_share(p);
		p->score += w[W_PENDING] * placement_falling(p->pending, 1);
		p->score += w[W_FAILURES] * placement_falling(p->failures, 1);
		p->score += p->ran ? w[W_STICK] * PLACEMENT_FULL : 0;
		p->score += placement_has_room(p) ? w[W_BLOCK] * between(&left, p->left) : 0;
		p->score += placement_has_room(p) ? w[W_PACK] * p->pack : 0;
		p->score +=
			p->cost >= 0 ? w[W_COST] * (PLACEMENT_FULL - between(&cost, p->cost)) : 0;
		p->score += p->needs > 0 ? w[W_PREFERS] * PLACEMENT_FULL * p->met / p->needs : 0;
		p->score += group > 0 ? w[W_GROUP] * placement_share(p->group, group) : 0;
		if (w[W_SPREAD] > 0) {
			p->score += w[W_SPREAD] * (PLACEMENT_FULL - between(&busy, p->crowd));
		}
	}
}
