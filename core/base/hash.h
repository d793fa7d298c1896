/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of strings: SHA-1 and SHA-256 in hex (OpenSSL), and a stable 64-bit hash for tables. */
#ifndef MK_BASE_HASH_H
#define MK_BASE_HASH_H

#include <stdint.h>

#include "core/base/arena.h"

/*
 * Lower-case hex digest in 'a', NUL-terminated; {NULL, 0} when out of memory. SHA-1 is for names,
 * not for security.
 */
mk_str sha1_hex(struct arena *a, mk_str s);
mk_str sha256_hex(struct arena *a, mk_str s);

/*
 * SipHash-1-3 under a fixed key: the same on every machine, so that it may enter recordings. Not
 * for secrets.
 */
uint64_t hash64(mk_str s);

#endif
