/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials of programs on the fake transport: the question, the
 * answer, renewal, 401s and failures.
 */
#include "core/base/timefmt.h"
#include "t/lib/kube_fake.h"

static struct fake f;

#define TO_CORP "{\"server\":\"https://10.0.0.7:6443\",\"ca\":\"Q0E=\",\"provider\":\"corp\"}"
#define TO_BARE "{\"server\":\"https://10.0.0.7:6443\",\"provider\":\"bare\"}"

static void begin(const char *body)
{
	fake_profile(&f, 1, body);
}

/* The program that runs ends so. */
static void ends(enum mk_code code, const char *out, const char *text)
{
	uint64_t run = f.run;

	f.run = 0;
	kube_program_done(f.k, run, code, str_of(out), str_of(text));
}

/* It gives a token for so long; below 0: it does not say. */
static void gives(const char *token, int64_t life_ms)
{
	char out[1024], expires[128] = "";
	struct arena a;

	arena_init(&a, 0);
	if (life_ms >= 0) {
		snprintf(expires, sizeof(expires), ",\"expirationTimestamp\":\"%.*s\"",
			 STR_ARG(time_rfc3339(&a, f.wall + life_ms)));
	}
	arena_done(&a);
	snprintf(out, sizeof(out),
		 "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
		 "\"status\":{\"token\":\"%s\"%s}}",
		 token, expires);
	ends(ERR_OK, out, "");
}

static void up(int64_t life_ms)
{
	fake_init(&f, 1);
	fake_manager(&f);
	fake_story(&f);
	begin(TO_CORP);
	fake_watch(&f, 1, KIND_WORKLOAD, "o=m");
	gives("t1", life_ms);
	fake_handshake(&f, 1, "worker-uid");
	fake_empty(&f, 1, "/workloads?", KUEUE, "Workload", 500);
	if (!kube_is_up(f.k, 1)) {
		printf("Bail out! the link is not up: %s\n", fake_story(&f));
		exit(1);
	}
	fake_story(&f);
}

static void test_question(void)
{
	fake_init(&f, 1);
	fake_manager(&f);
	fake_story(&f);
	begin("{\"server\":\"https://10.0.0.7:6443/p\",\"ca\":\"Q0E=\",\"tlsServerName\":\"n\","
	      "\"provider\":\"corp\",\"config\":{\"aud\":[1,null]}}");
	is_str(f.program,
	       "/bin/corp\nget\na b\nREGION=north\n"
	       "KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":"
	       "\"client.authentication.k8s.io/v1\",\"spec\":{\"cluster\":{\"server\":"
	       "\"https://10.0.0.7:6443/p\",\"tls-server-name\":\"n\","
	       "\"certificate-authority-data\":\"Q0E=\",\"config\":{\"aud\":[1,null]}},"
	       "\"interactive\":false}}\n",
	       "C-2.4c: the program is run, and told which cluster it is for");
	is_str(fake_story(&f), "link 1 connecting\n", "meanwhile the link is connecting");
	ok(!f.is_open[1], "and nothing is sent to the server");
	begin(TO_BARE);
	is_str(f.program,
	       "bare\nKUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":"
	       "\"client.authentication.k8s.io/v1beta1\",\"spec\":{\"interactive\":false}}\n",
	       "another provider: another program, which is not told the cluster");
	is_int(f.runs, 2, "each was run once");
	begin(TO_BARE);
	is_int(f.runs, 2, "asked for the same again: nothing is run");
	ends(ERR_OK,
	     "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"
	     "v1beta1\",\"status\":{\"token\":\"tb\"}}",
	     "");
	ok(f.is_open[1] && strcmp(f.host[1], "10.0.0.7") == 0 && strcmp(f.token[1], "tb") == 0,
	   "C-2.4b: the link is opened with the profile's server and the program's token");
	fake_connect(&f, 1, "s1");
	is_str(f.host[1], "10.0.0.1", "a Secret takes over");
	fake_wait(&f, 3600000);
	is_int(f.runs, 2, "and no program is run any more");
	fake_done(&f);
}

/* What a profile may not say; nothing is run. */
static void refused(const char *body, const char *want, const char *what)
{
	fake_init(&f, 1);
	fake_manager(&f);
	fake_story(&f);
	begin(body);
	is_str(fake_story(&f), want, what);
	ok(f.runs == 0, "and no program is run");
	fake_done(&f);
}

#define DOWN(reason, text) \
	"link 1 down code=invalid reason=" reason " text=\"" text "\" at=1800000000000\n"
#define LOAD "load client config failed: "

static void test_rules(void)
{
	refused("{\"provider\":\"corp\"}", DOWN("BadRestConfig", LOAD "untrusted server endpoint"),
		"C-P9: no server");
	refused("{\"server\":\"foo:6443\",\"provider\":\"corp\"}",
		DOWN("BadRestConfig", LOAD "untrusted server endpoint"),
		"C-S4: a server that is no URL");
	refused("{\"server\":\"https://10.0.0.7\",\"proxy\":\"http://p\",\"provider\":\"corp\"}",
		DOWN("BadRestConfig", LOAD "proxy-url is not allowed"), "a proxy");
	refused("{\"server\":\"https://127.0.0.1\",\"provider\":\"corp\"}",
		DOWN("BadRestConfig", LOAD "server \\\"127.0.0.1\\\" is a loopback address, which "
					   "multiKueue.network.allowLoopback does not allow"),
		"a loopback address");
	refused("{\"server\":\"https://10.0.0.7\",\"ca\":\"***\",\"provider\":\"corp\"}",
		DOWN("BadRestConfig", LOAD "illegal base64 data at input byte 0"), "bad CA data");
	refused("{\"server\":\"https://10.0.0.7\",\"provider\":\"none\"}",
		DOWN("BadClusterProfile", LOAD "no exec config found for provider \\\"none\\\""),
		"a provider that is not known");
	refused("{\"server\":\"https://10.0.0.7\",\"provider\":\"alpha\"}",
		DOWN("ClientConnectionFailed", "exec plugin: invalid apiVersion "
					       "\\\"client.authentication.k8s.io/v1alpha1\\\""),
		"a version of the protocol that is not known");
}

static void answer(const char *out, const char *want)
{
	char line[512], what[600];

	fake_init(&f, 1);
	fake_manager(&f);
	begin(TO_CORP);
	fake_story(&f);
	ends(ERR_OK, out, "");
	snprintf(line, sizeof(line),
		 "link 1 down code=unavailable reason=ClientConnectionFailed text=\"failed to get "
		 "server groups: getting credentials: %s\" at=1800000000000\n",
		 want);
	snprintf(what, sizeof(what), "answer: %s", want);
	is_str(fake_story(&f), line, what);
	fake_done(&f);
}

#define CRED(status)                                                                       \
	"{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"," \
	"\"status\":" status "}"

static void test_answers(void)
{
	answer("{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}",
	       "decoding stdout: no kind \\\"Pod\\\" is known, expected \\\"ExecCredential\\\"");
	answer("{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"
	       "v1beta1\",\"status\":{\"token\":\"t\"}}",
	       "exec plugin is configured to use API version client.authentication.k8s.io/v1, "
	       "plugin returned version client.authentication.k8s.io/v1beta1");
	answer("{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}",
	       "exec plugin didn't return a status field");
	answer(CRED("{}"), "exec plugin didn't return a token or cert/key pair");
	answer(CRED("{\"clientCertificateData\":\"x\"}"),
	       "exec plugin returned only certificate or key, not both");
	answer(CRED("{\"token\":7}"), "decoding stdout: status.token is no string");
	answer(CRED("{\"token\":\"a\\nb\"}"),
	       "exec plugin returned a token with characters that are not allowed");
	answer(CRED("{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}"),
	       "decoding stdout: status.expirationTimestamp is no time");
	fake_init(&f, 1);
	fake_manager(&f);
	begin(TO_CORP);
	fake_story(&f);
	ends(ERR_OK, "secret, but no JSON", "");
	ok(strstr(fake_story(&f), "getting credentials: decoding stdout: ") &&
		   !strstr(f.story, "secret"),
	   "what is no JSON is not shown");
	fake_done(&f);
}

static void test_renewal(void)
{
	up(3600000);
	f.heads = true;
	fake_wait(&f, 54 * 60000 - 80000);
	is_int(f.runs, 1, "credentials of an hour are left alone at first");
	fake_wait(&f, 80000 + 60000);
	is_int(f.runs, 2, "and renewed some minutes before they expire");
	gives("t2", 3600000);
	ok(f.renews == 1 && strcmp(f.token[1], "t2") == 0, "the new ones replace the old ones");
	ok(kube_is_up(f.k, 1) && f.opens == 2 && strcmp(fake_story(&f), "") == 0,
	   "on the open link: it has no effect");
	fake_wait(&f, 3600000);
	is_int(f.runs, 3, "and so on");
	gives("t2", 3600000);
	is_int(f.renews, 1, "equal ones are not news");
	fake_wait(&f, 3420000);
	ends(ERR_UNAVAILABLE, "", "exec: executable /bin/corp failed with exit code 1");
	ok(kube_is_up(f.k, 1), "a failure while the old ones are valid: the link stays");
	fake_wait(&f, 2000);
	is_int(f.runs, 5, "and the program is run again soon");
	ends(ERR_UNAVAILABLE, "", "exec: executable /bin/corp failed with exit code 1");
	is_str(fake_story(&f), "", "still no event");
	while (kube_is_up(f.k, 1) && f.runs < 100) {
		fake_wait(&f, 1000);
		if (f.run) {
			ends(ERR_UNAVAILABLE, "", "exec: executable /bin/corp failed");
		}
	}
	ok(strstr(fake_story(&f), "link 1 down code=unavailable reason=ClientConnectionFailed "
				  "text=\"failed to get server groups: getting credentials: exec: "
				  "executable /bin/corp failed\"") != NULL,
	   "expired without new ones: the link goes down and says why");
	ok(f.runs > 6 && f.runs < 30, "the program was run with growing backoff until then");
	fake_wait(&f, 61000);
	gives("t3", -1);
	ok(f.is_open[1] && strcmp(f.token[1], "t3") == 0 && fake_handshake(&f, 1, "worker-uid"),
	   "it gives some again: the link is opened");
	fake_done(&f);
}

static void test_short_life(void)
{
	up(8000);
	fake_wait(&f, 4900);
	is_int(f.runs, 1, "short ones too are used for a while");
	fake_wait(&f, 200);
	is_int(f.runs, 2, "then renewed");
	gives("t2", 0);
	fake_wait(&f, 4900);
	is_int(f.runs, 2, "even expired ones are renewed at a steady pace only");
	fake_done(&f);
}

/* A worker's watch gets a 401. */
static void watch_401(void)
{
	fake_end(&f, fake_token(&f, 1, "/workloads?"), TRANSPORT_OK, ERR_OK, "");
	fake_answer(&f, 1, "/workloads?", 401, "{\"kind\":\"Status\",\"code\":401}");
}

static void test_401(void)
{
	up(-1);
	fake_wait(&f, 15000);
	watch_401();
	ok(kube_is_up(f.k, 1), "a 401: the link stays up");
	fake_wait(&f, 0);
	is_int(f.runs, 2, "and the program is run once more");
	gives("t2", -1);
	fake_wait(&f, 2000);
	fake_stream(&f, 1, "/workloads?");
	ok(kube_is_up(f.k, 1) && strcmp(f.token[1], "t2") == 0 && strcmp(fake_story(&f), "") == 0,
	   "what it gives is used, without an event");
	fake_wait(&f, 15000);
	watch_401();
	ok(strstr(fake_story(&f), "link 1 down code=denied") != NULL,
	   "refused again within a minute: the link is down");
	is_int(f.runs, 2, "and the program is left alone");
	for (int i = 0; i < 3; i++) {
		fake_wait(&f, 30000);
		if (fake_find(&f, 1, "GET /version")) {
			fake_answer(&f, 1, "GET /version", 401, "no");
		}
	}
	fake_wait(&f, 0);
	is_int(f.runs, 3, "until a minute has passed");
	gives("t3", -1);
	ok(fake_handshake(&f, 1, "worker-uid"), "what it gives is tried at once");
	fake_done(&f);
}

static enum mk_code reply_code;

static void on_reply(void *ctx, uint64_t id, const struct kube_reply *r)
{
	(void)ctx;
	(void)id;
	reply_code = r->code;
}

static void test_401_of_a_request(void)
{
	struct kube_request r = {.cluster = 1,
				 .verb = KUBE_DELETE,
				 .kind = KIND_WORKLOAD,
				 .ns = STR("ns"),
				 .name = STR("wl"),
				 .timeout_ms = 1000};

	up(-1);
	kube_send(f.k, &r, 1, on_reply, NULL, NULL);
	fake_answer(&f, 1, "DELETE ", 401, "{\"kind\":\"Status\",\"code\":401}");
	is_int(reply_code, ERR_UNAVAILABLE, "a request that gets a 401 was not refused for good");
	fake_wait(&f, 0);
	is_int(f.runs, 2, "the program is run");
	ends(ERR_NOT_FOUND, "", "exec: executable /bin/corp not found");
	ok(strstr(fake_story(&f), "exec: executable /bin/corp not found\\n\\nask the corp") != NULL,
	   "there is no such program any more: down, with the hint how to install it");
	kube_program_done(f.k, 999, ERR_OK, STR("x"), STR(""));
	kube_program_done(f.k, 0, ERR_OK, STR("x"), STR(""));
	ok(true, "an answer that is not waited for changes nothing");
	fake_done(&f);
}

static void test_trouble(void)
{
	fake_init(&f, 1);
	fake_manager(&f);
	f.no_program = true;
	fake_story(&f);
	begin(TO_CORP);
	ok(strstr(fake_story(&f), "exec: the program cannot be run") != NULL,
	   "a program that cannot be started is a failure");
	f.no_program = false;
	fake_wait(&f, 1100);
	is_int(f.runs, 1, "and tried again");
	f.open_code = ERR_INVALID;
	gives("t1", -1);
	ok(strstr(fake_story(&f), "getting credentials: unable to load root certificates") != NULL,
	   "so is what the transport does not take");
	f.open_code = ERR_OK;
	fake_wait(&f, 2100);
	f.transport.renew = NULL;
	gives("t2", 60000);
	is_str(f.token[1], "t2", "and again");
	fake_wait(&f, 60000);
	gives("t3", 60000);
	is_str(f.token[1], "t3", "a transport that cannot renew is opened anew");
	begin("{\"server\":\"https://10.0.0.8:6443\",\"provider\":\"corp\"}");
	ok(!f.is_open[1] && f.run != 0, "another server: the link is closed until there are "
					"credentials for it");
	kube_do(f.k, &(struct op){.type = OP_DISCONNECT, .cluster = 1}, NULL);
	ok(f.run == 0, "disconnected: the program is ended");
	fake_done(&f);
}

static void test_watch_of_profiles(void)
{
	struct endpoint e = {.host = STR("10.0.0.254"), .port = 6443};
	uint64_t t;

	fake_init(&f, 1);
	fake_manager(&f);
	ok(!fake_find(&f, 0, "multicluster"), "without a watch profiles are not asked for");
	fake_story(&f);
	fake_watch(&f, 0, KIND_PROFILE, "");
	ok(fake_answer(&f, 0, "GET /apis/multicluster.x-k8s.io/v1alpha1", 404,
		       "404 page not found\n"),
	   "the watch has its group asked for");
	is_str(fake_story(&f),
	       "unserved 0 ClusterProfile code=not_found text=\"no matches "
	       "for kind \\\"ClusterProfile\\\" in version "
	       "\\\"multicluster.x-k8s.io/v1alpha1\\\"\"\n",
	       "C-2.4d: the CRD is not there");
	ok(kube_is_up(f.k, 0), "the manager's link does not mind");
	fake_done(&f);

	fake_init(&f, 1);
	fake_watch(&f, 0, KIND_PROFILE, "");
	kube_start_manager(f.k, &e, NULL);
	fake_handshake(&f, 0, "manager-uid");
	fake_answer(&f, 0, "GET /apis/multicluster.x-k8s.io/v1alpha1", 200,
		    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"clusterprofiles\","
		    "\"kind\":\"ClusterProfile\",\"namespaced\":true}]}");
	t = fake_stream(&f, 0, "/namespaces/kueue-system/clusterprofiles?watch=1");
	ok(t != 0, "it is: listed and watched in the daemon's namespace alone");
	fake_done(&f);
}

int main(void)
{
	test_question();
	test_rules();
	test_answers();
	test_renewal();
	test_short_life();
	test_401();
	test_401_of_a_request();
	test_trouble();
	test_watch_of_profiles();
	return done_testing();
}
