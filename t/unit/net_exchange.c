/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange on a pool of its own: between a request's head and its body, and the body once more.
 */
#include "core/net/exchange.h"

#include <stdio.h>

#include "core/base/clock.h"
#include "core/net/pool.h"
#include "t/lib/tap.h"
#include "t/lib/net_h2server.h"
#include "t/lib/net_turn.h"

static struct loop *loop;
static struct h2_server srv;
static struct net_fence fence;
static struct exchange watch; /* keeps the connection in use: libcurl may give up an idle one */
static int ends;              /* of others */
static CURLcode end_rc;

static void ended(void *ctx, struct exchange *x, CURLcode rc)
{
	(void)ctx;
	if (x != &watch) {
		ends++;
		end_rc = rc;
	}
}

/* The head has left: the fence falls, as it does while a process is stopped there. */
static int fall_after_head(CURL *easy, curl_infotype type, char *data, size_t n, void *ctx)
{
	(void)easy;
	(void)data;
	(void)n;
	(void)ctx;
	if (type == CURLINFO_HEADER_OUT) {
		net_fence_set(&fence, 0);
	}
	return 0;
}

static int asked;

/* The first request is refused unseen: libcurl sends it again on a new connection. */
static const char *refuse_first(struct h2_stream *s)
{
	if (asked++ == 0) {
		snprintf(s->path, sizeof(s->path), "/hang");
		nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id,
					  NGHTTP2_REFUSED_STREAM);
	}
	return NULL;
}

static bool echoes(const struct exchange *x, mk_str body)
{
	return str_ends(buf_str(&x->in), body);
}

static bool run(struct pool *pool, struct exchange *x)
{
	ends = 0;
	return pool_add(pool, x, NULL) == ERR_OK && turn_until(loop, &ends, 1);
}

static bool open_watch(struct pool *pool, struct exchange_env *env, struct peer *peer)
{
	struct transport_request r = {
		.method = "GET", .path = STR("/watch"), .cls = TRANSPORT_WATCH};
	int64_t limit = clock_mono_ms() + 20000;

	if (exchange_init(&watch, env, peer, &r, clock_mono_ms(), NULL) != ERR_OK ||
	    pool_add(pool, &watch, NULL) != ERR_OK) {
		return false;
	}
	while (!watch.head_done && clock_mono_ms() < limit) {
		loop_turn(loop, 50);
	}
	return watch.head_done;
}

static struct transport_request echo_request(enum transport_class cls)
{
	return (struct transport_request){
		.method = "POST",
		.path = STR("/echo"),
		.content_type = "application/json",
		.body = STR("{\"kind\":\"Job\"}"),
		.cls = cls,
		.timeout_ms = 10000,
	};
}

static void test_fence_between(struct pool *pool, struct exchange_env *env, struct peer *peer)
{
	struct transport_request r = echo_request(TRANSPORT_WRITE);
	struct exchange x;
	enum transport_end end;
	char text[256];

	net_fence_set(&fence, clock_boot_ms() + 60000);
	is_int(exchange_init(&x, env, peer, &r, clock_mono_ms(), NULL), ERR_OK, "a write is made");
	curl_easy_setopt(x.easy, CURLOPT_VERBOSE, 1L);
	curl_easy_setopt(x.easy, CURLOPT_DEBUGFUNCTION, fall_after_head);
	ok(run(pool, &x), "the fence falls between its head and its body: it ends");
	is_int(exchange_verdict(&x, end_rc, &end, text), ERR_FENCED, "fenced");
	is_int(end, TRANSPORT_NOT_SENT, "as a write that was not sent");
	is_str(text, "not the leader: nothing was sent", "and it says so");
	is_int((int)srv.echoes, 0, "the server has not executed it");
	exchange_done(&x);

	r.cls = TRANSPORT_READ;
	exchange_init(&x, env, peer, &r, clock_mono_ms(), NULL);
	ok(run(pool, &x) && end_rc == CURLE_OK && x.status == 200, "reads are not fenced");
	is_int((int)srv.accepted, 1, "the connection has stayed");
	ok(echoes(&x, r.body), "and a body arrives whole");
	exchange_done(&x);
}

static void test_body_again(struct pool *pool, struct exchange_env *env, struct peer *peer)
{
	struct transport_request r = echo_request(TRANSPORT_READ);
	struct exchange x;

	srv.hook = refuse_first;
	exchange_init(&x, env, peer, &r, clock_mono_ms(), NULL);
	ok(run(pool, &x) && end_rc == CURLE_OK, "a read that is refused unseen is sent again");
	is_int(asked, 2, "one more time");
	ok(echoes(&x, r.body), "with its body from the start");
	exchange_done(&x);
	srv.hook = NULL;
}

int main(void)
{
	struct exchange_env env = {.user_agent = "mk/test", .fence = &fence};
	struct peer *peer;
	struct pool *pool;

	loop = loop_new(NULL);
	if (!loop || !h2_server_start(&srv, loop_base(loop))) {
		printf("Bail out! no loop or no free port\n");
		return 1;
	}
	peer = peer_new(&(struct endpoint){.host = STR("127.0.0.1"),
					   .port = srv.port,
					   .ca_pem = str_of(srv.ca_pem),
					   .allow_loopback = true},
			NULL, NULL);
	pool = pool_new(loop, NULL, true, ended, NULL);
	ok(open_watch(pool, &env, peer), "a watch is open");
	test_fence_between(pool, &env, peer);
	pool_remove(pool, &watch);
	exchange_done(&watch);
	pool_drop(pool);
	test_body_again(pool, &env, peer);
	pool_free(pool);
	peer_free(peer);
	h2_server_stop(&srv);
	loop_turn(loop, 0);
	loop_free(loop);
	return done_testing();
}
