/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport where a server, or a proxy in front of it, has no HTTP/2: a
 * connection carries one thing at a time.
 */
#include "core/net/pool.h"
#include "t/lib/net_sink.h"

static int asked;

static uint32_t connects(void)
{
	struct transport_stats s;

	transport_net_get_stats(sink_net, &s);
	/* The first of ours finds out that there is no HTTP/2. */
	return (uint32_t)s.connects - (sink_choice == TRANSPORT_AUTO);
}

/* A new transport, whose cluster 1 is the server. */
static void begin(void)
{
	struct endpoint e = sink_endpoint();

	sink_start();
	e.token = STR("s3cret");
	is_int(sink_open(&e, NULL), ERR_OK, "open");
	net_fence_set(&sink_fence, INT64_MAX);
}

/* A request of which nothing special is to be seen. */
static bool all_end(uint64_t from, uint64_t to, enum transport_end end)
{
	bool good = true;

	for (uint64_t i = from; i <= to; i++) {
		good = sink_until(&sink_seen[i].ends, 1) && sink_seen[i].end == end && good;
	}
	return good;
}

static void test_requests(void)
{
	begin();
	ok(sink_get(1), "HTTP/1.1: a GET is answered");
	is_str(sink_seen[1].body, "{\"major\":\"1\"}", "with its body");
	is_int(sink_seen[1].heads, 1, "and one head");
	sink_send(TRANSPORT_WRITE, "PATCH", "/echo", "{\"a\":1}", 5000, 2);
	sink_until(&sink_seen[2].ends, 1);
	is_str(sink_seen[2].body, "PATCH|Bearer s3cret|mk/test||{\"a\":1}",
	       "method, token, agent and body arrive");
	sink_send(TRANSPORT_WRITE, "DELETE", "/echo", NULL, 5000, 3);
	sink_until(&sink_seen[3].ends, 1);
	is_str(sink_seen[3].body, "DELETE|Bearer s3cret|mk/test||", "a DELETE without body");
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "", 5000, 4);
	sink_until(&sink_seen[4].ends, 1);
	is_str(sink_seen[4].body, "POST|Bearer s3cret|mk/test||", "a POST with none");
	sink_send(TRANSPORT_READ, "GET", "/limited", NULL, 5000, 5);
	sink_until(&sink_seen[5].ends, 1);
	is_int(sink_seen[5].status, 429, "a 429");
	is_int(sink_seen[5].retry_after_ms, 3000, "and its Retry-After");
	is_int(connects(), 1, "all on one connection");
	sink_server.closes = true;
	ok(sink_get(6) && sink_get(7) && sink_get(8), "a server that closes after each answer");
	sink_server.closes = false;
	sink_server.ends = true;
	ok(sink_get(9) && strcmp(sink_seen[9].body, "{\"major\":\"1\"}") == 0,
	   "answers that end with their connection");
	sink_server.ends = false;
	sink_stop();
	is_int(sink_nested, 0, "no callback inside a call");
}

static int hanging, most_hanging;

/* Nothing is answered until all connections are in use, or the requests run out. */
static const char *hold(struct h2_stream *s)
{
	if (strcmp(s->path, "/version") == 0) {
		return NULL;
	}
	hanging++;
	most_hanging = hanging > most_hanging ? hanging : most_hanging;
	snprintf(s->path, sizeof(s->path), "/hang");
	return NULL;
}

/* Answers one that hangs. */
static bool answer_one(void)
{
	for (struct h2_conn *c = sink_server.conns; c; c = c->next) {
		if (c->streams && strcmp(c->streams->path, "/hang") == 0 && !c->streams->replied) {
			buf_printf(&c->streams->out, "late");
			hanging--;
			h2_reply(c->streams, "200");
			return true;
		}
	}
	return false;
}

/* Requests at once: as many as there are connections, the others wait for their turn. */
static void test_many(void)
{
	enum { MANY = 50 };

	begin();
	sink_server.hook = hold;
	hanging = most_hanging = 0;
	for (uint64_t i = 1; i <= MANY; i++) {
		sink_send(i % 2 ? TRANSPORT_READ : TRANSPORT_WRITE, i % 2 ? "GET" : "POST", "/slow",
			  i % 2 ? NULL : "{}", 30000, i);
	}
	sink_until(&hanging, 1);
	ok(answer_one() && sink_until(&hanging, POOL_HTTP1_MAX),
	   "as many as there are connections");
	sink_turns(10);
	is_int(most_hanging, POOL_HTTP1_MAX, "and no more");
	for (int left = MANY - 1; left > 0; left--) {
		sink_until(&hanging, left < POOL_HTTP1_MAX ? left : POOL_HTTP1_MAX);
		answer_one();
	}
	ok(all_end(1, MANY, TRANSPORT_OK), "each is answered in its turn");
	is_int(most_hanging, POOL_HTTP1_MAX, "never more than that at once");
	ok(connects() <= POOL_HTTP1_MAX, "and the connections were used again");
	for (uint64_t i = 1; i < POOL_HTTP1_MAX; i++) {
		sink_seen[i] = (struct seen){0};
		sink_send(TRANSPORT_READ, "GET", "/slow", NULL, 0, i);
	}
	sink_until(&hanging, POOL_HTTP1_MAX - 1);
	ok(sink_get(MANY + 1), "those that hang do not hold up the next one");
	sink_server.hook = NULL;
	sink_stop();
}

static void test_waits_in_vain(void)
{
	unsigned before;

	begin();
	ok(sink_get(1), "one to begin with");
	for (uint64_t i = 2; i < 2 + POOL_HTTP1_MAX; i++) {
		sink_send(TRANSPORT_READ, "GET", "/hang", NULL, 10000, i);
	}
	sink_turns(5);
	before = sink_server.echoes;
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 300, 40);
	ok(sink_until(&sink_seen[40].ends, 1), "a write that gets no connection in its time ends");
	is_int(sink_seen[40].end, TRANSPORT_NOT_SENT, "it was certainly not sent");
	is_int(sink_seen[40].code, ERR_TIMEOUT, "and why");
	is_int(sink_server.echoes, before, "the server did not see it");
	sink_transport->reset(sink_transport->ctx, 1);
	ok(all_end(2, 1 + POOL_HTTP1_MAX, TRANSPORT_LOST), "a reset ends all that hang");
	ok(sink_get(41), "and the cluster stays usable");
	sink_stop();
}

static bool bytes_come(uint64_t token, size_t n)
{
	int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;

	while (sink_seen[token].bytes < n && clock_mono_ms() < end) {
		loop_turn(sink_loop, 20);
	}
	return sink_seen[token].bytes == n;
}

/*
 * Watches have a connection each, however many; requests are not in their way, nor they in theirs.
 */
static void test_watches(void)
{
	enum { WATCHES = 40 };
	bool heads = true, events = true;
	uint32_t before;

	begin();
	for (uint64_t i = 1; i <= WATCHES; i++) {
		sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, i);
	}
	for (uint64_t i = 1; i <= WATCHES; i++) {
		heads = sink_until(&sink_seen[i].heads, 1) && heads;
	}
	ok(heads, "40 watches at once are answered");
	is_int(connects(), WATCHES, "on a connection each");
	ok(sink_get(50), "requests go on beside them");
	h2_server_push(&sink_server, "{\"n\":1}\n", false);
	for (uint64_t i = 1; i <= WATCHES; i++) {
		events = bytes_come(i, 8) && events;
	}
	ok(events, "each gets its event while it stays open");
	sink_transport->cancel(sink_transport->ctx, 1, 1);
	sink_turns(5);
	h2_server_push(&sink_server, "{\"n\":2}\n", true);
	ok(all_end(2, WATCHES, TRANSPORT_OK), "the server ends them: clean ends");
	is_str(sink_seen[2].body, "{\"n\":1}\n{\"n\":2}\n", "with all events");
	is_int(sink_seen[1].ends, 0, "but for the one that was cancelled");
	before = connects();
	sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, 51);
	ok(sink_until(&sink_seen[51].heads, 1), "the next watch is answered");
	is_int(connects(), before, "on a connection that is there");
	h2_server_push(&sink_server, "half a li", false);
	bytes_come(51, 9);
	h2_server_cut(&sink_server);
	ok(sink_until(&sink_seen[51].ends, 1), "a cut ends it");
	is_int(sink_seen[51].end, TRANSPORT_LOST, "as lost");
	ok(strstr(sink_seen[51].text, "unexpected EOF") != NULL, "in these words");
	sink_stop();
}

static const char *hang_all(struct h2_stream *s)
{
	asked++;
	snprintf(s->path, sizeof(s->path), "/hang");
	return NULL;
}

/*
 * A connection that was kept, and dies of the next request: it is not
 * known whether that was executed.
 */
static void test_stale(void)
{
	unsigned before;

	begin();
	ok(sink_get(1), "a connection is kept");
	sink_server.hook = hang_all;
	asked = 0;
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 3000, 2);
	sink_until(&asked, 1);
	h2_server_abort(&sink_server);
	sink_until(&sink_seen[2].ends, 1);
	sink_turns(10);
	is_int(asked, 1, "a write whose connection dies is sent once");
	is_int(sink_seen[2].end, TRANSPORT_LOST, "what became of it is not known");
	is_int(sink_seen[2].code, ERR_UNAVAILABLE, "and its code");
	sink_server.hook = NULL;
	ok(sink_get(3), "the next request has another connection");
	h2_server_cut(&sink_server);
	sink_turns(5);
	before = sink_server.echoes;
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 3000, 4);
	sink_until(&sink_seen[4].ends, 1);
	is_int(sink_seen[4].end, TRANSPORT_OK,
	       "a connection that the server closed is not used for a write");
	is_int(sink_server.echoes, before + 1, "which is executed once");
	/* In the middle of the answer. */
	sink_send(TRANSPORT_WRITE, "POST", "/watch", "{}", 3000, 5);
	sink_until(&sink_seen[5].heads, 1);
	h2_server_cut(&sink_server);
	sink_until(&sink_seen[5].ends, 1);
	is_int(sink_seen[5].end, TRANSPORT_LOST, "half an answer to a write is none");
	sink_stop();
}

static void test_fence(void)
{
	int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;
	unsigned before;

	begin();
	ok(sink_get(1), "one to begin with");
	before = sink_server.requests;
	net_fence_set(&sink_fence, clock_boot_ms() + 60000);
	for (uint64_t i = 2; i < 2 + POOL_HTTP1_MAX; i++) {
		sink_send(TRANSPORT_READ, "GET", "/hang", NULL, 0, i);
	}
	while (sink_server.requests < before + POOL_HTTP1_MAX && clock_mono_ms() < end) {
		sink_turns(1);
	}
	is_int(sink_server.requests, before + POOL_HTTP1_MAX, "all connections are in use");
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 30000, 40);
	net_fence_set(&sink_fence, 0);
	sink_transport->cancel(sink_transport->ctx, 1, 2);
	ok(sink_until(&sink_seen[40].ends, 1),
	   "the fence falls while a write waits for a connection");
	is_int(sink_seen[40].code, ERR_FENCED, "it is fenced");
	is_int(sink_seen[40].end, TRANSPORT_NOT_SENT, "and not sent");
	sink_stop();
}

static void test_as(void)
{
	begin();
	sink_test_as();
	sink_stop();
}

/* The server comes back without HTTP/2, and later with it: no setting has to be changed. */
static void test_switch(void)
{
	uint32_t before;

	sink_server.http1 = false;
	begin();
	for (int round = 0; round < 2; round++) {
		uint64_t t = 10 + (uint64_t)round * 20;
		const char *name = round ? "HTTP/1.1" : "HTTP/2";

		sink_server.http1 = round == 1;
		ok(sink_get(t), name);
		sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, t + 1);
		sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, t + 2);
		sink_send(TRANSPORT_READ, "GET", "/hang", NULL, 0, t + 3);
		ok(sink_until(&sink_seen[t + 1].heads, 1) && sink_until(&sink_seen[t + 2].heads, 1),
		   "watches");
		ok(sink_get(t + 4), "a request beside one that hangs");
		sink_transport->cancel(sink_transport->ctx, 1, t + 3);
		h2_server_cut(&sink_server);
		ok(all_end(t + 1, t + 2, TRANSPORT_LOST), "the server restarts");
	}
	sink_server.http1 = false;
	ok(sink_get(1), "HTTP/2 again");
	before = connects();
	for (uint64_t i = 2; i < 10; i++) {
		sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, i);
	}
	ok(all_end(2, 9, TRANSPORT_OK), "many requests");
	is_int(connects(), before, "share one connection again");
	sink_stop();
}

int main(void)
{
	sink_begin();
	for (int i = 0; i < 2; i++) {
		sink_choice = i == 0 ? TRANSPORT_CURL : TRANSPORT_AUTO;
		printf("# %s\n", i == 0 ? "libcurl" : "found out by our own");
		sink_server.http1 = true;
		test_requests();
		test_many();
		test_waits_in_vain();
		test_watches();
		test_stale();
		test_fence();
		test_as();
		test_switch();
	}
	sink_end();
	return done_testing();
}
