/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that sends without end gets a quarter of the loop's time, and the others the rest. */
#include "core/net/http2_share.h"
#include "t/lib/net_sink.h"

/* --- the count -------------------------------------------------------------------------------- */

static void test_count(void)
{
	enum { PIECE_US = 1000, PIECES = 10000 };
	struct http2_share s = {.since_us = 0};
	int64_t now = 5 * HTTP2_SHARE_OF_US, begun = now, spent = 0;

	http2_share_charge(&s, now, now + HTTP2_SHARE_US - 1);
	is_int(http2_share_rests_until_us(&s), 0, "below its share it is heard");
	http2_share_charge(&s, now + HTTP2_SHARE_US, now + HTTP2_SHARE_US + 1);
	is_int(http2_share_rests_until_us(&s), now + HTTP2_SHARE_OF_US,
	       "then it waits for the next tenth of a second");
	now += HTTP2_SHARE_OF_US;
	http2_share_charge(&s, now, now + 1);
	is_int(http2_share_rests_until_us(&s), 0, "which begins anew");
	for (int i = 0; i < PIECES; i++) {
		int64_t until = http2_share_rests_until_us(&s);

		now = until > now ? until : now;
		http2_share_charge(&s, now, now + PIECE_US);
		spent += PIECE_US;
		now += PIECE_US;
	}
	ok(spent * 100 / (now - begun) <= 25, "of all time a quarter");
}

/* --- sockets ---------------------------------------------------------------------------------- */

enum { LONG_US = 2000, MEASURE_MS = 1500 };

static int64_t busy_us; /* what the flood cost */
static char flood[60 * 1024];

/* What comes by the watch costs time, as objects do. */
static void slow_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	int64_t begin = clock_mono_us();

	(void)ctx;
	sink_seen[token].bytes += bytes.n;
	while (token == 1 && clock_mono_us() - begin < LONG_US) {
	}
	busy_us += token == 1 ? clock_mono_us() - begin : 0;
}

static const struct transport_sink slow = {
	.on_head = sink_on_head, .on_chunk = slow_chunk, .on_end = sink_on_end};

static void feed_flood(void)
{
	for (const struct h2_conn *c = sink_server.conns; c; c = c->next) {
		for (const struct h2_stream *s = c->streams; s; s = s->next) {
			if (s->is_watch && s->out.n > sizeof(flood)) {
				return;
			}
		}
	}
	h2_server_push(&sink_server, flood, false);
}

/* The share of the time, in percent, that the watch of this cluster takes when it never ends. */
static int share_of(uint32_t cluster)
{
	const struct endpoint e = sink_endpoint();
	const struct transport_request r = {
		.method = "GET", .path = STR("/watch"), .cls = TRANSPORT_WATCH};
	int64_t begin, took;

	sink_start();
	transport_net_set_sink(sink_net, &slow);
	is_int(sink_transport->open(sink_transport->ctx, cluster, &e, NULL), ERR_OK, "open");
	is_int(sink_transport->send(sink_transport->ctx, cluster, &r, 1, NULL), ERR_OK, "watch");
	ok(sink_until(&sink_seen[1].heads, 1), "a watch begins");
	busy_us = 0;
	begin = clock_mono_us();
	while (clock_mono_us() - begin < MEASURE_MS * INT64_C(1000)) {
		feed_flood();
		loop_turn(sink_loop, 1);
	}
	took = clock_mono_us() - begin;
	sink_stop();
	sink_turns(1);
	printf("# cluster %u: %d %% of %d ms\n", (unsigned)cluster, (int)(busy_us * 100 / took),
	       (int)(took / 1000));
	return (int)(busy_us * 100 / took);
}

static void test_flood(void)
{
	memset(flood, '\n', sizeof(flood) - 1);
	ok(share_of(1) <= 40, "a worker that floods leaves most of the time to others");
	ok(share_of(0) > 40, "the manager's connection is always heard");
}

int main(void)
{
	test_count();
	sink_begin();
	test_flood();
	sink_end();
	return done_testing();
}
