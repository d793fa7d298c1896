/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of one HTTP/2 connection as bytes in, bytes out: frames, header blocks, streams
 * and flow control over nghttp2. It knows no socket, no TLS and no clock.
 *
 * Life: http2_session_new -> http2_session_send for each request; http2_session_feed with what came
 * in, http2_session_pull for what is to go out -> free. A struct http2_stream is embedded in the
 * caller's object. All of a session's callbacks come from feed and pull; in them every function may
 * be called but feed, pull and free.
 */
#ifndef MK_NET_HTTP2_SESSION_H
#define MK_NET_HTTP2_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/str.h"

struct http2_session;

enum {
	HTTP2_MAX_HEAD = 64 * 1024, /* bytes of an answer's header fields */
	HTTP2_TYPE_SIZE = 128,      /* of content_type; the rest is cut */
};

/* How a stream ended that the server did not answer as a whole. */
enum http2_end {
	HTTP2_END_REFUSED, /* the server says that it did nothing: REFUSED_STREAM, or a GOAWAY that
			      leaves it out */
	HTTP2_END_RESET,   /* by the server, with 'why' */
	HTTP2_END_HEAD,    /* the answer's header is larger than HTTP2_MAX_HEAD */
	HTTP2_END_BODY,    /* may_give said no */
};

/* One request and its answer. */
struct http2_stream {
	struct http2_session *session; /* NULL: not sent, or over */
	int32_t id;
	uint32_t why; /* the code of the server's reset, as in RFC 9113 */
	/* set by the caller, kept until the end */
	mk_str body;
	size_t given; /* of the body */
	bool is_write;
	/* the answer */
	bool head_done, is_gzip, too_big, cut, refused;
	int status;
	int64_t retry_after_ms; /* -1 without */
	size_t head_size;
	char content_type[HTTP2_TYPE_SIZE];
};

/* Each returns false when the session is not to go on: feed or pull then fails at once. */
struct http2_handler {
	/* The answer's header is complete (an interim one does not count). */
	bool (*on_head)(void *ctx, struct http2_stream *s);
	bool (*on_data)(void *ctx, struct http2_stream *s, mk_str bytes);
	/* The answer is complete; the stream is over. */
	bool (*on_done)(void *ctx, struct http2_stream *s);
	/* There will be none; the stream is over. */
	bool (*on_fail)(void *ctx, struct http2_stream *s, enum http2_end end);
	/*
	 * The server ends the connection: no new stream may begin. Those that it leaves out fail by
	 * themselves, the others go on.
	 */
	bool (*on_goaway)(void *ctx);
	/* One stream less, or the server allows more: http2_session_room may have grown. */
	void (*on_room)(void *ctx);
	/* Asked before bytes of a write's body are given away. */
	bool (*may_give)(void *ctx, struct http2_stream *s);
};

struct http2_request {
	const char *method;
	mk_str authority;
	mk_str base_path, path; /* sent one after the other */
	const char *user_agent, *accept;
	const char *content_type; /* or NULL */
	const char *as;           /* Impersonate-User, or NULL */
	const char *token;        /* or NULL */
	bool gzip;
};

/*
 * 'window': bytes of a stream that the server may send before they were handed on. NULL: out of
 * memory.
 */
struct http2_session *http2_session_new(const struct http2_handler *h, void *ctx, uint32_t window);
void http2_session_free(struct http2_session *s); /* NULL is fine; no callbacks */

/*
 * Takes bytes from the server. False: the connection is of no use any more (a breach of the
 * protocol, no memory, or a callback said so).
 */
bool http2_session_feed(struct http2_session *s, const uint8_t *p, size_t n);
/*
 * The next bytes for the server, borrowed until the next call; 0: none for now; -1: as feed's
 * false.
 */
ptrdiff_t http2_session_pull(struct http2_session *s, const uint8_t **ret);
/* Is there something to pull? */
bool http2_session_has_output(const struct http2_session *s);
/* The server broke the rules of HTTP/2 and has our GOAWAY: nothing is read or written any more. */
bool http2_session_is_over(const struct http2_session *s);

/* How many more streams the server allows now. */
size_t http2_session_room(const struct http2_session *s);
/* Streams that are open. */
size_t http2_session_streams(const struct http2_session *s);
/* Did the last failure come from a lack of memory? */
bool http2_session_starved(const struct http2_session *s);
/* Did it come from more frames of a kind than a client has to put up with? */
bool http2_session_flooded(const struct http2_session *s);
/* What had no content of that which was fed last. Static. */
const char *http2_session_barren(const struct http2_session *s);

/* Sends a request on stream 'x', whose body is set; strings are copied. ERR_NO_MEMORY,
 * ERR_UNAVAILABLE (no streams are left, or the server ends the connection). */
enum mk_code http2_session_send(struct http2_session *s, struct http2_stream *x,
				const struct http2_request *r);
/* Gives the stream up: no callback will come. Fine when it is over. */
void http2_stream_cancel(struct http2_stream *x);
/* Asks the server for a sign of life. False: out of memory. */
bool http2_session_ping(struct http2_session *s);

/* Name of an error code as RFC 9113 has it. Static. */
const char *http2_code_name(uint32_t why);

#endif
