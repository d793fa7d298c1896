/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which trees are wrong. All that have errors are left out at once, together with their
 * ClusterQueues, so that no other tree gets what they claim; the rest is judged anew, until nothing
 * is wrong in it. Errors of objects in no tree keep nothing out. LocalQueues are not even looked
 * at: those who may make them must not be able to stop a tree.
 */
#include "core/trees/pass_int.h"

#include "core/quota/quota.h"

/* --- units ------------------------------------------------------------------------------------ */

static mk_str key_of(struct trees_work *w, bool parents, mk_str name)
{
	return arena_printf(w->a, "%c/%.*s", parents ? 'p' : 't', STR_ARG(name));
}

struct trees_unit *trees_unit(struct trees_work *w, bool parents, mk_str name)
{
	mk_str key = key_of(w, parents, name);

	return key.p != NULL ? map_get(&w->by_key, key) : NULL;
}

/* The root of a tree of parents; of what hangs in or below a cycle: its smallest name. */
static mk_str root_of(const struct api_place *p)
{
	const struct api_place *top = p;

	while (top->parent != NULL && !top->in_cycle) {
		top = top->parent;
	}
	if (top->in_cycle) {
		const struct api_place *least = top;

		for (const struct api_place *x = top->parent; x != top; x = x->parent) {
			least = str_cmp(x->name, least->name) < 0 ? x : least;
		}
		top = least;
	}
	return top->name;
}

/* A queue whose parent is not there, or is of another kind of tree, is a tree that is wrong. */
static bool is_in_tree(const struct api_place *p)
{
	return api_place_in_tree(p) || (p != NULL && p->queue != NULL && p->queue->parent.set);
}

struct trees_unit *trees_unit_of(struct trees_work *w, const struct api_place *p)
{
	if (!is_in_tree(p)) {
		return NULL;
	}
	return p->tree != NULL ? trees_unit(w, false, p->tree->name)
			       : trees_unit(w, true, root_of(p));
}

bool trees_takes_over(const struct json *o)
{
	return str_is(
		json_str(json_getn(json_at(o, "/metadata/annotations"), STR(TREES_TAKE_OVER))),
		"true");
}

static bool add_unit(struct trees_work *w, bool parents, mk_str name, const struct json *top)
{
	struct trees_unit *u = &w->units[w->n++];
	mk_str key = key_of(w, parents, name);

	*u = (struct trees_unit){
		.name = name,
		.top = top,
		.parents = parents,
		.force = trees_takes_over(top),
		.deleted = !parents && json_at(top, "/metadata/deletionTimestamp") != NULL,
	};
	u->judged = (struct trees_judged){.live = parents ? NULL : top, .name = name};
	return key.p != NULL && map_put(&w->by_key, key, u);
}

static bool is_top(const struct api_place *p)
{
	return !p->tree && is_in_tree(p) && str_eq(root_of(p), p->name);
}

static bool find_units(struct trees_work *w)
{
	const struct api_set *set = w->all;
	size_t n = set->n_trees;
	bool good;

	for (size_t i = 0; i < set->n_places; i++) {
		n += is_top(set->all_places[i]) ? 1 : 0;
	}
	w->units = arena_array(w->a, n, sizeof(*w->units));
	good = w->units != NULL;
	for (size_t i = 0; good && i < set->n_trees; i++) {
		const struct api_tree *t = set->trees[i];

		good = add_unit(w, false, t->name, t->object->json);
		w->units[w->n - 1].host = t->graft_tree.v;
	}
	for (size_t i = 0; good && i < set->n_places; i++) {
		const struct api_place *p = set->all_places[i];

		if (is_top(p)) {
			good = add_unit(w, true, p->name,
					p->queue != NULL ? p->queue->object->json : NULL);
		}
	}
	return good;
}

/* --- errors ----------------------------------------------------------------------------------- */

static void add_error(struct trees_work *w, struct trees_unit *u, struct validate_error e)
{
	if (u->n_errors == u->size_errors) {
		size_t size = u->size_errors ? u->size_errors * 2 : 4;
		struct validate_error *bigger = arena_array(w->a, size, sizeof(*bigger));

		if (!bigger) {
			return;
		}
		if (u->n_errors > 0) {
			memcpy(bigger, u->errors, u->n_errors * sizeof(*bigger));
		}
		u->errors = bigger;
		u->size_errors = size;
	}
	u->errors[u->n_errors++] = e;
	u->wrong = true;
	u->judged.errors = u->errors;
	u->judged.n_errors = u->n_errors;
}

void trees_fault(struct trees_work *w, struct trees_unit *u, mk_str path, const char *fmt, ...)
{
	struct validate_error e = {.fault.path = path};
	va_list ap;

	va_start(ap, fmt);
	e.fault.text = arena_vprintf(w->a, fmt, ap);
	va_end(ap);
	e.object = api_set_find(w->all, u->parents ? API_QUEUE : API_TREE, STR(""), u->name);
	add_error(w, u, e);
}

static struct trees_unit *unit_of_error(struct trees_work *w, const struct api_object *o)
{
	switch (o->kind) {
	case API_TREE:
		return trees_unit(w, false, o->name);
	case API_QUEUE:
		return trees_unit_of(w, api_set_place(w->all, o->name));
	case API_STATUS:
	case API_LQ:
	case API_FLAVOR:
	case API_ELASTIC:
	case API_COHORT:
	case API_WORKLOAD:
	case API_OTHER:
		break;
	}
	return NULL;
}

/* Trees that are grafted on each other are compiled as one: none of them goes on alone. */
static void spread_along_grafts(struct trees_work *w)
{
	bool again = true;

	while (again && !arena_failed(w->a)) {
		again = false;
		for (size_t i = 0; i < w->n; i++) {
			struct trees_unit *u = &w->units[i];
			struct trees_unit *host =
				u->host.n > 0 ? trees_unit(w, false, u->host) : NULL;

			if (!host || host->wrong == u->wrong) {
				continue;
			}
			again = true;
			if (host->wrong) {
				trees_fault(w, u, STR("spec.graftAt.tree"),
					    "Invalid value: \"%.*s\": that tree has errors",
					    STR_ARG(host->name));
			} else {
				trees_fault(w, host, STR("spec.hierarchies"),
					    "Invalid value: tree \"%.*s\", which is grafted here, "
					    "has errors",
					    STR_ARG(u->name));
			}
		}
	}
}

/* Marks what is wrong in 'set'. Returns how many units were not yet known to be. */
static size_t mark(struct trees_work *w, const struct api_set *set,
		   const struct validate_errors *errors)
{
	size_t before = 0;
	size_t after = 0;

	for (size_t i = 0; i < w->n; i++) {
		before += w->units[i].wrong ? 1 : 0;
	}
	for (size_t i = 0; i < errors->n; i++) {
		struct trees_unit *u = unit_of_error(w, errors->v[i].object);

		if (u != NULL) {
			add_error(w, u, errors->v[i]);
		}
	}
	for (size_t i = 0; i < set->n_trees; i++) {
		struct trees_unit *u = trees_unit(w, false, set->trees[i]->name);

		if (u != NULL && !u->wrong && set->trees[i]->total.n > QUOTA_MAX_FR) {
			trees_fault(w, u, STR("spec.resourceGroups"),
				    "Too many: %zu pairs of flavor and resource: must have at most "
				    "%d",
				    set->trees[i]->total.n, QUOTA_MAX_FR);
		}
	}
	spread_along_grafts(w);
	for (size_t i = 0; i < w->n; i++) {
		after += w->units[i].wrong ? 1 : 0;
	}
	return after - before;
}

/* --- sets ------------------------------------------------------------------------------------- */

static bool matters(const struct json *o)
{
	return trees_is(o, API_QUEUE) || trees_is(o, API_TREE) || trees_is(o, API_FLAVOR) ||
	       trees_is(o, API_ELASTIC);
}

/* Is 'o' part of a tree that is wrong? */
static bool left_out(struct trees_work *w, const struct json *o)
{
	mk_str name = json_str_at(o, "/metadata/name");
	const struct trees_unit *u = NULL;

	if (w->all != NULL && trees_is(o, API_TREE)) {
		u = trees_unit(w, false, name);
	} else if (w->all != NULL && trees_is(o, API_QUEUE)) {
		u = trees_unit_of(w, api_set_place(w->all, name));
	}
	return u != NULL && u->wrong;
}

/* An object that cannot be read as one of its kind is in no tree. */
static enum mk_code make_set(struct trees_work *w, struct api_set **ret, struct mk_err *err)
{
	struct api_set *set = api_set_new(w->a);

	for (size_t i = 0; set != NULL && i < w->in->n; i++) {
		if (matters(w->clean[i]) && !left_out(w, w->clean[i]) &&
		    api_set_add(set, w->clean[i], i, NULL) == ERR_NO_MEMORY) {
			set = NULL;
		}
	}
	if (!set) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*ret = set;
	return api_set_link(set, API_NONE, err);
}

enum mk_code trees_exclude(struct trees_work *w, struct mk_err *err)
{
	for (;;) {
		struct validate_input in = {
			.subject = API_NONE, .deleted = API_NONE, .by_controller = true};
		struct validate_errors errors;
		enum mk_code code = make_set(w, &w->set, err);

		in.now = w->set;
		if (code == ERR_OK) {
			code = validate(w->a, &in, &errors, err);
		}
		if (code != ERR_OK) {
			return code;
		}
		if (!w->all) {
			w->all = w->set;
			if (!find_units(w)) {
				return err_set(err, ERR_NO_MEMORY, "out of memory");
			}
		}
		if (mark(w, w->set, &errors) == 0 || arena_failed(w->a)) {
			break;
		}
	}
	return arena_failed(w->a) ? err_set(err, ERR_NO_MEMORY, "out of memory") : ERR_OK;
}
