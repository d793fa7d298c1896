/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/quota_trees.h"

const mk_str qt_not_here = {NULL, 0};

static void qt_shape(struct world *w)
{
	w->n = (int)rng_range(&w->rng, 2, MAX_NODES);
	w->parent[0] = -1;
	w->level[0] = 1;
	for (int i = 1; i < w->n; i++) {
		do {
			w->parent[i] = (int)rng_below(&w->rng, (uint64_t)i);
		} while (w->level[w->parent[i]] >= 16);
		w->level[i] = w->level[w->parent[i]] + 1;
		w->n_children[w->parent[i]]++;
	}
}

/* Percentages of siblings that add up to 100, and amounts that fit below the parent. */
static void qt_numbers(struct world *w)
{
	w->min[0] = w->max[0] = 1000;
	for (int p = 0; p < w->n; p++) {
		int64_t left = w->min[p];
		int weight = 100, seen = 0;

		for (int i = p + 1; i < w->n; i++) {
			bool last;

			if (w->parent[i] != p) {
				continue;
			}
			last = ++seen == w->n_children[p];
			w->min_weight[i] =
				last ? weight : (int)rng_below(&w->rng, (uint64_t)weight + 1);
			weight -= w->min_weight[i];
			w->max_weight[i] = (int)rng_range(&w->rng, w->min_weight[i], 100);
			w->min[i] = (int64_t)rng_below(&w->rng, (uint64_t)left + 1);
			left -= w->min[i];
			w->max[i] = rng_range(&w->rng, w->min[i], w->max[p]);
		}
	}
}

struct json *qt_parse(struct world *w, mk_str text)
{
	struct json *v = NULL;

	if (json_parse(&w->a, text, &v, NULL) != ERR_OK) {
		printf("# no JSON: %.*s\n", STR_ARG(text));
	}
	return v;
}

struct json *qt_flavor(struct world *w, int64_t cpu)
{
	return qt_parse(w, arena_printf(&w->a,
					"[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
					"\"nominalQuota\":%lld}]}]",
					(long long)cpu));
}

void qt_plan_b(struct world *w)
{
	struct json *tree = qt_parse(w, STR("{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":"
					    "\"ClusterQuotaTree\",\"metadata\":{\"name\":\"t\"},"
					    "\"spec\":{\"hierarchies\":{},\"resourceGroup\":"
					    "{\"coveredResources\":[\"cpu\"]}}}"));
	struct json *map = json_at(tree, "/spec/hierarchies");
	int index[MAX_NODES] = {0};

	w->docs = json_new_arr(&w->a);
	json_add(&w->a, w->docs, tree);
	json_set(&w->a, json_at(tree, "/spec/resourceGroup"), STR("flavors"),
		 qt_flavor(w, w->max[0]));
	for (int i = 1; i < w->n; i++) {
		int p = w->parent[i];
		mk_str key = arena_printf(&w->a, "q%d", p);
		struct json *group = json_getn(map, key);

		if (!group) {
			group = qt_parse(w, STR("{\"policy\":\"capacity\",\"weightedQuotas\":[]}"));
			json_set(&w->a, map, key, group);
		}
		w->node[i] = json_new_obj(&w->a);
		json_set_str(&w->a, w->node[i], "name", arena_printf(&w->a, "q%d", i));
		if (w->amounts) {
			json_set(&w->a, w->node[i], STR("minResources"), qt_flavor(w, w->min[i]));
			json_set(&w->a, w->node[i], STR("maxResources"), qt_flavor(w, w->max[i]));
		} else {
			json_set_int(&w->a, w->node[i], "minWeight", w->min_weight[i]);
			json_set_int(&w->a, w->node[i], "maxWeight", w->max_weight[i]);
		}
		w->path[i] = arena_printf(&w->a, "spec.hierarchies[q%d].weightedQuotas[%d]", p,
					  index[p]++);
		json_add(&w->a, json_get(group, "weightedQuotas"), w->node[i]);
	}
}

void qt_plan_a(struct world *w)
{
	w->docs = json_new_arr(&w->a);
	for (int i = 0; i < w->n; i++) {
		struct json *q =
			qt_parse(w, arena_printf(&w->a,
						 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","
						 "\"kind\":\"ClusterQueue\",\"metadata\":"
						 "{\"name\":\"q%d\"},\"spec\":{}}",
						 i));
		struct json *spec = json_get(q, "spec");

		if (i > 0) {
			json_set(&w->a, spec, STR("parent"),
				 qt_parse(w,
					  arena_printf(&w->a, "{\"name\":\"q%d\"}", w->parent[i])));
		}
		if (i == 0 || w->amounts) {
			json_put(&w->a, q, "/spec/resourceGroups/0", NULL);
			json_set(&w->a, spec, STR("resourceGroups"),
				 qt_parse(w, STR("[{\"coveredResources\":[\"cpu\"]}]")));
			json_set(&w->a, json_at(q, "/spec/resourceGroups/0"), STR("flavors"),
				 qt_flavor(w, w->min[i]));
		} else {
			json_set_int(&w->a, spec, "minWeight", w->min_weight[i]);
			json_set_int(&w->a, spec, "maxWeight", w->max_weight[i]);
		}
		w->node[i] = q;
		json_add(&w->a, w->docs, q);
	}
}

mk_str qt_judge(struct world *w, size_t subject)
{
	struct validate_input in = {.subject = subject, .deleted = API_NONE};

	in.now = objects_link(&w->a, w->docs, subject);
	return objects_judge(&w->a, &in);
}

void qt_make(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	arena_init(&w->a, 0);
	rng_init(&w->rng, seed);
	w->amounts = rng_chance(&w->rng, 1, 2);
	qt_shape(w);
	qt_numbers(w);
}

mk_str qt_text(struct world *w, const char *fmt, ...)
{
	va_list ap;
	mk_str s;

	va_start(ap, fmt);
	s = arena_vprintf(&w->a, fmt, ap);
	va_end(ap);
	return s;
}
