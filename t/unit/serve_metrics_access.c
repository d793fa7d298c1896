/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may read metrics: the two questions, what is remembered, and that strangers
 * cannot make the API server busy.
 */
#include "t/lib/kube_fake.h"

#include "core/serve/metrics_access.h"

static struct fake f;
static struct metrics_access *m;
static char text[1024];
static int status;
static int64_t now = 1000; /* of the table: the link need not notice that time goes on */

static enum http_verdict ask(const char *method, const char *authorization)
{
	struct http_request rq = {
		.method = method, .path = STR("/metrics"), .authorization = str_of(authorization)};
	struct http_answer a = {.status = 200};
	enum http_verdict verdict;

	buf_init(&a.body, sizeof(text));
	verdict = metrics_access_ask(m, &rq, &a, now);
	fake_copy(text, sizeof(text), buf_str(&a.body));
	status = a.status;
	buf_done(&a.body);
	return verdict;
}

/* Lets time go on until something is decided, at most for 'ms'. */
static bool run(int64_t ms)
{
	int64_t until = now + ms;

	for (;;) {
		int64_t next = metrics_access_next_ms(m);

		if (metrics_access_run(m, now)) {
			return true;
		}
		if (now >= until) {
			return false;
		}
		next = next <= now ? now + 1 : next;
		now = next < until ? next : until;
	}
}

static size_t n_reviews(void)
{
	size_t n = 0;

	for (size_t i = 0; i < f.n; i++) {
		n += strstr(f.calls[i].path, "reviews") != NULL;
	}
	return n;
}

#define TOKENS "POST /apis/authentication.k8s.io/v1/tokenreviews"
#define ACCESS "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"

static void known_as(const char *user)
{
	char body[512];

	snprintf(body, sizeof(body),
		 "{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true,\"user\":%s}}",
		 user);
	fake_answer(&f, 0, TOKENS, 201, body);
}

static void test_yes(void)
{
	const struct fake_call *c;
	size_t before = n_reviews();

	is_int(ask("GET", ""), HTTP_NO, "no token");
	ok(status == 401 && strcmp(text, "Unauthorized\n") == 0, "is Unauthorized, at once");
	is_int(ask("GET", "Basic abc"), HTTP_NO, "another scheme");
	is_int(ask("GET", "Bearer "), HTTP_NO, "an empty token");
	is_int(n_reviews() - before, 0, "no review is sent about them");
	is_int(ask("GET", "bEarer t0ken"), HTTP_WAIT, "a token is asked about");
	is_int(n_reviews() - before, 0, "but not inside of the question");
	run(0);
	c = fake_find(&f, 0, TOKENS);
	is_str(c != NULL ? c->body : "",
	       "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\",\"spec\":{"
	       "\"token\":\"t0ken\"}}",
	       "a TokenReview");
	ok(c != NULL && c->cls == TRANSPORT_READ, "that a standby may send, too");
	is_int(ask("GET", "Bearer t0ken"), HTTP_WAIT, "meanwhile nothing is known");
	known_as("{\"username\":\"u\",\"uid\":\"7\",\"groups\":[\"g\"],\"extra\":{\"k\":[\"v\"]}}");
	run(0);
	c = fake_find(&f, 0, ACCESS);
	is_str(c != NULL ? c->body : "",
	       "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\","
	       "\"spec\":{\"nonResourceAttributes\":{\"path\":\"/metrics\",\"verb\":\"get\"},"
	       "\"user\":\"u\",\"uid\":\"7\",\"groups\":[\"g\"],\"extra\":{\"k\":[\"v\"]}}}",
	       "then a SubjectAccessReview with all that is known of the user");
	fake_answer(&f, 0, ACCESS, 201, "{\"status\":{\"allowed\":true}}");
	ok(run(0), "decided");
	is_int(ask("GET", "Bearer t0ken"), HTTP_GO, "may read");
	is_int(n_reviews() - before, 2, "by two requests");
	now += 59000;
	is_int(ask("GET", "Bearer t0ken"), HTTP_GO, "remembered for a minute");
	is_int(n_reviews() - before, 2, "without a request");
	now += 1000;
	is_int(ask("GET", "Bearer t0ken"), HTTP_WAIT, "not longer");
	run(0);
	known_as("{\"username\":\"u\"}");
	run(0);
	fake_answer(&f, 0, ACCESS, 201, "{\"status\":{\"allowed\":false,\"reason\":\"gone\"}}");
	run(0);
	is_int(ask("GET", "Bearer t0ken"), HTTP_NO, "a right that was taken away");
	ok(status == 403 && strcmp(text, "Authorization denied for user u\n") == 0, "is denied");
	is_int(ask("POST", "Bearer t0ken"), HTTP_WAIT, "another method is another question");
}

static void test_no(void)
{
	is_int(ask("GET", "Bearer other"), HTTP_WAIT, "an unknown token");
	run(0);
	fake_answer(&f, 0, TOKENS, 201, "{\"status\":{\"user\":{},\"error\":\"expired\"}}");
	run(0);
	is_int(ask("GET", "Bearer other"), HTTP_NO, "is refused");
	is_int(status, 401, "with 401");
	now += 30000;
	is_int(ask("GET", "Bearer other"), HTTP_WAIT, "and asked about again after 30 s");
}

static void test_failures(void)
{
	static const int64_t waits[] = {0, 500, 750, 1125, 1687};
	size_t before;

	/* Everything of the tests before is over. */
	now += 120000;
	run(10000);
	is_int(ask("GET", "Bearer f"), HTTP_WAIT, "the API server fails");
	before = n_reviews();
	for (size_t i = 0; i < 5; i++) {
		ok(!run(waits[i]), "waiting");
		fake_answer(&f, 0, TOKENS, 500, "{}");
	}
	ok(run(0), "until");
	is_int(n_reviews() - before, 5, "five tries are over");
	is_int(ask("GET", "Bearer f"), HTTP_NO, "then");
	ok(status == 500 && strcmp(text, "Authentication failed\n") == 0, "it is told");
	is_int(ask("GET", "Bearer g"), HTTP_WAIT, "it does not let us ask");
	before = n_reviews();
	run(0);
	known_as("{\"username\":\"u\"}");
	run(0);
	fake_answer(&f, 0, ACCESS, 403, "{\"kind\":\"Status\",\"message\":\"no\"}");
	run(0);
	is_int(ask("GET", "Bearer g"), HTTP_NO, "which no second try would mend");
	ok(status == 500 && strcmp(text, "Authorization for user u failed\n") == 0, "and is told");
	is_int(n_reviews() - before, 2, "after one try");
	is_int(ask("GET", "Bearer h"), HTTP_WAIT, "it does not answer at all");
	run(0);
	now += 9000;
	ok(run(0), "given up before the time of the request is over");
	is_int(ask("GET", "Bearer h"), HTTP_NO, "500");
	known_as("{\"username\":\"late\"}");
	ok(!run(0), "an answer that comes too late changes nothing");
}

static void test_strangers(void)
{
	size_t before = n_reviews();
	char token[32];

	for (int i = 0; i < 16; i++) {
		snprintf(token, sizeof(token), "Bearer s%d", i);
		ask("GET", token);
	}
	is_int(ask("GET", "Bearer one-more"), HTTP_NO, "the seventeenth stranger at once");
	is_int(status, 503, "is told to come again");
	run(0);
	is_int(n_reviews() - before, 16, "sixteen are asked about");
	now += 9000;
	run(0);
	for (int i = 16; i < 200; i++) {
		snprintf(token, sizeof(token), "Bearer s%d", i);
		if (ask("GET", token) == HTTP_WAIT) {
			run(0);
			fake_answer(&f, 0, TOKENS, 201, "{\"status\":{}}");
			run(0);
		}
	}
	is_int(ask("GET", "Bearer s199"), HTTP_NO, "the table stays small: the last is known");
	is_int(ask("GET", "Bearer s16"), HTTP_WAIT, "the first is forgotten");
}

int main(void)
{
	fake_init(&f, 7);
	m = metrics_access_new(f.k);
	ask("GET", "Bearer early");
	ok(!run(100) && n_reviews() == 0, "without a connection nothing is asked yet");
	fake_manager(&f);
	run(5000);
	is_int(n_reviews(), 1, "with it, it is");
	fake_answer(&f, 0, TOKENS, 201, "{\"status\":{}}");
	run(0);
	test_yes();
	test_no();
	test_failures();
	test_strangers();
	fake_done(&f);
	metrics_access_free(m);
	return done_testing();
}
