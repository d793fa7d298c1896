/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world "selector": the MultiKueueConfig names w1 alone and takes the other workers by a label,
 * which operators set, change and take away; for a while the selector has a mistake, or takes none.
 */
#include "core/api/names.h"
#include "t/sim/worlds.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"

/* The world's fault; NULL: the seed does not live in it. */
static struct fault *world_of(struct sim *s)
{
	for (size_t i = 0; i < s->n_faults; i++) {
		if (s->fault[i].type == FAULT_SELECTOR) {
			return &s->fault[i];
		}
	}
	return NULL;
}

bool labels_choose(struct sim *s)
{
	return world_of(s) != NULL;
}

/* Bits of fault.variant while the world is on: workers that are out, and what the selector is. */
enum { SELECTOR_BITS = 3, WRONG = 1, NONE = 2 };

static bool is_out(const struct fault *f, size_t worker)
{
	return f->on && (f->variant >> (SELECTOR_BITS + worker) & 1) != 0;
}

void labels_assert(struct sim *s, struct plane *mgr)
{
	static const char *const selectors[] = {"pool in (a, c)", "pool in a", "!pool, pool=b"};
	const struct fault *f = world_of(s);
	unsigned which;

	if (!f) {
		return;
	}
	for (size_t i = 1; i <= s->n_workers; i++) {
		bool out = is_out(f, i) || churn_is_on(s, FAULT_CONFIG, i);

		(void)plane_merge(
			mgr, arena_printf(&s->arena, KUEUE "multikueueclusters/w%zu", i).p,
			arena_printf(&s->arena, "{\"metadata\":{\"labels\":{\"pool\":%s}}}",
				     !out         ? "\"a\""
				     : i % 2 == 0 ? "\"b\""
						  : "null"));
	}
	which = f->on ? f->variant & ((1u << SELECTOR_BITS) - 1) : 0;
	(void)plane_merge(mgr, KUEUE "multikueueconfigs/mkc",
			  arena_printf(&s->arena,
				       "{\"metadata\":{\"annotations\":{\"" NAME_SELECTOR
				       "\":\"%s\"}}}",
				       selectors[which > NONE ? 0 : which]));
}

void labels_turn(struct sim *s, struct fault *f)
{
	struct msg *m = msg_new(s, M_CHURN);

	/* One worker comes or goes; as a rule the selector is right. */
	f->variant ^= 1u << (SELECTOR_BITS + 1 + rng_below(&f->rng, s->n_workers));
	f->variant &= ~((1u << SELECTOR_BITS) - 1);
	if (rng_chance(&f->rng, 1, 6)) {
		f->variant |= rng_chance(&f->rng, 1, 2) ? WRONG : NONE;
	}
	churn_assert(s);
	m->index = (size_t)(f - s->fault);
	schedule(s, m, s->now + rng_range(&f->rng, 1000, 9000));
}
