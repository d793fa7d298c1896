/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy whose server no MultiKueueCluster names any more, while nothing on the manager says where
 * the job ran: it is out of sight, not gone. And the other way round: where the copy was seen, the
 * former servers of other names are not waited for.
 */
#include "t/lib/engine_leads.h"
#include "t/lib/engine_world.h"

enum { SECOND = 1000, TIMEOUT = 900 * SECOND };

static void config(struct world *w, const char *clusters)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"spec\":{\"clusters\":%s}}", clusters);
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), text);
}

static void unname(struct world *w, const char *name)
{
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", name));
	w_settle(w);
}

static struct object *job_at_home(struct world *w)
{
	return w_find(w, 0, JOB, "ns", "j");
}

static bool holds_quota(struct world *w)
{
	return !strcmp(w_str(w, job_at_home(w), "/status/active"), "2");
}

/* The job runs on w2, with two pods. */
static struct object *running(struct world *w)
{
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":2}}");
	w_later(w, 5 * SECOND);
	ok(holds_quota(w), "the job runs, and its status says so at home");
	return wl;
}

/* Kueue suspends it on the manager, too. */
static void evicted(struct world *w, struct object *wl)
{
	evict(w, wl, "AdmissionCheck");
	w_patch(w, job_at_home(w), "{\"spec\":{\"suspend\":true}}");
	w_settle(w);
}

/* The winner leaves the config, and before its job is stopped there, its MultiKueueCluster goes. */
static void leaves_config_and_goes(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);
	const char *log;

	w->full = true;
	config(w, "[\"w1\",\"w3\"]");
	w_settle(w);
	is_str(check_state(w, wl), "Retry", "the winner leaves the config");
	w_take(w);
	unname(w, "w2");
	evicted(w, wl);
	w_later(w, TIMEOUT - 20 * SECOND);
	ok(holds_quota(w), "... and its MultiKueueCluster goes: its copy may run on");
	log = w_take(w);
	is_int((int)w_times(log, "\"reason\":\"WorkerUnreachable\""), 1, "one Event reports it");
	ok(strstr(check_message(w, wl),
		  "the worker where the job ran: has no MultiKueueCluster any more since") != NULL,
	   "so does the check");
	w_later(w, 20 * SECOND);
	ok(!holds_quota(w), "after workerLostTimeout it counts as lost");
	w_free(w);
}

/*
 * The eviction takes the winner from the record while its name has no MultiKueueCluster. That is
 * made anew, and the copy has gone: where it was is in sight, so another name, which led elsewhere
 * when the job was sent, is not waited for.
 */
static void back_without_its_copy(void)
{
	struct world *w = w_new(2);
	struct object *wl = running(w);

	lead(w, 1, 7);
	unname(w, "w2");
	evicted(w, wl);
	w_later(w, 5 * SECOND);
	ok(holds_quota(w), "evicted, and its MultiKueueCluster has gone: its copy may run on");
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w->alias_of[3] = 2;
	add_cluster(w, 2, ",\"creationTimestamp\":\"2027-01-15T08:00:20Z\"");
	w_later(w, 30 * SECOND);
	ok(!holds_quota(w), "... it is back, and leads where the copy ran: that has stopped");
	w_free(w);
}

static void leads(struct world *w, bool does)
{
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = does;
	w_settle(w);
}

/* The MultiKueueCluster goes, and then the Workload: Kueue makes another one for the job. */
static void made_anew(bool by_standby)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	leads(w, !by_standby);
	unname(w, "w2");
	w_del(w, wl);
	w_later(w, 60 * SECOND);
	a_workload(w, "j");
	leads(w, true);
	w_later(w, TIMEOUT - 80 * SECOND);
	admit(w, 1, "wl-j");
	w_settle(w);
	ok(!w_find(w, 1, JOB, "ns", "j"),
	   by_standby ? "... also when a standby saw that"
		      : "made anew: the copy of the Workload before may run on");
	w_later(w, 40 * SECOND);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "... until it counts as lost");
	w_free(w);
}

/* The copy was seen, and removed, when the Workload is made anew: none is where we cannot look. */
static void made_anew_after_removal(bool at_once)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	w->stay_down[3] = true;
	w_link(w, 3, LINK_DOWN);
	w_settle(w);
	w_del(w, wl);
	if (at_once) {
		wl = a_workload(w, "j");
		w_settle(w);
		w_del(w, wl);
	}
	w_settle(w);
	ok(!w_find(w, 2, JOB, "ns", "j"), "the Workload goes, and its copy");
	ok(holds_quota(w), "... and the job's status still says that it runs");
	a_workload(w, "j");
	w_settle(w);
	admit(w, 1, "wl-j");
	w_later(w, 20 * SECOND);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL,
	   at_once ? "made anew twice: the same" : "made anew: it runs on another worker at once");
	w_free(w);
}

/* A new process has not seen the worker where the job runs when the Workload is made anew. */
static void made_anew_unseen(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	w->stay_down[2] = true;
	w_stop(w);
	w_del(w, wl);
	a_workload(w, "j");
	w_start(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 20 * SECOND);
	admit(w, 1, "wl-j");
	w_later(w, TIMEOUT - 80 * SECOND);
	ok(!w_find(w, 1, JOB, "ns", "j"),
	   "the job's status says that it runs, and a worker was never seen: it is waited for");
	w_later(w, 90 * SECOND);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "... until it counts as lost");
	w_free(w);
}

/* The same, and the worker's MultiKueueCluster is gone when the process starts. */
static void made_anew_unnamed(void)
{
	struct world *w = w_new(2);
	struct object *wl = running(w);

	w_stop(w);
	w_del(w, wl);
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	a_workload(w, "j");
	w_start(w);
	w_later(w, 20 * SECOND);
	admit(w, 1, "wl-j");
	w_later(w, TIMEOUT - 80 * SECOND);
	ok(!w_find(w, 1, JOB, "ns", "j"),
	   "... or is one that the config names, and no MultiKueueCluster leads to");
	w_later(w, 90 * SECOND);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "... for as long as for one that is lost");
	w_free(w);
}

/* The same, and the config does not name the worker any more. */
static void made_anew_outside(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	w->stay_down[2] = true;
	w_stop(w);
	w_del(w, wl);
	config(w, "[\"w1\",\"w3\"]");
	a_workload(w, "j");
	w_start(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 20 * SECOND);
	admit(w, 1, "wl-j");
	w_later(w, TIMEOUT - 80 * SECOND);
	ok(!w_find(w, 1, JOB, "ns", "j"), "... or is one that the config named before");
	w->stay_down[2] = false;
	w_link(w, 2, LINK_UP);
	w_later(w, 20 * SECOND);
	ok(!w_find(w, 2, JOB, "ns", "j") && w_find(w, 1, JOB, "ns", "j"),
	   "... which shows the copy again: it goes, and the other one wins");
	w_free(w);
}

/*
 * The round ended, and Kueue began the next one, before its copy was stopped; then the daemon was
 * gone. 'comes': the worker where the copy is does before it counts as lost.
 */
static void evicted_unseen(bool comes)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);
	struct pending *up;

	w->stay_down[2] = true;
	w_stop(w);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"status\":{\"active\":null}}");
	evict(w, wl, "Evicted due to AdmissionCheck in Retry state");
	release_quota(w, wl);
	give_quota(w, wl);
	w_start(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 20 * SECOND);
	admit(w, 1, "wl-j");
	w_later(w, TIMEOUT - 80 * SECOND);
	ok(strstr(check_message(w, wl), "a copy from an earlier round may be there"),
	   "the check's message says what is waited for");
	ok(!w_find(w, 1, JOB, "ns", "j"),
	   "evicted once, and a worker was never seen: it is waited for");
	if (comes) {
		w->stay_down[2] = false;
		up = w_event(w, EV_LINK, 2, 0);
		up->ev.link = LINK_UP;
		up->name = w_dup(STR("worker-2"));
		w_later(w, 5 * SECOND);
		ok(!w_find(w, 1, JOB, "ns", "j"), "... also until its lists are here");
		w_link(w, 2, LINK_UP);
		w_later(w, 5 * SECOND);
		ok(!w_find(w, 2, JOB, "ns", "j"), "... it is back: the copy there goes");
	} else {
		w_later(w, 90 * SECOND);
	}
	ok(w_find(w, 1, JOB, "ns", "j") != NULL,
	   comes ? "... then the job goes on" : "... until it counts as lost");
	w_free(w);
}

/* A new process has never seen the jobs of the worker that evicts the winner's clone. */
static void won_unseen(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	w_stop(w);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"status\":{\"active\":null}}");
	w->hold_jobs[2] = true;
	w_start(w);
	w_later(w, 70 * SECOND);
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_later(w, SECOND);
	is_str(check_state(w, wl), "Retry", "a worker evicts what it won, its jobs are not listed");
	evict(w, wl, "Evicted due to AdmissionCheck in Retry state");
	release_quota(w, wl);
	give_quota(w, wl);
	w_later(w, 2 * SECOND);
	admit(w, 1, "wl-j");
	w_later(w, 60 * SECOND);
	ok(!w_find(w, 1, JOB, "ns", "j"), "the copy may be there: no other place wins");
	w->hold_jobs[2] = false;
	w_list(w, 2, JOB);
	w_later(w, 10 * SECOND);
	ok(!w_find(w, 2, JOB, "ns", "j"), "... it is seen, and goes");
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "... then the job goes on");
	w_free(w);
}

/* The same, and the MultiKueueCluster is there again: its server shows the copy. */
static void is_back(bool has_copy)
{
	struct world *w = w_new(3);
	struct object *wl = running(w), *copy = w_find(w, 2, JOB, "ns", "j");

	config(w, "[\"w1\",\"w3\"]");
	unname(w, "w2");
	evicted(w, wl);
	w_later(w, 60 * SECOND);
	if (!has_copy) {
		w_del(w, clone_of(w, 2, "wl-j"));
		w_del(w, copy);
	}
	w_take(w);
	add_cluster(w, 4, "");
	w->alias_of[4] = 2;
	w->hold_jobs[4] = true;
	add_secret(w, 4);
	w_later(w, 10 * SECOND);
	ok(holds_quota(w), "its server has another name: its list is waited for");
	w->hold_jobs[4] = false;
	w_list(w, 4, JOB);
	w_later(w, 10 * SECOND);
	if (has_copy) {
		ok(strstr(w_take(w), "deactivate") != NULL && holds_quota(w),
		   "... the copy is seen and stopped");
	} else {
		ok(!holds_quota(w), "... and shows nothing: nothing is there any more");
	}
	w_free(w);
}

/* Out of the config and out of reach, the copy may run on. */
static void leaves_config_and_is_lost(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	w->stay_down[2] = true;
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	config(w, "[\"w1\",\"w3\"]");
	w->full = true;
	w_take(w);
	w_later(w, 40 * SECOND);
	ok(strstr(w_take(w), "\"w2\\\" that was admitted to is out of reach since") != NULL,
	   "a worker out of reach leaves the config: an Event tells that its job is waited for");
	evicted(w, wl);
	w_later(w, TIMEOUT - 60 * SECOND);
	ok(holds_quota(w), "... its copy may run on");
	w_later(w, 40 * SECOND);
	ok(!holds_quota(w), "until it counts as lost");
	w_free(w);
}

/* The round ends and the next begins while the copy is out of sight. */
static void next_round(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	unname(w, "w2");
	evict(w, wl, "Preempted");
	release_quota(w, wl);
	give_quota(w, wl);
	w_settle(w);
	admit(w, 3, "wl-j");
	w_later(w, TIMEOUT - 60 * SECOND);
	is_str(check_state(w, wl), "Pending", "a copy is out of sight: no other clone wins");
	w_later(w, 90 * SECOND);
	is_str(check_state(w, wl), "Ready", "until it counts as lost");
	w_free(w);
}

/* Another job of the same name does not wait for it. */
static void another_job(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	unname(w, "w2");
	w_del(w, wl);
	w_del(w, job_at_home(w));
	w_settle(w);
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 3, "wl-j");
	w_later(w, 5 * SECOND);
	is_str(check_state(w, wl), "Ready", "another job of the name wins at once");
	w_free(w);
}

/* Another client clears clusterName meanwhile. */
static void winner_is_cleared(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	unname(w, "w2");
	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_later(w, TIMEOUT - 20 * SECOND);
	is_str(check_state(w, wl), "Ready", "no winner on record, a copy out of sight: no Retry");
	w_later(w, 40 * SECOND);
	is_str(check_state(w, wl), "Retry", "until it counts as lost");
	w_free(w);
}

/* The copy was seen on w2, and is gone: what other names led to before does not matter. */
static void others_are_made_anew(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	w_del(w, clone_of(w, 2, "wl-j"));
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_later(w, 5 * SECOND);
	unname(w, "w1");
	add_cluster(w, 1, ",\"creationTimestamp\":\"2027-01-15T08:00:30Z\"");
	w_settle(w);
	evicted(w, wl);
	w_later(w, 30 * SECOND);
	ok(!holds_quota(w), "another worker's MultiKueueCluster is made anew: quota comes back");
	w_free(w);
}

/*
 * A new process finds the winner on record, and its copy gone: it knows as much. The
 * MultiKueueCluster 'name' is younger than the reservation, and not than the win there.
 */
static void process_is_new(const char *name, const char *won)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\","
		 "\"reason\":\"QuotaReserved\",\"message\":\"\",\"lastTransitionTime\":"
		 "\"2027-01-15T08:00:02Z\"}],\"admissionChecks\":[{\"name\":\"mk\",\"state\":"
		 "\"Ready\",\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:%sZ\"}]}}",
		 won);
	w_patch(w, wl, text);
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", name),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T08:00:06Z\"}}");
	w_later(w, 30 * SECOND);
	w_stop(w);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w->hold_jobs[2] = true;
	w_start(w);
	w_later(w, 1 * SECOND);
	w->hold_jobs[2] = false;
	w_list(w, 2, JOB);
	w_later(w, 10 * SECOND);
	is_str(check_state(w, wl), "Retry", "a new process finds that the copy is gone");
	evicted(w, wl);
	w_later(w, 30 * SECOND);
	ok(!holds_quota(w), "... from where it won: quota comes back");
	w_free(w);
}

/* A new process is shown the jobs of w2 before its link says which server that is. */
static void listed_before_the_link(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	evicted(w, wl);
	w->stay_down[2] = true;
	w_restart(w);
	w_settle(w);
	w->up[2] = true;
	w_list(w, 2, JOB);
	w_settle(w);
	w->stay_down[2] = false;
	w_link(w, w->links[2], LINK_UP);
	w_later(w, 5 * SECOND);
	ok(holds_quota(w), "a new process finds the copy, which is still running");
	w_del(w, clone_of(w, 2, "wl-j"));
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_later(w, 30 * SECOND);
	ok(!holds_quota(w), "... and is gone: no other server is waited for");
	w_free(w);
}

/* The texts of what is Finished are not kept: nothing may be asked of them again and again. */
static void finished(void)
{
	struct world *w = w_new(3);
	struct object *wl = running(w);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":0,\"conditions\":[{\"type\":\"Complete\",\"status\":"
		"\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "JobFinished", true);
	w_later(w, 30 * SECOND);
	ok(objects_on(w, 2) == 0, "a job has ended, and no copy is left");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T08:10:00Z\"}}");
	w_restart(w);
	w_later(w, 10 * SECOND);
	w_take(w);
	w_patch(w, wl, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	w_later(w, 60 * SECOND);
	is_int((int)w_times(w_take(w), "get 0 Workload"), 0,
	       "its winner's MultiKueueCluster is made anew: the Workload is not asked for");
	w_free(w);
}

int main(void)
{
	leaves_config_and_goes();
	back_without_its_copy();
	is_back(true);
	is_back(false);
	leaves_config_and_is_lost();
	made_anew(false);
	made_anew(true);
	made_anew_after_removal(false);
	made_anew_after_removal(true);
	made_anew_unseen();
	made_anew_unnamed();
	made_anew_outside();
	evicted_unseen(false);
	evicted_unseen(true);
	won_unseen();
	next_round();
	another_job();
	winner_is_cleared();
	others_are_made_anew();
	listed_before_the_link();
	process_is_new("w1", "02");
	process_is_new("w2", "20");
	finished();
	return done_testing();
}
