/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values to compact JSON text. Strings of values are valid UTF-8 (the reader and json_clean see to it) and numbers have
 * their text or are whole, so that writing is copying, but for the few characters that need an escape.
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

/* Room for 'more' bytes. False: out of memory. */
static bool reserve(struct text *t, size_t more)
{
	size_t size = t->size ? t->size : FIRST_SIZE;
	char *p;

	if (more <= t->size - t->n) {
		return true;
	}
	if (more > SIZE_MAX / 4 - t->n) {
		return false;
	}
	while (size - t->n < more) {
		size *= 2;
	}
	p = mk_realloc(t->p, size);
	if (p == NULL) {
		return false;
	}
	t->p = p;
	t->size = size;
	return true;
}

/* Eight bytes, none of which is a control character, a quote or a backslash? */
static bool is_plain(const char *s)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	uint64_t v, quote, slash;

	memcpy(&v, s, sizeof(v));
	quote = v ^ (ones * '"');
	slash = v ^ (ones * '\\');
	/* A byte that is less than another number borrows into its top bit; bytes from 0x80 on are never less. */
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

static bool put_str(struct text *t, mk_str s)
{
	size_t i = 0;
	char *at;

	if (s.n > SIZE_MAX / ESCAPED - 8 || !reserve(t, s.n * ESCAPED + 2)) {
		return false;
	}
	at = t->p + t->n;
	*at++ = '"';
	while (i < s.n) {
		if (s.n - i >= 8 && is_plain(s.p + i)) {
			memcpy(at, s.p + i, 8);
			at += 8;
			i += 8;
			continue;
		}
		for (size_t end = s.n - i < 8 ? s.n : i + 8; i < end; i++) {
			unsigned char c = (unsigned char)s.p[i];

			if (c < 0x20 || c == '"' || c == '\\') {
				at = put_escape(at, c);
			} else {
				*at++ = (char)c;
			}
		}
	}
	*at++ = '"';
	t->n = (size_t)(at - t->p);
	return true;
}

static bool put_raw(struct text *t, mk_str s)
{
	if (!reserve(t, s.n)) {
		return false;
	}
	memcpy(t->p + t->n, s.p, s.n);
	t->n += s.n;
	return true;
}

static bool put_char(struct text *t, char c)
{
	return put_raw(t, (mk_str){&c, 1});
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
	return put_raw(t, (mk_str){digits + i, sizeof(digits) - i});
}

static bool put_val(struct text *t, const yyjson_mut_val *v, int depth);

static bool put_members(struct text *t, const yyjson_mut_val *v, int depth)
{
	bool is_obj = val_type(v) == YYJSON_TYPE_OBJ;
	size_t n = val_len(v);
	const yyjson_mut_val *e;
	bool good = depth < JSON_MAX_NEST && put_char(t, is_obj ? '{' : '[');

	e = n == 0 ? NULL : is_obj ? val_last(v)->next->next : val_last(v)->next;
	for (size_t i = 0; good && i < n; i++, e = e->next) {
		if (i > 0) {
			good = put_char(t, ',');
		}
		if (is_obj && good) {
			good = put_str(t, val_str(e)) && put_char(t, ':');
			e = e->next;
		}
		good = good && put_val(t, e, depth + 1);
	}
	return good && put_char(t, is_obj ? '}' : ']');
}

static bool put_val(struct text *t, const yyjson_mut_val *v, int depth)
{
	switch (val_type(v)) {
	case YYJSON_TYPE_STR:
		return put_str(t, val_str(v));
	case YYJSON_TYPE_RAW:
		return put_raw(t, val_str(v));
	case YYJSON_TYPE_NUM:
		return put_int(t, v);
	case YYJSON_TYPE_BOOL:
		return put_raw(t, (v->tag & YYJSON_SUBTYPE_MASK) == YYJSON_SUBTYPE_TRUE
					  ? STR("true")
					  : STR("false"));
	case YYJSON_TYPE_OBJ:
	case YYJSON_TYPE_ARR:
		return put_members(t, v, depth);
	default:
		return put_raw(t, STR("null"));
	}
}

mk_str json_write(struct arena *a, const struct json *v)
{
	struct text t = {.p = NULL};
	mk_str text = {NULL, 0};

	if (v == NULL) {
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
