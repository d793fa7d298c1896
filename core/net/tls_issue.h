/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates of our own: a small authority and what it signs, and a look into what exists. P-256
 * keys, ECDSA with SHA-256. The time is an argument; keys and serial numbers come from OpenSSL's
 * generator.
 */
#ifndef MK_NET_TLS_ISSUE_H
#define MK_NET_TLS_ISSUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"

/* PEM texts. */
struct tls_pair {
	mk_str cert, key;
};

/*
 * A self-signed authority named 'name', valid from an hour before 'now_ms' (wall clock) for
 * 'valid_ms'. In 'a'. ERR_NO_MEMORY.
 */
enum mk_code tls_issue_ca(struct arena *a, const char *name, int64_t now_ms, int64_t valid_ms,
			  struct tls_pair *ret, struct mk_err *err);

/*
 * A server certificate for the DNS names or IP addresses 'names' (at least one), signed by the
 * first certificate of 'ca'. In 'a'. ERR_INVALID (the authority cannot be used), ERR_NO_MEMORY.
 */
enum mk_code tls_issue_server(struct arena *a, const struct tls_pair *ca, const mk_str *names,
			      size_t n, int64_t now_ms, int64_t valid_ms, struct tls_pair *ret,
			      struct mk_err *err);

/* When the first certificate of 'pem' ends, wall clock. False: there is none. */
bool tls_cert_end(mk_str pem, int64_t *ret_ms);

/* Is the first certificate of 'cert' signed by one of 'cas', and good for all of 'names'? */
bool tls_cert_is_by(mk_str cert, mk_str cas, const mk_str *names, size_t n);

/*
 * The certificates of 'pem' that have not ended at 'now_ms', those after the first 'max' left out.
 * In 'a'; empty when there are none, or memory ran out.
 */
mk_str tls_certs_alive(struct arena *a, mk_str pem, size_t max, int64_t now_ms);

#endif
