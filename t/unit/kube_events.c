/* SPDX-License-Identifier: Apache-2.0 */
/* Event bodies, notes at their limit, and series. */
#include "core/base/alloc.h"
#include "core/kube/events.h"
#include "t/lib/tap.h"

static struct arena arena;
static struct events *e;

enum { T0_MIN = 60000 };
static const int64_t t0 = 1800000000000;

static struct json *input(const char *name, const char *note)
{
	struct json *doc = NULL;
	mk_str text = arena_printf(
		&arena,
		"{\"regarding\":{\"apiVersion\":\"batch/"
		"v1\",\"kind\":\"Job\",\"namespace\":\"n\",\"name\":"
		"\"%s\",\"uid\":\"u\"},\"type\":\"Warning\",\"reason\":\"Why\",\"note\":\"%s\"}",
		name, note);

	json_parse(&arena, text, &doc, NULL);
	return doc;
}

static void test_body(void)
{
	struct events_request r;

	is_int(events_make(e, &arena, input("j", "text"), t0, &r, NULL), MK_OK, "an event");
	ok(r.verb == EVENTS_CREATE && str_is(r.ns, "n"), "is created in the object's namespace");
	ok(str_is(r.name, "j.18fae27693b40000"), "under a name of its own");
	is_str(r.body.p,
	       "{\"apiVersion\":\"events.k8s.io/"
	       "v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"j.18fae27693b40000\","
	       "\"namespace\":\"n\"},\"eventTime\":\"2027-01-15T08:00:00.000000Z\","
	       "\"reportingController\":\"c.io/x\","
	       "\"reportingInstance\":\"pod-1\",\"action\":\"Why\",\"reason\":\"Why\","
	       "\"regarding\":{\"apiVersion\":"
	       "\"batch/"
	       "v1\",\"kind\":\"Job\",\"namespace\":\"n\",\"name\":\"j\",\"uid\":\"u\"},\"note\":"
	       "\"text\",\"type\":"
	       "\"Warning\"}",
	       "with all that is required");
}

static void test_series(void)
{
	struct events_request r;
	mk_str first;
	bool silent = true;

	events_make(e, &arena, input("s", "a"), t0, &r, NULL);
	first = r.name;
	events_make(e, &arena, input("s", "a"), t0 + T0_MIN, &r, NULL);
	ok(r.verb == EVENTS_SERIES && str_eq(r.name, first), "the second time it is a series");
	is_str(r.body.p,
	       "{\"series\":{\"count\":2,\"lastObservedTime\":\"2027-01-15T08:01:00.000000Z\"}}",
	       "of two");
	events_make(e, &arena, input("s", "a"), t0 + 2 * T0_MIN, &r, NULL);
	is_int(r.verb, EVENTS_NOTHING, "then it is counted");
	for (int m = 3; m < 31; m++) {
		events_make(e, &arena, input("s", "a"), t0 + m * T0_MIN, &r, NULL);
		silent = silent && r.verb == EVENTS_NOTHING;
	}
	ok(silent, "in silence");
	events_make(e, &arena, input("s", "a"), t0 + 31 * T0_MIN, &r, NULL);
	ok(r.verb == EVENTS_SERIES && strstr(r.body.p, "\"count\":32,") != NULL,
	   "and written every 30 minutes");
	events_make(e, &arena, input("s", "b"), t0 + 31 * T0_MIN, &r, NULL);
	is_int(r.verb, EVENTS_CREATE, "another note is another event");
	events_make(e, &arena, input("s", "a"), t0 + 38 * T0_MIN, &r, NULL);
	ok(r.verb == EVENTS_CREATE && !str_eq(r.name, first),
	   "after six quiet minutes it is a new one");
	events_forget(e, STR("n"), r.name);
	events_forget(e, STR("n"), STR("unknown"));
	events_make(e, &arena, input("s", "a"), t0 + 38 * T0_MIN, &r, NULL);
	is_int(r.verb, EVENTS_CREATE, "and after its event is gone");
	events_make(e, &arena, input("s", "a"), t0, &r, NULL);
	is_int(r.verb, EVENTS_CREATE, "and when the clock went back");
}

static void test_limits(void)
{
	struct events_request r;
	struct json *doc = NULL;
	char note[1500];
	char name[300];
	mk_str got;

	for (size_t i = 0; i + 1 < sizeof(note); i += 2) {
		memcpy(note + i, "\303\274", 2);
	}
	note[sizeof(note) - 2] = '\0';
	events_make(e, &arena, input("l", note), t0, &r, NULL);
	json_parse(&arena, r.body, &doc, NULL);
	got = json_str(json_get(doc, "note"));
	ok(got.n == 1024 && memcmp(got.p + 1020, " ...", 4) == 0,
	   "a long note ends in dots at 1024 bytes");
	memset(name, 'a', sizeof(name));
	memcpy(name + 230, ".-.-.-", 6);
	name[250] = '\0';
	events_make(e, &arena, input(name, "x"), t0, &r, NULL);
	ok(r.name.n <= 253 && r.name.p[229] == 'a' && r.name.p[230] == '.' && r.name.p[231] == '1',
	   "a long name is cut, not in the middle of dots");
	is_int(events_make(e, &arena, NULL, t0, &r, NULL), MK_INVALID, "nothing");
	json_parse(&arena, STR("{\"regarding\":{\"name\":\"x\"},\"note\":\"y\"}"), &doc, NULL);
	is_int(events_make(e, &arena, doc, t0, &r, NULL), MK_INVALID, "no reason");
	json_parse(&arena,
		   STR("{\"regarding\":{\"name\":\"x\"},\"reason\":\"R\",\"action\":\"A\"}"), &doc,
		   NULL);
	is_int(events_make(e, &arena, doc, t0, &r, NULL), MK_OK, "the least there may be");
	ok(str_is(r.ns, "default") && strstr(r.body.p, "\"type\":\"Normal\"") != NULL &&
		   strstr(r.body.p, "\"action\":\"A\"") != NULL,
	   "cluster-scoped, normal");
	for (int i = 0; i < EVENTS_KEPT_MAX + 10; i++) {
		snprintf(name, sizeof(name), "many-%d", i);
		events_make(e, &arena, input(name, "x"), t0, &r, NULL);
	}
	events_make(e, &arena, input("many-0", "x"), t0, &r, NULL);
	is_int(r.verb, EVENTS_CREATE, "the oldest is forgotten when the table is full");
	events_make(e, &arena, input(name, "x"), t0, &r, NULL);
	is_int(r.verb, EVENTS_SERIES, "the newest is not");
}

static void test_no_memory(void)
{
	struct json *in = input("m", "x");
	bool clean = true;

	for (uint64_t n = 1; n < 30; n++) {
		struct events_request r;
		struct arena a;
		enum mk_code code = MK_OK;

		arena_init(&a, 0);
		alloc_fail_after(n);
		code = events_make(e, &a, in, t0 + (int64_t)n * 7 * T0_MIN, &r, NULL);
		alloc_fail_after(0);
		clean = clean && (code == MK_OK || code == MK_NO_MEMORY);
		arena_done(&a);
	}
	ok(clean, "every allocation may fail");
	alloc_fail_after(1);
	ok(events_new(STR("a"), STR("b")) == NULL, "the first too");
	alloc_fail_after(0);
	events_free(NULL);
}

int main(void)
{
	arena_init(&arena, 0);
	e = events_new(STR("c.io/x"), STR("pod-1"));
	test_body();
	test_series();
	test_limits();
	test_no_memory();
	events_free(e);
	arena_done(&arena);
	return done_testing();
}
