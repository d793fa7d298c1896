/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's struct transport: HTTP/2 of our own (transport_http2.h) for each cluster whose
 * server speaks it, libcurl (transport_curl.h) for the others, which are those that agreed on
 * nothing newer than HTTP/1.1. Which it is shows in the first handshake; requests that waited for
 * it go over unsent and unnoticed. After open() and reset() HTTP/2 is tried again.
 *
 * Life: transport_net_new -> transport_net_get for those who send -> transport_net_set_sink -> ...
 * -> free.
 */
#ifndef MK_NET_TRANSPORT_NET_H
#define MK_NET_TRANSPORT_NET_H

#include "core/net/transport_options.h"

struct transport_net;

enum transport_choice {
	TRANSPORT_AUTO,
	TRANSPORT_CURL, /* libcurl for all */
};

/* NULL: out of memory, or libcurl is too old or lacks HTTP/2 (text in err). */
struct transport_net *transport_net_new(const struct transport_options *o,
					enum transport_choice choice, struct mk_err *err);
/* Closes everything without callbacks. NULL is fine. */
void transport_net_free(struct transport_net *t);

/* The functions for core/kube. Borrowed. */
const struct transport *transport_net_get(struct transport_net *t);

/* Who gets the callbacks; borrowed. Must be set before the first send. */
void transport_net_set_sink(struct transport_net *t, const struct transport_sink *sink);

/* Called from the loop before callbacks are made and again after the last of a slice: to set the
 * time, and to run what they caused. */
void transport_net_set_hooks(struct transport_net *t, void (*before)(void *ctx),
			     void (*after)(void *ctx), void *ctx);

/* Counters since the start, of both. */
void transport_net_get_stats(const struct transport_net *t, struct transport_stats *ret);

#endif
