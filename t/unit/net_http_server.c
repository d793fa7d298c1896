/* SPDX-License-Identifier: Apache-2.0 */
/* The small HTTP server: routes, limits, many and slow connections. Raw sockets on the same loop as
 * the server. */
#include "t/lib/tap.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/net/http_server.h"

enum { PATIENCE_MS = 20000 };

static struct loop *loop;
static struct http_server *srv;

static void on_hello(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	(void)ctx;
	buf_printf(&a->body, "%s %.*s ? %.*s [%zu]\n", rq->method, STR_ARG(rq->path),
		   STR_ARG(rq->query), rq->body.n);
}

static void on_bad(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	(void)ctx;
	(void)rq;
	a->status = 503;
	a->content_type = "application/json";
	buf_add(&a->body, STR("{}"));
}

enum { PIECES = 5, PIECE = 40 * 1024 };

static int begun, ended, pieces;

static bool more_pieces(void *ctx, struct http_answer *a)
{
	int *n = ctx;

	pieces++;
	for (int i = 0; i < PIECE; i++) {
		buf_add(&a->body, STR("p"));
	}
	return ++*n == PIECES;
}

static void end_pieces(void *ctx)
{
	ended++;
	free(ctx);
}

static void on_pieces(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	(void)ctx;
	(void)rq;
	begun++;
	a->more = more_pieces;
	a->more_ctx = calloc(1, sizeof(int));
	a->more_free = end_pieces;
}

static int dial(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET,
				  .sin_port = htons(http_server_port(srv)),
				  .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&sin, sizeof(sin)) != 0) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Sends 'head' and 'n_fill' bytes behind it, and reads until the server closes or 'stop' was seen.
 */
static void talk(const char *head, size_t n_fill, const char *stop, char out[static 4096])
{
	int fd = dial();
	size_t n = 0;
	size_t sent = 0;
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	char block[1024];

	memset(block, 'x', sizeof(block));
	out[0] = '\0';
	if (write(fd, head, strlen(head)) != (ssize_t)strlen(head)) {
		close(fd);
		return;
	}
	while (clock_mono_ms() < end && !strstr(out, stop)) {
		ssize_t got;

		if (sent < n_fill) {
			ssize_t w = send(fd, block, sizeof(block), MSG_NOSIGNAL);

			sent += w > 0 ? (size_t)w : 0;
		}
		loop_turn(loop, 5);
		got = n < 4095 ? read(fd, out + n, 4095 - n) : 0;
		if (got == 0) {
			break;
		}
		if (got > 0) {
			n += (size_t)got;
			out[n] = '\0';
		}
	}
	close(fd);
	loop_turn(loop, 0);
}

static void test_routes(void)
{
	char out[4096];

	talk("GET /hello?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 0, "]\n", out);
	ok(strstr(out, "HTTP/1.1 200"), "a route answers 200");
	ok(strstr(out, "GET /hello ? a=b [0]"), "with path and query");
	talk("POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 1024\r\n\r\n", 1024, "]\n", out);
	ok(strstr(out, "POST /hello ?  [1024]"), "a body arrives");
	talk("GET /bad HTTP/1.1\r\nHost: x\r\n\r\n", 0, "{}", out);
	ok(strstr(out, " 503 ") && strstr(out, "application/json"),
	   "status and type are the handler's");
	talk("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", 0, "not found", out);
	ok(strstr(out, " 404 "), "other paths are 404");
	talk("DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n", 0, "\r\n\r\n", out);
	ok(strstr(out, " 501 ") || strstr(out, " 405 "), "other methods are refused");
	talk("rubbish\r\n\r\n", 0, "\r\n\r\n", out);
	ok(strstr(out, " 400 "), "rubbish is refused");
}

/* Turns the loop until 'n' answers were ended; the most pieces of one turn. */
static int turns_until(int n, size_t got[2], const int fd[2])
{
	static char in[64 * 1024];
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	int most = 0;

	while (clock_mono_ms() < end &&
	       (ended < n || got[0] + got[1] < (size_t)n * PIECES * PIECE)) {
		int before = pieces;

		loop_turn(loop, 1);
		most = pieces - before > most ? pieces - before : most;
		for (int i = 0; i < 2; i++) {
			ssize_t k = read(fd[i], in, sizeof(in));

			got[i] += k > 0 ? (size_t)k : 0;
		}
	}
	return most;
}

/* Answers that take several turns of the loop. */
static void test_pieces(void)
{
	static const char one[] = "GET /pieces HTTP/1.1\r\nHost: x\r\n\r\n";
	size_t got[2] = {0, 0};
	int fd[2] = {dial(), dial()};
	char out[4096];

	for (int i = 0; i < 2; i++) {
		ok(write(fd[i], one, sizeof(one) - 1) == (ssize_t)sizeof(one) - 1, "a request");
	}
	is_int(turns_until(2, got, fd), 1, "no turn of the loop writes more than one piece");
	is_int(pieces, 2 * PIECES, "both answers take their turns");
	ok(got[0] > PIECES * PIECE && got[0] == got[1], "... and arrive whole");
	close(fd[0]);
	http_server_retry(srv);
	ok(write(fd[1], one, sizeof(one) - 1) == (ssize_t)sizeof(one) - 1, "one more");
	for (int64_t end = clock_mono_ms() + PATIENCE_MS; begun < 3 && clock_mono_ms() < end;) {
		loop_turn(loop, 1);
	}
	close(fd[1]);
	for (int64_t end = clock_mono_ms() + PATIENCE_MS; ended < 3 && clock_mono_ms() < end;) {
		loop_turn(loop, 1);
	}
	is_int(ended, 3, "when the client leaves, or the answer is complete, its state is freed");
	pieces = 0;
	talk("HEAD /pieces HTTP/1.1\r\nHost: x\r\n\r\n", 0, "\r\n\r\n", out);
	ok(strstr(out, " 200 OK") && strstr(out, "Transfer-Encoding: chunked\r\n") && pieces == 1,
	   "HEAD has the head that GET has, after the first piece");
}

/* --- answers of any length -------------------------------------------------------------------- */

enum {
	LONG_PIECE = 128 * 1024,
	LONG_PIECES = 400, /* 50 MiB: more than an answer that is sent at once may have */
	NEVER = LONG_PIECES + 1,
};

static int fails_at;

static bool more_long(void *ctx, struct http_answer *a)
{
	int *n = ctx;
	static char block[LONG_PIECE];

	pieces++;
	a->body.failed = ++*n == fails_at;
	memset(block, 'a' + *n % 26, sizeof(block));
	buf_add(&a->body, (mk_str){block, sizeof(block)});
	return *n == LONG_PIECES;
}

static void on_long(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	on_pieces(ctx, rq, a);
	a->more = more_long;
}

/* What a client has read of one answer. */
struct reading {
	char head[1024];
	size_t n_head, n_body, wrong; /* 'wrong': bytes that are not those of their piece */
	size_t left;                  /* of a chunk */
	char size[16];
	size_t n_size;
	bool in_body, chunked, last_chunk, is_closed;
};

static void take_body(struct reading *r, char c)
{
	r->wrong += c != (char)('a' + (int)(r->n_body / LONG_PIECE + 1) % 26);
	r->n_body++;
}

static void take_byte(struct reading *r, char c)
{
	if (!r->in_body) {
		r->head[r->n_head] = c;
		r->n_head += r->n_head + 1 < sizeof(r->head);
		r->in_body = strstr(r->head, "\r\n\r\n") != NULL;
		r->chunked = strstr(r->head, "Transfer-Encoding: chunked\r\n") != NULL;
	} else if (!r->chunked) {
		take_body(r, c);
	} else if (r->left > 0) {
		take_body(r, c);
		r->left--;
	} else if (c == '\n' && r->n_size > 0) {
		r->left = strtoul(r->size, NULL, 16);
		r->last_chunk = r->left == 0;
		memset(r->size, 0, sizeof(r->size));
		r->n_size = 0;
	} else if (c != '\r' && c != '\n' && r->n_size + 1 < sizeof(r->size)) {
		r->size[r->n_size++] = c;
	}
}

static void read_on(struct reading *r, int fd)
{
	static char in[256 * 1024];
	ssize_t k;

	loop_turn(loop, 1);
	k = read(fd, in, sizeof(in));
	for (ssize_t i = 0; i < k; i++) {
		take_byte(r, in[i]);
	}
	r->is_closed = k == 0;
}

static struct reading read_long(const char *request, int *ret_fd)
{
	struct reading r = {.n_head = 0};
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	int fd = dial();

	pieces = 0;
	ok(write(fd, request, strlen(request)) == (ssize_t)strlen(request), "a request");
	while (ret_fd && pieces < 2 && clock_mono_ms() < end) {
		loop_turn(loop, 1);
	}
	for (int i = 0; ret_fd && i < 300; i++) { /* the client reads nothing */
		loop_turn(loop, 0);
	}
	if (ret_fd) {
		printf("# %d pieces of %d are ahead of the client\n", pieces, LONG_PIECES);
		ok(pieces >= 2 && pieces < LONG_PIECES / 2,
		   "a piece is written when the client has taken those before it");
	}
	while (!r.last_chunk && !r.is_closed && clock_mono_ms() < end) {
		read_on(&r, fd);
	}
	if (ret_fd) {
		*ret_fd = fd;
	} else {
		close(fd);
	}
	return r;
}

static void test_long(void)
{
	static const char get[] = "GET /long HTTP/1.1\r\nHost: x\r\n\r\n";
	const size_t all = (size_t)LONG_PIECES * LONG_PIECE;
	struct reading r;
	char out[4096];
	int fd;

	fails_at = NEVER;
	r = read_long(get, &fd);
	ok(r.n_body == all && all > HTTP_MAX_ANSWER && r.wrong == 0 && r.last_chunk,
	   "an answer that is longer than the server keeps of one arrives whole");
	memset(&r, 0, sizeof(r));
	ok(write(fd, get, sizeof(get) - 1) == (ssize_t)sizeof(get) - 1, "another request");
	for (int64_t end = clock_mono_ms() + PATIENCE_MS; r.n_body == 0 && clock_mono_ms() < end;) {
		read_on(&r, fd);
	}
	ok(strstr(r.head, " 200 OK"), "the connection goes on behind it");
	close(fd);
	r = read_long("GET /long HTTP/1.0\r\n\r\n", NULL);
	ok(!r.chunked && r.is_closed && r.n_body == all && r.wrong == 0,
	   "a client of HTTP/1.0 gets it as well, up to the end of the connection");
	fails_at = 3;
	r = read_long(get, NULL);
	ok(r.is_closed && !r.last_chunk && r.n_body < all,
	   "one that fails in the middle has no end, so that nobody takes it for whole");
	fails_at = 1;
	talk(get, 0, "\r\n\r\n", out);
	ok(strstr(out, " 500 ") && !strstr(out, "chunked"), "one that fails at once is a 500");
}

static void test_limits(void)
{
	enum { MANY = HTTP_MAX_CONNECTIONS + 10 };
	char out[4096];
	int fd[MANY];
	unsigned most = 0;
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	talk("GET /hello HTTP/1.1\r\nX: ", 100 * 1024, "\r\n\r\n", out);
	ok(!strstr(out, " 200 "), "100 KiB of header are refused");
	talk("POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n", 0, "\r\n\r\n",
	     out);
	ok(strstr(out, " 413 "), "10 MB of body are refused before they are sent");
	for (int i = 0; i < MANY; i++) {
		fd[i] = dial();
		loop_turn(loop, 0);
	}
	for (int i = 0; i < 5; i++) {
		loop_turn(loop, 10);
		most = http_server_connections(srv) > most ? http_server_connections(srv) : most;
	}
	ok(most >= (unsigned)HTTP_MAX_CONNECTIONS - 1 && most <= (unsigned)HTTP_MAX_CONNECTIONS,
	   "connections stop at the limit");
	for (int i = 0; i < MANY; i++) {
		close(fd[i]);
	}
	while (http_server_connections(srv) > 0 && clock_mono_ms() < end) {
		loop_turn(loop, 10);
	}
	is_int(http_server_connections(srv), 0, "and all of them end");
	talk("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 0, "]\n", out);
	ok(strstr(out, " 200 "), "after that the server serves again");
}

static unsigned n_large;

static void on_large(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	static const char line[] =
		"................................................................";

	(void)ctx;
	(void)rq;
	n_large++;
	for (size_t i = 0; i < 16 * 1024; i++) {
		buf_add(&a->body, STR(line));
	}
}

/* Thousands of requests and no eye for their answers: they must not pile up. */
static void test_pipeline(void)
{
	static const char one[] = "GET /large HTTP/1.1\r\n\r\n";
	static char many[5000 * (sizeof(one) - 1)];
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	char out[4096];
	int fd = dial();

	for (size_t i = 0; i < 5000; i++) {
		memcpy(many + i * (sizeof(one) - 1), one, sizeof(one) - 1);
	}
	for (ssize_t at = 0, n; at < (ssize_t)sizeof(many) && n_large<4; at += n> 0 ? n : 0) {
		n = send(fd, many + at, sizeof(many) - (size_t)at, MSG_NOSIGNAL);
		loop_turn(loop, 5);
		if (clock_mono_ms() > end || (n < 0 && n_large > 0)) {
			break;
		}
	}
	for (int i = 0; i < 10; i++) {
		loop_turn(loop, 5);
	}
	ok(n_large >= 1 && n_large <= 3, "answers that the client does not read do not pile up");
	close(fd);
	loop_turn(loop, 5);
	talk("GET /hello HTTP/1.1\r\n\r\nGET /hello?2 HTTP/1.1\r\n\r\n", 0, "? 2 [0]\n", out);
	ok(strstr(out, "? 2 [0]\n"), "two small ones at once are answered");
}

/* No descriptor is left for a connection: it waits, and so does the loop. */
static void test_descriptors(void)
{
	struct rlimit all, few;
	char out[4096];
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	int fd = dial();
	unsigned turns = 0;

	getrlimit(RLIMIT_NOFILE, &all);
	few = all;
	few.rlim_cur = (rlim_t)fd + 1;
	setrlimit(RLIMIT_NOFILE, &few);
	for (int64_t until = clock_mono_ms() + 500; clock_mono_ms() < until; turns++) {
		loop_turn(loop, 500);
	}
	setrlimit(RLIMIT_NOFILE, &all);
	is_int(http_server_connections(srv), 0, "out of descriptors: no connection is accepted");
	ok(turns < 20, "and the loop does not spin");
	if (tap_valgrind()) {
		close(fd);
		fd = dial();
	}
	while (http_server_connections(srv) == 0 && clock_mono_ms() < end) {
		loop_turn(loop, 50);
	}
	is_int(http_server_connections(srv), 1, "who waited is accepted later");
	close(fd);
	talk("GET /hello HTTP/1.1\r\n\r\n", 0, "]\n", out);
	ok(strstr(out, " 200 "), "and others are served");
}

static bool opens(const char *address, struct mk_err *err)
{
	return http_server_open(loop, &(struct http_server_options){.address = str_of(address)},
				err) != NULL;
}

static void test_address(void)
{
	struct mk_err err;
	char text[32];

	ok(!opens("nonsense", &err) && err.code == ERR_INVALID, "no port");
	ok(!opens(":70000", &err) && err.code == ERR_INVALID, "port too large");
	snprintf(text, sizeof(text), "127.0.0.1:%u", http_server_port(srv));
	ok(!opens(text, &err) && err.code == ERR_UNAVAILABLE, "port in use");
}

/* --- the gate --------------------------------------------------------------------------------- */

static enum http_verdict verdict;
static unsigned n_asked;

static enum http_verdict on_gate(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	(void)ctx;
	n_asked++;
	if (verdict == HTTP_NO) {
		a->status = 401;
		buf_printf(&a->body, "not %.*s]\n", STR_ARG(rq->authorization));
	}
	return rq->is_local ? verdict : HTTP_NO;
}

/* Turns the loop until 'n' questions were asked. */
static bool asked(unsigned n)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	while (n_asked < n && clock_mono_ms() < end) {
		loop_turn(loop, 5);
	}
	return n_asked == n;
}

/* Reads until there are 'n' bytes ']'. */
static void hear(int fd, unsigned n, char out[static 4096])
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	size_t have = 0;
	unsigned found = 0;

	while (found < n && have < 4095 && clock_mono_ms() < end) {
		ssize_t got = read(fd, out + have, 1);

		if (got == 1) {
			found += out[have++] == ']';
		} else {
			loop_turn(loop, 5);
		}
	}
	out[have] = '\0';
}

static void test_gate(void)
{
	static const char two[] = "POST /hello HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
				  "GET /hello?2 HTTP/1.1\r\nAuthorization:  me \r\n\r\n";
	char out[4096];
	int fd[2];

	verdict = HTTP_WAIT;
	n_asked = 0;
	for (size_t i = 0; i < 2; i++) {
		fd[i] = dial();
		ok(write(fd[i], two, sizeof(two) - 1) == (ssize_t)sizeof(two) - 1, "two requests");
	}
	ok(asked(2), "the gate is asked for the first of each connection");
	http_server_retry(srv);
	is_int(n_asked, 4, "and again when told");
	loop_turn(loop, 20);
	is_int(n_asked, 4, "not in between");
	close(fd[1]);
	verdict = HTTP_GO;
	for (int i = 0; i < 5; i++) {
		loop_turn(loop, 5);
	}
	http_server_retry(srv);
	is_int(n_asked, 6,
	       "who has left is not asked for; the second request has its own question");
	hear(fd[0], 2, out);
	ok(strstr(out, "POST /hello ?  [3]") && strstr(out, "GET /hello ? 2 [0]"),
	   "both are answered, with their bodies, in order");
	verdict = HTTP_NO;
	ok(write(fd[0], two, sizeof(two) - 1) == (ssize_t)sizeof(two) - 1, "two more");
	hear(fd[0], 2, out);
	ok(strstr(out, " 401 Unauthorized\r\n") &&
		   strstr(out, "\r\nWWW-Authenticate: Bearer\r\n") && strstr(out, "not me]"),
	   "are refused, by what they say of themselves");
	close(fd[0]);
}

static struct http_server *open_one(http_gate_fn *gate)
{
	struct http_server *s = NULL;

	for (unsigned i = 0; i < 200 && !s; i++) {
		char text[32];
		struct http_server_options o = {.gate = gate};

		snprintf(text, sizeof(text), "127.0.0.1:%u",
			 20000 + ((unsigned)getpid() * 11 + i * 17) % 12000);
		o.address = str_of(text);
		s = http_server_open(loop, &o, NULL);
	}
	if (!s) {
		printf("Bail out! no free port\n");
		exit(1);
	}
	http_server_handle(s, "/hello", on_hello, NULL);
	http_server_handle(s, "/bad", on_bad, NULL);
	http_server_handle(s, "/large", on_large, NULL);
	http_server_handle(s, "/pieces", on_pieces, NULL);
	http_server_handle(s, "/long", on_long, NULL);
	return s;
}

int main(void)
{
	loop = loop_new(NULL);
	srv = open_one(NULL);
	test_routes();
	test_pieces();
	test_long();
	test_limits();
	test_pipeline();
	test_descriptors();
	test_address();
	dial();
	loop_turn(loop, 10);
	http_server_free(srv);
	srv = open_one(on_gate);
	test_gate();
	http_server_free(srv);
	loop_free(loop);
	return done_testing();
}
