/* SPDX-License-Identifier: Apache-2.0 */
/* Both transports against a real HTTP/2 server over TLS on the same loop. */
#include <fcntl.h>

#include "core/base/alloc.h"
#include "t/lib/net_sink.h"

static void test_requests(void)
{
	struct endpoint e = sink_endpoint();
	struct transport_stats st;

	sink_start();
	e.token = STR("s3cret");
	is_int(sink_open(&e, NULL), ERR_OK, "open");
	is_int(sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, 1), ERR_OK, "send");
	is_int(sink_seen[1].heads + sink_seen[1].ends, 0, "nothing is called back inside send");
	ok(sink_until(&sink_seen[1].ends, 1), "a GET ends");
	is_int(sink_seen[1].end, TRANSPORT_OK, "with a complete answer");
	is_int(sink_seen[1].status, 200, "status 200");
	is_int(sink_seen[1].heads, 1, "one head");
	is_int(sink_seen[1].retry_after_ms, -1, "no Retry-After");
	is_str(sink_seen[1].body, "{\"major\":\"1\"}", "and its body");

	net_fence_set(&sink_fence, INT64_MAX);
	sink_send(TRANSPORT_WRITE, "PATCH", "/echo", "{\"a\":1}", 5000, 2);
	ok(sink_until(&sink_seen[2].ends, 1), "a PATCH ends");
	is_str(sink_seen[2].body, "PATCH|Bearer s3cret|mk/test||{\"a\":1}",
	       "method, token, agent, body arrive; no compression unless asked");
	sink_send(TRANSPORT_WRITE, "DELETE", "/echo", NULL, 5000, 3);
	ok(sink_until(&sink_seen[3].ends, 1), "a DELETE without body ends");
	is_str(sink_seen[3].body, "DELETE|Bearer s3cret|mk/test||", "and has none");
	sink_send(TRANSPORT_READ, "GET", "/limited", NULL, 5000, 4);
	ok(sink_until(&sink_seen[4].ends, 1), "a 429 is an answer too");
	is_int(sink_seen[4].status, 429, "its status");
	is_int(sink_seen[4].retry_after_ms, 3000, "its Retry-After in ms");
	for (uint64_t i = 10; i < 50; i++) {
		sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, i);
	}
	for (uint64_t i = 10; i < 50; i++) {
		sink_until(&sink_seen[i].ends, 1);
	}
	transport_net_get_stats(sink_net, &st);
	is_int(st.connects, 1, "44 requests shared one connection");
	is_int(st.running, 0, "none is left");
	is_int(sink_send(TRANSPORT_READ, "GET", "no-slash", NULL, 0, 5), ERR_INVALID, "bad path");
	is_int(sink_send(TRANSPORT_READ, "GET", "/a\r\nX: y", NULL, 0, 5), ERR_INVALID,
	       "no line breaks in a path");
	sink_stop();
	is_int(sink_nested, 0, "no callback inside a call");
}

static void test_as(void)
{
	struct endpoint e = sink_endpoint();

	sink_start();
	e.token = STR("s3cret");
	is_int(sink_open(&e, NULL), ERR_OK, "open");
	net_fence_set(&sink_fence, INT64_MAX);
	sink_test_as();
	sink_stop();
}

static void test_watch(void)
{
	struct endpoint e = sink_endpoint();

	sink_start();
	sink_open(&e, NULL);
	sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, 1);
	ok(sink_until(&sink_seen[1].heads, 1), "a watch's head comes before any event");
	is_int(sink_seen[1].bytes, 0, "no event yet");
	h2_server_push(&sink_server, "{\"n\":1}\n", false);
	for (int i = 0; i < 100 && sink_seen[1].bytes < 8; i++) {
		loop_turn(sink_loop, 20);
	}
	is_str(sink_seen[1].body, "{\"n\":1}\n", "an event arrives while the stream stays open");
	h2_server_push(&sink_server, "{\"n\":2}\n", true);
	ok(sink_until(&sink_seen[1].ends, 1), "the server ends it");
	is_int(sink_seen[1].end, TRANSPORT_OK, "a clean end");
	is_str(sink_seen[1].body, "{\"n\":1}\n{\"n\":2}\n", "with all events");

	sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, 2);
	sink_until(&sink_seen[2].heads, 1);
	h2_server_push(&sink_server, "partial", false);
	h2_server_cut(&sink_server);
	ok(sink_until(&sink_seen[2].ends, 1), "a cut connection ends a watch");
	is_int(sink_seen[2].end, TRANSPORT_LOST, "as lost");
	is_int(sink_seen[2].code, ERR_UNAVAILABLE, "unavailable");

	sink_cancel_at_head = 3;
	sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, 3);
	ok(sink_until(&sink_seen[3].heads, 1), "cancel inside on_head");
	sink_cancel_at_head = 0;
	h2_server_push(&sink_server, "x", true);
	sink_turns(5);
	is_int(sink_seen[3].ends + (int)sink_seen[3].bytes, 0, "nothing follows a cancel");

	sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, 4);
	sink_until(&sink_seen[4].heads, 1);
	sink_close_at_chunk = 4;
	h2_server_push(&sink_server, "y", false);
	for (int i = 0; i < 100 && sink_seen[4].bytes < 1; i++) {
		loop_turn(sink_loop, 20);
	}
	sink_close_at_chunk = 0;
	is_int(sink_seen[4].bytes, 1, "close inside on_chunk");
	is_int(sink_send(TRANSPORT_READ, "GET", "/version", NULL, 0, 5), ERR_BUG,
	       "then the cluster is closed");
	sink_turns(3);
	is_int(sink_seen[4].ends, 0, "and silent");
	sink_stop();
	is_int(sink_nested, 0, "no callback inside a call");
}

static void expect_end(const struct endpoint *e, const char *path, int64_t timeout_ms,
		       enum transport_end end, enum mk_code code, const char *text,
		       const char *name)
{
	sink_start();
	if (sink_open(e, NULL) != ERR_OK ||
	    sink_send(TRANSPORT_READ, "GET", path, NULL, timeout_ms, 1) != ERR_OK) {
		ok(false, name);
		return;
	}
	sink_until(&sink_seen[1].ends, 1);
	is_int(sink_seen[1].end, end, name);
	is_int(sink_seen[1].code, code, "  its code");
	if (!strstr(sink_seen[1].text, text)) {
		is_str(sink_seen[1].text, text, "  its words");
	} else {
		ok(true, "  its words");
	}
	sink_stop();
}

static void test_failures(void)
{
	struct endpoint e = sink_endpoint();
	struct h2_server other = {0};

	e.port = 1;
	expect_end(&e, "/", 5000, TRANSPORT_NOT_SENT, ERR_UNAVAILABLE,
		   "dial tcp 127.0.0.1:1: connect: connection refused", "refused");
	e = sink_endpoint();
	e.allow_loopback = false;
	expect_end(&e, "/", 5000, TRANSPORT_NOT_SENT, ERR_DENIED, "loopback address is not allowed",
		   "a loopback address, not allowed");
	e = sink_endpoint();
	h2_server_start(&other, loop_base(sink_loop));
	e.ca_pem = str_of(other.ca_pem);
	expect_end(&e, "/", 5000, TRANSPORT_NOT_SENT, ERR_DENIED,
		   "x509: certificate signed by unknown authority", "another CA");
	e.ca_pem = (mk_str){NULL, 0};
	expect_end(&e, "/", 5000, TRANSPORT_NOT_SENT, ERR_DENIED,
		   "x509: certificate signed by unknown authority", "the system's roots");
	h2_server_stop(&other);
	e = sink_endpoint();
	e.tls_server_name = STR("elsewhere.test");
	expect_end(&e, "/", 5000, TRANSPORT_NOT_SENT, ERR_DENIED,
		   "x509: certificate is not valid for", "another name");
	e.tls_server_name = STR("2001:db8::2");
	expect_end(&e, "/", 5000, TRANSPORT_NOT_SENT, ERR_DENIED,
		   "x509: certificate is not valid for", "another address");
	e.tls_server_name = STR("api.test");
	expect_end(&e, "/version", 5000, TRANSPORT_OK, ERR_OK, "", "tls-server-name");
	e = sink_endpoint();
	expect_end(&e, "/hang", 300, TRANSPORT_LOST, ERR_TIMEOUT, "deadline exceeded",
		   "no answer in time");
	e.host = STR("no-such-host.invalid");
	expect_end(&e, "/", 5000, TRANSPORT_NOT_SENT, ERR_UNAVAILABLE,
		   "dial tcp: lookup no-such-host.invalid: no such host", "unknown name");
	e = sink_endpoint();
	sink_server.big = 9u << 20;
	expect_end(&e, "/big", 60000, TRANSPORT_LOST, ERR_TOO_BIG, "larger than 8 MiB", "9 MiB");
	sink_server.freeze = true;
	expect_end(&e, "/version", 500, TRANSPORT_LOST, ERR_TIMEOUT, "deadline exceeded",
		   "a stopped server");
	sink_server.freeze = false;
}

static void test_open(void)
{
	struct endpoint e = sink_endpoint();
	struct mk_err err;

	sink_start();
	e.cert_pem = STR("rubbish");
	e.key_pem = str_of(sink_server.key_pem);
	is_int(sink_open(&e, &err), ERR_INVALID, "certificate that is not PEM");
	is_str(err.msg, "tls: failed to find any PEM data in certificate input", "Go's words");
	e.cert_pem = str_of(sink_server.ca_pem);
	is_int(sink_open(&e, &err), ERR_INVALID, "a key of another certificate");
	is_str(err.msg, "tls: private key does not match public key", "Go's words");
	e.cert_pem = str_of(sink_server.cert_pem);
	is_int(sink_open(&e, &err), ERR_OK, "a good pair");
	e.ca_pem = STR("x");
	is_int(sink_open(&e, &err), ERR_INVALID, "bad CA");
	e = sink_endpoint();
	e.host = STR("a/b@c");
	is_int(sink_open(&e, &err), ERR_INVALID, "a host that would change the URL");
	e = sink_endpoint();
	e.token = STR("a\nb");
	is_int(sink_open(&e, &err), ERR_INVALID, "a token with a line break");
	e = sink_endpoint();
	e.base_path = STR("/x?y");
	is_int(sink_open(&e, &err), ERR_INVALID, "a base path with a query");
	sink_stop();
}

static void test_fence_and_reset(void)
{
	struct endpoint e = sink_endpoint();
	unsigned before;

	sink_start();
	sink_open(&e, NULL);
	net_fence_set(&sink_fence, 0);
	before = sink_server.echoes;
	is_int(sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 5000, 1), ERR_OK,
	       "a fenced write is taken");
	is_int(sink_seen[1].ends, 0, "and not ended inside send");
	ok(sink_until(&sink_seen[1].ends, 1), "but ends");
	is_int(sink_seen[1].end, TRANSPORT_NOT_SENT, "not sent");
	is_int(sink_seen[1].code, ERR_FENCED, "fenced");
	sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, 2);
	ok(sink_until(&sink_seen[2].ends, 1) && sink_seen[2].end == TRANSPORT_OK,
	   "reads are not fenced");

	/* The fence falls between send and the moment the request would leave. */
	net_fence_set(&sink_fence, clock_boot_ms() + 60000);
	sink_transport->reset(sink_transport->ctx, 1);
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 5000, 3);
	net_fence_set(&sink_fence, 0);
	ok(sink_until(&sink_seen[3].ends, 1), "a write whose fence falls while connecting ends");
	is_int(sink_seen[3].end, TRANSPORT_NOT_SENT, "not sent");
	is_int(sink_seen[3].code, ERR_FENCED, "fenced");
	is_int(sink_server.echoes, before, "the server saw neither of them");

	net_fence_set(&sink_fence, clock_boot_ms() + 300);
	sink_send(TRANSPORT_WRITE, "POST", "/hang", "{}", 30000, 4);
	ok(sink_until(&sink_seen[4].ends, 1), "a write is cut when the validity ends");
	is_int(sink_seen[4].end, TRANSPORT_LOST, "with unknown outcome");

	sink_send(TRANSPORT_WATCH, "GET", "/watch", NULL, 0, 5);
	sink_send(TRANSPORT_READ, "GET", "/hang", NULL, 0, 6);
	sink_until(&sink_seen[5].heads, 1);
	sink_turns(3);
	sink_inside = true;
	sink_transport->reset(sink_transport->ctx, 1);
	sink_inside = false;
	is_int(sink_seen[5].ends + sink_seen[6].ends, 0, "reset ends nothing inside the call");
	ok(sink_until(&sink_seen[5].ends, 1) && sink_until(&sink_seen[6].ends, 1),
	   "but everything right after");
	is_int(sink_seen[5].end, TRANSPORT_LOST, "the watch is lost");
	is_int(sink_seen[6].end, TRANSPORT_LOST, "the request too");
	sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, 7);
	ok(sink_until(&sink_seen[7].ends, 1) && sink_seen[7].end == TRANSPORT_OK,
	   "the cluster stays usable");
	sink_stop();
	is_int(sink_nested, 0, "no callback inside a call");
}

static void put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		ok(false, "cannot write the token file");
	}
	close(fd);
}

/* A cluster whose token "old" is in a new file, and has been used once. */
static void start_with_token(char *path)
{
	struct endpoint e = sink_endpoint();

	close(mkstemp(path));
	put_file(path, "old\n");
	sink_start();
	e.token_file = str_of(path);
	sink_open(&e, NULL);
	sink_server.token = "Bearer old";
	sink_send(TRANSPORT_READ, "GET", "/needs-token", NULL, 5000, 1);
	sink_until(&sink_seen[1].ends, 1);
}

static void test_token_file(void)
{
	char path[] = "/tmp/mk-net-token-XXXXXX";

	start_with_token(path);
	is_int(sink_seen[1].status, 200, "the token is read from the file");
	put_file(path, "new\n");
	sink_server.token = "Bearer new";
	sink_send(TRANSPORT_READ, "GET", "/needs-token", NULL, 5000, 2);
	sink_until(&sink_seen[2].ends, 1);
	is_int(sink_seen[2].status, 200, "after a 401 the new one is read and used");
	is_int(sink_seen[2].heads, 1, "the sink sees one answer");
	is_str(sink_seen[2].body, "status 200", "and one body");
	put_file(path, "");
	sink_server.token = "Bearer newer";
	sink_send(TRANSPORT_READ, "GET", "/needs-token", NULL, 5000, 3);
	sink_until(&sink_seen[3].ends, 1);
	is_int(sink_seen[3].status, 401,
	       "an empty file keeps the old token, and a 401 is passed on");
	sink_stop();
	unlink(path);
}

static uint32_t transport_connects(void)
{
	struct transport_stats s;

	transport_net_get_stats(sink_net, &s);
	return (uint32_t)s.connects;
}

static void test_renew(void)
{
	struct endpoint e = sink_endpoint();
	uint32_t opens;
	struct mk_err err;

	sink_start();
	is_int(sink_transport->renew(sink_transport->ctx, 1, &e, NULL), ERR_BUG,
	       "what is not open cannot be renewed");
	e.token = STR("old");
	sink_open(&e, NULL);
	sink_server.token = "Bearer old";
	sink_send(TRANSPORT_READ, "GET", "/needs-token", NULL, 5000, 1);
	sink_until(&sink_seen[1].ends, 1);
	is_int(sink_seen[1].status, 200, "a cluster with a token");
	opens = transport_connects();
	sink_server.token = "Bearer new";
	sink_send(TRANSPORT_READ, "GET", "/needs-token", NULL, 5000, 2);
	e.token = STR("new");
	is_int(sink_transport->renew(sink_transport->ctx, 1, &e, NULL), ERR_OK, "gets another one");
	sink_until(&sink_seen[2].ends, 1);
	is_int(sink_seen[2].status, 200, "which a request that is under way is sent again with");
	sink_send(TRANSPORT_READ, "GET", "/needs-token", NULL, 5000, 3);
	sink_until(&sink_seen[3].ends, 1);
	is_int(sink_seen[3].status, 200, "and the next ones at once");
	is_int(transport_connects(), opens, "on the connection that is there");
	e.token = STR("a\nb");
	is_int(sink_transport->renew(sink_transport->ctx, 1, &e, &err), ERR_INVALID,
	       "a token with a line break");
	sink_send(TRANSPORT_READ, "GET", "/needs-token", NULL, 5000, 4);
	sink_until(&sink_seen[4].ends, 1);
	is_int(sink_seen[4].status, 200, "is not taken");
	sink_stop();
}

static int asked;

/* The built-in answer to the first request, none to those after it. */
static const char *hang_later(struct h2_stream *s)
{
	if (asked++ > 0) {
		snprintf(s->path, sizeof(s->path), "/hang");
	}
	return NULL;
}

/* What is sent again after a 401 has no more time than it had in the first place. */
static void test_time_of_two(void)
{
	char path[] = "/tmp/mk-net-token-XXXXXX";
	int64_t t0;

	start_with_token(path);
	put_file(path, "new");
	sink_server.token = "Bearer new";
	sink_server.hook = hang_later;
	asked = 0;
	t0 = clock_mono_ms();
	sink_send(TRANSPORT_READ, "GET", "/needs-token", NULL, 2000, 2);
	poll(NULL, 0, 1500); /* the loop is busy with something else */
	ok(sink_until(&asked, 2), "it is sent again");
	sink_until(&sink_seen[2].ends, 1);
	is_int(sink_seen[2].code, ERR_TIMEOUT, "and is not answered");
	ok(clock_mono_ms() - t0 < 3000, "in the time of both");
	sink_server.hook = NULL;
	sink_stop();
	unlink(path);
}

/*
 * Another certificate came while a request was out, and the old one was
 * refused: there is no token to try.
 */
static void test_refused_certificate(void)
{
	struct endpoint e = sink_endpoint();

	sink_start();
	e.cert_pem = str_of(sink_server.cert_pem);
	e.key_pem = str_of(sink_server.key_pem);
	sink_open(&e, NULL);
	sink_server.token = "Bearer none";
	sink_send(TRANSPORT_READ, "GET", "/needs-token", NULL, 5000, 1);
	is_int(sink_transport->renew(sink_transport->ctx, 1, &e, NULL), ERR_OK,
	       "another certificate");
	sink_until(&sink_seen[1].ends, 1);
	is_int(sink_seen[1].status, 401, "the refusal of the old one is told");
	is_int(sink_seen[1].end, TRANSPORT_OK, "as an answer");
	sink_stop();
}

/* libcurl would send it once more by itself, for the connection was in use before. */
static void test_cut_write(void)
{
	struct endpoint e = sink_endpoint();

	sink_start();
	sink_open(&e, NULL);
	net_fence_set(&sink_fence, INT64_MAX);
	sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, 1);
	sink_until(&sink_seen[1].ends, 1);
	sink_server.hook = hang_later;
	asked = 1;
	sink_send(TRANSPORT_WRITE, "POST", "/echo", "{}", 3000, 2);
	sink_until(&asked, 2);
	h2_server_abort(&sink_server);
	sink_until(&sink_seen[2].ends, 1);
	is_int(asked - 1, 1, "a write whose connection dies is sent once");
	is_int(sink_seen[2].end, TRANSPORT_LOST, "what became of it is not known");
	is_int(sink_seen[2].code, ERR_UNAVAILABLE, "and its code");
	sink_server.hook = NULL;
	sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, 3);
	ok(sink_until(&sink_seen[3].ends, 1) && sink_seen[3].end == TRANSPORT_OK,
	   "the cluster stays usable");
	sink_stop();
}

/* Memory runs out at any moment of a request's life: it ends, and the next one goes well. */
static void test_starved(void)
{
	struct endpoint e = sink_endpoint();
	bool ended = true;
	bool well = true;

	for (uint64_t n = 1; n <= 12 && ended && well; n++) {
		sink_start();
		sink_open(&e, NULL);
		sink_send(TRANSPORT_READ, "GET", "/version", NULL, 2000, 1);
		alloc_fail_after(n);
		sink_turns(8);
		alloc_fail_after(0);
		ended = sink_until(&sink_seen[1].ends, 1);
		sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, 2);
		well = sink_until(&sink_seen[2].ends, 1) && sink_seen[2].end == TRANSPORT_OK;
		sink_stop();
	}
	ok(ended, "without memory a request ends");
	ok(well, "and with memory the next one goes well");
}

int main(void)
{
	sink_begin();
	for (int i = 0; i < 2; i++) {
		sink_choice = i == 0 ? TRANSPORT_AUTO : TRANSPORT_CURL;
		printf("# %s\n", i == 0 ? "our own" : "libcurl");
		test_requests();
		test_as();
		test_watch();
		test_failures();
		test_open();
		test_fence_and_reset();
		test_token_file();
		test_renew();
		test_time_of_two();
		test_refused_certificate();
		test_cut_write();
		test_starved();
	}
	sink_end();
	return done_testing();
}
