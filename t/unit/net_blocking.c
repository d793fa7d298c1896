/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a thread of their own, several at a time: on one connection, each with its answer,
 * and what became of each when the connection breaks, the fence is down or the thread is to end.
 */
#include "t/lib/tap.h"

#include <pthread.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/net/blocking.h"
#include "core/net/transport_curl.h"
#include "t/lib/net_h2server.h"

enum { PATIENCE_MS = 60 * 1000 };

static struct loop *loop;
static struct h2_server srv;
static struct net_fence fence;
static struct blocking *client;

/* --- a server that answers when it is told to ----------------------------------------------- */

static struct h2_stream *held[BLOCKING_MOST];
static size_t n_held;

static const char *hold(struct h2_stream *s)
{
	if (n_held < BLOCKING_MOST) {
		held[n_held++] = s;
	}
	return NULL; /* the server does not answer /hang */
}

/* The number that the request is about: its body. */
static size_t number_of(struct h2_stream *s)
{
	mk_str text = buf_str(&s->in);

	return text.n == 1 ? (size_t)(text.p[0] - '0') : BLOCKING_MOST;
}

/* Odd ones are refused. */
static void reply(struct h2_stream *s)
{
	buf_printf(&s->out, "answer %zu", number_of(s));
	h2_reply(s, number_of(s) % 2 ? "409" : "200");
	h2_conn_flush(s->conn);
}

/* --- a thread that asks ----------------------------------------------------------------------- */

struct asking {
	size_t n;
	const char *paths[BLOCKING_MOST]; /* NULL: "/hang" */
	atomic_bool stop, done;
	struct blocking_answer answers[BLOCKING_MOST];
	char bodies[BLOCKING_MOST][32];
};

static void *ask(void *ctx)
{
	static const char *const digits[BLOCKING_MOST] = {"0", "1", "2", "3", "4", "5", "6", "7"};
	struct transport_request r[BLOCKING_MOST] = {{.method = ""}};
	struct asking *x = ctx;

	for (size_t i = 0; i < x->n; i++) {
		r[i] = (struct transport_request){
			.method = "PATCH",
			.path = str_of(x->paths[i] ? x->paths[i] : "/hang"),
			.content_type = "application/json",
			.body = str_of(digits[i]),
			.cls = TRANSPORT_WRITE,
			.timeout_ms = PATIENCE_MS};
	}
	blocking_do_all(client, r, x->n, &x->stop, x->answers);
	for (size_t i = 0; i < x->n; i++) {
		snprintf(x->bodies[i], sizeof(x->bodies[i]), "%.*s", STR_ARG(x->answers[i].body));
	}
	atomic_store(&x->done, true);
	return NULL;
}

/* Asks, and turns the loop until 'n' requests are held; then 'act', and to the end. */
static void run(struct asking *x, size_t n, void (*act)(struct asking *x))
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	pthread_t thread;

	n_held = 0;
	if (pthread_create(&thread, NULL, ask, x) != 0) {
		exit(2);
	}
	while (n_held < n && !atomic_load(&x->done) && clock_mono_ms() < end) {
		loop_turn(loop, 20);
	}
	if (act) {
		act(x);
	}
	while (!atomic_load(&x->done) && clock_mono_ms() < end) {
		loop_turn(loop, 20);
	}
	atomic_store(&x->stop, true);
	pthread_join(thread, NULL);
}

static bool has(const struct asking *x, size_t i)
{
	char body[32];

	snprintf(body, sizeof(body), "answer %zu", i);
	return x->answers[i].code == ERR_OK && x->answers[i].head.status == (i % 2 ? 409 : 200) &&
	       strcmp(x->bodies[i], body) == 0;
}

static size_t count(const struct asking *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++) {
		n += has(x, i) ? 1 : 0;
	}
	return n;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void reply_backwards(struct asking *x)
{
	(void)x;
	for (size_t i = n_held; i-- > 0;) {
		reply(held[i]);
	}
}

static void test_together(void)
{
	struct asking x = {.n = BLOCKING_MOST};

	run(&x, BLOCKING_MOST, reply_backwards);
	is_int(n_held, BLOCKING_MOST, "all requests are there before one is answered");
	is_int(count(&x), BLOCKING_MOST, "each has its own answer, whatever came first");
	is_int(srv.accepted, 1, "they share a connection");
	x = (struct asking){.n = 1};
	run(&x, 1, reply_backwards);
	ok(has(&x, 0) && srv.accepted == 1, "the next one too");
}

static void cut(struct asking *x)
{
	int64_t end = clock_mono_ms() + 200;

	(void)x;
	for (size_t i = 0; i < 3; i++) {
		reply(held[i]);
	}
	while (clock_mono_ms() < end) {
		loop_turn(loop, 20);
	}
	h2_server_cut(&srv);
}

static void test_cut(void)
{
	struct asking x = {.n = BLOCKING_MOST};
	bool good = true;

	run(&x, BLOCKING_MOST, cut);
	is_int(count(&x), 3, "the connection breaks: what was answered is");
	for (size_t i = 0; i < x.n; i++) {
		good = good &&
		       (has(&x, i) || (x.answers[i].code == ERR_UNAVAILABLE &&
				       x.answers[i].head.status == 0 && x.answers[i].text[0]));
	}
	ok(good, "... and of the rest it is said that nothing is known");
	x = (struct asking){.n = 2};
	run(&x, 2, reply_backwards);
	is_int(count(&x), 2, "then there is another connection");
}

static void stop(struct asking *x)
{
	reply(held[0]);
	atomic_store(&x->stop, true);
}

static void test_stop(void)
{
	struct asking x = {.n = 4};
	int64_t begun = clock_mono_ms();

	run(&x, 4, stop);
	ok(count(&x) <= 1 && x.answers[3].code != ERR_OK, "who is to end has no answers");
	ok(clock_mono_ms() - begun < PATIENCE_MS / 2, "... and does not wait for them");
}

static void test_not_sent(void)
{
	struct asking x = {.n = 3, .paths = {NULL, "no path", NULL}};

	run(&x, 2, reply_backwards);
	ok(has(&x, 0) && has(&x, 2) && x.answers[1].code == ERR_INVALID &&
		   x.answers[1].end == TRANSPORT_NOT_SENT,
	   "one that cannot be sent does not keep the others back");
	net_fence_set(&fence, 0);
	x = (struct asking){.n = 3};
	run(&x, 1, NULL);
	ok(n_held == 0 && x.answers[0].code == ERR_FENCED && x.answers[2].code == ERR_FENCED,
	   "below the fence none is sent");
	net_fence_set(&fence, INT64_MAX);
}

int main(void)
{
	struct transport_options to = {.fence = &fence, .user_agent = "test"};
	struct transport_curl *tc;
	struct endpoint e = {.host = STR("127.0.0.1"), .allow_loopback = true};

	loop = loop_new(NULL);
	to.loop = loop;
	tc = loop ? transport_curl_new(&to, NULL) : NULL; /* starts libcurl */
	if (!tc || !h2_server_start(&srv, loop_base(loop))) {
		return 1;
	}
	srv.hook = hold;
	e.port = srv.port;
	e.ca_pem = str_of(srv.ca_pem);
	client = blocking_new(&e, "test", false, NULL);
	net_fence_set(&fence, INT64_MAX);
	if (!client) {
		return 1;
	}
	blocking_set_fence(client, &fence);
	test_together();
	test_cut();
	test_stop();
	test_not_sent();
	blocking_free(client);
	h2_server_stop(&srv);
	loop_turn(loop, 0);
	transport_curl_free(tc);
	loop_free(loop);
	return done_testing();
}
