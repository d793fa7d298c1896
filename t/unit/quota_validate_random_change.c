/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that lie between objects, or between now and before, planted in random valid trees:
 * exactly that error is told, and the same set before the fault is accepted. The faults inside one
 * tree are quota_validate_random.c's.
 */
#include "t/lib/tap.h"

#include "t/lib/quota_trees.h"

enum { CASES = 2500 };

/* How things were before the fault; what a catalogue's function works on. */
struct scene {
	struct world *w;
	struct json *before;
	int i;          /* the node of the fault */
	size_t subject; /* what is written */
};

static struct json *add(struct scene *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static struct json *add(struct scene *s, const char *fmt, ...)
{
	struct json *v;
	va_list ap;

	va_start(ap, fmt);
	v = qt_parse(s->w, arena_vprintf(&s->w->a, fmt, ap));
	va_end(ap);
	json_add(&s->w->a, s->w->docs, v);
	return v;
}

static void keep_before(struct scene *s)
{
	s->before = json_dup(&s->w->a, s->w->docs);
}

static mk_str v7(struct scene *s)
{
	keep_before(s);
	add(s,
	    "{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\","
	    "\"metadata\":{\"name\":\"u\"},\"spec\":{\"resourceGroup\":{\"coveredResources\":["
	    "\"cpu\"],\"flavors\":"
	    "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]}]},"
	    "\"hierarchies\":"
	    "{\"top\":{\"weightedQuotas\":[{\"name\":\"q%d\"}]}}}}",
	    s->i);
	s->subject = 1;
	return qt_text(
		s->w,
		"spec.hierarchies[top].weightedQuotas[0].name: Invalid value: \"q%d\": already "
		"belongs to tree \"t\"",
		s->i);
}

/* Is path a before path b? Keys are compared bytewise, places in a list as numbers. */
static bool earlier(const struct world *w, int a, int b)
{
	return validate_cmp_paths(w->path[a], w->path[b]) < 0;
}

static mk_str v15(struct scene *s)
{
	struct world *w = s->w;
	int first = 0;

	if (w->n < 3) {
		return qt_not_here;
	}
	keep_before(s);
	for (int k = 1; k < w->n; k++) {
		if (k != s->i && (first == 0 || earlier(w, k, first))) {
			first = k;
		}
	}
	if (w->amounts) {
		json_set(&w->a, w->node[s->i], STR("minResources"), NULL);
		json_set(&w->a, w->node[s->i], STR("maxResources"), NULL);
		json_set_int(&w->a, w->node[s->i], "minWeight", 0);
	} else {
		json_set(&w->a, w->node[s->i], STR("minWeight"), NULL);
		json_set(&w->a, w->node[s->i], STR("maxWeight"), NULL);
		json_set(&w->a, w->node[s->i], STR("minResources"), qt_flavor(w, 0));
	}
	return qt_text(
		w,
		"spec.hierarchies: Invalid value: tree mixes weights (\"q%d\") and resources "
		"(\"q%d\")",
		w->amounts ? s->i : first, w->amounts ? first : s->i);
}

static struct json *queue(struct scene *s, const char *spec, const char *status)
{
	return add(s,
		   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
		   "\"metadata\":{\"name\":\"q%d\"},\"spec\":%s,\"status\":%s}",
		   s->i, spec, status);
}

static void local_queue(struct scene *s, int node)
{
	add(s,
	    "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
	    "{\"name\":\"l\",\"namespace\":\"ns\"},\"spec\":{\"clusterQueue\":\"q%d\"}}",
	    node);
}

static mk_str v20(struct scene *s)
{
	struct json *q = queue(s,
			       "{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":"
			       "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":"
			       "5}]}]}]}",
			       "{}");

	keep_before(s);
	json_put(&s->w->a, q, "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota",
		 json_new_int(&s->w->a, 6));
	s->subject = 1;
	return STR("spec.resourceGroups: Forbidden: immutable, managed by ClusterQuotaTree \"t\"");
}

static mk_str v21(struct scene *s)
{
	keep_before(s);
	local_queue(s, s->w->parent[s->i]);
	s->subject = 1;
	return qt_text(
		s->w,
		"spec.clusterQueue: Invalid value: \"q%d\": not a leaf of tree \"t\"; LocalQueues "
		"may point only to leaf queues",
		s->w->parent[s->i]);
}

/* Makes node 'i', a leaf, the parent of 'child'. */
static void extend(struct scene *s, const char *parent, const char *child)
{
	json_set(&s->w->a, json_at(s->w->docs, "/0/spec/hierarchies"), str_of(parent),
		 qt_parse(s->w,
			  arena_printf(
				  &s->w->a,
				  "{\"policy\":\"fair\",\"weightedQuotas\":[{\"name\":\"%s\"}]}",
				  child)));
}

static mk_str v22(struct scene *s)
{
	s->i = s->w->n - 1;
	if (s->w->level[s->i] >= 16) {
		return qt_not_here;
	}
	local_queue(s, s->i);
	keep_before(s);
	extend(s, qt_text(s->w, "q%d", s->i).p, "new");
	return qt_text(
		s->w,
		"spec.hierarchies[q%d]: Invalid value: \"q%d\": is used by LocalQueue ns/l and "
		"cannot become a parent",
		s->i, s->i);
}

static mk_str v24(struct scene *s)
{
	keep_before(s);
	add(s, "{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQueueTree\","
	       "\"metadata\":{\"name\":\"default\",\"uid\":\"u\"}}");
	s->subject = 1;
	return STR("ClusterQueueTree is read-only");
}

static mk_str v25(struct scene *s)
{
	struct json *q = queue(s, "{}", "{}");

	keep_before(s);
	json_set(&s->w->a, json_get(q, "metadata"), STR("annotations"),
		 qt_parse(s->w, STR("{\"kueue.x-k8s.io/parent\":\"other\"}")));
	s->subject = 1;
	return qt_text(s->w,
		       "metadata.annotations[kueue.x-k8s.io/parent]: Forbidden: \"q%d\" is in "
		       "ClusterQuotaTree \"t\"",
		       s->i);
}

static mk_str v26(struct scene *s)
{
	struct world *w = s->w;
	int p = w->parent[w->n - 1];
	int works = (int)rng_range(&w->rng, 1, 99);
	struct json *list;

	/*
	 * The last node is a leaf, and the last of its list; without it the
	 * others' weights must still make 100.
	 */
	s->i = w->n - 1;
	if (w->n_children[p] < 2 || (!w->amounts && w->min_weight[s->i] > 0)) {
		return qt_not_here;
	}
	queue(s, "{}", qt_text(w, "{\"admittedWorkloads\":%d}", works).p);
	keep_before(s);
	list = json_at(w->docs, qt_text(w, "/0/spec/hierarchies/q%d/weightedQuotas", p).p);
	json_remove(list, (size_t)w->n_children[p] - 1);
	return qt_text(w,
		       "spec.hierarchies[q%d]: Forbidden: \"q%d\" has %d admitted workloads and 0 "
		       "LocalQueues",
		       p, s->i, works);
}

static mk_str v27(struct scene *s)
{
	mk_str parent = qt_text(s->w, "q%d", s->w->n - 1);

	keep_before(s);
	for (int level = s->w->level[s->w->n - 1]; level < 16; level++) {
		mk_str child = qt_text(s->w, "z%d", level);

		extend(s, parent.p, child.p);
		parent = child;
	}
	extend(s, parent.p, "bottom");
	return qt_text(s->w, "spec.hierarchies[%.*s]: Too many: 17: must have at most 16 items",
		       STR_ARG(parent));
}

static const struct {
	const char *name;
	mk_str (*plant)(struct scene *s);
} catalogue[] = {
	{"V7", v7},   {"V15", v15}, {"V20", v20}, {"V21", v21}, {"V22", v22},
	{"V24", v24}, {"V25", v25}, {"V26", v26}, {"V27", v27},
};

enum { N_ENTRIES = sizeof(catalogue) / sizeof(catalogue[0]) };

/* What is said of the set as it was, by itself. */
static mk_str judge_before(struct scene *s)
{
	struct validate_input in = {.subject = API_NONE, .deleted = API_NONE};

	in.now = objects_link(&s->w->a, s->before, API_NONE);
	return objects_judge(&s->w->a, &in);
}

static mk_str judge_after(struct scene *s)
{
	struct validate_input in = {.subject = s->subject, .deleted = API_NONE};

	in.before = objects_link(&s->w->a, s->before, API_NONE);
	in.now = objects_link(&s->w->a, s->w->docs, s->subject);
	return objects_judge(&s->w->a, &in);
}

static bool agrees(mk_str got, mk_str want, uint64_t seed, const char *what)
{
	if (str_eq(got, want)) {
		return true;
	}
	printf("# seed %llu, %s\n#   found    %.*s\n#   expected %.*s\n", (unsigned long long)seed,
	       what, STR_ARG(got), STR_ARG(want));
	return false;
}

int main(void)
{
	int planted[N_ENTRIES] = {0};
	bool valid = true, exact = true, enough = true;
	struct world w;

	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct scene s = {.w = &w};
		mk_str want;

		qt_make(&w, seed);
		qt_plan_b(&w);
		s.i = (int)rng_range(&w.rng, 1, w.n - 1);
		want = catalogue[seed % N_ENTRIES].plant(&s);
		if (want.n > 0) {
			const char *name = catalogue[seed % N_ENTRIES].name;

			planted[seed % N_ENTRIES]++;
			valid = agrees(judge_before(&s), STR(""), seed, name) && valid;
			exact = agrees(judge_after(&s), want, seed, name) && exact;
		}
		arena_done(&w.a);
	}
	for (int k = 0; k < N_ENTRIES; k++) {
		enough = enough && planted[k] >= 10;
		printf("# %s: %d times\n", catalogue[k].name, planted[k]);
	}
	ok(valid, "the objects without the fault are accepted");
	ok(exact, "a planted fault gives exactly its text");
	ok(enough, "each fault was planted often enough");
	return done_testing();
}
