/* SPDX-License-Identifier: Apache-2.0 */
/* JSON patches (RFC 6902) on trees of the simulated store. */
#include "t/kubesim/store_int.h"

/*
 * The pointer split into its parent and its last token, unescaped by
 * json_at and json_put themselves.
 */
static bool split_pointer(struct arena *a, mk_str path, const char **ret_parent, mk_str *ret_last)
{
	size_t cut = path.n;

	if (path.n == 0 || path.p[0] != '/') {
		return false;
	}
	while (path.p[cut - 1] != '/') {
		cut--;
	}
	*ret_parent = arena_dup(a, str_sub(path, 0, cut - 1)).p;
	*ret_last = str_sub(path, cut, path.n);
	return *ret_parent != NULL;
}

/* Inserts into an array, moving the rest up. */
static void insert_at(struct arena *a, struct json *arr, size_t at, const struct json *v)
{
	size_t n = json_len(arr);
	struct json *copy = json_dup(a, arr);

	while (json_len(arr) > at) {
		json_remove(arr, json_len(arr) - 1);
	}
	json_add(a, arr, json_dup(a, v));
	for (size_t i = at; i < n; i++) {
		json_add(a, arr, json_dup(a, json_elem(copy, i)));
	}
}

static bool add(struct arena *a, struct json *doc, mk_str path, const struct json *v)
{
	const char *parent_path;
	struct json *parent;
	mk_str last;
	uint64_t at;

	if (!split_pointer(a, path, &parent_path, &last)) {
		return false;
	}
	parent = json_at(doc, parent_path);
	if (json_type(parent) == JSON_ARR && !str_is(last, "-")) {
		if (!str_u64(last, &at) || at > json_len(parent)) {
			return false;
		}
		insert_at(a, parent, (size_t)at, v);
		return true;
	}
	return parent != NULL && json_put(a, doc, arena_dup(a, path).p, json_dup(a, v)) == ERR_OK;
}

static bool one(struct arena *a, struct json *doc, const struct json *op, const char **ret_why)
{
	mk_str what = json_str(json_get(op, "op")), path = json_str(json_get(op, "path"));
	const struct json *v = json_get(op, "value");
	struct json *at = json_at(doc, arena_dup(a, path).p);

	*ret_why = "path";
	if (str_is(what, "test")) {
		*ret_why = "test";
		return v != NULL ? json_equal(at, v) : !at;
	}
	if (str_is(what, "add")) {
		return v != NULL && add(a, doc, path, v);
	}
	if (str_is(what, "remove")) {
		return at != NULL && json_put(a, doc, arena_dup(a, path).p, NULL) == ERR_OK;
	}
	if (str_is(what, "replace")) {
		return at != NULL && v != NULL &&
		       json_put(a, doc, arena_dup(a, path).p, json_dup(a, v)) == ERR_OK;
	}
	if (str_is(what, "copy") || str_is(what, "move")) {
		mk_str from = arena_dup(a, json_str(json_get(op, "from")));
		struct json *src = json_dup(a, json_at(doc, from.p));

		if (!src || (str_is(what, "move") && json_put(a, doc, from.p, NULL) != ERR_OK)) {
			return false;
		}
		return add(a, doc, path, src);
	}
	*ret_why = "op";
	return false;
}

bool ks_json_patch(struct arena *a, struct json *doc, const struct json *patch,
		   const char **ret_why)
{
	struct json_iter it = json_iter(patch);

	*ret_why = "patch";
	if (json_type(patch) != JSON_ARR) {
		return false;
	}
	while (json_next(&it)) {
		if (!one(a, doc, it.val, ret_why)) {
			return false;
		}
	}
	return true;
}
