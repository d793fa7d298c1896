/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing PEM; see tls_creds.h. */
#include "core/net/tls_creds.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "core/base/alloc.h"
#include "core/net/tls.h"

static BIO *bio_of(mk_str s)
{
	return s.n <= INT_MAX ? BIO_new_mem_buf(str_chars(s), (int)s.n) : NULL;
}

static X509 *next_cert(BIO *bio)
{
	return PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL);
}

/* False: 'ca' has no certificate, or there is no memory. */
static bool read_roots(struct tls_creds *c, mk_str ca)
{
	BIO *bio = bio_of(ca);
	X509 *x = bio ? next_cert(bio) : NULL;
	bool well = x != NULL;

	c->roots = X509_STORE_new();
	while (x) {
		well = well && c->roots && X509_STORE_add_cert(c->roots, x) == 1;
		X509_free(x);
		x = next_cert(bio);
	}
	BIO_free(bio);
	return well;
}

static bool read_chain(struct tls_creds *c, mk_str cert)
{
	BIO *bio = bio_of(cert);

	c->chain = sk_X509_new_null();
	if (bio && c->chain) {
		c->cert = next_cert(bio);
		for (X509 *x = next_cert(bio); x; x = next_cert(bio)) {
			if (sk_X509_push(c->chain, x) <= 0) {
				X509_free(x);
				break;
			}
		}
	}
	BIO_free(bio);
	return c->cert != NULL;
}

static bool read_key(struct tls_creds *c, mk_str key)
{
	BIO *bio = bio_of(key);

	if (bio) {
		c->key = PEM_read_bio_PrivateKey(bio, NULL, tls_no_passphrase, NULL);
	}
	BIO_free(bio);
	return c->key != NULL;
}

static enum mk_code read_all(struct tls_creds *c, mk_str ca, mk_str cert, mk_str key,
			     struct mk_err *err)
{
	if (ca.n > 0 && !read_roots(c, ca)) {
		return err_set(err, ERR_INVALID,
			       "unable to load root certificates: unable to parse bytes as PEM "
			       "block");
	}
	if (cert.n == 0 && key.n == 0) {
		return ERR_OK;
	}
	if (!read_chain(c, cert)) {
		return err_set(err, ERR_INVALID,
			       "tls: failed to find any PEM data in certificate input");
	}
	if (!read_key(c, key)) {
		return err_set(err, ERR_INVALID, "tls: failed to find any PEM data in key input");
	}
	return X509_check_private_key(c->cert, c->key) == 1
		       ? ERR_OK
		       : err_set(err, ERR_INVALID, "tls: private key does not match public key");
}

struct tls_creds *tls_creds_new(mk_str ca, mk_str cert, mk_str key, struct mk_err *err)
{
	struct tls_creds *c = mk_calloc(1, sizeof(*c));

	if (!c) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	if (read_all(c, ca, cert, key, err) != ERR_OK) {
		tls_creds_free(c);
		c = NULL;
	}
	ERR_clear_error(); /* the readers end with "no more certificates" */
	return c;
}

void tls_creds_free(struct tls_creds *c)
{
	if (c) {
		X509_STORE_free(c->roots);
		X509_free(c->cert);
		sk_X509_pop_free(c->chain, X509_free);
		EVP_PKEY_free(c->key);
		mk_free(c);
	}
}
