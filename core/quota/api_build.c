/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of trees from both plans; see api_build.h. */
#include "core/quota/api_build.h"

#include <stdlib.h>

#include "core/quota/api_read.h"

struct builder {
	struct arena *a;
	struct api_set *set;
	struct api_model *m;
	struct quota_node *nodes;
	const struct api_place **places;
	size_t n, size;
	struct quota_lq *lqs;
	struct quota_fr *frs;
	size_t n_frs;
	struct map fr_index; /* "flavor/resource" to struct quota_fr */
	struct map
		/*
		 * name to struct quota_node; both arrays have their final size before it is filled
		 */
		node_index;
};

/* --- totals ----------------------------------------------------------------------------------- */

static int64_t bounded(int64_t v)
{
	return v < 0 ? 0 : v > QUOTA_MAX_AMOUNT ? QUOTA_MAX_AMOUNT : v;
}

/* The least of 'total' and what the flavor's ElasticQuota leaves of it. */
static int64_t elastic_cap(struct builder *b, const struct api_quota *q, int64_t total)
{
	struct api_object *o = api_set_find(b->set, API_FLAVOR, (mk_str){NULL, 0}, q->flavor);
	const struct api_flavor *f = o != NULL ? b->set->flavors[o->item] : NULL;
	mk_str name = f != NULL ? f->elastic.v : (mk_str){NULL, 0};
	mk_str ns;
	struct api_amount cap;
	const struct json *max;

	if (!f || !f->elastic.set || !str_split(&name, '/', &ns)) {
		return total;
	}
	o = api_set_find(b->set, API_ELASTIC, ns, name);
	if (!o) {
		api_fault_add(
			b->a, &b->m->notes, 0, q->flavor,
			"its ElasticQuota \"%.*s\" does not exist, so the flavor gives nothing",
			STR_ARG(f->elastic.v));
		return 0;
	}
	max = json_getn(json_at(o->json, "/spec/max"), q->resource);
	if (!max || !api_amount_read(b->a, max, q->resource, false, &cap)) {
		return total;
	}
	return cap.v < total ? bounded(cap.v) : total;
}

static bool add_pairs(struct builder *b, const struct api_quotas *total)
{
	b->frs = arena_array(b->a, total->n, sizeof(*b->frs));
	if (!b->frs) {
		return false;
	}
	for (size_t i = 0; i < total->n; i++) {
		const struct api_quota *q = &total->v[i];
		struct quota_fr *fr = &b->frs[b->n_frs++];
		mk_str key = api_pair(b->a, q->flavor, q->resource);

		*fr = (struct quota_fr){
			.flavor = q->flavor,
			.resource = q->resource,
			.group = q->group,
			.total = elastic_cap(b, q, bounded(q->nominal.v)),
		};
		if (!key.p || !map_put(&b->fr_index, key, fr)) {
			return false;
		}
	}
	return true;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static const struct quota_amount *amounts(struct builder *b, const struct api_quotas *list,
					  size_t *ret_n)
{
	struct quota_amount *v = arena_array(b->a, list->n, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; v != NULL && i < list->n; i++) {
		const struct api_quota *q = &list->v[i];
		mk_str key = api_pair(b->a, q->flavor, q->resource);
		const struct quota_fr *fr = key.p != NULL ? map_get(&b->fr_index, key) : NULL;

		if (fr != NULL) {
			v[n++] = (struct quota_amount){
				.fr = (size_t)(fr - b->frs),
				.nominal = bounded(q->nominal.v),
				.lending = q->has_lending ? bounded(q->lending.v) : -1,
			};
		}
	}
	*ret_n = n;
	return v;
}

static int32_t percent(const struct api_int *weight)
{
	return weight->set ? (int32_t)weight->v : -1;
}

static void take_behaviour(const struct api_behaviour *from, struct quota_node *node)
{
	static const enum quota_strategy strategies[] = {QUOTA_BEST_EFFORT, QUOTA_STRICT,
							 QUOTA_LQ_FAIR, QUOTA_LQ_CAPACITY};
	static const enum quota_reclaim words[] = {QUOTA_NEVER, QUOTA_LOWER, QUOTA_LOWER_OR_NEWER,
						   QUOTA_ANY};

	node->weight = from->weight;
	node->behaviour = (struct quota_behaviour){
		.strategy = strategies[from->strategy],
		.within = words[from->within_queue],
		.reclaim = words[from->reclaim],
		.borrow_within = from->borrow_within,
		.has_threshold = from->has_threshold,
		.threshold = from->threshold,
		.borrow_next_flavor = from->borrow_next_flavor,
		.preempt_may_stop = from->preempt_may_stop,
		.preempt_over_borrow = from->preempt_over_borrow,
	};
}

static const struct api_behaviour *behaviour_of(const struct api_place *p)
{
	if (p->queue != NULL) {
		return &p->queue->behaviour;
	}
	if (p->node != NULL && p->node->behaviour != NULL) {
		return p->node->behaviour;
	}
	return p->tree != NULL ? p->tree->behaviour : NULL;
}

/* PlanB's fences are closed unless the tree opens them, PlanA's the other way round. */
static bool is_open(const struct api_place *p)
{
	const struct api_group *g =
		p->tree != NULL ? map_get(&p->tree->group_index, p->name) : NULL;

	if (p->tree != NULL) {
		return g != NULL && g->fence == API_FENCE_OPEN;
	}
	return p->queue->behaviour.fence != API_FENCE_CLOSED;
}

static void take_numbers(struct builder *b, const struct api_place *p, struct quota_node *node)
{
	const struct api_queue *q = p->queue;

	if (p->node != NULL) {
		node->absolute = p->node->min.set || p->node->max.set;
		node->min_weight = percent(&p->node->min_weight);
		node->max_weight = percent(&p->node->max_weight);
		node->min = amounts(b, &p->node->min, &node->n_min);
		node->max = amounts(b, &p->node->max, &node->n_max);
	} else if (!p->tree && q != NULL) {
		node->absolute = q->quotas.set && !q->quota_managed && !q->min_weight.set &&
				 !q->max_weight.set;
		node->min_weight = percent(&q->min_weight);
		node->max_weight = percent(&q->max_weight);
		if (node->absolute) {
			node->min = amounts(b, &q->quotas, &node->n_min);
			node->max = amounts(b, &q->max_resources, &node->n_max);
		}
	}
}

static bool grow(struct builder *b)
{
	size_t size = b->size ? b->size * 2 : 64;
	struct quota_node *nodes = arena_array(b->a, size, sizeof(*nodes));
	const struct api_place **places = arena_array(b->a, size, sizeof(*places));

	if (!nodes || !places) {
		return false;
	}
	if (b->n > 0) {
		memcpy(nodes, b->nodes, b->n * sizeof(*nodes));
		memcpy(places, b->places, b->n * sizeof(*places));
	}
	b->nodes = nodes;
	b->places = places;
	b->size = size;
	return true;
}

static bool add_node(struct builder *b, const struct api_place *p, size_t parent)
{
	static const enum quota_policy policies[] = {QUOTA_FIFO, QUOTA_FAIR, QUOTA_CAPACITY};
	const struct api_behaviour *behaviour = behaviour_of(p);
	struct quota_node *node;

	if (b->n == b->size && !grow(b)) {
		return false;
	}
	b->places[b->n] = p;
	node = &b->nodes[b->n++];
	*node = (struct quota_node){
		.name = p->name,
		.parent = parent,
		.policy = policies[api_place_policy(p)],
		.fence_open = is_open(p),
		.weight = 1000,
		.min_weight = -1,
		.max_weight = -1,
	};
	if (behaviour != NULL) {
		take_behaviour(behaviour, node);
	}
	if (parent != QUOTA_NONE) {
		take_numbers(b, p, node);
	}
	return true;
}

/* A whole tree in a node's place: its root is that node, or its only child and has all of it. */
static bool add_grafts(struct builder *b, const struct api_place *p, size_t at)
{
	for (size_t i = 0; i < b->set->n_trees && p->tree != NULL; i++) {
		const struct api_tree *g = b->set->trees[i];
		struct api_place *root;

		if (g == p->tree || !str_eq(g->graft_tree.v, p->tree->name) ||
		    !str_eq(g->graft_node.v, p->name) || g->n_roots != 1) {
			continue;
		}
		root = api_set_place(b->set, g->roots[0]);
		if (!root || root == p || root->tree != g) {
			continue;
		}
		if (!add_node(b, root, at)) {
			return false;
		}
		b->nodes[b->n - 1].absolute = false;
		b->nodes[b->n - 1].min_weight = 100;
	}
	return true;
}

static bool add_nodes(struct builder *b, const struct api_place *root)
{
	if (!add_node(b, root, QUOTA_NONE)) {
		return false;
	}
	for (size_t i = 0; i < b->n; i++) {
		const struct api_place *p = b->places[i];

		for (const struct api_place *c = p->first_child; c != NULL; c = c->next) {
			if (!add_node(b, c, i)) {
				return false;
			}
		}
		if (!add_grafts(b, p, i)) {
			return false;
		}
	}
	return true;
}

/* --- LocalQueues ------------------------------------------------------------------------------ */

static bool add_lqs(struct builder *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (!map_put(&b->node_index, b->nodes[i].name, &b->nodes[i])) {
			return false;
		}
	}
	b->lqs = arena_array(b->a, b->set->n_lqs, sizeof(*b->lqs));
	for (size_t i = 0; b->lqs != NULL && i < b->set->n_lqs; i++) {
		const struct api_lq *lq = b->set->lqs[i];
		const struct quota_node *node = map_get(&b->node_index, lq->queue);

		if (node != NULL) {
			b->lqs[n].name =
				arena_printf(b->a, "%.*s/%.*s", STR_ARG(lq->ns), STR_ARG(lq->name));
			b->lqs[n].node = (size_t)(node - b->nodes);
			b->lqs[n++].weight = lq->weight;
		}
	}
	b->m->desc.lqs = b->lqs;
	b->m->desc.n_lqs = n;
	return b->lqs != NULL;
}

/* --- a tree ----------------------------------------------------------------------------------- */

static bool build_one(struct arena *a, struct api_set *set, const struct api_place *root,
		      struct api_model *m)
{
	struct builder b = {.a = a, .set = set, .m = m};
	const struct api_tree *tree = root->tree;
	bool good;

	*m = (struct api_model){.name = tree != NULL ? tree->name : root->name, .tree = tree};
	good = add_pairs(&b, tree != NULL ? &tree->total : &root->queue->quotas) &&
	       add_nodes(&b, root) && add_lqs(&b);
	map_done(&b.fr_index);
	map_done(&b.node_index);
	m->places = b.places;
	m->desc.frs = b.frs;
	m->desc.n_frs = b.n_frs;
	m->desc.nodes = b.nodes;
	m->desc.n_nodes = b.n;
	m->desc.hdrf = tree != NULL && tree->hdrf;
	return good && !arena_failed(a);
}

static int cmp_roots(const void *x, const void *y)
{
	const struct api_place *const *a = x;
	const struct api_place *const *b = y;

	return str_cmp((*a)->name, (*b)->name);
}

/* Roots of trees of parents, by name. */
static size_t parent_roots(const struct api_set *set, struct api_place **out)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n_places; i++) {
		struct api_place *p = set->all_places[i];

		if (!p->tree && !p->parent && p->n_children > 0 && p->queue != NULL) {
			out[n++] = p;
		}
	}
	qsort(out, n, sizeof(struct api_place *), cmp_roots);
	return n;
}

enum mk_code api_build(struct arena *a, struct api_set *set, struct api_models *ret,
		       struct mk_err *err)
{
	struct api_place **roots = arena_array(a, set->n_places, sizeof(struct api_place *));
	struct api_models out = {.n = 0};
	size_t n_roots = roots != NULL ? parent_roots(set, roots) : 0;
	bool good = roots != NULL;

	out.v = arena_array(a, set->n_trees + n_roots, sizeof(*out.v));
	good = good && out.v != NULL;
	for (size_t i = 0; good && i < set->n_trees; i++) {
		struct api_tree *tree = set->trees[i];
		struct api_place *root =
			tree->n_roots == 1 ? api_set_place(set, tree->roots[0]) : NULL;

		if (!root || root->tree != tree || tree->graft_tree.set) {
			continue;
		}
		if (tree->total.n > QUOTA_MAX_FR) {
			return err_set(err, ERR_TOO_BIG,
				       "tree %.*s: more than %d flavors and resources",
				       STR_ARG(tree->name), QUOTA_MAX_FR);
		}
		good = build_one(a, set, root, &out.v[out.n++]);
	}
	for (size_t i = 0; good && i < n_roots; i++) {
		good = build_one(a, set, roots[i], &out.v[out.n++]);
	}
	if (!good) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*ret = out;
	return ERR_OK;
}
