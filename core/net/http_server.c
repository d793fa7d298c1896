/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server on libevent's bufferevents; see http_server.h. At the limit of connections the
 * listener pauses, and further ones wait in the kernel's backlog.
 */
#include "core/net/http_server.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "core/base/alloc.h"
#include "core/base/list.h"
#include "core/net/http_parse.h"

struct route {
	struct route *next;
	char *path;
	http_handler_fn *fn;
	void *ctx;
};

struct connection {
	struct list_node node;
	struct http_server *server;
	struct bufferevent *bev;
	struct loop_timer *lifetime;
	bool continued; /* "100 Continue" was sent for the request that is coming in */
	bool closing;   /* to be freed when the last answer is written */
};

struct http_server {
	struct loop *loop;
	struct evconnlistener *listener;
	struct route *routes;
	struct list_node connections;
	unsigned n_connections;
	uint16_t port;
};

/* --- answers
 * -------------------------------------------------------------------------------------- */

static const char *reason_of(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 413:
		return "Content Too Large";
	case 431:
		return "Request Header Fields Too Large";
	case 500:
		return "Internal Server Error";
	case 501:
		return "Not Implemented";
	case 503:
		return "Service Unavailable";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Unknown";
	}
}

static void write_answer(struct connection *c, const struct http_answer *a, bool with_body,
			 bool keep)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);
	int status = a->body.failed ? 500 : a->status;
	size_t n = a->body.failed ? 0 : a->body.n;

	evbuffer_add_printf(out,
			    "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			    "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n%s\r\n",
			    status, reason_of(status), a->content_type, n,
			    keep ? "" : "Connection: close\r\n");
	if (with_body && n > 0) {
		evbuffer_add(out, a->body.p, n);
	}
	if (!keep) {
		c->closing = true;
		bufferevent_disable(c->bev, EV_READ);
	}
}

static void refuse(struct connection *c, int status)
{
	struct http_answer a = {.status = status, .content_type = "text/plain; charset=utf-8"};

	buf_init(&a.body, 256);
	buf_printf(&a.body, "%d %s\n", status, reason_of(status));
	write_answer(c, &a, true, false);
	buf_done(&a.body);
}

static const struct route *find_route(const struct http_server *s, mk_str path)
{
	for (const struct route *r = s->routes; r; r = r->next) {
		if (str_is(path, r->path)) {
			return r;
		}
	}
	return NULL;
}

static const char *known_method(mk_str m)
{
	static const char *const known[] = {"GET", "HEAD", "POST"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (str_is(m, known[i])) {
			return known[i];
		}
	}
	return NULL;
}

static void answer(struct connection *c, const struct http_head *h, mk_str body)
{
	const struct route *r = find_route(c->server, h->path);
	struct http_request rq = {.method = known_method(h->method),
				  .path = h->path,
				  .query = h->query,
				  .body = body};
	struct http_answer a = {.status = 200, .content_type = "text/plain; charset=utf-8"};

	if (!rq.method) {
		refuse(c, 405);
		return;
	}
	buf_init(&a.body, HTTP_MAX_ANSWER);
	if (r) {
		r->fn(r->ctx, &rq, &a);
	} else {
		a.status = 404;
		buf_add(&a.body, STR("404 page not found\n"));
	}
	write_answer(c, &a, strcmp(rq.method, "HEAD") != 0, h->keep_alive);
	buf_done(&a.body);
}

/* --- connections
 * ---------------------------------------------------------------------------------- */

static void connection_free(struct connection *c)
{
	struct http_server *s = c->server;

	list_del(&c->node);
	s->n_connections--;
	if (s->listener && s->n_connections < HTTP_MAX_CONNECTIONS) {
		evconnlistener_enable(s->listener);
	}
	loop_timer_free(c->lifetime);
	bufferevent_free(c->bev);
	mk_free(c);
}

static void lifetime_over(void *ctx)
{
	connection_free(ctx);
}

/* Handles one whole request of the input. False: more bytes are needed, or the connection is
 * closing. */
static bool take_request(struct connection *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
	struct http_head h;
	const char *text;
	size_t head_n;
	int status;

	if (c->closing) {
		return false;
	}
	if (end.pos < 0 || end.pos + 4 > HTTP_MAX_HEADER) {
		if (evbuffer_get_length(in) > HTTP_MAX_HEADER) {
			refuse(c, 431);
		}
		return false;
	}
	head_n = (size_t)end.pos + 4;
	text = (const char *)evbuffer_pullup(in, (ev_ssize_t)head_n);
	status = text ? http_parse_head((mk_str){text, head_n}, HTTP_MAX_REQUEST_BODY, &h) : 500;
	if (status != 0) {
		refuse(c, status);
		return false;
	}
	if (evbuffer_get_length(in) < head_n + h.body_n) {
		if (h.expects_continue && !c->continued) {
			c->continued = true;
			bufferevent_write(c->bev, "HTTP/1.1 100 Continue\r\n\r\n", 25);
		}
		return false;
	}
	text = (const char *)evbuffer_pullup(in, (ev_ssize_t)(head_n + h.body_n));
	if (!text || http_parse_head((mk_str){text, head_n}, HTTP_MAX_REQUEST_BODY, &h) != 0) {
		refuse(c, 500);
		return false;
	}
	answer(c, &h, (mk_str){text + head_n, h.body_n});
	evbuffer_drain(in, head_n + h.body_n);
	c->continued = false;
	return !c->closing;
}

static void on_read(struct bufferevent *bev, void *ctx)
{
	struct connection *c = ctx;
	struct loop *l = c->server->loop;
	int64_t t0 = loop_enter();

	(void)bev;
	while (take_request(c)) {
	}
	loop_leave(l, t0);
}

static void on_written(struct bufferevent *bev, void *ctx)
{
	struct connection *c = ctx;

	if (c->closing && evbuffer_get_length(bufferevent_get_output(bev)) == 0) {
		connection_free(c);
	}
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
	(void)bev;
	(void)what; /* the end, an error or a timeout: all the same */
	connection_free(ctx);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *sa,
		      int n, void *ctx)
{
	static const struct timeval idle = {.tv_sec = HTTP_IDLE_MS / 1000};
	struct http_server *s = ctx;
	struct connection *c = mk_calloc(1, sizeof(*c));
	struct bufferevent *bev;

	(void)sa;
	(void)n;
	bev = c ? bufferevent_socket_new(loop_base(s->loop), fd, BEV_OPT_CLOSE_ON_FREE) : NULL;
	if (!bev) {
		mk_free(c);
		evutil_closesocket(fd);
		return;
	}
	c->server = s;
	c->bev = bev;
	c->lifetime = loop_timer_new(s->loop, lifetime_over, c);
	if (!c->lifetime) {
		bufferevent_free(bev);
		mk_free(c);
		return;
	}
	list_add_tail(&s->connections, &c->node);
	s->n_connections++;
	if (s->n_connections >= HTTP_MAX_CONNECTIONS) {
		evconnlistener_disable(listener);
	}
	loop_timer_set(c->lifetime, HTTP_LIFETIME_MS);
	bufferevent_setcb(bev, on_read, on_written, on_event, c);
	bufferevent_set_timeouts(bev, &idle, &idle);
	bufferevent_setwatermark(bev, EV_READ, 0, HTTP_MAX_HEADER + HTTP_MAX_REQUEST_BODY);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
}

/* --- life
 * ----------------------------------------------------------------------------------------- */

static enum mk_code split_address(mk_str address, char host[static 64], uint16_t *ret_port,
				  struct mk_err *err)
{
	size_t colon = address.n;
	mk_str name;
	uint64_t port = 0;

	while (colon > 0 && address.p[colon - 1] != ':') {
		colon--;
	}
	if (colon == 0 || !str_u64(str_sub(address, colon, address.n), &port) || port > 65535) {
		return err_set(err, MK_INVALID, "http",
			       "address: expected host:port or :port, found %.*s",
			       STR_ARG(address));
	}
	name = str_sub(address, 0, colon - 1);
	if (name.n >= 2 && name.p[0] == '[' && name.p[name.n - 1] == ']') {
		name = str_sub(name, 1, name.n - 2);
	}
	if (name.n >= 64) {
		return err_set(err, MK_INVALID, "http", "address: host is too long");
	}
	snprintf(host, 64, "%.*s", STR_ARG(name));
	*ret_port = (uint16_t)port;
	return MK_OK;
}

static struct evconnlistener *bind_to(struct http_server *s, const char *host, uint16_t port)
{
	enum { BACKLOG = 128 };
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
	struct event_base *base = loop_base(s->loop);

	if (inet_pton(AF_INET, host, &in.sin_addr) == 1) {
		return evconnlistener_new_bind(base, on_accept, s, flags, BACKLOG,
					       (const struct sockaddr *)&in, sizeof(in));
	}
	if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1) {
		return evconnlistener_new_bind(base, on_accept, s, flags, BACKLOG,
					       (const struct sockaddr *)&in6, sizeof(in6));
	}
	return NULL;
}

static bool listen_on(struct http_server *s, const char *host, uint16_t port)
{
	struct sockaddr_storage sa;
	struct sockaddr_in in;
	socklen_t n = sizeof(sa);

	/* All addresses: a socket of IPv6 takes IPv4 too, unless the kernel has no IPv6. */
	s->listener = bind_to(s, host[0] ? host : "::", port);
	if (!s->listener && !host[0]) {
		s->listener = bind_to(s, "0.0.0.0", port);
	}
	if (!s->listener ||
	    getsockname(evconnlistener_get_fd(s->listener), (struct sockaddr *)&sa, &n) != 0) {
		return false;
	}
	memcpy(&in, &sa, sizeof(in)); /* the port is at the same place in both families */
	s->port = ntohs(in.sin_port);
	return true;
}

struct http_server *http_server_new(struct loop *l, mk_str address, struct mk_err *err)
{
	struct http_server *s;
	char host[64];
	uint16_t port = 0;

	if (split_address(address, host, &port, err) != MK_OK) {
		return NULL;
	}
	s = mk_calloc(1, sizeof(*s));
	if (!s) {
		err_set(err, MK_NO_MEMORY, "http", "out of memory");
		return NULL;
	}
	s->loop = l;
	list_init(&s->connections);
	if (!listen_on(s, host, port)) {
		err_set(err, MK_UNAVAILABLE, "http",
			"cannot listen on %.*s (in use, or no such address)", STR_ARG(address));
		http_server_free(s);
		return NULL;
	}
	return s;
}

void http_server_free(struct http_server *s)
{
	if (!s) {
		return;
	}
	if (s->listener) {
		evconnlistener_free(s->listener);
		s->listener = NULL;
	}
	while (!list_empty(&s->connections)) {
		connection_free(LIST_ENTRY(s->connections.next, struct connection, node));
	}
	while (s->routes) {
		struct route *r = s->routes;

		s->routes = r->next;
		mk_free(r->path);
		mk_free(r);
	}
	mk_free(s);
}

bool http_server_handle(struct http_server *s, const char *path, http_handler_fn *fn, void *ctx)
{
	struct route *r = mk_calloc(1, sizeof(*r));
	char *copy = mk_strdup(path);

	if (!r || !copy) {
		mk_free(r);
		mk_free(copy);
		return false;
	}
	*r = (struct route){.next = s->routes, .path = copy, .fn = fn, .ctx = ctx};
	s->routes = r;
	return true;
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

unsigned http_server_connections(const struct http_server *s)
{
	return s->n_connections;
}
