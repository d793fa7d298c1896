/* SPDX-License-Identifier: Apache-2.0 */
/* Frames and streams over nghttp2; see http2_session.h. */
#include "core/net/http2_session.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/net/wipe.h"

enum {
	MOST_STREAMS = 1000, /* of a server that sets no limit */
	CONNECTION_WINDOW = 16 * 1024 * 1024,
	RETRY_AFTER_MAX_S = 3600,
	HEADERS_MAX = 12,
};

struct http2_session {
	nghttp2_session *ng;
	const struct http2_handler *h;
	void *ctx;
	const uint8_t *pulled; /* what nghttp2 gave last, in memory of ours */
	size_t n_pulled;
	size_t n_open;
	bool starved, flooded;
	const char *barren; /* what frames without content came last */
};

/* --- memory: of request heads, which have tokens --------------------------------------------- */

static void *ng_malloc(size_t size, void *ctx)
{
	(void)ctx;
	return mk_malloc(size);
}

static void ng_free(void *p, void *ctx)
{
	(void)ctx;
	wipe_free(p);
}

static void *ng_calloc(size_t n, size_t size, void *ctx)
{
	(void)ctx;
	return mk_calloc(n, size);
}

static void *ng_realloc(void *p, size_t size, void *ctx)
{
	(void)ctx;
	return wipe_realloc(p, size);
}

/* --- what nghttp2 tells us ------------------------------------------------------------------- */

static struct http2_stream *stream_of(nghttp2_session *ng, int32_t id)
{
	return nghttp2_session_get_stream_user_data(ng, id);
}

/* Nothing of the stream refers to the caller's object any more. */
static void let_go(struct http2_stream *x)
{
	nghttp2_session_set_stream_user_data(x->session->ng, x->id, NULL);
	x->session = NULL;
}

static int as_ng(bool go_on)
{
	return go_on ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static void take_header(struct http2_stream *x, mk_str name, mk_str value)
{
	uint64_t n = 0;

	if (str_is(name, ":status") && str_u64(value, &n)) {
		x->status = n < 1000 ? (int)n : 0;
	} else if (str_is(name, "content-type")) {
		snprintf(x->content_type, sizeof(x->content_type), "%.*s", STR_ARG(value));
	} else if (str_is(name, "retry-after") && str_u64(value, &n)) {
		x->retry_after_ms = (int64_t)(n < RETRY_AFTER_MAX_S ? n : RETRY_AFTER_MAX_S) * 1000;
	} else if (str_is(name, "content-encoding")) {
		x->is_gzip = str_is(value, "gzip");
	}
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *f, const uint8_t *name,
		     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
	enum { PER_FIELD = 32 }; /* as RFC 9113 counts the size of a list */
	struct http2_stream *x = stream_of(ng, f->hd.stream_id);

	(void)flags;
	(void)ctx;
	if (!x) {
		return 0;
	}
	x->head_size += name_n + value_n + PER_FIELD;
	if (x->head_size > HTTP2_MAX_HEAD) {
		x->too_big = true;
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* nghttp2 resets the stream */
	}
	if (!x->head_done) { /* else a trailer */
		take_header(x, (mk_str){(const char *)name, name_n},
			    (mk_str){(const char *)value, value_n});
	}
	return 0;
}

/* True: the session may go on. */
static bool head_is_there(struct http2_session *s, struct http2_stream *x)
{
	if (x->head_done) {
		return true;
	}
	if (x->status < 200) { /* an interim answer: the real one follows */
		x->status = 0;
		x->retry_after_ms = -1;
		x->content_type[0] = '\0';
		x->is_gzip = false;
		return true;
	}
	x->head_done = true;
	return s->h->on_head(s->ctx, x);
}

static bool answer_is_whole(struct http2_session *s, struct http2_stream *x)
{
	if (x->given < x->body.n) { /* it answers without having read the request */
		nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, x->id, NGHTTP2_CANCEL);
	}
	let_go(x);
	return s->h->on_done(s->ctx, x);
}

static int on_begin(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *ctx)
{
	static const char *const of[] = {
		[NGHTTP2_DATA] = "empty DATA frames",
		[NGHTTP2_HEADERS] = "HEADERS frames",
		[NGHTTP2_PRIORITY] = "PRIORITY frames",
		[NGHTTP2_RST_STREAM] = "RST_STREAM frames",
		[NGHTTP2_SETTINGS] = "SETTINGS frames",
		[NGHTTP2_PUSH_PROMISE] = "PUSH_PROMISE frames",
		[NGHTTP2_PING] = "PING frames",
		[NGHTTP2_GOAWAY] = "GOAWAY frames",
		[NGHTTP2_WINDOW_UPDATE] = "WINDOW_UPDATE frames",
		[NGHTTP2_CONTINUATION] = "CONTINUATION frames",
	};
	struct http2_session *s = ctx;

	(void)ng;
	if (hd->type < sizeof(of) / sizeof(of[0]) &&
	    (hd->type != NGHTTP2_DATA || hd->length == 0)) {
		s->barren = of[hd->type];
	}
	return 0;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
	struct http2_session *s = ctx;
	struct http2_stream *x;

	if (f->hd.type == NGHTTP2_GOAWAY) {
		return as_ng(s->h->on_goaway(s->ctx));
	}
	if (f->hd.type == NGHTTP2_SETTINGS) {
		s->h->on_room(s->ctx);
		return 0;
	}
	if (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA) {
		return 0;
	}
	x = stream_of(ng, f->hd.stream_id);
	if (x && f->hd.type == NGHTTP2_HEADERS && !head_is_there(s, x)) {
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	x = stream_of(ng, f->hd.stream_id); /* on_head may have cancelled it */
	if (x && x->head_done && f->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		return as_ng(answer_is_whole(s, x));
	}
	return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
		   void *ctx)
{
	struct http2_session *s = ctx;
	struct http2_stream *x = stream_of(ng, id);

	(void)flags;
	return x && n > 0 ? as_ng(s->h->on_data(s->ctx, x, (mk_str){(const char *)p, n})) : 0;
}

/* A request that nghttp2 could not send: the server knows nothing of it. */
static int on_not_sent(nghttp2_session *ng, const nghttp2_frame *f, int why, void *ctx)
{
	(void)why;
	(void)ctx;
	if (f->hd.type == NGHTTP2_HEADERS) {
		struct http2_stream *x = stream_of(ng, f->hd.stream_id);

		if (x) {
			x->refused = true;
		}
	}
	return 0;
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t why, void *ctx)
{
	struct http2_session *s = ctx;
	struct http2_stream *x = stream_of(ng, id);
	bool go_on = true;

	s->n_open -= s->n_open > 0;
	if (x) {
		enum http2_end end =
			x->cut       ? HTTP2_END_BODY
			: x->too_big ? HTTP2_END_HEAD
			: x->refused || (why == NGHTTP2_REFUSED_STREAM && !x->head_done)
				? HTTP2_END_REFUSED
				: HTTP2_END_RESET;

		x->why = why;
		let_go(x);
		go_on = s->h->on_fail(s->ctx, x, end);
	}
	if (go_on) {
		s->h->on_room(s->ctx);
	}
	return as_ng(go_on);
}

/*
 * The body goes after the head, by itself: a process that was stopped in between asks again. A
 * request whose body is not whole is not executed.
 */
static ssize_t give_body(nghttp2_session *ng, int32_t id, uint8_t *to, size_t size, uint32_t *flags,
			 nghttp2_data_source *source, void *ctx)
{
	struct http2_session *s = ctx;
	struct http2_stream *x = stream_of(ng, id);
	size_t n;

	(void)source;
	if (!x) {
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	if (x->is_write && !s->h->may_give(s->ctx, x)) {
		x->cut = true;
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* nghttp2 resets the stream */
	}
	n = x->body.n - x->given < size ? x->body.n - x->given : size;
	memcpy(to, x->body.p + x->given, n);
	x->given += n;
	if (x->given == x->body.n) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	}
	return (ssize_t)n;
}

/* --- life ------------------------------------------------------------------------------------ */

static int make_ng(struct http2_session *s)
{
	nghttp2_mem mem = {NULL, ng_malloc, ng_free, ng_calloc, ng_realloc};
	nghttp2_session_callbacks *cb = NULL;
	nghttp2_option *o = NULL;
	int rc = nghttp2_session_callbacks_new(&cb);

	if (rc != 0) {
		return rc;
	}
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_not_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	rc = nghttp2_option_new(&o);
	if (rc == 0) {
		nghttp2_option_set_no_closed_streams(o, 1);
		rc = nghttp2_session_client_new3(&s->ng, cb, s, o, &mem);
		nghttp2_option_del(o);
	}
	nghttp2_session_callbacks_del(cb);
	return rc;
}

struct http2_session *http2_session_new(const struct http2_handler *h, void *ctx, uint32_t window)
{
	nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP2_MAX_HEAD},
	};
	struct http2_session *s = mk_calloc(1, sizeof(*s));

	if (!s) {
		return NULL;
	}
	s->h = h;
	s->ctx = ctx;
	if (make_ng(s) != 0 ||
	    nghttp2_submit_settings(s->ng, NGHTTP2_FLAG_NONE, settings,
				    sizeof(settings) / sizeof(settings[0])) != 0 ||
	    nghttp2_session_set_local_window_size(s->ng, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW) !=
		    0) {
		http2_session_free(s);
		return NULL;
	}
	return s;
}

void http2_session_free(struct http2_session *s)
{
	if (s) {
		nghttp2_session_del(s->ng);
		mk_free(s);
	}
}

/* --- bytes ----------------------------------------------------------------------------------- */

bool http2_session_feed(struct http2_session *s, const uint8_t *p, size_t n)
{
	ssize_t rc;

	s->barren = "frames that say nothing"; /* unless on_begin knows better */
	rc = nghttp2_session_mem_recv(s->ng, p, n);
	s->starved = rc == NGHTTP2_ERR_NOMEM;
	s->flooded = rc == NGHTTP2_ERR_FLOODED || rc == NGHTTP2_ERR_TOO_MANY_SETTINGS ||
		     rc == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS;
	return rc >= 0;
}

ptrdiff_t http2_session_pull(struct http2_session *s, const uint8_t **ret)
{
	ssize_t n;

	/* nghttp2 keeps the buffer for the next frame; the last one may have been a head. */
	if (s->n_pulled > 0) {
		explicit_bzero((void *)(uintptr_t)s->pulled, s->n_pulled);
	}
	n = nghttp2_session_mem_send(s->ng, ret);
	s->pulled = n > 0 ? *ret : NULL;
	s->n_pulled = n > 0 ? (size_t)n : 0;
	s->starved = n == NGHTTP2_ERR_NOMEM;
	return n < 0 ? -1 : n;
}

bool http2_session_has_output(const struct http2_session *s)
{
	return nghttp2_session_want_write(s->ng) != 0;
}

bool http2_session_is_over(const struct http2_session *s)
{
	return !nghttp2_session_want_read(s->ng) && !nghttp2_session_want_write(s->ng);
}

bool http2_session_starved(const struct http2_session *s)
{
	return s->starved;
}

bool http2_session_flooded(const struct http2_session *s)
{
	return s->flooded;
}

const char *http2_session_barren(const struct http2_session *s)
{
	return s->barren;
}

/* --- requests -------------------------------------------------------------------------------- */

size_t http2_session_streams(const struct http2_session *s)
{
	return s->n_open;
}

size_t http2_session_room(const struct http2_session *s)
{
	size_t most =
		nghttp2_session_get_remote_settings(s->ng, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

	most = most < MOST_STREAMS ? most : MOST_STREAMS;
	if (!nghttp2_session_check_request_allowed(s->ng)) {
		return 0;
	}
	return most > s->n_open ? most - s->n_open : 0;
}

static nghttp2_nv field(const char *name, mk_str value, unsigned flags)
{
	return (nghttp2_nv){
		.name = (uint8_t *)(uintptr_t)name,
		.value = (uint8_t *)(uintptr_t)str_chars(value),
		.namelen = strlen(name),
		.valuelen = value.n,
		.flags = (uint8_t)(flags | NGHTTP2_NV_FLAG_NO_COPY_NAME),
	};
}

/* Two texts, one after the other, to be freed; NULL: out of memory. */
static char *joined(mk_str a, mk_str b)
{
	char *p = mk_malloc(a.n + b.n + 1);

	if (p) {
		memcpy(p, str_chars(a), a.n);
		memcpy(p + a.n, str_chars(b), b.n);
		p[a.n + b.n] = '\0';
	}
	return p;
}

static size_t fill(nghttp2_nv nv[static HEADERS_MAX], const struct http2_stream *x,
		   const struct http2_request *r, const char *path, const char *bearer,
		   const char *length)
{
	size_t n = 0;

	nv[n++] = field(":method", str_of(r->method), 0);
	nv[n++] = field(":scheme", STR("https"), 0);
	nv[n++] = field(":authority", r->authority, 0);
	nv[n++] = field(":path", str_of(path), 0);
	nv[n++] = field("user-agent", str_of(r->user_agent), 0);
	nv[n++] = field("accept", str_of(r->accept), 0);
	if (r->gzip) {
		nv[n++] = field("accept-encoding", STR("gzip"), 0);
	}
	if (r->content_type) {
		nv[n++] = field("content-type", str_of(r->content_type), 0);
	}
	if (r->as) {
		nv[n++] = field("impersonate-user", str_of(r->as), 0);
	}
	if (bearer) { /* never in a table of either side */
		nv[n++] = field("authorization", str_of(bearer), NGHTTP2_NV_FLAG_NO_INDEX);
	}
	if (x->body.n > 0 || strcmp(r->method, "POST") == 0) {
		nv[n++] = field("content-length", str_of(length), 0);
	}
	return n;
}

static enum mk_code code_of(int32_t rc)
{
	return rc >= 0 ? ERR_OK : rc == NGHTTP2_ERR_NOMEM ? ERR_NO_MEMORY : ERR_UNAVAILABLE;
}

static void prepare(struct http2_stream *x)
{
	x->session = NULL;
	x->why = 0;
	x->given = 0;
	x->head_done = x->is_gzip = x->too_big = x->cut = x->refused = false;
	x->status = 0;
	x->retry_after_ms = -1;
	x->head_size = 0;
	x->content_type[0] = '\0';
}

enum mk_code http2_session_send(struct http2_session *s, struct http2_stream *x,
				const struct http2_request *r)
{
	nghttp2_data_provider body = {.read_callback = give_body};
	char *path = joined(r->base_path, r->path);
	char *bearer = r->token ? joined(STR("Bearer "), str_of(r->token)) : NULL;
	int32_t rc = NGHTTP2_ERR_NOMEM;
	nghttp2_nv nv[HEADERS_MAX];
	char length[24];

	prepare(x);
	snprintf(length, sizeof(length), "%zu", x->body.n);
	if (path && (bearer || !r->token)) {
		size_t n = fill(nv, x, r, path, bearer, length);

		rc = nghttp2_submit_request(s->ng, NULL, nv, n, x->body.n > 0 ? &body : NULL, x);
	}
	if (bearer) {
		explicit_bzero(bearer, strlen(bearer));
	}
	mk_free(bearer);
	mk_free(path);
	if (rc > 0) {
		x->session = s;
		x->id = rc;
		s->n_open++;
	}
	return code_of(rc);
}

void http2_stream_cancel(struct http2_stream *x)
{
	struct http2_session *s = x->session;

	if (s) {
		let_go(x);
		/* Without memory the stream stays open until its end, unheard. */
		nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, x->id, NGHTTP2_CANCEL);
	}
}

bool http2_session_ping(struct http2_session *s)
{
	return nghttp2_submit_ping(s->ng, NGHTTP2_FLAG_NONE, NULL) == 0;
}

const char *http2_code_name(uint32_t why)
{
	return nghttp2_http2_strerror(why);
}
