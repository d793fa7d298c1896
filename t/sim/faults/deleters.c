/* SPDX-License-Identifier: Apache-2.0 */
/* Controllers on a worker that delete what managers made there, as long as they are on. */
#include "t/sim/churn.h"
#include "t/sim/sim.h"

static void again_soon(struct sim *s, struct fault *f)
{
	fault_later(s, f, rng_range(&f->rng, 100, 900));
}

/* Mostly the worker is out of reach meanwhile. */
static void retention_draw(struct sim *s, struct fault *f, struct rng *r)
{
	if (rng_chance(r, 2, 3)) {
		struct fault *away = faults_add(s, faults_named("packets vanish"), r);

		away->plane = f->plane;
	}
}

static void retention_turn(struct sim *s, struct fault *f)
{
	if (f->on) {
		(void)world_deletes(&s->plane[f->plane], WORKLOADS, f->variant * 1000, true);
		again_soon(s, f);
	}
}

/* By a worker's Kueue. */
FAULT(retention) = {
	.family = FAULT_OF_WORLD,
	.number = 4,
	.name = "finished clones deleted",
	.world = "retention",
	.draw = retention_draw,
	.begin = again_soon,
	.turn = retention_turn,
};

/* Clones, jobs, or both. */
static void pruned_turn(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];

	if (!f->on) {
		return;
	}
	if (f->variant % 3 != 1) {
		(void)world_deletes(p, WORKLOADS, 0, false);
	}
	if (f->variant % 3 != 0) {
		(void)world_deletes(p, JOBS, 0, false);
	}
	again_soon(s, f);
}

/* By a controller that deletes what it did not make. */
FAULT(pruned) = {
	.family = FAULT_OF_WORLD,
	.number = 5,
	.name = "copies pruned",
	.world = "pruned",
	.begin = again_soon,
	.turn = pruned_turn,
};
