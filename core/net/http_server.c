/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server on libevent's bufferevents; see http_server.h. */
#include "core/net/http_server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/http_parse.h"
#include "core/net/http_room.h"
#include "core/net/listen.h"

struct route {
	struct route *next;
	char *path;
	http_handler_fn *fn;
	void *ctx;
};

struct http_server {
	struct loop *loop;
	struct loop_post *next_turn; /* for answers that take several */
	struct route *routes;
	struct http_server_options o;
	struct http_room room;
	size_t incoming; /* of all 'reserved' */
	uint16_t port;
};

/* --- answers --------------------------------------------------------------------------------- */

static void taken(const void *data, size_t n, void *owned_body)
{
	(void)data;
	(void)n;
	mk_free(owned_body);
}

/* A long body is not copied: its memory goes to the connection. */
static void add_body(struct evbuffer *out, struct buf *body)
{
	enum { LONG = 64 * 1024 };

	if (body->n >= LONG && evbuffer_add_reference(out, body->p, body->n, taken, body->p) == 0) {
		buf_init(body, body->cap);
	} else {
		evbuffer_add(out, body->p, body->n);
	}
}

static void write_answer(struct connection *c, struct http_answer *a, bool with_body, bool keep)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);
	int status = a->body.failed ? 500 : a->status;
	size_t n = a->body.failed ? 0 : a->body.n;

	evbuffer_add_printf(
		out,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		"X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n%s%s\r\n",
		status, http_reason(status), a->content_type, n,
		status == 401 ? "WWW-Authenticate: Bearer\r\n" : "",
		keep ? "" : "Connection: close\r\n");
	if (with_body && n > 0) {
		add_body(out, &a->body);
	}
	if (!c->writing) { /* further requests do not extend the time to read the answers */
		loop_timer_set(c->limit, HTTP_WRITE_MS);
	}
	c->writing = true;
	if (!keep) {
		c->closing = true;
		bufferevent_disable(c->bev, EV_READ);
	}
}

static void refuse(struct connection *c, int status)
{
	struct http_answer a = {.status = status, .content_type = "text/plain; charset=utf-8"};

	buf_init(&a.body, 256);
	buf_printf(&a.body, "%d %s\n", status, http_reason(status));
	write_answer(c, &a, true, false);
	buf_done(&a.body);
}

static const struct route *find_route(const struct http_server *s, mk_str path)
{
	for (const struct route *r = s->routes; r; r = r->next) {
		mk_str its = str_of(r->path);

		if (str_eq(path, its) || (str_ends(its, STR("/")) && str_starts(path, its))) {
			return r;
		}
	}
	return NULL;
}

/* Asks the gate, and then the handler. */
static enum http_verdict handle(const struct http_server *s, const struct http_request *rq,
				struct http_answer *a)
{
	const struct route *r = find_route(s, rq->path);
	enum http_verdict verdict = s->o.gate ? s->o.gate(s->o.gate_ctx, rq, a) : HTTP_GO;

	if (verdict != HTTP_GO) {
		return verdict;
	}
	if (r) {
		r->fn(r->ctx, rq, a);
	} else {
		a->status = 404;
		buf_add(&a->body, STR("404 page not found\n"));
	}
	return verdict;
}

/* One turn for the answer that was begun: moves it to '*a'. */
static void go_on(struct connection *c, struct http_answer *a)
{
	*a = c->part;
	c->part.more = NULL;
	if (a->more(a->more_ctx, a)) {
		a->more = NULL;
		a->more_free(a->more_ctx);
	}
}

/* False: the gate does not know yet, or the answer takes further turns. */
static bool answer(struct connection *c, const struct http_head *h, mk_str body)
{
	const struct http_server *s = c->server;
	size_t pending = evbuffer_get_length(bufferevent_get_output(c->bev));
	struct http_request rq = {.method = http_method(h->method),
				  .path = h->path,
				  .query = h->query,
				  .body = body,
				  .authorization = h->authorization,
				  .headers = h->headers,
				  .tls = s->o.tls ? bufferevent_openssl_get_ssl(c->bev) : NULL,
				  .host = h->host,
				  .is_local = c->is_local};
	struct http_answer a = {.status = 200, .content_type = "text/plain; charset=utf-8"};
	enum http_verdict verdict = HTTP_GO;

	if (!rq.method) {
		refuse(c, 405);
		return true;
	}
	if (c->part.more) {
		go_on(c, &a);
	} else {
		buf_init(&a.body, HTTP_MAX_ANSWER);
		verdict = handle(s, &rq, &a);
	}
	if (a.more) {
		c->part = a;
		loop_post_now(s->next_turn);
		return false;
	}
	if (verdict != HTTP_WAIT) {
		/* Paused: at the limit of connections, the next client in the backlog gets this place. */
		write_answer(c, &a, strcmp(rq.method, "HEAD") != 0,
			     h->keep_alive && !s->room.paused && pending < HTTP_MAX_PENDING &&
				     clock_mono_ms() - c->born_ms < s->o.lifetime_ms);
	}
	buf_done(&a.body);
	return verdict != HTTP_WAIT;
}

/* --- connections ----------------------------------------------------------------------------- */

static void set_reserved(struct connection *c, size_t n)
{
	c->server->incoming += n - c->reserved;
	c->reserved = n;
}

static void connection_free(struct connection *c)
{
	struct http_server *s = c->server;

	if (c->part.more) {
		c->part.more_free(c->part.more_ctx);
		buf_done(&c->part.body);
	}
	set_reserved(c, 0);
	http_room_leave(&s->room, c);
	loop_timer_free(c->limit);
	bufferevent_free(c->bev);
	mk_free(c);
}

static void time_is_over(void *ctx)
{
	connection_free(ctx);
}

/* Limits the input buffer to a little more than 'n' bytes, so that an excess is noticed. */
static void expect(struct connection *c, size_t n)
{
	enum { MORE = 4096 };

	bufferevent_setwatermark(c->bev, EV_READ, 0, n + MORE);
}

/* A request begins: its time runs. */
static void set_fresh(struct connection *c)
{
	http_room_move(&c->server->room, c, HTTP_FRESH);
	loop_timer_set(c->limit, c->server->o.request_ms);
}

/* The answers are written, and nothing has come after them. */
static void set_idle(struct connection *c)
{
	http_room_move(&c->server->room, c, HTTP_IDLE);
	loop_timer_set(c->limit, c->server->o.idle_ms);
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

	if (c->closing || c->waiting) {
		return false;
	}
	if (end.pos < 0 || (size_t)end.pos + 4 > c->server->o.max_header) {
		if (evbuffer_get_length(in) > c->server->o.max_header) {
			refuse(c, 431);
		}
		return false;
	}
	head_n = (size_t)end.pos + 4;
	text = (const char *)evbuffer_pullup(in, (ev_ssize_t)head_n);
	status = text ? http_parse_head((mk_str){text, head_n}, c->server->o.max_body, &h) : 500;
	if (status != 0) {
		refuse(c, status);
		return false;
	}
	if (evbuffer_get_length(in) < head_n + h.body_n) {
		if (c->reserved == 0 && h.body_n > 0) {
			if (c->server->incoming + h.body_n > HTTP_MAX_INCOMING) {
				refuse(c, 503);
				return false;
			}
			set_reserved(c, h.body_n);
			expect(c, head_n + h.body_n);
		}
		if (h.expects_continue && !c->continued) {
			c->continued = true;
			bufferevent_write(c->bev, "HTTP/1.1 100 Continue\r\n\r\n", 25);
		}
		return false;
	}
	text = (const char *)evbuffer_pullup(in, (ev_ssize_t)(head_n + h.body_n));
	if (!text || http_parse_head((mk_str){text, head_n}, c->server->o.max_body, &h) != 0) {
		refuse(c, 500);
		return false;
	}
	http_room_move(&c->server->room, c, HTTP_BUSY);
	c->waiting = !answer(c, &h, (mk_str){text + head_n, h.body_n});
	if (c->waiting) {
		return false;
	}
	evbuffer_drain(in, head_n + h.body_n);
	set_reserved(c, 0);
	expect(c, c->server->o.max_header);
	c->continued = false;
	return !c->closing;
}

static void on_read(struct bufferevent *bev, void *ctx)
{
	struct connection *c = ctx;
	struct loop *l = c->server->loop;
	int64_t t0 = loop_enter(l);

	(void)bev;
	if (c->place == HTTP_IDLE) {
		set_fresh(c);
	}
	while (take_request(c)) {
	}
	loop_leave(l, t0);
}

static void on_written(struct bufferevent *bev, void *ctx)
{
	struct connection *c = ctx;

	if (!c->writing || evbuffer_get_length(bufferevent_get_output(bev)) > 0) {
		return; /* libevent also calls when nothing was to be written yet */
	}
	c->writing = false;
	if (c->closing) {
		connection_free(c);
	} else if (evbuffer_get_length(bufferevent_get_input(bev)) == 0) {
		set_idle(c);
	} else {
		set_fresh(c);
	}
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
	(void)bev;
	if (!(what & BEV_EVENT_CONNECTED)) { /* that is a handshake's end */
		connection_free(ctx);        /* the client closed, or an error */
	}
}

static struct bufferevent *bufferevent_of(struct http_server *s, evutil_socket_t fd)
{
	struct bufferevent *bev;
	struct ssl_st *ssl;

	if (!s->o.tls) {
		return bufferevent_socket_new(loop_base(s->loop), fd, BEV_OPT_CLOSE_ON_FREE);
	}
	ssl = tls_serve_session(s->o.tls);
	if (!ssl) {
		return NULL;
	}
	/* Takes 'ssl' in any case. */
	bev = bufferevent_openssl_socket_new(loop_base(s->loop), fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
					     BEV_OPT_CLOSE_ON_FREE);
	if (bev) {
		bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	}
	return bev;
}

/* Out of descriptors: the connection stays in the backlog, and asking for it at once would spin. */
static void on_accept_error(struct evconnlistener *listener, void *ctx)
{
	(void)listener;
	http_room_wait(&((struct http_server *)ctx)->room);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *sa,
		      int n, void *ctx)
{
	struct http_server *s = ctx;
	struct connection *c = mk_calloc(1, sizeof(*c));

	(void)listener;
	if (c) {
		c->bev = bufferevent_of(s, fd);
	}
	if (!c || !c->bev) {
		mk_free(c);
		evutil_closesocket(fd);
		return;
	}
	c->server = s;
	c->born_ms = clock_mono_ms();
	c->is_local = listen_is_local(sa, n);
	c->limit = loop_timer_new(s->loop, time_is_over, c);
	if (!c->limit) {
		bufferevent_free(c->bev);
		mk_free(c);
		return;
	}
	loop_timer_set(c->limit, s->o.request_ms);
	bufferevent_setcb(c->bev, on_read, on_written, on_event, c);
	expect(c, c->server->o.max_header);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	http_room_enter(&s->room, c);
}

static bool has_part(const struct connection *c)
{
	return c->part.more != NULL;
}

static bool has_retry(const struct connection *c)
{
	return c->retry;
}

/* The first one that 'fits'; an answer may do anything to the list. NULL: none. */
static struct connection *find_one(const struct http_server *s,
				   bool (*fits)(const struct connection *c))
{
	const struct list_node *busy = &s->room.places[HTTP_BUSY];

	for (struct list_node *n = busy->next; n != busy; n = n->next) {
		struct connection *c = LIST_ENTRY(n, struct connection, node);

		if (fits(c)) {
			return c;
		}
	}
	return NULL;
}

static void take_turn(void *ctx)
{
	struct http_server *s = ctx;
	struct connection *c = find_one(s, has_part);

	if (c) {
		http_room_move(&s->room, c, HTTP_BUSY); /* the next turn is another one's */
		c->waiting = false;
		while (take_request(c)) {
		}
	}
	if (find_one(s, has_part)) {
		loop_post_now(s->next_turn);
	}
}

/* --- life ------------------------------------------------------------------------------------ */

/* What is 0 gets its default. */
static struct http_server_options with_defaults(const struct http_server_options *o)
{
	return (struct http_server_options){
		.address = o->address,
		.tls = o->tls,
		.max_header = o->max_header ? o->max_header : HTTP_MAX_HEADER,
		.max_body = o->max_body ? o->max_body : HTTP_MAX_REQUEST_BODY,
		.max_connections = o->max_connections ? o->max_connections : HTTP_MAX_CONNECTIONS,
		.request_ms = o->request_ms ? o->request_ms : HTTP_REQUEST_MS,
		.idle_ms = o->idle_ms ? o->idle_ms : HTTP_IDLE_MS,
		.lifetime_ms = o->lifetime_ms ? o->lifetime_ms : HTTP_LIFETIME_MS,
		.gate = o->gate,
		.gate_ctx = o->gate_ctx,
	};
}

struct http_server *http_server_open(struct loop *l, const struct http_server_options *o,
				     struct mk_err *err)
{
	struct http_server *s = mk_calloc(1, sizeof(*s));

	if (!s) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	s->loop = l;
	s->o = with_defaults(o);
	s->o.address = (mk_str){NULL, 0}; /* borrowed for this call only */
	s->next_turn = loop_post_new(l, take_turn, s);
	if (!http_room_init(&s->room, l, s->o.max_connections, connection_free) || !s->next_turn) {
		http_server_free(s);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	s->room.listener = listen_open(loop_base(l), o->address, on_accept, s, &s->port, err);
	if (!s->room.listener) {
		http_server_free(s);
		return NULL;
	}
	evconnlistener_set_error_cb(s->room.listener, on_accept_error);
	return s;
}

void http_server_free(struct http_server *s)
{
	if (!s) {
		return;
	}
	http_room_done(&s->room);
	loop_post_free(s->next_turn);
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

void http_server_retry(struct http_server *s)
{
	struct list_node *busy = &s->room.places[HTTP_BUSY];
	struct connection *c;

	for (struct list_node *n = busy->next; n != busy; n = n->next) {
		c = LIST_ENTRY(n, struct connection, node);
		c->retry = c->waiting && !c->part.more;
	}
	for (c = find_one(s, has_retry); c; c = find_one(s, has_retry)) {
		c->retry = false;
		c->waiting = false;
		while (take_request(c)) {
		}
	}
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

unsigned http_server_connections(const struct http_server *s)
{
	return s->room.n;
}

unsigned http_server_busy(const struct http_server *s)
{
	return s->room.n_busy;
}
