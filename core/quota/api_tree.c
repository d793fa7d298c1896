/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterQuotaTrees (PlanB); see api.h. */
#include <stdlib.h>

#include "core/quota/api_read.h"

static const struct api_word enforcements[] = {
	{"Compile", 0},
	{"Engine", 1},
	{"Observe", 0},
	{NULL, 0},
};

static const struct api_word over_limits[] = {
	{"Drain", 0},
	{"Evict", 1},
	{NULL, 0},
};

static const struct api_word deletions[] = {
	{"Delete", 0},
	{"Orphan", 0},
	{NULL, 0},
};

static const struct api_word shares[] = {
	{"Dominant", 0},
	{"HDRF", 1},
	{NULL, 0},
};

static int cmp_groups(const void *x, const void *y)
{
	const struct api_group *a = x;
	const struct api_group *b = y;

	return str_cmp(a->key, b->key);
}

/* A template at 'path', and what it says in *ret; NULL when there is none. */
static const struct json *read_template(struct api_reader *r, const struct json *v, mk_str path,
					struct api_behaviour **ret)
{
	if (!v || !path.p || !api_check_type(r, v, JSON_OBJ, path)) {
		return NULL;
	}
	*ret = arena_alloc(r->a, sizeof(**ret));
	if (!*ret) {
		return NULL;
	}
	api_read_behaviour(r, v, path.p, false, *ret);
	return v;
}

static void read_node(struct api_reader *r, const struct json *v, struct api_tree *tree,
		      struct api_node *node)
{
	const struct json *name = api_get(v, "name");
	mk_str at = node->path;

	if (!api_check_type(r, v, JSON_OBJ, at)) {
		return;
	}
	node->name = api_read_text(r, name, api_path(r, "%.*s.name", STR_ARG(at))).v;
	if (node->name.n == 0) {
		if (json_type(name) == JSON_ABSENT || json_type(name) == JSON_STR) {
			api_fault_add(r->a, &r->object->faults, 0,
				      api_path(r, "%.*s.name", STR_ARG(at)), "Required value");
		}
		return;
	}
	node->min_weight = api_read_int(r, api_get(v, "minWeight"),
					api_path(r, "%.*s.minWeight", STR_ARG(at)), false);
	node->max_weight = api_read_int(r, api_get(v, "maxWeight"),
					api_path(r, "%.*s.maxWeight", STR_ARG(at)), false);
	api_read_quotas(r, api_get(v, "minResources"),
			api_path(r, "%.*s.minResources", STR_ARG(at)), 0, &node->min);
	api_read_quotas(r, api_get(v, "maxResources"),
			api_path(r, "%.*s.maxResources", STR_ARG(at)), 0, &node->max);
	node->tmpl = read_template(r, api_get(v, "clusterQuotaTemplate"),
				   api_path(r, "%.*s.clusterQuotaTemplate", STR_ARG(at)),
				   &node->behaviour);
	if (map_get(&tree->node_index, node->name) != NULL) {
		node->again = true;
	} else if (!map_put(&tree->node_index, node->name, node)) {
		r->a->failed = true;
	}
}

/* A field that we do not act on is refused: a tree that silently does something else is worse. */
static void refuse(struct api_reader *r, const struct json *in, const char *field, mk_str path,
		   const char *why)
{
	if (api_get(in, field) != NULL) {
		api_fault_add(r->a, &r->object->faults, 0, path, "Forbidden: %s", why);
	}
}

static void read_group(struct api_reader *r, const struct json *v, struct api_tree *tree, size_t g)
{
	struct api_group *group = &tree->groups[g];
	const struct json *list = api_get(v, "weightedQuotas");
	struct json_iter it = json_iter(list);
	mk_str at;

	group->path = at = api_path(r, "%.*s[%.*s]", STR_ARG(tree->map_path), STR_ARG(group->key));
	if (!api_check_type(r, v, JSON_OBJ, at) ||
	    !api_check_type(r, list, JSON_ARR, api_path(r, "%.*s.weightedQuotas", STR_ARG(at)))) {
		return;
	}
	group->fence = (enum api_fence)api_read_word(r, api_get(v, "fence"),
						     api_path(r, "%.*s.fence", STR_ARG(at)),
						     api_fences, API_FENCE_UNSET);
	if (api_get(v, "policy") != NULL) {
		int p = api_read_word(r, api_get(v, "policy"),
				      api_path(r, "%.*s.policy", STR_ARG(at)), api_policies, -1);

		group->has_policy = p >= 0;
		group->policy = p >= 0 ? (enum api_policy)p : API_FIFO;
	}
	refuse(r, v, "dynamicChildren", api_path(r, "%.*s.dynamicChildren", STR_ARG(at)),
	       "queues are not made for namespaces: list them in weightedQuotas");
	group->nodes = arena_array(r->a, json_len(list), sizeof(*group->nodes));
	if (!group->nodes) {
		return;
	}
	for (size_t i = 0; json_next(&it) && !arena_failed(r->a); i++) {
		struct api_node *node = &group->nodes[group->n++];

		node->group = g;
		node->index = i;
		node->path = api_path(r, "%.*s.weightedQuotas[%zu]", STR_ARG(at), i);
		read_node(r, it.val, tree, node);
	}
}

static void read_hierarchies(struct api_reader *r, const struct json *spec, struct api_tree *tree)
{
	const struct json *right = api_get(spec, "hierarchies");
	const struct json *wrong = api_get(spec, "hierachies");
	const struct json *map = right != NULL ? right : wrong;
	struct json_iter it = json_iter(map);
	const struct json **values;
	size_t n = json_len(map);

	tree->both_spellings = right != NULL && wrong != NULL;
	tree->map_path = right != NULL || !wrong ? STR("spec.hierarchies") : STR("spec.hierachies");
	if (!api_check_type(r, map, JSON_OBJ, tree->map_path)) {
		return;
	}
	tree->groups = arena_array(r->a, n, sizeof(*tree->groups));
	values = arena_array(r->a, n, sizeof(const struct json *));
	if (!tree->groups || !values) {
		return;
	}
	for (size_t i = 0; json_next(&it); i++) {
		/*
		 * The path is free until the group is read: it carries the place of the value
		 * through the sort.
		 */
		values[i] = it.val;
		tree->groups[i].key = it.key;
		tree->groups[i].path.n = i;
	}
	tree->n_groups = n;
	qsort(tree->groups, n, sizeof(*tree->groups), cmp_groups);
	for (size_t g = 0; g < n && !arena_failed(r->a); g++) {
		if (!map_put(&tree->group_index, tree->groups[g].key, &tree->groups[g])) {
			r->a->failed = true;
			return;
		}
		read_group(r, values[tree->groups[g].path.n], tree, g);
	}
}

/* What hangs below the root: each group is reached once, since a name has one parent. */
static size_t count_reached(struct api_tree *tree, struct api_group *top, struct api_group **stack)
{
	size_t n = 0, reached = 0;

	top->depth = 1;
	stack[n++] = top;
	while (n > 0) {
		struct api_group *g = stack[--n];

		reached++;
		for (size_t i = 0; i < g->n; i++) {
			struct api_group *below =
				g->nodes[i].again ? NULL
						  : map_get(&tree->group_index, g->nodes[i].name);

			if (below != NULL) {
				below->depth = g->depth + 1;
				stack[n++] = below;
			}
		}
	}
	return reached;
}

static void find_roots(struct api_reader *r, struct api_tree *tree)
{
	struct api_group **stack = arena_array(r->a, tree->n_groups + 1, sizeof(*stack));

	tree->roots = arena_array(r->a, tree->n_groups, sizeof(*tree->roots));
	if (!tree->roots || !stack) {
		return;
	}
	for (size_t g = 0; g < tree->n_groups; g++) {
		if (!map_get(&tree->node_index, tree->groups[g].key)) {
			tree->roots[tree->n_roots++] = tree->groups[g].key;
		}
	}
	if (tree->n_roots == 1 && !arena_failed(r->a)) {
		struct api_group *top = map_get(&tree->group_index, tree->roots[0]);

		tree->connected = count_reached(tree, top, stack) == tree->n_groups;
	}
}

static void read_total(struct api_reader *r, const struct json *spec, struct api_tree *tree)
{
	const struct json *one = api_get(spec, "resourceGroup");
	const struct json *several = api_get(spec, "resourceGroups");
	struct api_faults *faults = &r->object->faults;

	if (one != NULL && several != NULL) {
		api_fault_add(r->a, faults, 0, STR("spec.resourceGroups"),
			      "Forbidden: use either resourceGroup or resourceGroups, not both");
	}
	if (!one && !several) {
		api_fault_add(r->a, faults, 0, STR("spec.resourceGroup"), "Required value");
	}
	if (several != NULL && !one) {
		api_read_groups(r, several, STR("spec.resourceGroups"), &tree->total);
	} else if (api_check_type(r, one, JSON_OBJ, STR("spec.resourceGroup"))) {
		api_read_quotas(r, api_get(one, "flavors"), STR("spec.resourceGroup.flavors"), 0,
				&tree->total);
	}
}

/*
 * One of 'words', whose value of 1 is what nothing acts on yet. It is noted, not refused: it says
 * what shall happen to the tree, and not how much of it is whose.
 */
static void read_idle(struct api_reader *r, const struct json *spec, const char *field,
		      const struct api_word *words, struct api_tree *tree)
{
	const struct json *v = api_get(spec, field);
	mk_str path = api_path(r, "spec.%s", field);

	if (api_read_word(r, v, path, words, 0) != 0) {
		api_fault_add(r->a, &tree->idle, 0, path, "%.*s: nothing acts on it yet",
			      STR_ARG(json_str(v)));
	}
}

struct api_tree *api_read_tree(struct api_reader *r)
{
	struct api_tree *tree = arena_alloc(r->a, sizeof(*tree));
	const struct json *obj = r->object->json;
	const struct json *spec = api_get(obj, "spec");
	const struct json *graft = api_get(spec, "graftAt");

	if (!tree || !arena_on_done(r->a, api_map_free, &tree->group_index) ||
	    !arena_on_done(r->a, api_map_free, &tree->node_index)) {
		return NULL;
	}
	tree->object = r->object;
	tree->name = r->object->name;
	read_hierarchies(r, spec, tree);
	if (arena_failed(r->a)) {
		return NULL;
	}
	find_roots(r, tree);
	read_total(r, spec, tree);
	tree->tmpl = read_template(r, api_get(spec, "clusterQuotaTemplate"),
				   STR("spec.clusterQuotaTemplate"), &tree->behaviour);
	/* Words that the controller follows: here they only have to be words of the API. */
	read_idle(r, spec, "enforcement", enforcements, tree);
	read_idle(r, spec, "overLimitPolicy", over_limits, tree);
	api_read_word(r, api_get(spec, "deletionPolicy"), STR("spec.deletionPolicy"), deletions, 0);
	tree->hdrf =
		api_read_word(r, api_get(spec, "fairShare"), STR("spec.fairShare"), shares, 0) != 0;
	api_read_capacity(r, api_get(spec, "capacityFrom"), STR("spec.capacityFrom"),
			  &tree->capacity);
	tree->force = api_is_true(obj, "force");
	tree->graft_tree = api_read_text(r, api_get(graft, "tree"), STR("spec.graftAt.tree"));
	tree->graft_node = api_read_text(r, api_get(graft, "node"), STR("spec.graftAt.node"));
	return tree;
}
