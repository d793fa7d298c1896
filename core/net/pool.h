/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One set of connections to one API server, which has HTTP/2 or HTTP/1.1 as the server offers: a
 * libcurl multi handle on the event loop. It is made when the first exchange comes and thrown away
 * after a minute without any, or at once with pool_drop, which is the only reliable way to close a
 * dead HTTP/2 connection. Exchanges end in the 'ended' callback, from the loop, inside no other
 * call.
 */
#ifndef MK_NET_POOL_H
#define MK_NET_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/net/exchange.h"
#include "core/net/loop.h"
#include "core/net/resolver.h"
#include "core/net/share.h"

struct pool;

enum {
	POOL_IDLE_MS = 60000,
	POOL_HTTP1_MAX = 16, /* connections for requests, where one carries only one at a time */
};

/*
 * 'r' looks up the server's name: exchanges wait for its first answer; later ones use what is known
 * while it is looked up anew, five minutes after the last time and when a connection could not be
 * made. NULL: libcurl does it. 'few': one connection over HTTP/2, POOL_HTTP1_MAX over HTTP/1.1
 * (requests); else as many as needed (watches: over HTTP/1.1 each has its own). 'ended' may do
 * anything but free the pool or call it: it should only note the result. NULL: out of memory.
 */
struct pool *pool_new(struct loop *l, struct resolver *r, bool few,
		      void (*ended)(void *ctx, struct exchange *x, CURLcode rc), void *ctx);
/*
 * What the connections cost is charged to 'share', whose cluster is not heard while that rests.
 * 'env' is that of the pool's exchanges; 'barren' is called from the loop with bytes that brought
 * nothing: it must only take note. All are borrowed for the pool's life.
 */
void pool_set_share(struct pool *p, struct share *share, struct exchange_env *env,
		    void (*barren)(void *ctx, size_t n), void *ctx);
/* Exchanges still running must have been removed. NULL is fine. */
void pool_free(struct pool *p);

/*
 * Starts 'x'; all exchanges of a pool are with one peer. ERR_NO_MEMORY, ERR_LIMITED (too many names
 * are looked up).
 */
enum mk_code pool_add(struct pool *p, struct exchange *x, struct mk_err *err);
/* Takes 'x' back, running or not; its stream is cancelled. */
void pool_remove(struct pool *p, struct exchange *x);
/* Closes all connections; all exchanges must have been removed. */
void pool_drop(struct pool *p);

#endif
