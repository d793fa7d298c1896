/* SPDX-License-Identifier: Apache-2.0 */
/* A server under two names: a second MultiKueueCluster leads to a worker, always or for a while. */
#include "t/sim/sim.h"

static void alias_draw(struct sim *s, struct fault *f, struct rng *r)
{
	s->alias = (struct alias){.place = (enum alias_place)(1 + rng_below(r, 4)),
				  .on = rng_chance(r, 1, 2),
				  .plane = f->plane};
	if (s->alias.place == ALIAS_OTHER_CONFIG) {
		plane_other_queue(s);
	}
	for (size_t i = 0; s->alias.place == ALIAS_OTHER_CONFIG && i < s->n_users; i++) {
		s->user[i].elsewhere = rng_chance(r, 1, 2);
	}
	users_clear_later(s);
	if (s->alias.on) {
		upkeep(s); /* it was always there */
	}
}

static void alias_begin(struct sim *s, struct fault *f)
{
	(void)f;
	s->alias.on = true;
	upkeep(s);
}

static void alias_over(struct sim *s, struct fault *f)
{
	s->alias.on = f->variant % 2 == 0; /* or it stays */
	upkeep(s);
}

FAULT(alias) = {
	.family = FAULT_OF_WORLD,
	.number = 0,
	.name = "a server under two names",
	.world = "alias",
	.draw = alias_draw,
	.begin = alias_begin,
	.over = alias_over,
};
