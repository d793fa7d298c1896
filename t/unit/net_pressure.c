/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch that sends faster than its events are worked off: the server
 * has to wait, and nothing is cut.
 */
#include <time.h>

#include "core/net/pool.h"
#include "t/lib/net_sink.h"

enum { FLOOD = 6 * 1024 * 1024, LINE = 64, SLACK = 64 * 1024 };

/* Byte i of the flood. */
static char flood_at(size_t i)
{
	return i % LINE == LINE - 1 ? '\n' : (char)('a' + i / LINE % 26);
}

static const char *flood(void)
{
	static char *text;

	if (!text) {
		text = malloc(FLOOD + 1);
		for (size_t i = 0; i < FLOOD; i++) {
			text[i] = flood_at(i);
		}
		text[FLOOD] = '\0';
	}
	return text;
}

static int64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- the exchange by itself ------------------------------------------------------------------- */

static int ended;
static CURLcode ended_with;

static void on_ended(void *ctx, struct exchange *x, CURLcode rc)
{
	(void)ctx;
	(void)x;
	ended++;
	ended_with = rc;
}

static size_t most(const struct exchange *x, size_t n)
{
	return x->in.n > n ? x->in.n : n;
}

/* Takes what came in, and reads on. False: it was not what was sent. */
static bool take(struct exchange *x, size_t *seen_n)
{
	bool same = memcmp(x->in.p, flood() + *seen_n, x->in.n) == 0;

	*seen_n += x->in.n;
	buf_clear(&x->in);
	return exchange_resume(x) == CURLE_OK && same;
}

static void test_exchange(const char *name)
{
	struct exchange_env env = {.user_agent = "mk/test", .fence = &sink_fence};
	struct transport_request r = {
		.method = "GET", .path = STR("/watch"), .cls = TRANSPORT_WATCH};
	struct endpoint e = sink_endpoint();
	struct peer *peer = peer_new(&e, NULL, NULL);
	struct pool *pool = pool_new(sink_loop, NULL, false, on_ended, NULL);
	struct exchange x;
	size_t n = 0, biggest = 0;
	int64_t before, end;
	bool same = true;

	printf("# %s\n", name);
	ended = 0;
	exchange_init(&x, &env, peer, &r, clock_mono_ms(), NULL);
	pool_add(pool, &x, NULL);
	end = clock_mono_ms() + SINK_PATIENCE_MS;
	while (!x.head_done && clock_mono_ms() < end) {
		loop_turn(sink_loop, 20);
	}
	h2_server_push(&sink_server, flood(), false);
	while (!x.paused && clock_mono_ms() < end) {
		loop_turn(sink_loop, 20);
	}
	ok(x.paused && x.in.n >= EXCHANGE_PAUSE_AT, "what comes in is not taken: reading stops");
	sink_turns(5);
	before = cpu_ms();
	sink_turns(30);
	ok(cpu_ms() - before < 150, "and waiting costs nothing");
	ok(x.in.n < EXCHANGE_PAUSE_AT + SLACK && ended == 0,
	   "no more comes in, and nothing is cut");
	while (n < FLOOD && same && ended == 0 && clock_mono_ms() < end) {
		biggest = most(&x, biggest);
		same = take(&x, &n);
		loop_turn(sink_loop, x.in.n > 0 ? 0 : 20);
	}
	ok(same && n == FLOOD, "taken, all of it comes as it was sent");
	ok(biggest < EXCHANGE_PAUSE_AT + SLACK, "and never too much at once");
	h2_server_push(&sink_server, "", true);
	sink_until(&ended, 1);
	is_int(ended_with, CURLE_OK, "a clean end");
	exchange_done(&x);
	pool_free(pool);
	peer_free(peer);
}

static void test_removed(void)
{
	struct exchange_env env = {.user_agent = "mk/test", .fence = &sink_fence};
	struct transport_request r = {
		.method = "GET", .path = STR("/watch"), .cls = TRANSPORT_WATCH};
	struct endpoint e = sink_endpoint();
	struct peer *peer = peer_new(&e, NULL, NULL);
	struct pool *pool = pool_new(sink_loop, NULL, false, on_ended, NULL);
	int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;
	struct exchange x;

	exchange_init(&x, &env, peer, &r, clock_mono_ms(), NULL);
	pool_add(pool, &x, NULL);
	while (!x.head_done && clock_mono_ms() < end) {
		loop_turn(sink_loop, 20);
	}
	h2_server_push(&sink_server, flood(), false);
	while (!x.paused && clock_mono_ms() < end) {
		loop_turn(sink_loop, 20);
	}
	ok(x.paused && x.is_on_wire, "one waits to be read");
	pool_remove(pool, &x);
	ok(!x.is_on_wire, "it can be given up");
	exchange_done(&x);
	pool_free(pool);
	peer_free(peer);
	sink_turns(3);
}

/* --- through the transport -------------------------------------------------------------------- */

static size_t arrived;
static bool as_sent;

/* Works off a chunk slowly. */
static void slow_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	int64_t until_us = clock_mono_us() + 6000;

	(void)ctx;
	if (token == 1) {
		as_sent = as_sent && arrived + bytes.n <= FLOOD &&
			  memcmp(bytes.p, flood() + arrived, bytes.n) == 0;
		arrived += bytes.n;
		while (clock_mono_us() < until_us) {
		}
	} else {
		sink_seen[token].bytes += bytes.n;
	}
}

static const struct transport_sink slow = {
	.on_head = sink_on_head, .on_chunk = slow_chunk, .on_end = sink_on_end};

static void test_transport(const char *name)
{
	struct endpoint e = sink_endpoint();
	int64_t end;

	printf("# %s\n", name);
	sink_start();
	transport_net_set_sink(sink_net, &slow);
	sink_open(&e, NULL);
	arrived = 0;
	as_sent = true;
	sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, 1);
	sink_until(&sink_seen[1].heads, 1);
	h2_server_push(&sink_server, flood(), false);
	sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, 2);
	sink_send(TRANSPORT_READ, "GET", "/version", NULL, 10000, 3);
	ok(sink_until(&sink_seen[3].ends, 1) && sink_seen[3].end == TRANSPORT_OK,
	   "a request goes on beside a watch that floods");
	ok(sink_until(&sink_seen[2].heads, 1), "and so does another watch");
	end = clock_mono_ms() + SINK_PATIENCE_MS;
	while (arrived < FLOOD && sink_seen[1].ends == 0 && clock_mono_ms() < end) {
		loop_turn(sink_loop, 20);
	}
	is_int(sink_seen[1].ends, 0, "the watch is not cut, however slowly it is worked off");
	ok(as_sent && arrived == FLOOD, "all of it arrives as it was sent");
	sink_transport->cancel(sink_transport->ctx, 1, 1);
	h2_server_push(&sink_server, "{}\n", false);
	for (int i = 0; i < 200 && sink_seen[2].bytes == 0; i++) {
		loop_turn(sink_loop, 20);
	}
	is_int((int)sink_seen[2].bytes, 3, "the other one has its event");
	sink_stop();
	sink_turns(2);
}

int main(void)
{
	sink_begin();
	for (int i = 0; i < 2; i++) {
		sink_server.http1 = i == 1;
		test_exchange(i ? "HTTP/1.1" : "HTTP/2");
		test_removed();
		sink_choice = TRANSPORT_CURL;
		test_transport(i ? "HTTP/1.1" : "HTTP/2");
		sink_choice = TRANSPORT_AUTO;
		test_transport(i ? "HTTP/1.1, found out by our own" : "HTTP/2, our own");
	}
	sink_end();
	return done_testing();
}
