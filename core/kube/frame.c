/* SPDX-License-Identifier: Apache-2.0 */
/* The line framer: one buffer, three positions. */
#include "core/kube/frame.h"

#include <string.h>

#include "core/base/alloc.h"

enum { FRAME_FIRST = 4096 };

void frame_init(struct frame *f)
{
	*f = (struct frame){.failed = false};
}

void frame_done(struct frame *f)
{
	mk_free(f->p);
	frame_init(f);
}

void frame_clear(struct frame *f)
{
	if (f->size > FRAME_FIRST) {
		mk_free(f->p);
		f->p = NULL;
		f->size = 0;
	}
	f->start = 0;
	f->n = 0;
	f->scanned = 0;
	f->failed = false;
}

static void compact(struct frame *f)
{
	if (f->start == 0) {
		return;
	}
	memmove(f->p, f->p + f->start, f->n - f->start);
	f->n -= f->start;
	f->scanned -= f->start;
	f->start = 0;
}

static bool reserve(struct frame *f, size_t more)
{
	size_t size = f->size == 0 ? FRAME_FIRST : f->size;
	char *p = NULL;

	if (more > 2 * (size_t)FRAME_MAX || f->n + more > 2 * (size_t)FRAME_MAX) {
		return false;
	}
	while (size < f->n + more) {
		size *= 2;
	}
	if (size == f->size) {
		return true;
	}
	p = mk_realloc(f->p, size);
	if (!p) {
		return false;
	}
	f->p = p;
	f->size = size;
	return true;
}

bool frame_add(struct frame *f, mk_str bytes)
{
	if (f->failed) {
		return false;
	}
	if (bytes.n == 0) {
		return true;
	}
	if (f->start == f->n) {
		frame_clear(f);
	}
	compact(f);
	if (!reserve(f, bytes.n)) {
		f->failed = true;
		return false;
	}
	memcpy(f->p + f->n, bytes.p, bytes.n);
	f->n += bytes.n;
	return true;
}

bool frame_next(struct frame *f, mk_str *ret_line)
{
	const char *end = NULL;
	size_t len = 0;

	if (f->failed || f->scanned == f->n) {
		return false;
	}
	end = memchr(f->p + f->scanned, '\n', f->n - f->scanned);
	if (!end) {
		f->scanned = f->n;
		f->failed = f->n - f->start > FRAME_MAX;
		return false;
	}
	len = (size_t)(end - (f->p + f->start));
	if (len > FRAME_MAX) {
		f->failed = true;
		return false;
	}
	*ret_line = (mk_str){f->p + f->start, len};
	f->start += len + 1;
	f->scanned = f->start;
	if (len > 0 && ret_line->p[len - 1] == '\r') {
		ret_line->n--;
	}
	return true;
}
