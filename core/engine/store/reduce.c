/* SPDX-License-Identifier: Apache-2.0 */
/* The short parts of an object; see reduce.h. */
#include "core/engine/store/reduce.h"

enum {
	SHORT = 1024,        /* bytes of a member, or of a condition's message */
	MEMBERS = 16 * 1024, /* ... of all members that are short */
	CONDITIONS = 8 * 1024,
};

size_t reduce_bytes(const struct json *v)
{
	enum { PER_VALUE = 6 }; /* quotes, colon, comma; or a number */
	struct json_iter it = json_iter(v);
	size_t n = PER_VALUE + json_str(v).n;

	while (json_next(&it)) {
		n += it.key.n + reduce_bytes(it.val);
	}
	return n;
}

/* What is short of an object's members. */
static struct json *short_members(struct arena *a, const struct json *obj)
{
	struct json_iter it = json_iter(json_type(obj) == JSON_OBJ ? obj : NULL);
	struct json *ret = json_new_obj(a);
	size_t all = 0;

	while (json_next(&it)) {
		size_t n = it.key.n + reduce_bytes(it.val);

		if (n <= SHORT && all + n <= MEMBERS && !json_is_cut(it.val)) {
			json_append(a, ret, it.key, json_share(a, it.val));
			all += n;
		}
	}
	return ret;
}

static struct json *short_condition(struct arena *a, const struct json *c)
{
	mk_str message = json_str(json_get(c, "message"));
	struct json *ret = short_members(a, c);

	if (message.n > 0 && !json_get(ret, "message")) {
		json_set_str(a, ret, "message", str_cut(message, SHORT));
	}
	return ret;
}

/* The last ones, in their order. */
static struct json *last_conditions(struct arena *a, const struct json *list)
{
	struct json *ret = json_new_arr(a);
	size_t n = json_len(list), from = n, all = 0;

	while (from > 0) {
		all += reduce_bytes(short_condition(a, json_elem(list, from - 1)));
		if (all > CONDITIONS) {
			break;
		}
		from--;
	}
	for (; from < n; from++) {
		json_add(a, ret, short_condition(a, json_elem(list, from)));
	}
	return ret;
}

struct json *reduce_object(struct arena *a, const struct json *obj)
{
	static const char *const names[] = {"apiVersion", "kind"};
	static const char *const of_metadata[] = {"name", "namespace", "uid", "resourceVersion"};
	const struct json *meta = json_get(obj, "metadata"), *status = json_get(obj, "status");
	struct json *ret = json_new_obj(a), *m = json_new_obj(a), *s = short_members(a, status);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		json_set(a, ret, str_of(names[i]), json_share(a, json_get(obj, names[i])));
	}
	for (size_t i = 0; i < sizeof(of_metadata) / sizeof(*of_metadata); i++) {
		json_set(a, m, str_of(of_metadata[i]),
			 json_share(a, json_get(meta, of_metadata[i])));
	}
	if (json_type(json_get(status, "conditions")) == JSON_ARR) {
		json_set(a, s, STR("conditions"),
			 last_conditions(a, json_get(status, "conditions")));
	}
	json_set(a, ret, STR("metadata"), m);
	json_set(a, ret, STR("status"), s);
	return arena_failed(a) ? NULL : ret;
}
