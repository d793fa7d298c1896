/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that no honest cluster would show, or that a tenant made odd: the list
 * of their kind ends all the same.
 */
#include "t/lib/kube_fake.h"

static struct fake f;

#define W "/workloads?"

static bool deep_was_cut;

static void see_cut(const struct event *ev)
{
	deep_was_cut =
		deep_was_cut || (ev->type == EV_OBSERVED && json_is_cut(json_get(ev->obj, "spec")));
}

static void open_list(uint64_t seed, bool pages)
{
	fake_init(&f, seed);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "");
	fake_handshake(&f, 1, "w");
	if (pages) {
		fake_answer(&f, 1, W, 400, "{\"kind\":\"Status\",\"code\":400}");
	}
	fake_story(&f);
}

/* An object whose spec is nested 300 levels deep, in front of it 'before' and behind it 'after'. */
static const char *deep_object(const char *before, const char *after)
{
	static char text[4096];
	size_t n = (size_t)snprintf(text, sizeof(text),
				    "%s{\"apiVersion\":\"" KUEUE "\",\"kind\":\"Workload\","
				    "\"metadata\":{\"name\":\"deep\",\"namespace\":\"n\",\"uid\":"
				    "\"u-deep\",\"resourceVersion\":\"7\"},\"spec\":",
				    before);

	memset(text + n, '[', 300);
	memset(text + n + 300, ']', 300);
	snprintf(text + n + 600, sizeof(text) - n - 600, "}%s", after);
	return text;
}

static const char end_of_list[] = "link 1 up";

static void test_deep_in_stream(void)
{
	uint64_t t;
	const char *story;

	open_list(1, false);
	t = fake_stream(&f, 1, W);
	fake_chunk(&f, t, deep_object("{\"type\":\"ADDED\",\"object\":", "}\n"));
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "b", 8);
	fake_mark(&f, t, KUEUE, "Workload", 500);
	story = fake_story(&f);
	ok(strstr(story, "observed 1 Workload n/deep uid=u-deep rv=7") != NULL,
	   "stream: what is too deep is known");
	ok(strstr(story, "list_end") != NULL && strstr(story, end_of_list) != NULL,
	   "stream: the list ends");
	f.judge = see_cut;
	deep_was_cut = false;
	fake_chunk(&f, t, deep_object("{\"type\":\"MODIFIED\",\"object\":", "}\n"));
	ok(deep_was_cut, "stream: it is marked as not whole");
	fake_done(&f);
}

static void test_deep_in_page(void)
{
	const char *story;

	open_list(2, true);
	fake_answer(
		&f, 1, W, 200,
		deep_object("{\"kind\":\"WorkloadList\",\"metadata\":{\"resourceVersion\":\"500\"},"
			    "\"items\":[",
			    "]}"));
	story = fake_story(&f);
	ok(strstr(story, "observed 1 Workload n/deep uid=u-deep rv=7 via=list") != NULL,
	   "page: what is too deep is known");
	ok(strstr(story, "list_end") != NULL, "page: the list ends");
	fake_done(&f);
}

static const char *const odd_names[][2] = {
	{"n", "a/b"}, {"a/b", "x"},  {"n", "/"},  {"n", ".."},
	{"n", "."},   {"n", "a%2f"}, {"..", "x"}, {"n", "../secrets"},
};

enum { N_ODD = sizeof(odd_names) / sizeof(odd_names[0]) };

static void test_names_in_stream(void)
{
	uint64_t t;
	const char *story;

	open_list(3, false);
	t = fake_stream(&f, 1, W);
	for (size_t i = 0; i < N_ODD; i++) {
		fake_line(&f, t, "ADDED", KUEUE, "Workload", odd_names[i][0], odd_names[i][1], 7);
	}
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "b", 8);
	fake_mark(&f, t, KUEUE, "Workload", 500);
	story = fake_story(&f);
	ok(!strstr(story, "rv=7"), "stream: names that no object can have are not told");
	ok(strstr(story, "observed 1 Workload n/b") != NULL, "stream: what follows is");
	ok(strstr(story, "list_end") != NULL && strstr(story, end_of_list) != NULL,
	   "stream: and the list ends without them");
	for (size_t i = 0; i < N_ODD; i++) {
		fake_line(&f, t, "DELETED", KUEUE, "Workload", odd_names[i][0], odd_names[i][1],
			  501);
	}
	is_str(fake_story(&f), "", "nor are their ends");
	is_int((long long)fake_token(&f, 1, W), (long long)t, "and the stream goes on");
	fake_done(&f);
}

static void test_names_in_page(void)
{
	char page[4096];
	size_t n = (size_t)snprintf(page, sizeof(page),
				    "{\"kind\":\"WorkloadList\",\"metadata\":{\"resourceVersion\":"
				    "\"500\"},\"items\":[");
	const char *story;

	open_list(4, true);
	for (size_t i = 0; i < N_ODD; i++) {
		n += (size_t)snprintf(page + n, sizeof(page) - n,
				      "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":"
				      "\"u\",\"resourceVersion\":\"7\"}},",
				      odd_names[i][1], odd_names[i][0]);
	}
	snprintf(page + n, sizeof(page) - n,
		 "{\"metadata\":{\"name\":\"b\",\"namespace\":\"n\",\"uid\":\"u\","
		 "\"resourceVersion\":\"8\"}}]}");
	fake_answer(&f, 1, W, 200, page);
	story = fake_story(&f);
	ok(!strstr(story, "rv=7") && strstr(story, "observed 1 Workload n/b") != NULL,
	   "page: names that no object can have are not told");
	ok(strstr(story, "list_end") != NULL, "page: and the list ends without them");
	fake_done(&f);
}

/* The link is up, and its watch of Workloads has ended its list. */
static uint64_t open_up(uint64_t seed)
{
	uint64_t t;

	open_list(seed, false);
	t = fake_stream(&f, 1, W);
	fake_mark(&f, t, KUEUE, "Workload", 500);
	ok(strstr(fake_story(&f), end_of_list), "a link is up");
	return t;
}

static bool is_down(void)
{
	const char *story = fake_story(&f);

	return strstr(story, "link 1 down") &&
	       strstr(story, "the watch of workloads floods the manager");
}

/* Sends 'piece' again and again; after how many the link was given up, or 'most'. */
static int sent_until_down(uint64_t t, const char *piece, int most)
{
	for (int n = 1; n <= most; n++) {
		fake_chunk(&f, t, piece);
		if (is_down()) {
			return n;
		}
	}
	return most;
}

static void test_barren(void)
{
	enum { NEWLINES = 1000, MOST = 10000 };
	char piece[NEWLINES + 1];
	uint64_t t = open_up(5);
	int n;

	memset(piece, '\n', NEWLINES);
	piece[NEWLINES] = '\0';
	n = sent_until_down(t, piece, MOST);
	printf("# %d empty lines\n", n * NEWLINES);
	ok(n < 20, "a watch that sends only empty lines takes the link down");
	ok(!fake_find(&f, 1, W) && !fake_find(&f, 1, "GET /version"), "which rests");
	fake_wait(&f, 60000);
	ok(fake_find(&f, 1, "GET /version"), "and is tried again later");
	fake_done(&f);

	t = open_up(6);
	n = sent_until_down(t, "          \t        \r\n", MOST * 10);
	ok(n < MOST, "so do lines of white space");
	fake_done(&f);

	t = open_up(7);
	for (n = 0; n < MOST && !is_down(); n++) {
		fake_mark(&f, t, KUEUE, "Workload", 501 + (uint64_t)n);
	}
	printf("# %d bookmarks\n", n);
	ok(n < 3000, "so do bookmarks");
	fake_done(&f);

	t = open_up(8);
	for (n = 0; n < MOST && !is_down(); n++) {
		fake_line(&f, t, "MODIFIED", "v1", "Secret", "n", "b", 501 + (uint64_t)n);
	}
	ok(n < 3000, "so do objects of another kind");
	fake_done(&f);
}

/* A line that does not end is not an object's. */
static void test_endless_line(void)
{
	enum { PIECE = 64 * 1024, MOST = 1000 };
	static char piece[PIECE + 1];
	uint64_t t = open_up(11);
	int n;

	memset(piece, 'a', PIECE);
	n = sent_until_down(t, piece, MOST);
	printf("# %d KiB\n", n * (PIECE / 1024));
	ok(n < MOST, "a line without end takes the link down");
	ok(!fake_find(&f, 1, W), "which rests");
	fake_wait(&f, 60000);
	fake_answer(&f, 1, "GET /version", 200, "{}");
	ok(fake_find(&f, 1, "kube-system"), "and is tried again later");
	fake_done(&f);
}

/* What the transport says of connections counts as lines of watches do. */
static void test_barren_frames(void)
{
	enum { KIB = 1024 };
	const struct transport_sink *s;

	open_up(10);
	s = f.sink;
	s->on_barren(s->ctx, 1, 200 * KIB, STR("PING frames"));
	f.mono += 60000;
	kube_set_now(f.k, f.mono, f.wall);
	s->on_barren(s->ctx, 1, 200 * KIB, STR("PING frames"));
	ok(!strstr(fake_story(&f), "link 1 down"), "so much in a minute is forgiven");
	s->on_barren(s->ctx, CLUSTER_MANAGER, TRANSPORT_FLOOD, STR("PING frames"));
	ok(!strstr(fake_story(&f), "down"), "and whatever the manager sends");
	s->on_barren(s->ctx, 1, 100 * KIB, STR("SETTINGS frames"));
	ok(strstr(fake_story(&f), "the server floods the manager with SETTINGS frames; the "
				  "connection rests"),
	   "more at once takes the link down, which says why");
	s->on_barren(s->ctx, 1, TRANSPORT_FLOOD, STR("PING frames"));
	ok(!strstr(fake_story(&f), "down"), "once");
	s->on_barren(s->ctx, 77, TRANSPORT_FLOOD, STR("PING frames"));
	fake_done(&f);
}

static int seen;

static void see_all(const struct event *ev)
{
	seen += ev->type == EV_OBSERVED;
}

/* What an honest server sends takes nothing down, however much it is. */
static void test_honest(void)
{
	enum { LINES = 20000 };
	uint64_t t = open_up(9);

	f.judge = see_all;
	for (int n = 0; n < LINES; n++) {
		fake_line(&f, t, "MODIFIED", KUEUE, "Workload", "n", "b", 501 + (uint64_t)n);
	}
	is_int(seen, LINES, "so many changes of objects in no time are all taken in");
	f.judge = NULL;
	for (int n = 0; n < 3000; n++) {
		fake_mark(&f, t, KUEUE, "Workload", 501 + LINES + (uint64_t)n);
		f.mono += 1000;
		kube_set_now(f.k, f.mono, f.wall);
	}
	ok(!is_down() && fake_token(&f, 1, W) == t, "a bookmark a second, too");
	fake_done(&f);
}

/* --- pages without end ------------------------------------------------------------------------ */

/* A page of 'n' objects from number 'from' on, and one more to come. */
static const char *page_of(int from, int n)
{
	static char text[128 * 1024];
	size_t at = (size_t)snprintf(text, sizeof(text),
				     "{\"kind\":\"WorkloadList\",\"metadata\":{"
				     "\"resourceVersion\":\"500\",\"continue\":\"c\"},\"items\":[");

	for (int i = 0; i < n; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%s{\"metadata\":{\"name\":\"w-%d\",\"namespace\":\"n\","
				       "\"uid\":\"u\",\"resourceVersion\":\"5\"}}",
				       i > 0 ? "," : "", from + i);
	}
	snprintf(text + at, sizeof(text) - at, "]}");
	return text;
}

/* Pages of 'n' objects, the same ones after 'round' pages, at most 'most'. How many were taken. */
static int pages_taken(int n, int round, int most)
{
	int taken = 0;

	while (taken < most && fake_find(&f, 1, W) != NULL) {
		fake_answer(&f, 1, W, 200, page_of(taken % round * n, n));
		taken++;
		(void)fake_story(&f);
	}
	return taken;
}

static void test_endless_pages(void)
{
	open_list(7, true);
	ok(pages_taken(500, 1, 100) <= 5, "a page that comes again ends the list");
	fake_done(&f);
	for (uint64_t seed = 8; seed < 12; seed++) {
		open_list(seed, true);
		ok(pages_taken(100, 30, 1000) <= 142, "so do pages in a circle");
		fake_done(&f);
	}
	open_list(12, true);
	is_int(pages_taken(0, 1, 5000), 1001, "pages without objects end it, too");
	fake_done(&f);
	open_list(13, true);
	is_int(pages_taken(100, 1000, 1000), 1000, "pages of other objects do not");
	fake_done(&f);
	open_list(14, true);
	is_int(pages_taken(40, 3000, 3000), 3000, "nor when they are not full");
	fake_done(&f);
}

int main(void)
{
	test_endless_pages();
	test_deep_in_stream();
	test_deep_in_page();
	test_names_in_stream();
	test_names_in_page();
	test_barren();
	test_endless_line();
	test_barren_frames();
	test_honest();
	return done_testing();
}
