/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of MultiKueueClusters that led to other servers, and a process that was not there: where a
 * job runs is on record by date.
 */
#include "t/lib/engine_leads.h"

enum { OTHER = 7, THIRD = 6, SECOND = 1000, TIMEOUT = 900 * SECOND };

/* The same, unseen; and the server to which the name leads now has a name of its own. */
static void evicted_and_shared(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const struct object *job = w_find(w, 0, JOB, "ns", "j");

	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"status\":{\"active\":2}}");
	w->stay_down[2] = true;
	w_link(w, 2, LINK_DOWN);
	evict(w, wl, "Preempted");
	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_settle(w);
	w->stay_down[2] = false;
	lead_while_down(w, 2, 1);
	w_later(w, TIMEOUT - 30 * SECOND);
	is_str(w_str(w, job, "/status/active"), "2",
	       "evicted, and led to the server of another name: its pods count as running");
	w_later(w, 60 * SECOND);
	ok(strcmp(w_str(w, job, "/status/active"), "2") != 0, "until the server counts as lost");
	w_free(w);
}

/* The record of the winner was taken away, and a new process has only the job's status. */
static void running_without_a_winner(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:00:00Z\"}}");
	wl = running_job(w);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"status\":{\"active\":2}}");
	w_stop(w);
	w_patch(w, wl,
		"{\"status\":{\"clusterName\":null,\"admissionChecks\":[{\"name\":\"mk\",\"state\":"
		"\"Pending\",\"message\":\"\"}]}}");
	w->alias_of[2] = OTHER;
	w_restart(w);
	w_later(w, 5 * SECOND);
	admit(w, 1, "wl-j");
	w_later(w, TIMEOUT - 60 * SECOND);
	ok(!w_find(w, 1, JOB, "ns", "j"),
	   "no winner is on record, and a name leads elsewhere: no other worker takes the job");
	w_later(w, 120 * SECOND);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "until the former server counts as lost");
	w_free(w);
}

/*
 * The name leads elsewhere, and while no process looks the Workload is evicted and gets quota
 * again: the job's status, which was not written yet, does not say that it runs.
 */
static void evicted_and_led_on(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:00:00Z\"}}");
	w_patch(w, wl, "{\"metadata\":{\"creationTimestamp\":\"2027-01-15T08:00:00Z\"}}");
	lead(w, 2, OTHER);
	w_stop(w);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"status\":{\"active\":null}}");
	evict(w, wl, "Preempted");
	release_quota(w, wl);
	give_quota(w, wl);
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":"
		"\"True\",\"reason\":\"QuotaReserved\",\"message\":\"\","
		"\"lastTransitionTime\":\"2027-01-15T08:00:20Z\"},{\"type\":\"Evicted\",\"status\":"
		"\"False\",\"reason\":\"QuotaReserved\"}]}}");
	w->wall += 30 * SECOND;
	w->now += 30 * SECOND;
	w_restart(w);
	w_later(w, 5 * SECOND);
	admit(w, 1, "wl-j");
	w_later(w, TIMEOUT - 60 * SECOND);
	ok(!w_find(w, 1, JOB, "ns", "j"),
	   "a round has ended unseen, and its winner's name leads elsewhere: no other worker "
	   "takes the job");
	ok(strstr(check_message(w, wl),
		  "; the job may run on the API server to which it led before, no other worker "
		  "takes it until that counts as lost"),
	   "... and the check says why");
	w_later(w, 120 * SECOND);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "until the former server counts as lost");
	w_free(w);
}

/* The name leads to the server of a loser, whose clone is admitted late. */
static void lost_beside_a_loser(bool is_dated)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *clone = clone_of(w, 2, "wl-j");

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		is_dated ? "{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:00:00Z\"}}"
			 : "{}");
	w->stay_down[1] = true;
	w_link(w, 1, LINK_DOWN);
	lead(w, 2, OTHER);
	w_later(w, TIMEOUT - 30 * SECOND);
	lead(w, 2, 1);
	w_put(w, 1, KIND_WORKLOAD, clone->text);
	admit(w, 1, "wl-j");
	w_later(w, 60 * SECOND);
	is_str(check_state(w, wl), "Retry",
	       is_dated ? "the server counts as lost: the job is queued again, whatever clone is "
			  "seen"
			: "the same where the date does not tell the server");
	ok(!w_find(w, 1, JOB, "ns", "j"), "... and is not made where it has not won");
	w_free(w);
}

/* An operator declares a server lost, but not the one where the job runs. */
static void another_declared_lost(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:00:00Z\"}}");
	wl = running_job(w);
	w_later(w, 10 * SECOND);
	lead(w, 2, OTHER);
	w_later(w, 10 * SECOND);
	lead(w, 2, THIRD);
	restart(w);
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/server-lost\":\"worker-7\"}}}");
	w_later(w, 60 * SECOND);
	is_str(check_state(w, wl), "Ready",
	       "the server between is lost: a job that was sent before is waited for");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/server-lost\":\"worker-2\"}}}");
	w_later(w, 10 * SECOND);
	is_str(check_state(w, wl), "Retry", "its own server is: the job is queued again");
	w_free(w);
}

/*
 * The name leads on twice, a copy of a round before comes back, and a new process looks: where the
 * name led when the job was sent is on record, and tells which of the two copies is the winner's.
 */
static void led_on_beside_a_leftover(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w1"),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:00:00Z\"}}");
	w->stay_down[2] = true;
	w_link(w, 2, LINK_DOWN);
	w_later(w, TIMEOUT + 10 * SECOND);
	evict(w, wl, "x");
	w_settle(w);
	queue_again(w, wl);
	admit(w, 1, "wl-j");
	w_later(w, 10 * SECOND);
	ok(w_find(w, 1, JOB, "ns", "j") && w_find(w, 2, JOB, "ns", "j"),
	   "a job was lost on w2, and runs on w1");
	lead(w, 1, OTHER);
	w_later(w, 10 * SECOND);
	lead(w, 1, THIRD);
	lead(w, 3, 1);
	ok(says(w, "w1", "kube-system worker-6, before worker-7 since "),
	   "w1 leads to a third server: the one before is on record with its date");
	ok(says(w, "w1", ", worker-1 since 2027-01-15T07:00:00Z: "), "... and so is the first one");
	w->stay_down[2] = false;
	restart(w);
	w_link(w, 2, LINK_UP);
	w_later(w, 60 * SECOND);
	ok(w_find(w, 1, JOB, "ns", "j") && !strcmp(check_state(w, wl), "Ready"),
	   "a new process: it runs on, under the name w3");
	ok(!w_find(w, 2, JOB, "ns", "j"), "... and what is left on w2 is removed");
	w_free(w);
}

/*
 * A new process has not seen the worker where the job runs, whose status does not say so yet, and
 * the Workload is made anew: the server that is on record for the winner's name is waited for.
 */
static void made_anew_unseen(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->stay_down[2] = true;
	w_stop(w);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"status\":{\"active\":null}}");
	w_restart(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 60 * SECOND);
	is_str(check_state(w, wl), "Ready", "a new process does not see the winner's server");
	w_del(w, wl);
	w_later(w, 5 * SECOND);
	a_workload(w, "j");
	w_settle(w);
	admit(w, 1, "wl-j");
	w_later(w, TIMEOUT - 120 * SECOND);
	ok(!w_find(w, 1, JOB, "ns", "j"),
	   "its Workload is made anew: no other worker takes the job");
	w_later(w, 180 * SECOND);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "until the server counts as lost");
	w_free(w);
}

/* A name leads on in the second in which a job has won. */
static void led_on_within_a_second(bool at_once)
{
	struct world *w = w_new(3);
	struct object *wl;

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:00:00Z\"}}");
	lead(w, 2, OTHER);
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, OTHER, "wl-j");
	w_settle(w);
	if (!at_once) {
		lead(w, 2, THIRD);
	}
	lead(w, 3, OTHER);
	restart(w);
	w_later(w, 60 * SECOND);
	ok(w_find(w, OTHER, JOB, "ns", "j") && !strcmp(check_state(w, wl), "Ready"),
	   at_once ? "a job wins where its name leads since a moment, and a new process looks: it "
		     "runs on"
		   : "the name leads on in the same second: the job runs on where it was sent");
	w_free(w);
}

/* The status of a MultiKueueCluster is refused, and its name leads elsewhere meanwhile. */
static void not_on_record_yet(void)
{
	struct world *w = w_new(1);
	struct object *wl;

	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w1"));
	w_settle(w);
	w->rig = (struct rig){.times = 1000,
			      .type = OP_MERGE,
			      .cluster = CLUSTER_MANAGER,
			      .kind = KIND_CLUSTER,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	add_cluster(w, 1, "");
	w_settle(w);
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_later(w, 60 * SECOND);
	is_str(server(w, "w1", "message"), "", "the server of a name is not on record");
	is_str(check_state(w, wl), "Pending", "... and no job is sent there");
	w->rig.times = 0;
	w_later(w, 60 * SECOND);
	is_str(check_state(w, wl), "Ready", "... until it is");
	w_free(w);
}

/*
 * The job is lost on w2, and runs on the server of w3, to which w2 leads then, where its copy is
 * dated 'made'. The process ends.
 */
static void lost_and_runs_where_it_leads(struct world *w, struct object *wl, const char *made)
{
	char patch[96];

	snprintf(patch, sizeof(patch), "{\"metadata\":{\"creationTimestamp\":\"%s\"}}", made);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T08:00:00Z\"}}");
	lead(w, 2, OTHER);
	w_later(w, TIMEOUT + 10 * SECOND);
	evict(w, wl, "x");
	w_settle(w);
	queue_again(w, wl);
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":"
		"\"True\",\"reason\":\"QuotaReserved\",\"message\":\"\","
		"\"lastTransitionTime\":\"2027-01-15T08:15:12Z\"}]}}");
	admit(w, OTHER, "wl-j");
	w_later(w, 10 * SECOND);
	ok(w_find(w, OTHER, JOB, "ns", "j") != NULL, "a job was lost, and runs where w2 leads now");
	w_patch(w, w_find(w, OTHER, JOB, "ns", "j"), patch);
	w_stop(w);
}

/*
 * A job was lost on w2, and runs on the server of w3, to which w2 led then. A client has taken the
 * date of the win, w2 leads back to where the former copy is, and a new process looks.
 */
static void undated_beside_a_leftover(const char *made)
{
	bool is_dated = strstr(made, "08:1") != NULL;
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:00:00Z\"}}");
	lost_and_runs_where_it_leads(w, wl, made);
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"status\":{\"conditions\":[{\"type\":\"multikueued.io/Server\",\"status\":"
		"\"True\",\"reason\":\"AnotherServer\",\"message\":\"kube-system worker-2, before "
		"worker-7 since 2027-01-15T08:00:01Z, worker-2 since 2027-01-15T07:00:00Z: x\","
		"\"lastTransitionTime\":\"2027-01-15T08:15:20Z\"}]}}");
	w->alias_of[2] = 2;
	w->alias_of[3] = OTHER;
	w_restart(w);
	w_later(w, 60 * SECOND);
	ok(w_find(w, OTHER, JOB, "ns", "j") != NULL,
	   "the date of the win is gone, and a leftover copy is back: the job runs on");
	ok(is_dated == !w_find(w, 2, JOB, "ns", "j"),
	   is_dated ? "... and the older copy goes: it was made before this round"
		    : "... and neither goes, where nothing tells which is which");
	is_str(check_state(w, wl), is_dated ? "Ready" : "Pending", "... and the check says so");
	w_later(w, TIMEOUT);
	is_str(check_state(w, wl), is_dated ? "Ready" : "Retry", "... as after the timeout");
	w_free(w);
}

/*
 * A job was lost on w2, and runs on the server of w3, to which w2 led then. w2 is made anew, which
 * takes its record along, leads back to where the former copy is, and a new process looks.
 */
static void made_anew_beside_a_leftover(bool is_moved, const char *made)
{
	bool is_dated = strstr(made, "08:1") != NULL;
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	lost_and_runs_where_it_leads(w, wl, made);
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	add_cluster(w, 2, ",\"creationTimestamp\":\"2027-01-15T08:15:25Z\"");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		!is_moved ? "{}"
			  : "{\"status\":{\"conditions\":[{\"type\":\"multikueued.io/Server\","
			    "\"status\":\"True\",\"reason\":\"AnotherServer\",\"message\":"
			    "\"kube-system worker-2, before worker-7 since 2027-01-15T08:15:25Z: "
			    "x\",\"lastTransitionTime\":\"2027-01-15T08:15:27Z\"}]}}");
	w->alias_of[2] = 2;
	w->alias_of[3] = OTHER;
	w_restart(w);
	w_later(w, 60 * SECOND);
	ok(w_find(w, OTHER, JOB, "ns", "j") != NULL,
	   "a MultiKueueCluster was made anew, and a leftover copy is back: the job runs on");
	ok(is_dated == !w_find(w, 2, JOB, "ns", "j"),
	   is_dated ? "... and the older copy goes: it was made before this round"
		    : "... and neither goes, where nothing tells which is which");
	w_later(w, TIMEOUT);
	is_str(check_state(w, wl), is_dated ? "Ready" : "Retry", "... as after the timeout");
	w_free(w);
}

/*
 * A client says that the job is evicted, and its winner stays on record: what that one shows tells.
 * The other name leads elsewhere since a moment, but nothing was sent to where it led before.
 */
static void evicted_with_its_winner_in_sight(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const struct object *job = w_find(w, 0, JOB, "ns", "j");

	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":2}}");
	lead(w, 1, OTHER);
	w_stop(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"},{"
		"\"type\":\"Evicted\",\"status\":\"True\"}]}}");
	w_restart(w);
	w_later(w, 30 * SECOND);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "evicted, and its winner is on record");
	ok(strcmp(w_str(w, job, "/status/active"), "2") != 0,
	   "... where the copy is gone: its pods run no more");
	w_free(w);
}

/*
 * The winner's name has led elsewhere, and leads nowhere now: none of its credentials is good. The
 * manager's clock was an hour ahead when the job won. What another name shows at the server that is
 * known to have won counts, whatever the dates say.
 */
static void led_nowhere(void)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w->wall += 3600 * SECOND;
	admit(w, 2, "wl-j");
	w_settle(w);
	w->wall -= 3600 * SECOND;
	w_later(w, 10 * SECOND);
	lead(w, 2, OTHER);
	lead(w, 3, 2);
	w->stay_down[2] = true;
	w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w2"),
		"{\"data\":{\"kubeconfig\":\"none\"}}");
	w_link(w, 2, LINK_DOWN);
	w_later(w, 60 * SECOND);
	ok(runs_on(w, wl), "the winner's name leads nowhere, after it led elsewhere: it runs on");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 10 * SECOND);
	ok(strstr(w_str(w, wl, "/status/conditions"), "Succeeded") != NULL,
	   "... to its end, which comes home at once by the name that shows it");
	w_free(w);
}

int main(void)
{
	led_nowhere();
	evicted_with_its_winner_in_sight();
	evicted_and_shared();
	running_without_a_winner();
	evicted_and_led_on();
	lost_beside_a_loser(true);
	lost_beside_a_loser(false);
	another_declared_lost();
	led_on_beside_a_leftover();
	made_anew_unseen();
	led_on_within_a_second(false);
	led_on_within_a_second(true);
	not_on_record_yet();
	undated_beside_a_leftover("2027-01-15T08:15:13Z");
	undated_beside_a_leftover("2027-01-15T08:00:01Z");
	made_anew_beside_a_leftover(true, "2027-01-15T08:15:13Z");
	made_anew_beside_a_leftover(false, "2027-01-15T08:15:13Z");
	made_anew_beside_a_leftover(true, "2027-01-15T08:00:01Z");
	return done_testing();
}
