/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the thread of queue trees remembers between passes, and what it shows as metrics. The thread
 * itself: t/integration/e2e_trees.t and t/real/trees_guide.t.
 */
#include <time.h>

#include "core/daemon/trees_gauges.h"
#include "core/daemon/trees_memo.h"
#include "t/lib/tap.h"

enum { TREES = 5000, QUEUES = 30000, MANY_MS = 100 };

static struct arena a;
static struct trees_memo memo;
static struct json *tree;

static void a_tree(int generation, const char *take_over)
{
	struct mk_err err;
	mk_str text = arena_printf(
		&a,
		"{\"kind\":\"ClusterQuotaTree\",\"metadata\":{\"name\":\"t\",\"generation\":%d,"
		"\"annotations\":{\"" TREES_TAKE_OVER "\":\"%s\"}}}",
		generation, take_over);

	json_parse(&a, text, &tree, &err);
}

static size_t n_refusals(int64_t ms)
{
	size_t n = 0;

	trees_memo_refusals(&memo, &a, &tree, 1, ms, &n);
	return n;
}

static void test_refusals(void)
{
	struct trees_write w = {
		.verb = TREES_APPLY, .kind = API_QUEUE, .tree = STR("t"), .name = STR("q")};
	const struct trees_refusal *v;
	size_t n;

	a_tree(1, "false");
	is_int(n_refusals(1000), 0, "nothing is refused at first");
	is_int(trees_memo_next_ms(&memo), INT64_MAX, "and nothing due");
	ok(trees_memo_refused(&memo, &w, STR("Conflict"), STR("owned by kubectl"), 1000),
	   "a write is refused");
	v = trees_memo_refusals(&memo, &a, &tree, 1, 1000, &n);
	ok(n == 1 && str_is(v[0].object, "ClusterQueue/q") && str_is(v[0].tree, "t") &&
		   str_is(v[0].reason, "Conflict") && str_is(v[0].text, "owned by kubectl"),
	   "the next pass knows which, and why");
	is_int(trees_memo_next_ms(&memo), 11000, "it is tried again after 10 s");
	is_int(n_refusals(11000), 0, "then the pass does not hear of it");
	trees_memo_refused(&memo, &w, STR("Conflict"), STR("again"), 11000);
	is_int(trees_memo_next_ms(&memo), 31000, "refused again: after 20 s");
	for (int i = 0; i < 10; i++) {
		trees_memo_refused(&memo, &w, STR("Conflict"), STR("again"), 0);
	}
	is_int(trees_memo_next_ms(&memo), 300000, "five minutes at most");
	is_int(n_refusals(20), 1, "it holds while the tree is as it was");
	a_tree(1, "true");
	is_int(n_refusals(30), 0, "permission to take over ends it");
	trees_memo_refused(&memo, &w, STR("Invalid"), STR("?"), 40);
	is_int(n_refusals(50), 1, "refused");
	a_tree(2, "true");
	is_int(n_refusals(60), 0, "another generation ends it");
	trees_memo_refused(&memo, &w, STR("Invalid"), STR("?"), 70);
	trees_memo_done(&memo, STR("t"));
	is_int(n_refusals(80), 0, "so does a write that is carried out");
}

/* A tree of parents has the name of its root, and changes with it. */
static void test_parents(void)
{
	struct trees_write w = {.verb = TREES_APPLY,
				.kind = API_QUEUE,
				.tree = STR("t"),
				.parents = true,
				.name = STR("q")};

	a_tree(1, "false");
	trees_memo_refused(&memo, &w, STR("Conflict"), STR("owned"), 1000);
	n_refusals(1000);
	a_tree(2, "true");
	is_int(n_refusals(1000), 1, "a ClusterQuotaTree of that name is another tree");
	json_put(&a, tree, "/kind", json_new_str(&a, STR("ClusterQueue")));
	is_int(n_refusals(1000), 1, "its root as it was");
	json_put(&a, tree, "/metadata/annotations/multikueued.io~1take-over",
		 json_new_str(&a, STR("false")));
	is_int(n_refusals(1000), 0, "its root with another word about taking over");
}

static void test_statuses(void)
{
	int64_t at = 0;

	ok(trees_memo_may_tell(&memo, STR("s"), 1000, &at), "a status");
	ok(!trees_memo_may_tell(&memo, STR("s"), 5999, &at) && at == 6000,
	   "no second one within five seconds");
	ok(trees_memo_may_tell(&memo, STR("u"), 5999, &at), "of another tree");
	ok(trees_memo_may_tell(&memo, STR("s"), 6000, &at), "then the next");
	n_refusals(700000);
	ok(trees_memo_may_tell(&memo, STR("s"), 700000, &at), "old ones are forgotten");
	trees_memo_clear(&memo);
}

/* What is remembered of a tree is found at once, however many trees and queues there are. */
static void test_many(void)
{
	struct json **v = arena_array(&a, QUEUES, sizeof(*v));
	clock_t began;
	int64_t at;
	long ms;
	size_t n;

	for (int i = 0; i < TREES; i++) {
		trees_memo_may_tell(&memo, arena_printf(&a, "tree-%04d", i), 1000, &at);
	}
	for (int i = 0; i < QUEUES; i++) {
		mk_str text = arena_printf(
			&a, "{\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"tree-%04dx\"}}",
			i % 10000);

		json_parse(&a, text, &v[i], NULL);
	}
	began = clock();
	trees_memo_refusals(&memo, &a, v, QUEUES, 1000, &n);
	ms = (long)((clock() - began) * 1000 / CLOCKS_PER_SEC);
	printf("# %ld ms of the processor\n", ms);
	ok(tap_valgrind() || tap_emulated() || ms < MANY_MS,
	   "of 5,000 trees, beside 30,000 queues, in a short time");
	trees_memo_clear(&memo);
	ok(trees_memo_may_tell(&memo, STR("tree-0001"), 1000, &at), "all are forgotten");
	trees_memo_clear(&memo);
}

static double shown(const char *family, const char *queue, const char *resource)
{
	struct metric *m = metric_gauge(family, "", "tree", "queue", "flavor", "resource", NULL);

	return metric_get(m, METRIC_LABELS(STR("t"), str_of(queue), STR("f"), str_of(resource)));
}

static void test_gauges(void)
{
	struct trees_figure v[] = {
		{STR("t"), STR("a"), STR("f"), STR("cpu"), true, 1500, 2000, 500, 700, true, 5},
		{STR("t"), STR("b"), STR("f"), STR("gpu"), true, 3, QUOTA_UNLIMITED, 2, 2, true, 4},
	};
	struct trees_plan p = {.figures = v, .n_figures = 2, .n_trees = 3, .n_invalid = 1};
	struct trees_gauges g;

	trees_gauges_init(&g);
	trees_gauges_set(&g, &p);
	ok(shown("multikueue_quota_tree_nominal", "a", "cpu") == 1.5 &&
		   shown("multikueue_quota_tree_used", "a", "cpu") == 0.5 &&
		   shown("multikueue_quota_tree_held", "a", "cpu") == 0.7,
	   "cpu in cores");
	ok(shown("multikueue_quota_tree_nominal", "b", "gpu") == 3 &&
		   shown("multikueue_quota_tree_maximum", "b", "gpu") == -1,
	   "all else in units; no limit is -1");
	ok(metric_get(g.trees, METRIC_LABELS(STR("good"))) == 2 &&
		   metric_get(g.trees, METRIC_LABELS(STR("wrong"))) == 1,
	   "trees by state");
	ok(metric_get(g.pending, METRIC_LABELS(STR("t"), STR("a"))) == 5 &&
		   metric_get(g.pending, METRIC_LABELS(STR("t"), STR("b"))) == 4,
	   "Workloads that wait, by queue");
	p.n_figures = 1;
	v[0].use = 1000;
	for (int i = 0; i < 3; i++) {
		trees_gauges_set(&g, &p);
	}
	ok(shown("multikueue_quota_tree_used", "a", "cpu") == 1 &&
		   shown("multikueue_quota_tree_used", "b", "gpu") == 0 &&
		   metric_get(g.pending, METRIC_LABELS(STR("t"), STR("b"))) == 0,
	   "a queue that is gone has no row");
	trees_gauges_set(&g, NULL);
	ok(shown("multikueue_quota_tree_used", "a", "cpu") == 0, "nor has any without a leader");
	trees_gauges_done(&g);
	metric_clear();
}

int main(void)
{
	arena_init(&a, 0);
	trees_memo_init(&memo);
	test_refusals();
	test_parents();
	test_statuses();
	test_many();
	test_gauges();
	arena_done(&a);
	return done_testing();
}
