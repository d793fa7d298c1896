/* SPDX-License-Identifier: Apache-2.0 */
/* V33, of both plans: a total that is the workers' (capacityFrom). */
#include "core/quota/validate_int.h"

/* The flavors that quota of workers counts for are those of the tree. */
static void check_flavors(struct validate_ctx *c, const struct api_object *object,
			  const struct api_capacity *from, const struct api_quotas *total)
{
	struct json_iter it = json_iter(from->flavor_map);

	while (json_next(&it) && !arena_failed(c->a)) {
		mk_str flavor = json_str(it.val);
		struct str_guess g = {.word = flavor};
		bool found = flavor.n == 0; /* it is no text, which has a fault of its own */

		for (size_t i = 0; i < total->n && !found; i++) {
			found = str_eq(total->v[i].flavor, flavor);
			str_guess_try(&g, total->v[i].flavor);
		}
		if (found || total->faulty) {
			continue;
		}
		validate_fault(c, object, 33,
			       arena_printf(c->a, "%.*s.flavorMap[%.*s]", STR_ARG(from->path),
					    STR_ARG(it.key)),
			       "Invalid value: \"%.*s\": the tree has no such flavor%s%.*s%s",
			       STR_ARG(flavor), g.best.n > 0 ? ": did you mean \"" : "",
			       STR_ARG(g.best), g.best.n > 0 ? "\"?" : "");
	}
}

void validate_capacity_tree(struct validate_ctx *c, const struct api_tree *tree)
{
	const struct api_capacity *from = &tree->capacity;

	if (!from->set) {
		return;
	}
	check_flavors(c, tree->object, from, &tree->total);
	if (tree->graft_tree.set) {
		validate_fault(c, tree->object, 33, STR("spec.capacityFrom"),
			       "Forbidden: the tree is grafted, and has the quota of its place "
			       "there");
	}
}

void validate_capacity_queue(struct validate_ctx *c, const struct api_queue *q,
			     const struct api_place *p)
{
	mk_str path = STR("metadata.annotations[" API_ANNOTATION "capacity-from]");

	if (!q->capacity.set) {
		return;
	}
	if (p->parent != NULL || q->parent.set) {
		validate_fault(c, q->object, 33, path,
			       "Forbidden: only the root of a tree has its total from workers");
	} else if (p->tree != NULL) {
		validate_fault(c, q->object, 33, path,
			       "Forbidden: spec.capacityFrom of ClusterQuotaTree \"%.*s\" says it",
			       STR_ARG(p->tree->name));
	} else {
		check_flavors(c, q->object, &q->capacity, &q->quotas);
	}
}
