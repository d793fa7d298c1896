/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text to values; json_write.c is the way back. yyjson reads in place, in a copy of the text
 * that stays in the arena as the home of all strings; its tree is scratch memory, from which one
 * pass builds the values, in one piece, and checks depth and duplicate keys. Numbers are read raw,
 * so that reals keep their text and integers all their bits.
 */
#include "core/base/json.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_impl.h"

enum {
	FEW_KEYS = 24, /* up to here keys are compared pairwise */
};

/* Scratch memory of one call, through the same switch as all other memory. */
static void *scratch_malloc(void *ctx, size_t size)
{
	(void)ctx;
	return mk_malloc(size);
}

static void *scratch_realloc(void *ctx, void *p, size_t old_size, size_t size)
{
	(void)ctx;
	(void)old_size;
	return mk_realloc(p, size);
}

static void scratch_free(void *ctx, void *p)
{
	(void)ctx;
	mk_free(p);
}

static const yyjson_alc scratch = {
	.malloc = scratch_malloc,
	.realloc = scratch_realloc,
	.free = scratch_free,
};

/* Whole numbers of 64 bits become integers; everything else stays text. */
static void set_number(yyjson_mut_val *v, mk_str text)
{
	bool minus = text.p[0] == '-';
	uint64_t u;

	val_set(v, YYJSON_TYPE_RAW, text.n);
	v->uni.str = text.p;
	if (!str_u64(minus ? str_sub(text, 1, SIZE_MAX) : text, &u)) {
		return;
	}
	if (!minus || u == 0) {
		val_set(v, YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT, 0);
		v->uni.u64 = u;
	} else if (u <= (uint64_t)INT64_MAX + 1) {
		val_set(v, YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT, 0);
		v->uni.i64 = -(int64_t)(u - 1) - 1;
	}
}

static int cmp_keys(const void *x, const void *y)
{
	const yyjson_mut_val *const *a = x;
	const yyjson_mut_val *const *b = y;
	size_t na = val_len(*a);
	size_t nb = val_len(*b);

	if (na != nb) {
		return na < nb ? -1 : 1;
	}
	return na ? memcmp((*a)->uni.str, (*b)->uni.str, na) : 0;
}

static enum mk_code duplicate(const yyjson_mut_val *key, struct mk_err *err)
{
	mk_str shown = str_cut(val_str(key), 100);

	return err_set(err, ERR_INVALID, "duplicate key \"%.*s\"", STR_ARG(shown));
}

static enum mk_code check_many_keys(const yyjson_mut_val *first, size_t n, struct mk_err *err)
{
	const yyjson_mut_val **keys = mk_calloc(n, sizeof(*keys));
	enum mk_code code = ERR_OK;

	if (!keys) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (size_t i = 0; i < n; i++) {
		keys[i] = first;
		first = first->next->next;
	}
	qsort(keys, n, sizeof(*keys), cmp_keys);
	for (size_t i = 1; i < n && code == ERR_OK; i++) {
		if (cmp_keys(&keys[i - 1], &keys[i]) == 0) {
			code = duplicate(keys[i], err);
		}
	}
	mk_free(keys);
	return code;
}

/* One of 64 bits by a hash of the key, so that most pairs of different keys differ in it. */
static uint64_t key_bit(const yyjson_mut_val *key)
{
	const unsigned char *s = (const unsigned char *)key->uni.str;
	size_t n = val_len(key);

	return n == 0 ? 1 : (uint64_t)1 << ((n * 7 + s[n - 1] * 5u + s[n / 2] * 3u) & 63);
}

/* Is one of the keys from 'first' on, up to 'key', the same? */
static bool is_repeated(const yyjson_mut_val *first, const yyjson_mut_val *key)
{
	for (; first != key; first = first->next->next) {
		if (first->tag == key->tag &&
		    memcmp(first->uni.str, key->uni.str, val_len(key)) == 0) {
			return true;
		}
	}
	return false;
}

/*
 * A document under conversion. The reader leaves its values in one row, each container before its
 * elements and each key before its value, and each gets the same place in 'out'.
 */
struct row {
	yyjson_val *in;
	yyjson_mut_val *out;
	yyjson_mut_val *todo; /* containers whose elements are to come, linked by uni.ptr */
};

/*
 * The value alone: a container that is not empty is added to those to come. Returns the number of
 * values that it takes in the row.
 */
static inline size_t convert_val(struct row *r, yyjson_val *in, yyjson_mut_val *out)
{
	out->tag = in->tag & ~(uint64_t)YYJSON_SUBTYPE_MASK;
	switch (unsafe_yyjson_get_type(in)) {
	case YYJSON_TYPE_STR:
		out->uni.str = in->uni.str;
		return 1;
	case YYJSON_TYPE_OBJ:
	case YYJSON_TYPE_ARR:
		if (val_len(out) == 0) {
			out->uni.ptr = NULL;
			return 1;
		}
		out->uni.ptr = r->todo;
		r->todo = out;
		return (size_t)(unsafe_yyjson_get_next(in) - in);
	case YYJSON_TYPE_RAW:
		set_number(out, (mk_str){in->uni.str, val_len(out)});
		return 1;
	default:
		out->tag = in->tag & YYJSON_TAG_MASK;
		out->uni.u64 = 0;
		return 1;
	}
}

/* The elements of an object that has some. */
static enum mk_code convert_members(struct row *r, yyjson_mut_val *obj, struct mk_err *err)
{
	yyjson_val *in = r->in + (obj - r->out) + 1;
	yyjson_mut_val *first = obj + 1, *key = first, *val = first, *next = first;
	bool few = val_len(obj) <= FEW_KEYS;
	uint64_t seen = 0;

	for (size_t left = val_len(obj), step; left > 0; left--, in += step + 1) {
		uint64_t bit;

		key = next;
		val = key + 1;
		key->tag = in->tag & ~(uint64_t)YYJSON_SUBTYPE_MASK;
		key->uni.str = in->uni.str;
		key->next = val;
		step = convert_val(r, in + 1, val);
		next = val + step;
		val->next = next;
		bit = few ? key_bit(key) : 0;
		if ((seen & bit) != 0 && is_repeated(first, key)) {
			return duplicate(key, err);
		}
		seen |= bit;
	}
	val->next = first;
	obj->uni.ptr = key;
	return few ? ERR_OK : check_many_keys(first, val_len(obj), err);
}

/* The elements of an array that has some. */
static void convert_elements(struct row *r, yyjson_mut_val *arr)
{
	yyjson_val *in = r->in + (arr - r->out) + 1;
	yyjson_mut_val *val = arr, *next = arr + 1;

	for (size_t left = val_len(arr), step; left > 0; left--, in += step) {
		val = next;
		step = convert_val(r, in, val);
		next = val + step;
		val->next = next;
	}
	val->next = arr + 1;
	arr->uni.ptr = val;
}

/* Leaves the containers of a list empty and marks them. */
static void cut_off(yyjson_mut_val *list)
{
	while (list != NULL) {
		yyjson_mut_val *v = list;

		list = v->uni.ptr;
		v->uni.ptr = NULL;
		val_set_len(v, 0);
		v->tag |= VAL_CUT;
	}
}

/* Marks the containers around those that were cut off, in one walk along the row. */
static void mark_around(const struct row *r, size_t n)
{
	struct {
		yyjson_mut_val *at;
		size_t end;
	} open[JSON_MAX_DEPTH];
	size_t depth = 0;

	for (size_t i = 0; i < n;) {
		yyjson_mut_val *v = &r->out[i];
		size_t size = (size_t)(unsafe_yyjson_get_next(&r->in[i]) - &r->in[i]);

		while (depth > 0 && i >= open[depth - 1].end) {
			depth--;
		}
		if (json_is_cut(json_of(v))) {
			for (size_t k = depth; k > 0 && !json_is_cut(json_of(open[k - 1].at));
			     k--) {
				open[k - 1].at->tag |= VAL_CUT;
			}
			i += size;
			continue;
		}
		if (size > 1) {
			open[depth].at = v;
			open[depth++].end = i + size;
		}
		i++;
	}
}

/*
 * The n values of a document, level by level. 'cut': what is too deep is left out, and its place in
 * the row stays empty.
 */
static enum mk_code convert(struct row *r, size_t n, bool cut, struct mk_err *err)
{
	enum mk_code code = ERR_OK;

	(void)convert_val(r, r->in, r->out);
	r->out->next = NULL;
	for (int depth = 1; r->todo != NULL; depth++) {
		yyjson_mut_val *level = r->todo;

		r->todo = NULL;
		if (depth == JSON_MAX_DEPTH && !cut) {
			return err_set(err, ERR_INVALID, "nested deeper than %d levels",
				       (int)JSON_MAX_DEPTH);
		}
		if (depth == JSON_MAX_DEPTH) {
			cut_off(level);
			mark_around(r, n);
			return ERR_OK;
		}
		while (level != NULL && code == ERR_OK) {
			yyjson_mut_val *v = level;

			level = v->uni.ptr;
			if (val_type(v) == YYJSON_TYPE_OBJ) {
				code = convert_members(r, v, err);
			} else {
				convert_elements(r, v);
			}
		}
		if (code != ERR_OK) {
			return code;
		}
	}
	return ERR_OK;
}

static enum mk_code syntax_error(const yyjson_read_err *e, mk_str text, struct mk_err *err)
{
	if (e->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	err_set(err, ERR_INVALID, "%s at byte %zu", e->msg, e->pos <= text.n ? e->pos : text.n);
	return ERR_INVALID;
}

static enum mk_code parse(struct arena *a, mk_str text, bool cut, struct json **ret,
			  struct mk_err *err)
{
	yyjson_read_err why = {.code = YYJSON_READ_SUCCESS};
	struct row row = {0};
	enum mk_code code;
	yyjson_doc *doc;
	size_t n, bytes;
	char *home;

	if (text.n > JSON_MAX_SIZE) {
		return err_set(err, ERR_TOO_BIG, "longer than %d bytes", (int)JSON_MAX_SIZE);
	}
	if (text.n == 0) {
		return err_set(err, ERR_INVALID, "empty document");
	}
	home = arena_alloc_raw(a, text.n + YYJSON_PADDING_SIZE);
	if (!home) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	memcpy(home, text.p, text.n);
	memset(home + text.n, 0, YYJSON_PADDING_SIZE);
	doc = yyjson_read_opts(home, text.n, YYJSON_READ_INSITU | YYJSON_READ_NUMBER_AS_RAW,
			       &scratch, &why);
	if (!doc) {
		return syntax_error(&why, text, err);
	}
	n = yyjson_doc_get_val_count(doc);
	if (!__builtin_mul_overflow(n, sizeof(*row.out), &bytes)) {
		row.out = arena_alloc_raw(a, bytes);
	}
	if (!row.out) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
	} else {
		row.in = yyjson_doc_get_root(doc);
		code = convert(&row, n, cut, err);
	}
	yyjson_doc_free(doc);
	if (code == ERR_OK) {
		*ret = json_of(row.out);
	}
	return code;
}

enum mk_code json_parse(struct arena *a, mk_str text, struct json **ret, struct mk_err *err)
{
	return parse(a, text, false, ret, err);
}

enum mk_code json_parse_cut(struct arena *a, mk_str text, struct json **ret, struct mk_err *err)
{
	return parse(a, text, true, ret, err);
}

mk_str json_write_pretty(struct arena *a, const struct json *v)
{
	yyjson_write_err why;
	mk_str text = {NULL, 0};
	size_t n = 0;
	char *p;

	if (!v) {
		return text;
	}
	p = yyjson_mut_val_write_opts(val_of(v), YYJSON_WRITE_PRETTY_TWO_SPACES, &scratch, &n,
				      &why);
	if (!p) {
		/*
		 * Strings are valid UTF-8 and no number is a double, so writing fails for lack of
		 * memory only.
		 */
		a->failed = true;
		return text;
	}
	text = arena_dup(a, (mk_str){p, n});
	mk_free(p);
	return text;
}

struct json *json_new_num(struct arena *a, mk_str text)
{
	yyjson_read_err why;
	mk_str copy = arena_dup(a, text);
	yyjson_mut_val *v = copy.p ? arena_alloc(a, sizeof(*v)) : NULL;
	yyjson_doc *doc;

	if (!v) {
		return NULL;
	}
	/*
	 * The reader checks the grammar, so that json_write writes no number that json_parse
	 * refuses.
	 */
	doc = yyjson_read_opts((char *)(uintptr_t)copy.p, copy.n, YYJSON_READ_NUMBER_AS_RAW,
			       &scratch, &why);
	if (!doc) {
		a->failed = a->failed || why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION;
		return NULL;
	}
	if (yyjson_is_raw(yyjson_doc_get_root(doc)) &&
	    yyjson_get_len(yyjson_doc_get_root(doc)) == copy.n) {
		set_number(v, copy);
	} else {
		v = NULL;
	}
	yyjson_doc_free(doc);
	return json_of(v);
}

static bool is_ascii(mk_str s)
{
	unsigned char all = 0;

	for (size_t i = 0; i < s.n; i++) {
		all |= (unsigned char)s.p[i];
	}
	return all < 0x80;
}

mk_str json_clean(struct arena *a, mk_str s)
{
	size_t n = 0;
	char *out;

	if (is_ascii(s) || str_is_utf8(s)) {
		return arena_dup(a, s);
	}
	out = arena_array(a, s.n + 1, 3);
	if (!out) {
		return (mk_str){NULL, 0};
	}
	while (s.n > 0) {
		mk_str ch = str_take_utf8(&s);

		memcpy(out + n, ch.p, ch.n);
		n += ch.n;
	}
	return (mk_str){out, n};
}
