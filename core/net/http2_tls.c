/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, connections and verdicts; see http2_tls.h. */
#include "core/net/http2_tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/net/tls.h"

SSL_CTX *http2_tls_new(bool tls13)
{
	static const unsigned char alpn[] = "\x02h2\x08http/1.1";
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	if (!ctx || SSL_CTX_set_alpn_protos(ctx, alpn, sizeof(alpn) - 1) != 0 ||
	    SSL_CTX_set_min_proto_version(ctx, tls13 ? TLS1_3_VERSION : TLS1_2_VERSION) != 1) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	/* Idle connections keep no buffers; what is written may be moved between two tries. */
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_default_passwd_cb(ctx, tls_no_passphrase);
	/* Without roots of the system only servers with a CA of their own can be reached. */
	SSL_CTX_set_default_verify_paths(ctx);
	ERR_clear_error();
	return ctx;
}

static bool set_name(SSL *ssl, const char *name)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	unsigned char ip[16];
	char plain[256];
	size_t n = strlen(name);

	/* A CA that signed itself is not needed: any certificate that the user trusts will do. */
	X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
	if (inet_pton(AF_INET, name, ip) == 1 || inet_pton(AF_INET6, name, ip) == 1) {
		return X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
	}
	/* The dot at the end of a name that is complete is not part of certificates. */
	snprintf(plain, sizeof(plain), "%s", name);
	if (n > 1 && n < sizeof(plain) && plain[n - 1] == '.') {
		plain[n - 1] = '\0';
	}
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return X509_VERIFY_PARAM_set1_host(param, plain, 0) == 1 &&
	       SSL_set_tlsext_host_name(ssl, plain) == 1;
}

SSL *http2_tls_client(SSL_CTX *ctx, const struct tls_creds *c, const char *name,
		      enum mk_code *ret_code)
{
	SSL *ssl = SSL_new(ctx);

	*ret_code = ERR_NO_MEMORY;
	if (!ssl || !set_name(ssl, name) ||
	    (c->roots && SSL_set1_verify_cert_store(ssl, c->roots) != 1)) {
		SSL_free(ssl);
		return NULL;
	}
	if (c->cert &&
	    (SSL_use_certificate(ssl, c->cert) != 1 || SSL_use_PrivateKey(ssl, c->key) != 1 ||
	     SSL_set1_chain(ssl, c->chain) != 1)) {
		*ret_code = ERR_DENIED;
		SSL_free(ssl);
		ssl = NULL;
	} else {
		SSL_set_connect_state(ssl);
	}
	ERR_clear_error();
	return ssl;
}

/* A TLS alert about our certificate: in TLS 1.3 it comes after the first request was sent, which
 * the server did not read. */
static bool is_certificate_alert(unsigned long e)
{
	int alert = ERR_GET_REASON(e) - SSL_AD_REASON_OFFSET;

	if (ERR_GET_LIB(e) != ERR_LIB_SSL) {
		return false;
	}
	switch (alert) {
	case SSL3_AD_NO_CERTIFICATE:
	case SSL_AD_BAD_CERTIFICATE:
	case SSL_AD_UNSUPPORTED_CERTIFICATE:
	case SSL_AD_CERTIFICATE_REVOKED:
	case SSL_AD_CERTIFICATE_EXPIRED:
	case SSL_AD_CERTIFICATE_UNKNOWN:
	case SSL_AD_UNKNOWN_CA:
	case SSL_AD_CERTIFICATE_REQUIRED:
		return true;
	default:
		return false;
	}
}

enum mk_code http2_tls_verdict(const SSL *ssl, char text[static 256])
{
	long result = SSL_get_verify_result(ssl);
	enum mk_code code = ERR_UNAVAILABLE;

	text[0] = '\0';
	if (is_certificate_alert(ERR_peek_last_error())) {
		snprintf(text, 256, "remote error: tls: bad certificate");
		code = ERR_DENIED;
	} else if (result != X509_V_OK) {
		snprintf(text, 256, "tls: failed to verify certificate: %s",
			 tls_verify_text(result));
		code = ERR_DENIED;
	}
	ERR_clear_error();
	return code;
}
