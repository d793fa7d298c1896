/* SPDX-License-Identifier: Apache-2.0 */
/* What a pass writes for trees that are deleted, and before that for their deletionPolicy. */
#include "t/unit/trees_scenes.h"

static void finalizers(void)
{
	const char *text;

	begin(FLAVOR TREE("t", "", KEPT, PAIR("r", "a", "b")));
	text = next_text(&s, true);
	ok(strncmp(text, "apply ClusterQuotaTree/t finalizer\napply Cohort/t.r", 50) == 0,
	   "the finalizer is there before anything is made");
	ok(run_to_end(&s), "the tree is made");
	ok(!strstr(next_text(&s, true), "finalizer"), "it is written once");
	put(TREE("t", "", "", PAIR("r", "a", "b")));
	ok(has(next_text(&s, true), "apply ClusterQuotaTree/t bare\n"),
	   "it goes when the tree says Orphan");
	begin_deletion(&s, the_thing(&s, STR("ClusterQuotaTree/t")));
	is_str(next_text(&s, true), "apply ClusterQuotaTree/t bare\n",
	       "a tree that is deleted then leaves all as it is");
	ok(run_to_end(&s) && !find_thing(&s, STR("ClusterQuotaTree/t")), "and is gone");
	is_str(next_text(&s, true), "", "nobody looks at what it left");
	ok(find_thing(&s, STR("Cohort/t.r")) != NULL, "which is still there");
	arena_done(&a);
}

static void deletion(void)
{
	begin(FLAVOR TREE("t", "", KEPT,
			  PAIR("r", "a", "b") "    a: {policy: capacity, weightedQuotas: [{name: "
					      "c, minWeight: 100}]}\n"));
	put(QUEUE("b", "", "namespaceSelector: {}"));
	put(QUEUE("mine", ", labels: {kueue.x-k8s.io/created-by-tree: other}", ""));
	put(COHORT("t.z", "", "parentName: z"));
	ok(run_to_end(&s), "a tree with an adopted queue is made");
	put("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: c}\n"
	    "status: {admittedWorkloads: 1}\n");
	begin_deletion(&s, the_thing(&s, STR("ClusterQuotaTree/t")));
	is_str(next_text(&s, false),
	       arena_printf(&a,
			    "apply ClusterQueue/b  4//\n"
			    "delete ClusterQueue/r {\"uid\":\"%s\",\"resourceVersion\":\"%s\"}\n"
			    "delete ClusterQueue/a {\"uid\":\"%s\",\"resourceVersion\":\"%s\"}\n"
			    "delete ClusterQueue/c {\"uid\":\"%s\",\"resourceVersion\":\"%s\"}\n",
			    field("ClusterQueue/r", "/metadata/uid").p,
			    field("ClusterQueue/r", "/metadata/resourceVersion").p,
			    field("ClusterQueue/a", "/metadata/uid").p,
			    field("ClusterQueue/a", "/metadata/resourceVersion").p,
			    field("ClusterQueue/c", "/metadata/uid").p,
			    field("ClusterQueue/c", "/metadata/resourceVersion").p)
		       .p,
	       "what it made is deleted, what it adopted leaves the Cohort");
	ok(run_to_end(&s), "then it waits for a queue with workloads");
	ok(find_thing(&s, STR("Cohort/t.a")) && find_thing(&s, STR("Cohort/t.r")),
	   "whose Cohorts stay");
	is_str(field("ClusterQueue/b", "/spec/cohortName").p, "none",
	       "the adopted one stands alone");
	forget_thing(&s, the_thing(&s, STR("ClusterQueue/c")));
	is_str(next_text(&s, false),
	       arena_printf(&a,
			    "delete Cohort/t.a {\"uid\":\"%s\",\"resourceVersion\":\"%s\"}\n"
			    "delete Cohort/t.r {\"uid\":\"%s\",\"resourceVersion\":\"%s\"}\n",
			    field("Cohort/t.a", "/metadata/uid").p,
			    field("Cohort/t.a", "/metadata/resourceVersion").p,
			    field("Cohort/t.r", "/metadata/uid").p,
			    field("Cohort/t.r", "/metadata/resourceVersion").p)
		       .p,
	       "the lowest Cohort goes first, the finalizer when the pass sees that they are gone");
	ok(run_to_end(&s), "it comes to an end");
	ok(!find_thing(&s, STR("Cohort/t.r")) && !find_thing(&s, STR("ClusterQuotaTree/t")),
	   "the tree is gone with what it made");
	ok(find_thing(&s, STR("ClusterQueue/mine")) && find_thing(&s, STR("Cohort/t.z")),
	   "what has not its label is not");
	arena_done(&a);
}

static void deletion_that_is_stuck(void)
{
	begin(FLAVOR TREE("t", "", KEPT, PAIR("r", "a", "b")));
	ok(run_to_end(&s), "a tree is made");
	put(QUEUE("foe", "", "cohortName: t.r"));
	begin_deletion(&s, the_thing(&s, STR("ClusterQuotaTree/t")));
	ok(run_to_end(&s), "it is deleted with a queue of another in its Cohort");
	ok(has(next_text(&s, true), "status ClusterQuotaTree/t Conflict ClusterQueue/foe: "),
	   "its status says why it stays");
	is_str(field("ClusterQueue/foe", "/spec/cohortName").p, "t.r", "that queue is not touched");
	arena_done(&a);
}

/* What the writes of a pass in mode Observe do. */
static const char *observe(void)
{
	struct trees_plan plan;

	pass_over(&s, TREES_OBSERVE, true, NULL, 0, &plan);
	for (size_t i = 0; i < plan.n; i++) {
		carry_out(&s, &plan.writes[i]);
	}
	return plan_text(&plan);
}

static void observed_deletion(void)
{
	begin(FLAVOR TREE("t", "", KEPT, PAIR("r", "a", "b"))
		      TREE("u", "", "", PAIR("k", "c", "d")));
	ok(run_to_end(&s), "trees are made in mode Compile");
	is_str(observe(),
	       "apply ClusterQuotaTree/t bare\nstatus ClusterQuotaTree/t observe\n"
	       "status ClusterQuotaTree/u observe\n",
	       "mode Observe takes the finalizer away, and writes nothing else but statuses");
	ok(has(next_text(&s, true), "apply ClusterQuotaTree/t finalizer\n"),
	   "mode Compile gives it anew");
	ok(run_to_end(&s), "and has it");
	begin_deletion(&s, the_thing(&s, STR("ClusterQuotaTree/t")));
	ok(find_thing(&s, STR("ClusterQuotaTree/t")) != NULL, "a deleted tree waits");
	ok(has(observe(), "apply ClusterQuotaTree/t bare\n"), "mode Observe lets it go");
	ok(!find_thing(&s, STR("ClusterQuotaTree/t")) && find_thing(&s, STR("Cohort/t.r")) != NULL,
	   "it goes, what was made for it stays");
	arena_done(&a);
}

int main(void)
{
	observed_deletion();
	finalizers();
	deletion();
	deletion_that_is_stuck();
	return done_testing();
}
