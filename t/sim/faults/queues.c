/* SPDX-License-Identifier: Apache-2.0 */
/* An operator drains a queue, of a worker or of a manager. */
#include "t/sim/sim.h"

static void hold_want(const struct fault *f, struct wanted *w)
{
	w->hold[f->plane] = true;
}

FAULT(hold) = {
	.family = FAULT_OF_CHURN,
	.number = 0,
	.name = "queue drained",
	.hits_managers = true,
	.want = hold_want,
};
