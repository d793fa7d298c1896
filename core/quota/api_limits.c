/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of Cohorts and ClusterQueues; see api_limits.h. */
#include "core/quota/api_limits.h"

#include "core/quota/api_read.h"

static mk_str key_of(struct arena *a, bool is_queue, mk_str name)
{
	return arena_printf(a, "%s/%.*s", api_kind_name(is_queue ? API_QUEUE : API_COHORT),
			    STR_ARG(name));
}

static enum mk_code read_one(struct arena *a, struct json *json, struct api_limited *out,
			     struct mk_err *err)
{
	mk_str kind = json_str_at(json, "/kind");
	struct api_object object = {.json = json, .name = json_str_at(json, "/metadata/name")};
	struct api_reader r = {.a = a, .object = &object};
	bool is_queue = str_is(kind, api_kind_name(API_QUEUE));

	if ((!is_queue && !str_is(kind, api_kind_name(API_COHORT))) || object.name.n == 0) {
		return err_set(err, ERR_INVALID, "expected a Cohort or ClusterQueue, found %.*s",
			       STR_ARG(kind));
	}
	*out = (struct api_limited){
		.json = json,
		.is_queue = is_queue,
		.key = key_of(a, is_queue, object.name),
		.name = object.name,
		.cohort = json_str_at(json, is_queue ? "/spec/cohortName" : "/spec/parentName"),
		.up = API_NONE,
	};
	api_read_groups(&r, json_at(json, "/spec/resourceGroups"), STR("spec.resourceGroups"),
			&out->quotas);
	if (object.faults.n > 0) {
		return err_set(err, ERR_INVALID, "%.*s: %.*s: %.*s", STR_ARG(out->key),
			       STR_ARG(object.faults.p[0].path), STR_ARG(object.faults.p[0].text));
	}
	return ERR_OK;
}

static bool find_parents(struct arena *a, struct api_limits *l)
{
	for (size_t i = 0; i < l->n; i++) {
		mk_str key;
		const struct api_limited *up;

		if (l->v[i].cohort.n == 0) {
			continue;
		}
		key = key_of(a, false, l->v[i].cohort);
		if (!key.p) {
			return false;
		}
		up = api_limits_get(l, key);
		l->v[i].up = up != NULL ? (size_t)(up - l->v) : API_NONE;
	}
	return true;
}

enum mk_code api_limits_read(struct arena *a, struct json *const *objects, size_t n,
			     struct api_limits **ret, struct mk_err *err)
{
	struct api_limits *l = arena_alloc(a, sizeof(*l));

	if (l != NULL) {
		l->v = arena_array(a, n, sizeof(*l->v));
	}
	if (!l || !l->v || !arena_on_done(a, api_map_free, &l->index)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (size_t i = 0; i < n; i++) {
		enum mk_code code = read_one(a, objects[i], &l->v[l->n], err);

		if (code != ERR_OK) {
			return code;
		}
		if (map_get(&l->index, l->v[l->n].key) != NULL) {
			return err_set(err, ERR_INVALID, "%.*s is there twice",
				       STR_ARG(l->v[l->n].key));
		}
		if (!l->v[l->n].key.p || !map_put(&l->index, l->v[l->n].key, &l->v[l->n])) {
			return err_set(err, ERR_NO_MEMORY, "out of memory");
		}
		l->n++;
	}
	if (!find_parents(a, l)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (size_t i = 0; i < l->n; i++) {
		for (size_t k = l->v[i].up; k != API_NONE; k = l->v[k].up) {
			if (++l->v[i].depth > l->n) {
				return err_set(err, ERR_INVALID, "%.*s is below itself",
					       STR_ARG(l->v[i].key));
			}
		}
	}
	*ret = l;
	return arena_failed(a) ? err_set(err, ERR_NO_MEMORY, "out of memory") : ERR_OK;
}

const struct api_limited *api_limits_get(const struct api_limits *l, mk_str key)
{
	return map_get(&l->index, key);
}
