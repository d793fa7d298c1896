/* SPDX-License-Identifier: Apache-2.0 */
/* What ClusterQueueTree "default" says of the PlanA trees; see api.h. */
#include <stdlib.h>

#include "core/quota/api_read.h"

static int cmp_places(const void *x, const void *y)
{
	const struct api_place *const *a = x;
	const struct api_place *const *b = y;

	return str_cmp((*a)->name, (*b)->name);
}

static struct json *node_json(struct arena *a, const struct api_place *p)
{
	struct json *node = json_new_obj(a);

	json_set_str(a, node, "name", p->name);
	if (p->parent != NULL) {
		json_set_str(a, node, "parent", p->parent->name);
	}
	json_set_int(a, node, "depth", (int64_t)p->depth);
	json_set_bool(a, node, "leaf", p->n_children == 0);
	json_set_str(a, node, "policy", str_of(api_policies_name(api_place_policy(p))));
	return node;
}

/*
 * The places below 'root' in breadth-first order, names sorted inside a parent; returns how many.
 */
static size_t breadth_first(struct api_place *root, struct api_place **out)
{
	size_t n = 0;

	out[n++] = root;
	for (size_t i = 0; i < n; i++) {
		size_t first = n;

		for (struct api_place *c = out[i]->first_child; c != NULL; c = c->next) {
			out[n++] = c;
		}
		qsort(&out[first], n - first, sizeof(struct api_place *), cmp_places);
	}
	return n;
}

static bool is_root(const struct api_place *p)
{
	return !p->tree && !p->parent && p->n_children > 0;
}

struct json *api_status(struct arena *a, const struct api_set *set)
{
	struct api_place **order = arena_array(a, set->n_places, sizeof(struct api_place *));
	struct api_place **roots = arena_array(a, set->n_places, sizeof(struct api_place *));
	struct json *status = json_new_obj(a);
	struct json *trees = json_new_arr(a);
	size_t n_roots = 0, total = 0;

	if (!order || !roots || !status || !trees) {
		return NULL;
	}
	for (size_t i = 0; i < set->n_places; i++) {
		if (is_root(set->all_places[i])) {
			roots[n_roots++] = set->all_places[i];
		}
	}
	qsort(roots, n_roots, sizeof(struct api_place *), cmp_places);
	json_set(a, status, STR("trees"), trees);
	for (size_t i = 0; i < n_roots; i++) {
		size_t n = breadth_first(roots[i], order);
		struct json *tree = json_new_obj(a);
		struct json *nodes = json_new_arr(a);

		json_set_str(a, tree, "root", roots[i]->name);
		for (size_t k = 0; k < n && total + k < API_STATUS_MAX; k++) {
			json_add(a, nodes, node_json(a, order[k]));
		}
		if (total < API_STATUS_MAX) {
			json_set(a, tree, STR("nodes"), nodes);
			json_add(a, trees, tree);
		}
		total += n;
	}
	if (total > API_STATUS_MAX) {
		json_set_bool(a, status, "truncated", true);
		json_set_int(a, status, "nodeCount", (int64_t)total);
	}
	return arena_failed(a) ? NULL : status;
}
