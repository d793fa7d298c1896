/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of JSON values, comparison, and merge patches (RFC 7386). */
#include "core/base/json.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_impl.h"

/* The first node in a container's circle that is not empty, and how many there are (keys count). */
static yyjson_mut_val *first_node(const yyjson_mut_val *v, size_t *ret_n)
{
	bool is_obj = val_type(v) == YYJSON_TYPE_OBJ;

	*ret_n = val_len(v) * (is_obj ? 2 : 1);
	return is_obj ? val_last(v)->next->next : val_last(v)->next;
}

static bool is_container(const yyjson_mut_val *v)
{
	return val_type(v) == YYJSON_TYPE_OBJ || val_type(v) == YYJSON_TYPE_ARR;
}

static bool has_text(const yyjson_mut_val *v)
{
	return val_type(v) == YYJSON_TYPE_STR || val_type(v) == YYJSON_TYPE_RAW;
}

/* A copy under construction: all nodes in one piece, all texts in another. */
struct copy {
	yyjson_mut_val *next_val;
	char *next_text;
	size_t n_vals, n_text;
};

/* Counts what 'v' needs. False: nested too deep. */
static bool measure(struct copy *c, const yyjson_mut_val *v, int depth)
{
	c->n_vals++;
	if (has_text(v)) {
		c->n_text += val_len(v) + 1;
	} else if (is_container(v) && val_len(v) > 0) {
		size_t n;
		const yyjson_mut_val *e = first_node(v, &n);

		if (depth >= JSON_MAX_NEST) {
			return false;
		}
		for (; n > 0; n--, e = e->next) {
			if (!measure(c, e, depth + 1)) {
				return false;
			}
		}
	}
	return true;
}

static yyjson_mut_val *copy_val(struct copy *c, const yyjson_mut_val *v)
{
	yyjson_mut_val *out = c->next_val++;
	yyjson_mut_val *first = c->next_val;
	yyjson_mut_val *last;
	yyjson_mut_val *before_last;
	const yyjson_mut_val *e;
	size_t n;

	out->tag = v->tag;
	out->uni = v->uni;
	if (has_text(v)) {
		memcpy(c->next_text, v->uni.str, val_len(v) + 1);
		out->uni.str = c->next_text;
		c->next_text += val_len(v) + 1;
	}
	if (!is_container(v) || val_len(v) == 0) {
		return out;
	}
	e = first_node(v, &n);
	last = copy_val(c, e);
	before_last = last;
	while (--n > 0) {
		e = e->next;
		before_last = last;
		last = copy_val(c, e);
		before_last->next = last;
	}
	last->next = first;
	out->uni.ptr = val_type(v) == YYJSON_TYPE_OBJ ? before_last : last;
	return out;
}

static struct json *dup(struct arena *a, const struct json *v)
{
	struct copy c = {.n_vals = 0};
	yyjson_mut_val *out;

	if (!measure(&c, val_of(v), 1)) {
		a->failed = true;
		return NULL;
	}
	/* No walk counts so many that a product overflows. */
	c.next_val = arena_alloc_raw(a, c.n_vals * sizeof(*c.next_val));
	c.next_text = c.next_val ? arena_alloc_raw(a, c.n_text) : NULL;
	if (!c.next_text) {
		return NULL;
	}
	out = copy_val(&c, val_of(v));
	out->next = NULL;
	return json_of(out);
}

struct json *json_dup(struct arena *a, const struct json *v)
{
	return v ? dup(a, v) : NULL;
}

/*
 * The members of an object, sorted when they are many, so that two large objects are compared in n
 * log n steps however their keys are arranged. Without memory for it the search is linear.
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

	if (!l->keys) {
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

static bool equal(const yyjson_mut_val *x, const yyjson_mut_val *y, int depth);

static bool equal_objects(const yyjson_mut_val *x, const yyjson_mut_val *y, int depth)
{
	const yyjson_mut_val *kx = val_last(x);
	const yyjson_mut_val *ky = val_last(y);
	struct lookup l = {.obj = NULL};
	bool same = true;

	for (size_t n = val_len(x); same && n > 0; n--) {
		const yyjson_mut_val *other = ky->next;

		/*
		 * Members mostly stand in the same order; only when they do not is it worth a
		 * search.
		 */
		if (!str_eq(val_str(kx), val_str(ky))) {
			if (!l.obj) {
				lookup_init(&l, (const struct json *)y);
			}
			other = val_of(lookup_get(&l, val_str(kx)));
		}
		same = other != NULL && equal(kx->next, other, depth + 1);
		kx = kx->next->next;
		ky = ky->next->next;
	}
	lookup_done(&l);
	return same;
}

static bool equal(const yyjson_mut_val *x, const yyjson_mut_val *y, int depth)
{
	if (val_type(x) != val_type(y)) {
		return false;
	}
	if (!is_container(x)) {
		return equal_scalars(x, y);
	}
	if (val_len(x) != val_len(y) || depth > JSON_MAX_NEST) {
		return false;
	}
	if (val_len(x) == 0 || x->uni.ptr == y->uni.ptr) {
		return true; /* shared: see json_share */
	}
	if (val_type(x) == YYJSON_TYPE_OBJ) {
		return equal_objects(x, y, depth);
	}
	x = val_last(x);
	y = val_last(y);
	for (const yyjson_mut_val *last = x;;) {
		if (!equal(x, y, depth + 1)) {
			return false;
		}
		x = x->next;
		y = y->next;
		if (x == last) {
			return true;
		}
	}
}

bool json_equal(const struct json *x, const struct json *y)
{
	if (!x || !y) {
		return x == y;
	}
	return equal(val_of(x), val_of(y), 1);
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
		if (!is_nothing(it.val) && !lookup_get(&l, it.key)) {
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
