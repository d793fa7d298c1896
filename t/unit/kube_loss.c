/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses that repeat, and answers that say less than they seem to: what brings a link or
 * a kind down, and what must not.
 */
#include "t/lib/kube_fake.h"

static struct fake f;

#define W "/workloads?"

static uint64_t up(uint64_t seed)
{
	fake_init(&f, seed);
	fake_manager(&f);
	fake_worker(&f);
	fake_story(&f);
	return fake_token(&f, 1, W);
}

/* Time goes on while the server answers its probes. */
static void wait_probed(int64_t ms)
{
	for (int64_t i = 0; i < ms; i += 500) {
		for (uint32_t c = 0; c < 2; c++) {
			if (fake_find(&f, c, "GET /version") != NULL) {
				fake_answer(&f, c, "GET /version", 200, VERSION_DOC);
			}
		}
		fake_wait(&f, 500);
	}
}

enum answer_of_watch { LOST, LIMITED, PUT_OFF, ENDED, SILENT };

/* For 'ms' every attempt at the watch of Workloads ends so. */
static void fails_for(int64_t ms, enum answer_of_watch how)
{
	for (int64_t i = 0; i < ms && kube_is_up(f.k, 1); i += 500) {
		uint64_t t = fake_find(&f, 1, W) != NULL ? fake_token(&f, 1, W) : 0;

		if (t != 0 && how == LIMITED) {
			fake_answer(&f, 1, W, 429, "{\"kind\":\"Status\"}");
		} else if (t != 0 && how == PUT_OFF) {
			fake_head(&f, t, 429, "application/json", 3600 * 1000);
			fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
		} else if (t != 0 && how == ENDED) {
			fake_head(&f, t, 200, "application/json", -1);
			fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
		} else if (t != 0 && how == LOST) {
			fake_end(&f, t, TRANSPORT_LOST, ERR_UNAVAILABLE, "reset");
		}
		wait_probed(500);
	}
}

/* Something before the server cuts or swallows every watch, and lets all the rest through. */
static void test_lost_again_and_again(void)
{
	static const enum answer_of_watch ways[] = {LOST, LIMITED, PUT_OFF, ENDED, SILENT};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		fake_end(&f, up(31), TRANSPORT_LOST, ERR_UNAVAILABLE, "reset");
		fails_for(25000, ways[i]);
		ok(kube_is_up(f.k, 1), "a core watch may fail for a while");
		fails_for(ways[i] == SILENT ? 200000 : 10000, ways[i]);
		ok(strstr(fake_story(&f), "link 1 down code=unavailable "
					  "reason=ClientConnectionFailed text=\"the watch of "
					  "workloads.kueue.x-k8s.io fails\"") != NULL,
		   "but not for half a minute, in spite of good probes");
		fake_done(&f);
	}
}

/* Every stream is resumed with a head, and cut behind it. */
static void test_heads_alone(void)
{
	for (int lost = 0; lost < 2; lost++) {
		uint64_t t = up(35);
		int64_t ms = 0;

		fake_many(&f, t, 500);
		wait_probed(130000);
		for (; ms < 120000 && kube_is_up(f.k, 1); ms += 500) {
			if (fake_find(&f, 1, "/workloads?limit=1&") != NULL) {
				fake_answer(&f, 1, "/workloads?limit=1&", 200,
					    "{\"kind\":\"WorkloadList\",\"metadata\":{"
					    "\"resourceVersion\":\"501\"},\"items\":[]}");
			}
			if (fake_find(&f, 1, "watch=1") != NULL) {
				t = fake_token(&f, 1, "watch=1");
				fake_head(&f, t, 200, "application/json", -1);
				fake_end(&f, t, lost ? TRANSPORT_LOST : TRANSPORT_OK,
					 lost ? ERR_UNAVAILABLE : ERR_OK, "");
			}
			wait_probed(500);
		}
		ok(!kube_is_up(f.k, 1) && ms >= 25000, "heads alone do not keep the link up");
		fake_done(&f);
	}
}

/* Every stream is cut, and every one goes on before that: the link is not broken. */
static void test_goes_on_between(void)
{
	uint64_t t = up(32);

	fake_many(&f, t, 500);
	for (int i = 0; i < 20; i++) {
		fake_end(&f, fake_token(&f, 1, W), TRANSPORT_LOST, ERR_UNAVAILABLE, "reset");
		for (int s = 0; s < 140 && !fake_find(&f, 1, "watch=1"); s++) {
			if (fake_find(&f, 1, "/workloads?limit=1&") != NULL) {
				fake_answer(&f, 1, "/workloads?limit=1&", 200,
					    "{\"kind\":\"WorkloadList\",\"metadata\":{"
					    "\"resourceVersion\":\"501\"},\"items\":[]}");
			} else {
				wait_probed(500);
			}
		}
		fake_stream(&f, 1, "watch=1");
		wait_probed(3000);
	}
	ok(kube_is_up(f.k, 1), "streams that go on in between keep the link");
	fake_done(&f);
}

/* The normal end of a watch, every few minutes. */
static void test_normal_ends(void)
{
	up(33);
	for (int i = 0; i < 6; i++) {
		uint64_t t = fake_stream(&f, 1, W);

		wait_probed(310000);
		fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	}
	ok(kube_is_up(f.k, 1), "streams that the server closes in their time keep the link");
	fake_done(&f);
}

/* A job kind is not what a link stands on. */
static void test_job_watch_is_lost(void)
{
	up(34);
	fake_watch(&f, 1, KIND_FIRST_JOB, "");
	for (int i = 0; i < 200; i++) {
		if (fake_find(&f, 1, "/jobs?") != NULL) {
			fake_end(&f, fake_token(&f, 1, "/jobs?"), TRANSPORT_LOST, ERR_UNAVAILABLE,
				 "reset");
		}
		wait_probed(500);
	}
	ok(kube_is_up(f.k, 1), "a watch of jobs that is lost for ever keeps the link");
	is_str(fake_story(&f), "failing 1 Job.batch text=reset\n", "that is told once");
	fake_done(&f);
}

/* How long until it is told that the watch of jobs fails: by 'http', with such a Retry-After. */
static int64_t told_after(int http, int64_t after, const char *says)
{
	int64_t ms = 0;

	for (; ms < 120000; ms += 500) {
		uint64_t t = fake_find(&f, 1, "/jobs?") ? fake_token(&f, 1, "/jobs?") : 0;

		if (t != 0) {
			fake_head(&f, t, http, "application/json", after);
			fake_chunk(&f, t, "{\"kind\":\"Status\",\"message\":\"no leader\"}");
			fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
		}
		wait_probed(500);
		if (strstr(f.story, says)) {
			return ms;
		}
	}
	return ms;
}

/* ... or is refused, listed or not. The link stays, so something must be told. */
static void test_job_watch_fails(void)
{
	static const char says[] = "failing 1 Job.batch text=\"no leader\"\n";
	int64_t ms;

	for (uint64_t listed = 0; listed < 2; listed++) {
		up(44 + listed);
		fake_watch(&f, 1, KIND_FIRST_JOB, "");
		if (listed) {
			fake_empty(&f, 1, "/jobs?", "batch/v1", "Job", 500);
			wait_probed(10000);
			fake_end(&f, fake_token(&f, 1, "/jobs?"), TRANSPORT_OK, ERR_OK, "");
			fake_story(&f);
		}
		ms = told_after(503, -1, says);
		ok(ms > 3000 && ms < 60000, "a watch of jobs that is refused is told in a minute");
		is_str(fake_story(&f), says, "in the server's words");
		is_int(told_after(503, -1, says), 120000, "once");
		ok(kube_is_up(f.k, 1), "the link stays");
		wait_probed(60000);
		fake_empty(&f, 1, "/jobs?", "batch/v1", "Job", 600);
		ok(strstr(fake_story(&f), "failing 1 Job.batch\n"), "until it is listed");
		fake_done(&f);
	}
	up(46);
	fake_watch(&f, 1, KIND_FIRST_JOB, "");
	ok(told_after(429, 1800000, says) < 1000, "at once when the server asks for half an hour");
	fake_done(&f);
}

static char last_reason[64];
static enum mk_code last_code;

static void on_reply(void *ctx, uint64_t id, const struct kube_reply *r)
{
	(void)ctx;
	(void)id;
	last_code = r->code;
	fake_copy(last_reason, sizeof(last_reason), r->reason);
}

static void get_job(void)
{
	struct kube_request r = {.cluster = 1,
				 .verb = KUBE_GET,
				 .kind = KIND_FIRST_JOB,
				 .ns = STR("n"),
				 .name = STR("j"),
				 .subresource = "",
				 .timeout_ms = 30000};

	kube_send(f.k, &r, 1, on_reply, NULL, NULL);
}

static void with_jobs(uint64_t seed)
{
	up(seed);
	fake_watch(&f, 1, KIND_FIRST_JOB, "");
	fake_empty(&f, 1, "/jobs?", "batch/v1", "Job", 500);
	fake_story(&f);
}

/* The credentials are the cluster's, not the kind's: of the kind, nothing was said. */
static void test_expired_token(void)
{
	const char *story;

	with_jobs(35);
	fake_wait(&f, 15000);
	fake_end(&f, fake_token(&f, 1, "/jobs?"), TRANSPORT_OK, ERR_OK, "");
	fake_answer(&f, 1, "/jobs?", 401,
		    "{\"kind\":\"Status\",\"code\":401,\"reason\":\"Unauthorized\",\"message\":"
		    "\"Unauthorized\"}");
	story = fake_story(&f);
	ok(strstr(story, "link 1 down code=denied") != NULL, "a 401 on a watch of jobs: the link");
	ok(!strstr(story, "unserved"), "and not the kind");
	fake_done(&f);
}

/* Whatever stands before a server may say 404. */
static void test_404_of_others(void)
{
	static const char *const bodies[] = {"<html>", "", "{\"code\":404}", "404 page not found!"};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		with_jobs(36);
		get_job();
		fake_answer(&f, 1, "GET /apis/batch/v1/namespaces/n/jobs/j", 404, bodies[i]);
		ok(last_code == ERR_UNAVAILABLE && last_reason[0] == '\0', "a GET fails");
		fake_wait(&f, 15000);
		fake_end(&f, fake_token(&f, 1, "/jobs?"), TRANSPORT_OK, ERR_OK, "");
		fake_answer(&f, 1, "/jobs?", 404, bodies[i]);
		is_str(fake_story(&f), "", "no 404 but the server's own tells of the kind");
		fake_wait(&f, 2000);
		ok(fake_find(&f, 1, "/jobs?watch=1") != NULL, "the watch is tried again");
		fake_done(&f);
	}
}

/* The same in discovery: unknown while the link comes up, and no news on a link that is up. */
static void test_404_in_discovery(void)
{
	fake_init(&f, 37);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "");
	fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
	fake_answer(&f, 1, "kube-system", 200, "{\"metadata\":{\"uid\":\"w\"}}");
	fake_answer(&f, 1, "/apis/kueue", 200, KUEUE_DOC);
	fake_story(&f);
	fake_answer(&f, 1, "/apis/batch", 404, "<html>");
	ok(strstr(fake_story(&f), "unserved 1 Job.batch code=unavailable") != NULL,
	   "a group that something else says is not there");
	fake_empty(&f, 1, W, KUEUE, "Workload", 5);
	fake_done(&f);

	up(38);
	f.heads = true;
	for (int i = 0; i < 620 && !fake_find(&f, 1, "GET /apis/batch"); i++) {
		wait_probed(1000);
	}
	fake_story(&f);
	fake_answer(&f, 1, "/apis/batch", 404, "<html>");
	fake_answer(&f, 1, "/apis/kueue", 404, "");
	is_str(fake_story(&f), "", "what was known stays");
	ok(kube_is_up(f.k, 1), "and the link");
	fake_done(&f);

	up(39);
	f.heads = true;
	for (int i = 0; i < 620 && !fake_find(&f, 1, "GET /apis/batch"); i++) {
		wait_probed(1000);
	}
	fake_story(&f);
	fake_answer(&f, 1, "/apis/batch", 404,
		    "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}");
	ok(strstr(fake_story(&f), "unserved 1 Job.batch code=not_found") != NULL,
	   "a Status is believed");
	fake_done(&f);
}

/*
 * One piece with much of a stream and its end: what was read is not
 * touched after it was given back.
 */
static void test_end_in_a_long_piece(void)
{
	static const char gone[] =
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
		"\"reason\":\"Expired\"}}\n";
	struct buf b;

	up(40);
	buf_init(&b, 1 << 20);
	for (int i = 0; i < 100; i++) {
		buf_printf(&b,
			   "{\"type\":\"MODIFIED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":"
			   "\"Secret\",\"metadata\":{\"name\":\"s2\",\"resourceVersion\":\"%d\"},"
			   "\"data\":{\"kubeconfig\":\"YQ==\"}}}\n",
			   200 + i);
	}
	buf_add(&b, STR(gone));
	fake_chunk(&f, fake_token(&f, 0, "/secrets?"), b.p);
	buf_done(&b);
	ok(fake_find(&f, 0, "/secrets?watch=1") != NULL &&
		   strstr(fake_find(&f, 0, "/secrets?")->path, "sendInitialEvents") != NULL,
	   "the next stream is another one");
	fake_done(&f);
}

static bool secret_seen;

static void look_for_secret(const struct event *ev)
{
	secret_seen = secret_seen || (ev->type == EV_OBSERVED && ev->kind == KIND_SECRET);
}

static void secret_line(struct buf *b, const char *name, mk_str data)
{
	buf_init(b, 1 << 20);
	buf_printf(b,
		   "{\"type\":\"MODIFIED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Secret\","
		   "\"metadata\":{\"name\":\"%s\",\"namespace\":\"kueue-system\",\"uid\":\"u\","
		   "\"resourceVersion\":\"120\"},\"data\":{\"kubeconfig\":\"%.*s\"}}}\n",
		   name, STR_ARG(data));
}

/* A Secret's event for which memory runs out at the n-th allocation. True: it got through. */
static bool secret_without_memory(uint64_t n, const char *name)
{
	struct buf b;
	uint64_t t;

	fake_init(&f, 41);
	fake_manager(&f);
	t = fake_token(&f, 0, "/secrets?");
	secret_line(&b, name, base64_encode(&f.arena, STR(FAKE_KUBECONFIG "# new\n")));
	secret_seen = false;
	f.judge = look_for_secret;
	alloc_fail_after(n);
	fake_chunk(&f, t, b.p);
	alloc_fail_after(0);
	buf_done(&b);
	f.judge = NULL;
	f.story[0] = '\0';
	if (secret_seen) {
		return true;
	}
	ok(!fake_find(&f, 0, "/secrets?"), "an event that met no memory ends its stream");
	wait_probed(2000);
	ok(fake_find(&f, 0, "/secrets?watch=1") != NULL &&
		   strstr(fake_find(&f, 0, "/secrets?")->path, "resourceVersion=100") != NULL,
	   "which goes on from before it");
	return false;
}

static void test_secret_without_memory(void)
{
	bool done = false;

	for (uint64_t n = 1; n < 60 && !done; n++) {
		done = secret_without_memory(n, "s1");
		fake_connect(&f, 1, "s1");
		ok(f.is_open[1], "the Secret's kubeconfig is there, the old or the new one");
		fake_done(&f);
	}
	ok(done, "with enough memory it gets through");
	done = false;
	for (uint64_t n = 1; n < 60 && !done; n++) {
		done = secret_without_memory(n, "s9");
		fake_done(&f);
	}
	ok(done, "and so does a new one");
}

/* No memory for an answer does not make it too long: pages of one size stay that size for good. */
static void test_page_without_memory(void)
{
	uint64_t t;

	up(42);
	fake_watch(&f, 1, KIND_FIRST_JOB, "");
	fake_answer(&f, 1, "/jobs?", 422, "{\"kind\":\"Status\"}");
	t = fake_token(&f, 1, "/jobs?limit=500");
	fake_head(&f, t, 200, "application/json", -1);
	alloc_fail_after(1);
	fake_chunk(&f, t, "{\"kind\":\"JobList\",");
	alloc_fail_after(0);
	ok(!fake_find(&f, 1, "/jobs?"), "a page that met no memory");
	wait_probed(2000);
	ok(fake_find(&f, 1, "/jobs?limit=500") != NULL, "is asked for again as it was");
	get_job();
	t = fake_token(&f, 1, "GET /apis/batch/v1/namespaces/n/jobs/j");
	fake_head(&f, t, 200, "application/json", -1);
	alloc_fail_after(1);
	fake_chunk(&f, t, "{\"kind\":\"Job\",");
	alloc_fail_after(0);
	is_int(last_code, ERR_NO_MEMORY, "so is a single object");
	ok(!fake_find(&f, 1, "GET /version"), "the server is not suspected");
	fake_done(&f);
}

/* What the link stands on is closed, to be opened again, before it was listed: that is no list. */
static void test_closed_in_sync(void)
{
	struct op op = {.cluster = 1, .kind = KIND_WORKLOAD, .selector = STR("o=m")};

	fake_init(&f, 43);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "o=m");
	fake_watch(&f, 1, KIND_FIRST_JOB, "o=m");
	fake_handshake(&f, 1, "worker-uid");
	fake_empty(&f, 1, "/jobs?", "batch/v1", "Job", 500);
	fake_story(&f);
	op.type = OP_WATCH_CLOSE;
	kube_do(f.k, &op, NULL);
	is_str(fake_story(&f), "", "a link without its core watch is not up");
	op.type = OP_WATCH_OPEN;
	kube_do(f.k, &op, NULL);
	ok(!kube_is_up(f.k, 1), "nor when it is opened again");
	fake_empty(&f, 1, W, KUEUE, "Workload", 500);
	is_str(fake_story(&f),
	       "list_begin 1 Workload\nlist_end 1 Workload rv=500\nlink 1 up identity=worker-uid\n",
	       "it is with the list");
	fake_done(&f);
}

int main(void)
{
	test_closed_in_sync();
	test_page_without_memory();
	test_secret_without_memory();
	test_end_in_a_long_piece();
	test_expired_token();
	test_404_of_others();
	test_404_in_discovery();
	test_lost_again_and_again();
	test_heads_alone();
	test_goes_on_between();
	test_normal_ends();
	test_job_watch_is_lost();
	test_job_watch_fails();
	return done_testing();
}
