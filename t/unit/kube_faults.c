/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery gone wrong, and a whole life in which every single allocation fails
 * once: kube recovers, leaks nothing.
 */
#include "t/lib/kube_fake.h"

static struct fake f;

static void begin(uint64_t seed)
{
	fake_init(&f, seed);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "");
	fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
	fake_answer(&f, 1, "kube-system", 200, "{\"metadata\":{\"uid\":\"w\"}}");
	fake_story(&f);
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

/* A group that could not be asked is asked again before the rest is due, as long as it takes. */
static void test_asked_again(void)
{
	fake_story(&f);
	for (int64_t ms = 1000; ms <= 32000; ms *= 2) {
		wait_probed(ms);
		ok(fake_answer(&f, 1, "GET /apis/batch", 503, "still down"),
		   "it is asked again, ever later");
	}
	is_str(fake_story(&f), "", "which is no news");
	wait_probed(30000);
	fake_answer(&f, 1, "GET /apis/batch", 200, BATCH_DOC);
	is_str(fake_story(&f), "served 1 Job.batch\n", "until it is there");
	wait_probed(40000);
	ok(!fake_find(&f, 1, "GET /apis/batch"), "then there is time");
}

static void test_groups(void)
{
	begin(1);
	fake_answer(&f, 1, "/apis/batch", 403,
		    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"no batch\"}");
	is_str(fake_story(&f), "unserved 1 Job.batch code=denied text=\"no batch\"\n",
	       "a forbidden group");
	fake_answer(&f, 1, "/apis/kueue", 200, KUEUE_DOC);
	fake_empty(&f, 1, "/workloads?", KUEUE, "Workload", 5);
	ok(kube_is_up(f.k, 1), "keeps no cluster out");
	fake_done(&f);

	begin(1);
	fake_answer(&f, 1, "/apis/kueue", 200, KUEUE_DOC);
	fake_answer(&f, 1, "/apis/batch", 503,
		    "{\"kind\":\"Status\",\"message\":\"aggregated API is down\"}");
	is_str(fake_story(&f),
	       "served 1 Workload\nunserved 1 Job.batch code=unavailable text=\"aggregated API is "
	       "down\"\n",
	       "a broken group");
	fake_empty(&f, 1, "/workloads?", KUEUE, "Workload", 5);
	ok(kube_is_up(f.k, 1), "does not either");
	test_asked_again();
	fake_done(&f);

	begin(1);
	fake_answer(&f, 1, "/apis/kueue", 403, "{\"kind\":\"Status\",\"message\":\"no kueue\"}");
	ok(strstr(fake_story(&f), "link 1 down code=denied reason=ClientConnectionFailed "
				  "text=\"failed to get server "
				  "groups: no kueue\"") != NULL,
	   "without Kueue's group there is no link");
	fake_done(&f);

	begin(1);
	fake_end(&f, fake_token(&f, 1, "/apis/batch"), TRANSPORT_LOST, ERR_UNAVAILABLE, "cut");
	ok(strstr(fake_story(&f), "link 1 down code=unavailable") != NULL,
	   "a lost question fails the attempt");
	fake_done(&f);
}

static void test_documents(void)
{
	static const char *const docs[] = {
		"{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"../"
		"jobs\",\"kind\":\"Job\"}]}",
		"{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"\",\"kind\":\"Job\"}]}",
		"{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"jobs/"
		"status\",\"kind\":\"Job\"}]}",
		"{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"jobs\",\"kind\":\"Jobs\"}"
		",7]}",
		"{\"kind\":\"APIResourceList\",\"resources\":[]}",
	};
	static const char *const odd[] = {
		"{\"kind\":\"APIResourceList\",\"resources\":{}}",
		"{\"kind\":\"Other\",\"resources\":[]}",
		"<html>",
		"",
	};

	for (size_t i = 0; i < sizeof(docs) / sizeof(docs[0]); i++) {
		begin(1);
		fake_answer(&f, 1, "/apis/batch", 200, docs[i]);
		ok(strstr(fake_story(&f), "unserved 1 Job.batch code=not_found ") != NULL, docs[i]);
		fake_done(&f);
	}
	begin(1);
	fake_answer(&f, 1, "/apis/kueue", 200, "{\"a\":{}}");
	ok(strstr(fake_story(&f),
		  "text=\"failed to get server groups: the answer is no list of resources\""),
	   "without one of Kueue's group there is no link, which says why");
	fake_done(&f);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		begin(1);
		fake_answer(&f, 1, "/apis/batch", 200, odd[i]);
		ok(strstr(fake_story(&f), "unserved 1 Job.batch code=unavailable") != NULL, odd[i]);
		fake_done(&f);
	}
}

static void test_identity(void)
{
	struct endpoint e = {.host = STR("h"), .port = 1};

	fake_init(&f, 1);
	kube_start_manager(f.k, &e, NULL);
	fake_answer(&f, 0, "GET /version", 200, VERSION_DOC);
	fake_story(&f);
	fake_answer(&f, 0, "kube-system", 403, "{\"kind\":\"Status\",\"message\":\"hidden\"}");
	ok(strstr(fake_story(&f), "link 0 down code=denied") != NULL,
	   "the manager must tell its identity");
	fake_wait(&f, 61000);
	fake_answer(&f, 0, "GET /version", 200, VERSION_DOC);
	fake_answer(&f, 0, "kube-system", 200, "{}");
	ok(strstr(fake_story(&f), "namespace kube-system has no uid") != NULL, "and have one");
	fake_done(&f);
}

static void test_sync_stalls(void)
{
	begin(2);
	fake_answer(&f, 1, "/apis/batch", 200, BATCH_DOC);
	fake_answer(&f, 1, "/apis/kueue", 200, KUEUE_DOC);
	fake_story(&f);
	fake_wait(&f, 29000);
	is_str(fake_story(&f), "", "a list that does not come is waited for");
	fake_wait(&f, 12000);
	ok(strstr(fake_story(&f), "link 1 down code=timeout reason=ClientConnectionFailed "
				  "text=\"watch establishment timed "
				  "out\"") != NULL,
	   "but not for ever");
	fake_done(&f);
}

static void answer_all(void)
{
	static const struct {
		const char *part, *body;
	} answers[] = {
		{"GET /version", VERSION_DOC},
		{"GET /api/v1/namespaces/kube-system", "{\"metadata\":{\"uid\":\"w\"}}"},
		{"GET /apis/batch/v1", BATCH_DOC},
		{"GET /apis/kueue.x-k8s.io/v1beta2", KUEUE_DOC},
		{"limit=1&", "{\"kind\":\"WorkloadList\"}"},
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		for (uint32_t c = 0; c < 2; c++) {
			struct fake_call *call = fake_find(&f, c, answers[i].part);

			if (call != NULL && !strstr(call->path, "watch=1")) {
				fake_answer(&f, c, answers[i].part, 200, answers[i].body);
			}
		}
	}
}

/* Lets every stream of a cluster that has said nothing yet say that its list is complete. */
static void mark_all(uint64_t *done_until)
{
	static const struct {
		const char *part, *version, *kind;
	} kinds[] = {
		{"/workloads?", KUEUE, "Workload"},
		{"/admissionchecks?", KUEUE, "AdmissionCheck"},
		{"/multikueueconfigs?", KUEUE, "MultiKueueConfig"},
		{"/multikueueclusters?", KUEUE, "MultiKueueCluster"},
		{"/secrets?", "v1", "Secret"},
	};

	for (uint32_t c = 0; c < 2; c++) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			struct fake_call *call = fake_find(&f, c, kinds[i].part);

			if (!call || call->token <= *done_until || !strstr(call->path, "watch=1")) {
				continue;
			}
			fake_head(&f, call->token, 200, "application/json", -1);
			if (call->open && i == 4) {
				fake_secret(&f, call->token, "ADDED", "s1", FAKE_KUBECONFIG, 90);
			}
			if (call->open) {
				fake_mark(&f, call->token, kinds[i].version, kinds[i].kind, 500);
			}
		}
	}
	for (size_t i = 0; i < f.n; i++) {
		*done_until = f.calls[i].token > *done_until ? f.calls[i].token : *done_until;
	}
}

/*
 * One life with the n-th allocation failing, and all after it for a while. True:
 * both links came up in the end.
 */
static bool live(uint64_t n, uint64_t *ret_allocations)
{
	struct endpoint e = {.host = STR("h"), .port = 1};
	uint64_t done = 0;
	bool connected = false;

	fake_init(&f, n);
	alloc_fail_after(n);
	while (kube_start_manager(f.k, &e, NULL) != ERR_OK) {
		alloc_fail_after(0);
	}
	for (int i = 0; i < 120 && !(kube_is_up(f.k, 0) && kube_is_up(f.k, 1)); i++) {
		if (i == 6) {
			alloc_fail_after(0); /* memory is there again */
			arena_clear(&f.arena);
		}
		connected = connected || (fake_connect(&f, 1, "s1") == ERR_OK &&
					  fake_watch(&f, 1, KIND_WORKLOAD, "") == ERR_OK);
		answer_all();
		mark_all(&done);
		fake_wait(&f, 1000);
	}
	*ret_allocations = alloc_fail_after(0);
	return kube_is_up(f.k, 0) && kube_is_up(f.k, 1);
}

static void test_no_memory(void)
{
	uint64_t used = 0;
	int failed = 0;
	int lives = 0;

	for (uint64_t n = 1; n < 400; n += n < 200 ? 1 : 7) {
		bool up = live(n, &used);

		failed += !up;
		lives++;
		if (!up && failed < 4) {
			printf("# allocation %llu: manager %d, worker %d\n%s",
			       (unsigned long long)n, kube_is_up(f.k, 0), kube_is_up(f.k, 1),
			       fake_story(&f));
		}
		fake_done(&f);
	}
	ok(lives > 200, "many lives");
	is_int(failed, 0, "all recover when memory is there again");
}

/* A slip in the name of a kind: the group is asked, and says what there is. */
static void misnamed(void)
{
	static const struct {
		const char *resources, *want;
	} rows[] = {
		{"{\"name\":\"jobs\",\"kind\":\"job\"}", "did you mean \\\"job\\\"?"},
		{"{\"name\":\"joobs\",\"kind\":\"Joob\"}", "did you mean \\\"Joob\\\"?"},
		{"{\"name\":\"cronjobs\",\"kind\":\"CronJob\"},{\"name\":\"x\",\"kind\":\"Jb\"}",
		 "did you mean \\\"Jb\\\"?"},
		{"{\"name\":\"cronjobs\",\"kind\":\"CronJob\"}", "version \\\"batch/v1\\\"\"\n"},
		{"{\"name\":\"jobs\",\"kind\":\"J\\u001bb\"}", "version \\\"batch/v1\\\"\"\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char doc[256];

		snprintf(doc, sizeof(doc), "{\"kind\":\"APIResourceList\",\"resources\":[%s]}",
			 rows[i].resources);
		begin(1);
		fake_answer(&f, 1, "/apis/batch", 200, doc);
		ok(strstr(fake_story(&f), rows[i].want) != NULL, rows[i].resources);
		fake_done(&f);
	}
}

int main(void)
{
	misnamed();
	test_groups();
	test_documents();
	test_identity();
	test_sync_stalls();
	test_no_memory();
	return done_testing();
}
