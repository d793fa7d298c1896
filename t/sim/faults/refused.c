/* SPDX-License-Identifier: Apache-2.0 */
/* A worker refuses to have clones created. */
#include "t/sim/sim.h"

static void refused_set(struct sim *s, struct fault *f, bool on)
{
	s->plane[f->plane].refuse_clones = on;
}

FAULT(refused) = {
	.family = FAULT_OF_WORLD,
	.number = 7,
	.name = "clones refused",
	.world = "refused",
	.set = refused_set,
};
