/* SPDX-License-Identifier: Apache-2.0 */
/* An authority with OpenSSL; see tls_issue.h. */
#include "core/net/tls_issue.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "core/net/tls.h"

enum { EARLIER_MS = 3600 * 1000, NAMES_MAX = 2048 };

static BIO *bio_of(mk_str s)
{
	return s.n > 0 && s.n <= INT_MAX ? BIO_new_mem_buf(s.p, (int)s.n) : NULL;
}

static X509 *first_cert(mk_str pem)
{
	BIO *bio = bio_of(pem);
	X509 *x = bio ? PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL) : NULL;

	BIO_free(bio);
	ERR_clear_error();
	return x;
}

static EVP_PKEY *first_key(mk_str pem)
{
	BIO *bio = bio_of(pem);
	EVP_PKEY *k = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)(uintptr_t) "") : NULL;

	BIO_free(bio);
	ERR_clear_error();
	return k;
}

/* What was written to 'bio', in 'a'. */
static mk_str bio_text(struct arena *a, BIO *bio)
{
	char *p = NULL;
	long n = BIO_get_mem_data(bio, &p);

	return n > 0 ? arena_dup(a, (mk_str){p, (size_t)n}) : (mk_str){NULL, 0};
}

static mk_str pem_of(struct arena *a, X509 *x, EVP_PKEY *k)
{
	BIO *bio = BIO_new(BIO_s_mem());
	mk_str out = {NULL, 0};

	if (bio && (x ? PEM_write_bio_X509(bio, x)
		      : PEM_write_bio_PKCS8PrivateKey(bio, k, NULL, NULL, 0, NULL, NULL)) == 1) {
		out = bio_text(a, bio);
	}
	BIO_free(bio);
	return out;
}

static bool set_serial(X509 *x)
{
	unsigned char r[16];
	BIGNUM *n;
	bool done;

	if (RAND_bytes(r, sizeof(r)) != 1) {
		return false;
	}
	r[0] &= 0x7f;
	n = BN_bin2bn(r, sizeof(r), NULL);
	done = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x)) != NULL;
	BN_free(n);
	return done;
}

static bool add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	bool done;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	done = e && X509_add_ext(x, e, -1) == 1;
	X509_EXTENSION_free(e);
	return done;
}

/* A certificate with everything but extensions, issuer and signature. */
static X509 *blank(const char *name, EVP_PKEY *key, int64_t now_ms, int64_t valid_ms)
{
	X509 *x = X509_new();
	time_t from = (time_t)((now_ms - EARLIER_MS) / 1000);
	time_t to = (time_t)((now_ms + valid_ms) / 1000);

	if (x && X509_set_version(x, 2) == 1 && set_serial(x) &&
	    ASN1_TIME_set(X509_getm_notBefore(x), from) &&
	    ASN1_TIME_set(X509_getm_notAfter(x), to) && X509_set_pubkey(x, key) == 1 &&
	    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
				       (const unsigned char *)name, -1, -1, 0) == 1) {
		return x;
	}
	X509_free(x);
	return NULL;
}

static enum mk_code give(struct arena *a, X509 *x, EVP_PKEY *key, bool done, struct tls_pair *ret,
			 struct mk_err *err)
{
	struct tls_pair out = {{NULL, 0}, {NULL, 0}};

	if (done) {
		out = (struct tls_pair){.cert = pem_of(a, x, NULL), .key = pem_of(a, NULL, key)};
	}
	X509_free(x);
	EVP_PKEY_free(key);
	ERR_clear_error();
	if (out.cert.n == 0 || out.key.n == 0) {
		return err_set(err, ERR_NO_MEMORY, "the certificate could not be made");
	}
	*ret = out;
	return ERR_OK;
}

enum mk_code tls_issue_ca(struct arena *a, const char *name, int64_t now_ms, int64_t valid_ms,
			  struct tls_pair *ret, struct mk_err *err)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = key ? blank(name, key, now_ms, valid_ms) : NULL;
	bool done = x && X509_set_issuer_name(x, X509_get_subject_name(x)) == 1 &&
		    add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
		    add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
		    add_extension(x, x, NID_subject_key_identifier, "hash") &&
		    X509_sign(x, key, EVP_sha256()) > 0;

	return give(a, x, key, done, ret, err);
}

static bool is_address(mk_str name)
{
	char text[64];
	ASN1_OCTET_STRING *ip;
	bool is;

	snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
	ip = a2i_IPADDRESS(text);
	is = ip != NULL;
	ASN1_OCTET_STRING_free(ip);
	ERR_clear_error();
	return is;
}

/*
 * "DNS:a,IP:b"; a name may be a DNS name or an address and nothing else, since the text is parsed.
 */
static bool names_text(struct buf *b, const mk_str *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < names[i].n; j++) {
			char c = names[i].p[j];

			if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
			      c == '.' || c == ':')) {
				return false;
			}
		}
		buf_printf(b, "%s%s:%.*s", i ? "," : "", is_address(names[i]) ? "IP" : "DNS",
			   STR_ARG(names[i]));
	}
	return n > 0 && !b->failed;
}

enum mk_code tls_issue_server(struct arena *a, const struct tls_pair *ca, const mk_str *names,
			      size_t n, int64_t now_ms, int64_t valid_ms, struct tls_pair *ret,
			      struct mk_err *err)
{
	X509 *issuer = first_cert(ca->cert);
	EVP_PKEY *issuer_key = first_key(ca->key);
	EVP_PKEY *key = NULL;
	X509 *x = NULL;
	struct buf san;
	bool done;

	buf_init(&san, NAMES_MAX);
	if (!names_text(&san, names, n) || !issuer || !issuer_key ||
	    X509_check_private_key(issuer, issuer_key) != 1) {
		enum mk_code code = san.failed ? ERR_NO_MEMORY : ERR_INVALID;

		buf_done(&san);
		X509_free(issuer);
		EVP_PKEY_free(issuer_key);
		ERR_clear_error();
		return err_set(err, code, "the authority, or a name to sign for, cannot be used");
	}
	key = EVP_EC_gen("P-256");
	x = key ? blank("multikueued", key, now_ms, valid_ms) : NULL;
	done = x && X509_set_issuer_name(x, X509_get_subject_name(issuer)) == 1 &&
	       add_extension(x, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(x, issuer, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(x, issuer, NID_ext_key_usage, "serverAuth") &&
	       add_extension(x, issuer, NID_authority_key_identifier, "keyid") &&
	       add_extension(x, issuer, NID_subject_alt_name, san.p) &&
	       X509_sign(x, issuer_key, EVP_sha256()) > 0;
	buf_done(&san);
	X509_free(issuer);
	EVP_PKEY_free(issuer_key);
	return give(a, x, key, done, ret, err);
}

/* --- a look into certificates ---------------------------------------------------------------- */

static bool end_of(const X509 *x, int64_t *ret_ms)
{
	ASN1_TIME *zero = ASN1_TIME_set(NULL, 0);
	int days = 0;
	int seconds = 0;
	bool done = zero && ASN1_TIME_diff(&days, &seconds, zero, X509_get0_notAfter(x)) == 1;

	ASN1_TIME_free(zero);
	if (done) {
		*ret_ms = ((int64_t)days * 86400 + seconds) * 1000;
	}
	return done;
}

bool tls_cert_end(mk_str pem, int64_t *ret_ms)
{
	X509 *x = first_cert(pem);
	bool done = x && end_of(x, ret_ms);

	X509_free(x);
	return done;
}

static bool has_name(X509 *x, mk_str name)
{
	char text[256];

	if (name.n >= sizeof(text)) {
		return false;
	}
	snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
	return is_address(name) ? X509_check_ip_asc(x, text, 0) == 1
				: X509_check_host(x, name.p, name.n, 0, NULL) == 1;
}

static bool is_signed_by_one(X509 *x, mk_str cas)
{
	BIO *bio = bio_of(cas);
	bool is = false;

	while (bio && !is) {
		X509 *issuer = PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL);
		EVP_PKEY *key = issuer ? X509_get_pubkey(issuer) : NULL;

		is = key && X509_verify(x, key) == 1;
		EVP_PKEY_free(key);
		X509_free(issuer);
		if (!issuer) {
			break;
		}
	}
	BIO_free(bio);
	return is;
}

bool tls_cert_is_by(mk_str cert, mk_str cas, const mk_str *names, size_t n)
{
	X509 *x = first_cert(cert);
	bool is = x && is_signed_by_one(x, cas);

	for (size_t i = 0; is && i < n; i++) {
		is = has_name(x, names[i]);
	}
	X509_free(x);
	ERR_clear_error();
	return is;
}

mk_str tls_certs_alive(struct arena *a, mk_str pem, size_t max, int64_t now_ms)
{
	BIO *in = bio_of(pem);
	BIO *out = BIO_new(BIO_s_mem());
	mk_str text = {NULL, 0};

	for (size_t n = 0; in && out && n < max;) {
		X509 *x = PEM_read_bio_X509(in, NULL, tls_no_passphrase, NULL);
		int64_t end = 0;

		if (!x) {
			break;
		}
		if (end_of(x, &end) && end > now_ms && PEM_write_bio_X509(out, x) == 1) {
			n++;
		}
		X509_free(x);
	}
	if (out) {
		text = bio_text(a, out);
	}
	BIO_free(in);
	BIO_free(out);
	ERR_clear_error();
	return text;
}
