/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates made in memory for simulated API servers: a CA per cluster, server and client pairs.
 */
#ifndef MK_T_KUBESIM_PKI_H
#define MK_T_KUBESIM_PKI_H

#include <stdbool.h>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "core/base/arena.h"

struct pki_pair {
	X509 *cert;
	EVP_PKEY *key;
};

enum pki_use { PKI_CA, PKI_SERVER, PKI_CLIENT };

/*
 * Makes a P-256 key and a certificate for it, valid for a year: subject CN 'cn' and O 'org' (NULL =
 * none), signed by 'issuer' (NULL = by itself). A server's names are 127.0.0.1, ::1 and localhost.
 * False: OpenSSL failed, *ret is untouched. End with pki_done.
 */
bool pki_new(struct pki_pair *ret, enum pki_use use, const struct pki_pair *issuer, const char *cn,
	     const char *org);
/* One more reference to the same certificate and key. */
void pki_share(struct pki_pair *ret, const struct pki_pair *p);
void pki_done(struct pki_pair *p);

/* PEM text in 'a'; {NULL, 0} on failure. */
mk_str pki_cert_pem(struct arena *a, const struct pki_pair *p);
mk_str pki_key_pem(struct arena *a, const struct pki_pair *p);

#endif
