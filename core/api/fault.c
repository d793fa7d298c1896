/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of faults; see fault.h. */
#include "core/api/fault.h"

#include <stdarg.h>
#include <string.h>

void api_fault_add(struct arena *a, struct api_faults *f, int rule, mk_str path, const char *fmt,
		   ...)
{
	va_list ap;
	mk_str text;
	char *p;

	va_start(ap, fmt);
	text = arena_vprintf(a, fmt, ap);
	va_end(ap);
	if (f->n == f->size) {
		size_t size = f->size ? f->size * 2 : 8;
		struct api_fault *bigger = arena_array(a, size, sizeof(*bigger));

		if (!bigger) {
			return;
		}
		if (f->n > 0) {
			memcpy(bigger, f->p, f->n * sizeof(*bigger));
		}
		f->p = bigger;
		f->size = size;
	}
	path = arena_dup(a, path);
	if (!text.p || !path.p) {
		return;
	}
	f->p[f->n++] = (struct api_fault){.rule = rule, .path = path, .text = text};
	/* Names come from users: one fault is one line, and leaves a terminal as it was. */
	p = arena_alloc(a, text.n + path.n + 2);
	if (!p) {
		f->n--;
		return;
	}
	memcpy(p, path.p, path.n);
	memcpy(p + path.n + 1, text.p, text.n);
	for (size_t i = 0; i < path.n + 1 + text.n; i++) {
		if (i != path.n && ((unsigned char)p[i] < 0x20 || p[i] == 0x7f)) {
			p[i] = '?';
		}
	}
	f->p[f->n - 1].path = (mk_str){p, path.n};
	f->p[f->n - 1].text = (mk_str){p + path.n + 1, text.n};
}
