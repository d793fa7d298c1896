/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job ends that did not succeed: out of sync, switched off, evicted twice;
 * and what is no reason to end it.
 */
#include "t/lib/engine_world.h"

static const char *local_status(struct world *w, const char *pointer)
{
	return w_str(w, w_find(w, 0, JOB, "ns", "j"), pointer);
}

/*
 * The clone is out of sync with active pods: the local status still goes down with
 * the remote one, and quota goes.
 */
static void out_of_sync_winds_down(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	clone_condition(w, 2, "wl-j", "Finished", "OutOfSync", true);
	w_settle(w);
	is_str(check_state(w, wl), "Retry", "out of sync: Retry");
	evict(w, wl, "Evicted due to AdmissionCheck");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 5000);
	is_str(local_status(w, "/status/active"), "2", "its pods run there as yet");
	ok(!strstr(w_str(w, wl, "/status/conditions"), "Finished"), "and nothing is Finished");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":null}}");
	w_later(w, 5000);
	is_str(local_status(w, "/status/active"), "",
	       "trap_45: the local status goes down with the remote one: quota is released");
	release_quota(w, wl);
	w_later(w, 5000);
	is_int((long long)objects_on(w, 2), 0, "the stale copy goes");
	give_quota(w, wl);
	w_later(w, 5000);
	ok(clone_of(w, 1, "wl-j") && clone_of(w, 2, "wl-j"), "and the next round begins");
	w_free(w);
}

/* The same, but a user removed the stale job before the eviction: quota is released too. */
static void out_of_sync_and_gone(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	clone_condition(w, 2, "wl-j", "Finished", "OutOfSync", true);
	w_settle(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	evict(w, wl, "Evicted due to AdmissionCheck");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 5000);
	is_str(local_status(w, "/status/active"), "", "the stale job is gone: no pod is counted");
	w_free(w);
}

/*
 * The worker evicts, and admits again before the manager gave the quota back: it is told
 * to stop, for a new round waits.
 */
static void readmitted(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_settle(w);
	evict(w, wl, "Evicted due to AdmissionCheck");
	w_settle(w);
	w_take(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_take(w), "apply_status 2 Workload wl-j deactivate\n",
	       "admitted again before the manager released: deactivated");
	is_str(check_state(w, wl), "Pending", "it wins nothing");
	w_later(w, 60000);
	ok(!strstr(w_take(w), "deactivate"), "once");
	w_free(w);
}

enum { MINUTE = 60 * 1000 };

/* w2 evicts the clone and stops its copy, then the manager evicts; w2 refuses to deactivate. */
static struct world *evicted_there(struct object **ret_wl, bool has_quota)
{
	struct world *w = w_new(2);
	struct object *k;

	*ret_wl = running_job(w);
	w->rig = (struct rig){.times = 1000000,
			      .type = OP_APPLY_STATUS,
			      .cluster = 2,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_DENIED};
	w->rig_http = 403;
	w->rig_words = "no stop";
	k = clone_of(w, 2, "wl-j");
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_settle(w);
	evict(w, *ret_wl, "Evicted due to AdmissionCheck");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":null}}");
	if (!has_quota) {
		w_apply(w, k,
			"{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\","
			"\"reason\":\"Pending\",\"message\":\"m\"},{\"type\":\"Admitted\","
			"\"status\":\"False\",\"reason\":\"NoReservation\",\"message\":\"m\"},"
			"{\"type\":\"Evicted\",\"status\":\"True\",\"reason\":\"Preempted\","
			"\"message\":\"m\"}]}");
		w_tell(w, k, EV_OBSERVED, VIA_WATCH);
	}
	w_settle(w);
	return w;
}

/*
 * Kueue there queues what it evicted. That the copy has stopped frees the quota here, and a daemon
 * that is killed then removes nothing: the clone is deactivated before.
 */
static void queued_again(void)
{
	struct object *wl;
	struct world *w = evicted_there(&wl, false);

	w_later(w, MINUTE);
	is_str(local_status(w, "/status/active"), "2",
	       "evicted there, where it is queued again: its stop frees no quota here");
	w->rig.times = 0;
	w_later(w, MINUTE);
	ok(strstr(clone_of(w, 2, "wl-j")->text, "DeactivationTarget") != NULL, "deactivated");
	is_str(local_status(w, "/status/active"), "", "... it does");
	w_free(w);
}

static void stop_is_refused(void)
{
	struct object *wl;
	struct world *w = evicted_there(&wl, false);

	w->full = true;
	w_later(w, 2 * MINUTE);
	ok(strstr(w_take(w), "\"reason\":\"WriteRefused\"") != NULL, "an Event reports a refusal");
	ok(strstr(check_message(w, wl),
		  "worker cluster \"w2\" has refused the stop of the job since "
		  "2027-01-15T08:00:00Z, and is asked again: no stop") != NULL,
	   "... and the check's message");
	w_later(w, 12 * MINUTE);
	is_str(local_status(w, "/status/active"), "2", "... which is waited for");
	w_later(w, 2 * MINUTE);
	is_str(local_status(w, "/status/active"), "",
	       "... as long as for a lost worker: the copy has stopped, without quota");
	w_free(w);

	w = evicted_there(&wl, true);
	w_later(w, 60 * MINUTE);
	is_str(local_status(w, "/status/active"), "2", "with quota there it may run at any time");
	w_free(w);
}

/* What is deactivated or has ended runs no more, whether its stop is refused or not. */
static void needs_no_stop(void)
{
	struct object *wl;
	struct world *w = evicted_there(&wl, false);

	w_patch(w, clone_of(w, 2, "wl-j"), "{\"spec\":{\"active\":false}}");
	w_later(w, 5000);
	is_str(local_status(w, "/status/active"), "", "not active there: its stop comes home");
	w_free(w);

	w = evicted_there(&wl, false);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\"}]}}");
	w_later(w, 5000);
	is_str(local_status(w, "/status/conditions/0/type"), "Failed", "so does an end");
	w_free(w);
}

/* The user switches the Workload off: core evicts, and the worker stops the job in its own way. */
static void switched_off(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_patch(w, wl, "{\"metadata\":{\"generation\":2},\"spec\":{\"active\":false}}");
	w_later(w, 5000);
	is_str(w_take_work(w), "", "spec.active=false: no write before core evicts");
	ok(objects_on(w, 2) == 2, "clone and job stay");
	evict(w, wl, "The workload is deactivated");
	w_settle(w);
	is_str(w_take(w), "apply_status 2 Workload wl-j deactivate\n",
	       "core evicts: the worker suspends first");
	release_quota(w, wl);
	w_later(w, 5000);
	is_int((long long)objects_on(w, 2), 0, "then all goes");
	w_patch(w, wl, "{\"metadata\":{\"generation\":3},\"spec\":{\"active\":true}}");
	give_quota(w, wl);
	w_later(w, 5000);
	ok(clone_of(w, 1, "wl-j") != NULL, "switched on again: a new round");
	w_free(w);
}

static void switched_off_in_a_race(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_take(w);
	wl = a_job(w, "j");
	w_patch(w, wl, "{\"spec\":{\"active\":false}}");
	w_later(w, 5000);
	is_str(w_take_work(w), "", "what is switched off is not sent out");
	w_free(w);
}

/* Quota alone wins nothing and ends nothing: a worker's own checks may still refuse. */
static void quota_is_no_win(void)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");
	struct object *k;

	w_settle(w);
	w_take(w);
	k = clone_of(w, 1, "wl-j");
	w_apply(w, k,
		"{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA
		"],\"admissionChecks\":[{\"name\":\"prov\",\"state\":\"Pending\",\"message\":\"\"}]"
		"}");
	w_tell(w, k, EV_OBSERVED, VIA_WATCH);
	w_later(w, 60000);
	is_str(w_take_work(w), "",
	       "trap_27: a candidate with quota alone: the others stay, nothing is written");
	ok(clone_of(w, 2, "wl-j") && clone_of(w, 3, "wl-j"), "each has its clone");
	admit(w, 3, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w3", "who is admitted wins");
	w_later(w, 2000);
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2)), 0,
	       "then who had quota alone goes");
	w_free(w);
}

/* A clone out of sync before it was admitted: it is made again, the others race on. */
static void out_of_sync_in_a_race(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_take(w);
	clone_condition(w, 1, "wl-j", "Finished", "OutOfSync", false);
	w_settle(w);
	ok(strstr(w_take(w), "delete 1 Workload wl-j") != NULL,
	   "out of sync before the win: that clone goes");
	is_str(check_state(w, wl), "Pending", "the Workload is not parked");
	w_later(w, 10000);
	ok(clone_of(w, 1, "wl-j") && !strstr(clone_of(w, 1, "wl-j")->text, "OutOfSync"),
	   "and is made again");
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "it may win");
	w_free(w);
}

/*
 * The job on the winner was replaced by one that is not ours: the clone's end
 * is told, theirs is left alone.
 */
static void finished_beside_theirs(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct object *theirs;

	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/multikueue-origin\":\"other\"},"
		"\"annotations\":{\"multikueued.io/manager-id\":\"other\"}}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 30000);
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL,
	   "the winner is Finished and the job there is not ours: the end is told");
	theirs = w_find(w, 2, JOB, "ns", "j");
	ok(theirs && strstr(theirs->text, "\"other\""), "the job is left alone");
	ok(!clone_of(w, 2, "wl-j"), "our clone goes");
	w_free(w);
}

/* A preemption gate of the user's in the local spec is no drift. */
static void gate_of_the_users(bool running)
{
	struct world *w = w_new(2);
	struct object *wl = running ? running_job(w) : a_job(w, "j");

	w_settle(w);
	w_take(w);
	w_patch(w, wl,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"preemptionGates\":[{\"name\":"
		"\"example.com/mine\"}]}}");
	w_later(w, 60000);
	is_str(w_take_work(w), "",
	       running ? "trap_35: gates are no spec: silence while it runs"
		       : "trap_35: gates are no spec: silence in a race");
	w_patch(w, wl, "{\"metadata\":{\"generation\":3},\"spec\":{\"preemptionGates\":null}}");
	w_later(w, 60000);
	is_str(w_take_work(w), "", "and when they go");
	w_free(w);
}

/* The words of an eviction are as long as the API allows: with ours before them they are cut. */
static void long_words(void)
{
	static char words[32768 + 1], text[40000];
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *k;
	char *at, *end;

	memset(words, 'x', sizeof(words) - 1);
	snprintf(text, sizeof(text),
		 "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA
		 ",{\"type\":\"Evicted\",\"status\":\"True\",\"reason\":\"Preempted\","
		 "\"message\":\"%s\"}],\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		 "\"message\":\"\"}]}",
		 words);
	w_apply(w, wl, text);
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	k = clone_of(w, 2, "wl-j");
	at = strstr(k->text, "\"Evicted on manager: xxx");
	end = at ? strchr(at + 1, '"') : NULL;
	is_int(end ? end - at - 1 : 0, 32768, "a message is cut at 32768 bytes");
	w_take(w);
	w_later(w, 60000);
	is_str(w_take_work(w), "", "and what was cut is not written again");
	w_free(w);
}

int main(void)
{
	out_of_sync_winds_down();
	out_of_sync_and_gone();
	readmitted();
	queued_again();
	stop_is_refused();
	needs_no_stop();
	switched_off();
	switched_off_in_a_race();
	quota_is_no_win();
	out_of_sync_in_a_race();
	finished_beside_theirs();
	gate_of_the_users(true);
	gate_of_the_users(false);
	long_words();
	return done_testing();
}
