/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, sums and lists in the status of a ClusterQuotaTree; see status.h. Each list has a limit in
 * bytes besides one in elements, so that a status stays small whatever the tree is.
 */
#include <stdlib.h>

#include "core/trees/status_int.h"

__extension__ typedef __int128 wide;

enum {
	CONSUMERS = 20,
	QUEUES = 200,
	PAIRS = 16,  /* of a queue, when the tree has more */
	LENDERS = 3, /* of a queue and pair, besides the parent */
	SUM_BYTES = 20 * 1024,
	ELASTIC_BYTES = 10 * 1024,
	QUEUE_BYTES = 80 * 1024,
};

struct lists {
	struct arena *a;
	const struct trees_judged *j;
	const struct trees_usage *u;
	struct json *status;
	bool truncated;
};

/* A part of something; more than all of it when that is 0 and the part is not. */
struct part {
	int64_t n, of;
	size_t fr;
};

/* A node in an order. */
struct rank {
	size_t node;
	bool over;
	struct part most;   /* of the pair of which it has the greatest part */
	struct json *entry; /* of list queues */
};

/* --- amounts ---------------------------------------------------------------------------------- */

/* As the tree spells amounts of that pair. */
static void set_amount(struct lists *l, struct json *o, const char *key, size_t f, int64_t v)
{
	const struct api_tree *tree = l->j->model->tree;
	struct api_amount amount = {
		.v = v,
		.format = tree != NULL ? tree->total.v[f].nominal.format : API_DECIMAL,
	};

	json_set_str(l->a, o, key,
		     api_amount_text(l->a, amount, l->j->model->desc.frs[f].resource));
}

static int64_t borrowed(const struct trees_cell *c)
{
	return c->use > c->nominal ? c->use - c->nominal : 0;
}

static int cmp_parts(const struct part *x, const struct part *y)
{
	wide left, right;

	if (x->n == 0 || y->n == 0 || (x->of == 0 && y->of == 0)) {
		left = x->n;
		right = y->n;
	} else {
		/* With 'of' 0 one side is 0, and the other is not. */
		left = (wide)x->n * y->of;
		right = (wide)y->n * x->of;
	}
	return (left > right ? 1 : 0) - (left < right ? 1 : 0);
}

/* --- sums of the tree ------------------------------------------------------------------------- */

/* Is there room for one more element? Counts it then. */
static bool fits(struct lists *l, const struct json *one, size_t *size, size_t most)
{
	size_t n = json_write(l->a, one).n + 1;

	if (*size + n > most) {
		l->truncated = true;
		return false;
	}
	*size += n;
	return true;
}

/* [{name: FLAVOR, resources: [{name, total}]}] of the root: its maximum, or what it uses. */
static void put_sum(struct lists *l, const char *key, bool use)
{
	const struct quota_desc *d = &l->j->model->desc;
	struct json *list = json_new_arr(l->a);
	struct json *flavor = NULL;
	struct json *resources = NULL;
	size_t size = 0;

	for (size_t f = 0; f < d->n_frs; f++) {
		const struct trees_cell *c = trees_cell(l->u, 0, f);
		struct json *one = json_new_obj(l->a);

		json_set_str(l->a, one, "name", d->frs[f].resource);
		set_amount(l, one, "total", f, use ? c->use : c->max);
		if (f == 0 || !str_eq(d->frs[f].flavor, d->frs[f - 1].flavor)) {
			flavor = json_new_obj(l->a);
			resources = json_new_arr(l->a);
			json_set_str(l->a, flavor, "name", d->frs[f].flavor);
			json_set(l->a, flavor, STR("resources"), resources);
			if (!fits(l, flavor, &size, SUM_BYTES)) {
				break;
			}
			json_add(l->a, list, flavor);
		}
		if (!fits(l, one, &size, SUM_BYTES)) {
			break;
		}
		json_add(l->a, resources, one);
	}
	json_set(l->a, l->status, str_of(key), list);
}

static void put_levels(struct lists *l)
{
	struct {
		int64_t nodes, maxed, over_min;
	} levels[QUOTA_MAX_LEVELS + 1] = {{.nodes = 0}};
	struct json *list = json_new_arr(l->a);

	for (size_t node = 0; node < l->u->n; node++) {
		size_t level = quota_node_at(l->j->q, node).level;
		bool maxed = false, over_min = false;

		for (size_t f = 0; f < l->u->n_frs; f++) {
			const struct trees_cell *c = trees_cell(l->u, node, f);

			maxed = maxed || (c->hold > 0 && c->hold >= c->max);
			over_min = over_min || borrowed(c) > 0;
		}
		levels[level].nodes++;
		levels[level].maxed += maxed ? 1 : 0;
		levels[level].over_min += over_min ? 1 : 0;
	}
	for (size_t i = 1; i <= trees_depth(l->j); i++) {
		struct json *one = json_new_obj(l->a);

		json_set_int(l->a, one, "depth", (int64_t)i);
		json_set_int(l->a, one, "nodes", levels[i].nodes);
		json_set_int(l->a, one, "maxed", levels[i].maxed);
		json_set_int(l->a, one, "overMin", levels[i].over_min);
		json_add(l->a, list, one);
	}
	json_set(l->a, l->status, STR("levels"), list);
}

/* --- order ------------------------------------------------------------------------------------ */

/* Over its limit first, then the greater part, then breadth first. */
static int cmp_ranks(const void *x, const void *y)
{
	const struct rank *a = x;
	const struct rank *b = y;
	int order = cmp_parts(&b->most, &a->most);

	if (a->over != b->over) {
		return a->over ? -1 : 1;
	}
	if (order != 0) {
		return order;
	}
	return (a->node > b->node ? 1 : 0) - (a->node < b->node ? 1 : 0);
}

static int cmp_nodes(const void *x, const void *y)
{
	const struct rank *a = x;
	const struct rank *b = y;

	return (a->node > b->node ? 1 : 0) - (a->node < b->node ? 1 : 0);
}

/* Of what it uses, or ('borrows') borrows, the greatest part of the tree's total. */
static struct part most_of(const struct trees_usage *u, size_t node, bool borrows)
{
	struct part most = {.of = 1};

	for (size_t f = 0; f < u->n_frs; f++) {
		const struct trees_cell *c = trees_cell(u, node, f);
		struct part p = {borrows ? borrowed(c) : c->use, trees_cell(u, 0, f)->max, f};

		most = cmp_parts(&p, &most) > 0 ? p : most;
	}
	return most;
}

/* --- who uses most ---------------------------------------------------------------------------- */

static struct json *consumer(struct lists *l, const struct rank *r)
{
	struct json *one = json_new_obj(l->a);
	const struct quota_fr *fr = &l->j->model->desc.frs[r->most.fr];

	json_set_str(l->a, one, "name", trees_node_name(l->j, l->u, r->node));
	json_set_str(l->a, one, "flavor", fr->flavor);
	json_set_str(l->a, one, "resource", fr->resource);
	set_amount(l, one, "used", r->most.fr, r->most.n);
	if (r->most.of > 0) {
		wide percent = (wide)r->most.n * 100 / r->most.of;

		json_set_int(l->a, one, "percent",
			     percent > INT32_MAX ? INT32_MAX : (int64_t)percent);
	}
	return one;
}

static void put_consumers(struct lists *l, struct rank *ranks)
{
	struct json *list = json_new_arr(l->a);
	size_t n = 0;

	for (size_t node = 0; node < l->u->n; node++) {
		struct part most = most_of(l->u, node, false);

		if (quota_node_at(l->j->q, node).n_children == 0 && most.n > 0) {
			ranks[n++] = (struct rank){.node = node, .most = most};
		}
	}
	qsort(ranks, n, sizeof(*ranks), cmp_ranks);
	for (size_t i = 0; i < n && i < CONSUMERS; i++) {
		json_add(l->a, list, consumer(l, &ranks[i]));
	}
	json_set(l->a, l->status, STR("topConsumers"), list);
}

/* --- who borrows from whom -------------------------------------------------------------------- */

/* What the queues of a group have of a pair, and the one that leave most of it to others. */
struct group {
	int64_t borrowed; /* beyond their minima */
	int64_t spare;    /* of their minima */
	int64_t pool;     /* of the parent, beyond its children's minima */
	size_t lenders[LENDERS];
	int64_t lent[LENDERS];
	size_t n_lenders;
};

static void add_lender(struct group *g, size_t node, int64_t spare)
{
	size_t at = g->n_lenders;

	if (at == LENDERS && spare <= g->lent[LENDERS - 1]) {
		return;
	}
	at = at < LENDERS ? g->n_lenders++ : LENDERS - 1;
	for (; at > 0 && spare > g->lent[at - 1]; at--) {
		g->lenders[at] = g->lenders[at - 1];
		g->lent[at] = g->lent[at - 1];
	}
	g->lenders[at] = node;
	g->lent[at] = spare;
}

static struct group group_of(const struct lists *l, size_t parent, size_t f)
{
	struct quota_node_info p = quota_node_at(l->j->q, parent);
	struct group g = {.pool = trees_cell(l->u, parent, f)->nominal};

	for (size_t k = p.first_child; k < p.first_child + p.n_children; k++) {
		const struct trees_cell *c = trees_cell(l->u, k, f);

		g.borrowed = api_add(g.borrowed, borrowed(c));
		g.pool -= c->nominal;
		if (c->nominal > c->hold) {
			g.spare = api_add(g.spare, c->nominal - c->hold);
			add_lender(&g, k, c->nominal - c->hold);
		}
	}
	return g;
}

/*
 * From whom a queue borrows. Quota has no owner's mark, so the names follow from an order: first
 * what the parent has beyond its children's minima, then what siblings leave of theirs, then what
 * the parent borrows itself.
 */
static struct json *lenders(struct lists *l, size_t node, size_t f)
{
	size_t parent = quota_node_at(l->j->q, node).parent;
	struct json *list = json_new_arr(l->a);
	struct group g;

	if (parent == QUOTA_NONE) {
		return list;
	}
	g = group_of(l, parent, f);
	for (size_t i = 0; g.borrowed > g.pool && i < g.n_lenders; i++) {
		json_add(l->a, list, json_new_str(l->a, trees_node_name(l->j, l->u, g.lenders[i])));
	}
	if (g.pool > 0 || g.borrowed > api_add(g.pool, g.spare)) {
		json_add(l->a, list, json_new_str(l->a, trees_node_name(l->j, l->u, parent)));
	}
	return list;
}

static struct json *pair(struct lists *l, size_t node, size_t f)
{
	const struct quota_fr *fr = &l->j->model->desc.frs[f];
	const struct trees_cell *c = trees_cell(l->u, node, f);
	struct json *one = json_new_obj(l->a);

	json_set_str(l->a, one, "flavor", fr->flavor);
	json_set_str(l->a, one, "resource", fr->resource);
	set_amount(l, one, "nominal", f, c->nominal);
	set_amount(l, one, "max", f, c->max);
	set_amount(l, one, "used", f, c->use);
	if (borrowed(c) > 0) {
		struct json *from = lenders(l, node, f);

		set_amount(l, one, "borrowed", f, borrowed(c));
		json_set(l->a, one, STR("from"), json_len(from) > 0 ? from : NULL);
	}
	return one;
}

static struct json *queue(struct lists *l, const struct rank *r)
{
	struct json *one = json_new_obj(l->a);
	struct json *pairs = json_new_arr(l->a);
	bool few = l->u->n_frs <= PAIRS;

	json_set_str(l->a, one, "name", trees_node_name(l->j, l->u, r->node));
	json_set_int(l->a, one, "level", (int64_t)quota_node_at(l->j->q, r->node).level);
	if (r->over) {
		json_set_bool(l->a, one, "overLimit", true);
	}
	json_set_int(l->a, one, "pendingWorkloads", l->u->workloads[r->node].pending);
	for (size_t f = 0; f < l->u->n_frs && json_len(pairs) < PAIRS; f++) {
		const struct trees_cell *c = trees_cell(l->u, r->node, f);

		if (few || borrowed(c) > 0 || c->hold > c->max) {
			json_add(l->a, pairs, pair(l, r->node, f));
		}
	}
	json_set(l->a, one, STR("quotas"), pairs);
	return one;
}

/*
 * Those over their limit, then those that borrow most, then the upper ones, in the order of the
 * tree.
 */
static void put_queues(struct lists *l, struct rank *ranks)
{
	struct json *list = json_new_arr(l->a);
	size_t n = l->u->n < QUEUES ? l->u->n : QUEUES;
	size_t size = 0, n_shown = 0;

	for (size_t node = 0; node < l->u->n; node++) {
		ranks[node] = (struct rank){.node = node,
					    .over = trees_is_over(l->u, node),
					    .most = most_of(l->u, node, true)};
	}
	qsort(ranks, l->u->n, sizeof(*ranks), cmp_ranks);
	for (; n_shown < n; n_shown++) {
		ranks[n_shown].entry = queue(l, &ranks[n_shown]);
		if (!fits(l, ranks[n_shown].entry, &size, QUEUE_BYTES)) {
			break;
		}
	}
	l->truncated = l->truncated || n_shown < l->u->n;
	qsort(ranks, n_shown, sizeof(*ranks), cmp_nodes);
	for (size_t i = 0; i < n_shown; i++) {
		json_add(l->a, list, ranks[i].entry);
	}
	json_set(l->a, l->status, STR("queues"), list);
}

/* --- RelatedElasticQuota ---------------------------------------------------------------------- */

static const struct api_flavor *flavor_of(const struct lists *l, size_t f)
{
	const struct api_object *o =
		api_set_find(l->j->set, API_FLAVOR, STR_NONE, l->j->model->desc.frs[f].flavor);

	return o != NULL ? l->j->set->flavors[o->item] : NULL;
}

/* One flavor that names an ElasticQuota, which caps what the tree says that it gives. */
static struct json *elastic(struct lists *l, const struct api_flavor *flavor, size_t f)
{
	const struct quota_desc *d = &l->j->model->desc;
	struct json *one = json_new_obj(l->a);
	struct json *resources = json_new_arr(l->a);
	mk_str name = flavor->elastic.v;
	mk_str ns;
	bool found = str_split(&name, '/', &ns) &&
		     api_set_find(l->j->set, API_ELASTIC, ns, name) != NULL;

	json_set_str(l->a, one, "flavor", flavor->name);
	json_set_str(l->a, one, "name", flavor->elastic.v);
	json_set_bool(l->a, one, "found", found);
	for (; f < d->n_frs && str_eq(d->frs[f].flavor, flavor->name); f++) {
		struct json *r = json_new_obj(l->a);

		json_set_str(l->a, r, "name", d->frs[f].resource);
		set_amount(l, r, "declared", f, l->j->model->tree->total.v[f].nominal.v);
		set_amount(l, r, "total", f, trees_cell(l->u, 0, f)->max);
		json_add(l->a, resources, r);
	}
	json_set(l->a, one, STR("resources"), resources);
	return one;
}

static void put_elastic(struct lists *l)
{
	const struct quota_desc *d = &l->j->model->desc;
	struct json *list = json_new_arr(l->a);
	size_t size = 0;

	for (size_t f = 0; l->j->model->tree != NULL && f < d->n_frs; f++) {
		const struct api_flavor *flavor = flavor_of(l, f);
		struct json *one;

		if ((f > 0 && str_eq(d->frs[f].flavor, d->frs[f - 1].flavor)) || !flavor ||
		    !flavor->elastic.set) {
			continue;
		}
		one = elastic(l, flavor, f);
		if (!fits(l, one, &size, ELASTIC_BYTES)) {
			break;
		}
		json_add(l->a, list, one);
	}
	if (json_len(list) > 0) {
		json_set(l->a, l->status, STR("relatedElasticQuotas"), list);
	}
}

/* --- all -------------------------------------------------------------------------------------- */

void trees_lists(struct arena *a, const struct trees_judged *j, const struct trees_usage *u,
		 struct json *status)
{
	struct lists l = {a, j, u, status, false};
	struct rank *ranks = arena_array(a, u->n + 1, sizeof(*ranks));
	int64_t n_leaves = 0;

	for (size_t node = 0; node < u->n; node++) {
		n_leaves += quota_node_at(j->q, node).n_children == 0 ? 1 : 0;
	}
	json_set_int(a, status, "nodeCount", (int64_t)u->n);
	json_set_int(a, status, "leafCount", n_leaves);
	json_set_int(a, status, "depth", (int64_t)trees_depth(j));
	json_set_int(a, status, "pendingWorkloads", u->workloads[0].pending);
	json_set_int(a, status, "reservingWorkloads", u->workloads[0].reserving);
	json_set_int(a, status, "admittedWorkloads", u->workloads[0].admitted);
	put_sum(&l, "total", false);
	put_sum(&l, "usage", true);
	put_levels(&l);
	if (ranks != NULL) {
		put_consumers(&l, ranks);
		put_queues(&l, ranks);
	}
	put_elastic(&l);
	if (l.truncated) {
		json_set_bool(a, status, "truncated", true);
	}
}
