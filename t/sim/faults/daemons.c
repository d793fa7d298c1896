/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a daemon: it is killed or stopped, or its clock is set. */
#include "t/sim/sim.h"

static void kill_begin(struct sim *s, struct fault *f)
{
	struct proc *p = &s->proc[f->proc];

	if (p->alive) {
		proc_restart(p, rng_range(&s->rng, 10, 20000));
	}
}

/* kill -9, and it starts again. */
FAULT(killed) = {
	.family = FAULT_OF_MACHINES,
	.number = 10,
	.name = "daemon killed",
	.begin = kill_begin,
};

static void kill_at_begin(struct sim *s, struct fault *f)
{
	s->kill_countdown = 1 + rng_below(&s->rng, 60);
	s->kill_proc = f->proc;
}

/* The n-th from now. */
FAULT(kill_at) = {
	.family = FAULT_OF_MACHINES,
	.number = 11,
	.name = "daemon killed at a request",
	.begin = kill_at_begin,
};

static void freeze_begin(struct sim *s, struct fault *f)
{
	struct proc *p = &s->proc[f->proc];

	/*
	 * A second freeze does not prolong the first: what was put off to the end of that would be
	 * put off again, behind what came later, and a stream keeps its order.
	 */
	if (p->alive && p->frozen_until <= s->now) {
		p->frozen_until = s->now + rng_range(&s->rng, 2000, 40000);
	}
}

/* SIGSTOP, for longer than its lease. */
FAULT(freeze) = {
	.family = FAULT_OF_MACHINES,
	.number = 12,
	.name = "daemon frozen",
	.begin = freeze_begin,
};

enum { HOUR_MS = 3600 * 1000 };

/*
 * Whether a job was sent before a name led elsewhere is told by two dates of that clock on the
 * manager (decision 0117), the one thing that a restart has: not in world "elsewhere".
 */
static void step_clock(struct sim *s, const struct fault *f, int64_t ms)
{
	if (s->n_spares == 0) {
		s->proc[f->proc].wall_step += ms;
	}
}

static void clock_begin(struct sim *s, struct fault *f)
{
	step_clock(s, f, HOUR_MS);
}

static void clock_over(struct sim *s, struct fault *f)
{
	step_clock(s, f, -HOUR_MS);
}

FAULT(clock_jump) = {
	.family = FAULT_OF_MACHINES,
	.number = 15,
	.name = "wall clock jumps",
	.begin = clock_begin,
	.over = clock_over,
};
