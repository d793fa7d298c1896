/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of API objects: what was added, by kind and by name; see api.h. api_place.c connects them.
 */
#include "core/quota/api.h"

#include "core/quota/api_read.h"

static const struct kind {
	const char *name, *group;
} kinds[] = {
	[API_QUEUE] = {"ClusterQueue", NAME_GROUP "/"},
	[API_TREE] = {"ClusterQuotaTree", NAME_GROUP "/"},
	[API_STATUS] = {"ClusterQueueTree", NAME_GROUP "/"},
	[API_LQ] = {"LocalQueue", NAME_GROUP "/"},
	[API_FLAVOR] = {"ResourceFlavor", NAME_GROUP "/"},
	[API_ELASTIC] = {"ElasticQuota", "scheduling.x-k8s.io/"},
	[API_COHORT] = {"Cohort", NAME_GROUP "/"},
	[API_WORKLOAD] = {"Workload", NAME_GROUP "/"},
};

const char *api_kind_name(enum api_kind kind)
{
	return kind < API_OTHER ? kinds[kind].name : "object";
}

static enum api_kind kind_of(mk_str version, mk_str kind)
{
	for (int k = 0; k < API_OTHER; k++) {
		if (str_is(kind, kinds[k].name) && str_starts(version, str_of(kinds[k].group))) {
			return (enum api_kind)k;
		}
	}
	return API_OTHER;
}

static enum mk_code no_memory(struct mk_err *err)
{
	return err_set(err, ERR_NO_MEMORY, "out of memory");
}

struct api_set *api_set_new(struct arena *a)
{
	struct api_set *set = arena_alloc(a, sizeof(*set));

	if (!set || !arena_on_done(a, api_map_free, &set->index) ||
	    !arena_on_done(a, api_map_free, &set->places)) {
		return NULL;
	}
	set->a = a;
	return set;
}

static mk_str index_key(struct arena *a, enum api_kind kind, mk_str ns, mk_str name)
{
	return arena_printf(a, "%d/%.*s/%.*s", (int)kind, STR_ARG(ns), STR_ARG(name));
}

struct api_object *api_set_find(const struct api_set *set, enum api_kind kind, mk_str ns,
				mk_str name)
{
	mk_str key = index_key(set->a, kind, ns, name);

	return key.p != NULL ? map_get(&set->index, key) : NULL;
}

static bool grow(struct api_set *set)
{
	size_t size = set->size_objects ? set->size_objects * 2 : 64;
	struct api_object **bigger = arena_array(set->a, size, sizeof(struct api_object *));

	if (!bigger) {
		return false;
	}
	if (set->n_objects > 0) {
		memcpy(bigger, set->objects, set->n_objects * sizeof(struct api_object *));
	}
	set->objects = bigger;
	set->size_objects = size;
	return true;
}

static enum mk_code add_items(struct api_set *set, const struct json *items, size_t tag,
			      struct mk_err *err)
{
	struct json_iter it = json_iter(items);
	size_t i = 0;

	while (json_next(&it)) {
		enum mk_code code = ERR_OK;

		/*
		 * A List in a List has no use, and would let input choose the depth of recursion.
		 */
		if (json_type(api_get(it.val, "items")) == JSON_ARR) {
			code = err_set(err, ERR_INVALID, "a List cannot hold another List");
		} else {
			code = api_set_add(set, it.val, tag, err);
		}
		if (code != ERR_OK) {
			err_wrap(err, "items[%zu]", i);
			return code;
		}
		i++;
	}
	return ERR_OK;
}

static bool is_text(const struct json *v)
{
	return !v || json_type(v) == JSON_STR;
}

enum mk_code api_set_add(struct api_set *set, const struct json *obj, size_t tag,
			 struct mk_err *err)
{
	const struct json *meta = api_get(obj, "metadata");
	mk_str version = json_str(api_get(obj, "apiVersion"));
	mk_str kind = json_str(api_get(obj, "kind"));
	const struct json *items = api_get(obj, "items");
	struct api_object *o;
	mk_str key;

	if (version.n > 0 && str_ends(kind, STR("List")) && json_type(items) == JSON_ARR) {
		return add_items(set, items, tag, err);
	}
	if (version.n == 0 || kind.n == 0) {
		return err_set(err, ERR_INVALID, "no Kubernetes object: %s is missing",
			       version.n == 0 ? "apiVersion" : "kind");
	}
	o = arena_alloc(set->a, sizeof(*o));
	if (!o || (set->n_objects == set->size_objects && !grow(set))) {
		return no_memory(err);
	}
	o->kind = kind_of(version, kind);
	o->name = json_str(api_get(meta, "name"));
	o->ns = json_str(api_get(meta, "namespace"));
	if ((o->kind == API_LQ || o->kind == API_WORKLOAD || o->kind == API_ELASTIC) &&
	    o->ns.n == 0) {
		o->ns = STR("default");
	}
	if (o->name.n == 0 && o->kind != API_OTHER) {
		return err_set(err, ERR_INVALID, "%.*s without metadata.name, or it is no string",
			       STR_ARG(kind));
	}
	if (!is_text(api_get(meta, "namespace"))) {
		return err_set(err, ERR_INVALID,
			       "metadata.namespace of %.*s \"%.*s\" is no string: quote it",
			       STR_ARG(kind), STR_ARG(o->name));
	}
	o->json = obj;
	o->tag = tag;
	o->index = set->n_objects;
	key = index_key(set->a, o->kind, o->ns, o->name);
	if (!key.p) {
		return no_memory(err);
	}
	if (o->kind != API_OTHER && map_get(&set->index, key) != NULL) {
		o->duplicate = true;
		api_fault_add(set->a, &o->faults, 0, STR("metadata.name"),
			      "Duplicate value: \"%.*s\"", STR_ARG(o->name));
	} else if (!map_put(&set->index, key, o)) {
		return no_memory(err);
	}
	set->objects[set->n_objects++] = o;
	return arena_failed(set->a) ? no_memory(err) : ERR_OK;
}

struct api_queue *api_set_queue(const struct api_set *set, mk_str name)
{
	struct api_place *p = api_set_place(set, name);

	return p != NULL ? p->queue : NULL;
}

struct api_tree *api_set_tree(const struct api_set *set, mk_str name)
{
	struct api_object *o = api_set_find(set, API_TREE, (mk_str){NULL, 0}, name);

	return o != NULL ? set->trees[o->item] : NULL;
}

struct api_place *api_set_place(const struct api_set *set, mk_str name)
{
	return name.n > 0 ? map_get(&set->places, name) : NULL;
}

/* --- reading by kind -------------------------------------------------------------------------- */

static void read_object(struct api_set *set, struct api_object *o)
{
	struct api_reader r = {.a = set->a, .object = o};

	api_read_strange(&r);
	switch (o->kind) {
	case API_QUEUE:
		o->item = set->n_queues;
		set->queues[set->n_queues++] = api_read_queue(&r);
		break;
	case API_TREE:
		o->item = set->n_trees;
		set->trees[set->n_trees++] = api_read_tree(&r);
		break;
	case API_LQ:
		o->item = set->n_lqs;
		set->lqs[set->n_lqs++] = api_read_lq(&r);
		break;
	case API_FLAVOR:
		o->item = set->n_flavors;
		set->flavors[set->n_flavors++] = api_read_flavor(&r);
		break;
	case API_WORKLOAD:
		o->item = set->n_workloads;
		set->workloads[set->n_workloads++] = o;
		break;
	case API_STATUS:
	case API_ELASTIC:
	case API_COHORT:
	case API_OTHER:
		break;
	}
}

/* One array per kind; every object that is looked at gets its typed form. */
static bool read_all(struct api_set *set)
{
	size_t n = set->n_objects;

	set->queues = arena_array(set->a, n, sizeof(struct api_queue *));
	set->trees = arena_array(set->a, n, sizeof(struct api_tree *));
	set->lqs = arena_array(set->a, n, sizeof(struct api_lq *));
	set->flavors = arena_array(set->a, n, sizeof(struct api_flavor *));
	set->workloads = arena_array(set->a, n, sizeof(struct api_object *));
	for (size_t i = 0; i < n && !arena_failed(set->a); i++) {
		if (!set->objects[i]->duplicate) {
			read_object(set, set->objects[i]);
		}
	}
	return !arena_failed(set->a);
}

enum mk_code api_set_link(struct api_set *set, size_t newest, struct mk_err *err)
{
	if (!read_all(set) || !api_place_all(set, newest)) {
		return no_memory(err);
	}
	return ERR_OK;
}
