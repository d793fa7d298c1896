/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only our own HTTP/2 has to get right: which requests a server has not looked at, how many
 * streams and connections there are, dead peers, and the limits.
 */
#include "t/lib/net_sink.h"

static struct transport_stats stats(void)
{
	struct transport_stats s;

	transport_net_get_stats(sink_net, &s);
	return s;
}

static int connects(void)
{
	return (int)stats().connects;
}

static void begin(void)
{
	struct endpoint e = sink_endpoint();

	sink_start();
	is_int(sink_open(&e, NULL), ERR_OK, "open");
	net_fence_set(&sink_fence, INT64_MAX);
}

static bool watch(uint64_t token)
{
	sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, token);
	return sink_until(&sink_seen[token].heads, 1);
}

static bool bytes_come(uint64_t token, size_t n)
{
	int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;

	while (sink_seen[token].bytes < n && clock_mono_ms() < end) {
		loop_turn(sink_loop, 20);
	}
	return sink_seen[token].bytes == n;
}

/* --- what the server has not looked at -------------------------------------------------------- */

static int asked;
static struct h2_stream *held;

/* The first write hangs; with the second the connection ends for all after the first. */
static const char *goaway_at_second(struct h2_stream *s)
{
	if (strcmp(s->path, "/echo") != 0) {
		return NULL;
	}
	asked++;
	if (asked == 1) {
		held = s;
		snprintf(s->path, sizeof(s->path), "/hang");
	} else if (asked == 2) {
		nghttp2_submit_goaway(s->conn->session, NGHTTP2_FLAG_NONE, held->id,
				      NGHTTP2_NO_ERROR, NULL, 0);
		snprintf(s->path, sizeof(s->path), "/hang");
	}
	return NULL;
}

static void test_goaway(void)
{
	unsigned before;

	begin();
	ok(watch(1), "a watch");
	before = sink_server.echoes;
	sink_server.hook = goaway_at_second;
	asked = 0;
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{\"n\":2}", 5000, 2);
	sink_until(&asked, 1);
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{\"n\":3}", 5000, 3);
	ok(sink_until(&sink_seen[3].ends, 1) && sink_seen[3].end == TRANSPORT_OK,
	   "a write that a GOAWAY leaves out is sent again");
	ok(strstr(sink_seen[3].body, "{\"n\":3}") != NULL, "with its body");
	is_int(asked, 3, "once");
	is_int(sink_server.echoes, before + 1, "and executed once");
	is_int(connects(), 2, "on a new connection");
	is_int(sink_seen[1].ends + sink_seen[2].ends, 0, "what it does not leave out goes on");
	h2_server_push(&sink_server, "{}\n", false);
	ok(bytes_come(1, 3), "a watch on the old connection has its events");
	ok(sink_get(4) && connects() == 2, "the next request is on the new one");
	buf_printf(&held->out, "late");
	h2_reply(held, "200");
	h2_conn_flush(held->conn);
	ok(sink_until(&sink_seen[2].ends, 1) && sink_seen[2].end == TRANSPORT_OK,
	   "and an answer on the old one arrives");
	sink_server.hook = NULL;
	h2_server_push(&sink_server, "{}\n", true);
	sink_until(&sink_seen[1].ends, 1);
	for (int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;
	     stats().sockets > 1 && clock_mono_ms() < end;) {
		loop_turn(sink_loop, 20);
	}
	is_int(stats().sockets, 1, "without streams the old connection is closed");
	sink_stop();
}

static uint32_t reset_with;
static int resets;

/* The first 'resets' requests are reset. */
static const char *reset_some(struct h2_stream *s)
{
	if (asked++ < resets) {
		snprintf(s->path, sizeof(s->path), "/hang");
		nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id, reset_with);
	}
	return NULL;
}

static void test_reset_streams(void)
{
	begin();
	sink_server.hook = reset_some;
	reset_with = NGHTTP2_REFUSED_STREAM;
	asked = 0;
	resets = 1;
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 5000, 1);
	ok(sink_until(&sink_seen[1].ends, 1) && sink_seen[1].end == TRANSPORT_OK,
	   "a write that is refused unseen is sent again");
	is_int(asked, 2, "once");
	asked = 0;
	resets = 100;
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 5000, 2);
	sink_until(&sink_seen[2].ends, 1);
	is_int(sink_seen[2].end, TRANSPORT_NOT_SENT, "refused again and again, it was not sent");
	is_int(sink_seen[2].code, ERR_UNAVAILABLE, "and may be tried later");
	is_int(asked, 3, "after three times");
	asked = 0;
	reset_with = NGHTTP2_INTERNAL_ERROR;
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 5000, 3);
	sink_until(&sink_seen[3].ends, 1);
	is_int(sink_seen[3].end, TRANSPORT_LOST, "after any other reset the outcome is unknown");
	ok(strstr(sink_seen[3].text, "INTERNAL_ERROR; received from peer") != NULL,
	   "in Go's words");
	is_int(asked, 1, "and it is not sent again");
	sink_server.hook = NULL;
	ok(sink_get(4) && connects() == 1, "the connection has stayed");
	sink_stop();
}

/* --- streams and connections ------------------------------------------------------------------ */

static int hanging, most_hanging;

static const char *hold(struct h2_stream *s)
{
	if (strcmp(s->path, "/slow") == 0) {
		hanging++;
		most_hanging = hanging > most_hanging ? hanging : most_hanging;
		snprintf(s->path, sizeof(s->path), "/hang");
	}
	return NULL;
}

static void answer_one(void)
{
	for (struct h2_conn *c = sink_server.conns; c; c = c->next) {
		for (struct h2_stream *s = c->streams; s; s = s->next) {
			if (strcmp(s->path, "/hang") == 0 && !s->replied) {
				s->replied = true;
				hanging--;
				h2_reply(s, "200");
				h2_conn_flush(c);
				return;
			}
		}
	}
}

static void test_most_streams(void)
{
	enum { MANY = 9, MOST = 2 };
	bool all = true;

	sink_server.max_streams = MOST;
	begin();
	ok(sink_get(40), "a server that allows two streams");
	sink_server.hook = hold;
	hanging = most_hanging = 0;
	for (uint64_t i = 1; i <= MANY; i++) {
		sink_send(TRANSPORT_READ, "GET", "/slow", NULL, 20000, i);
	}
	sink_send(TRANSPORT_WRITE, "POST", "/slow", "{}", 200, 30);
	sink_until(&sink_seen[30].ends, 1);
	is_int(sink_seen[30].end, TRANSPORT_NOT_SENT, "what gets none in its time was not sent");
	is_int(sink_seen[30].code, ERR_TIMEOUT, "for want of time");
	for (int left = MANY; left > 0; left--) {
		sink_until(&hanging, left < MOST ? left : MOST);
		answer_one();
	}
	for (uint64_t i = 1; i <= MANY; i++) {
		all = sink_until(&sink_seen[i].ends, 1) && sink_seen[i].end == TRANSPORT_OK && all;
	}
	ok(all, "each is answered in its turn");
	is_int(most_hanging, MOST, "never more than two at once");
	is_int(connects(), 1, "on one connection");
	ok(watch(50) && watch(51), "watches take all streams");
	ok(sink_get(52), "a request goes on, on another connection");
	is_int(connects(), 2, "of which there is one more");
	sink_server.hook = NULL;
	sink_server.max_streams = 0;
	sink_stop();
}

static void test_lists(void)
{
	begin();
	ok(watch(1), "a watch");
	sink_server.big = 20u << 20;
	sink_get_list("/big", 2);
	h2_server_push(&sink_server, "{}\n", false);
	ok(bytes_come(1, 3), "an event");
	ok(sink_seen[2].ends == 0, "does not wait for a list");
	ok(sink_until(&sink_seen[2].ends, 1) && sink_seen[2].end == TRANSPORT_OK, "which comes");
	is_int((int)sink_seen[2].bytes, 20 << 20, "whole");
	is_int(connects(), 2, "on a connection of its own");
	sink_get_list("/zipped", 3);
	ok(sink_until(&sink_seen[3].ends, 1) && sink_seen[3].end == TRANSPORT_OK,
	   "a compressed list");
	is_int((int)sink_seen[3].bytes, 100000, "is unpacked");
	sink_get_list("/zipped-half", 4);
	sink_until(&sink_seen[4].ends, 1);
	is_int(sink_seen[4].end, TRANSPORT_LOST, "one that is cut is not whole");
	is_int(connects(), 2, "all on the same one");
	sink_stop();
}

static void test_certificate(void)
{
	struct endpoint e = sink_endpoint();

	sink_start();
	sink_open(&e, NULL);
	ok(watch(1), "a watch");
	e.cert_pem = str_of(sink_server.cert_pem);
	e.key_pem = str_of(sink_server.key_pem);
	is_int(sink_transport->renew(sink_transport->ctx, 1, &e, NULL), ERR_OK,
	       "another certificate");
	ok(sink_get(2), "a request");
	is_int(connects(), 2, "shows it on a new connection");
	h2_server_push(&sink_server, "{}\n", false);
	ok(bytes_come(1, 3), "while the watch goes on");
	is_int(sink_transport->renew(sink_transport->ctx, 1, &e, NULL), ERR_OK,
	       "the same certificate");
	ok(sink_get(3) && connects() == 2, "needs no connection");
	sink_stop();
}

/* --- dead peers and addresses ----------------------------------------------------------------- */

static void test_silence(void)
{
	uint64_t writes;

	sink_options.ping_after_ms = 50;
	sink_options.ping_wait_ms = 5000;
	begin();
	ok(watch(1), "a watch");
	writes = stats().writes;
	for (int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;
	     stats().writes < writes + 3 && clock_mono_ms() < end;) {
		loop_turn(sink_loop, 20);
	}
	ok(stats().writes >= writes + 3, "a silent server is asked for a sign of life");
	is_int(sink_seen[1].ends, 0, "and gives it");
	sink_stop();
	sink_options.ping_wait_ms = 100;
	begin();
	ok(watch(1), "a watch");
	sink_server.freeze = true;
	ok(sink_until(&sink_seen[1].ends, 1), "of one that does not it is lost");
	is_int(sink_seen[1].end, TRANSPORT_LOST, "as lost");
	ok(strstr(sink_seen[1].text, "http2: client connection lost") != NULL, "in Go's words");
	sink_server.freeze = false;
	sink_options.ping_after_ms = sink_options.ping_wait_ms = 0;
	ok(sink_get(2), "the next request has another connection");
	sink_stop();
	sink_options.idle_ms = 50;
	sink_options.ping_after_ms = 50;
	begin();
	ok(sink_get(1), "a request");
	sink_options.idle_ms = sink_options.ping_after_ms = 0;
	for (int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;
	     stats().sockets > 0 && clock_mono_ms() < end;) {
		loop_turn(sink_loop, 20);
	}
	is_int(stats().sockets, 0, "a connection that is not used is closed");
	ok(sink_get(2), "and made again");
	sink_stop();
}

static void pass(int64_t ms)
{
	for (int64_t end = clock_mono_ms() + ms; clock_mono_ms() < end;) {
		loop_turn(sink_loop, 20);
	}
}

static void test_rest(void)
{
	uint64_t writes;

	sink_options.ping_after_ms = 50;
	sink_options.ping_wait_ms = 5000;
	begin();
	ok(sink_get(1), "a request");
	pass(20); /* what is to be said of the settings */
	writes = stats().writes;
	pass(300);
	is_int(stats().writes - writes, 0, "a connection without streams is not asked");
	ok(watch(2), "a watch");
	writes = stats().writes;
	for (int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;
	     stats().writes < writes + 3 && clock_mono_ms() < end;) {
		loop_turn(sink_loop, 20);
	}
	ok(stats().writes >= writes + 3, "one with a stream is");
	sink_options.ping_wait_ms = sink_options.ping_after_ms = 0;
	sink_stop();
	sink_options.idle_ms = 6000;
	begin();
	ok(sink_get(1), "a request");
	sink_transport->send(sink_transport->ctx, 1,
			     &(struct transport_request){.method = "GET",
							 .path = STR("/version"),
							 .cls = TRANSPORT_READ,
							 .timeout_ms = 5000,
							 .gzip = true},
			     2, NULL);
	ok(sink_until(&sink_seen[2].ends, 1), "and a list");
	is_int(stats().sockets, 2, "have a connection each");
	for (int64_t end = clock_mono_ms() + SINK_PATIENCE_MS;
	     stats().sockets == 2 && clock_mono_ms() < end;) {
		loop_turn(sink_loop, 20);
	}
	is_int(stats().sockets, 1, "that of the list is closed first");
	ok(sink_get(3), "the other one is there");
	is_int(connects(), 2, "still");
	sink_options.idle_ms = 0;
	sink_stop();
}

/* First an address where nothing answers, then the server's. */
static int two_addresses(const char *host, const char *port, const struct addrinfo *hints,
			 struct addrinfo **ret)
{
	struct addrinfo h = *hints;
	int rc;

	(void)host;
	h.ai_flags |= AI_NUMERICHOST;
	rc = getaddrinfo("127.0.0.2", port, &h, ret);
	return rc == 0 ? getaddrinfo("127.0.0.1", port, &h, &(*ret)->ai_next) : rc;
}

static void test_addresses(void)
{
	struct sockaddr_in dead = {.sin_family = AF_INET, .sin_port = htons(sink_server.port)};
	struct endpoint e = sink_endpoint();
	int fd = socket(AF_INET, SOCK_STREAM, 0), filled[4];
	int64_t t0;

	dead.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	if (bind(fd, (const struct sockaddr *)&dead, sizeof(dead)) != 0 || listen(fd, 0) != 0) {
		ok(false, "an address where nothing answers");
		return;
	}
	for (size_t i = 0; i < 4; i++) { /* its queue is full: it does not even refuse */
		filled[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(filled[i], (const struct sockaddr *)&dead, sizeof(dead));
	}
	sink_options.getaddrinfo = two_addresses;
	sink_start();
	sink_options.getaddrinfo = NULL;
	e.host = STR("api.test");
	sink_open(&e, NULL);
	t0 = clock_mono_ms();
	ok(sink_get(1), "beside an address that does not answer the next one is tried");
	ok(clock_mono_ms() - t0 < 5000, "soon");
	is_int(connects(), 2, "both");
	is_int(stats().sockets, 1, "and the first is given up");
	sink_stop();
	for (size_t i = 0; i < 4; i++) {
		close(filled[i]);
	}
	close(fd);
	e.port = 1;
	sink_options.getaddrinfo = two_addresses;
	sink_start();
	sink_options.getaddrinfo = NULL;
	sink_open(&e, NULL);
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 5000, 2);
	sink_until(&sink_seen[2].ends, 1);
	is_int(sink_seen[2].end, TRANSPORT_NOT_SENT, "when all refuse, nothing was sent");
	is_str(sink_seen[2].text, "dial tcp 127.0.0.1:1: connect: connection refused",
	       "in Go's words");
	sink_stop();
}

/* --- limits ----------------------------------------------------------------------------------- */

static void test_fence_in_body(void)
{
	enum { BODY = 900 * 1024 };
	char *body = malloc(BODY + 1);
	unsigned before;
	int64_t end;

	memset(body, 'b', BODY);
	body[BODY] = '\0';
	begin();
	ok(sink_get(1), "one to begin with");
	before = sink_server.echoes;
	sink_send(TRANSPORT_WRITE, "POST", "/echo", body, 20000, 2);
	end = clock_mono_ms() + SINK_PATIENCE_MS;
	while ((!sink_server.conns->streams || sink_server.conns->streams->in.n == 0) &&
	       clock_mono_ms() < end) {
		loop_turn(sink_loop, 20);
	}
	ok(sink_seen[2].ends == 0 && sink_server.echoes == before, "a part of a body arrived");
	net_fence_set(&sink_fence, 0);
	ok(sink_until(&sink_seen[2].ends, 1), "the fence falls: the write ends");
	is_int(sink_seen[2].end, TRANSPORT_NOT_SENT, "as one that was not sent");
	is_int(sink_seen[2].code, ERR_FENCED, "fenced");
	ok(sink_get(3) && connects() == 1, "the connection has stayed");
	is_int(sink_server.echoes, before, "the server has not executed it");
	net_fence_set(&sink_fence, INT64_MAX);
	sink_send(TRANSPORT_WRITE, "POST", "/echo", body, 20000, 4);
	ok(sink_until(&sink_seen[4].ends, 1) && sink_seen[4].end == TRANSPORT_OK,
	   "without it a body arrives");
	ok(sink_seen[4].bytes > BODY, "whole");
	sink_stop();
	free(body);
}

static const char *long_head(struct h2_stream *s)
{
	s->filler = asked ? 100 : 50;
	return NULL;
}

static void test_head_flood(void)
{
	begin();
	sink_server.hook = long_head;
	asked = 0;
	ok(sink_get(1), "a head of 50 KiB is taken");
	asked = 1;
	sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, 2);
	sink_until(&sink_seen[2].ends, 1);
	is_int(sink_seen[2].code, ERR_TOO_BIG, "one of 100 KiB is not");
	is_str(sink_seen[2].text, "the heads of the answer are larger than 64 KiB",
	       "which is said");
	is_int(sink_seen[2].heads, 0, "nothing of it is told");
	sink_server.hook = NULL;
	ok(sink_get(3) && connects() == 1, "the connection has stayed");
	sink_stop();
}

static void test_system_calls(void)
{
	struct transport_stats before;
	uint64_t calls;
	bool all = true;

	begin();
	sink_get(1);
	sink_turns(3);
	before = stats();
	for (uint64_t i = 10; i < 30; i++) {
		all = sink_get(i) && all;
	}
	calls = stats().reads + stats().writes - before.reads - before.writes;
	ok(all && calls <= 60, "one after the other: a write and a read or two for each");
	before = stats();
	for (uint64_t i = 30; i < 60; i++) {
		sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, i);
	}
	for (uint64_t i = 30; i < 60; i++) {
		all = sink_until(&sink_seen[i].ends, 1) && all;
	}
	ok(all && stats().writes - before.writes <= 2, "thirty at once are written at once");
	sink_stop();
}

int main(void)
{
	sink_begin();
	test_goaway();
	test_reset_streams();
	test_most_streams();
	test_lists();
	test_certificate();
	test_silence();
	test_rest();
	test_addresses();
	test_fence_in_body();
	test_head_flood();
	test_system_calls();
	sink_end();
	return done_testing();
}
