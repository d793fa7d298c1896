/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose certificate a client of our server has shown: for servers that believe what certain clients
 * say. The handshake takes any certificate (tls_serve.h, asks_client); each request is judged by
 * the authorities that are trusted then, so that a new authority needs no new connection.
 */
#ifndef MK_NET_TLS_CLIENT_H
#define MK_NET_TLS_CLIENT_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"

struct tls_trust;
struct ssl_st;

/* 'cas': PEM, at least one certificate. ERR_INVALID, ERR_NO_MEMORY: NULL. */
struct tls_trust *tls_trust_new(mk_str cas, struct mk_err *err);
void tls_trust_free(struct tls_trust *t); /* NULL is fine */

/*
 * Has the client of 'ssl' shown a certificate for clients that leads to one of 't' and is valid at
 * 'wall_ms'? *ret_name is then its common name, in 'a'. ERR_DENIED: none, or not that, with the
 * reason; also one with several common names, or with none. ERR_NO_MEMORY.
 */
enum mk_code tls_client_name(const struct tls_trust *t, struct ssl_st *ssl, int64_t wall_ms,
			     struct arena *a, mk_str *ret_name, struct mk_err *err);

#endif
