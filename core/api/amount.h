/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes quantities as whole numbers: what quotas, requests and limits are written in. */
#ifndef MK_API_AMOUNT_H
#define MK_API_AMOUNT_H

#include "core/base/json.h"

/* How a quantity was spelled, which decides how it prints. */
enum api_format { API_DECIMAL, API_BINARY, API_EXPONENT };

/* cpu in thousandths, everything else in whole units; saturates at the ends of int64. */
struct api_amount {
	int64_t v;
	enum api_format format;
};

/*
 * For tests, and below: the quantity 's' ("2", "500m", "1.5Gi") of 'resource' ("cpu": thousandths);
 * 'up': rounded up, as requests are, else down, as quotas are. False, with *ret untouched, when 's'
 * is no quantity or the arena 'a' is exhausted.
 */
bool api_amount_parse(struct arena *a, mk_str s, mk_str resource, bool up, struct api_amount *ret);
/* The same for a JSON string or number. */
bool api_amount_read(struct arena *a, const struct json *v, mk_str resource, bool up,
		     struct api_amount *ret);
/* In Kubernetes' canonical form, in 'a': "1500m", "2", "1536Mi". {NULL, 0} when out of memory. */
mk_str api_amount_text(struct arena *a, struct api_amount q, mk_str resource);
/* 'v' of 'resource' spelled for people: memory and storage in powers of two. */
mk_str api_amount_shown(struct arena *a, int64_t v, mk_str resource);
/* Sum that stops at the ends of int64. */
int64_t api_add(int64_t x, int64_t y);

#endif
