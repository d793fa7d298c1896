/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common end of all writes: what clients cannot change, defaults,
 * ownership, admission, commit, answer.
 */
#include "t/kubesim/ssa.h"
#include "t/kubesim/store_int.h"

static bool has_generation(const struct ks_resource *r)
{
	return !r->builtin || strcmp(r->kind, "Job") == 0 || strcmp(r->kind, "Pod") == 0;
}

/* Metadata of a new object: what the client says, and what only the server says. */
static void new_metadata(struct ks_ctx *c, struct json *tree)
{
	static const char *const ours[] = {"uid",
					   "creationTimestamp",
					   "generation",
					   "selfLink",
					   "deletionTimestamp",
					   "deletionGracePeriodSeconds",
					   "resourceVersion"};
	struct json *meta = json_get(tree, "metadata");

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
		json_set(c->a, meta, str_of(ours[i]), NULL);
	}
	json_set_str(c->a, meta, "uid", ks_uuid(c->s, c->a));
	json_set_str(c->a, meta, "creationTimestamp", ks_time(c->a, c->now_ms));
	if (has_generation(c->res)) {
		json_set_int(c->a, meta, "generation", 1);
	}
}

/* --- the common end --------------------------------------------------------------------------- */
static void carry(struct ks_ctx *c, const struct json *from, struct json *to, const char *key)
{
	json_set(c->a, to, str_of(key), json_share(c->a, json_get(from, key)));
}

/* Spec and status are written through different doors. */
static void separate(struct ks_ctx *c, struct ks_write *w)
{
	static const char *const ours[] = {
		"name",       "namespace",         "creationTimestamp",
		"generation", "deletionTimestamp", "deletionGracePeriodSeconds",
		"selfLink",   "generateName"};
	const struct json *old = w->old->tree, *old_meta = json_get(old, "metadata");
	struct json *meta;

	if (w->applied != NULL || w->status_only) {
		/* the tree is the old one in all that this write cannot change */
	} else if (str_is(c->sub, "status")) {
		struct json *status = json_dup(c->a, json_get(w->tree, "status"));
		struct json *uid = json_dup(c->a, json_at(w->tree, "/metadata/uid"));

		w->tree = json_dup(c->a, old);
		json_set(c->a, w->tree, STR("status"), status);
		if (c->res->builtin) {
			json_set(c->a, json_get(w->tree, "metadata"), STR("uid"), uid);
		}
	} else if (c->res->has_status) {
		carry(c, old, w->tree, "status");
	}
	meta = json_get(w->tree, "metadata");
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
		carry(c, old_meta, meta, ours[i]);
	}
	carry(c, old_meta, meta, "resourceVersion");
	if (json_str(json_get(meta, "uid")).n == 0) {
		carry(c, old_meta, meta, "uid");
	}
}

/* True when something but metadata and status differs. */
static bool spec_differs(const struct json *x, const struct json *y)
{
	struct json_iter it = json_iter(x);

	while (json_next(&it)) {
		if (!str_is(it.key, "metadata") && !str_is(it.key, "status") &&
		    !json_equal(it.val, json_getn(y, it.key))) {
			return true;
		}
	}
	return false;
}

static void bump_generation(struct ks_ctx *c, struct ks_write *w)
{
	int64_t g = json_int(json_at(w->old->tree, "/metadata/generation"), 0);

	if (c->sub.n == 0 && has_generation(c->res) &&
	    (spec_differs(w->old->tree, w->tree) || spec_differs(w->tree, w->old->tree))) {
		json_set_int(c->a, json_get(w->tree, "metadata"), "generation", g + 1);
	}
}

static mk_str manager_name(struct ks_ctx *c)
{
	mk_str name = ks_param(c, "fieldManager"), rest = c->r->user_agent;

	if (name.n > 0) {
		return name;
	}
	if (!str_split(&rest, '/', &name) || name.n == 0) {
		return STR("unknown");
	}
	return name;
}

static struct json *zero_value(struct ks_ctx *c)
{
	struct json *z = NULL;
	const char *text = c->res->skeleton ? c->res->skeleton : "{\"metadata\":{}}";

	return json_parse(c->a, str_of(text), &z, NULL) == ERR_OK ? z : json_new_obj(c->a);
}

/* Applies (when it is an apply) and records who owns what. False: answered. */
static bool own(struct ks_ctx *c, struct ks_write *w)
{
	struct ssa_writer by = {
		.kind = c->res->kind,
		.api_version = c->res->api_version,
		.manager = manager_name(c),
		.subresource = c->sub,
		.time = ks_time(c->a, c->now_ms),
		.force = w->force,
	};
	const struct json *live = w->old ? w->old->tree : zero_value(c);
	struct json *conflicts = NULL;

	if (!w->applied) {
		ks_defaults(c->a, c->res, w->tree);
		ssa_update(c->a, &by, live,
			   w->reset_managed ? NULL : json_at(live, "/metadata/managedFields"),
			   w->tree);
		return true;
	}
	ssa_apply(c->a, &by, live, w->applied, w->tree, &conflicts);
	if (conflicts != NULL) {
		size_t n = json_len(conflicts);
		const struct json *first = json_elem(conflicts, 0);

		return ks_fail(c, 409, "Conflict",
			       arena_printf(c->a, "Apply failed with %zu conflict%s: %.*s: %.*s", n,
					    n > 1 ? "s" : "",
					    STR_ARG(json_str(json_get(first, "message"))),
					    STR_ARG(json_str(json_get(first, "field")))),
			       NULL, conflicts);
	}
	ks_defaults(c->a, c->res, w->tree);
	return true;
}

static void check_deleting(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	struct json_iter it = json_iter(json_at(tree, "/metadata/finalizers"));

	if (!json_at(old, "/metadata/deletionTimestamp")) {
		return;
	}
	while (json_next(&it)) {
		struct json_iter was = json_iter(json_at(old, "/metadata/finalizers"));
		bool found = false;

		while (json_next(&was)) {
			found = found || json_equal(was.val, it.val);
		}
		if (!found) {
			ks_cause(v, "FieldValueForbidden", "metadata.finalizers",
				 "Forbidden: no new finalizers can be added if the object is being "
				 "deleted, found new finalizers []string{\"%.*s\"}",
				 STR_ARG(json_str(it.val)));
		}
	}
}

static bool admit(struct ks_ctx *c, struct ks_write *w)
{
	const struct json *old = w->old ? w->old->tree : NULL;
	struct ks_causes v = {.c = c};
	mk_str refused;

	if (!ks_times_ok(c, w->tree)) {
		return false;
	}
	if (old != NULL) {
		mk_str uid = json_str_at(w->tree, "/metadata/uid");

		check_deleting(&v, old, w->tree);
		if (!str_eq(uid, json_str_at(old, "/metadata/uid"))) {
			ks_cause(&v, "FieldValueInvalid", "metadata.uid",
				 "Invalid value: \"%.*s\": field is immutable", STR_ARG(uid));
		}
	}
	ks_validate(&v, old, w->tree);
	if (!ks_causes_ok(&v)) {
		return false;
	}
	refused = ks_kueue_webhook(c, old, w->tree);
	if (refused.n > 0) {
		return ks_fail(
			c, 403, "Forbidden",
			arena_printf(c->a,
				     "admission webhook \"vworkload.kb.io\" denied the request: "
				     "%.*s",
				     STR_ARG(refused)),
			NULL, NULL);
	}
	return true;
}

/* An answer without a commit. */
static void reply_dry(struct ks_ctx *c, struct ks_write *w)
{
	struct ks_version *v = ks_version_new(c->a, w->tree, w->old ? w->old->v->rv : 0);

	if (v != NULL) {
		ks_reply_object(c, w->status, v);
		ks_unref(v);
	}
}

void ks_finish_write(struct ks_ctx *c, struct ks_write *w)
{
	struct ks_object *o = w->old;
	struct ks_version *final;

	if (!o) {
		new_metadata(c, w->tree);
		if (c->res->has_status) {
			json_set(c->a, w->tree, STR("status"), NULL);
		}
	} else {
		separate(c, w);
	}
	if (!own(c, w)) {
		return;
	}
	if (!o) {
		ks_prepare_create(c->a, c->res, w->tree);
	} else {
		bump_generation(c, w);
	}
	if (!admit(c, w)) {
		return;
	}
	if (o != NULL && json_equal(o->tree, w->tree)) {
		ks_reply_object(c, w->status, o->v);
		return;
	}
	if (c->dry_run) {
		reply_dry(c, w);
		return;
	}
	if (arena_failed(c->a)) {
		return;
	}
	if (o != NULL && json_at(w->tree, "/metadata/deletionTimestamp") != NULL &&
	    json_len(json_at(w->tree, "/metadata/finalizers")) == 0) {
		o = ks_replace_tree(o, w->tree) ? o : NULL;
		if (o != NULL) {
			ks_commit_delete(c, o, &final);
			ks_reply_object(c, w->status, final);
			ks_unref(final);
		}
		return;
	}
	o = ks_commit_put(c, o, w->tree);
	if (o != NULL) {
		ks_reply_object(c, w->status, o->v);
	}
}
