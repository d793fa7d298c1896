/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of API objects: descriptions of trees, requests of
 * workloads, flavors that pods may use.
 */
#include "t/lib/tap.h"

#include "core/quota/api_build.h"
#include "t/lib/quota_objects.h"

static struct arena a;

static struct api_set *set_of(const char *yaml)
{
	return objects_link(&a, objects_read(&a, yaml), API_NONE);
}

static const struct api_model *model_of(const char *yaml, size_t n)
{
	struct api_models models = {.n = 0};
	struct api_set *set = set_of(yaml);

	if (!set || api_build(&a, set, &models, NULL) != ERR_OK) {
		return NULL;
	}
	is_int((int64_t)models.n, (int64_t)n, "number of trees");
	return models.v;
}

static const struct quota_node *node(const struct api_model *m, const char *name)
{
	static const struct quota_node none;

	for (size_t i = 0; i < m->desc.n_nodes; i++) {
		if (str_is(m->desc.nodes[i].name, name)) {
			return &m->desc.nodes[i];
		}
	}
	ok(false, name);
	return &none;
}

static void parent_is(const struct api_model *m, const char *name, const char *want)
{
	is_str(m->desc.nodes[node(m, name)->parent].name.p, want, name);
}

/* --- trees ------------------------------------------------------------------------------------ */

static void weights(void)
{
	const struct api_model *m = model_of(weights_yaml, 1);

	is_str(m->name.p, "t", "its name");
	ok(m->desc.n_nodes == 5 && m->desc.nodes[0].parent == QUOTA_NONE, "the root comes first");
	parent_is(m, "a", "company");
	parent_is(m, "a2", "a");
	is_int(node(m, "company")->policy, QUOTA_CAPACITY, "policy of the hierarchy");
	is_int(node(m, "a")->min_weight, 60, "minimum");
	is_int(node(m, "a")->max_weight, 80, "maximum");
	is_int(node(m, "b")->max_weight, -1, "no maximum");
	ok(!node(m, "a")->absolute && !node(m, "a")->fence_open, "weights, and a closed fence");
	is_int(node(m, "a1")->weight, 1000, "the usual weight");
	ok(m->desc.n_frs == 1 && m->desc.frs[0].total == 100000, "the total, cpu in thousandths");
}

static void amounts(void)
{
	const struct api_model *m = model_of(amounts_yaml, 1);
	const struct quota_node *x = node(m, "x");

	ok(x->absolute && x->n_min == 1 && x->n_max == 1, "amounts");
	ok(x->min[0].nominal == 60000 && x->min[0].lending == 50000 && x->max[0].nominal == 80000 &&
		   x->max[0].lending == -1,
	   "with what may be lent");
	is_int((int64_t)node(m, "w")->min[0].fr, 1, "of the second pair");
	is_int(node(m, "w")->min[0].nominal, 400LL << 30, "memory in bytes");
}

static void parents(void)
{
	const struct api_model *m = model_of(parents_yaml, 1);

	is_str(m->name.p, "company", "a tree of parents is named by its root");
	is_int((int64_t)m->desc.n_nodes, 5, "who stands alone is not in it");
	parent_is(m, "a1", "a");
	ok(node(m, "company")->fence_open, "PlanA's fences are open");
	is_int(node(m, "b")->min_weight, 40, "a weight of the spec");
	is_int(node(m, "a")->max_weight, 80, "a weight of an annotation");
	ok(node(m, "a1")->absolute && node(m, "a1")->min[0].nominal == 30000 &&
		   node(m, "a1")->n_max == 0,
	   "groups of its own are its minimum");
	is_int(node(m, "a2")->max[0].nominal, 50000, "the annotation is its maximum");
	ok(m->desc.n_lqs == 1 && str_is(m->desc.lqs[0].name, "ns/lq") &&
		   str_is(m->desc.nodes[m->desc.lqs[0].node].name, "b"),
	   "LocalQueues by namespace and name");
}

static void behaviour(void)
{
	const struct api_model *m =
		model_of("apiVersion: kueue.x-k8s.io/v1alpha1\n"
			 "kind: ClusterQuotaTree\n"
			 "metadata: {name: t}\n"
			 "spec:\n"
			 "  fairShare: HDRF\n"
			 "  resourceGroups:\n"
			 "  - flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}]}]\n"
			 "  - flavors: [{name: g, resources: [{name: gpu, nominalQuota: 10}]}]\n"
			 "  clusterQuotaTemplate: {queueingStrategy: StrictFIFO, policy: fair}\n"
			 "  hierachies:\n"
			 "    r:\n"
			 "      fence: EnableCrossQuotaPreemption\n"
			 "      weightedQuotas:\n"
			 "      - {name: c1, clusterQuotaTemplate: {preemption: "
			 "{reclaimWithinCohort: Any}}}\n"
			 "      - {name: c2}\n"
			 "      - {name: c3}\n"
			 "---\n"
			 "apiVersion: kueue.x-k8s.io/v1beta2\n"
			 "kind: ClusterQueue\n"
			 "metadata: {name: c3}\n"
			 "spec: {fairSharing: {weight: 2}, preemption: {withinClusterQueue: "
			 "LowerPriority}}\n"
			 "---\n"
			 "apiVersion: kueue.x-k8s.io/v1beta2\n"
			 "kind: ResourceFlavor\n"
			 "metadata: {name: f}\n"
			 "spec: {relatedElasticQuota: {namespace: e, name: q}}\n"
			 "---\n"
			 "apiVersion: kueue.x-k8s.io/v1beta2\n"
			 "kind: ResourceFlavor\n"
			 "metadata: {name: g}\n"
			 "spec: {relatedElasticQuota: {namespace: e, name: missing}}\n"
			 "---\n"
			 "apiVersion: scheduling.x-k8s.io/v1alpha1\n"
			 "kind: ElasticQuota\n"
			 "metadata: {name: q, namespace: e}\n"
			 "spec: {max: {cpu: 4}}\n",
			 1);

	ok(m->desc.hdrf, "fairShare");
	is_int(node(m, "r")->policy, QUOTA_FAIR, "the root's queue is the tree's template");
	ok(node(m, "r")->fence_open, "an open fence");
	is_int(node(m, "c1")->behaviour.strategy, QUOTA_BEST_EFFORT,
	       "a node's own template replaces the tree's");
	is_int(node(m, "c1")->behaviour.reclaim, QUOTA_ANY, "and says what it says");
	is_int(node(m, "c2")->behaviour.strategy, QUOTA_STRICT, "the tree's is for all others");
	ok(node(m, "c3")->behaviour.strategy == QUOTA_BEST_EFFORT &&
		   node(m, "c3")->weight == 2000 && node(m, "c3")->behaviour.within == QUOTA_LOWER,
	   "a queue that is there is asked itself");
	ok(m->desc.frs[0].total == 4000 && m->desc.frs[1].total == 0, "ElasticQuotas are caps");
	is_int((int64_t)m->desc.frs[1].group, 1, "the second group");
	ok(m->notes.n == 1 && str_is(m->notes.p[0].path, "g"), "a missing one is told");
}

static void grafts(void)
{
	static const char graft[] =
		"---\n"
		"apiVersion: kueue.x-k8s.io/v1alpha1\n"
		"kind: ClusterQuotaTree\n"
		"metadata: {name: u}\n"
		"spec:\n"
		"  graftAt: {tree: t, node: a1}\n"
		"  resourceGroup: {flavors: []}\n"
		"  hierarchies:\n"
		"    u: {weightedQuotas: [{name: u1, minWeight: 30}, {name: u2, minWeight: 70}]}\n";
	static char yaml[4096]; /* a tree and its graft */
	const struct api_model *m;

	snprintf(yaml, sizeof(yaml), "%s%s", weights_yaml, graft);
	m = model_of(yaml, 1);
	is_int((int64_t)m->desc.n_nodes, 8, "a grafted tree stands in the other");
	parent_is(m, "u", "a1");
	parent_is(m, "u2", "u");
	ok(node(m, "u")->min_weight == 100 && node(m, "u")->max_weight == -1,
	   "and has all that its place has");
}

/* --- workloads -------------------------------------------------------------------------------- */

static const char work_yaml[] =
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: LocalQueue\n"
	"metadata: {name: lq, namespace: ns}\n"
	"spec: {clusterQueue: cq}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: Workload\n"
	"metadata: {name: waits, namespace: ns, uid: u-1, creationTimestamp: "
	"'2026-01-01T00:00:00Z'}\n"
	"spec:\n"
	"  queueName: lq\n"
	"  priority: 7\n"
	"  podSets:\n"
	"  - name: main\n"
	"    count: 3\n"
	"    template:\n"
	"      spec:\n"
	"        initContainers:\n"
	"        - {name: side, restartPolicy: Always, resources: {requests: {cpu: 100m}}}\n"
	"        - {name: start, resources: {requests: {cpu: 2, memory: 1Gi}}}\n"
	"        containers:\n"
	"        - {name: a, resources: {requests: {cpu: 500m}, limits: {cpu: 1, gpu: 1}}}\n"
	"        - {name: b, resources: {requests: {cpu: 500m, memory: 512Mi}}}\n"
	"        overhead: {cpu: 50m}\n"
	"status:\n"
	"  conditions: [{type: Evicted, status: 'True', reason: PodsReadyTimeout, "
	"lastTransitionTime: '2026-01-01T01:00:00Z'}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: Workload\n"
	"metadata: {name: runs, namespace: ns}\n"
	"spec:\n"
	"  podSets:\n"
	"  - name: driver\n"
	"    count: 2\n"
	"    template: {spec: {containers: [{resources: {requests: {cpu: 1}}}]}}\n"
	"status:\n"
	"  admission:\n"
	"    clusterQueue: cq\n"
	"    podSetAssignments: [{name: driver, count: 2, flavors: {cpu: spot}, resourceUsage: "
	"{cpu: 5}}]\n"
	"  reclaimablePods: [{name: other, count: 1}]\n"
	"  conditions:\n"
	"  - {type: QuotaReserved, status: 'True', lastTransitionTime: '2026-01-01T00:00:10Z'}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: Workload\n"
	"metadata: {name: shrinks, namespace: ns}\n"
	"spec:\n"
	"  podSets:\n"
	"  - name: main\n"
	"    count: 5\n"
	"    template: {spec: {containers: [{resources: {requests: {cpu: bad, gpu: 1}}}]}}\n"
	"status:\n"
	"  admission:\n"
	"    clusterQueue: cq\n"
	"    podSetAssignments: [{name: main, count: 4, flavors: {gpu: spot}, resourceUsage: "
	"{gpu: 4}}]\n"
	"  reclaimablePods: [{name: main, count: 1}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: Workload\n"
	"metadata: {name: done, namespace: ns}\n"
	"spec: {active: false}\n";

static struct api_work work(const struct api_set *s, size_t i, struct api_faults *faults)
{
	struct api_work w = {.n_sets = 0};

	ok(api_work_read(&a, s, s->workloads[i], faults, &w) == ERR_OK, "a workload is read");
	return w;
}

static int64_t asks(const struct api_work *w, const char *resource)
{
	for (size_t i = 0; i < w->sets[0].n; i++) {
		if (str_is(w->sets[0].requests[i].resource, resource)) {
			return w->sets[0].requests[i].amount;
		}
	}
	return -1;
}

static void workloads(void)
{
	struct api_set *s = set_of(work_yaml);
	struct api_faults faults = {.n = 0};
	struct api_work w = work(s, 0, &faults);

	is_str(w.queue.p, "cq", "its queue, by the LocalQueue");
	ok(w.priority == 7 && str_is(w.uid, "u-1") && !w.admitted && !w.done, "who it is");
	is_int(asks(&w, "cpu"), 3 * (2100 + 50), "the largest moment of a pod, and overhead");
	is_int(asks(&w, "memory"), 3LL << 30, "memory of the start");
	is_int(asks(&w, "gpu"), 3, "a limit stands for a request");
	is_int(asks(&w, "pods"), 3, "pods count themselves");
	is_int(w.queued_ms - w.created_ms, 3600000, "one that did not start goes to the end");

	w = work(s, 1, &faults);
	ok(w.admitted && w.admitted_ms > 0 && str_is(w.uid, "ns/runs"), "one that holds quota");
	is_int(asks(&w, "cpu"), 5000, "as much as its admission says");
	is_str(w.sets[0].requests[0].flavor.p, "spot", "on a flavor");
	is_int((int64_t)faults.n, 0, "no faults so far");

	w = work(s, 2, &faults);
	is_int(asks(&w, "gpu"), 3, "pods that are over count no more");
	ok(faults.n == 1 && strstr(faults.p[0].text.p, "request of cpu must be a quantity") != NULL,
	   "a bad amount is told");
	w = work(s, 3, &faults);
	ok(w.done, "one that is switched off");
	is_int(s->n_queues > 0 ? 1 : 0, 0, "no queue is needed to read them");
}

static void flavors(void)
{
	struct api_set *s = set_of("apiVersion: kueue.x-k8s.io/v1beta2\n"
				   "kind: ResourceFlavor\n"
				   "metadata: {name: f}\n"
				   "spec: {nodeLabels: {kind: spot}, nodeTaints: [{key: t, value: "
				   "v, effect: NoSchedule}, "
				   "{key: soft, effect: PreferNoSchedule}]}\n");
	struct json *specs = objects_read(
		&a,
		"{}\n---\n"
		"tolerations: [{key: t, value: v}]\n---\n"
		"tolerations: [{operator: Exists}]\n---\n"
		"tolerations: [{key: t, operator: Exists, effect: NoExecute}]\n---\n"
		"{tolerations: [{operator: Exists}], nodeSelector: {kind: spot, zone: x}}\n---\n"
		"{tolerations: [{operator: Exists}], nodeSelector: {kind: other}}\n---\n"
		"{tolerations: [{operator: Exists}], affinity: {nodeAffinity: "
		"{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
		"[{matchExpressions: [{key: kind, operator: In, values: [a, spot]}]}]}}}}\n---\n"
		"{tolerations: [{operator: Exists}], affinity: {nodeAffinity: "
		"{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
		"[{matchExpressions: [{key: kind, operator: NotIn, values: [spot]}]}]}}}}\n");
	static const bool want[] = {false, true, true, false, true, false, true, false};
	static const char *const names[] = {"a taint that is not tolerated",
					    "a toleration",
					    "one for everything",
					    "one for another effect",
					    "labels that agree, and unknown",
					    "a label that differs",
					    "affinity that agrees",
					    "affinity that does not"};
	struct api_pod_set ps = {.n = 0};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		/* The empty document is left out of the list. */
		ps.spec = json_elem(specs, i);
		ok(api_work_may_use(&ps, s->flavors[0]) == want[i], names[i]);
	}
	ok(api_work_may_use(&ps, NULL), "a flavor without an object");
}

int main(void)
{
	arena_init(&a, 0);
	weights();
	amounts();
	parents();
	behaviour();
	grafts();
	workloads();
	flavors();
	arena_done(&a);
	return done_testing();
}
