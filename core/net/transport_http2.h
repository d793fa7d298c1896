/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct transport over HTTP/2 on nghttp2 and OpenSSL, on the event loop: one connection per
 * cluster, another one for reads that may be large (gzip), and a new one while the server ends the
 * old one. What came in is handed to the sink at once, from the loop; the sink may call any
 * function of the transport from its callbacks. What goes out is collected and written once per
 * turn of the loop.
 *
 * Back-pressure: a connection's socket is read once per turn and for a few milliseconds at most,
 * and nothing is kept but what that one read brought; a server is allowed to be ahead by the
 * window of a stream.
 *
 * Life: transport_http2_new -> transport_http2_get for those who send -> transport_http2_set_sink
 * -> ... -> free. Texts and codes of ends are those of transport_curl.h.
 */
#ifndef MK_NET_TRANSPORT_HTTP2_H
#define MK_NET_TRANSPORT_HTTP2_H

#include "core/net/transport_options.h"

struct transport_http2;

enum {
	HTTP2_IDLE_MS = 60 * 1000, /* a connection without streams is kept as long */
	/* That for lists this part of it: all clusters are listed at a start, then hardly ever. */
	HTTP2_IDLE_LISTS_PART = 6,
	HTTP2_PING_AFTER_MS = 30 * 1000, /* of silence, as Kubernetes' own clients do it */
	HTTP2_PING_WAIT_MS = 15 * 1000,  /* then it is lost */
	HTTP2_NEXT_ADDRESS_MS = 250,     /* until the next address is tried beside the first */
};

/* For clusters whose server speaks HTTP/1.1 only: who takes their requests. */
struct transport_http2_fallback {
	void *ctx;
	/*
	 * Called from the loop for each request of 'cluster' that was not sent, in their order;
	 * ERR_OK: it is taken over, with its token. Else it ends with this code and text.
	 */
	enum mk_code (*take)(void *ctx, uint32_t cluster, const struct transport_request *r,
			     uint64_t token, struct mk_err *err);
};

/* 'f' (copied) may be NULL: such requests end. NULL: out of memory. */
struct transport_http2 *transport_http2_new(const struct transport_options *o,
					    const struct transport_http2_fallback *f,
					    struct mk_err *err);
/* Closes everything without callbacks. NULL is fine. */
void transport_http2_free(struct transport_http2 *t);

/* The functions for core/kube. Borrowed. */
const struct transport *transport_http2_get(struct transport_http2 *t);

/* Who gets the callbacks; borrowed. Must be set before the first send. */
void transport_http2_set_sink(struct transport_http2 *t, const struct transport_sink *sink);

/* Called from the loop before callbacks are made and again after the last: to set the time, and to
 * run what they caused. */
void transport_http2_set_hooks(struct transport_http2 *t, void (*before)(void *ctx),
			       void (*after)(void *ctx), void *ctx);

/* Counters since the start. */
void transport_http2_get_stats(const struct transport_http2 *t, struct transport_stats *ret);

/*
 * Did the server of this open cluster agree on nothing newer than HTTP/1.1, since it was opened or
 * reset?
 */
bool transport_http2_is_http1(const struct transport_http2 *t, uint32_t cluster);

/* How an open cluster is reached; borrowed until it is closed or renewed. False: it is not open. */
bool transport_http2_endpoint(const struct transport_http2 *t, uint32_t cluster,
			      struct endpoint *ret);

#endif
