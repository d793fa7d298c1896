/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TLS side of a server of ours (http_server.h): protocol rules, and a certificate that can be
 * replaced while connections stand. Those that exist keep the old one until they end; each new one
 * gets the newest. One thread may replace it while another one makes sessions.
 */
#ifndef MK_NET_TLS_SERVE_H
#define MK_NET_TLS_SERVE_H

#include "core/base/err.h"
#include "core/base/str.h"

struct tls_serve;
struct ssl_st;

/* Borrowed for the call. */
struct tls_serve_options {
	bool tls13;            /* nothing below TLS 1.3; else TLS 1.2, or what openssl.cnf has */
	const mk_str *ciphers; /* by their IANA names; none = the library's choice */
	size_t n_ciphers;
	const int32_t *curves; /* IANA numbers of groups; none = the library's choice */
	size_t n_curves;
	/*
	 * Asks each client for a certificate, and takes any or none: tls_client.h tells whose it
	 * is. Sessions are not resumed then.
	 */
	bool asks_client;
};

/*
 * Has no certificate yet. Ciphers and groups that the library does not have are left out, with a
 * warning in the log; ERR_INVALID when none is left, ERR_NO_MEMORY. Ciphers concern TLS 1.2 alone:
 * with none but TLS 1.3's in the list, clients of TLS 1.2 are refused.
 */
struct tls_serve *tls_serve_new(const struct tls_serve_options *o, struct mk_err *err);
void tls_serve_free(struct tls_serve *t); /* NULL is fine; sessions live on */

/*
 * Uses 'cert' (PEM, the server's own first, then its issuers) with 'key' from now on. ERR_INVALID
 * (no certificate, no key, they do not belong together), ERR_NO_MEMORY: what was in use stays.
 */
enum mk_code tls_serve_set(struct tls_serve *t, mk_str cert, mk_str key, struct mk_err *err);

/* Is there a certificate? */
bool tls_serve_ready(struct tls_serve *t);

/*
 * A session for one accepted connection, the caller's to free (a bufferevent does). NULL: no
 * certificate, no memory.
 */
struct ssl_st *tls_serve_session(struct tls_serve *t);

#endif
