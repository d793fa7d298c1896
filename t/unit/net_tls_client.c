/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of clients: which count, whose they are, and what the handshake takes. */
#include "t/lib/tap.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "core/base/clock.h"
#include "core/net/tls_client.h"
#include "core/net/tls_issue.h"
#include "core/net/tls_serve.h"

enum { HOUR_MS = 3600 * 1000, SERIAL = 7 };

static struct arena arena;
static struct tls_pair ca_of[2];

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

/* A certificate with these common names ("a,b") for 'use', by an authority or by itself. */
struct wanted {
	const char *names;
	const char *use;
	const struct tls_pair *ca; /* NULL: shows none */
	int64_t from_ms, to_ms;    /* beside now */
	int name_n;                /* bytes of a single name that has a NUL; else 0 */
};

static void add_names(X509_NAME *subject, const struct wanted *w)
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

static X509 *issue(const struct wanted *w, EVP_PKEY *key)
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

static SSL *client_of(SSL_CTX *ctx, const struct wanted *w)
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

/* The name that 'trust' finds after a handshake, or "" and the reason in 'err'. */
static const char *name_by(struct tls_serve *t, const struct tls_trust *trust,
			   const struct wanted *w, struct mk_err *err)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *client = client_of(ctx, w), *server = tls_serve_session(t);
	BIO *one, *two;
	mk_str name = STR("");
	int shaken = 0;

	BIO_new_bio_pair(&one, 0, &two, 0);
	SSL_set_bio(client, one, one);
	SSL_set_bio(server, two, two);
	SSL_set_connect_state(client);
	SSL_set_accept_state(server);
	for (int i = 0; i < 20; i++) {
		SSL_do_handshake(client);
		shaken = SSL_do_handshake(server);
	}
	ok(shaken == 1, "the handshake takes any certificate, or none");
	ERR_clear_error();
	err->code = ERR_OK;
	err->msg[0] = '\0';
	if (tls_client_name(trust, server, clock_wall_ms(), &arena, &name, err) != ERR_OK) {
		name = STR("");
	}
	SSL_free(client);
	SSL_free(server);
	SSL_CTX_free(ctx);
	return name.p;
}

static void test_names(struct tls_serve *t, const struct tls_trust *trust)
{
	static const char nul[] = "front\0proxy";
	const struct {
		struct wanted w;
		const char *name, *why;
	} rows[] = {
		{{"front-proxy", "clientAuth", &ca_of[0], -HOUR_MS, HOUR_MS, 0}, "front-proxy", ""},
		{{"f\xc3\xbc", "clientAuth", &ca_of[0], -HOUR_MS, HOUR_MS, 0}, "f\xc3\xbc", ""},
		{{"front-proxy", "clientAuth", &ca_of[1], -HOUR_MS, HOUR_MS, 0},
		 "",
		 "the client certificate does not count: x509: certificate signed by unknown "
		 "authority"},
		{{"front-proxy", "serverAuth", &ca_of[0], -HOUR_MS, HOUR_MS, 0},
		 "",
		 "the client certificate does not count: x509: certificate specifies an "
		 "incompatible key usage"},
		{{"front-proxy", "clientAuth", &ca_of[0], -HOUR_MS, -60000, 0},
		 "",
		 "the client certificate does not count: x509: certificate has expired or is not "
		 "yet valid"},
		{{"front-proxy", "clientAuth", &ca_of[0], 60000, HOUR_MS, 0},
		 "",
		 "the client certificate does not count: x509: certificate has expired or is not "
		 "yet valid"},
		{{"front-proxy,admin", "clientAuth", &ca_of[0], -HOUR_MS, HOUR_MS, 0},
		 "",
		 "expected a client certificate with one common name, found several"},
		{{"", "clientAuth", &ca_of[0], -HOUR_MS, HOUR_MS, 0},
		 "",
		 "expected a client certificate with one common name, found none"},
		{{nul, "clientAuth", &ca_of[0], -HOUR_MS, HOUR_MS, sizeof(nul) - 1},
		 "",
		 "the common name of the client certificate cannot be used"},
		{{"", "", NULL, 0, 0, 0}, "", "the client has shown no certificate"},
	};
	struct mk_err err;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_str(name_by(t, trust, &rows[i].w, &err), rows[i].name, "the name");
		is_str(err.msg, rows[i].why, "... or why there is none");
	}
}

static void test_trust(struct tls_serve *t)
{
	const struct wanted w = {"client", "clientAuth", &ca_of[1], -HOUR_MS, HOUR_MS, 0};
	mk_str both = arena_printf(&arena, "%s%s", ca_of[0].cert.p, ca_of[1].cert.p), many;
	struct tls_trust *trust = tls_trust_new(both, NULL);
	struct mk_err err;

	is_str(name_by(t, trust, &w, &err), "client", "each of several authorities counts");
	tls_trust_free(trust);
	ok(!tls_trust_new(STR(""), &err) && err.code == ERR_INVALID, "none is refused");
	is_str(err.msg, "expected 1 to 64 certificates in PEM, found none", "... in words");
	ok(!tls_trust_new(STR("rubbish"), &err) && err.code == ERR_INVALID, "so is rubbish");
	many = both;
	for (int i = 0; i < 6; i++) {
		many = arena_printf(&arena, "%s%s", many.p, many.p);
	}
	ok(!tls_trust_new(many, &err) && err.code == ERR_INVALID, "and 128 of them");
	tls_trust_free(NULL);
	is_int(tls_client_name(NULL, NULL, 0, &arena, &both, &err), ERR_DENIED, "no TLS, no name");
}

int main(void)
{
	const mk_str names[] = {STR("localhost")};
	struct tls_serve *t = tls_serve_new(&(struct tls_serve_options){.asks_client = true}, NULL);
	struct tls_trust *trust;
	struct tls_pair leaf;

	arena_init(&arena, 0);
	for (size_t i = 0; i < 2; i++) {
		tls_issue_ca(&arena, i ? "b" : "a", clock_wall_ms(), INT64_C(24) * HOUR_MS,
			     &ca_of[i], NULL);
	}
	tls_issue_server(&arena, &ca_of[0], names, 1, clock_wall_ms(), HOUR_MS, &leaf, NULL);
	is_int(tls_serve_set(t, leaf.cert, leaf.key, NULL), ERR_OK, "a server that asks");
	trust = tls_trust_new(ca_of[0].cert, NULL);
	ok(trust != NULL, "an authority is trusted");
	test_names(t, trust);
	test_trust(t);
	tls_trust_free(trust);
	tls_serve_free(t);
	arena_done(&arena);
	return done_testing();
}
