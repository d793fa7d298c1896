/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thirteen years of our own authority on a clock of the test's: there is trust at every
 * moment, through every renewal.
 */
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/net/tls.h"
#include "core/net/tls_issue.h"
#include "core/serve/serving_certs.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)
#define T0 INT64_C(1800000000000)

static const mk_str names[] = {{"svc.ns.svc", 10}, {"127.0.0.1", 9}};
static struct arena arena;

static bool plan(const struct serving_certs *have, mk_str trusted, int64_t now,
		 struct serving_certs *ret)
{
	struct serving_input in = {
		.have = *have, .trusted = trusted, .names = names, .n_names = 2, .now_ms = now};
	bool change = false;

	if (serving_certs_plan(&arena, &in, ret, &change, NULL) != ERR_OK) {
		ok(false, "a plan");
	}
	return change;
}

/* What the Secret holds must serve those who trust 'trusted'. */
static bool serves(const struct serving_certs *c, mk_str trusted, int64_t now)
{
	int64_t end = 0;

	return tls_check_pem((mk_str){NULL, 0}, c->cert, c->key, NULL) == ERR_OK &&
	       tls_cert_end(c->cert, &end) && end > now &&
	       tls_cert_is_by(c->cert, tls_certs_alive(&arena, trusted, 9, now), names, 2);
}

static void test_first(struct serving_certs *c)
{
	struct serving_certs none = {.ca = {NULL, 0}};
	struct serving_certs next;
	struct serving_certs bad;

	ok(plan(&none, STR(""), T0, c), "with an empty Secret everything is made");
	ok(serves(c, c->ca, T0), "and serves");
	ok(!plan(c, STR(""), T0, &next), "after that nothing changes");
	bad = *c;
	bad.key = bad.ca_key;
	ok(plan(&bad, c->ca, T0, &next) && str_eq(next.ca, c->ca) && serves(&next, c->ca, T0),
	   "a foreign key: the certificate is signed anew, the authority stays");
	bad = *c;
	bad.ca_key = STR("");
	ok(plan(&bad, c->ca, T0, &next) && str_ends(next.ca, c->ca) && str_eq(next.cert, c->cert),
	   "no key of the authority: a new one beside it, while the certificate is good");
	bad = (struct serving_certs){STR("a"), STR("b"), STR("c"), STR("d")};
	ok(plan(&bad, STR(""), T0, &next) && serves(&next, next.ca, T0),
	   "rubbish: all is made anew");
}

static void test_names(const struct serving_certs *c)
{
	const mk_str other[] = {STR("other.ns.svc")};
	const mk_str bad[] = {STR("a b")};
	struct serving_input in = {
		.have = *c, .trusted = c->ca, .names = other, .n_names = 1, .now_ms = T0};
	struct serving_certs next;
	bool change = false;

	serving_certs_plan(&arena, &in, &next, &change, NULL);
	ok(change && tls_cert_is_by(next.cert, c->ca, other, 1), "another name is signed for");
	in.names = bad;
	is_int(serving_certs_plan(&arena, &in, &next, &change, NULL), ERR_INVALID,
	       "a name that none can have is told");
}

static void test_years(struct serving_certs c)
{
	mk_str trusted = c.ca;
	int changes = 0;
	int new_cas = 0;
	bool always = true;

	for (int day = 30; day < 13 * 365; day += 30) {
		int64_t now = T0 + day * DAY_MS;
		struct serving_certs next;

		/* The webhook configuration follows a step after the Secret. */
		if (plan(&c, trusted, now, &next)) {
			changes++;
			new_cas += str_eq(next.ca_key, c.ca_key) ? 0 : 1;
			c = next;
		} else {
			trusted = c.ca;
		}
		if (!serves(&c, trusted, now)) {
			always = false;
			printf("# day %d\n", day);
			break;
		}
	}
	ok(always, "a trusted certificate at all times");
	is_int(new_cas, 1, "one new authority");
	ok(changes > 13 && changes < 26, "and about one change each year");
	ok(c.ca.n < 3000, "old authorities are let go");
}

static void test_memory(const struct serving_certs *c)
{
	enum mk_code code = ERR_NO_MEMORY;

	for (uint64_t n = 1; n < 100 && code != ERR_OK; n++) {
		struct serving_input in = {.have = *c, .names = names, .n_names = 2, .now_ms = T0};
		struct serving_certs next;
		bool change = false;
		struct arena a;

		in.have.key = (mk_str){NULL, 0};
		arena_init(&a, 0);
		alloc_fail_after(n);
		code = serving_certs_plan(&a, &in, &next, &change, NULL);
		alloc_fail_after(0);
		arena_done(&a);
		if (code != ERR_OK && code != ERR_NO_MEMORY) {
			break;
		}
	}
	is_int(code, ERR_OK, "out of memory is an error and nothing else");
}

int main(void)
{
	struct serving_certs c;

	arena_init(&arena, 0);
	test_first(&c);
	test_names(&c);
	test_years(c);
	test_memory(&c);
	arena_done(&arena);
	return done_testing();
}
