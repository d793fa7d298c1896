/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy that was seen to have ended stays until the manager has its end, whatever rule wants to
 * remove it; but the end of a run that another place has followed counts no more.
 */
#include "core/engine/state.h"
#include "t/lib/engine_world.h"

#define COMPLETE                                                                               \
	"{\"status\":{\"active\":null,\"succeeded\":2,\"startTime\":\"2027-01-15T08:00:00Z\"," \
	"\"completionTime\":\"2027-01-15T08:10:00Z\",\"conditions\":[{\"type\":\"Complete\","  \
	"\"status\":\"True\",\"reason\":\"CompletionsReached\"}]}}"

static bool has(struct world *w, const struct object *o, const char *condition)
{
	return strstr(w_str(w, o, "/status/conditions"), condition) != NULL;
}

static void completes(struct world *w)
{
	struct object *copy = w_find(w, 2, JOB, "ns", "j");

	if (copy) {
		w_patch(w, copy, COMPLETE);
	}
}

/* The manager takes no status until further notice. */
static void is_busy(struct world *w)
{
	w->rig = (struct rig){.times = 1000,
			      .type = OP_MERGE,
			      .cluster = CLUSTER_MANAGER,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
}

/* Kueue evicts the Workload and takes its quota at once. */
static void is_ousted(struct world *w, struct object *wl)
{
	evict(w, wl, "Preempted");
	release_quota(w, wl);
}

static void is_home(struct world *w, const char *name)
{
	const struct object *job = w_find(w, 0, JOB, "ns", "j");

	w->rig.times = 0;
	w_later(w, 20 * 1000);
	is_str(w_str(w, job, "/status/succeeded"), "2", name);
	ok(has(w, job, "\"Complete\""), "... the job is Complete");
	ok(!strstr(w_take(w), "create "), "... and does not run a second time");
}

/*
 * The manager takes no last status for so long that the Workload is Finished alone. Two names of
 * workers are swapped, and a new process looks: the copy's end is still owed, under the other name.
 */
static void names_are_swapped(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:00:00Z\"}}");
	wl = running_job(w);
	is_busy(w);
	completes(w);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 20 * 60 * 1000);
	ok(has(w, wl, "\"Finished\""), "a status that the manager refuses: Finished alone");
	w_stop(w);
	w->alias_of[1] = 2;
	w->alias_of[2] = 1;
	w_restart(w);
	w_later(w, 1000);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "two names are swapped: the copy stays");
	is_home(w, "... until its end is here");
	w_free(w);
}

/* The watch on clones is ahead of the one on jobs: the clone's word is the first of the end. */
static void clone_is_ahead(bool has_quota)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	is_ousted(w, wl);
	if (has_quota) {
		give_quota(w, wl);
	}
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_settle(w);
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"),
	   has_quota ? "in the next round an end is seen of the clone alone: the copy stays"
		     : "without quota an end is seen of the clone alone: the copy stays");
	completes(w);
	is_home(w, "... until its end is here");
	ok(has(w, wl, "\"Finished\""), "... and the Workload is Finished");
	w_free(w);
}

/* A user edits the Workload after the copy has ended: the end is that of the job all the same. */
static void spec_is_edited(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	is_busy(w);
	completes(w);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	is_ousted(w, wl);
	w_patch(w, wl,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"maximumExecutionTimeSeconds\":3600}"
		"}");
	give_quota(w, wl);
	w_later(w, 2000);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL,
	   "the spec is edited after the end: the copy stays");
	is_home(w, "... until its end is here");
	w_free(w);
}

/* The same while the worker's watches are behind: the copy is read before it is given up. */
static void spec_is_edited_unseen(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_later(w, 5000);
	w->up[2] = false;
	completes(w);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w->up[2] = true;
	w_take(w);
	w_patch(w, wl,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"maximumExecutionTimeSeconds\":3600}"
		"}");
	is_home(w, "the spec is edited, and the watches are behind: the end is home");
	is_str(check_state(w, wl), "Ready", "... no Retry is written");
	w_free(w);
}

/* Another client rejects the Workload, and takes the winner away. */
static void is_rejected(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	is_busy(w);
	completes(w);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_patch(w, wl,
		"{\"status\":{\"clusterName\":null,\"admissionChecks\":[{\"name\":\"mk\",\"state\":"
		"\"Rejected\",\"message\":\"x\"}]}}");
	w_later(w, 2000);
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"),
	   "the Workload is rejected after the end: the copy stays");
	is_home(w, "... until its end is here");
	ok(!w_find(w, 2, JOB, "ns", "j"), "... and goes then");
	w_free(w);
}

/* What its clone says is no end; what the copy itself says is. */
static void clone_says_otherwise(const char *reason, bool evicted)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	completes(w);
	clone_condition(w, 2, "wl-j", "Finished", reason, true);
	if (evicted) {
		is_ousted(w, wl);
	}
	is_busy(w);
	w_later(w, 2000);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL,
	   "the copy has ended, and its clone is Finished for another reason: the copy stays");
	is_home(w, "... until its end is here");
	if (!evicted) {
		is_str(check_state(w, wl), "Ready", "... no Retry is written");
	}
	w_free(w);
}

/* The round there is given up for lost, and the job runs on w1. */
static struct object *lost_and_run_elsewhere(struct world *w)
{
	struct object *wl = running_job(w), *job = w_find(w, 0, JOB, "ns", "j");

	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"startTime\":\"2027-01-15T08:00:00Z\"}}");
	w_later(w, 3000);
	w_link(w, 2, LINK_DOWN);
	w->stay_down[2] = true;
	w_settle(w);
	w_advance(w, 16 * 60 * 1000);
	is_ousted(w, wl);
	w_patch(w, job, "{\"spec\":{\"suspend\":true},\"status\":null}");
	w_later(w, 1000);
	give_quota(w, wl);
	w_later(w, 1000);
	admit(w, 1, "wl-j");
	w_patch(w, job, "{\"spec\":{\"suspend\":false}}");
	w_settle(w);
	w_patch(w, w_find(w, 1, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":false},\"status\":{\"active\":2,\"startTime\":"
		"\"2027-01-15T08:20:00Z\"}}");
	w_later(w, 3000);
	return wl;
}

/*
 * A lost worker is back with an end, while the job runs elsewhere: the copy goes, and its end is
 * not written when the later run comes to nothing, either. The times of both would not fit.
 */
static void end_of_a_run_before(bool comes_late)
{
	struct world *w = w_new(2);
	struct object *wl = lost_and_run_elsewhere(w);

	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/startTime"), "2027-01-15T08:20:00Z",
	       "a lost job runs elsewhere");
	completes(w);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	if (comes_late) {
		is_ousted(w, wl);
		w_settle(w);
	}
	w->stay_down[2] = false;
	w_link(w, 2, LINK_UP);
	w_later(w, 5000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "... its first copy is back, has ended, and goes");
	if (!comes_late) {
		is_ousted(w, wl);
	}
	w_later(w, 1000);
	give_quota(w, wl);
	w_later(w, 60 * 1000);
	ok(!strstr(w_take(w), "last_status"), "... the end of a run before is not written");
	ok(!has(w, wl, "\"Finished\""), "... and finishes nothing");
	w_free(w);
}

/* The queue has no check any more, and a client deletes the clone: the copy is all there is. */
static void nothing_may_begin(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, wl, "{\"status\":{\"admissionChecks\":null}}");
	w_settle(w);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 60 * 1000);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL,
	   "without a check, a clone that another client deletes: its copy stays");
	completes(w);
	is_home(w, "... its end is here");
	w_free(w);
}

/*
 * The job waits in a queue without a check when the worker that ran it comes back, with its end and
 * without its clone: nothing shows a new process that it needs the Workload's text.
 */
static void waits_elsewhere(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w->stay_down[2] = true;
	w_settle(w);
	w_del(w, clone_of(w, 2, "wl-j"));
	completes(w);
	is_ousted(w, wl);
	w_patch(w, wl, "{\"status\":{\"admissionChecks\":null,\"clusterName\":null}}");
	w_later(w, 20 * 60 * 1000);
	w->stay_down[2] = false;
	is_busy(w);
	w_restart(w);
	w_later(w, 10 * 1000);
	is_int((long long)w_times(w->log, "get 0 Workload wl-j"), 1,
	       "the end of a job that waits in a queue without check: its Workload is read once");
	is_home(w, "... its end is here");
	w_free(w);
}

/* For how long it was refused must not make the end late: the manager takes it again. */
static void comes_soon_after_refusals(void)
{
	struct world *w = w_new(2);

	(void)running_job(w);
	is_busy(w);
	completes(w);
	w_settle(w);
	for (int minutes = 0; minutes < 14; minutes++) {
		(void)w_take(w);
		w_advance(w, 60 * 1000);
		ok(strstr(w_take(w), "merge 0 Job j ") != NULL,
		   "a refused status is sent again within a minute");
	}
	w->rig.times = 0;
	w_advance(w, 60 * 1000);
	ok(has(w, w_find(w, 0, JOB, "ns", "j"), "\"Complete\""),
	   "... and is there a minute after the refusals end");
	w_free(w);
}

/* So does a win, for which the job waits. */
static void wins_soon_after_refusals(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w->rig = (struct rig){.times = 1000000,
			      .type = OP_APPLY_STATUS,
			      .cluster = CLUSTER_MANAGER,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_TOO_BIG};
	admit(w, 2, "wl-j");
	w_later(w, 14 * 60 * 1000);
	w->rig.times = 0;
	w_advance(w, 60 * 1000);
	is_str(w_str(w, wl, "/status/clusterName"), "w2",
	       "a win that was refused comes soon after");
	w_free(w);
}

/* So does what is to be deleted. */
static void goes_soon_after_refusals(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->rig = (struct rig){.times = 1000000,
			      .type = OP_DELETE,
			      .cluster = 2,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	w_del(w, wl);
	w_later(w, 14 * 60 * 1000);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "a copy whose delete is refused stays");
	w->rig.times = 0;
	w_advance(w, 60 * 1000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "... and is gone a minute after the refusals end");
	w_free(w);
}

/*
 * Its Workload is Finished without the end, and another client deletes the clone: the copy is still
 * looked at.
 */
static void owed_without_clone(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	is_busy(w);
	completes(w);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w->rig.times = 1000000;
	w_later(w, 16 * 60 * 1000);
	ok(has(w, wl, "\"Finished\""), "a status is refused for long: Finished without it");
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 40 * 60 * 1000);
	w->rig.times = 0;
	w_later(w, 120 * 1000);
	ok(has(w, w_find(w, 0, JOB, "ns", "j"), "\"Complete\""),
	   "... the end is here two minutes after the refusals, though there is no clone any more");
	ok(!w_find(w, 2, JOB, "ns", "j"), "... and the copy goes");
	w_free(w);
}

/*
 * The worker counts as lost while the manager is too busy to be told so. The worker comes back, and
 * the copy has ended: what was not sent is decided anew.
 */
static void ended_while_the_retry_waits(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w->stay_down[2] = true;
	w->rig = (struct rig){.times = 1000,
			      .type = OP_APPLY_STATUS,
			      .cluster = CLUSTER_MANAGER,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_LIMITED};
	w_later(w, 950 * 1000);
	ok(w_times(w_take(w), "winner_lost") > 20, "a Retry that is not sent comes each second");
	w->stay_down[2] = false;
	w_link(w, 2, LINK_UP);
	completes(w);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w->rig.times = 0;
	is_home(w, "the end was seen before it was sent");
	ok(has(w, wl, "\"Finished\""), "... and the Workload is Finished");
	w_free(w);
}

/* A controller there writes to the copy as fast as we can delete it. */
static void changes_all_the_time(void)
{
	struct world *w = w_new(2);
	int64_t end = w->now + 9000;
	struct pending news; /* comes with the answer */
	char patch[64];
	size_t n;

	is_ousted(w, running_job(w));
	for (int i = 0; w->now < end && w_find(w, 2, JOB, "ns", "j"); i++) {
		snprintf(patch, sizeof(patch), "{\"status\":{\"ready\":%d}}", i);
		w_patch(w, w_find(w, 2, JOB, "ns", "j"), patch);
		news = w->q[--w->n_q];
		w_step(w);
		w->q[w->n_q++] = news;
		if (engine_next_ms(w->e) > w->now) {
			w->wall += 5;
			w->now += 5;
		}
	}
	n = w_times(w_take(w), "delete 2 Job");
	ok(n > 3 && n < 30, "one that changes all the time: again and again, ever more seldom");
	w_later(w, 60000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "... until it is what was seen");
	w_free(w);
}

/*
 * A copy that has ended is deleted as a loser's, for another client has named another winner. Then
 * no place is named, and its end counts again, while the delete is on its way.
 */
static void let_go_and_owed(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct pending *answer;

	is_busy(w);
	completes(w);
	w_settle(w);
	w_take(w);
	w->hold = true;
	w_patch(w, wl, "{\"status\":{\"clusterName\":\"w1\"}}");
	w_settle(w);
	ok(strstr(w_take(w), "delete 2 Job j loser") != NULL, "a loser's copy is to go");
	answer = w_event(w, EV_OP_DONE, 2, JOB);
	answer->ev.op_id = w->e->op_seq;
	w->hold = false;
	w_patch(w, wl,
		"{\"status\":{\"clusterName\":null,\"admissionChecks\":[{\"name\":\"mk\",\"state\":"
		"\"Pending\",\"message\":\"\"}]}}");
	w_settle(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	is_home(w, "... but no place is named any more: its end is home");
	w_free(w);
}

int main(void)
{
	clone_is_ahead(false);
	clone_is_ahead(true);
	spec_is_edited();
	spec_is_edited_unseen();
	is_rejected();
	clone_says_otherwise("OutOfSync", true);
	clone_says_otherwise("OwnerNotFound", false);
	end_of_a_run_before(false);
	end_of_a_run_before(true);
	nothing_may_begin();
	waits_elsewhere();
	comes_soon_after_refusals();
	wins_soon_after_refusals();
	goes_soon_after_refusals();
	owed_without_clone();
	ended_while_the_retry_waits();
	changes_all_the_time();
	let_go_and_owed();
	names_are_swapped();
	return done_testing();
}
