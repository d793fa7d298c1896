/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates made in memory; see pki.h. */
#include "t/kubesim/pki.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

enum { VALID_DAYS = 365, SERIAL_BYTES = 16, CLOCK_SLACK_S = 3600 };

static bool add_extension(X509 *cert, const X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	bool ok;

	X509V3_set_ctx(&ctx, (X509 *)(uintptr_t)issuer, cert, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = e != NULL && X509_add_ext(cert, e, -1) == 1;
	X509_EXTENSION_free(e);
	return ok;
}

static bool add_extensions(X509 *cert, const X509 *issuer, enum pki_use use)
{
	if (use == PKI_CA) {
		return add_extension(cert, issuer, NID_basic_constraints, "critical,CA:TRUE") &&
		       add_extension(cert, issuer, NID_key_usage, "critical,keyCertSign,cRLSign") &&
		       add_extension(cert, issuer, NID_subject_key_identifier, "hash");
	}
	return add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(cert, issuer, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(cert, issuer, NID_authority_key_identifier, "keyid:always") &&
	       add_extension(cert, issuer, NID_ext_key_usage,
			     use == PKI_SERVER ? "serverAuth" : "clientAuth") &&
	       (use != PKI_SERVER || add_extension(cert, issuer, NID_subject_alt_name,
						   "IP:127.0.0.1,IP:::1,DNS:localhost"));
}

static bool add_name(X509_NAME *name, const char *field, const char *value)
{
	return !value || X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
						    (const unsigned char *)value, -1, -1, 0) == 1;
}

static bool set_serial(X509 *cert)
{
	unsigned char bytes[SERIAL_BYTES];
	BIGNUM *n;
	bool ok;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1) {
		return false;
	}
	bytes[0] &= 0x7f;
	n = BN_bin2bn(bytes, sizeof(bytes), NULL);
	ok = n != NULL && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert)) != NULL;
	BN_free(n);
	return ok;
}

bool pki_new(struct pki_pair *ret, enum pki_use use, const struct pki_pair *issuer, const char *cn,
	     const char *org)
{
	struct pki_pair p = {.cert = X509_new(), .key = EVP_EC_gen("P-256")};
	X509_NAME *name = X509_NAME_new();
	bool ok = false;

	if (!p.cert || !p.key || !name) {
		goto out;
	}
	issuer = issuer != NULL ? issuer : &p;
	if (!add_name(name, "O", org) || !add_name(name, "CN", cn) ||
	    X509_set_version(p.cert, 2) != 1 || !set_serial(p.cert) ||
	    !X509_gmtime_adj(X509_getm_notBefore(p.cert), -CLOCK_SLACK_S) ||
	    !X509_time_adj_ex(X509_getm_notAfter(p.cert), VALID_DAYS, 0, NULL) ||
	    X509_set_subject_name(p.cert, name) != 1 || X509_set_pubkey(p.cert, p.key) != 1 ||
	    X509_set_issuer_name(p.cert, X509_get_subject_name(issuer->cert)) != 1) {
		goto out;
	}
	ok = add_extensions(p.cert, issuer->cert, use) &&
	     X509_sign(p.cert, issuer->key, EVP_sha256()) > 0;
out:
	X509_NAME_free(name);
	if (ok) {
		*ret = p;
	} else {
		pki_done(&p);
	}
	return ok;
}

void pki_share(struct pki_pair *ret, const struct pki_pair *p)
{
	X509_up_ref(p->cert);
	EVP_PKEY_up_ref(p->key);
	*ret = *p;
}

void pki_done(struct pki_pair *p)
{
	X509_free(p->cert);
	EVP_PKEY_free(p->key);
	*p = (struct pki_pair){NULL, NULL};
}

static mk_str take_text(struct arena *a, BIO *bio, bool written)
{
	mk_str out = {NULL, 0};
	char *data;
	long n = written ? BIO_get_mem_data(bio, &data) : 0;

	if (n > 0) {
		out = arena_dup(a, (mk_str){data, (size_t)n});
	}
	BIO_free(bio);
	return out;
}

mk_str pki_cert_pem(struct arena *a, const struct pki_pair *p)
{
	BIO *bio = BIO_new(BIO_s_mem());

	return take_text(a, bio, bio != NULL && PEM_write_bio_X509(bio, p->cert) == 1);
}

mk_str pki_key_pem(struct arena *a, const struct pki_pair *p)
{
	BIO *bio = BIO_new(BIO_s_mem());

	return take_text(a, bio,
			 bio != NULL && PEM_write_bio_PrivateKey(bio, p->key, NULL, NULL, 0, NULL,
								 NULL) == 1);
}
