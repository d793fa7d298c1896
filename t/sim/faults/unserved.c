/* SPDX-License-Identifier: Apache-2.0 */
/* A worker does not serve Jobs, and has lost all of them; or daemons may not see them there. */
#include "t/sim/sim.h"

static void unserve(struct plane *p, const struct fault *f, bool on)
{
	if (f->variant % 2 == 0) {
		world_crd(p, !on);
		return;
	}
	p->forbid_jobs = on;
	ks_watch_end_all(p->store);
	plane_watches(p);
}

static void unserved_begin(struct sim *s, struct fault *f)
{
	unserve(&s->plane[f->plane], f, true);
}

static void unserved_over(struct sim *s, struct fault *f)
{
	unserve(&s->plane[f->plane], f, false);
}

FAULT(unserved) = {
	.family = FAULT_OF_WORLD,
	.number = 3,
	.name = "kind not served",
	.world = "unserved",
	.hides_worker = true,
	.begin = unserved_begin,
	.over = unserved_over,
};
