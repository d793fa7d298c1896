/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call into libcurl goes on reading a connection for as long as that brings frames and no body,
 * which a hostile server can keep up for ever. The guard counts the records of such a call and has
 * the connections cut that brought too much.
 */
#ifndef MK_NET_CURL_GUARD_H
#define MK_NET_CURL_GUARD_H

#include <stddef.h>
#include <stdint.h>

enum { GUARD_MOST = 1024 * 1024 }; /* bytes of a call that no body pays for */

/* Zero is valid: nothing is cut. */
struct guard {
	void (*cut)(void *ctx); /* NULL: no call is under way, or its connections are cut already */
	void *ctx;
	int64_t left;
};

/* The records of all sessions of 'tls' (an SSL_CTX *) count from now on; 'g' must outlive them. */
void guard_listen(struct guard *g, void *tls);

/* Around the call. 'cut' is called from inside of it, at most once. */
void guard_begin(struct guard *g, void (*cut)(void *ctx), void *ctx);
void guard_end(struct guard *g);

/* So many bytes of a body came: they pay for themselves and for as many others. */
void guard_pay(struct guard *g, size_t n);

/* The socket's connection is given up: what it has and gets is thrown away, and reads fail. */
void guard_disconnect(int fd);

#endif
