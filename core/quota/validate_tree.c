/* SPDX-License-Identifier: Apache-2.0 */
/* PlanB: the structure of a ClusterQuotaTree; validate_tree_quota.c has the rules about amounts. */
#include "core/quota/validate_int.h"

static const struct json *member(const struct json *v, const char *key)
{
	const struct json *found = json_get(v, key);

	return json_type(found) == JSON_NULL ? NULL : found;
}

/* --- one place per queue: V4, V7, V8, V25 ----------------------------------------------------- */

/* A tree that is grafted at a node of its root's name shares that one queue with the other tree. */
static bool is_graft(const struct api_tree *tree, const struct api_place *p)
{
	return str_eq(tree->graft_node.v, p->name) && str_eq(tree->graft_tree.v, p->tree->name);
}

static void check_owner(struct validate_ctx *c, const struct api_tree *tree, mk_str name,
			mk_str path)
{
	const struct api_place *p = api_set_place(c->now, name);

	if (p != NULL && p->tree != NULL && p->tree != tree && !is_graft(tree, p)) {
		validate_fault(c, tree->object, 7, path,
			       "Invalid value: \"%.*s\": already belongs to tree \"%.*s\"",
			       STR_ARG(name), STR_ARG(p->tree->name));
	}
}

/* What the queues of the tree say themselves. In a whole set each queue gets its own error. */
static void check_queues(struct validate_ctx *c, const struct api_tree *tree)
{
	for (size_t i = 0; c->subject != NULL && i < c->now->n_queues; i++) {
		const struct api_queue *q = c->now->queues[i];
		const struct api_place *p = api_set_place(c->now, q->name);
		const struct api_place *above =
			q->parent.set ? api_set_place(c->now, q->parent.v) : NULL;
		bool inside = p != NULL && p->tree == tree;

		if (inside) {
			validate_cohort(c, tree->object, q);
		}
		if ((inside && (q->parent.set || q->children.set)) ||
		    (above != NULL && above->tree == tree)) {
			validate_fault(c, tree->object, 25,
				       q->parent.set ? q->parent.path : q->children.path,
				       "Forbidden: \"%.*s\" is in ClusterQuotaTree \"%.*s\"",
				       STR_ARG(inside ? q->name : above->name),
				       STR_ARG(tree->name));
		}
	}
}

static void check_names(struct validate_ctx *c, const struct api_tree *tree)
{
	for (size_t g = 0; g < tree->n_groups; g++) {
		const struct api_group *group = &tree->groups[g];

		if (!map_get(&tree->node_index, group->key)) {
			check_owner(c, tree, group->key, group->path);
			validate_name(c, tree->object, group->key, group->path);
		}
		for (size_t i = 0; i < group->n; i++) {
			const struct api_node *node = &group->nodes[i];
			mk_str path = arena_printf(c->a, "%.*s.name", STR_ARG(node->path));

			validate_name(c, tree->object, node->name, path);
			if (node->again) {
				validate_fault(c, tree->object, 8, path,
					       "Duplicate value: \"%.*s\"", STR_ARG(node->name));
			} else if (node->name.n > 0) {
				check_owner(c, tree, node->name, path);
			}
		}
	}
}

/* --- shape: V1, V9, V10, V27 ------------------------------------------------------------------ */

static void check_roots(struct validate_ctx *c, const struct api_tree *tree)
{
	struct buf b;

	if (tree->n_roots == 1) {
		for (size_t g = 0; g < tree->n_groups && !tree->connected; g++) {
			if (tree->groups[g].depth == 0) {
				validate_fault(c, tree->object, 10, tree->map_path,
					       "Invalid value: \"%.*s\" is not reachable from root "
					       "\"%.*s\"",
					       STR_ARG(tree->groups[g].key),
					       STR_ARG(tree->roots[0]));
			}
		}
		return;
	}
	buf_init(&b, 1024 * 1024);
	for (size_t i = 0; i < tree->n_roots; i++) {
		buf_printf(&b, "%s%.*s", i > 0 ? ", " : "", STR_ARG(tree->roots[i]));
	}
	c->a->failed = c->a->failed || (b.failed && b.n < b.cap / 2);
	validate_fault(c, tree->object, 9, tree->map_path,
		       "Invalid value: tree must have one root, found: %s", b.n > 0 ? b.p : "none");
	buf_done(&b);
}

static void too_many(struct validate_ctx *c, const struct api_tree *tree, mk_str path, size_t n,
		     size_t most)
{
	if (n > most) {
		validate_fault(c, tree->object, 27, path,
			       "Too many: %zu: must have at most %zu items", n, most);
	}
}

static void check_group_sizes(struct validate_ctx *c, const struct api_tree *tree)
{
	const struct api_group *deep = NULL;
	size_t levels = 0;

	for (size_t g = 0; g < tree->n_groups; g++) {
		const struct api_group *group = &tree->groups[g];
		size_t bottom = group->depth > 0 && group->n > 0 ? group->depth + 1 : 0;

		levels = bottom > levels ? bottom : levels;
		if (bottom > VALIDATE_MAX_LEVELS && !deep) {
			deep = group;
		}
		too_many(c, tree, arena_printf(c->a, "%.*s.weightedQuotas", STR_ARG(group->path)),
			 group->n, VALIDATE_MAX_CHILDREN);
	}
	if (deep != NULL) {
		too_many(c, tree, deep->path, levels, VALIDATE_MAX_LEVELS);
	}
}

static void check_resource_group(struct validate_ctx *c, const struct api_tree *tree,
				 const struct json *group, mk_str path)
{
	struct json_iter it = json_iter(member(group, "flavors"));

	too_many(c, tree, arena_printf(c->a, "%.*s.coveredResources", STR_ARG(path)),
		 json_len(member(group, "coveredResources")), VALIDATE_MAX_RESOURCES);
	too_many(c, tree, arena_printf(c->a, "%.*s.flavors", STR_ARG(path)),
		 json_len(member(group, "flavors")), VALIDATE_MAX_RESOURCES);
	for (size_t i = 0; json_next(&it); i++) {
		too_many(c, tree,
			 arena_printf(c->a, "%.*s.flavors[%zu].resources", STR_ARG(path), i),
			 json_len(member(it.val, "resources")), VALIDATE_MAX_RESOURCES);
	}
}

static void check_sizes(struct validate_ctx *c, const struct api_tree *tree)
{
	const struct json *spec = json_get(tree->object->json, "spec");
	struct json_iter it = json_iter(member(spec, "resourceGroups"));

	check_group_sizes(c, tree);
	check_resource_group(c, tree, member(spec, "resourceGroup"), STR("spec.resourceGroup"));
	for (size_t i = 0; json_next(&it); i++) {
		check_resource_group(c, tree, it.val,
				     arena_printf(c->a, "spec.resourceGroups[%zu]", i));
	}
}

/* --- kinds of numbers: V12 to V15, V23 -------------------------------------------------------- */

static bool has_weight(const struct api_node *n)
{
	return n->min_weight.set || n->max_weight.set || n->min_weight.bad || n->max_weight.bad;
}

static bool has_resources(const struct api_node *n)
{
	return n->min.set || n->max.set;
}

static void check_template(struct validate_ctx *c, const struct api_tree *tree,
			   const struct json *tmpl, mk_str path)
{
	static const char *const forbidden[] = {"cohort", "cohortName", "resourceGroups"};

	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
		if (member(tmpl, forbidden[i]) != NULL) {
			validate_fault(c, tree->object, 23,
				       arena_printf(c->a, "%.*s.%s", STR_ARG(path), forbidden[i]),
				       "Forbidden: set by the tree");
		}
	}
}

static void check_node(struct validate_ctx *c, const struct api_tree *tree,
		       const struct api_node *node)
{
	mk_str path = node->min.set ? node->min.path : node->max.path;

	validate_weights(c, tree->object, &node->min_weight, &node->max_weight);
	if (has_weight(node) && has_resources(node)) {
		validate_fault(c, tree->object, 14, path,
			       "Forbidden: minWeight/maxWeight and minResources/maxResources "
			       "exclude each other");
	}
	if (node->tmpl != NULL) {
		check_template(
			c, tree, node->tmpl,
			arena_printf(c->a, "%.*s.clusterQuotaTemplate", STR_ARG(node->path)));
	}
}

/* V15. True when the tree mixes. A node that has both is V14's. */
static bool check_mix(struct validate_ctx *c, const struct api_tree *tree)
{
	const struct api_node *weights = NULL, *resources = NULL;

	for (size_t g = 0; g < tree->n_groups; g++) {
		for (size_t i = 0; i < tree->groups[g].n; i++) {
			const struct api_node *n = &tree->groups[g].nodes[i];

			if (has_weight(n) && !has_resources(n) && !weights) {
				weights = n;
			}
			if (has_resources(n) && !has_weight(n) && !resources) {
				resources = n;
			}
		}
	}
	if (!weights || !resources) {
		return false;
	}
	validate_fault(c, tree->object, 15, tree->map_path,
		       "Invalid value: tree mixes weights (\"%.*s\") and resources (\"%.*s\")",
		       STR_ARG(weights->name), STR_ARG(resources->name));
	return true;
}

/* --- V11 -------------------------------------------------------------------------------------- */

static void check_sum(struct validate_ctx *c, const struct api_tree *tree,
		      const struct api_group *group)
{
	const struct api_place *p = api_set_place(c->now, group->key);
	bool some = false, resources = false;
	int64_t sum = 0;

	for (size_t i = 0; i < group->n; i++) {
		const struct api_node *n = &group->nodes[i];

		if (n->min_weight.bad || n->min_weight.v < 0) {
			return;
		}
		some = some || n->min_weight.set;
		resources = resources || has_resources(n);
		sum += n->min_weight.v;
	}
	if (!some && (resources || group->n == 0 || !p || p->tree != tree ||
		      api_place_policy(p) != API_CAPACITY)) {
		return;
	}
	if (sum != 100) {
		validate_fault(c, tree->object, 11,
			       arena_printf(c->a, "%.*s.weightedQuotas", STR_ARG(group->path)),
			       "Invalid value: %lld: sum of minWeight must be 100", (long long)sum);
	}
}

/* --- where a tree is grafted ------------------------------------------------------------------ */

static void check_graft(struct validate_ctx *c, const struct api_tree *tree)
{
	const struct api_tree *other = api_set_tree(c->now, tree->graft_tree.v);
	const struct api_tree *up = other;
	mk_str node = tree->graft_node.v;

	if (!tree->graft_tree.set) {
		return;
	}
	if (!other) {
		validate_fault(c, tree->object, 0, tree->graft_tree.path,
			       "Invalid value: \"%.*s\": tree does not exist",
			       STR_ARG(tree->graft_tree.v));
		return;
	}
	if (!map_get(&other->node_index, node) || map_get(&other->group_index, node) != NULL) {
		validate_fault(c, tree->object, 0, tree->graft_node.path,
			       "Invalid value: \"%.*s\": not a leaf of tree \"%.*s\"",
			       STR_ARG(node), STR_ARG(other->name));
	}
	for (size_t i = 0; up != NULL && i <= c->now->n_trees; i++) {
		if (up == tree) {
			validate_fault(c, tree->object, 0, tree->graft_tree.path,
				       "Invalid value: \"%.*s\": makes a cycle of trees",
				       STR_ARG(tree->graft_tree.v));
			return;
		}
		up = api_set_tree(c->now, up->graft_tree.v);
	}
}

void validate_tree(struct validate_ctx *c, const struct api_tree *tree)
{
	bool mixed;

	if (tree->both_spellings) {
		validate_fault(c, tree->object, 1, STR("spec.hierachies"),
			       "Forbidden: use either hierarchies or hierachies, not both");
	}
	check_roots(c, tree);
	check_names(c, tree);
	check_queues(c, tree);
	check_sizes(c, tree);
	validate_groups(c, tree->object);
	check_graft(c, tree);
	if (tree->tmpl != NULL) {
		check_template(c, tree, tree->tmpl, STR("spec.clusterQuotaTemplate"));
	}
	for (size_t g = 0; g < tree->n_groups; g++) {
		for (size_t i = 0; i < tree->groups[g].n; i++) {
			check_node(c, tree, &tree->groups[g].nodes[i]);
		}
	}
	mixed = check_mix(c, tree);
	for (size_t g = 0; g < tree->n_groups && !mixed; g++) {
		check_sum(c, tree, &tree->groups[g]);
	}
	if (!mixed) {
		validate_tree_quota(c, tree);
	}
}
