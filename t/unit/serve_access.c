/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What users may read, as the API server says: the question for a user that is known, what is
 * remembered and for how long, and that it is bounded. serve_metrics_access.c asks by a token.
 */
#include "t/lib/kube_fake.h"
#include "t/lib/parse_json.h"

#include "core/serve/access.h"

#define ACCESS "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"
#define TOKENS "POST /apis/authentication.k8s.io/v1/tokenreviews"

enum { ROWS = 4, MINUTE_MS = 60000 };

static struct fake f;
static struct access *m;
static struct arena arena;
static char user[256];
static int64_t now = 1000;

/* May the user list the workloads of that namespace? */
static int ask(const char *who, const char *ns)
{
	struct json *about = parse_json(&arena, "{\"verb\":\"list\",\"resource\":\"workloads\"}");
	mk_str name;
	int status;

	json_set_str(&arena, about, "namespace", str_of(ns));
	status = access_ask(m,
			    &(struct access_question){.token = STR(""),
						      .user = parse_json(&arena, who),
						      .attributes = "resourceAttributes",
						      .about = about},
			    now, &name);
	fake_copy(user, sizeof(user), name);
	return status;
}

static size_t asked(void)
{
	size_t n = 0;

	for (size_t i = 0; i < f.n; i++) {
		n += strstr(f.calls[i].path, "reviews") != NULL;
	}
	return n;
}

static void decided(bool allowed)
{
	access_run(m, now);
	fake_answer(&f, 0, ACCESS, 201,
		    allowed ? "{\"status\":{\"allowed\":true}}"
			    : "{\"status\":{\"allowed\":false}}");
	ok(access_run(m, now), "it is decided");
}

#define JANE "{\"username\":\"jane\",\"groups\":[\"a\"],\"extra\":{\"k\":[\"v\"]}}"

static void test_user(void)
{
	const struct fake_call *c;

	is_int(ask(JANE, "ns"), ACCESS_WAIT, "a first question");
	is_int(ask(JANE, "ns"), ACCESS_WAIT, "and once more");
	access_run(m, now);
	is_int((int64_t)asked(), 1, "are one request");
	c = fake_find(&f, 0, ACCESS);
	is_str(c ? c->body : "",
	       "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\","
	       "\"spec\":{\"resourceAttributes\":{\"verb\":\"list\",\"resource\":\"workloads\","
	       "\"namespace\":\"ns\"},\"user\":\"jane\",\"groups\":[\"a\"],\"extra\":{\"k\":[\"v\"]"
	       "}"
	       "}}",
	       "which says who asks for what");
	decided(true);
	is_int(ask(JANE, "ns"), 200, "a yes");
	is_str(user, "jane", "... of whom");
	now += MINUTE_MS - 1;
	is_int(ask(JANE, "ns"), 200, "is remembered for a minute");
	is_int((int64_t)asked(), 1, "without a request");
	is_int(ask("{\"username\":\"jane\",\"groups\":[\"b\"]}", "ns"), ACCESS_WAIT,
	       "with another group it is another question");
	decided(false);
	is_int(ask("{\"username\":\"jane\",\"groups\":[\"b\"]}", "ns"), 403, "with its own answer");
	is_int(ask(JANE, "other"), ACCESS_WAIT, "another namespace is another question");
	decided(false);
	is_int(ask(JANE, "other"), 403, "with its own answer");
	now += 1;
	is_int(ask(JANE, "ns"), ACCESS_WAIT, "then the yes is asked for again");
	decided(false);
	is_int(ask(JANE, "ns"), 403, "and a right that was taken away is gone");
	now += MINUTE_MS / 2;
	is_int(ask(JANE, "ns"), ACCESS_WAIT, "a no is remembered for half a minute");
	decided(true);
	is_int(ask(JANE, "ns"), 200, "and a right that was given counts");
}

static void test_bounds(void)
{
	size_t before = asked();
	char ns[16];

	now += MINUTE_MS;
	for (int i = 0; i < ROWS; i++) {
		snprintf(ns, sizeof(ns), "ns-%d", i);
		is_int(ask(JANE, ns), ACCESS_WAIT, "as many as there is room for");
	}
	is_int(ask(JANE, "one-more"), 503, "one more is turned away");
	access_run(m, now);
	is_int((int64_t)(asked() - before), ROWS, "and not asked");
	for (int i = 0; i < ROWS; i++) {
		fake_answer(&f, 0, ACCESS, 201, "{\"status\":{\"allowed\":true}}");
	}
	ok(access_run(m, now), "they are decided");
	is_int(ask(JANE, "one-more"), ACCESS_WAIT, "the oldest answer makes room");
	decided(true);
}

/* Who has the token is all that is asked. */
static void test_token(void)
{
	const struct access_question q = {.token = STR("abc")};
	mk_str name;

	is_int(access_ask(m, &q, now, &name), ACCESS_WAIT, "a token without a question");
	access_run(m, now);
	fake_answer(&f, 0, TOKENS, 201,
		    "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"jack\"}}}");
	ok(access_run(m, now), "is decided by one request");
	is_int(access_ask(m, &q, now, &name), 200, "it is known");
	is_str(name.p, "jack", "... whose it is");
	for (size_t i = 0; i < f.n; i++) {
		if (strstr(f.calls[i].path, "tokenreviews")) {
			ok(strstr(f.calls[i].body, "abc") != NULL, "the API server got the token");
		}
	}
}

int main(void)
{
	arena_init(&arena, 0);
	fake_init(&f, 7);
	fake_manager(&f);
	m = access_new(&(struct access_options){.kube = f.k, .module = "visibility", .rows = ROWS});
	test_user();
	test_bounds();
	test_token();
	fake_done(&f);
	access_free(m);
	access_free(NULL);
	arena_done(&arena);
	return done_testing();
}
