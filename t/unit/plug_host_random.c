/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook that does anything: random host functions on random handles of every age and origin.
 * Whatever it does, the process survives (sanitizers watch), inputs and the caller's draft stay as
 * they were, the outcome is ERR_OK or a plugin fault, an accepted draft can be written and read
 * again, and the same seed gives the same outcome.
 */
#include "core/base/rng.h"
#include "core/plug/plug.h"
#include "t/lib/parse_json.h"
#include "t/lib/plug_hook.h"
#include "t/lib/tap.h"

enum { ROUNDS = 4000, STEPS = 20, POOL = 32 };

static struct rng rng;
static mk_val pool[POOL]; /* survives from call to call, so that some are stale */

static uint32_t pick(uint32_t n)
{
	return (uint32_t)(rng_next(&rng) % n);
}

static const char *any_pointer(void)
{
	static const char *const some[] = {
		"",        "/spec",   "/a",       "/a/b",      "/list/0",
		"/list/-", "/list/1", "/list/01", "/spec/x/y", "/metadata/name",
		"/list/9", "/~1",     "/a/b/c/d", "//",        "/list",
		"/-"};
	static const char *const odd[] = {"x", "/~", "/list/-1", "/list/18446744073709551616"};

	return pick(40) ? some[pick(sizeof(some) / sizeof(some[0]))]
			: odd[pick(sizeof(odd) / sizeof(odd[0]))];
}

static mk_str any_json(void)
{
	static const char *const some[] = {"null",
					   "true",
					   "[]",
					   "{}",
					   "[1,[2,{\"k\":3}],4]",
					   "{\"a\":{\"b\":{\"c\":null}}}",
					   "1e400",
					   "18446744073709551615",
					   "\"\\u00e4\\ud83d\\ude00\"",
					   "-0",
					   "[[[[]]]]"};
	static const char *const odd[] = {"",   "{", "[1,]", "\"\\ud800\"", "{\"a\":1,\"a\":2}",
					  "nul"};

	return mk_lit(pick(60) ? some[pick(sizeof(some) / sizeof(some[0]))]
			       : odd[pick(sizeof(odd) / sizeof(odd[0]))]);
}

static void step(mk_call *c)
{
	const mk_host *h = c->host;
	mk_val v = pool[pick(POOL)], w = pool[pick(POOL)];
	mk_val *out = &pool[pick(POOL)];
	int64_t i;
	mk_str s;

	switch (pick(12)) {
	case 0:
		*out = h->get(c, v, any_pointer());
		break;
	case 1:
		*out = h->at(c, v, pick(4));
		break;
	case 2:
		*out = h->parse(c, any_json());
		break;
	case 3:
		*out = h->str(c, v, &s) ? h->text(c, s) : v;
		break;
	case 4:
		(void)h->i64(c, v, &i);
		(void)h->boolean(c, v);
		(void)h->len(c, v);
		break;
	case 5:
		mk_put(c, v, any_pointer(), "/k", w);
		break;
	case 6:
		mk_drop(c, v, any_pointer(), "/k", mk_lit("x"));
		break;
	case 7:
		h->say(c, mk_lit(any_pointer()));
		break;
	default:
		/*
		 * mostly into what can hold something: a fault ends what the rest of the round
		 * could show
		 */
		if (h->type(c, v) >= MK_ARR || !pick(50)) {
			h->set(c, v, any_pointer(), w);
		}
		break;
	}
}

static int anything(mk_call *c, const mk_view *v, mk_val draft)
{
	/* mostly handles of this call, or nearly every round would end at its first stale one */
	for (size_t i = 0; i < POOL; i++) {
		if (pick(2000)) {
			pool[i] = pick(2) ? draft : c->host->get(c, draft, "/a");
		}
	}
	pool[0] = pick(30) ? draft : v->local;
	for (int i = 0; i < STEPS; i++) {
		step(c);
	}
	return MK_SET;
}

struct outcome {
	int accepted, faults, broken;
	uint64_t sum; /* of all accepted drafts' text */
};

static void round_trip(struct arena *a, const struct json *draft, struct outcome *o)
{
	mk_str text = json_write(a, draft);
	struct json *again = NULL;

	if (json_parse(a, text, &again, NULL) != ERR_OK || !json_equal(again, draft)) {
		printf("# not the same when read again: %s\n", text.p);
		o->broken++;
	}
	for (size_t i = 0; i < text.n; i++) {
		o->sum = o->sum * 31 + (unsigned char)text.p[i];
	}
}

static struct outcome run(uint64_t seed)
{
	static const char local[] =
		"{\"metadata\":{\"name\":\"n\",\"uid\":\"u\"},\"spec\":{\"x\":{\"y\":[1,2]}}}";
	static const char status[] =
		"{\"a\":{\"b\":{\"c\":1}},\"list\":[{\"k\":\"x\"},null,{\"k\":\"y\"}],\"n\":1.5}";
	struct plug *p = plug_new(NULL);
	struct outcome o = {0};
	struct arena a;

	rng_init(&rng, seed);
	memset(pool, 0, sizeof(pool));
	arena_init(&a, 0);
	hook_does = anything;
	(void)plug_add(p, &hook_entry, "", NULL);
	for (int i = 0; i < ROUNDS; i++) {
		struct plug_view v = {.local = parse_json(&a, local),
				      .remote = parse_json(&a, "{}")};
		struct json *draft = parse_json(&a, status);
		struct plug_result r;
		enum mk_code code = plug_status(p, 0, &v, draft, &a, &r, NULL);

		if (code == ERR_OK) {
			o.accepted++;
			round_trip(&a, r.draft, &o);
		} else {
			o.faults += code == ERR_PLUGIN_FAULT;
		}
		o.broken += !json_equal(draft, parse_json(&a, status)) ||
			    !json_equal(v.local, parse_json(&a, local));
		arena_clear(&a);
	}
	arena_done(&a);
	plug_free(p);
	return o;
}

int main(void)
{
	struct outcome x = run(1), y = run(1), z = run(2);

	printf("# %d accepted, %d faults; %d, %d\n", x.accepted, x.faults, z.accepted, z.faults);
	is_int(x.accepted + x.faults, ROUNDS, "every call ends well or is a fault");
	is_int(x.broken + z.broken, 0, "inputs and drafts stay whole");
	ok(x.accepted > ROUNDS / 20 && x.faults > ROUNDS / 20, "both outcomes were seen");
	ok(x.accepted == y.accepted && x.sum == y.sum, "the same seed gives the same drafts");
	ok(x.sum != z.sum, "another seed gives others");
	return done_testing();
}
