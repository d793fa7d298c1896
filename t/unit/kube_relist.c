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
	ok(strstr(manager_asked(W), "&resourceVersion=501") != NULL,
	   "then the server is asked whether it has come that far");
	fake_done(&f);
}

/* Refuses each list of a worker's Workloads for so long, or until a new epoch begins. */
static void refuse_for(int64_t ms)
{
	int64_t end = f.mono + ms;

	while (f.mono < end && !strstr(f.story, "epoch=1")) {
		if (fake_find(&f, 1, PROBE) != NULL) {
			fake_answer(&f, 1, PROBE, 200, NAMESPACE_DOC);
		}
		if (fake_find(&f, 1, W "watch=1") != NULL &&
		    strstr(fake_find(&f, 1, W)->path, "resourceVersion=777") != NULL) {
			fake_chunk(&f, fake_stream(&f, 1, W),
				   "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
				   "\"code\":504,\"reason\":\"Timeout\",\"message\":\"Too large "
				   "resource version\"}}\n");
		} else if (fake_find(&f, 1, W "watch=1") != NULL) {
			fake_mark(&f, fake_stream(&f, 1, W), KUEUE, "Workload", 7);
		}
		fake_wait(&f, 500);
	}
}

static void close_and_open(int64_t pause_ms)
{
	struct op op = {.cluster = 1, .kind = KIND_WORKLOAD, .selector = STR("o=m")};

	op.type = OP_WATCH_CLOSE;
	kube_do(f.k, &op, NULL);
	fake_wait(&f, pause_ms);
	op.type = OP_WATCH_OPEN;
	kube_do(f.k, &op, NULL);
}

/* A watch of which 777 was seen; its server went back. */
static void went_back(uint64_t seed)
{
	uint64_t t;

	fake_init(&f, seed);
	fake_manager(&f);
	fake_worker(&f);
	t = fake_token(&f, 1, W);
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 777);
	fake_end(&f, t, TRANSPORT_LOST, ERR_UNAVAILABLE, "restored");
	fake_story(&f);
}

/*
 * A store that went back is believed a minute after its lists were refused first, however often the
 * watch is opened anew meanwhile: a new leader does that, and each contradiction.
 */
static void test_minute_goes_on(void)
{
	int64_t began;

	went_back(26);
	began = f.mono;
	refuse_for(20000);
	ok(strstr(fake_story(&f), "behind 1 Workload\n") != NULL, "a store that went back");
	close_and_open(0);
	refuse_for(20000);
	ok(strstr(fake_story(&f), "behind 1 Workload\n") != NULL,
	   "told again by a watch that is opened anew");
	close_and_open(1000);
	refuse_for(60000);
	ok(f.mono - began >= 60000, "for a minute it is not believed");
	ok(f.mono - began < 70000, "which goes on when the watch is opened again");
	refuse_for(10000);
	ok(strstr(f.story, "list_end 1 Workload rv=7 epoch=1\n") != NULL, "then it is");
	fake_done(&f);

	/* Nothing is known of the time in which the server was not asked: it may have caught up. */
	went_back(27);
	refuse_for(50000);
	close_and_open(20000);
	began = f.mono;
	refuse_for(90000);
	ok(f.mono - began >= 60000, "after a longer pause the minute begins anew");
	fake_done(&f);

	/* Lists that are refused once more after one was told begin a minute of their own. */
	went_back(28);
	refuse_for(50000);
	fake_wait(&f, 5000);
	fake_mark(&f, fake_stream(&f, 1, W), KUEUE, "Workload", 777);
	close_and_open(0);
	began = f.mono;
	refuse_for(90000);
	ok(f.mono - began >= 60000, "a list that was told ends the minute");
	fake_done(&f);
}

int main(void)
{
	test_opened_again();
	test_minute_goes_on();
	test_short_is_listed();
	test_stale();
	test_newest();
	return done_testing();
}
