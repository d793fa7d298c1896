/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values to compact JSON text. Strings of values are valid UTF-8 (the reader and json_clean see to
 * it) and numbers have their text or are whole, so that writing is copying, but for the few
 * characters that need an escape.
 */
#include "core/base/json.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_impl.h"

enum {
	FIRST_SIZE = 1024,
	ESCAPED = 6, /* most bytes that one byte becomes */
	DIGITS = 20,
};

struct text {
	char *p; /* scratch memory, owned */
	size_t n, size;
};

static bool grow(struct text *t, size_t more)
{
	size_t size = t->size ? t->size : FIRST_SIZE;
	char *p;

	if (more > SIZE_MAX / 4 - t->n) {
		return false;
	}
	while (size - t->n < more) {
		size *= 2;
	}
	p = mk_realloc(t->p, size);
	if (!p) {
		return false;
	}
	t->p = p;
	t->size = size;
	return true;
}

/* Room for 'more' bytes. False: out of memory. */
static inline bool reserve(struct text *t, size_t more)
{
	return more <= t->size - t->n || grow(t, more);
}

/* Is there no control character, quote or backslash among the eight bytes? */
static inline bool is_plain(uint64_t v)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	uint64_t quote = v ^ (ones * '"'), slash = v ^ (ones * '\\');

	/*
	 * Subtracting from a smaller byte borrows, which sets its top bit; bytes from 0x80 on are
	 * masked out.
	 */
	return ((((v - ones * 0x20) & ~v) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) &
		tops) == 0;
}

static char *put_escape(char *at, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";
	static const char names[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"'};

	*at++ = '\\';
	if (c == '\\' || (c < sizeof(names) && names[c] != '\0')) {
		*at++ = c == '\\' ? '\\' : names[c];
		return at;
	}
	memcpy(at, "u00", 3);
	at[3] = digits[c >> 4];
	at[4] = digits[c & 15];
	return at + 5;
}

static char *put_slowly(char *at, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 0x20 || c == '"' || c == '\\') {
			at = put_escape(at, c);
		} else {
			*at++ = (char)c;
		}
	}
	return at;
}

/*
 * The text between the quotes. Most is plain and goes by eights, the last of which may overlap the
 * one before.
 */
static char *put_chars(char *at, const char *s, size_t n)
{
	size_t i = 0;
	uint64_t v;

	if (n < 8) {
		return put_slowly(at, s, n);
	}
	for (; i + 8 <= n; i += 8) {
		memcpy(&v, s + i, 8);
		if (!is_plain(v)) {
			return put_slowly(at + i, s + i, n - i);
		}
		memcpy(at + i, &v, 8);
	}
	memcpy(&v, s + n - 8, 8);
	if (!is_plain(v)) {
		return put_slowly(at + i, s + i, n - i);
	}
	memcpy(at + n - 8, &v, 8);
	return at + n;
}

/* The string in quotes, and 'after' unless it is 0. */
static bool put_str(struct text *t, const yyjson_mut_val *v, char after)
{
	size_t n = val_len(v);
	char *at;

	if (n > SIZE_MAX / ESCAPED - 8 || !reserve(t, n * ESCAPED + 3)) {
		return false;
	}
	at = t->p + t->n;
	*at++ = '"';
	at = put_chars(at, v->uni.str, n);
	*at++ = '"';
	*at = after;
	t->n = (size_t)(at - t->p) + (after != 0);
	return true;
}

static bool put_raw(struct text *t, const char *s, size_t n)
{
	if (!reserve(t, n)) {
		return false;
	}
	memcpy(t->p + t->n, s, n);
	t->n += n;
	return true;
}

static bool put_int(struct text *t, const yyjson_mut_val *v)
{
	bool minus = (v->tag & YYJSON_SUBTYPE_MASK) == YYJSON_SUBTYPE_SINT && v->uni.i64 < 0;
	uint64_t u = minus ? -v->uni.u64 : v->uni.u64;
	char digits[DIGITS + 1];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + u % 10);
		u /= 10;
	} while (u > 0);
	if (minus) {
		digits[--i] = '-';
	}
	return put_raw(t, digits + i, sizeof(digits) - i);
}

static bool put_val(struct text *t, const yyjson_mut_val *v, int depth);

static bool put_object(struct text *t, const yyjson_mut_val *v, int depth)
{
	size_t n = val_len(v);
	const yyjson_mut_val *key = n > 0 ? val_last(v)->next->next : NULL;

	if (n == 0) {
		return put_raw(t, "{}", 2);
	}
	if (depth >= JSON_MAX_NEST || !reserve(t, 1)) {
		return false;
	}
	t->p[t->n++] = '{';
	for (; n > 0; n--, key = key->next->next) {
		if (!put_str(t, key, ':') || !put_val(t, key->next, depth + 1) || !reserve(t, 1)) {
			return false;
		}
		t->p[t->n++] = n > 1 ? ',' : '}';
	}
	return true;
}

static bool put_array(struct text *t, const yyjson_mut_val *v, int depth)
{
	size_t n = val_len(v);
	const yyjson_mut_val *e = n > 0 ? val_last(v)->next : NULL;

	if (n == 0) {
		return put_raw(t, "[]", 2);
	}
	if (depth >= JSON_MAX_NEST || !reserve(t, 1)) {
		return false;
	}
	t->p[t->n++] = '[';
	for (; n > 0; n--, e = e->next) {
		if (!put_val(t, e, depth + 1) || !reserve(t, 1)) {
			return false;
		}
		t->p[t->n++] = n > 1 ? ',' : ']';
	}
	return true;
}

static bool put_val(struct text *t, const yyjson_mut_val *v, int depth)
{
	bool is_true = (v->tag & YYJSON_SUBTYPE_MASK) == YYJSON_SUBTYPE_TRUE;

	switch (val_type(v)) {
	case YYJSON_TYPE_STR:
		return put_str(t, v, 0);
	case YYJSON_TYPE_RAW:
		return put_raw(t, v->uni.str, val_len(v));
	case YYJSON_TYPE_NUM:
		return put_int(t, v);
	case YYJSON_TYPE_BOOL:
		return put_raw(t, is_true ? "true" : "false", is_true ? 4 : 5);
	case YYJSON_TYPE_OBJ:
		return put_object(t, v, depth);
	case YYJSON_TYPE_ARR:
		return put_array(t, v, depth);
	default:
		return put_raw(t, "null", 4);
	}
}

mk_str json_write(struct arena *a, const struct json *v)
{
	struct text t = {.p = NULL};
	mk_str text = {NULL, 0};

	if (!v) {
		return text;
	}
	if (put_val(&t, val_of(v), 1)) {
		text = arena_dup(a, (mk_str){t.p, t.n});
	} else {
		a->failed = true;
	}
	mk_free(t.p);
	return text;
}
