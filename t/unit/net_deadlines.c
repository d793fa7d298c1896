/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines that are due together: sockets have their turn between them. */
#include "t/lib/tap.h"

#include "core/base/clock.h"
#include "core/net/deadlines.h"
#include "t/lib/net_turn.h"

enum { MANY = 20, A_TURN = 2, PATIENCE_MS = 60000 };

static struct deadlines set;
static struct deadline deadlines[MANY];
static int fired, brackets, most, in_order = 1;
static int in_bracket;

static int64_t now_us;

/* Each look at the clock finds it a millisecond later. */
static int64_t slow_clock(void)
{
	now_us += 1000;
	return now_us;
}

static void enter(void *ctx)
{
	(void)ctx;
	brackets++;
	in_bracket = 0;
}

static void leave(void *ctx)
{
	(void)ctx;
	most = in_bracket > most ? in_bracket : most;
}

static void due(void *ctx)
{
	in_order = in_order && ctx == &deadlines[fired];
	fired++;
	in_bracket++;
}

static void fire_all(struct loop *l, int64_t at_ms)
{
	fired = brackets = most = 0;
	for (int i = 0; i < MANY; i++) {
		deadline_set(&set, &deadlines[i], at_ms + i);
	}
	for (int64_t end = clock_mono_ms() + PATIENCE_MS; fired < MANY && clock_mono_ms() < end;) {
		loop_turn(l, 10);
	}
}

int main(void)
{
	struct loop *l = loop_new(NULL);
	bool made;

	set.enter = enter;
	set.leave = leave;
	made = l && deadlines_init(&set, l);
	for (int i = 0; made && i < MANY; i++) {
		made = deadline_init(&set, &deadlines[i], due, &deadlines[i]);
	}
	ok(made, "a set of deadlines");
	set.slice.clock_us = slow_clock;
	fire_all(l, clock_mono_ms() - 1000);
	is_int(fired, MANY, "all that are due fire");
	ok(in_order, "in the order of their times");
	ok(most <= A_TURN && brackets >= MANY / A_TURN, "few in one turn of the loop");
	set.slice.clock_us = NULL;
	fire_all(l, clock_mono_ms() - 1000);
	is_int(most, MANY, "without a clock all in one");
	for (int i = 0; i < MANY; i++) {
		deadline_done(&set, &deadlines[i]);
	}
	deadlines_done(&set);
	loop_free(l);
	return done_testing();
}
