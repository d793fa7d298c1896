/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of connections at the HTTP server: at its limit a client that says nothing, or takes no
 * answer, gives way to one that asks. Raw sockets on the same loop as the server.
 */
#include "t/lib/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/net/http_room.h"

enum { PATIENCE_MS = 20000, PLACES = 8, MANY = 4 * PLACES };

static struct loop *loop;
static struct http_server *srv;

static void on_hello(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	(void)ctx;
	(void)rq;
	buf_add(&a->body, STR("hello\n"));
}

static void on_large(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	(void)ctx;
	(void)rq;
	for (size_t i = 0; i < 1024 * 1024; i++) {
		buf_add(&a->body, STR("........"));
	}
}

static bool ends_never(void *ctx, struct http_answer *a)
{
	(void)ctx;
	(void)a;
	return false;
}

static void is_ended(void *ctx)
{
	(void)ctx;
}

static void on_endless(void *ctx, const struct http_request *rq, struct http_answer *a)
{
	(void)ctx;
	(void)rq;
	a->more = ends_never;
	a->more_free = is_ended;
}

static void serve(void)
{
	const struct http_server_options o = {.address = STR("127.0.0.1:0"),
					      .max_connections = PLACES,
					      .request_ms = PATIENCE_MS,
					      .idle_ms = PATIENCE_MS};

	srv = http_server_open(loop, &o, NULL);
	http_server_handle(srv, "/hello", on_hello, NULL);
	http_server_handle(srv, "/large", on_large, NULL);
	http_server_handle(srv, "/endless", on_endless, NULL);
}

static int dial(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET,
				  .sin_port = htons(http_server_port(srv)),
				  .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (connect(fd, (const struct sockaddr *)&sin, sizeof(sin)) != 0) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void ask(int fd, const char *path)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);

	(void)!send(fd, text, (size_t)n, MSG_NOSIGNAL);
}

static bool is_closed(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, MSG_PEEK);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

/* Is there an answer within 'ms'? Each silent client in fd[0..n) that is sent away comes back. */
static bool answers(int asker, int64_t ms, int *fd, size_t n)
{
	int64_t end = clock_mono_ms() + ms;
	char text[512];

	while (clock_mono_ms() < end) {
		ssize_t got;

		loop_turn(loop, 1);
		got = recv(asker, text, sizeof(text), 0);
		if (got > 0) {
			return memcmp(text, "HTTP/1.1 200", 12) == 0;
		}
		if (got == 0) {
			return false;
		}
		for (size_t i = 0; i < n; i++) {
			if (is_closed(fd[i])) {
				close(fd[i]);
				fd[i] = dial();
			}
		}
	}
	return false;
}

static bool is_served(int *fd, size_t n)
{
	int asker = dial();
	bool good;

	ask(asker, "/hello");
	good = answers(asker, 900, fd, n); /* less than the second that a probe may take */
	close(asker);
	return good;
}

static void turn_for(int64_t ms)
{
	for (int64_t end = clock_mono_ms() + ms; clock_mono_ms() < end;) {
		loop_turn(loop, 5);
	}
}

static void hang_up(int *fd, size_t n)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	for (size_t i = 0; i < n; i++) {
		close(fd[i]);
	}
	while (http_server_connections(srv) > 0 && clock_mono_ms() < end) {
		loop_turn(loop, 5);
	}
	is_int(http_server_connections(srv), 0, "... and each place is free again");
}

static void test_silent(void)
{
	int fd[MANY];
	unsigned good = 0;

	for (size_t i = 0; i < MANY; i++) {
		fd[i] = dial();
	}
	for (int i = 0; i < 20; i++) {
		good += is_served(fd, MANY);
	}
	is_int(good, 20, "silent clients that come back at once keep none from its answer");
	ok(http_server_connections(srv) <= PLACES, "the limit stays");
	hang_up(fd, MANY);
}

static void test_order(void)
{
	int fd[PLACES], idle = dial();

	ask(idle, "/hello");
	ok(answers(idle, PATIENCE_MS, NULL, 0), "a client has its answer, and stays");
	for (size_t i = 0; i + 2 < PLACES; i++) {
		fd[i] = dial();
		loop_turn(loop, 5);
	}
	turn_for(HTTP_ROOM_SLOW_MS + 50);
	for (size_t i = PLACES - 2; i < PLACES; i++) {
		fd[i] = dial();
		turn_for(5);
	}
	ok(is_closed(fd[0]) && !is_closed(fd[PLACES - 1]), "the one that is silent longest goes");
	ask(idle, "/hello");
	ok(answers(idle, PATIENCE_MS, NULL, 0), "... before one that is idle");
	close(idle);
	hang_up(fd, PLACES);
}

static void test_not_taking(void)
{
	int fd[PLACES];

	for (size_t i = 0; i < PLACES; i++) {
		fd[i] = dial();
		ask(fd[i], "/large");
	}
	turn_for(HTTP_ROOM_SLOW_MS + 200);
	ok(is_served(NULL, 0), "clients that take no answer give way, too");
	hang_up(fd, PLACES);
}

static void test_answered(void)
{
	int fd[PLACES], late;

	for (size_t i = 0; i < PLACES; i++) {
		fd[i] = dial();
		ask(fd[i], "/endless");
	}
	turn_for(HTTP_ROOM_SLOW_MS + 200);
	is_int(http_server_busy(srv), PLACES, "requests that are being answered are counted");
	late = dial();
	ask(late, "/hello");
	ok(!answers(late, 200, NULL, 0), "they keep their places");
	close(fd[0]);
	ok(answers(late, PATIENCE_MS, NULL, 0), "one that waited gets a place that is free");
	close(late);
	hang_up(fd + 1, PLACES - 1);
	is_int(http_server_busy(srv), 0, "... and none is counted");
}

int main(void)
{
	loop = loop_new(NULL);
	serve();
	test_silent();
	test_order();
	test_not_taking();
	test_answered();
	http_server_free(srv);
	loop_free(loop);
	return tap_done();
}
