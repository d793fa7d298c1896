/* SPDX-License-Identifier: Apache-2.0 */
/* What a pass writes: each promise of pass.h and of docs/quota-tree.md, from objects to writes. */
#include "core/base/alloc.h"
#include "t/unit/trees_scenes.h"

static const char small[] = FLAVOR TREE("t", "", "", PAIR("r", "a", "b"));

static const char made[] = "apply Cohort/t.r  0//\n"
			   "apply ClusterQueue/r  10//\n"
			   "apply ClusterQueue/a t.r 6/2/\n"
			   "apply ClusterQueue/b t.r 4/6/\n";

static void a_tree_is_made(void)
{
	const char *text;

	begin(small);
	is_str(next_text(&s, false), "status ClusterQuotaTree/t not written\nsettle\n",
	       "increases wait until Kueue has seen the rest");
	text = next_text(&s, true);
	ok(has(text, made), "then they are written, the highest first");
	ok(!strstr(text, "settle"), "and nothing is left to wait for");
	ok(run_to_end(&s), "it comes to an end");
	is_str(next_text(&s, false), "status ClusterQuotaTree/t written\n",
	       "a tree that is as wanted is not written");
	is_str(field("ClusterQueue/r", "/spec/stopPolicy").p, "Hold",
	       "the inner queue admits nothing");
	is_str(field("ClusterQueue/a", "/metadata/labels/kueue.x-k8s.io~1created-by-tree").p, "t",
	       "what is made has the label");
	put(TREE("t", "", "",
		 PAIR("r", "a", "b") "    a: {policy: capacity, weightedQuotas: "
				     "[{name: c, minWeight: 100}]}\n"));
	text = next_text(&s, true);
	is_str(text,
	       "apply ClusterQueue/a t.r 0/0/\n"
	       "status ClusterQuotaTree/t not written\nsettle\n",
	       "what gets less comes first, settled or not");
	arena_done(&a);
}

static void what_was_made_stays_whole(void)
{
	struct trees_plan plan;

	begin(FLAVOR TREE("t", "",
			  "  clusterQuotaTemplate: {namespaceSelector: {matchLabels: {team: red}}, "
			  "queueingStrategy: StrictFIFO}\n",
			  PAIR("r", "a", "b")));
	ok(run_to_end(&s), "a tree with a template is made");
	put(TREE("t", "", "",
		 PAIR("r", "a", "b") "    a: {policy: capacity, weightedQuotas: "
				     "[{name: c, minWeight: 100}]}\n"));
	ok(run_to_end(&s), "it changes, and its template goes");
	is_str(field("ClusterQueue/a", "/spec/namespaceSelector").p,
	       "{\"matchLabels\":{\"team\":\"red\"}}", "what the template gave stays");
	is_str(field("ClusterQueue/a", "/metadata/labels/kueue.x-k8s.io~1created-by-tree").p, "t",
	       "and so does the label");
	is_str(field("ClusterQueue/a", "/spec/stopPolicy").p, "Hold",
	       "a leaf that became a parent admits nothing");
	is_str(field("ClusterQueue/a", "/spec/cohortName").p, "none", "and is in no Cohort");
	put(TREE("t", "", "", PAIR("r", "a", "b")));
	forget_thing(&s, the_thing(&s, STR("ClusterQueue/c")));
	pass_over(&s, TREES_COMPILE, false, NULL, 0, &plan);
	for (size_t i = 0; i < plan.n; i++) {
		carry_out(&s, &plan.writes[i]);
	}
	ok(!strstr(next_text(&s, false), "delete"), "a Cohort is idle when nothing else is left");
	ok(run_to_end(&s), "it changes back");
	is_str(field("ClusterQueue/a", "/spec/stopPolicy").p, "None", "a leaf again admits");
	ok(!find_thing(&s, STR("Cohort/t.a")), "the idle Cohort is gone");
	arena_done(&a);
}

static void adopted_queues(void)
{
	const char *text;

	begin(small);
	put(QUEUE("a", ", labels: {owner: x}", "namespaceSelector: {}"));
	ok(run_to_end(&s), "a tree with a queue that is there is made");
	is_str(json_write(&a, json_get(the_thing(&s, STR("ClusterQueue/a"))->ours, "spec")).p,
	       "{\"cohortName\":\"t.r\",\"fairSharing\":{\"weight\":\"60\"},"
	       "\"preemption\":{\"reclaimWithinCohort\":\"Never\"},\"resourceGroups\":"
	       "[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":"
	       "[{\"name\":\"cpu\",\"nominalQuota\":\"6\",\"borrowingLimit\":\"2\"}]}]}]}",
	       "of an adopted queue only what the tree decides is written");
	is_str(field("ClusterQueue/a", "/metadata/labels").p, "{\"owner\":\"x\"}",
	       "it gets no label, and keeps its own");
	put(TREE("t", "", "", PAIR("r", "b", "a")));
	forget_thing(&s, the_thing(&s, STR("ClusterQueue/a")));
	put(QUEUE("a", "", "namespaceSelector: {}"));
	text = next_text(&s, true);
	ok(has(text, "apply ClusterQueue/b t.r 4/4/\n"), "a queue that was made anew is adopted");
	arena_done(&a);
}

/* What the pass saw is gone, or another object, when its writes arrive. */
static void late_writes(void)
{
	struct trees_plan plan;
	size_t refused = 0;

	begin(small);
	put(QUEUE("a", "", "namespaceSelector: {}"));
	pass_over(&s, TREES_COMPILE, true, NULL, 0, &plan);
	forget_thing(&s, the_thing(&s, STR("ClusterQueue/a")));
	for (size_t i = 0; i < plan.n; i++) {
		refused += carry_out(&s, &plan.writes[i]) ? 0 : 1;
	}
	is_int(refused, 1, "an apply does not make anew what was deleted meanwhile");
	ok(!find_thing(&s, STR("ClusterQueue/a")), "half a queue is not made");
	ok(run_to_end(&s), "the next pass makes a whole one");
	is_str(field("ClusterQueue/a", "/spec/queueingStrategy").p, "BestEffortFIFO",
	       "from the template");
	arena_done(&a);
}

/* --- trees that are wrong --------------------------------------------------------------------- */

static const char good_u[] = TREE("u", "", "", PAIR("k", "k1", "k2"));

static void wrong_trees(void)
{
	struct trees_plan plan;
	const char *text;

	begin(FLAVOR TREE(
		"t", "", "",
		"    r: {policy: capacity, weightedQuotas: [{name: a, minWeight: 50}]}\n"));
	put(good_u);
	put(TREE("v", "", "", PAIR("a", "v1", "v2")));
	put(QUEUE("p", "", "parent: {kind: ClusterQueue, name: ghost}"));
	put(QUEUE("c1", "", "parent: {kind: ClusterQueue, name: c2}"));
	put(QUEUE("c2", "", "parent: {kind: ClusterQueue, name: c1}"));
	put(QUEUE("c3", "", "parent: {kind: ClusterQueue, name: c2}"));
	pass_over(&s, TREES_COMPILE, true, NULL, 0, &plan);
	text = plan_text(&plan);
	ok(has(text, "apply Cohort/u.k  0//\n"), "a tree beside wrong ones is made");
	ok(!strstr(text, "Cohort/t.r") && !strstr(text, "Cohort/v."), "the wrong ones are not");
	ok(has(text, "status ClusterQuotaTree/t wrong: spec.hierarchies[r].weightedQuotas: Invalid "
		     "value: 50: sum of minWeight must be 100\n"),
	   "they say what is wrong");
	ok(has(text, "status ClusterQuotaTree/v wrong: spec.hierarchies[a]: Invalid value: \"a\": "
		     "already belongs to tree \"t\"\n"),
	   "a tree does not get what a wrong one claims");
	is_int(plan.n_trees, 5, "trees are counted, a cycle of parents as one");
	is_int(plan.n_invalid, 4, "and so are wrong ones");
	is_int(plan.n_figures, 3, "figures are there for each queue and pair of the others");
	arena_done(&a);
}

static void a_queue_with_a_cohort(void)
{
	begin(small);
	put(QUEUE("a", "", "cohortName: theirs"));
	put(good_u);
	ok(has(next_text(&s, true),
	       "status ClusterQuotaTree/t wrong: spec.cohortName: Forbidden: ClusterQueue \"a\" "
	       "belongs to a queue tree; cohort and tree cannot be combined\n"),
	   "an error of a queue is one of its tree");
	arena_done(&a);
}

static void local_queues_stop_nothing(void)
{
	begin(small);
	put("apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\n"
	    "metadata: {name: lq, namespace: tenant}\nspec: {clusterQueue: r}\n");
	put("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\n"
	    "metadata: {name: odd}\nspec: {relatedElasticQuota: 3}\n");
	ok(has(next_text(&s, true), made), "a LocalQueue at an inner queue does not stop the tree");
	arena_done(&a);
}

static void elastic_quotas(void)
{
	begin(small);
	ok(run_to_end(&s), "a tree is made");
	put("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f, "
	    "annotations: {kueue.x-k8s.io/related-elastic-quota: ns/e}}\n");
	elastic = TREES_AWAITED;
	is_str(next_text(&s, true), "", "whether an ElasticQuota is there is not known: nothing");
	elastic = TREES_UNSERVED;
	is_str(next_text(&s, true),
	       "status ClusterQuotaTree/t RelatedElasticQuota ResourceFlavor/f: flavor f has a "
	       "relatedElasticQuota (ns/e), and the API server does not serve ElasticQuotas, or "
	       "not to multikueued: install their CRD, grant the right to list and watch them, or "
	       "take the reference away\n",
	       "a flavor that an ElasticQuota caps is not taken for empty: quotas stay");
	elastic = TREES_SERVED;
	put("apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata: {name: e, "
	    "namespace: ns}\nspec: {max: {cpu: 4}}\n");
	ok(run_to_end(&s), "its maximum caps the flavor");
	is_str(field("ClusterQueue/r", "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota")
		       .p,
	       "4", "... of the whole tree");
	elastic = TREES_UNSERVED;
	arena_done(&a);
}

static void hostile_objects(void)
{
	const char *text;

	begin(small);
	put(QUEUE("out", "", CPU("nominalQuota: much")));
	put(COHORT("loop", "", "parentName: loop"));
	ok(has(next_text(&s, true), made), "what is outside may be wrong as it likes");
	ok(run_to_end(&s), "the tree is made");
	put(QUEUE("foe", "", "cohortName: t.r"));
	put(TREE("t", "", "", PAIR("r", "b", "a")));
	text = next_text(&s, true);
	is_str(text,
	       "status ClusterQuotaTree/t Conflict ClusterQueue/foe: ClusterQueue/foe is in "
	       "Cohort t.r, and is in none of the trees: take it out of the Cohort, or into the "
	       "tree\n",
	       "a queue of another stops the tree in whose Cohort it is");
	arena_done(&a);
	begin(small);
	put(COHORT("t.r", "", "parentName: theirs"));
	ok(has(next_text(&s, true), "status ClusterQuotaTree/t Conflict Cohort/t.r: Cohort/t.r is "
				    "there and was not made for tree t: "),
	   "a Cohort that was not made for the tree is not taken");
	put(TREE("t", ", annotations: {multikueued.io/take-over: 'true'}", "",
		 PAIR("r", "a", "b")));
	ok(has(next_text(&s, true), "apply! Cohort/t.r "), "unless the tree takes over");
	arena_done(&a);
}

static void names_that_meet(void)
{
	begin(FLAVOR TREE("r", "", "", PAIR("m", "a", "b")));
	put(QUEUE("r", "", CPU("nominalQuota: 10")));
	put(QUEUE("s", "", "parent: {kind: ClusterQueue, name: r}, minWeight: 50"));
	ok(!strstr(next_text(&s, true), "apply Cohort"),
	   "two trees of one name stop: they have one label");
	arena_done(&a);
	begin(FLAVOR TREE("x", "", "", PAIR("y.z", "a", "b")));
	put(TREE("x.y", "", "", PAIR("z", "c", "d")));
	ok(has(next_text(&s, true), "status ClusterQuotaTree/x Conflict Cohort/x.y.z: Cohort/x.y.z "
				    "would be made for tree x.y too: rename a tree or a queue\n"),
	   "and so do two trees that want one Cohort");
	put(TREE("x", "", "  hierachies: {}\n", PAIR("y.z", "a", "b")));
	ok(has(next_text(&s, true), "apply Cohort/x.y.z  0//\n"),
	   "one that is wrong wants nothing");
	arena_done(&a);
}

/* --- modes ------------------------------------------------------------------------------------ */

static void modes(void)
{
	const struct trees_refusal refused = {STR("t"), STR("ClusterQueue/a"), STR("Forbidden"),
					      STR("no")};
	struct trees_plan plan;

	begin(small);
	pass_over(&s, TREES_OBSERVE, true, NULL, 0, &plan);
	is_str(plan_text(&plan), "status ClusterQuotaTree/t observe\n",
	       "mode observe writes statuses alone");
	pass_over(&s, TREES_COMPILE, true, &refused, 1, &plan);
	is_str(plan_text(&plan), "status ClusterQuotaTree/t Forbidden ClusterQueue/a: no\n",
	       "so does a tree that was refused");
	put(TREE("t", "", "  enforcement: Observe\n", PAIR("r", "a", "b")));
	is_str(next_text(&s, true), "status ClusterQuotaTree/t observe\n",
	       "and one that says Observe");
	put(TREE("t", "", "  enforcement: Engine\n", PAIR("r", "a", "b")));
	is_str(next_text(&s, true), "status ClusterQuotaTree/t engine\n", "or Engine");
	put(TREE("t", "", "  enforcement: Compile\n  fairShare: HDRF\n", PAIR("r", "a", "b")));
	pass_over(&s, TREES_COMPILE, true, NULL, 0, &plan);
	is_str(plan_text(&plan), "status ClusterQuotaTree/t not expressible\n",
	       "and one that Kueue cannot enforce");
	is_int(plan.n_inexpressible, 1, "which is counted");
	put(TREE("t", ", finalizers: [multikueued.io/quota-tree]", "  fairShare: HDRF\n",
		 PAIR("r", "a", "b")));
	is_str(next_text(&s, true), "status ClusterQuotaTree/t not expressible\n",
	       "of which not even the finalizer is written");
	arena_done(&a);
}

/* --- trees of parents ------------------------------------------------------------------------- */

/* What ClusterQueueTree says of trees of parents that are not in force. */
static void parents_that_are_stuck(void)
{
	const struct trees_refusal refused = {STR("r"), STR("ClusterQueue/a"), STR("Conflict"),
					      STR("owned")};
	struct trees_plan plan;
	const char *text;

	begin(FLAVOR QUEUE("r", ", annotations: {kueue.x-k8s.io/policy: capacity}",
			   CPU("nominalQuota: 10"))
		      QUEUE("a", "", "parent: {kind: ClusterQueue, name: r}, minWeight: 100"));
	put(QUEUE("c1", "", "parent: {kind: ClusterQueue, name: c2}"));
	put(QUEUE("c2", "", "parent: {kind: ClusterQueue, name: c1}"));
	put(QUEUE("p", "", "parent: {kind: ClusterQueue, name: ghost}"));
	pass_over(&s, TREES_COMPILE, true, &refused, 1, &plan);
	text = plan_text(&plan);
	ok(has(text, "\"message\":\"Conflict ClusterQueue/a: owned\",\"status\":\"False\"}]"),
	   "what the API server refused is told at the root");
	ok(has(text, "{\"root\":\"c1\",\"conditions\":[{\"type\":\"Active\",\"message\":\"wrong: "),
	   "a cycle is told at its smallest name");
	ok(has(text,
	       "{\"root\":\"p\",\"conditions\":[{\"type\":\"Active\",\"message\":\"wrong: "
	       "spec.parent: Invalid value: \\\"ghost\\\": parent ClusterQueue does not exist"),
	   "and so is a queue whose parent is not there");
	for (size_t i = 0; i < plan.n; i++) {
		ok(plan.writes[i].tree.n == 0 || plan.writes[i].parents,
		   "a write says what the name of its tree is");
	}
	arena_done(&a);
}

static void trees_of_parents(void)
{
	const char *text;

	begin(FLAVOR);
	put(QUEUE("r", ", annotations: {kueue.x-k8s.io/policy: capacity}",
		  CPU("nominalQuota: 10")));
	put(QUEUE("a", "", "parent: {kind: ClusterQueue, name: r}, minWeight: 60"));
	put(QUEUE("b", "", "parent: {kind: ClusterQueue, name: r}, minWeight: 40"));
	text = next_text(&s, true);
	is_str(text,
	       "apply Cohort/r.r  0//\n"
	       "apply ClusterQueue/a r.r 6/4/\n"
	       "apply ClusterQueue/b r.r 4/6/\n"
	       "apply ClusterQueueTree/default \n"
	       "status ClusterQueueTree/default {\"trees\":[{\"root\":\"r\",\"nodes\":[{\"name\":"
	       "\"r\",\"depth\":1,\"leaf\":false,\"policy\":\"capacity\"},{\"name\":\"a\","
	       "\"parent\":\"r\",\"depth\":2,\"leaf\":true,\"policy\":\"fifo\"},{\"name\":\"b\","
	       "\"parent\":\"r\",\"depth\":2,\"leaf\":true,\"policy\":\"fifo\"}],\"conditions\":"
	       "[{\"type\":\"Active\",\"message\":\"not written\",\"status\":\"False\"}]}]}\n",
	       "trees of parents are made, and ClusterQueueTree says what they are");
	ok(run_to_end(&s), "it comes to an end");
	put("apiVersion: kueue.x-k8s.io/v1alpha1\nkind: ClusterQueueTree\nmetadata: {name: "
	    "default}\nstatus: {trees: []}\n");
	ok(has(next_text(&s, true), "status ClusterQueueTree/default {\"trees\":[{\"root\":\"r\""),
	   "a status that is not right is written");
	put("apiVersion: kueue.x-k8s.io/v1alpha1\nkind: ClusterQueueTree\nmetadata: {name: "
	    "default}\nstatus: {trees: [{root: r, nodes: [{name: r, depth: 1, leaf: false, policy: "
	    "capacity}, {name: a, parent: r, depth: 2, leaf: true, policy: fifo}, {name: b, "
	    "parent: r, depth: 2, leaf: true, policy: fifo}], conditions: [{type: Active, message: "
	    "written, status: 'True'}]}]}\n");
	is_str(next_text(&s, true), "", "one that is right is not");
	put(QUEUE("a", "", ""));
	text = next_text(&s, true);
	ok(!strstr(text, "apply"), "a queue that left the tree and is in its Cohort stops it");
	arena_done(&a);
	begin("apiVersion: kueue.x-k8s.io/v1alpha1\nkind: ClusterQueueTree\nmetadata: {name: "
	      "default}\nstatus: {trees: [{root: r}]}\n");
	is_str(next_text(&s, true), "status ClusterQueueTree/default {\"trees\":[]}\n",
	       "without such trees it is emptied");
	put("apiVersion: kueue.x-k8s.io/v1alpha1\nkind: ClusterQueueTree\nmetadata: {name: "
	    "default}\nstatus: {}\n");
	is_str(next_text(&s, true), "", "and then left alone");
	arena_done(&a);
}

static void moves_between_trees(void)
{
	begin(FLAVOR);
	put(QUEUE("r", "", CPU("nominalQuota: 10")));
	put(QUEUE("k", "", CPU("nominalQuota: 10")));
	put(QUEUE("a", "", "parent: {kind: ClusterQueue, name: r}, minWeight: 60"));
	put(QUEUE("b", "", "parent: {kind: ClusterQueue, name: k}, minWeight: 40"));
	ok(run_to_end(&s), "two trees are made");
	put(QUEUE("a", "", "parent: {kind: ClusterQueue, name: k}, minWeight: 60"));
	put(QUEUE("b", "", "parent: {kind: ClusterQueue, name: r}, minWeight: 40"));
	ok(run_to_end(&s), "two queues change places between them");
	is_str(field("ClusterQueue/a", "/spec/cohortName").p, "k.k",
	       "one is in the other's Cohort");
	is_str(field("ClusterQueue/b", "/spec/cohortName").p, "r.r", "and the other way round");
	arena_done(&a);
}

static void amounts_are_not_lost(void)
{
	begin(FLAVOR);
	put(QUEUE("r", "", CPU("nominalQuota: 10")));
	put(QUEUE("m", "", "parent: {kind: ClusterQueue, name: r}, " CPU("nominalQuota: 6")));
	put(QUEUE("o", "", "parent: {kind: ClusterQueue, name: r}, " CPU("nominalQuota: 4")));
	put(QUEUE("a", "", "parent: {kind: ClusterQueue, name: m}, " CPU("nominalQuota: 3")));
	put(QUEUE("b", "", "parent: {kind: ClusterQueue, name: o}, " CPU("nominalQuota: 2")));
	ok(!strstr(next_text(&s, false), "apply ClusterQueue/"),
	   "a queue that stands alone keeps its quota until it is in its Cohort");
	ok(run_to_end(&s), "a tree of parents with amounts is made");
	is_str(field("ClusterQueue/a", "/spec/cohortName").p, "r.m", "a leaf is in its Cohort");
	is_str(spelled(first_pair(the_thing(&s, STR("ClusterQueue/a"))->now), "nominalQuota").p,
	       "3", "and has its minimum");
	put(QUEUE("a", "", "parent: {kind: ClusterQueue, name: o}, " CPU("nominalQuota: 2")));
	ok(has(next_text(&s, false), "apply ClusterQueue/a  2//\n"),
	   "one that moves leaves the Cohort first");
	ok(run_to_end(&s), "it comes to an end");
	is_str(field("ClusterQueue/a", "/spec/cohortName").p, "r.o", "then it is in the other");
	is_str(spelled(first_pair(the_thing(&s, STR("ClusterQueue/a"))->now), "nominalQuota").p,
	       "2", "with a minimum that is its owner's");
	arena_done(&a);
}

static void moves_between_quota_trees(void)
{
	begin(FLAVOR TREE("t", "", "", PAIR("r", "a", "b")) TREE("u", "", "", PAIR("k", "c", "d")));
	put(QUEUE("a", "", "namespaceSelector: {}"));
	ok(run_to_end(&s), "two ClusterQuotaTrees are made");
	put(TREE("t", "", "", PAIR("r", "c", "b")));
	put(TREE("u", "", "", PAIR("k", "a", "d")));
	ok(run_to_end(&s), "two queues change places between them, too");
	is_str(field("ClusterQueue/a", "/spec/cohortName").p, "u.k",
	       "one is in the other's Cohort");
	is_str(field("ClusterQueue/c", "/spec/cohortName").p, "t.r", "and the other way round");
	is_str(field("ClusterQueue/c", "/metadata/labels/kueue.x-k8s.io~1created-by-tree").p, "t",
	       "what was made for a tree has its label");
	is_str(field("ClusterQueue/a", "/metadata/labels").p, "none", "and nothing else has one");
	arena_done(&a);
}

static void the_elder_has_it(void)
{
	begin(FLAVOR TREE("t", ", creationTimestamp: '2026-01-01T00:00:00Z'", "",
			  PAIR("r", "a", "b")));
	ok(run_to_end(&s), "a tree is made");
	put(TREE("s", ", creationTimestamp: '2026-02-01T00:00:00Z'", "", PAIR("k", "a", "d")));
	s.v[s.n] = s.v[1];
	s.v[1] = s.v[s.n - 1];
	s.v[s.n - 1] = s.v[s.n];
	is_str(next_text(&s, true),
	       "status ClusterQuotaTree/t written\n"
	       "status ClusterQuotaTree/s wrong: spec.hierarchies[k].weightedQuotas[0].name: "
	       "Invalid value: \"a\": already belongs to tree \"t\"\n",
	       "a younger tree does not get its queue, whatever the order of their names");
	arena_done(&a);
}

/* --- grafts ----------------------------------------------------------------------------------- */

static void grafts(void)
{
	static const char guest[] =
		TREE("g", "", "  graftAt: {tree: t, node: a}\n", PAIR("k", "k1", "k2"));

	begin(small);
	put(guest);
	ok(run_to_end(&s), "a tree with a grafted one is made");
	is_str(field("ClusterQueue/k1", "/spec/cohortName").p, "t.k", "as one tree");
	is_str(next_text(&s, true),
	       "status ClusterQuotaTree/g not written\nstatus ClusterQuotaTree/t written\n",
	       "and read back as two, each with a status");
	put(TREE("g", "", "  graftAt: {tree: t, node: a}\n",
		 "    k: {policy: capacity, weightedQuotas: [{name: k1, minWeight: 1}]}\n"));
	is_str(next_text(&s, true),
	       "status ClusterQuotaTree/g wrong: spec.hierarchies[k].weightedQuotas: Invalid "
	       "value: 1: sum of minWeight must be 100\n"
	       "status ClusterQuotaTree/t wrong: spec.hierarchies: Invalid value: tree \"g\", "
	       "which is grafted here, has errors\n",
	       "when one is wrong, none goes on alone");
	arena_done(&a);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A pass in an arena of that cap, whose n-th allocation fails (0: none); its text, or NULL. */
static const char *frugal(struct json **v, size_t cap, uint64_t n, enum mk_code *ret_code)
{
	struct trees_input in = {.objects = v, .n = s.n, .mode = TREES_COMPILE, .settled = true};
	struct trees_plan plan;
	struct arena own;
	const char *text = NULL;

	arena_init(&own, cap);
	alloc_fail_after(n);
	*ret_code = trees_pass(&own, &in, &plan, NULL);
	alloc_fail_after(0);
	if (*ret_code == ERR_OK) {
		text = plan_text(&plan);
	}
	arena_done(&own);
	return text;
}

static void memory(void)
{
	struct json **v;
	enum mk_code code = ERR_NO_MEMORY;
	const char *want, *text = NULL;
	bool good = true;

	begin(FLAVOR TREE("t", "", KEPT, PAIR("r", "a", "b"))
		      TREE("g", "", KEPT, PAIR("i", "x", "y")));
	put(QUEUE("p", "", CPU("nominalQuota: 10")));
	put(QUEUE("c", "", "parent: {kind: ClusterQueue, name: p}, minWeight: 50"));
	ok(run_to_end(&s), "trees are made");
	put(TREE("t", "", KEPT, PAIR("r", "b", "a")));
	put(TREE("wrong", "", "", PAIR("a", "b", "z")));
	begin_deletion(&s, the_thing(&s, STR("ClusterQuotaTree/g")));
	v = arena_array(&a, s.n, sizeof(*v));
	for (size_t i = 0; i < s.n; i++) {
		v[i] = s.v[i].now;
	}
	want = frugal(v, 0, 0, &code);
	for (uint64_t n = 1; good && !text; n++) {
		text = frugal(v, 0, n, &code);
		good = code == ERR_OK || code == ERR_NO_MEMORY;
	}
	ok(good, "out of memory at any point is an error, and the only one");
	is_str(text, want, "a pass that had enough is as any other");
	text = NULL;
	for (size_t cap = 1024; good && !text; cap += 4096) {
		text = frugal(v, cap, 0, &code);
		good = code == ERR_OK || code == ERR_NO_MEMORY;
	}
	ok(good, "so is the end of its arena");
	is_str(text, want, "whatever its size");
	arena_done(&a);
}

int main(void)
{
	a_tree_is_made();
	what_was_made_stays_whole();
	adopted_queues();
	late_writes();
	wrong_trees();
	a_queue_with_a_cohort();
	local_queues_stop_nothing();
	elastic_quotas();
	hostile_objects();
	names_that_meet();
	modes();
	trees_of_parents();
	parents_that_are_stuck();
	moves_between_trees();
	amounts_are_not_lost();
	moves_between_quota_trees();
	the_elder_has_it();
	grafts();
	memory();
	return done_testing();
}
