/* SPDX-License-Identifier: Apache-2.0 */
/* The clone of a Workload; see clone.h. */
#include "core/engine/rules/clone.h"

#include "core/base/canon.h"
#include "core/engine/rules/gates.h"

mk_str clone_hash(struct pass *p)
{
	static const char *const free_to_change[] = {"active", "priority", "priorityClassRef",
						     "preemptionGates"};
	struct arena *a = &p->e->scratch;
	struct wl *w = p->w;
	struct json *spec;
	mk_str hash, uid = str_of(p->local->uid);

	if (w->hash_generation == p->f->generation && str_eq(str_of(w->hash_uid), uid)) {
		return str_of(w->hash);
	}
	if (!pass_workload(p) || uid.n >= sizeof(w->hash_uid)) {
		return STR_NONE;
	}
	spec = json_dup(a, json_get(p->wl_json, "spec"));
	for (size_t i = 0; i < sizeof(free_to_change) / sizeof(*free_to_change); i++) {
		json_set(a, spec, str_of(free_to_change[i]), NULL);
	}
	hash = canon_hash(a, spec);
	if (hash.n == 0 || hash.n >= sizeof(w->hash) || arena_failed(a)) {
		say_no_memory(p->e);
		return STR_NONE;
	}
	memcpy(w->hash, hash.p, hash.n + 1);
	memcpy(w->hash_uid, uid.p, uid.n + 1);
	w->hash_generation = p->f->generation;
	return str_of(w->hash);
}

/* A copy of the map 'key' of the local metadata, or an empty map. */
static struct json *copy_map(const struct pass *p, const char *key)
{
	struct arena *a = p->e->out->arena;
	const struct json *v = json_get(json_get(p->wl_json, "metadata"), key);

	return json_type(v) == JSON_OBJ ? json_dup(a, v) : json_new_obj(a);
}

struct json *clone_body(struct pass *p)
{
	struct arena *a = p->e->out->arena;
	mk_str hash = clone_hash(p);
	struct json *body, *meta, *labels, *notes, *spec;

	if (hash.n == 0 || !pass_workload(p)) {
		return NULL;
	}
	body = json_new_obj(a);
	meta = json_new_obj(a);
	labels = copy_map(p, "labels");
	notes = copy_map(p, "annotations");
	json_set(a, labels, STR(NAME_JOB_UID), NULL);
	json_set_str(a, labels, NAME_ORIGIN, p->e->o.origin);
	json_set_str(a, notes, NAME_MANAGER_ID, str_of(p->e->manager_id));
	json_set_str(a, notes, NAME_WORKLOAD_UID, str_of(p->local->uid));
	json_set_str(a, notes, NAME_OUR_OWNER_KIND, p->e->o.kinds->k[p->kind].gvk);
	json_set_str(a, notes, NAME_OUR_OWNER_NAME, p->w->owner->name);
	json_set_str(a, notes, NAME_SPEC_HASH, hash);
	json_set_str(a, body, "apiVersion", STR(NAME_API));
	json_set_str(a, body, "kind", STR("Workload"));
	json_set_str(a, meta, "name", p->w->name);
	json_set_str(a, meta, "namespace", p->w->ns);
	json_set(a, meta, STR("labels"), labels);
	json_set(a, meta, STR("annotations"), notes);
	json_set(a, body, STR("metadata"), meta);
	spec = json_dup(a, json_get(p->wl_json, "spec"));
	gates_clone(p, spec);
	json_set(a, body, STR("spec"), spec);
	return body;
}
