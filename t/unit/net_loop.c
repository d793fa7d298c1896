/* SPDX-License-Identifier: Apache-2.0 */
/* What the loop tells of its callbacks: time, and under a real-time priority CPU, too. */
#include "t/lib/tap.h"

#include <sched.h>
#include <time.h>

#include "core/net/loop.h"

enum { SLEEP_MS = 40, US = 1000 };

static bool slept;

static void asleep(void *ctx)
{
	struct timespec t = {.tv_nsec = SLEEP_MS * US * 1000L};

	(void)ctx;
	nanosleep(&t, NULL);
	slept = true;
}

/* A callback that takes long, but no CPU. */
static struct loop *run(void)
{
	struct loop *l = loop_new(NULL);
	struct loop_timer *t = loop_timer_new(l, asleep, NULL);

	slept = false;
	loop_timer_set(t, 0);
	while (!slept) {
		loop_turn(l, 1000);
	}
	loop_timer_free(t);
	return l;
}

int main(void)
{
	struct sched_param p = {.sched_priority = 1};
	struct loop *l = run();

	ok(loop_max_stall_us(l) >= SLEEP_MS * US, "the longest callback");
	is_int(loop_max_cpu_us(l), 0, "CPU is not measured");
	loop_free(l);
	if (sched_setscheduler(0, SCHED_RR, &p) != 0) {
		ok(true, "no real-time priority is to be had # SKIP");
		return done_testing();
	}
	l = run();
	ok(loop_max_stall_us(l) >= SLEEP_MS * US,
	   "under a real-time priority: the longest callback");
	ok(loop_max_cpu_us(l) > 0 && loop_max_cpu_us(l) < SLEEP_MS * US / 2,
	   "and what CPU it took");
	loop_free(l);
	return done_testing();
}
