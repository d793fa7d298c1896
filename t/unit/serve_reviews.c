/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reviews cost the Lease nothing: they are answered while the main loop stands still, and a flood
 * of the largest hostile ones leaves its heartbeat alone, and the Lease renewed.
 */
#include "t/lib/admit_tell.h"
#include "t/lib/tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/metric.h"
#include "core/daemon/lease_thread.h"
#include "core/net/transport_curl.h"
#include "core/serve/reviews.h"
#include "core/serve/serving_certs.h"
#include "t/lib/net_h2server.h"

enum {
	PATIENCE_MS = 120000,
	BODY = 5 * 1024 * 1024,
	CLIENTS = 12,
	HOSTILE = 20, /* reviews of the flood, at least; REVIEWS in the environment: as many */
	BEAT_MS = 100,
};

static struct admit_queues *queues;
static struct tls_serve *tls;
static struct trees_store *trees; /* or NULL */
static struct reviews *reviews;

/* --- clients, on threads ---------------------------------------------------------------------- */

static char *hostile; /* a review that is as long as can be, and as slow to read */
static size_t hostile_n = BODY;
static atomic_bool enough;
static atomic_int n_answered, n_other;

static int dial(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET,
				  .sin_port = htons(reviews_port(reviews)),
				  .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct timeval limit = {.tv_sec = 60};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)&sin, sizeof(sin)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool send_all(SSL *ssl, const char *p, size_t n)
{
	while (n > 0) {
		int some = SSL_write(ssl, p, n > 65536 ? 65536 : (int)n);

		if (some <= 0) {
			return false;
		}
		p += some;
		n -= (size_t)some;
	}
	return true;
}

/* Posts 'body'; the status of the answer, whose beginning is in 'out'. 0: none. */
static int post_to(SSL_CTX *ctx, const char *path, const char *body, size_t n,
		   char out[static 2048])
{
	SSL *ssl = SSL_new(ctx);
	char head[128];
	int fd = dial();
	int status = 0;
	int got = 0;

	out[0] = '\0';
	snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nContent-Length: %zu\r\n\r\n", path, n);
	if (fd >= 0 && SSL_set_fd(ssl, fd) == 1 && SSL_connect(ssl) == 1 &&
	    send_all(ssl, head, strlen(head)) && send_all(ssl, body, n)) {
		got = SSL_read(ssl, out, 2047);
		out[got > 0 ? got : 0] = '\0';
	}
	if (strncmp(out, "HTTP/1.1 ", 9) == 0) {
		status = (int)strtol(out + 9, NULL, 10);
	}
	SSL_free(ssl);
	ERR_clear_error();
	if (fd >= 0) {
		close(fd);
	}
	return status;
}

static int post(SSL_CTX *ctx, const char *body, size_t n, char out[static 2048])
{
	return post_to(ctx, "/mutate", body, n, out);
}

static void *flood(void *arg)
{
	SSL_CTX *ctx = arg;
	char out[2048];

	while (!atomic_load(&enough)) {
		int status = post(ctx, hostile, hostile_n, out);

		/* 503: the bodies that are coming in are too many together. */
		atomic_fetch_add(status == 200 ? &n_answered : &n_other, 1);
	}
	return NULL;
}

#define JOB                                                                                    \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"   \
	"\"uid\":\"u1\",\"kind\":{\"group\":\"batch\",\"version\":\"v1\",\"kind\":\"Job\"},"   \
	"\"namespace\":\"ns\",\"operation\":\"CREATE\",\"object\":{\"metadata\":{\"labels\":{" \
	"\"kueue.x-k8s.io/queue-name\":\"far\"}},\"spec\":{"

static void make_hostile(void)
{
	static const char head[] = JOB "\"x\":[0";
	static const char tail[] = "]}}}}";
	size_t at = sizeof(head) - 1;

	if (tap_valgrind()) {
		hostile_n = BODY / 16; /* which takes as long there */
	}
	hostile = malloc(hostile_n);
	memcpy(hostile, head, at);
	while (at + 2 + sizeof(tail) - 1 <= hostile_n) {
		memcpy(hostile + at, ",0", 2);
		at += 2;
	}
	memset(hostile + at, ' ', hostile_n - at);
	memcpy(hostile + hostile_n - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
}

/* --- the server ------------------------------------------------------------------------------- */

static bool begin(void)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE, KIND_CHECK};
	mk_str names[] = {STR("localhost")};
	struct serving_input in = {.names = names, .n_names = 1, .now_ms = clock_wall_ms()};
	struct tls_serve_options to = {.tls13 = false};
	struct reviews_options ro = {.address = STR("127.0.0.1:0")};
	struct serving_certs made;
	struct arena a;
	bool change, done;

	queues = admit_queues_new();
	admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "far",
		   "{\"spec\":{\"clusterQueue\":\"cq\"}}");
	admit_tell(queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "cq",
		   "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]"
		   "}}}");
	admit_tell(queues, EV_OBSERVED, KIND_CHECK, "", "mk",
		   "{\"spec\":{\"controllerName\":\"kueue.x-k8s.io/multikueue\"}}");
	for (size_t i = 0; i < 3; i++) {
		admit_tell(queues, EV_LIST_END, kinds[i], "", "", "{}");
	}
	arena_init(&a, 0);
	tls = tls_serve_new(&to, NULL);
	done = tls && serving_certs_plan(&a, &in, &made, &change, NULL) == ERR_OK &&
	       tls_serve_set(tls, made.cert, made.key, NULL) == ERR_OK;
	arena_done(&a);
	ro.queues = queues;
	ro.tls = tls;
	ro.trees = trees;
	reviews = done ? reviews_start(&ro, NULL) : NULL;
	return reviews != NULL;
}

static void finish(void)
{
	reviews_free(reviews);
	trees_store_free(trees);
	trees = NULL;
	tls_serve_free(tls);
	admit_queues_free(queues);
}

/* --- the Lease -------------------------------------------------------------------------------- */

static struct loop *loop;
static struct h2_server srv;
static struct net_fence fence;
static struct watchdog *dog;
static struct lease_thread *lease;
static struct loop_timer *beat_timer;
static unsigned rv, renewals;
static char holder[64];
static int64_t beat_ms, longest_ms;
static atomic_int stuck;

static void on_stuck(void)
{
	atomic_fetch_add(&stuck, 1);
}

static const char *on_lease(struct h2_stream *s)
{
	const char *at = s->in.n ? strstr(s->in.p, "\"holderIdentity\":\"") : NULL;
	const char *status = "200";

	if (at) {
		snprintf(holder, sizeof(holder), "%.*s", (int)strcspn(at + 18, "\""), at + 18);
	}
	if (strcmp(s->method, "GET") == 0 && rv == 0) {
		buf_printf(&s->out, "{\"kind\":\"Status\",\"code\":404}");
		return "404";
	}
	if (strcmp(s->method, "POST") == 0) {
		rv = 1;
		status = "201";
	} else if (strcmp(s->method, "PATCH") == 0) {
		rv++;
		renewals++;
	}
	buf_printf(&s->out,
		   "{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"%u\"},\"spec\":{"
		   "\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15,\"leaseTransitions\":1}}",
		   rv, holder);
	return status;
}

static void beat(void *ctx)
{
	int64_t now = clock_mono_ms();

	(void)ctx;
	longest_ms = now - beat_ms > longest_ms ? now - beat_ms : longest_ms;
	beat_ms = now;
	watchdog_beat(dog);
	loop_timer_set(beat_timer, BEAT_MS);
}

static struct transport_curl *lead(void)
{
	struct transport_options to = {.fence = &fence, .user_agent = "test"};
	struct transport_curl *tc;
	struct endpoint e = {.host = STR("127.0.0.1"), .allow_loopback = true};
	struct lease_thread_options o = {.lease = {.ns = STR("ns"),
						   .name = STR("lock"),
						   .identity = STR("me"),
						   .lease_ms = 15000,
						   .renew_ms = 10000,
						   .retry_ms = 300,
						   .seed = 7},
					 .endpoint = &e,
					 .user_agent = "test",
					 .fence = &fence};
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	loop = loop_new(NULL);
	to.loop = loop;
	tc = loop ? transport_curl_new(&to, NULL) : NULL; /* starts libcurl */
	if (!tc || !h2_server_start(&srv, loop_base(loop))) {
		return NULL;
	}
	srv.hook = on_lease;
	e.port = srv.port;
	e.ca_pem = str_of(srv.ca_pem);
	o.loop = loop;
	dog = watchdog_start(&(struct watchdog_options){.fence = &fence, .on_stuck = on_stuck},
			     NULL);
	o.watchdog = dog;
	lease = lease_thread_start(&o, NULL);
	beat_timer = loop_timer_new(loop, beat, NULL);
	beat_ms = clock_mono_ms();
	beat(NULL);
	while (lease_thread_state(lease) != LEASE_LEADER && clock_mono_ms() < end) {
		loop_turn(loop, 20);
	}
	return tc;
}

static void end(struct transport_curl *tc)
{
	lease_thread_free(lease);
	watchdog_free(dog);
	loop_timer_free(beat_timer);
	h2_server_stop(&srv);
	loop_turn(loop, 0);
	transport_curl_free(tc);
	loop_free(loop);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_apart(SSL_CTX *ctx)
{
	char out[2048];

	is_int(post(ctx, JOB "}}}}", strlen(JOB "}}}}"), out), 200,
	       "a review is answered while the main loop stands still");
	ok(strstr(out, "\"patch\":"), "with its patch");
	is_int(post(ctx, "{", 1, out), 400, "half of one is refused");
	admit_tell(queues, EV_UNSERVED, KIND_CHECK, "", "", "{}");
	is_int(post(ctx, JOB "}}}}", strlen(JOB "}}}}"), out), 503,
	       "what the main loop learns counts at once");
	admit_tell(queues, EV_FRESH, KIND_CHECK, "", "", "{}");
	is_int(post(ctx, hostile, hostile_n, out), 200, "5 MiB of small values are read");
}

#define STATUS                                                                                    \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"      \
	"\"uid\":\"u1\",\"kind\":{\"group\":\"kueue.x-k8s.io\",\"kind\":\"ClusterQueueTree\"},"   \
	"\"userInfo\":{\"username\":\"us\"},\"operation\":\"CREATE\",\"object\":{\"apiVersion\":" \
	"\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQueueTree\",\"metadata\":{\"name\":"       \
	"\"default\"}}}}"
#define TREE                                                                                    \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"    \
	"\"uid\":\"u1\",\"kind\":{\"group\":\"kueue.x-k8s.io\",\"kind\":\"ClusterQuotaTree\"}," \
	"\"operation\":\"CREATE\",\"object\":{\"apiVersion\":\"kueue.x-k8s.io/"                 \
	"v1alpha1\",\"kind\":"                                                                  \
	"\"ClusterQuotaTree\",\"metadata\":{\"name\":\"t\"},\"spec\":{\"hierarchies\":{}}}}}"

/* Queue trees: another path, only where there is a store. */
static void test_trees(SSL_CTX *ctx)
{
	static const enum api_kind kinds[] = {API_QUEUE, API_TREE,   API_STATUS,
					      API_LQ,    API_FLAVOR, API_COHORT};
	char out[2048];

	is_int(post_to(ctx, "/validate", TREE, strlen(TREE), out), 503,
	       "nothing is said of trees before they are known");
	for (size_t i = 0; i < 6; i++) {
		trees_store_unserved(trees, kinds[i]);
	}
	is_int(post_to(ctx, "/validate", TREE, strlen(TREE), out), 200, "then they are judged");
	ok(strstr(out, "\"allowed\":false") && strstr(out, "must have one root"),
	   "... and refused with the words of the rule");
	is_int(post_to(ctx, "/validate", STATUS, strlen(STATUS), out), 503,
	       "before our name is known nothing is refused that may be ours");
	reviews_account(reviews, STR("us"));
	is_int(post_to(ctx, "/validate", STATUS, strlen(STATUS), out), 200, "... once it is");
	ok(strstr(out, "\"allowed\":true"), "... we may write");
	reviews_account(reviews, STR("them"));
	post_to(ctx, "/validate", STATUS, strlen(STATUS), out);
	ok(strstr(out, "\"allowed\":false"), "... and others may not");
	is_int(post_to(ctx, "/validate", "{", 1, out), 400, "half a review is refused");
}

static void test_without_trees(SSL_CTX *ctx)
{
	char out[2048];

	is_int(post_to(ctx, "/validate", TREE, strlen(TREE), out), 404,
	       "without queue trees there is no such path");
}

static void test_flood(SSL_CTX *ctx)
{
	struct metric *seconds = metric_histogram("multikueue_admission_seconds",
						  "Time from a whole request to its answer.",
						  metric_seconds, metric_n_seconds, NULL);
	const char *env = getenv("REVIEWS");
	int least = env ? (int)strtol(env, NULL, 10) : HOSTILE;
	struct transport_curl *tc = lead();
	pthread_t client[CLIENTS];
	unsigned before = renewals;
	int64_t begun, over;

	if (!tc) {
		ok(false, "no loop, or no free port");
		return;
	}
	is_int(lease_thread_state(lease), LEASE_LEADER, "the Lease is held");
	longest_ms = 0;
	beat_ms = begun = clock_mono_ms();
	for (int i = 0; i < CLIENTS; i++) {
		pthread_create(&client[i], NULL, flood, ctx);
	}
	over = begun + PATIENCE_MS;
	while ((atomic_load(&n_answered) < least || renewals < before + 5) &&
	       clock_mono_ms() < over) {
		loop_turn(loop, 20);
	}
	printf("# %d of the largest in %lld ms, %d refused; longest gap %lld ms, %u renewals\n",
	       atomic_load(&n_answered), (long long)(clock_mono_ms() - begun),
	       atomic_load(&n_other), (long long)longest_ms, renewals - before);
	ok(atomic_load(&n_answered) >= least, "a flood of the largest reviews is answered");
	ok(longest_ms < WATCHDOG_STALE_MS / 4, "the heartbeat is never older than a moment");
	ok(loop_max_stall_us(loop) < 1000000, "no callback of the main loop is long");
	ok(renewals >= before + 5 && lease_thread_state(lease) == LEASE_LEADER,
	   "the Lease is renewed all the while");
	is_int(atomic_load(&stuck), 0, "and the main loop does not count as stuck");
	atomic_store(&enough, true);
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(client[i], NULL);
	}
	ok(metric_get(seconds, METRIC_NONE) >= least, "each was counted");
	end(tc);
}

int main(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	log_set_level(NULL, LOG_OFF);
	signal(SIGPIPE, SIG_IGN);
	make_hostile();
	if (!ctx || !begin()) {
		printf("Bail out! no server\n");
		return 1;
	}
	test_without_trees(ctx);
	finish();
	trees = trees_store_new();
	if (!begin()) {
		printf("Bail out! no server\n");
		return 1;
	}
	test_trees(ctx);
	test_apart(ctx);
	test_flood(ctx);
	finish();
	SSL_CTX_free(ctx);
	free(hostile);
	metric_clear();
	return done_testing();
}
