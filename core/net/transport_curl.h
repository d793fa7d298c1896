/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct transport over libcurl: two pools of connections per cluster (requests; watches), with
 * HTTP/2 or, where the server offers nothing newer, HTTP/1.1, on the event loop. Everything that
 * came in is collected first and handed to the sink afterwards from the loop, in slices of a few
 * milliseconds, so that the sink may call any function of the transport from its callbacks.
 *
 * Life: transport_curl_new -> transport_curl_get for those who send -> transport_curl_set_sink ->
 * ... -> free.
 *
 * Texts of ends are bare ("dial tcp 10.0.0.1:6443: connect: connection refused"): the caller knows
 * what it asked for. Beyond the codes named in transport.h, an end may carry ERR_TOO_BIG (answer
 * over 64 MiB for compressed lists, 8 MiB else) and ERR_NO_MEMORY.
 */
#ifndef MK_NET_TRANSPORT_CURL_H
#define MK_NET_TRANSPORT_CURL_H

#include "core/net/transport_options.h"

struct transport_curl;

/* NULL: out of memory, or libcurl is too old or lacks HTTP/2 (text in err). */
struct transport_curl *transport_curl_new(const struct transport_options *o, struct mk_err *err);
/* Closes everything without callbacks. NULL is fine. */
void transport_curl_free(struct transport_curl *t);

/* The functions for core/kube. Borrowed. */
const struct transport *transport_curl_get(struct transport_curl *t);

/* Who gets the callbacks; borrowed. Must be set before the first send. */
void transport_curl_set_sink(struct transport_curl *t, const struct transport_sink *sink);

/* Called from the loop before callbacks are made and again after the last of a slice: to set the
 * time, and to run what they caused. */
void transport_curl_set_hooks(struct transport_curl *t, void (*before)(void *ctx),
			      void (*after)(void *ctx), void *ctx);

/* Is there such a cluster? */
bool transport_curl_is_open(const struct transport_curl *t, uint32_t cluster);

/* Counters since the start. */
void transport_curl_get_stats(const struct transport_curl *t, struct transport_stats *ret);

#endif
