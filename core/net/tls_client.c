/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of clients, verified by OpenSSL; see tls_client.h. */
#include "core/net/tls_client.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "core/base/alloc.h"
#include "core/net/tls.h"

enum { AUTHORITIES_MAX = 64, NAME_MAX_BYTES = 256 };

/*
 * A store for each authority. In one store for all OpenSSL would take the first with the name of
 * the certificate's issuer; an authority that is being replaced often has the name of its former.
 */
struct tls_trust {
	X509_STORE *stores[AUTHORITIES_MAX];
	size_t n;
};

/* It is trusted, also when another authority has signed it. NULL: out of memory. */
static X509_STORE *store_of(X509 *authority)
{
	X509_STORE *store = X509_STORE_new();

	if (store && X509_STORE_add_cert(store, authority) != 1) {
		X509_STORE_free(store);
		return NULL;
	}
	if (store) {
		X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
	}
	return store;
}

static enum mk_code add_all(struct tls_trust *t, BIO *bio, struct mk_err *err)
{
	X509 *x = PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL);
	bool good = true;

	for (; x && good && t->n < AUTHORITIES_MAX; t->n += good) {
		t->stores[t->n] = store_of(x);
		good = t->stores[t->n] != NULL;
		X509_free(x);
		x = PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL);
	}
	ERR_clear_error();
	if (good && (x || t->n == 0)) {
		err_set(err, ERR_INVALID, "expected 1 to %d certificates in PEM, found %s",
			AUTHORITIES_MAX, x ? "more" : "none");
	} else if (!good) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	good = good && !x && t->n > 0;
	X509_free(x);
	return good ? ERR_OK : ERR_INVALID;
}

struct tls_trust *tls_trust_new(mk_str cas, struct mk_err *err)
{
	struct tls_trust *t = mk_calloc(1, sizeof(*t));
	BIO *bio = cas.n <= INT_MAX ? BIO_new_mem_buf(cas.n > 0 ? cas.p : "", (int)cas.n) : NULL;

	if (!t || !bio) {
		BIO_free(bio);
		tls_trust_free(t);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	if (add_all(t, bio, err) != ERR_OK) {
		tls_trust_free(t);
		t = NULL;
	}
	BIO_free(bio);
	return t;
}

void tls_trust_free(struct tls_trust *t)
{
	for (size_t i = 0; t && i < t->n; i++) {
		X509_STORE_free(t->stores[i]);
	}
	mk_free(t);
}

/* Two names would leave open which of them counts. */
static enum mk_code take_name(X509 *cert, struct arena *a, mk_str *ret, struct mk_err *err)
{
	const X509_NAME *subject = X509_get_subject_name(cert);
	int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
	unsigned char *text = NULL;
	int n;

	if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) {
		return err_set(err, ERR_DENIED,
			       "expected a client certificate with one common name, found %s",
			       at < 0 ? "none" : "several");
	}
	n = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
	if (n <= 0 || n > NAME_MAX_BYTES || memchr(text, 0, (size_t)n)) {
		OPENSSL_free(text);
		return err_set(err, ERR_DENIED,
			       "the common name of the client certificate cannot be used");
	}
	*ret = arena_dup(a, (mk_str){(const char *)text, (size_t)n});
	OPENSSL_free(text);
	return ret->p ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

/* X509_V_OK, what is wrong, or -1: out of memory. */
static long verify_by(X509_STORE *store, X509 *cert, STACK_OF(X509) * chain, int64_t wall_ms)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	long why = -1;

	if (ctx && X509_STORE_CTX_init(ctx, store, cert, chain) == 1) {
		X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_CLIENT);
		X509_STORE_CTX_set_time(ctx, 0, (time_t)(wall_ms / 1000));
		why = X509_verify_cert(ctx) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(ctx);
	}
	X509_STORE_CTX_free(ctx);
	return why;
}

static enum mk_code verify(const struct tls_trust *t, X509 *cert, STACK_OF(X509) * chain,
			   int64_t wall_ms, struct mk_err *err)
{
	const long unknown = X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY;
	long why = unknown;

	for (size_t i = 0; i < t->n; i++) {
		long one = verify_by(t->stores[i], cert, chain, wall_ms);

		if (one == X509_V_OK) {
			return ERR_OK;
		}
		if (one < 0) {
			return err_set(err, ERR_NO_MEMORY, "out of memory");
		}
		why = why == unknown ? one : why;
	}
	return err_set(err, ERR_DENIED, "the client certificate does not count: %s",
		       tls_verify_text(why));
}

enum mk_code tls_client_name(const struct tls_trust *t, struct ssl_st *ssl, int64_t wall_ms,
			     struct arena *a, mk_str *ret_name, struct mk_err *err)
{
	X509 *cert = ssl ? SSL_get1_peer_certificate(ssl) : NULL;
	enum mk_code code;

	if (!cert) {
		return err_set(err, ERR_DENIED, "the client has shown no certificate");
	}
	code = verify(t, cert, SSL_get_peer_cert_chain(ssl), wall_ms, err);
	code = code == ERR_OK ? take_name(cert, a, ret_name, err) : code;
	X509_free(cert);
	ERR_clear_error();
	return code;
}
