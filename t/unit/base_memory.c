/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas and the failing heap. */
#include "t/lib/tap.h"

#include <malloc.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/str.h"

static int order;

static void note(void *ctx)
{
	int *when = ctx;

	*when = ++order;
}

static void test_arena(void)
{
	struct arena a;
	int first = 0;
	int second = 0;
	char *p;
	mk_str s;
	bool aligned = true;
	bool zeroed = true;

	arena_init(&a, 0);
	arena_clear(&a);
	ok(!arena_failed(&a), "clearing an unused arena");
	ok(arena_alloc(&a, 0) != arena_alloc(&a, 0), "empty allocations are distinct");
	for (size_t i = 1; i < 3000; i++) {
		unsigned char *q = arena_alloc(&a, i);

		aligned = aligned && ((uintptr_t)q & 15) == 0;
		for (size_t k = 0; k < i; k++) {
			zeroed = zeroed && q[k] == 0;
		}
		memset(q, 0xAA, i);
	}
	ok(aligned, "aligned");
	ok(zeroed, "zeroed");
	p = arena_alloc(&a, (size_t)5 << 20);
	ok(p != NULL, "a large one");
	memset(p, 1, (size_t)5 << 20);
	s = arena_printf(&a, "%s-%d", "abc", 7);
	is_str(s.p, "abc-7", "printed");
	is_int(s.n, 5, "... with its length");
	s = arena_printf(&a, "%01000d", 5);
	is_int(s.n, 1000, "printed long");
	ok(s.p[999] == '5' && s.p[1000] == '\0', "... to the end");
	s = arena_dup(&a, (mk_str){NULL, 0});
	is_str(s.p, "", "an empty copy is a string");
	arena_on_done(&a, note, &first);
	arena_on_done(&a, note, &second);
	arena_clear(&a);
	ok(second == 1 && first == 2, "cleanups run newest first");
	is_int(a.used, 0, "nothing in use after clear");
	p = arena_alloc(&a, 100);
	ok(p != NULL && p[0] == 0 && p[99] == 0, "memory that is used again is zeroed");
	arena_done(&a);
	ok(arena_alloc(&a, 1) != NULL, "usable after done");
	arena_done(&a);
}

static void test_cap(void)
{
	struct arena a;
	int called = 0;

	arena_init(&a, 1000);
	ok(arena_alloc(&a, 900) != NULL, "below the cap");
	ok(!arena_alloc(&a, 200) && arena_failed(&a), "over the cap");
	ok(arena_alloc(&a, 16) != NULL && arena_failed(&a), "the failure is remembered");
	arena_clear(&a);
	ok(!arena_failed(&a), "until clear");
	ok(!arena_alloc(&a, SIZE_MAX), "an absurd size");
	ok(!arena_alloc(&a, SIZE_MAX - 20), "a size that wraps when rounded");
	ok(!arena_array(&a, SIZE_MAX / 2, 3), "a product that wraps");
	ok(!arena_dup(&a, (mk_str){"x", SIZE_MAX}).p, "an absurd copy");
	arena_clear(&a);
	alloc_fail_after(1);
	arena_done(&a);
	order = 0;
	ok(!arena_alloc(&a, 10) && arena_failed(&a), "out of memory");
	ok(!arena_on_done(&a, note, &called) && called == 1, "the cleanup then runs at once");
	ok(!arena_printf(&a, "%d", 1).p, "no text");
	is_int(alloc_fail_after(0), 3, "asked three times");
	arena_done(&a);
}

/* arena_printf says what printf says. */
#define SAME(...)                                                            \
	do {                                                                 \
		int want = snprintf(text, sizeof(text), __VA_ARGS__);        \
		mk_str got = arena_printf(&a, __VA_ARGS__);                  \
		if (got.n != (size_t)want || strcmp(got.p, text) != 0) {     \
			printf("# \"%.80s\", not \"%.80s\"\n", got.p, text); \
			same = false;                                        \
		}                                                            \
	} while (0)

static void test_text(void)
{
	static char text[4096], long_text[1000];
	struct arena a;
	bool same = true;

	arena_init(&a, 0);
	memset(long_text, 'x', sizeof(long_text) - 1);
	SAME("plain");
	SAME("%s", "");
	SAME("%s/%s", "a", "b");
	SAME("%.*s", 3, "abcdef");
	SAME("%.*s|", 0, "abc");
	SAME("%.*s|", 9, "abc");
	SAME("%zu %zu", (size_t)0, SIZE_MAX);
	SAME("%.*s.resources[%zu]", 4, "spec.x", (size_t)17);
	SAME("%%s %s", "a");
	SAME("%s %d %s", "a", -7, "b");
	SAME("%5s|%-5s|%.2s", "a", "b", "cde");
	SAME("%08.3f %c %x", 1.5, 'c', 255U);
	for (int n = 250; n < 262; n++) {
		SAME("%.*s", n, long_text);
		SAME("%.*s%zu", n, long_text, (size_t)12345);
		SAME("%.*s%s", n, long_text, "12345");
		SAME("%s%.*s", "12345", n, long_text);
	}
	SAME("%s%s", long_text, long_text);
	ok(same, "texts are those of printf, of names, sizes and all else, short and long");
	arena_done(&a);
}

static void test_alloc(void)
{
	char *s = mk_strdup("abc");
	char *p;

	is_str(s, "abc", "strdup");
	mk_free(s);
	s = mk_strndup((mk_str){"abcdef", 3});
	is_str(s, "abc", "strndup");
	ok(!mk_strdup(NULL), "strdup of nothing");
	alloc_fail_after(2);
	p = mk_malloc(5);
	ok(p != NULL, "the first succeeds");
	ok(!mk_malloc(5) && !mk_calloc(1, 1) && !mk_realloc(p, 9) && !mk_strdup("x"),
	   "the second and all later fail");
	alloc_fail_after(0);
	mk_free(p);
	mk_free(s);
	mk_free(NULL);
}

/*
 * Small blocks that were given back do not wait to be joined all at once. The count is glibc's;
 * with another allocator (a sanitizer's) it is 0 either way.
 */
static void test_joined_at_once(void)
{
	enum { BLOCKS = 4000, SIZE = 40 };
	static void *blocks[BLOCKS];

	alloc_join_at_once();
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = mk_malloc(SIZE);
	}
	for (size_t i = 0; i < BLOCKS; i += 2) { /* none beside another: nothing is joined yet */
		mk_free(blocks[i]);
	}
	is_int((long long)mallinfo2().smblks, 0, "no small blocks wait to be joined");
	for (size_t i = 1; i < BLOCKS; i += 2) {
		mk_free(blocks[i]);
	}
}

int main(void)
{
	test_arena();
	test_cap();
	test_text();
	test_alloc();
	test_joined_at_once();
	return done_testing();
}
