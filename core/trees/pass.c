/* SPDX-License-Identifier: Apache-2.0 */
/* A pass from the objects of a cluster to writes and statuses; see pass.h. */
#include "core/trees/pass_int.h"

#include <stdlib.h>

#include "core/quota/compile_source.h"
#include "core/trees/mentions.h"

/* --- writes ----------------------------------------------------------------------------------- */

/* Its owner gave the quota of the root of a tree of parents away by an annotation on it. */
static bool is_from_workers(const struct trees_unit *u, enum api_kind kind, mk_str name)
{
	return u->parents && u->judged.capacity != NULL && kind == API_QUEUE &&
	       str_eq(name, u->name);
}

void trees_emit(struct trees_work *w, struct trees_unit *u, enum trees_verb verb,
		enum api_kind kind, mk_str name, struct json *body)
{
	if (w->out->n == w->size) {
		size_t size = w->size ? w->size * 2 : 64;
		struct trees_write *bigger = arena_array(w->a, size, sizeof(*bigger));

		if (!bigger) {
			return;
		}
		if (w->out->n > 0) {
			memcpy(bigger, w->out->writes, w->out->n * sizeof(*bigger));
		}
		w->out->writes = bigger;
		w->size = size;
	}
	w->out->writes[w->out->n++] = (struct trees_write){
		.verb = verb,
		.kind = kind,
		.tree = u != NULL ? u->name : STR(""),
		.parents = u != NULL && u->parents,
		.name = name,
		.force = u != NULL && verb == TREES_APPLY &&
			 (u->force || is_from_workers(u, kind, name)),
		.body = body,
	};
}

void trees_emit_more(struct trees_work *w, struct trees_unit *u, enum api_kind kind, mk_str name,
		     struct json *body)
{
	size_t n = w->out->n;

	trees_emit(w, u, TREES_APPLY, kind, name, body);
	if (w->out->n > n) {
		w->out->writes[n].more = true;
		w->out->writes[n].generation =
			json_int(json_at(trees_live(w, kind, name), "/metadata/generation"), 0);
	}
}

void trees_refuse(struct trees_work *w, struct trees_unit *u, mk_str object, const char *reason,
		  const char *text)
{
	struct trees_refusal *r = arena_alloc(w->a, sizeof(*r));

	if (u->judged.refusal != NULL) {
		return;
	}
	if (r != NULL) {
		*r = (struct trees_refusal){u->name, object, str_of(reason),
					    arena_dup(w->a, str_of(text))};
	}
	u->judged.refusal = r;
	u->active = false;
}

struct json *trees_body(struct arena *a, const char *version, enum api_kind kind, mk_str name,
			const struct json *live)
{
	struct json *o = json_new_obj(a);
	struct json *meta = json_new_obj(a);

	json_set_str(a, o, "apiVersion", str_of(version));
	json_set_str(a, o, "kind", str_of(api_kind_name(kind)));
	json_set_str(a, meta, "name", name);
	/* Without it, an apply makes anew what was deleted meanwhile. */
	json_set(a, meta, STR("uid"), json_dup(a, json_at(live, "/metadata/uid")));
	json_set(a, o, STR("metadata"), meta);
	return o;
}

bool trees_is(const struct json *o, enum api_kind kind)
{
	return str_is(json_str(json_get(o, "kind")), api_kind_name(kind));
}

struct json *trees_live(struct trees_work *w, enum api_kind kind, mk_str name)
{
	mk_str key = arena_printf(w->a, "%s/%.*s", api_kind_name(kind), STR_ARG(name));

	return key.p != NULL ? map_get(&w->live_index, key) : NULL;
}

bool trees_has_finalizer(const struct json *tree)
{
	struct json_iter it = json_iter(json_at(tree, "/metadata/finalizers"));

	while (json_next(&it)) {
		if (str_is(json_str(it.val), TREES_FINALIZER)) {
			return true;
		}
	}
	return false;
}

void trees_emit_finalizer(struct trees_work *w, struct trees_unit *u, bool with)
{
	struct json *body = trees_body(w->a, TREES_API, API_TREE, u->name, u->top);
	struct json *list = json_new_arr(w->a);

	json_add(w->a, list, json_new_str(w->a, STR(TREES_FINALIZER)));
	if (with) {
		json_set(w->a, json_get(body, "metadata"), STR("finalizers"), list);
	}
	trees_emit(w, u, TREES_APPLY, API_TREE, u->name, body);
}

/* --- objects ---------------------------------------------------------------------------------- */

static bool is_live(const struct json *o)
{
	return (trees_is(o, API_QUEUE) || trees_is(o, API_COHORT)) &&
	       json_str_at(o, "/metadata/name").n > 0;
}

struct aged {
	mk_str made, name;
	struct json *tree;
};

static int cmp_age(const void *x, const void *y)
{
	const struct aged *a = x;
	const struct aged *b = y;
	int order = str_cmp(a->made, b->made);

	return order != 0 ? order : str_cmp(a->name, b->name);
}

/* The eldest tree first: who claims a queue that another tree has, and came later, is wrong. */
static bool sort_trees(struct trees_work *w)
{
	struct aged *v = arena_array(w->a, w->in->n, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; v != NULL && i < w->in->n; i++) {
		if (trees_is(w->clean[i], API_TREE)) {
			v[n++] = (struct aged){
				json_str_at(w->clean[i], "/metadata/creationTimestamp"),
				json_str_at(w->clean[i], "/metadata/name"), w->clean[i]};
		}
	}
	if (n > 0) {
		qsort(v, n, sizeof(*v), cmp_age);
	}
	for (size_t i = w->in->n; n > 0 && i-- > 0;) {
		if (trees_is(w->clean[i], API_TREE)) {
			w->clean[i] = v[--n].tree;
		}
	}
	return v != NULL;
}

/* Trees whose total is that of workers have it from here on as if it were written there. */
static bool put_totals(struct trees_work *w)
{
	for (size_t i = 0; w->in->capacities != NULL && i < w->in->n; i++) {
		struct json *o = w->clean[i];
		const struct trees_capacity *c =
			trees_capacity_asked(o)
				? trees_capacity_get(w->in->capacities, trees_is(o, API_QUEUE),
						     json_str_at(o, "/metadata/name"))
				: NULL;

		w->clean[i] = c != NULL ? trees_capacity_apply(w->a, c, o) : o;
		if (!w->clean[i]) {
			return false;
		}
	}
	return true;
}

/* ClusterQueues are copied, because compile_source changes them; the others are not changed. */
static enum mk_code read_objects(struct trees_work *w, struct mk_err *err)
{
	bool good;

	w->clean = arena_array(w->a, w->in->n, sizeof(struct json *));
	w->live = arena_array(w->a, w->in->n, sizeof(struct json *));
	good = w->clean != NULL && w->live != NULL;
	for (size_t i = 0; good && i < w->in->n; i++) {
		struct json *o = w->in->objects[i];

		w->clean[i] = trees_is(o, API_QUEUE) ? json_dup(w->a, o) : o;
		if (is_live(o)) {
			mk_str key = arena_printf(w->a, "%.*s/%.*s",
						  STR_ARG(json_str(json_get(o, "kind"))),
						  STR_ARG(json_str_at(o, "/metadata/name")));

			w->live[w->n_live++] = o;
			good = key.p != NULL && map_put(&w->live_index, key, o);
		}
		good = good && w->clean[i] != NULL;
	}
	if (!good || !sort_trees(w)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (compile_source(w->a, w->clean, w->in->n, err) != ERR_OK) {
		return ERR_NO_MEMORY;
	}
	return put_totals(w) ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

/* --- models ----------------------------------------------------------------------------------- */

static void free_quota(void *q)
{
	quota_free(q);
}

/* What the daemon's mode and the tree's enforcement let be done. */
static void find_mode(struct trees_work *w, struct trees_unit *u)
{
	mk_str word = json_str_at(u->judged.live, "/spec/enforcement");

	u->judged.engine = str_is(word, "Engine");
	u->judged.mode = trees_compiles(word) ? w->in->mode : TREES_OBSERVE;
}

/*
 * Where ElasticQuotas cannot be read, a flavor that one caps would count as empty, and all that has
 * quota of it would lose it.
 */
static void refuse_elastic(struct trees_work *w, struct trees_unit *u, const struct api_flavor *f)
{
	mk_str text;

	if (w->in->elastic == TREES_AWAITED) {
		u->unsure = true;
		return;
	}
	text = arena_printf(
		w->a,
		"flavor %.*s has a relatedElasticQuota (%.*s), and the API server does "
		"not serve ElasticQuotas, or not to multikueued: install their CRD, grant "
		"the right to list and watch them, or take the reference away",
		STR_ARG(f->name), STR_ARG(f->elastic.v));
	trees_refuse(w, u, arena_printf(w->a, "ResourceFlavor/%.*s", STR_ARG(f->name)),
		     "RelatedElasticQuota", text.p != NULL ? text.p : "");
}

static void check_elastic(struct trees_work *w, struct trees_unit *u, const struct api_model *m)
{
	for (size_t i = 0; w->in->elastic != TREES_SERVED && i < w->set->n_flavors; i++) {
		const struct api_flavor *f = w->set->flavors[i];

		for (size_t k = 0; f->elastic.set && k < m->desc.n_frs; k++) {
			if (str_eq(m->desc.frs[k].flavor, f->name)) {
				refuse_elastic(w, u, f);
				return;
			}
		}
	}
}

static enum mk_code judge(struct trees_work *w, const struct api_model *m, struct mk_err *err)
{
	struct trees_unit *u = trees_unit(w, !m->tree, m->name);
	struct quota *q = quota_new();
	struct mk_err why;
	enum mk_code code;

	if (!q || !arena_on_done(w->a, free_quota, q)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (!u) {
		return ERR_OK;
	}
	code = quota_apply(q, &m->desc, &why);
	if (code == ERR_NO_MEMORY) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (code != ERR_OK) {
		trees_fault(w, u, STR("spec"), "%s", why.msg);
		return ERR_OK;
	}
	u->judged.set = w->set;
	u->judged.model = m;
	u->judged.q = q;
	if (u->judged.mode != TREES_COMPILE || u->deleted) {
		return ERR_OK;
	}
	check_elastic(w, u, m);
	code = compile_tree(w->a, m, q, &u->compiled, err);
	u->judged.compiled = &u->compiled;
	u->active = u->compiled.reasons.n == 0;
	w->out->n_inexpressible += u->active ? 0 : 1;
	u->active = u->active && !u->unsure && (!u->judged.capacity || u->judged.capacity->known);
	return code;
}

static void find_refusals(struct trees_work *w)
{
	for (size_t i = 0; i < w->in->n_refusals; i++) {
		for (size_t k = 0; k < w->n; k++) {
			if (str_eq(w->in->refusals[i].tree, w->units[k].name)) {
				w->units[k].judged.refusal = &w->in->refusals[i];
			}
		}
	}
}

static enum mk_code judge_all(struct trees_work *w, struct mk_err *err)
{
	struct api_models models;
	enum mk_code code = api_build(w->a, w->set, &models, err);

	find_refusals(w);
	for (size_t i = 0; code == ERR_OK && i < w->n; i++) {
		find_mode(w, &w->units[i]);
		w->units[i].judged.capacity = trees_capacity_get(
			w->in->capacities, w->units[i].parents, w->units[i].name);
	}
	for (size_t i = 0; code == ERR_OK && i < models.n; i++) {
		code = judge(w, &models.v[i], err);
	}
	w->out->n_trees = w->n;
	for (size_t i = 0; code == ERR_OK && i < w->n; i++) {
		w->out->n_invalid += w->units[i].wrong ? 1 : 0;
	}
	return code;
}

/* --- what is to be written -------------------------------------------------------------------- */

static enum mk_code write_all(struct trees_work *w, struct mk_err *err)
{
	enum mk_code code = trees_prepare(w, err);

	for (size_t i = 0; code == ERR_OK && i < w->n; i++) {
		struct trees_unit *u = &w->units[i];

		if (u->judged.refusal != NULL || u->unsure) {
			continue;
		}
		if (u->deleted) {
			trees_remove(w, u);
		} else if (!u->wrong) {
			code = trees_write_next(w, u, err);
		}
	}
	return code;
}

/*
 * Nothing is made or deleted while statuses alone are written: a finalizer of another mode would
 * keep a deleted tree for ever.
 */
static void drop_finalizers(struct trees_work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		struct trees_unit *u = &w->units[i];

		if (!u->parents && !u->judged.refusal && trees_has_finalizer(u->top)) {
			trees_emit_finalizer(w, u, false);
		}
	}
}

/* --- statuses --------------------------------------------------------------------------------- */

static bool make_room(struct trees_work *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct quota *q = w->units[i].judged.q;

		n += q != NULL ? quota_n_nodes(q) * quota_n_frs(q) : 0;
	}
	w->out->figures = arena_array(w->a, n, sizeof(*w->out->figures));
	return w->out->figures != NULL;
}

/* A tree that goes has no use for a status, but to say why it does not go. */
static void write_status(struct trees_work *w, struct trees_unit *u)
{
	const struct trees_judged *j = &u->judged;
	struct trees_usage *usage = u->wrong || !j->model ? NULL : trees_usage(w->a, j);
	struct json *body = NULL;

	u->usage = usage;
	if (usage != NULL) {
		trees_figures(j, usage, w->out);
		if (u->unsure) {
			return;
		}
	} else if (!u->wrong && (j->model != NULL || u->host.n == 0)) {
		w->a->failed = w->a->failed || j->model != NULL;
		return;
	}
	if (j->live != NULL && (!u->deleted || j->refusal != NULL)) {
		body = trees_status(w->a, j, usage, w->in->wall_ms);
	}
	if (body != NULL) {
		trees_emit(w, u, TREES_STATUS, API_TREE, u->name, body);
	}
}

/* --- the pass --------------------------------------------------------------------------------- */

static void free_map(void *map)
{
	map_done(map);
}

enum mk_code trees_pass(struct arena *a, const struct trees_input *in, struct trees_plan *ret,
			struct mk_err *err)
{
	struct trees_plan out = {.n = 0};
	struct trees_work *w = arena_alloc(a, sizeof(*w));
	enum mk_code code;

	if (!w) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*w = (struct trees_work){.a = a, .in = in, .out = &out};
	if (!arena_on_done(a, free_map, &w->by_key) || !arena_on_done(a, free_map, &w->wanted) ||
	    !arena_on_done(a, free_map, &w->live_index)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	code = read_objects(w, err);
	if (code == ERR_OK) {
		code = trees_exclude(w, err);
	}
	if (code == ERR_OK) {
		code = judge_all(w, err);
	}
	if (code == ERR_OK && in->mode == TREES_COMPILE) {
		code = write_all(w, err);
	} else if (code == ERR_OK) {
		drop_finalizers(w);
	}
	if (code == ERR_OK && make_room(w)) {
		for (size_t i = 0; i < w->n; i++) {
			write_status(w, &w->units[i]);
		}
		trees_write_hierarchy(w);
	}
	if (code == ERR_OK && arena_failed(a)) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (code == ERR_OK) {
		*ret = out;
	}
	return code;
}
