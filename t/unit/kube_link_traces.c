/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole lives of a link, from its first attempt to its end: when it is tried, what is told, and
 * which loss counts. The conditions that follow from what is told are in engine_links.c.
 */
#include "t/lib/kube_fake.h"

static struct fake f;

#define OTHER_KUBECONFIG                                                       \
	"current-context: c\n"                                                 \
	"clusters: [{name: c1, cluster: {server: 'https://10.0.0.2:6443'}}]\n" \
	"users: [{name: u1, user: {token: xyz}}]\n"                            \
	"contexts: [{name: c, context: {cluster: c1, user: u1}}]\n"

static void start(uint64_t seed)
{
	fake_init(&f, seed);
	fake_manager(&f);
	fake_story(&f);
}

static bool is_trying(void)
{
	return fake_find(&f, 1, "GET /version") != NULL;
}

static void refuse(void)
{
	fake_end(&f, fake_token(&f, 1, "GET /version"), TRANSPORT_NOT_SENT, ERR_UNAVAILABLE,
		 "refused");
}

/* Milliseconds until the next attempt; more than 'most' when none comes by then. */
static int64_t next_attempt(int64_t most)
{
	int64_t since = f.mono;

	while (!is_trying() && f.mono - since <= most) {
		fake_wait(&f, 10);
	}
	return f.mono - since;
}

/* The manager's link is idle for long and asks whether it is there. */
static void answer_manager(void)
{
	if (fake_find(&f, 0, "GET /version")) {
		fake_answer(&f, 0, "GET /version", 200, VERSION_DOC);
	}
}

/*
 * Answers what a watch asks before it streams: whether its version is still known, when it has one.
 */
static void open_watch(void)
{
	for (int i = 0; i < 500 && !fake_find(&f, 1, "/workloads?"); i++) {
		fake_wait(&f, 10);
	}
	if (fake_find(&f, 1, "limit=1&")) {
		fake_answer(&f, 1, "limit=1&", 200,
			    "{\"kind\":\"WorkloadList\",\"metadata\":{\"resourceVersion\":\"510\"},"
			    "\"items\":[]}");
		fake_stream(&f, 1, "/workloads?");
	} else {
		fake_empty(&f, 1, "/workloads?", KUEUE, "Workload", 500);
	}
}

static bool is_up_again(void)
{
	bool good = fake_handshake(&f, 1, "worker-uid");

	open_watch();
	return good && kube_is_up(f.k, 1);
}

static const char lost_then[] =
	"link 1 down code=unavailable reason=ClientConnectionFailed text=\"failed to get server "
	"groups: refused\" at=1800000000000\n";

/* Fails from the start, each time its pause is over, and connects in the end. */
static void fails_then_connects(void)
{
	static const int64_t most[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};
	bool same = true, quiet = true, soon = true;

	start(21);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "o=m");
	is_str(fake_story(&f), "link 1 connecting\n", "from the start: one attempt");
	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		size_t sent;

		refuse();
		same = same && strcmp(fake_story(&f), lost_then) == 0;
		sent = f.n;
		/* What comes in while it waits is no reason to try. */
		fake_connect(&f, 1, "s1");
		fake_secret(&f, fake_token(&f, 0, "/secrets?"), "MODIFIED", "s1", FAKE_KUBECONFIG,
			    200 + i);
		fake_watch(&f, 1, KIND_FIRST_JOB, "o=m");
		quiet = quiet && f.n == sent && !is_trying();
		fake_story(&f);
		soon = soon && next_attempt(most[i] + 10) <= most[i] + 10;
	}
	ok(same, "each failure tells the same words and the first loss");
	ok(quiet, "trap_11: passes and news during the pause send nothing");
	ok(soon, "each pause is at most twice the last one's, and 30 s");
	ok(is_up_again(), "then it connects");
	ok(strstr(fake_story(&f), "link 1 up identity=worker-uid\n") != NULL, "and says so");
	fake_end(&f, fake_token(&f, 1, "/workloads?"), TRANSPORT_LOST, ERR_UNAVAILABLE, "gone");
	refuse();
	ok(!strstr(fake_story(&f), "at=1800000000000"), "a later loss has a date of its own");
	fake_done(&f);
}

/* The pause is long, and other credentials come: tried at once, and the pauses begin anew. */
static void new_secret_in_the_pause(void)
{
	start(22);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "o=m");
	for (int i = 0; i < 6; i++) {
		refuse();
		next_attempt(30010);
	}
	refuse();
	fake_story(&f);
	fake_secret(&f, fake_token(&f, 0, "/secrets?"), "MODIFIED", "s1", OTHER_KUBECONFIG, 205);
	fake_story(&f);
	fake_connect(&f, 1, "s1");
	ok(is_trying(), "another Secret within the pause: tried at once");
	is_str(f.host[1], "10.0.0.2", "with the new one");
	is_str(fake_story(&f), "link 1 connecting\n", "one word of it");
	refuse();
	is_str(fake_story(&f), lost_then, "it fails too: the first loss still counts");
	ok(next_attempt(1010) <= 1010, "and the pauses begin anew");
	ok(is_up_again(), "up");
	fake_done(&f);
}

/* Up; other credentials fail twice, then work. */
static void new_secret_that_fails(void)
{
	static const char lost_later[] =
		"link 1 down code=unavailable reason=ClientConnectionFailed text=\"failed to get "
		"server groups: refused\" at=1800000005000\n";

	start(23);
	fake_worker(&f);
	fake_wait(&f, 5000);
	fake_secret(&f, fake_token(&f, 0, "/secrets?"), "MODIFIED", "s1", OTHER_KUBECONFIG, 105);
	fake_story(&f);
	fake_connect(&f, 1, "s1");
	is_str(fake_story(&f), "link 1 connecting\n", "up, other credentials: not lost as yet");
	refuse();
	is_str(fake_story(&f), lost_later, "they fail: lost as of now");
	ok(next_attempt(1010) <= 1010, "tried again");
	refuse();
	is_str(fake_story(&f), lost_later, "they fail twice: as of the first time");
	ok(next_attempt(2010) <= 2010, "and again");
	ok(is_up_again(), "then they work");
	fake_done(&f);
}

/*
 * The Secret goes: the engine cuts the link. It comes back: another number, tried
 * at once, whatever the pause was.
 */
static void secret_gone_and_back(bool up)
{
	struct op cut = {.type = OP_DISCONNECT, .cluster = 1};
	uint64_t t;

	start(24);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "o=m");
	if (up) {
		is_up_again();
	} else {
		for (int i = 0; i < 6; i++) {
			refuse();
			next_attempt(30010);
		}
		refuse();
	}
	t = fake_token(&f, 0, "/secrets?");
	fake_line(&f, t, "DELETED", "v1", "Secret", "kueue-system", "s1", 105);
	is_int(kube_do(f.k, &cut, NULL), ERR_OK, up ? "up, the Secret goes" : "it goes in a pause");
	ok(!f.is_open[1] && !kube_is_up(f.k, 1), "the transport is closed");
	fake_wait(&f, 60000);
	ok(!is_trying(), "and nothing is tried without a Secret");
	fake_secret(&f, t, "ADDED", "s1", FAKE_KUBECONFIG, 110);
	fake_story(&f);
	fake_connect(&f, 2, "s1");
	fake_watch(&f, 2, KIND_WORKLOAD, "o=m");
	is_str(fake_story(&f), "link 2 connecting\n", "the same Secret is back: tried at once");
	ok(fake_handshake(&f, 2, "worker-uid"), "under another number");
	fake_empty(&f, 2, "/workloads?", KUEUE, "Workload", 500);
	ok(kube_is_up(f.k, 2), "up");
	fake_done(&f);
}

/* A Secret that is missing is not asked for: minutes of silence. */
static void secret_missing(void)
{
	size_t sent;

	start(26);
	fake_connect(&f, 1, "none");
	ok(strstr(fake_story(&f), "reason=BadKubeConfig") != NULL, "no Secret: told once");
	sent = f.n;
	for (int i = 0; i < 5; i++) {
		fake_wait(&f, 60000);
		answer_manager();
	}
	for (; sent < f.n; sent++) {
		if (f.calls[sent].cluster != 0 || strstr(f.calls[sent].path, "/secrets/")) {
			break;
		}
	}
	is_int((long long)(f.n - sent), 0, "trap_06: a missing Secret is not polled");
	ok(!strstr(fake_story(&f), "link 1 "), "nor told of again");
	fake_secret(&f, fake_token(&f, 0, "/secrets?"), "ADDED", "none", FAKE_KUBECONFIG, 110);
	fake_connect(&f, 1, "none");
	ok(is_trying(), "its creation connects");
	fake_done(&f);
}

/* Up; a stream ends twice and is resumed, then the server does not answer. */
static void streams_end(void)
{
	start(27);
	fake_worker(&f);
	fake_many(&f, fake_token(&f, 1, "/workloads?"), 500);
	for (int i = 0; i < 2; i++) {
		fake_wait(&f, 15000);
		fake_end(&f, fake_token(&f, 1, "/workloads?"), TRANSPORT_LOST, ERR_UNAVAILABLE,
			 "gone");
		fake_story(&f);
		fake_answer(&f, 1, PROBE, 200, VERSION_DOC);
		open_watch();
		is_str(fake_story(&f), "", "a stream ends and is resumed: no loss");
		ok(kube_is_up(f.k, 1), "the link is up all the time");
	}
	fake_wait(&f, 15000);
	f.wall = 1800000100000;
	kube_set_now(f.k, f.mono, f.wall);
	fake_end(&f, fake_token(&f, 1, "/workloads?"), TRANSPORT_LOST, ERR_UNAVAILABLE, "gone");
	fake_wait(&f, 700);
	fake_end(&f, fake_token(&f, 1, PROBE), TRANSPORT_NOT_SENT, ERR_UNAVAILABLE, "refused");
	is_str(fake_story(&f),
	       "link 1 down code=unavailable reason=ClientConnectionFailed text=\"failed to get "
	       "server groups: refused\" at=1800000100000\n",
	       "it ends and no answer comes: lost as of the end");
	fake_done(&f);
}

/* Up; the Secret is emptied, then the cluster is deleted. */
static void secret_emptied(void)
{
	struct op cut = {.type = OP_DISCONNECT, .cluster = 1};
	size_t sent;

	start(29);
	fake_worker(&f);
	fake_secret(&f, fake_token(&f, 0, "/secrets?"), "MODIFIED", "s1", "", 105);
	fake_story(&f);
	fake_connect(&f, 1, "s1");
	ok(strstr(fake_story(&f), "link 1 down code=invalid reason=InsecureKubeConfig "
				  "text=\"load client config failed: invalid configuration: no "
				  "configuration has been provided") != NULL,
	   "the Secret is emptied: down, with its reason");
	ok(!f.is_open[1], "the old credentials are used no more");
	sent = f.n;
	fake_wait(&f, 15000);
	is_int((long long)f.n, (long long)sent, "nothing is tried with none");
	is_int(kube_do(f.k, &cut, NULL), ERR_OK, "the cluster is deleted");
	is_str(fake_story(&f), "", "without a word");
	fake_done(&f);
}

/*
 * Answers that come after their attempt was given up: by other
 * credentials, and by the limit of time.
 */
static void late_answers(void)
{
	uint64_t version, stream;

	start(30);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "o=m");
	version = fake_token(&f, 1, "GET /version");
	fake_secret(&f, fake_token(&f, 0, "/secrets?"), "MODIFIED", "s1", OTHER_KUBECONFIG, 105);
	fake_connect(&f, 1, "s1");
	fake_story(&f);
	fake_head(&f, version, 200, "application/json", -1);
	fake_chunk(&f, version, VERSION_DOC);
	fake_end(&f, version, TRANSPORT_OK, ERR_OK, "");
	is_str(fake_story(&f), "", "a late answer to old credentials says nothing");
	ok(!fake_find(&f, 1, "/namespaces/kube-system") && is_trying(), "and moves nothing on");
	fake_handshake(&f, 1, "worker-uid");
	stream = fake_token(&f, 1, "/workloads?");
	fake_story(&f);
	for (int i = 0; i < 16 && kube_next_ms(f.k) != INT64_MAX && !strstr(f.story, "down"); i++) {
		fake_wait(&f, 10000);
		answer_manager();
	}
	ok(strstr(fake_story(&f), "text=\"watch establishment timed out\"") != NULL,
	   "a watch that does not open times out");
	ok(is_trying() || next_attempt(1010) <= 1010, "the next attempt begins");
	fake_story(&f);
	fake_head(&f, stream, 200, "application/json", -1);
	fake_mark(&f, stream, KUEUE, "Workload", 400);
	fake_end(&f, stream, TRANSPORT_OK, ERR_OK, "");
	ok(!kube_is_up(f.k, 1) && !strstr(fake_story(&f), "Workload"),
	   "trap_16: the late answer of a watch that was given up is none");
	ok(is_up_again(), "and blocks nothing: up");
	fake_done(&f);
}

int main(void)
{
	fails_then_connects();
	new_secret_in_the_pause();
	new_secret_that_fails();
	secret_gone_and_back(true);
	secret_gone_and_back(false);
	secret_missing();
	streams_end();
	secret_emptied();
	late_answers();
	return done_testing();
}
