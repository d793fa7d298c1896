/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of workers' quota when memory runs out, when a worker says too much,
 * and when there are many workers.
 */
#include <time.h>

#include "core/base/alloc.h"
#include "t/unit/trees_capacity_world.h"

enum { LONG = 60000, QUOTAS = 16, CROWD = 16000, CROWD_MS = 200 };

/* --- memory runs out -------------------------------------------------------------------------- */

static void listed(struct trees_fleet *f, uint32_t id, enum trees_side side)
{
	(void)trees_fleet_list(f, id, side);
	trees_fleet_listed(f, id, side);
}

/* Lists what is missing until nothing is; how many lists that took. */
static size_t list_all(struct trees_fleet *f, size_t most)
{
	enum trees_side side;
	uint32_t id;
	size_t n = 0;

	while (n < most && trees_fleet_torn(f, &id, &side)) {
		listed(f, id, side);
		n++;
	}
	return n;
}

/* The second worker that something is lost of does not make the first forgotten. */
static void lost(void)
{
	struct world w;

	begin(&w, 2);
	trees_fleet_free(w.fleet);
	w.fleet = trees_fleet_new();
	alloc_fail_after(1);
	has(&w, 1, "queue", "far", 10);
	has(&w, 2, "queue", "far", 10);
	ok(!trees_fleet_list(w.fleet, 1, TREES_QUEUES), "a list for which there is no memory");
	alloc_fail_after(0);
	tell(&w);
	ok(says(&w, "WorkersUnknown", "not known yet: w1, w2"),
	   "workers of which nothing could be kept are not known");
	leads(&w, 1, "l", "queue");
	leads(&w, 2, "l", "queue");
	ok(says(&w, "WorkersUnknown", "not known yet: w1, w2"), "... nor are they half known");
	is_int(list_all(w.fleet, 10), 4, "each kind of each is listed anew");
	ok(says(&w, "AllWorkers", "counted: w1, w2"), "... and they are known");
	end(&w);
}

static void never_told(void)
{
	struct world w;
	enum trees_side side;
	uint32_t id;

	begin(&w, 1);
	w.n = 2;
	w.names[1] = STR("w2");
	w.workers[1] = (struct trees_worker){.name = STR("w2"), .id = 2, .hidden_ms = INT64_MAX};
	tell(&w);
	ok(!trees_fleet_torn(w.fleet, &id, &side), "one that was not seen yet is not missing");
	w.workers[1].was_seen = true;
	tell(&w);
	ok(trees_fleet_torn(w.fleet, &id, &side) && id == 2,
	   "one that was seen, and of which there is nothing, is");
	is_int(list_all(w.fleet, 10), 2, "it is listed");
	end(&w);
}

/* --- too much --------------------------------------------------------------------------------- */

static void too_much(void)
{
	static char name[LONG];
	struct trees_quota q[QUOTAS];
	struct world w;
	char queue[32];
	int n = 0;

	begin(&w, 2);
	memset(name, 'f', sizeof(name));
	for (int i = 0; i < QUOTAS; i++) {
		q[i] = (struct trees_quota){{name, sizeof(name)}, STR("cpu"), {.v = 1}};
	}
	do {
		snprintf(queue, sizeof(queue), "q%d", n);
	} while (trees_fleet_put_queue(w.fleet, 1, str_of(queue), q, QUOTAS) && ++n < 10000);
	ok(n > 60 && n < 75, "of one worker 64 MiB are kept");
	ok(says(&w, "WorkersUnknown", "not known yet: w1"), "... and it is not known then");
	has(&w, 2, "queue", "far", 11);
	ok(trees_fleet_put_queue(w.fleet, 2, STR("another"), q, QUOTAS), "another worker is");
	trees_fleet_list(w.fleet, 1, TREES_QUEUES);
	has(&w, 1, "queue", "far", 10);
	trees_fleet_listed(w.fleet, 1, TREES_QUEUES);
	is_int(total(&w), 21, "it counts when its list is as it should be");
	ok(trees_fleet_put_queue(w.fleet, 1, STR("q0"), q, QUOTAS), "... and there is room again");
	for (int i = 0; i < 1000; i++) {
		q[0].nominal.v = i + 2;
		trees_fleet_put_queue(w.fleet, 1, STR("q0"), q, QUOTAS);
		trees_fleet_drop(w.fleet, 1, TREES_QUEUES, STR(""), STR("q1"));
		trees_fleet_put_queue(w.fleet, 1, STR("q1"), q, QUOTAS);
	}
	is_int(total(&w), 21, "what changes takes no more room than it has");
	leads(&w, 1, "r", "q0");
	ok(look(&w) != NULL && w.totals.v[0].message.n < 2000,
	   "a name without an end is not repeated in the condition");
	end(&w);
}

/* --- many workers ----------------------------------------------------------------------------- */

static struct trees_worker crowd[CROWD];
static mk_str names[CROWD];

/* Each has a server of its own but the last, which has that of the first. */
static void gather(struct arena *a, size_t first)
{
	for (size_t i = 0; i < CROWD; i++) {
		size_t k = (i + first) % CROWD;

		names[i] = arena_printf(a, "worker-%zu", k);
		crowd[i] = (struct trees_worker){
			.name = names[i],
			.id = (uint32_t)k + 1,
			.hidden_ms = k == 7 ? 1000 + (int64_t)first : INT64_MAX,
			.hidden_wall_ms = WALL * INT64_C(1000) + (int64_t)first * 1000,
			.was_seen = true,
			.server = arena_printf(a, "uid-%zu", k == CROWD - 1 ? 0 : k)};
	}
}

static bool tell_all(struct world *w)
{
	struct trees_config config = {STR("fleet"), names, CROWD};
	struct trees_workers all = {.known = true,
				    .workers = crowd,
				    .n_workers = CROWD,
				    .configs = &config,
				    .n_configs = 1};

	return trees_fleet_set(w->fleet, &all);
}

static void many(void)
{
	struct world w;
	clock_t began;
	long ms;

	begin(&w, 1);
	gather(&w.a, 0);
	for (uint32_t i = 1; i <= CROWD; i++) {
		listed(w.fleet, i, TREES_QUEUES);
		listed(w.fleet, i, TREES_LOCALS);
		has(&w, i, "queue", "far", 1);
		leads(&w, i, "l", "queue");
	}
	tell_all(&w);
	gather(&w.a, CROWD / 2); /* the same in another order */
	began = clock();
	ok(tell_all(&w) && look(&w) != NULL, "a sum of 16,000 workers");
	ms = (long)((clock() - began) * 1000 / CLOCKS_PER_SEC);
	printf("# %ld ms of the processor\n", ms);
	ok(tap_valgrind() || tap_emulated() || ms < CROWD_MS, "... is found in a short time");
	is_int(w.totals.v[0].totals[0].amount.v, (CROWD - 1) * 1000, "... each server counts once");
	ok(says(&w, "WorkersLost",
		"worker-7 (its queues cannot be seen since 2023-11-14T22:13:20Z"),
	   "what is out of sight is so since then");
	end(&w);
}

int main(void)
{
	lost();
	never_told();
	too_much();
	many();
	return done_testing();
}
