/* SPDX-License-Identifier: Apache-2.0 */
/* The watch machine: lists, resuming, every way in which a stream can end or talk nonsense. */
#include "t/lib/kube_fake.h"

static struct fake f;

#define W "/workloads?"
#define NEWEST "/workloads?limit=1"
#define LIST_AT(rv) "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"" rv "\"},\"items\":[]}"
#define ERROR_LINE(code, reason)                                                                   \
	"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{" \
	"},\"status\":"                                                                            \
	"\"Failure\",\"message\":\"m\",\"reason\":\"" reason "\",\"code\":" #code "}}\n"

static uint64_t up(uint64_t seed)
{
	fake_init(&f, seed);
	fake_manager(&f);
	fake_worker(&f);
	fake_story(&f);
	return fake_token(&f, 1, W);
}

static void test_events(void)
{
	uint64_t t = up(1);

	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 501);
	fake_line(&f, t, "MODIFIED", KUEUE, "Workload", "n", "a", 502);
	fake_line(&f, t, "DELETED", KUEUE, "Workload", "n", "a", 503);
	is_str(fake_story(&f),
	       "observed 1 Workload n/a uid=u-a rv=501 via=watch\n"
	       "observed 1 Workload n/a uid=u-a rv=502 via=watch\n"
	       "gone 1 Workload n/a uid=u-a rv=503\n",
	       "live events");
	fake_chunk(&f, t,
		   "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Workload\",\"apiVersion\":"
		   "\"kueue.x-k8s.io/v1beta2\","
		   "\"metadata\":{\"resourceVersion\":\"510\"}}}\n");
	fake_wait(&f, 15000);
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	ok(fake_find(&f, 1, "resourceVersion=510&labelSelector=o%3Dm") != NULL,
	   "trap_08: resumed from the bookmark");
	ok(!fake_find(&f, 1, "sendInitialEvents"), "without a replay");
	fake_done(&f);
}

static void test_timeout_seconds(void)
{
	uint64_t t = up(2);
	const char *s = strstr(fake_find(&f, 1, W)->path, "timeoutSeconds=");
	long seconds = s != NULL ? strtol(s + 15, NULL, 10) : 0;

	ok(seconds >= 300 && seconds < 600, "timeoutSeconds is in [300, 600)");
	for (long i = 0; i < seconds + 14; i++) {
		struct fake_call *probe = fake_find(&f, 1, "GET /version");

		fake_wait(&f, 1000);
		if (probe != NULL) {
			fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
		}
	}
	is_int(fake_token(&f, 1, W), (int64_t)t, "the stream may live 15 s longer");
	fake_wait(&f, 2000);
	ok(fake_token(&f, 1, W) != t && fake_find(&f, 1, "resourceVersion=500") != NULL,
	   "then it is replaced, from where it stood");
	fake_done(&f);
}

static void test_replay_is_no_base(void)
{
	uint64_t t = 0;

	fake_init(&f, 3);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "");
	fake_handshake(&f, 1, "w");
	fake_story(&f);
	t = fake_stream(&f, 1, W);
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "b", 90000);
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 7);
	fake_end(&f, t, TRANSPORT_LOST, ERR_UNAVAILABLE, "cut");
	fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
	fake_wait(&f, 2000);
	is_str(fake_story(&f),
	       "list_begin 1 Workload\nobserved 1 Workload n/b uid=u-b rv=90000 via=list\n"
	       "observed 1 Workload n/a uid=u-a rv=7 via=list\n",
	       "a replay that is cut has no end");
	ok(!strstr(fake_find(&f, 1, W)->path, "resourceVersion="),
	   "and begins again without a version");
	t = fake_stream(&f, 1, W);
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 7);
	fake_mark(&f, t, KUEUE, "Workload", 90010);
	is_str(fake_story(&f),
	       "list_begin 1 Workload\nobserved 1 Workload n/a uid=u-a rv=7 via=list\nlist_end 1 "
	       "Workload rv=90010\n"
	       "link 1 up identity=w\n",
	       "a second one ends");
	fake_done(&f);
}

static void test_gone(void)
{
	uint64_t t = up(4);

	/* In the stream. */
	fake_chunk(&f, t, ERROR_LINE(410, "Expired"));
	ok(fake_find(&f, 1,
		     "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion="
		     "500") != NULL,
	   "410 as a line: listed again at once, not older than what was seen");
	t = fake_stream(&f, 1, W);
	fake_mark(&f, t, KUEUE, "Workload", 600);
	is_str(fake_story(&f), "list_begin 1 Workload\nlist_end 1 Workload rv=600\n", "a new list");
	ok(kube_is_up(f.k, 1), "the link stays up");
	/* As an answer. */
	fake_wait(&f, 130000);
	if (fake_find(&f, 1, "GET /version") != NULL) {
		fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
	}
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	fake_answer(&f, 1, "resourceVersion=600", 410,
		    "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too "
		    "old\"}");
	fake_wait(&f, 2000);
	ok(fake_find(&f, 1, "sendInitialEvents=true") != NULL, "410 as a status: listed again");
	fake_done(&f);
}

static void test_limited(void)
{
	uint64_t t = up(5);

	fake_wait(&f, 15000);
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	t = fake_token(&f, 1, W);
	fake_head(&f, t, 429, "application/json", 5000);
	fake_chunk(&f, t, "{\"kind\":\"Status\",\"reason\":\"TooManyRequests\"}");
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	fake_wait(&f, 4900);
	ok(!fake_find(&f, 1, W), "429: waits as told");
	fake_wait(&f, 1000);
	ok(fake_find(&f, 1, "resourceVersion=500") != NULL, "and keeps the version");
	fake_chunk(&f, fake_stream(&f, 1, W), ERROR_LINE(429, "TooManyRequests"));
	fake_wait(&f, 7000);
	ok(fake_find(&f, 1, "resourceVersion=500") != NULL, "the same as a line");
	ok(kube_is_up(f.k, 1), "the link does not mind");
	fake_done(&f);
}

static void test_short(void)
{
	uint64_t t = up(6);

	fake_wait(&f, 15000);
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	t = fake_stream(&f, 1, W);
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	ok(!fake_find(&f, 1, W), "an empty stream of no length backs off");
	fake_wait(&f, 1700);
	t = fake_stream(&f, 1, "resourceVersion=500");
	fake_wait(&f, 3000);
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	ok(!fake_find(&f, 1, W), "two clean ends in 10 s slow down");
	fake_wait(&f, 5000);
	t = fake_stream(&f, 1, "resourceVersion=500");
	fake_wait(&f, 11000);
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	ok(fake_find(&f, 1, W) != NULL, "later ones do not");
	fake_done(&f);
}

static void test_server_errors(void)
{
	uint64_t t = up(7);

	for (int i = 0; i < 5; i++) {
		fake_chunk(&f, t, ERROR_LINE(500, ""));
		for (int s = 0; s < 60 && !fake_find(&f, 1, W); s++) {
			fake_wait(&f, 1000);
			if (fake_find(&f, 1, "GET /version") != NULL) {
				fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
			}
		}
		if (i < 4) {
			t = fake_stream(&f, 1, "resourceVersion=500");
			fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 500);
		}
	}
	ok(kube_is_up(f.k, 1), "server errors between events keep the link");
	t = fake_token(&f, 1, W);
	fake_story(&f);
	for (int i = 0; i < 20 && kube_is_up(f.k, 1); i++) {
		if (fake_find(&f, 1, W) != NULL) {
			fake_answer(&f, 1, W, 500, "boom");
		}
		if (fake_find(&f, 1, "GET /version") != NULL) {
			fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
		}
		fake_wait(&f, 5000);
	}
	ok(strstr(fake_story(&f),
		  "link 1 down code=unavailable reason=ClientConnectionFailed text=\"an error on "
		  "the "
		  "server (\\\"boom\\\") has prevented the request from succeeding (get "
		  "workloads.kueue.x-k8s.io)\"") != NULL,
	   "errors for 30 s take it down, in spite of good probes");
	fake_done(&f);
}

static void test_nonsense(void)
{
	uint64_t t = up(8);
	struct buf deep;

	fake_chunk(&f, t, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Work\n");
	fake_chunk(&f, t, "<html><body>502</body></html>\n");
	fake_chunk(&f, t, "{\"type\":\"WHAT\",\"object\":{}}\n");
	fake_chunk(&f, t, "{\"type\":\"ADDED\"}\n");
	fake_line(&f, t, "ADDED", "v1", "Pod", "n", "p", 900);
	fake_line(&f, t, "ADDED", "kueue.x-k8s.io/v1beta1", "Workload", "n", "p", 900);
	fake_chunk(&f, t,
		   "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Workload\",\"apiVersion\":\"kueue.x-"
		   "k8s.io/v1beta2\","
		   "\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"abc\"}}}\n");
	fake_chunk(&f, t,
		   "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Workload\",\"apiVersion\":\"kueue."
		   "x-k8s.io/v1beta2\","
		   "\"metadata\":{\"resourceVersion\":\"9\"}}}\n");
	fake_chunk(
		&f, t,
		"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"x\"}}}\n");
	buf_init(&deep, 100000);
	buf_add(&deep, STR("{\"type\":\"ADDED\",\"object\":{\"a\":"));
	for (int i = 0; i < 20000; i++) {
		buf_add(&deep, STR("["));
	}
	buf_add(&deep, STR("\n"));
	fake_chunk(&f, t, deep.p);
	buf_done(&deep);
	is_str(fake_story(&f), "", "nothing of that is told");
	is_int(fake_token(&f, 1, W), (int64_t)t, "and the stream goes on");
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "a", 501);
	is_str(fake_story(&f), "observed 1 Workload n/a uid=u-a rv=501 via=watch\n",
	       "what follows is told");
	for (int i = 0; i < 10; i++) {
		fake_chunk(&f, t, "garbage\n");
	}
	ok(!fake_find(&f, 1, W), "ten bad lines in a row end the stream");
	fake_wait(&f, 2000);
	ok(fake_find(&f, 1, "sendInitialEvents=true") != NULL, "and list again");
	t = fake_stream(&f, 1, W);
	fake_chunk(&f, t, "garbage\n");
	fake_mark(&f, t, KUEUE, "Workload", 600);
	ok(!strstr(fake_story(&f), "list_end"),
	   "a list with something unreadable in it never ends");
	fake_done(&f);
}

static void test_long_line(void)
{
	uint64_t t = up(9);
	size_t n = 1024 * 1024;
	char *big = malloc(n + 1);

	if (!big) {
		return;
	}
	memset(big, ' ', n);
	big[n] = '\0';
	for (int i = 0; i < 9 && fake_find(&f, 1, W) != NULL; i++) {
		fake_chunk(&f, t, big);
	}
	free(big);
	ok(!fake_find(&f, 1, W), "a line without end is cut off at 8 MiB");
	fake_wait(&f, 2000);
	ok(fake_find(&f, 1, "GET /version") != NULL, "and its link is tried again");
	fake_done(&f);
}

static const char *page(const char *names, const char *token, int rv)
{
	static char out[4096];
	size_t n = (size_t)snprintf(out, sizeof(out),
				    "{\"kind\":\"WorkloadList\",\"metadata\":{\"resourceVersion\":"
				    "\"%d\",\"continue\":\"%s\"},"
				    "\"items\":[",
				    rv, token);

	for (const char *p = names; *p != '\0'; p++) {
		n += (size_t)snprintf(out + n, sizeof(out) - n,
				      "%s{\"metadata\":{\"name\":\"%c\",\"namespace\":\"n\","
				      "\"uid\":\"u\",\"resourceVersion\":"
				      "\"5\"}}",
				      p == names ? "" : ",", *p);
	}
	snprintf(out + n, sizeof(out) - n, "]}");
	return out;
}

static void test_pages(void)
{
	fake_init(&f, 10);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "a=b");
	fake_handshake(&f, 1, "w");
	fake_story(&f);
	fake_answer(&f, 1, W, 422, "{\"kind\":\"Status\",\"reason\":\"Invalid\"}");
	ok(fake_find(&f, 1, "/workloads?limit=500&labelSelector=a%3Db") != NULL &&
		   fake_find(&f, 1, W)->gzip && fake_find(&f, 1, W)->cls == TRANSPORT_READ,
	   "a refused streaming list falls back to pages");
	fake_answer(&f, 1, W, 200, page("ab", "tok/1", 300));
	ok(fake_find(&f, 1, "limit=500&continue=tok%2F1&labelSelector") != NULL, "the next page");
	fake_answer(&f, 1, W, 410, "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}");
	fake_wait(&f, 2000);
	ok(!fake_find(&f, 1, "continue") && fake_find(&f, 1, "limit=500") != NULL,
	   "an expired token begins anew");
	fake_answer(&f, 1, W, 200, page("a", "tok2", 301));
	fake_answer(&f, 1, W, 200, page("c", "", 301));
	is_str(fake_story(&f),
	       "list_begin 1 Workload rv=300\nobserved 1 Workload n/a uid=u rv=5 via=list\n"
	       "observed 1 Workload n/b uid=u rv=5 via=list\n"
	       "list_begin 1 Workload rv=301\nobserved 1 Workload n/a uid=u rv=5 via=list\n"
	       "observed 1 Workload n/c uid=u rv=5 via=list\nlist_end 1 Workload rv=301\n"
	       "link 1 up identity=w\n",
	       "the story of two chains");
	ok(fake_find(&f, 1, "watch=1&allowWatchBookmarks=true") != NULL &&
		   fake_find(&f, 1, "resourceVersion=301") != NULL,
	   "the stream goes on from the list");
	/* A kind opened later uses pages at once. */
	fake_watch(&f, 1, KIND_FIRST_JOB, "");
	ok(fake_find(&f, 1, "/apis/batch/v1/jobs?limit=500") != NULL, "remembered for the cluster");
	fake_head(&f, fake_token(&f, 1, "/jobs?"), 200, "application/json", -1);
	fake_end(&f, fake_token(&f, 1, "/jobs?"), TRANSPORT_LOST, ERR_TOO_BIG, "too long");
	ok(fake_find(&f, 1, "/jobs?limit=125") != NULL,
	   "a page that is too long makes smaller ones");
	fake_answer(&f, 1, "/jobs?", 200, page("x", "", 0));
	fake_wait(&f, 2000);
	fake_answer(
		&f, 1, "/jobs?", 200,
		"{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{}]}");
	fake_wait(&f, 4000);
	fake_answer(&f, 1, "/jobs?", 200, "");
	fake_wait(&f, 8000);
	fake_answer(&f, 1, "/jobs?", 200, page("x", "more", 9));
	fake_answer(&f, 1, "/jobs?", 200, page("x", "", 10));
	fake_wait(&f, 15000);
	fake_story(&f);
	fake_answer(&f, 1, "/jobs?", 200, page("x", "", 9));
	is_str(fake_story(&f),
	       "list_begin 1 Job.batch rv=9\nobserved 1 Job.batch n/x uid=u rv=5 "
	       "via=list\nlist_end 1 Job.batch rv=9\n",
	       "after four lists that were no good, one that is");
	ok(kube_is_up(f.k, 1), "none of which hurt the link");
	fake_done(&f);
}

static void test_whole_objects(void)
{
	const char *story = NULL;

	fake_init(&f, 11);
	fake_manager(&f);
	fake_worker(&f);
	fake_watch(&f, 1, KIND_FIRST_JOB, "");
	fake_answer(&f, 1, "/jobs?", 400, "{\"kind\":\"Status\"}");
	fake_story(&f);
	fake_answer(&f, 1, "/jobs?", 200,
		    "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{"
		    "\"kind\":\"Pod\",\"apiVersion\":"
		    "\"v1\",\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"4\"}}]}");
	story = fake_story(&f);
	ok(!strstr(story, "observed") && !strstr(story, "list_end"),
	   "an item of another kind spoils a list");
	fake_done(&f);
}

static void test_metadata_only(void)
{
	struct op op = {
		.type = OP_WATCH_OPEN, .cluster = 1, .kind = KIND_FIRST_JOB, .metadata_only = true};
	uint64_t t = up(12);

	kube_do(f.k, &op, NULL);
	is_str(fake_find(&f, 1, "/jobs?")->accept,
	       "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "metadata only");
	t = fake_stream(&f, 1, "/jobs?");
	fake_line(&f, t, "ADDED", "meta.k8s.io/v1", "PartialObjectMetadata", "n", "j", 3);
	fake_mark(&f, t, "meta.k8s.io/v1", "PartialObjectMetadata", 4);
	is_str(fake_story(&f),
	       "list_begin 1 Job.batch\nobserved 1 Job.batch n/j uid=u-j rv=3 via=list\nlist_end 1 "
	       "Job.batch rv=4\n",
	       "is taken in");
	op.metadata_only = false;
	kube_do(f.k, &op, NULL);
	ok(fake_find(&f, 1, "/jobs?")->accept[0] == '\0' &&
		   fake_find(&f, 1, "sendInitialEvents") != NULL,
	   "another form of watch begins with a list");
	fake_story(&f);
	op.selector = STR("x=y");
	kube_do(f.k, &op, NULL);
	kube_do(f.k, &op, NULL);
	ok(fake_find(&f, 1, "labelSelector=x%3Dy") != NULL, "so does another selector");
	op.type = OP_WATCH_CLOSE;
	kube_do(f.k, &op, NULL);
	ok(!fake_find(&f, 1, "/jobs?"), "closed");
	fake_done(&f);
}

static void test_future(void)
{
	static const char too_large[] =
		"{\"kind\":\"Status\",\"code\":504,\"reason\":\"Timeout\",\"message\":\"Timeout: "
		"Too large resource version: "
		"500, current: "
		"7\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}";
	uint64_t t = up(13);

	fake_many(&f, t, 500);
	fake_end(&f, t, TRANSPORT_LOST, ERR_UNAVAILABLE, "restored");
	fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
	fake_wait(&f, 2000);
	fake_answer(&f, 1, "limit=1&resourceVersionMatch=NotOlderThan&resourceVersion=500", 504,
		    too_large);
	is_str(fake_story(&f), "behind 1 Workload\n",
	       "a server that is behind: that alone is told");
	fake_wait(&f, 1000);
	ok(!fake_find(&f, 1, "limit=1&"), "its store is asked for the version, and no cache");
	fake_answer(&f, 1, NEWEST, 200, LIST_AT("500"));
	fake_wait(&f, 4000);
	fake_chunk(&f, fake_stream(&f, 1, W "watch=1"),
		   "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":504,\"reason\":"
		   "\"Timeout\",\"message\":\"Too large resource version\"}}\n");
	ok(!strstr(fake_story(&f), "epoch"), "a replica that lags");
	fake_wait(&f, 1000);
	fake_answer(&f, 1, NEWEST, 200, LIST_AT("7"));
	t = fake_stream(&f, 1, W);
	ok(!strstr(fake_find(&f, 1, W)->path, "resourceVersion=500"), "a store that went back");
	fake_line(&f, t, "ADDED", KUEUE, "Workload", "n", "old", 3);
	fake_mark(&f, t, KUEUE, "Workload", 7);
	ok(strstr(f.story, "list_begin 1 Workload epoch=1\nobserved 1 Workload n/old uid=u-old "
			   "rv=3 epoch=1 via=list\n"
			   "list_end 1 Workload rv=7 epoch=1\n") != NULL,
	   "at once a new epoch takes what there is");
	ok(kube_is_up(f.k, 1), "all the while the link is up");
	fake_done(&f);
}

static void test_lagging_list(void)
{
	uint64_t t = up(14);

	fake_chunk(&f, t, ERROR_LINE(410, "Expired"));
	t = fake_stream(&f, 1, W);
	fake_mark(&f, t, KUEUE, "Workload", 499);
	ok(!strstr(fake_story(&f), "list_end"), "a list from before what was seen does not end");
	fake_wait(&f, 1000);
	fake_answer(&f, 1, NEWEST, 200, LIST_AT("501"));
	fake_wait(&f, 4500);
	t = fake_stream(&f, 1, W);
	fake_mark(&f, t, KUEUE, "Workload", 500);
	ok(strstr(fake_story(&f), "list_end 1 Workload rv=500\n") != NULL,
	   "the next one, that has caught up, does");
	fake_done(&f);
}

static void test_optional_kind(void)
{
	uint64_t t = up(15);

	f.heads = true;
	fake_watch(&f, 1, KIND_FIRST_JOB, "");
	fake_answer(&f, 1, "/jobs?", 403,
		    "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"jobs "
		    "is forbidden\"}");
	is_str(fake_story(&f), "unserved 1 Job.batch code=denied text=\"jobs is forbidden\"\n",
	       "a forbidden job kind is told");
	ok(kube_is_up(f.k, 1), "and hurts nothing else");
	for (int i = 0; i < 610 && !fake_find(&f, 1, "GET /apis/batch/v1"); i++) {
		fake_wait(&f, 1000);
		if (fake_find(&f, 1, "GET /version") != NULL) {
			fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
		}
		t = fake_token(&f, 1, W);
		if (t == 0) {
			break;
		}
	}
	ok(fake_answer(&f, 1, "GET /apis/batch/v1", 200, BATCH_DOC),
	   "looked for again within ten minutes");
	is_str(fake_story(&f), "served 1 Job.batch\n", "there again");
	ok(fake_find(&f, 1, "/jobs?") != NULL, "and watched");
	fake_answer(&f, 1, "/jobs?", 404, "404 page not found\n");
	is_str(fake_story(&f),
	       "unserved 1 Job.batch code=not_found text=\"no matches for kind \\\"Job\\\" in "
	       "version \\\"batch/v1\\\"\"\n",
	       "a kind that vanished");
	fake_answer(&f, 1, "GET /apis/kueue", 404, "404 page not found\n");
	ok(strstr(fake_story(&f), "link 1 down code=not_found") != NULL,
	   "without Kueue the link goes down");
	fake_done(&f);
}

static void test_secrets_stay(void)
{
	uint64_t t = 0;

	fake_init(&f, 16);
	fake_manager(&f);
	t = fake_token(&f, 0, "/secrets?");
	fake_story(&f);
	fake_secret(&f, t, "MODIFIED", "s1", "other: bytes", 120);
	is_str(fake_story(&f), "observed 0 Secret kueue-system/s1 uid=u-s1 rv=120 via=watch\n",
	       "a Secret changes");
	fake_chunk(&f, t,
		   "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Secret\","
		   "\"metadata\":{\"name\":\"bad\","
		   "\"namespace\":\"kueue-system\",\"uid\":\"1\",\"resourceVersion\":\"121\"},"
		   "\"data\":{\"kubeconfig\":\"*\"}}}\n");
	fake_connect(&f, 1, "bad");
	ok(strstr(fake_story(&f), "illegal base64 data at input byte 0") != NULL,
	   "data that is no base64");
	/* A relist forgets what it does not name. */
	fake_chunk(&f, t, ERROR_LINE(410, "Expired"));
	t = fake_stream(&f, 0, "/secrets?");
	fake_mark(&f, t, "v1", "Secret", 130);
	fake_story(&f);
	fake_connect(&f, 1, "s1");
	ok(strstr(fake_story(&f), "Secret \\\"s1\\\" not found") != NULL,
	   "a Secret that a list left out");
	fake_done(&f);
}

/* The manager was restored: what the Secrets' probe is told must be read before it is wiped. */
static void test_secrets_future(void)
{
	static const char too_large[] =
		"{\"kind\":\"Status\",\"code\":504,\"reason\":\"Timeout\",\"message\":\"Timeout: "
		"Too large resource version: 500, current: 7\",\"details\":{\"causes\":[{"
		"\"reason\":\"ResourceVersionTooLarge\"}]}}";
	uint64_t t = 0;

	fake_init(&f, 17);
	fake_manager(&f);
	t = fake_token(&f, 0, "/secrets?");
	for (int i = 0; i <= 200; i++) {
		char name[16];

		snprintf(name, sizeof(name), "s%d", i);
		fake_secret(&f, t, "ADDED", name, "other: bytes", 500);
	}
	fake_end(&f, t, TRANSPORT_LOST, ERR_UNAVAILABLE, "restored");
	for (int i = 0; i < 30 && !fake_find(&f, 0, "/secrets?limit=1&"); i++) {
		if (fake_find(&f, 0, "GET /version") != NULL) {
			fake_answer(&f, 0, "GET /version", 200, VERSION_DOC);
		}
		fake_wait(&f, 1000);
	}
	ok(fake_find(&f, 0, "/secrets?limit=1&") != NULL, "Secrets are probed");
	fake_story(&f);
	fake_answer(&f, 0, "/secrets?limit=1&", 504, too_large);
	fake_wait(&f, 50000);
	ok(!strstr(fake_story(&f), "link 0 down"),
	   "their probe is refused for its version: no failure of the link");
	fake_done(&f);
}

int main(void)
{
	test_secrets_future();
	test_events();
	test_timeout_seconds();
	test_replay_is_no_base();
	test_gone();
	test_limited();
	test_short();
	test_server_errors();
	test_nonsense();
	test_long_line();
	test_pages();
	test_whole_objects();
	test_metadata_only();
	test_future();
	test_lagging_list();
	test_optional_kind();
	test_secrets_stay();
	return done_testing();
}
