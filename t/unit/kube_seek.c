/* SPDX-License-Identifier: Apache-2.0 */
/* A kind that is missing on a cluster, and when it is asked for again. */
#include "t/lib/kube_fake.h"

static struct fake f;

#define PATH "/apis/batch/v1"
#define GROUP "GET " PATH
#define NONE "404 page not found\n"

static void sought(uint32_t cluster, bool on)
{
	struct op op = {.type = OP_WATCH_OPEN,
			.cluster = cluster,
			.kind = KIND_FIRST_JOB,
			.selector = STR("o=m"),
			.sought = on};

	is_int(kube_do(f.k, &op, NULL), ERR_OK, on ? "sought" : "not sought any more");
}

/* Is the group asked at this moment? Its name begins the paths of its objects as well. */
static bool asked(void)
{
	for (size_t i = 0; i < f.n; i++) {
		const struct fake_call *c = &f.calls[i];

		if (c->open && c->cluster == 1 && strcmp(c->path, PATH) == 0) {
			return true;
		}
	}
	return false;
}

/*
 * Lets time pass; what is asked of the group is answered with 'http'. Returns how often that was.
 */
static int pass(int seconds, int http, const char *body)
{
	int n = 0;

	for (int i = 0; i < seconds * 2; i++) {
		fake_wait(&f, 500);
		if (i % 20 == 0) {
			fake_mark(&f, fake_token(&f, 1, "/workloads?"), KUEUE, "Workload", 500);
		}
		if (fake_find(&f, 1, PROBE) != NULL) {
			fake_answer(&f, 1, PROBE, 200, VERSION_DOC);
		}
		if (asked()) {
			fake_answer(&f, 1, GROUP, http, body);
			n++;
		}
	}
	return n;
}

/* A worker that is up, without the kind. */
static void begin(uint64_t seed, int http, const char *body)
{
	fake_init(&f, seed);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "o=m");
	fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
	fake_answer(
		&f, 1, "/namespaces/kube-system", 200,
		"{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"kube-system\",\"uid\":\"w\"}}");
	fake_answer(&f, 1, "GET /apis/kueue", 200, KUEUE_DOC);
	fake_answer(&f, 1, GROUP, http, body);
	fake_empty(&f, 1, "/workloads?", KUEUE, "Workload", 500);
	ok(kube_is_up(f.k, 1), "a worker is up, without the kind");
	fake_story(&f);
}

static void test_comes(void)
{
	size_t before;

	begin(1, 404, NONE);
	is_int(pass(200, 404, NONE), 0, "no job needs it: not asked");
	before = f.n;
	sought(1, true);
	ok(asked(), "a job needs it: at once");
	is_int((int64_t)(f.n - before), 1, "and nothing else is asked");
	fake_answer(&f, 1, GROUP, 404, NONE);
	is_int(pass(60, 404, NONE), 4, "then four times a minute");
	is_str(fake_story(&f), "", "which is no news");
	is_int(pass(20, 200, BATCH_DOC), 1, "it is there: found in 20 s");
	is_str(fake_story(&f), "served 1 Job.batch\n", "told");
	ok(fake_find(&f, 1, "/jobs?") != NULL, "and watched");
	is_int(pass(100, 200, BATCH_DOC), 0, "and asked for no more");
	fake_done(&f);
}

static void test_goes(void)
{
	begin(2, 404, NONE);
	is_int(pass(20, 404, NONE), 0, "not asked at first");
	for (int i = 0; i < 10; i++) {
		sought(1, true);
		sought(1, false);
	}
	is_int(pass(60, 404, NONE), 1, "who asks ten times in a moment has one answer");
	sought(1, true);
	sought(1, false);
	is_int(pass(150, 404, NONE), 1, "what is not needed any more is not asked for");
	fake_done(&f);
}

/* The group has other kinds; then the connection is lost. */
static void test_link(void)
{
	static const char other[] =
		"{\"kind\":\"APIResourceList\",\"groupVersion\":\"batch/v1\",\"resources\":["
		"{\"name\":\"cronjobs\",\"kind\":\"CronJob\",\"namespaced\":true}]}";

	begin(3, 200, other);
	sought(1, true);
	is_int(pass(60, 200, other), 4, "a kind that its group lacks is sought, too");
	fake_end(&f, fake_token(&f, 1, "/workloads?"), TRANSPORT_LOST, ERR_UNAVAILABLE, "gone");
	fake_wait(&f, 10);
	fake_end(&f, fake_token(&f, 1, PROBE), TRANSPORT_NOT_SENT, ERR_UNAVAILABLE, "gone");
	ok(!kube_is_up(f.k, 1), "the link goes down");
	for (int i = 0; i < 60; i++) {
		fake_wait(&f, 1000);
		if (fake_find(&f, 1, "GET /version") != NULL) {
			fake_end(&f, fake_token(&f, 1, "GET /version"), TRANSPORT_NOT_SENT,
				 ERR_UNAVAILABLE, "gone");
		}
		if (asked()) {
			ok(false, "asked while it is down");
			break;
		}
	}
	fake_done(&f);
}

/*
 * What is refused is there: a right that was away for a moment is soon back, and else it is no use
 * to ask before an operator gives it.
 */
static void test_denied(void)
{
	static const char no[] = "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\"}";

	begin(4, 403, no);
	sought(1, true);
	is_int(pass(20, 403, no), 4, "a group that is refused is asked for again soon");
	is_int(pass(43, 403, no), 2, "then ever more seldom");
	is_int(pass(60, 403, no), 1, "once a minute in the end");
	is_int(pass(61, 200, BATCH_DOC), 1, "it may be asked for");
	fake_story(&f);
	fake_answer(&f, 1, "/jobs?", 403, no);
	is_str(fake_story(&f), "unserved 1 Job.batch code=denied text=forbidden\n",
	       "but not listed");
	is_int(pass(58, 200, BATCH_DOC), 0, "that is the same");
	is_int(pass(3, 200, BATCH_DOC), 1, "for a minute");
	fake_empty(&f, 1, "/jobs?", "batch/v1", "Job", 500);
	fake_end(&f, fake_token(&f, 1, "/jobs?"), TRANSPORT_OK, ERR_OK, "");
	fake_wait(&f, 5000);
	fake_answer(&f, 1, "/jobs?", 403, no);
	is_int(pass(2, 200, BATCH_DOC), 1, "once it was listed, it begins again with a second");
	fake_done(&f);
}

/* The group's answer is 429, for which the server asks so long a pause (-1: none). */
static int busy(int seconds, int64_t after)
{
	int n = 0;

	for (int i = 0; i < seconds * 2; i++) {
		fake_wait(&f, 500);
		if (fake_find(&f, 1, PROBE) != NULL) {
			fake_answer(&f, 1, PROBE, 200, VERSION_DOC);
		}
		if (asked()) {
			uint64_t t = fake_token(&f, 1, GROUP);

			fake_head(&f, t, 429, "application/json", after);
			fake_chunk(&f, t, "{\"kind\":\"Status\",\"code\":429}");
			fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
			n++;
		}
	}
	return n;
}

/*
 * A busy server does not say what it serves: a job that has ended there would count as lost, had
 * that been asked again half a minute later.
 */
static void test_busy(void)
{
	size_t before;
	int n;

	begin(5, 429, "{\"kind\":\"Status\",\"code\":429}");
	before = f.n;
	ok(busy(1, -1) == 1, "a group that could not be asked is asked again after a second");
	is_int((int64_t)(f.n - before), 1, "and no other");
	n = busy(14, -1);
	ok(n >= 3 && n <= 4, "then ever later");
	(void)busy(60, -1);
	n = busy(120, -1);
	ok(n >= 4 && n <= 8, "twice a minute in the end");
	fake_story(&f);
	is_int(pass(31, 200, BATCH_DOC), 1, "it answers");
	is_str(fake_story(&f), "served 1 Job.batch\n", "told");
	is_int(pass(200, 200, BATCH_DOC), 0, "and is asked no more");
	fake_done(&f);

	begin(6, 503, "{\"kind\":\"Status\",\"code\":503}");
	is_int(busy(10, 60000), 1, "the pause that the server asks for");
	is_int(busy(50, 60000), 0, "is kept");
	is_int(busy(3, 60000), 1, "and no longer");
	fake_done(&f);
}

int main(void)
{
	test_comes();
	test_goes();
	test_link();
	test_denied();
	test_busy();
	return done_testing();
}
