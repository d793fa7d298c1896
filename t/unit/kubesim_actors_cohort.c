/* SPDX-License-Identifier: Apache-2.0 */
/* Two ClusterQueues of a worker in one cohort: borrowing, its limits, and quota that comes back. */
#include "t/lib/kubesim_cluster.h"

#define GROUPS(nominal, limits)                                                             \
	"\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\"," \
	"\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"" nominal "\"" limits "}]}]}]"

/* "cq" has two of four, "other" the other two, with these limits. */
static void begin(struct world *w, const char *ours, const char *theirs)
{
	sim_init(w, KS_WORKER, 0, 1000, 1);
	sim_queues(w, 2, false);
	sim_post(w, KUEUE "clusterqueues",
		 KUEUE_HEAD "\"ClusterQueue\",\"metadata\":{\"name\":\"other\"},"
			    "\"spec\":{\"namespaceSelector\":{}}}");
	sim_post(w, KUEUE "namespaces/default/localqueues",
		 KUEUE_HEAD "\"LocalQueue\",\"metadata\":{\"name\":\"olq\",\"namespace\":"
			    "\"default\"},\"spec\":{\"clusterQueue\":\"other\"}}");
	sim_merge(w, KUEUE "clusterqueues/cq", "{\"spec\":{\"cohortName\":\"all\",%s}}", ours);
	sim_merge(w, KUEUE "clusterqueues/other", "{\"spec\":{\"cohortName\":\"all\",%s}}", theirs);
}

static const char *said_of(struct world *w, const char *job)
{
	return sim_condition_text(w, WORKLOADS, sim_workload_of(w, job), "QuotaReserved");
}

static void test_borrows(void)
{
	struct world w;

	begin(&w, GROUPS("2", ""), GROUPS("2", ""));
	sim_job(&w, "a", 3, "");
	sim_job(&w, "b", 2, "");
	sim_job(&w, "c", 5, "");
	sim_run(&w, 0);
	is_str(sim_at(&w, JOBS, "a", "/status/active"), "3", "it borrows what the other has free");
	is_str(said_of(&w, "b"),
	       "False Pending couldn't assign flavors to pod set main: insufficient unused quota "
	       "for cpu in flavor f, 1 more needed",
	       "what is left is not enough for two");
	ok(strstr(said_of(&w, "c"), "> maximum capacity (4)") != NULL,
	   "the cohort has four, whatever ends");
	sim_run(&w, 1000);
	is_str(sim_at(&w, JOBS, "b", "/status/active"), "2", "what is given back is taken");
	sim_done(&w);
}

static void test_limits(void)
{
	struct world w;

	begin(&w, GROUPS("2", ",\"borrowingLimit\":\"1\""), GROUPS("2", ""));
	sim_job(&w, "a", 3, "");
	sim_job(&w, "b", 4, "");
	sim_run(&w, 0);
	is_str(sim_at(&w, JOBS, "a", "/status/active"), "3", "it borrows up to its limit");
	ok(strstr(said_of(&w, "b"), "> maximum capacity (3)") != NULL, "and never more");
	sim_done(&w);
	begin(&w, GROUPS("2", ""), GROUPS("2", ",\"lendingLimit\":\"0\""));
	sim_job(&w, "a", 3, "");
	sim_run(&w, 0);
	ok(strstr(said_of(&w, "a"), "> maximum capacity (2)") != NULL,
	   "what the other does not lend is not there");
	sim_done(&w);
}

/* Quota that one queue gives back lets the other one look again. */
static void test_comes_back(void)
{
	struct world w;

	begin(&w, GROUPS("2", ""), GROUPS("2", ""));
	sim_job(&w, "a", 4, "");
	sim_run(&w, 0);
	sim_post(&w, KUEUE "namespaces/default/workloads",
		 KUEUE_HEAD
		 "\"Workload\",\"metadata\":{\"name\":\"theirs\",\"namespace\":"
		 "\"default\"},\"spec\":{\"queueName\":\"olq\",\"podSets\":[{\"name\":\"main\","
		 "\"count\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
		 "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}");
	sim_run(&w, 0);
	ok(strstr(sim_condition_text(&w, WORKLOADS, "theirs", "QuotaReserved"), "2 more needed") !=
		   NULL,
	   "the other queue's quota is lent");
	sim_run(&w, 1000);
	is_str(sim_condition_text(&w, WORKLOADS, "theirs", "QuotaReserved"),
	       "True QuotaReserved Quota reserved in ClusterQueue other",
	       "it has it again when that job has ended");
	sim_done(&w);
}

int main(void)
{
	test_borrows();
	test_limits();
	test_comes_back();
	return done_testing();
}
