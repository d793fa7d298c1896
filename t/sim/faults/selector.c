/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MultiKueueConfig names w1 alone and takes the other workers by a label, which operators set,
 * change and take away; for a while the selector has a mistake, or takes none. In three of four
 * seeds w1 has no quota: no job ends, unless those that are taken by label get work.
 */
#include "t/sim/sim.h"

/* Bits of 'variant': what the selector is, then a worker each that is out. */
enum { SELECTOR_BITS = 3, RIGHT = 0, WRONG = 1, NONE = 2 };

static void selector_prepare(struct sim *s)
{
	s->selects = true;
}

static void selector_draw(struct sim *s, struct fault *f, struct rng *r)
{
	/* The other config may name that worker alone. */
	bool is_needed = s->alias.place == ALIAS_OTHER_CONFIG;

	(void)f;
	if (rng_chance(r, 3, 4) && !is_needed) {
		plane_set_quota(&s->plane[1], 0);
		users_clear_later(s);
	}
}

static void selector_want(const struct fault *f, struct wanted *w)
{
	unsigned which = f->variant & ((1u << SELECTOR_BITS) - 1);

	for (size_t i = 1; i < MAX_PLANES; i++) {
		w->unlabelled[i] = (f->variant >> (SELECTOR_BITS + i) & 1) != 0;
	}
	w->selector = which == WRONG ? "pool in a" : which == NONE ? "!pool, pool=b" : NULL;
}

/* One worker comes or goes; as a rule the selector is right. */
static void selector_turn(struct sim *s, struct fault *f)
{
	if (!f->on) {
		return;
	}
	f->variant ^= 1u << (SELECTOR_BITS + 1 + rng_below(&f->rng, s->n_workers));
	f->variant &= ~((1u << SELECTOR_BITS) - 1);
	if (rng_chance(&f->rng, 1, 6)) {
		f->variant |= rng_chance(&f->rng, 1, 2) ? WRONG : NONE;
	}
	upkeep(s);
	fault_later(s, f, rng_range(&f->rng, 1000, 9000));
}

static void selector_begin(struct sim *s, struct fault *f)
{
	f->variant = RIGHT;
	fault_later(s, f, rng_range(&f->rng, 1000, 9000));
}

FAULT(selector) = {
	.family = FAULT_OF_WORLD,
	.number = 9,
	.name = "clusters by label",
	.world = "selector",
	.on_request = true, /* seeds.t asks for it */
	.prepare = selector_prepare,
	.draw = selector_draw,
	.want = selector_want,
	.begin = selector_begin,
	.turn = selector_turn,
};
