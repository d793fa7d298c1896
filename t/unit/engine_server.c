/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place is a server: the name of a MultiKueueCluster may lead to another API server from one day
 * to the next. A job that was sent to the former one is out of reach then, not gone.
 */
#include "t/lib/engine_leads.h"

enum { OTHER = 7, SECOND = 1000, TIMEOUT = 900 * SECOND };

static void record_is_written_once(void)
{
	struct world *w = w_new(2);

	is_str(server(w, "w1", "message"), "kube-system worker-1",
	       "the server of a cluster is on record");
	is_str(server(w, "w1", "reason"), "Identified", "as what it is");
	w->full = true;
	w_take(w);
	restart(w);
	w_later(w, 10 * SECOND);
	is_int((int)w_times(w_take(w), "merge 0 MultiKueueCluster"), 0,
	       "a new process writes nothing: it says the same");
	w_free(w);
}

static void secret_changes(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);
	const char *log;

	w->full = true;
	w_take(w);
	lead(w, 2, OTHER);
	w_later(w, 60 * SECOND);
	ok(runs_on(w, wl), "another server is seen: the job runs on at the former one");
	is_str(server(w, "w2", "reason"), "AnotherServer", "the condition says so");
	ok(says(w, "w2", "kube-system worker-7, before worker-2: "), "with both servers");
	ok(says(w, "w2", "waited for until 2027-01-15T08:15:0"), "and the end of the wait");
	log = w_take(w);
	is_int((int)w_times(log, "\"reason\":\"WorkerUnreachable\""), 1, "one Event tells");
	ok(strstr(log, "leads to another API server since 2027-01-15T08:00:0") != NULL,
	   "... what has happened");
	w_later(w, TIMEOUT - 62 * SECOND);
	ok(runs_on(w, wl), "it is waited for as at a lost worker");
	w_later(w, 4 * SECOND);
	is_str(check_state(w, wl), "Retry", "and queued again after workerLostTimeout");
	w_free(w);
}

static void it_leads_back(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	lead(w, 2, OTHER);
	w_later(w, 300 * SECOND);
	lead(w, 2, 0);
	w_take(w);
	w_later(w, 2 * TIMEOUT);
	ok(runs_on(w, wl), "the name leads back in time: the job goes on");
	ok(says(w, "w2", "kube-system worker-2, before worker-7"), "the record says both");
	is_int((int)w_times(w_take_work(w), "delete "), 0, "nothing is deleted");
	restart(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 60 * SECOND);
	ok(runs_on(w, wl), "a record that is old makes no later loss a long one");
	w_free(w);
}

/* Two Secrets are swapped: the server is seen by the other name. */
static void names_are_swapped(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	lead(w, 2, OTHER);
	lead(w, 1, 2);
	w_take(w);
	w_later(w, 2 * TIMEOUT);
	ok(runs_on(w, wl), "the job is seen on its server under another name, and runs on");
	is_int((int)w_times(w_take_work(w), "delete "), 0, "nothing is deleted");
	w_free(w);
}

/*
 * The same, and the new server under the winner's name does not show its jobs yet: what this
 * process saw under that name before was another server's.
 */
static void names_are_swapped_unlisted(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	lead(w, 1, 2);
	ok(runs_on(w, wl), "a second name leads to the server where the job runs");
	w->hold_jobs[2] = true;
	lead(w, 2, OTHER);
	w_later(w, 5 * SECOND);
	ok(runs_on(w, wl), "the first one leads away, and its jobs are not listed: it runs on");
	w->hold_jobs[2] = false;
	w_list(w, 2, JOB);
	w_later(w, 2 * TIMEOUT);
	ok(runs_on(w, wl), "... and so it does under the second name");
	is_int((int)w_times(w_take_work(w), "delete 1"), 0, "nothing is deleted there");
	w_free(w);
}

/* Another client takes Ready back after the name was led elsewhere: the date is not renewed. */
static void ready_is_taken_back(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	lead(w, 1, 2);
	lead(w, 2, OTHER);
	w_later(w, 5 * SECOND);
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
	w_later(w, 5 * SECOND);
	is_str(check_state(w, wl), "Ready", "another client takes Ready back: it is Ready again");
	restart(w);
	w_later(w, 2 * TIMEOUT);
	ok(runs_on(w, wl),
	   "... and was sent before the name led elsewhere, also for a new process");
	w_free(w);
}

static void while_the_daemon_is_down(bool hides)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *record = hides ? "kube-system unknown, before worker-2"
				   : "kube-system worker-7, before worker-2";

	w->hides[2] = hides;
	lead_while_down(w, 2, OTHER);
	w_later(w, 10 * SECOND);
	ok(runs_on(w, wl), hides ? "a Secret that changed unseen, to a hidden server: no Retry"
				 : "a Secret that changed unseen: no Retry");
	ok(says(w, "w2", record), "... and the record says so");
	for (int64_t end = w->now + TIMEOUT - 30 * SECOND; w->now < end;) {
		restart(w);
		w_later(w, 2 * SECOND);
	}
	ok(runs_on(w, wl), "... restarts every three seconds neither shorten the wait");
	for (int i = 0; i < 15; i++) {
		restart(w);
		w_later(w, 2 * SECOND);
	}
	is_str(check_state(w, wl), "Retry", "... nor prolong it");
	w_free(w);
}

/* An identity that cannot be read counts as the same while nothing says otherwise. */
static void hidden_and_the_same(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w->hides[2] = true;
	restart(w);
	wl = running_job(w);
	restart(w);
	w_later(w, 60 * SECOND);
	ok(runs_on(w, wl), "a hidden identity: the job is seen");
	is_str(server(w, "w2", "message"), "kube-system worker-2", "and the record stays");
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 5 * SECOND);
	is_str(check_state(w, wl), "Retry", "what goes while we look is gone");
	w_free(w);
}

static void declared_lost(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w->lost_keep = true;
	restart(w);
	wl = running_job(w);
	lead(w, 2, OTHER);
	w_later(w, 10 * TIMEOUT);
	ok(runs_on(w, wl), "lostWorkerPolicy Keep: the former server is waited for");
	ok(says(w, "w2", "without limit (lostWorkerPolicy: Keep)"), "the condition says so");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/server-lost\":\"worker-1\"}}}");
	w_later(w, 5 * SECOND);
	ok(runs_on(w, wl), "another server that is declared lost changes nothing");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/server-lost\":\"worker-2\"}}}");
	w_later(w, 5 * SECOND);
	is_str(check_state(w, wl), "Retry", "an operator declares it lost: queued again at once");
	ok(says(w, "w2", "declared lost by annotation multikueued.io/server-lost"),
	   "the condition says so");
	w_free(w);
}

static void declared_lost_while_down(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/server-lost\":\"worker-2\"}}}");
	w_later(w, 60 * SECOND);
	ok(runs_on(w, wl), "a server that is in reach is not lost, whatever the annotation says");
	w_link(w, 2, LINK_DOWN);
	w_later(w, 2 * SECOND);
	is_str(check_state(w, wl), "Retry", "out of reach, it is lost at once");
	w_free(w);
}

/* Evicted on the manager while its job is out of reach: quota is held until it may be given up. */
static void evicted(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const struct object *job = w_find(w, 0, JOB, "ns", "j");

	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"status\":{\"active\":2}}");
	lead(w, 2, OTHER);
	evict(w, wl, "Preempted");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, TIMEOUT - 10 * SECOND);
	is_str(w_str(w, job, "/status/active"), "2", "evicted: its pods count as running");
	w_later(w, 20 * SECOND);
	ok(strcmp(w_str(w, job, "/status/active"), "2") != 0, "until the server counts as lost");
	w_free(w);
}

/* A MultiKueueCluster is made anew under its name, with another server behind it. */
static void made_anew(bool hides)
{
	struct world *w = w_new(2);
	struct object *wl;

	w->hides[2] = w->hides[3] = hides;
	restart(w);
	wl = running_job(w);
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_later(w, 5 * SECOND);
	add_cluster(w, 2, ",\"creationTimestamp\":\"2027-01-15T08:00:05Z\"");
	w_later(w, TIMEOUT - 20 * SECOND);
	is_str(check_state(w, wl), "Ready",
	       hides ? "the same with hidden identities: the job is waited for"
		     : "a cluster of the name made anew: the job is waited for");
	w_later(w, 40 * SECOND);
	is_str(check_state(w, wl), "Retry", "until the timeout");
	w_free(w);
}

/*
 * The same, with the same server behind it: what is not there any more was not left elsewhere. A
 * process that does not know where the job was waits for the server of before.
 */
static void made_anew_and_copy_gone(bool is_evicted)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct object *job = w_find(w, 0, JOB, "ns", "j");

	w_patch(w, job, "{\"status\":{\"active\":2}}");
	w_settle(w);
	if (is_evicted) {
		evict(w, wl, "Preempted");
		w_patch(w, job, "{\"spec\":{\"suspend\":true}}");
		w_settle(w);
	}
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_settle(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 5 * SECOND);
	w->alias_of[3] = 2;
	add_cluster(w, 2, ",\"creationTimestamp\":\"2027-01-15T08:00:05Z\"");
	w_later(w, 10 * SECOND);
	if (is_evicted) {
		ok(strcmp(w_str(w, job, "/status/active"), "2") != 0,
		   "evicted: its server has a name again, and no copy: the quota comes back");
	} else {
		is_str(check_state(w, wl), "Retry",
		       "its server has a name again, and no copy: the job is queued again");
	}
	w_free(w);
}

/*
 * A loser's clone that was out of reach at the win: that the winner is out of sight later is no
 * reason to keep it.
 */
static void losers_go(bool anew)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w->stay_down[3] = true;
	w_link(w, 3, LINK_DOWN);
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	if (anew) {
		w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
		w_later(w, 5 * SECOND);
		ok(clone_of(w, 3, "wl-j") != NULL, "a loser's clone is out of reach");
	} else {
		lead(w, 2, OTHER);
		w_later(w, 60 * SECOND);
	}
	w->stay_down[3] = false;
	w_link(w, 3, LINK_UP);
	w_later(w, 60 * SECOND);
	ok(!clone_of(w, 3, "wl-j"),
	   anew ? "the winner's MultiKueueCluster is gone: a loser's clone goes all the same"
		: "the winner's name leads elsewhere: a loser's clone goes all the same");
	ok(runs_on(w, wl), "... and the winner is waited for");
	w_free(w);
}

/* Of the same name, a clone that lost there and is admitted late is not the winner's. */
static void another_clone_is_there(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w->stay_down[1] = true;
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "the job runs on w2");
	admit(w, 1, "wl-j");
	lead(w, 2, 1);
	w_later(w, 60 * SECOND);
	ok(!w_find(w, 1, JOB, "ns", "j") && runs_on(w, wl),
	   "w2 leads to the server of a loser: no second job is made there");
	w->stay_down[1] = false;
	w_link(w, 1, LINK_UP);
	w_later(w, 10 * SECOND);
	w_link(w, 2, LINK_CONNECTING);
	w_later(w, 10 * SECOND);
	ok(!w_find(w, 1, JOB, "ns", "j") && runs_on(w, wl),
	   "nor does the loser's name speak for it while w2 is connected anew");
	w_free(w);
}

/* The next job may go to the server that is there now. */
static void new_jobs_go_on(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *next;

	lead(w, 2, OTHER);
	w_later(w, 10 * SECOND);
	next = a_job(w, "k");
	w_settle(w);
	admit(w, OTHER, "wl-k");
	w_later(w, 5 * SECOND);
	is_str(check_state(w, next), "Ready", "a new job wins on the new server");
	ok(w_find(w, OTHER, JOB, "ns", "k") != NULL, "and is made there");
	w_del(w, clone_of(w, OTHER, "wl-k"));
	w_later(w, 5 * SECOND);
	is_str(check_state(w, next), "Retry", "what was sent to the new server and goes is gone");
	ok(runs_on(w, wl), "the former job is waited for");
	w_free(w);
}

int main(void)
{
	record_is_written_once();
	secret_changes();
	it_leads_back();
	names_are_swapped();
	names_are_swapped_unlisted();
	ready_is_taken_back();
	while_the_daemon_is_down(false);
	while_the_daemon_is_down(true);
	hidden_and_the_same();
	declared_lost();
	declared_lost_while_down();
	evicted();
	made_anew(false);
	made_anew(true);
	made_anew_and_copy_gone(false);
	made_anew_and_copy_gone(true);
	losers_go(true);
	losers_go(false);
	another_clone_is_there();
	new_jobs_go_on();
	return done_testing();
}
