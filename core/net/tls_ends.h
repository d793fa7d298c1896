/* SPDX-License-Identifier: Apache-2.0 */
/* When certificates end, for tools that warn of it. No I/O. */
#ifndef MK_NET_TLS_ENDS_H
#define MK_NET_TLS_ENDS_H

#include "core/base/err.h"
#include "core/base/str.h"

struct tls_ends {
	size_t n;          /* certificates */
	int64_t first_ms;  /* since 1970: when the first of them ends */
	int64_t latest_ms; /* ... and the one that ends last */
};

/* Of the certificates in a PEM text. ERR_INVALID: there is none; ERR_NO_MEMORY. */
enum mk_code tls_ends_of(mk_str pem, struct tls_ends *ret, struct mk_err *err);

#endif
