/* SPDX-License-Identifier: Apache-2.0 */
/* The line framer: every split of a stream gives the same lines; caps; cost. */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/str.h"
#include "core/kube/frame.h"
#include "t/lib/tap.h"

static const char stream[] = "{\"a\":1}\n\n{\"b\":\"x\\n\"}\r\nlong long line\n\r\ntail";
static const char want[] = "[{\"a\":1}][][{\"b\":\"x\\n\"}][long long line][]";

static void drain(struct frame *f, char *out, size_t size)
{
	mk_str line;

	while (frame_next(f, &line)) {
		size_t n = strlen(out);

		snprintf(out + n, size - n, "[%.*s]", STR_ARG(line));
	}
}

static void test_splits(void)
{
	size_t len = sizeof(stream) - 1;
	bool good = true;

	for (size_t i = 0; i <= len; i++) {
		for (size_t j = i; j <= len; j++) {
			struct frame f;
			char out[256] = "";

			frame_init(&f);
			frame_add(&f, (mk_str){stream, i});
			drain(&f, out, sizeof(out));
			frame_add(&f, (mk_str){stream + i, j - i});
			drain(&f, out, sizeof(out));
			frame_add(&f, (mk_str){stream + j, len - j});
			drain(&f, out, sizeof(out));
			good = good && strcmp(out, want) == 0 && f.n - f.start == 4 && !f.failed;
			frame_done(&f);
		}
	}
	ok(good, "every two cuts give the same lines");
}

static void test_bytes(void)
{
	struct frame f;
	char out[256] = "";

	frame_init(&f);
	for (size_t i = 0; i < sizeof(stream) - 1; i++) {
		frame_add(&f, (mk_str){stream + i, 1});
		drain(&f, out, sizeof(out));
	}
	is_str(out, want, "byte by byte");
	frame_clear(&f);
	is_int(f.n - f.start, 0, "cleared");
	frame_done(&f);
}

static void test_caps(void)
{
	struct frame f;
	mk_str line;
	size_t n = (size_t)FRAME_MAX + 100;
	char *big = malloc(n + 1);

	if (!big) {
		return;
	}
	memset(big, 'x', n);
	big[n] = '\n';
	frame_init(&f);
	ok(frame_add(&f, (mk_str){big, FRAME_MAX}), "8 MiB");
	ok(!frame_next(&f, &line) && !f.failed, "are not too much yet");
	ok(frame_add(&f, (mk_str){big, 1}), "one more");
	ok(!frame_next(&f, &line) && f.failed, "is");
	ok(!frame_add(&f, STR("a\n")), "and nothing follows");
	ok(!frame_next(&f, &line), "nothing at all");
	frame_clear(&f);
	ok(frame_add(&f, (mk_str){big, n + 1}) && !frame_next(&f, &line) && f.failed,
	   "a long line with its end");
	frame_clear(&f);
	ok(!frame_add(&f, (mk_str){big, 2 * (size_t)FRAME_MAX + 1}) && f.failed,
	   "too much at once");
	frame_clear(&f);
	ok(frame_add(&f, STR("a\nb")) && frame_next(&f, &line) && str_is(line, "a"),
	   "usable after clear");
	frame_done(&f);
	free(big);
}

static void test_no_memory(void)
{
	struct frame f;

	frame_init(&f);
	alloc_fail_after(1);
	ok(!frame_add(&f, STR("abc")) && f.failed, "out of memory");
	alloc_fail_after(0);
	frame_clear(&f);
	ok(frame_add(&f, STR("abc\n")), "and again with memory");
	ok(frame_add(&f, (mk_str){NULL, 0}), "nothing is fine");
	frame_done(&f);
}

/* A long line in small pieces must not be searched again and again. */
static void test_scanned(void)
{
	struct frame f;
	mk_str line;
	char piece[1024];
	bool found = false;

	memset(piece, 'y', sizeof(piece));
	frame_init(&f);
	for (int i = 0; i < 100; i++) {
		frame_add(&f, (mk_str){piece, sizeof(piece)});
		found = found || frame_next(&f, &line);
	}
	ok(!found, "no line yet");
	is_int(f.scanned, 100 * sizeof(piece), "what was searched is remembered");
	frame_add(&f, STR("\n"));
	ok(frame_next(&f, &line) && line.n == 100 * sizeof(piece), "the line");
	frame_done(&f);
}

int main(void)
{
	test_splits();
	test_bytes();
	test_caps();
	test_no_memory();
	test_scanned();
	return done_testing();
}
