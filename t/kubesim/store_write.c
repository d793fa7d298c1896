/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST, PUT and PATCH: bodies, preconditions, the wanted state. What follows is in store_finish.c.
 */
#include "t/kubesim/protobuf.h"
#include "t/kubesim/ssa.h"
#include "t/kubesim/store_int.h"

/* --- bodies ----------------------------------------------------------------------------------- */
static mk_str media_type(struct ks_ctx *c)
{
	mk_str rest = c->r->content_type, type = STR("");

	(void)str_split(&rest, ';', &type);
	return str_trim(type);
}

bool ks_read_body(struct ks_ctx *c, struct json **ret)
{
	struct mk_err err;

	if (json_parse(c->a, c->r->body, ret, &err) != ERR_OK) {
		return ks_bad_request(c, "error decoding body: %s", err.msg);
	}
	return true;
}

static bool read_binary(struct ks_ctx *c, struct json **ret)
{
	*ret = ks_protobuf_read(c->a, c->r->body);
	return *ret != NULL || ks_bad_request(c, "error decoding body: no Namespace in it");
}

static bool unsupported(struct ks_ctx *c, const char *accepted)
{
	return ks_fail(c, 415, "UnsupportedMediaType",
		       arena_printf(c->a,
				    "the body of the request was in an unknown format - accepted "
				    "media types include: %s",
				    accepted),
		       NULL, NULL);
}

/* Kind, apiVersion and namespace of a whole object must fit the URL. */
static bool fits_url(struct ks_ctx *c, struct json *body)
{
	mk_str kind = json_str(json_get(body, "kind"));
	mk_str version = json_str(json_get(body, "apiVersion"));
	struct json *meta = json_get(body, "metadata");
	mk_str ns;

	if (json_type(body) != JSON_OBJ) {
		return ks_bad_request(c, "the object provided is no object");
	}
	if (!meta) {
		json_set(c->a, body, STR("metadata"), json_new_obj(c->a));
		meta = json_get(body, "metadata");
	}
	if (json_type(meta) != JSON_OBJ) {
		return ks_bad_request(c, "metadata is no object");
	}
	if (!c->res->builtin && (kind.n == 0 || version.n == 0)) {
		return ks_bad_request(c, "Object 'Kind' is missing in the body");
	}
	if ((kind.n > 0 && !str_is(kind, c->res->kind)) ||
	    (version.n > 0 && !str_is(version, c->res->api_version))) {
		return ks_bad_request(
			c,
			"the API version in the data (%.*s, Kind=%.*s) does not match "
			"the expected API version (%s, Kind=%s)",
			STR_ARG(version), STR_ARG(kind), c->res->api_version, c->res->kind);
	}
	ns = json_str(json_get(meta, "namespace"));
	if (c->res->namespaced && ns.n > 0 && !str_eq(ns, c->ns)) {
		return ks_bad_request(c, "the namespace of the provided object does not match the "
					 "namespace sent on the request");
	}
	json_set_str(c->a, body, "apiVersion", str_of(c->res->api_version));
	json_set_str(c->a, body, "kind", str_of(c->res->kind));
	json_set(c->a, meta, STR("namespace"),
		 c->res->namespaced ? json_new_str(c->a, c->ns) : NULL);
	return true;
}

static bool read_options(struct ks_ctx *c)
{
	mk_str dry = ks_param(c, "dryRun");

	c->dry_run = str_is(dry, "All");
	if (dry.n > 0 && !c->dry_run) {
		return ks_bad_request(c, "dryRun: Unsupported value: \"%.*s\"", STR_ARG(dry));
	}
	return true;
}

bool ks_need_object(struct ks_ctx *c, struct ks_object **ret)
{
	*ret = ks_find(c->res, c->ns, c->name);
	return *ret != NULL || ks_not_found(c);
}

/* --- create ----------------------------------------------------------------------------------- */
static bool namespace_ok(struct ks_ctx *c)
{
	struct ks_resource *r = ks_resource_by_id(c->s, "v1/namespaces");
	struct ks_object *o = ks_find(r, STR(""), c->ns);
	struct json *d;

	if (!c->res->namespaced) {
		return true;
	}
	if (!o) {
		d = json_new_obj(c->a);
		json_set_str(c->a, d, "name", c->ns);
		json_set_str(c->a, d, "kind", STR("namespaces"));
		return ks_fail(c, 404, "NotFound",
			       arena_printf(c->a, "namespaces \"%.*s\" not found", STR_ARG(c->ns)),
			       d, NULL);
	}
	if (json_at(o->tree, "/metadata/deletionTimestamp") != NULL) {
		return ks_fail_named(c, 403, "Forbidden",
				     arena_printf(c->a,
						  "%s \"%.*s\" is forbidden: unable to create new "
						  "content in namespace %.*s because it is being "
						  "terminated",
						  ks_plural_group(c).p, STR_ARG(c->name),
						  STR_ARG(c->ns)),
				     NULL);
	}
	return true;
}

static void generate_name(struct ks_ctx *c, struct json *meta)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	mk_str base = str_cut(json_str(json_get(meta, "generateName")), 58);
	char tail[6] = "";

	for (size_t i = 0; i < 5; i++) {
		tail[i] = letters[rng_below(&c->s->rng, sizeof(letters) - 1)];
	}
	json_set_str(c->a, meta, "name", arena_printf(c->a, "%.*s%s", STR_ARG(base), tail));
}

static bool already_exists(struct ks_ctx *c, const struct ks_object *o)
{
	bool deleting = json_at(o->tree, "/metadata/deletionTimestamp") != NULL;

	return ks_fail_named(c, 409, "AlreadyExists",
			     arena_printf(c->a, "%s%s \"%.*s\" already exists",
					  deleting ? "object is being deleted: " : "",
					  ks_plural_group(c).p, STR_ARG(c->name)),
			     NULL);
}

void ks_do_create(struct ks_ctx *c)
{
	mk_str type = media_type(c);
	struct json *body, *meta;
	struct ks_object *o;
	struct ks_write w = {.status = 201};
	bool binary;

	if (c->sub.n > 0 || (c->res->namespaced && c->ns.n == 0)) {
		ks_fail(c, 405, "MethodNotAllowed",
			STR("the server does not allow this method on the requested resource"),
			NULL, NULL);
		return;
	}
	binary = str_is(type, KS_PROTOBUF) && strcmp(c->res->kind, "Namespace") == 0;
	if (type.n > 0 && !binary && !str_is(type, "application/json")) {
		unsupported(c, "application/json");
		return;
	}
	if (!read_options(c) || !(binary ? read_binary(c, &body) : ks_read_body(c, &body)) ||
	    !fits_url(c, body)) {
		return;
	}
	meta = json_get(body, "metadata");
	if (json_str(json_get(meta, "name")).n == 0 &&
	    json_str(json_get(meta, "generateName")).n > 0) {
		generate_name(c, meta);
	}
	c->name = json_str(json_get(meta, "name"));
	if (json_str(json_get(meta, "resourceVersion")).n > 0) {
		ks_server_error(c, "resourceVersion should not be set on objects to be created");
		return;
	}
	if (!namespace_ok(c)) {
		return;
	}
	o = ks_find(c->res, c->ns, c->name);
	if (o != NULL) {
		already_exists(c, o);
		return;
	}
	w.tree = body;
	ks_finish_write(c, &w);
}

/* --- update ----------------------------------------------------------------------------------- */
static bool check_name(struct ks_ctx *c, const struct json *tree)
{
	mk_str name = json_str_at(tree, "/metadata/name");

	if (!str_eq(name, c->name)) {
		return ks_bad_request(
			c,
			"the name of the object (%.*s) does not match the name on the "
			"URL (%.*s)",
			STR_ARG(name), STR_ARG(c->name));
	}
	return true;
}

static bool check_rv(struct ks_ctx *c, const struct ks_object *o, const struct json *tree)
{
	mk_str rv = json_str_at(tree, "/metadata/resourceVersion");
	uint64_t n;

	if (rv.n == 0) {
		return true;
	}
	if (!str_u64(rv, &n)) {
		return ks_bad_request(c, "invalid resourceVersion \"%.*s\"", STR_ARG(rv));
	}
	return n == o->v->rv ||
	       ks_conflict(c,
			   "the object has been modified; please apply your changes to the latest "
			   "version and try again");
}

void ks_do_put(struct ks_ctx *c)
{
	mk_str type = media_type(c), uid;
	struct ks_write w = {.status = 200};
	struct json *body;

	if (type.n > 0 && !str_is(type, "application/json")) {
		unsupported(c, "application/json");
		return;
	}
	if (!read_options(c) || !ks_read_body(c, &body) || !fits_url(c, body) ||
	    !check_name(c, body) || !ks_need_object(c, &w.old)) {
		return;
	}
	if (json_str_at(body, "/metadata/resourceVersion").n == 0 &&
	    (!c->res->builtin || strcmp(c->res->kind, "Lease") == 0)) {
		struct ks_causes v = {.c = c};

		ks_cause(&v, "FieldValueInvalid", "metadata.resourceVersion",
			 "Invalid value: 0x0: must be specified for an update");
		(void)ks_causes_ok(&v);
		return;
	}
	uid = json_str_at(body, "/metadata/uid");
	if (uid.n > 0 && !str_eq(uid, json_str_at(w.old->tree, "/metadata/uid"))) {
		ks_conflict(c,
			    arena_printf(c->a,
					 "Precondition failed: UID in precondition: %.*s, UID in "
					 "object meta: %.*s",
					 STR_ARG(uid),
					 STR_ARG(json_str_at(w.old->tree, "/metadata/uid")))
				    .p);
		return;
	}
	if (check_rv(c, w.old, body)) {
		w.tree = body;
		w.reset_managed = json_type(json_at(body, "/metadata/managedFields")) == JSON_ARR &&
				  json_len(json_at(body, "/metadata/managedFields")) == 0;
		ks_finish_write(c, &w);
	}
}

/* --- patch ------------------------------------------------------------------------------------ */
/* Without members that are null, which an apply treats as absent. */
static struct json *without_nulls(struct arena *a, const struct json *v)
{
	struct json_iter it = json_iter(v);
	struct json *n;

	if (json_type(v) == JSON_OBJ) {
		n = json_new_obj(a);
		while (json_next(&it)) {
			if (json_type(it.val) != JSON_NULL) {
				json_set(a, n, it.key, without_nulls(a, it.val));
			}
		}
		return n;
	}
	if (json_type(v) == JSON_ARR) {
		n = json_new_arr(a);
		while (json_next(&it)) {
			json_add(a, n, without_nulls(a, it.val));
		}
		return n;
	}
	return json_dup(a, v);
}

static bool has_null(const struct json *v)
{
	struct json_iter it = json_iter(v);

	while (json_next(&it)) {
		if (json_type(it.val) == JSON_NULL || has_null(it.val)) {
			return true;
		}
	}
	return false;
}

/* Of an applied object only its own half counts: spec or status. Uses up 'body'. */
static struct json *own_half(struct ks_ctx *c, struct json *body)
{
	static const char *const not_ours[] = {
		"generation",        "creationTimestamp",          "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
		"resourceVersion"};
	struct json *cfg = has_null(body) ? without_nulls(c->a, body) : body;
	struct json *status;

	for (size_t i = 0; i < sizeof(not_ours) / sizeof(*not_ours); i++) {
		json_set(c->a, json_get(cfg, "metadata"), str_of(not_ours[i]), NULL);
	}

	if (c->sub.n == 0) {
		if (c->res->has_status) {
			json_set(c->a, cfg, STR("status"), NULL);
		}
		return cfg;
	}
	status = json_share(c->a, json_get(cfg, "status"));
	cfg = json_new_obj(c->a);
	json_set(c->a, cfg, STR("status"), status);
	return cfg;
}

/* What the apply starts from: the live object, or a new one. False: answered. */
static bool apply_target(struct ks_ctx *c, struct ks_write *w, const struct json *body)
{
	mk_str uid = json_str_at(body, "/metadata/uid");
	struct json *meta;

	if (w->old != NULL) {
		if (!check_rv(c, w->old, body)) {
			return false;
		}
		w->tree = ks_fork(c, w->old);
		if (uid.n > 0 && (c->sub.n == 0 || c->res->builtin)) {
			json_set_str(c->a, json_get(w->tree, "metadata"), "uid", uid);
		}
		return true;
	}
	if (c->sub.n > 0) {
		return ks_not_found(c);
	}
	if (uid.n > 0) {
		return ks_conflict(c, "uid mismatch: the provided object specified uid, and no "
				      "existing object was found");
	}
	if (!namespace_ok(c)) {
		return false;
	}
	w->status = 201;
	w->tree = json_new_obj(c->a);
	meta = json_new_obj(c->a);
	json_set_str(c->a, w->tree, "apiVersion", str_of(c->res->api_version));
	json_set_str(c->a, w->tree, "kind", str_of(c->res->kind));
	json_set(c->a, w->tree, STR("metadata"), meta);
	json_set_str(c->a, meta, "name", c->name);
	if (c->res->namespaced) {
		json_set_str(c->a, meta, "namespace", c->ns);
	}
	return true;
}

static void apply_patch(struct ks_ctx *c)
{
	mk_str manager = ks_param(c, "fieldManager");
	struct ks_write w = {.status = 200, .force = ks_param_true(c, "force")};
	struct json *body;
	const char *why;

	if (manager.n == 0) {
		ks_fail(c, 400, "BadRequest",
			STR("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required "
			    "value: is "
			    "required for apply patch"),
			NULL, NULL);
		return;
	}
	if (!ks_read_body(c, &body) || !fits_url(c, body)) {
		return;
	}
	if (json_str_at(body, "/metadata/name").n == 0) {
		json_set_str(c->a, json_get(body, "metadata"), "name", c->name);
	}
	if (json_len(json_at(body, "/metadata/managedFields")) > 0) {
		ks_bad_request(c, "metadata.managedFields must be nil");
		return;
	}
	why = ssa_precheck(c->a, c->res->kind, body);
	if (!check_name(c, body)) {
		return;
	}
	if (why != NULL) {
		ks_server_error(
			c, "failed to create typed patch object (%.*s/%.*s; %s, Kind=%s): %s",
			STR_ARG(c->ns), STR_ARG(c->name), c->res->api_version, c->res->kind, why);
		return;
	}
	w.old = ks_find(c->res, c->ns, c->name);
	if (!apply_target(c, &w, body)) {
		return;
	}
	w.applied = own_half(c, body);
	ks_finish_write(c, &w);
}

/*
 * Takes out of a merge patch to /status what has no effect there, which
 * saves comparing and restoring it.
 */
static void status_half(struct ks_ctx *c, struct ks_write *w, struct json *patch)
{
	static const char *const kept[] = {"name", "namespace", "resourceVersion", "uid"};
	struct json *old_meta = json_get(patch, "metadata"), *meta = json_new_obj(c->a);
	struct json_iter it = json_iter(patch);

	if (!str_is(c->sub, "status")) {
		return;
	}
	while (json_next(&it)) {
		if (!str_is(it.key, "status") && !str_is(it.key, "kind") &&
		    !str_is(it.key, "apiVersion") && !str_is(it.key, "metadata")) {
			json_set(c->a, patch, it.key, NULL);
		}
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		bool ours = strcmp(kept[i], "uid") != 0 || c->res->builtin;

		json_set(c->a, meta, str_of(kept[i]),
			 ours ? json_dup(c->a, json_get(old_meta, kept[i])) : NULL);
	}
	if (old_meta != NULL) {
		json_set(c->a, patch, STR("metadata"), meta);
	}
	w->status_only = true;
}

/* A merge patch into a forked tree, whose nodes this makes its own along the way. */
static void merge_into(struct arena *a, struct json *tree, const struct json *patch)
{
	struct json_iter it = json_iter(patch);

	json_own(a, tree);
	while (json_next(&it)) {
		struct json *mine = json_getn(tree, it.key);

		if (json_type(it.val) == JSON_NULL) {
			json_set(a, tree, it.key, NULL);
		} else if (json_type(it.val) == JSON_OBJ && json_type(mine) == JSON_OBJ) {
			merge_into(a, mine, it.val);
		} else {
			json_set(a, tree, it.key, json_merge(a, NULL, it.val));
		}
	}
}

/* Which patch a media type asks for; false: answered. */
static bool patch_tree(struct ks_ctx *c, struct ks_write *w)
{
	mk_str type = media_type(c);
	struct json *patch;
	const char *why;

	if (!str_is(type, "application/merge-patch+json") &&
	    !str_is(type, "application/json-patch+json") &&
	    !(c->res->builtin && str_is(type, "application/strategic-merge-patch+json"))) {
		return unsupported(c, "application/json-patch+json, application/merge-patch+json, "
				      "application/apply-patch+yaml");
	}
	if (!ks_read_body(c, &patch)) {
		return false;
	}
	if (str_is(type, "application/json-patch+json")) {
		w->tree = json_dup(c->a, w->old->tree);
		if (ks_json_patch(c->a, w->tree, patch, &why)) {
			return true;
		}
		return ks_fail(
			c, 422, "Invalid",
			STR("the server rejected our request due to an error in our request"),
			json_new_obj(c->a), NULL);
	}
	if (json_type(patch) != JSON_OBJ) {
		return ks_bad_request(c, "the patch is no object");
	}
	if (str_is(type, "application/merge-patch+json")) {
		status_half(c, w, patch);
		w->tree = ks_fork(c, w->old);
		merge_into(c->a, w->tree, patch);
	} else {
		w->tree = json_dup(c->a, w->old->tree);
		ssa_strategic(c->a, c->res->kind, w->tree, patch);
	}
	return true;
}

void ks_do_patch(struct ks_ctx *c)
{
	struct ks_write w = {.status = 200};
	struct json *managed;

	if (!read_options(c)) {
		return;
	}
	if (str_is(media_type(c), "application/apply-patch+yaml")) {
		apply_patch(c);
		return;
	}
	if (!ks_need_object(c, &w.old)) {
		return;
	}
	if (!patch_tree(c, &w) || !fits_url(c, w.tree) || !check_name(c, w.tree) ||
	    !check_rv(c, w.old, w.tree)) {
		return;
	}
	managed = json_at(w.tree, "/metadata/managedFields");
	w.reset_managed = json_type(managed) == JSON_ARR && json_len(managed) == 0;
	ks_finish_write(c, &w);
}
