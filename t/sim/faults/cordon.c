/* SPDX-License-Identifier: Apache-2.0 */
/* An operator takes a worker out, or drains it, by an annotation of its MultiKueueCluster. */
#include "t/sim/sim.h"

static void cordon_prepare(struct sim *s)
{
	s->cordons = true;
}

static void cordon_want(const struct fault *f, struct wanted *w)
{
	static const char *const words[] = {"\"Cordon\"", "\"Evict\"", "\"Drain\""};

	w->cordon[f->plane] = words[f->variant % 3];
}

FAULT(cordon) = {
	.family = FAULT_OF_WORLD,
	.number = 8,
	.name = "worker cordoned",
	.world = "cordon",
	.prepare = cordon_prepare,
	.want = cordon_want,
};
