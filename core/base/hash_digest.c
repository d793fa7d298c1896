/* SPDX-License-Identifier: Apache-2.0 */
/* SHA digests through OpenSSL's EVP. */
#include "core/base/hash.h"

#include <openssl/evp.h>

static mk_str digest_hex(struct arena *a, mk_str s, const EVP_MD *md)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char raw[EVP_MAX_MD_SIZE];
	unsigned int n = 0;
	char *hex;

	/*
	 * Fails only when OpenSSL is out of memory or lacks the digest; callers treat both as out
	 * of memory.
	 */
	if (EVP_Digest(s.n ? s.p : "", s.n, raw, &n, md, NULL) != 1) {
		a->failed = true;
		return (mk_str){NULL, 0};
	}
	hex = arena_alloc(a, 2 * (size_t)n + 1);
	if (!hex) {
		return (mk_str){NULL, 0};
	}
	for (size_t i = 0; i < n; i++) {
		hex[2 * i] = digits[raw[i] >> 4];
		hex[2 * i + 1] = digits[raw[i] & 15];
	}
	return (mk_str){hex, 2 * (size_t)n};
}

mk_str sha1_hex(struct arena *a, mk_str s)
{
	return digest_hex(a, s, EVP_sha1());
}

mk_str sha256_hex(struct arena *a, mk_str s)
{
	return digest_hex(a, s, EVP_sha256());
}
