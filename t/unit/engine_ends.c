/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job ended is never lost: its copy stays until the manager has the end, however often the
 * manager refuses it.
 */
#include "t/lib/engine_world.h"

#define COMPLETE                                                                   \
	"{\"status\":{\"active\":null,\"succeeded\":2,"                            \
	"\"startTime\":\"2027-01-15T08:00:00Z\","                                  \
	"\"completionTime\":\"2027-01-15T08:10:00Z\","                             \
	"\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\",\"reason\":\"" \
	"CompletionsReached\"}]}}"
#define OF_RIGHTS                                                                    \
	"jobs.batch \"j\" is forbidden: User \"multikueued\" cannot patch resource " \
	"\"jobs/status\" "                                                           \
	"in API group \"batch\" in the namespace \"ns\""
#define OF_POLICY "jobs.batch \"j\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no"

static void refuse(struct world *w, unsigned times, enum mk_code code, int http, const char *words)
{
	w->rig = (struct rig){.times = times,
			      .type = OP_MERGE,
			      .cluster = CLUSTER_MANAGER,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = code};
	w->rig_http = http;
	w->rig_words = words;
}

/* The copy on w2 has run and completes; the manager refuses the status of the local job. */
static struct object *ends_while_refused(struct world *w, enum mk_code code, int http,
					 const char *words)
{
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":false}}");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":false},\"status\":{\"active\":2}}");
	w_later(w, 3000);
	(void)w_take(w);
	refuse(w, 1000000, code, http, words);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_settle(w);
	return wl;
}

static bool is_finished(struct world *w, const struct object *wl)
{
	return strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL;
}

static bool is_complete(struct world *w)
{
	return strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/conditions"), "Complete") !=
	       NULL;
}

/* Rights that come back, a policy that is taken back: nothing is given up meanwhile. */
static void refused_for_a_while(enum mk_code code, int http, const char *words, int64_t ms)
{
	struct world *w = w_new(2);
	struct object *wl = ends_while_refused(w, code, http, words);
	size_t n;

	w_advance(w, ms);
	n = w_times(w->log, "merge 0 Job j job_status") +
	    w_times(w->log, "merge 0 Job j last_status");
	printf("# %d: %zu writes\n", http, n);
	ok(n > 8, "more than eight writes of the status are refused");
	ok(!is_finished(w, wl), "... the Workload is not Finished without its job's end");
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"), "... the copy stays");
	w->rig.times = 0;
	w_advance(w, 120 * 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
	       "the whole status comes when the manager takes it");
	ok(is_complete(w) && is_finished(w, wl), "... the job is Complete, the Workload Finished");
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"), "... and nothing is left");
	w_free(w);
}

/* The wait is reported: in an Event with the server's words, and in why. */
static void is_reported(void)
{
	struct world *w = w_new(2);
	struct object *wl = ends_while_refused(w, ERR_DENIED, 403, OF_RIGHTS);

	w->full = true;
	(void)w_take(w);
	w_advance(w, 8000);
	ok(!strstr(w_take(w), "WriteRefused"), "8 s of refusals: no Event yet");
	w_advance(w, 120 * 1000);
	is_int((long long)w_times(w->log, "\"reason\":\"WriteRefused\""), 1,
	       "after 10 s: one Event");
	ok(strstr(w->log, "the manager's API server has refused the job's status since ") &&
		   strstr(w->log, "cannot patch resource"),
	   "... in the server's words");
	ok(!is_finished(w, wl) && w_find(w, 2, JOB, "ns", "j"), "... and the copy stays");
	w_free(w);
}

#define SAYS                                                                                   \
	"The workload was admitted on \"w2\"; the manager's API server has refused the job's " \
	"status since 2027-01-15T08:00:03Z, and is asked again: "

/* ... and in the check's message, which another client empties, and where no copy is left. */
static void is_said(void)
{
	struct world *w = w_new(2);
	struct object *wl = ends_while_refused(w, ERR_DENIED, 403, OF_RIGHTS);

	w_later(w, 9000);
	is_str(check_message(w, wl), "The workload was admitted on \"w2\"",
	       "9 s of refusals: the check says no more than the winner");
	w_later(w, 3000);
	is_str(check_message(w, wl), SAYS OF_RIGHTS, "after 10 s it says what is refused, and why");
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:20Z\"}]}}");
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_later(w, 60 * 1000);
	is_str(check_message(w, wl), SAYS OF_RIGHTS, "another client empties it: it says so again");
	w->rig.times = 0;
	w_later(w, 120 * 1000);
	ok(is_complete(w) && is_finished(w, wl), "the end comes when the manager takes it");
	w_free(w);
}

/* A status that a policy refuses for good does not keep the quota. */
static void refused_for_good(void)
{
	struct world *w = w_new(2);
	struct object *wl = ends_while_refused(w, ERR_DENIED, 403, OF_POLICY);
	const char *log;

	w->full = true;
	w_advance(w, 9000);
	(void)w_take(w);
	w_advance(w, 60 * 1000);
	log = w_take(w);
	ok(strstr(log, "\"succeeded\":2") != NULL, "the copy's status is tried again");
	ok(strstr(log, "\"SuccessCriteriaMet\"") && !is_finished(w, wl),
	   "after 10 s the smallest status that says the end is tried, too");
	w_advance(w, 16 * 60 * 1000);
	ok(is_finished(w, wl), "after workerLostTimeout Finished is written alone");
	ok(!is_complete(w), "... while the job's status is refused still");
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"), "... the copy stays");
	w_restart(w);
	w_later(w, 60 * 1000);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "... for a process that begins as well");
	w->rig.times = 0;
	w_advance(w, 6 * 60 * 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
	       "the end comes when the manager takes it");
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"), "... then nothing is left");
	w_later(w, 60 * 1000);
	(void)w_take(w);
	w_advance(w, 10 * 60 * 1000);
	is_str(w_take_work(w), "", "... and nothing is sent");
	w_free(w);
}

/* The smallest status is taken, the whole one is not: the job has ended. */
static void smallest_is_taken(void)
{
	struct world *w = w_new(2);
	struct object *wl =
		ends_while_refused(w, ERR_INVALID, 422, "status.succeeded: Invalid value");

	w_advance(w, 9900);
	while (!strstr(w->log, "SuccessCriteriaMet") && w->now < T0 + 600 * 1000) {
		w->full = true;
		(void)w_take(w);
		w_advance(w, 100);
	}
	w->rig.times = 0;
	w_advance(w, 400 * 1000);
	ok(is_complete(w) && is_finished(w, wl), "the job is Complete, the Workload Finished");
	ok(!w_find(w, 2, JOB, "ns", "j"), "... and the copy is removed");
	w_free(w);
}

/* The user deletes the job that the end is owed to: no user waits for it any more. */
static void owed_to_no_job(void)
{
	struct world *w = w_new(2);
	struct object *wl = ends_while_refused(w, ERR_INVALID, 422, "no");

	w_advance(w, 16 * 60 * 1000);
	ok(is_finished(w, wl) && w_find(w, 2, JOB, "ns", "j"), "the copy of a Finished one stays");
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_later(w, 60 * 1000);
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"),
	   "... until its job is deleted");
	w_free(w);
}

/* The copy completes and is removed with its clone: by a TTL, a cleaner, the worker's Kueue. */
static void completes_and_goes(struct world *w)
{
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
}

static void is_home(struct world *w, const struct object *wl, const char *name)
{
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2", name);
	is_str(check_state(w, wl), "Ready", "... it does not run a second time");
	ok(is_complete(w) && is_finished(w, wl), "... the job is Complete, the Workload Finished");
	(void)w_take(w);
	w_later(w, 20 * 60 * 1000);
	is_str(w_take_work(w), "", "... and nothing else is sent");
}

static void seen_in_one_batch(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	completes_and_goes(w);
	w_later(w, 3000);
	is_home(w, wl, "an end and its removal in one batch: the end is there");
	w_free(w);
}

static void seen_while_the_manager_is_down(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	refuse(w, 12, ERR_UNAVAILABLE, 503, "etcd is down");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_settle(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 60 * 1000);
	is_home(w, wl, "an end seen while the manager answers 503, then removed: the end is there");
	w_free(w);
}

/* ... and then the worker is lost as well. */
static void seen_before_the_worker_is_lost(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	refuse(w, 12, ERR_UNAVAILABLE, 503, "etcd is down");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	w_settle(w);
	w_link(w, 2, LINK_DOWN);
	w->stay_down[2] = true;
	w_settle(w);
	w_advance(w, 30 * 60 * 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
	       "an end seen before its worker is lost: the end is there");
	is_str(check_state(w, wl), "Ready", "... it does not run a second time");
	w_free(w);
}

/* Only the clone shows it, then all is gone: the job's own end was never seen. */
static void seen_of_the_clone(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 5000);
	is_str(check_state(w, wl), "Ready", "an end that the clone alone showed: no second run");
	ok(is_finished(w, wl), "... the Workload is Finished");
	w_free(w);
}

/* A clone that another client says to be Finished, and removes, where no place has won yet. */
static void finished_before_the_win(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 5000);
	ok(!is_finished(w, wl) && !is_complete(w),
	   "a Finished clone that goes before a place has won: the job has not ended");
	admit(w, 1, "wl-j");
	w_settle(w);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "... and runs where it wins");
	w_free(w);
}

/* ... and a worker that was restored shows the copy as it was before its end. */
static void restored_before_the_end(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 5000);
	ok(is_complete(w) && is_finished(w, wl),
	   "a finished clone beside a copy that never ends: the job has the clone's end");
	ok(!w_find(w, 2, JOB, "ns", "j"), "... and the copy is gone");
	(void)w_take(w);
	w_later(w, 20 * 60 * 1000);
	is_str(w_take_work(w), "", "... and nothing else is sent");
	w_free(w);
}

/* A status of 2 MiB is not kept: the clone's words are. */
static void too_long_to_keep(void)
{
	static char patch[2 * 1024 * 1024 + 256];
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	size_t n = (size_t)snprintf(patch, sizeof(patch), "{\"status\":{\"x\":\"");

	for (size_t i = 0; i < 2 * 1024 * 1024; i++) {
		patch[n++] = (char)('a' + (i * i + i / 7) % 26);
	}
	memcpy(patch + n, "\"}}", 4);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), patch);
	completes_and_goes(w);
	w_later(w, 5000);
	ok(is_complete(w) && is_finished(w, wl),
	   "a status that is too long to keep: the end is there");
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/x"), "",
	       "... without what was long");
	w_free(w);
}

/* A Job that is deleted while it runs has not ended, whatever its last state says. */
static void removed_while_it_runs(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry", "a copy that was removed while it ran is run again");
	w_free(w);
}

/* The clone tells of the end, and another client removes it before the copy's watch shows it. */
static void clone_goes_first(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *copy = w_find(w, 2, JOB, "ns", "j");

	w_patch(w, copy, COMPLETE);
	w_drop(w, w->n_q); /* the watch is late */
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_settle(w);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_settle(w);
	ok(!is_finished(w, wl) && w_find(w, 2, JOB, "ns", "j"),
	   "its clone has ended and is gone: the copy, which seems to run, is waited for");
	w_tell(w, copy, EV_OBSERVED, VIA_WATCH);
	w_later(w, 5000);
	ok(is_complete(w), "... its end comes home");
	w_free(w);
}

/* Another client has removed the clone of a winner, and Kueue here takes the quota back. */
static struct world *copy_goes(struct object **ret_wl)
{
	struct world *w = w_new(2);

	*ret_wl = running_job(w);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 5000);
	is_str(check_state(w, *ret_wl), "Retry", "a clone is gone: Retry");
	return w;
}

static void quota_goes(struct world *w, struct object *wl)
{
	w_patch(w, wl,
		"{\"status\":{\"clusterName\":null,\"conditions\":[{\"type\":\"QuotaReserved\","
		"\"status\":\"False\"}]}}");
}

/* The copy ends while the delete is on its way. */
static void ends_while_removed(void)
{
	struct object *wl;
	struct world *w = copy_goes(&wl);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	w_drop(w, w->n_q); /* the watch is late */
	quota_goes(w, wl);
	w_settle(w);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "the copy has ended unseen: it is not removed");
	w_later(w, 5000);
	ok(is_complete(w), "... its end comes home");
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\","
		"\"reason\":\"Succeeded\",\"message\":\"m\"}]}}");
	w_later(w, 5000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "... and Kueue here has that: it goes");
	w_free(w);
}

/* The same, as a client finishes the Workload of a job that runs. */
static void ends_while_finished(void)
{
	struct object *wl;
	struct world *w = copy_goes(&wl);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	w_drop(w, w->n_q); /* the watch is late */
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\","
		"\"reason\":\"Stopped\",\"message\":\"m\"}]}}");
	w_later(w, 5000);
	ok(is_complete(w), "it has ended as its Workload was finished: its end comes home as well");
	ok(!w_find(w, 2, JOB, "ns", "j"), "... and it goes");
	w_free(w);
}

/* The copy's status changes faster than it can be deleted as seen. */
static void changes_while_removed(void)
{
	struct object *wl;
	struct world *w = copy_goes(&wl);

	w->rig = (struct rig){.type = OP_DELETE,
			      .cluster = 2,
			      .kind = JOB,
			      .times = 1000000,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_CONFLICT};
	w->full = true;
	quota_goes(w, wl);
	w_later(w, 9000);
	ok(strstr(w->log, " rv=") && w_times(w->log, "delete 2 Job") > 3,
	   "a copy that changes all the time is deleted as seen, again and again");
	(void)w_take(w);
	w_later(w, 9000);
	w->rig.times = 0;
	(void)w_take(w);
	w_later(w, 5000);
	ok(strstr(w->log, "delete 2 Job") && !strstr(strstr(w->log, "delete 2 Job"), " rv="),
	   "... and after ten seconds whatever its state is");
	ok(!w_find(w, 2, JOB, "ns", "j"), "... which the worker takes");
	w_free(w);
}

int main(void)
{
	seen_in_one_batch();
	seen_while_the_manager_is_down();
	seen_before_the_worker_is_lost();
	seen_of_the_clone();
	finished_before_the_win();
	restored_before_the_end();
	too_long_to_keep();
	removed_while_it_runs();
	clone_goes_first();
	ends_while_removed();
	ends_while_finished();
	changes_while_removed();
	refused_for_a_while(ERR_DENIED, 403, OF_RIGHTS, 30 * 1000);
	refused_for_a_while(ERR_DENIED, 401, "Unauthorized", 30 * 1000);
	refused_for_a_while(ERR_INVALID, 422, "status: Invalid value", 4000);
	refused_for_a_while(ERR_TOO_BIG, 413, "too large", 4000);
	is_reported();
	is_said();
	refused_for_good();
	smallest_is_taken();
	owed_to_no_job();
	return done_testing();
}
