/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that sends without end gets a quarter of the loop's time, and the others the rest. */
#include "core/net/share.h"
#include "t/lib/net_sink.h"

/* --- the count -------------------------------------------------------------------------------- */

static void test_count(void)
{
	enum { PIECE_US = 1000, PIECES = 10000 };
	struct share s = {.since_us = 0};
	int64_t now = 5 * SHARE_OF_US, begun = now, spent = 0, rested;

	share_charge(&s, now, now + SHARE_US - 1);
	is_int(share_rests_until_us(&s), 0, "below its share it is heard");
	share_charge(&s, now + SHARE_US, now + SHARE_US + 1);
	is_int(share_rests_until_us(&s), now + SHARE_OF_US,
	       "then it waits for the next tenth of a second");
	now += SHARE_OF_US;
	share_charge(&s, now, now + 1);
	is_int(share_rests_until_us(&s), 0, "which begins anew");
	for (int i = 0; i < PIECES; i++) {
		int64_t until = share_rests_until_us(&s);

		now = until > now ? until : now;
		share_charge(&s, now, now + PIECE_US);
		spent += PIECE_US;
		now += PIECE_US;
	}
	ok(spent * 100 / (now - begun) <= 25, "of all time a quarter");
	rested = share_take_rest(&s);
	printf("# %d ms of %d\n", (int)(rested / 1000), (int)((now - begun) / 1000));
	ok(rested * 100 / (now - begun) >= 70, "it is known how long it rested");
	is_int(share_take_rest(&s), 0, "once");
}

static void test_bytes(void)
{
	struct share s = {.paid = 0};

	share_pay(&s, SHARE_REQUEST);
	is_int(share_take(&s, SHARE_REQUEST, 0), 0, "a request pays for the head of its answer");
	is_int(share_take(&s, 17, 0), 17, "what nothing pays for is barren");
	is_int(share_take(&s, 220, 110), 0, "a body pays for itself, and its frames and records");
	is_int(share_take(&s, 220, 100), 20, "but no more");
	for (int i = 0; i < 1000; i++) {
		share_take(&s, SHARE_REQUEST, SHARE_REQUEST);
	}
	is_int(share_take(&s, INT32_MAX, 0), INT32_MAX - 1000 * SHARE_REQUEST,
	       "what is paid ahead stays");
	for (int i = 0; i < 10000; i++) {
		share_take(&s, SHARE_REQUEST, SHARE_REQUEST);
	}
	is_int(share_take(&s, INT32_MAX, 0), INT32_MAX - SHARE_MOST + SHARE_REQUEST,
	       "up to a limit");
}

/* --- sockets ---------------------------------------------------------------------------------- */

enum {
	RECORD =
		16 * 1024, /* bytes that are read at once; the next ones wait, as these take long */
	RECORD_MS = 30,    /* more than a share */
	RECORDS = 20,
	TENTH_MS = SHARE_OF_US / 1000,
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

static void test_flood(const char *what)
{
	memset(flood, '\n', sizeof(flood) - 1);
	printf("# %s\n", what);
	hear();
	ok(last_ms - first_ms >= (RECORDS / 2 - 2) * TENTH_MS,
	   "a worker that floods is heard for two records in a tenth of a second at most");
}

/* --- what brings nothing ---------------------------------------------------------------------- */

static size_t barren;
static char barren_what[128];

static void on_barren(void *ctx, uint32_t cluster, size_t n, mk_str what)
{
	(void)ctx;
	barren += cluster == 1 ? n : 0;
	snprintf(barren_what, sizeof(barren_what), "%.*s", STR_ARG(what));
}

static void on_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	(void)ctx;
	sink_seen[token].bytes += bytes.n;
}

static const struct transport_sink counting = {.on_head = sink_on_head,
					       .on_chunk = on_chunk,
					       .on_end = sink_on_end,
					       .on_barren = on_barren};

enum { PIECE = 200, WATCH_MS = 60000 };

/* A piece of an answer, in frames or chunks that carry nothing, to each connection with a watch. */
static void send_raw(const char *p, size_t n)
{
	for (struct h2_conn *c = sink_server.conns; c; c = c->next) {
		if (c->streams && c->streams->is_watch) {
			for (int i = 0; i < PIECE; i++) {
				bufferevent_write(c->bev, p, n);
			}
		}
	}
}

/* Whatever an honest server sends, it is paid for. */
static void be_honest(void)
{
	static char event[600];
	uint64_t token = 2;

	memset(event, 'e', sizeof(event) - 2);
	event[sizeof(event) - 2] = '\n';
	for (int i = 0; i < PIECE; i++) {
		h2_server_push(&sink_server, event, false);
		sink_get(token);
		token = token == 20 ? 2 : token + 1;
	}
	is_int(barren, 0, "nothing that an honest server sends is barren");
}

/* So many bytes are enough for any budget. */
static void be_barren(const char *raw, size_t n, const char *words)
{
	enum { ENOUGH = 512 * 1024 };
	int64_t end = clock_mono_ms() + WATCH_MS;

	while (barren < ENOUGH && clock_mono_ms() < end) {
		send_raw(raw, n);
		sink_turns(1);
	}
	printf("# %zu\n", barren);
	ok(barren >= ENOUGH, words);
	ok(strstr(barren_what, words), "are barren, which is said");
}

static void watch_begins(void)
{
	const struct endpoint e = sink_endpoint();

	sink_start();
	transport_net_set_sink(sink_net, &counting);
	barren = 0;
	is_int(sink_open(&e, NULL), ERR_OK, "open");
	is_int(sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, 1), ERR_OK, "watch");
	ok(sink_until(&sink_seen[1].heads, 1), "a watch begins");
}

static void watch_ends(void)
{
	sink_stop();
	sink_turns(2);
}

static void test_barren(const char *raw, size_t n, const char *words)
{
	watch_begins();
	be_honest();
	be_barren(raw, n, words);
	watch_ends();
}

static const char ping[] = "\0\0\x08\6\0\0\0\0\0pingpong";
static const char unknown[] = "\0\0\x04\xee\0\0\0\0\0what";

int main(void)
{
	char chunk[1024];

	test_count();
	test_bytes();
	sink_begin();
	test_flood("HTTP/2");
	test_barren(ping, sizeof(ping) - 1, "PING frames");
	test_barren(unknown, sizeof(unknown) - 1, "frames that say nothing");
	sink_choice = TRANSPORT_CURL;
	test_flood("libcurl");
	test_barren(unknown, sizeof(unknown) - 1, "frames");
	test_barren(ping, sizeof(ping) - 1, "frames");
	sink_choice = TRANSPORT_AUTO;
	sink_server.http1 = true;
	test_flood("HTTP/1.1");
	snprintf(chunk, sizeof(chunk), "1;%0900d\r\n \r\n", 0);
	test_barren(chunk, strlen(chunk), "chunk lines");
	sink_end();
	return done_testing();
}
