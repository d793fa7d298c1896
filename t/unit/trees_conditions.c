/* SPDX-License-Identifier: Apache-2.0 */
/* Each condition of a ClusterQuotaTree, in each of its statuses and for each reason. */
#include "t/lib/tap.h"

#include "t/lib/quota_objects.h"
#include "t/lib/trees_scene.h"

#define FLAVOR \
	"---\n{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}\n"
#define HEAD                                    \
	"apiVersion: kueue.x-k8s.io/v1alpha1\n" \
	"kind: ClusterQuotaTree\n"              \
	"metadata: {name: t}\n"                 \
	"spec:\n"                               \
	"  resourceGroup:\n"                    \
	"    coveredResources: [cpu]\n"         \
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}]}]\n"
/* Closed fences, as is the default. */
#define SMALL                                                                        \
	HEAD "  hierarchies:\n"                                                      \
	     "    r: {policy: capacity, weightedQuotas: [{name: a, minWeight: 60}, " \
	     "{name: b, minWeight: 40, maxWeight: 50}]}\n" FLAVOR
#define USED(amount)                                                                          \
	"\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":" \
	"\"" amount "\"}]}]"

static void starts(struct scene *s, const char *type, const char *want, const char *name)
{
	const struct json *body = scene_status(s);
	mk_str got = scene_condition(s, body, type);

	if (!ok(str_starts(got, str_of(want)), name)) {
		printf("# got:  %s\n# want: %s\n", got.p, want);
	}
}

static void is_there(struct scene *s, const char *type, const char *part, const char *name)
{
	const struct json *body = scene_status(s);
	mk_str got = scene_condition(s, body, type);

	if (!ok(strstr(got.p, part) != NULL, name)) {
		printf("# got:  %s\n# want: %s\n", got.p, part);
	}
}

/* SMALL with all its queues. */
static void open_small(struct scene *s, const char *a_uses, const char *reclaim)
{
	scene_open(s, SMALL);
	scene_queue(s, "r", "Never", "");
	scene_queue(s, "a", reclaim, a_uses);
	scene_queue(s, "b", reclaim, "");
}

static void accepted(void)
{
	struct scene s;

	open_small(&s, "", "Any");
	scene_judge(&s);
	starts(&s, "Accepted", "True Valid: the tree is valid", "Accepted: True of a valid tree");
	scene_put(&s, "/0/spec/overLimitPolicy", "\"Evict\"");
	scene_judge(&s);
	is_there(&s, "Accepted", "Evict: nothing acts on it", "what nothing acts on is told");
	scene_put(&s, "/0/spec/hierarchies/r/weightedQuotas/0/minWeight", "50");
	scene_judge(&s);
	starts(&s, "Accepted",
	       "False Invalid: spec.hierarchies[r].weightedQuotas: Invalid value: 90: sum of "
	       "minWeight must be 100",
	       "Accepted: False with the words of validate");
	starts(&s, "Active", "False Invalid: the tree is not accepted", "it is not Active then");
	starts(&s, "Degraded", "Unknown Invalid", "Degraded is Unknown");
	starts(&s, "OverLimit", "Unknown Invalid", "OverLimit is Unknown");
	starts(&s, "ReclaimEffective", "Unknown Invalid", "ReclaimEffective is Unknown");
	starts(&s, "RoundedToZero", "Unknown Invalid", "RoundedToZero is Unknown");
	starts(&s, "Expressible", "Unknown Invalid", "Expressible is Unknown");
	ok(!json_at(scene_status(&s), "/status/nodeCount"), "no figures of a tree that is wrong");
	s.j.refusal = &(struct trees_refusal){STR("t"), STR("Cohort/t.r"), STR("Forbidden"),
					      STR("no right")};
	is_there(&s, "Active", "the API server refuses Cohort/t.r (Forbidden): no right",
		 "a refusal is told besides");
	scene_close(&s);
}

static void many_errors(void)
{
	struct scene s;
	struct validate_error errors[30];
	char path[4000];

	open_small(&s, "", "Any");
	scene_judge(&s);
	memset(path, 'x', sizeof(path));
	for (size_t i = 0; i < 30; i++) {
		errors[i] = (struct validate_error){
			.fault = {.path = {path, sizeof(path)}, .text = STR("wrong")}};
	}
	s.j = (struct trees_judged){
		.live = s.j.live, .name = s.j.name, .errors = errors, .n_errors = 30};
	{
		const struct json *body = scene_status(&s);
		const struct json *c =
			json_find(json_at(body, "/status/conditions"), "type", "Accepted");
		mk_str text = json_str(json_get(c, "message"));

		is_int(text.n, 32768, "a message has at most the length that the schema takes");
		ok(str_ends(text, STR(" ...")), "and shows that it was cut");
	}
	scene_close(&s);
}

static const struct json *active_of(const struct json *status)
{
	return json_find(json_get(status, "conditions"), "type", "Active");
}

/* A tree of parents has no object of its own, and an entry in that of all. */
static void parents(void)
{
	struct scene s;
	const struct json *status, *was;
	const struct trees_refusal refusal = {STR("t"), STR("ClusterQueue/a"), STR("Conflict"),
					      STR("owned by kubectl")};
	struct validate_error errors[20];
	mk_str message;

	open_small(&s, "", "Any");
	scene_judge(&s);
	s.j.live = NULL;
	s.j.refusal = &refusal;
	status = trees_status_of_parents(&s.a, &s.j, NULL, trees_usage(&s.a, &s.j), NULL, 0);
	ok(strstr(json_str(json_get(active_of(status), "message")).p,
		  "set the annotation multikueued.io/take-over: \"true\" on ClusterQueue \"t\", "
		  "the root of this tree") != NULL,
	   "a tree of parents says where the annotation belongs that takes over");
	was = status;
	status = trees_status_of_parents(&s.a, &s.j, NULL, trees_usage(&s.a, &s.j), was, 86400000);
	ok(json_equal(status, was), "its times change with statuses alone");
	s.j.refusal = NULL;
	status = trees_status_of_parents(&s.a, &s.j, NULL, trees_usage(&s.a, &s.j), was, 86400000);
	is_str(json_str(json_get(active_of(status), "lastTransitionTime")).p,
	       "1970-01-02T00:00:00Z", "... and then they do");
	for (size_t i = 0; i < 20; i++) {
		errors[i] = (struct validate_error){
			.fault = {.path = STR("spec.parent"),
				  .text = arena_printf(&s.a, "%0500d", (int)i)}};
	}
	s.j.errors = errors;
	s.j.n_errors = 20;
	status = trees_status_of_parents(&s.a, &s.j, NULL, NULL, was, 86400000);
	message = json_str(
		json_get(json_find(json_get(status, "conditions"), "type", "Accepted"), "message"));
	is_int((int64_t)message.n, 2048, "a long message is cut: all such trees are in one object");
	ok(str_ends(message, STR(" ...")), "... which it says");
	scene_close(&s);
}

static void active(void)
{
	struct scene s;

	open_small(&s, "", "Any");
	scene_judge(&s);
	starts(&s, "Active",
	       "True Ready: Kueue enforces the tree: 1 Cohort and 3 ClusterQueues are as it says",
	       "Active: True when all is written");
	s.j.written = false;
	starts(&s, "Active",
	       "False Pending: Cohorts and ClusterQueues are not yet as the tree says",
	       "Pending while writes are missing");
	s.j.engine = true;
	s.j.mode = TREES_OBSERVE;
	s.j.compiled = NULL;
	starts(&s, "Active",
	       "False NotEnforced: nothing is written for this tree: enforcement Engine: no "
	       "program enforces it; Compile is available",
	       "NotEnforced with enforcement Engine");
	s.j.engine = false;
	starts(&s, "Active",
	       "False Observed: nothing is written for this tree: the configuration of "
	       "multikueued says Observe",
	       "Observed by the configuration");
	is_str(json_str_at(scene_status(&s), "/status/enforcement").p, "Observe",
	       "which the status shows");
	scene_put(&s, "/0/spec/enforcement", "\"Observe\"");
	starts(&s, "Active",
	       "False Observed: nothing is written for this tree: its enforcement is Observe",
	       "Observed by the tree");
	scene_close(&s);
	scene_open(&s, SMALL);
	scene_judge(&s);
	starts(&s, "Active",
	       "False Pending: Cohorts and ClusterQueues are not yet as the tree says; 3 of its 3 "
	       "ClusterQueues do not exist: r, a, b",
	       "ClusterQueues that do not exist are named");
	scene_close(&s);
}

static void refusals(void)
{
	struct scene s;
	char text[20000];
	struct trees_refusal r = {
		STR("t"), STR("ClusterQueue/a"), STR("Conflict"),
		STR("Apply failed with 1 conflict: conflict with \"kubectl\": .spec.cohortName")};

	open_small(&s, "", "Any");
	scene_judge(&s);
	s.j.written = false;
	s.j.refusal = &r;
	starts(&s, "Active",
	       "False Conflict: the API server refuses ClusterQueue/a (Conflict): Apply failed "
	       "with 1 conflict: conflict with \"kubectl\": .spec.cohortName\n",
	       "a conflict names the object, and has the words of the API server");
	is_there(&s, "Active", "multikueued.io/take-over: \"true\"", "and says what can be done");
	r.reason = STR("Forbidden");
	is_there(&s, "Active", "rights of conf/rbac", "a right that is missing");
	r.reason = STR("Invalid");
	is_there(&s, "Active", "False Invalid: the API server refuses ClusterQueue/a (Invalid)",
		 "an object that is not taken");
	r.reason = STR("a b\n");
	starts(&s, "Active", "False Refused: the API server refuses ClusterQueue/a (Refused)",
	       "a reason is a word");
	r.reason = STR("");
	starts(&s, "Active", "False Refused", "an empty one, too");
	memset(text, 'x', sizeof(text));
	r.text = (mk_str){text, sizeof(text)};
	ok(scene_condition(&s, scene_status(&s), "Active").n < 5000, "a long text is cut");
	scene_close(&s);
}

static void expressible(void)
{
	struct scene s;

	open_small(&s, "", "Any");
	scene_judge(&s);
	starts(&s, "Expressible",
	       "True Expressible: Kueue enforces each minimum, maximum and reserve of the tree; "
	       "what it decides in its own way:\nt: policy capacity",
	       "Expressible: True, with what Kueue decides");
	s.j.compiled = NULL;
	starts(&s, "Expressible", "Unknown NotCompiled", "Unknown when it was not asked");
	scene_put(&s, "/0/spec/fairShare", "\"HDRF\"");
	scene_judge(&s);
	starts(&s, "Expressible",
	       "False NotExpressible: t: fairShare HDRF: Kueue compares dominant shares",
	       "Expressible: False with the reasons");
	starts(&s, "Active", "False NotExpressible: nothing is written",
	       "such a tree is not Active");
	scene_close(&s);
}

static void degraded(void)
{
	struct scene s;

	open_small(&s, "", "Any");
	scene_judge(&s);
	starts(&s, "Degraded", "False AsWritten", "Degraded: False");
	scene_put(&s, "/1/spec", "{\"relatedElasticQuota\":{\"namespace\":\"ns\",\"name\":\"e\"}}");
	scene_judge(&s);
	starts(&s, "Degraded",
	       "True RelatedElasticQuotaNotFound: f: its ElasticQuota \"ns/e\" does not exist",
	       "an ElasticQuota that is missing");
	is_str(json_write(&s.a, json_at(scene_status(&s), "/status/relatedElasticQuotas")).p,
	       "[{\"flavor\":\"f\",\"name\":\"ns/"
	       "e\",\"found\":false,\"resources\":[{\"name\":\"cpu\","
	       "\"declared\":\"10\",\"total\":\"0\"}]}]",
	       "and what that comes to");
	scene_put(&s, "/1/spec", NULL);
	scene_put(&s, "/1/metadata/name", "\"other\"");
	scene_judge(&s);
	starts(&s, "Degraded", "True FlavorNotFound: flavor \"f\": there is no such ResourceFlavor",
	       "a flavor that is missing");
	scene_close(&s);
	scene_open(&s, SMALL);
	scene_queue(&s, "a", "Any",
		    "\"conditions\":[{\"type\":\"Active\",\"status\":\"False\",\"reason\":"
		    "\"FlavorNotFound\",\"message\":\"Can't admit\"}]");
	scene_queue(&s, "b", "Any",
		    "\"conditions\":[{\"type\":\"Active\",\"status\":\"False\",\"reason\":"
		    "\"Stopped\",\"message\":\"stopped\"}]");
	scene_judge(&s);
	starts(&s, "Degraded", "True QueueInactive: ClusterQueue \"a\" is not active: Can't admit",
	       "a leaf that Kueue does not admit to");
	is_int((int64_t)(strstr(scene_condition(&s, scene_status(&s), "Degraded").p, "stopped") ==
			 NULL),
	       1, "but none that its owner stopped");
	scene_close(&s);
}

/* The rules of webhooks keep these trees out; a total that shrinks makes them. */
static void scaled(void)
{
	static const char text[] = HEAD
		"  hierarchies:\n"
		"    r:\n"
		"      weightedQuotas:\n"
		"      - {name: a, minResources: [{name: f, resources: [{name: cpu, nominalQuota: "
		"6}]}]}\n"
		"      - {name: b, minResources: [{name: f, resources: [{name: cpu, nominalQuota: "
		"4}]}]}\n"
		"---\n"
		"{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f},\n"
		" spec: {relatedElasticQuota: {namespace: ns, name: e}}}\n"
		"---\n"
		"{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota,\n"
		" metadata: {namespace: ns, name: e}, spec: {max: {cpu: 5}}}\n";
	struct scene s;

	scene_open(&s, text);
	scene_judge(&s);
	starts(&s, "Degraded",
	       "True MinimaScaled: queue \"a\": cpu in flavor f: minimum 6 became 3, because",
	       "minima that are more than there is");
	is_there(&s, "Degraded", "queue \"b\": cpu in flavor f: minimum 4 became 2",
		 "each of them");
	is_str(json_write(&s.a, json_at(scene_status(&s), "/status/relatedElasticQuotas")).p,
	       "[{\"flavor\":\"f\",\"name\":\"ns/"
	       "e\",\"found\":true,\"resources\":[{\"name\":\"cpu\","
	       "\"declared\":\"10\",\"total\":\"5\"}]}]",
	       "the ElasticQuota's maximum is told");
	scene_close(&s);
	scene_open(&s, HEAD "  hierarchies: {r: {policy: fifo, weightedQuotas: [{name: a}, {name: "
			    "b}]}}\n" FLAVOR);
	scene_judge(&s);
	{
		struct quota_node nodes[3];
		struct quota_desc d = s.j.model->desc;

		memcpy(nodes, d.nodes, sizeof(nodes));
		nodes[0].policy = QUOTA_CAPACITY;
		d.nodes = nodes;
		ok(quota_apply(s.q, &d, NULL) == ERR_OK, "a policy changes");
	}
	starts(&s, "Degraded",
	       "True EqualShares: queue \"r\": policy capacity, but its children have neither",
	       "capacity without minima");
	scene_close(&s);
}

static void over_limit(void)
{
	struct scene s;

	open_small(&s, USED("10"), "Any");
	scene_judge(&s);
	starts(&s, "OverLimit", "False WithinLimits", "OverLimit: False at the limit");
	scene_close(&s);
	scene_open(&s, SMALL);
	scene_queue(&s, "b", "Any", USED("5500m"));
	scene_judge(&s);
	starts(&s, "OverLimit",
	       "True OverLimit: queue \"b\" (level 2 of 2): cpu in flavor f: used 5500m, max 5",
	       "OverLimit: True, with queue and amounts");
	scene_close(&s);
	open_small(&s, USED("11"), "Any");
	scene_judge(&s);
	starts(&s, "OverLimit",
	       "True OverLimit: queue \"r\" (level 1 of 2): cpu in flavor f: used 11, max 10\n"
	       "queue \"a\" (level 2 of 2): cpu in flavor f: used 11, max 10",
	       "the upper ones come first");
	scene_close(&s);
	scene_open(&s, SMALL);
	scene_queue(&s, "a", "Any",
		    "\"flavorsReservation\":[{\"name\":\"old\",\"resources\":[{\"name\":\"gpu\","
		    "\"total\":\"3\"}]}]");
	scene_judge(&s);
	starts(&s, "OverLimit",
	       "True OverLimit: queue \"a\": gpu in flavor old: used 3, and the tree does not "
	       "have it",
	       "what the tree does not have");
	scene_close(&s);
}

/* A reserve holds more than is used: the root is over, and no queue uses too much. */
static void over_by_reserve(void)
{
	struct scene s;

	scene_open(&s, HEAD "  hierarchies:\n"
			    "    r:\n"
			    "      weightedQuotas:\n"
			    "      - {name: a, minResources: [{name: f, resources: [{name: cpu, "
			    "nominalQuota: 6, lendingLimit: 2}]}]}\n"
			    "      - {name: b, maxResources: []}\n" FLAVOR);
	scene_queue(&s, "b", "Any", USED("7"));
	scene_judge(&s);
	is_there(&s, "OverLimit",
		 "queue \"r\" (level 1 of 2): cpu in flavor f: used 7, with reserves 11, max 10",
		 "what is held for others counts");
	scene_close(&s);
}

static void reclaim(void)
{
	struct scene s;

	open_small(&s, "", "Any");
	scene_judge(&s);
	starts(&s, "ReclaimEffective", "Unknown NoOpenFence",
	       "ReclaimEffective: Unknown when closed");
	scene_put(&s, "/0/spec/hierarchies/r/fence", "\"EnableCrossQuotaPreemption\"");
	scene_judge(&s);
	starts(&s, "ReclaimEffective", "True ReclaimAllowed", "True when leaves may reclaim");
	scene_close(&s);
	open_small(&s, "", "Never");
	scene_put(&s, "/0/spec/hierarchies/r/fence", "\"EnableCrossQuotaPreemption\"");
	scene_judge(&s);
	starts(&s, "ReclaimEffective",
	       "False ReclaimNever: 2 of 2 leaves below an open fence have "
	       "preemption.reclaimWithinCohort Never, Kueue's default, and wait for their minimum "
	       "until others end: a, b",
	       "False when they may not");
	scene_close(&s);
}

static void rounded(void)
{
	struct scene s;

	open_small(&s, "", "Any");
	scene_judge(&s);
	starts(&s, "RoundedToZero", "False NotRounded", "RoundedToZero: False");
	scene_put(&s, "/0/spec/resourceGroup/flavors/0/resources/0/nominalQuota", "\"2m\"");
	scene_put(&s, "/0/spec/hierarchies/r/weightedQuotas/1/maxWeight", NULL);
	scene_judge(&s);
	starts(&s, "RoundedToZero",
	       "True RoundedToZero: queue \"b\": cpu in flavor f: its weight is above 0, and "
	       "gives 0",
	       "True with the first queue");
	scene_close(&s);
}

static void grafted(void)
{
	struct scene s;

	open_small(&s, "", "Any");
	scene_put(&s, "/0/spec/graftAt", "{\"tree\":\"big\",\"node\":\"x\"}");
	s.j = (struct trees_judged){.live = json_elem(s.docs, 0), .name = STR("t")};
	starts(&s, "Accepted", "True Valid", "a tree that is part of another is accepted");
	starts(&s, "Active", "Unknown Grafted: the tree is a part of ClusterQuotaTree \"big\"",
	       "and refers to that one");
	starts(&s, "OverLimit", "Unknown Grafted", "with all conditions");
	scene_close(&s);
}

int main(void)
{
	accepted();
	many_errors();
	active();
	parents();
	refusals();
	expressible();
	degraded();
	scaled();
	over_limit();
	over_by_reserve();
	reclaim();
	rounded();
	grafted();
	return done_testing();
}
