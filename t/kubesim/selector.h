/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label selectors of the Kubernetes API: a, !a, a=b, a==b, a!=b, a in (b,c), a
 * notin (b,c), joined by commas.
 */
#ifndef MK_T_KUBESIM_SELECTOR_H
#define MK_T_KUBESIM_SELECTOR_H

#include "core/base/arena.h"
#include "core/base/str.h"

enum selector_op { SELECTOR_EXISTS, SELECTOR_ABSENT, SELECTOR_IN, SELECTOR_NOT_IN };

struct selector_term {
	enum selector_op op;
	mk_str key;
	mk_str *values;
	size_t n_values;
};

struct selector {
	struct selector_term *terms;
	size_t n_terms;
};

/* Parses 'text' ("" selects everything) into 'a'. False: malformed; *ret is untouched. */
bool selector_parse(struct arena *a, mk_str text, struct selector *ret);

/* 'labels' holds n pairs: key, value, key, value ... */
bool selector_match(const struct selector *s, const mk_str *labels, size_t n);

#endif
