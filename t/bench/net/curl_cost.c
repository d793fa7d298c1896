/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one request and one watch event cost the client in CPU time: the transport against a small
 * HTTP/2 server in a child process. Prints one line per case; docs/decisions/0002-libcurl-cost.md
 * holds figures of a run. Usage: build/release/t/bench/net/curl_cost [requests per case]
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "core/net/exchange.h"
#include "core/net/transport_curl.h"
#include "t/lib/net_h2server.h"

enum { EVENT = 4400 };

struct client {
	struct loop *loop;
	struct transport_curl *tc;
	const struct transport *tr;
	struct transport_request request;
	long to_send, done, failed;
	uint64_t token;
	size_t bytes;
};

static char event_text[EVENT + 1];

static void send_one(struct client *c)
{
	if (c->to_send > 0) {
		c->to_send--;
		c->tr->send(c->tr->ctx, 1, &c->request, ++c->token, NULL);
	}
}

static void on_head(void *ctx, uint64_t token, const struct transport_head *h)
{
	(void)ctx;
	(void)token;
	(void)h;
}

static void on_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	struct client *c = ctx;

	(void)token;
	c->bytes += bytes.n;
}

static void on_end(void *ctx, uint64_t token, enum transport_end end, enum mk_code code,
		   mk_str text)
{
	struct client *c = ctx;

	(void)token;
	c->done++;
	if (end != TRANSPORT_OK) {
		c->failed++;
		fprintf(stderr, "failed: %s %.*s (%s, done %ld, %d)\n", err_code_name(code),
			STR_ARG(text), c->request.method, c->done, (int)end);
	}
	send_one(c);
}

static void run_requests(struct client *c, const char *name, const char *method, const char *path,
			 mk_str body, int window, long n)
{
	int64_t cpu, wall;

	c->request = (struct transport_request){.method = method,
						.path = str_of(path),
						.content_type = body.n ? "application/json" : NULL,
						.body = body,
						.cls = body.n ? TRANSPORT_WRITE : TRANSPORT_READ,
						.timeout_ms = 30000};
	c->done = 0;
	c->to_send = n;
	cpu = clock_cpu_us();
	wall = clock_mono_us();
	for (int i = 0; i < window; i++) {
		send_one(c);
	}
	while (c->done < n) {
		loop_turn(c->loop, 100);
	}
	cpu = clock_cpu_us() - cpu;
	wall = clock_mono_us() - wall;
	printf("%-34s window %2d: %6.1f us CPU, %7.0f/s\n", name, window, (double)cpu / (double)n,
	       (double)n * 1e6 / (double)wall);
}

static void run_watch(struct client *c, const char *name, const char *path, long n)
{
	int64_t cpu;
	size_t from;

	c->request = (struct transport_request){
		.method = "GET", .path = str_of(path), .cls = TRANSPORT_WATCH};
	c->to_send = 1;
	send_one(c);
	while (c->bytes < EVENT) {
		loop_turn(c->loop, 100);
	}
	from = c->bytes;
	cpu = clock_cpu_us();
	while (c->bytes - from < (size_t)n * EVENT) {
		loop_turn(c->loop, 100);
	}
	cpu = clock_cpu_us() - cpu;
	printf("%-34s            %6.1f us CPU\n", name,
	       (double)cpu * EVENT / (double)(c->bytes - from));
	c->tr->cancel(c->tr->ctx, 1, c->token);
	c->bytes = 0;
}

/* Making and freeing an easy handle with all its options, without any I/O. */
static void run_setup(const struct endpoint *e, struct net_fence *fence, long n)
{
	struct exchange_env env = {.user_agent = "bench/1", .fence = fence};
	struct peer *p = peer_new(e, NULL, NULL);
	struct transport_request r = {.method = "PATCH",
				      .path = STR("/apis/kueue.x-k8s.io/v1beta2/x"),
				      .content_type = "application/json",
				      .body = str_of(event_text),
				      .cls = TRANSPORT_WRITE,
				      .timeout_ms = 30000};
	int64_t cpu = clock_cpu_us();

	for (long i = 0; i < n; i++) {
		struct exchange x;

		if (exchange_init(&x, &env, p, &r, 0, NULL) == ERR_OK) {
			exchange_done(&x);
		}
	}
	printf("%-34s            %6.1f us CPU\n", "easy handle and options alone",
	       (double)(clock_cpu_us() - cpu) / (double)n);
	peer_free(p);
}

/* --- the child
 * ------------------------------------------------------------------------------------ */

struct pusher {
	struct h2_server *srv;
	struct loop_timer *timer;
};

static void push(void *ctx)
{
	struct pusher *p = ctx;

	for (struct h2_conn *c = p->srv->conns; c; c = c->next) {
		for (struct h2_stream *s = c->streams; s; s = s->next) {
			int n = strcmp(s->path, "/watch?bulk") == 0 ? 200 : 1;

			for (int i = 0; s->is_watch && s->out.n < 4000000 && i < n; i++) {
				buf_add(&s->out, str_of(event_text));
			}
			nghttp2_session_resume_data(c->session, s->id);
		}
		h2_conn_flush(c);
	}
	loop_timer_set(p->timer, 1);
}

static void serve(struct h2_server *srv, struct loop *l)
{
	struct pusher p = {.srv = srv};

	p.timer = loop_timer_new(l, push, &p);
	loop_timer_set(p.timer, 1);
	loop_run(l);
}

int main(int argc, char **argv)
{
	static struct h2_server srv;
	static struct net_fence fence;
	struct client c = {0};
	struct transport_sink mine = {.on_head = on_head, .on_chunk = on_chunk, .on_end = on_end};
	struct transport_options o = {.fence = &fence, .user_agent = "bench/1"};
	struct endpoint e = {.host = STR("127.0.0.1"), .allow_loopback = true};
	uint64_t asked = 0;
	long n = argc > 1 && str_u64(str_of(argv[1]), &asked) ? (long)asked : 4000;
	struct loop *server_loop = loop_new(NULL);
	pid_t child;

	setvbuf(stdout, NULL, _IOLBF, 0);
	memset(event_text, 'x', EVENT);
	srv.big = EVENT;
	if (!server_loop || !h2_server_start(&srv, loop_base(server_loop))) {
		return 1;
	}
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		event_reinit(loop_base(server_loop));
		serve(&srv, server_loop);
		return 0;
	}
	evconnlistener_free(srv.listener);
	net_fence_set(&fence, INT64_MAX);
	o.loop = c.loop = loop_new(NULL);
	c.tc = transport_curl_new(&o, NULL);
	c.tr = transport_curl_get(c.tc);
	mine.ctx = &c;
	transport_curl_set_sink(c.tc, &mine);
	e.port = srv.port;
	e.ca_pem = str_of(srv.ca_pem);
	c.tr->open(c.tr->ctx, 1, &e, NULL);

	run_setup(&e, &fence, n);
	run_requests(&c, "warm-up", "GET", "/version", (mk_str){NULL, 0}, 16, n / 4);
	run_requests(&c, "GET of 11 bytes", "GET", "/version", (mk_str){NULL, 0}, 16, n);
	run_requests(&c, "GET of 4.4 KB", "GET", "/big", (mk_str){NULL, 0}, 16, n);
	run_requests(&c, "PATCH of 4.4 KB, same answer", "PATCH", "/echo", str_of(event_text), 16,
		     n);
	run_requests(&c, "PATCH of 4.4 KB, same answer", "PATCH", "/echo", str_of(event_text), 1,
		     n);
	run_watch(&c, "watch event of 4.4 KB, one per ms", "/watch?live", n);
	run_watch(&c, "watch event of 4.4 KB, in bulk", "/watch?bulk", n * 10);
	printf("longest callback: %.1f ms\n", (double)loop_max_stall_us(c.loop) / 1000);
	transport_curl_free(c.tc);
	loop_free(c.loop);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	loop_free(server_loop);
	SSL_CTX_free(srv.ctx);
	return 0;
}
