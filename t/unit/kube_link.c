/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Link traces: connecting, losing, backing off, changing credentials,
 * and the words that come with it.
 */
#include "t/lib/kube_fake.h"

static struct fake f;

static void test_manager(void)
{
	struct endpoint e = {.host = STR("10.0.0.254"), .port = 6443};
	uint64_t t = 0;

	fake_init(&f, 1);
	is_int(kube_start_manager(f.k, &e, NULL), ERR_OK, "the manager's link starts");
	is_str(fake_story(&f), "link 0 connecting\n", "and says so");
	ok(fake_handshake(&f, 0, "manager-uid"), "version, identity, discovery");
	is_str(fake_story(&f),
	       "served 0 Workload\nserved 0 AdmissionCheck\nserved 0 MultiKueueConfig\n"
	       "served 0 MultiKueueCluster\nserved 0 Job.batch\n",
	       "what is served is told");
	fake_empty(&f, 0, "/workloads?", KUEUE, "Workload", 100);
	fake_empty(&f, 0, "/admissionchecks?", KUEUE, "AdmissionCheck", 100);
	fake_empty(&f, 0, "/multikueueconfigs?", KUEUE, "MultiKueueConfig", 100);
	fake_empty(&f, 0, "/multikueueclusters?", KUEUE, "MultiKueueCluster", 100);
	ok(!kube_is_up(f.k, 0), "not up before the Secrets are known");
	fake_story(&f);
	t = fake_stream(&f, 0, "GET /api/v1/namespaces/kueue-system/secrets?watch=1");
	fake_secret(&f, t, "ADDED", "s1", FAKE_KUBECONFIG, 90);
	fake_mark(&f, t, "v1", "Secret", 100);
	ok(kube_is_up(f.k, 0), "trap_14: up when all core kinds are listed");
	is_str(fake_story(&f),
	       "list_begin 0 Secret\n"
	       "observed 0 Secret kueue-system/s1 uid=u-s1 rv=90 via=list\n"
	       "list_end 0 Secret rv=100\n"
	       "link 0 up identity=manager-uid\n",
	       "the Secret is told by name, and the link with its identity");
	fake_done(&f);
}

static void test_worker(void)
{
	fake_init(&f, 1);
	fake_manager(&f);
	fake_story(&f);
	is_int(fake_connect(&f, 1, "s1"), ERR_OK, "connect");
	fake_watch(&f, 1, KIND_WORKLOAD, "kueue.x-k8s.io/multikueue-origin=m 1");
	is_str(f.host[1], "10.0.0.1", "with the server of the Secret");
	fake_handshake(&f, 1, "worker-uid");
	ok(fake_find(&f, 1,
		     "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&labelSelector="
		     "kueue.x-k8s.io%2Fmultikueue-origin%3Dm%201") != NULL,
	   "the Workload watch has the selector, escaped");
	fake_empty(&f, 1, "/workloads?", KUEUE, "Workload", 500);
	is_str(fake_story(&f),
	       "link 1 connecting\nserved 1 Workload\nserved 1 Job.batch\n"
	       "list_begin 1 Workload\nlist_end 1 Workload rv=500\nlink 1 up identity=worker-uid\n",
	       "the whole story");
	is_int(fake_connect(&f, 1, "s1"), ERR_OK, "connecting again with the same Secret");
	is_str(fake_story(&f), "", "changes nothing");
	ok(kube_is_up(f.k, 1), "and the link stays up");
	fake_done(&f);
}

static void up_quietly(void)
{
	fake_init(&f, 7);
	fake_manager(&f);
	fake_worker(&f);
	fake_story(&f);
}

static void test_loss_of_a_stream(void)
{
	uint64_t t = 0;

	up_quietly();
	/* A clean end is no loss. */
	t = fake_token(&f, 1, "/workloads?");
	fake_wait(&f, 15000);
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	ok(fake_find(&f, 1, "resourceVersion=500&labelSelector") != NULL,
	   "after a clean end the stream is resumed at once");
	ok(!fake_find(&f, 1, PROBE), "without a probe");
	fake_stream(&f, 1, "/workloads?");
	is_str(fake_story(&f), "", "and nothing is told");

	/* A lost stream asks, and a good answer is the end of it. */
	t = fake_token(&f, 1, "/workloads?");
	fake_many(&f, t, 500);
	fake_end(&f, t, TRANSPORT_LOST, ERR_UNAVAILABLE, "stream was not closed cleanly");
	ok(fake_answer(&f, 1, PROBE, 200, VERSION_DOC), "a lost stream asks at once");
	ok(kube_is_up(f.k, 1), "an answer keeps the link up");
	fake_wait(&f, 2000);
	ok(fake_answer(&f, 1, "limit=1&resourceVersionMatch=NotOlderThan&resourceVersion=500", 200,
		       "{\"kind\":\"WorkloadList\",\"metadata\":{\"resourceVersion\":\"510\"},"
		       "\"items\":[]}"),
	   "the stored version is probed before resuming");
	t = fake_stream(&f, 1, "/workloads?");
	ok(t != 0, "then the stream is resumed");
	is_str(fake_story(&f), "", "still nothing is told");
	fake_done(&f);
}

/*
 * The address leads to another cluster, or the store was replaced: what was known of the one
 * before counts no more.
 */
static void test_another_cluster_answers(void)
{
	up_quietly();
	fake_end(&f, fake_token(&f, 1, "/workloads?"), TRANSPORT_LOST, ERR_UNAVAILABLE, "gone");
	ok(fake_answer(&f, 1, PROBE, 403, "{\"kind\":\"Status\"}") &&
		   fake_answer(&f, 1, "GET /version", 200, VERSION_DOC) && kube_is_up(f.k, 1),
	   "an identity that is hidden now takes no link down");
	fake_wait(&f, 25000);
	fake_story(&f);
	ok(fake_answer(&f, 1, PROBE, 200, "{\"metadata\":{\"uid\":\"another\"}}"), "asked again");
	is_str(fake_story(&f),
	       "link 1 down code=unavailable reason=ClientConnectionFailed text=\"another cluster "
	       "answers: kube-system has another uid\" at=1800000025000\n",
	       "another uid brings the link down");
	fake_done(&f);
}

static void test_loss_of_a_link(void)
{
	int opens = 0;

	up_quietly();
	fake_many(&f, fake_token(&f, 1, "/workloads?"), 500);
	opens = f.opens;
	/* No answer: down, dated from the first sign. */
	fake_end(&f, fake_token(&f, 1, "/workloads?"), TRANSPORT_LOST, ERR_UNAVAILABLE, "gone");
	fake_wait(&f, 10);
	fake_end(&f, fake_token(&f, 1, PROBE), TRANSPORT_NOT_SENT, ERR_UNAVAILABLE,
		 "dial tcp 10.0.0.1:6443: connect: connection refused");
	is_str(fake_story(&f),
	       "link 1 down code=unavailable reason=ClientConnectionFailed text=\"failed to get "
	       "server groups: "
	       "dial tcp 10.0.0.1:6443: connect: connection refused\" at=1800000000000\n",
	       "a failed probe brings the link down as of the first sign");
	is_int(f.resets, 1, "the connections are thrown away");
	ok(!kube_is_up(f.k, 1), "not up");
	fake_wait(&f, 1000);
	fake_end(&f, fake_token(&f, 1, "GET /version"), TRANSPORT_NOT_SENT, ERR_UNAVAILABLE,
		 "refused");
	is_str(fake_story(&f),
	       "link 1 down code=unavailable reason=ClientConnectionFailed text=\"failed to get "
	       "server groups: "
	       "refused\" at=1800000000000\n",
	       "later failures keep the date");
	fake_wait(&f, 2000);
	ok(fake_handshake(&f, 1, "worker-uid"), "and back");
	ok(fake_answer(&f, 1, "limit=1&", 200, "{\"kind\":\"WorkloadList\"}"),
	   "probe of the version");
	fake_stream(&f, 1, "/workloads?");
	ok(strstr(fake_story(&f), "link 1 up identity=worker-uid\n") != NULL,
	   "trap_01: up again when the stream is resumed, without a list");
	is_int(f.opens, opens, "with the same credentials");
	fake_done(&f);
}

static void test_idle(void)
{
	fake_init(&f, 3);
	fake_manager(&f);
	fake_wait(&f, 7);
	fake_worker(&f);
	fake_wait(&f, 19000);
	ok(!fake_find(&f, 1, PROBE), "a quiet watch is left alone for 20 s");
	fake_wait(&f, 1000 + 250 - 7 - 1);
	ok(!fake_find(&f, 1, PROBE), "and until others are due with it");
	fake_wait(&f, 1000);
	ok(fake_find(&f, 1, PROBE) != NULL && fake_find(&f, 1, PROBE)->cls == TRANSPORT_WATCH &&
		   fake_find(&f, 1, PROBE)->timeout_ms == 10000,
	   "then it is probed on its own connection");
	fake_answer(&f, 1, PROBE, 200, VERSION_DOC);
	fake_wait(&f, 19000);
	ok(!fake_find(&f, 1, PROBE), "an answer counts as a byte");
	fake_wait(&f, 2000);
	fake_story(&f);
	fake_end(&f, fake_token(&f, 1, PROBE), TRANSPORT_LOST, ERR_TIMEOUT, "no answer in 10 s");
	ok(strstr(fake_story(&f), "link 1 down code=timeout") != NULL, "no answer: down");
	fake_done(&f);
}

static void test_secrets(void)
{
	uint64_t t = 0;

	fake_init(&f, 5);
	fake_manager(&f);
	fake_story(&f);
	fake_watch(&f, 1, KIND_WORKLOAD, "");
	fake_connect(&f, 1, "x");
	is_str(fake_story(&f),
	       "link 1 down code=not_found reason=BadKubeConfig text=\"load client config failed: "
	       "Secret "
	       "\\\"x\\\" not found\" at=1800000000000\n",
	       "a missing Secret");
	t = fake_token(&f, 0, "/secrets?");
	fake_chunk(&f, t,
		   "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Secret\","
		   "\"metadata\":{"
		   "\"name\":\"x\",\"namespace\":\"kueue-system\",\"uid\":\"1\","
		   "\"resourceVersion\":\"101\"},"
		   "\"data\":{\"config\":\"AAAA\"}}}\n");
	fake_story(&f);
	fake_connect(&f, 1, "x");
	is_str(fake_story(&f),
	       "link 1 down code=invalid reason=BadKubeConfig text=\"load client config failed: "
	       "key "
	       "\\\"kubeconfig\\\" not found in secret \\\"x\\\"\" at=1800000000000\n",
	       "a Secret without the key");
	fake_secret(&f, t, "MODIFIED", "x", "clusters: []\n", 102);
	fake_story(&f);
	fake_connect(&f, 1, "x");
	is_str(fake_story(&f),
	       "link 1 down code=invalid reason=InsecureKubeConfig text=\"load client config "
	       "failed: invalid "
	       "configuration: no configuration has been provided, try setting KUBERNETES_MASTER "
	       "environment "
	       "variable\" at=1800000000000\n",
	       "an empty configuration");
	fake_secret(&f, t, "MODIFIED", "x", FAKE_KUBECONFIG, 103);
	fake_story(&f);
	f.open_code = ERR_INVALID;
	fake_connect(&f, 1, "x");
	is_str(fake_story(&f),
	       "link 1 down code=invalid reason=ClientConnectionFailed text=\"unable to load root "
	       "certificates: "
	       "unable to parse bytes as PEM block\" at=1800000000000\n",
	       "what the transport refuses");
	f.open_code = ERR_OK;
	fake_connect(&f, 1, "x");
	is_str(fake_story(&f), "link 1 connecting\n", "good credentials connect");
	fake_line(&f, t, "DELETED", "v1", "Secret", "kueue-system", "x", 104);
	fake_connect(&f, 1, "x");
	is_str(fake_story(&f),
	       "gone 0 Secret kueue-system/x uid=u-x rv=104\n"
	       "link 1 down code=not_found reason=BadKubeConfig text=\"load client config failed: "
	       "Secret "
	       "\\\"x\\\" not found\" at=1800000000000\n",
	       "a deleted Secret takes the link down");
	ok(!f.is_open[1], "trap_15: and its transport is closed");
	fake_done(&f);
}

static void test_secret_before_sync(void)
{
	struct endpoint e = {.host = STR("h"), .port = 1};
	uint64_t t = 0;

	fake_init(&f, 5);
	kube_start_manager(f.k, &e, NULL);
	fake_handshake(&f, 0, "m");
	fake_story(&f);
	fake_connect(&f, 1, "s1");
	is_str(fake_story(&f), "", "before the Secrets are listed nothing is said about one");
	t = fake_stream(&f, 0, "/secrets?");
	fake_secret(&f, t, "ADDED", "s1", FAKE_KUBECONFIG, 9);
	fake_mark(&f, t, "v1", "Secret", 10);
	fake_wait(&f, 0);
	ok(strstr(fake_story(&f), "link 1 connecting\n") != NULL, "the end of the list connects");
	fake_done(&f);
}

static void test_refusals(void)
{
	static const struct {
		int http;
		const char *body, *text;
	} rows[] = {
		{401,
		 "{\"kind\":\"Status\",\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\","
		 "\"code\":401}",
		 "code=denied reason=ClientConnectionFailed text=\"failed to get server groups: "
		 "the server has "
		 "asked for the client to provide credentials\""},
		{403,
		 "{\"kind\":\"Status\",\"message\":\"forbidden: User u "
		 "cannot\",\"reason\":\"Forbidden\"}",
		 "code=denied reason=ClientConnectionFailed text=\"failed to get server groups: "
		 "forbidden: User u "
		 "cannot\""},
		{503, "busy",
		 "code=unavailable reason=ClientConnectionFailed text=\"failed to get server "
		 "groups: the server is "
		 "currently unable to handle the request\""},
		{502, "<html>bad</html>",
		 "code=unavailable reason=ClientConnectionFailed text=\"failed to get server "
		 "groups: an error on "
		 "the server (\\\"<html>bad</html>\\\") has prevented the request from "
		 "succeeding\""},
		{302, "", "code=unavailable"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake_init(&f, 5);
		fake_manager(&f);
		fake_connect(&f, 1, "s1");
		fake_story(&f);
		fake_answer(&f, 1, "GET /version", rows[i].http, rows[i].body);
		ok(strstr(fake_story(&f), rows[i].text) != NULL, rows[i].text);
		fake_wait(&f, 20000);
		ok(fake_find(&f, 1, "GET /version") != NULL, "tried again soon");
		fake_done(&f);
	}
}

/*
 * A server that starts says 403 to all until it knows its roles; one
 * that means it is not asked often.
 */
static void test_refused_for_long(void)
{
	int64_t waited = 0;
	unsigned tries = 1;

	fake_init(&f, 5);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_answer(&f, 1, "GET /version", 403, "{\"kind\":\"Status\"}");
	while (waited < 40000) {
		fake_wait(&f, 1000);
		waited += 1000;
		if (fake_find(&f, 1, "GET /version")) {
			fake_answer(&f, 1, "GET /version", 403, "{\"kind\":\"Status\"}");
			tries++;
		}
	}
	is_int(tries, 6, "six attempts within 40 s");
	fake_wait(&f, 60000);
	ok(fake_find(&f, 1, "GET /version") != NULL, "then one a minute");
	fake_answer(&f, 1, "GET /version", 403, "{\"kind\":\"Status\"}");
	fake_wait(&f, 29000);
	ok(!fake_find(&f, 1, "GET /version"), "and no more");
	fake_done(&f);
}

static void test_watch_refused(void)
{
	fake_init(&f, 5);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "");
	fake_handshake(&f, 1, "w");
	fake_story(&f);
	fake_answer(&f, 1, "/workloads?", 403,
		    "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":"
		    "\"workloads.kueue.x-k8s.io "
		    "is forbidden: User cannot watch\"}");
	is_str(fake_story(&f),
	       "link 1 down code=denied reason=ClientConnectionFailed "
	       "text=\"workloads.kueue.x-k8s.io is forbidden: "
	       "User cannot watch\" at=1800000000000\n",
	       "a forbidden Workload watch fails the link in the server's words");
	fake_wait(&f, 61000);
	fake_handshake(&f, 1, "w");
	fake_story(&f);
	fake_answer(&f, 1, "/workloads?", 502, "<html>");
	ok(strstr(fake_story(&f), "an error on the server (\\\"<html>\\\") has prevented the "
				  "request from succeeding "
				  "(get workloads.kueue.x-k8s.io)\"") != NULL,
	   "a proxy's page, as Go tells it");
	fake_wait(&f, 61000);
	fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
	fake_answer(&f, 1, "/namespaces/kube-system", 403, "{\"kind\":\"Status\"}");
	fake_answer(&f, 1, "/apis/batch", 404, "404 page not found\n");
	fake_story(&f);
	fake_answer(&f, 1, "/apis/kueue", 404, "404 page not found\n");
	is_str(fake_story(&f),
	       "unserved 1 Workload code=not_found text=\"no matches for kind \\\"Workload\\\" in "
	       "version "
	       "\\\"kueue.x-k8s.io/v1beta2\\\"\"\n"
	       "link 1 down code=not_found reason=ClientConnectionFailed text=\"no matches for "
	       "kind "
	       "\\\"Workload\\\" in version \\\"kueue.x-k8s.io/v1beta2\\\"\" at=1800000000000\n",
	       "a cluster without Kueue");
	fake_done(&f);
}

static void test_new_credentials(void)
{
	static const char other[] =
		"current-context: c\n"
		"clusters: [{name: c1, cluster: {server: 'https://10.0.0.2:6443'}}]\n"
		"users: [{name: u1, user: {token: xyz}}]\n"
		"contexts: [{name: c, context: {cluster: c1, user: u1}}]\n";
	uint64_t t = 0;

	fake_init(&f, 5);
	fake_manager(&f);
	fake_worker(&f);
	t = fake_token(&f, 0, "/secrets?");
	fake_secret(&f, t, "MODIFIED", "s1", other, 105);
	fake_story(&f);
	fake_connect(&f, 1, "s1");
	is_str(fake_story(&f), "link 1 connecting\n", "changed credentials are used at once");
	is_str(f.host[1], "10.0.0.2", "the new server");
	fake_handshake(&f, 1, "other-uid");
	fake_empty(&f, 1, "/workloads?", KUEUE, "Workload", 7);
	ok(strstr(fake_story(&f),
		  "list_begin 1 Workload epoch=1\nlist_end 1 Workload rv=7 epoch=1\n"
		  "link 1 up identity=other-uid epoch=1\n") != NULL,
	   "another cluster behind it is a new epoch, and lower versions are fine");
	fake_done(&f);
}

static void test_backoff(void)
{
	int64_t last = 0;
	int64_t longest = 0;
	int tries = 0;

	fake_init(&f, 11);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	for (int i = 0; i < 40; i++) {
		uint64_t t = fake_token(&f, 1, "GET /version");

		last = f.mono;
		fake_end(&f, t, TRANSPORT_NOT_SENT, ERR_UNAVAILABLE, "refused");
		while (!fake_find(&f, 1, "GET /version") && f.mono - last < 31000) {
			fake_wait(&f, 100);
		}
		tries += fake_find(&f, 1, "GET /version") != NULL;
		longest = f.mono - last > longest ? f.mono - last : longest;
		ok(i > 0 || f.mono - last <= 1100, "the first retry comes within a second");
		f.n = 0; /* forget the calls, but keep the one that is open */
		f.calls[0] = (struct fake_call){.open = false};
		for (size_t j = 0; j < FAKE_MAX; j++) {
			if (f.calls[j].open) {
				f.calls[f.n++] = f.calls[j];
			}
		}
		for (size_t j = f.n; j < FAKE_MAX; j++) {
			f.calls[j].open = false;
		}
	}
	is_int(tries, 40, "every retry comes within 30 s");
	ok(longest > 10000, "and some come late: the backoff grows");
	fake_done(&f);
}

static void test_misuse(void)
{
	struct op op = {.type = OP_CREATE, .cluster = 1};

	fake_init(&f, 5);
	is_int(kube_do(f.k, &op, NULL), ERR_BUG, "a write is not kube's");
	op.type = OP_CONNECT;
	op.cluster = 0;
	is_int(kube_do(f.k, &op, NULL), ERR_BUG, "the manager is not connected by an operation");
	op.type = OP_WATCH_OPEN;
	op.kind = 200;
	is_int(kube_do(f.k, &op, NULL), ERR_BUG, "an unknown kind");
	op.type = OP_WATCH_CLOSE;
	op.cluster = 9;
	is_int(kube_do(f.k, &op, NULL), ERR_OK, "closing what is not open is fine");
	op.type = OP_DISCONNECT;
	is_int(kube_do(f.k, &op, NULL), ERR_OK, "so is disconnecting");
	ok(!kube_is_up(f.k, 9), "an unknown cluster is not up");
	is_int(kube_next_ms(f.k), INT64_MAX, "nothing is due");
	fake_manager(&f);
	fake_worker(&f);
	op.cluster = 1;
	is_int(kube_do(f.k, &op, NULL), ERR_OK, "disconnect");
	ok(!f.is_open[1] && !kube_is_up(f.k, 1), "closes");
	fake_done(&f);
}

int main(void)
{
	test_manager();
	test_worker();
	test_loss_of_a_stream();
	test_another_cluster_answers();
	test_loss_of_a_link();
	test_idle();
	test_secrets();
	test_secret_before_sync();
	test_refusals();
	test_refused_for_long();
	test_watch_refused();
	test_new_credentials();
	test_backoff();
	test_misuse();
	return done_testing();
}
