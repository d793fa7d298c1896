/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: heads of HTTP/1.1 requests. What is taken names a method and a path within
 * the text, and a body in bounds.
 */
#include "core/net/http_parse.h"
#include "t/fuzz/fuzz.h"

static bool is_within(mk_str part, const char *p, size_t size)
{
	return part.n == 0 || (part.p >= p && part.p + part.n <= p + size);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	enum { BODY_MAX = 1000 };
	const char *p = (const char *)data;
	struct http_head h = {.body_n = 0};
	int status = http_parse_head((mk_str){p, size}, BODY_MAX, &h);

	if (status == 0) {
		FUZZ_MUST(h.method.n > 0 && h.path.n > 0 && h.body_n <= BODY_MAX);
		FUZZ_MUST(is_within(h.method, p, size) && is_within(h.path, p, size) &&
			  is_within(h.query, p, size));
	} else {
		FUZZ_MUST(status >= 400 && status < 600);
	}
	return 0;
}
