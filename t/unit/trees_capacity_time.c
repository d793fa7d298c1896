/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the total of a tree follows its workers: changes that wait, workers out of sight, what a new
 * process does.
 */
#include "core/base/alloc.h"
#include "t/unit/trees_capacity_world.h"

/* --- changes that wait ------------------------------------------------------------------------ */

static void waits(void)
{
	struct world w;

	begin(&w, 2);
	is_int(total(&w), 20, "a tree that has nothing yet gets the sum at once");
	has(&w, 1, "queue", "far", 30);
	is_int(total(&w), 40, "more: at once");
	has(&w, 1, "queue", "far", 10);
	is_int(total(&w), 40, "less: not at once");
	ok(says(&w, "ChangeWaits",
		"cpu in flavor near: the workers have 20, the tree keeps 40 "
		"until 2023-11-14T22:18:21Z"),
	   "the condition says until when");
	is_int(w.totals.next_ms, w.now + 5 * MINUTE, "the pass comes again then");
	is_int(later(&w, 5 * MINUTE - 1), 40, "a moment before");
	is_int(later(&w, 1), 20, "five minutes later");
	is_int(w.totals.next_ms, INT64_MAX, "then nothing is due");

	for (int i = 0; i < 20; i++) {
		has(&w, 2, "queue", "far", 2);
		is_int(later(&w, 4 * MINUTE), 20, "a queue that comes and goes: lower");
		has(&w, 2, "queue", "far", 10);
		is_int(later(&w, 4 * MINUTE), 20, "... and back");
	}
	has(&w, 2, "queue", "far", 4);
	total(&w);
	has(&w, 2, "queue", "far", 8);
	later(&w, MINUTE);
	has(&w, 2, "queue", "far", 5);
	is_int(later(&w, 4 * MINUTE), 18, "it falls to the highest of the time that it waited");
	total(&w);
	is_int(later(&w, 5 * MINUTE), 15, "... and to the rest as much later");
	end(&w);
}

static void waits_to_rise(void)
{
	struct world w;

	begin(&w, 1);
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom/workers/raiseAfter", "\"2m\"");
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom/workers/dropAfter", "\"0s\"");
	is_int(total(&w), 10, "the first");
	has(&w, 1, "queue", "far", 4);
	is_int(total(&w), 4, "less, and no time to wait: at once");
	has(&w, 1, "queue", "far", 20);
	is_int(total(&w), 4, "more, and a time to wait: not at once");
	ok(says(&w, "ChangeWaits", "the workers have 20, the tree keeps 4 until"),
	   "... it is said");
	has(&w, 1, "queue", "far", 6);
	later(&w, MINUTE);
	has(&w, 1, "queue", "far", 9);
	is_int(later(&w, MINUTE), 6, "it rises to the lowest of the time that it waited");
	total(&w);
	is_int(later(&w, 2 * MINUTE), 9, "... and to the rest as much later");
	end(&w);
}

/* --- workers out of sight --------------------------------------------------------------------- */

static void lost(void)
{
	struct world w;
	int64_t since;

	begin(&w, 2);
	total(&w);
	sees(&w, 2, false);
	since = w.now;
	total(&w);
	is_int(later(&w, 14 * MINUTE), 20, "a worker is lost: it counts as it was");
	ok(says(&w, "WorkersLost",
		"counted as seen last: w2 (its queues cannot be seen since "
		"2023-11-14T22:13:21Z; left out at 2023-11-14T22:28:21Z)"),
	   "... and the tree says since when, and until when");
	is_int(w.totals.next_ms, since + 15 * MINUTE, "the pass comes again then");
	is_int(later(&w, MINUTE), 10, "then it is left out, without waiting again");
	ok(says(&w, "WorkersLeftOut",
		"left out: w2 (its queues cannot be seen since "
		"2023-11-14T22:13:21Z)"),
	   "... which is said");
	sees(&w, 2, true);
	is_int(total(&w), 20, "it is back");
	for (int i = 0; i < 5; i++) {
		sees(&w, 2, false);
		later(&w, 10 * MINUTE);
		sees(&w, 2, true);
		later(&w, MINUTE);
	}
	is_int(total(&w), 20, "one that flaps is never left out");
	sees(&w, 1, false);
	sees(&w, 2, false);
	total(&w);
	later(&w, 14 * MINUTE);
	is_int(later(&w, MINUTE), 0, "all are lost: nothing is left");
	ok(says(&w, "WorkersLeftOut", "0 of 2 workers"), "... and it is said");
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom/workers/lostAfter", "\"1h\"");
	is_int(total(&w), 20, "a tree may have another time");
	end(&w);
}

static void restarted(void)
{
	struct world w;

	begin(&w, 2);
	total(&w);
	/* Another process, that has not seen w2 yet. */
	trees_settling_clear(&w.settling);
	w.workers[1].was_seen = false;
	sees(&w, 2, false);
	is_int(later(&w, 10 * MINUTE), 20, "a new process keeps what is there");
	ok(says(&w, "WorkersUnknown",
		"the total stays as it is: not all workers of "
		"MultiKueueConfig \"fleet\" are known\nnot known yet: w2"),
	   "... and says why");
	has(&w, 1, "queue", "far", 50);
	is_int(total(&w), 20, "... also where a known worker has more");
	is_int(later(&w, 5 * MINUTE), 50, "until the other is given up");
	sees(&w, 2, true);
	is_int(total(&w), 60, "it comes after all");
	/* A drop was waiting. */
	has(&w, 1, "queue", "far", 10);
	later(&w, 4 * MINUTE);
	trees_settling_clear(&w.settling);
	is_int(later(&w, 4 * MINUTE), 60, "a new process waits anew");
	is_int(later(&w, 5 * MINUTE), 20, "... and then follows");
	end(&w);

	begin(&w, 1);
	w.workers[0].was_seen = false;
	sees(&w, 1, false);
	ok(look(&w) != NULL && !w.totals.v[0].known,
	   "a tree that has nothing yet, and no worker that is known: there is no total");
	ok(says(&w, "WorkersUnknown", "nothing is written for the tree until there is a total"),
	   "... which is said");
	is_int(later(&w, 15 * MINUTE), 0, "until it is given up");
	end(&w);
}

static void torn(void)
{
	struct world w;
	uint32_t id = 0;
	enum trees_side side = TREES_LOCALS;
	struct trees_quota q = {STR("far"), STR("cpu"), {.v = 1000}};

	begin(&w, 2);
	total(&w);
	alloc_fail_after(1);
	ok(!trees_fleet_put_queue(w.fleet, 2, STR("queue"), &q, 1), "out of memory: it is told");
	alloc_fail_after(0);
	is_int(later(&w, 60 * MINUTE), 20, "what is not kept whole is not known");
	ok(trees_fleet_torn(w.fleet, &id, &side) && id == 2 && side == TREES_QUEUES,
	   "... and is to be listed anew");
	trees_fleet_list(w.fleet, 2, TREES_QUEUES);
	has(&w, 2, "queue", "far", 30);
	trees_fleet_listed(w.fleet, 2, TREES_QUEUES);
	is_int(total(&w), 40, "then it counts again");
	ok(!trees_fleet_torn(w.fleet, &id, &side), "... and nothing is missing");
	trees_fleet_list(w.fleet, 2, TREES_QUEUES);
	trees_fleet_listed(w.fleet, 2, TREES_QUEUES);
	total(&w);
	is_int(later(&w, 5 * MINUTE), 10, "what a list does not name is gone");
	w.n = 1;
	tell(&w);
	w.n = 2;
	tell(&w);
	is_int(later(&w, 60 * MINUTE), 10, "what a worker that was removed had is forgotten");
	end(&w);
}

int main(void)
{
	waits();
	waits_to_rise();
	lost();
	restarted();
	torn();
	return done_testing();
}
