/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of the HTTP/2 transport from send() to their end: what was certainly not sent, what
 * became of the rest, and the fence; see http2_impl.h.
 */
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/exchange.h"
#include "core/net/http2_impl.h"

/* --- life ------------------------------------------------------------------------------------ */

static void timed_out(void *ctx);

/* Copies 's' to *at and moves it on; NULL for no string. */
static char *put(char **at, mk_str s)
{
	char *p = *at;

	memcpy(p, str_chars(s), s.n);
	p[s.n] = '\0';
	*at += s.n + 1;
	return p;
}

static void copy_texts(struct http2_transfer *f, const struct transport_request *r)
{
	char *at = f->block;

	snprintf(f->method, sizeof(f->method), "%s", r->method);
	f->accept = put(&at, r->accept ? str_of(r->accept) : STR("application/json"));
	f->content_type = r->content_type ? put(&at, str_of(r->content_type)) : NULL;
	f->as = r->as.n > 0 ? put(&at, r->as) : NULL;
	f->path = (mk_str){put(&at, r->path), r->path.n};
	f->stream.body = (mk_str){put(&at, r->body), r->body.n};
}

static struct http2_transfer *transfer_alloc(struct http2_cluster *c,
					     const struct transport_request *r)
{
	enum { ENDS = 5, ACCEPT = sizeof("application/json") };
	size_t texts = r->path.n + r->body.n + (r->accept ? strlen(r->accept) : ACCEPT) +
		       (r->content_type ? strlen(r->content_type) : 0) + r->as.n + ENDS;
	struct http2_transfer *f = mk_malloc(sizeof(*f) + texts);

	if (!f) {
		return NULL;
	}
	memset(f, 0, sizeof(*f));
	if (!deadline_init(&c->t->deadlines, &f->deadline, timed_out, f)) {
		mk_free(f);
		return NULL;
	}
	copy_texts(f, r);
	return f;
}

static void transfer_free(struct http2_transfer *f)
{
	inflater_free(f->inflater);
	if (f->stream.body.n > 0) { /* it may hold a token */
		explicit_bzero((char *)(uintptr_t)f->stream.body.p, f->stream.body.n);
	}
	mk_free(f);
}

static struct http2_lane_state *lane_of(const struct http2_transfer *f)
{
	return &f->home->lanes[f->gzip && f->cls == TRANSPORT_READ ? HTTP2_LANE_LISTS
								   : HTTP2_LANE_MAIN];
}

enum mk_code http2_transfer_new(struct http2_cluster *c, const struct transport_request *r,
				uint64_t token, struct mk_err *err)
{
	int64_t now_us = clock_mono_us(), timeout_ms = 0;
	struct mk_err why = {.code = ERR_OK};
	enum mk_code code = request_check(r, c->t->o.fence, &timeout_ms, &why);
	struct http2_transfer *f;

	if (code != ERR_OK && code != ERR_FENCED) {
		return err_set(err, code, "%s", why.msg);
	}
	f = transfer_alloc(c, r);
	if (!f) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	f->t = c->t;
	f->home = c;
	f->cluster = c->id;
	f->token = token;
	f->begun_us = now_us;
	f->cls = r->cls;
	f->gzip = r->gzip;
	f->is_plain = r->is_plain;
	f->stream.is_write = r->cls == TRANSPORT_WRITE;
	f->token_generation = 1; /* any: a 401 is looked into */
	f->cap = r->gzip ? (size_t)EXCHANGE_MAX_LIST : (size_t)EXCHANGE_MAX_BODY;
	f->until_ms = timeout_ms > 0 ? now_us / 1000 + timeout_ms : INT64_MAX;
	list_add_tail(&c->requests, &f->in_cluster);
	list_add_tail(&lane_of(f)->queue, &f->in_queue);
	c->t->stats.running++;
	if (code == ERR_FENCED) { /* an end like any other, and ends never come inside send */
		http2_transfer_end_later(f, TRANSPORT_NOT_SENT, ERR_FENCED, REQUEST_FENCED);
		return ERR_OK;
	}
	if (timeout_ms > 0) {
		deadline_set(&c->t->deadlines, &f->deadline, f->until_ms);
	}
	http2_cluster_due(c);
	return ERR_OK;
}

/* Takes it off its connection; what comes for it from now on is not heard. */
static void leave_stream(struct http2_transfer *f)
{
	struct http2_conn *k = f->conn;

	if (!k) {
		return;
	}
	if (f->stream.session) {
		http2_stream_cancel(&f->stream);
		share_pay(&k->cluster->share, http2_window(k->lane)); /* it may be on its way */
		if (k->state == HTTP2_UP) {
			http2_cluster_due(k->cluster);
		}
	}
	k->n_watches -= f->cls == TRANSPORT_WATCH;
	k->used_ms = k->read_ms > k->used_ms ? k->read_ms : k->used_ms;
	f->conn = NULL;
}

void http2_transfer_drop(struct http2_transfer *f)
{
	leave_stream(f);
	list_del(&f->in_queue);
	list_del(&f->in_cluster);
	deadline_done(&f->t->deadlines, &f->deadline);
	f->t->stats.running--;
	f->dropped = true;
	if (!f->busy) {
		transfer_free(f);
	}
}

static void report(const struct http2_transfer *f, enum transport_end end, enum mk_code code)
{
	const struct transport_options *o = &f->t->o;
	struct transport_report r = {
		.cluster = f->cluster,
		.method = f->cls == TRANSPORT_WATCH ? "WATCH" : f->method,
		.status = f->stream.head_done ? f->stream.status : 0,
		.end = end,
		.code = code,
		.dur_us = clock_mono_us() - f->begun_us,
	};

	if (o->report) {
		o->report(o->report_ctx, &r);
	}
}

void http2_transfer_end(struct http2_transfer *f, enum transport_end end, enum mk_code code,
			const char *text)
{
	struct transport_http2 *t = f->t;
	bool busy = f->busy; /* then who made it busy frees it */

	report(f, end, code);
	f->busy = true;
	http2_transfer_drop(f);
	http2_tell(t);
	t->sink->on_end(t->sink->ctx, f->token, end, code, str_of(text));
	if (!busy) {
		transfer_free(f);
	}
}

void http2_transfer_end_later(struct http2_transfer *f, enum transport_end end, enum mk_code code,
			      const char *text)
{
	leave_stream(f);
	deadline_stop(&f->t->deadlines, &f->deadline);
	f->end = end;
	f->code = code;
	f->text = text;
	list_del(&f->in_queue);
	list_add_tail(&f->t->ended, &f->in_queue);
	loop_post_now(f->t->post);
}

static void timed_out(void *ctx)
{
	struct http2_transfer *f = ctx;
	char text[256];

	if (f->conn) {
		http2_transfer_end(f, TRANSPORT_LOST, ERR_TIMEOUT,
				   "context deadline exceeded (no complete answer in time)");
	} else if (f->cls == TRANSPORT_WRITE && net_fence_left_ms(f->t->o.fence) <= 0) {
		http2_transfer_end(f, TRANSPORT_NOT_SENT, ERR_FENCED, REQUEST_FENCED);
	} else {
		http2_dial_timeout_text(f->home, lane_of(f)->conn, text);
		http2_transfer_end(f, TRANSPORT_NOT_SENT, ERR_TIMEOUT, text);
	}
}

void http2_lane_failed(struct http2_cluster *c, enum http2_lane lane, enum mk_code code,
		       const char *text)
{
	struct list_node failing; /* not those that the sink sends meanwhile */

	list_init(&failing);
	while (!list_empty(&c->lanes[lane].queue)) {
		struct list_node *n = c->lanes[lane].queue.next;

		list_del(n);
		list_add_tail(&failing, n);
	}
	while (!list_empty(&failing)) {
		http2_transfer_end(LIST_ENTRY(failing.next, struct http2_transfer, in_queue),
				   TRANSPORT_NOT_SENT, code, text);
	}
}

/* --- sending --------------------------------------------------------------------------------- */

/* False: the connection takes no more. */
static bool send_one(struct http2_conn *k, struct http2_transfer *f)
{
	struct http2_cluster *c = f->home;
	struct http2_request r = {
		.method = f->method,
		.authority = c->authority,
		.base_path = c->base_path,
		.path = f->path,
		.user_agent = f->t->o.user_agent,
		.accept = f->accept,
		.content_type = f->content_type,
		.as = f->as,
		.token = c->peer->token,
		.gzip = f->gzip,
	};
	enum mk_code code;

	if (f->cls == TRANSPORT_WRITE && net_fence_left_ms(f->t->o.fence) <= 0) {
		http2_transfer_end(f, TRANSPORT_NOT_SENT, ERR_FENCED, REQUEST_FENCED);
		return true;
	}
	code = http2_session_send(k->session, &f->stream, &r);
	if (code == ERR_UNAVAILABLE) { /* it has used up its numbers */
		http2_conn_drain(k);
		http2_cluster_due(c);
		return false;
	}
	if (code != ERR_OK) {
		http2_transfer_end(f, TRANSPORT_NOT_SENT, code, "out of memory");
		return true;
	}
	share_pay(&c->share, SHARE_REQUEST);
	f->conn = k;
	f->tries++;
	f->total = 0;
	if (f->token_generation != 0) {
		f->token_generation = c->peer->token_generation;
	}
	k->n_watches += f->cls == TRANSPORT_WATCH;
	list_del(&f->in_queue);
	list_add_tail(&k->streams, &f->in_queue);
	return true;
}

/* Streams begin where none was: silence counts from 'now' on. */
static void awake(struct http2_conn *k, int64_t now)
{
	k->awake_ms = now;
	deadline_set(&k->t->deadlines, &k->timer, now + k->ping_after_ms);
}

void http2_transfers_send(struct http2_conn *k)
{
	enum { MOST = 256 }; /* in a turn */
	struct http2_cluster *c = k->cluster;
	struct list_node *queue = &c->lanes[k->lane].queue;
	size_t streams;

	if (list_empty(queue)) {
		return;
	}
	k->used_ms = clock_mono_ms();
	if (http2_session_streams(k->session) == 0) {
		awake(k, k->used_ms);
	}
	peer_refresh_token(c->peer, k->used_ms, false);
	for (int i = 0; i < MOST && !list_empty(queue) && http2_session_room(k->session) > 0; i++) {
		if (!send_one(k, LIST_ENTRY(queue->next, struct http2_transfer, in_queue)) ||
		    k->state != HTTP2_UP) {
			return;
		}
	}
	/* Watches end after minutes: requests do not wait for that, another connection has room. */
	streams = http2_session_streams(k->session);
	if (!list_empty(queue) && http2_session_room(k->session) == 0 && k->n_watches > 0 &&
	    k->n_watches * 2 >= streams) {
		http2_conn_drain(k);
	}
	if (!list_empty(queue) && (k->draining || http2_session_room(k->session) > 0)) {
		http2_cluster_due(c);
	}
}

/* --- what the session tells ------------------------------------------------------------------ */

/* To be sent once more, without a word to the sink. */
static void send_again(struct http2_transfer *f)
{
	leave_stream(f);
	list_del(&f->in_queue);
	list_add_tail(&lane_of(f)->queue, &f->in_queue);
	http2_cluster_due(f->home);
}

/* 401, and the token on disk is a new one, or another came meanwhile. */
static bool has_new_token(struct http2_transfer *f)
{
	struct peer *p = f->home->peer;

	if (f->stream.status != 401 || f->token_generation == 0) {
		return false;
	}
	peer_refresh_token(p, clock_mono_ms(), true);
	if (!p->token || p->token_generation == f->token_generation) {
		return false;
	}
	f->token_generation = 0; /* once is enough */
	return true;
}

/* After a callback of the sink: true when the request is there still. */
static bool still_there(struct http2_transfer *f)
{
	f->busy = false;
	if (f->dropped) {
		transfer_free(f);
		return false;
	}
	return true;
}

static bool on_head(void *ctx, struct http2_stream *s)
{
	struct http2_conn *k = ctx;
	struct http2_transfer *f = (struct http2_transfer *)s;
	struct transport_http2 *t = k->t;
	struct transport_head head = {
		.status = s->status,
		.content_type = str_of(s->content_type),
		.retry_after_ms = s->retry_after_ms,
	};

	k->answered = true;
	if (has_new_token(f)) {
		send_again(f);
		return true;
	}
	if (f->gzip && s->is_gzip) {
		f->inflater = inflater_new();
		if (!f->inflater) {
			http2_transfer_end(f, TRANSPORT_LOST, ERR_NO_MEMORY, "out of memory");
			return k->state == HTTP2_UP;
		}
	}
	f->busy = true;
	http2_tell(t);
	t->sink->on_head(t->sink->ctx, f->token, &head);
	still_there(f);
	return k->state == HTTP2_UP;
}

static void too_big(struct http2_transfer *f)
{
	char text[REQUEST_TOO_BIG_SIZE];

	request_too_big_words(!f->stream.head_done,
			      f->stream.head_done ? f->cap : (size_t)HTTP2_MAX_HEAD, text);
	http2_transfer_end(f, TRANSPORT_LOST, ERR_TOO_BIG, text);
}

/* Hands bytes of a body on; false: no more, the request is over. */
static bool hand_on(void *ctx, mk_str bytes)
{
	struct http2_transfer *f = ctx;
	struct transport_http2 *t = f->t;

	f->total += bytes.n;
	t->stats.bytes_in += bytes.n;
	if (f->cls != TRANSPORT_WATCH && f->total > f->cap) {
		too_big(f);
		return false;
	}
	http2_tell(t);
	t->sink->on_chunk(t->sink->ctx, f->token, bytes);
	return !f->dropped;
}

static bool on_data(void *ctx, struct http2_stream *s, mk_str bytes)
{
	struct http2_conn *k = ctx;
	struct http2_transfer *f = (struct http2_transfer *)s;
	enum mk_code code = ERR_OK;

	k->body_n += bytes.n;
	f->busy = true;
	if (f->is_plain) {
		http2_conn_spare(k, bytes);
	}
	if (f->inflater) {
		code = inflater_run(f->inflater, bytes, hand_on, f);
	} else {
		hand_on(f, bytes);
	}
	if (still_there(f) && code != ERR_OK) {
		http2_transfer_end(f, TRANSPORT_LOST,
				   code == ERR_NO_MEMORY ? code : ERR_UNAVAILABLE,
				   code == ERR_NO_MEMORY ? "out of memory" : "gzip: invalid data");
	}
	return k->state == HTTP2_UP;
}

static bool on_done(void *ctx, struct http2_stream *s)
{
	struct http2_conn *k = ctx;
	struct http2_transfer *f = (struct http2_transfer *)s;

	if (f->inflater && f->total > 0 && !inflater_is_done(f->inflater)) {
		http2_transfer_end(f, TRANSPORT_LOST, ERR_UNAVAILABLE, "unexpected EOF");
	} else {
		http2_transfer_end(f, TRANSPORT_OK, ERR_OK, "");
	}
	return k->state == HTTP2_UP;
}

static bool on_fail(void *ctx, struct http2_stream *s, enum http2_end end)
{
	struct http2_conn *k = ctx;
	struct http2_transfer *f = (struct http2_transfer *)s;
	char text[128];

	switch (end) {
	case HTTP2_END_REFUSED:
		if (f->tries < HTTP2_MAX_TRIES) {
			send_again(f);
		} else {
			http2_transfer_end(f, TRANSPORT_NOT_SENT, ERR_UNAVAILABLE,
					   "http2: the server refused the stream");
		}
		break;
	case HTTP2_END_BODY:
		http2_transfer_end(f, TRANSPORT_NOT_SENT, ERR_FENCED, REQUEST_FENCED);
		break;
	case HTTP2_END_HEAD:
		too_big(f);
		break;
	case HTTP2_END_RESET:
		snprintf(text, sizeof(text), "stream error: stream ID %d; %s; received from peer",
			 (int)s->id, http2_code_name(s->why));
		http2_transfer_end(f, TRANSPORT_LOST, ERR_UNAVAILABLE, text);
		break;
	}
	return k->state == HTTP2_UP;
}

static bool on_goaway(void *ctx)
{
	struct http2_conn *k = ctx;

	http2_conn_drain(k);
	http2_cluster_due(k->cluster);
	return true;
}

static void on_room(void *ctx)
{
	struct http2_conn *k = ctx;

	if (k->draining || !list_empty(&k->cluster->lanes[k->lane].queue)) {
		http2_cluster_due(k->cluster);
	}
	if (http2_session_streams(k->session) == 0) {
		http2_conn_rest(k);
	}
}

static bool may_give(void *ctx, struct http2_stream *s)
{
	struct http2_conn *k = ctx;

	(void)s;
	return net_fence_left_ms(k->t->o.fence) > 0;
}

/* --- the connection's time, by its streams --------------------------------------------------- */

void http2_conn_rest(struct http2_conn *k)
{
	if (k->state == HTTP2_UP) {
		deadline_set(&k->t->deadlines, &k->timer,
			     k->used_ms + http2_idle_ms(k->t, k->lane));
	}
}

const struct http2_handler http2_transfer_handler = {
	.on_head = on_head,
	.on_data = on_data,
	.on_done = on_done,
	.on_fail = on_fail,
	.on_goaway = on_goaway,
	.on_room = on_room,
	.may_give = may_give,
};
