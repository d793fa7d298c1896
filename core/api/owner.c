/* SPDX-License-Identifier: Apache-2.0 */
/* Owners; see owner.h. */
#include "core/api/owner.h"

mk_str api_gvk_text(struct arena *a, mk_str api_version, mk_str kind)
{
	const mk_str parts[] = {str_index(api_version, '/') < 0 ? STR("/") : STR_NONE, api_version,
				STR(", Kind="), kind};
	mk_str text = {NULL, 0};
	char *p = arena_alloc_raw(a, api_version.n + kind.n + sizeof("/, Kind="));

	if (!p) {
		return text;
	}
	text.p = p;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (parts[i].n > 0) {
			memcpy(p + text.n, parts[i].p, parts[i].n);
			text.n += parts[i].n;
		}
	}
	p[text.n] = '\0';
	return text;
}

struct json *api_owner(const struct json *obj)
{
	const struct json *refs = json_get(json_get(obj, "metadata"), "ownerReferences");
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
