/* SPDX-License-Identifier: Apache-2.0 */
/* JSON pointers (RFC 6901), copies, comparison and merge patches (RFC 7386). */
#include "core/base/json.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/json_impl.h"

/* Cuts the first token off a pointer that begins with '/'. False at its end. */
static bool next_token(mk_str *pointer, mk_str *ret_token)
{
	ptrdiff_t end;

	if (pointer->n == 0) {
		return false;
	}
	*pointer = str_sub(*pointer, 1, SIZE_MAX);
	end = str_index(*pointer, '/');
	if (end < 0) {
		*ret_token = *pointer;
		*pointer = (mk_str){NULL, 0};
	} else {
		*ret_token = str_sub(*pointer, 0, (size_t)end);
		*pointer = str_sub(*pointer, (size_t)end, SIZE_MAX);
	}
	return true;
}

/* "" or "/..." with every '~' followed by 0 or 1. */
static bool well_formed(mk_str pointer)
{
	if (pointer.n > 0 && pointer.p[0] != '/') {
		return false;
	}
	for (size_t i = 0; i < pointer.n; i++) {
		if (pointer.p[i] == '~' &&
		    (i + 1 == pointer.n || (pointer.p[i + 1] != '0' && pointer.p[i + 1] != '1'))) {
			return false;
		}
	}
	return true;
}

/* Does the escaped 'token' spell 'key'? */
static bool token_is(mk_str token, mk_str key)
{
	size_t k = 0;

	for (size_t i = 0; i < token.n; i++, k++) {
		char c = token.p[i];

		if (c == '~') {
			c = token.p[++i] == '0' ? '~' : '/';
		}
		if (k >= key.n || key.p[k] != c) {
			return false;
		}
	}
	return k == key.n;
}

static bool token_index(mk_str token, size_t *ret)
{
	uint64_t i;

	if (!str_u64(token, &i) || i > SIZE_MAX || (token.n > 1 && token.p[0] == '0')) {
		return false;
	}
	*ret = (size_t)i;
	return true;
}

static struct json *child(const struct json *v, mk_str token)
{
	size_t i;

	if (json_type(v) == JSON_ARR) {
		return token_index(token, &i) ? json_elem(v, i) : NULL;
	}
	if (str_index(token, '~') < 0) {
		return json_getn(v, token);
	}
	if (json_type(v) == JSON_OBJ) {
		struct json_iter it = json_iter(v);

		while (json_next(&it)) {
			if (token_is(token, it.key)) {
				return it.val;
			}
		}
	}
	return NULL;
}

struct json *json_at(const struct json *v, const char *pointer)
{
	mk_str rest = str_of(pointer);
	mk_str token;

	if (!well_formed(rest)) {
		return NULL;
	}
	while (v != NULL && next_token(&rest, &token)) {
		v = child(v, token);
	}
	return json_of(val_of(v));
}

mk_str json_str_at(const struct json *v, const char *pointer)
{
	return json_str(json_at(v, pointer));
}

/* 'token' without escapes, in 'a'. */
static mk_str unescape(struct arena *a, mk_str token)
{
	char *p;
	size_t n = 0;

	if (str_index(token, '~') < 0) {
		return token;
	}
	p = arena_alloc(a, token.n);
	if (p == NULL) {
		return (mk_str){NULL, 0};
	}
	for (size_t i = 0; i < token.n; i++) {
		char c = token.p[i];

		if (c == '~') {
			c = token.p[++i] == '0' ? '~' : '/';
		}
		p[n++] = c;
	}
	return (mk_str){p, n};
}

/* 'v' wrapped in one object per token of 'rest', the last token innermost. */
static struct json *wrap(struct arena *a, mk_str rest, struct json *v)
{
	struct json *outer = NULL;
	struct json *inner = NULL;
	mk_str key = {NULL, 0};
	mk_str token;

	while (next_token(&rest, &token)) {
		struct json *o = json_new_obj(a);

		if (inner == NULL) {
			outer = o;
		} else {
			json_set(a, inner, key, o);
		}
		inner = o;
		key = unescape(a, token);
	}
	if (inner == NULL) {
		return v;
	}
	json_set(a, inner, key, v);
	return arena_failed(a) ? NULL : outer;
}

/* Puts 'v' in the place of the i-th element, i < length. */
static void replace_elem(yyjson_mut_val *arr, size_t i, yyjson_mut_val *v)
{
	yyjson_mut_val *prev = val_last(arr);
	yyjson_mut_val *old;

	for (size_t k = 0; k < i; k++) {
		prev = prev->next;
	}
	old = prev->next;
	v->next = v;
	if (prev != old) {
		v->next = old->next;
		prev->next = v;
	}
	if (val_last(arr) == old) {
		arr->uni.ptr = v;
	}
	old->next = NULL;
}

/* The last steps of json_put, in an array: 'token' selects the element, 'rest' lies below it and is not there yet. */
static enum mk_code put_in_array(struct arena *a, struct json *arr, mk_str token, mk_str rest,
				 struct json *v)
{
	struct json *whole;
	size_t i = 0;

	if (str_is(token, "-")) {
		json_add(a, arr, v ? wrap(a, rest, v) : NULL);
		return MK_OK;
	}
	if (!token_index(token, &i) || i >= json_len(arr)) {
		return v ? MK_INVALID : MK_OK;
	}
	if (v == NULL) {
		if (rest.n == 0) {
			json_remove(arr, i);
		}
		return MK_OK;
	}
	whole = wrap(a, rest, v);
	if (whole == json_elem(arr, i)) {
		return MK_OK;
	}
	if (whole != NULL && val_of(whole)->next != NULL) {
		whole = json_dup(a, whole);
	}
	if (whole != NULL) {
		replace_elem(val_of(arr), i, val_of(whole));
	}
	return MK_OK;
}

enum mk_code json_put(struct arena *a, struct json *root, const char *pointer, struct json *v)
{
	mk_str rest = str_of(pointer);
	struct json *cur = root;
	enum mk_code code = MK_INVALID;
	mk_str token;

	if (rest.n == 0 || !well_formed(rest)) {
		return MK_INVALID;
	}
	while (next_token(&rest, &token)) {
		struct json *below = child(cur, token);
		enum json_type type = json_type(below);

		if (rest.n > 0 && (type == JSON_OBJ || type == JSON_ARR)) {
			cur = below;
			continue;
		}
		if (rest.n > 0 && type != JSON_ABSENT && type != JSON_NULL) {
			return MK_INVALID;
		}
		if (json_type(cur) == JSON_ARR) {
			code = put_in_array(a, cur, token, rest, v);
		} else if (json_type(cur) == JSON_OBJ) {
			code = MK_OK;
			if (v != NULL) {
				struct json *whole = wrap(a, rest, v);

				if (whole != NULL) {
					json_set(a, cur, unescape(a, token), whole);
				}
			} else if (rest.n == 0) {
				json_set(a, cur, unescape(a, token), NULL);
			}
		}
		break;
	}
	return code == MK_OK && arena_failed(a) ? MK_NO_MEMORY : code;
}

static struct json *dup(struct arena *a, const struct json *v, int depth);

static struct json *dup_container(struct arena *a, const struct json *v, int depth)
{
	bool is_obj = json_type(v) == JSON_OBJ;
	struct json *out = is_obj ? json_new_obj(a) : json_new_arr(a);
	struct json_iter it = json_iter(v);
	yyjson_mut_val *last = NULL;

	while (out != NULL && json_next(&it)) {
		yyjson_mut_val *e = val_of(dup(a, it.val, depth + 1));
		yyjson_mut_val *head = e;

		if (e != NULL && is_obj) {
			/* Linked by hand: json_set would look for the key each time. */
			head = val_of(json_new_str(a, it.key));
			if (head != NULL) {
				head->next = e;
			}
		}
		if (e == NULL || head == NULL) {
			return NULL;
		}
		if (last == NULL) {
			e->next = head;
		} else if (is_obj) {
			e->next = last->next->next;
			last->next->next = head;
		} else {
			e->next = last->next;
			last->next = head;
		}
		last = head;
		val_of(out)->uni.ptr = last;
		val_set_len(val_of(out), val_len(val_of(out)) + 1);
	}
	return out;
}

static struct json *dup(struct arena *a, const struct json *v, int depth)
{
	const yyjson_mut_val *in = val_of(v);
	yyjson_mut_val *out;

	if (depth > JSON_MAX_NEST) {
		a->failed = true;
		return NULL;
	}
	if (val_type(in) == YYJSON_TYPE_OBJ || val_type(in) == YYJSON_TYPE_ARR) {
		return dup_container(a, v, depth);
	}
	out = arena_alloc(a, sizeof(*out));
	if (out == NULL) {
		return NULL;
	}
	out->tag = in->tag;
	out->uni = in->uni;
	if (val_type(in) == YYJSON_TYPE_STR || val_type(in) == YYJSON_TYPE_RAW) {
		mk_str copy = arena_dup(a, val_str(in));

		if (copy.p == NULL) {
			return NULL;
		}
		out->uni.str = copy.p;
	}
	return json_of(out);
}

struct json *json_dup(struct arena *a, const struct json *v)
{
	return v ? dup(a, v, 1) : NULL;
}

/*
 * The members of an object, sorted when they are many, so that two large objects are compared in n log n steps
 * however their keys are arranged. Without memory for it the search is linear.
 */
struct lookup {
	const struct json *obj;
	const yyjson_mut_val **keys; /* owned; NULL: search 'obj' */
	size_t n;
};

enum { LOOKUP_MIN = 64 };

static int cmp_keys(const void *x, const void *y)
{
	const yyjson_mut_val *const *a = x;
	const yyjson_mut_val *const *b = y;

	return str_cmp(val_str(*a), val_str(*b));
}

static void lookup_init(struct lookup *l, const struct json *obj)
{
	*l = (struct lookup){.obj = obj, .n = json_len(obj)};
	if (json_type(obj) == JSON_OBJ && l->n > LOOKUP_MIN) {
		l->keys = mk_calloc(l->n, sizeof(*l->keys));
	}
	if (l->keys != NULL) {
		const yyjson_mut_val *k = val_last(val_of(obj));

		for (size_t i = 0; i < l->n; i++) {
			l->keys[i] = k;
			k = k->next->next;
		}
		qsort(l->keys, l->n, sizeof(*l->keys), cmp_keys);
	}
}

static void lookup_done(struct lookup *l)
{
	mk_free(l->keys);
}

static struct json *lookup_get(const struct lookup *l, mk_str key)
{
	size_t lo = 0;
	size_t hi = l->n;

	if (l->keys == NULL) {
		return json_getn(l->obj, key);
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int d = str_cmp(key, val_str(l->keys[mid]));

		if (d == 0) {
			return json_of(l->keys[mid]->next);
		}
		if (d < 0) {
			hi = mid;
		} else {
			lo = mid + 1;
		}
	}
	return NULL;
}

static bool equal_scalars(const yyjson_mut_val *x, const yyjson_mut_val *y)
{
	switch (val_type(x)) {
	case YYJSON_TYPE_NUM:
		/* One number has one form: zero and above are always unsigned. */
		return x->tag == y->tag && x->uni.u64 == y->uni.u64;
	case YYJSON_TYPE_STR:
		return str_eq(val_str(x), val_str(y));
	case YYJSON_TYPE_RAW: {
		double dx;
		double dy;

		if (str_eq(val_str(x), val_str(y))) {
			return true;
		}
		dx = strtod(x->uni.str, NULL);
		dy = strtod(y->uni.str, NULL);
		return dx <= dy && dx >= dy;
	}
	default:
		return x->tag == y->tag;
	}
}

static bool equal(const struct json *x, const struct json *y, int depth);

static bool equal_objects(const struct json *x, const struct json *y, int depth)
{
	struct json_iter ix = json_iter(x);
	struct json_iter iy = json_iter(y);
	struct lookup l = {.obj = NULL};
	bool same = true;

	while (same && json_next(&ix) && json_next(&iy)) {
		struct json *other = iy.val;

		/* Members mostly stand in the same order; only when they do not is it worth a search. */
		if (!str_eq(ix.key, iy.key)) {
			if (l.obj == NULL) {
				lookup_init(&l, y);
			}
			other = lookup_get(&l, ix.key);
		}
		same = other != NULL && equal(ix.val, other, depth + 1);
	}
	lookup_done(&l);
	return same;
}

static bool equal(const struct json *x, const struct json *y, int depth)
{
	struct json_iter ix = json_iter(x);
	struct json_iter iy = json_iter(y);

	if (json_type(x) != json_type(y) || json_len(x) != json_len(y) || depth > JSON_MAX_NEST) {
		return false;
	}
	if (x == NULL) {
		return true;
	}
	if (json_type(x) == JSON_OBJ) {
		return equal_objects(x, y, depth);
	}
	if (json_type(x) != JSON_ARR) {
		return equal_scalars(val_of(x), val_of(y));
	}
	while (json_next(&ix) && json_next(&iy)) {
		if (!equal(ix.val, iy.val, depth + 1)) {
			return false;
		}
	}
	return true;
}

bool json_equal(const struct json *x, const struct json *y)
{
	return equal(x, y, 1);
}

static bool is_nothing(const struct json *v)
{
	return json_type(v) == JSON_ABSENT || json_type(v) == JSON_NULL;
}

static struct json *diff(struct arena *a, const struct json *from, const struct json *to,
			 int depth);

/* What member 'now' (not NULL) asks to change in member 'old' (may be NULL); NULL: nothing. */
static struct json *diff_member(struct arena *a, const struct json *old, const struct json *now,
				int depth)
{
	/* Null and absent are the same to a merge patch: it cannot tell them apart. */
	if (is_nothing(now) && is_nothing(old)) {
		return NULL;
	}
	if (json_type(old) == JSON_OBJ && json_type(now) == JSON_OBJ) {
		return diff(a, old, now, depth + 1);
	}
	return json_equal(old, now) ? NULL : json_dup(a, now);
}

static struct json *diff(struct arena *a, const struct json *from, const struct json *to, int depth)
{
	struct json *patch = NULL;
	struct json_iter it = json_iter(to);
	struct lookup l;

	if (depth > JSON_MAX_NEST) {
		a->failed = true;
		return NULL;
	}
	lookup_init(&l, from);
	while (json_next(&it)) {
		struct json *change = diff_member(a, lookup_get(&l, it.key), it.val, depth);

		if (change != NULL) {
			patch = patch ? patch : json_new_obj(a);
			json_append(a, patch, it.key, change);
		}
	}
	lookup_done(&l);
	lookup_init(&l, to);
	it = json_iter(from);
	while (json_next(&it)) {
		if (!is_nothing(it.val) && lookup_get(&l, it.key) == NULL) {
			patch = patch ? patch : json_new_obj(a);
			json_append(a, patch, it.key, json_new_null(a));
		}
	}
	lookup_done(&l);
	return patch;
}

struct json *json_diff(struct arena *a, const struct json *from, const struct json *to)
{
	return diff(a, from, to, 1);
}

static struct json *merge(struct arena *a, struct json *target, const struct json *patch, int depth)
{
	struct json_iter it = json_iter(patch);

	if (depth > JSON_MAX_NEST) {
		a->failed = true;
		return target;
	}
	if (json_type(patch) != JSON_OBJ) {
		return json_dup(a, patch);
	}
	if (json_type(target) != JSON_OBJ) {
		target = json_new_obj(a);
	}
	while (target != NULL && json_next(&it)) {
		struct json *now;

		if (json_type(it.val) == JSON_NULL) {
			json_set(a, target, it.key, NULL);
			continue;
		}
		now = merge(a, json_getn(target, it.key), it.val, depth + 1);
		if (now != NULL) {
			json_set(a, target, it.key, now);
		}
	}
	return target;
}

struct json *json_merge(struct arena *a, struct json *target, const struct json *patch)
{
	return patch ? merge(a, target, patch, 1) : target;
}
