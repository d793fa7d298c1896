/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that share what they have in common: a new version of a large value costs only what
 * differs from the old one. A container names its circle of elements by a pointer, so that two
 * containers can name the same circle.
 */
#include "core/base/json.h"

#include "core/base/json_impl.h"

static bool is_container(const yyjson_mut_val *v)
{
	return val_type(v) == YYJSON_TYPE_OBJ || val_type(v) == YYJSON_TYPE_ARR;
}

/* How many nodes the circle of 'v' has, and its first one (NULL: none). */
static const yyjson_mut_val *circle(const yyjson_mut_val *v, size_t *ret_n)
{
	bool is_obj = val_type(v) == YYJSON_TYPE_OBJ;

	*ret_n = is_container(v) ? val_len(v) * (is_obj ? 2 : 1) : 0;
	if (*ret_n == 0) {
		return NULL;
	}
	return is_obj ? val_last(v)->next->next : val_last(v)->next;
}

/* Makes the n nodes at 'ring', filled but for 'next', the circle of 'v'. */
static void close_circle(yyjson_mut_val *v, yyjson_mut_val *ring, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ring[i].next = &ring[i + 1 < n ? i + 1 : 0];
	}
	v->uni.ptr = &ring[val_type(v) == YYJSON_TYPE_OBJ ? n - 2 : n - 1];
}

struct json *json_share(struct arena *a, const struct json *v)
{
	const yyjson_mut_val *from = val_of(v);
	yyjson_mut_val *out = from ? arena_alloc(a, sizeof(*out)) : NULL;

	if (out != NULL) {
		out->tag = from->tag;
		out->uni = from->uni;
	}
	return json_of(out);
}

void json_own(struct arena *a, struct json *v)
{
	size_t n;
	const yyjson_mut_val *e = circle(val_of(v), &n);
	yyjson_mut_val *ring = n > 0 ? arena_alloc_raw(a, n * sizeof(*ring)) : NULL;

	if (!ring) {
		return;
	}
	for (size_t i = 0; i < n; i++, e = e->next) {
		ring[i].tag = e->tag;
		ring[i].uni = e->uni;
	}
	close_circle(val_of(v), ring, n);
}

/* --- copies beside --------------------------------------------------------------------------- */
static bool beside(struct arena *a, yyjson_mut_val *out, const yyjson_mut_val *v,
		   const yyjson_mut_val *old, int depth);

/*
 * The key in the circle of 'old' that spells 'key', most likely 'was': members mostly keep their
 * places. NULL: none.
 */
static const yyjson_mut_val *old_key(const yyjson_mut_val *old, const yyjson_mut_val *was,
				     const yyjson_mut_val *key)
{
	for (size_t n = val_len(old); n > 0; n--) {
		if (was->uni.str == key->uni.str || str_eq(val_str(was), val_str(key))) {
			return was;
		}
		was = was->next->next;
	}
	return NULL;
}

/* The elements of 'v' beside those of 'old': a container of its type, or NULL. */
static bool circle_beside(struct arena *a, yyjson_mut_val *out, const yyjson_mut_val *v,
			  const yyjson_mut_val *old, int depth)
{
	bool is_obj = val_type(v) == YYJSON_TYPE_OBJ;
	size_t n, n_old;
	const yyjson_mut_val *e = circle(v, &n), *was = circle(old, &n_old);
	yyjson_mut_val *ring = arena_alloc_raw(a, n * sizeof(*ring));
	bool good = ring != NULL && e != NULL;

	for (size_t i = 0; good && i < n; i++, e = e->next) {
		const yyjson_mut_val *pair = was;

		if (is_obj && was != NULL) {
			pair = old_key(old, was, e);
		}
		good = beside(a, &ring[i], e, pair, depth);
		if (is_obj && good) {
			e = e->next;
			good = beside(a, &ring[++i], e, pair ? pair->next : NULL, depth);
			pair = pair ? pair->next : NULL;
		}
		was = pair != NULL ? pair->next : was;
	}
	if (good) {
		close_circle(out, ring, n);
	}
	return good;
}

/* Fills 'out' with 'v'; what is at the same place in 'old' (may be NULL) stays where it is. */
static bool beside(struct arena *a, yyjson_mut_val *out, const yyjson_mut_val *v,
		   const yyjson_mut_val *old, int depth)
{
	bool same = old != NULL && v->tag == old->tag && v->uni.ptr == old->uni.ptr;

	out->tag = v->tag;
	out->uni = v->uni;
	if (same) {
		return true;
	}
	if (val_type(out) == YYJSON_TYPE_STR || val_type(out) == YYJSON_TYPE_RAW) {
		out->uni.str = arena_dup(a, val_str(v)).p;
		return out->uni.str != NULL;
	}
	if (!is_container(out) || val_len(out) == 0) {
		return true;
	}
	if (depth >= JSON_MAX_NEST) {
		a->failed = true;
		return false;
	}
	return circle_beside(a, out, v, val_type(old) == val_type(v) ? old : NULL, depth + 1);
}

struct json *json_dup_beside(struct arena *a, const struct json *v, const struct json *old)
{
	yyjson_mut_val *out;

	if (!v) {
		return NULL;
	}
	out = arena_alloc(a, sizeof(*out));
	return out != NULL && beside(a, out, val_of(v), val_of(old), 1) ? json_of(out) : NULL;
}
