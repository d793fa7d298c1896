/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of a Workload's pod sets; see facts_counts.h. */
#include "core/engine/store/facts_counts.h"

#include <string.h>

enum { INT_MAX_TEXT = 20 }; /* characters of an int64_t */

/* In decimal, without a NUL. */
static char *put_int(char *at, int64_t i)
{
	uint64_t left = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	char digits[INT_MAX_TEXT];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + left % 10);
		left /= 10;
	} while (left > 0);
	if (i < 0) {
		*at++ = '-';
	}
	while (n > 0) {
		*at++ = digits[--n];
	}
	return at;
}

mk_str facts_counts(const struct json *pod_sets, struct arena *a)
{
	struct json_iter it = json_iter(pod_sets);
	char *text, *at;
	size_t max = 0;

	while (json_next(&it)) {
		max += json_str(json_get(it.val, "name")).n + INT_MAX_TEXT + 2;
	}
	text = max > 0 ? arena_alloc_raw(a, max) : NULL;
	if (!text) {
		return STR("");
	}
	it = json_iter(pod_sets);
	for (at = text; json_next(&it);) {
		mk_str name = json_str(json_get(it.val, "name"));

		memcpy(at, name.p, name.n);
		at += name.n;
		*at++ = '=';
		at = put_int(at, json_int(json_get(it.val, "count"), 1));
		*at++ = ',';
	}
	return (mk_str){text, (size_t)(at - text)};
}
