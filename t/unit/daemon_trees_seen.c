/* SPDX-License-Identifier: Apache-2.0 */
/* What gets more waits until Kueue has seen what got less, and for nothing else. */
#include "core/base/alloc.h"
#include "core/daemon/trees_seen.h"
#include "t/lib/tap.h"

enum { QUEUES = 3 };

static struct arena a;
static struct trees_seen seen;
static struct json *objects[QUEUES + 1];
static int64_t now;

/* ClusterQueue q<i> as the cluster has it, and the generation that Kueue says it has seen. */
static void queue(size_t i, int generation, int observed)
{
	mk_str text = arena_printf(
		&a,
		"{\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"q%zu\",\"generation\":%d},"
		"\"status\":{\"conditions\":[{\"type\":\"Active\",\"observedGeneration\":%d}]}}",
		i, generation, observed);

	json_parse(&a, text, &objects[i], NULL);
	if (observed == 0) {
		json_put(&a, objects[i], "/status", NULL);
	}
}

static bool settled(void)
{
	return trees_seen_settled(&seen, objects, QUEUES + 1, now);
}

static void write_to(size_t i, bool more, int64_t was, int64_t is)
{
	struct trees_write w = {.verb = TREES_APPLY,
				.kind = API_QUEUE,
				.name = arena_printf(&a, "q%zu", i),
				.more = more,
				.generation = was};

	trees_seen_wrote(&seen, &w, is, now);
}

/* A process that leads for a while, and nothing is to be waited for. */
static void at_rest(void)
{
	for (size_t i = 0; i < QUEUES; i++) {
		queue(i, 1, 1);
	}
	json_parse(&a, STR("{\"kind\":\"Cohort\",\"metadata\":{\"name\":\"c\"}}"), &objects[QUEUES],
		   NULL);
	trees_seen_done(&seen);
	trees_seen_begin(&seen, now);
	now += 5000;
}

static void test_begin(void)
{
	at_rest();
	now -= 5000;
	ok(!settled(), "who begins to lead waits a moment");
	now += 2000;
	ok(settled(), "... of two seconds");
	queue(1, 7, 6);
	ok(!settled(), "a queue that another changed is waited for");
	queue(1, 7, 7);
	ok(settled(), "... until Kueue has seen it");
	queue(1, 7, 0);
	ok(!settled(), "one of which Kueue says nothing is waited for");
	json_put(&a, objects[1], "/metadata/deletionTimestamp",
		 json_new_str(&a, STR("2026-01-01T00:00:00Z")));
	ok(settled(), "... but not when it goes");
}

static void test_less(void)
{
	struct trees_write cohort = {.verb = TREES_APPLY, .kind = API_COHORT, .name = STR("c")};
	struct trees_write tree = {.verb = TREES_APPLY, .kind = API_TREE, .name = STR("t")};
	struct trees_write status = {
		.verb = TREES_STATUS, .kind = API_STATUS, .name = STR("default")};

	at_rest();
	ok(settled(), "nothing is to be waited for");
	write_to(0, false, 0, 2);
	queue(0, 2, 1);
	now += 2000;
	ok(!settled(), "a queue that got less is waited for");
	queue(0, 2, 2);
	ok(settled(), "... until Kueue has seen it");
	trees_seen_wrote(&seen, &cohort, 3, now);
	now += 1999;
	ok(!settled(), "a Cohort that got less gets two seconds");
	now += 1;
	ok(settled(), "... and no more");
	trees_seen_wrote(&seen, &tree, 3, now);
	ok(settled(), "a finalizer is no quota");
	trees_seen_wrote(&seen, &status, 0, now);
	ok(settled(), "nor is a status, answered or not");
}

static void test_more(void)
{
	at_rest();
	write_to(0, true, 1, 2);
	write_to(1, true, 0, 1);
	queue(0, 2, 1);
	queue(1, 1, 0);
	ok(settled(), "queues that got more, or were made, are not waited for");
	write_to(0, true, 2, 3);
	queue(0, 3, 1);
	ok(settled(), "nor are those that got more twice");
	queue(0, 4, 1);
	ok(!settled(), "one that another changed since then is");
	write_to(0, true, 3, 5);
	queue(0, 5, 1);
	ok(!settled(), "... also when it got more after that");
	queue(0, 5, 3);
	ok(!settled(), "... when Kueue has seen the states before");
	queue(0, 5, 4);
	ok(settled(), "... until Kueue has seen the change");
	write_to(0, false, 0, 6);
	queue(0, 6, 5);
	now += 2000;
	ok(!settled(), "one that got less after more is waited for");
	queue(0, 6, 6);
	ok(settled(), "... until Kueue has seen it");
	queue(2, 2, 1);
	write_to(2, true, 2, 2);
	ok(!settled(), "a write that changed nothing spares nothing");
	queue(2, 2, 2);
	write_to(2, true, 2, 0);
	queue(2, 3, 2);
	ok(!settled(), "a write without an answer neither");
}

static void test_gone(void)
{
	at_rest();
	write_to(0, true, 0, 1);
	queue(0, 1, 0);
	ok(settled(), "a queue that was made");
	json_parse(&a, STR("{\"kind\":\"Cohort\"}"), &objects[0], NULL);
	ok(settled(), "is gone");
	queue(0, 1, 0);
	ok(!settled(), "one of that name that another makes is waited for");
}

/* Kueue is down, or says nothing of a queue for another reason. */
static void test_late(void)
{
	at_rest();
	write_to(0, false, 0, 2);
	queue(0, 2, 1);
	now += 2000;
	ok(!settled(), "Kueue is waited for");
	now += 29999;
	ok(!settled(), "... for half a minute");
	now += 1;
	ok(settled(), "... and not for ever");
	ok(settled(), "nor is the same change again");
	queue(0, 3, 1);
	ok(!settled(), "the next change is");
}

/* What cannot be remembered is waited for. */
static void test_no_memory(void)
{
	struct trees_write w = {.verb = TREES_APPLY,
				.kind = API_QUEUE,
				.name = STR("q0"),
				.more = true,
				.generation = 1};
	uint64_t n = 0;
	bool good = true;

	for (uint64_t asked = UINT64_MAX; good && asked >= n;) {
		at_rest();
		alloc_fail_after(++n);
		trees_seen_wrote(&seen, &w, 2, now);
		asked = alloc_fail_after(0);
		queue(0, 2, 1);
		good = settled() == (asked < n);
	}
	ok(good && n > 1, "without memory a queue that got more is waited for");
}

int main(void)
{
	arena_init(&a, 0);
	trees_seen_begin(&seen, 0);
	test_begin();
	test_less();
	test_more();
	test_gone();
	test_late();
	test_no_memory();
	trees_seen_done(&seen);
	arena_done(&a);
	return done_testing();
}
