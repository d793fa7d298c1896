/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the HTTP server, whole or in pieces; see http_server.h. */
#include "core/net/http_server_priv.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

/* --- bytes ------------------------------------------------------------------------------------ */

static void taken(const void *data, size_t n, void *owned_body)
{
	(void)data;
	(void)n;
	mk_free(owned_body);
}

static void add_body(struct evbuffer *out, struct buf *body)
{
	enum { LONG = 64 * 1024 };

	if (body->n >= LONG && evbuffer_add_reference(out, body->p, body->n, taken, body->p) == 0) {
		buf_init(body, body->cap);
	} else {
		evbuffer_add(out, body->p, body->n);
		buf_clear(body);
	}
}

static void write_head(struct evbuffer *out, const struct http_answer *a, enum http_framing framing,
		       bool keep)
{
	int status = a->body.failed ? 500 : a->status;

	evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", status,
			    http_reason(status), a->content_type);
	if (framing == HTTP_WHOLE) {
		evbuffer_add_printf(out, "Content-Length: %zu\r\n", a->body.failed ? 0 : a->body.n);
	} else if (framing == HTTP_CHUNKED) {
		evbuffer_add_printf(out, "Transfer-Encoding: chunked\r\n");
	}
	evbuffer_add_printf(out,
			    "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
			    "%s%s\r\n",
			    status == 401 ? "WWW-Authenticate: Bearer\r\n" : "",
			    keep ? "" : "Connection: close\r\n");
}

/* Empties the body: the memory of a long one goes to 'out'. An empty one is no piece. */
static void write_piece(struct evbuffer *out, struct buf *body, enum http_framing framing)
{
	if (body->failed || body->n == 0) {
		return;
	}
	if (framing == HTTP_CHUNKED) {
		evbuffer_add_printf(out, "%zx\r\n", body->n);
	}
	add_body(out, body);
	if (framing == HTTP_CHUNKED) {
		evbuffer_add(out, "\r\n", 2);
	}
}

static void write_end(struct evbuffer *out, enum http_framing framing)
{
	if (framing == HTTP_CHUNKED) {
		evbuffer_add(out, "0\r\n\r\n", 5);
	}
}

/* --- answers ---------------------------------------------------------------------------------- */

/* More of an answer is in the output: the client has its time to take it. */
static void set_writing(struct connection *c)
{
	if (!c->writing) { /* further requests do not extend the time to read the answers */
		loop_timer_set(c->limit, HTTP_WRITE_MS);
	}
	c->writing = true;
}

static void set_closing(struct connection *c)
{
	c->closing = true;
	bufferevent_disable(c->bev, EV_READ);
}

static void write_answer(struct connection *c, struct http_answer *a, bool with_body, bool keep)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);

	write_head(out, a, HTTP_WHOLE, keep);
	if (with_body) {
		write_piece(out, &a->body, HTTP_WHOLE);
	}
	set_writing(c);
	if (!keep) {
		set_closing(c);
	}
}

void http_refuse(struct connection *c, int status)
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

static bool is_head(const struct http_head *h)
{
	return str_is(h->method, "HEAD");
}

/* Does the connection live on after an answer that begins now? */
static bool keeps(const struct connection *c, const struct http_head *h)
{
	const struct http_server *s = c->server;

	/* Paused: at the limit of connections, the next client in the backlog gets this place. */
	return h->keep_alive && !s->room.paused &&
	       evbuffer_get_length(bufferevent_get_output(c->bev)) < HTTP_MAX_PENDING &&
	       clock_mono_ms() - c->born_ms < s->o.lifetime_ms;
}

void http_answer_drop(struct connection *c)
{
	if (c->part.more) {
		c->part.more_free(c->part.more_ctx);
		c->part.more = NULL;
		buf_done(&c->part.body);
	}
}

/* What is there of an answer that takes several turns goes to the client, after its head. */
static void write_part(struct connection *c, const struct http_head *h)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);

	if (c->framing == HTTP_WHOLE) {
		c->last = !h->has_chunks || !keeps(c, h);
		c->framing = h->has_chunks ? HTTP_CHUNKED : HTTP_UNTIL_CLOSE;
		write_head(out, &c->part, c->framing, !c->last);
	}
	if (!is_head(h)) {
		write_piece(out, &c->part.body, c->framing);
	}
	set_writing(c);
}

/* One turn for the answer that was begun. True: it is at its end. */
static bool go_on(struct connection *c, const struct http_head *h)
{
	struct http_answer *a = &c->part;
	bool is_end = a->more(a->more_ctx, a);

	if (c->framing == HTTP_WHOLE && (is_end || a->body.failed)) {
		write_answer(c, a, !is_head(h), keeps(c, h));
		http_answer_drop(c);
		return true;
	}
	if (a->body.failed) { /* without its end the client knows that it is not whole */
		http_answer_drop(c);
		set_closing(c);
		loop_timer_set(c->limit, 0);
		return true;
	}
	if (a->body.n > 0 || is_end) {
		write_part(c, h);
	}
	if (!is_end && !(is_head(h) && c->framing != HTTP_WHOLE)) {
		loop_post_now(c->server->next_turn);
		return false;
	}
	if (!is_head(h)) {
		write_end(bufferevent_get_output(c->bev), c->framing);
	}
	http_answer_drop(c);
	if (c->last) {
		set_closing(c);
	}
	return true;
}

bool http_answer_request(struct connection *c, const struct http_head *h, mk_str body)
{
	const struct http_server *s = c->server;
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
	enum http_verdict verdict;

	if (!rq.method) {
		http_refuse(c, 405);
		return true;
	}
	if (c->part.more) {
		return go_on(c, h);
	}
	buf_init(&a.body, HTTP_MAX_ANSWER);
	verdict = handle(s, &rq, &a);
	if (a.more) {
		c->part = a;
		c->framing = HTTP_WHOLE;
		loop_post_now(s->next_turn);
		return false;
	}
	if (verdict != HTTP_WAIT) {
		write_answer(c, &a, !is_head(h), keeps(c, h));
	}
	buf_done(&a.body);
	return verdict != HTTP_WAIT;
}
