/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what API servers send and credential programs write, all the way from the bytes to
 * the events. A manager and a worker are up; each line of the input is an answer, a piece of a
 * stream, an end, an exit of the program, or time that goes by, for one of the calls that are open.
 * Each event that comes out names what it is about.
 */
#include "t/fuzz/fuzz.h"
#include "t/lib/kube_fake.h"

enum { MAX_LINES = 24, MAX_CALLS = 192, CLUSTERS = 4 };

static struct fake f;

static void judge(const struct event *ev)
{
	FUZZ_MUST(ev->type < EV_N_TYPES && ev->cluster < CLUSTERS);
	if (ev->type == EV_OBSERVED) {
		FUZZ_MUST(ev->name.n > 0 && !memchr(ev->name.p, '/', ev->name.n));
		FUZZ_MUST(ev->ns.n == 0 || !memchr(ev->ns.p, '/', ev->ns.n));
		FUZZ_MUST(json_type(ev->obj) == JSON_OBJ && ev->rv > 0);
		FUZZ_MUST(str_eq(json_str_at(ev->obj, "/metadata/name"), ev->name));
	}
}

static void reply(void *ctx, uint64_t id, const struct kube_reply *r)
{
	(void)ctx;
	(void)id;
	FUZZ_MUST(r->outcome != OUTCOME_APPLIED || r->code == ERR_OK);
}

static void ask(void)
{
	const struct kube_request r = {.cluster = 1,
				       .verb = KUBE_GET,
				       .kind = KIND_WORKLOAD,
				       .ns = STR("ns"),
				       .name = STR("w"),
				       .subresource = "",
				       .timeout_ms = 5000};

	kube_send(f.k, &r, 1, reply, NULL, NULL);
}

/* The 'which'th open call, counted from the latest; NULL: none is open. */
static struct fake_call *pick(unsigned which)
{
	unsigned n = 0;

	for (size_t i = 0; i < f.n; i++) {
		n += f.calls[i].open;
	}
	which = n > 0 ? which % n : 0;
	for (size_t i = f.n; i > 0; i--) {
		if (f.calls[i - 1].open && which-- == 0) {
			return &f.calls[i - 1];
		}
	}
	return NULL;
}

static void chunk(uint64_t token, mk_str bytes)
{
	f.sink->on_chunk(f.sink->ctx, token, bytes);
}

/* <what><which><bytes> */
static void line(mk_str s)
{
	static const int statuses[] = {200, 201, 401, 403, 404, 409, 410, 422, 429, 500, 503};
	struct fake_call *c = pick((unsigned char)s.p[1]);
	mk_str bytes = {s.p + 2, s.n - 2};
	uint64_t run = f.run, token = c != NULL ? c->token : 0;

	if (s.p[0] == 't') {
		fake_wait(&f, 1000 * ((unsigned char)s.p[1] % 40));
	} else if (s.p[0] == 'g') {
		ask();
	} else if (s.p[0] == 'p') {
		f.run = 0;
		kube_program_done(f.k, run, ERR_OK, bytes, STR(""));
	} else if (!c) {
		return;
	} else if (s.p[0] == 'h') {
		fake_head(&f, token, 200, "application/json", -1);
	} else if (s.p[0] == 'c') {
		chunk(token, bytes);
		chunk(token, STR("\n"));
	} else if (s.p[0] == 'e') {
		fake_end(&f, token, TRANSPORT_OK, ERR_OK, "");
	} else if (s.p[0] == 'x') {
		fake_end(&f, token, TRANSPORT_LOST, ERR_UNAVAILABLE, "cut");
	} else {
		fake_head(&f, token, statuses[(unsigned char)s.p[0] % 11], "application/json", -1);
		chunk(token, bytes);
		fake_end(&f, token, TRANSPORT_OK, ERR_OK, "");
	}
	arena_clear(&f.arena);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	mk_str rest = {(const char *)data, size}, s;

	if (size < 2 || size > 8192) {
		return 0;
	}
	fake_init(&f, 1);
	f.judge = judge;
	fake_manager(&f);
	fake_worker(&f);
	fake_profile(
		&f, 2,
		"{\"server\":\"https://10.0.0.7:6443\",\"ca\":\"Q0E=\",\"provider\":\"corp\"}");
	arena_clear(&f.arena);
	for (int i = 0; i < MAX_LINES && f.n < MAX_CALLS && str_split(&rest, '\n', &s); i++) {
		if (s.n >= 2) {
			line(s);
		}
	}
	fake_done(&f);
	return 0;
}
