/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a run was seen of its clone alone: no list showed the job there, and then the worker
 * is out of reach for good. What has ended does not run again.
 */
#include "core/engine/state.h"
#include "t/lib/engine_slices.h"

enum { TIMEOUT = 900 * 1000 };

/* A new process sees that the clone is Finished, and no jobs there. */
static void ends_unlisted(struct world *w, const char *clone)
{
	w_stop(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	clone_condition(w, 2, clone, "Finished", "Succeeded", true);
	w->hold_jobs[2] = true;
	w_start(w);
	w_later(w, 1000);
}

static void goes(struct world *w)
{
	w->stay_down[2] = true;
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
}

static void is_over(struct world *w, struct object *wl, const char *state, const char *what)
{
	is_str(check_state(w, wl), state, what);
	ok(strstr(w_find(w, 0, JOB, "ns", "j")->text, "\"Complete\"") != NULL,
	   "... the job is Complete");
	ok(strstr(wl->text, "\"Finished\"") != NULL, "... and the Workload is Finished");
	ok(!clone_of(w, 1, "wl-j") && !w_find(w, 1, JOB, "ns", "j"), "... w1 gets nothing");
	is_int((long long)w->e->store.n_endings, 0, "... and no end is kept any longer");
	w_free(w);
}

/* 'keeps': with lostWorkerPolicy Keep, which waits for what may run, and not for what has ended. */
static void while_it_runs(bool keeps)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->lost_keep = keeps;
	ends_unlisted(w, "wl-j");
	goes(w);
	w->full = true;
	w_take(w);
	w_later(w, 60 * 1000);
	ok(strstr(w_take(w), "is out of reach since 2027-01-15T08:00:01Z: the job there has ended, "
			     "and its end counts as it was seen before, unless more of it is seen "
			     "until 2027-01-15T08:15:01Z"),
	   keeps ? "Keep: an Event reports within a minute what is known" : "an Event reports it");
	w_later(w, TIMEOUT - 120 * 1000);
	ok(!strstr(wl->text, "\"Finished\""), "a clone has ended, and its worker goes: it is "
					      "waited for");
	w_later(w, 2 * 60 * 1000);
	is_over(w, wl, "Ready", "... and the job does not run again");
}

/*
 * The copy itself was seen to have ended, and the manager did not take its status before the worker
 * went.
 */
static void while_its_end_is_refused(bool keeps)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->lost_keep = keeps;
	w_restart(w);
	w_later(w, 1000);
	w->rig = (struct rig){.times = 1000000,
			      .type = OP_MERGE,
			      .cluster = CLUSTER_MANAGER,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	w_later(w, 1000);
	goes(w);
	w->rig.times = 0;
	w_later(w, TIMEOUT + 60 * 1000);
	ok(strstr(w_find(w, 0, JOB, "ns", "j")->text, "\"Complete\"") != NULL,
	   keeps ? "Keep: the copy has ended, and its worker goes: its end comes home"
		 : "the copy has ended, and its worker goes: its end comes home");
	is_str(check_state(w, wl), "Ready", "... and it does not run again");
	w_free(w);
}

/* The Workload is evicted as well; 'released': Kueue takes its quota and gives it again. */
static void while_it_is_evicted(bool released)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	ends_unlisted(w, "wl-j");
	goes(w);
	evict(w, wl, "Preempted");
	w_settle(w);
	if (released) {
		release_quota(w, wl);
		w_settle(w);
		give_quota(w, wl);
	}
	w_later(w, TIMEOUT + 60 * 1000);
	is_over(w, wl, "Pending",
		released ? "a clone has ended, its worker goes, and another round begins"
			 : "a clone has ended, its worker goes, and the Workload is evicted");
}

/* Kueue takes the quota while no list of jobs has come. */
static void while_it_is_released(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	ends_unlisted(w, "wl-j");
	evict(w, wl, "Preempted");
	release_quota(w, wl);
	w_settle(w);
	ok(clone_of(w, 2, "wl-j") != NULL, "a clone has ended, and the quota goes: it stays");
	give_quota(w, wl);
	w_later(w, TIMEOUT + 60 * 1000);
	is_over(w, wl, "Pending", "... and the job does not run again");
}

/*
 * Another client has removed the copy and the worker's Kueue has told its end before, while no
 * process looked. The round is over, and perhaps the next one has begun.
 */
static void before_the_round(bool released, bool queued)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, clone_of(w, 2, "wl-j"),
		"{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"
		"\"Job\",\"name\":\"j\",\"uid\":\"copy\"}]}}");
	w_stop(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	evict(w, wl, "Preempted");
	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	if (released) {
		release_quota(w, wl);
	}
	if (queued) {
		give_quota(w, wl);
	}
	w_start(w);
	w_later(w, 60 * 1000);
	is_over(w, wl, "Pending",
		queued     ? "a clone alone tells that the job has ended, in a round before"
		: released ? "... and no round has begun"
			   : "... and the round is being ended");
}

static void while_a_slice_waits(bool keeps)
{
	struct object *new;
	struct world *w = slice_waits(&new, 0);

	w->lost_keep = keeps;
	ends_unlisted(w, old_name);
	goes(w);
	w_later(w, TIMEOUT + 60 * 1000);
	is_over(w, new, "Pending", "a slice waits, and the clone as which the job ran has ended");
}

/* The job has ended, as its clone says; no copy was seen, and the manager refuses its status. */
static struct world *ends_refused(struct object **old, struct object **new)
{
	struct world *w = slice_grown(old, new);

	w->rig = (struct rig){.times = 1000000,
			      .type = OP_MERGE,
			      .cluster = CLUSTER_MANAGER,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	ends_unlisted(w, old_name);
	return w;
}

/*
 * The clone as which the job ran goes as well, as finished ones do that Kueue keeps for a time:
 * before its Workload is replaced, or once it is. Then the manager takes the end.
 */
static void clone_goes(bool replaced_first)
{
	struct object *old, *new;
	struct world *w = ends_refused(&old, &new);

	if (!replaced_first) {
		w_del(w, clone_of(w, 2, old_name));
		w_settle(w);
	}
	slice_finish(w, old, "WorkloadSliceReplaced");
	w_settle(w);
	quota_at(w, new, "w2");
	w_settle(w);
	if (replaced_first) {
		w_del(w, clone_of(w, 2, old_name));
		w_settle(w);
	}
	w->rig.times = 0;
	w_later(w, TIMEOUT + 60 * 1000);
	is_over(w, new, "Pending",
		replaced_first ? "the clone that has ended goes after its Workload was replaced"
			       : "the clone that has ended goes, and its Workload is replaced");
}

/* ... and the one that was replaced is deleted on the manager. */
static void all_goes(void)
{
	struct object *old, *new;
	struct world *w = ends_refused(&old, &new);

	slice_finish(w, old, "WorkloadSliceReplaced");
	w_settle(w);
	w_del(w, clone_of(w, 2, old_name));
	w_settle(w);
	w_del(w, old);
	w_settle(w);
	quota_at(w, new, "w2");
	w_settle(w);
	w->rig.times = 0;
	w_later(w, TIMEOUT + 60 * 1000);
	is_over(w, new, "Pending", "the clone that has ended goes, and its Workload, too");
}

/* Another client takes the winner's name from the slice, or Kueue never gave it. */
static void name_is_cleared(bool unlisted)
{
	struct object *new;
	struct world *w = slice_waits(&new, 0);

	ends_unlisted(w, old_name);
	if (!unlisted) {
		w->hold_jobs[2] = false;
		w_stop(w);
	}
	w_patch(w, new, "{\"status\":{\"clusterName\":null}}");
	if (!unlisted) {
		w_start(w);
	}
	w_later(w, TIMEOUT + 60 * 1000);
	is_over(w, new, "Pending",
		unlisted ? "a slice without a winner's name, whose run has ended in a list to come"
			 : "a slice without a winner's name, whose run has ended");
}

int main(void)
{
	clone_goes(false);
	clone_goes(true);
	all_goes();
	name_is_cleared(false);
	name_is_cleared(true);
	while_it_runs(false);
	while_it_runs(true);
	while_its_end_is_refused(false);
	while_its_end_is_refused(true);
	while_it_is_evicted(false);
	while_it_is_evicted(true);
	while_it_is_released();
	before_the_round(false, false);
	before_the_round(true, false);
	before_the_round(true, true);
	while_a_slice_waits(false);
	while_a_slice_waits(true);
	return done_testing();
}
