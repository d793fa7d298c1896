/* SPDX-License-Identifier: Apache-2.0 */
/* An operator changes multiKueue.origin while jobs run, and back. */
#include "t/sim/sim.h"

static void change_origin(struct sim *s, struct fault *f, bool back)
{
	struct site *site = s->proc[f->proc].site;

	/* Sometimes the configuration names the former origin late. */
	site->tells_origin = back || f->variant % 4 != 0;
	if (!back || f->variant % 2 == 0) {
		world_change_origin(site, back ? "multikueue" : "another");
	}
	world_restart(s, site, &f->rng);
}

static void origin_begin(struct sim *s, struct fault *f)
{
	change_origin(s, f, false);
}

static void origin_over(struct sim *s, struct fault *f)
{
	change_origin(s, f, true);
}

FAULT(origin) = {
	.family = FAULT_OF_WORLD,
	.number = 1,
	.name = "origin changed",
	.world = "origin",
	.begin = origin_begin,
	.over = origin_over,
};
