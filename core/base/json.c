/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values: reading and building them. json_text.c parses, json_write.c writes, json_pointer.c
 * has pointers and json_patch.c patches.
 */
#include "core/base/json.h"

#include <string.h>

#include "core/base/json_impl.h"

enum json_type json_type(const struct json *v)
{
	switch (val_type(val_of(v))) {
	case YYJSON_TYPE_NULL:
		return JSON_NULL;
	case YYJSON_TYPE_BOOL:
		return JSON_BOOL;
	case YYJSON_TYPE_NUM:
		return JSON_INT;
	case YYJSON_TYPE_RAW:
		return JSON_REAL;
	case YYJSON_TYPE_STR:
		return JSON_STR;
	case YYJSON_TYPE_ARR:
		return JSON_ARR;
	case YYJSON_TYPE_OBJ:
		return JSON_OBJ;
	default:
		return JSON_ABSENT;
	}
}

const char *json_type_word(const struct json *v)
{
	static const char *const words[] = {
		[JSON_ABSENT] = "null", [JSON_NULL] = "null",   [JSON_BOOL] = "bool",
		[JSON_INT] = "number",  [JSON_REAL] = "number", [JSON_STR] = "string",
		[JSON_ARR] = "array",   [JSON_OBJ] = "object"};

	return words[json_type(v)];
}

/*
 * The key of member 'key' in object 'o', or NULL; *ret_prev becomes the key in front of it in the
 * circle.
 */
static yyjson_mut_val *find_key(yyjson_mut_val *o, mk_str key, yyjson_mut_val **ret_prev)
{
	size_t n = val_type(o) == YYJSON_TYPE_OBJ ? val_len(o) : 0;
	yyjson_mut_val *prev = n > 0 ? val_last(o) : NULL;

	for (; n > 0; n--) {
		yyjson_mut_val *k = prev->next->next;

		if (val_len(k) == key.n &&
		    (key.n == 0 ||
		     (k->uni.str[0] == key.p[0] && memcmp(k->uni.str, key.p, key.n) == 0))) {
			*ret_prev = prev;
			return k;
		}
		prev = k;
	}
	return NULL;
}

struct json *json_getn(const struct json *v, mk_str key)
{
	yyjson_mut_val *prev;
	yyjson_mut_val *k = find_key(val_of(v), key, &prev);

	return k ? json_of(k->next) : NULL;
}

struct json *json_get(const struct json *v, const char *key)
{
	return json_getn(v, str_of(key));
}

bool json_is_cut(const struct json *v)
{
	unsigned int type = val_type(val_of(v));

	return (type == YYJSON_TYPE_ARR || type == YYJSON_TYPE_OBJ) &&
	       (val_of(v)->tag & VAL_CUT) != 0;
}

size_t json_len(const struct json *v)
{
	unsigned int type = val_type(val_of(v));

	return type == YYJSON_TYPE_ARR || type == YYJSON_TYPE_OBJ ? val_len(val_of(v)) : 0;
}

struct json *json_elem(const struct json *v, size_t i)
{
	yyjson_mut_val *arr = val_of(v);
	yyjson_mut_val *e;

	if (val_type(arr) != YYJSON_TYPE_ARR || i >= val_len(arr)) {
		return NULL;
	}
	e = val_last(arr);
	if (i + 1 == val_len(arr)) {
		return json_of(e);
	}
	for (size_t k = 0; k <= i; k++) {
		e = e->next;
	}
	return json_of(e);
}

struct json *json_find(const struct json *list, const char *key, const char *value)
{
	struct json_iter it = json_iter(list);

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, key)), value)) {
			return it.val;
		}
	}
	return NULL;
}

struct json_iter json_iter(const struct json *v)
{
	struct json_iter it = {.container = v, .left = json_len(v)};

	if (it.left > 0) {
		yyjson_mut_val *last = val_last(val_of(v));

		it.cur = json_of(json_type(v) == JSON_OBJ ? last->next->next : last->next);
	}
	return it;
}

bool json_next(struct json_iter *it)
{
	yyjson_mut_val *cur = val_of(it->cur);

	/* 'cur' is what comes next, so that the element handed out may be removed. */
	if (it->left == 0) {
		return false;
	}
	it->left--;
	if (json_type(it->container) == JSON_OBJ) {
		it->key = val_str(cur);
		cur = cur->next;
	} else {
		it->key = (mk_str){"", 0};
	}
	it->val = json_of(cur);
	it->cur = json_of(cur->next);
	return true;
}

mk_str json_str(const struct json *v)
{
	if (json_type(v) != JSON_STR) {
		return (mk_str){"", 0};
	}
	return val_str(val_of(v));
}

int64_t json_int(const struct json *v, int64_t otherwise)
{
	yyjson_mut_val *n = val_of(v);

	if (val_type(n) != YYJSON_TYPE_NUM) {
		return otherwise;
	}
	if ((n->tag & YYJSON_SUBTYPE_MASK) == YYJSON_SUBTYPE_UINT && n->uni.u64 > INT64_MAX) {
		return otherwise;
	}
	return n->uni.i64;
}

bool json_bool(const struct json *v)
{
	return yyjson_mut_is_true(val_of(v));
}

static yyjson_mut_val *new_val(struct arena *a, unsigned int type)
{
	yyjson_mut_val *v = arena_alloc(a, sizeof(*v));

	if (v != NULL) {
		val_set(v, type, 0);
	}
	return v;
}

struct json *json_new_obj(struct arena *a)
{
	return json_of(new_val(a, YYJSON_TYPE_OBJ));
}

struct json *json_new_arr(struct arena *a)
{
	return json_of(new_val(a, YYJSON_TYPE_ARR));
}

static yyjson_mut_val *new_str(struct arena *a, mk_str s)
{
	mk_str copy = json_clean(a, s);
	yyjson_mut_val *v = copy.p ? new_val(a, YYJSON_TYPE_STR) : NULL;

	if (v != NULL) {
		val_set(v, YYJSON_TYPE_STR, copy.n);
		v->uni.str = copy.p;
	}
	return v;
}

struct json *json_new_str(struct arena *a, mk_str s)
{
	return json_of(new_str(a, s));
}

struct json *json_new_int(struct arena *a, int64_t i)
{
	yyjson_mut_val *v = new_val(a, YYJSON_TYPE_NUM);

	if (v != NULL) {
		v->tag |= i < 0 ? YYJSON_SUBTYPE_SINT : YYJSON_SUBTYPE_UINT;
		v->uni.i64 = i;
	}
	return json_of(v);
}

struct json *json_new_bool(struct arena *a, bool b)
{
	return json_of(
		new_val(a, YYJSON_TYPE_BOOL | (b ? YYJSON_SUBTYPE_TRUE : YYJSON_SUBTYPE_FALSE)));
}

struct json *json_new_null(struct arena *a)
{
	return json_of(new_val(a, YYJSON_TYPE_NULL));
}

/*
 * The value to link into a container: 'v', or a copy when it has a parent already or is the
 * container itself.
 */
static yyjson_mut_val *orphan(struct arena *a, const yyjson_mut_val *parent, struct json *v)
{
	yyjson_mut_val *val = val_of(v);

	if (!val || (!val->next && val != parent)) {
		return val;
	}
	return val_of(json_dup(a, v));
}

static void remove_key(yyjson_mut_val *o, yyjson_mut_val *prev, yyjson_mut_val *k)
{
	yyjson_mut_val *old = k->next;

	prev->next->next = old->next;
	if (val_len(o) == 1) {
		o->uni.ptr = NULL;
	} else if (val_last(o) == k) {
		o->uni.ptr = prev;
	}
	val_set_len(o, val_len(o) - 1);
	old->next = NULL;
}

static void append_key(yyjson_mut_val *o, yyjson_mut_val *k, yyjson_mut_val *val)
{
	k->next = val;
	if (val_len(o) == 0) {
		val->next = k;
	} else {
		val->next = val_last(o)->next->next;
		val_last(o)->next->next = k;
	}
	o->uni.ptr = k;
	val_set_len(o, val_len(o) + 1);
}

void json_set(struct arena *a, struct json *obj, mk_str key, struct json *v)
{
	yyjson_mut_val *o = val_of(obj);
	yyjson_mut_val *prev = NULL;
	yyjson_mut_val *val;
	yyjson_mut_val *k;

	if (val_type(o) != YYJSON_TYPE_OBJ) {
		return;
	}
	k = find_key(o, key, &prev);
	if (!v) {
		if (k != NULL) {
			remove_key(o, prev, k);
		}
		return;
	}
	if (k != NULL && json_of(k->next) == v) {
		return;
	}
	val = orphan(a, o, v);
	if (!val) {
		return;
	}
	if (k != NULL) {
		yyjson_mut_val *old = k->next;

		val->next = old->next;
		k->next = val;
		old->next = NULL;
		return;
	}
	k = new_str(a, key);
	if (k != NULL) {
		append_key(o, k, val);
	}
}

void json_append(struct arena *a, struct json *obj, mk_str key, struct json *v)
{
	yyjson_mut_val *k = v != NULL && json_type(obj) == JSON_OBJ ? new_str(a, key) : NULL;

	if (k != NULL) {
		append_key(val_of(obj), k, val_of(v));
	}
}

void json_append_lit(struct arena *a, struct json *obj, mk_str key, struct json *v)
{
	yyjson_mut_val *k = v && json_type(obj) == JSON_OBJ ? arena_alloc_raw(a, sizeof(*k)) : NULL;

	if (k != NULL) {
		val_set(k, YYJSON_TYPE_STR, key.n);
		k->uni.str = key.p;
		append_key(val_of(obj), k, val_of(v));
	}
}

void json_set_str(struct arena *a, struct json *obj, const char *key, mk_str s)
{
	struct json *v = json_new_str(a, s);

	if (v != NULL) {
		json_set(a, obj, str_of(key), v);
	}
}

void json_set_int(struct arena *a, struct json *obj, const char *key, int64_t i)
{
	struct json *v = json_new_int(a, i);

	if (v != NULL) {
		json_set(a, obj, str_of(key), v);
	}
}

void json_set_bool(struct arena *a, struct json *obj, const char *key, bool b)
{
	struct json *v = json_new_bool(a, b);

	if (v != NULL) {
		json_set(a, obj, str_of(key), v);
	}
}

void json_add(struct arena *a, struct json *arr, struct json *v)
{
	yyjson_mut_val *o = val_of(arr);
	yyjson_mut_val *val;

	if (val_type(o) != YYJSON_TYPE_ARR) {
		return;
	}
	val = orphan(a, o, v);
	if (!val) {
		return;
	}
	if (val_len(o) == 0) {
		val->next = val;
	} else {
		val->next = val_last(o)->next;
		val_last(o)->next = val;
	}
	o->uni.ptr = val;
	val_set_len(o, val_len(o) + 1);
}

void json_remove(struct json *arr, size_t i)
{
	yyjson_mut_val *o = val_of(arr);
	yyjson_mut_val *before;
	yyjson_mut_val *gone;

	if (val_type(o) != YYJSON_TYPE_ARR || i >= val_len(o)) {
		return;
	}
	before = val_last(o);
	for (size_t k = 0; k < i; k++) {
		before = before->next;
	}
	gone = before->next;
	before->next = gone->next;
	if (val_len(o) == 1) {
		o->uni.ptr = NULL;
	} else if (val_last(o) == gone) {
		o->uni.ptr = before;
	}
	val_set_len(o, val_len(o) - 1);
	gone->next = NULL;
}
