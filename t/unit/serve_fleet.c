/* SPDX-License-Identifier: Apache-2.0 */
/* What a look at /status costs: the numbers are kept, and the clusters' text is made anew only when one of them changed. */
#include "t/lib/engine_world.h"

#include <time.h>

#include "core/base/alloc.h"
#include "core/serve/fleet.h"

enum { CLUSTERS = 1000, LOOKS = 1000 };

static struct fleet f;
static struct buf text;

static const char *look(void)
{
	buf_clear(&text);
	if (!fleet_write(&f, &text)) {
		return "failed";
	}
	buf_add(&text, (mk_str){"", 1});
	return text.p;
}

static size_t rows_shown(const char *link)
{
	char want[64];

	snprintf(want, sizeof(want), "\"link\":\"%s\"", link);
	return w_times(look(), want);
}

/* A mark in the text is there after many looks: the text was not written again. */
static bool is_kept(void)
{
	bool kept;

	f.text.p[0] = '<';
	for (int i = 0; i < LOOKS; i++) {
		(void)look();
	}
	kept = f.text.p[0] == '<';
	f.text.p[0] = '[';
	return kept;
}

static void test_text(void)
{
	char name[32];

	fleet_init(&f);
	is_str(look(), "[]", "no cluster");
	fleet_add(&f, 7, STR("east"));
	fleet_set_link(&f, fleet_add(&f, 9, STR("west")), LINK_DOWN, STR("BadKubeConfig"));
	is_str(look(),
	       "[{\"name\":\"east\",\"link\":\"connecting\",\"reason\":\"\"},"
	       "{\"name\":\"west\",\"link\":\"down\",\"reason\":\"BadKubeConfig\"}]",
	       "two, by age");
	fleet_remove(&f, fleet_find(&f, 7));
	is_str(look(), "[{\"name\":\"west\",\"link\":\"down\",\"reason\":\"BadKubeConfig\"}]",
	       "one goes");
	fleet_add(&f, 9, STR("south"));
	ok(strstr(look(), "\"south\"") && !strstr(look(), "\"west\""), "a number is used again");
	for (cluster_id i = 0; i < CLUSTERS - 1; i++) {
		snprintf(name, sizeof(name), "w%u", i);
		fleet_set_link(&f, fleet_add(&f, 100 + i, str_of(name)), LINK_UP, STR(""));
	}
	is_int((long long)rows_shown("up"), CLUSTERS - 1, "a thousand clusters");
	ok(is_kept(), "a thousand looks at what did not change write no row");
	fleet_set_link(&f, fleet_find(&f, 500), LINK_DOWN, STR("Lost"));
	is_int((long long)rows_shown("down"), 2, "a change is seen at once");
	ok(is_kept(), "and written once");
	fleet_set_link(&f, fleet_find(&f, 500), LINK_UP, STR(""));
	buf_done(&f.text);
	buf_init(&f.text, 1 << 20);
	alloc_fail_after(1);
	is_str(look(), "failed", "out of memory is told");
	alloc_fail_after(0);
	is_int((long long)rows_shown("up"), CLUSTERS - 1, "and made good by the next look");
	fleet_done(&f);
}

static void count_gone(void *ctx, mk_str name)
{
	int *n = ctx;

	(void)name;
	(*n)++;
}

static void test_queues(void)
{
	int n = 0;

	fleet_init(&f);
	fleet_queue_seen(&f, STR("a"));
	fleet_queue_seen(&f, STR("b"));
	ok(fleet_queue_gone(&f, STR("b")) && !fleet_queue_gone(&f, STR("b")), "a queue goes once");
	fleet_queues_begin(&f);
	fleet_queue_seen(&f, STR("c"));
	fleet_queues_end(&f, count_gone, &n);
	is_int(n, 1, "what a list does not name is gone");
	is_int((long long)map_len(&f.queues), 1, "what it names is not");
	alloc_fail_after(1);
	fleet_queue_seen(&f, STR("d"));
	ok(!fleet_add(&f, 1, STR("x")), "no memory for a cluster");
	alloc_fail_after(0);
	is_int((long long)map_len(&f.queues), 1, "nor for a queue");
	fleet_done(&f);
}

/* CPU time of many questions for the engine's numbers, the least of some tries. */
static int64_t cost_us(const struct world *w)
{
	int64_t least = INT64_MAX;

	for (int round = 0; round < 7; round++) {
		struct engine_stats st;
		struct timespec a, b;
		int64_t took;
		size_t sum = 0;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		for (int i = 0; i < 20000; i++) {
			engine_get_stats(w->e, &st);
			sum += st.workloads;
		}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		took = (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;
		least = took < least && sum > 0 ? took : least;
	}
	return least;
}

static void test_engine(void)
{
	enum { FEW = 2, MANY = 1000 };
	struct world *w = w_new(2);
	struct engine_stats st;
	char name[32];
	int64_t few = 0, many;

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		a_job(w, name);
		if (i == FEW - 1) {
			w_settle(w);
			few = cost_us(w);
		}
	}
	w_settle(w);
	engine_get_stats(w->e, &st);
	is_int((long long)st.workloads, MANY, "many Workloads");
	many = cost_us(w);
	printf("# 20,000 looks: %lld us with %d Workloads, %lld us with %d\n", (long long)few, FEW,
	       (long long)many, MANY);
	ok(many < 20 * (few + 100), "the engine's numbers cost the same whatever it manages");
	w_free(w);
}

int main(void)
{
	buf_init(&text, 1 << 20);
	test_text();
	test_queues();
	test_engine();
	buf_done(&text);
	return done_testing();
}
