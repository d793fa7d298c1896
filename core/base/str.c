/* SPDX-License-Identifier: Apache-2.0 */
/* String views and the growing buffer. */
#include "core/base/str.h"

#include <ctype.h>

#include <stdarg.h>
#include <stdio.h>

#include "core/base/alloc.h"

int str_cmp(mk_str a, mk_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int d = n ? memcmp(a.p, b.p, n) : 0;

	if (d != 0) {
		return d;
	}
	return (a.n > b.n) - (a.n < b.n);
}

bool str_starts(mk_str s, mk_str prefix)
{
	return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

bool str_ends(mk_str s, mk_str suffix)
{
	return s.n >= suffix.n &&
	       (suffix.n == 0 || memcmp(s.p + (s.n - suffix.n), suffix.p, suffix.n) == 0);
}

bool str_in(mk_str s, const mk_str *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(list[i], s)) {
			return true;
		}
	}
	return false;
}

ptrdiff_t str_index(mk_str s, char c)
{
	const char *p = s.n ? memchr(s.p, c, s.n) : NULL;

	return p ? p - s.p : -1;
}

mk_str str_sub(mk_str s, size_t from, size_t n)
{
	if (from >= s.n) {
		return (mk_str){NULL, 0};
	}
	return (mk_str){s.p + from, n < s.n - from ? n : s.n - from};
}

bool str_split(mk_str *rest, char sep, mk_str *ret_part)
{
	ptrdiff_t at;

	if (rest->n == 0) {
		return false;
	}
	at = str_index(*rest, sep);
	if (at < 0) {
		*ret_part = *rest;
		*rest = (mk_str){NULL, 0};
	} else {
		*ret_part = (mk_str){rest->p, (size_t)at};
		*rest = str_sub(*rest, (size_t)at + 1, SIZE_MAX);
	}
	return true;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

mk_str str_trim(mk_str s)
{
	while (s.n > 0 && is_space(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n > 0 && is_space(s.p[s.n - 1])) {
		s.n--;
	}
	return s;
}

bool str_u64(mk_str s, uint64_t *ret)
{
	uint64_t v = 0;

	if (s.n == 0) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9') {
			return false;
		}
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v)) {
			return false;
		}
	}
	*ret = v;
	return true;
}

bool str_i64(mk_str s, int64_t *ret)
{
	bool minus = s.n > 0 && s.p[0] == '-';
	uint64_t v;

	if (!str_u64(minus ? str_sub(s, 1, SIZE_MAX) : s, &v)) {
		return false;
	}
	if (v > (uint64_t)INT64_MAX + (minus ? 1 : 0)) {
		return false;
	}
	/* Through -(v - 1) - 1, since INT64_MIN has no positive counterpart. */
	*ret = !minus ? (int64_t)v : v == 0 ? 0 : -(int64_t)(v - 1) - 1;
	return true;
}

size_t str_distance(mk_str a, mk_str b)
{
	size_t row[STR_NEAR + 1];
	size_t more = (a.n > STR_NEAR ? 1U : 0U) + (b.n > STR_NEAR ? 1U : 0U);

	a.n = a.n > STR_NEAR ? STR_NEAR : a.n;
	b.n = b.n > STR_NEAR ? STR_NEAR : b.n;
	for (size_t j = 0; j <= b.n; j++) {
		row[j] = j;
	}
	for (size_t i = 0; i < a.n; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < b.n; j++) {
			size_t above = row[j + 1];
			bool same =
				tolower((unsigned char)a.p[i]) == tolower((unsigned char)b.p[j]);
			size_t best = above < row[j] ? above : row[j];

			row[j + 1] = same ? corner : (corner < best ? corner : best) + 1;
			corner = above;
		}
	}
	return row[b.n] + more;
}

void str_guess_try(struct str_guess *g, mk_str known)
{
	size_t most = known.n < 8 ? 1 : known.n / 4;
	size_t d = g->word.n <= STR_NEAR && known.n > 1 ? str_distance(g->word, known) : SIZE_MAX;

	if (d <= most && (!g->best.p || d < g->least)) {
		g->best = known;
		g->least = d;
	}
}

mk_str str_cut(mk_str s, size_t max)
{
	size_t n = max;

	if (s.n <= max) {
		return s;
	}
	/*
	 * s.p[n] exists: when it continues a sequence, the sequence goes as a whole (at most 3
	 * bytes back).
	 */
	while (n > 0 && max - n < 3 && ((unsigned char)s.p[n] & 0xC0) == 0x80) {
		n--;
	}
	return (mk_str){s.p, n};
}

size_t str_utf8(mk_str str)
{
	const unsigned char *s = (const unsigned char *)str.p;
	unsigned int lead = str.n > 0 ? s[0] : 0xFF;
	size_t len = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;

	if (len < 2) {
		return len;
	}
	if (lead > 0xF4 || len > str.n || (s[1] & 0xC0) != 0x80) {
		return 0;
	}
	/* Overlong forms, surrogates, and what lies above U+10FFFF. */
	if ((lead == 0xE0 && s[1] < 0xA0) || (lead == 0xED && s[1] > 0x9F) ||
	    (lead == 0xF0 && s[1] < 0x90) || (lead == 0xF4 && s[1] > 0x8F)) {
		return 0;
	}
	for (size_t i = 2; i < len; i++) {
		if ((s[i] & 0xC0) != 0x80) {
			return 0;
		}
	}
	return len;
}

bool str_is_utf8(mk_str s)
{
	for (size_t i = 0; i < s.n;) {
		size_t len = str_utf8(str_sub(s, i, SIZE_MAX));

		if (len == 0) {
			return false;
		}
		i += len;
	}
	return true;
}

mk_str str_take_utf8(mk_str *rest)
{
	size_t len = str_utf8(*rest);
	mk_str ch = len > 0 ? str_sub(*rest, 0, len) : STR("\xEF\xBF\xBD");

	*rest = str_sub(*rest, len > 0 ? len : 1, SIZE_MAX);
	return ch;
}

void str_wipe(mk_str s)
{
	if (s.n > 0) {
		explicit_bzero((void *)(uintptr_t)s.p, s.n);
	}
}

void buf_init(struct buf *b, size_t cap)
{
	*b = (struct buf){.cap = cap};
}

void buf_done(struct buf *b)
{
	mk_free(b->p);
	*b = (struct buf){.cap = b->cap};
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->failed = false;
	if (b->p != NULL) {
		b->p[0] = '\0';
	}
}

/* Makes room for 'more' bytes and a NUL. */
static bool reserve(struct buf *b, size_t more)
{
	size_t size = b->size ? b->size : 128;
	char *p;

	if (b->failed || more > b->cap || b->n > b->cap - more || b->cap == SIZE_MAX) {
		b->failed = true;
		return false;
	}
	if (b->n + more < b->size) {
		return true;
	}
	while (size <= b->n + more) {
		size = size > b->cap / 2 ? b->cap + 1 : size * 2;
	}
	p = mk_realloc(b->p, size);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->p = p;
	b->size = size;
	return true;
}

bool buf_add(struct buf *b, mk_str s)
{
	if (!reserve(b, s.n)) {
		return false;
	}
	if (s.n > 0) {
		memcpy(b->p + b->n, s.p, s.n);
	}
	b->n += s.n;
	b->p[b->n] = '\0';
	return true;
}

bool buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(b, (size_t)n)) {
		b->failed = true;
		return false;
	}
	va_start(ap, fmt);
	n = vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += n < 0 ? 0 : (size_t)n;
	return true;
}
