/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half of the jobs are StatefulSets and LeaderWorkerSets, from the start until their users delete
 * them; t/sim/kinds.c plays who runs them.
 */
#include "t/sim/sim.h"

static void sets_prepare(struct sim *s)
{
	s->kinds = true;
}

static void sets_draw(struct sim *s, struct fault *f, struct rng *r)
{
	(void)f;
	sim_kinds_init(s);
	for (size_t i = 0; i < s->n_users; i++) {
		if (s->user[i].kind == USER_JOB && rng_chance(r, 1, 2)) {
			s->user[i].of =
				rng_chance(r, 1, 2) ? USER_OF_STATEFULSETS : USER_OF_LEADERS;
			user_deletes_at(s, i, s->user[i].create_at + rng_range(r, 100, 5 * MINUTE));
		}
	}
}

FAULT(sets) = {
	.family = FAULT_OF_WORLD,
	.number = 24,
	.name = "sets of Pods",
	.world = "sets",
	.on_request = true, /* older seeds would have another meaning */
	.prepare = sets_prepare,
	.draw = sets_draw,
};
