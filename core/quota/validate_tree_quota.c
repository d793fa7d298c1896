/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PlanB: rules about amounts, V16 to V19. Sums and maxima need a tree that hangs together; names
 * and signs do not.
 */
#include <stdlib.h>

#include "core/quota/validate_int.h"

static mk_str below(struct validate_ctx *c, mk_str path, const char *field)
{
	return arena_printf(c->a, "%.*s.%s", STR_ARG(path), field);
}

/* --- V19 -------------------------------------------------------------------------------------- */

enum list_kind { LIST_TOTAL, LIST_MIN, LIST_MAX };

static const struct api_quota *in_tree(struct validate_ctx *c, const struct api_tree *tree,
				       const struct api_quota *q)
{
	mk_str key = api_pair(c->a, q->flavor, q->resource);

	return key.p != NULL ? api_quotas_get(&tree->total, key) : NULL;
}

/* Is the resource of the total one that its group covers? Without a list, all are. */
static bool is_covered(const struct api_tree *tree, const struct api_quota *q)
{
	const struct json *spec = json_get(tree->object->json, "spec");
	const struct json *one = json_get(spec, "resourceGroup");
	const struct json *group = json_type(one) == JSON_OBJ
					   ? one
					   : json_elem(json_get(spec, "resourceGroups"), q->group);
	const struct json *covered = json_get(group, "coveredResources");
	struct json_iter it = json_iter(covered);

	while (json_next(&it)) {
		if (str_eq(json_str(it.val), q->resource)) {
			return true;
		}
	}
	return json_type(covered) != JSON_ARR;
}

static void check_limits(struct validate_ctx *c, const struct api_tree *tree,
			 const struct api_quota *q, enum list_kind kind)
{
	mk_str lending = below(c, q->path, "lendingLimit");

	if (q->has_borrowing) {
		validate_fault(c, tree->object, 19, below(c, q->path, "borrowingLimit"),
			       "Forbidden: limits are set by maxResources");
	}
	if (q->has_lending && kind != LIST_MIN) {
		validate_fault(c, tree->object, 19, lending,
			       "Forbidden: may be set only in minResources");
	} else if (q->has_lending && q->lending.v < 0) {
		validate_fault(c, tree->object, 19, lending,
			       "Invalid value: %.*s: must be at least 0",
			       STR_ARG(api_amount_text(c->a, q->lending, q->resource)));
	} else if (q->has_lending && !q->bad && q->lending.v > q->nominal.v) {
		validate_fault(c, tree->object, 19, lending,
			       "Invalid value: %.*s: must not be larger than nominalQuota %.*s",
			       STR_ARG(api_amount_text(c->a, q->lending, q->resource)),
			       STR_ARG(api_amount_text(c->a, q->nominal, q->resource)));
	}
}

static void check_list(struct validate_ctx *c, const struct api_tree *tree,
		       const struct api_quotas *list, enum list_kind kind)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct api_quota *q = &list->v[i];
		bool known = kind == LIST_TOTAL ? is_covered(tree, q) : in_tree(c, tree, q) != NULL;

		if (!known) {
			validate_fault(c, tree->object, 19, below(c, q->path, "name"),
				       "Invalid value: \"%.*s\": flavor \"%.*s\" with resource "
				       "\"%.*s\" is not in the tree's resourceGroup",
				       STR_ARG(q->resource), STR_ARG(q->flavor),
				       STR_ARG(q->resource));
		}
		if (!q->bad && q->nominal.v < 0) {
			validate_fault(c, tree->object, 19, below(c, q->path, "nominalQuota"),
				       "Invalid value: %.*s: must be at least 0",
				       STR_ARG(api_amount_text(c->a, q->nominal, q->resource)));
		}
		check_limits(c, tree, q, kind);
	}
}

/* --- V16 -------------------------------------------------------------------------------------- */

struct summand {
	const struct api_quota *total; /* of the tree: where the pair stands there */
	const struct api_quota *q;
	size_t seq;
};

static int cmp_summands(const void *x, const void *y)
{
	const struct summand *a = x;
	const struct summand *b = y;

	if (a->total != b->total) {
		return a->total < b->total ? -1 : 1;
	}
	return (a->seq > b->seq ? 1 : 0) - (a->seq < b->seq ? 1 : 0);
}

static void check_sum(struct validate_ctx *c, const struct api_tree *tree,
		      const struct api_group *group, const struct summand *s, size_t n)
{
	const struct api_node *parent = map_get(&tree->node_index, group->key);
	mk_str key = api_pair(c->a, s->q->flavor, s->q->resource);
	const struct api_quota *min = parent != NULL ? api_quotas_get(&parent->min, key) : s->total;
	struct api_amount limit = min != NULL ? min->nominal : (struct api_amount){.v = 0};
	struct api_amount sum = {.format = s->q->nominal.format};

	/* What the workers have is known later: minima that are too large then are scaled down. */
	if (!parent && tree->capacity.set) {
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (s[i].q->bad || s[i].q->nominal.v < 0) {
			return;
		}
		sum.v = api_add(sum.v, s[i].q->nominal.v);
	}
	if (sum.v > limit.v && !(parent != NULL ? parent->min.faulty : tree->total.faulty)) {
		validate_fault(c, tree->object, 16, below(c, group->path, "weightedQuotas"),
			       "Invalid value: %.*s: sum of minResources for %.*s is larger than "
			       "the parent's %.*s",
			       STR_ARG(api_amount_text(c->a, sum, s->q->resource)), STR_ARG(key),
			       STR_ARG(api_amount_text(c->a, limit, s->q->resource)));
	}
}

static void check_sums(struct validate_ctx *c, const struct api_tree *tree,
		       const struct api_group *group)
{
	struct summand *all;
	size_t n = 0, room = 0;

	for (size_t i = 0; i < group->n; i++) {
		room += group->nodes[i].min.n;
	}
	all = arena_array(c->a, room, sizeof(*all));
	if (!all) {
		return;
	}
	for (size_t i = 0; i < group->n; i++) {
		const struct api_quotas *min = &group->nodes[i].min;

		for (size_t k = 0; k < min->n; k++) {
			all[n] = (struct summand){in_tree(c, tree, &min->v[k]), &min->v[k], n};
			n += all[n].total != NULL ? 1 : 0;
		}
	}
	qsort(all, n, sizeof(*all), cmp_summands);
	for (size_t i = 0; i < n;) {
		size_t same = 1;

		while (i + same < n && all[i + same].total == all[i].total) {
			same++;
		}
		check_sum(c, tree, group, &all[i], same);
		i += same;
	}
}

/* --- V17, V18 --------------------------------------------------------------------------------- */

/* The most that queue 'name' may use: the least of what it and those above it say. */
static struct api_amount max_of(const struct api_tree *tree, mk_str name, mk_str key)
{
	const struct api_quota *q = api_quotas_get(&tree->total, key);
	struct api_amount most = {.v = INT64_MAX};

	if (q != NULL && !tree->capacity.set) {
		most = q->nominal;
	}
	for (size_t level = 0; level <= VALIDATE_MAX_LEVELS; level++) {
		const struct api_node *n = map_get(&tree->node_index, name);

		if (!n) {
			break;
		}
		q = api_quotas_get(&n->max, key);
		if (q != NULL && !q->bad && q->nominal.v < most.v) {
			most = q->nominal;
		}
		name = tree->groups[n->group].key;
	}
	return most;
}

static void check_max(struct validate_ctx *c, const struct api_tree *tree,
		      const struct api_node *node, const struct api_quota *q)
{
	mk_str key = api_pair(c->a, q->flavor, q->resource);
	struct api_amount limit = max_of(tree, tree->groups[node->group].key, key);

	if (!q->bad && q->nominal.v > limit.v) {
		validate_fault(c, tree->object, 17, below(c, q->path, "nominalQuota"),
			       "Invalid value: %.*s: larger than the parent's max %.*s",
			       STR_ARG(api_amount_text(c->a, q->nominal, q->resource)),
			       STR_ARG(api_amount_text(c->a, limit, q->resource)));
	}
}

static void check_min(struct validate_ctx *c, const struct api_tree *tree,
		      const struct api_node *node, const struct api_quota *q)
{
	mk_str key = api_pair(c->a, q->flavor, q->resource);
	const struct api_quota *own = api_quotas_get(&node->max, key);
	struct api_amount limit = own != NULL ? own->nominal : max_of(tree, node->name, key);

	if (!q->bad && (!own || !own->bad) && q->nominal.v > limit.v) {
		validate_fault(c, tree->object, 18, below(c, q->path, "nominalQuota"),
			       "Invalid value: %.*s: larger than maxResources %.*s",
			       STR_ARG(api_amount_text(c->a, q->nominal, q->resource)),
			       STR_ARG(api_amount_text(c->a, limit, q->resource)));
	}
}

static void check_node(struct validate_ctx *c, const struct api_tree *tree,
		       const struct api_node *node)
{
	for (size_t i = 0; i < node->max.n; i++) {
		if (in_tree(c, tree, &node->max.v[i]) != NULL) {
			check_max(c, tree, node, &node->max.v[i]);
		}
	}
	for (size_t i = 0; i < node->min.n; i++) {
		if (in_tree(c, tree, &node->min.v[i]) != NULL) {
			check_min(c, tree, node, &node->min.v[i]);
		}
	}
}

void validate_tree_quota(struct validate_ctx *c, const struct api_tree *tree)
{
	check_list(c, tree, &tree->total, LIST_TOTAL);
	validate_capacity_tree(c, tree);
	for (size_t g = 0; g < tree->n_groups; g++) {
		const struct api_group *group = &tree->groups[g];

		for (size_t i = 0; i < group->n; i++) {
			check_list(c, tree, &group->nodes[i].min, LIST_MIN);
			check_list(c, tree, &group->nodes[i].max, LIST_MAX);
		}
	}
	if (!tree->connected) {
		return;
	}
	for (size_t g = 0; g < tree->n_groups; g++) {
		const struct api_group *group = &tree->groups[g];

		check_sums(c, tree, group);
		for (size_t i = 0; i < group->n && group->depth < VALIDATE_MAX_LEVELS; i++) {
			if (!group->nodes[i].again) {
				check_node(c, tree, &group->nodes[i]);
			}
		}
	}
}
