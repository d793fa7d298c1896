/* SPDX-License-Identifier: Apache-2.0 */
/* Half of the jobs are JobSets, from the start to the end; t/sim/kinds.c plays who runs them. */
#include "t/sim/sim.h"

static void kinds_prepare(struct sim *s)
{
	s->kinds = true;
}

static void kinds_draw(struct sim *s, struct fault *f, struct rng *r)
{
	(void)f;
	sim_kinds_init(s);
	for (size_t i = 0; i < s->n_users; i++) {
		if (s->user[i].kind == USER_JOB && rng_chance(r, 1, 2)) {
			s->user[i].of = USER_OF_JOBSETS;
			s->user[i].run_ms = rng_range(r, 50, 9000);
		}
	}
}

FAULT(other_kinds) = {
	.family = FAULT_OF_WORLD,
	.number = 6,
	.name = "other kinds of jobs",
	.world = "kinds",
	.prepare = kinds_prepare,
	.draw = kinds_draw,
};
