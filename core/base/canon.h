/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One text for all forms of an object that mean the same to Kubernetes, and its hash: members
 * sorted, nulls and empty lists and maps dropped, quantities by value. Spec drift is judged by it,
 * so that a webhook that only rewrites "1000m" to "1" changes nothing.
 */
#ifndef MK_BASE_CANON_H
#define MK_BASE_CANON_H

#include "core/base/json.h"

/* Canonical text of 'v' in 'a' ("null" for NULL); {NULL, 0} when out of memory. */
mk_str canon_text(struct arena *a, const struct json *v);

/* "v1:" and the first 32 hex digits of the text's SHA-256. {NULL, 0} when out of memory. */
mk_str canon_hash(struct arena *a, const struct json *v);

/*
 * A Kubernetes quantity ("1", "500m", "1.5Gi", "2e3") as decimal digits and exponent, "15e-1", the
 * same for all spellings of one value. The empty view when 's' is none, or has more than 18
 * significant digits. {NULL, 0} also when out of memory.
 */
mk_str canon_quantity(struct arena *a, mk_str s);

#endif
