/* SPDX-License-Identifier: Apache-2.0 */
/* Clients take our marks from objects on workers, or change them. */
#include "t/lib/engine_pods.h"

#define COMPLETE                                                                               \
	"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":\"Complete\"," \
	"\"status\":\"True\"}]}}"
#define ID(value) "{\"metadata\":{\"annotations\":{\"multikueued.io/manager-id\":" value "}}}"

static const char *origin_of(struct world *w, const struct object *o)
{
	return w_str(w, o, "/metadata/labels/kueue.x-k8s.io~1multikueue-origin");
}

/* A client takes the origin from it, so that it is gone as far as a watch tells. */
static void unlabel(struct world *w, struct object *o)
{
	o->hidden = true;
	w_patch(w, o, "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/multikueue-origin\":null}}}");
	o->hidden = false;
	w_tell(w, o, EV_GONE, VIA_WATCH);
	o->hidden = true;
}

static void gets_its_origin_back(bool clone_has_id)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *job = w_find(w, 2, JOB, "ns", "j");

	if (!clone_has_id) {
		w_patch(w, clone_of(w, 2, "wl-j"), ID("null"));
	}
	unlabel(w, job);
	w_later(w, 5000);
	is_str(origin_of(w, job), "multikueue", "a copy without its origin gets it back");
	is_str(check_state(w, wl), "Ready", "and runs on");
	is_int(w_times(w->log, "delete 2 "), 0, "it is not deleted");
	w_free(w);
}

/* Out of what the watch shows, it became another manager's: a delete names what was seen. */
static void anothers_out_of_sight(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *job = w_find(w, 2, JOB, "ns", "j");

	w->rig = (struct rig){.times = 100,
			      .type = OP_MERGE,
			      .cluster = 2,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_INVALID};
	unlabel(w, job);
	w_later(w, 5000);
	ok(w_times(w_take(w), "get 2 Job") > 0, "a copy that the watch does not show is read");
	w_patch(w, job, ID("\"another\""));
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_del(w, wl);
	w_later(w, 60000);
	ok(w_times(w_take(w), "delete 2 Job") > 0 && w_find(w, 2, JOB, "ns", "j"),
	   "it is not deleted when it is another manager's now");
	w_free(w);
}

/* The winner's clone becomes another manager's: nothing is done, and the check says why. */
static void winner_is_anothers(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, clone_of(w, 2, "wl-j"), ID("\"another\""));
	w_later(w, 60000);
	is_str(check_message(w, wl),
	       "The workload was admitted on \"w2\"; has a clone that an earlier manager made: "
	       "multiKueue.formerManagers",
	       "the winner's clone is another manager's: the check's message says so");
	is_int(w_times(w->log, "delete 2 "), 0, "and nothing is deleted");
	w_patch(w, clone_of(w, 2, "wl-j"), ID("\"manager-id\""));
	w_later(w, 60000);
	is_str(check_message(w, wl), "The workload was admitted on \"w2\"",
	       "until it is this one's again");
	w_free(w);
}

/* ... but the copy is ours still: its end comes home. */
static void copy_ends_beside_anothers_clone(void)
{
	struct world *w = w_new(2);

	(void)running_job(w);
	w_patch(w, clone_of(w, 2, "wl-j"), ID("\"another\""));
	w_later(w, 5000);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	w_later(w, 5000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/conditions/0/type"), "Complete",
	       "the copy beside another manager's clone is ours: its end comes home");
	w_free(w);
}

/* ... and ends there: that is no word about this manager's Workload, there or gone. */
static void anothers_end(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, clone_of(w, 2, "wl-j"), ID("\"another\""));
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 5000);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 5000);
	ok(!strstr(w_str(w, wl, "/status/conditions"), "Finished"),
	   "the end of another manager's clone is not this Workload's");
	w_free(w);
}

/* ... and the Workload is made anew: the copy of the one before goes, the clone is left. */
static void made_anew_beside_anothers(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, clone_of(w, 2, "wl-j"), ID("\"another\""));
	w_del(w, wl);
	a_workload(w, "j");
	w_later(w, 60000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "the copy of an earlier Workload goes");
	ok(clone_of(w, 2, "wl-j") != NULL, "another manager's clone beside it does not");
	w_free(w);
}

/* --- ... and the Workload is evicted ---------------------------------------------------------- */

/* Kueue stops the local job and evicts its Workload, when the copy runs beside another's clone. */
static struct object *evicted_beside_anothers(struct world *w)
{
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":2}}");
	w_later(w, 5000);
	w_patch(w, clone_of(w, 2, "wl-j"), ID("\"another\""));
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	evict(w, wl, "Preempted");
	return wl;
}

static void its_copy_goes(void)
{
	struct world *w = w_new(2);
	struct object *wl = evicted_beside_anothers(w);

	w_later(w, 5000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "evicted beside another's clone: the copy goes");
	ok(clone_of(w, 2, "wl-j") && !w_times(w->log, "2 Workload wl-j deactivate"),
	   "... the clone is left");
	ok(!strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status"), "\"active\""),
	   "... then the job runs nowhere, and Kueue gives the quota back");
	queue_again(w, wl);
	w_later(w, 60000);
	ok(!w_find(w, 1, JOB, "ns", "j") && strstr(check_message(w, wl), "earlier manager"),
	   "... the next round waits for the clone, and says so");
	w_free(w);
}

static void its_copy_may_not_go(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w->rig = (struct rig){.times = 20,
			      .type = OP_DELETE,
			      .cluster = 2,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_INVALID};
	wl = evicted_beside_anothers(w);
	w_later(w, 120000);
	ok(strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status"), "\"active\":2") != NULL,
	   "its worker refuses to delete the copy: the quota is held");
	ok(strstr(check_message(w, wl), "refused the removal") != NULL,
	   "... and the check says so");
	w->rig = (struct rig){0};
	w_later(w, 10 * 60000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "... until it lets it go");
	w_free(w);
}

static void its_copy_has_ended(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_stop(w);
	w_patch(w, clone_of(w, 2, "wl-j"), ID("\"another\""));
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	evict(w, wl, "Preempted");
	w->rig = (struct rig){.times = 100,
			      .type = OP_MERGE,
			      .cluster = 0,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	w_restart(w);
	w_later(w, 5000);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "a copy that has ended stays");
	w->rig = (struct rig){0};
	w_later(w, 5 * 60000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/conditions/0/type"), "Complete",
	       "... until its end is home");
	w_free(w);
}

static void its_group_goes(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	w_patch(w, clone_of(w, 2, "grp"), ID("\"another\""));
	pod_phase(w, 2, "p-0", "Succeeded");
	evict(w, wl, "Preempted");
	w_later(w, 5000);
	is_str(phase_of(w, 0, "p-0"), "Succeeded", "of a group, a member's end comes home");
	ok(!pod_on(w, 2, "p-1") && !pod_on(w, 2, "p-2"), "... and the others' copies go");
	is_str(phase_of(w, 0, "p-1"), "Pending", "... which then run nowhere");
	ok(clone_of(w, 2, "grp") != NULL, "... the clone is left");
	w_free(w);
}

/* The copy is another manager's, and its clone is not. */
static void anothers_copy(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":2}}");
	w_later(w, 5000);
	w_stop(w);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), ID("\"another\""));
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	evict(w, wl, "Preempted");
	w_restart(w);
	w_later(w, 5000);
	ok(!strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status"), "\"active\""),
	   "evicted, and its copy is another manager's: no quota is held for that");
	release_quota(w, wl);
	w_later(w, 5000);
	ok(w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"),
	   "... it is left, and our clone goes");
	w_free(w);
}

/* --- ... and elsewhere ------------------------------------------------------------------------ */

/* Nothing may be begun, and a client has cleared the winner's name. */
static void runs_on_unasked(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_stop(w);
	w_patch(w, clone_of(w, 2, "wl-j"), ID("\"another\""));
	w_patch(w, wl, "{\"status\":{\"admissionChecks\":null,\"clusterName\":null}}");
	w_restart(w);
	w_later(w, 60000);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	w_later(w, 5000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/conditions/0/type"), "Complete",
	       "unasked, no winner's name, another's clone: the end of the copy comes home");
	w_free(w);
}

/* The job ran on w1, which was lost and is still out of reach, and runs on w2. */
static struct object *runs_elsewhere(struct world *w)
{
	struct object *wl = running_job_on(w, 1);

	w->stay_down[w->links[1]] = true;
	w_link(w, 1, LINK_DOWN);
	w_later(w, 16 * 60000);
	evict(w, wl, "Evicted due to AdmissionCheck in Retry state");
	w_later(w, 5000);
	queue_again(w, wl);
	admit(w, 2, "wl-j");
	w_later(w, 5000);
	ok(w_find(w, 1, JOB, "ns", "j") && w_find(w, 2, JOB, "ns", "j"), "lost, it runs elsewhere");
	return wl;
}

/* That worker is back, and shows its jobs to no new process. */
static void hidden_jobs_delay_nothing(void)
{
	struct world *w = w_new(2);
	struct object *wl = runs_elsewhere(w);

	w_stop(w);
	w_patch(w, clone_of(w, 2, "wl-j"), ID("\"another\""));
	evict(w, wl, "Preempted");
	w->stay_down[w->links[1]] = false;
	w->rig = (struct rig){.times = 1000,
			      .type = OP_WATCH_OPEN,
			      .cluster = 1,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	w_restart(w);
	w_later(w, 5000);
	ok(!w_find(w, 2, JOB, "ns", "j") && w_find(w, 1, JOB, "ns", "j"),
	   "evicted, the copy beside another's clone goes, whichever worker hides its jobs");
	w_free(w);
}

/* It is back: its copy is a second run. */
static void loser_is_anothers(void)
{
	struct world *w = w_new(2);

	(void)runs_elsewhere(w);
	w_patch(w, clone_of(w, 1, "wl-j"), ID("\"another\""));
	w->stay_down[w->links[1]] = false;
	w_link(w, 1, LINK_UP);
	w_later(w, 5000);
	ok(!w_find(w, 1, JOB, "ns", "j") && clone_of(w, 1, "wl-j"),
	   "back beside another's clone: the copy there goes");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "... and not the winner's");
	w_free(w);
}

/* A copy without its label is out of what the watch shows; a clone without its id stays ours. */
static void made_anew_beside_unmarked(bool copy_has_label, bool clone_has_id)
{
	struct world *w = w_new(1);
	struct object *wl = running_job_on(w, 1), *copy = w_find(w, 1, JOB, "ns", "j");
	char uid[32];

	snprintf(uid, sizeof(uid), "%s", copy->uid);
	if (!clone_has_id) {
		w_patch(w, clone_of(w, 1, "wl-j"), ID("null"));
	}
	if (!copy_has_label) {
		unlabel(w, copy);
	}
	w_later(w, 20);
	w_take(w);
	w_del(w, wl);
	wl = a_workload(w, "j");
	w_later(w, 60000);
	admit(w, 1, "wl-j");
	w_later(w, 60000);
	copy = w_find(w, 1, JOB, "ns", "j");
	ok(copy && strcmp(copy->uid, uid) != 0,
	   copy_has_label ? "made anew: its clone without the id wins, with another copy"
	   : clone_has_id ? "... its copy without the label goes, and one is made"
			  : "... so with neither");
	is_str(check_state(w, wl), "Ready", "... in the round that was won");
	is_int(w_times(w->log, "winner_gone"), 0, "... which is not given up");
	w_free(w);
}

int main(void)
{
	gets_its_origin_back(true);
	gets_its_origin_back(false);
	anothers_out_of_sight();
	winner_is_anothers();
	copy_ends_beside_anothers_clone();
	anothers_end();
	made_anew_beside_anothers();
	made_anew_beside_unmarked(true, false);
	made_anew_beside_unmarked(false, true);
	made_anew_beside_unmarked(false, false);
	its_copy_goes();
	its_copy_may_not_go();
	its_copy_has_ended();
	anothers_copy();
	runs_on_unasked();
	loser_is_anothers();
	hidden_jobs_delay_nothing();
	w_more = &mk_entry_pod;
	its_group_goes();
	return done_testing();
}
