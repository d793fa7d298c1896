/* SPDX-License-Identifier: Apache-2.0 */
/* PlanA: rules for a ClusterQueue with a parent or children, and for the children of one parent. */
#include "core/quota/validate_int.h"

/* --- one queue -------------------------------------------------------------------------------- */

static bool has_own_groups(const struct api_queue *q)
{
	return q->quotas.set && !q->quota_managed;
}

/* "a -> b -> a", from 'start' upwards. */
static mk_str cycle_text(struct arena *a, const struct api_place *start)
{
	struct buf b;
	const struct api_place *p = start;
	mk_str out;

	buf_init(&b, 1024 * 1024);
	do {
		buf_add(&b, p->name);
		buf_add(&b, STR(" -> "));
		p = p->parent;
	} while (p != start);
	buf_add(&b, start->name);
	out = arena_dup(a, buf_str(&b));
	if (b.failed && b.n < b.cap / 2) {
		a->failed = true;
	}
	buf_done(&b);
	return out;
}

/* A cycle is reported once: for the queue that is written, else for the smallest name in it. */
static void check_cycle(struct validate_ctx *c, const struct api_queue *q,
			const struct api_place *p)
{
	if (!p->in_cycle || p->tree != NULL) {
		return;
	}
	for (const struct api_place *up = p->parent; !c->subject && up != p; up = up->parent) {
		if (str_cmp(up->name, p->name) < 0) {
			return;
		}
	}
	validate_fault(c, q->object, 2, q->parent.path,
		       "Invalid value: \"%.*s\": makes a cycle: %.*s", STR_ARG(p->parent->name),
		       STR_ARG(cycle_text(c->a, p)));
}

/* V25: neither the queue nor its parent may be in a ClusterQuotaTree. True when one is. */
static bool check_both_plans(struct validate_ctx *c, const struct api_queue *q,
			     const struct api_place *p)
{
	const struct api_place *above = q->parent.set ? api_set_place(c->now, q->parent.v) : NULL;
	const struct api_place *in = p->tree != NULL && (q->parent.set || q->children.set) ? p
				     : above != NULL && above->tree != NULL                ? above
											   : NULL;
	mk_str path = q->parent.set ? q->parent.path : q->children.path;

	if (!in) {
		return false;
	}
	validate_fault(c, q->object, 25, path,
		       "Forbidden: \"%.*s\" is in ClusterQuotaTree \"%.*s\"", STR_ARG(in->name),
		       STR_ARG(in->tree->name));
	return true;
}

static void check_parent(struct validate_ctx *c, const struct api_queue *q,
			 const struct api_place *p)
{
	const struct api_place *above;

	if (q->parent.set && !api_set_queue(c->now, q->parent.v)) {
		validate_fault(c, q->object, 3, q->parent.path,
			       "Invalid value: \"%.*s\": parent ClusterQueue does not exist",
			       STR_ARG(q->parent.v));
	}
	check_cycle(c, q, p);
	above = p->parent;
	if (c->subject != NULL && above != NULL && above->queue != NULL && !above->tree) {
		validate_cohort(c, q->object, above->queue);
	}
}

static void check_child(struct validate_ctx *c, const struct api_queue *q,
			const struct api_place *p, size_t i)
{
	mk_str name = q->children.v[i];
	const struct api_place *child = api_set_place(c->now, name);
	mk_str path = arena_printf(c->a, "%.*s[%zu]", STR_ARG(q->children.path), i);

	if (name.n == 0 || !path.p) {
		return;
	}
	for (size_t k = 0; k < i; k++) {
		if (str_eq(q->children.v[k], name)) {
			validate_fault(c, q->object, 6, path, "Duplicate value: \"%.*s\"",
				       STR_ARG(name));
			return;
		}
	}
	if (!child || !child->queue) {
		validate_fault(c, q->object, 6, path,
			       "Invalid value: \"%.*s\": ClusterQueue does not exist",
			       STR_ARG(name));
	} else if (child->tree != NULL) {
		validate_fault(c, q->object, 25, q->children.path,
			       "Forbidden: \"%.*s\" is in ClusterQuotaTree \"%.*s\"", STR_ARG(name),
			       STR_ARG(child->tree->name));
	} else if (child->parent != p) {
		mk_str other = child->queue->parent.set ? child->queue->parent.v
			       : child->parent != NULL  ? child->parent->name
							: (mk_str){NULL, 0};

		validate_fault(c, q->object, 6, path,
			       "Invalid value: \"%.*s\": already has parent \"%.*s\"",
			       STR_ARG(name), STR_ARG(other));
	}
}

/* The deepest level in the subtree of 'top'; it hangs in no cycle. */
static size_t deepest(const struct api_place *top)
{
	const struct api_place *p = top;
	size_t most = top->depth;

	for (;;) {
		most = p->depth > most ? p->depth : most;
		if (p->first_child != NULL) {
			p = p->first_child;
			continue;
		}
		while (p != top && !p->next) {
			p = p->parent;
		}
		if (p == top) {
			return most;
		}
		p = p->next;
	}
}

static void check_levels(struct validate_ctx *c, const struct api_queue *q,
			 const struct api_place *p)
{
	size_t levels = c->subject != NULL && p->depth > 0 && !p->tree ? deepest(p) : p->depth;

	/*
	 * In a whole set the first queue that is too deep gets the error, and not each one below
	 * it.
	 */
	if (!p->tree && (c->subject != NULL ? levels > VALIDATE_MAX_LEVELS
					    : levels == VALIDATE_MAX_LEVELS + 1)) {
		validate_fault(c, q->object, 27, q->parent.path,
			       "Too many: %zu: must have at most %d items", levels,
			       VALIDATE_MAX_LEVELS);
	}
}

static void at_least_0(struct validate_ctx *c, const struct api_queue *q,
		       const struct api_quota *in, const char *field, struct api_amount v)
{
	if (v.v < 0) {
		validate_fault(c, q->object, 19,
			       arena_printf(c->a, "%.*s.%s", STR_ARG(in->path), field),
			       "Invalid value: %.*s: must be at least 0",
			       STR_ARG(api_amount_text(c->a, v, in->resource)));
	}
}

/* V19: what a queue says of itself; minima are at most what the parent has (check_own). */
static void check_amounts_of(struct validate_ctx *c, const struct api_queue *q,
			     const struct api_place *p)
{
	for (size_t i = 0; i < q->quotas.n; i++) {
		const struct api_quota *v = &q->quotas.v[i];
		mk_str lending = arena_printf(c->a, "%.*s.lendingLimit", STR_ARG(v->path));

		if (!v->bad) {
			at_least_0(c, q, v, "nominalQuota", v->nominal);
		}
		if (v->has_borrowing) {
			validate_fault(c, q->object, 19,
				       arena_printf(c->a, "%.*s.borrowingLimit", STR_ARG(v->path)),
				       "Forbidden: limits are set by the annotation "
				       "kueue.x-k8s.io/max-resources");
		}
		if (v->has_lending && !p->parent) {
			validate_fault(c, q->object, 19, lending,
				       "Forbidden: may be set only below a parent");
		} else if (v->has_lending && v->lending.v < 0) {
			at_least_0(c, q, v, "lendingLimit", v->lending);
		} else if (v->has_lending && !v->bad && v->lending.v > v->nominal.v) {
			validate_fault(c, q->object, 19, lending,
				       "Invalid value: %.*s: must not be larger than nominalQuota "
				       "%.*s",
				       STR_ARG(api_amount_text(c->a, v->lending, v->resource)),
				       STR_ARG(api_amount_text(c->a, v->nominal, v->resource)));
		}
	}
}

void validate_queue(struct validate_ctx *c, const struct api_queue *q)
{
	struct api_place *p = api_set_place(c->now, q->name);
	bool forbidden;

	if (!p) {
		return;
	}
	if (!check_both_plans(c, q, p)) {
		check_parent(c, q, p);
		for (size_t i = 0; i < q->children.n; i++) {
			check_child(c, q, p, i);
		}
		check_levels(c, q, p);
	}
	if (api_place_in_tree(p) || q->parent.set || q->children.set) {
		validate_cohort(c, q->object, q);
	}
	forbidden = (q->min_weight.set || q->max_weight.set) && has_own_groups(q) && !p->tree;
	if (forbidden) {
		validate_fault(c, q->object, 5, STR("spec.resourceGroups"),
			       "Forbidden: may be set only when minWeight and maxWeight are unset");
	}
	validate_weights(c, q->object, &q->min_weight, &q->max_weight);
	if (api_place_in_tree(p)) {
		validate_name(c, q->object, q->name, STR("metadata.name"));
	}
	validate_capacity_queue(c, q, p);
	if (api_place_in_tree(p) && !p->tree && q->quotas.set && !forbidden) {
		validate_groups(c, q->object);
		check_amounts_of(c, q, p);
	}
}

/* --- the children of one parent --------------------------------------------------------------- */

/*
 * Which object gets a fault of the whole group: the one that is written, if it belongs to it, else
 * 'child'.
 */
static const struct api_object *told(const struct validate_ctx *c, const struct api_place *parent,
				     const struct api_place *child)
{
	const struct api_place *p;

	if (!c->subject) {
		return child->queue->object;
	}
	if (c->subject->kind != API_QUEUE) {
		return NULL;
	}
	p = api_set_place(c->now, c->subject->name);
	return p == parent || (p != NULL && p->parent == parent) ? c->subject : NULL;
}

static void check_sum(struct validate_ctx *c, const struct api_place *parent)
{
	const struct api_place *over = NULL;
	const struct api_object *object;
	mk_str path = STR("spec.minWeight");
	int64_t sum = 0;

	for (const struct api_place *p = parent->first_child; p != NULL; p = p->next) {
		const struct api_int *min = &p->queue->min_weight;

		if (min->bad || (min->set && min->v < 0)) {
			return;
		}
		sum += min->set ? min->v : 0;
		if (sum > 100 && !over) {
			over = p;
		}
	}
	object = over != NULL ? told(c, parent, over) : NULL;
	if (object != NULL) {
		path = c->now->queues[object->item]->min_weight.path;
		validate_fault(c, object, 11, path,
			       "Invalid value: %lld: sum of minWeight must not be larger than 100",
			       (long long)sum);
	}
}

/*
 * V15 for siblings: all with resource groups of their own or all without. True when they are mixed.
 */
static bool check_mix(struct validate_ctx *c, const struct api_place *parent)
{
	const struct api_place *with = NULL, *without = NULL, *odd = NULL;
	const struct api_object *object;

	for (const struct api_place *p = parent->first_child; p != NULL; p = p->next) {
		bool weighted = p->queue->min_weight.set || p->queue->max_weight.set;
		const struct api_place **side =
			has_own_groups(p->queue) && !weighted ? &with : &without;

		/* Weights and groups on one queue are V5's. */
		if (weighted && has_own_groups(p->queue)) {
			continue;
		}
		if (!odd && !*side && (with != NULL || without != NULL)) {
			odd = p;
		}
		if (!*side || str_cmp(p->name, (*side)->name) < 0) {
			*side = p;
		}
	}
	object = with != NULL && without != NULL ? told(c, parent, odd) : NULL;
	if (object != NULL) {
		validate_fault(c, object, 15, c->now->queues[object->item]->parent.path,
			       "Invalid value: tree mixes weights (\"%.*s\") and resources "
			       "(\"%.*s\")",
			       STR_ARG(without->name), STR_ARG(with->name));
	}
	return with != NULL && without != NULL;
}

/*
 * The most that 'p' and everything above it may use of 'key', as far as absolute numbers say;
 * INT64_MAX: no bound.
 */
static int64_t max_of(const struct api_place *p, mk_str key)
{
	int64_t most = INT64_MAX;

	for (; p != NULL && p->queue != NULL; p = p->parent) {
		const struct api_quotas *list =
			!p->parent ? &p->queue->quotas : &p->queue->max_resources;
		const struct api_quota *q = api_quotas_get(list, key);
		int64_t v = q != NULL ? q->nominal.v : !p->parent ? 0 : INT64_MAX;

		/* What the workers have is known later. */
		v = q != NULL && !p->parent && p->queue->capacity.set ? INT64_MAX : v;

		most = v < most ? v : most;
	}
	return most;
}

/* V16 for one pair: the error goes to the first child that makes the sum too large. */
static void check_min_sum(struct validate_ctx *c, const struct api_place *parent,
			  const struct api_quota *q, mk_str key)
{
	const struct api_quota *above = api_quotas_get(&parent->queue->quotas, key);
	struct api_amount limit = above != NULL ? above->nominal : (struct api_amount){.v = 0};
	struct api_amount sum = {.format = q->nominal.format};
	const struct api_place *over = NULL;
	const struct api_object *object;

	if (above != NULL && !parent->parent && parent->queue->capacity.set) {
		return;
	}
	for (const struct api_place *p = parent->first_child; p != NULL; p = p->next) {
		const struct api_quota *own = api_quotas_get(&p->queue->quotas, key);

		if (own != NULL && (own->bad || own->nominal.v < 0)) {
			return;
		}
		sum.v = api_add(sum.v, own != NULL ? own->nominal.v : 0);
		if (!over && sum.v > limit.v) {
			over = p;
		}
	}
	object = over != NULL && limit.v >= 0 ? told(c, parent, over) : NULL;
	if (object != NULL) {
		validate_fault(c, object, 16, STR("spec.resourceGroups"),
			       "Invalid value: %.*s: sum of minResources for %.*s is larger than "
			       "the parent's %.*s",
			       STR_ARG(api_amount_text(c->a, sum, q->resource)), STR_ARG(key),
			       STR_ARG(api_amount_text(c->a, limit, q->resource)));
	}
}

/* V19, V18: the minima of one child with groups of its own. */
static void check_own(struct validate_ctx *c, const struct api_place *root,
		      const struct api_place *p)
{
	const struct api_queue *q = p->queue;

	for (size_t i = 0; i < q->quotas.n; i++) {
		const struct api_quota *min = &q->quotas.v[i];
		mk_str key = api_pair(c->a, min->flavor, min->resource);
		mk_str at = arena_printf(c->a, "%.*s.nominalQuota", STR_ARG(min->path));
		const struct api_quota *own = api_quotas_get(&q->max_resources, key);

		if (!api_quotas_get(&root->queue->quotas, key)) {
			validate_fault(c, q->object, 19,
				       arena_printf(c->a, "%.*s.name", STR_ARG(min->path)),
				       "Invalid value: \"%.*s\": flavor \"%.*s\" with resource "
				       "\"%.*s\" is not in the tree's resourceGroup",
				       STR_ARG(min->resource), STR_ARG(min->flavor),
				       STR_ARG(min->resource));
		} else if (own != NULL && !own->bad && min->nominal.v > own->nominal.v) {
			validate_fault(c, q->object, 18, at,
				       "Invalid value: %.*s: larger than maxResources %.*s",
				       STR_ARG(api_amount_text(c->a, min->nominal, min->resource)),
				       STR_ARG(api_amount_text(c->a, own->nominal, min->resource)));
		}
	}
}

/* V19, V17: the annotation with absolute maxima. */
static void check_max(struct validate_ctx *c, const struct api_place *root,
		      const struct api_place *p)
{
	const struct api_queue *q = p->queue;

	for (size_t i = 0; i < q->max_resources.n; i++) {
		const struct api_quota *max = &q->max_resources.v[i];
		mk_str key = api_pair(c->a, max->flavor, max->resource);
		struct api_amount limit = {max_of(p->parent, key), max->nominal.format};

		if (!api_quotas_get(&root->queue->quotas, key)) {
			validate_fault(c, q->object, 19,
				       arena_printf(c->a, "%.*s.name", STR_ARG(max->path)),
				       "Invalid value: \"%.*s\": flavor \"%.*s\" with resource "
				       "\"%.*s\" is not in the tree's resourceGroup",
				       STR_ARG(max->resource), STR_ARG(max->flavor),
				       STR_ARG(max->resource));
		} else if (max->nominal.v < 0 || (limit.v >= 0 && max->nominal.v > limit.v)) {
			mk_str at = arena_printf(c->a, "%.*s.nominalQuota", STR_ARG(max->path));
			mk_str shown = api_amount_text(c->a, max->nominal, max->resource);

			if (max->nominal.v < 0) {
				validate_fault(c, q->object, 19, at,
					       "Invalid value: %.*s: must be at least 0",
					       STR_ARG(shown));
				continue;
			}
			validate_fault(c, q->object, 17, at,
				       "Invalid value: %.*s: larger than the parent's max %.*s",
				       STR_ARG(shown),
				       STR_ARG(api_amount_text(c->a, limit, max->resource)));
		}
	}
}

/* V16 for what the tree has and the parent leaves out, of which it has 0. */
static void check_missing(struct validate_ctx *c, const struct api_place *parent,
			  const struct api_place *root)
{
	struct map told = {.n = 0};

	for (const struct api_place *p = parent->first_child; p != NULL; p = p->next) {
		for (size_t i = 0; has_own_groups(p->queue) && i < p->queue->quotas.n; i++) {
			const struct api_quota *q = &p->queue->quotas.v[i];
			mk_str key = api_pair(c->a, q->flavor, q->resource);

			if (!key.p || api_quotas_get(&parent->queue->quotas, key) != NULL ||
			    !api_quotas_get(&root->queue->quotas, key) || map_get(&told, key)) {
				continue;
			}
			if (!map_put(&told, key, &told)) {
				c->a->failed = true;
			}
			check_min_sum(c, parent, q, key);
		}
	}
	map_done(&told);
}

static void check_amounts(struct validate_ctx *c, const struct api_place *parent,
			  const struct api_place *root)
{
	for (const struct api_place *p = parent->first_child; p != NULL; p = p->next) {
		if (validate_wants(c, p->queue->object)) {
			check_max(c, root, p);
			if (has_own_groups(p->queue)) {
				check_own(c, root, p);
			}
		}
	}
	/*
	 * Below a parent whose own numbers are computed, minima that are too large are scaled down
	 * instead.
	 */
	if (!has_own_groups(parent->queue) || parent->queue->quotas.faulty) {
		return;
	}
	for (size_t i = 0; i < parent->queue->quotas.n; i++) {
		const struct api_quota *q = &parent->queue->quotas.v[i];
		mk_str key = api_pair(c->a, q->flavor, q->resource);

		if (key.p != NULL && !q->bad) {
			check_min_sum(c, parent, q, key);
		}
	}
	check_missing(c, parent, root);
}

void validate_siblings(struct validate_ctx *c, const struct api_place *parent)
{
	struct api_place *root = parent->depth > 0 ? api_place_root(parent->first_child) : NULL;
	const struct api_object *object;

	check_sum(c, parent);
	if (root != NULL && root->queue != NULL && !check_mix(c, parent) &&
	    has_own_groups(parent->first_child->queue)) {
		check_amounts(c, parent, root);
	}
	object = parent->n_children > VALIDATE_MAX_CHILDREN ? told(c, parent, parent->last_child)
							    : NULL;
	if (object != NULL) {
		validate_fault(c, object, 27, c->now->queues[object->item]->parent.path,
			       "Too many: %zu: must have at most %d items", parent->n_children,
			       VALIDATE_MAX_CHILDREN);
	}
}
