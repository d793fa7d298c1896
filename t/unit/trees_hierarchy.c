/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of ClusterQueueTree "default": what each tree of parents is, how it stands, its
 * bounds; and that of a ClusterQuotaTree that is grafted on another.
 */
#include "core/trees/pass.h"
#include "t/lib/quota_objects.h"
#include "t/lib/tap.h"

static struct arena a;
static struct json *docs;
static struct trees_plan plan; /* of the last pass */

#define ROOT(name, more)                                                         \
	"apiVersion: kueue.x-k8s.io/v1beta2\n"                                   \
	"kind: ClusterQueue\n"                                                   \
	"metadata: {name: " name ", generation: 4" more "}\n"                    \
	"spec:\n"                                                                \
	"  resourceGroups:\n"                                                    \
	"  - coveredResources: [cpu]\n"                                          \
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}]}]\n" \
	"  preemption: {reclaimWithinCohort: Any}\n"
#define LEAF(name, root, weight)                                                      \
	"---\n"                                                                       \
	"apiVersion: kueue.x-k8s.io/v1beta2\n"                                        \
	"kind: ClusterQueue\n"                                                        \
	"metadata: {name: " name ", annotations: {kueue.x-k8s.io/parent: " root       \
	", kueue.x-k8s.io/min-weight: '" weight "'}}\n"                               \
	"spec: {preemption: {reclaimWithinCohort: Any}}\n"                            \
	"status: {pendingWorkloads: 3, reservingWorkloads: 1, admittedWorkloads: 1, " \
	"flavorsReservation: [{name: f, resources: [{name: cpu, total: 8}]}]}\n"

static enum trees_mode mode = TREES_OBSERVE;

/* What a pass writes into the status, or NULL. */
static struct json *status_of(enum api_kind kind, const char *name)
{
	struct trees_input in = {.mode = mode, .wall_ms = INT64_C(1768478400000)};
	struct json **v = arena_array(&a, json_len(docs), sizeof(*v));

	in.n = json_len(docs);
	for (size_t i = 0; v != NULL && i < in.n; i++) {
		v[i] = json_elem(docs, i);
	}
	in.objects = v;
	plan = (struct trees_plan){.n = 0};
	if (trees_pass(&a, &in, &plan, NULL) != ERR_OK) {
		return NULL;
	}
	for (size_t i = 0; i < plan.n; i++) {
		if (plan.writes[i].verb == TREES_STATUS && plan.writes[i].kind == kind &&
		    str_is(plan.writes[i].name, name)) {
			return json_get(plan.writes[i].body, "status");
		}
	}
	return NULL;
}

static const char *text(const struct json *v, const char *pointer)
{
	mk_str s = json_write(&a, json_at(v, pointer));

	return s.p != NULL ? s.p : "";
}

static const char *condition(const struct json *entry, const char *type)
{
	const struct json *c = json_find(json_get(entry, "conditions"), "type", type);

	return arena_printf(&a, "%.*s %.*s", STR_ARG(json_str(json_get(c, "status"))),
			    STR_ARG(json_str(json_get(c, "reason"))))
		.p;
}

static void put_live(const struct json *status)
{
	struct json *live = json_new_obj(&a);

	json_set_str(&a, live, "apiVersion", STR("kueue.x-k8s.io/v1alpha1"));
	json_set_str(&a, live, "kind", STR("ClusterQueueTree"));
	json_put(&a, live, "/metadata/name", json_new_str(&a, STR("default")));
	json_set(&a, live, STR("status"), json_dup(&a, status));
	json_add(&a, docs, live);
}

static void states(void)
{
	struct json *status, *entry;

	arena_init(&a, 0);
	docs = objects_read(&a,
			    ROOT("top", "") LEAF("left", "top", "50") LEAF("right", "top", "50"));
	status = status_of(API_STATUS, "default");
	entry = json_find(json_get(status, "trees"), "root", "top");
	is_int(json_len(json_get(entry, "nodes")), 3, "a tree of parents, and its nodes");
	is_str(condition(entry, "Accepted"), "True Valid", "it keeps the rules");
	is_str(condition(entry, "Active"), "False Observed", "... is only looked at");
	is_str(condition(entry, "OverLimit"), "True OverLimit", "... and uses more than it has");
	is_str(text(entry, "/total/0/resources/0"), "{\"name\":\"cpu\",\"total\":\"10\"}",
	       "what it has");
	is_str(text(entry, "/usage/0/resources/0"), "{\"name\":\"cpu\",\"total\":\"16\"}",
	       "... and uses");
	is_str(text(entry, "/pendingWorkloads"), "6", "... and has waiting");
	ok(plan.n_figures == 3 && str_is(plan.figures[0].queue, "top") && plan.figures[0].first &&
		   plan.figures[0].pending == 6 && plan.figures[1].pending == 3,
	   "... also in metrics, queue by queue");
	is_str(text(entry, "/queues/1/quotas/0/borrowed"), "\"3\"", "who borrows");
	is_str(text(entry, "/observedGeneration"), "4", "the generation of the root");
	put_live(status);
	ok(!status_of(API_STATUS, "default"), "when that is there, nothing is written");
	objects_put(&a, docs, "/1/status/pendingWorkloads", "4");
	status = status_of(API_STATUS, "default");
	entry = json_find(json_get(status, "trees"), "root", "top");
	is_str(text(entry, "/pendingWorkloads"), "7", "what changes is written");
	objects_put(&a, docs, "/1/metadata/annotations/kueue.x-k8s.io~1min-weight", "\"60\"");
	status = status_of(API_STATUS, "default");
	entry = json_find(json_get(status, "trees"), "root", "top");
	is_str(condition(entry, "Accepted"), "False Invalid", "a tree that is wrong says so");
	ok(!json_get(entry, "total"), "... and no figures");
	arena_done(&a);
}

/* Until it is known whether an ElasticQuota is there, what was said of a tree stays. */
static void unsure(void)
{
	static const char flavor[] =
		"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: "
		"f, annotations: {kueue.x-k8s.io/related-elastic-quota: ns/q}}\nspec: {}\n";
	struct json *was = NULL, *entry;

	arena_init(&a, 0);
	docs = objects_read(
		&a, arena_printf(&a, "%s%s", ROOT("top", "") LEAF("left", "top", "100"), flavor).p);
	was = json_new_obj(&a);
	json_put(&a, was, "/trees", json_new_arr(&a));
	json_put(&a, was, "/trees/-", json_new_obj(&a));
	json_put(&a, was, "/trees/0/root", json_new_str(&a, STR("top")));
	json_put(&a, was, "/trees/0/leafCount", json_new_int(&a, 7));
	put_live(was);
	mode = TREES_COMPILE;
	entry = json_find(json_get(status_of(API_STATUS, "default"), "trees"), "root", "top");
	mode = TREES_OBSERVE;
	is_int(json_len(json_get(entry, "nodes")), 2, "nodes are told in any case");
	ok(json_int(json_get(entry, "leafCount"), 0) == 7 && !json_get(entry, "conditions"),
	   "... of what depends on objects that are not known yet nothing changes");
	arena_done(&a);
}

/* Parents that make a cycle have no root. */
static void cycle(void)
{
	struct json *trees, *entry;

	arena_init(&a, 0);
	docs = objects_read(&a, ROOT("top", "") LEAF("c1", "c2", "100") LEAF("c2", "c1", "100"));
	trees = json_get(status_of(API_STATUS, "default"), "trees");
	entry = json_find(trees, "root", "c1");
	is_int(json_len(trees), 1, "a cycle has one entry");
	is_str(condition(entry, "Accepted"), "False Invalid", "... which says that it is wrong");
	is_str(condition(entry, "Active"), "False Invalid", "... and not acted on");
	arena_done(&a);
}

/* Many trees, of which not all that is said fits into one object. */
static void bounds(void)
{
	enum { TREES = 600 };
	struct buf yaml;
	struct json *status;
	size_t n_full = 0, n_cut = 0, n_none = 0;
	struct json_iter it;

	arena_init(&a, 0);
	buf_init(&yaml, 64 * 1024 * 1024);
	for (int t = 0; t < TREES; t++) {
		buf_printf(
			&yaml,
			"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: "
			"{name: t%03d}\nspec: {resourceGroups: [{coveredResources: [cpu], flavors: "
			"[{name: f, resources: [{name: cpu, nominalQuota: 10}]}]}]}\n",
			t);
		for (int q = 0; q < 5; q++) {
			buf_printf(
				&yaml,
				"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n"
				"metadata: {name: t%03d-%d, annotations: {kueue.x-k8s.io/parent: "
				"t%03d}}\nspec: {}\n",
				t, q, t);
		}
	}
	docs = objects_read(&a, buf_str(&yaml).p);
	buf_done(&yaml);
	status = status_of(API_STATUS, "default");
	it = json_iter(json_get(status, "trees"));
	while (json_next(&it)) {
		n_full += json_get(it.val, "queues") ? 1 : 0;
		n_cut += json_bool(json_get(it.val, "truncated")) ? 1 : 0;
		n_none += json_get(it.val, "conditions") ? 0 : 1;
	}
	ok(n_full > 50 && n_full < TREES && n_cut > 20,
	   "of many trees the first have all, others their conditions");
	is_int((int64_t)(n_full + n_cut + n_none), TREES, "... and all are named");
	ok(n_none > 20 && json_bool(json_get(status, "truncated")),
	   "... the last alone, and the status says so");
	ok(json_write(&a, status).n < 1300 * 1024, "... and the whole fits into an object");
	arena_done(&a);
}

static void grafted(void)
{
	static const char yaml[] =
		"apiVersion: kueue.x-k8s.io/v1alpha1\n"
		"kind: ClusterQuotaTree\n"
		"metadata: {name: big, generation: 1}\n"
		"spec:\n"
		"  resourceGroup: {coveredResources: [cpu], flavors: [{name: f, resources: [{name: "
		"cpu, nominalQuota: 10}]}]}\n"
		"  hierarchies: {top: {weightedQuotas: [{name: x, minWeight: 100}]}}\n"
		"---\n"
		"apiVersion: kueue.x-k8s.io/v1alpha1\n"
		"kind: ClusterQuotaTree\n"
		"metadata: {name: small, generation: 2}\n"
		"spec:\n"
		"  graftAt: {tree: big, node: x}\n"
		"  resourceGroup: {coveredResources: [cpu], flavors: [{name: f, resources: [{name: "
		"cpu, nominalQuota: 1}]}]}\n"
		"  hierarchies: {sub: {weightedQuotas: [{name: z, minWeight: 100}]}}\n";
	struct json *status;

	arena_init(&a, 0);
	docs = objects_read(&a, yaml);
	status = status_of(API_TREE, "small");
	is_str(condition(status, "Accepted"), "True Valid", "a grafted tree that is valid says so");
	is_str(condition(status, "Active"), "Unknown Grafted",
	       "... and where to look for the rest");
	is_str(text(status, "/observedGeneration"), "2", "... of its generation");
	json_set(&a, json_elem(docs, 1), STR("status"), json_dup(&a, status));
	ok(!status_of(API_TREE, "small"), "once");
	arena_done(&a);
}

int main(void)
{
	states();
	unsure();
	cycle();
	bounds();
	grafted();
	return done_testing();
}
