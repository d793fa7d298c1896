/* SPDX-License-Identifier: Apache-2.0 */
/* Webhooks of a worker that change what is made there: front.c has them. */
#include "t/sim/sim.h"

static void shape_want(const struct fault *f, struct wanted *w)
{
	w->shape[f->plane] = true;
}

FAULT(shape) = {
	.family = FAULT_OF_CHURN,
	.number = 14,
	.name = "webhook reshapes jobs",
	.want = shape_want,
};

static void rewrite_want(const struct fault *f, struct wanted *w)
{
	w->rewrite[f->plane] = true;
}

FAULT(rewrite) = {
	.family = FAULT_OF_CHURN,
	.number = 15,
	.name = "webhook rewrites clones",
	.want = rewrite_want,
};
