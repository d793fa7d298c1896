/* SPDX-License-Identifier: Apache-2.0 */
/* Direct uses of OpenSSL in core/net; see tls.h. */
#include "core/net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "core/net/tls_creds.h"

int tls_no_passphrase(char *out, int size, int for_writing, void *ctx)
{
	(void)out;
	(void)size;
	(void)for_writing;
	(void)ctx;
	return 0;
}

enum mk_code tls_check_pem(mk_str ca, mk_str cert, mk_str key, struct mk_err *err)
{
	struct mk_err why = {.code = ERR_OK};
	struct tls_creds *c = tls_creds_new(ca, cert, key, &why);

	tls_creds_free(c);
	return c ? ERR_OK : err_set(err, why.code, "%s", why.msg);
}

enum mk_code tls_usable(struct mk_err *err)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());
	unsigned long first = ERR_peek_error();
	const char *why = ERR_reason_error_string(first);

	if (!ctx) {
		err_set(err, ERR_INVALID,
			"OpenSSL cannot be used as it is configured (%s): see openssl.cnf or "
			"OPENSSL_CONF, and the provider that it names",
			why ? why : "no reason given");
	}
	ERR_clear_error();
	SSL_CTX_free(ctx);
	return ctx ? ERR_OK : ERR_INVALID;
}

bool tls_only_13(bool asked)
{
	SSL_CTX *ctx = asked ? NULL : SSL_CTX_new(TLS_method());
	bool only = asked || (ctx && SSL_CTX_get_min_proto_version(ctx) == TLS1_3_VERSION);

	SSL_CTX_free(ctx);
	return only;
}

void tls_cleanse(void *ctx)
{
	SSL_CTX_set_options(ctx, SSL_OP_CLEANSE_PLAINTEXT);
}

bool tls_is_http2(const void *ssl)
{
	const unsigned char *name = NULL;
	unsigned int len = 0;

	SSL_get0_alpn_selected(ssl, &name, &len);
	return str_is((mk_str){(const char *)name, len}, "h2");
}

const char *tls_verify_text(long verify_result)
{
	switch (verify_result) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "x509: certificate has expired or is not yet valid";
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "x509: certificate is not valid for the server's name";
	case X509_V_ERR_INVALID_PURPOSE:
		return "x509: certificate specifies an incompatible key usage";
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
		return "x509: certificate signed by unknown authority";
	default:
		return "x509: certificate is not acceptable";
	}
}
