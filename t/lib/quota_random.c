/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/quota_random.h"

#include <inttypes.h>
#include <string.h>

#define GROUP "kueue.x-k8s.io"

/* --- what a tree says ------------------------------------------------------------------------- */

static void add_pair(struct random_tree *t, struct rng *r, const char *flavor, const char *resource,
		     size_t group)
{
	static const int64_t cpu[] = {1000, 250, 1}, memory[] = {1 << 30, 1 << 20, 1000000, 1};
	struct random_pair *p = &t->pairs[t->n_pairs++];

	*p = (struct random_pair){
		.flavor = flavor, .resource = resource, .group = group, .grain = 1};
	if (strcmp(resource, "cpu") == 0) {
		p->grain = cpu[rng_below(r, 3)];
	} else if (strcmp(resource, "memory") == 0) {
		p->grain = memory[rng_below(r, 4)];
	}
	p->total = p->grain * rng_range(r, 4, 60);
	if (p->grain == 1 && !strstr(resource, "gpu")) {
		p->total = rng_range(r, 1000, 60000);
	}
	if (rng_chance(r, 1, 20)) {
		p->total = 0;
	}
}

static void draw_pairs(struct random_tree *t, struct rng *r)
{
	static const char *const flavors[] = {"old", "new", "spot"};
	size_t n_groups = 1 + rng_below(r, 2);
	size_t n_flavors = 1 + rng_below(r, 3);
	uint64_t resources = rng_below(r, 3);
	size_t first; /* that belongs to the second group */

	n_flavors = n_flavors < n_groups ? n_groups : n_flavors;
	first = n_groups == 1 ? n_flavors : 1 + rng_below(r, n_flavors - 1);
	for (size_t f = 0; f < n_flavors; f++) {
		if (f >= first) {
			add_pair(t, r, flavors[f], "nvidia.com/gpu", 1);
			continue;
		}
		if (resources != 1) {
			add_pair(t, r, flavors[f], "cpu", 0);
		}
		if (resources != 0) {
			add_pair(t, r, flavors[f], "memory", 0);
		}
	}
}

/* A chain as deep as the tree, and more nodes anywhere. */
static void draw_nodes(struct random_tree *t, struct rng *r)
{
	size_t depth = 1 + rng_below(r, 5);

	t->n = depth + 1 + rng_below(r, 13);
	for (size_t i = 1; i < t->n; i++) {
		struct random_node *n = &t->nodes[i];

		n->parent = i - 1;
		while (i > depth) {
			n->parent = rng_below(r, i);
			if (t->nodes[n->parent].level < depth) {
				break;
			}
		}
		n->level = t->nodes[n->parent].level + 1;
		t->nodes[n->parent].n_children++;
	}
}

/* Percent of the children of 'p': together 100, or nothing said; below parents also less. */
static void draw_weights(struct random_tree *t, struct rng *r, size_t p)
{
	bool weighs = strcmp(t->policy, "capacity") == 0 || rng_chance(r, 2, 3);
	size_t seen = 0;
	int left = 100;

	for (size_t i = p + 1; i < t->n; i++) {
		struct random_node *n = &t->nodes[i];

		if (n->parent != p) {
			continue;
		}
		n->min_weight = (int)rng_below(r, (uint64_t)left + 1);
		if (++seen == t->nodes[p].n_children &&
		    (t->shape != RANDOM_PARENTS || rng_chance(r, 1, 2))) {
			n->min_weight = left;
		}
		left -= n->min_weight;
		n->max_weight = rng_chance(r, 1, 2) ? (int)rng_range(r, n->min_weight, 100) : -1;
		n->min_weight = weighs ? n->min_weight : -1;
	}
}

/* Amounts of the children of 'p' for one pair. */
static void draw_amounts(struct random_tree *t, struct rng *r, size_t p, size_t f)
{
	int64_t grain = t->pairs[f].grain;
	int64_t left = t->nodes[p].min[f] / grain;
	int64_t most = t->nodes[p].max[f] / grain;

	for (size_t i = p + 1; i < t->n; i++) {
		struct random_node *n = &t->nodes[i];
		int64_t min;

		if (n->parent != p) {
			continue;
		}
		min = rng_chance(r, 1, 6) ? 0 : rng_range(r, 0, left);
		left -= min;
		n->min[f] = min * grain;
		n->lending[f] = -1;
		if (t->shape == RANDOM_RESERVES && rng_chance(r, 2, 3)) {
			n->lending[f] = grain * rng_range(r, 0, min);
		}
		n->says_max[f] = rng_chance(r, 2, 3);
		n->max[f] = t->nodes[p].max[f];
		if (n->says_max[f]) {
			n->max[f] = grain * rng_range(r, min, most);
		}
	}
}

void random_tree(struct random_tree *t, struct rng *r, const char *policy, enum random_shape shape)
{
	*t = (struct random_tree){.policy = policy, .shape = shape, .open = rng_chance(r, 1, 2)};
	draw_pairs(t, r);
	draw_nodes(t, r);
	for (size_t f = 0; f < t->n_pairs; f++) {
		t->nodes[0].min[f] = t->nodes[0].max[f] = t->pairs[f].total;
	}
	for (size_t p = 0; p < t->n; p++) {
		draw_weights(t, r, p);
		for (size_t f = 0; f < t->n_pairs; f++) {
			draw_amounts(t, r, p, f);
		}
	}
}

/* --- how it is written ------------------------------------------------------------------------ */

struct writer {
	const struct random_tree *t;
	struct rng *r;
	struct buf b;
};

/* "key":"2500m", or 2.5, or "8Gi". */
static void put_amount(struct writer *w, const char *key, const char *resource, int64_t v)
{
	static const struct {
		int64_t size;
		const char *suffix;
	} units[] = {{1 << 30, "Gi"}, {1 << 20, "Mi"}, {1000000, "M"}, {1, ""}};
	size_t u = 0;

	buf_printf(&w->b, "\"%s\":", key);
	if (strcmp(resource, "cpu") == 0 && v % 1000 == 0) {
		buf_printf(&w->b, "%" PRId64, v / 1000);
	} else if (strcmp(resource, "cpu") == 0 && rng_chance(w->r, 1, 2)) {
		buf_printf(&w->b, "\"%" PRId64 ".%03d\"", v / 1000, (int)(v % 1000));
	} else if (strcmp(resource, "cpu") == 0) {
		buf_printf(&w->b, "\"%" PRId64 "m\"", v);
	} else {
		while (v == 0 || v % units[u].size != 0) {
			u++;
			if (units[u].size == 1) {
				break;
			}
		}
		buf_printf(&w->b, "\"%" PRId64 "%s\"", v / units[u].size, units[u].suffix);
	}
}

static const char *comma(bool *first)
{
	const char *s = *first ? "" : ",";

	*first = false;
	return s;
}

/* "key":[{"name":FLAVOR,"resources":[...]}]: what 'n' says of its minima or maxima. */
static void put_list(struct writer *w, const char *key, const struct random_node *n, bool max)
{
	const struct random_tree *t = w->t;
	bool first_flavor = true, first = true;

	buf_printf(&w->b, ",\"%s\":[", key);
	for (size_t f = 0; f < t->n_pairs; f++) {
		const struct random_pair *p = &t->pairs[f];
		bool begins = f == 0 || strcmp(p->flavor, p[-1].flavor) != 0;
		bool ends = f + 1 == t->n_pairs || strcmp(p->flavor, p[1].flavor) != 0;

		if (begins) {
			first = true;
			buf_printf(&w->b, "%s{\"name\":\"%s\",\"resources\":[",
				   comma(&first_flavor), p->flavor);
		}
		if (max ? n->says_max[f] : n->min[f] > 0) {
			buf_printf(&w->b, "%s{\"name\":\"%s\",", comma(&first), p->resource);
			put_amount(w, "nominalQuota", p->resource, max ? n->max[f] : n->min[f]);
			if (!max && n->lending[f] >= 0) {
				buf_printf(&w->b, ",");
				put_amount(w, "lendingLimit", p->resource, n->lending[f]);
			}
			buf_printf(&w->b, "}");
		}
		if (ends) {
			buf_printf(&w->b, "]}");
		}
	}
	buf_printf(&w->b, "]");
}

static void put_covered(struct writer *w, size_t group)
{
	const struct random_tree *t = w->t;
	const char *flavor = NULL;
	bool first = true;

	buf_printf(&w->b, "{\"coveredResources\":[");
	for (size_t f = 0; f < t->n_pairs; f++) {
		flavor = !flavor && t->pairs[f].group == group ? t->pairs[f].flavor : flavor;
		if (flavor != NULL && strcmp(flavor, t->pairs[f].flavor) == 0) {
			buf_printf(&w->b, "%s\"%s\"", comma(&first), t->pairs[f].resource);
		}
	}
	buf_printf(&w->b, "],\"flavors\":[");
}

/* "resourceGroups":[...]: the totals. */
static void put_groups(struct writer *w)
{
	const struct random_tree *t = w->t;

	buf_printf(&w->b, "\"resourceGroups\":[");
	for (size_t f = 0; f < t->n_pairs; f++) {
		const struct random_pair *p = &t->pairs[f];
		bool opens = f == 0 || p->group != p[-1].group;
		bool begins = f == 0 || strcmp(p->flavor, p[-1].flavor) != 0;

		if (begins && f > 0) {
			buf_printf(&w->b, "]}");
		}
		if (opens) {
			buf_printf(&w->b, "%s", f > 0 ? "]}," : "");
			put_covered(w, p->group);
		}
		if (begins) {
			buf_printf(&w->b, "%s{\"name\":\"%s\",\"resources\":[", opens ? "" : ",",
				   p->flavor);
		}
		buf_printf(&w->b, "%s{\"name\":\"%s\",", begins ? "" : ",", p->resource);
		put_amount(w, "nominalQuota", p->resource, p->total);
		buf_printf(&w->b, "}");
	}
	buf_printf(&w->b, "]}]}]");
}

/* The children of 'p' in a ClusterQuotaTree. */
static void put_children(struct writer *w, size_t p)
{
	const struct random_tree *t = w->t;
	bool first = true;

	buf_printf(&w->b, "\"q%zu\":{\"policy\":\"%s\",%s\"weightedQuotas\":[", p, t->policy,
		   t->open ? "\"fence\":\"EnableCrossQuotaPreemption\"," : "");
	for (size_t i = p + 1; i < t->n; i++) {
		const struct random_node *n = &t->nodes[i];

		if (n->parent != p) {
			continue;
		}
		buf_printf(&w->b, "%s{\"name\":\"q%zu\"", comma(&first), i);
		if (t->shape != RANDOM_WEIGHTS) {
			put_list(w, "minResources", n, false);
			put_list(w, "maxResources", n, true);
		} else if (n->min_weight >= 0) {
			buf_printf(&w->b, ",\"minWeight\":%d", n->min_weight);
		}
		if (t->shape == RANDOM_WEIGHTS && n->max_weight >= 0) {
			buf_printf(&w->b, ",\"maxWeight\":%d", n->max_weight);
		}
		buf_printf(&w->b, "}");
	}
	buf_printf(&w->b, "]}");
}

/* A ClusterQuotaTree; some of its leaves exist as ClusterQueues. */
static void put_tree(struct writer *w)
{
	const struct random_tree *t = w->t;
	bool first = true;

	buf_printf(&w->b, "{\"apiVersion\":\"" GROUP "/v1alpha1\",\"kind\":\"ClusterQuotaTree\","
			  "\"metadata\":{\"name\":\"t\"},\"spec\":{");
	put_groups(w);
	buf_printf(&w->b, ",\"clusterQuotaTemplate\":{\"namespaceSelector\":{}},\"hierarchies\":{");
	for (size_t p = 0; p < t->n; p++) {
		if (t->nodes[p].n_children > 0) {
			buf_printf(&w->b, "%s", comma(&first));
			put_children(w, p);
		}
	}
	buf_printf(&w->b, "}}}");
	for (size_t i = 1; i < t->n; i++) {
		if (t->nodes[i].n_children == 0 && rng_chance(w->r, 1, 4)) {
			buf_printf(&w->b,
				   ",{\"apiVersion\":\"" GROUP "/v1beta2\",\"kind\":"
				   "\"ClusterQueue\",\"metadata\":{\"name\":\"q%zu\"},"
				   "\"spec\":{\"namespaceSelector\":{}}}",
				   i);
		}
	}
}

/* ClusterQueues with parents. */
static void put_queues(struct writer *w)
{
	const struct random_tree *t = w->t;

	for (size_t i = 0; i < t->n; i++) {
		const struct random_node *n = &t->nodes[i];

		buf_printf(&w->b,
			   "%s{\"apiVersion\":\"" GROUP "/v1beta2\",\"kind\":"
			   "\"ClusterQueue\",\"metadata\":{\"name\":\"q%zu\","
			   "\"annotations\":{\"" GROUP "/policy\":\"%s\",\"" GROUP
			   "/preemption-fence\":\"%s\"",
			   i > 0 ? "," : "", i, t->policy,
			   t->open ? "EnableCrossQuotaPreemption" : "DisableCrossQuotaPreemption");
		if (i > 0) {
			buf_printf(&w->b, ",\"" GROUP "/parent\":\"q%zu\"", n->parent);
		}
		if (i > 0 && n->min_weight >= 0) {
			buf_printf(&w->b, ",\"" GROUP "/min-weight\":\"%d\"", n->min_weight);
		}
		if (i > 0 && n->max_weight >= 0) {
			buf_printf(&w->b, ",\"" GROUP "/max-weight\":\"%d\"", n->max_weight);
		}
		buf_printf(&w->b, "}},\"spec\":{\"namespaceSelector\":{}");
		if (i == 0) {
			buf_printf(&w->b, ",");
			put_groups(w);
		}
		buf_printf(&w->b, "}}");
	}
}

struct json *random_objects(const struct random_tree *t, struct rng *r, struct arena *a)
{
	struct writer w = {.t = t, .r = r};
	struct json *docs = NULL;

	buf_init(&w.b, 1 << 20);
	buf_printf(&w.b, "[");
	if (t->shape == RANDOM_PARENTS) {
		put_queues(&w);
	} else {
		put_tree(&w);
	}
	buf_printf(&w.b, "]");
	/* What is parsed borrows from its text. */
	if (w.b.failed || json_parse(a, arena_dup(a, buf_str(&w.b)), &docs, NULL) != ERR_OK) {
		docs = NULL;
	}
	buf_done(&w.b);
	return docs;
}
