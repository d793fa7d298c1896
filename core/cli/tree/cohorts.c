/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of Cohorts; see cohorts.h. */
#include "core/cli/tree/cohorts.h"

#include <stdlib.h>

#include "core/quota/api_limits.h"
#include "core/quota/compile_source.h"

/* An object in the order in which nodes are made: by hierarchy, parents first. */
struct spot {
	const struct api_limited *o, *root;
	size_t i; /* in the limits */
};

/* One hierarchy under construction. */
struct hierarchy {
	struct cli *c;
	const struct world *w;
	const struct api_limits *l;
	const struct spot *spots;
	size_t n;
	size_t *node_of; /* of each object of the limits: its node */
	struct quota_fr *frs;
	size_t n_frs;
	struct map fr_index; /* "flavor/resource" to struct quota_fr */
	int64_t *min;        /* per node and pair */
	mk_str tree;         /* that it was compiled from; empty: none */
	bool mixed;          /* its queues have different groups, or orders of flavors */
};

/* --- what belongs to no tree ------------------------------------------------------------------ */

static bool is_queue(const struct json *o)
{
	return str_is(json_str_at(o, "/kind"), api_kind_name(API_QUEUE));
}

static bool in_tree(const struct world *w, mk_str queue)
{
	const struct api_place *p = api_set_place(w->in.set, queue);

	return p && api_place_in_tree(p);
}

/* Is the tree in this cluster that a Cohort was compiled from? */
static bool has_tree(const struct world *w, mk_str name)
{
	return name.n > 0 && (api_set_tree(w->in.set, name) || in_tree(w, name));
}

/* Does the queue only show what a Cohort of the tree has? Kueue admits nothing there. */
static bool only_shows(const struct map *made, const struct json *queue)
{
	return json_str_at(queue, "/spec/cohortName").n == 0 &&
	       str_is(json_str_at(queue, "/spec/stopPolicy"), "Hold") &&
	       map_get(made, json_str_at(queue, "/metadata/name")) != NULL;
}

/* A Cohort that queues and Cohorts name, and that is no object: it has nothing of its own. */
static struct json *implied(struct cli *c, mk_str name)
{
	struct json *o = json_new_obj(&c->a), *meta = json_new_obj(&c->a);

	json_set_str(&c->a, o, "kind", str_of(api_kind_name(API_COHORT)));
	json_set_str(&c->a, meta, "name", name);
	json_set(&c->a, o, STR("metadata"), meta);
	return o;
}

/*
 * The Cohorts and ClusterQueues that are shown, in *ret. 'made' has the queues that compiled
 * Cohorts stand for, 'there' the names of all Cohorts. False: out of memory.
 */
static bool choose(struct cli *c, const struct world *w, struct map *made, struct map *there,
		   struct json ***ret, size_t *ret_n)
{
	const struct tree_input *in = &w->in;
	struct json **v = arena_array(&c->a, 2 * in->n_limits, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; v && i < in->n_limits; i++) {
		struct json *o = in->limits[i];
		mk_str by = compile_made_by(o), name = json_str_at(o, "/metadata/name");

		if (is_queue(o) || has_tree(w, by)) {
			continue;
		}
		v[n++] = o;
		if (!map_put(there, name, o) ||
		    (by.n > 0 && !map_put(made, compile_queue_of(by, name), o))) {
			return false;
		}
	}
	for (size_t i = 0; v && i < in->n_limits; i++) {
		struct json *o = in->limits[i];

		if (is_queue(o) && !in_tree(w, json_str_at(o, "/metadata/name")) &&
		    !only_shows(made, o)) {
			v[n++] = o;
		}
	}
	for (size_t i = 0, known = n; v && i < known; i++) {
		mk_str up =
			json_str_at(v[i], is_queue(v[i]) ? "/spec/cohortName" : "/spec/parentName");

		if (up.n > 0 && !map_get(there, up)) {
			v[n++] = implied(c, up);
			if (!map_put(there, up, v[n - 1])) {
				return false;
			}
		}
	}
	*ret = v;
	*ret_n = n;
	return v && !arena_failed(&c->a);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static struct quota_fr *pair(const struct hierarchy *h, const struct api_quota *q)
{
	return map_get(&h->fr_index, api_pair(&h->c->a, q->flavor, q->resource));
}

/* All pairs of the hierarchy in the order of their first mention. */
static bool find_pairs(struct hierarchy *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		n += h->spots[i].o->quotas.n;
	}
	h->frs = arena_array(&h->c->a, n, sizeof(*h->frs));
	for (size_t i = 0; h->frs && i < h->n; i++) {
		const struct api_quotas *quotas = &h->spots[i].o->quotas;

		for (size_t k = 0; k < quotas->n; k++) {
			const struct api_quota *q = &quotas->v[k];
			mk_str key = api_pair(&h->c->a, q->flavor, q->resource);

			if (!key.p || map_get(&h->fr_index, key)) {
				continue;
			}
			h->frs[h->n_frs] = (struct quota_fr){
				.flavor = q->flavor, .resource = q->resource, .group = h->n_frs};
			if (!map_put(&h->fr_index, key, &h->frs[h->n_frs++])) {
				return false;
			}
		}
	}
	return h->frs && !arena_failed(&h->c->a);
}

/* What shares a flavor or a resource is one resource group; groups are numbered from 0. */
static void find_groups(struct hierarchy *h)
{
	size_t groups = 0;

	for (size_t f = 0; f < h->n_frs; f++) {
		for (size_t e = 0; e < f; e++) {
			size_t from = h->frs[f].group, to = h->frs[e].group;

			if (from == to || (!str_eq(h->frs[e].flavor, h->frs[f].flavor) &&
					   !str_eq(h->frs[e].resource, h->frs[f].resource))) {
				continue;
			}
			for (size_t k = 0; k <= f; k++) {
				h->frs[k].group = h->frs[k].group == from ? to : h->frs[k].group;
			}
		}
	}
	/* A group still has the number of a pair of its own. */
	for (size_t f = 0; f < h->n_frs; f++) {
		size_t old = h->frs[f].group;

		if (old < groups) {
			continue;
		}
		for (size_t k = f; k < h->n_frs; k++) {
			h->frs[k].group = h->frs[k].group == old ? groups : h->frs[k].group;
		}
		groups++;
	}
}

/* Where a flavor stands in the order of the hierarchy. */
static size_t rank(const struct hierarchy *h, mk_str flavor)
{
	size_t f = 0;

	while (f < h->n_frs && !str_eq(h->frs[f].flavor, flavor)) {
		f++;
	}
	return f;
}

/* Does a queue have groups or an order of flavors that the hierarchy as a whole has not? */
static bool differs(const struct hierarchy *h, const struct api_quotas *quotas)
{
	for (size_t k = 1; k < quotas->n; k++) {
		const struct api_quota *was = &quotas->v[k - 1], *is = &quotas->v[k];

		if (is->group == was->group ? rank(h, is->flavor) < rank(h, was->flavor)
					    : pair(h, is)->group == pair(h, was)->group) {
			return true;
		}
	}
	return false;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static int64_t bounded(int64_t v)
{
	return v < 0 ? 0 : v > QUOTA_MAX_AMOUNT ? QUOTA_MAX_AMOUNT : v;
}

/* Minima, from the lowest level up. */
static bool sum_up(struct hierarchy *h)
{
	h->min = arena_array(&h->c->a, h->n * h->n_frs + 1, sizeof(*h->min));
	for (size_t i = h->n; h->min && i-- > 0;) {
		const struct api_limited *o = h->spots[i].o;
		int64_t *own = &h->min[i * h->n_frs], *up;

		for (size_t k = 0; k < o->quotas.n; k++) {
			int64_t *to = &own[pair(h, &o->quotas.v[k]) - h->frs];

			*to = bounded(api_add(*to, bounded(o->quotas.v[k].nominal.v)));
		}
		if (o->up == API_NONE) {
			continue;
		}
		up = &h->min[h->node_of[o->up] * h->n_frs];
		for (size_t f = 0; f < h->n_frs; f++) {
			up[f] = bounded(api_add(up[f], own[f]));
		}
	}
	return h->min;
}

static bool take_amounts(const struct hierarchy *h, size_t i, struct quota_node *node)
{
	const struct api_limited *o = h->spots[i].o;
	struct quota_amount *min = arena_array(&h->c->a, h->n_frs, sizeof(*min));
	struct quota_amount *max = arena_array(&h->c->a, h->n_frs, sizeof(*max));

	for (size_t f = 0; min && max && f < h->n_frs; f++) {
		const struct quota_fr *fr = &h->frs[f];
		int64_t least = h->min[i * h->n_frs + f];
		const struct api_quota *q =
			api_quotas_get(&o->quotas, api_pair(&h->c->a, fr->flavor, fr->resource));

		min[node->n_min++] = (struct quota_amount){
			f, least, q && q->has_lending ? bounded(q->lending.v) : -1};
		if (!q && o->is_queue) {
			max[node->n_max++] = (struct quota_amount){f, 0, -1};
		} else if (q && q->has_borrowing) {
			max[node->n_max++] = (struct quota_amount){
				f, bounded(api_add(least, bounded(q->borrowing.v))), -1};
		}
	}
	node->min = min;
	node->max = max;
	return min && max;
}

/* What its object says of a leaf's own order, flavors and preemption. */
static void take_behaviour(const struct hierarchy *h, const struct api_limited *o,
			   struct quota_node *node)
{
	const struct api_queue *q = o->is_queue ? api_set_queue(h->w->in.set, o->name) : NULL;
	const struct api_behaviour *b = q ? &q->behaviour : NULL;

	if (!b) {
		return;
	}
	node->weight = b->weight;
	node->behaviour = (struct quota_behaviour){
		.strategy = b->strategy == API_STRICT ? QUOTA_STRICT : QUOTA_BEST_EFFORT,
		/* Both enums have the words in this order. */
		.within = (enum quota_reclaim)b->within_queue,
		.reclaim = (enum quota_reclaim)b->reclaim,
		.borrow_within = b->borrow_within,
		.has_threshold = b->has_threshold,
		.threshold = b->threshold,
		.borrow_next_flavor = b->borrow_next_flavor,
		.preempt_may_stop = b->preempt_may_stop,
		.preempt_over_borrow = b->preempt_over_borrow,
	};
}

static mk_str node_name(const struct hierarchy *h, const struct api_limited *o)
{
	mk_str by = compile_made_by(o->json), short_name = compile_queue_of(by, o->name);
	mk_str twin =
		arena_printf(&h->c->a, "%s/%.*s", api_kind_name(API_QUEUE), STR_ARG(short_name));

	if (o->is_queue) {
		return o->name;
	}
	return short_name.n < o->name.n && str_eq(by, h->tree) && !api_limits_get(h->l, twin)
		       ? short_name
		       : arena_printf(&h->c->a, "cohort/%.*s", STR_ARG(o->name));
}

static const struct quota_node *make_nodes(struct hierarchy *h, struct api_faults *notes)
{
	struct quota_node *nodes = arena_array(&h->c->a, h->n, sizeof(*nodes));

	for (size_t i = 0; nodes && i < h->n; i++) {
		const struct api_limited *o = h->spots[i].o;
		mk_str stop = json_str_at(o->json, "/spec/stopPolicy");

		nodes[i] = (struct quota_node){
			.name = node_name(h, o),
			.parent = o->up == API_NONE ? QUOTA_NONE : h->node_of[o->up],
			.policy = QUOTA_FIFO,
			.fence_open = true,
			.weight = 1000,
			.absolute = true,
			.min_weight = -1,
			.max_weight = -1,
		};
		take_behaviour(h, o, &nodes[i]);
		if (o->up != API_NONE && !take_amounts(h, i, &nodes[i])) {
			return NULL;
		}
		if (o->is_queue && (str_is(stop, "Hold") || str_is(stop, "HoldAndDrain"))) {
			api_fault_add(&h->c->a, notes, 0, o->name,
				      "its stopPolicy is %.*s: Kueue admits nothing there",
				      STR_ARG(stop));
		}
		h->mixed = h->mixed || (o->is_queue && differs(h, &o->quotas));
	}
	return nodes;
}

/* --- models ----------------------------------------------------------------------------------- */

static bool make_model(struct hierarchy *h, struct api_model *m, enum world_origin *origin)
{
	const struct api_limited *root = h->spots[0].root;
	bool good;

	h->tree = root->is_queue ? STR("") : compile_made_by(root->json);
	*origin = root->is_queue ? WORLD_ALONE : h->tree.n > 0 ? WORLD_COMPILED : WORLD_COHORTS;
	*m = (struct api_model){.name = h->tree.n > 0 ? h->tree : root->name};
	for (size_t i = 0; i < h->n; i++) {
		h->node_of[h->spots[i].i] = i;
	}
	map_init(&h->fr_index);
	good = find_pairs(h);
	if (good) {
		find_groups(h);
		good = sum_up(h);
	}
	if (good) {
		m->desc.nodes = make_nodes(h, &m->notes);
		m->desc.n_nodes = h->n;
		good = m->desc.nodes != NULL;
	}
	map_done(&h->fr_index);
	for (size_t f = 0; good && f < h->n_frs; f++) {
		h->frs[f].total = h->min[f];
	}
	m->desc.frs = h->frs;
	m->desc.n_frs = h->n_frs;
	if (h->mixed) {
		api_fault_add(
			&h->c->a, &m->notes, 0, m->name,
			"its ClusterQueues have resource groups or orders of flavors that "
			"differ: for Workloads that wait, Kueue may choose other flavors than "
			"explain says");
	}
	return good && !arena_failed(&h->c->a);
}

/* Hierarchies of Cohorts first, by name; in each, parents first. */
static int by_place(const void *x, const void *y)
{
	const struct spot *p = x, *q = y;

	if (p->root != q->root) {
		return p->root->is_queue != q->root->is_queue
			       ? (p->root->is_queue ? 1 : -1)
			       : str_cmp(p->root->name, q->root->name);
	}
	if (p->o->depth != q->o->depth) {
		return p->o->depth < q->o->depth ? -1 : 1;
	}
	return p->i < q->i ? -1 : p->i > q->i;
}

/* Room for 'more' models behind those that are there. */
static bool make_room(struct cli *c, struct world *w, size_t more)
{
	size_t n = w->models.n;
	struct api_model *v = arena_array(&c->a, n + more, sizeof(*v));
	enum world_origin *origins = arena_array(&c->a, n + more, sizeof(*origins));

	if (!v || !origins) {
		return false;
	}
	if (n > 0) {
		memcpy(v, w->models.v, n * sizeof(*v));
		memcpy(origins, w->origins, n * sizeof(*origins));
	}
	w->models.v = v;
	w->origins = origins;
	return true;
}

static bool make_models(struct cli *c, struct world *w, const struct api_limits *l)
{
	struct spot *spots = arena_array(&c->a, l->n, sizeof(*spots));
	size_t *node_of = arena_array(&c->a, l->n, sizeof(*node_of));

	if (!spots || !node_of || !make_room(c, w, l->n)) {
		return false;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct api_limited *root = &l->v[i];

		while (root->up != API_NONE) {
			root = &l->v[root->up];
		}
		spots[i] = (struct spot){&l->v[i], root, i};
	}
	qsort(spots, l->n, sizeof(*spots), by_place);
	for (size_t from = 0, n = 0; from < l->n; from += n) {
		struct hierarchy h = {
			.c = c, .w = w, .l = l, .spots = &spots[from], .node_of = node_of};

		for (n = 1; from + n < l->n && spots[from + n].root == spots[from].root;) {
			n++;
		}
		h.n = n;
		if (!make_model(&h, &w->models.v[w->models.n], &w->origins[w->models.n])) {
			return false;
		}
		w->models.n++;
	}
	return true;
}

bool cohorts_add(struct cli *c, struct world *w)
{
	struct map made, there;
	struct json **objects = NULL;
	struct api_limits *l = NULL;
	struct mk_err err;
	enum mk_code code;
	size_t n = 0;
	bool good;

	map_init(&made);
	map_init(&there);
	good = choose(c, w, &made, &there, &objects, &n);
	map_done(&made);
	map_done(&there);
	code = good ? api_limits_read(&c->a, objects, n, &l, &err) : ERR_NO_MEMORY;
	if (code == ERR_INVALID) {
		api_fault_add(&c->a, &w->notes, 0, STR("Cohorts"), "not shown: %s", err.msg);
		return true;
	}
	return code == ERR_OK && make_models(c, w, l);
}
