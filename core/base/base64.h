/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard base64 with padding, judged as strictly as Go judges the data of Secrets and
 * kubeconfigs.
 */
#ifndef MK_BASE_BASE64_H
#define MK_BASE_BASE64_H

#include "core/base/arena.h"
#include "core/base/err.h"

/*
 * Decodes 's' into 'a' (NUL-terminated; the NUL does not count). Line ends are skipped. ERR_INVALID
 * with Go's text `illegal base64 data at input byte N`; ERR_NO_MEMORY.
 */
enum mk_code base64_decode(struct arena *a, mk_str s, mk_str *ret, struct mk_err *err);

/* In 'a', NUL-terminated; {NULL, 0} when out of memory. */
mk_str base64_encode(struct arena *a, mk_str s);

#endif
