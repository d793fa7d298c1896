/* SPDX-License-Identifier: Apache-2.0 */
/* Dates of certificates; see tls_ends.h. */
#include "core/net/tls_ends.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "core/net/tls.h"

static bool end_of(const X509 *x, const ASN1_TIME *epoch, int64_t *ret_ms)
{
	int days = 0, seconds = 0;

	if (ASN1_TIME_diff(&days, &seconds, epoch, X509_get0_notAfter(x)) != 1) {
		return false;
	}
	*ret_ms = ((int64_t)days * 86400 + seconds) * 1000;
	return true;
}

enum mk_code tls_ends_of(mk_str pem, struct tls_ends *ret, struct mk_err *err)
{
	BIO *bio = pem.n <= INT_MAX ? BIO_new_mem_buf(str_chars(pem), (int)pem.n) : NULL;
	ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
	struct tls_ends found = {.n = 0};
	X509 *x = bio && epoch ? PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL) : NULL;
	bool memory = bio && epoch;

	while (x) {
		int64_t ms;

		if (end_of(x, epoch, &ms)) {
			found.first_ms = found.n == 0 ? ms : found.first_ms;
			found.latest_ms =
				found.n == 0 || ms > found.latest_ms ? ms : found.latest_ms;
			found.n++;
		}
		X509_free(x);
		x = PEM_read_bio_X509(bio, NULL, tls_no_passphrase, NULL);
	}
	ERR_clear_error(); /* the reader ends with "no more certificates" */
	ASN1_TIME_free(epoch);
	BIO_free(bio);
	if (!memory) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (found.n == 0) {
		return err_set(err, ERR_INVALID, "expected certificates in PEM, found none");
	}
	*ret = found;
	return ERR_OK;
}
