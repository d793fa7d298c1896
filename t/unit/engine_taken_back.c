/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client takes our check back to Pending beside a recorded winner, or clears the winner's name:
 * whatever befalls the winner then is told all the same. And jobs that an earlier round left: they
 * go before another cluster wins.
 */
#include "t/lib/engine_world.h"

#define COMPLETE "{\"type\":\"Complete\",\"status\":\"True\"}"

static void take_back(struct world *w, struct object *wl)
{
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"\"}]}}");
}

static struct object *taken_back(struct world *w, bool link_down)
{
	struct object *wl = running_job(w);

	if (link_down) {
		w_link(w, 2, LINK_DOWN);
		w->stay_down[2] = true;
		w_settle(w);
	}
	take_back(w, wl);
	return wl;
}

static void what_befalls_the_winner(void)
{
	struct world *w = w_new(2);
	struct object *wl = taken_back(w, false);

	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry", "its clone is gone");
	is_str(check_message(w, wl), "Admitting remote no longer exists, Previously: \"Pending\"",
	       "message");
	w_free(w);

	w = w_new(2);
	wl = taken_back(w, true);
	w_later(w, 890000);
	is_str(check_state(w, wl), "Pending", "its cluster is out of reach: patience");
	w_later(w, 20000);
	is_str(check_message(w, wl), "Admitting remote lost, Previously: \"Pending\"",
	       "for so long");
	w_free(w);

	w = w_new(2);
	wl = taken_back(w, false);
	w_patch(w, wl,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"podSets\":[{\"name\":\"main\","
		"\"count\":3}]}}");
	w_later(w, 2000);
	is_str(check_state(w, wl), "Retry", "its spec is another one");
	w_free(w);

	w = w_new(2);
	wl = taken_back(w, false);
	clone_condition(w, 2, "wl-j", "Finished", "OutOfSync", true);
	w_later(w, 2000);
	is_str(check_state(w, wl), "Retry", "it is out of sync");
	w_free(w);
}

/*
 * Ready, the name cleared, and no job anywhere: none is made on a clone that happens to be
 * admitted.
 */
static void cleared_before_the_job(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry", "its job is gone: Retry");
	ok(!strstr(w_take(w), "create 2 Job"), "no job is made without a recorded winner");
	w_free(w);
}

/* The worker on which the job ran before, and counted as lost, is back with its copy. */
static void cleared_beside_an_earlier_copy(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_settle(w);
	w_put(w, 1, KIND_WORKLOAD, clone_of(w, 2, "wl-j")->text);
	w_put(w, 1, JOB, w_find(w, 2, JOB, "ns", "j")->text);
	w_later(w, 60 * 1000);
	ok(!w_find(w, 1, JOB, "ns", "j") && !clone_of(w, 1, "wl-j"),
	   "the name is cleared, and a lost worker is back: its copy goes");
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"), "... the winner's runs on");
	is_str(check_state(w, wl), "Ready", "... and is not given up");
	w_free(w);
}

/*
 * ... with a clone that is Finished there, and goes with its copy. Before the name was cleared, the
 * next place had won: that end is of a round before.
 */
static void cleared_beside_an_earlier_clone(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_settle(w);
	w->hold = true;
	w_put(w, 1, KIND_WORKLOAD, clone_of(w, 2, "wl-j")->text);
	clone_condition(w, 1, "wl-j", "Finished", "Succeeded", true);
	w_put(w, 1, JOB, w_find(w, 2, JOB, "ns", "j")->text);
	w_settle(w);
	ok(strstr(w_take(w), "delete 1 Job j"), "the name is cleared, an earlier copy goes");
	w_del(w, w_find(w, 1, JOB, "ns", "j"));
	w_del(w, clone_of(w, 1, "wl-j"));
	w->hold = false;
	w_later(w, 5000);
	ok(!strstr(w_str(w, wl, "/status/conditions"), "Finished"),
	   "... and its clone's end is not that of the job");
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"), "... which runs on");
	w_free(w);
}

/* The worker's Kueue evicts the clone, which is still Admitted until its pods have stopped. */
static void cleared_and_evicted_there(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_settle(w);
	is_str(check_state(w, wl), "Ready", "the name is cleared: its job runs on");
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry", "evicted there: Retry, as with a name");
	w_free(w);
}

/*
 * ... and a clone whose fate is unknown is asked for; a cluster out of
 * reach is waited for as a winner's.
 */
static void cleared_and_unknown(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_link(w, 1, LINK_DOWN);
	w->stay_down[1] = true;
	w_settle(w);
	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 890000);
	is_str(check_state(w, wl), "Ready", "it may be on the cluster that is out of reach");
	w_later(w, 20000);
	is_str(check_state(w, wl), "Retry", "but not for ever");
	w_free(w);
}

/*
 * The check taken back and the name cleared, with the workload admitted: it is no
 * new race, the job is looked for.
 */
static void taken_back_and_cleared(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, wl,
		"{\"status\":{\"clusterName\":null,\"admissionChecks\":[{\"name\":\"mk\",\"state\":"
		"\"Pending\",\"message\":\"\"}],\"conditions\":[" QUOTA "," ADMITTED "]}}");
	w_later(w, 5000);
	is_str(check_state(w, wl), "Ready", "its job runs: Ready again");
	ok(!strstr(w_take(w), "create") && w_find(w, 2, JOB, "ns", "j"), "and runs on, alone");
	w_free(w);
}

/*
 * The name is cleared, and an earlier round left a job on a worker that
 * was out of reach: both are over.
 */
static void cleared_beside_an_earlier_job(bool message)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"startTime\":\"2027-01-15T08:00:09Z\"}}");
	w_later(w, 5000);
	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	if (!message) {
		w_patch(w, wl,
			"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Ready\","
			"\"message\":\"\"}]}}");
	}
	w_put(w, 1, KIND_WORKLOAD, clone_of(w, 2, "wl-j")->text);
	w_put(w, 1, JOB, w_find(w, 2, JOB, "ns", "j")->text);
	clone_condition(w, 1, "wl-j", "Finished", "Succeeded", true);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_patch(w, w_find(w, 1, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":1,\"startTime\":"
		"\"2027-01-15T08:00:01Z\",\"conditions\":[" COMPLETE "]}}");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[" COMPLETE "]}}");
	w_later(w, 5000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
	       message ? "the check still tells which of them had won"
		       : "nor does the check tell: the local job started when its copy did");
	w_free(w);
}

/*
 * The same while the last winner is out of reach, or its cluster forgotten: what the earlier
 * round left does not speak for it.
 */
static void cleared_beside_an_earlier_end(bool forgotten)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_put(w, 1, KIND_WORKLOAD, clone_of(w, 2, "wl-j")->text);
	w_put(w, 1, JOB, w_find(w, 2, JOB, "ns", "j")->text);
	clone_condition(w, 1, "wl-j", "Finished", "Succeeded", true);
	w_patch(w, w_find(w, 1, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":1,\"conditions\":[" COMPLETE "]}}");
	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	if (forgotten) {
		w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	}
	w->stay_down[2] = true;
	w_restart(w);
	w_settle(w);
	if (!forgotten) {
		w_link(w, w->links[2], LINK_DOWN);
	}
	w_later(w, 20000);
	ok(!strstr(w_take(w), "merge 0 Job"), "the end of an earlier round is not told");
	is_str(check_state(w, wl), "Ready", "its cluster is waited for, also without its object");
	w_later(w, 900000);
	if (forgotten) {
		is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "1",
		       "but not for ever: then the job ended where its copy did");
	} else {
		is_str(check_state(w, wl), "Retry", "but not for ever");
	}
	w_free(w);
}

/*
 * The job that an earlier round left is being deleted, and its cluster admits
 * the clone before that is done.
 */
static void loses_its_job(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	refuse_jobs(w, OP_DELETE, 1000);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_settle(w);
	evict(w, wl, "x");
	w_settle(w);
	release_quota(w, wl);
	w_settle(w);
	give_quota(w, wl);
	w_later(w, 1000);
	ok(clone_of(w, 2, "wl-j") && w_find(w, 2, JOB, "ns", "j"),
	   "a new clone where the job of the last round is");
	w_take(w);
	admit(w, 1, "wl-j");
	w->hold = true; /* the delete is out */
	w_later(w, 60000);
	ok(strstr(w_take(w), "delete 2 Job j") != NULL,
	   "another cluster is about to win: the job goes first");
	admit(w, 2, "wl-j");
	w_settle(w);
	ok(!strstr(w_take(w), " win\n"), "a clone that loses its job does not win by it");
	w_free(w);
}

/* The round ended, the job's delete fails for a while, another clone is admitted meanwhile. */
static void left_by_an_earlier_round(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *log;

	refuse_jobs(w, OP_DELETE, 3);
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_settle(w);
	evict(w, wl, "x");
	w_settle(w);
	give_quota(w, wl);
	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "",
	       "no cluster wins while the job may run elsewhere");
	w_take(w);
	w_later(w, 5000);
	log = w_take(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "it is gone: the other one wins");
	ok(strstr(log, "delete 2 Job j") && strstr(log, " win\n") > strstr(log, "delete 2 Job j"),
	   "the delete comes before the win");
	w_free(w);
}

/*
 * The same, and a new process, which sees clones before it sees jobs: no cluster wins until it is
 * known what was left where; but a list that does not come holds no Workload for ever.
 */
static void left_by_an_earlier_process(bool listed)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *log;

	refuse_jobs(w, OP_DELETE, 1000);
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_settle(w);
	evict(w, wl, "x");
	w_settle(w);
	give_quota(w, wl);
	w_settle(w);
	w->hold_jobs[2] = true;
	w_restart(w);
	admit(w, 1, "wl-j");
	w_later(w, 50000);
	ok(!strstr(w_take(w), " win\n"),
	   "no cluster wins while it is not known what runs elsewhere");
	if (listed) {
		w_list(w, 2, JOB);
		w_settle(w);
		log = w_take(w);
		ok(!strstr(log, " win\n") && strstr(log, "delete 2 Job j"),
		   "what was left is removed first");
		w->rig.times = 0;
		w_later(w, 5000);
	} else {
		w_later(w, 15 * 60 * 1000); /* its status says that it runs: workerLostTimeout */
	}
	is_str(w_str(w, wl, "/status/clusterName"), "w1",
	       listed ? "then the other one wins" : "a broken list holds no Workload for ever");
	w_free(w);
}

/*
 * Evicted, its clone removed by a user, and the job there is of a predecessor of the same name:
 * that goes, and is not asked for.
 */
static void left_by_a_predecessor(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":2}}");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/workload-uid\":\"old\"}}}");
	w_del(w, clone_of(w, 2, "wl-j"));
	evict(w, wl, "x");
	w_later(w, 5000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "what a predecessor left goes");
	ok(w_times(w_take(w), "get 2 Job") < 5, "what is there is not asked for");
	w_free(w);
}

/* A copy that was seen on a cluster out of reach is waited for as long as a lost winner. */
static void left_out_of_reach(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w->stay_down[2] = true;
	w_settle(w);
	evict(w, wl, "x");
	w_settle(w);
	queue_again(w, wl);
	admit(w, 1, "wl-j");
	w_later(w, 1000);
	is_str(w_str(w, wl, "/status/clusterName"), "",
	       "a copy out of reach may run: no other one wins");
	w_later(w, 900000);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "... for longer than workerLostTimeout");
	w_free(w);
}

/*
 * A win is on its way, or its answer got lost: the clone that may have won
 * stays, whatever becomes of it.
 */
static void a_win_under_way(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	const char *log;

	w_settle(w);
	admit(w, 2, "wl-j");
	w->hold = true; /* the win's answer is out */
	w_settle(w);
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", false);
	w_settle(w);
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), "{\"spec\":{\"clusters\":[\"w1\"]}}");
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, " win\n") && !strstr(log, "delete"),
	   "no clone goes while a win is on its way");
	w_free(w);

	w = w_new(2);
	wl = a_job(w, "j");
	w_settle(w);
	w->silent_watch = true;
	w->lose = 1; /* the win is written, and its answer lost */
	admit(w, 2, "wl-j");
	w_step(w);
	is_int((long long)w->lose, 0, "the win is written");
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", false);
	w_settle(w);
	w->silent_watch = false;
	w_later(w, 5000);
	log = w_take(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "it has won, as a get tells");
	ok(!strstr(log, "delete 2 Workload"), "and its clone is there still");
	is_str(check_state(w, wl), "Retry", "its eviction is told");
	w_free(w);
}

/* The queue of a job that runs on the manager gains the check: no client took a check back. */
static void check_is_new(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"managedBy\":null}}");
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"},{"
		"\"type\":\"Admitted\",\"status\":\"True\"}]}}");
	w_later(w, 5000);
	is_str(check_state(w, wl), "Rejected", "a job that is not ours is rejected, in one step");
	ok(!strstr(w_take(w), "create"), "and no clone is made");
	w_free(w);

	w = w_new(2);
	wl = a_job(w, "j");
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"},{"
		"\"type\":\"Admitted\",\"status\":\"True\"}]}}");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_later(w, 5000);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "one that is ours is dispatched");
	is_str(check_state(w, wl), "Ready", "without a Retry");
	w_free(w);
}

/* The winner's MultiKueueCluster goes, then its name in the status: the message still has it. */
static void cleared_after_the_cluster(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w->full = true;
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_settle(w);
	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_later(w, 890000);
	is_str(check_state(w, wl), "Ready", "its job runs out of sight: no Retry");
	ok(strstr(w_take(w), "WorkerUnreachable"), "... but an Event");
	w_later(w, 20000);
	is_str(check_message(w, wl), "Admitting remote lost, Previously: \"Ready\"",
	       "... until it counts as lost");
	w_free(w);
}

int main(void)
{
	cleared_after_the_cluster();
	check_is_new();
	a_win_under_way();
	what_befalls_the_winner();
	cleared_before_the_job();
	cleared_beside_an_earlier_copy();
	cleared_beside_an_earlier_clone();
	cleared_and_evicted_there();
	cleared_and_unknown();
	cleared_beside_an_earlier_job(true);
	cleared_beside_an_earlier_job(false);
	cleared_beside_an_earlier_end(false);
	cleared_beside_an_earlier_end(true);
	loses_its_job();
	taken_back_and_cleared();
	left_by_an_earlier_round();
	left_by_an_earlier_process(true);
	left_by_an_earlier_process(false);
	left_out_of_reach();
	left_by_a_predecessor();
	return done_testing();
}
