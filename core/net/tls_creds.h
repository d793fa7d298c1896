/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client shows to a server and trusts in, parsed from PEM: the most expensive part of
 * opening a cluster, so it is done once. No I/O. Connections share it by OpenSSL's counts of
 * references.
 */
#ifndef MK_NET_TLS_CREDS_H
#define MK_NET_TLS_CREDS_H

#include <openssl/ssl.h>

#include "core/base/err.h"
#include "core/base/str.h"

struct tls_creds {
	X509_STORE *roots; /* NULL: the system's */
	X509 *cert;        /* NULL, as the key: none is shown */
	STACK_OF(X509) * chain;
	EVP_PKEY *key;
};

/*
 * 'ca' ("" = the system's roots), 'cert' with 'key' (both "" = none). ERR_INVALID with the texts
 * that Go's client gives for the same fault, ERR_NO_MEMORY: NULL then.
 */
struct tls_creds *tls_creds_new(mk_str ca, mk_str cert, mk_str key, struct mk_err *err);
void tls_creds_free(struct tls_creds *c); /* NULL is fine */

#endif
