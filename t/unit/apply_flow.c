/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From operations to requests: order, caps, pauses, fencing, losses, and exactly one answer each.
 */
#include <malloc.h>

#include "core/apply/apply.h"
#include "core/base/alloc.h"
#include "t/lib/kube_fake.h"

enum { ANSWERS = 4096 };

static struct fake f;
static struct apply *a;
static struct arena ops_arena;
static struct apply_rate rate; /* of the next setup */
static struct {
	uint64_t id;
	enum op_outcome outcome;
	enum mk_code code;
	char text[128], obj[128];
} answers[ANSWERS];
static size_t n_answers;

static void on_answer(void *ctx, const struct event *ev)
{
	mk_str obj = ev->obj != NULL ? json_write(&f.arena, ev->obj) : STR("");

	(void)ctx;
	if (ev->type != EV_OP_DONE || n_answers == ANSWERS) {
		return;
	}
	answers[n_answers].id = ev->op_id;
	answers[n_answers].outcome = ev->outcome;
	answers[n_answers].code = ev->code;
	fake_copy(answers[n_answers].text, 128, ev->text);
	fake_copy(answers[n_answers++].obj, 128, obj);
}

static void setup(void)
{
	struct kube_sink sink = {.emit = on_answer};

	fake_init(&f, 1);
	fake_manager(&f);
	fake_worker(&f);
	a = apply_new(f.k, &f.kinds, &sink, &f.slice, rate, NULL);
	apply_set_may_write(a, true);
	arena_init(&ops_arena, 0);
	n_answers = 0;
}

static void teardown(void)
{
	/* kube first, as in the manager: it still answers what is on the wire. */
	kube_free(f.k);
	apply_free(a);
	f.k = NULL;
	arena_done(&ops_arena);
	fake_done(&f);
}

static struct op op_of(enum op_type type, uint64_t id, const char *name, enum op_prio prio)
{
	struct op op = {.type = type,
			.id = id,
			.cluster = 1,
			.kind = KIND_WORKLOAD,
			.ns = STR("n"),
			.name = str_of(name),
			.cause = "test",
			.prio = prio,
			.uid = STR("u\"1"),
			.subresource = ""};

	if (type == OP_CREATE || type == OP_EVENT || type == OP_MERGE || type == OP_APPLY_STATUS) {
		struct json *body = json_new_obj(&ops_arena);

		json_set_str(&ops_arena, body, "x", STR("y"));
		op.body = body;
	}
	op.field_manager = type == OP_APPLY_STATUS ? "kueue-admission" : NULL;
	return op;
}

static void submit(struct op op)
{
	apply_submit(a, &op, 1, f.mono);
	apply_run(a, f.mono);
}

static size_t on_wire(const char *part)
{
	size_t n = 0;

	for (size_t i = 0; i < f.n; i++) {
		char line[1100];

		snprintf(line, sizeof(line), "%s %s", f.calls[i].method, f.calls[i].path);
		n += f.calls[i].open && strstr(line, part) != NULL;
	}
	return n;
}

/* A write in another's name: also when it is sent again. */
static void test_as(void)
{
	struct fake_call *c;
	struct op op;

	setup();
	op = op_of(OP_CREATE, 1, "w", PRIO_START);
	op.as = STR("system:serviceaccount:n:tenant");
	submit(op);
	c = fake_find(&f, 1, "POST ");
	is_str(c != NULL ? c->as : NULL, "system:serviceaccount:n:tenant", "a create as another");
	fake_answer(&f, 1, "POST ", 429, "{\"kind\":\"Status\",\"code\":429}");
	f.mono += 60000;
	apply_run(a, f.mono);
	c = fake_find(&f, 1, "POST ");
	is_str(c != NULL ? c->as : NULL, "system:serviceaccount:n:tenant", "... and after a 429");
	teardown();
}

static void test_requests(void)
{
	struct fake_call *c;

	setup();
	submit(op_of(OP_DELETE, 1, "w", PRIO_STOP));
	c = fake_find(&f, 1, "DELETE ");
	is_str(c != NULL ? c->body : NULL,
	       "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":"
	       "\"Background\","
	       "\"preconditions\":{\"uid\":\"u\\\"1\"}}",
	       "trap_50: a delete says whom it means, in the background");
	fake_answer(&f, 1, "DELETE ", 200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
	is_int(answers[0].outcome, OUTCOME_APPLIED, "it is answered");
	is_str(c != NULL ? c->as : NULL, "", "as ourselves");
	submit(op_of(OP_APPLY_STATUS, 2, "w", PRIO_COMMIT));
	ok(fake_find(&f, 1,
		     "PATCH /apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/w/status?"
		     "fieldManager=kueue-admission&force=true") != NULL,
	   "an apply goes to the status");
	fake_answer(&f, 1, "PATCH ", 200, "{\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\"}}");
	is_str(answers[1].obj, "{\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\"}}",
	       "the answer's object comes back");
	submit(op_of(OP_GET, 3, "w", PRIO_COMMIT));
	fake_answer(&f, 1, "GET /apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/w", 404,
		    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}");
	ok(answers[2].outcome == OUTCOME_REFUSED && answers[2].code == ERR_NOT_FOUND,
	   "what is not there is said so");
	submit(op_of(OP_MERGE, 4, "w", PRIO_STATUS));
	fake_end(&f, fake_token(&f, 1, "PATCH "), TRANSPORT_LOST, ERR_TIMEOUT, "lost");
	ok(answers[3].outcome == OUTCOME_UNKNOWN && answers[3].code == ERR_UNKNOWN,
	   "a lost answer is an unknown outcome");
	is_int(apply_pending(a), 0, "nothing is pending");
	teardown();
}

static void test_order_and_cap(void)
{
	static struct op ops[200];
	char names[200][8];

	setup();
	for (size_t i = 0; i < 200; i++) {
		snprintf(names[i], sizeof(names[i]), "c%zu", i);
		ops[i] = op_of(OP_CREATE, 100 + i, names[i], PRIO_START);
	}
	ops[199] = op_of(OP_DELETE, 299, "last", PRIO_STOP);
	apply_submit(a, ops, 200, f.mono);
	is_int(on_wire("POST "), 0, "submitting sends nothing");
	apply_run(a, f.mono);
	is_int(on_wire("POST ") + on_wire("DELETE "), 16, "at most 16 at first");
	is_int(on_wire("DELETE "), 1, "what must stop goes first");
	for (int i = 0; i < 199; i++) {
		fake_answer(&f, 1, "POST ", 201, "{\"kind\":\"Workload\"}");
		apply_run(a, f.mono);
	}
	fake_answer(&f, 1, "DELETE ", 200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
	is_int(n_answers, 200, "each is answered once");
	is_int(apply_next_ms(a), INT64_MAX, "nothing waits");
	teardown();
}

static void test_same_object(void)
{
	setup();
	submit(op_of(OP_MERGE, 1, "w", PRIO_STATUS));
	submit(op_of(OP_DELETE, 2, "w", PRIO_STOP));
	is_int(on_wire("DELETE "), 0, "one write per object on the wire");
	ok(n_answers == 1 && answers[0].id == 2 && answers[0].outcome == OUTCOME_REFUSED &&
		   answers[0].code == ERR_CONFLICT,
	   "the second is refused");
	teardown();
}

static void test_limited(void)
{
	uint64_t token;

	setup();
	submit(op_of(OP_CREATE, 1, "w", PRIO_START));
	token = fake_token(&f, 1, "POST ");
	fake_head(&f, token, 429, "application/json", 5000);
	fake_chunk(&f, token, "{\"kind\":\"Status\",\"reason\":\"TooManyRequests\",\"code\":429}");
	fake_end(&f, token, TRANSPORT_OK, ERR_OK, "");
	is_int(n_answers, 0, "429 was not executed: it is not told");
	apply_run(a, f.mono);
	is_int(on_wire("POST "), 0, "nothing is sent during the pause");
	is_int(apply_next_ms(a), f.mono + 5000, "which lasts as long as the server asked");
	submit(op_of(OP_CREATE, 2, "v", PRIO_START));
	is_int(on_wire("POST "), 0, "other operations wait too");
	apply_run(a, f.mono + 5000);
	is_int(on_wire("POST "), 2, "then both are sent");
	for (int i = 0; i < 2; i++) {
		token = fake_token(&f, 1, "POST ");
		fake_head(&f, token, 429, "application/json", -1);
		fake_end(&f, token, TRANSPORT_OK, ERR_OK, "");
	}
	apply_run(a, f.mono + 6000);
	for (int i = 0; i < 2; i++) {
		token = fake_token(&f, 1, "POST ");
		if (token != 0) {
			fake_head(&f, token, 429, "application/json", -1);
			fake_end(&f, token, TRANSPORT_OK, ERR_OK, "");
		}
	}
	ok(n_answers >= 1 && answers[0].code == ERR_LIMITED,
	   "the third 429 of an operation is told");
	teardown();
}

/* A server that refuses one verb so does not keep others, which come after it, from being sent. */
static void test_limited_verb(void)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
	uint64_t token;

	setup();
	for (uint64_t i = 0; i < 6; i++) {
		submit(op_of(OP_DELETE, i + 1, names[i], PRIO_STOP));
	}
	while ((token = fake_token(&f, 1, "DELETE ")) != 0) {
		fake_head(&f, token, 429, "application/json", 1000);
		fake_end(&f, token, TRANSPORT_OK, ERR_OK, "");
	}
	submit(op_of(OP_CREATE, 7, "g", PRIO_START));
	f.mono += 1000;
	apply_run(a, f.mono);
	is_int(on_wire("POST "), 1, "deletes are answered 429: after the pause a create is next");
	is_int(on_wire("DELETE "), 0, "... alone, for one at a time is sent now");
	token = fake_token(&f, 1, "POST ");
	fake_head(&f, token, 201, "application/json", -1);
	fake_end(&f, token, TRANSPORT_OK, ERR_OK, "");
	apply_run(a, f.mono);
	ok(on_wire("DELETE ") > 0, "then deletes are");
	teardown();
}

/* What would give up a job does not wait for the end of a pause: its end may be seen meanwhile. */
static void test_prompt(void)
{
	struct op op;
	uint64_t token;

	setup();
	submit(op_of(OP_CREATE, 1, "w", PRIO_START));
	op = op_of(OP_APPLY_STATUS, 2, "v", PRIO_COMMIT);
	op.prompt = true;
	submit(op);
	token = fake_token(&f, 1, "PATCH ");
	fake_head(&f, token, 429, "application/json", 5000);
	fake_end(&f, token, TRANSPORT_OK, ERR_OK, "");
	ok(n_answers == 1 && answers[0].id == 2 && answers[0].code == ERR_LIMITED,
	   "a prompt operation is told of a 429");
	op.id = 3;
	submit(op);
	ok(n_answers == 2 && answers[1].id == 3 && answers[1].code == ERR_LIMITED,
	   "one that comes in the pause ends at once");
	is_int(on_wire("PATCH "), 0, "... and not sent");
	f.mono += 5000;
	apply_run(a, f.mono);
	is_int(on_wire("PATCH "), 0, "nor after it");
	op.id = 4;
	submit(op);
	is_int(on_wire("PATCH "), 1, "but when it comes then");
	teardown();
}

/*
 * A job's create that waited long for the server is told, not sent: who
 * won may be another one by now.
 */
static void test_stale(void)
{
	struct op op;
	uint64_t token;

	setup();
	submit(op_of(OP_CREATE, 1, "w", PRIO_START));
	token = fake_token(&f, 1, "POST ");
	fake_head(&f, token, 429, "application/json", 12000);
	fake_end(&f, token, TRANSPORT_OK, ERR_OK, "");
	op = op_of(OP_CREATE, 2, "j", PRIO_START);
	op.kind = KIND_FIRST_JOB;
	submit(op);
	apply_run(a, f.mono + 12000);
	is_int(on_wire("POST "), 1, "the clone's create is sent when the pause is over");
	ok(n_answers == 1 && answers[0].id == 2 && answers[0].outcome == OUTCOME_REFUSED &&
		   answers[0].code == ERR_TIMEOUT,
	   "the job's is told to have waited too long");
	teardown();
}

static void test_fence(void)
{
	setup();
	submit(op_of(OP_CREATE, 1, "on-the-wire", PRIO_START));
	for (uint64_t i = 2; i < 40; i++) {
		char name[16];

		snprintf(name, sizeof(name), "q%u", (unsigned)i);
		submit(op_of(OP_CREATE, i, name, PRIO_START));
	}
	submit(op_of(OP_GET, 50, "g", PRIO_COMMIT));
	n_answers = 0;
	apply_set_may_write(a, false);
	apply_run(a, f.mono);
	is_int(n_answers, 23, "what is queued is refused when leadership goes");
	ok(answers[0].outcome == OUTCOME_REFUSED && answers[0].code == ERR_FENCED, "as fenced");
	n_answers = 0;
	submit(op_of(OP_DELETE, 60, "x", PRIO_STOP));
	ok(n_answers == 1 && answers[0].code == ERR_FENCED, "and so is what comes after");
	submit(op_of(OP_EVENT, 0, "e", PRIO_EVENT));
	is_int(on_wire("/events"), 0, "events are dropped");
	teardown();
}

static void test_link_down(void)
{
	setup();
	for (uint64_t i = 1; i <= 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "q%u", (unsigned)i);
		submit(op_of(OP_CREATE, i, name, PRIO_START));
	}
	apply_link_down(a, 1);
	apply_link_down(a, 77);
	apply_run(a, f.mono);
	is_int(n_answers, 4, "what is queued for a lost cluster is refused");
	is_int(answers[0].code, ERR_UNAVAILABLE, "as unavailable");
	is_int(apply_pending(a), 16, "what is on the wire stays kube's to answer");
	teardown();
}

static int64_t spent(void)
{
	return INT64_MAX;
}

/* Where every slice is spent, each run sends one request, of one cluster after the other. */
static void test_slices(void)
{
	static const cluster_id order[] = {1, 2, 1, 2, 1, 2};
	size_t wrong = 0;

	setup();
	fake_connect(&f, 2, "s1");
	fake_watch(&f, 2, KIND_WORKLOAD, "o=m");
	fake_handshake(&f, 2, "other-uid");
	fake_empty(&f, 2, "/workloads?", KUEUE, "Workload", 500);
	for (uint64_t i = 1; i <= 6; i++) {
		char name[16];
		struct op op;

		snprintf(name, sizeof(name), "q%u", (unsigned)i);
		op = op_of(OP_GET, i, name, PRIO_START);
		op.cluster = i <= 3 ? 1 : 2;
		apply_submit(a, &op, 1, f.mono);
	}
	f.slice.clock_us = spent;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		size_t before = f.n;

		wrong += apply_next_ms(a) > f.mono;
		apply_run(a, f.mono);
		wrong += f.n != before + 1 || f.calls[before].cluster != order[i];
	}
	is_int((long long)wrong, 0, "one request a run, and no cluster waits for another's");
	apply_run(a, f.mono);
	is_int((long long)apply_pending(a), 6, "all were sent");
	kube_do(f.k, &(struct op){.type = OP_DISCONNECT, .cluster = 1}, NULL);
	kube_do(f.k, &(struct op){.type = OP_DISCONNECT, .cluster = 2}, NULL);
	for (size_t i = 0; i < 6; i++) {
		wrong += n_answers != i || kube_next_ms(f.k) > f.mono;
		kube_run(f.k);
	}
	is_int((long long)wrong, 0, "requests of a link that was closed: one answer a run");
	is_int((long long)n_answers, 6, "all are answered");
	teardown();
}

static void test_elsewhere(void)
{
	struct op op;

	setup();
	op = op_of(OP_CREATE, 1, "w", PRIO_START);
	op.cluster = 9;
	submit(op);
	ok(n_answers == 1 && answers[0].code == ERR_UNAVAILABLE, "a cluster that is not connected");
	op.cluster = 1u << 30;
	submit(op);
	ok(n_answers == 2 && answers[1].outcome == OUTCOME_REFUSED, "a number that no cluster has");
	op = op_of(OP_WATCH_OPEN, 7, "w", PRIO_START);
	submit(op);
	is_int(n_answers, 2, "watches are not apply's");
	teardown();
}

/*
 * Clusters come and go, each with a number of its own: links and lanes
 * that were given up cost nothing.
 */
static void test_numbers(void)
{
	struct op op, leave = {.type = OP_DISCONNECT, .subresource = ""};
	bool good = true;
	size_t in_use = 0;

	setup();
	for (cluster_id c = 2; c < 100000; c++) {
		if (c == 1000) {
			in_use = mallinfo2().uordblks;
		}
		good = good && fake_connect(&f, c, "none") == ERR_OK;
		op = op_of(OP_CREATE, c, "w", PRIO_START);
		op.cluster = c;
		n_answers = 0;
		submit(op);
		good = good && n_answers == 1 && answers[0].code == ERR_UNAVAILABLE;
		leave.cluster = c;
		submit(leave);
		kube_do(f.k, &leave, NULL);
		kube_run(f.k);
		arena_clear(&ops_arena);
		arena_clear(&f.arena);
	}
	ok(good, "each is connected, and its operation is answered");
	ok(mallinfo2().uordblks <= in_use + 4096, "no more memory is in use");
	n_answers = 0;
	submit(op_of(OP_CREATE, 1, "w", PRIO_START));
	is_int(on_wire("POST /apis/kueue"), 1, "the first one's operations are carried out");
	leave.cluster = 1;
	submit(op_of(OP_MERGE, 2, "x", PRIO_START));
	submit(leave);
	kube_do(f.k, &leave, NULL);
	kube_run(f.k);
	apply_run(a, f.mono);
	ok(n_answers == 2 && apply_pending(a) == 0, "given up: what was on its wire is answered");
	teardown();
}

static void test_events(void)
{
	setup();
	for (int i = 0; i < 1100; i++) {
		struct op op = op_of(OP_EVENT, 0, "e", PRIO_EVENT);

		op.kind = KIND_EVENT;
		apply_submit(a, &op, 1, f.mono);
	}
	apply_run(a, f.mono);
	is_int(on_wire("/events"), 4, "events have a small share of the wire");
	is_int(apply_pending(a), 1000, "and a short queue: the rest is dropped");
	submit(op_of(OP_CREATE, 5, "w", PRIO_START));
	is_int(on_wire("POST /apis/kueue"), 1, "work is not held up by them");
	is_int(apply_next_ms(a), INT64_MAX, "they wait for answers, not for time");
	teardown();
}

/* Whatever allocation fails, each operation is still answered exactly once. */
static void test_memory(void)
{
	bool good = true;
	uint64_t k;

	for (k = 1; k < 60; k++) {
		struct op op;

		setup();
		op = op_of(OP_CREATE, 1, "w", PRIO_START);
		alloc_fail_after(k);
		apply_submit(a, &op, 1, f.mono);
		apply_run(a, f.mono);
		apply_run(a, f.mono);
		alloc_fail_after(0);
		if (n_answers == 0) {
			uint64_t token =
				fake_find(&f, 1, "POST ") != NULL ? fake_token(&f, 1, "POST ") : 0;

			if (token != 0) {
				fake_head(&f, token, 201, "application/json", -1);
				fake_end(&f, token, TRANSPORT_OK, ERR_OK, "");
			}
		}
		good = good && n_answers == 1 && answers[0].id == 1;
		teardown();
	}
	ok(good, "one answer, whichever of the first allocations fails");
}

static void submit_names(size_t n, cluster_id c)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};

	for (size_t i = 0; i < n; i++) {
		struct op op = op_of(OP_GET, i + 1, names[i], PRIO_COMMIT);

		op.cluster = c;
		apply_submit(a, &op, 1, f.mono);
	}
	apply_run(a, f.mono);
}

/* clientConnection: a burst, then one after the other; each cluster has its own bucket. */
static void test_rate(void)
{
	int64_t begin;
	size_t before;

	rate = (struct apply_rate){.qps = 10, .burst = 3};
	setup();
	begin = f.mono;
	before = on_wire("GET ");
	submit_names(10, 1);
	is_int((int64_t)(on_wire("GET ") - before), 3, "no more than the burst goes at once");
	is_int(apply_next_ms(a), begin + 100, "the next one when the rate allows it");
	submit_names(10, CLUSTER_MANAGER);
	is_int((int64_t)(on_wire("GET ") - before), 6, "another cluster has a burst of its own");
	for (f.mono = begin + 1; f.mono <= begin + 350; f.mono++) {
		apply_run(a, f.mono);
	}
	is_int((int64_t)(on_wire("GET ") - before), 12, "then ten a second on each");
	for (; f.mono <= begin + 10000; f.mono++) {
		apply_run(a, f.mono);
	}
	is_int((int64_t)(on_wire("GET ") - before), 20, "nothing is lost");
	submit_names(10, 1);
	is_int((int64_t)(on_wire("GET ") - before), 23,
	       "after a pause it is a burst again, no more");
	teardown();
	rate = (struct apply_rate){.qps = 0.5, .burst = 0};
	setup();
	before = on_wire("GET ");
	submit_names(10, 1);
	is_int((int64_t)(on_wire("GET ") - before), 10, "a burst that is not given is ten");
	submit_names(1, 1);
	is_int(apply_next_ms(a), f.mono + 2000, "a rate may be a fraction");
	teardown();
	rate = (struct apply_rate){.qps = -1, .burst = 1};
	setup();
	before = on_wire("GET ");
	submit_names(10, 1);
	is_int((int64_t)(on_wire("GET ") - before), 10, "a negative rate is no limit");
	teardown();
	rate = (struct apply_rate){0};
}

int main(void)
{
	test_requests();
	test_as();
	test_order_and_cap();
	test_same_object();
	test_limited();
	test_limited_verb();
	test_prompt();
	test_stale();
	test_fence();
	test_link_down();
	test_slices();
	test_elsewhere();
	test_numbers();
	test_rate();
	test_events();
	test_memory();
	return done_testing();
}
