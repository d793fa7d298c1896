/* SPDX-License-Identifier: Apache-2.0 */
/* Resource groups, of both plans, as Kueue takes them (V28 to V30), and names (V31). */
#include "core/api/field.h"
#include "core/quota/validate_int.h"

enum { NAME_MAX_LENGTH = 253 };

struct groups {
	struct validate_ctx *c;
	const struct api_object *object;
	bool plan_b;
	/* names to anything: resources so far, flavors of the groups before this one */
	struct map resources, flavors;
};

/* True when there is a list with something in it; else it is told (V30). */
static bool check_list(struct groups *g, const struct json *list, mk_str path)
{
	if (list != NULL && json_type(list) != JSON_ARR) {
		/* Of flavors the reader has told it. */
		if (!str_ends(path, STR(".flavors"))) {
			validate_fault(g->c, g->object, 0, path, "Invalid value: must be a list");
		}
		return false;
	}
	if (json_len(list) == 0) {
		validate_fault(g->c, g->object, 30, path, "Required value: at least one");
		return false;
	}
	return true;
}

static void once(struct groups *g, const struct json *v, mk_str path)
{
	mk_str name = json_str(v);

	if (name.n == 0) {
		return;
	}
	if (map_get(&g->resources, name) != NULL) {
		validate_fault(g->c, g->object, 28, path, "Duplicate value: \"%.*s\"",
			       STR_ARG(name));
	} else if (!map_put(&g->resources, name, g)) {
		g->c->a->failed = true;
	}
}

/* Is that a name of 'list'? Its elements are names, or have them. */
static bool holds(const struct json *list, mk_str name)
{
	struct json_iter it = json_iter(list);

	while (json_next(&it)) {
		const struct json *v =
			json_type(it.val) == JSON_OBJ ? api_get(it.val, "name") : it.val;

		if (str_eq(json_str(v), name)) {
			return true;
		}
	}
	return false;
}

/*
 * V29: the resources of a flavor are those of coveredResources, in their order. A name that is
 * missing or there twice is the reader's to tell, one that is not covered is V19's in PlanB.
 */
static void check_resources(struct groups *g, const struct json *covered, const struct json *list,
			    mk_str path)
{
	struct json_iter want = json_iter(covered);
	struct json_iter it = json_iter(list);
	bool same = json_len(list) == json_len(covered);

	if ((list != NULL && json_type(list) != JSON_ARR) ||
	    json_len(covered) > VALIDATE_MAX_RESOURCES || json_len(list) > VALIDATE_MAX_RESOURCES) {
		return;
	}
	while (json_next(&want)) {
		if (!holds(list, json_str(want.val))) {
			validate_fault(g->c, g->object, 29, path,
				       "Required value: \"%.*s\" of coveredResources",
				       STR_ARG(json_str(want.val)));
			same = false;
		}
	}
	want = json_iter(covered);
	for (size_t i = 0; json_next(&it); i++) {
		mk_str name = json_str(api_get(it.val, "name"));
		mk_str at = arena_printf(g->c->a, "%.*s[%zu].name", STR_ARG(path), i);

		json_next(&want);
		if (name.n > 0 && !g->plan_b && !holds(covered, name)) {
			validate_fault(g->c, g->object, 29, at,
				       "Invalid value: \"%.*s\": must be one of coveredResources",
				       STR_ARG(name));
		} else if (name.n > 0 && same && !str_eq(name, json_str(want.val))) {
			validate_fault(g->c, g->object, 29, at,
				       "Invalid value: \"%.*s\": must be \"%.*s\", in the order of "
				       "coveredResources",
				       STR_ARG(name), STR_ARG(json_str(want.val)));
		}
	}
}

static void check_group(struct groups *g, const struct json *group, mk_str path)
{
	const struct json *covered = api_get(group, "coveredResources");
	const struct json *flavors = api_get(group, "flavors");
	mk_str at = arena_printf(g->c->a, "%.*s.coveredResources", STR_ARG(path));
	mk_str below = arena_printf(g->c->a, "%.*s.flavors", STR_ARG(path));
	bool known = check_list(g, covered, at);
	struct json_iter it = json_iter(covered);

	for (size_t i = 0; known && json_next(&it); i++) {
		once(g, it.val, arena_printf(g->c->a, "%.*s[%zu]", STR_ARG(at), i));
	}
	if (!check_list(g, flavors, below)) {
		return;
	}
	it = json_iter(flavors);
	for (size_t i = 0; known && json_next(&it); i++) {
		check_resources(g, covered, api_get(it.val, "resources"),
				arena_printf(g->c->a, "%.*s[%zu].resources", STR_ARG(below), i));
	}
	it = json_iter(flavors);
	for (size_t i = 0; json_next(&it); i++) {
		mk_str name = json_str(api_get(it.val, "name"));

		if (name.n > 0 && map_get(&g->flavors, name) != NULL) {
			validate_fault(g->c, g->object, 28,
				       arena_printf(g->c->a, "%.*s[%zu].name", STR_ARG(below), i),
				       "Duplicate value: \"%.*s\"", STR_ARG(name));
		}
	}
	it = json_iter(flavors);
	while (json_next(&it)) {
		mk_str name = json_str(api_get(it.val, "name"));

		/* Twice in one group is the reader's to tell. */
		if (name.n > 0 && !map_put(&g->flavors, name, g)) {
			g->c->a->failed = true;
		}
	}
}

void validate_groups(struct validate_ctx *c, const struct api_object *object)
{
	const struct json *spec = api_get(object->json, "spec");
	const struct json *one = object->kind == API_TREE ? api_get(spec, "resourceGroup") : NULL;
	const struct json *several = api_get(spec, "resourceGroups");
	struct groups g = {.c = c, .object = object, .plan_b = object->kind == API_TREE};
	struct json_iter it = json_iter(!one && json_type(several) == JSON_ARR ? several : NULL);

	if (one != NULL && json_type(one) == JSON_OBJ) {
		check_group(&g, one, STR("spec.resourceGroup"));
	}
	for (size_t i = 0; json_next(&it); i++) {
		check_group(&g, it.val, arena_printf(c->a, "spec.resourceGroups[%zu]", i));
	}
	map_done(&g.resources);
	map_done(&g.flavors);
}

/* --- names ------------------------------------------------------------------------------------ */

static bool is_label(mk_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		bool good = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9');

		if (!good && (s.p[i] != '-' || i == 0 || i + 1 == s.n)) {
			return false;
		}
	}
	return s.n > 0;
}

static bool is_subdomain(mk_str s)
{
	bool good = s.n > 0 && s.n <= NAME_MAX_LENGTH && s.p[s.n - 1] != '.';
	mk_str part;

	while (good && str_split(&s, '.', &part)) {
		good = is_label(part);
	}
	return good;
}

void validate_name(struct validate_ctx *c, const struct api_object *object, mk_str name,
		   mk_str path)
{
	if (name.n > 0 && !is_subdomain(name)) {
		validate_fault(c, object, 31, path,
			       "Invalid value: \"%.*s\": must be a DNS subdomain: lower case "
			       "letters, digits, '-' and '.'",
			       STR_ARG(str_cut(name, NAME_MAX_LENGTH)));
	}
}
