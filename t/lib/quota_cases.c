/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of queue trees and their words; see quota_cases.h. */
#include "t/lib/quota_cases.h"

#include <stdio.h>

#define GROUP(flavor, resource)                                                     \
	"{\"coveredResources\":[\"" resource "\"],\"flavors\":[{\"name\":\"" flavor \
	"\",\"resources\":[{\"name\":\"" resource "\",\"nominalQuota\":5}]}]}"
/* A spec of one node below the root with two resource groups. */
#define GROUPS(flavor1, resource1, flavor2, resource2)                                         \
	"{\"hierarchies\":{\"r\":{\"weightedQuotas\":[{\"name\":\"x\"}]}},\"resourceGroups\":" \
	"[" GROUP(flavor1, resource1) "," GROUP(flavor2, resource2) "]}"
#define NODE "/0/spec/hierarchies/company/weightedQuotas"
#define LAB "/0/spec/hierarchies/lab/weightedQuotas"
#define TOTAL "/0/spec/resourceGroup/flavors/0/resources"
#define IN_B "spec.hierarchies[company].weightedQuotas"
#define IN_LAB "spec.hierarchies[lab].weightedQuotas"
#define NOTE "metadata.annotations[kueue.x-k8s.io/"
#define OWN "/spec/resourceGroups/0/flavors/0/resources/0"
#define IN_OWN "spec.resourceGroups[0].flavors[0].resources[0]"
#define FROM "spec.capacityFrom.workers"
#define FROM_NOTE NOTE "capacity-from].workers"
#define A_NOTE "/0/metadata/annotations/kueue.x-k8s.io~1capacity-from"
#define A_PARENT "/metadata/annotations/kueue.x-k8s.io~1parent"

/* A parent that says nothing of memory, of which the tree has some and its child wants some. */
static const char omitting_yaml[] =
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: root}\n"
	"spec:\n"
	"  resourceGroups:\n"
	"  - coveredResources: [cpu, memory]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}, {name: memory, "
	"nominalQuota: 5Gi}]}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: mid, annotations: {kueue.x-k8s.io/parent: root}}\n"
	"spec:\n"
	"  resourceGroups:\n"
	"  - coveredResources: [cpu]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}]}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: leaf, annotations: {kueue.x-k8s.io/parent: mid}}\n"
	"spec:\n"
	"  resourceGroups:\n"
	"  - coveredResources: [cpu, memory]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}, {name: memory, "
	"nominalQuota: 5Gi}]}]\n";

const struct quota_row quota_tree_rows[] = {
	{"weights are sound", weights_yaml, NULL, NULL, ""},
	{"amounts are sound", amounts_yaml, NULL, NULL, ""},
	{"V1", weights_yaml, "/0/spec/hierachies", "{}",
	 "spec.hierachies: Forbidden: use either hierarchies or hierachies, not both"},
	{"V8", weights_yaml, NODE "/2", "{\"name\":\"a2\",\"minWeight\":0}",
	 IN_B "[2].name: Duplicate value: \"a2\""},
	{"V8 in one group", weights_yaml, NODE "/-", "{\"name\":\"b\",\"minWeight\":0}",
	 IN_B "[2].name: Duplicate value: \"b\""},
	{"V9, two", weights_yaml, "/0/spec/hierarchies/z",
	 "{\"weightedQuotas\":[{\"name\":\"z1\"}]}",
	 "spec.hierarchies: Invalid value: tree must have one root, found: company, z"},
	{"V9, none", weights_yaml, "/0/spec/hierarchies", "{}",
	 "spec.hierarchies: Invalid value: tree must have one root, found: none"},
	{"V10", weights_yaml, "/0/spec/hierarchies/z",
	 "{\"weightedQuotas\":[{\"name\":\"z\",\"minWeight\":100}]}",
	 "spec.hierarchies: Invalid value: \"z\" is not reachable from root \"company\""},
	{"V11", weights_yaml, NODE "/0/minWeight", "50",
	 IN_B ": Invalid value: 90: sum of minWeight must be 100"},
	{"V11, none under capacity", weights_yaml, "/0/spec/hierarchies/a/weightedQuotas",
	 "[{\"name\":\"a1\"},{\"name\":\"a2\",\"maxWeight\":50}]",
	 "spec.hierarchies[a].weightedQuotas: Invalid value: 0: sum of minWeight must be 100"},
	{"V12", weights_yaml, NODE "/0/maxWeight", "120",
	 IN_B "[0].maxWeight: Invalid value: 120: must not be larger than 100"},
	{"V12, negative", weights_yaml, NODE "/0/maxWeight", "-1",
	 IN_B "[0].maxWeight: Invalid value: -1: must be at least 0"},
	{"V13", weights_yaml, NODE "/0/maxWeight", "50",
	 IN_B "[0].minWeight: Invalid value: 60: must not be larger than maxWeight (50)"},
	{"V13, negative", weights_yaml, NODE "/0/minWeight", "-60",
	 IN_B "[0].minWeight: Invalid value: -60: must be at least 0"},
	{"V14", weights_yaml, NODE "/1/minResources", "[]",
	 IN_B "[1].minResources: Forbidden: minWeight/maxWeight and minResources/maxResources "
	      "exclude each other"},
	{"V14, only a maximum", weights_yaml, NODE "/1/maxResources",
	 "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"5\"}]}]",
	 IN_B "[1].maxResources: Forbidden: minWeight/maxWeight and minResources/maxResources "
	      "exclude each other"},
	{"24: 50 and 40", weights_yaml, NODE "/0/minWeight", "50",
	 IN_B ": Invalid value: 90: sum of minWeight must be 100"},
	{"24: 60 and 40, at most 120", weights_yaml, NODE "/1/maxWeight", "120",
	 IN_B "[1].maxWeight: Invalid value: 120: must not be larger than 100"},
	{"24: V15", weights_yaml, NODE "/1",
	 "{\"name\":\"b\",\"minResources\":[{\"name\":\"f\",\"resources\":"
	 "[{\"name\":\"cpu\",\"nominalQuota\":\"5\"}]}]}",
	 "spec.hierarchies: Invalid value: tree mixes weights (\"a1\") and resources (\"b\")"},
	{"V16 at the root", amounts_yaml, LAB "/1/minResources/0/resources/0",
	 "{\"name\":\"cpu\",\"nominalQuota\":\"40500m\"}",
	 IN_LAB ": Invalid value: 100500m: sum of minResources for f/cpu is larger than the "
		"parent's 100"},
	{"V16 below", amounts_yaml,
	 "/0/spec/hierarchies/x/weightedQuotas/0/minResources/0/resources/0/nominalQuota", "61",
	 "spec.hierarchies[x].weightedQuotas: Invalid value: 61: sum of minResources for f/cpu is "
	 "larger than the parent's 60"},
	{"V16 of what the parent has not", amounts_yaml,
	 "/0/spec/hierarchies/x/weightedQuotas/0/minResources/0/resources/-",
	 "{\"name\":\"memory\",\"nominalQuota\":\"1536Mi\"}",
	 "spec.hierarchies[x].weightedQuotas: Invalid value: 1536Mi: sum of minResources for "
	 "f/memory is larger than the parent's 0"},
	{"V17", amounts_yaml,
	 "/0/spec/hierarchies/x/weightedQuotas/0/maxResources/0/resources/0/nominalQuota", "81",
	 "spec.hierarchies[x].weightedQuotas[0].maxResources[0].resources[0].nominalQuota: Invalid "
	 "value: 81: larger than the parent's max 80"},
	{"V17, the root", amounts_yaml, LAB "/0/maxResources/0/resources/0/nominalQuota", "\"1k\"",
	 IN_LAB "[0].maxResources[0].resources[0].nominalQuota: Invalid value: 1k: larger than the "
		"parent's max 100"},
	{"V18", amounts_yaml,
	 "/0/spec/hierarchies/x/weightedQuotas/0/maxResources/0/resources/0/nominalQuota", "59",
	 "spec.hierarchies[x].weightedQuotas[0].minResources[0].resources[0].nominalQuota: Invalid "
	 "value: 60: larger than maxResources 59"},
	{"V19, a resource", amounts_yaml, LAB "/1/minResources/0/resources/-",
	 "{\"name\":\"gpu\",\"nominalQuota\":1}",
	 IN_LAB "[1].minResources[0].resources[1].name: Invalid value: \"gpu\": flavor \"f\" with "
		"resource \"gpu\" is not in the tree's resourceGroup"},
	{"V19, a flavor", amounts_yaml, LAB "/1/maxResources",
	 "[{\"name\":\"g\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]}]",
	 IN_LAB "[1].maxResources[0].resources[0].name: Invalid value: \"cpu\": flavor \"g\" with "
		"resource \"cpu\" is not in the tree's resourceGroup"},
	{"V19, a resource that is not covered", amounts_yaml, TOTAL "/-",
	 "{\"name\":\"gpu\",\"nominalQuota\":1}",
	 "spec.resourceGroup.flavors[0].resources[2].name: Invalid value: \"gpu\": flavor \"f\" "
	 "with resource \"gpu\" is not in the tree's resourceGroup"},
	{"V19, borrowingLimit", amounts_yaml, LAB "/0/maxResources/0/resources/0/borrowingLimit",
	 "1",
	 IN_LAB "[0].maxResources[0].resources[0].borrowingLimit: Forbidden: limits are set by "
		"maxResources"},
	{"V19, lendingLimit in a maximum", amounts_yaml,
	 LAB "/0/maxResources/0/resources/0/lendingLimit", "1",
	 IN_LAB "[0].maxResources[0].resources[0].lendingLimit: Forbidden: may be set only in "
		"minResources"},
	{"V19, lendingLimit of the total", amounts_yaml, TOTAL "/0/lendingLimit", "1",
	 "spec.resourceGroup.flavors[0].resources[0].lendingLimit: Forbidden: may be set only in "
	 "minResources"},
	{"V19, lendingLimit too large", amounts_yaml,
	 LAB "/0/minResources/0/resources/0/lendingLimit", "61",
	 IN_LAB "[0].minResources[0].resources[0].lendingLimit: Invalid value: 61: must not be "
		"larger than nominalQuota 60"},
	{"V19, negative", amounts_yaml, LAB "/1/minResources/0/resources/0/nominalQuota",
	 "\"-1Gi\"",
	 IN_LAB "[1].minResources[0].resources[0].nominalQuota: Invalid value: -1Gi: must be at "
		"least 0"},
	{"V23, cohortName", weights_yaml, NODE "/0/clusterQuotaTemplate", "{\"cohortName\":\"c\"}",
	 IN_B "[0].clusterQuotaTemplate.cohortName: Forbidden: set by the tree"},
	{"V23, resourceGroups", weights_yaml, "/0/spec/clusterQuotaTemplate",
	 "{\"resourceGroups\":[]}",
	 "spec.clusterQuotaTemplate.resourceGroups: Forbidden: set by the tree"},
	{"an integer", weights_yaml, NODE "/0/minWeight", "\"x\"",
	 IN_B "[0].minWeight: Invalid value: \"x\": must be an integer"},
	{"a real", weights_yaml, NODE "/0/maxWeight", "80.5",
	 IN_B "[0].maxWeight: Invalid value: \"80.5\": must be an integer"},
	{"a quantity", amounts_yaml, LAB "/0/minResources/0/resources/0/nominalQuota", "\"1x\"",
	 IN_LAB "[0].minResources[0].resources[0].nominalQuota: Invalid value: \"1x\": must be a "
		"quantity"},
	{"an enum", weights_yaml, "/0/spec/hierarchies/a/policy", "\"lifo\"",
	 "spec.hierarchies[a].policy: Unsupported value: \"lifo\": supported values: \"capacity\", "
	 "\"fair\", \"fifo\""},
	{"a fence", weights_yaml, "/0/spec/hierarchies/a/fence", "true",
	 "spec.hierarchies[a].fence: Unsupported value: \"true\": supported values: "
	 "\"DisableCrossQuotaPreemption\", \"EnableCrossQuotaPreemption\""},
	{"a type", weights_yaml, "/0/spec/hierarchies/a", "[]",
	 "spec.hierarchies[a]: Invalid value: \"[]\": must be an object"},
	{"a name that is missing", weights_yaml, NODE "/-", "{}", IN_B "[2].name: Required value"},
	{"both resource groups", weights_yaml, "/0/spec/resourceGroups", "[]",
	 "spec.resourceGroups: Forbidden: use either resourceGroup or resourceGroups, not both"},
	{"totals of workers", weights_yaml, "/0/spec/capacityFrom",
	 "{\"workers\":{\"multiKueueConfig\":\"fleet\",\"flavorMap\":{\"far\":\"f\"},"
	 "\"dropAfter\":\"1m\",\"multiplier\":\"0.5\"}}",
	 ""},
	{"... by labels", weights_yaml, "/0/spec/capacityFrom",
	 "{\"workers\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"},\"matchExpressions\":[{"
	 "\"key\":\"c\",\"operator\":\"Exists\"}]}}}",
	 ""},
	{"... of nothing", weights_yaml, "/0/spec/capacityFrom", "{}",
	 "spec.capacityFrom.workers: Required value"},
	{"... of no workers", weights_yaml, "/0/spec/capacityFrom", "{\"workers\":{}}",
	 FROM ": Required value: multiKueueConfig or selector"},
	{"... of both", weights_yaml, "/0/spec/capacityFrom",
	 "{\"workers\":{\"multiKueueConfig\":\"a\",\"selector\":{}}}",
	 FROM ".selector: Forbidden: use either multiKueueConfig or selector, not both"},
	{"... of the wrong type", weights_yaml, "/0/spec/capacityFrom",
	 "{\"workers\":{\"multiKueueConfig\":1,\"flavorMap\":[],\"multiplier\":\"-1\","
	 "\"dropAfter\":"
	 "\"5\",\"raiseAfter\":\"-1s\",\"lostAfter\":5}}",
	 FROM ".dropAfter: Invalid value: \"5\": must be a duration such as \"5m\"\n" FROM
	      ".flavorMap: Invalid value: \"[]\": must be an object\n" FROM
	      ".lostAfter: Invalid value: \"5\": must be a string\n" FROM
	      ".multiKueueConfig: Invalid value: \"1\": must be a string\n" FROM
	      ".multiplier: Invalid value: \"-1\": must be a number from 0 to 1000\n" FROM
	      ".raiseAfter: Invalid value: \"-1s\": must be at least 0"},
	{"... by no selector", weights_yaml, "/0/spec/capacityFrom",
	 "{\"workers\":{\"selector\":{\"matchLabels\":{\"a\":1},\"matchExpressions\":[{\"key\":"
	 "\"c\","
	 "\"operator\":\"in\"},{\"operator\":\"In\"}]}}}",
	 FROM ".selector.matchExpressions[0].operator: Unsupported value: \"in\": supported "
	      "values: \"DoesNotExist\", \"Exists\", \"In\", \"NotIn\"\n" FROM
	      ".selector.matchExpressions[1].key: Required value\n" FROM
	      ".selector.matchExpressions[1].values: Required value: at least one\n" FROM
	      ".selector.matchLabels[a]: Invalid value: \"1\": must be a string"},
	{"V32, in capacityFrom", weights_yaml, "/0/spec/capacityFrom",
	 "{\"workers\":{\"multikueueConfig\":\"a\",\"selector\":{},\"flavourMap\":{}}}",
	 FROM ".flavourMap: Unknown field: did you mean \"flavorMap\"?\n" FROM
	      ".multikueueConfig: Unknown field: did you mean \"multiKueueConfig\"?"},
	{"V33", weights_yaml, "/0/spec/capacityFrom",
	 "{\"workers\":{\"multiKueueConfig\":\"a\",\"flavorMap\":{\"x\":\"ff\",\"y\":\"f\"}}}",
	 FROM ".flavorMap[x]: Invalid value: \"ff\": the tree has no such flavor"},
	{"V33, of a graft", weights_yaml, "/0/spec",
	 "{\"hierarchies\":{\"r\":{\"weightedQuotas\":[{\"name\":\"x\"}]}},\"resourceGroups\":"
	 "[" GROUP("f", "cpu") "],\"graftAt\":{\"tree\":\"u\",\"node\":\"n\"},\"capacityFrom\":{"
			       "\"workers\":{\"multiKueueConfig\":\"a\"}}}",
	 "spec.capacityFrom: Forbidden: the tree is grafted, and has the quota of its place there\n"
	 "spec.graftAt.tree: Invalid value: \"u\": tree does not exist"},
	{"V16 to V18, not of what workers have", amounts_yaml, "/0/spec",
	 "{\"capacityFrom\":{\"workers\":{\"multiKueueConfig\":\"a\"}},\"resourceGroups\":[{"
	 "\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
	 "\"cpu\",\"nominalQuota\":0}]}]}],\"hierarchies\":{\"r\":{\"weightedQuotas\":[{\"name\":"
	 "\"x\","
	 "\"minResources\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":5}]}]"
	 ","
	 "\"maxResources\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":7}]}]"
	 "}"
	 "]}}}",
	 ""},
	{"queues for namespaces", weights_yaml, "/0/spec/hierarchies/a/dynamicChildren", "{}",
	 "spec.hierarchies[a].dynamicChildren: Forbidden: queues are not made for namespaces: list "
	 "them in weightedQuotas"},
	{"a resource twice", amounts_yaml, TOTAL "/-", "{\"name\":\"cpu\",\"nominalQuota\":1}",
	 "spec.resourceGroup.flavors[0].resources[2].name: Duplicate value: \"cpu\""},
	{"V28, a resource in two groups", weights_yaml, "/0/spec", GROUPS("f", "cpu", "g", "cpu"),
	 "spec.resourceGroups[1].coveredResources[0]: Duplicate value: \"cpu\""},
	{"V28, a flavor in two groups", weights_yaml, "/0/spec", GROUPS("f", "cpu", "f", "memory"),
	 "spec.resourceGroups[1].flavors[0].name: Duplicate value: \"f\""},
	{"V28, a resource twice in a group", weights_yaml, "/0/spec/resourceGroup/coveredResources",
	 "[\"cpu\",\"cpu\"]", "spec.resourceGroup.coveredResources[1]: Duplicate value: \"cpu\""},
	{"two groups", weights_yaml, "/0/spec", GROUPS("f", "cpu", "g", "memory"), ""},
	{"V29, one is missing", amounts_yaml, "/0/spec/resourceGroup/coveredResources",
	 "[\"cpu\",\"memory\",\"gpu\"]",
	 "spec.resourceGroup.flavors[0].resources: Required value: \"gpu\" of coveredResources"},
	{"V29, another order", amounts_yaml, "/0/spec/resourceGroup/coveredResources",
	 "[\"memory\",\"cpu\"]",
	 "spec.resourceGroup.flavors[0].resources[0].name: Invalid value: \"cpu\": must be "
	 "\"memory\", in the order of coveredResources\n"
	 "spec.resourceGroup.flavors[0].resources[1].name: Invalid value: \"memory\": must be "
	 "\"cpu\", in the order of coveredResources"},
	{"V30, no flavors", weights_yaml, "/0/spec/resourceGroup/flavors", "[]",
	 "spec.resourceGroup.flavors: Required value: at least one"},
	{"V30, nothing is covered", weights_yaml, "/0/spec/resourceGroup/coveredResources", NULL,
	 "spec.resourceGroup.coveredResources: Required value: at least one"},
	{"covered by no list", weights_yaml, "/0/spec/resourceGroup/coveredResources", "\"cpu\"",
	 "spec.resourceGroup.coveredResources: Invalid value: must be a list"},
	{"V31", weights_yaml, NODE "/1/name", "\"B_b\"",
	 IN_B "[1].name: Invalid value: \"B_b\": must be a DNS subdomain: lower case letters, "
	      "digits, '-' and '.'"},
	{"V31, the root", weights_yaml, "/0/spec/hierarchies",
	 "{\"-\":{\"weightedQuotas\":[{\"name\":\"b.c\"}]}}",
	 "spec.hierarchies[-]: Invalid value: \"-\": must be a DNS subdomain: lower case letters, "
	 "digits, '-' and '.'"},
	{"V32, a policy", weights_yaml, "/0/spec/hierarchies/a/polcy", "\"fair\"",
	 "spec.hierarchies[a].polcy: Unknown field: did you mean \"policy\"?"},
	{"V32, a weight", weights_yaml, NODE "/1/min-weight", "40",
	 IN_B "[1].min-weight: Unknown field: did you mean \"minWeight\"?"},
	{"V32, like nothing", weights_yaml, "/0/spec/colour", "1", "spec.colour: Unknown field"},
	{"V32, in a template", weights_yaml, "/0/spec/clusterQuotaTemplate",
	 "{\"colour\":1,\"preemption\":{\"reclaimWithinCohorts\":\"Any\"}}",
	 "spec.clusterQuotaTemplate.preemption.reclaimWithinCohorts: Unknown field: did you mean "
	 "\"reclaimWithinCohort\"?"},
	{"V32, a kind", weights_yaml, "/0/kind", "\"ClusterQuotaTre\"",
	 "kind: Unknown kind \"ClusterQuotaTre\": did you mean \"ClusterQuotaTree\"?"},
	{"a kind of Kueue's", weights_yaml, "/0/kind", "\"MultiKueueConfig\"", ""},
	{"a graft on nothing", weights_yaml, "/0/spec/graftAt", "{\"tree\":\"u\",\"node\":\"n\"}",
	 "spec.graftAt.tree: Invalid value: \"u\": tree does not exist"},
	{"a graft on itself", weights_yaml, "/0/spec/graftAt", "{\"tree\":\"t\",\"node\":\"b\"}",
	 "spec.graftAt.tree: Invalid value: \"t\": makes a cycle of trees"},
};
const size_t n_quota_tree_rows = sizeof(quota_tree_rows) / sizeof(quota_tree_rows[0]);

const struct quota_row quota_queue_rows[] = {
	{"parents are sound", parents_yaml, NULL, NULL, ""},
	{"V2", parents_yaml, "/0/spec/parent", "{\"name\":\"a\"}",
	 NOTE "parent]: Invalid value: \"company\": makes a cycle: a -> company -> a"},
	{"V2, itself", parents_yaml, "/5/spec/parent", "{\"name\":\"c\"}",
	 "spec.parent: Invalid value: \"c\": makes a cycle: c -> c"},
	{"V3", parents_yaml, "/5/spec/parent", "{\"name\":\"nobody\"}",
	 "spec.parent: Invalid value: \"nobody\": parent ClusterQueue does not exist"},
	{"V4", parents_yaml, "/2/spec/cohortName", "\"team\"",
	 "spec.cohortName: Forbidden: ClusterQueue \"b\" belongs to a queue tree; cohort and tree "
	 "cannot be combined"},
	{"V4, the root", parents_yaml, "/0/spec/cohort", "\"team\"",
	 "spec.cohort: Forbidden: ClusterQueue \"company\" belongs to a queue tree; cohort and "
	 "tree "
	 "cannot be combined"},
	{"totals of workers", parents_yaml, A_NOTE,
	 "\"{\\\"workers\\\":{\\\"multiKueueConfig\\\":\\\"fleet\\\"}}\"", ""},
	{"... that are no JSON", parents_yaml, A_NOTE, "\"fleet\"",
	 NOTE "capacity-from]: Invalid value: \"fleet\": must be what capacityFrom of a "
	      "ClusterQuotaTree is, in JSON"},
	{"V32, in capacity-from", parents_yaml, A_NOTE,
	 "\"{\\\"workers\\\":{\\\"multiKueueConfg\\\":\\\"fleet\\\"}}\"",
	 FROM_NOTE ": Required value: multiKueueConfig or selector\n" FROM_NOTE
		   ".multiKueueConfg: Unknown field: did you mean \"multiKueueConfig\"?"},
	{"V33, a flavor", parents_yaml, A_NOTE,
	 "\"{\\\"workers\\\":{\\\"multiKueueConfig\\\":\\\"fleet\\\",\\\"flavorMap\\\":{\\\"x\\\":"
	 "\\\"elsewhere\\\"}}}\"",
	 FROM_NOTE ".flavorMap[x]: Invalid value: \"elsewhere\": the tree has no such flavor"},
	{"V33, below a parent", parents_yaml,
	 "/2/metadata/annotations/kueue.x-k8s.io~1capacity-from",
	 "\"{\\\"workers\\\":{\\\"multiKueueConfig\\\":\\\"fleet\\\"}}\"",
	 NOTE "capacity-from]: Forbidden: only the root of a tree has its total from workers"},
	{"V5", parents_yaml, "/2/spec/resourceGroups",
	 "[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
	 "\"cpu\",\"nominalQuota\":1}]}]}]",
	 "spec.resourceGroups: Forbidden: may be set only when minWeight and maxWeight are unset"},
	{"V6, another parent", parents_yaml, "/0/spec/children", "[\"a\",\"a1\"]",
	 "spec.children[1]: Invalid value: \"a1\": already has parent \"a\""},
	{"V6, nobody", parents_yaml, "/0/metadata/annotations/kueue.x-k8s.io~1children",
	 "\"a, nobody\"",
	 NOTE "children][1]: Invalid value: \"nobody\": ClusterQueue does not exist"},
	{"V6, twice", parents_yaml, "/0/spec/children", "[\"a\",\"b\",\"a\"]",
	 "spec.children[2]: Duplicate value: \"a\""},
	{"children make edges", parents_yaml, "/0/spec/children", "[\"c\"]", ""},
	{"V11", parents_yaml, "/2/spec/minWeight", "41",
	 "spec.minWeight: Invalid value: 101: sum of minWeight must not be larger than 100"},
	{"a smaller sum is fine", parents_yaml, "/2/spec/minWeight", "4", ""},
	{"V12", parents_yaml, "/1/metadata/annotations/kueue.x-k8s.io~1max-weight", "\"101\"",
	 NOTE "max-weight]: Invalid value: 101: must not be larger than 100"},
	{"V13", parents_yaml, "/1/metadata/annotations/kueue.x-k8s.io~1max-weight", "\"59\"",
	 NOTE "min-weight]: Invalid value: 60: must not be larger than maxWeight (59)"},
	{"V15", parents_yaml, "/4/spec/resourceGroups", NULL,
	 NOTE "parent]: Invalid value: tree mixes weights (\"a2\") and resources (\"a1\")"},
	{"V17", parents_yaml, "/4/metadata/annotations/kueue.x-k8s.io~1max-resources",
	 "\"[{\\\"name\\\":\\\"f\\\",\\\"resources\\\":[{\\\"name\\\":\\\"cpu\\\","
	 "\\\"nominalQuota\\\":101}]}]\"",
	 NOTE "max-resources][0].resources[0].nominalQuota: Invalid value: 101: larger than the "
	      "parent's max 100"},
	{"V18", parents_yaml, "/4/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "60",
	 "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: 60: larger "
	 "than maxResources 50"},
	{"V19", parents_yaml, "/3/spec/resourceGroups/0/flavors/0/name", "\"g\"",
	 "spec.resourceGroups[0].flavors[0].resources[0].name: Invalid value: \"cpu\": flavor "
	 "\"g\" "
	 "with resource \"cpu\" is not in the tree's resourceGroup"},
	{"V16 of what the parent leaves out", omitting_yaml, NULL, NULL,
	 "spec.resourceGroups: Invalid value: 5Gi: sum of minResources for f/memory is larger than "
	 "the parent's 0"},
	{"V19, negative", parents_yaml, "/3" OWN "/nominalQuota", "-3",
	 IN_OWN ".nominalQuota: Invalid value: -3: must be at least 0"},
	{"V19, negative at the root", parents_yaml, "/0" OWN "/nominalQuota", "\"-3\"",
	 IN_OWN ".nominalQuota: Invalid value: -3: must be at least 0"},
	{"V19, borrowingLimit", parents_yaml, "/3" OWN "/borrowingLimit", "5",
	 IN_OWN ".borrowingLimit: Forbidden: limits are set by the annotation "
		"kueue.x-k8s.io/max-resources"},
	{"V19, lendingLimit", parents_yaml, "/3" OWN "/lendingLimit", "30", ""},
	{"V19, lendingLimit too large", parents_yaml, "/3" OWN "/lendingLimit", "\"30100m\"",
	 IN_OWN ".lendingLimit: Invalid value: 30100m: must not be larger than nominalQuota 30"},
	{"V19, lendingLimit of the root", parents_yaml, "/0" OWN "/lendingLimit", "1",
	 IN_OWN ".lendingLimit: Forbidden: may be set only below a parent"},
	{"V29", parents_yaml, "/3/spec/resourceGroups/0/coveredResources", "[\"gpu\"]",
	 "spec.resourceGroups[0].flavors[0].resources: Required value: \"gpu\" of "
	 "coveredResources\n"
	 "spec.resourceGroups[0].flavors[0].resources[0].name: Invalid value: \"cpu\": must be one "
	 "of coveredResources"},
	{"V30", parents_yaml, "/3/spec/resourceGroups/0/flavors", "[]",
	 "spec.resourceGroups[0].flavors: Required value: at least one"},
	{"V32, an annotation", parents_yaml, "/1/metadata/annotations/kueue.x-k8s.io~1min_weight",
	 "\"60\"",
	 NOTE "min_weight]: Unknown annotation: did you mean \"kueue.x-k8s.io/min-weight\"?"},
	{"an annotation of Kueue's", parents_yaml,
	 "/1/metadata/annotations/kueue.x-k8s.io~1priority-class", "\"60\"", ""},
	{"V32, a field", parents_yaml, "/2/spec/maxweight", "60",
	 "spec.maxweight: Unknown field: did you mean \"maxWeight\"?"},
	{"a number in an annotation", parents_yaml,
	 "/1/metadata/annotations/kueue.x-k8s.io~1min-weight", "60",
	 NOTE "min-weight]: Invalid value: 60: must be a string: quote it"},
	{"V21", parents_yaml, "/6/spec/clusterQueue", "\"a\"",
	 "spec.clusterQueue: Invalid value: \"a\": not a leaf of tree \"company\"; LocalQueues may "
	 "point only to leaf queues"},
	{"V24", parents_yaml, "/7",
	 "{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQueueTree\","
	 "\"metadata\":{\"name\":\"default\"}}",
	 "ClusterQueueTree is read-only"},
	{"an integer in an annotation", parents_yaml,
	 "/1/metadata/annotations/kueue.x-k8s.io~1min-weight", "\"6O\"",
	 NOTE "min-weight]: Invalid value: \"6O\": must be an integer"},
	{"a strategy", parents_yaml, "/1/metadata/annotations/kueue.x-k8s.io~1queueing-strategy",
	 "\"LIFO\"",
	 NOTE "queueing-strategy]: Unsupported value: \"LIFO\": supported values: "
	      "\"BestEffortFIFO\", \"Capacity\", \"Fair\", \"StrictFIFO\""},
	{"max-resources that are no JSON", parents_yaml,
	 "/4/metadata/annotations/kueue.x-k8s.io~1max-resources", "\"x\"",
	 NOTE "max-resources]: Invalid value: \"x\": must be a list of flavors in JSON"},
	{"an object twice", parents_yaml, "/7",
	 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
	 "\"metadata\":{\"name\":\"c\"}}",
	 "metadata.name: Duplicate value: \"c\""},
};
const size_t n_quota_queue_rows = sizeof(quota_queue_rows) / sizeof(quota_queue_rows[0]);
/* Weight and groups written by the controller. */
static const char managed_a[] =
	"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":"
	"{\"name\":\"a\",\"annotations\":{\"kueue.x-k8s.io/parent\":\"company\","
	"\"kueue.x-k8s.io/quota-managed\":\"true\"}},\"spec\":{\"minWeight\":60,\"resourceGroups\":"
	"[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
	"\"cpu\",\"nominalQuota\":30}]}]}]}"
	"}";

const struct quota_change quota_queue_changes[] = {
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
const size_t n_quota_queue_changes = sizeof(quota_queue_changes) / sizeof(quota_queue_changes[0]);

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

const struct quota_change quota_tree_changes[] = {
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
const size_t n_quota_tree_changes = sizeof(quota_tree_changes) / sizeof(quota_tree_changes[0]);

void quota_cases_begin(void)
{
	snprintf(planb_yaml, sizeof(planb_yaml), "%s%s", weights_yaml, planb_tail);
}
