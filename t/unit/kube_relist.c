/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch machine: what is short is listed again after its connection was lost, and the engine
 * does not rely on the manager's objects meanwhile; kube_watch.c has all the rest.
 */
#include "t/lib/kube_fake.h"

static struct fake f;

#define W "/workloads?"
#define NAMESPACE_DOC \
	"{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"kube-system\",\"uid\":\"worker-uid\"}}"

/*
 * The store went back and has come past what we saw since: a probe of the version cannot tell. What
 * is short is listed again, and the keeper of the objects compares.
 */
static void test_short_is_listed(void)
{
	uint64_t t;

	fake_init(&f, 19);
	fake_manager(&f);
	fake_worker(&f);
	fake_story(&f);
	t = fake_token(&f, 1, W);
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 501);
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	fake_story(&f);
	fake_wait(&f, 2000);
	t = fake_stream(&f, 1, W);
	is_str(fake_story(&f), "", "after a clean end it is resumed");
	fake_end(&f, t, TRANSPORT_LOST, ERR_UNAVAILABLE, "gone");
	fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
	fake_wait(&f, 3000);
	ok(!fake_find(&f, 1, "limit=1&"), "after a loss a short table is not probed");
	ok(fake_find(&f, 1,
		     "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
		     "resourceVersion=501") != NULL,
	   "but listed, not older than what was seen");
	t = fake_stream(&f, 1, W);
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 500);
	fake_mark(&f, t, KUEUE, "Workload", 600);
	is_str(fake_story(&f),
	       "list_begin 1 Workload\n"
	       "observed 1 Workload n/a uid=u-a rv=500 via=list\n"
	       "list_end 1 Workload rv=600\n",
	       "what it holds is told");
	ok(kube_is_up(f.k, 1), "the link is up all the while");
	fake_done(&f);
}

/* A watch that is closed and opened again is a new look, but none at an older store. */
static void test_opened_again(void)
{
	struct op op = {.cluster = 1, .kind = KIND_WORKLOAD, .selector = STR("o=m")};

	fake_init(&f, 20);
	fake_manager(&f);
	fake_worker(&f);
	fake_line(&f, fake_token(&f, 1, W), "ADDED", KUEUE, "Workload", "n", "a", 777);
	op.type = OP_WATCH_CLOSE;
	is_int(kube_do(f.k, &op, NULL), ERR_OK, "closed");
	op.type = OP_WATCH_OPEN;
	is_int(kube_do(f.k, &op, NULL), ERR_OK, "opened");
	ok(fake_find(&f, 1,
		     "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
		     "resourceVersion=777") != NULL,
	   "the list is not older than what was seen before");
	fake_done(&f);
}

/* Answers probes of the link until the manager is asked for 'part'; the whole path. */
static const char *manager_asked(const char *part)
{
	for (int i = 0; i < 30 && !fake_find(&f, 0, part); i++) {
		fake_wait(&f, 1000);
		if (fake_find(&f, 0, "GET /version") != NULL) {
			fake_answer(&f, 0, "GET /version", 200, VERSION_DOC);
		}
	}
	return fake_find(&f, 0, part)->path;
}

/*
 * The manager's stream breaks: what it showed is not relied on before it goes on, or is listed
 * anew.
 */
static void test_stale(void)
{
	uint64_t t;

	fake_init(&f, 19);
	fake_manager(&f);
	t = fake_token(&f, 0, "/workloads?");
	fake_many(&f, t, 500);
	fake_story(&f);
	fake_end(&f, t, TRANSPORT_LOST, ERR_UNAVAILABLE, "reset");
	is_str(fake_story(&f), "stale 0 Workload\n", "its stream broke");
	manager_asked("/workloads?limit=1&");
	fake_answer(&f, 0, "/workloads?limit=1&", 200,
		    "{\"kind\":\"WorkloadList\",\"metadata\":{\"resourceVersion\":\"501\"},"
		    "\"items\":[]}");
	is_str(fake_story(&f), "", "the server has come that far, and the stream is not there yet");
	t = fake_stream(&f, 0, "/workloads?watch=1");
	is_str(fake_story(&f), "fresh 0 Workload\n", "it goes on");
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	ok(!strstr(fake_story(&f), "fresh"), "said once");
	fake_done(&f);

	/* A server that was restored answers the head before it looks at the version. */
	fake_init(&f, 24);
	fake_manager(&f);
	t = fake_token(&f, 0, W);
	fake_many(&f, t, 500);
	fake_wait(&f, 130000);
	fake_end(&f, t, TRANSPORT_LOST, ERR_UNAVAILABLE, "reset");
	manager_asked("/workloads?limit=1&");
	fake_answer(&f, 0, "/workloads?limit=1&", 200, "{\"kind\":\"WorkloadList\"}");
	t = fake_stream(&f, 0, "/workloads?watch=1");
	fake_wait(&f, 1000);
	fake_chunk(&f, t,
		   "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
		   "\"reason\":\"Expired\"}}\n");
	is_str(fake_story(&f), "stale 0 Workload\nfresh 0 Workload\nstale 0 Workload\n",
	       "a stream that is told to list again is doubted again");
	manager_asked("/workloads?watch=1");
	t = fake_stream(&f, 0, W);
	fake_mark(&f, t, KUEUE, "Workload", 600);
	is_str(fake_story(&f), "list_begin 0 Workload\nlist_end 0 Workload rv=600\n",
	       "until the list is there");
	fake_done(&f);

	fake_init(&f, 25);
	fake_manager(&f);
	fake_story(&f);
	fake_chunk(&f, fake_token(&f, 0, W),
		   "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
		   "\"reason\":\"Expired\"}}\n");
	is_str(fake_story(&f), "stale 0 Workload\n", "at once too");
	fake_done(&f);
}

/*
 * What a list of the manager lacks is deleted on workers: a list that is
 * merely not too old will not do.
 */
static void test_newest(void)
{
	const char *path;
	uint64_t t;

	fake_init(&f, 23);
	fake_manager(&f);
	t = fake_token(&f, 0, W);
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 501);
	fake_end(&f, t, TRANSPORT_LOST, ERR_UNAVAILABLE, "gone");
	path = manager_asked(W);
	ok(strstr(path, "sendInitialEvents=true") && !strstr(path, "resourceVersion="),
	   "the manager is asked for the newest list");
	fake_story(&f);
	t = fake_stream(&f, 0, W);
	fake_mark(&f, t, KUEUE, "Workload", 400);
	is_str(fake_story(&f), "list_begin 0 Workload\nbehind 0 Workload\n",
	       "which is older than what was seen: refused");
	manager_asked("/workloads?limit=1");
	fake_answer(&f, 0, "/workloads?limit=1", 200,
		    "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"501\"},\"items\":[]}");
	ok(strstr(manager_asked(W), "&resourceVersion=501") != NULL,
	   "its store is not: the server is asked whether it has come that far");
	fake_done(&f);
}

int main(void)
{
	test_opened_again();
	test_short_is_listed();
	test_stale();
	test_newest();
	return done_testing();
}
