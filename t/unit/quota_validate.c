/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each of the 32 rules for queue trees: one change to a sound set of
 * objects gives exactly that text.
 */
#include "t/lib/tap.h"

#include "t/lib/quota_cases.h"

static void whole_sets(const struct quota_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct arena a;
		struct json *docs;
		struct validate_input in = {.subject = API_NONE, .deleted = API_NONE};

		arena_init(&a, 0);
		docs = objects_changed(&a, rows[i].base, rows[i].pointer, rows[i].value);
		in.now = objects_link(&a, docs, API_NONE);
		is_str(objects_judge(&a, &in).p, rows[i].want, rows[i].name);
		arena_done(&a);
	}
}

/* --- sizes, order, text ----------------------------------------------------------------------- */

/* A chain of 'levels' queues, by parents or in one tree. */
static struct json *chain(struct arena *a, int levels, bool plan_b)
{
	struct json *docs = objects_read(a, plan_b ? weights_yaml : "a: 1");
	struct json *map = json_new_obj(a);

	if (!plan_b) {
		docs = json_new_arr(a);
	}
	for (int i = 1; i <= levels; i++) {
		struct json *v = NULL;
		mk_str text =
			plan_b ? arena_printf(a, "{\"weightedQuotas\":[{\"name\":\"q%02d\"}]}",
					      i + 1)
			       : arena_printf(a,
					      "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
					      "\"ClusterQueue\",\"metadata\":{\"name\":\"q%02d\"},"
					      "\"spec\":{\"parent\":\"%s%02d\"}}",
					      i, i > 1 ? "q" : "", i - 1);

		if (!plan_b && i == 1) {
			text = STR("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
				   "\"ClusterQueue\",\"metadata\":{\"name\":\"q01\"}}");
		}
		json_parse(a, text, &v, NULL);
		if (plan_b && i < levels) {
			json_set(a, map, arena_printf(a, "q%02d", i), v);
		} else if (!plan_b) {
			json_add(a, docs, v);
		}
	}
	if (plan_b) {
		json_put(a, docs, "/0/spec/hierarchies", map);
	}
	return docs;
}

static void levels(int n, bool plan_b, size_t subject, const char *want, const char *name)
{
	struct arena a;
	struct validate_input in = {.subject = subject, .deleted = API_NONE};

	arena_init(&a, 0);
	in.now = objects_link(&a, chain(&a, n, plan_b), subject);
	is_str(objects_judge(&a, &in).p, want, name);
	arena_done(&a);
}

static void sizes(void)
{
	struct arena a;
	struct validate_input in = {.subject = API_NONE, .deleted = API_NONE};
	struct json *docs, *list;

	levels(16, true, API_NONE, "", "16 levels in a tree");
	levels(17, true, API_NONE,
	       "spec.hierarchies[q16]: Too many: 17: must have at most 16 items", "V27, 17 levels");
	levels(16, false, API_NONE, "", "16 levels of parents");
	levels(18, false, API_NONE, "spec.parent: Too many: 17: must have at most 16 items",
	       "V27, parents: told once");
	levels(18, false, 1, "spec.parent: Too many: 18: must have at most 16 items",
	       "V27, what is written moves all below it");

	arena_init(&a, 0);
	docs = objects_read(&a, weights_yaml);
	list = json_at(docs, "/0/spec/hierarchies/a/weightedQuotas");
	for (int i = 0; i < 9999; i++) {
		struct json *node = json_new_obj(&a);

		json_set_str(&a, node, "name", arena_printf(&a, "n%d", i));
		json_add(&a, list, node);
	}
	list = json_at(docs, "/0/spec/resourceGroup/coveredResources");
	for (int i = 0; i < 64; i++) {
		json_add(&a, list, json_new_str(&a, arena_printf(&a, "r%d", i)));
	}
	in.now = objects_link(&a, docs, API_NONE);
	is_str(objects_judge(&a, &in).p,
	       "spec.hierarchies[a].weightedQuotas: Too many: 10001: must have at most 10000 "
	       "items\n"
	       "spec.resourceGroup.coveredResources: Too many: 65: must have at most 64 items",
	       "V27, children and resources");
	arena_done(&a);
}

static void order(const char *x, const char *y)
{
	ok(validate_cmp_paths(str_of(x), str_of(y)) < 0 &&
		   validate_cmp_paths(str_of(y), str_of(x)) > 0 &&
		   validate_cmp_paths(str_of(x), str_of(x)) == 0,
	   x);
}

static void orders(void)
{
	order("spec", "spec.parent");
	order("spec.a[2]", "spec.a[10]");
	order("spec.hierarchies[10].a", "spec.hierarchies[2].a");
	order("spec.hierarchies[a].z", "spec.hierarchies[a-b].a");
	order("spec.hierarchies[a]", "spec.hierarchies[a].fence");
	order("spec.hierarchies[a].weightedQuotas[9].name",
	      "spec.hierarchies[a].weightedQuotas[11].maxWeight");
	order("metadata.name", "spec");
	order("", "spec");
}

static void many(void)
{
	struct arena a;
	struct validate_input in = {.subject = API_NONE, .deleted = API_NONE};
	struct validate_errors e = {.n = 0};
	struct json *docs, *list;
	mk_str text;
	size_t n_lines = 1;

	arena_init(&a, 0);
	docs = objects_read(&a, weights_yaml);
	list = json_at(docs, "/0/spec/hierarchies/a/weightedQuotas");
	for (int i = 0; i < 25; i++) {
		struct json *node = json_new_obj(&a);

		json_set_str(&a, node, "name", arena_printf(&a, "n%d", i));
		json_set_int(&a, node, "maxWeight", 101 + i);
		json_set_int(&a, node, "minWeight", i == 3 ? -1 : 0);
		json_add(&a, list, node);
	}
	in.now = objects_link(&a, docs, API_NONE);
	ok(validate(&a, &in, &e, NULL) == ERR_OK && e.n == 26, "all errors are found");
	text = validate_text(&a, e.v, e.n);
	for (size_t i = 0; i < text.n; i++) {
		n_lines += text.p[i] == '\n' ? 1 : 0;
	}
	is_int((int64_t)n_lines, 21, "20 are shown, and one line more");
	ok(str_ends(text, STR("\nand 6 more")), "which says how many are left out");
	ok(strstr(text.p, "[6].maxWeight: ") < strstr(text.p, "[10].maxWeight: "),
	   "sorted by index");
	is_str(validate_text(&a, e.v, 0).p, "", "no errors, no text");
	arena_done(&a);
}

int main(void)
{
	whole_sets(quota_tree_rows, n_quota_tree_rows);
	whole_sets(quota_queue_rows, n_quota_queue_rows);
	sizes();
	orders();
	many();
	return done_testing();
}
