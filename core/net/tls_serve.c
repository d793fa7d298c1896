/* SPDX-License-Identifier: Apache-2.0 */
/* Server contexts of OpenSSL, one per certificate; see tls_serve.h. */
#include "core/net/tls_serve.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "core/base/alloc.h"
#include "core/net/tls.h"

enum { LIST_MAX = 4096, CHAIN_MAX = 10 };

struct tls_serve {
	SSL_CTX *ctx; /* NULL without a certificate */
	bool tls13;
	struct buf ciphers, groups; /* as OpenSSL spells lists; empty = its own choice */
};

static const char *group_name(int32_t iana)
{
	switch (iana) {
	case 23:
		return "P-256";
	case 24:
		return "P-384";
	case 25:
		return "P-521";
	case 29:
		return "X25519";
	case 30:
		return "X448";
	default:
		return NULL;
	}
}

static void add_item(struct buf *b, const char *item)
{
	buf_printf(b, "%s%s", b->n > 0 ? ":" : "", item);
}

static enum mk_code take_options(struct tls_serve *t, const struct tls_serve_options *o,
				 struct mk_err *err)
{
	char name[128];

	for (size_t i = 0; i < o->n_ciphers; i++) {
		const char *known;

		snprintf(name, sizeof(name), "%.*s", STR_ARG(o->ciphers[i]));
		known = OPENSSL_cipher_name(name);
		if (!known || strcmp(known, "(NONE)") == 0) {
			return err_set(err, MK_INVALID, "tls", "unknown cipher suite %s", name);
		}
		add_item(&t->ciphers, known);
	}
	for (size_t i = 0; i < o->n_curves; i++) {
		const char *known = group_name(o->curves[i]);

		if (!known) {
			return err_set(err, MK_INVALID, "tls", "unknown curve %d",
				       (int)o->curves[i]);
		}
		add_item(&t->groups, known);
	}
	t->tls13 = o->tls13;
	if (t->ciphers.failed || t->groups.failed) {
		return err_set(err, MK_NO_MEMORY, "tls", "out of memory");
	}
	return MK_OK;
}

struct tls_serve *tls_serve_new(const struct tls_serve_options *o, struct mk_err *err)
{
	struct tls_serve *t = mk_calloc(1, sizeof(*t));

	if (!t) {
		err_set(err, MK_NO_MEMORY, "tls", "out of memory");
		return NULL;
	}
	buf_init(&t->ciphers, LIST_MAX);
	buf_init(&t->groups, LIST_MAX);
	if (take_options(t, o, err) != MK_OK) {
		tls_serve_free(t);
		return NULL;
	}
	return t;
}

void tls_serve_free(struct tls_serve *t)
{
	if (t) {
		SSL_CTX_free(t->ctx);
		buf_done(&t->ciphers);
		buf_done(&t->groups);
		mk_free(t);
	}
}

/* A key with a passphrase cannot be used by a daemon: never ask for one. */
static int no_passphrase(char *out, int size, int for_writing, void *ctx)
{
	(void)out;
	(void)size;
	(void)for_writing;
	(void)ctx;
	return 0;
}

/* Speaks HTTP/1.1 only: whoever offers it by ALPN gets it confirmed, and others need no answer. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_n,
			   const unsigned char *in, unsigned in_n, void *ctx)
{
	static const unsigned char ours[] = "\x08http/1.1";
	unsigned char *chosen = NULL;

	(void)ssl;
	(void)ctx;
	if (SSL_select_next_proto(&chosen, out_n, ours, sizeof(ours) - 1, in, in_n) !=
	    OPENSSL_NPN_NEGOTIATED) {
		return SSL_TLSEXT_ERR_NOACK;
	}
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static bool apply_rules(const struct tls_serve *t, SSL_CTX *ctx)
{
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
	return SSL_CTX_set_min_proto_version(ctx, t->tls13 ? TLS1_3_VERSION : TLS1_2_VERSION) ==
		       1 &&
	       (t->ciphers.n == 0 || SSL_CTX_set_cipher_list(ctx, t->ciphers.p) == 1) &&
	       (t->groups.n == 0 || SSL_CTX_set1_groups_list(ctx, t->groups.p) == 1);
}

static bool use_chain(SSL_CTX *ctx, BIO *bio)
{
	X509 *x = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
	bool done = x && SSL_CTX_use_certificate(ctx, x) == 1;

	X509_free(x);
	for (int i = 0; done && i < CHAIN_MAX; i++) {
		x = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
		if (!x) {
			break;
		}
		if (SSL_CTX_add0_chain_cert(ctx, x) != 1) {
			X509_free(x);
			done = false;
		}
	}
	return done;
}

static bool use_key(SSL_CTX *ctx, BIO *bio)
{
	EVP_PKEY *k = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	bool done = k && SSL_CTX_use_PrivateKey(ctx, k) == 1 && SSL_CTX_check_private_key(ctx) == 1;

	EVP_PKEY_free(k);
	return done;
}

enum mk_code tls_serve_set(struct tls_serve *t, mk_str cert, mk_str key, struct mk_err *err)
{
	enum mk_code code = cert.n > 0 && key.n > 0
				    ? tls_check_pem((mk_str){NULL, 0}, cert, key, err)
				    : err_set(err, MK_INVALID, "tls", "no certificate, or no key");
	SSL_CTX *ctx = NULL;
	BIO *cert_bio = NULL;
	BIO *key_bio = NULL;
	bool done;

	if (code != MK_OK) {
		return code;
	}
	cert_bio = cert.n <= INT_MAX ? BIO_new_mem_buf(cert.p, (int)cert.n) : NULL;
	key_bio = key.n <= INT_MAX ? BIO_new_mem_buf(key.p, (int)key.n) : NULL;
	ctx = SSL_CTX_new(TLS_server_method());
	done = cert_bio && key_bio && ctx && apply_rules(t, ctx) && use_chain(ctx, cert_bio) &&
	       use_key(ctx, key_bio);
	BIO_free(cert_bio);
	BIO_free(key_bio);
	ERR_clear_error();
	if (!done) {
		SSL_CTX_free(ctx);
		return err_set(err, MK_INVALID, "tls",
			       "the certificate, its chain or the TLS options cannot be used");
	}
	SSL_CTX_free(t->ctx);
	t->ctx = ctx;
	return MK_OK;
}

bool tls_serve_ready(const struct tls_serve *t)
{
	return t->ctx != NULL;
}

struct ssl_st *tls_serve_session(struct tls_serve *t)
{
	return t->ctx ? SSL_new(t->ctx) : NULL;
}
