/* SPDX-License-Identifier: Apache-2.0 */
/* States that the consumer knows: nothing is parsed, and lists are complete all the same. */
#include "t/lib/kube_fake.h"

static struct fake f;
static uint64_t known_rv, asked;
static struct kube_reply last;

#define W "/workloads?"
#define JOB(rv, more)                                            \
	"{\"kind\":\"Job\",\"apiVersion\":\"batch/"              \
	"v1\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"," \
	"\"uid\":\"u\",\"resourceVersion\":\"" rv "\"" more "}}"

static bool knows(const struct event *ev)
{
	ok(!ev->obj && ev->rv > 0 && ev->name.n > 0, "it is asked by identity and version");
	asked++;
	return ev->rv <= known_rv;
}

static void on_reply(void *ctx, uint64_t id, const struct kube_reply *r)
{
	(void)ctx;
	(void)id;
	last = *r;
}

static void ask(enum kube_verb verb)
{
	struct kube_request r = {.cluster = 1,
				 .verb = verb,
				 .kind = KIND_FIRST_JOB,
				 .ns = STR("n"),
				 .name = STR("j"),
				 .subresource = "",
				 .body = STR("{}"),
				 .timeout_ms = 30000};

	is_int(kube_send(f.k, &r, 1, on_reply, NULL, NULL), ERR_OK, "sent");
}

static void test_watch(void)
{
	uint64_t t;

	fake_init(&f, 1);
	fake_manager(&f);
	fake_worker(&f);
	fake_story(&f);
	t = fake_token(&f, 1, W);
	f.knows = knows;
	known_rv = 502;
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 501);
	fake_line(&f, t, "MODIFIED", KUEUE, "Workload", "n", "a", 502);
	is_str(fake_story(&f), "", "echoes are not told");
	is_int((int64_t)asked, 2, "each was asked for");
	fake_line(&f, t, "MODIFIED", KUEUE, "Workload", "n", "a", 503);
	fake_line(&f, t, "DELETED", KUEUE, "Workload", "n", "a", 504);
	is_str(fake_story(&f),
	       "observed 1 Workload n/a uid=u-a rv=503 via=watch\n"
	       "gone 1 Workload n/a uid=u-a rv=504\n",
	       "news and deletions are");
	known_rv = 600;
	fake_line(&f, t, "MODIFIED", KUEUE, "Workload", "n", "b", 600);
	fake_wait(&f, 15000);
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	ok(fake_find(&f, 1, "resourceVersion=600") != NULL, "resumed from an echo's version");
	fake_done(&f);
}

static void test_replay(void)
{
	uint64_t t;

	fake_init(&f, 3);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "");
	fake_handshake(&f, 1, "w");
	fake_story(&f);
	f.knows = knows;
	known_rv = 9;
	t = fake_stream(&f, 1, W);
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 7);
	fake_mark(&f, t, KUEUE, "Workload", 10);
	ok(strstr(fake_story(&f), "list_end 1 Workload rv=10") != NULL, "the list is complete");
	fake_done(&f);
}

static void test_answers(void)
{
	fake_init(&f, 5);
	fake_manager(&f);
	fake_worker(&f);
	f.knows = knows;
	known_rv = 12;
	ask(KUBE_MERGE);
	fake_answer(&f, 1, "PATCH ", 200, JOB("12", ""));
	ok(last.outcome == OUTCOME_APPLIED && !last.obj && last.rv == 12, "a known answer");
	ask(KUBE_MERGE);
	fake_answer(&f, 1, "PATCH ", 200, JOB("12", ",\"deletionTimestamp\":\"t\""));
	ok(last.obj != NULL && last.rv == 0, "of an object that is being deleted");
	ask(KUBE_MERGE);
	fake_answer(&f, 1, "PATCH ", 200, JOB("13", ""));
	ok(last.obj != NULL && last.rv == 0, "news");
	ask(KUBE_GET);
	fake_answer(&f, 1, "GET /apis/batch", 200, JOB("12", ""));
	ok(last.obj != NULL, "a get is for the object");
	fake_done(&f);
}

int main(void)
{
	test_watch();
	test_replay();
	test_answers();
	return tap_done();
}
