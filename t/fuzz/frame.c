/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the cutter of lines. The first byte says how the rest is cut into pieces; the lines
 * are the same as when all of it comes at once.
 */
#include "core/base/hash.h"
#include "core/kube/frame.h"
#include "t/fuzz/fuzz.h"

struct seen {
	uint64_t hash;
	size_t n, rest;
};

static void take_lines(struct frame *f, struct seen *s)
{
	mk_str line;

	while (frame_next(f, &line)) {
		s->hash = s->hash * 31 + hash64(line);
		s->n++;
	}
}

static struct seen run(mk_str text, size_t piece)
{
	struct seen s = {.n = 0};
	struct frame f;

	frame_init(&f);
	while (text.n > 0) {
		size_t n = text.n < piece ? text.n : piece;

		FUZZ_MUST(frame_add(&f, (mk_str){text.p, n}));
		take_lines(&f, &s);
		text.p += n;
		text.n -= n;
	}
	s.rest = f.n - f.start;
	frame_done(&f);
	return s;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	if (size > 1 && size < 65536) {
		mk_str text = {(const char *)data + 1, size - 1};
		struct seen whole = run(text, text.n), pieces = run(text, (size_t)data[0] + 1);

		FUZZ_MUST(whole.n == pieces.n && whole.hash == pieces.hash &&
			  whole.rest == pieces.rest);
	}
	return 0;
}
