/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that may hold credentials. What is left in that of a whole daemon is looked for by
 * t/integration/e2e_memory.t.
 */
#include <malloc.h>

#include "core/base/alloc.h"
#include "core/net/http2_session.h"
#include "core/net/wipe.h"
#include "t/lib/tap.h"

static void test_blocks(void)
{
	char *p = wipe_realloc(NULL, 32), *same, *moved;
	char text[] = "thirty-one characters and a NUL";

	memcpy(p, text, sizeof(text));
	same = wipe_realloc(p, 8);
	ok(same == p && strcmp(same, text) == 0, "a block that is large enough stays");
	moved = wipe_realloc(same, 4096);
	ok(moved && strcmp(moved, text) == 0, "a larger one has what was in it");
	alloc_fail_after(1);
	ok(!wipe_realloc(moved, 65536) && strcmp(moved, text) == 0,
	   "without memory the old one is untouched");
	alloc_fail_after(0);
	wipe_free(moved);
	wipe_free(NULL);
	ok(true, "nothing is given back as well");
}

static bool go_on(void *ctx)
{
	(void)ctx;
	return true;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != 0) {
			return false;
		}
	}
	return true;
}

/* nghttp2 keeps its buffer until the session ends, and a shorter frame leaves the rest of it. */
static void test_heads(void)
{
	static const struct http2_handler h = {.on_goaway = go_on};
	struct http2_session *s = http2_session_new(&h, NULL, 65535);
	struct http2_request r = {.method = "GET",
				  .authority = STR("api.test"),
				  .path = STR("/version"),
				  .user_agent = "test",
				  .accept = "application/json",
				  .token = "0123456789abcdef0123456789abcdef"};
	struct http2_stream x = {.session = NULL};
	const uint8_t *head = NULL, *p = NULL;
	ptrdiff_t n = 1, size = 0;

	ok(s && http2_session_send(s, &x, &r) == ERR_OK, "a request with a token");
	while (n > 0) {
		n = http2_session_pull(s, &p);
		head = n > 0 ? p : head;
		size = n > 0 ? n : size;
	}
	ok(n == 0 && size > 32 && is_zero(head, (size_t)size), "its head is overwritten once sent");
	http2_session_free(s);
}

int main(void)
{
	test_blocks();
	test_heads();
	return done_testing();
}
