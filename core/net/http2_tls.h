/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of the HTTP/2 transport: one context for all connections (it costs 16 KiB). No I/O.
 */
#ifndef MK_NET_HTTP2_TLS_H
#define MK_NET_HTTP2_TLS_H

#include <openssl/ssl.h>

#include "core/base/err.h"
#include "core/net/tls_creds.h"

/*
 * What connections have in common; 'tls13': nothing older than TLS 1.3. To be freed with
 * SSL_CTX_free. NULL: out of memory.
 */
SSL_CTX *http2_tls_new(bool tls13);

/*
 * The client's end of a connection to 'name' (a DNS name or an IP address), which the server's
 * certificate must be valid for. ERR_DENIED, ERR_NO_MEMORY: NULL then.
 */
SSL *http2_tls_client(SSL_CTX *ctx, const struct tls_creds *c, const char *name,
		      enum mk_code *ret_code);

/*
 * Why a handshake, or a connection after it, failed, for the error on top of OpenSSL's queue, in
 * the words of Go's client; empties the queue. ERR_DENIED: a certificate was refused, by us or by
 * the server; ERR_UNAVAILABLE else, and 'text' is empty when there is nothing to say.
 */
enum mk_code http2_tls_verdict(const SSL *ssl, char text[static 256]);

#endif
