/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and discovery of the aggregated API; see api_paths.h. */
#include "core/serve/api_paths.h"

#include "core/net/http_parse.h"

static const struct api_resource resources[] = {
	{"workloads", "workload", "Workload", true, true},
	{"events", "event", "Event", true, false},
	{"clusters", "cluster", "Cluster", false, true},
	{"queues", "queue", "ClusterQueue", false, false},
	{"daemons", "daemon", "Daemon", false, false},
};
enum { N_RESOURCES = sizeof(resources) / sizeof(resources[0]), PARTS_MAX = 8 };

/* --- paths ------------------------------------------------------------------------------------ */

/* The parts between slashes, without %XX. More than PARTS_MAX, or a malformed one: 0. */
static size_t split(struct arena *a, mk_str path, mk_str parts[static PARTS_MAX])
{
	mk_str rest = str_sub(path, 1, path.n), part;
	size_t n = 0;

	while (str_split(&rest, '/', &part)) {
		if (n == PARTS_MAX || part.n == 0 || !call_decode(a, part, &parts[n]) ||
		    str_index(parts[n], '/') >= 0) {
			return 0;
		}
		n++;
	}
	return n;
}

static const struct api_resource *resource_of(mk_str plural)
{
	for (size_t i = 0; i < N_RESOURCES; i++) {
		if (str_is(plural, resources[i].plural)) {
			return &resources[i];
		}
	}
	return NULL;
}

/* What stands behind the version: RESOURCE[/NAME], the namespace taken off. */
static struct api_target behind_version(const mk_str *parts, size_t n, mk_str ns)
{
	struct api_target t = {.what = API_NOTHING, .ns = ns, .name = STR("")};
	const struct api_resource *r = n == 1 || n == 2 ? resource_of(parts[0]) : NULL;

	if (!r || (ns.n > 0 && !r->namespaced) ||
	    (n == 2 && (!r->has_get || (r->namespaced && ns.n == 0)))) {
		return t;
	}
	t.what = n == 2 ? API_ONE : API_LIST;
	t.resource = r;
	t.name = n == 2 ? parts[1] : STR("");
	return t;
}

static bool is_health(mk_str path)
{
	return str_is(path, "/healthz") || str_is(path, "/livez") || str_is(path, "/readyz");
}

struct api_target api_target_of(struct arena *a, mk_str path)
{
	static const enum api_what above[] = {API_NOTHING, API_GROUPS, API_GROUP, API_RESOURCES};
	const struct api_target nothing = {.what = API_NOTHING};
	mk_str parts[PARTS_MAX];
	size_t n;

	if (is_health(path)) {
		return (struct api_target){.what = API_HEALTH};
	}
	if (path.n > 1 && path.p[path.n - 1] == '/') {
		path.n--;
	}
	n = split(a, path, parts);
	if (n == 0 || !str_is(parts[0], "apis") ||
	    (n > 1 && !str_is(parts[1], NAME_VISIBILITY_GROUP)) ||
	    (n > 2 && !str_is(parts[2], NAME_VISIBILITY_VERSION))) {
		return nothing;
	}
	if (n <= 3) {
		return (struct api_target){.what = above[n]};
	}
	if (n > 5 && str_is(parts[3], "namespaces")) {
		return behind_version(parts + 5, n - 5, parts[4]);
	}
	return behind_version(parts + 3, n - 3, STR(""));
}

/* --- rights ----------------------------------------------------------------------------------- */

static const char *verb_of(const struct api_target *t)
{
	return t->what == API_ONE ? "get" : "list";
}

struct json *api_attributes(struct arena *a, const struct api_target *t)
{
	struct json *o = json_new_obj(a);

	json_set_str(a, o, "verb", str_of(verb_of(t)));
	json_set_str(a, o, "group", STR(NAME_VISIBILITY_GROUP));
	json_set_str(a, o, "version", STR(NAME_VISIBILITY_VERSION));
	json_set_str(a, o, "resource", str_of(t->resource->plural));
	if (t->ns.n > 0) {
		json_set_str(a, o, "namespace", t->ns);
	}
	if (t->name.n > 0) {
		json_set_str(a, o, "name", t->name);
	}
	return o;
}

mk_str api_forbidden(struct arena *a, const struct api_target *t, mk_str user)
{
	mk_str where = t->ns.n > 0 ? arena_printf(a, "in the namespace \"%.*s\"", STR_ARG(t->ns))
				   : STR("at the cluster scope");
	mk_str name = t->name.n > 0 ? arena_printf(a, " \"%.*s\"", STR_ARG(t->name)) : STR("");

	return arena_printf(a,
			    "%s." NAME_VISIBILITY_GROUP
			    "%.*s is forbidden: User \"%.*s\" cannot %s "
			    "resource \"%s\" in API group \"" NAME_VISIBILITY_GROUP "\" %.*s",
			    t->resource->plural, STR_ARG(name), STR_ARG(user), verb_of(t),
			    t->resource->plural, STR_ARG(where));
}

/* --- discovery -------------------------------------------------------------------------------- */

static struct json *object_of(struct arena *a, const char *kind)
{
	struct json *o = json_new_obj(a);

	json_set_str(a, o, "kind", str_of(kind));
	json_set_str(a, o, "apiVersion", STR("v1"));
	return o;
}

static struct json *version_of(struct arena *a)
{
	struct json *o = json_new_obj(a);

	json_set_str(a, o, "groupVersion", STR(NAME_VISIBILITY_API));
	json_set_str(a, o, "version", STR(NAME_VISIBILITY_VERSION));
	return o;
}

static void fill_group(struct arena *a, struct json *o)
{
	struct json *versions = json_new_arr(a);

	json_add(a, versions, version_of(a));
	json_set_str(a, o, "name", STR(NAME_VISIBILITY_GROUP));
	json_set(a, o, STR("versions"), versions);
	json_set(a, o, STR("preferredVersion"), version_of(a));
}

static struct json *resource_entry(struct arena *a, const struct api_resource *r)
{
	struct json *o = json_new_obj(a), *verbs = json_new_arr(a);

	json_set_str(a, o, "name", str_of(r->plural));
	json_set_str(a, o, "singularName", str_of(r->singular));
	json_set_bool(a, o, "namespaced", r->namespaced);
	json_set_str(a, o, "kind", str_of(r->kind));
	if (r->has_get) {
		json_add(a, verbs, json_new_str(a, STR("get")));
	}
	json_add(a, verbs, json_new_str(a, STR("list")));
	json_set(a, o, STR("verbs"), verbs);
	return o;
}

void api_discover(struct call *c, const struct api_target *t)
{
	struct arena *a = &c->a;
	struct json *o, *list = json_new_arr(a), *group;

	if (t->what == API_GROUPS) {
		o = object_of(a, "APIGroupList");
		group = json_new_obj(a);
		fill_group(a, group);
		json_add(a, list, group);
		json_set(a, o, STR("groups"), list);
	} else if (t->what == API_GROUP) {
		o = object_of(a, "APIGroup");
		fill_group(a, o);
	} else {
		o = object_of(a, "APIResourceList");
		json_set_str(a, o, "groupVersion", STR(NAME_VISIBILITY_API));
		for (size_t i = 0; i < N_RESOURCES; i++) {
			json_add(a, list, resource_entry(a, &resources[i]));
		}
		json_set(a, o, STR("resources"), list);
	}
	call_put(c, o);
}

/* --- forms ------------------------------------------------------------------------------------ */

/* The value of a parameter of a media type, or "". */
static mk_str parameter(mk_str params, const char *wanted)
{
	mk_str one, name;

	while (str_split(&params, ';', &one)) {
		if (str_split(&one, '=', &name) && str_is(str_trim(name), wanted)) {
			return str_trim(one);
		}
	}
	return STR("");
}

/* The form that one entry of Accept means. */
static enum api_form form_of(mk_str entry)
{
	mk_str rest = entry, type, as;

	if (!str_split(&rest, ';', &type)) {
		return API_UNKNOWN;
	}
	type = str_trim(type);
	if (!str_is(type, "application/json") && !str_is(type, "application/*") &&
	    !str_is(type, "*/*")) {
		return API_UNKNOWN;
	}
	as = parameter(rest, "as");
	if (as.n == 0) {
		return API_JSON;
	}
	return str_is(as, "Table") && str_is(parameter(rest, "v"), "v1") &&
			       str_is(parameter(rest, "g"), "meta.k8s.io")
		       ? API_TABLE
		       : API_UNKNOWN;
}

/* The first that we know, in the client's order; without the header JSON. */
enum api_form api_form_of(mk_str headers)
{
	enum api_form form = API_JSON;
	mk_str name, value, entry;

	while (http_next_header(&headers, &name, &value)) {
		if (!http_name_is(name, STR("accept"))) {
			continue;
		}
		form = API_UNKNOWN;
		while (form == API_UNKNOWN && str_split(&value, ',', &entry)) {
			form = form_of(entry);
		}
		if (form != API_UNKNOWN) {
			break;
		}
	}
	return form;
}
