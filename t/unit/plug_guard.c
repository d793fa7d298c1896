/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the guard lets through of a hook's output, null hooks, dispatchers, and the breaker after
 * three faults.
 */
#include "core/base/alloc.h"
#include "core/plug/plug.h"
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

/*
 * What the hook does next: sets 'pointer' of the draft to JSON 'value' (NULL = removes), returns
 * 'verdict'.
 */
static struct {
	const char *pointer, *value;
	int verdict;
} order;

static int obey(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val absent = {0};

	(void)v;
	if (order.pointer) {
		c->host->set(c, draft, order.pointer,
			     order.value ? c->host->parse(c, mk_lit(order.value)) : absent);
	}
	return order.verdict;
}

static struct {
	uint32_t n, index[20];
	int64_t wait_ms;
	int verdict;
} plan;
static struct plug *running;

static int obey_plan(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	struct plug_running r = {.is_on = false};

	ok(plug_get_running(running, &r) && plug_running_here(running), "the call is published");
	is_str(r.plugin, "test.guard", "its plugin");
	is_str(r.hook, "nominate", "its hook");
	is_str(r.item, "ex.io/planned", "its dispatcher");
	is_str(r.ns, "team", "the namespace of its Workload");
	is_str(r.name, "wl", "the name");
	is_int(pick->cap, 20, "capacity");
	is_int(c->host->type(c, d->config), MK_OBJ, "no configuration counts as {}");
	pick->n = plan.n;
	memcpy(pick->index, plan.index, sizeof(plan.index));
	pick->wait_ms = plan.wait_ms;
	return plan.verdict;
}

static const mk_adapter with = {.struct_size = sizeof(mk_adapter),
				.group = "ex.io",
				.version = "v1",
				.kind = "With",
				.remote = obey,
				.status = obey};
static const mk_adapter without = {
	.struct_size = sizeof(mk_adapter), .group = "ex.io", .version = "v1", .kind = "Without"};
static const mk_adapter silent = {.struct_size = sizeof(mk_adapter),
				  .flags = MK_STATUS_NONE,
				  .group = "ex.io",
				  .version = "v1",
				  .kind = "Silent",
				  .status = obey};
static const mk_adapter present = {.struct_size = sizeof(mk_adapter),
				   .flags = MK_STATUS_IF_PRESENT,
				   .group = "ex.io",
				   .version = "v1",
				   .kind = "Present",
				   .status = obey};
static const mk_dispatcher planned = {
	.struct_size = sizeof(mk_dispatcher), .name = "ex.io/planned", .nominate = obey_plan};
static const void *const kinds[] = {&with, &without, &silent, &present};
static const void *const names[] = {&planned};
static const mk_factory adapters = {sizeof(mk_factory), 4, MK_FACTORY_ADAPTER, kinds};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, names};
static const mk_factory *const factories[] = {&adapters, &dispatchers, NULL};
static const mk_entry entry = MK_ENTRY("test.guard", "1", factories);

static struct arena a;
static int64_t now_ms;

static const char object[] =
	"{\"apiVersion\":\"ex.io/"
	"v1\",\"kind\":\"With\",\"metadata\":{\"name\":\"n\",\"namespace\":\"s\","
	"\"labels\":{\"l\":\"1\"}},\"spec\":{\"a\":1},\"status\":{}}";

static const char *last_why(const struct mk_err *err)
{
	const char *why = strstr(err->msg, "Kind=With: ");

	return why ? why + strlen("Kind=With: ") : err->msg;
}

/* Orders one edit at creation or on an existing remote; "" = accepted, else the fault. */
static void remote_is(struct plug *p, bool creating, const char *pointer, const char *value,
		      int verdict, const char *want)
{
	struct plug_view v = {.now_wall_ms = now_ms};
	struct plug_result r;
	struct mk_err err = {0};

	now_ms += 100000; /* far apart, so that nothing rests */
	arena_clear(&a);
	v.local = parse_json(&a, object);
	v.workload = parse_json(&a, "{}");
	v.remote = creating ? NULL : parse_json(&a, object);
	order.pointer = pointer;
	order.value = value;
	order.verdict = verdict;
	enum mk_code code = plug_remote(p, 0, &v, parse_json(&a, object), &a, &r, &err);

	is_str(code == ERR_OK ? "" : last_why(&err), want, pointer ? pointer : "no edit");
}

static void outputs(struct plug *p)
{
	for (int creating = 0; creating < 2; creating++) {
		remote_is(p, creating, "/spec/a", "2", MK_SET, "");
		remote_is(p, creating, "/metadata/name", "\"x\"", MK_KEEP, "");
		remote_is(p, creating, "/metadata/name", "\"x\"", MK_SET,
			  "draft: /metadata/name: expected no change, found another value");
		remote_is(p, creating, "/metadata/namespace", NULL, MK_SET,
			  "draft: /metadata/namespace: expected no change, found it removed");
		remote_is(p, creating, "/metadata/uid", "\"u\"", MK_SET,
			  "draft: /metadata/uid: expected no change, found another value");
		remote_is(p, creating, "/metadata/ownerReferences", "[]", MK_SET,
			  "draft: /metadata/ownerReferences: expected no change, found another "
			  "value");
		remote_is(p, creating, "/metadata/finalizers", "[\"f\"]", MK_SET,
			  "draft: /metadata/finalizers: expected no change, found another value");
		remote_is(p, creating, "/kind", "\"Pod\"", MK_SET,
			  "draft: /kind: expected no change, found another value");
		remote_is(p, creating, "/apiVersion", NULL, MK_SET,
			  "draft: /apiVersion: expected no change, found another value");
		remote_is(p, creating, "/status/x", "1", MK_SET,
			  "draft: /status: expected no change, found another value");
		remote_is(p, creating, "/metadata", NULL, MK_SET,
			  "draft: /metadata: expected an object, found another type");
		remote_is(p, creating, "", "[]", MK_SET,
			  "draft: expected an object, found another type");
		remote_is(p, creating, NULL, NULL, MK_SET | MK_DEFER,
			  "verdict: expected MK_KEEP, MK_SET or an error, found 3");
		remote_is(p, creating, NULL, NULL, MK_E_INPUT, "");
		remote_is(p, creating, NULL, NULL, -7,
			  "verdict: expected MK_KEEP, MK_SET or an error, found -7");
	}
	remote_is(p, true, "/metadata/labels/x", "\"y\"", MK_SET, "");
	remote_is(p, true, "/metadata/annotations/x", "\"y\"", MK_SET, "");
	remote_is(p, true, "/metadata/labels", NULL, MK_SET, "");
	remote_is(p, true, "/metadata/labels/x", "7", MK_SET,
		  "draft: /metadata/labels: expected strings, found another type at x");
	remote_is(p, true, "/metadata/annotations", "[]", MK_SET,
		  "draft: /metadata/annotations: expected an object, found another type");
	remote_is(p, false, "/metadata/labels/x", "\"y\"", MK_SET,
		  "draft: /metadata/labels: expected no change, found another value");
}

static void null_hooks(struct plug *p)
{
	struct plug_view v = {.now_wall_ms = now_ms};
	struct plug_result r;
	struct json *draft;

	arena_clear(&a);
	draft = parse_json(&a, object);
	v.local = v.workload = parse_json(&a, object);
	is_int(plug_remote(p, 1, &v, draft, &a, &r, NULL), ERR_OK, "no remote hook, creating");
	ok(r.verdict == MK_SET && r.draft == draft, "means SET of the draft");
	v.remote = parse_json(&a, object);
	is_int(plug_remote(p, 1, &v, draft, &a, &r, NULL), ERR_OK, "no remote hook, present");
	is_int(r.verdict, MK_KEEP, "means KEEP");
	is_int(plug_status(p, 1, &v, draft, &a, &r, NULL), ERR_OK, "no status hook");
	is_int(r.verdict, MK_SET, "means SET");
	is_int(plug_status(p, 2, &v, draft, &a, &r, NULL), ERR_OK, "MK_STATUS_NONE");
	is_int(r.verdict, MK_KEEP, "means KEEP, the hook is not asked");
	order.pointer = NULL;
	order.verdict = MK_SET;
	v.remote = parse_json(&a, "{}");
	is_int(plug_status(p, 3, &v, draft, &a, &r, NULL), ERR_OK, "MK_STATUS_IF_PRESENT");
	is_int(r.verdict, MK_KEEP, "means KEEP for a copy without a status");
	v.remote = NULL;
	is_int(plug_status(p, 3, &v, draft, &a, &r, NULL), ERR_OK, "without a copy");
	is_int(r.verdict, MK_SET, "the hook is asked");
	is_int(plug_status(p, 4, &v, draft, &a, &r, NULL), ERR_BUG, "no such adapter");
}

static void pick_is(struct plug *p, int verdict, uint32_t n, uint32_t x, uint32_t y,
		    int64_t wait_ms, const char *want)
{
	struct plug_pick r;
	struct mk_err err = {0};

	now_ms += 100000;
	plan.verdict = verdict;
	plan.n = n;
	plan.index[0] = x;
	plan.index[1] = y;
	plan.wait_ms = wait_ms;
	arena_clear(&a);
	const struct plug_question q = {
		.workload = parse_json(&a, "{\"metadata\":{\"name\":\"wl\","
					   "\"namespace\":\"team\"}}"),
		.clusters = parse_json(&a, "[{\"name\":\"a\"},{\"name\":\"b\"}]"),
		.now_wall_ms = now_ms,
		.last_set_ms = -1};
	enum mk_code code = plug_nominate(p, 0, &q, &a, &r, &err);
	const char *why = strstr(err.msg, "ex.io/planned: ");

	is_str(code == ERR_OK ? ""
	       : why          ? why + strlen("ex.io/planned: ")
			      : err.msg,
	       want, "nominate");
	if (code == ERR_OK) {
		ok(r.verdict == verdict && r.wait_ms == wait_ms &&
			   r.n == (verdict == MK_SET ? n : 0),
		   "its answer");
	}
}

static void picks(struct plug *p)
{
	struct plug_running r;

	pick_is(p, MK_SET, 2, 1, 0, -1, "");
	pick_is(p, MK_SET, 0, 0, 0, 5000, "");
	pick_is(p, MK_KEEP | MK_EXHAUSTED, 7, 9, 9, -1, "");
	pick_is(p, MK_KEEP | MK_UNPLACEABLE, 7, 9, 9, -1, "");
	pick_is(p, MK_E_RETRY, 0, 0, 0, -1, "");
	pick_is(p, MK_SET, 1, 2, 0, -1, "index: expected less than 2, found 2");
	pick_is(p, MK_SET, 2, 1, 1, -1, "index: expected no cluster twice, found 1 again");
	pick_is(p, MK_SET, 21, 0, 0, -1, "n: expected at most 20, found 21");
	pick_is(p, MK_SET, 1, 0, 0, -2, "wait_ms: expected -1 or more, found -2");
	pick_is(p, MK_SET | MK_DEFER, 1, 0, 0, -1,
		"verdict: expected MK_SET, MK_KEEP, MK_KEEP with MK_EXHAUSTED or MK_UNPLACEABLE, "
		"or an error, found 3");
	ok(!plug_get_running(p, &r) && !plug_running_here(p), "afterwards none is");
}

static bool fault(struct plug *p, unsigned workload, int64_t at)
{
	struct plug_view v = {.now_wall_ms = at};
	struct plug_result r;
	char text[64];

	arena_clear(&a);
	(void)snprintf(text, sizeof(text), "{\"metadata\":{\"uid\":\"u%u\"}}", workload);
	v.local = parse_json(&a, object);
	v.workload = parse_json(&a, text);
	order.pointer = NULL;
	order.verdict = 77;
	return plug_remote(p, 0, &v, parse_json(&a, object), &a, &r, NULL) == ERR_PLUGIN_FAULT;
}

static void fault_at(struct plug *p, unsigned workload, int64_t at)
{
	ok(fault(p, workload, at), "a fault");
}

/* How long the Workload has to wait, in seconds. */
static int64_t rests_for(const struct plug *p, const char *uid, int64_t from)
{
	return plug_adapter_rest_ms(p, 0, str_of(uid), from) / 1000;
}

static void one_workload(struct plug *p)
{
	int64_t t = 1000000000000;
	static const int64_t pauses[] = {5, 10, 20, 40, 80, 160, 300, 300};

	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		fault_at(p, 1, t);
		is_int(rests_for(p, "u1", t), pauses[i], "it rests, each time longer");
		is_int(rests_for(p, "u2", t), 0, "others do not");
		t += 1000 * pauses[i];
	}
	fault_at(p, 2, t);
	is_int(rests_for(p, "u2", t), 5, "another one begins anew");
	ok(plug_adapter_rest_ms(p, 1, STR("u2"), t) == 0, "another adapter serves it");
	ok(plug_dispatcher_rest_ms(p, 0, STR("u2"), t) == 0, "as dispatchers do");
	ok(plug_adapter_rest_ms(p, 0, STR("u2"), t - 3600000) == 0,
	   "a clock set back ends the rest");
	t += 5000 + 599999;
	fault_at(p, 2, t);
	is_int(rests_for(p, "u2", t), 10, "what happened ten minutes ago counts");
	t += 10000 + 600000;
	fault_at(p, 2, t);
	is_int(rests_for(p, "u2", t), 5, "and what happened before does not");
	t -= 86400000;
	fault_at(p, 2, t);
	is_int(rests_for(p, "u2", t), 5, "nor what a clock that was set back left in the future");
}

static void several_workloads(struct plug *p)
{
	const int64_t t = 2000000000000;

	fault_at(p, 1, t);
	fault_at(p, 2, t + 61000);
	fault_at(p, 3, t + 90000);
	is_int(rests_for(p, "u9", t + 90000), 0, "three Workloads in more than a minute");
	fault_at(p, 2, t + 95000);
	fault_at(p, 3, t + 99000);
	is_int(rests_for(p, "u9", t + 99000), 0, "two of them again and again");
	fault_at(p, 4, t + 100000);
	is_int(rests_for(p, "u9", t + 100000), 60, "three in a minute: it rests for all, a minute");
	ok(plug_adapter_rest_ms(p, 1, STR("u9"), t + 100001) == 0, "and no other");
	ok(plug_adapter_rest_ms(p, 0, STR("u9"), t - 3600000) == 0,
	   "a clock set back ends the rest");
	ok(plug_dispatcher_rest_ms(p, 0, STR("u9"), t) == 0, "no dispatcher rests");
	fault_at(p, 4, t + 161000);
	is_int(rests_for(p, "u9", t + 161000), 0, "then it begins anew");
}

/* More than are remembered: who faulted last still rests. */
static void many_workloads(struct plug *p)
{
	const int64_t t = 3000000000000;
	unsigned n = 0;

	for (unsigned i = 0; i < 1000; i++) {
		n += fault(p, 1000 + i, t + i);
	}
	is_int(n, 1000, "a thousand Workloads fault");
	ok(plug_adapter_rest_ms(p, 0, STR("u9"), t + 50000) > 0, "the adapter rests");
	fault_at(p, 5000, t + 120000);
	fault_at(p, 5000, t + 125000);
	ok(plug_adapter_rest_ms(p, 0, STR("u5000"), t + 134000) > 0, "the last one is known");
	ok(plug_adapter_rest_ms(p, 0, STR("u1000"), t + 134000) == 0,
	   "the first one rests no more");
}

static void memory(struct plug *p)
{
	struct plug_view v = {0};
	struct plug_result r = {0};
	bool done = false;

	order.pointer = "/spec/a";
	order.value = "[1,2]";
	order.verdict = MK_SET;
	for (uint64_t n = 1; n < 100 && !done; n++) {
		arena_done(&a);
		arena_init(&a, 0);
		v.local = v.workload = parse_json(&a, object);
		struct json *draft = parse_json(&a, object);

		alloc_fail_after(n);
		enum mk_code code = plug_remote(p, 0, &v, draft, &a, &r, NULL);

		alloc_fail_after(0);
		done = code == ERR_OK;
		if (code != ERR_OK && code != ERR_NO_MEMORY) {
			is_int(code, ERR_NO_MEMORY, "out of memory is not the plugin's fault");
		}
	}
	ok(done, "out of memory anywhere in a call is an error and no crash");
}

int main(void)
{
	struct plug *p = plug_new(NULL);

	running = p;
	arena_init(&a, 0);
	is_int(plug_add(p, &entry, "", NULL), ERR_OK, "added");
	outputs(p);
	null_hooks(p);
	picks(p);
	one_workload(p);
	several_workloads(p);
	many_workloads(p);
	memory(p);
	arena_done(&a);
	plug_free(p);
	return done_testing();
}
