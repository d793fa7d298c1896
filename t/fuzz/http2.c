/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what an HTTP/2 server sends, from the bytes to the answers. Five requests are out;
 * the input is pieces: a byte that says how many bytes of frames follow (below 0xf0), or what is
 * done in between. Each stream has one head, then data, then one end.
 */
#include "core/net/http2_session.h"
#include "core/net/inflater.h"
#include "t/fuzz/fuzz.h"

enum { STREAMS = 5, PIECES = 0xf0, BODY = 40000, UNPACKED_MAX = 1 << 20 };

static struct call {
	struct http2_stream s; /* first */
	struct inflater *z;
	size_t unpacked;
	bool head, over;
} calls[STREAMS];

static char body[BODY];
static bool fenced, cancels;

static bool count(void *ctx, mk_str bytes)
{
	struct call *c = ctx;

	c->unpacked += bytes.n;
	return c->unpacked < UNPACKED_MAX;
}

static void give_up(struct call *c)
{
	http2_stream_cancel(&c->s);
	c->over = true;
}

static bool on_head(void *ctx, struct http2_stream *s)
{
	struct call *c = (struct call *)s;

	(void)ctx;
	FUZZ_MUST(!c->head && !c->over && s->head_done && s->session);
	FUZZ_MUST(s->status >= 200 && s->status < 1000 && s->retry_after_ms >= -1);
	FUZZ_MUST(memchr(s->content_type, '\0', sizeof(s->content_type)));
	c->head = true;
	if (s->is_gzip) {
		c->z = inflater_new();
	}
	if (cancels) {
		give_up(c);
	}
	return true;
}

static bool on_data(void *ctx, struct http2_stream *s, mk_str bytes)
{
	struct call *c = (struct call *)s;

	(void)ctx;
	FUZZ_MUST(c->head && !c->over && bytes.n > 0);
	if (c->z && inflater_run(c->z, bytes, count, c) != ERR_OK) {
		give_up(c);
	}
	return true;
}

static bool on_done(void *ctx, struct http2_stream *s)
{
	struct call *c = (struct call *)s;

	(void)ctx;
	FUZZ_MUST(c->head && !c->over && !s->session);
	c->over = true;
	return true;
}

static bool on_fail(void *ctx, struct http2_stream *s, enum http2_end end)
{
	struct call *c = (struct call *)s;

	(void)ctx;
	FUZZ_MUST(!c->over && !s->session);
	FUZZ_MUST(end != HTTP2_END_REFUSED || !c->head);
	FUZZ_MUST(http2_code_name(s->why));
	c->over = true;
	return true;
}

static bool on_goaway(void *ctx)
{
	(void)ctx;
	return true;
}

static void on_room(void *ctx)
{
	(void)ctx;
}

static bool may_give(void *ctx, struct http2_stream *s)
{
	(void)ctx;
	(void)s;
	return !fenced;
}

static const struct http2_handler handler = {
	.on_head = on_head,
	.on_data = on_data,
	.on_done = on_done,
	.on_fail = on_fail,
	.on_goaway = on_goaway,
	.on_room = on_room,
	.may_give = may_give,
};

static bool pull_all(struct http2_session *s)
{
	const uint8_t *p;
	ptrdiff_t n = 1;

	for (int i = 0; i < 1000 && n > 0; i++) {
		n = http2_session_pull(s, &p);
	}
	return n >= 0;
}

static void send_all(struct http2_session *s)
{
	struct http2_request r = {.method = "POST",
				  .authority = STR("api.test"),
				  .path = STR("/x"),
				  .user_agent = "fuzz",
				  .accept = "application/json",
				  .token = "t",
				  .gzip = true};

	for (int i = 0; i < STREAMS; i++) {
		calls[i] = (struct call){.s = {.is_write = i == 1, .body = {body, i ? BODY : 0}}};
		calls[i].over = http2_session_send(s, &calls[i].s, &r) != ERR_OK;
	}
}

/* False: the session has failed. */
static bool act(struct http2_session *s, unsigned what)
{
	switch (what % 8) {
	case 0:
		fenced = true;
		return true;
	case 1:
		cancels = true;
		return true;
	case 2:
		return http2_session_ping(s);
	case 3:
		give_up(&calls[2]);
		return true;
	default:
		return pull_all(s);
	}
}

int fuzz_one(const uint8_t *data, size_t size)
{
	struct http2_session *s = http2_session_new(&handler, NULL, 65536);
	bool alive = s != NULL;

	fenced = cancels = false;
	if (alive) {
		send_all(s);
		alive = pull_all(s);
	}
	for (size_t at = 0; alive && at < size;) {
		size_t n = data[at++];

		if (n >= PIECES) {
			alive = act(s, (unsigned)n);
			continue;
		}
		n = n < size - at ? n : size - at;
		alive = http2_session_feed(s, data + at, n) && pull_all(s);
		at += n;
	}
	FUZZ_MUST(!s || http2_session_streams(s) <= STREAMS);
	http2_session_free(s);
	for (int i = 0; i < STREAMS; i++) {
		inflater_free(calls[i].z);
		calls[i].z = NULL;
	}
	return 0;
}
