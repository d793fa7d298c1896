/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What core/net asks of OpenSSL directly: are credentials usable, and was HTTP/2 agreed on. No I/O.
 */
#ifndef MK_NET_TLS_H
#define MK_NET_TLS_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/str.h"

/*
 * Are these PEM texts of use? As tls_creds_new, of which nothing is kept.
 */
enum mk_code tls_check_pem(mk_str ca, mk_str cert, mk_str key, struct mk_err *err);

/*
 * For OpenSSL's PEM readers: a key with a passphrase cannot be used by a daemon, which never asks
 * the terminal for one.
 */
int tls_no_passphrase(char *out, int size, int for_writing, void *ctx);

/*
 * Makes and drops a context, as every connection begins. ERR_INVALID, with OpenSSL's words: its
 * configuration (openssl.cnf) leaves nothing to work with, as when it asks for algorithms of a
 * provider that is not there.
 */
enum mk_code tls_usable(struct mk_err *err);

/*
 * May a connection have TLS 1.3 alone? If 'asked', or if openssl.cnf has such a MinProtocol, which
 * a minimum that is set in a program would lower.
 */
bool tls_only_13(bool asked);

/* Sessions of the context (an SSL_CTX *) overwrite what they decrypted once it was read. */
void tls_cleanse(void *ctx);

/* Did the TLS session (an SSL *) agree on HTTP/2 by ALPN? */
bool tls_is_http2(const void *ssl);

/* Words for a failed verification (an X509_V_ERR_ number), as Go says it: "x509: …". Static. */
const char *tls_verify_text(long verify_result);

#endif
