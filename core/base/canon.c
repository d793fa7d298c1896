/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical form: a sorted, thinned copy of the value, written compactly. */
#include "core/base/canon.h"

#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/json_impl.h"

/* 18 digits times 2^60 stays below 2^128. */
__extension__ typedef unsigned __int128 wide;

enum { MAX_DIGITS = 18, MAX_EXPONENT = 1000 };

struct suffix {
	const char *text;
	int bits; /* power of two */
	int ten;  /* power of ten */
};

static const struct suffix suffixes[] = {
	{"", 0, 0},    {"n", 0, -9},  {"u", 0, -6},  {"m", 0, -3},  {"k", 0, 3},   {"M", 0, 6},
	{"G", 0, 9},   {"T", 0, 12},  {"P", 0, 15},  {"E", 0, 18},  {"Ki", 10, 0}, {"Mi", 20, 0},
	{"Gi", 30, 0}, {"Ti", 40, 0}, {"Pi", 50, 0}, {"Ei", 60, 0},
};

/* What follows the digits: a suffix, or e with a power of ten. */
static bool parse_suffix(mk_str s, int *ret_bits, int *ret_ten)
{
	int64_t e;

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (str_is(s, suffixes[i].text)) {
			*ret_bits = suffixes[i].bits;
			*ret_ten = suffixes[i].ten;
			return true;
		}
	}
	if (s.n < 2 || (s.p[0] != 'e' && s.p[0] != 'E')) {
		return false;
	}
	s = str_sub(s, s.p[1] == '+' ? 2 : 1, SIZE_MAX);
	if (!str_i64(s, &e) || e > MAX_EXPONENT || e < -MAX_EXPONENT) {
		return false;
	}
	*ret_bits = 0;
	*ret_ten = (int)e;
	return true;
}

static mk_str spell(struct arena *a, bool minus, wide v, int exponent)
{
	char digits[48];
	size_t n = sizeof(digits);

	if (v == 0) {
		return arena_dup(a, STR("0e0"));
	}
	while (v % 10 == 0) {
		v /= 10;
		exponent++;
	}
	for (; v > 0; v /= 10) {
		digits[--n] = (char)('0' + (int)(v % 10));
	}
	return arena_printf(a, "%s%.*se%d", minus ? "-" : "", (int)(sizeof(digits) - n), digits + n,
			    exponent);
}

mk_str canon_quantity(struct arena *a, mk_str s)
{
	const mk_str none = {NULL, 0};
	bool minus = s.n > 0 && s.p[0] == '-';
	bool point = false;
	size_t n_digits = 0;
	int significant = 0;
	int fraction = 0;
	wide v = 0;
	int bits;
	int ten;

	if (minus || (s.n > 0 && s.p[0] == '+')) {
		s = str_sub(s, 1, SIZE_MAX);
	}
	for (; s.n > 0; s = str_sub(s, 1, SIZE_MAX)) {
		char c = s.p[0];

		if (c == '.' && !point) {
			point = true;
			continue;
		}
		if (c < '0' || c > '9') {
			break;
		}
		n_digits++;
		significant += significant > 0 || c != '0' ? 1 : 0;
		if (significant > MAX_DIGITS || n_digits > MAX_EXPONENT) {
			return none;
		}
		v = v * 10 + (unsigned int)(c - '0');
		fraction += point ? 1 : 0;
	}
	if (n_digits == 0 || !parse_suffix(s, &bits, &ten)) {
		return none;
	}
	return spell(a, minus, v << bits, ten - fraction);
}

/* Does a member of this name hold one quantity, or a map of them? */
static bool holds_quantity(mk_str key)
{
	return str_is(key, "sizeLimit") || str_is(key, "divisor");
}

static bool holds_quantities(mk_str parent, mk_str key)
{
	if (str_is(key, "requests") || str_is(key, "limits")) {
		return str_is(parent, "resources");
	}
	return str_is(key, "overhead") || str_is(key, "capacity");
}

struct place {
	mk_str parent, key;
	bool in_quantities; /* a member of a map of quantities */
	int depth;
};

static struct json *canon(struct arena *a, const struct json *v, struct place at);

static bool is_empty(const struct json *v)
{
	enum json_type type = json_type(v);

	return type == JSON_ABSENT || type == JSON_NULL ||
	       ((type == JSON_ARR || type == JSON_OBJ) && json_len(v) == 0);
}

struct member {
	mk_str key;
	const struct json *val;
};

static int cmp_members(const void *x, const void *y)
{
	const struct member *a = x;
	const struct member *b = y;

	return str_cmp(a->key, b->key);
}

static struct json *canon_obj(struct arena *a, const struct json *v, struct place at)
{
	size_t n = json_len(v);
	struct member *members = arena_array(a, n, sizeof(*members));
	struct json *out = json_new_obj(a);
	struct json_iter it = json_iter(v);

	if (!members || !out) {
		return NULL;
	}
	for (size_t i = 0; json_next(&it); i++) {
		members[i] = (struct member){it.key, it.val};
	}
	qsort(members, n, sizeof(*members), cmp_members);
	for (size_t i = 0; i < n; i++) {
		struct place below = {
			.parent = at.key,
			.key = members[i].key,
			.in_quantities = holds_quantities(at.parent, at.key),
			.depth = at.depth + 1,
		};
		struct json *m = canon(a, members[i].val, below);

		if (!is_empty(m)) {
			json_append(a, out, members[i].key, m);
		}
	}
	return out;
}

static struct json *canon_arr(struct arena *a, const struct json *v, struct place at)
{
	struct json *out = json_new_arr(a);
	struct json_iter it = json_iter(v);

	/* Elements stay, even empty ones: their place is their meaning. */
	while (out != NULL && json_next(&it)) {
		json_add(a, out, canon(a, it.val, (struct place){.depth = at.depth + 1}));
	}
	return out;
}

static struct json *canon(struct arena *a, const struct json *v, struct place at)
{
	enum json_type type = json_type(v);

	if (at.depth > 4 * JSON_MAX_DEPTH) {
		a->failed = true;
		return NULL;
	}
	if (type == JSON_OBJ) {
		return canon_obj(a, v, at);
	}
	if (type == JSON_ARR) {
		return canon_arr(a, v, at);
	}
	if ((at.in_quantities || holds_quantity(at.key)) &&
	    (type == JSON_STR || type == JSON_INT || type == JSON_REAL)) {
		mk_str q = canon_quantity(a, type == JSON_STR ? json_str(v) : json_write(a, v));

		if (q.p != NULL) {
			return json_new_str(a, q);
		}
	}
	return json_dup(a, v);
}

mk_str canon_text(struct arena *a, const struct json *v)
{
	struct json *out = v ? canon(a, v, (struct place){.depth = 1}) : json_new_null(a);

	return arena_failed(a) ? (mk_str){NULL, 0} : json_write(a, out);
}

mk_str canon_hash(struct arena *a, const struct json *v)
{
	mk_str text = canon_text(a, v);
	mk_str hex = text.p ? sha256_hex(a, text) : text;

	if (!hex.p) {
		return hex;
	}
	return arena_printf(a, "v1:%.32s", hex.p);
}
