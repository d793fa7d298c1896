/* SPDX-License-Identifier: Apache-2.0 */
/* DELETE of objects and collections: preconditions, finalizers, propagation, namespaces. */
#include "t/kubesim/store_int.h"

struct options {
	mk_str policy, uid, rv; /* "" = not given */
};

static bool read_options(struct ks_ctx *c, struct options *ret)
{
	struct json *body = NULL;
	mk_str policy = ks_param(c, "propagationPolicy");

	*ret = (struct options){.policy = policy};
	if (c->r->body.n > 0) {
		if (!ks_read_body(c, &body)) {
			return false;
		}
		if (json_get(body, "propagationPolicy") != NULL) {
			ret->policy = json_str(json_get(body, "propagationPolicy"));
		} else if (json_type(json_get(body, "orphanDependents")) == JSON_BOOL) {
			ret->policy = json_bool(json_get(body, "orphanDependents"))
					      ? STR("Orphan")
					      : STR("Background");
		}
		ret->uid = json_str_at(body, "/preconditions/uid");
		ret->rv = json_str_at(body, "/preconditions/resourceVersion");
		c->dry_run = json_len(json_get(body, "dryRun")) > 0;
	}
	c->dry_run = c->dry_run || str_is(ks_param(c, "dryRun"), "All");
	if (ret->policy.n > 0 && !str_is(ret->policy, "Background") &&
	    !str_is(ret->policy, "Foreground") && !str_is(ret->policy, "Orphan")) {
		return ks_fail(c, 422, "Invalid",
			       arena_printf(c->a,
					    "DeleteOptions.meta.k8s.io \"\" is invalid: "
					    "propagationPolicy: Unsupported value: \"%.*s\"",
					    STR_ARG(ret->policy)),
			       NULL, NULL);
	}
	return true;
}

static bool preconditions(struct ks_ctx *c, const struct ks_object *o, const struct options *opt)
{
	mk_str uid = json_str_at(o->tree, "/metadata/uid");
	mk_str rv = json_str_at(o->tree, "/metadata/resourceVersion");
	mk_str why = STR("");

	if (opt->uid.n > 0 && !str_eq(opt->uid, uid)) {
		why = arena_printf(c->a,
				   "the UID in the precondition (%.*s) does not match the UID in "
				   "record (%.*s). The object might have been deleted and then "
				   "recreated",
				   STR_ARG(opt->uid), STR_ARG(uid));
	} else if (opt->rv.n > 0 && !str_eq(opt->rv, rv)) {
		why = arena_printf(c->a,
				   "the ResourceVersion in the precondition (%.*s) does not match "
				   "the ResourceVersion in record (%.*s). The object might have "
				   "been modified",
				   STR_ARG(opt->rv), STR_ARG(rv));
	}
	return why.n == 0 || ks_conflict(c, why.p);
}

/* Takes the garbage collector's finalizers out of the list and puts 'wanted' (or nothing) in. */
static void set_gc_finalizer(struct arena *a, struct json *meta, const char *wanted)
{
	struct json_iter it = json_iter(json_get(meta, "finalizers"));
	struct json *list = json_new_arr(a);

	while (json_next(&it)) {
		mk_str f = json_str(it.val);

		if (!str_is(f, "orphan") && !str_is(f, "foregroundDeletion")) {
			json_add(a, list, json_dup(a, it.val));
		}
	}
	if (wanted != NULL) {
		json_add(a, list, json_new_str(a, str_of(wanted)));
	}
	json_set(a, meta, STR("finalizers"), json_len(list) > 0 ? list : NULL);
}

static const char *gc_finalizer(const struct ks_ctx *c, const struct options *opt)
{
	if (str_is(opt->policy, "Foreground")) {
		return "foregroundDeletion";
	}
	if (str_is(opt->policy, "Orphan")) {
		return "orphan";
	}
	/* the oldest trap of all: a bare DELETE of a Job leaves its pods */
	return opt->policy.n == 0 && strcmp(c->res->id, "batch/v1/jobs") == 0 ? "orphan" : NULL;
}

/* Marks the object as going; true when finalizers keep it. */
static bool mark(struct ks_ctx *c, const struct ks_object *o, const struct options *opt,
		 struct json **ret_tree)
{
	struct json *tree = json_dup(c->a, o->tree), *meta = json_get(tree, "metadata");
	int64_t generation = json_int(json_get(meta, "generation"), 0);

	set_gc_finalizer(c->a, meta, gc_finalizer(c, opt));
	if (!json_get(meta, "deletionTimestamp")) {
		json_set_str(c->a, meta, "deletionTimestamp", ks_time(c->a, c->now_ms));
		json_set_int(c->a, meta, "deletionGracePeriodSeconds", 0);
		if (generation > 0) {
			json_set_int(c->a, meta, "generation", generation + 1);
		}
		if (strcmp(c->res->id, "v1/namespaces") == 0) {
			(void)json_put(c->a, tree, "/status/phase",
				       json_new_str(c->a, STR("Terminating")));
		}
	}
	*ret_tree = tree;
	return json_len(json_get(meta, "finalizers")) > 0;
}

/* Deletes or marks 'o'. *ret_gone: its last state (to unref), or NULL when it stays. */
static void remove_object(struct ks_ctx *c, struct ks_object *o, const struct options *opt,
			  struct ks_version **ret_gone)
{
	struct json *tree;

	*ret_gone = NULL;
	if (!mark(c, o, opt, &tree)) {
		ks_commit_delete(c, o, ret_gone);
	} else if (!json_equal(tree, o->tree)) {
		(void)ks_commit_put(c, o, tree);
	}
}

/* Deletes what lives in the namespace; true when nothing is left. */
static bool empty_namespace(struct ks_ctx *c, mk_str name)
{
	struct ks_resource *self = c->res;
	struct options opt = {.policy = STR("Background")};
	bool empty = true;

	for (size_t i = 0; i < c->s->n_res; i++) {
		struct ks_resource *r = c->s->res[i];

		ks_sort(r);
		for (size_t k = 0; r->namespaced && k < r->n_order; k++) {
			struct ks_object *o = r->order[k];
			struct ks_version *gone;

			if (!o || !str_eq(o->v->ns, name)) {
				continue;
			}
			c->res = r;
			remove_object(c, o, &opt, &gone);
			empty = empty && gone != NULL;
			ks_unref(gone);
		}
	}
	c->res = self;
	return empty;
}

static void reply_gone(struct ks_ctx *c, mk_str uid)
{
	struct json *s = json_new_obj(c->a), *d = json_new_obj(c->a);

	json_set_str(c->a, d, "name", c->name);
	if (c->res->group[0] != '\0') {
		json_set_str(c->a, d, "group", str_of(c->res->group));
	}
	json_set_str(c->a, d, "kind", str_of(c->res->plural));
	json_set_str(c->a, d, "uid", uid);
	json_set_str(c->a, s, "kind", STR("Status"));
	json_set_str(c->a, s, "apiVersion", STR("v1"));
	json_set(c->a, s, STR("metadata"), json_new_obj(c->a));
	json_set_str(c->a, s, "status", STR("Success"));
	json_set(c->a, s, STR("details"), d);
	ks_reply(c, 200, json_write(c->a, s));
}

static void delete_namespace(struct ks_ctx *c, struct ks_object *o)
{
	struct options opt = {.policy = STR("Background")};
	struct ks_version *gone;
	struct json *tree;

	(void)mark(c, o, &opt, &tree);
	if (!json_equal(tree, o->tree) && !ks_commit_put(c, o, tree)) {
		return;
	}
	ks_reply_object(c, 200, o->v);
	if (empty_namespace(c, c->name)) {
		ks_commit_delete(c, o, &gone);
		ks_unref(gone);
	}
}

void ks_do_delete(struct ks_ctx *c)
{
	struct ks_version *gone;
	struct options opt;
	struct ks_object *o;
	mk_str uid;

	if (!read_options(c, &opt) || !ks_need_object(c, &o) || !preconditions(c, o, &opt)) {
		return;
	}
	uid = arena_dup(c->a, json_str_at(o->tree, "/metadata/uid"));
	if (c->dry_run) {
		reply_gone(c, uid);
		return;
	}
	if (strcmp(c->res->id, "v1/namespaces") == 0) {
		delete_namespace(c, o);
		return;
	}
	remove_object(c, o, &opt, &gone);
	if (gone != NULL) {
		ks_unref(gone);
		reply_gone(c, uid);
	} else {
		ks_reply_object(c, 200, o->v);
	}
}

void ks_do_delete_collection(struct ks_ctx *c)
{
	struct ks_resource *r = c->res;
	struct selector sel;
	struct options opt;
	bool has_name;
	mk_str name;

	if (!read_options(c, &opt) || !ks_selectors(c, c->a, &sel, &name, &has_name)) {
		return;
	}
	ks_sort(r);
	for (size_t i = 0; !c->dry_run && i < r->n_order; i++) {
		struct ks_object *o = r->order[i];
		struct ks_version *gone;

		if (o != NULL && ks_matches(o->v, c->ns, &sel, name, has_name)) {
			remove_object(c, o, &opt, &gone);
			ks_unref(gone);
		}
	}
	ks_reply(c, 200,
		 arena_printf(c->a,
			      "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":"
			      "{\"resourceVersion\":\"%llu\"},\"items\":[]}",
			      r->kind, r->api_version, (unsigned long long)c->s->rv));
}
