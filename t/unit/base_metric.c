/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: values, text, limits. */
#include "t/lib/tap.h"

#include <math.h>

#include "core/base/alloc.h"
#include "core/base/metric.h"
#include "t/lib/metric_text.h"

static struct buf out;

static const char *text(void)
{
	buf_clear(&out);
	metric_text(&out);
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
	ok(!metric_counter("c_total", "Things.", "cluster", NULL), "other labels");
	ok(!metric_gauge("c_total", "Things.", "cluster", "code", NULL), "another kind");
	ok(!metric_counter("x", "X.", "1", "2", "3", "4", "5", "6", "7", NULL), "too many labels");
	metric_forget(c, 0, STR("east"));
	ok(!strstr(text(), "east") && strstr(text(), "west") != NULL,
	   "forgotten by the first label");
	metric_forget(c, 1, STR("409"));
	ok(!strstr(text(), "c_total"), "forgotten by the second");
}

/* Counts are written without printf: each value reads as %.15g writes it. */
static void test_numbers(void)
{
	static const double values[] = {0,
					1,
					9,
					10,
					409,
					-0.0,
					-3,
					2.5,
					1e-9,
					999999999999999.0,
					1e15,
					1e300,
					4294967296.0,
					1e19,
					INFINITY,
					-INFINITY,
					NAN};
	struct metric *g = metric_gauge("n_gauge", "N.", NULL);
	char line[64];
	size_t wrong = 0;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		metric_set(g, METRIC_NONE, values[i]);
		snprintf(line, sizeof(line), "\nn_gauge %.15g\n", values[i]);
		wrong += !strstr(text(), line);
	}
	is_int((long long)wrong, 0, "numbers of all sizes");
	metric_clear();
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
	ok(!metric_text(&little), "no room for the text");
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
		(void)metric_text(&little);
		buf_done(&little);
		alloc_fail_after(0);
	}
	ok(metric_n_seconds <= METRIC_MAX_BUCKETS, "the usual bounds fit");
}

/*
 * How many series of "fleet_total" are there? Line by line: a sanitizer measures
 * the whole rest for each strstr.
 */
static int n_fleet(void)
{
	mk_str rest = str_of(text());
	mk_str line;
	int n = 0;

	while (str_split(&rest, '\n', &line)) {
		n += str_starts(line, STR("fleet_total{"));
	}
	return n;
}

static void touch(struct metric *m, int from, int to, const char *second)
{
	char name[200];

	for (int i = from; i < to; i++) {
		int len = snprintf(name, sizeof(name), "%0*d", i % 2 ? 120 : 8, i);

		metric_add(m, METRIC_LABELS(((mk_str){name, (size_t)len}), str_of(second)), 1);
	}
}

static void test_fleet(void)
{
	struct metric *m = metric_counter("fleet_total", "Of a fleet.", "queue", "cluster", NULL);
	struct metric *fat = metric_counter("fat_total", "Long names.", "a", "b", NULL);
	char wide[121] = "";
	struct metric *other = metric_counter("small_total", "Another.", "name", NULL);
	struct metric *h = metric_histogram("late_seconds", "Times.", metric_seconds,
					    metric_n_seconds, "verb", NULL);

	metric_limit(NULL, 7);
	metric_limit(m, 7);
	touch(m, 0, 2000, "a");
	is_int(n_fleet(), METRIC_MAX_SERIES + 1, "a small fleet has the room of all families");
	metric_limit(m, 3000);
	touch(m, 0, 3000, "a");
	is_int(n_fleet(), 3000, "the room grows with the fleet");
	is_int(metric_get(m, METRIC_LABELS(STR("_other"), STR("_other"))), 1001,
	       "what was gathered before stays, and no more comes");
	metric_forget(m, 1, STR("b"));
	is_int(n_fleet(), 3000, "a cluster that has no series goes");
	metric_forget(m, 1, STR("a"));
	is_int(n_fleet(), 1, "one that has many");
	metric_limit(m, SIZE_MAX);
	touch(m, 0, METRIC_TOP_SERIES * 2, "a");
	ok(n_fleet() <= METRIC_TOP_SERIES + 1 && n_fleet() > METRIC_TOP_SERIES / 2,
	   "there is an end, whatever the fleet");
	metric_limit(fat, SIZE_MAX);
	memset(wide, 'w', sizeof(wide) - 1);
	touch(fat, 0, METRIC_TOP_SERIES, wide);
	metric_add(other, METRIC_LABELS(STR("x")), 1);
	metric_observe(h, METRIC_LABELS(STR("get")), 1);
	is_int(metric_get(other, METRIC_LABELS(STR("x"))), 1, "others have their room beside it");
	is_int(metric_get(h, METRIC_LABELS(STR("get"))), 1, "histograms too");
	printf("# %zu bytes of text in %d series\n", strlen(text()), n_fleet());
	ok(strlen(text()) > METRIC_MAX_BYTES / 2 && strlen(text()) < METRIC_MAX_BYTES,
	   "and the text its bound");
	metric_forget(m, 1, STR("a"));
	touch(m, 0, 3000, "c");
	ok(n_fleet() > 1000, "room that is given back is used again");
}

static void test_rows(void)
{
	struct metric *c = metric_counter("r_total", "Rows.", "cluster", NULL);
	double bounds[] = {1};
	struct metric *h = metric_histogram("r_seconds", "Times.", bounds, 1, "op", NULL);
	struct metric_row east = {.family = NULL}, west = {.family = NULL}, get = {.family = NULL};

	ok(!metric_row_add(&east, 1) && !metric_row_observe(&get, 1),
	   "a row that was not found counts nothing");
	metric_find(c, METRIC_LABELS(STR("east")), &east);
	metric_find(c, METRIC_LABELS(STR("west")), &west);
	metric_find(h, METRIC_LABELS(STR("get")), &get);
	ok(metric_row_add(&east, 2) && metric_row_add(&east, 3) && metric_row_add(&east, -1),
	   "a row is added to");
	is_int(metric_get(c, METRIC_LABELS(STR("east"))), 5, "it is the series of its labels");
	ok(metric_row_observe(&get, 0.5) && !metric_row_add(&get, 1), "a row of a histogram");
	is_int(metric_get(h, METRIC_LABELS(STR("get"))), 1, "is observed");
	metric_forget(c, 0, STR("west"));
	ok(!metric_row_add(&west, 1), "the row of a series that is forgotten lasts no longer");
	ok(!metric_row_add(&east, 1), "nor do others of its family");
	ok(metric_row_observe(&get, 0.5), "but those of other families");
	metric_find(c, METRIC_LABELS(STR("east")), &east);
	ok(metric_row_add(&east, 1), "it can be found again");
	is_int(metric_get(c, METRIC_LABELS(STR("east"))), 6, "with what was counted before");
	for (int i = 0; i < METRIC_MAX_SERIES + 1; i++) {
		char name[16];

		snprintf(name, sizeof(name), "c%d", i);
		metric_find(c, METRIC_LABELS(str_of(name)), &west);
	}
	ok(!metric_row_add(&west, 1), "without room there is no row");
	alloc_fail_after(1);
	metric_find(h, METRIC_LABELS(STR("put")), &get);
	alloc_fail_after(0);
	ok(!metric_row_observe(&get, 1), "nor without memory");
	metric_find(NULL, METRIC_LABELS(STR("x")), &west);
	ok(!metric_row_add(&west, 1), "nor without a family");
	metric_clear();
}

/* Are the rows of "p_total" in order, each once? Returns how many there are. */
static int n_sorted(void)
{
	mk_str rest = str_of(text()), line, last = STR("");
	int n = 0;

	while (str_split(&rest, '\n', &line)) {
		if (str_starts(line, STR("p_total{"))) {
			line.n = (size_t)str_index(line, '}');
			n = str_cmp(last, line) < 0 && n >= 0 ? n + 1 : -1;
			last = line;
		}
	}
	return n;
}

static void add_numbered(struct metric *m, int i)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", i);
	metric_add(m, METRIC_LABELS(str_of(name), str_of(i % 7 == 0 ? "b" : "a")), 1);
}

/* Series are shown in order, in whatever order they come and go. */
static void test_order(void)
{
	enum { N = 5003 };
	struct metric *m = metric_counter("p_total", "P.", "name", "half", NULL);
	char name[16];

	metric_limit(m, N);
	for (int i = 0; i < N; i++) {
		add_numbered(m, i * 2011 % N);
	}
	is_int(n_sorted(), N, "series that come in any order are shown in theirs");
	metric_forget(m, 1, STR("b"));
	is_int(n_sorted(), N - (N + 6) / 7, "many go at once");
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "%d", i * 3001 % N);
		metric_drop(m, METRIC_LABELS(str_of(name), STR("a")));
	}
	is_int(n_sorted(), 0, "all go, one after the other");
	for (int i = N; i > 0; i--) {
		add_numbered(m, i);
	}
	is_int(n_sorted(), N, "and others come");
	metric_clear();
	m = metric_counter("p_total", "P.", "name", NULL);
	metric_add(m, METRIC_LABELS(((mk_str){"a\0b", 3})), 1);
	metric_add(m, METRIC_LABELS(STR("a")), 1);
	ok(n_sorted() == 2 && strstr(text(), "{name=\"a\xef\xbf\xbd"
					     "b\"} 1\n"),
	   "a zero byte is shown as what is no text");
	metric_clear();
}

/* Three families; rows of the second one are about 20 bytes each. */
static void some_families(int n)
{
	struct metric *g = metric_gauge("p_b", "B.", "i", NULL);
	double bounds[] = {1, 2};
	struct metric *h = metric_histogram("p_c", "C.", bounds, 2, "i", NULL);
	char name[16];

	metric_add(metric_counter("p_a", "A.", NULL), METRIC_NONE, 1);
	metric_limit(g, (size_t)n + 10);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%05d", i);
		metric_set(g, METRIC_LABELS(str_of(name)), 1);
		if (i < 20) {
			metric_observe(h, METRIC_LABELS(str_of(name)), i % 3);
		}
	}
}

/* In pieces: no call writes more than a piece and a series, and the text is the same. */
static void test_pieces(void)
{
	static const size_t sizes[] = {1, 100, 4096};
	enum { SERIES = 256 }; /* the longest series, and a head */

	some_families(3000);
	text();
	for (size_t i = 0; i < 3; i++) {
		struct metric_cursor c = {.family = NULL};
		size_t most = 0;
		struct buf b;
		bool done = false;

		buf_init(&b, 1 << 20);
		while (!done) {
			size_t n = b.n;

			done = metric_render(&c, NULL, sizes[i], &b);
			most = b.n - n > most ? b.n - n : most;
		}
		metric_cursor_done(&c);
		ok(most < sizes[i] + SERIES, "pieces are as long as they may be");
		is_str(b.p, out.p, "and together what one would be");
		buf_done(&b);
	}
}

/* What happens between two pieces. */
static void test_between(void)
{
	struct metric *g = metric_gauge("p_b", "B.", "i", NULL);
	struct metric_cursor c = {.family = NULL}, other = {.family = NULL};
	struct buf b, late;

	buf_init(&b, 1 << 20);
	buf_init(&late, 1 << 20);
	text();
	ok(metric_render(&c, "p_b", 1 << 20, &b) && !strstr(b.p, "p_b"),
	   "only the families before a name");
	ok(!metric_render(&c, NULL, 100, &b) && strstr(b.p, "p_b{i=\"00000\"} 1\n"),
	   "then those behind it");
	metric_set(g, METRIC_LABELS(STR("02999")), 7);
	metric_set(g, METRIC_LABELS(STR("01500x")), 7);
	metric_drop(g, METRIC_LABELS(STR("02000")));
	metric_forget(g, 0, STR("02001"));
	metric_set(g, METRIC_LABELS(STR("02001")), 7);
	(void)metric_render(&other, NULL, 100, &late);
	metric_set(metric_gauge("p_b2", "B2.", NULL), METRIC_NONE, 5);
	metric_set(metric_gauge("o_late", "Late.", NULL), METRIC_NONE, 5);
	ok(metric_render(&c, "p_b2", SIZE_MAX / 2, &b), "the family that was begun is completed");
	ok(b.n < out.n && strncmp(b.p, out.p, b.n) == 0, "... as it was when it began");
	ok(metric_render(&c, "p_c", SIZE_MAX / 2, &b) && strstr(b.p, "p_b2 5\n"),
	   "one that came meanwhile is written, if its place is not passed");
	metric_cursor_done(&c);
	metric_cursor_done(&c);
	metric_drop(g, METRIC_LABELS(STR("00003")));
	ok(metric_render(&other, "p_b2", SIZE_MAX / 2, &late) && strstr(late.p, "\"02999\"} 7\n") &&
		   strstr(late.p, "\"01500x\"} 7\n") && strstr(late.p, "\"02001\"} 7\n") &&
		   strstr(late.p, "\"00003\"} 1\n") && !strstr(late.p, "\"02000\""),
	   "a second text at the same time has what there was at its own begin");
	metric_cursor_done(&other);
	ok(!strstr(text(), "p_b{i=\"00003\""), "what is gone is gone");
	buf_done(&b);
	buf_done(&late);
	metric_clear();
}

/* Memory is out in the middle: the text is a failure, and the registry as it was. */
static void test_no_memory(void)
{
	char *whole;
	int failed = 0;

	some_families(300);
	whole = mk_strdup(text());
	for (uint64_t i = 1; i < 40; i++) {
		struct metric_cursor c = {.family = NULL};
		struct buf b;

		buf_init(&b, 1 << 20);
		alloc_fail_after(i);
		while (!metric_render(&c, NULL, 64, &b)) {
		}
		metric_cursor_done(&c);
		alloc_fail_after(0);
		failed += b.failed;
		ok(b.failed || strcmp(b.p, whole) == 0, "a failure, or the whole text");
		buf_done(&b);
	}
	ok(failed > 3, "some texts failed");
	for (uint64_t i = 1; i < 8; i++) {
		struct metric *m = metric_gauge("p_d", "D.", "i", NULL);

		alloc_fail_after(i);
		metric_set(m, METRIC_LABELS(STR("x")), 1);
		alloc_fail_after(0);
		metric_set(m, METRIC_LABELS(STR("x")), 2);
		ok(strstr(text(), "p_d{i=\"x\"} 2\n") != NULL,
		   "a series that memory did not suffice for is made later");
		metric_drop(m, METRIC_LABELS(STR("x")));
	}
	is_str(text(), whole, "as it was");
	mk_free(whole);
	metric_clear();
}

int main(void)
{
	buf_init(&out, 1 << 25);
	test_values();
	test_limits();
	test_fleet();
	metric_clear();
	test_numbers();
	metric_clear();
	test_rows();
	test_order();
	test_pieces();
	test_between();
	test_no_memory();
	is_str(text(), "", "cleared");
	buf_done(&out);
	return done_testing();
}
