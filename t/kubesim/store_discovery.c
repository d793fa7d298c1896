/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery documents, version and health of a simulated API server. */
#include "t/kubesim/store_int.h"

static bool health(struct ks_ctx *c)
{
	if (str_is(c->path, "/readyz") || str_is(c->path, "/healthz") ||
	    str_is(c->path, "/livez")) {
		ks_text(c, 200, "ok");
		return true;
	}
	if (str_is(c->path, "/version")) {
		ks_reply(c, 200,
			 STR("{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.3\","
			     "\"gitCommit\":\"kubesim\",\"gitTreeState\":\"clean\",\"buildDate\":"
			     "\"2026-01-01T00:00:00Z\",\"goVersion\":\"none\",\"compiler\":\"gcc\","
			     "\"platform\":\"linux/amd64\"}"));
		return true;
	}
	return false;
}

static struct json *group_version(struct arena *a, const struct ks_resource *r)
{
	struct json *gv = json_new_obj(a);

	json_set_str(a, gv, "groupVersion", str_of(r->api_version));
	json_set_str(a, gv, "version", str_of(r->version));
	return gv;
}

static void reply_groups(struct ks_ctx *c)
{
	struct arena *a = c->a;
	struct json *root = json_new_obj(a), *groups = json_new_arr(a), *seen = json_new_obj(a);

	json_set_str(a, root, "kind", STR("APIGroupList"));
	json_set_str(a, root, "apiVersion", STR("v1"));
	for (size_t i = 0; i < c->s->n_res; i++) {
		const struct ks_resource *r = c->s->res[i];
		struct json *g = json_get(seen, r->group), *list;
		bool known = false;

		if (!r->served || r->group[0] == '\0') {
			continue;
		}
		if (!g) {
			g = json_new_obj(a);
			json_set_str(a, g, "name", str_of(r->group));
			json_set(a, g, STR("versions"), json_new_arr(a));
			json_set(a, g, STR("preferredVersion"), group_version(a, r));
			json_set(a, seen, str_of(r->group), g);
		}
		list = json_get(g, "versions");
		for (struct json_iter it = json_iter(list); json_next(&it);) {
			known = known || str_is(json_str(json_get(it.val, "version")), r->version);
		}
		if (!known) {
			json_add(a, list, group_version(a, r));
		}
	}
	for (struct json_iter it = json_iter(seen); json_next(&it);) {
		json_add(a, groups, json_dup(a, it.val));
	}
	json_set(a, root, STR("groups"), groups);
	ks_reply(c, 200, json_write(a, root));
}

static struct json *verbs(struct arena *a, bool sub)
{
	static const char *const all[] = {
		"get", "patch", "update", "create", "delete", "deletecollection", "list", "watch"};
	struct json *list = json_new_arr(a);

	for (size_t i = 0; i < (sub ? 3U : sizeof(all) / sizeof(*all)); i++) {
		json_add(a, list, json_new_str(a, str_of(all[i])));
	}
	return list;
}

static void add_resource(struct arena *a, struct json *list, const struct ks_resource *r,
			 bool status)
{
	struct json *o = json_new_obj(a);
	mk_str rest = str_of(r->short_names), part;

	json_set_str(a, o, "name",
		     status ? arena_printf(a, "%s/status", r->plural) : str_of(r->plural));
	json_set_str(a, o, "singularName", status ? STR("") : str_of(r->singular));
	json_set_bool(a, o, "namespaced", r->namespaced);
	json_set_str(a, o, "kind", str_of(r->kind));
	json_set(a, o, STR("verbs"), verbs(a, status));
	if (!status && rest.n > 0) {
		struct json *names = json_new_arr(a);

		while (str_split(&rest, ',', &part)) {
			json_add(a, names, json_new_str(a, part));
		}
		json_set(a, o, STR("shortNames"), names);
	}
	json_add(a, list, o);
}

/*
 * A real API server shows the Events of events.k8s.io in v1, too, and kubectl asks for those. Here
 * they are two resources, and those of multikueued are in the newer: only that is shown to kubectl.
 */
static bool is_old_event(const struct ks_resource *r)
{
	return strcmp(r->id, "v1/events") == 0;
}

static bool reply_resources(struct ks_ctx *c, mk_str group_version)
{
	struct arena *a = c->a;
	struct json *root = json_new_obj(a), *list = json_new_arr(a);

	for (size_t i = 0; i < c->s->n_res; i++) {
		const struct ks_resource *r = c->s->res[i];

		if (r->served && !is_old_event(r) && str_is(group_version, r->api_version)) {
			add_resource(a, list, r, false);
			if (r->has_status) {
				add_resource(a, list, r, true);
			}
		}
	}
	if (json_len(list) == 0) {
		return false;
	}
	json_set_str(a, root, "kind", STR("APIResourceList"));
	json_set_str(a, root, "apiVersion", STR("v1"));
	json_set_str(a, root, "groupVersion", group_version);
	json_set(a, root, STR("resources"), list);
	ks_reply(c, 200, json_write(a, root));
	return true;
}

/* --- OpenAPI: as much as kubectl looks at before it applies ----------------------------------- */
static void reply_openapi_index(struct ks_ctx *c)
{
	struct arena *a = c->a;
	struct json *root = json_new_obj(a), *paths = json_new_obj(a);

	for (size_t i = 0; i < c->s->n_res; i++) {
		const struct ks_resource *r = c->s->res[i];
		mk_str key =
			arena_printf(a, "%s%s", r->group[0] ? "apis/" : "api/", r->api_version);
		struct json *o;

		if (r->served && !json_getn(paths, key)) {
			o = json_new_obj(a);
			json_set_str(a, o, "serverRelativeURL",
				     arena_printf(a, "/openapi/v3/%.*s?hash=0", STR_ARG(key)));
			json_set(a, paths, key, o);
		}
	}
	json_set(a, root, STR("paths"), paths);
	ks_reply(c, 200, json_write(a, root));
}

static struct json *patch_operation(struct arena *a, const struct ks_resource *r)
{
	static const char *const names[] = {"dryRun", "fieldManager", "fieldValidation", "force"};
	struct json *path = json_new_obj(a), *patch = json_new_obj(a), *list = json_new_arr(a);
	struct json *gvk = json_new_obj(a);

	json_set_str(a, gvk, "group", str_of(r->group));
	json_set_str(a, gvk, "version", str_of(r->version));
	json_set_str(a, gvk, "kind", str_of(r->kind));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct json *p = json_new_obj(a);

		json_set_str(a, p, "name", str_of(names[i]));
		json_set_str(a, p, "in", STR("query"));
		json_add(a, list, p);
	}
	json_set(a, patch, STR("parameters"), list);
	json_set(a, patch, STR("responses"), json_new_obj(a));
	json_set_str(a, patch, "x-kubernetes-action", STR("patch"));
	json_set(a, patch, STR("x-kubernetes-group-version-kind"), gvk);
	json_set(a, path, STR("patch"), patch);
	return path;
}

static bool reply_openapi(struct ks_ctx *c, mk_str group_version)
{
	struct arena *a = c->a;
	struct json *root = json_new_obj(a), *paths = json_new_obj(a), *info = json_new_obj(a);

	for (size_t i = 0; i < c->s->n_res; i++) {
		const struct ks_resource *r = c->s->res[i];
		const char *scope = r->namespaced ? "namespaces/{namespace}/" : "";

		if (r->served && str_is(group_version, r->api_version)) {
			json_set(a, paths,
				 arena_printf(a, "/%s/%s/%s%s/{name}", r->group[0] ? "apis" : "api",
					      r->api_version, scope, r->plural),
				 patch_operation(a, r));
		}
	}
	if (json_len(paths) == 0) {
		return false;
	}
	json_set_str(a, info, "title", STR("Kubernetes"));
	json_set_str(a, info, "version", STR("v1.36.3"));
	json_set_str(a, root, "openapi", STR("3.0.0"));
	json_set(a, root, STR("info"), info);
	json_set(a, root, STR("paths"), paths);
	ks_reply(c, 200, json_write(a, root));
	return true;
}

bool ks_do_discovery(struct ks_ctx *c)
{
	mk_str p = c->path;

	if (health(c)) {
		return true;
	}
	if (str_is(p, "/api")) {
		ks_reply(c, 200,
			 STR("{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
			     "\"serverAddressByClientCIDRs\":[]}"));
		return true;
	}
	if (str_is(p, "/apis")) {
		reply_groups(c);
		return true;
	}
	if (str_is(p, "/api/v1")) {
		return reply_resources(c, STR("v1"));
	}
	if (str_is(p, "/openapi/v3")) {
		reply_openapi_index(c);
		return true;
	}
	if (str_starts(p, STR("/openapi/v3/api/"))) {
		return reply_openapi(c, str_sub(p, 16, p.n));
	}
	if (str_starts(p, STR("/openapi/v3/apis/"))) {
		return reply_openapi(c, str_sub(p, 17, p.n));
	}
	return str_starts(p, STR("/apis/")) && reply_resources(c, str_sub(p, 6, p.n));
}
