/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about changes to queue trees: what is written or deleted, judged with how things were. */
#include "t/lib/tap.h"

#include "t/lib/quota_objects.h"

#define NODE "/0/spec/hierarchies/company/weightedQuotas"
#define NOTE "metadata.annotations[kueue.x-k8s.io/"

struct change {
	const char *name;
	const char *base;
	const char *before_pointer, *before_value; /* first, to the state before */
	const char *pointer, *value;               /* then the change */
	int subject;                               /* index of what is written; -1: all */
	bool deleted;                              /* the subject is removed instead */
	bool by_controller;
	const char *want;
};

/* Weight and groups written by the controller. */
static const char managed_a[] =
	"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":"
	"{\"name\":\"a\",\"annotations\":{\"kueue.x-k8s.io/parent\":\"company\","
	"\"kueue.x-k8s.io/quota-managed\":\"true\"}},\"spec\":{\"minWeight\":60,\"resourceGroups\":"
	"[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
	"\"cpu\",\"nominalQuota\":30}]}]}]}"
	"}";

static const struct change changes[] = {
	{"a new LocalQueue at an inner node", parents_yaml, NULL, NULL, "/7",
	 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
	 "{\"name\":\"n\",\"namespace\":\"m\"},\"spec\":{\"clusterQueue\":\"a\"}}",
	 7, false, false,
	 "spec.clusterQueue: Invalid value: \"a\": not a leaf of tree \"company\"; LocalQueues may "
	 "point only to leaf queues"},
	{"V20, PlanA", parents_yaml, "/1", managed_a,
	 "/1/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "31", 1, false, false,
	 "spec.resourceGroups: Forbidden: immutable, managed by the queue tree of \"company\""},
	{"V20, another spelling", parents_yaml, "/1", managed_a,
	 "/1/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "\"30000m\"", 1, false,
	 false, ""},
	{"V20, the controller", parents_yaml, "/1", managed_a,
	 "/1/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "31", 1, false, true, ""},
	{"own groups may change", parents_yaml, NULL, NULL,
	 "/3/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "31", 3, false, false, ""},
	{"V22, PlanA", parents_yaml, NULL, NULL, "/5/spec/parent", "{\"name\":\"b\"}", 5, false,
	 false,
	 "spec.parent: Invalid value: \"b\": is used by LocalQueue ns/lq and cannot become a "
	 "parent"},
	{"V22, files before and after", parents_yaml, NULL, NULL, "/5/spec/parent",
	 "{\"name\":\"b\"}", -1, false, false,
	 "spec.parent: Invalid value: \"b\": is used by LocalQueue ns/lq and cannot become a "
	 "parent"},
	{"V22, children", parents_yaml, NULL, NULL, "/2/spec/children", "[\"c\"]", 2, false, false,
	 "spec.children: Invalid value: \"b\": is used by LocalQueue ns/lq and cannot become a "
	 "parent"},
	{"V24", parents_yaml, NULL, NULL, "/7",
	 "{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQueueTree\","
	 "\"metadata\":{\"name\":\"default\",\"uid\":\"u\"}}",
	 7, false, false, "ClusterQueueTree is read-only"},
	{"V24, the controller", parents_yaml, NULL, NULL, "/7",
	 "{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQueueTree\","
	 "\"metadata\":{\"name\":\"default\",\"uid\":\"u\"}}",
	 7, false, true, ""},
	{"V26, leaving", parents_yaml, "/2/status", "{\"admittedWorkloads\":3}", "/2/spec/parent",
	 NULL, 2, false, false,
	 "spec.parent: Forbidden: \"b\" has 3 admitted workloads and 1 LocalQueues"},
	{"V26, by force", parents_yaml, "/2/metadata/annotations",
	 "{\"kueue.x-k8s.io/force\":\"true\"}", "/2/spec/parent", NULL, 2, false, false, ""},
	{"V26, deleted", parents_yaml, NULL, NULL, NULL, NULL, 2, true, false,
	 "metadata.name: Forbidden: \"b\" has 0 admitted workloads and 1 LocalQueues"},
	{"V26, an empty one", parents_yaml, NULL, NULL, NULL, NULL, 3, true, false, ""},
	{"V26, becomes a parent", parents_yaml, "/3/status", "{\"admittedWorkloads\":2}",
	 "/5/spec/parent", "{\"name\":\"a1\"}", 5, false, false,
	 "spec.parent: Forbidden: \"a1\" has 2 admitted workloads and 0 LocalQueues"},
	{"moving needs no force", parents_yaml, "/2/status", "{\"admittedWorkloads\":3}",
	 "/2/spec/parent/name", "\"c\"", 2, false, false, ""},
	{"V11, the one that is written", parents_yaml, NULL, NULL,
	 "/1/metadata/annotations/kueue.x-k8s.io~1min-weight", "\"70\"", 1, false, false,
	 NOTE "min-weight]: Invalid value: 110: sum of minWeight must not be larger than 100"},
	{"V2, the one that is written", parents_yaml, NULL, NULL, "/0/spec/parent",
	 "{\"name\":\"a\"}", 0, false, false,
	 "spec.parent: Invalid value: \"a\": makes a cycle: company -> a -> company"},
	{"V4, the parent", parents_yaml, "/5/spec/cohortName", "\"team\"", "/2/spec/parent/name",
	 "\"c\"", 2, false, false,
	 "spec.cohortName: Forbidden: ClusterQueue \"c\" belongs to a queue tree; cohort and tree "
	 "cannot be combined"},
};

/* PlanB beside the queues of parents_yaml: the tree is object 0, its queues follow. */
static const char planb_tail[] =
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: b}\n"
	"spec:\n"
	"  resourceGroups:\n"
	"  - coveredResources: [cpu]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 40}]}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: other}\n"
	"spec: {}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: LocalQueue\n"
	"metadata: {name: lq, namespace: ns}\n"
	"spec: {clusterQueue: b}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: Workload\n"
	"metadata: {name: w, namespace: ns}\n"
	"spec: {queueName: lq}\n"
	"status: {admission: {clusterQueue: b}}\n";

static char planb_yaml[4096]; /* a tree and its tail */

static const struct change tree_changes[] = {
	{"V4, PlanB", planb_yaml, NULL, NULL, "/1/spec/cohortName", "\"team\"", 1, false, false,
	 "spec.cohortName: Forbidden: ClusterQueue \"b\" belongs to a queue tree; cohort and tree "
	 "cannot be combined"},
	{"V4, the tree is written", planb_yaml, "/2/spec/cohortName", "\"team\"", NODE "/-",
	 "{\"name\":\"other\"}", 0, false, false,
	 "spec.cohortName: Forbidden: ClusterQueue \"other\" belongs to a queue tree; cohort and "
	 "tree cannot be combined"},
	{"V7", planb_yaml, NULL, NULL, "/5",
	 "{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\",\"metadata\":"
	 "{\"name\":\"u\"},\"spec\":{\"resourceGroup\":{\"coveredResources\":[\"cpu\"],\"flavors\":"
	 "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]}]},"
	 "\"hierarchies\":{\"top\":"
	 "{\"weightedQuotas\":[{\"name\":\"b\"}]}}}}",
	 5, false, false,
	 "spec.hierarchies[top].weightedQuotas[0].name: Invalid value: \"b\": already belongs to "
	 "tree \"t\""},
	{"V7, its root", planb_yaml, NULL, NULL, "/5",
	 "{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\",\"metadata\":"
	 "{\"name\":\"u\"},\"spec\":{\"resourceGroup\":{\"coveredResources\":[\"cpu\"],\"flavors\":"
	 "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]}]},"
	 "\"hierarchies\":{\"b\":"
	 "{\"weightedQuotas\":[{\"name\":\"b1\"}]}}}}",
	 5, false, false,
	 "spec.hierarchies[b]: Invalid value: \"b\": already belongs to tree \"t\""},
	{"a graft shares its root", planb_yaml, NULL, NULL, "/5",
	 "{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\",\"metadata\":"
	 "{\"name\":\"u\"},\"spec\":{\"graftAt\":{\"tree\":\"t\",\"node\":\"a1\"},"
	 "\"resourceGroup\":{\"coveredResources\":[\"cpu\"],\"flavors\":"
	 "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]}]},"
	 "\"hierarchies\":{\"a1\":{\"weightedQuotas\":[{\"name\":\"n1\"}]}}}}",
	 5, false, false, ""},
	{"V20, PlanB", planb_yaml, NULL, NULL,
	 "/1/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "41", 1, false, false,
	 "spec.resourceGroups: Forbidden: immutable, managed by ClusterQuotaTree \"t\""},
	{"V21, PlanB", planb_yaml, NULL, NULL, "/3/spec/clusterQueue", "\"company\"", 3, false,
	 false,
	 "spec.clusterQueue: Invalid value: \"company\": not a leaf of tree \"t\"; LocalQueues may "
	 "point only to leaf queues"},
	{"V22, PlanB", planb_yaml, NULL, NULL, "/0/spec/hierarchies/b",
	 "{\"weightedQuotas\":[{\"name\":\"b1\"}]}", 0, false, false,
	 "spec.hierarchies[b]: Invalid value: \"b\": is used by LocalQueue ns/lq and cannot become "
	 "a "
	 "parent"},
	{"V22, a queue that is still to be made", planb_yaml, "/4",
	 "{\"apiVersion\":"
	 "\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"l\","
	 "\"namespace\":\"ns\"},\"spec\":{\"clusterQueue\":\"a1\"}}",
	 "/0/spec/hierarchies/a1", "{\"weightedQuotas\":[{\"name\":\"a11\"}]}", -1, false, false,
	 "spec.hierarchies[a1]: Invalid value: \"a1\": is used by LocalQueue ns/l and cannot "
	 "become "
	 "a parent"},
	{"V25", planb_yaml, NULL, NULL, "/1/metadata/annotations",
	 "{\"kueue.x-k8s.io/parent\":\"other\"}", 1, false, false,
	 NOTE "parent]: Forbidden: \"b\" is in ClusterQuotaTree \"t\""},
	{"V25, the parent is", planb_yaml, NULL, NULL, "/2/metadata/annotations",
	 "{\"kueue.x-k8s.io/parent\":\"b\"}", -1, false, false,
	 NOTE "parent]: Forbidden: \"b\" is in ClusterQuotaTree \"t\""},
	{"V25, the tree is written", planb_yaml, "/2/spec/parent", "{\"name\":\"company2\"}",
	 NODE "/-", "{\"name\":\"other\"}", 0, false, false,
	 "spec.parent: Forbidden: \"other\" is in ClusterQuotaTree \"t\""},
	{"V26, PlanB", planb_yaml, NULL, NULL, "/0/spec/hierarchies/company/weightedQuotas",
	 "[{\"name\":\"a\",\"minWeight\":100}]", 0, false, false,
	 "spec.hierarchies[company]: Forbidden: \"b\" has 1 admitted workloads and 1 LocalQueues"},
	{"V26, a name changes place", planb_yaml, NULL, NULL, "/0/spec/hierarchies",
	 "{\"company\":{\"weightedQuotas\":[{\"name\":\"a\"}]},\"a\":{\"weightedQuotas\":"
	 "[{\"name\":\"b\"}]}}",
	 0, false, false, ""},
	{"a queue of a tree may be deleted", planb_yaml, NULL, NULL, NULL, NULL, 1, true, false,
	 ""},
};

static void judge_change(const struct change *t)
{
	struct arena a;
	struct json *old, *new;
	struct validate_input in = {
		.subject = t->subject >= 0 && !t->deleted ? (size_t)t->subject : API_NONE,
		.deleted = t->deleted ? (size_t)t->subject : API_NONE,
		.by_controller = t->by_controller,
	};

	arena_init(&a, 0);
	old = objects_changed(&a, t->base, t->before_pointer, t->before_value);
	new = json_dup(&a, old);
	if (t->deleted) {
		json_remove(new, (size_t)t->subject);
	} else {
		objects_put(&a, new, t->pointer, t->value);
	}
	in.before = objects_link(&a, old, API_NONE);
	in.now = objects_link(&a, new, in.subject);
	is_str(objects_judge(&a, &in).p, t->want, t->name);
	arena_done(&a);
}

int main(void)
{
	snprintf(planb_yaml, sizeof(planb_yaml), "%s%s", weights_yaml, planb_tail);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		judge_change(&changes[i]);
	}
	for (size_t i = 0; i < sizeof(tree_changes) / sizeof(tree_changes[0]); i++) {
		judge_change(&tree_changes[i]);
	}
	return done_testing();
}
