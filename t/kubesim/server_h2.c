/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 of the simulated API servers, by nghttp2. Flow control is the library's. */
#include <stdlib.h>

#include "core/base/clock.h"
#include "t/kubesim/server_priv.h"

enum { STREAM_WINDOW = 1024 * 1024, CONNECTION_WINDOW = 8 * 1024 * 1024 };

static struct exchange *exchange_of(nghttp2_session *h2, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(h2, stream);
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *f, void *ctx)
{
	struct exchange *ex;

	if (f->hd.type != NGHTTP2_HEADERS || f->headers.cat != NGHTTP2_HCAT_REQUEST) {
		return 0;
	}
	ex = exchange_new(ctx, f->hd.stream_id);
	if (!ex) {
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	nghttp2_session_set_stream_user_data(h2, f->hd.stream_id, ex);
	return 0;
}

static mk_str *header_slot(struct exchange *ex, mk_str name)
{
	const struct {
		const char *name;
		mk_str *slot;
	} known[] = {
		{":method", &ex->method},
		{":path", &ex->target},
		{"accept", &ex->accept},
		{"content-type", &ex->content_type},
		{"authorization", &ex->authorization},
		{"user-agent", &ex->user_agent},
		{"impersonate-user", &ex->as},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (str_is(name, known[i].name)) {
			return known[i].slot;
		}
	}
	return NULL;
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *f, const uint8_t *name,
		     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
	struct exchange *ex = exchange_of(h2, f->hd.stream_id);
	mk_str *slot;

	(void)flags;
	(void)ctx;
	if (!ex) {
		return 0;
	}
	ex->header_bytes += name_n + value_n;
	if (ex->header_bytes > SERVER_MAX_HEADERS) {
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	slot = header_slot(ex, (mk_str){(const char *)name, name_n});
	if (slot != NULL) {
		*slot = arena_dup(&ex->a, (mk_str){(const char *)value, value_n});
	}
	return 0;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t stream, const uint8_t *p, size_t n,
		   void *ctx)
{
	struct exchange *ex = exchange_of(h2, stream);
	bool was = ex != NULL && ex->too_big;

	(void)flags;
	(void)ctx;
	if (ex != NULL && !exchange_body(ex, p, n) && !was) {
		exchange_start(ex); /* 413 at once; the rest of the body is dropped */
	}
	return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *f, void *ctx)
{
	struct exchange *ex;

	(void)ctx;
	if ((f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA) ||
	    (f->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) {
		return 0;
	}
	ex = exchange_of(h2, f->hd.stream_id);
	if (ex != NULL) {
		exchange_start(ex);
	}
	return 0;
}

static int on_close(nghttp2_session *h2, int32_t stream, uint32_t error, void *ctx)
{
	struct exchange *ex = exchange_of(h2, stream);

	(void)error;
	(void)ctx;
	if (ex != NULL) {
		nghttp2_session_set_stream_user_data(h2, stream, NULL);
		exchange_free(ex);
	}
	return 0;
}

bool h2_open(struct conn *c)
{
	nghttp2_settings_entry set[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, SERVER_MAX_STREAMS},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
	};
	nghttp2_session_callbacks *cb;
	int rc;

	if (nghttp2_session_callbacks_new(&cb) != 0) {
		return false;
	}
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
	rc = nghttp2_session_server_new(&c->h2, cb, c);
	nghttp2_session_callbacks_del(cb);
	return rc == 0 && nghttp2_submit_settings(c->h2, 0, set, 2) == 0 &&
	       nghttp2_session_set_local_window_size(c->h2, 0, 0, CONNECTION_WINDOW) == 0;
}

void h2_input(struct conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);

	while (!c->dead) {
		size_t n = evbuffer_get_contiguous_space(in);
		const uint8_t *p;
		ssize_t used;

		if (n == 0) {
			break;
		}
		p = evbuffer_pullup(in, (ev_ssize_t)n);
		used = nghttp2_session_mem_recv(c->h2, p, n);
		if (used < 0) {
			conn_kill(c);
			return;
		}
		evbuffer_drain(in, (size_t)used);
	}
	if (!c->dead) {
		h2_flush(c);
	}
}

void h2_flush(struct conn *c)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);

	while (evbuffer_get_length(out) < SERVER_MAX_OUT) {
		const uint8_t *p;
		ssize_t n = nghttp2_session_mem_send(c->h2, &p);

		if (n < 0 || (n > 0 && evbuffer_add(out, p, (size_t)n) != 0)) {
			conn_kill(c);
			return;
		}
		if (n == 0) {
			break;
		}
	}
	if (nghttp2_session_want_read(c->h2) == 0 && nghttp2_session_want_write(c->h2) == 0) {
		c->close_when_sent = true;
	}
}

static ssize_t on_read(nghttp2_session *h2, int32_t stream, uint8_t *out, size_t max,
		       uint32_t *flags, nghttp2_data_source *src, void *ctx)
{
	struct exchange *ex = src->ptr;
	bool end;
	size_t n = exchange_read(ex, out, max, &end);

	(void)h2;
	(void)stream;
	(void)ctx;
	if (end) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	} else if (n == 0) {
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)n;
}

static nghttp2_nv pair(struct arena *a, const char *name, mk_str value)
{
	mk_str n = arena_dup(a, str_of(name));
	mk_str v = arena_dup(a, value);
	nghttp2_nv nv = {.namelen = n.n, .valuelen = v.n};

	memcpy(&nv.name, &n.p, sizeof(nv.name));
	memcpy(&nv.value, &v.p, sizeof(nv.value));
	return nv;
}

void h2_respond(struct exchange *ex)
{
	nghttp2_data_provider body = {.source = {.ptr = ex}, .read_callback = on_read};
	struct arena *a = &ex->a;
	nghttp2_nv nv[6];
	size_t n = 0;

	nv[n++] = pair(a, ":status", arena_printf(a, "%d", ex->resp.status));
	nv[n++] = pair(a, "content-type", str_of(ex->resp.content_type));
	nv[n++] = pair(a, "cache-control", STR("no-cache, private"));
	nv[n++] = pair(a, "date", policy_date(ex));
	if (ex->flooded) {
		nv[n++] = pair(a, "content-encoding", flood_encoding(ex));
	} else if (ex->resp.watch == 0) {
		nv[n++] = pair(a, "content-length", arena_printf(a, "%zu", ex->resp.body.n));
	}
	if (ex->resp.retry_after_ms >= 0) {
		nv[n++] = pair(a, "retry-after",
			       arena_printf(a, "%lld",
					    (long long)((ex->resp.retry_after_ms + 999) / 1000)));
	}
	if (arena_failed(a) ||
	    nghttp2_submit_response(ex->conn->h2, ex->stream, nv, n, &body) != 0) {
		conn_kill(ex->conn);
	}
}

void h2_reset(struct exchange *ex)
{
	nghttp2_submit_rst_stream(ex->conn->h2, NGHTTP2_FLAG_NONE, ex->stream,
				  NGHTTP2_INTERNAL_ERROR);
}

void h2_goaway(struct conn *c)
{
	nghttp2_submit_goaway(c->h2, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(c->h2), NGHTTP2_NO_ERROR,
			      NULL, 0);
}
