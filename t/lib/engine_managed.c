/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/engine_managed.h"

struct json *w_managed(struct arena *a, const char *applied)
{
	struct json *st = NULL, *list = json_new_arr(a), *entry = json_new_obj(a),
		    *f = json_new_obj(a);
	struct json *fs = json_new_obj(a);
	struct json_iter it;

	if (!applied) {
		return NULL;
	}
	json_parse(a, str_of(applied), &st, NULL);
	it = json_iter(st);
	while (json_next(&it)) {
		struct json *sub = json_new_obj(a);
		const char *key = str_is(it.key, "conditions")        ? "type"
				  : str_is(it.key, "admissionChecks") ? "name"
								      : NULL;
		struct json_iter el = json_iter(key ? it.val : NULL);

		while (json_next(&el)) {
			struct json_iter m = json_iter(el.val);
			struct json *leaf = json_new_obj(a);

			json_set(a, leaf, STR("."), json_new_obj(a));
			while (json_next(&m)) {
				json_set(a, leaf, arena_printf(a, "f:%.*s", STR_ARG(m.key)),
					 json_new_obj(a));
			}
			json_set(a, sub,
				 arena_printf(a, "k:{\"%s\":\"%.*s\"}", key,
					      STR_ARG(json_str(json_get(el.val, key)))),
				 leaf);
		}
		json_set(a, fs, arena_printf(a, "f:%.*s", STR_ARG(it.key)), sub);
	}
	json_set(a, f, STR("f:status"), fs);
	json_set_str(a, entry, "manager", STR("kueue-admission"));
	json_set_str(a, entry, "operation", STR("Apply"));
	json_set_str(a, entry, "subresource", STR("status"));
	json_set(a, entry, STR("fieldsV1"), f);
	json_add(a, list, entry);
	return list;
}

void w_other(struct arena *a, struct json *entry, const char *manager)
{
	json_set_str(a, entry, "manager", str_of(manager));
	json_set_str(a, entry, "operation", STR("Apply"));
	json_set_str(a, entry, "subresource", STR("status"));
	json_put(a, entry, "/fieldsV1/f:status/f:nominatedClusterNames", json_new_obj(a));
}
