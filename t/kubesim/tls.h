/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of the simulated API servers: 1.2 and 1.3, h2 or http/1.1 by ALPN, client certificates
 * wanted.
 */
#ifndef MK_T_KUBESIM_TLS_H
#define MK_T_KUBESIM_TLS_H

#include <openssl/ssl.h>

#include "t/kubesim/pki.h"

/*
 * A server context with that certificate. A client may come without a certificate; one that no CA
 * of 'ca' signed ends the handshake. NULL when OpenSSL failed; free with SSL_CTX_free.
 */
SSL_CTX *tls_server_new(const struct pki_pair *server, const struct pki_pair *ca);

/*
 * A connection of that context, which clusters may share. While *http1 (borrowed), it does not
 * offer HTTP/2. NULL when out of memory; free with SSL_free.
 */
SSL *tls_accept_new(SSL_CTX *ctx, bool *http1);

/* Did the client ask for HTTP/2? */
bool tls_is_h2(const SSL *ssl);

/* CN and O of the client's verified certificate into the buffers; false when it has none. */
bool tls_peer(const SSL *ssl, char *ret_cn, size_t cn_size, char *ret_org, size_t org_size);

#endif
