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

enum {
	RECORD =
		16 * 1024, /* bytes that are read at once; the next ones wait, as these take long */
	RECORD_MS = 30,    /* more than a share */
	RECORDS = 40,
	TENTH_MS = HTTP2_SHARE_OF_US / 1000,
};

static char flood[60 * 1024];
static int pieces;
static int64_t first_ms, last_ms; /* when they began */

/* What comes by the watch costs time, as objects do. */
static void slow_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	int64_t begin = clock_mono_ms();

	(void)ctx;
	sink_seen[token].bytes += bytes.n;
	if (token != 1) {
		return;
	}
	if (pieces == 0) {
		first_ms = begin;
	}
	pieces++;
	last_ms = begin;
	while (clock_mono_ms() - begin < (int64_t)bytes.n * RECORD_MS / RECORD) {
	}
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

/* A watch that never ends. */
static void hear(void)
{
	const struct endpoint e = sink_endpoint();
	const struct transport_request r = {
		.method = "GET", .path = STR("/watch"), .cls = TRANSPORT_WATCH};
	int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;

	sink_start();
	transport_net_set_sink(sink_net, &slow);
	pieces = 0;
	is_int(sink_transport->open(sink_transport->ctx, 1, &e, NULL), ERR_OK, "open");
	is_int(sink_transport->send(sink_transport->ctx, 1, &r, 1, NULL), ERR_OK, "watch");
	ok(sink_until(&sink_seen[1].heads, 1), "a watch begins");
	while (sink_seen[1].bytes < (size_t)RECORDS * RECORD && clock_mono_ms() < end) {
		feed_flood();
		loop_turn(sink_loop, 1);
	}
	ok(sink_seen[1].bytes >= (size_t)RECORDS * RECORD, "all comes");
	sink_stop();
	sink_turns(1);
	printf("# %d records of %d ms in %d ms\n", (int)RECORDS, (int)RECORD_MS,
	       (int)(last_ms - first_ms));
}

static void test_flood(void)
{
	memset(flood, '\n', sizeof(flood) - 1);
	hear();
	ok(last_ms - first_ms >= (RECORDS / 2 - 2) * TENTH_MS,
	   "a worker that floods is heard for two records in a tenth of a second at most");
}

int main(void)
{
	test_count();
	sink_begin();
	test_flood();
	sink_end();
	return done_testing();
}
