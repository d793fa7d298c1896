/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The garbage collector: deletes what has only dead owners, and ends foreground and orphaning
 * deletions. It knows every uid and who depends on it from the commits, and never searches.
 */
#include "core/base/alloc.h"
#include "t/kubesim/actors_priv.h"

#define FINALIZER_FOREGROUND "foregroundDeletion"
#define FINALIZER_ORPHAN "orphan"
#define MANAGER "kube-controller-manager"

/* One uid that exists or is named as an owner. */
struct gc_owner {
	bool alive;
	char *resource, *ns, *name; /* of the object, once it was seen */
	struct item **dep;
	size_t n_deps, size;
};

static void owner_free(struct gc_owner *o)
{
	mk_free(o->resource);
	mk_free(o->ns);
	mk_free(o->name);
	mk_free(o->dep);
	mk_free(o);
}

void gc_done(struct ks_actors *k)
{
	void *val;
	size_t pos = 0;

	while (map_next(&k->owners, &pos, NULL, &val)) {
		owner_free(val);
	}
	map_done(&k->owners);
	map_init(&k->owners);
}

static struct gc_owner *owner_get(struct ks_actors *k, mk_str uid)
{
	struct gc_owner *o = map_get(&k->owners, uid);

	if (o != NULL || uid.n == 0) {
		return o;
	}
	o = mk_calloc(1, sizeof(*o));
	if (!o || !map_put(&k->owners, uid, o)) {
		mk_free(o);
		k->stale = true;
		return NULL;
	}
	return o;
}

static void owner_dirty(struct ks_actors *k, const struct gc_owner *o)
{
	if (o->alive && o->resource != NULL) {
		item_dirty(k, ITEM_GC, o->resource, str_of(o->ns), str_of(o->name));
	}
}

static void link_dep(struct ks_actors *k, mk_str uid, struct item *it)
{
	struct gc_owner *o = owner_get(k, uid);

	if (!o || !it) {
		return;
	}
	if (o->n_deps == o->size) {
		size_t size = o->size == 0 ? 2 : o->size * 2;
		struct item **p = mk_realloc(o->dep, size * sizeof(struct item *));

		if (!p) {
			k->stale = true;
			return;
		}
		o->dep = p;
		o->size = size;
	}
	o->dep[o->n_deps++] = it;
	if (!o->alive) {
		item_at(k, it, 0);
	}
}

static void unlink_dep(struct ks_actors *k, mk_str uid, const struct item *it)
{
	struct gc_owner *o = map_get(&k->owners, uid);

	if (!o) {
		return;
	}
	for (size_t i = 0; i < o->n_deps; i++) {
		if (o->dep[i] == it) {
			memmove(&o->dep[i], &o->dep[i + 1],
				(o->n_deps - i - 1) * sizeof(struct item *));
			o->n_deps--;
			break;
		}
	}
	if (o->alive) {
		owner_dirty(k, o);
	} else if (o->n_deps == 0) {
		map_del(&k->owners, uid);
		owner_free(o);
	}
}

static bool has_owner(const struct json *obj, mk_str uid)
{
	struct json_iter it = json_iter(json_at(obj, "/metadata/ownerReferences"));

	while (json_next(&it)) {
		if (str_eq(json_str(json_get(it.val, "uid")), uid)) {
			return true;
		}
	}
	return false;
}

static void relink(struct ks_actors *k, const struct json *before, const struct json *after,
		   const char *resource, mk_str ns, mk_str name)
{
	struct json_iter old = json_iter(json_at(before, "/metadata/ownerReferences"));
	struct json_iter new = json_iter(json_at(after, "/metadata/ownerReferences"));

	while (json_next(&new)) {
		mk_str uid = json_str(json_get(new.val, "uid"));

		if (!has_owner(before, uid)) {
			link_dep(k, uid, item_get(k, ITEM_GC, resource, ns, name));
		}
	}
	while (json_next(&old)) {
		mk_str uid = json_str(json_get(old.val, "uid"));

		if (!has_owner(after, uid)) {
			unlink_dep(k, uid, item_find(k, ITEM_GC, resource, ns, name));
		}
	}
}

static void born(struct ks_actors *k, const struct json *obj, const char *resource, mk_str ns,
		 mk_str name)
{
	struct gc_owner *o = owner_get(k, obj_meta(obj, "uid"));

	if (!o || o->resource != NULL) {
		return;
	}
	o->alive = true;
	o->resource = mk_strdup(resource);
	o->ns = mk_strndup(ns);
	o->name = mk_strndup(name);
	if (!o->resource || !o->ns || !o->name) {
		k->stale = true;
	}
}

static void died(struct ks_actors *k, const struct json *obj)
{
	mk_str uid = obj_meta(obj, "uid");
	struct gc_owner *o = map_get(&k->owners, uid);

	if (!o) {
		return;
	}
	o->alive = false;
	for (size_t i = 0; i < o->n_deps; i++) {
		item_at(k, o->dep[i], 0);
	}
	if (o->n_deps == 0) {
		map_del(&k->owners, uid);
		owner_free(o);
	}
}

void gc_commit(struct ks_actors *k, const struct json *before, const struct json *after,
	       mk_str resource, mk_str ns, mk_str name)
{
	const char *res;
	struct item *it;

	if (str_ends(resource, STR("/events")) || str_ends(resource, STR("/leases"))) {
		return;
	}
	res = intern(k, resource);
	if (!res) {
		return;
	}
	if (after != NULL &&
	    (!before || !str_eq(obj_meta(before, "uid"), obj_meta(after, "uid")))) {
		born(k, after, res, ns, name);
	}
	relink(k, before, after, res, ns, name);
	if (!after) {
		died(k, before);
		it = item_find(k, ITEM_GC, res, ns, name);
		item_at(k, it, 0);
	} else if (obj_meta(after, "deletionTimestamp").n != 0) {
		item_dirty(k, ITEM_GC, res, ns, name);
	}
}

void gc_dirty_owned(struct ks_actors *k, mk_str uid)
{
	const struct gc_owner *o = map_get(&k->owners, uid);

	for (size_t i = 0; o != NULL && i < o->n_deps; i++) {
		const struct item *it = o->dep[i];

		if (str_is(it->resource, RES_WORKLOADS)) {
			item_dirty(k, ITEM_WORKLOAD, RES_WORKLOADS, it->ns, it->name);
		}
	}
}

const struct json *gc_owned_workload(const struct ks_actors *k, mk_str uid)
{
	const struct gc_owner *o = map_get(&k->owners, uid);

	for (size_t i = 0; o != NULL && i < o->n_deps; i++) {
		const struct item *it = o->dep[i];
		const struct json *wl = str_is(it->resource, RES_WORKLOADS)
						? ks_get(k->store, RES_WORKLOADS, it->ns, it->name)
						: NULL;

		if (wl != NULL && str_eq(json_str(json_get(obj_controller(wl), "uid")), uid)) {
			return wl;
		}
	}
	return NULL;
}

/* --- the step --------------------------------------------------------------------------------- */

static void drop_finalizer(struct ks_actors *k, struct item *it, const struct json *obj,
			   const char *finalizer)
{
	struct json *patch = json_new_obj(&k->a), *list = json_new_arr(&k->a);
	struct json_iter f = json_iter(json_at(obj, "/metadata/finalizers"));

	while (json_next(&f)) {
		if (!str_is(json_str(f.val), finalizer)) {
			json_add(&k->a, list, json_dup(&k->a, f.val));
		}
	}
	json_put(&k->a, patch, "/metadata/finalizers",
		 json_len(list) != 0 ? list : json_new_null(&k->a));
	api_merge(k, it, obj_path(&k->a, it->resource, it->ns, it->name), patch, MANAGER);
}

static const char *resource_text(struct ks_actors *k, const struct item *it)
{
	return intern(k, it->resource);
}

static void delete_object(struct ks_actors *k, struct item *by, const struct item *target,
			  const struct json *obj)
{
	api_delete(k, by, obj_path(&k->a, target->resource, target->ns, target->name),
		   arena_dup(&k->a, obj_meta(obj, "uid")));
}

/* Owner references without those to 'uid' (empty: without those to the dead). */
static struct json *references(struct ks_actors *k, const struct json *obj, mk_str uid,
			       size_t *ret_dropped)
{
	struct json *list = json_new_arr(&k->a);
	struct json_iter it = json_iter(json_at(obj, "/metadata/ownerReferences"));

	*ret_dropped = 0;
	while (json_next(&it)) {
		mk_str own = json_str(json_get(it.val, "uid"));
		const struct gc_owner *o = map_get(&k->owners, own);
		bool drop = uid.n != 0 ? str_eq(own, uid) : (!o || !o->alive);

		if (drop) {
			(*ret_dropped)++;
		} else {
			json_add(&k->a, list, json_dup(&k->a, it.val));
		}
	}
	return list;
}

static void write_references(struct ks_actors *k, struct item *by, const struct item *target,
			     struct json *list)
{
	struct json *patch = json_new_obj(&k->a);

	json_put(&k->a, patch, "/metadata/ownerReferences",
		 json_len(list) != 0 ? list : json_new_null(&k->a));
	api_merge(k, by, obj_path(&k->a, target->resource, target->ns, target->name), patch,
		  MANAGER);
}

/* An object under deletion whose dependents go first, or stay without it. One write. */
static void end_deletion(struct ks_actors *k, struct item *it, const struct json *obj)
{
	bool orphan = obj_has_finalizer(obj, FINALIZER_ORPHAN);
	const struct gc_owner *o = map_get(&k->owners, obj_meta(obj, "uid"));

	if (!orphan && !obj_has_finalizer(obj, FINALIZER_FOREGROUND)) {
		return;
	}
	for (size_t i = 0; o != NULL && i < o->n_deps; i++) {
		const struct item *d = o->dep[i];
		const struct json *dep = ks_get(k->store, resource_text(k, d), d->ns, d->name);
		size_t dropped;

		if (orphan && dep != NULL) {
			write_references(k, it, d,
					 references(k, dep, obj_meta(obj, "uid"), &dropped));
			item_at(k, it, k->now_ms);
			return;
		}
		if (dep != NULL && obj_meta(dep, "deletionTimestamp").n == 0) {
			delete_object(k, it, d, dep);
			item_at(k, it, k->now_ms);
			return;
		}
	}
	if (orphan || !o || o->n_deps == 0) {
		drop_finalizer(k, it, obj, orphan ? FINALIZER_ORPHAN : FINALIZER_FOREGROUND);
	}
}

void gc_step(struct ks_actors *k, struct item *it)
{
	const struct json *obj = ks_get(k->store, resource_text(k, it), it->ns, it->name);
	struct json *alive;
	size_t dropped;

	if (!obj) {
		item_drop(k, it);
		return;
	}
	if (obj_meta(obj, "deletionTimestamp").n != 0) {
		end_deletion(k, it, obj);
		return;
	}
	alive = references(k, obj, STR(""), &dropped);
	if (dropped == 0) {
		return;
	}
	if (json_len(alive) == 0) {
		delete_object(k, it, it, obj);
	} else {
		write_references(k, it, it, alive);
	}
}
