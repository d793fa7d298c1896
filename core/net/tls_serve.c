/* SPDX-License-Identifier: Apache-2.0 */
/* Server contexts of OpenSSL, one per certificate; see tls_serve.h. */
#include "core/net/tls_serve.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/net/tls.h"

enum { LIST_MAX = 4096, CHAIN_MAX = 10 };

struct tls_serve {
	pthread_mutex_t lock; /* of 'ctx' */
	SSL_CTX *ctx;         /* NULL without a certificate */
	bool tls13, asks_client;
	struct buf ciphers, groups; /* as OpenSSL spells lists; empty = its own choice */
};

/*
 * The names that OpenSSL gives the groups which the configuration may have; it need not know all of
 * them itself.
 */
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
	case 4587:
		return "SecP256r1MLKEM768";
	case 4588:
		return "X25519MLKEM768";
	case 4589:
		return "SecP384r1MLKEM1024";
	default:
		return NULL;
	}
}

/* OpenSSL's name of a suite, or NULL. Go also has two by the names of their drafts. */
static const char *cipher_name(const char *iana)
{
	static const char *const drafts[][2] = {
		{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"},
		{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"},
	};
	const char *known = OPENSSL_cipher_name(iana);

	for (size_t i = 0; i < sizeof(drafts) / sizeof(drafts[0]); i++) {
		if (strcmp(iana, drafts[i][0]) == 0) {
			return drafts[i][1];
		}
	}
	return known && strcmp(known, "(NONE)") != 0 ? known : NULL;
}

static void add_item(struct buf *b, const char *item)
{
	buf_printf(b, "%s%s", b->n > 0 ? ":" : "", item);
}

/*
 * As with Go's library, the list is of TLS 1.2 only: the suites of TLS 1.3 are always on, and
 * naming them has no effect. A configuration that names no other leaves none for clients of TLS
 * 1.2, which are refused.
 */
static enum mk_code take_ciphers(struct tls_serve *t, const struct tls_serve_options *o,
				 SSL_CTX *probe, struct mk_err *err)
{
	bool has_13 = false;
	char name[128];

	for (size_t i = 0; i < o->n_ciphers; i++) {
		const char *known;

		snprintf(name, sizeof(name), "%.*s", STR_ARG(o->ciphers[i]));
		known = cipher_name(name);
		if (known && !strstr(name, "_WITH_")) {
			has_13 = true;
		} else if (known && SSL_CTX_set_cipher_list(probe, known) == 1) {
			add_item(&t->ciphers, known);
		} else {
			log_write(LOG_WARN, "tls",
				  "cipher suite is unknown to this TLS library; it is left out",
				  LOG_CSTR("cipher", name), LOG_END);
		}
	}
	if (o->n_ciphers > 0 && t->ciphers.n == 0 && !has_13) {
		return err_set(err, ERR_INVALID,
			       "none of the cipher suites is known to this TLS library");
	}
	t->tls13 = tls_only_13(o->tls13 || (o->n_ciphers > 0 && t->ciphers.n == 0));
	return ERR_OK;
}

static enum mk_code take_curves(struct tls_serve *t, const struct tls_serve_options *o,
				SSL_CTX *probe, struct mk_err *err)
{
	for (size_t i = 0; i < o->n_curves; i++) {
		const char *known = group_name(o->curves[i]);
		char copy[32]; /* the macro behind it casts const away */

		snprintf(copy, sizeof(copy), "%s", known ? known : "");
		if (known && SSL_CTX_set1_groups_list(probe, copy) == 1) {
			add_item(&t->groups, known);
		} else {
			log_write(LOG_WARN, "tls",
				  "curve is unknown to this TLS library; it is left out",
				  LOG_INT("curve", o->curves[i]), LOG_END);
		}
	}
	if (o->n_curves > 0 && t->groups.n == 0) {
		return err_set(err, ERR_INVALID, "none of the curves is known to this TLS library");
	}
	return ERR_OK;
}

static enum mk_code take_options(struct tls_serve *t, const struct tls_serve_options *o,
				 struct mk_err *err)
{
	SSL_CTX *probe = SSL_CTX_new(TLS_server_method());
	enum mk_code code = ERR_OK;

	if (probe) {
		code = take_ciphers(t, o, probe, err);
		code = code == ERR_OK ? take_curves(t, o, probe, err) : code;
	}
	SSL_CTX_free(probe);
	ERR_clear_error();
	if (!probe || t->ciphers.failed || t->groups.failed) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	return code;
}

struct tls_serve *tls_serve_new(const struct tls_serve_options *o, struct mk_err *err)
{
	struct tls_serve *t = mk_calloc(1, sizeof(*t));

	if (!t) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	t->asks_client = o->asks_client;
	pthread_mutex_init(&t->lock, NULL);
	buf_init(&t->ciphers, LIST_MAX);
	buf_init(&t->groups, LIST_MAX);
	if (take_options(t, o, err) != ERR_OK) {
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
		pthread_mutex_destroy(&t->lock);
		mk_free(t);
	}
}

/*
 * The server speaks HTTP/1.1 only: it confirms that to clients that offer it by ALPN; others need
 * no answer.
 */
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

/* Whose certificate it is, and whether that says anything, is found out for each request. */
static int take_any(X509_STORE_CTX *store, void *ctx)
{
	(void)ctx;
	X509_STORE_CTX_set_error(store, X509_V_OK);
	return 1;
}

/* A resumed session would have the certificate without its chain. */
static void ask_client(SSL_CTX *ctx)
{
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(ctx, take_any, NULL);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
	SSL_CTX_set_num_tickets(ctx, 0);
}

static bool apply_rules(const struct tls_serve *t, SSL_CTX *ctx)
{
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
	if (t->asks_client) {
		ask_client(ctx);
	}
	return SSL_CTX_set_min_proto_version(ctx, t->tls13 ? TLS1_3_VERSION : TLS1_2_VERSION) ==
		       1 &&
	       (t->ciphers.n == 0 || SSL_CTX_set_cipher_list(ctx, t->ciphers.p) == 1) &&
	       (t->groups.n == 0 || SSL_CTX_set1_groups_list(ctx, t->groups.p) == 1);
}

static bool use_chain(SSL_CTX *ctx, BIO *bio)
{
	X509 *x = PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL);
	bool done = x && SSL_CTX_use_certificate(ctx, x) == 1;

	X509_free(x);
	for (int i = 0; done && i < CHAIN_MAX; i++) {
		x = PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL);
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
	EVP_PKEY *k = PEM_read_bio_PrivateKey(bio, NULL, tls_no_passphrase, NULL);
	bool done = k && SSL_CTX_use_PrivateKey(ctx, k) == 1 && SSL_CTX_check_private_key(ctx) == 1;

	EVP_PKEY_free(k);
	return done;
}

enum mk_code tls_serve_set(struct tls_serve *t, mk_str cert, mk_str key, struct mk_err *err)
{
	enum mk_code code = cert.n > 0 && key.n > 0
				    ? tls_check_pem((mk_str){NULL, 0}, cert, key, err)
				    : err_set(err, ERR_INVALID, "no certificate, or no key");
	SSL_CTX *ctx = NULL;
	SSL_CTX *before;
	BIO *cert_bio = NULL;
	BIO *key_bio = NULL;
	bool done;

	if (code != ERR_OK) {
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
		return err_set(err, ERR_INVALID,
			       "the certificate, its chain or the TLS options cannot be used");
	}
	pthread_mutex_lock(&t->lock);
	before = t->ctx;
	t->ctx = ctx;
	pthread_mutex_unlock(&t->lock);
	SSL_CTX_free(before);
	return ERR_OK;
}

bool tls_serve_ready(struct tls_serve *t)
{
	bool ready;

	pthread_mutex_lock(&t->lock);
	ready = t->ctx != NULL;
	pthread_mutex_unlock(&t->lock);
	return ready;
}

struct ssl_st *tls_serve_session(struct tls_serve *t)
{
	SSL *ssl;

	pthread_mutex_lock(&t->lock);
	ssl = t->ctx ? SSL_new(t->ctx) : NULL;
	pthread_mutex_unlock(&t->lock);
	return ssl;
}
