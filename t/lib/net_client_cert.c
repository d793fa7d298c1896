/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of clients and handshakes over a pair of buffers; see net_client_cert.h. */
#include "t/lib/net_client_cert.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <time.h>

enum { SERIAL = 7, TURNS = 20 };

static EVP_PKEY *key_of(mk_str pem)
{
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	EVP_PKEY *k = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

	BIO_free(bio);
	return k;
}

static X509 *cert_of(mk_str pem)
{
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	BIO_free(bio);
	return x;
}

static void add_names(X509_NAME *subject, const struct client_cert *w)
{
	mk_str rest = str_of(w->names), one;

	if (w->name_n > 0) {
		X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
					   (const unsigned char *)w->names, w->name_n, -1, 0);
		return;
	}
	while (str_split(&rest, ',', &one)) {
		X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
					   (const unsigned char *)one.p, (int)one.n, -1, 0);
	}
}

static X509 *issue(const struct client_cert *w, EVP_PKEY *key)
{
	X509 *x = X509_new(), *issuer = cert_of(w->ca->cert);
	EVP_PKEY *signer = key_of(w->ca->key);
	X509_NAME *subject = X509_NAME_new();
	time_t now = time(NULL);
	X509_EXTENSION *use = X509V3_EXT_conf_nid(NULL, NULL, NID_ext_key_usage, w->use);

	add_names(subject, w);
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), SERIAL);
	X509_set_subject_name(x, subject);
	X509_set_issuer_name(x, X509_get_subject_name(issuer));
	X509_set_pubkey(x, key);
	ASN1_TIME_adj(X509_getm_notBefore(x), now, 0, (long)(w->from_ms / 1000));
	ASN1_TIME_adj(X509_getm_notAfter(x), now, 0, (long)(w->to_ms / 1000));
	X509_add_ext(x, use, -1);
	X509_sign(x, signer, EVP_sha256());
	X509_EXTENSION_free(use);
	X509_NAME_free(subject);
	X509_free(issuer);
	EVP_PKEY_free(signer);
	return x;
}

static SSL *client_of(SSL_CTX *ctx, const struct client_cert *w)
{
	EVP_PKEY *key;
	X509 *cert;

	if (w->ca) {
		key = EVP_EC_gen("P-256");
		cert = issue(w, key);
		SSL_CTX_use_certificate(ctx, cert);
		SSL_CTX_use_PrivateKey(ctx, key);
		X509_free(cert);
		EVP_PKEY_free(key);
	}
	return SSL_new(ctx);
}

void client_session_begin(struct client_session *s, struct tls_serve *t,
			  const struct client_cert *w)
{
	BIO *one, *two;

	s->ctx = SSL_CTX_new(TLS_client_method());
	s->client = client_of(s->ctx, w);
	s->server = tls_serve_session(t);
	s->shaken = false;
	BIO_new_bio_pair(&one, 0, &two, 0);
	SSL_set_bio(s->client, one, one);
	SSL_set_bio(s->server, two, two);
	SSL_set_connect_state(s->client);
	SSL_set_accept_state(s->server);
	for (int i = 0; i < TURNS; i++) {
		SSL_do_handshake(s->client);
		s->shaken = SSL_do_handshake(s->server) == 1;
	}
	ERR_clear_error();
}

void client_session_end(struct client_session *s)
{
	SSL_free(s->client);
	SSL_free(s->server);
	SSL_CTX_free(s->ctx);
}
