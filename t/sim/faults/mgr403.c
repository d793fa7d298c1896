/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manager's API server refuses requests about jobs for seconds or a minute: all of them, as
 * one does whose roles are not loaded yet, or each write of a status, as an admission policy does.
 */
#include "t/sim/sim.h"

static void draw(struct sim *s, struct fault *f, struct rng *r)
{
	(void)s;
	f->plane = 0;
	f->at = rng_range(r, 20000, 100000);
	f->until = f->at + (f->variant < 4 ? rng_range(r, 2000, 8000) : rng_range(r, 15000, 60000));
}

static void set(struct sim *s, struct fault *f, bool on)
{
	struct plane *p = &s->plane[f->plane];

	*(f->variant % 2 == 0 ? &p->forbid_jobs : &p->forbid_status) = on;
}

FAULT(mgr403) = {
	.family = FAULT_OF_WORLD,
	.number = 12,
	.name = "manager forbids jobs for a moment",
	.world = "mgr403",
	.draw = draw,
	.set = set,
};
