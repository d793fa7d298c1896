/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hooks can do through the vtable, and what happens to those that break its rules: one small
 * hook per rule.
 */
#include <time.h>

#include "core/base/clock.h"
#include "core/plug/plug.h"
#include "t/lib/parse_json.h"
#include "t/lib/plug_hook.h"
#include "t/lib/tap.h"

static mk_val kept; /* a handle that outlives its call, as no plugin may keep one */
static int64_t fake_us;

struct ctx {
	struct plug *p;
	struct arena a;
	struct plug_result r;
	struct mk_err err;
};

/*
 * Calls 'hook' as a status hook on draft {"n":1,"list":[1,2,3],"o":{"k":"v"}} and local
 * {"metadata":…,"spec":…}.
 */
static enum mk_code call(struct ctx *x, hook_fn *hook)
{
	static const char local[] = "{\"metadata\":{\"name\":\"j\",\"uid\":\"u\"},\"spec\":{"
				    "\"big\":18446744073709551615,\"r\":1.50,"
				    "\"i\":-9223372036854775808,\"t\":true,\"null\":null,\"s\":"
				    "\"x\",\"a/b\":{\"~\":5}}}";
	struct plug_view v = {.now_wall_ms = 0};
	struct json *draft;

	arena_clear(&x->a);
	v.local = parse_json(&x->a, local);
	v.remote = parse_json(&x->a, "{}");
	v.workload = parse_json(&x->a, "{\"metadata\":{\"name\":\"w\"}}");
	draft = parse_json(&x->a, "{\"n\":1,\"list\":[1,2,3],\"o\":{\"k\":\"v\"},\"null\":null}");
	hook_does = hook;
	x->r = (struct plug_result){.verdict = 99};
	x->err.msg[0] = '\0';
	return plug_status(x->p, 0, &v, draft, &x->a, &x->r, &x->err);
}

static void draft_is(struct ctx *x, hook_fn *hook, const char *want, const char *name)
{
	enum mk_code code = call(x, hook);

	is_str(code == ERR_OK ? json_write(&x->a, x->r.draft).p : x->err.msg, want, name);
}

static void fault_is(struct ctx *x, hook_fn *hook, const char *why, const char *name)
{
	char want[512];
	enum mk_code code = call(x, hook);

	(void)snprintf(want, sizeof(want), "plugin test.hook 3, status of ex.io/v1, Kind=Thing: %s",
		       why);
	is_int(code, ERR_PLUGIN_FAULT, name);
	is_str(x->err.msg, want, name);
	is_int(x->r.verdict, 99, "the output is untouched");
}

static int reads(mk_call *c, const mk_view *v, mk_val draft)
{
	const mk_host *h = c->host;
	mk_val spec = h->get(c, v->local, "/spec"), absent = {0};
	int64_t i = 42;
	mk_str s;

	(void)draft;
	is_int(h->type(c, absent), MK_ABSENT, "absent");
	is_int(h->type(c, h->get(c, spec, "/null")), MK_NULL, "null is not absent");
	is_int(h->type(c, h->get(c, spec, "/t")), MK_BOOL, "bool");
	is_int(h->type(c, h->get(c, spec, "/r")), MK_REAL, "real");
	is_int(h->type(c, h->get(c, draft, "/list")), MK_ARR, "array");
	is_int(h->type(c, spec), MK_OBJ, "object");
	is_int(h->get(c, spec, "").h == spec.h, 1, "\"\" is itself");
	is_int(h->get(c, absent, "/x").h, 0, "absent in, absent out");
	is_int(h->i64(c, h->get(c, spec, "/i"), &i), 1, "the least integer");
	ok(i == INT64_MIN, "keeps its 64 bits");
	i = 42;
	is_int(h->i64(c, h->get(c, spec, "/big"), &i) + h->i64(c, h->get(c, spec, "/r"), &i), 0,
	       "no such integer");
	is_int(i, 42, "leaves the output alone");
	is_int(mk_i64_at(c, spec, "/a~1b/~0", 0), 5, "escaped pointers");
	is_int(h->boolean(c, h->get(c, spec, "/t")), 1, "true");
	is_int(h->boolean(c, h->get(c, spec, "/s")), 0, "a string is not true");
	is_int(h->str(c, h->get(c, spec, "/t"), &s), 0, "true is no string");
	ok(s.n == 0 && s.p, "and the output is empty");
	is_int(mk_is(c, h->get(c, spec, "/s"), "x"), 1, "a string");
	is_int((int64_t)h->len(c, h->get(c, draft, "/list")), 3, "length of an array");
	is_int((int64_t)h->len(c, h->get(c, spec, "/s")), 0, "a string has no elements");
	is_int(mk_i64_at(c, h->at(c, h->get(c, draft, "/list"), 2), "", 0), 3, "an element");
	is_int(mk_i64_at(c, h->at(c, h->get(c, draft, "/list"), 0), "", 0), 1, "an earlier one");
	is_int(h->at(c, h->get(c, draft, "/list"), 3).h, 0, "past the end");
	is_int(h->at(c, spec, 0).h, 0, "an object has no elements");
	ok(mk_same(v->now, mk_lit("1970-01-01T00:00:00Z")), "now");
	ok(mk_same(h->workload_name(c, mk_lit("j"), mk_lit("u"), mk_lit("")),
		   mk_lit("thing-j-23752")),
	   "a workload name");
	h->say(c, mk_lit("first"));
	h->say(c, mk_lit("last"));
	return MK_KEEP;
}

static int edits(mk_call *c, const mk_view *v, mk_val draft)
{
	const mk_host *h = c->host;
	mk_val absent = {0}, o = h->get(c, draft, "/o"),
	       made = h->parse(c, mk_lit("{\"deep\":[1]}"));

	h->set(c, draft, "/n", h->get(c, v->local, "/spec/r"));
	h->set(c, draft, "/list/0", absent);
	h->set(c, draft, "/list/-", h->text(c, mk_lit("end")));
	h->set(c, draft, "/new/parents/are", made);
	h->set(c, made, "/deep/0", h->text(c, mk_lit("later")));
	h->set(c, draft, "/null/x", made);
	h->set(c, draft, "/not/there", absent);
	h->set(c, o, "/k", absent);
	h->set(c, o, "/self", draft);
	h->set(c, draft, "/o/self/list", absent);
	return MK_SET;
}

static int replaces(mk_call *c, const mk_view *v, mk_val draft)
{
	c->host->set(c, draft, "", c->host->parse(c, mk_lit("{\"conditions\":null}")));
	mk_put(c, draft, "/conditions", "/type",
	       c->host->parse(c, mk_lit("{\"type\":\"A\",\"x\":1}")));
	mk_put(c, draft, "/conditions", "/type", c->host->parse(c, mk_lit("{\"type\":\"B\"}")));
	mk_put(c, draft, "/conditions", "/type",
	       c->host->parse(c, mk_lit("{\"type\":\"A\",\"x\":2}")));
	mk_put(c, draft, "/conditions", "/type", c->host->parse(c, mk_lit("{\"type\":\"C\"}")));
	mk_drop(c, draft, "/conditions", "/type", mk_lit("B"));
	(void)v;
	return MK_SET;
}

static int discards(mk_call *c, const mk_view *v, mk_val draft)
{
	c->host->set(c, draft, "/n", c->host->text(c, v->now));
	return MK_KEEP | MK_DEFER;
}

static int writes_input(mk_call *c, const mk_view *v, mk_val draft)
{
	c->host->set(c, c->host->get(c, v->local, "/spec"), "/x", draft);
	is_int(c->host->type(c, v->local), MK_ABSENT, "after an error all is absent");
	is_int((int64_t)c->host->len(c, draft), 0, "and empty");
	return MK_SET;
}

static int writes_absent(mk_call *c, const mk_view *v, mk_val draft)
{
	c->host->set(c, c->host->get(c, v->local, "/nothing"), "/x", draft);
	return MK_SET;
}

static int bad_pointer(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)c->host->get(c, v->local, "spec");
	(void)draft;
	return MK_KEEP;
}

static int bad_escape(mk_call *c, const mk_view *v, mk_val draft)
{
	c->host->set(c, draft, "/a~2", v->local);
	return MK_KEEP;
}

static int null_pointer(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)c->host->get(c, v->local, NULL);
	(void)draft;
	return MK_KEEP;
}

static int through_scalar(mk_call *c, const mk_view *v, mk_val draft)
{
	c->host->set(c, draft, "/n/x", v->local);
	return MK_SET;
}

static int bad_json(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	(void)draft;
	(void)c->host->parse(c, mk_lit("{"));
	return MK_KEEP;
}

static int bad_utf8(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	(void)draft;
	(void)c->host->text(c, mk_lit("\xc0\xaf"));
	return MK_KEEP;
}

static int keeps(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)c;
	(void)v;
	kept = draft;
	return MK_KEEP;
}

static int uses_kept(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	(void)draft;
	(void)c->host->type(c, kept);
	return MK_KEEP;
}

static int forges(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val forged = {draft.h + 1000};

	(void)v;
	(void)c->host->type(c, forged);
	return MK_KEEP;
}

static int says_much(mk_call *c, const mk_view *v, mk_val draft)
{
	char text[1026];

	(void)v;
	(void)draft;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	c->host->say(c, mk_lit(text));
	return MK_KEEP;
}

static int too_deep(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	for (int i = 0; i < 200; i++) {
		mk_val wrap = c->host->parse(c, mk_lit("{}"));

		c->host->set(c, wrap, "/w", c->host->get(c, draft, "/deep"));
		c->host->set(c, draft, "/deep", wrap);
	}
	return MK_SET;
}

static int doubles(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	for (int i = 0; i < 60; i++) {
		mk_val twice = c->host->parse(c, mk_lit("[]"));

		c->host->set(c, twice, "/-", c->host->get(c, draft, "/list"));
		c->host->set(c, twice, "/-", c->host->get(c, draft, "/list"));
		c->host->set(c, draft, "/list", twice);
	}
	return MK_SET;
}

static int parses_much(mk_call *c, const mk_view *v, mk_val draft)
{
	static char text[4 * 1024 * 1024];

	(void)v;
	(void)draft;
	memset(text, ' ', sizeof(text));
	(void)c->host->parse(c, (mk_str){text, sizeof(text)});
	return MK_KEEP;
}

static int grows(mk_call *c, const mk_view *v, mk_val draft)
{
	static char text[1600 * 1024];

	(void)v;
	memset(text, 'x', sizeof(text));
	c->host->set(c, draft, "/n", c->host->text(c, (mk_str){text, sizeof(text)}));
	return MK_SET;
}

static int loops(mk_call *c, const mk_view *v, mk_val draft)
{
	for (int i = 0; i < 1000; i++) {
		(void)c->host->get(c, v->local, "/spec");
	}
	(void)draft;
	return MK_KEEP;
}

static int no_object(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	c->host->set(c, draft, "", c->host->parse(c, mk_lit("[]")));
	return MK_SET;
}

static int odd_verdict(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)c;
	(void)v;
	(void)draft;
	return MK_SET | MK_EXHAUSTED;
}

static int64_t slow_clock(void)
{
	fake_us += 1000;
	return fake_us;
}

static unsigned cpu_reads;

static int64_t slow_cpu(void)
{
	cpu_reads++;
	return fake_us;
}

static int64_t quick_clock(void)
{
	return ++fake_us;
}

/* Waits, as no hook may, for longer than it may compute. */
static int waits(mk_call *c, const mk_view *v, mk_val draft)
{
	const struct timespec t = {.tv_nsec = 30000000};

	(void)c;
	(void)v;
	(void)draft;
	nanosleep(&t, NULL);
	return MK_SET;
}

static int computes(mk_call *c, const mk_view *v, mk_val draft)
{
	int64_t until = clock_cpu_us() + 30000;

	(void)c;
	(void)v;
	(void)draft;
	while (clock_cpu_us() < until) {
	}
	return MK_SET;
}

static struct plug_incident told;
static unsigned n_told;

static void tell(void *data, const struct plug_incident *in)
{
	*(unsigned *)data += 1;
	told = *in;
}

static void faults(struct ctx *x)
{
	static const char wanted[] = "expected the draft or a value of text or parse";
	char text[160];

	(void)snprintf(text, sizeof(text), "set /x: %s, found an input", wanted);
	fault_is(x, writes_input, text, "a write to an input");
	(void)snprintf(text, sizeof(text), "set /x: %s, found an absent value", wanted);
	fault_is(x, writes_absent, text, "a write to nothing");
	fault_is(x, bad_pointer, "get: expected a JSON pointer, found spec", "a malformed pointer");
	fault_is(x, bad_escape, "set: expected a JSON pointer, found /a~2", "a malformed escape");
	fault_is(x, null_pointer, "get: expected a JSON pointer, found NULL", "no pointer");
	fault_is(x, through_scalar,
		 "set: expected a pointer through objects and arrays, found /n/x",
		 "through a scalar");
	fault_is(x, bad_utf8, "text: expected UTF-8, found other bytes", "text that is no UTF-8");
	is_int(call(x, keeps), ERR_OK, "a handle is kept");
	fault_is(x, uses_kept, "value: expected one of this call, found another", "a stale handle");
	fault_is(x, forges, "value: expected one of this call, found another", "a forged handle");
	fault_is(x, says_much, "say: expected at most 1024 bytes, found 1025", "say too long");
	fault_is(x, too_deep, "set: depth: expected at most 128, found more", "depth");
	fault_is(x, doubles, "memory: expected at most 16777216 bytes, found more",
		 "memory by doubling");
	fault_is(x, parses_much, "memory: expected at most 16777216 bytes, found more",
		 "memory by parsing");
	fault_is(x, no_object, "draft: expected an object, found another type",
		 "a status that is no object");
	fault_is(
		x, odd_verdict,
		"verdict: expected MK_KEEP, MK_SET, with or without MK_DEFER, or an error, found 5",
		"an unknown verdict");
	is_int(call(x, bad_json), ERR_PLUGIN_FAULT, "text that is no JSON");
	is_int(call(x, grows), ERR_PLUGIN_FAULT, "a draft over 1.5 MiB");
}

static void budgets(struct ctx *x)
{
	struct plug_limits l = plug_default_limits;
	struct plug_stats before, after;

	plug_get_stats(x->p, &before);
	l.soft_calls = 10;
	plug_set_limits(x->p, &l);
	is_int(call(x, loops), ERR_OK, "over a soft budget the call counts");
	plug_get_stats(x->p, &after);
	is_int((int64_t)(after.soft_calls - before.soft_calls), 1, "and is noted");
	l.hard_calls = 500;
	plug_set_limits(x->p, &l);
	fault_is(x, loops, "host calls: expected at most 500, found more", "host calls");
	plug_set_limits(x->p, &plug_default_limits);
	is_int(call(x, loops), ERR_OK, "without a clock there is no time budget");
	plug_set_clocks(x->p, slow_clock, slow_cpu);
	l = plug_default_limits;
	l.hard_us = 10000;
	plug_set_limits(x->p, &l);
	fault_is(x, loops, "CPU time: expected at most 10000 us, found 11000",
		 "time inside a loop");
	l.hard_us = 1000000;
	plug_set_limits(x->p, &l);
	is_int(call(x, loops), ERR_OK, "slow, but under the hard budget");
	plug_get_stats(x->p, &after);
	ok(after.soft_time > 0, "soft time is noted");
	plug_set_clocks(x->p, NULL, NULL);
	plug_set_limits(x->p, &plug_default_limits);
}

/* The clock of CPU time is a system call, and hooks are called many times for each Workload. */
static void clock_is_spared(struct ctx *x)
{
	cpu_reads = 0;
	plug_set_clocks(x->p, quick_clock, slow_cpu);
	for (int i = 0; i < 100; i++) {
		(void)call(x, reads);
	}
	is_int(cpu_reads, 1, "100 quick hooks: the clock of CPU time is read once");
	fake_us += plug_default_limits.soft_us;
	(void)call(x, reads);
	is_int(cpu_reads, 2, "after a while it is read again");
	plug_set_clocks(x->p, NULL, NULL);
}

static void starved(struct ctx *x)
{
	struct plug_limits l = plug_default_limits;

	l.soft_us = l.hard_us = 20000;
	plug_set_limits(x->p, &l);
	plug_set_clocks(x->p, clock_mono_us, clock_cpu_us);
	is_int(call(x, waits), ERR_OK, "time without a processor is not the plugin's fault");
	is_int(call(x, computes), ERR_PLUGIN_FAULT, "time spent computing is");
	ok(strstr(x->err.msg, ": CPU time: expected at most 20000 us, found ") != NULL,
	   "and named");
	plug_set_clocks(x->p, NULL, NULL);
	plug_set_limits(x->p, &plug_default_limits);
}

static void incidents(struct ctx *x)
{
	struct plug_limits l = plug_default_limits;
	struct plug_stats st = {0};

	plug_on_incident(x->p, tell, &n_told);
	is_int(call(x, loops), ERR_OK, "a call in which nothing is wrong");
	is_int(n_told, 0, "is no incident");
	l.soft_calls = 10;
	plug_set_limits(x->p, &l);
	is_int(call(x, loops), ERR_OK, "one over a soft budget");
	ok(n_told == 1 && !told.is_fault, "is told");
	is_str(told.why, "host calls over the soft budget", "which budget");
	is_int(call(x, odd_verdict), ERR_PLUGIN_FAULT, "a fault");
	ok(n_told == 2 && told.is_fault, "is told");
	is_str(told.source->id, "test.hook", "whose");
	is_str(told.hook, "status", "which hook");
	is_str(told.item.p, "ex.io/v1, Kind=Thing", "of what");
	ok(str_is(told.workload, "w"), "for which Workload");
	plug_on_incident(x->p, NULL, NULL);
	plug_set_limits(x->p, &plug_default_limits);
	is_int(call(x, odd_verdict), ERR_PLUGIN_FAULT, "a fault whose words are not wanted");
	is_str(plug_source_stats(x->p, 0, &st), "test.hook", "counts per plugin");
	ok(st.calls > st.faults && st.faults > 2 && st.soft_calls > 0, "all kinds");
	ok(!plug_source_stats(x->p, 1, &st), "and no further plugin");
}

static void decimals(void)
{
	char buf[24];

	is_str(mk_decimal(buf, 0), "0", "zero");
	is_str(mk_decimal(buf, INT64_MAX), "9223372036854775807", "the greatest");
	is_str(mk_decimal(buf, INT64_MIN), "-9223372036854775808", "the least");
	is_str(mk_index(buf, 10), "/10", "an index");
}

int main(void)
{
	struct ctx x = {.p = plug_new(NULL)};

	arena_init(&x.a, 0);
	decimals();
	is_int(plug_add(x.p, &hook_entry, "", NULL), ERR_OK, "added");
	is_int(call(&x, reads), ERR_OK, "a hook that reads");
	is_str(x.r.said.p, "last", "the last reason is kept");
	is_int(x.r.verdict, MK_KEEP, "its verdict");
	draft_is(&x, edits,
		 "{\"n\":1.50,\"list\":[2,3,\"end\"],\"o\":{\"self\":{\"n\":1.50,\"o\":{},"
		 "\"null\":{\"x\":{\"deep\":[\"later\"]}},\"new\":{\"parents\":{\"are\":{\"deep\":["
		 "1]}}}}},"
		 "\"null\":{\"x\":{\"deep\":[\"later\"]}},\"new\":{\"parents\":{\"are\":{\"deep\":["
		 "1]}}}}",
		 "set copies, deletes, appends, makes parents and keeps reals as written");
	draft_is(&x, replaces, "{\"conditions\":[{\"type\":\"A\",\"x\":2},{\"type\":\"C\"}]}",
		 "put and drop by key");
	draft_is(&x, discards, "{\"n\":1,\"list\":[1,2,3],\"o\":{\"k\":\"v\"},\"null\":null}",
		 "KEEP leaves the caller's");
	is_int(x.r.verdict, MK_KEEP | MK_DEFER, "with its bit");
	faults(&x);
	budgets(&x);
	clock_is_spared(&x);
	starved(&x);
	incidents(&x);
	arena_done(&x.a);
	plug_free(x.p);
	return done_testing();
}
