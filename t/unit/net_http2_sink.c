/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sink of our own HTTP/2 may do in its callbacks, and memory that runs out.
 */
#include "core/base/alloc.h"
#include "t/lib/net_sink.h"

/* --- what a sink may do ----------------------------------------------------------------------- */

static const char *act_at;
static void (*act)(void);

static void maybe_act(const char *where)
{
	if (act_at && strcmp(act_at, where) == 0) {
		act_at = NULL;
		act();
	}
}

static void acting_head(void *ctx, uint64_t token, const struct transport_head *h)
{
	sink_on_head(ctx, token, h);
	maybe_act("head");
}

static void acting_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	(void)ctx;
	sink_seen[token].bytes += bytes.n;
	maybe_act("chunk");
}

static void acting_end(void *ctx, uint64_t token, enum transport_end end, enum mk_code code,
		       mk_str text)
{
	sink_on_end(ctx, token, end, code, text);
	maybe_act("end");
}

static const struct transport_sink acting = {
	.on_head = acting_head, .on_chunk = acting_chunk, .on_end = acting_end};

static void act_close(void)
{
	sink_transport->close(sink_transport->ctx, 1);
}

static void act_reset(void)
{
	sink_transport->reset(sink_transport->ctx, 1);
}

static void act_open(void)
{
	struct endpoint e = sink_endpoint();

	sink_open(&e, NULL);
	sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, 20);
}

static void act_cancel(void)
{
	for (uint64_t i = 1; i <= 6; i++) {
		sink_transport->cancel(sink_transport->ctx, 1, i);
	}
}

static void test_actions(void)
{
	static const char *const places[] = {"head", "chunk", "end"};
	static void (*const acts[])(void) = {act_close, act_reset, act_open, act_cancel};
	bool good = true;

	for (size_t i = 0; i < 12; i++) {
		struct endpoint e = sink_endpoint();

		sink_start();
		transport_net_set_sink(sink_net, &acting);
		sink_open(&e, NULL);
		act_at = places[i % 3];
		act = acts[i / 3];
		sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, 1);
		for (uint64_t f = 2; f <= 6; f++) {
			sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, f);
		}
		for (int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;
		     act_at && clock_mono_ms() < end;) {
			loop_turn(sink_loop, 20);
		}
		good = !act_at && good;
		sink_open(&e, NULL);
		sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, 30);
		good = sink_until(&sink_seen[30].ends, 1) && sink_seen[30].end == TRANSPORT_OK &&
		       good;
		sink_stop();
		sink_turns(1);
	}
	ok(good, "close, reset, open and cancel in each callback");
	is_int(sink_nested, 0, "no callback inside a call");
}

/* --- ends that come together ------------------------------------------------------------------ */

static int64_t look_us;

/* Each look at the clock finds it a millisecond later: two ends are a slice. */
static int64_t slow_clock(void)
{
	look_us += 1000;
	return look_us;
}

static int all_ends(uint64_t n)
{
	int ends = 0;

	for (uint64_t i = 1; i <= n; i++) {
		ends += sink_seen[i].ends;
	}
	return ends;
}

/* A connection is given up with many requests on it: the loop turns between their ends. */
static void test_many_ends(void)
{
	enum { MANY = 20, A_TURN = 2 };
	struct endpoint e = sink_endpoint();
	int before = 0, most = 0, late = 0;

	sink_options.clock_us = slow_clock;
	sink_start();
	sink_open(&e, NULL);
	for (uint64_t i = 1; i <= MANY; i++) {
		sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, i);
	}
	sink_until(&sink_seen[MANY].heads, 1);
	act_reset();
	for (int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;
	     before < MANY && clock_mono_ms() < end;) {
		int now;

		loop_turn(sink_loop, 10);
		now = all_ends(MANY);
		most = now - before > most ? now - before : most;
		for (uint64_t i = 1; i < MANY; i++) {
			late += sink_seen[i].ends < sink_seen[i + 1].ends;
		}
		before = now;
	}
	is_int(before, MANY, "all of them end");
	ok(most <= A_TURN, "few in one turn");
	is_int(late, 0, "in their order");
	sink_stop();
	sink_turns(1);
	sink_options.clock_us = NULL;
}

/* Memory runs out at each allocation in turn: what was sent ends, and the next one goes well. */
static void test_starved(void)
{
	enum { MOST = 400 };
	bool ended = true, well = true, through = false;
	uint64_t n;

	for (n = 1; n <= MOST && ended && well && !through; n++) {
		struct endpoint e = sink_endpoint();
		bool sent;

		sink_start();
		e.token = STR("s3cret");
		sink_open(&e, NULL);
		alloc_fail_after(n);
		sent = sink_send(TRANSPORT_WRITE, "POST", "/version", "{}", 3000, 1) == ERR_OK;
		sink_get_list("/zipped", 2);
		for (int i = 0; i < 40 && sink_seen[1].ends + sink_seen[2].ends < 2 && sent; i++) {
			loop_turn(sink_loop, 5);
		}
		through = alloc_fail_after(0) < n;
		ended = !sent || sink_until(&sink_seen[1].ends, 1);
		well = sink_get(3);
		sink_stop();
		sink_turns(1);
	}
	ok(ended, "without memory a request ends");
	ok(well, "and with memory the next one goes well");
	ok(through, "whichever allocation it was");
	printf("# %d allocations\n", (int)n - 1);
}

int main(void)
{
	sink_begin();
	test_actions();
	test_many_ends();
	test_starved();
	sink_end();
	return done_testing();
}
