/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several objects, one Workload, as groups of Pods have: each has its own copy,
 * and comes and goes on its own.
 */
#include "t/lib/engine_pods.h"

static void whole_life(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_group(w);

	w_settle(w);
	ok(clone_of(w, 1, "grp") && clone_of(w, 2, "grp"), "a group is dispatched as one");
	ok(!pod_on(w, 1, "p-0") && !pod_on(w, 2, "p-0"), "... without pods before a cluster won");
	is_str(w_str(w, clone_of(w, 1, "grp"), "/metadata/annotations/multikueued.io~1owner-kind"),
	       "/v1, Kind=Pod",
	       "of several owners, none of which controls it, the first one counts");
	w_take(w);
	admit(w, 2, "grp");
	w_settle(w);
	is_str(w_take_work(w),
	       "apply_status 0 Workload grp win\n"
	       "event 0 Event grp event\n"
	       "delete 1 Workload grp loser\n"
	       "create 2 Pod p-0 job_create\n"
	       "create 2 Pod p-1 job_create\n"
	       "create 2 Pod p-2 job_create\n",
	       "a copy of each member is made where it won");
	is_str(w_str(w, pod_on(w, 2, "p-1"),
		     "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"),
	       "grp", "each is of the one Workload");
	is_str(w_str(w, pod_on(w, 2, "p-1"),
		     "/metadata/annotations/kueue.x-k8s.io~1multikueue-origin-uid"),
	       pod_on(w, 0, "p-1")->uid, "... and of its own pod");
	is_str(w_str(w, pod_on(w, 2, "p-1"), "/spec/schedulingGates/0/name"),
	       "kueue.x-k8s.io/admission", "... with the gate that the worker's Kueue opens");
	pod_phase(w, 2, "p-0", "Running");
	w_settle(w);
	is_str(w_take_work(w), "merge 0 Pod p-0 job_status\n",
	       "one runs: its own status comes home");
	is_str(phase_of(w, 0, "p-0"), "Running", "... to itself");
	is_str(phase_of(w, 0, "p-1"), "Pending", "... alone");
	pod_phase(w, 2, "p-1", "Running");
	pod_phase(w, 2, "p-2", "Running");
	w_settle(w);
	is_str(phase_of(w, 0, "p-2"), "Running", "then the others");
	is_str(w_str(w, pod_on(w, 0, "p-2"), "/spec/schedulingGates/0/name"),
	       "kueue.x-k8s.io/admission", "a local pod stays parked");
	w_later(w, 60 * 1000);
	w_take(w);
	w_later(w, 60 * 1000);
	is_str(w_take_work(w), "", "while they run nothing is said");
	pod_phase(w, 2, "p-1", "Succeeded");
	w_settle(w);
	is_str(phase_of(w, 0, "p-1"), "Succeeded", "one ends before the others");
	ok(!is_finished(w, wl), "... which is not the end of the group");
	pod_phase(w, 2, "p-0", "Succeeded");
	pod_phase(w, 2, "p-2", "Succeeded");
	clone_condition(w, 2, "grp", "Finished", "Succeeded", true);
	w_later(w, 5000);
	is_str(phase_of(w, 0, "p-0"), "Succeeded", "all end");
	is_str(phase_of(w, 0, "p-2"), "Succeeded", "... here too");
	ok(is_finished(w, wl), "and the Workload with them");
	is_int((long long)objects_on(w, 2), 0, "... and no copy is left");
	is_int((long long)objects_on(w, 1), 0, "... anywhere");
	w_free(w);
}

/*
 * The Workload's end waits for each member's last status, and for what the worker does not show
 * yet.
 */
static void last_status_of_each(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	w->rig = (struct rig){8, OP_MERGE, 0, POD, OUTCOME_REFUSED, ERR_UNAVAILABLE};
	pod_phase(w, 2, "p-0", "Succeeded");
	pod_phase(w, 2, "p-1", "Succeeded");
	pod_phase(w, 2, "p-2", "Succeeded");
	clone_condition(w, 2, "grp", "Finished", "Succeeded", true);
	w_settle(w);
	ok(!is_finished(w, wl) && pod_on(w, 2, "p-2"),
	   "the last status of members cannot be written: the Workload's end waits");
	w_later(w, 60 * 1000);
	is_str(phase_of(w, 0, "p-0"), "Succeeded", "it comes home in the end");
	is_str(phase_of(w, 0, "p-1"), "Succeeded", "... of each");
	is_str(phase_of(w, 0, "p-2"), "Succeeded", "... of the last one");
	ok(is_finished(w, wl), "then the Workload ends");
	is_int((long long)objects_on(w, 2), 0, "... and the copies go");
	w_free(w);

	w = w_new(2);
	wl = running_group(w);
	pod_phase(w, 2, "p-0", "Failed");
	clone_condition(w, 2, "grp", "Finished", "Failed", true);
	w_settle(w);
	ok(!is_finished(w, wl), "two members are not seen to end: a moment's patience");
	w_take(w);
	w_later(w, 1000);
	is_int((long long)w_times(w_take(w), "get 2 Pod p-"), 2,
	       "... and one look at each of them");
	w_later(w, 5000);
	ok(is_finished(w, wl), "... is what they get");
	w_free(w);
}

/*
 * Ended while we were down, and what is here is listed last: copies that seem to have
 * no member are no reason to end.
 */
static void last_status_of_strangers(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	pod_phase(w, 2, "p-0", "Succeeded");
	pod_phase(w, 2, "p-1", "Succeeded");
	pod_phase(w, 2, "p-2", "Succeeded");
	clone_condition(w, 2, "grp", "Finished", "Succeeded", true);
	w->hold_jobs[0] = true;
	w_restart(w);
	w_later(w, 60 * 1000);
	ok(!is_finished(w, wl) && pod_on(w, 2, "p-0"), "members are not known yet: the end waits");
	w->hold_jobs[0] = false;
	w_list(w, 0, POD);
	w_later(w, 5000);
	is_str(phase_of(w, 0, "p-1"), "Succeeded", "... and their status comes home");
	ok(is_finished(w, wl) && !pod_on(w, 2, "p-0"), "... before it");
	w_free(w);
}

static void grows(void)
{
	struct world *w = w_new(2);

	running_group(w);
	a_pod(w, "p-3", "grp");
	w_settle(w);
	is_str(w_take_work(w), "create 2 Pod p-3 job_create\n",
	       "a member that comes later is copied");
	a_pod(w, "other", "grp2");
	a_pod(w, "single", NULL);
	w_settle(w);
	is_str(w_take_work(w), "", "pods of other groups, and of none, are not");
	w_free(w);
}

/* By its annotation, where a label is too short. */
static void annotated(void)
{
	struct world *w = w_new(1);
	struct object *pod = a_pod(w, "p", NULL);

	w_patch(w, pod,
		"{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/pod-group-name\":\"g\"}}}");
	a_pods_workload(w, "g", "p,");
	w_settle(w);
	admit(w, 1, "g");
	w_settle(w);
	a_pod(w, "q", "g");
	w_settle(w);
	ok(pod_on(w, 1, "p") && pod_on(w, 1, "q"), "a group is known by annotation or label");
	w_free(w);
}

static void replaced(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	pod_goes(w, "p-1");
	w_settle(w);
	is_str(w_take_work(w), "delete 2 Pod p-1 member_removed\n",
	       "a member goes: so does its copy");
	is_str(phase_of(w, 0, "p-1"), "Running", "... of whose end it needs not be told");
	w_later(w, 20 * 1000);
	w_take(w);
	w_del(w, pod_on(w, 0, "p-1"));
	a_pod(w, "p-3", "grp");
	w_settle(w);
	is_str(w_take_work(w), "create 2 Pod p-3 job_create\n", "its successor gets a copy");
	is_str(check_state(w, wl), "Ready", "... and the group goes on");
	w_del(w, pod_on(w, 0, "p-0"));
	w_settle(w);
	is_str(w_take_work(w), "get 0 Pod p-0 get\ndelete 2 Pod p-0 member_removed\n",
	       "the first owner vanishes: it is asked for, then its copy goes");
	w_later(w, 60 * 1000);
	is_str(check_state(w, wl), "Ready", "... and the group goes on");
	pod_phase(w, 2, "p-2", "Succeeded");
	w_settle(w);
	is_str(phase_of(w, 0, "p-2"), "Succeeded", "... with its others");
	w_free(w);
}

/* A member vanished while we were down: only its copy tells of it. */
static void unseen(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	w->up[0] = false;
	w_del(w, pod_on(w, 0, "p-2"));
	w->up[0] = true;
	w_restart(w);
	w_later(w, 1000);
	ok(!pod_on(w, 2, "p-2"), "a member vanished unseen: its copy goes");
	ok(pod_on(w, 2, "p-0") && pod_on(w, 2, "p-1"), "... and no other one");
	is_str(check_state(w, wl), "Ready", "... and the group goes on");
	w_free(w);
}

/* StatefulSets give a pod's name to the next one. */
static void same_name(bool ended)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);
	char old[32];

	snprintf(old, sizeof(old), "%s", pod_on(w, 2, "p-0")->uid);
	if (ended) {
		pod_phase(w, 2, "p-0", "Failed");
		w_settle(w);
	}
	w->up[0] = false;
	w_del(w, pod_on(w, 0, "p-0"));
	w->up[0] = true;
	a_pod(w, "p-0", "grp");
	w_settle(w);
	w_later(w, 20 * 1000);
	is_int((long long)w_times(w_take(w), "delete 2 Pod p-0 job_of_other_clone"), 1,
	       ended ? "the ended copy of a pod before this one of the same name goes"
		     : "the copy of a pod before this one of the same name goes");
	ok(pod_on(w, 2, "p-0") && strcmp(pod_on(w, 2, "p-0")->uid, old) != 0, "... for its own");
	is_str(check_state(w, wl), "Ready", "... and the group goes on");
	if (pod_on(w, 2, "p-0")) {
		pod_phase(w, 2, "p-0", "Running");
	}
	w_settle(w);
	is_str(phase_of(w, 0, "p-0"), "Running", "... with its status");
	w_free(w);
}

/*
 * The same, when the one before is known to be gone and its copy went with it: what we remember of
 * that copy is not the next pod's.
 */
static void same_name_later(bool ended)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	if (ended) {
		pod_phase(w, 2, "p-0", "Failed");
		w_settle(w);
	}
	w_del(w, pod_on(w, 0, "p-0"));
	w_settle(w);
	ok(!pod_on(w, 2, "p-0"), ended ? "a pod that had ended vanishes, its copy goes"
				       : "a running pod vanishes, its copy goes");
	a_pod(w, "p-0", "grp");
	w_later(w, 5000);
	ok(pod_on(w, 2, "p-0"), "... and the next one of its name gets its own");
	is_str(check_state(w, wl), "Ready", "... and the group goes on");
	if (pod_on(w, 2, "p-0")) {
		pod_phase(w, 2, "p-0", "Running");
	}
	w_later(w, 2000);
	is_str(phase_of(w, 0, "p-0"), "Running", "... with its status");
	w_free(w);
}

/*
 * The value changes, which Kueue's webhook does not allow: the pod's
 * copy is not of this group then.
 */
static void moved(void)
{
	struct world *w = w_new(1);

	a_pod(w, "a", "g");
	a_pod(w, "b", "g");
	a_pod(w, "x", "h");
	a_pods_workload(w, "g", "a,b,");
	a_pods_workload(w, "h", "x,");
	w_settle(w);
	admit(w, 1, "g");
	admit(w, 1, "h");
	w_settle(w);
	w_take(w);
	w_patch(w, pod_on(w, 0, "b"),
		"{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/pod-group-name\":\"h\"}}}");
	w_settle(w);
	is_str(w_take_work(w), "delete 1 Pod b member_removed\ncreate 1 Pod b job_create\n",
	       "a pod that is given to another group leaves this one, and joins that one");
	is_str(w_str(w, pod_on(w, 1, "b"),
		     "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"),
	       "h", "... with a copy of that one's");
	w_free(w);
}

/* A member that ended has nothing to run; one whose copy a user deleted does not run twice. */
static void vanished(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	pod_phase(w, 2, "p-1", "Failed");
	w_settle(w);
	w_del(w, pod_on(w, 2, "p-1"));
	w_later(w, 60 * 1000);
	ok(!pod_on(w, 2, "p-1"), "a copy that had ended is removed there: it is not made again");
	is_str(check_state(w, wl), "Ready", "... and the group goes on");
	w_restart(w);
	w_settle(w);
	w_later(w, 60 * 1000);
	ok(!pod_on(w, 2, "p-1"), "... nor after a restart");
	is_str(check_state(w, wl), "Ready", "... and the group goes on");
	w_take(w);
	w_del(w, pod_on(w, 2, "p-2"));
	w_settle(w);
	is_str(check_state(w, wl), "Retry", "a running copy is removed there: another round");
	ok(!pod_on(w, 2, "p-2"), "... and no second run in this one");
	w_free(w);
}

/* A pod's end and its removal come in one batch, while the manager takes no status for a second. */
static void ends_and_goes(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	w->rig = (struct rig){.times = 3,
			      .type = OP_MERGE,
			      .cluster = 0,
			      .kind = POD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	pod_phase(w, 2, "p-1", "Succeeded");
	w_del(w, pod_on(w, 2, "p-1"));
	w_later(w, 10 * 1000);
	is_str(check_state(w, wl), "Ready", "a pod ends and is removed there: the group runs on");
	is_str(phase_of(w, 0, "p-1"), "Succeeded", "... and its end is home");
	ok(!pod_on(w, 2, "p-1"), "... it does not run again");
	pod_phase(w, 2, "p-0", "Succeeded");
	pod_phase(w, 2, "p-2", "Failed");
	w_del(w, pod_on(w, 2, "p-0"));
	w_del(w, pod_on(w, 2, "p-2"));
	clone_condition(w, 2, "grp", "Finished", "Succeeded", true);
	w_later(w, 10 * 1000);
	is_str(phase_of(w, 0, "p-2"), "Failed", "the same of the others and the clone");
	ok(is_finished(w, wl), "... is the end of the group");
	w_free(w);
}

/* The group ends, and all of it is removed there, while the manager does not take what is said. */
static void ends_and_all_goes(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	pod_phase(w, 2, "p-1", "Succeeded");
	pod_phase(w, 2, "p-2", "Succeeded");
	w_settle(w);
	w->rig = (struct rig){3, OP_MERGE, 0, POD, OUTCOME_REFUSED, ERR_UNAVAILABLE};
	pod_phase(w, 2, "p-0", "Succeeded");
	clone_condition(w, 2, "grp", "Finished", "Succeeded", true);
	w_settle(w);
	for (size_t i = 0; i < 3; i++) {
		w_del(w, pod_on(w, 2, (const char *[]){"p-0", "p-1", "p-2"}[i]));
	}
	w_del(w, clone_of(w, 2, "grp"));
	w_settle(w);
	ok(strcmp(phase_of(w, 0, "p-0"), "Succeeded") && !is_finished(w, wl),
	   "all of an ended group is gone, and one end is not home");
	is_str(check_state(w, wl), "Ready", "... which is no reason to run it again");
	w_later(w, 20 * 1000);
	is_str(phase_of(w, 0, "p-0"), "Succeeded", "... it comes home");
	ok(is_finished(w, wl), "... and the Workload is Finished");
	w_free(w);
}

/*
 * Kueue on the worker stops a group, one of whose members has ended there: the others run nowhere
 * any more, and the group's quota is not held for them.
 */
static void stopped_beside_an_end(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	pod_phase(w, 2, "p-0", "Running");
	pod_phase(w, 2, "p-1", "Succeeded");
	pod_phase(w, 2, "p-2", "Running");
	w_settle(w);
	evict(w, wl, "P");
	w_settle(w);
	w_del(w, pod_on(w, 2, "p-0"));
	w_del(w, pod_on(w, 2, "p-2"));
	w_later(w, 10 * 1000);
	is_str(phase_of(w, 0, "p-1"), "Succeeded", "evicted: who had ended has ended");
	is_str(phase_of(w, 0, "p-0"), "Pending", "... who was stopped waits");
	is_str(phase_of(w, 0, "p-2"), "Pending", "... and so does each");
	w_free(w);
}

/*
 * A user deletes the Workload while its worker is out of reach. Whichever member stands for the
 * group, and whatever is in doubt of one that has gone: as long as any runs there, the group is not
 * run elsewhere.
 */
static void made_anew_out_of_reach(bool in_doubt)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	pod_phase(w, 2, "p-0", "Succeeded");
	w_settle(w);
	if (in_doubt) {
		w->rig = (struct rig){1, OP_CREATE, 2, POD, OUTCOME_UNKNOWN, ERR_UNKNOWN};
		a_pod(w, "p-3", "grp");
		while (w->rig.times > 0) {
			w_step(w);
		}
	}
	w_link(w, 2, LINK_DOWN);
	w->stay_down[2] = true;
	w_del(w, wl);
	w_settle(w);
	(void)a_pods_workload(w, "grp", "p-0,p-1,p-2,");
	w_settle(w);
	admit(w, 1, "grp");
	w_later(w, 5000);
	ok(clone_of(w, 1, "grp") != NULL, "a Workload made anew is tried on another worker");
	ok(!pod_on(w, 1, "p-1") && !pod_on(w, 1, "p-2"),
	   "... and no member is made there while one may run out of reach");
	w_later(w, 20 * 60 * 1000);
	ok(pod_on(w, 1, "p-1") && pod_on(w, 1, "p-2"), "... until it counts as lost");
	w_free(w);
}

/* The same, and a new process leads, which has not seen the worker. */
static void made_anew_unseen(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	w->stay_down[2] = true;
	w_stop(w);
	w_del(w, wl);
	w->wall += 20 * 1000;
	(void)a_pods_workload(w, "grp", "p-0,p-1,p-2,");
	w_start(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 20 * 1000);
	admit(w, 1, "grp");
	w_later(w, 60 * 1000);
	ok(clone_of(w, 1, "grp") && !pod_on(w, 1, "p-0"),
	   "a Workload younger than its pods: they may run on a worker never seen");
	w_later(w, 20 * 60 * 1000);
	ok(pod_on(w, 1, "p-0") != NULL, "... until it counts as lost");
	w_free(w);
}

static void deleted(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	w_patch(w, pod_on(w, 2, "p-1"),
		"{\"metadata\":{\"finalizers\":[\"kueue.x-k8s.io/managed\"]}}");
	w_settle(w);
	w_take(w);
	w_patch(w, wl, "{\"metadata\":{\"deletionTimestamp\":\"2027-01-15T08:00:00Z\"}}");
	w_settle(w);
	is_str(w_take_work(w),
	       "delete 2 Pod p-0 workload_deleted\n"
	       "delete 2 Pod p-1 workload_deleted\n"
	       "delete 2 Pod p-2 workload_deleted\n"
	       "delete 2 Workload grp workload_deleted\n",
	       "the Workload is deleted: all copies go before the clone");
	w_free(w);

	w = w_new(2);
	wl = running_group(w);
	w->rig = (struct rig){3, OP_DELETE, 2, POD, OUTCOME_REFUSED, ERR_UNAVAILABLE};
	w_del(w, wl);
	w_settle(w);
	ok(clone_of(w, 2, "grp") && pod_on(w, 2, "p-0"), "no copy can be deleted: the clone stays");
	w_del(w, pod_on(w, 0, "p-0"));
	w_del(w, pod_on(w, 0, "p-1"));
	w_del(w, pod_on(w, 0, "p-2"));
	w_later(w, 60 * 1000);
	is_int((long long)objects_on(w, 2), 0, "... until they are gone, without members here too");
	w_free(w);
}

/* Everything here vanished while we were down: what the group left on workers is found and goes. */
static void collected(bool clone_stays)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	w->up[0] = false;
	w_del(w, wl);
	w_del(w, pod_on(w, 0, "p-0"));
	w_del(w, pod_on(w, 0, "p-1"));
	w_del(w, pod_on(w, 0, "p-2"));
	w->up[0] = true;
	if (!clone_stays) {
		w->up[2] = false;
		w_del(w, clone_of(w, 2, "grp"));
	}
	a_pod(w, "p-0", NULL); /* another one of a name that was the group's */
	w_restart(w);
	w_settle(w);
	w_later(w, clone_stays ? 10 * 60 * 1000 : 30 * 60 * 1000);
	is_int((long long)objects_on(w, 2), 0,
	       clone_stays ? "what a group left behind is collected"
			   : "... without its clone, too");
	ok(pod_on(w, 0, "p-0"), "... and nothing here is touched");
	w_free(w);
}

static void single(void)
{
	struct world *w = w_new(2);
	struct object *wl, *stranger;

	a_pod(w, "p", NULL);
	a_pod(w, "not-its-member", "pod-p-12345");
	wl = a_pods_workload(w, "pod-p-12345", "p,");
	w_settle(w);
	admit(w, 2, "pod-p-12345");
	w_settle(w);
	ok(pod_on(w, 2, "p") && !pod_on(w, 2, "not-its-member"),
	   "a pod without a group is alone, whatever others call themselves");
	pod_phase(w, 2, "p", "Running");
	w_settle(w);
	is_str(phase_of(w, 0, "p"), "Running", "... has its status");
	w_del(w, wl);
	w_settle(w);
	is_int((long long)objects_on(w, 2), 0, "... and goes");
	w_free(w);

	w = w_new(1);
	a_pod(w, "only", "one");
	wl = a_pods_workload(w, "one", "only,");
	w_settle(w);
	admit(w, 1, "one");
	w_settle(w);
	stranger = w_put(w, 1, POD,
			 "{\"metadata\":{\"name\":\"odd\",\"namespace\":\"ns\",\"labels\":{"
			 "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\","
			 "\"kueue.x-k8s.io/pod-group-name\":\"one\"},\"annotations\":{"
			 "\"multikueued.io/manager-id\":\"somebody-else\"}}}");
	pod_phase(w, 1, "only", "Succeeded");
	clone_condition(w, 1, "one", "Finished", "Succeeded", true);
	w_later(w, 5000);
	ok(is_finished(w, wl) && !pod_on(w, 1, "only"), "a group of one lives and ends");
	is_str(stranger->name ? stranger->name : "", "odd",
	       "... and what is not ours is not touched");
	w_free(w);
}

int main(void)
{
	w_more = &mk_entry_pod;
	whole_life();
	last_status_of_each();
	last_status_of_strangers();
	grows();
	annotated();
	replaced();
	unseen();
	same_name(false);
	same_name(true);
	same_name_later(false);
	same_name_later(true);
	moved();
	vanished();
	ends_and_goes();
	ends_and_all_goes();
	stopped_beside_an_end();
	made_anew_out_of_reach(false);
	made_anew_out_of_reach(true);
	made_anew_unseen();
	deleted();
	collected(true);
	collected(false);
	single();
	return done_testing();
}
