/* SPDX-License-Identifier: Apache-2.0 */
/* The queue controller and the job runner of a worker: quota, order, prebuilt clones, eviction. */
#include "t/lib/kubesim_cluster.h"

static const char good[] = "Reached expected number of succeeded pods";

static void test_plain_job(void)
{
	struct world w;
	const char *wl;

	ok(sim_init(&w, KS_WORKER, 100, 1000, 1), "a worker");
	sim_queues(&w, 4, false);
	sim_job(&w, "a", 2, "");
	sim_run(&w, 0);
	wl = sim_workload_of(&w, "a");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "QuotaReserved"),
	       "True QuotaReserved Quota reserved in ClusterQueue cq", "quota is reserved at once");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admission"),
	       "{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"count\":2,\"flavors\":{\"cpu\":"
	       "\"f\"},\"name\":\"main\",\"resourceUsage\":{\"cpu\":\"2\"}}]}",
	       "the admission names flavors and usage");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Admitted"), "-", "admission takes its time");
	is_str(sim_condition_text(&w, JOBS, "a", "Suspended"), "True JobSuspended Job suspended",
	       "the job waits");
	is_int(ks_actors_next_ms(w.actors), w.now + 100, "the next thing is the admission");
	sim_run(&w, 100);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Admitted"),
	       "True Admitted The workload is admitted", "admitted");
	is_str(sim_at(&w, JOBS, "a", "/spec/suspend"), "false", "the job was started");
	is_str(sim_at(&w, JOBS, "a", "/status/active"), "2", "all pods are active");
	is_str(sim_at(&w, JOBS, "a", "/status/ready"), "2", "all pods are ready");
	is_str(sim_condition_text(&w, JOBS, "a", "Suspended"), "False JobResumed Job resumed",
	       "resumed");
	is_int(ks_actors_next_ms(w.actors), w.now + 1000, "the next thing is its end");
	sim_run(&w, 1000);
	is_str(sim_condition_text(&w, JOBS, "a", "Complete"),
	       arena_printf(&w.a, "True CompletionsReached %s", good).p, "complete");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Finished"),
	       arena_printf(&w.a, "True Succeeded %s", good).p, "finished");
	is_str(sim_at(&w, WORKLOADS, wl, "/metadata/finalizers"), "-", "the finalizer is gone");
	is_int(ks_actors_next_ms(w.actors), INT64_MAX, "nothing is left to do");
	is_int((int64_t)ks_actors_refused(w.actors), 0, "no write was refused");
	sim_done(&w);
}

static void test_failing_job(void)
{
	struct world w;

	sim_init(&w, KS_WORKER, 0, 1000, 1);
	sim_queues(&w, 4, false);
	sim_job(&w, "a", 1,
		"\"kubesim.x-k8s.io/exit-code\":\"1\",\"kubesim.x-k8s.io/run-ms\":\"50\"");
	sim_run(&w, 49);
	is_str(sim_at(&w, JOBS, "a", "/status/active"), "1", "the annotation gives the time");
	sim_run(&w, 1);
	is_str(sim_condition_text(&w, WORKLOADS, sim_workload_of(&w, "a"), "Finished"),
	       "True Failed Job has reached the specified backoff limit", "and the outcome");
	sim_done(&w);
}

static void test_quota(void)
{
	struct world w;
	const char *c;

	sim_init(&w, KS_WORKER, 0, 1000, 1);
	sim_queues(&w, 3, false);
	sim_job(&w, "a", 2, "");
	sim_job(&w, "b", 2, "");
	sim_job(&w, "c", 1, "");
	sim_job(&w, "d", 4, "");
	sim_run(&w, 0);
	c = sim_workload_of(&w, "b");
	is_str(sim_condition_text(&w, WORKLOADS, c, "QuotaReserved"),
	       "False Pending couldn't assign flavors to pod set main: insufficient unused quota "
	       "for "
	       "cpu in flavor f, 1 more needed",
	       "two cpus do not fit beside two of three");
	is_str(sim_at(&w, JOBS, "c", "/status/active"), "1", "one behind it fits");
	is_str(sim_condition_text(&w, WORKLOADS, sim_workload_of(&w, "d"), "QuotaReserved"),
	       "False Pending couldn't assign flavors to pod set main: insufficient quota for cpu "
	       "in "
	       "flavor f, previously considered podsets requests (0) + current podset request (4) "
	       "> "
	       "maximum capacity (3)",
	       "four never fit");
	sim_run(&w, 1000);
	is_str(sim_at(&w, JOBS, "b", "/status/active"), "2", "given back quota is taken");
	sim_run(&w, 1000);
	is_str(sim_condition_text(&w, WORKLOADS, c, "Finished"),
	       arena_printf(&w.a, "True Succeeded %s", good).p, "it finishes too");
	sim_merge(&w, KUEUE "clusterqueues/cq",
		  "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{"
		  "\"name\":"
		  "\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"4\"}]}]}]}}");
	sim_run(&w, 0);
	is_str(sim_at(&w, JOBS, "d", "/status/active"), "4", "more quota lets it in");
	sim_done(&w);
}

static void test_order(void)
{
	struct world w;

	sim_init(&w, KS_WORKER, 0, 1000, 1);
	sim_queues(&w, 1, false);
	sim_post(&w, KUEUE "workloadpriorityclasses",
		 KUEUE_HEAD
		 "\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":100,"
		 "\"description\":\"\"}");
	sim_job(&w, "first", 1, "");
	sim_run(&w, 0);
	sim_job(&w, "second", 1, "");
	sim_job(&w, "third", 1, "");
	sim_post(&w, "/apis/batch/v1/namespaces/default/jobs",
		 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"vip\","
		 "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\","
		 "\"kueue.x-k8s.io/priority-class\":\"high\"}},\"spec\":{" JOB_SPEC "}}",
		 1, 1);
	sim_run(&w, 999);
	is_str(sim_at(&w, JOBS, "vip", "/status/active"), "-", "no preemption");
	sim_run(&w, 1);
	is_str(sim_at(&w, JOBS, "vip", "/status/active"), "1", "priority goes first");
	sim_run(&w, 1000);
	is_str(sim_at(&w, JOBS, "second", "/status/active"), "1", "then the older one");
	is_str(sim_at(&w, JOBS, "third", "/status/active"), "-", "the younger one waits");
	sim_done(&w);
}

static void test_missing_queue(void)
{
	struct world w;

	sim_init(&w, KS_WORKER, 0, 1000, 1);
	sim_job(&w, "a", 1, "");
	sim_run(&w, 0);
	is_str(sim_condition_text(&w, WORKLOADS, sim_workload_of(&w, "a"), "QuotaReserved"),
	       "False Inadmissible LocalQueue lq doesn't exist", "no LocalQueue");
	sim_queues(&w, 1, false);
	sim_run(&w, 0);
	is_str(sim_at(&w, JOBS, "a", "/status/active"), "1", "it appears and the job runs");
	sim_done(&w);
}

/* A clone as multikueued makes it, and the remote job that names it. */
static void make_clone(struct world *w, const char *name, int count)
{
	sim_post(w, KUEUE "namespaces/default/workloads",
		 KUEUE_HEAD
		 "\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
		 "\"labels\":{\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"}},"
		 "\"spec\":{\"active\":true,\"queueName\":\"lq\",\"podSets\":[{\"name\":"
		 "\"main\",\"count\":%d,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
		 "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"imagePullPolicy\":"
		 "\"Always\",\"terminationMessagePath\":\"/dev/termination-log\","
		 "\"terminationMessagePolicy\":\"File\",\"resources\":{\"requests\":{\"cpu\":"
		 "\"1\"}}}],\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":"
		 "\"ClusterFirst\",\"securityContext\":{},\"schedulerName\":"
		 "\"default-scheduler\"}}}]}}",
		 name, count);
}

#define PREBUILT "\"kueue.x-k8s.io/prebuilt-workload-name\":\"clone\""

static void test_prebuilt(void)
{
	struct world w;

	sim_init(&w, KS_WORKER, 10, 1000, 1);
	sim_queues(&w, 4, false);
	make_clone(&w, "clone", 2);
	sim_run(&w, 10);
	is_str(sim_condition_text(&w, WORKLOADS, "clone", "Admitted"),
	       "True Admitted The workload is admitted", "a clone is admitted without a job");
	sim_job(&w, "a", 2, PREBUILT);
	sim_run(&w, 0);
	is_str(sim_at(&w, WORKLOADS, "clone", "/metadata/ownerReferences/0/uid"),
	       sim_at(&w, JOBS, "a", "/metadata/uid"), "the job takes it over");
	is_str(sim_at(&w, WORKLOADS, "clone", "/metadata/labels/kueue.x-k8s.io~1job-uid"),
	       sim_at(&w, JOBS, "a", "/metadata/uid"), "with the label");
	is_str(sim_at(&w, JOBS, "a", "/status/active"), "2", "and runs");
	is_str(sim_workload_of(&w, "a"), "-", "no Workload of its own is made");
	sim_run(&w, 1000);
	is_str(sim_condition_text(&w, WORKLOADS, "clone", "Finished"),
	       arena_printf(&w.a, "True Succeeded %s", good).p, "the clone is finished");
	sim_delete(&w, "/apis/batch/v1/namespaces/default/jobs/a",
		   "{\"propagationPolicy\":\"Background\"}");
	sim_run(&w, 0);
	ok(!sim_get(&w, WORKLOADS, "clone"), "and collected when its job is deleted");
	is_int((int64_t)ks_actors_refused(w.actors), 0, "no write was refused");
	sim_done(&w);
}

static void test_out_of_sync(void)
{
	struct world w;

	sim_init(&w, KS_WORKER, 0, 1000, 1);
	sim_queues(&w, 4, false);
	make_clone(&w, "clone", 1);
	sim_job(&w, "a", 2, PREBUILT);
	sim_run(&w, 2000);
	is_str(sim_condition_text(&w, WORKLOADS, "clone", "Finished"),
	       "True OutOfSync The prebuilt workload is out of sync with its user job",
	       "pod sets that differ");
	is_str(sim_at(&w, JOBS, "a", "/status/active"), "-", "the job never ran");
	sim_done(&w);
}

static void test_eviction(void)
{
	static const char why[] = "The workload is deactivated due to Evicted on manager: reason";
	struct world w;
	const char *uid;

	sim_init(&w, KS_WORKER, 0, 100000, 1);
	sim_queues(&w, 1, false);
	make_clone(&w, "clone", 1);
	sim_job(&w, "a", 1, PREBUILT);
	sim_job(&w, "waits", 1, "");
	sim_run(&w, 5000);
	uid = sim_at(&w, WORKLOADS, "clone", "/metadata/uid");
	is_str(sim_at(&w, JOBS, "waits", "/status/active"), "-", "the quota is taken");
	sim_merge(
		&w, KUEUE "namespaces/default/workloads/clone/status",
		"{\"metadata\":{\"uid\":\"%s\"},\"status\":{\"conditions\":[%.*s,%.*s,{\"type\":"
		"\"DeactivationTarget\",\"status\":\"True\",\"reason\":\"EvictedOnManagerCluster\","
		"\"message\":\"Evicted on manager: reason\",\"observedGeneration\":1,"
		"\"lastTransitionTime\":\"2027-01-15T08:00:05Z\"}]}}",
		uid,
		STR_ARG(json_write(
			&w.a, sim_condition(sim_get(&w, WORKLOADS, "clone"), "QuotaReserved"))),
		STR_ARG(json_write(&w.a,
				   sim_condition(sim_get(&w, WORKLOADS, "clone"), "Admitted"))));
	sim_run(&w, 0);
	is_str(sim_at(&w, WORKLOADS, "clone", "/spec/active"), "false", "deactivated");
	is_str(sim_condition_text(&w, WORKLOADS, "clone", "Evicted"),
	       arena_printf(&w.a, "True DeactivatedDueToEvictedOnManagerCluster %s", why).p,
	       "evicted");
	is_str(sim_at(&w, JOBS, "a", "/spec/suspend"), "true", "the job is suspended");
	is_str(sim_at(&w, JOBS, "a", "/status/startTime"), "-", "and has no start");
	is_str(sim_at(&w, JOBS, "a", "/metadata/annotations/kueue.x-k8s.io~1stopping"), "-",
	       "the stop is over");
	is_str(sim_condition_text(&w, WORKLOADS, "clone", "QuotaReserved"),
	       arena_printf(&w.a, "False Pending %s", why).p, "quota is given back");
	is_str(sim_condition_text(&w, WORKLOADS, "clone", "Admitted"),
	       "False NoReservation The workload has no reservation", "not admitted");
	is_str(sim_condition_text(&w, WORKLOADS, "clone", "Requeued"),
	       arena_printf(&w.a, "False DeactivatedDueToEvictedOnManagerCluster %s", why).p,
	       "not queued again");
	is_str(sim_at(&w, WORKLOADS, "clone", "/status/accumulatedPastExecutionTimeSeconds"), "5",
	       "the time it ran is kept");
	is_str(sim_at(&w, WORKLOADS, "clone",
		      "/status/schedulingStats/evictions/0/underlyingCause"),
	       "EvictedOnManagerCluster", "and the cause");
	is_str(sim_at(&w, JOBS, "waits", "/status/active"), "1", "another Job has the quota");
	sim_done(&w);
}

static void test_restart(void)
{
	struct ks_actors_options o = {
		.role = KS_WORKER, .seed = 1, .run_ms_min = 1000, .run_ms_max = 1000};
	struct world w;

	sim_init(&w, KS_WORKER, 0, 1000, 1);
	sim_queues(&w, 1, false);
	sim_job(&w, "a", 1, "");
	sim_job(&w, "b", 1, "");
	sim_run(&w, 500);
	ks_actors_free(w.actors);
	w.actors = ks_actors_new(w.store, &o);
	sim_run(&w, 0);
	is_str(sim_at(&w, JOBS, "b", "/status/active"), "-",
	       "a restart remembers the quota in use");
	sim_run(&w, 500);
	ok(sim_condition(sim_get(&w, JOBS, "a"), "Complete") != NULL, "and when the job ends");
	is_str(sim_at(&w, JOBS, "b", "/status/active"), "1", "the next one starts");
	sim_done(&w);
}

int main(void)
{
	test_plain_job();
	test_failing_job();
	test_quota();
	test_order();
	test_missing_queue();
	test_prebuilt();
	test_out_of_sync();
	test_eviction();
	test_restart();
	return done_testing();
}
