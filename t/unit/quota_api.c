/* SPDX-License-Identifier: Apache-2.0 */
/* What is read from the API objects of queue trees: amounts, carriers, defaults, places. */
#include "t/lib/tap.h"

#include "t/lib/quota_objects.h"

static struct arena a;

/* --- amounts ---------------------------------------------------------------------------------- */

static void amount(const char *text, const char *resource, bool up, int64_t want,
		   const char *canonical)
{
	struct api_amount q = {.v = -77};
	mk_str r = str_of(resource);

	ok(api_amount_parse(&a, str_of(text), r, up, &q), text);
	is_int(q.v, want, "its value");
	is_str(api_amount_text(&a, q, r).p, canonical, "its canonical form");
}

static void amounts(void)
{
	struct api_amount q = {.v = 5};

	amount("2", "cpu", false, 2000, "2");
	amount("1500m", "cpu", false, 1500, "1500m");
	amount("1.5", "cpu", false, 1500, "1500m");
	amount("1000", "cpu", false, 1000000, "1k");
	amount("0.0001", "cpu", true, 1, "1m");
	amount("0.0001", "cpu", false, 0, "0");
	amount("-0.5", "gpu", false, -1, "-1");
	amount("-0.5", "gpu", true, 0, "0");
	amount("1.5Gi", "memory", false, 1610612736, "1536Mi");
	amount("1Ki", "cpu", false, 1024000, "1Ki");
	amount("512", "memory", false, 512, "512");
	amount("1e3", "memory", false, 1000, "1e3");
	amount("12E", "memory", false, INT64_MAX, "9223372036854775807");
	amount("16Ei", "cpu", false, INT64_MAX, "9223372036854775807m");
	amount("1e999", "gpu", false, INT64_MAX, "9223372036854775807");
	amount("1e-999", "gpu", true, 1, "1");
	amount("999999999999999999Ei", "gpu", false, INT64_MAX, "9223372036854775807");
	amount("0", "gpu", false, 0, "0");
	ok(!api_amount_parse(&a, STR("1x"), STR("cpu"), false, &q) &&
		   !api_amount_parse(&a, STR(""), STR("cpu"), false, &q) && q.v == 5,
	   "what is no quantity leaves the result alone");
	is_str(api_amount_shown(&a, INT64_MAX, STR("cpu")).p, "unlimited", "no bound");
	is_str(api_amount_shown(&a, 12345, STR("nvidia.com/gpu")).p, "12345", "shown as digits");
	is_str(api_amount_shown(&a, 2048, STR("memory")).p, "2Ki", "memory in powers of two");
	is_int(api_add(INT64_MAX, 1), INT64_MAX, "sums stop at the end");
	is_int(api_add(INT64_MIN, -1), INT64_MIN, "at both");
}

/* --- ClusterQueue ----------------------------------------------------------------------------- */

static struct api_set *set_of(const char *yaml)
{
	return objects_link(&a, objects_read(&a, yaml), API_NONE);
}

#define CQ "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n"

static void queue_fields(void)
{
	struct api_set *s = set_of(
		CQ
		"metadata:\n"
		"  name: q\n"
		"  annotations:\n"
		"    kueue.x-k8s.io/parent: other\n"
		"    kueue.x-k8s.io/min-weight: '7'\n"
		"    kueue.x-k8s.io/policy: fair\n"
		"    kueue.x-k8s.io/queueing-strategy: Capacity\n"
		"    kueue.x-k8s.io/children: 'a, b,,c'\n"
		"    kueue.x-k8s.io/preemption-fence: EnableCrossQuotaPreemption\n"
		"    kueue.x-k8s.io/force: 'true'\n"
		"spec:\n"
		"  parent: {kind: ClusterQueue, name: p}\n"
		"  maxWeight: 30\n"
		"  queueingStrategy: StrictFIFO\n"
		"  fairSharing: {weight: 1500m}\n"
		"  preemption: {withinClusterQueue: LowerOrNewerEqualPriority, "
		"reclaimWithinCohort: LowerPriority, borrowWithinCohort: {policy: LowerPriority, "
		"maxPriorityThreshold: -5}}\n"
		"  flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: Preempt}\n"
		"status: {admittedWorkloads: 2, reservingWorkloads: 4}\n");
	struct api_queue *q = s != NULL ? api_set_queue(s, STR("q")) : NULL;

	if (!ok(q != NULL && q->object->faults.n == 0, "a queue with everything")) {
		return;
	}
	is_str(q->parent.v.p, "p", "the spec's parent wins over the annotation");
	is_str(q->parent.path.p, "spec.parent", "and is the carrier");
	ok(q->min_weight.set && q->min_weight.v == 7, "a weight from an annotation");
	is_str(q->min_weight.path.p, "metadata.annotations[kueue.x-k8s.io/min-weight]",
	       "its carrier");
	ok(q->max_weight.set && q->max_weight.v == 30, "a weight from the spec");
	ok(q->children.n == 3 && str_is(q->children.v[2], "c"), "a comma list without blanks");
	is_int(q->behaviour.policy, API_FAIR, "policy");
	is_int(q->behaviour.strategy, API_LQ_CAPACITY,
	       "Kueue's own strategy says nothing against the annotation");
	is_int(q->behaviour.fence, API_FENCE_OPEN, "fence");
	is_int(q->behaviour.within_queue, API_LOWER_OR_NEWER, "withinClusterQueue");
	is_int(q->behaviour.reclaim, API_LOWER, "reclaimWithinCohort");
	ok(q->behaviour.borrow_within && q->behaviour.has_threshold && q->behaviour.threshold == -5,
	   "borrowWithinCohort");
	ok(q->behaviour.borrow_next_flavor && q->behaviour.preempt_may_stop &&
		   !q->behaviour.preempt_over_borrow,
	   "flavorFungibility");
	is_int(q->behaviour.weight, 1500, "fair weight in thousandths");
	ok(q->force && !q->quota_managed, "marks");
	is_int(q->admitted, 4, "workloads that hold quota, as the status counts them");

	s = set_of(CQ "metadata: {name: q}\nspec: {queueingStrategy: Fair, fairSharing: {weight: "
		      "1e12}}\n");
	q = api_set_queue(s, STR("q"));
	ok(!q->parent.set && !q->min_weight.set && !q->children.set && !q->behaviour.has_policy,
	   "a bare queue has nothing");
	is_int(q->behaviour.strategy, API_LQ_FAIR, "a strategy that only a new CRD has");
	is_int(q->behaviour.weight, 1000000000, "weights end at 10^9");
	is_int(q->behaviour.reclaim, API_NEVER, "Kueue's default is never");
	ok(!q->behaviour.borrow_next_flavor && !q->behaviour.preempt_may_stop,
	   "default fungibility");
}

static void groups(void)
{
	struct api_set *s =
		set_of(CQ "metadata: {name: q}\n"
			  "spec:\n"
			  "  resourceGroups:\n"
			  "  - coveredResources: [cpu, memory]\n"
			  "    flavors:\n"
			  "    - name: f\n"
			  "      resources: [{name: cpu, nominalQuota: 1}, {name: memory, "
			  "nominalQuota: 1Gi}]\n"
			  "  - coveredResources: [gpu]\n"
			  "    flavors:\n"
			  "    - name: g\n"
			  "      resources: [{name: gpu, nominalQuota: 4, lendingLimit: 1}]\n");
	struct api_queue *q = api_set_queue(s, STR("q"));
	const struct api_quota *gpu = api_quotas_get(&q->quotas, STR("g/gpu"));

	is_int((int64_t)q->quotas.n, 3, "three pairs of two groups");
	ok(gpu != NULL && gpu->group == 1 && gpu->nominal.v == 4 && gpu->has_lending &&
		   gpu->lending.v == 1,
	   "by flavor and resource");
	is_str(gpu->path.p, "spec.resourceGroups[1].flavors[0].resources[0]",
	       "and where it stands");
	ok(!api_quotas_get(&q->quotas, STR("f/gpu")), "what is not there is not found");
}

/* --- places, LocalQueues, kinds --------------------------------------------------------------- */

static void places(void)
{
	struct api_set *s = set_of(parents_yaml);
	struct api_place *a1 = api_set_place(s, STR("a1"));
	struct api_place *b = api_set_place(s, STR("b"));
	struct api_place *c = api_set_place(s, STR("c"));

	ok(a1->depth == 3 && str_is(a1->parent->name, "a") && a1->n_children == 0,
	   "a leaf two below the root");
	is_str(api_place_tree(a1).p, "company", "a PlanA tree has the name of its root");
	ok(api_place_in_tree(b) && !api_place_in_tree(c), "who is in a tree");
	is_int((int64_t)b->n_lqs, 1, "LocalQueues are counted");
	is_int(api_place_policy(api_set_place(s, STR("company"))), API_CAPACITY,
	       "policy of a queue");
	ok(!api_set_place(s, STR("nobody")) && !api_set_queue(s, STR("nobody")),
	   "an unknown name is nowhere");

	s = set_of(weights_yaml);
	a1 = api_set_place(s, STR("a1"));
	ok(a1->tree != NULL && a1->node != NULL && !a1->queue && a1->depth == 3,
	   "a place in a ClusterQuotaTree needs no ClusterQueue");
	is_str(api_place_tree(a1).p, "t", "a PlanB tree has its own name");
	ok(api_set_tree(s, STR("t")) != NULL && !api_set_tree(s, STR("u")), "trees by name");
	ok(api_set_tree(s, STR("t"))->connected, "it hangs together");
}

static void kinds(void)
{
	struct api_set *s = set_of(
		"apiVersion: v1\n"
		"kind: List\n"
		"items:\n"
		"- apiVersion: kueue.x-k8s.io/v1beta2\n"
		"  kind: LocalQueue\n"
		"  metadata: {name: l, namespace: ns}\n"
		"  spec: {clusterQueue: q, fairSharing: {weight: '0.0005'}}\n"
		"- apiVersion: kueue.x-k8s.io/v1beta2\n"
		"  kind: ResourceFlavor\n"
		"  metadata: {name: f, annotations: {kueue.x-k8s.io/related-elastic-quota: ns/e}}\n"
		"  spec: {nodeLabels: {a: b}}\n"
		"- apiVersion: kueue.x-k8s.io/v1beta2\n"
		"  kind: ResourceFlavor\n"
		"  metadata: {name: g}\n"
		"  spec: {relatedElasticQuota: {namespace: ns, name: e}}\n"
		"- apiVersion: v1\n"
		"  kind: ConfigMap\n"
		"  metadata: {name: l}\n"
		"- apiVersion: elsewhere.io/v1\n"
		"  kind: ClusterQueue\n"
		"  metadata: {name: l}\n");

	is_int((int64_t)s->n_objects, 5, "items of a List");
	ok(s->n_lqs == 1 && s->n_queues == 0, "a kind of another group is another kind");
	is_int(s->lqs[0]->weight, 1, "weights are rounded up");
	is_str(s->flavors[0]->elastic.v.p, "ns/e", "an ElasticQuota by annotation");
	is_str(s->flavors[1]->elastic.v.p, "ns/e", "and by reference");
	ok(api_set_find(s, API_LQ, STR("ns"), STR("l")) != NULL &&
		   !api_set_find(s, API_LQ, STR("other"), STR("l")),
	   "LocalQueues are found by namespace and name");
}

static void refuses(const char *yaml, const char *want, const char *name)
{
	struct api_set *s = api_set_new(&a);
	struct json *docs = objects_read(&a, yaml);
	struct mk_err err = {.code = ERR_OK};

	ok(api_set_add(s, json_elem(docs, 0), 0, &err) == ERR_INVALID, name);
	is_str(err.msg, want, "and says why");
}

static void refusals(void)
{
	refuses("kind: ClusterQueue\n", "no Kubernetes object: apiVersion is missing",
		"no version");
	refuses("apiVersion: v1\n", "no Kubernetes object: kind is missing", "no kind");
	refuses("[1]\n", "no Kubernetes object: apiVersion is missing", "a list");
	refuses(CQ "metadata: {}\n", "ClusterQueue without metadata.name, or it is no string",
		"no name");
	refuses(CQ "metadata: {name: 5}\n",
		"ClusterQueue without metadata.name, or it is no string", "a number for a name");
	refuses("apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: l, "
		"namespace: n}\n",
		"metadata.namespace of LocalQueue \"l\" is no string: quote it",
		"n is false in YAML 1.1");
	refuses("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: []}]\n",
		"items[0]: a List cannot hold another List", "Lists in Lists");
}

/* --- status ----------------------------------------------------------------------------------- */

static void status(void)
{
	struct json *v = api_status(&a, set_of(parents_yaml));

	is_str(json_write(&a, v).p,
	       "{\"trees\":[{\"root\":\"company\",\"nodes\":["
	       "{\"name\":\"company\",\"depth\":1,\"leaf\":false,\"policy\":\"capacity\"},"
	       "{\"name\":\"a\",\"parent\":\"company\",\"depth\":2,\"leaf\":false,\"policy\":"
	       "\"fifo\"},"
	       "{\"name\":\"b\",\"parent\":\"company\",\"depth\":2,\"leaf\":true,\"policy\":"
	       "\"fifo\"},"
	       "{\"name\":\"a1\",\"parent\":\"a\",\"depth\":3,\"leaf\":true,\"policy\":\"fifo\"},"
	       "{\"name\":\"a2\",\"parent\":\"a\",\"depth\":3,\"leaf\":true,\"policy\":\"fifo\"}]}]"
	       "}",
	       "breadth first, names in order");
	is_str(json_write(&a, api_status(&a, set_of(weights_yaml))).p, "{\"trees\":[]}",
	       "a ClusterQuotaTree tells of itself");
}

static void large_status(void)
{
	struct json *docs = json_new_arr(&a);
	struct json *v;

	for (int i = 0; i < 6000; i++) {
		struct json *o = NULL;

		json_parse(
			&a,
			arena_printf(&a,
				     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
				     "\"ClusterQueue\",\"metadata\":{\"name\":\"q%04d\"},\"spec\":"
				     "{\"parent\":%s}}",
				     i, i > 0 ? "\"q0000\"" : "null"),
			&o, NULL);
		json_add(&a, docs, o);
	}
	v = api_status(&a, objects_link(&a, docs, API_NONE));
	is_int((int64_t)json_len(json_at(v, "/trees/0/nodes")), 5000, "no more than 5000 nodes");
	ok(json_bool(json_get(v, "truncated")) && json_int(json_get(v, "nodeCount"), 0) == 6000,
	   "and how many there are");
}

int main(void)
{
	arena_init(&a, 0);
	amounts();
	queue_fields();
	groups();
	places();
	kinds();
	refusals();
	status();
	large_status();
	arena_done(&a);
	return done_testing();
}
