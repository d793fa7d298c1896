/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: values, text, limits. */
#include "t/tap.h"

#include "core/base/alloc.h"
#include "core/base/metric.h"

static struct buf out;

static const char *text(void)
{
	buf_clear(&out);
	metric_render(&out);
	return out.p ? out.p : "";
}

static void test_values(void)
{
	struct metric *c = metric_counter("c_total", "Things.", "cluster", "code", NULL);
	struct metric *g = metric_gauge("a_gauge", "Level.", NULL);
	double bounds[] = {0.1, 1};
	struct metric *h = metric_histogram("h_seconds", "Times.", bounds, 2, "op", NULL);

	is_str(text(), "", "families without series are silent");
	metric_add(c, METRIC_LABELS(STR("west"), STR("409")), 2);
	metric_add(c, METRIC_LABELS(STR("east"), STR("a\"\\\nb\xff")), 1);
	metric_add(c, METRIC_LABELS(STR("west"), STR("409")), 0.5);
	metric_add(c, METRIC_LABELS(STR("west"), STR("409")), -7);
	metric_set(c, METRIC_LABELS(STR("west"), STR("409")), 1);
	metric_add(c, METRIC_NONE, 1);
	metric_set(g, METRIC_NONE, 5);
	metric_add(g, METRIC_NONE, -7);
	metric_observe(h, METRIC_LABELS(STR("get")), 0.05);
	metric_observe(h, METRIC_LABELS(STR("get")), 0.1);
	metric_observe(h, METRIC_LABELS(STR("get")), 0.5);
	metric_observe(h, METRIC_LABELS(STR("get")), 60);
	is_str(text(),
	       "# HELP a_gauge Level.\n# TYPE a_gauge gauge\na_gauge -2\n"
	       "# HELP c_total Things.\n# TYPE c_total counter\n"
	       "c_total{cluster=\"east\",code=\"a\\\"\\\\\\nb\xef\xbf\xbd\"} 1\n"
	       "c_total{cluster=\"west\",code=\"409\"} 2.5\n"
	       "# HELP h_seconds Times.\n# TYPE h_seconds histogram\n"
	       "h_seconds_bucket{op=\"get\",le=\"0.1\"} 2\n"
	       "h_seconds_bucket{op=\"get\",le=\"1\"} 3\n"
	       "h_seconds_bucket{op=\"get\",le=\"+Inf\"} 4\n"
	       "h_seconds_sum{op=\"get\"} 60.65\n"
	       "h_seconds_count{op=\"get\"} 4\n",
	       "the text");
	ok(metric_get(c, METRIC_LABELS(STR("west"), STR("409"))) > 2.4, "a value");
	is_int(metric_get(h, METRIC_LABELS(STR("get"))), 4, "observations");
	is_int(metric_get(h, METRIC_LABELS(STR("put"))), 0, "no series");
	ok(metric_counter("c_total", "Things.", "cluster", "code", NULL) == c, "registered once");
	ok(metric_counter("c_total", "Things.", "cluster", NULL) == NULL, "other labels");
	ok(metric_gauge("c_total", "Things.", "cluster", "code", NULL) == NULL, "another kind");
	ok(metric_counter("x", "X.", "1", "2", "3", "4", "5", "6", "7", NULL) == NULL,
	   "too many labels");
	metric_forget(c, 0, STR("east"));
	ok(strstr(text(), "east") == NULL && strstr(text(), "west") != NULL,
	   "forgotten by the first label");
	metric_forget(c, 1, STR("409"));
	ok(strstr(text(), "c_total") == NULL, "forgotten by the second");
}

static void test_limits(void)
{
	struct metric *c = metric_counter("many_total", "Many.", "name", NULL);
	char name[300];
	struct buf little;
	int n = 0;

	for (int i = 0; i < METRIC_MAX_SERIES + 50; i++) {
		int len = snprintf(name, sizeof(name), "n%d", i);

		metric_add(c, METRIC_LABELS(((mk_str){name, (size_t)len})), 1);
	}
	for (const char *p = text(); (p = strstr(p, "many_total{")) != NULL; p++) {
		n++;
	}
	is_int(n, METRIC_MAX_SERIES + 1, "no more series than allowed, and one for the rest");
	is_int(metric_get(c, METRIC_LABELS(STR("_other"))), 50, "which counts the rest");
	buf_init(&little, 100);
	ok(!metric_render(&little), "no room for the text");
	buf_done(&little);
	metric_add(NULL, NULL, 1);
	metric_set(NULL, NULL, 1);
	metric_observe(NULL, NULL, 1);
	metric_forget(NULL, 0, STR(""));
	is_int(metric_get(NULL, NULL), 0, "no family, no harm");
	for (uint64_t i = 1; i < 12; i++) {
		struct metric *m;

		alloc_fail_after(i);
		m = metric_counter("oom_total", "Out of memory.", "a", NULL);
		metric_add(m, METRIC_LABELS(STR("x")), 1);
		buf_init(&little, 1 << 20);
		(void)metric_render(&little);
		buf_done(&little);
		alloc_fail_after(0);
	}
	ok(metric_n_seconds <= METRIC_MAX_BUCKETS, "the usual bounds fit");
}

int main(void)
{
	buf_init(&out, 1 << 20);
	test_values();
	test_limits();
	metric_clear();
	is_str(text(), "", "cleared");
	buf_done(&out);
	return done_testing();
}
