/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a copy is known, and cannot come home: the manager does not show its jobs. What waits
 * for that says so.
 */
#include "t/lib/engine_slices.h"

#define COMPLETE                                                                  \
	"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":" \
	"\"Complete\",\"status\":\"True\",\"reason\":\"CompletionsReached\"}]}}"
#define NO_RIGHT "the manager cluster gives us no right to batch/v1, Kind=Job"
#define NO_LIST "the manager cluster has not listed batch/v1, Kind=Job"

/* A new process, to which the manager does not show its jobs: it refuses that, or is late. */
static void jobs_are_unseen(struct world *w, bool refused)
{
	struct pending *p;

	w->unserved[0][JOB] = refused;
	w->hold_jobs[0] = true;
	w_start(w);
	if (refused) {
		p = w_event(w, EV_UNSERVED, 0, JOB);
		p->ev.code = ERR_DENIED;
		p->msg = w_dup(STR("jobs.batch is forbidden: no"));
	}
	w_settle(w);
}

/* They are shown again: the end comes home. */
static void is_home(struct world *w, struct object *wl)
{
	w->unserved[0][JOB] = w->hold_jobs[0] = false;
	w_event(w, EV_SERVED, 0, JOB);
	w_list(w, 0, JOB);
	w_later(w, 10 * 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
	       "... they are shown: the end is home");
	ok(strstr(wl->text, "\"Finished\"") != NULL, "... and the Workload is Finished");
}

static void says(struct world *w, struct object *wl, const char *head, bool refused)
{
	char words[512];

	snprintf(words, sizeof(words), "%s; %s", head, refused ? NO_RIGHT : NO_LIST);
	w_later(w, 65 * 1000);
	is_str(str_starts(str_of(check_message(w, wl)), str_of(words)) ? words
								       : check_message(w, wl),
	       words,
	       refused ? "an end waits for a right to jobs here, and the check says so"
		       : "an end waits for a list of jobs here, and the check says so");
	ok(!refused || strstr(check_message(w, wl), "jobs.batch is forbidden: no"),
	   "... in the server's words");
	is_home(w, wl);
	w_free(w);
}

/* 'gone': the copy and its clone went by their TTL, and their end is kept. */
static void of_a_job(bool refused, bool gone)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_stop(w);
	if (!gone) {
		w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
		clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	}
	jobs_are_unseen(w, refused);
	if (gone) {
		w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
		clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
		w_settle(w);
		w_del(w, w_find(w, 2, JOB, "ns", "j"));
		w_del(w, clone_of(w, 2, "wl-j"));
	}
	says(w, wl, "The workload was admitted on \"w2\"", refused);
}

/* Evicted with its end, which the watches show late. */
static void of_one_that_is_evicted(bool released)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	evict(w, wl, "Preempted");
	w_stop(w);
	if (released) {
		release_quota(w, wl);
	}
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	jobs_are_unseen(w, true);
	says(w, wl, "The job has ended", true);
}

static void of_a_slice(bool refused)
{
	struct object *new;
	struct world *w = slice_waits(&new, 0);

	w_stop(w);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	clone_condition(w, 2, old_name, "Finished", "Succeeded", true);
	jobs_are_unseen(w, refused);
	says(w, new, "The job has ended", refused);
}

/* A slice that waits beside a run that goes on says why it does not see its job. */
static void of_no_end(void)
{
	struct object *new;
	struct world *w = slice_waits(&new, 0);

	w_stop(w);
	jobs_are_unseen(w, true);
	w_later(w, 65 * 1000);
	ok(strstr(check_message(w, new), "; " NO_RIGHT) != NULL,
	   "a slice waits, and no job is shown here: its check says so");
	w_free(w);
}

int main(void)
{
	of_a_job(true, false);
	of_a_job(true, true);
	of_a_job(false, false);
	of_one_that_is_evicted(false);
	of_one_that_is_evicted(true);
	of_a_slice(true);
	of_a_slice(false);
	of_no_end();
	return done_testing();
}
