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

/* Are the n keys of an object different? */
static enum mk_code check_keys(const yyjson_mut_val *first, size_t n, struct mk_err *err)
{
	const yyjson_mut_val *x = first;
	uint64_t seen = 0;

	if (n > FEW_KEYS) {
		return check_many_keys(first, n, err);
	}
	for (size_t i = 0; i < n; i++, x = x->next->next) {
		uint64_t bit = key_bit(x);
		const yyjson_mut_val *y = first;

		for (size_t k = 0; (seen & bit) != 0 && k < i; k++, y = y->next->next) {
			if (x->tag == y->tag && memcmp(x->uni.str, y->uni.str, val_len(x)) == 0) {
				return duplicate(x, err);
			}
		}
		seen |= bit;
	}
	return ERR_OK;
}

/* A container whose elements are being read. */
struct open {
	yyjson_mut_val *at, *key, *last; /* 'key': the newest, in an object */
	size_t left;                     /* nodes to come; keys count */
};

/* The value alone, without its elements. */
static void convert_val(yyjson_val *in, yyjson_mut_val *out)
{
	switch (yyjson_get_type(in)) {
	case YYJSON_TYPE_STR:
		val_set(out, YYJSON_TYPE_STR, yyjson_get_len(in));
		out->uni.str = yyjson_get_str(in);
		break;
	case YYJSON_TYPE_OBJ:
	case YYJSON_TYPE_ARR:
		val_set(out, yyjson_get_type(in), yyjson_get_len(in));
		out->uni.ptr = NULL;
		break;
	case YYJSON_TYPE_RAW:
		set_number(out, (mk_str){yyjson_get_raw(in), yyjson_get_len(in)});
		break;
	default:
		out->tag = yyjson_is_true(in)   ? YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE
			   : yyjson_is_bool(in) ? YYJSON_TYPE_BOOL
						: YYJSON_TYPE_NULL;
		out->uni.u64 = 0;
		break;
	}
}

/* Closes the circle of a container that has all its elements. */
static enum mk_code close_container(const struct open *o, struct mk_err *err)
{
	yyjson_mut_val *first = o->at + 1;
	bool is_obj = val_type(o->at) == YYJSON_TYPE_OBJ;

	o->last->next = first;
	o->at->uni.ptr = is_obj ? o->key : o->last;
	return is_obj ? check_keys(first, val_len(o->at), err) : ERR_OK;
}

/*
 * Leaves 'v' empty and marks the open containers from 'top' outwards, up to one that has the mark:
 * those around it have it already.
 */
static void cut_off(const struct open *open, const struct open *top, yyjson_mut_val *v)
{
	val_set_len(v, 0);
	v->tag |= VAL_CUT;
	for (; top > open && (top->at->tag & VAL_CUT) == 0; top--) {
		top->at->tag |= VAL_CUT;
	}
}

static size_t n_nodes(const yyjson_mut_val *v)
{
	return val_type(v) == YYJSON_TYPE_OBJ   ? val_len(v) * 2
	       : val_type(v) == YYJSON_TYPE_ARR ? val_len(v)
						: 0;
}

/*
 * The n values of a document: the reader leaves them in one row, each container before its elements
 * and each key before its value, and so they stay in 'out'. 'cut': what is too deep is left out,
 * and its place in the row stays empty.
 */
static enum mk_code convert(yyjson_val *in, yyjson_mut_val *out, size_t n, bool cut,
			    struct mk_err *err)
{
	struct open open[JSON_MAX_DEPTH], *top = open; /* open[0] holds the root */
	enum mk_code code = ERR_OK;

	*top = (struct open){.left = SIZE_MAX};
	for (size_t i = 0, skip; i < n; i += skip) {
		size_t size;

		skip = 1;
		convert_val(&in[i], &out[i]);
		out[i].next = NULL;
		if (top->last != NULL) {
			top->last->next = &out[i];
		}
		top->last = &out[i];
		top->key = top->left % 2 == 0 ? &out[i] : top->key;
		top->left--;
		size = n_nodes(&out[i]);
		if (size > 0 && top == &open[JSON_MAX_DEPTH - 1] && cut) {
			cut_off(open, top, &out[i]);
			skip = (size_t)(unsafe_yyjson_get_next(&in[i]) - &in[i]);
			size = 0;
		} else if (size > 0 && top == &open[JSON_MAX_DEPTH - 1]) {
			return err_set(err, ERR_INVALID, "nested deeper than %d levels",
				       (int)JSON_MAX_DEPTH);
		}
		if (size > 0) {
			*++top = (struct open){.at = &out[i], .left = size};
		}
		for (; top->left == 0 && code == ERR_OK; top--) {
			code = close_container(top, err);
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
	yyjson_mut_val *vals = NULL;
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
	if (!__builtin_mul_overflow(n, sizeof(*vals), &bytes)) {
		vals = arena_alloc_raw(a, bytes);
	}
	if (!vals) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
	} else {
		code = convert(yyjson_doc_get_root(doc), vals, n, cut, err);
	}
	yyjson_doc_free(doc);
	if (code == ERR_OK) {
		*ret = json_of(vals);
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
