/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter of Jobs fails (plugins.c), or is not there when the daemons start. */
#include "t/sim/sim.h"

static void moody_want(const struct fault *f, struct wanted *w)
{
	(void)f;
	w->moody = true;
}

FAULT(moody) = {
	.family = FAULT_OF_CHURN,
	.number = 20,
	.name = "plugin fails",
	.want = moody_want,
};

/* All daemons end and start again, with or without the adapter. */
static void restart_all(struct sim *s, struct fault *f)
{
	s->no_plugin = faults_on(s, f->kind, SIZE_MAX);
	for (size_t i = 0; i < s->n_procs; i++) {
		proc_restart(&s->proc[i], rng_range(&s->wide, 10, 3000));
	}
}

FAULT(no_plugin) = {
	.family = FAULT_OF_CHURN,
	.number = 21,
	.name = "daemons without adapter",
	.begin = restart_all,
	.over = restart_all,
};
