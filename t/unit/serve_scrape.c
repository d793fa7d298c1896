/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /metrics in pieces: the same as in one, and none long, however large the fleet. */
#include "t/lib/tap.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/err.h"
#include "core/base/metric.h"
#include "core/net/http_server.h"
#include "t/lib/metric_text.h"
#include "core/serve/scrape.h"

static struct requests r;
static size_t longest; /* bytes of a piece */
static int steps;

static void render(struct buf *b)
{
	struct scrape *s = scrape_new(&r);
	bool done = false;

	longest = 0;
	for (steps = 0; !done; steps++) {
		size_t before = b->n;

		done = scrape_step(s, b);
		longest = b->n - before > longest ? b->n - before : longest;
	}
	scrape_free(s);
}

static const struct {
	const char *cluster, *verb;
	int code;
	double seconds;
} asked[] = {
	{"west", "PATCH", 200, 0.004}, {"east", "GET", 404, 0.001},
	{"east", "GET", 200, 700},     {"w1", "WATCH", -ERR_UNAVAILABLE, -1},
	{"west", "PATCH", 200, 1},     {"w10", "GET", 200, 0.25},
	{"w1", "GET", 200, 0.125},     {"w-1", "GETS", 200, 0.5},
	{"w-1", "GET", 409, 3},        {"a\"\\\nb\xff", "GET", 200, 0.75},
	{"east", "WATCH", 200, -1},
};

static void others(void)
{
	metric_add(metric_counter("a_total", "A.", NULL), METRIC_NONE, 1);
	metric_set(metric_gauge("multikueue_request_t", "T.", NULL), METRIC_NONE, 2);
	metric_set(metric_gauge("multikueue_requests_running", "R.", NULL), METRIC_NONE, 3);
	metric_set(metric_gauge("z", "Z.", "l", NULL), METRIC_LABELS(STR("\n# HELP b")), 4);
}

/* The registry with all families writes what a scrape writes. */
static void same_text(void)
{
	struct metric *total, *seconds;
	struct buf want, got;

	total = metric_counter("multikueue_requests_total",
			       "Requests to API servers by verb and status code.", "cluster",
			       "verb", "code", NULL);
	seconds = metric_histogram("multikueue_request_seconds",
				   "Duration of requests other than watches.", metric_seconds,
				   metric_n_seconds, "cluster", "verb", NULL);
	buf_init(&want, 1 << 20);
	buf_init(&got, 1 << 20);
	others();
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		const mk_str cluster = str_of(asked[i].cluster), verb = str_of(asked[i].verb);
		char code[32];

		snprintf(code, sizeof(code), "%d", asked[i].code);
		metric_add(total,
			   METRIC_LABELS(cluster, verb,
					 asked[i].code > 0 ? str_of(code) : STR("unavailable")),
			   1);
		if (asked[i].seconds >= 0) {
			metric_observe(seconds, METRIC_LABELS(cluster, verb), asked[i].seconds);
		}
		requests_count(&r, cluster, asked[i].verb, asked[i].code, asked[i].seconds);
	}
	metric_text(&want);
	metric_clear();
	others();
	render(&got);
	is_str(got.p, want.p, "the text is that of one registry");
	buf_clear(&got);
	requests_done(&r);
	buf_clear(&want);
	metric_text(&want);
	render(&got);
	is_str(got.p, want.p, "without requests their families are silent");
	buf_done(&want);
	buf_done(&got);
	metric_clear();
}

static int lines_with(const struct buf *b, const char *part)
{
	int n = 0;

	for (const char *p = strstr(b->p, part); p; p = strstr(p + 1, part)) {
		n++;
	}
	return n;
}

static void large_fleet(void)
{
	enum { CLUSTERS = 1000, A_CLUSTER = 24 * 1024 };
	static const char *const verbs[] = {"GET", "PATCH", "POST", "DELETE"};
	char name[32];
	struct buf b;

	buf_init(&b, 32 << 20);
	for (int i = 0; i < CLUSTERS; i++) {
		snprintf(name, sizeof(name), "worker-%d", i);
		for (size_t v = 0; v < 4; v++) {
			requests_count(&r, str_of(name), verbs[v], 200, 0.01);
			requests_count(&r, str_of(name), verbs[v], 404, 0.01);
		}
	}
	render(&b);
	printf("# %zu bytes in %d turns, at most %zu in one\n", b.n, steps, longest);
	ok(!b.failed && b.n > 4u << 20, "the text of a thousand workers");
	ok(longest <= SCRAPE_PIECE + A_CLUSTER, "no turn writes more than a piece");
	is_int(lines_with(&b, "\nmultikueue_request_seconds_count{"), CLUSTERS * 4,
	       "each worker and verb has its durations");
	is_int(lines_with(&b, "\nmultikueue_requests_total{"), CLUSTERS * 8, "... and its counts");
	is_int(lines_with(&b, "# TYPE "), 2, "each family begins once");
	buf_done(&b);
}

/* More rows than one turn can write, in families before, between and behind those of requests. */
static void large_registry(void)
{
	static const char *const names[] = {"a", "multikueue_request_t", "z"};
	enum { ROWS = 20000, A_ROW = 64 };
	struct metric *m;
	struct buf want, got;
	char name[16];

	buf_init(&want, 32 << 20);
	buf_init(&got, 32 << 20);
	for (size_t f = 0; f < 3; f++) {
		m = metric_gauge(names[f], "Large.", "i", NULL);
		metric_limit(m, ROWS);
		for (int i = 0; i < ROWS; i++) {
			snprintf(name, sizeof(name), "%d", i);
			metric_set(m, METRIC_LABELS(str_of(name)), i);
		}
	}
	metric_text(&want);
	render(&got);
	printf("# %zu bytes in %d turns, at most %zu in one\n", got.n, steps, longest);
	ok(longest <= SCRAPE_PIECE + A_ROW, "no turn writes more than a piece of a large metric");
	ok((size_t)steps <= got.n / SCRAPE_PIECE + 1, "nor are there more turns than needed");
	is_str(got.p, want.p, "the text is that of one piece");
	buf_done(&want);
	buf_done(&got);
}

/* A turn without memory ends the text as a failure, which the server answers with a 500. */
static void no_memory(void)
{
	int failed = 0, wrong = 0;

	requests_count(&r, STR("one"), "GET", 200, 1);
	for (uint64_t i = 1; i < 60; i++) {
		struct scrape *s;
		struct buf b;

		buf_init(&b, 32 << 20);
		alloc_fail_after(i);
		s = scrape_new(&r);
		while (s && !scrape_step(s, &b)) {
		}
		alloc_fail_after(0);
		failed += !s || b.failed;
		wrong += s && !b.failed && !strstr(b.p, "\nz{i=\"9999\"} 9999\n");
		scrape_free(s);
		buf_done(&b);
	}
	ok(failed > 5, "without memory a text fails");
	is_int(wrong, 0, "or is complete");
	requests_done(&r);
	metric_clear();
}

/* Seven thousand busy workers: more than an answer that is sent at once may have. */
static void huge_fleet(void)
{
	enum { CLUSTERS = 7000, MOST = HTTP_MAX_ANSWER };
	static const char *const verbs[] = {"GET", "PATCH", "POST", "DELETE", "LIST"};
	struct scrape *s;
	size_t all = 0, most = 0;
	int workers = 0;
	char name[REQUESTS_LABEL];
	struct buf b;
	bool done = false;

	buf_init(&b, MOST);
	for (int i = 0; i < CLUSTERS; i++) {
		snprintf(name, sizeof(name), "worker-%d", i);
		for (size_t v = 0; v < 5; v++) {
			requests_count(&r, str_of(name), verbs[v], 200, 0.01);
		}
	}
	s = scrape_new(&r);
	while (!done) {
		done = scrape_step(s, &b);
		workers += lines_with(&b, ",verb=\"LIST\",code=\"200\"} 1\n");
		most = b.n > most ? b.n : most;
		all += b.n;
		buf_clear(&b);
	}
	printf("# %zu bytes, at most %zu in one turn\n", all, most);
	ok(all > MOST && most <= SCRAPE_PIECE + 24 * 1024,
	   "the text of seven thousand workers has any length, its pieces do not");
	is_int(workers, CLUSTERS, "... and each worker has its rows");
	scrape_free(s);
	buf_done(&b);
	requests_done(&r);
}

/* Clusters that come and go between two pieces. */
static void changes(void)
{
	struct scrape *s = scrape_new(&r);
	struct buf b;
	char name[32];

	buf_init(&b, 32 << 20);
	scrape_step(s, &b);
	scrape_step(s, &b);
	for (int i = 0; i < 1000; i += 2) {
		snprintf(name, sizeof(name), "worker-%d", i);
		requests_forget(&r, str_of(name));
	}
	requests_count(&r, STR("zulu"), "GET", 200, 1);
	while (!scrape_step(s, &b)) {
	}
	ok(lines_with(&b, "_count{cluster=\"worker-999\"") == 4 &&
		   lines_with(&b, "_count{cluster=\"zulu\"") == 1,
	   "those that stay, and new ones, are written");
	is_int(lines_with(&b, "_count{cluster=\"worker-101\",verb=\"GET\"}"), 1, "once");
	is_int(lines_with(&b, "requests_total{cluster=\"worker-998\""), 0,
	       "those that went are not");
	scrape_free(s);
	buf_done(&b);
	requests_done(&r);
	is_int((int)r.n, 0, "nothing is left");
}

static void limits(void)
{
	struct buf b;
	char name[REQUESTS_LABEL];

	buf_init(&b, 32 << 20);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "VERB%d", i);
		requests_count(&r, STR("one"), name, 100 + i, 1);
	}
	render(&b);
	is_int(lines_with(&b, "\nmultikueue_requests_total{"), REQUESTS_ROWS,
	       "a cluster has so many rows");
	is_int(lines_with(&b, "verb=\"_other\",code=\"_other\"} 237\n"), 1,
	       "the last is for the others");
	is_int(lines_with(&b, "_seconds_count{"), REQUESTS_VERBS,
	       "and so many verbs with durations");
	is_int(lines_with(&b, "_seconds_count{cluster=\"one\",verb=\"_other\"} 293\n"), 1,
	       "the same for them");
	requests_done(&r);
	for (int i = 0; i < REQUESTS_CLUSTERS + 100; i++) {
		snprintf(name, sizeof(name), "%0*d", 100, i);
		requests_count(&r, str_of(name), "WATCH", 200, -1);
	}
	is_int((int)r.n, REQUESTS_CLUSTERS + 1, "so many clusters, and one for the others");
	buf_clear(&b);
	render(&b);
	is_int(lines_with(&b, "{cluster=\"_other\",verb=\"WATCH\",code=\"200\"} 100\n"), 1,
	       "what has no room shares a row");
	requests_done(&r);
	buf_done(&b);
}

int main(void)
{
	requests_init(&r);
	same_text();
	large_fleet();
	changes();
	huge_fleet();
	limits();
	large_registry();
	no_memory();
	return done_testing();
}
