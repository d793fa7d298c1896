/* SPDX-License-Identifier: Apache-2.0 */
/* Evictions on the worker and on the manager, workers lost and back, remote objects that vanish. */
#include "t/lib/engine_world.h"

static void on_worker(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_settle(w);
	is_str(w_take(w), "apply_status 0 Workload wl-j worker_evicted\nevent 0 Event wl-j event\n",
	       "trap_28: one write and an event");
	is_str(check_message(w, wl),
	       "Workload evicted on worker cluster: \"w2\", resetting for re-admission. "
	       "Previously: \"Ready\"",
	       "message");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "clusterName stays until core takes it");

	/*
	 * Core evicts; the local status follows the worker's until
	 * nothing is active, then quota goes.
	 */
	evict(w, wl, "Evicted due to AdmissionCheck");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_settle(w);
	is_str(w_take(w), "apply_status 2 Workload wl-j deactivate\n",
	       "waiting for the worker to stop, which does not queue it again");
	w_advance(w, 1000);
	w_take(w);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":null}}");
	w_settle(w);
	w_advance(w, 1000);
	ok(strstr(w_take(w), "merge 0 Job j evicted_status"), "the wound-down status comes over");
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "", "nothing active");
	release_quota(w, wl);
	w_settle(w);
	is_str(w_take(w), "delete 2 Job j release\ndelete 2 Workload wl-j release\n",
	       "then all goes");
	give_quota(w, wl);
	w_settle(w);
	is_str(w_take(w),
	       "apply_status 0 Workload wl-j nominate\ncreate 1 Workload wl-j clone_create\n"
	       "create 2 Workload wl-j clone_create\ncreate 3 Workload wl-j clone_create\n",
	       "trap_23: a new round, once the quota is new");
	w_free(w);
}

static void on_manager(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	evict(w, wl, "P");
	w_settle(w);
	is_str(w_take(w), "apply_status 2 Workload wl-j deactivate\n",
	       "trap_26: graceful: the worker's Kueue stops the job");
	is_str(w_str(w, clone_of(w, 2, "wl-j"), "/status/conditions/2/message"),
	       "Evicted on manager: P", "reason");
	is_str(w_str(w, clone_of(w, 2, "wl-j"), "/status/admission/clusterQueue"), "cq",
	       "the rest stays");
	w_advance(w, 10000);
	is_str(w_take(w), "", "told once");
	clone_condition(w, 2, "wl-j", "Evicted", "DeactivatedDueToEvictedOnManagerCluster", true);
	w_patch(w, clone_of(w, 2, "wl-j"), "{\"spec\":{\"active\":false}}");
	w_settle(w);
	w_advance(w, 3000);
	is_str(w_take(w), "", "trap_29: no new race and no hard delete while it winds down");
	release_quota(w, wl);
	w_settle(w);
	is_str(w_take(w), "delete 2 Job j release\ndelete 2 Workload wl-j release\n", "released");
	w_free(w);
}

/*
 * Another worker, on which the loser's clone is left, cannot say whether it has a job: the one
 * that has it stops all the same.
 */
static void on_manager_beside_a_slow_worker(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w->rig = (struct rig){.times = 1000,
			      .type = OP_DELETE,
			      .cluster = 1,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	wl = running_job(w);
	ok(clone_of(w, 1, "wl-j") != NULL, "the loser's clone is left");
	w_event(w, EV_BEHIND, 1, JOB);
	w_settle(w);
	w_take(w);
	evict(w, wl, "P");
	w_settle(w);
	is_int((long long)w_times(w_take(w), "apply_status 2 Workload wl-j deactivate"), 1,
	       "a slow worker costs only itself: the job is told to stop");
	w_advance(w, 10000);
	is_int((long long)w_times(w_take(w), "deactivate"), 0, "once");
	w_list(w, 1, JOB);
	w->rig.times = 0;
	w_later(w, 60000);
	ok(!clone_of(w, 1, "wl-j"), "the loser goes when its worker can tell");
	ok(clone_of(w, 2, "wl-j") && w_find(w, 2, JOB, "ns", "j"), "the winner winds down");
	w_free(w);
}

static void lost_and_back(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	is_str(w_take(w),
	       "merge 0 MultiKueueCluster w2 cluster_condition\nmerge 0 AdmissionCheck mk "
	       "check_condition\n",
	       "trap_12: conditions tell it");
	w_advance(w, 500000);
	w_link(w, 2, LINK_UP);
	w_settle(w);
	is_str(w_take(w),
	       "merge 0 MultiKueueCluster w2 cluster_condition\nmerge 0 AdmissionCheck mk "
	       "check_condition\n",
	       "trap_18: back within the grace: no write to the workload");
	is_str(w_str(w, wl, "/status/admissionChecks/0/state"), "Ready", "still Ready");
	w_free(w);
}

static void lost_for_good(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	w_take(w);
	w_advance(w, 899000);
	ok(!strstr(w_take(w), "apply"), "trap_17: within the timeout");
	w_advance(w, 1000);
	is_str(w_take(w), "apply_status 0 Workload wl-j winner_lost\n", "at the timeout");
	is_str(check_message(w, wl), "Admitting remote lost, Previously: \"Ready\"", "message");
	evict(w, wl, "x");
	w_settle(w);
	release_quota(w, wl);
	w_settle(w);
	is_str(w_take(w), "", "nothing can be removed there now");
	w_link(w, 2, LINK_UP);
	w_settle(w);
	ok(strstr(w_take(w), "delete 2 Job j release\ndelete 2 Workload wl-j release\n"),
	   "trap_21 trap_22: it is when the worker is back");
	w_free(w);
}

/* The timeout counts from the first loss, across a restart, but not before a failed connect. */
static void lost_over_restart(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	w_advance(w, 880000);
	w->stay_down[2] = true;
	w_restart(w);
	w_settle(w);
	w_advance(w, 30000);
	is_str(w_str(w, wl, "/status/admissionChecks/0/state"), "Ready",
	       "no verdict before a failed connect");
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	is_str(w_str(w, wl, "/status/admissionChecks/0/state"), "Retry",
	       "then the first loss counts");
	w_free(w);
}

static void clone_gone(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_del(w, clone_of(w, 2, "wl-j"));
	w_settle(w);
	is_str(w_take(w),
	       "get 2 Workload wl-j get\nget 2 Job j get\napply_status 0 Workload wl-j "
	       "winner_gone\n",
	       "absence is asked for before a job is given up, and how the job stands");
	is_str(check_message(w, wl), "Admitting remote no longer exists, Previously: \"Ready\"",
	       "message");
	w_free(w);
}

static void job_gone(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_settle(w);
	is_str(w_take(w), "get 2 Job j get\napply_status 0 Workload wl-j winner_gone\n",
	       "never created again in silence");
	is_str(check_message(w, wl), "Admitting remote no longer exists, Previously: \"Ready\"",
	       "message");
	w_free(w);
}

static void out_of_sync(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	clone_condition(w, 2, "wl-j", "Finished", "OutOfSync", true);
	w_settle(w);
	is_str(w_take(w), "apply_status 0 Workload wl-j out_of_sync\nevent 0 Event wl-j event\n",
	       "trap_44: no finish");
	is_str(check_message(w, wl),
	       "Remote workload on worker cluster \"w2\" is out of sync with its user job, "
	       "resetting for re-dispatch, "
	       "Previously: \"Ready\"",
	       "message");
	w_free(w);
}

static void owner_not_found(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	clone_condition(w, 2, "wl-j", "Finished", "OwnerNotFound", true);
	w_settle(w);
	is_str(w_take(w), "apply_status 0 Workload wl-j out_of_sync\nevent 0 Event wl-j event\n",
	       "a job removed by others is no verdict, and an Event warns");
	is_str(w_str(w, wl, "/status/admissionChecks/0/state"), "Retry", "check");
	is_str(check_message(w, wl),
	       "Remote workload on worker cluster \"w2\" is out of sync with its user job, "
	       "resetting for re-dispatch, Previously: \"Ready\"",
	       "the worker's Kueue no longer finds the owner: out of sync");
	w_free(w);
}

/* Finished before the manager's eviction is through: the result counts. */
static void finished_while_evicted(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	evict(w, wl, "P");
	w_settle(w);
	w_advance(w, 500);
	is_str(w_take(w),
	       "merge 0 Job j last_status\napply_status 0 Workload wl-j finished\ndelete 2 Job j "
	       "release\n"
	       "delete 2 Workload wl-j release\n",
	       "the end is taken over");
	w_free(w);
}

/* A loser that comes back admitted long after: it is stopped, the winner stays. */
static void late_loser(void)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	admit(w, 1, "wl-j");
	admit(w, 2, "wl-j");
	w_settle(w);
	w_take(w);
	w_link(w, 1, LINK_UP);
	w_settle(w);
	ok(strstr(w_take(w), "delete 1 Workload wl-j loser"), "the late one goes");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "the winner stays");
	w_free(w);
}

static void out_of_config(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
		"{\"spec\":{\"clusters\":[\"w1\",\"w3\"]}}");
	w_settle(w);
	is_str(check_message(w, wl), "Admitting remote no longer exists, Previously: \"Ready\"",
	       "the winner left the config");
	evict(w, wl, "x");
	w_settle(w);
	release_quota(w, wl);
	w_settle(w);
	ok(!clone_of(w, 2, "wl-j") && !w_find(w, 2, JOB, "ns", "j"), "and is cleaned up there");
	w_free(w);
}

/*
 * The clone is Finished before its job is seen over, and its cluster leaves the config: the end
 * that was seen counts, the job's own is awaited, and no other round begins.
 */
static void each_end_is_awaited(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	refuse_jobs(w, OP_GET, 1);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_settle(w);
	w_advance(w, 1200);
	ok(strstr(w_take(w), "get 2 Job j") != NULL, "the end is looked for");
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), "{\"spec\":{\"clusters\":[\"w1\"]}}");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}}");
	w_advance(w, 5000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/conditions/0/type"), "Complete",
	       "which is told");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL, "and then it");
	is_str(check_state(w, wl), "Ready", "... though its cluster has left: it runs once");
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"), "... and nothing is left");
	w_free(w);
}

/*
 * The remote job was deleted by others: it runs nowhere, so what the local job says
 * of running pods is taken back.
 */
static void abandoned(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);
	struct object *job = w_find(w, 0, JOB, "ns", "j");

	is_str(w_str(w, job, "/status/active"), "2", "two pods run");
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	clone_condition(w, 2, "wl-j", "Finished", "OwnerNotFound", true);
	w_settle(w);
	ok(strstr(w_take(w), "apply_status 0 Workload wl-j out_of_sync"), "requeued everywhere");
	is_str(w_str(w, job, "/status/active"), "2", "not before the eviction");
	evict(w, wl, "x");
	w_settle(w);
	is_str(w_str(w, job, "/status/active"), "2", "nor before Kueue suspended the local job");
	w_patch(w, job, "{\"spec\":{\"suspend\":true}}");
	w_settle(w);
	w_advance(w, 3000);
	ok(strstr(w_take(w), "merge 0 Job j abandoned"), "then the status is taken back");
	is_str(w_str(w, job, "/status/active"), "", "no pod is active");
	w_advance(w, 60000);
	ok(!strstr(w_take(w), "merge"), "once");
	w_free(w);
}

/*
 * A worker lost for good holds no quota; a manager's own eviction waits for the worker
 * as long as a running job does.
 */
static void abandoned_by_loss(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);
	struct object *job = w_find(w, 0, JOB, "ns", "j");

	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	evict(w, wl, "preempted");
	w_patch(w, job, "{\"spec\":{\"suspend\":true}}");
	w_settle(w);
	w_advance(w, 890000);
	is_str(w_str(w, job, "/status/active"), "2", "within workerLostTimeout its pods may run");
	w_advance(w, 12000);
	is_str(w_str(w, job, "/status/active"), "", "after it they do not count");
	w_free(w);
}

/* A new process has not looked yet whether the worker is back: until then pods may run. */
static void abandoned_over_restart(void)
{
	struct world *w = w_new(1);
	struct object *wl = running_job_on(w, 1);
	struct object *job = w_find(w, 0, JOB, "ns", "j");

	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	evict(w, wl, "preempted");
	w_patch(w, job, "{\"spec\":{\"suspend\":true}}");
	w_settle(w);
	w_advance(w, 500000);
	w->now += 500000; /* no pod runs */
	w->wall += 500000;
	w->stay_down[1] = true;
	w_restart(w);
	w_advance(w, 1000);
	is_str(w_str(w, job, "/status/active"), "2", "the worker was not looked at yet");
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	is_str(w_str(w, job, "/status/active"), "", "then the first loss counts");
	w_free(w);
}

/* The job waits on its worker; the daemon is killed before a second has passed, each time. */
static void idle_over_restarts(void)
{
	struct world *w = w_new(1);
	const struct object *job;

	a_job(w, "j");
	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	job = w_find(w, 0, JOB, "ns", "j");
	w_stop(w);
	w_patch(w, w_find(w, 1, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"conditions\":[{\"type\":\"Suspended\","
		"\"status\":\"True\"}]}}");
	for (int i = 0; i < 5; i++) {
		w_restart(w);
		w_later(w, 400);
	}
	ok(strstr(w_str(w, job, "/status"), "Suspended") != NULL,
	   "an idle job's status comes home by a daemon that is killed every second");
	w_free(w);
}

/*
 * A client takes our check back, and the winner is evicted: nothing else would bring the job
 * anywhere.
 */
static void check_taken_back(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
	clone_condition(w, 2, "wl-j", "Evicted", "Deactivated", true);
	w_settle(w);
	is_str(w_str(w, wl, "/status/admissionChecks/0/state"), "Retry",
	       "taken back and evicted: the next round");
	is_str(check_message(w, wl),
	       "Workload evicted on worker cluster: \"w2\", resetting for re-admission. "
	       "Previously: \"Pending\"",
	       "and it says from where");
	w_free(w);
}

/* Core gives new quota before the worker's Kueue has done what we told it in the round before. */
static void quota_came_back(bool answered)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	evict(w, wl, "P");
	w->hold = !answered;
	w_settle(w);
	w->hold = false;
	is_str(w_take(w), "apply_status 2 Workload wl-j deactivate\n", "the winner shall stop");
	release_quota(w, wl);
	give_quota(w, wl);
	w_settle(w);
	w_advance(w, 1000);
	ok(!strstr(w_take(w), " win\n"),
	   answered ? "what was told to stop does not win" : "nor does it while that is under way");
	if (answered) {
		w_advance(w, 60000);
		is_str(nominated(w, wl), "[\"w1\",\"w2\",\"w3\"]", "a new round on all clusters");
		ok(clone_of(w, 2, "wl-j") &&
			   !strstr(clone_of(w, 2, "wl-j")->text, "DeactivationTarget"),
		   "with a new clone");
		admit(w, 2, "wl-j");
		w_settle(w);
		is_str(w_str(w, wl, "/status/clusterName"), "w2", "which may win");
	}
	w_free(w);
}

int main(void)
{
	quota_came_back(true);
	quota_came_back(false);
	check_taken_back();
	on_worker();
	on_manager();
	on_manager_beside_a_slow_worker();
	lost_and_back();
	lost_for_good();
	lost_over_restart();
	clone_gone();
	job_gone();
	out_of_sync();
	owner_not_found();
	finished_while_evicted();
	late_loser();
	out_of_config();
	each_end_is_awaited();
	abandoned();
	abandoned_by_loss();
	abandoned_over_restart();
	idle_over_restarts();
	return done_testing();
}
