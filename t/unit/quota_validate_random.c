/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random valid trees are accepted; then one fault of a catalogue is planted in each, and
 * exactly that error is told. Both plans; weights and amounts. And running out of memory at any
 * point is an error like others.
 */
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "t/lib/quota_trees.h"

enum { CASES = 3000 };

/* --- the catalogue: each plants one fault at node i and returns the text; {NULL, 0}: none ----- */

static mk_str v1(struct world *w, int i)
{
	(void)i;
	json_put(&w->a, w->docs, "/0/spec/hierachies", json_new_obj(&w->a));
	return STR("spec.hierachies: Forbidden: use either hierarchies or hierachies, not both");
}

static mk_str v8(struct world *w, int i)
{
	struct json *copy = json_dup(&w->a, w->node[i]);
	struct json *list = json_at(
		w->docs, qt_text(w, "/0/spec/hierarchies/q%d/weightedQuotas", w->parent[i]).p);

	json_set(&w->a, copy, STR("minWeight"), NULL);
	json_set(&w->a, copy, STR("minResources"), NULL);
	json_add(&w->a, list, copy);
	return qt_text(w, "spec.hierarchies[q%d].weightedQuotas[%d].name: Duplicate value: \"q%d\"",
		       w->parent[i], w->n_children[w->parent[i]], i);
}

static mk_str v9(struct world *w, int i)
{
	json_put(&w->a, w->docs, "/0/spec/hierarchies/z", json_new_obj(&w->a));
	(void)i;
	return STR("spec.hierarchies: Invalid value: tree must have one root, found: q0, z");
}

static mk_str v10(struct world *w, int i)
{
	(void)i;
	json_put(&w->a, w->docs, "/0/spec/hierarchies/z",
		 qt_parse(w, STR("{\"policy\":\"fair\",\"weightedQuotas\":[{\"name\":\"z\"}]}")));
	return STR("spec.hierarchies: Invalid value: \"z\" is not reachable from root \"q0\"");
}

static mk_str v11(struct world *w, int i)
{
	if (w->amounts || w->min_weight[i] == 0) {
		return qt_not_here;
	}
	json_set_int(&w->a, w->node[i], "minWeight", w->min_weight[i] - 1);
	return qt_text(w,
		       "spec.hierarchies[q%d].weightedQuotas: Invalid value: 99: sum of minWeight "
		       "must be 100",
		       w->parent[i]);
}

static mk_str v12(struct world *w, int i)
{
	int64_t v = rng_range(&w->rng, 101, INT32_MAX);

	if (w->amounts) {
		return qt_not_here;
	}
	json_set_int(&w->a, w->node[i], "maxWeight", v);
	return qt_text(w, "%.*s.maxWeight: Invalid value: %lld: must not be larger than 100",
		       STR_ARG(w->path[i]), (long long)v);
}

static mk_str v13(struct world *w, int i)
{
	if (w->amounts || w->min_weight[i] == 0) {
		return qt_not_here;
	}
	json_set_int(&w->a, w->node[i], "maxWeight", w->min_weight[i] - 1);
	return qt_text(w,
		       "%.*s.minWeight: Invalid value: %d: must not be larger than maxWeight (%d)",
		       STR_ARG(w->path[i]), w->min_weight[i], w->min_weight[i] - 1);
}

static mk_str v14(struct world *w, int i)
{
	if (w->amounts) {
		json_set_int(&w->a, w->node[i], "maxWeight", 100);
	} else {
		json_set(&w->a, w->node[i], STR("minResources"), qt_flavor(w, 0));
	}
	return qt_text(w,
		       "%.*s.minResources: Forbidden: minWeight/maxWeight and "
		       "minResources/maxResources exclude each other",
		       STR_ARG(w->path[i]));
}

static mk_str v16(struct world *w, int i)
{
	int64_t sum = 0;
	int p = w->parent[i];

	for (int k = 1; k < w->n; k++) {
		sum += w->parent[k] == p ? w->min[k] : 0;
	}
	sum -= w->min[i];
	/* A minimum over its own maximum would break another rule, too. */
	if (!w->amounts || w->max[i] + sum <= w->min[p]) {
		return qt_not_here;
	}
	json_set(&w->a, w->node[i], STR("minResources"), qt_flavor(w, w->max[i]));
	return qt_text(
		w,
		"spec.hierarchies[q%d].weightedQuotas: Invalid value: %.*s: sum of "
		"minResources for f/cpu is larger than the parent's %.*s",
		p,
		STR_ARG(api_amount_text(&w->a, (struct api_amount){(w->max[i] + sum) * 1000, 0},
					STR("cpu"))),
		STR_ARG(api_amount_text(&w->a, (struct api_amount){w->min[p] * 1000, 0},
					STR("cpu"))));
}

static mk_str v17(struct world *w, int i)
{
	if (!w->amounts || w->n_children[i] > 0 || w->max[w->parent[i]] > 900) {
		return qt_not_here;
	}
	json_set(&w->a, w->node[i], STR("maxResources"), qt_flavor(w, w->max[w->parent[i]] + 1));
	return qt_text(
		w,
		"%.*s.maxResources[0].resources[0].nominalQuota: Invalid value: %lld: larger "
		"than the parent's max %lld",
		STR_ARG(w->path[i]), (long long)w->max[w->parent[i]] + 1,
		(long long)w->max[w->parent[i]]);
}

static mk_str v18(struct world *w, int i)
{
	if (!w->amounts || w->n_children[i] > 0 || w->min[i] == 0 || w->min[i] > 900) {
		return qt_not_here;
	}
	json_set(&w->a, w->node[i], STR("maxResources"), qt_flavor(w, w->min[i] - 1));
	return qt_text(
		w,
		"%.*s.minResources[0].resources[0].nominalQuota: Invalid value: %lld: larger "
		"than maxResources %lld",
		STR_ARG(w->path[i]), (long long)w->min[i], (long long)w->min[i] - 1);
}

static mk_str v19(struct world *w, int i)
{
	struct json *list = json_at(w->node[i], "/minResources/0/resources");

	if (!w->amounts) {
		return qt_not_here;
	}
	json_add(&w->a, list, qt_parse(w, STR("{\"name\":\"gpu\",\"nominalQuota\":1}")));
	return qt_text(
		w,
		"%.*s.minResources[0].resources[1].name: Invalid value: \"gpu\": flavor \"f\" "
		"with resource \"gpu\" is not in the tree's resourceGroup",
		STR_ARG(w->path[i]));
}

static mk_str v23(struct world *w, int i)
{
	json_set(&w->a, w->node[i], STR("clusterQuotaTemplate"),
		 qt_parse(w, STR("{\"cohortName\":\"c\"}")));
	return qt_text(w, "%.*s.clusterQuotaTemplate.cohortName: Forbidden: set by the tree",
		       STR_ARG(w->path[i]));
}

static mk_str v0(struct world *w, int i)
{
	json_set_str(&w->a, w->node[i], w->amounts ? "minResources" : "maxWeight", STR("many"));
	return qt_text(w, "%.*s.%s: Invalid value: \"many\": must be %s", STR_ARG(w->path[i]),
		       w->amounts ? "minResources" : "maxWeight",
		       w->amounts ? "a list" : "an integer");
}

/* PlanA. The faulty queue is the one that is written. */

static mk_str a2(struct world *w, int i)
{
	struct buf b;
	mk_str out;
	int up = i;

	/* The root becomes a child of node i; the fault is told where it was made. */
	buf_init(&b, 4096);
	json_put(&w->a, w->node[0], "/spec/parent/name", json_new_str(&w->a, qt_text(w, "q%d", i)));
	buf_printf(&b, "spec.parent: Invalid value: \"q%d\": makes a cycle: q0", i);
	for (; up > 0; up = w->parent[up]) {
		buf_printf(&b, " -> q%d", up);
	}
	buf_printf(&b, " -> q0");
	out = arena_dup(&w->a, buf_str(&b));
	buf_done(&b);
	return out;
}

static mk_str a3(struct world *w, int i)
{
	if (w->amounts) {
		return qt_not_here;
	}
	json_put(&w->a, w->node[i], "/spec/parent/name", json_new_str(&w->a, STR("nobody")));
	return STR("spec.parent: Invalid value: \"nobody\": parent ClusterQueue does not exist");
}

static mk_str a4(struct world *w, int i)
{
	json_put(&w->a, w->node[i], "/spec/cohortName", json_new_str(&w->a, STR("c")));
	return qt_text(w,
		       "spec.cohortName: Forbidden: ClusterQueue \"q%d\" belongs to a queue tree; "
		       "cohort and tree cannot be combined",
		       i);
}

static mk_str a5(struct world *w, int i)
{
	if (w->amounts) {
		json_put(&w->a, w->node[i], "/spec/maxWeight", json_new_int(&w->a, 100));
	} else {
		json_put(&w->a, w->node[i], "/spec/resourceGroups",
			 qt_parse(w, STR("[{\"coveredResources\":[\"cpu\"],\"flavors\":"
					 "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
					 "\"nominalQuota\":0}]}]}]")));
	}
	return STR("spec.resourceGroups: Forbidden: may be set only when minWeight and maxWeight "
		   "are unset");
}

static mk_str a6(struct world *w, int i)
{
	json_put(&w->a, w->node[i], "/spec/children", qt_parse(w, STR("[\"nobody\"]")));
	return STR("spec.children[0]: Invalid value: \"nobody\": ClusterQueue does not exist");
}

static mk_str a11(struct world *w, int i)
{
	if (w->amounts || w->max_weight[i] == w->min_weight[i]) {
		return qt_not_here;
	}
	json_put(&w->a, w->node[i], "/spec/minWeight", json_new_int(&w->a, w->min_weight[i] + 1));
	return STR(
		"spec.minWeight: Invalid value: 101: sum of minWeight must not be larger than 100");
}

struct entry {
	const char *name;
	mk_str (*plant)(struct world *w, int i);
	bool plan_a;
	bool at_root; /* the root is what is written */
};

static const struct entry catalogue[] = {
	{"V1", v1, false, false},   {"V8", v8, false, false},
	{"V9", v9, false, false},   {"V10", v10, false, false},
	{"V11", v11, false, false}, {"V12", v12, false, false},
	{"V13", v13, false, false}, {"V14", v14, false, false},
	{"V16", v16, false, false}, {"V17", v17, false, false},
	{"V18", v18, false, false}, {"V19", v19, false, false},
	{"V23", v23, false, false}, {"a value", v0, false, false},
	{"V2", a2, true, true},     {"V3", a3, true, false},
	{"V4", a4, true, false},    {"V5", a5, true, false},
	{"V6", a6, true, false},    {"V11 of parents", a11, true, false},
};

enum { N_ENTRIES = sizeof(catalogue) / sizeof(catalogue[0]) };

static bool agrees(struct world *w, mk_str got, mk_str want, uint64_t seed, const char *what)
{
	if (str_eq(got, want)) {
		return true;
	}
	printf("# seed %llu, %s, %s of %d nodes\n#   found    %.*s\n#   expected %.*s\n",
	       (unsigned long long)seed, what, w->amounts ? "amounts" : "weights", w->n,
	       STR_ARG(got), STR_ARG(want));
	return false;
}

static void random_trees(void)
{
	int planted[N_ENTRIES] = {0};
	bool valid = true, exact = true, enough = true;
	struct world w;

	for (uint64_t seed = 1; seed <= CASES; seed++) {
		const struct entry *e = &catalogue[seed % N_ENTRIES];
		mk_str want;
		int i;

		qt_make(&w, seed);
		if (e->plan_a) {
			qt_plan_a(&w);
		} else {
			qt_plan_b(&w);
		}
		valid = agrees(&w, qt_judge(&w, API_NONE), STR(""), seed, "valid") && valid;
		i = (int)rng_range(&w.rng, 1, w.n - 1);
		want = e->plant(&w, i);
		if (want.n > 0) {
			size_t subject = !e->plan_a || e->at_root ? 0 : (size_t)i;

			planted[seed % N_ENTRIES]++;
			exact = agrees(&w, qt_judge(&w, subject), want, seed, e->name) && exact;
			if (!e->at_root) {
				exact = agrees(&w, qt_judge(&w, API_NONE), want, seed, e->name) &&
					exact;
			}
		}
		arena_done(&w.a);
	}
	for (int k = 0; k < N_ENTRIES; k++) {
		enough = enough && planted[k] >= 10;
		printf("# %s: %d times\n", catalogue[k].name, planted[k]);
	}
	ok(valid, "valid trees are accepted");
	ok(exact, "a planted fault gives exactly its text");
	ok(enough, "each fault was planted often enough");
}

/* --- out of memory ---------------------------------------------------------------------------- */

static bool run_once(const char *yaml, uint64_t fail_at, bool *ret_done)
{
	struct arena a;
	struct json *docs;
	struct api_set *set;
	struct validate_errors errors = {.n = 0};
	struct validate_input in = {.subject = API_NONE, .deleted = API_NONE};
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code = ERR_OK;
	struct json_iter it;

	arena_init(&a, 0);
	docs = objects_read(&a, yaml);
	it = json_iter(docs);
	alloc_fail_after(fail_at);
	set = api_set_new(&a);
	code = !set ? ERR_NO_MEMORY : ERR_OK;
	while (code == ERR_OK && json_next(&it)) {
		code = api_set_add(set, it.val, 0, &err);
	}
	code = code == ERR_OK ? api_set_link(set, API_NONE, &err) : code;
	in.now = set;
	code = code == ERR_OK ? validate(&a, &in, &errors, &err) : code;
	if (code == ERR_OK && !api_status(&a, set)) {
		code = ERR_NO_MEMORY;
	}
	alloc_fail_after(0);
	arena_done(&a);
	*ret_done = code == ERR_OK;
	return code == ERR_OK ? errors.n == 1 : code == ERR_NO_MEMORY;
}

static void torture(const char *yaml, const char *name)
{
	bool done = false, good = true;
	uint64_t n = 1;

	for (; !done && n < 100000; n++) {
		good = run_once(yaml, n, &done) && good;
	}
	printf("# %llu points of failure\n", (unsigned long long)n);
	ok(good && done && n > 5, name);
}

int main(void)
{
	static char faulty[4096];

	random_trees();
	snprintf(faulty, sizeof(faulty), "%s  enforcement: Never\n", weights_yaml);
	torture(faulty, "out of memory with a tree");
	snprintf(faulty, sizeof(faulty), "%s---\n%s", parents_yaml,
		 "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: z}\n"
		 "spec: {parent: nobody}\n");
	torture(faulty, "out of memory with parents");
	return done_testing();
}
