/* SPDX-License-Identifier: Apache-2.0 */
/* Direct uses of OpenSSL in core/net; see tls.h. */
#include "core/net/tls.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

int tls_no_passphrase(char *out, int size, int for_writing, void *ctx)
{
	(void)out;
	(void)size;
	(void)for_writing;
	(void)ctx;
	return 0;
}

static BIO *bio_of(mk_str s)
{
	return s.n <= INT_MAX ? BIO_new_mem_buf(s.p, (int)s.n) : NULL;
}

static X509 *first_cert(mk_str pem)
{
	BIO *bio = bio_of(pem);
	X509 *x = bio ? PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL) : NULL;

	BIO_free(bio);
	return x;
}

static EVP_PKEY *first_key(mk_str pem)
{
	BIO *bio = bio_of(pem);
	EVP_PKEY *k = bio ? PEM_read_bio_PrivateKey(bio, NULL, tls_no_passphrase, NULL) : NULL;

	BIO_free(bio);
	return k;
}

static enum mk_code check_pair(mk_str cert, mk_str key, struct mk_err *err)
{
	enum mk_code code = ERR_OK;
	X509 *x = first_cert(cert);
	EVP_PKEY *k = first_key(key);

	if (!x) {
		code = err_set(err, ERR_INVALID,
			       "tls: failed to find any PEM data in certificate input");
	} else if (!k) {
		code = err_set(err, ERR_INVALID, "tls: failed to find any PEM data in key input");
	} else if (X509_check_private_key(x, k) != 1) {
		code = err_set(err, ERR_INVALID, "tls: private key does not match public key");
	}
	X509_free(x);
	EVP_PKEY_free(k);
	return code;
}

enum mk_code tls_check_pem(mk_str ca, mk_str cert, mk_str key, struct mk_err *err)
{
	enum mk_code code = ERR_OK;

	if (ca.n > 0) {
		X509 *x = first_cert(ca);

		if (!x) {
			code = err_set(err, ERR_INVALID,
				       "unable to load root certificates: unable to parse bytes as "
				       "PEM block");
		}
		X509_free(x);
	}
	if (code == ERR_OK && (cert.n > 0 || key.n > 0)) {
		code = check_pair(cert, key, err);
	}
	ERR_clear_error();
	return code;
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
