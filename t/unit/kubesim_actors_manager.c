/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue controller of a manager: managedBy, checks, eviction by checks, deactivation, deletion.
 */
#include "t/lib/kubesim_cluster.h"

static void make_check(struct world *w, bool active)
{
	sim_post(w, KUEUE "admissionchecks",
		 KUEUE_HEAD
		 "\"AdmissionCheck\",\"metadata\":{\"name\":\"mk\"},\"spec\":{"
		 "\"controllerName\":\"kueue.x-k8s.io/multikueue\",\"parameters\":{"
		 "\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":\"MultiKueueConfig\",\"name\":"
		 "\"c\"}}}");
	sim_merge(w, KUEUE "admissionchecks/mk/status",
		  "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"%s\",\"reason\":"
		  "\"Active\",\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}",
		  active ? "True" : "False");
}

/* What multikueued applies: the whole status, with this check and these fields. */
static void set_check(struct world *w, const char *wl, const char *state, const char *message,
		      const char *fields)
{
	const struct json *status = json_get(sim_get(w, WORKLOADS, wl), "status");
	struct json *body = json_new_obj(&w->a), *copy = json_dup(&w->a, status), *more;

	json_parse(&w->a, str_of(fields), &more, NULL);
	json_put(&w->a, copy, "/admissionChecks/0/state", json_new_str(&w->a, str_of(state)));
	json_put(&w->a, copy, "/admissionChecks/0/message", json_new_str(&w->a, str_of(message)));
	json_put(&w->a, copy, "/nominatedClusterNames", NULL);
	copy = json_merge(&w->a, copy, more);
	json_put(&w->a, body, "/apiVersion", json_new_str(&w->a, STR("kueue.x-k8s.io/v1beta2")));
	json_put(&w->a, body, "/kind", json_new_str(&w->a, STR("Workload")));
	json_put(&w->a, body, "/metadata/name", json_new_str(&w->a, str_of(wl)));
	json_put(&w->a, body, "/metadata/namespace", json_new_str(&w->a, STR("default")));
	json_put(&w->a, body, "/status", copy);
	is_int(sim_apply_status(w, wl, "%s", json_write(&w->a, body).p), 200, "status applied");
}

static void set_job_active(struct world *w, const char *job, int n)
{
	sim_merge(w, arena_printf(&w->a, "/apis/batch/v1/namespaces/default/jobs/%s/status", job).p,
		  "{\"status\":{\"active\":%d,\"ready\":%d,\"startTime\":%s}}", n, n,
		  n == 0 ? "null" : "\"2027-01-15T08:00:00Z\"");
}

/* A job that is Ready on w1, admitted and started. */
static const char *make_running(struct world *w)
{
	const char *wl;

	sim_init(w, KS_MANAGER, 500, 1000, 1);
	make_check(w, true);
	sim_queues(w, 1, true);
	sim_job(w, "a", 1, "");
	sim_run(w, 0);
	wl = sim_workload_of(w, "a");
	set_check(w, wl, "Pending", "", "{\"nominatedClusterNames\":[\"w1\",\"w2\"]}");
	sim_run(w, 1000);
	set_check(w, wl, "Ready", "The workload was admitted on \"w1\"",
		  "{\"clusterName\":\"w1\"}");
	sim_run(w, 0);
	return wl;
}

static void test_waits_for_check(void)
{
	struct world w;
	const char *wl;

	sim_init(&w, KS_MANAGER, 500, 1000, 1);
	make_check(&w, false);
	sim_queues(&w, 1, true);
	sim_post(&w, "/apis/batch/v1/namespaces/default/jobs",
		 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"a\","
		 "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"}},"
		 "\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
		 "\"name\":\"c\",\"image\":\"i\"}]}}}}");
	is_str(sim_at(&w, JOBS, "a", "/spec/managedBy"), "kueue.x-k8s.io/multikueue",
	       "managedBy is defaulted");
	is_str(sim_at(&w, JOBS, "a", "/spec/suspend"), "true", "and the job suspended");
	sim_run(&w, 10000);
	wl = sim_workload_of(&w, "a");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks/0/state"), "Pending",
	       "the check has an entry");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks/0/name"), "mk", "of its name");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "QuotaReserved"),
	       "False Inadmissible ClusterQueue cq is inactive", "no quota while it is not Active");
	is_str(sim_at(&w, JOBS, "a", "/status/conditions"), "-",
	       "the job runner leaves the job alone");
	sim_merge(
		&w, KUEUE "admissionchecks/mk/status",
		"{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\",\"reason\":"
		"\"Active\",\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
	sim_run(&w, 0);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "QuotaReserved"),
	       "True QuotaReserved Quota reserved in ClusterQueue cq", "reserved when it is");
	sim_run(&w, 10000);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Admitted"), "-",
	       "not admitted while the check is Pending");
	sim_done(&w);
}

static void test_ready(void)
{
	struct world w;
	const char *wl = make_running(&w);

	is_str(sim_condition_text(&w, WORKLOADS, wl, "Admitted"),
	       "True Admitted The workload is admitted", "Ready admits at once");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/clusterName"), "w1", "the cluster is kept");
	is_str(sim_at(&w, JOBS, "a", "/spec/suspend"), "false", "the job is started");
	is_str(sim_at(&w, JOBS, "a", "/spec/template/metadata/labels/kueue.x-k8s.io~1podset"),
	       "main", "its template is labelled");
	sim_run(&w, 100000);
	is_str(sim_at(&w, JOBS, "a", "/status/active"), "-", "no pod runs here");
	is_int((int64_t)ks_actors_refused(w.actors), 0, "no write was refused");
	sim_done(&w);
}

static void test_queue_loses_check(void)
{
	struct world w;
	const char *wl = make_running(&w);

	sim_merge(&w, KUEUE "clusterqueues/cq", "{\"spec\":{\"admissionChecksStrategy\":null}}");
	sim_run(&w, 1000);
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks"), "-",
	       "the queue loses the check: it leaves the Workload, whatever its state");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/clusterName"), "w1", "... the cluster stays");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Admitted"),
	       "True Admitted The workload is admitted", "... and it is admitted still");
	sim_merge(&w, KUEUE "clusterqueues/cq",
		  "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]}"
		  "}}");
	sim_run(&w, 1000);
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks/0/state"), "Pending",
	       "it regains the check, which is Pending");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Admitted"),
	       "True Admitted The workload is admitted", "... and the Workload is admitted still");
	is_int((int64_t)ks_actors_refused(w.actors), 0, "... no write was refused");
	sim_done(&w);
}

#define RETRY                                                                               \
	"Evicted due to AdmissionCheck in Retry state: \"mk\" (Workload evicted on worker " \
	"cluster: \"w1\", resetting for re-admission. Previously: \"Ready\")"

static void test_retry(void)
{
	struct world w;
	const char *wl = make_running(&w);

	set_job_active(&w, "a", 1);
	sim_run(&w, 3000);
	set_check(&w, wl, "Retry",
		  "Workload evicted on worker cluster: \"w1\", resetting for re-admission. "
		  "Previously: \"Ready\"",
		  "{}");
	sim_run(&w, 0);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Evicted"), "True AdmissionCheck " RETRY,
	       "evicted");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/clusterName"), "-", "the cluster is forgotten");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks/0/state"), "Pending",
	       "check reset");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks/0/message"),
	       "Reset to Pending after eviction. Previously: Retry", "with its text");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks/0/retryCount"), "1",
	       "and counted");
	is_str(sim_at(&w, JOBS, "a", "/spec/suspend"), "true", "the job is suspended");
	is_str(sim_at(&w, JOBS, "a", "/metadata/annotations/kueue.x-k8s.io~1stopping"), "true",
	       "and marked as stopping");
	sim_run(&w, 60000);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "QuotaReserved"),
	       "True QuotaReserved Quota reserved in ClusterQueue cq",
	       "quota is kept while pods are active");
	set_job_active(&w, "a", 0);
	sim_run(&w, 0);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Requeued"),
	       "True BackoffFinished The workload backoff was finished", "queued again");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "QuotaReserved"),
	       "True QuotaReserved Quota reserved in ClusterQueue cq", "and reserved anew");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Evicted"),
	       "False QuotaReserved Previously: " RETRY, "the eviction is over");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Admitted"),
	       "False NoReservationUnsatisfiedChecks The workload has no reservation and not all "
	       "checks ready",
	       "not admitted");
	is_str(sim_at(&w, JOBS, "a", "/metadata/annotations/kueue.x-k8s.io~1stopping"), "-",
	       "the stop is over");
	sim_job(&w, "next", 1, "");
	sim_run(&w, 1000);
	set_check(&w, wl, "Retry", "again", "{}");
	sim_run(&w, 0);
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks/0/retryCount"), "2",
	       "counted again");
	is_str(sim_at(&w, WORKLOADS, sim_workload_of(&w, "next"), "/status/admission/clusterQueue"),
	       "cq", "one that waited meanwhile goes first");
	is_int((int64_t)ks_actors_refused(w.actors), 0, "no write was refused");
	sim_done(&w);
}

/* As Kueue 0.18.3 and 0.19.2 do: the time of the check holds the quota until it is over. */
static void test_retry_later(void)
{
	struct world w;
	const char *wl = make_running(&w);

	set_check(&w, wl, "Retry", "later",
		  "{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Retry\",\"message\":"
		  "\"later\",\"lastTransitionTime\":\"2027-01-15T08:00:01Z\","
		  "\"requeueAfterSeconds\":60}]}");
	sim_run(&w, 50000);
	is_str(sim_at(&w, WORKLOADS, wl, "/status/requeueState/requeueAt"), "2027-01-15T08:01:01Z",
	       "the check's time is the Workload's");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Evicted"), "-", "... and holds its quota");
	sim_run(&w, 15000);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Requeued"),
	       "True BackoffFinished The workload backoff was finished",
	       "... then it is evicted and queued again");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks/0/requeueAfterSeconds"), "60",
	       "... the check keeps its time");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/requeueState/requeueAt"), "-",
	       "... the Workload does not");
	is_int((int64_t)ks_actors_refused(w.actors), 0, "no write was refused");
	sim_done(&w);
}

/* The time is written to the Workload itself, after its eviction. */
static void test_requeue_at(void)
{
	struct world w;
	const char *wl = make_running(&w);

	set_job_active(&w, "a", 1);
	set_check(&w, wl, "Retry", "later", "{}");
	sim_run(&w, 0);
	set_check(&w, wl, "Pending", "reset",
		  "{\"requeueState\":{\"requeueAt\":\"2027-01-15T08:02:00Z\"}}");
	sim_job(&w, "next", 1, "");
	set_job_active(&w, "a", 0);
	sim_run(&w, 100000);
	is_str(sim_at(&w, WORKLOADS, sim_workload_of(&w, "next"), "/status/admission/clusterQueue"),
	       "cq", "another one has it");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "QuotaReserved"),
	       "False Pending Evicted due to AdmissionCheck in Retry state: \"mk\" (later)",
	       "the quota is given back at once");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Requeued"),
	       "False AdmissionCheck Evicted due to AdmissionCheck in Retry state: \"mk\" (later)",
	       "... and the Workload is not queued");
	sim_run(&w, 20000);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Requeued"),
	       "True BackoffFinished The workload backoff was finished", "... before its time");
	is_int((int64_t)ks_actors_refused(w.actors), 0, "no write was refused");
	sim_done(&w);
}

static void test_rejected(void)
{
	static const char why[] = "AdmissionCheck in Rejected state: \"mk\" (no adapter)";
	struct world w;
	const char *wl;

	sim_init(&w, KS_MANAGER, 500, 1000, 1);
	make_check(&w, true);
	sim_queues(&w, 1, true);
	sim_job(&w, "a", 1, "");
	sim_run(&w, 0);
	wl = sim_workload_of(&w, "a");
	set_check(&w, wl, "Rejected", "no adapter", "{}");
	sim_run(&w, 0);
	is_str(sim_at(&w, WORKLOADS, wl, "/spec/active"), "false", "deactivated");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Evicted"),
	       arena_printf(&w.a,
			    "True DeactivatedDueToAdmissionCheck The workload is deactivated "
			    "due to %s",
			    why)
		       .p,
	       "evicted");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks/0/state"), "Pending",
	       "check reset");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admission"), "-", "quota given back");
	sim_merge(&w, arena_printf(&w.a, KUEUE "namespaces/default/workloads/%s", wl).p,
		  "{\"spec\":{\"active\":true}}");
	sim_run(&w, 0);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "QuotaReserved"),
	       "True QuotaReserved Quota reserved in ClusterQueue cq",
	       "reactivation queues it again");
	sim_done(&w);
}

static void test_stopped_queue(void)
{
	struct world w;
	const char *wl = make_running(&w);

	set_job_active(&w, "a", 1);
	sim_merge(&w, KUEUE "clusterqueues/cq", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
	sim_run(&w, 0);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Evicted"),
	       "True ClusterQueueStopped The ClusterQueue is stopped", "drained");
	is_str(sim_at(&w, WORKLOADS, wl, "/status/admissionChecks/0/retryCount"), "-",
	       "not the check's fault");
	set_job_active(&w, "a", 0);
	sim_run(&w, 0);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "QuotaReserved"),
	       "False Inadmissible ClusterQueue cq is inactive", "quota gone");
	sim_merge(&w, KUEUE "clusterqueues/cq", "{\"spec\":{\"stopPolicy\":\"None\"}}");
	sim_run(&w, 0);
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Requeued"),
	       "True ClusterQueueRestarted The ClusterQueue was restarted after being stopped",
	       "queued again");
	is_str(sim_condition_text(&w, WORKLOADS, wl, "Evicted"),
	       "False QuotaReserved Previously: The ClusterQueue is stopped", "and reserved");
	sim_done(&w);
}

static void test_deletion(void)
{
	struct world w;
	const char *wl = make_running(&w);

	sim_job(&w, "next", 1, "");
	sim_run(&w, 0);
	sim_delete(&w, "/apis/batch/v1/namespaces/default/jobs/a",
		   "{\"propagationPolicy\":\"Background\"}");
	sim_run(&w, 0);
	ok(!sim_get(&w, WORKLOADS, wl), "the Workload goes with its job");
	is_str(sim_condition_text(&w, WORKLOADS, sim_workload_of(&w, "next"), "QuotaReserved"),
	       "True QuotaReserved Quota reserved in ClusterQueue cq", "the quota is free");
	sim_delete(&w, "/apis/batch/v1/namespaces/default/jobs/next",
		   "{\"propagationPolicy\":\"Foreground\"}");
	sim_run(&w, 0);
	is_str(sim_workload_of(&w, "next"), "-", "foreground deletion takes the Workload");
	ok(!sim_get(&w, JOBS, "next"), "then the job");
	sim_job(&w, "left", 1, "");
	sim_run(&w, 0);
	sim_delete(&w, "/apis/batch/v1/namespaces/default/jobs/left",
		   "{\"propagationPolicy\":\"Orphan\"}");
	sim_run(&w, 0);
	ok(!sim_get(&w, JOBS, "left"), "orphaning deletes the job");
	is_str(sim_at(&w, WORKLOADS, sim_workload_of(&w, "left"), "/metadata/ownerReferences"), "-",
	       "and leaves the Workload without owner");
	is_int((int64_t)ks_actors_refused(w.actors), 0, "no write was refused");
	sim_done(&w);
}

static void test_finished_by_daemon(void)
{
	struct world w;
	const char *wl = make_running(&w);

	sim_job(&w, "next", 1, "");
	sim_run(&w, 0);
	sim_merge(&w, "/apis/batch/v1/namespaces/default/jobs/a/status",
		  "{\"status\":{\"startTime\":\"2027-01-15T08:00:00Z\",\"completionTime\":"
		  "\"2027-01-15T08:00:01Z\",\"succeeded\":1,\"conditions\":[{\"type\":"
		  "\"SuccessCriteriaMet\",\"status\":\"True\"},{\"type\":\"Complete\",\"status\":"
		  "\"True\",\"message\":\"done\"}]}}");
	sim_run(&w, 0);
	ok(sim_condition(sim_get(&w, WORKLOADS, wl), "Finished") != NULL,
	   "a mirrored end finishes the Workload");
	is_str(sim_at(&w, WORKLOADS, wl, "/metadata/finalizers"), "-", "no finalizer");
	is_str(sim_condition_text(&w, WORKLOADS, sim_workload_of(&w, "next"), "QuotaReserved"),
	       "True QuotaReserved Quota reserved in ClusterQueue cq", "the quota is free");
	sim_done(&w);
}

int main(void)
{
	test_waits_for_check();
	test_ready();
	test_queue_loses_check();
	test_retry();
	test_retry_later();
	test_requeue_at();
	test_rejected();
	test_stopped_queue();
	test_deletion();
	test_finished_by_daemon();
	return done_testing();
}
