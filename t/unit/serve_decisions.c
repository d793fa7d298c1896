/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of the last decisions: what it keeps, what it loses, what an answer has. */
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/serve/decisions.h"

enum { START_MS = 1000 * 1000 };

static struct arena a;

static void decide(struct decisions *d, const char *ns, const char *name, const char *to)
{
	decisions_add(d, START_MS + 1500,
		      &(struct decision){.ns = str_of(ns),
					 .name = str_of(name),
					 .to = str_of(to),
					 .rule = "win",
					 .what = "it runs there",
					 .message = STR("admitted")});
}

static struct json *ask(const struct decisions *d, uint64_t after, const char *ns, size_t limit)
{
	return decisions_answer(
		d, &(struct decisions_filter){.after = after, .ns = str_of(ns), .limit = limit},
		&a);
}

static int64_t number(const struct json *answer, const char *at)
{
	return json_int(json_at(answer, at), -1);
}

static size_t items(const struct json *answer)
{
	return json_len(json_get(answer, "items"));
}

static void fields(void)
{
	struct decisions *d = decisions_new(START_MS);

	is_str(json_write(&a, ask(d, DECISIONS_ALL, "", 100)).p,
	       "{\"items\":[],\"next\":0,\"since\":\"1970-01-01T00:16:40.000000Z\"}",
	       "nothing yet");
	decisions_add(d, START_MS + 1500,
		      &(struct decision){.ns = STR("team"),
					 .name = STR("train"),
					 .from = STR("east"),
					 .state = STR("Retry"),
					 .rule = "winner_lost",
					 .what = "queued again",
					 .message = STR("lost")});
	is_str(json_write(&a, json_at(ask(d, 0, "", 100), "/items/0")).p,
	       "{\"number\":1,\"time\":\"1970-01-01T00:16:41.500000Z\",\"workload\":{"
	       "\"namespace\":\"team\",\"name\":\"train\"},\"cluster\":\"east\",\"rule\":"
	       "\"winner_lost\",\"what\":\"queued again\",\"message\":\"lost\",\"before\":{"
	       "\"cluster\":\"east\"},\"after\":{\"state\":\"Retry\"}}",
	       "a decision: who, where, by which rule, why, before and after");
	decisions_add(d, START_MS,
		      &(struct decision){.kind = STR("batch/v1, Kind=Job"),
					 .ns = STR("team"),
					 .name = STR("train"),
					 .refused = STR("west"),
					 .rule = "job_create",
					 .what = "refused",
					 .message = STR("no")});
	is_str(json_write(&a, json_at(ask(d, 1, "", 100), "/items/0/object")).p,
	       "{\"kind\":\"batch/v1, Kind=Job\",\"namespace\":\"team\",\"name\":\"train\"}",
	       "a refused write names the object");
	decisions_free(d);
}

static void wraps(void)
{
	struct decisions *d = decisions_new(START_MS);
	struct json *answer;

	for (int i = 0; i < DECISIONS_KEPT; i++) {
		decide(d, i % 2 ? "odd" : "even", "x", "w1");
	}
	answer = ask(d, 0, "", 2000);
	is_int(items(answer), DECISIONS_KEPT, "all are there");
	ok(!json_get(answer, "missed"), "none was lost");
	decide(d, "new", "y", "w2");
	decide(d, "new", "z", "w2");
	answer = ask(d, 0, "", 2000);
	is_int(items(answer), DECISIONS_KEPT, "two more: no more are kept");
	is_int(number(answer, "/items/0/number"), 3, "the oldest are gone");
	is_int(number(answer, "/missed"), 2, "which is told");
	is_int(number(answer, "/next"), DECISIONS_KEPT + 2, "the next are those behind the last");
	ok(!json_get(ask(d, 2, "", 10), "missed"), "not to those who had seen them");
	ok(!json_get(ask(d, DECISIONS_ALL, "", 10), "missed"), "nor to who asks for all");
	answer = ask(d, DECISIONS_KEPT + 2, "", 10);
	ok(items(answer) == 0 && number(answer, "/next") == DECISIONS_KEPT + 2, "nothing new");
	answer = ask(d, DECISIONS_KEPT + 3, "", 10);
	is_int(number(answer, "/items/0/number"), 3,
	       "a number that was never given: all that are kept");
	answer = ask(d, 10, "", 4);
	ok(items(answer) == 4 && number(answer, "/items/0/number") == 11 &&
		   number(answer, "/next") == 14,
	   "a page, the oldest first");
	answer = ask(d, 10, "even", 4);
	ok(items(answer) == 4 && number(answer, "/items/0/number") == 11 &&
		   number(answer, "/next") == 17,
	   "a page of a namespace");
	answer = ask(d, 10, "none", 4);
	ok(items(answer) == 0 && number(answer, "/next") == DECISIONS_KEPT + 2,
	   "of one without decisions: nothing, and where to go on");
	decisions_free(d);
}

static void bounds(void)
{
	struct decisions *d = decisions_new(START_MS);
	static char text[4 * DECISIONS_MESSAGE_MAX];
	const mk_str any = {text, sizeof(text)};
	struct json *answer;

	memset(text, 'x', sizeof(text));
	memcpy(text + DECISIONS_MESSAGE_MAX - 1, "\xC3\xA4", 2);
	decisions_add(d, START_MS,
		      &(struct decision){.kind = any,
					 .ns = any,
					 .name = any,
					 .from = any,
					 .to = any,
					 .refused = any,
					 .state = any,
					 .message = any});
	answer = ask(d, 0, "", 1);
	is_int(json_str_at(answer, "/items/0/message").n, DECISIONS_MESSAGE_MAX - 1,
	       "a long text is cut between characters");
	ok(json_str_at(answer, "/items/0/object/name").n == 253 &&
		   json_str_at(answer, "/items/0/object/namespace").n == 63,
	   "so are names, at their longest");
	for (int i = 0; i < 100; i++) {
		decisions_add(d, START_MS + 5 * 1000 + i,
			      &(struct decision){.refused = STR("w1"), .what = "refused"});
		decide(d, "a", "b", "w2");
	}
	is_int(number(ask(d, DECISIONS_ALL, "", 1000), "/next"), 1 + 100 + DECISIONS_REFUSED_MAX,
	       "a worker that refuses everything does not push the decisions out");
	decisions_free(d);
}

/* The newest of those that fit. */
static void newest(void)
{
	struct decisions *d = decisions_new(START_MS);
	struct decisions_filter f = {.after = DECISIONS_ALL, .limit = 100, .last = 2};
	const struct json *answer;

	is_int(items(decisions_answer(d, &f, &a)), 0, "the newest of none");
	for (int i = 0; i < 10; i++) {
		decide(d, i % 2 == 0 ? "even" : "odd", i < 8 ? "job" : "other", "w1");
	}
	answer = decisions_answer(d, &f, &a);
	is_int(items(answer), 2, "the newest two");
	ok(number(answer, "/items/0/number") == 9 && number(answer, "/next") == 10,
	   "... are those");
	f.ns = STR("even");
	f.name = STR("job");
	answer = decisions_answer(d, &f, &a);
	ok(items(answer) == 2 && number(answer, "/items/0/number") == 5 &&
		   number(answer, "/items/1/number") == 7,
	   "... of one Workload");
	is_int(number(answer, "/next"), 10, "... and all are behind it");
	f.after = 5;
	answer = decisions_answer(d, &f, &a);
	ok(items(answer) == 1 && number(answer, "/items/0/number") == 7, "... that are newer");
	f = (struct decisions_filter){.after = DECISIONS_ALL, .limit = 100, .last = 100};
	is_int(items(decisions_answer(d, &f, &a)), 10, "more than there are: all");
	decisions_free(d);
}

static void memory(void)
{
	struct decisions *d = decisions_new(START_MS);
	struct json *answer = NULL;
	uint64_t n = 1;

	alloc_fail_after(1);
	ok(!decisions_new(START_MS), "no memory for the ring: none");
	for (int i = 0; i < 3; i++) {
		decide(d, "a", "b", "w1");
	}
	alloc_fail_after(0);
	is_int(items(ask(d, 0, "", 100)), 3, "a decision takes no memory");
	for (; !answer && n < 1000; n++) {
		struct arena b;

		arena_init(&b, 0);
		alloc_fail_after(n);
		answer = decisions_answer(d, &(struct decisions_filter){.limit = 100}, &b);
		alloc_fail_after(0);
		ok(answer ? items(answer) == 3 : arena_failed(&b), "an answer is whole, or none");
		arena_done(&b);
	}
	decisions_free(d);
}

int main(void)
{
	arena_init(&a, 0);
	fields();
	wraps();
	bounds();
	newest();
	memory();
	arena_done(&a);
	return done_testing();
}
