/* SPDX-License-Identifier: Apache-2.0 */
/* A transport over libcurl against the small server of net_h2server.h on the same loop, and what its sink was told. */
#ifndef MK_T_NET_SINK_H
#define MK_T_NET_SINK_H

#include "t/tap.h"

#include <poll.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/net/transport_curl.h"
#include "t/unit/net_h2server.h"

enum { N = 64, PATIENCE_MS = 20000 };

/* What the sink was told about each token. */
static struct seen {
	int heads, ends, status;
	int64_t retry_after_ms;
	size_t bytes;
	char body[512];
	enum transport_end end;
	enum mk_code code;
	char text[256];
} seen[N];

static struct loop *loop;
static struct h2_server srv;
static struct net_fence fence;
static struct transport_curl *tc;
static const struct transport *tr;
static bool inside; /* a call into the transport is running */
static int nested;  /* callbacks that came during one */
static uint64_t cancel_at_head;
static uint64_t close_at_chunk;

static void on_head(void *ctx, uint64_t token, const struct transport_head *h)
{
	(void)ctx;
	nested += inside;
	seen[token].heads++;
	seen[token].status = h->status;
	seen[token].retry_after_ms = h->retry_after_ms;
	if (token == cancel_at_head) {
		tr->cancel(tr->ctx, 1, token);
	}
}

static void on_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	struct seen *s = &seen[token];
	size_t have = strlen(s->body);
	size_t room = sizeof(s->body) - 1 - have;

	(void)ctx;
	nested += inside;
	s->bytes += bytes.n;
	memcpy(s->body + have, bytes.p, bytes.n < room ? bytes.n : room); /* the rest is zero */
	if (token == close_at_chunk) {
		tr->close(tr->ctx, 1);
	}
}

static void on_end(void *ctx, uint64_t token, enum transport_end end, enum mk_code code,
		   mk_str text)
{
	struct seen *s = &seen[token];

	(void)ctx;
	nested += inside;
	s->ends++;
	s->end = end;
	s->code = code;
	snprintf(s->text, sizeof(s->text), "%.*s", STR_ARG(text));
}

static const struct transport_sink sink = {
	.on_head = on_head, .on_chunk = on_chunk, .on_end = on_end};

static inline void start(void)
{
	struct transport_options o = {.loop = loop, .fence = &fence, .user_agent = "mk/test"};

	memset(seen, 0, sizeof(seen));
	tc = transport_curl_new(&o, NULL);
	transport_curl_set_sink(tc, &sink);
	tr = transport_curl_get(tc);
}

static inline struct endpoint endpoint(void)
{
	return (struct endpoint){
		.host = STR("127.0.0.1"),
		.port = srv.port,
		.ca_pem = str_of(srv.ca_pem),
		.allow_loopback = true,
	};
}

static inline enum mk_code open1(const struct endpoint *e, struct mk_err *err)
{
	return tr->open(tr->ctx, 1, e, err);
}

static inline enum mk_code send1(enum transport_class cls, const char *method, const char *path,
				 const char *body, int64_t timeout_ms, uint64_t token)
{
	struct transport_request r = {
		.method = method,
		.path = str_of(path),
		.content_type = body ? "application/json" : NULL,
		.body = str_of(body),
		.cls = cls,
		.timeout_ms = timeout_ms,
	};
	enum mk_code code;

	inside = true;
	code = tr->send(tr->ctx, 1, &r, token, NULL);
	inside = false;
	return code;
}

/* Turns the loop until *what >= want. */
static inline bool until(const int *what, int want)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	while (*what < want && clock_mono_ms() < end) {
		loop_turn(loop, 50);
	}
	return *what >= want;
}

static inline void turns(int n)
{
	for (int i = 0; i < n; i++) {
		loop_turn(loop, 10);
	}
}

#endif
