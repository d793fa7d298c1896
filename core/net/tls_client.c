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

struct tls_trust {
	X509_STORE *store;
};

/* Every certificate of the text is trusted, one that another authority has signed as well. */
static int add_all(X509_STORE *store, BIO *bio)
{
	int n = 0;

	for (; n <= AUTHORITIES_MAX; n++) {
		X509 *x = PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL);
		bool added = x && X509_STORE_add_cert(store, x) == 1;

		X509_free(x);
		if (!added) {
			break;
		}
	}
	return n;
}

struct tls_trust *tls_trust_new(mk_str cas, struct mk_err *err)
{
	struct tls_trust *t = mk_calloc(1, sizeof(*t));
	BIO *bio = cas.n <= INT_MAX ? BIO_new_mem_buf(cas.n > 0 ? cas.p : "", (int)cas.n) : NULL;
	int n = 0;

	if (t) {
		t->store = X509_STORE_new();
	}
	if (!t || !t->store || !bio) {
		BIO_free(bio);
		tls_trust_free(t);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	X509_STORE_set_flags(t->store, X509_V_FLAG_PARTIAL_CHAIN);
	n = add_all(t->store, bio);
	BIO_free(bio);
	ERR_clear_error();
	if (n == 0 || n > AUTHORITIES_MAX) {
		tls_trust_free(t);
		err_set(err, ERR_INVALID, "expected 1 to %d certificates in PEM, found %s",
			AUTHORITIES_MAX, n == 0 ? "none" : "more");
		return NULL;
	}
	return t;
}

void tls_trust_free(struct tls_trust *t)
{
	if (t) {
		X509_STORE_free(t->store);
		mk_free(t);
	}
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

static enum mk_code verify(const struct tls_trust *t, X509 *cert, STACK_OF(X509) * chain,
			   int64_t wall_ms, struct mk_err *err)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	long why;
	bool good;

	if (!ctx || X509_STORE_CTX_init(ctx, t->store, cert, chain) != 1) {
		X509_STORE_CTX_free(ctx);
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_CLIENT);
	X509_STORE_CTX_set_time(ctx, 0, (time_t)(wall_ms / 1000));
	good = X509_verify_cert(ctx) == 1;
	why = X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	if (good) {
		return ERR_OK;
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
