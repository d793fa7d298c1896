/* SPDX-License-Identifier: Apache-2.0 */
/* Owners; see owner.h. */
#include "core/api/owner.h"

mk_str api_gvk_text(struct arena *a, mk_str api_version, mk_str kind)
{
	const char *slash = str_index(api_version, '/') < 0 ? "/" : "";

	return arena_printf(a, "%s%.*s, Kind=%.*s", slash, STR_ARG(api_version), STR_ARG(kind));
}

struct json *api_owner(const struct json *obj)
{
	const struct json *refs = json_at(obj, "/metadata/ownerReferences");
	struct json_iter it = json_iter(refs);

	while (json_next(&it)) {
		if (json_bool(json_get(it.val, "controller"))) {
			return it.val;
		}
	}
	return json_elem(refs, 0);
}

mk_str api_owner_uid(struct arena *a, const struct json *obj, mk_str gvk, mk_str name)
{
	struct json_iter it = json_iter(json_at(obj, "/metadata/ownerReferences"));

	while (json_next(&it)) {
		if (str_eq(json_str(json_get(it.val, "name")), name) &&
		    str_eq(api_gvk_text(a, json_str(json_get(it.val, "apiVersion")),
					json_str(json_get(it.val, "kind"))),
			   gvk)) {
			return json_str(json_get(it.val, "uid"));
		}
	}
	return STR_NONE;
}
