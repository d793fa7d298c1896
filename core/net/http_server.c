/* SPDX-License-Identifier: Apache-2.0 */
/* Listener, connections and requests of the HTTP server, on libevent's bufferevents. */
#include "core/net/http_server_priv.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/listen.h"

/* --- connections ----------------------------------------------------------------------------- */

static void set_reserved(struct connection *c, size_t n)
{
	c->server->incoming += n - c->reserved;
	c->reserved = n;
}

static void connection_free(struct connection *c)
{
	struct http_server *s = c->server;

	http_answer_drop(c);
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
			http_refuse(c, 431);
		}
		return false;
	}
	head_n = (size_t)end.pos + 4;
	text = (const char *)evbuffer_pullup(in, (ev_ssize_t)head_n);
	status = text ? http_parse_head((mk_str){text, head_n}, c->server->o.max_body, &h) : 500;
	if (status != 0) {
		http_refuse(c, status);
		return false;
	}
	if (evbuffer_get_length(in) < head_n + h.body_n) {
		if (c->reserved == 0 && h.body_n > 0) {
			if (c->server->incoming + h.body_n > HTTP_MAX_INCOMING) {
				http_refuse(c, 503);
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
		http_refuse(c, 500);
		return false;
	}
	http_room_move(&c->server->room, c, HTTP_BUSY);
	c->waiting = !http_answer_request(c, &h, (mk_str){text + head_n, h.body_n});
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
	if (c->part.more) { /* the client has taken what there was: on */
		c->since_ms = clock_mono_ms();
		loop_timer_set(c->limit, HTTP_WRITE_MS);
		loop_post_now(c->server->next_turn);
	} else if (c->closing) {
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
	return c->part.more && evbuffer_get_length(bufferevent_get_output(c->bev)) < HTTP_MAX_AHEAD;
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
