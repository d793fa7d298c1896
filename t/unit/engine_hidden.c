/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the win: what cannot be seen any more, and what ended while the worker could not be
 * reached.
 */
#include "core/engine/answers/answers.h"
#include "t/lib/engine_world.h"

enum { TIMEOUT = 900 * 1000 };

/* The cluster does not serve Jobs any more, or not to us; or again. */
static void serves(struct world *w, cluster_id c, enum mk_code code)
{
	struct pending *p = w_event(w, code == ERR_OK ? EV_SERVED : EV_UNSERVED, c, JOB);

	p->ev.code = code;
	p->msg = w_dup(STR("jobs.batch is forbidden"));
	w_settle(w);
}

static void served(struct world *w, enum mk_code code)
{
	serves(w, 2, code);
}

static void running_then_unserved(enum mk_code code, const char *what)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->full = true;
	served(w, code);
	is_int(w_times(w_take(w),
		       "\"regarding\":{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
		       "\"Workload\""),
	       1, what);
	w_later(w, TIMEOUT - 2000);
	is_str(check_state(w, wl), "Ready", "a loss is awaited");
	w_later(w, 3000);
	is_str(check_state(w, wl), "Retry", "for workerLostTimeout");
	is_str(check_message(w, wl),
	       "Admitting remote does not serve batch/v1, Kind=Job, Previously: \"Ready\"",
	       "and named");
	w_free(w);
}

/*
 * Given up for that: what it left cannot be removed, or it is not known whether it can, and keeps
 * no other cluster from winning.
 */
static void runs_elsewhere(enum mk_code code)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	served(w, code);
	w_later(w, TIMEOUT + 1000);
	evict(w, wl, "AdmissionCheck");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 5000);
	release_quota(w, wl);
	w_later(w, 1000);
	give_quota(w, wl);
	w_later(w, 5000);
	admit(w, 1, "wl-j");
	w_later(w, 5000);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "given up: another one wins");
	ok(!w_find(w, 2, KIND_WORKLOAD, "ns", "wl-j"), "without its clone there");
	if (code == ERR_DENIED) {
		ok(w_find(w, 2, JOB, "ns", "j") != NULL, "its job is left");
	}
	served(w, ERR_OK);
	w_list(w, 2, JOB);
	w_later(w, 1000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "and goes once it may be seen again");
	w_free(w);
}

/* --- the manager's kind ----------------------------------------------------------------------- */

static const char *phase_words(struct world *w, struct arena *a)
{
	struct answer_env env = {.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = a};

	return arena_dup(a, json_str(json_get(answer_workload(&env, STR("ns"), STR("wl-j")),
					      "message")))
		.p;
}

/*
 * The manager serves the kind no more while a job runs. That goes on; the check, why and an Event
 * say so until it is back. 'gone': the jobs go with their CRD.
 */
static void not_served_here(enum mk_code code, bool gone, const char *says)
{
	static const char admitted[] = "The workload was admitted on \"w2\"";
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct arena a;

	arena_init(&a, 0);
	if (gone) {
		w_del(w, w_find(w, 0, JOB, "ns", "j"));
	}
	w_take(w);
	w->full = true;
	serves(w, 0, code);
	w_later(w, 5000);
	is_str(check_message(w, wl), admitted, says);
	w_later(w, 60 * 1000);
	ok(strstr(check_message(w, wl), says), "... lasts: within a minute the check says so");
	ok(str_starts(str_of(check_message(w, wl)), STR(admitted)),
	   "... and where it was admitted");
	ok(strstr(phase_words(w, &a), says), "... and why does");
	w_later(w, 3600 * 1000);
	is_int((long long)w_times(w_take(w), "\"reason\":\"KindNotServed\""), 1,
	       "... and one Event");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "... and it runs on");
	serves(w, 0, ERR_OK);
	w_list(w, 0, JOB);
	w_later(w, 10 * 60 * 1000);
	if (!gone) {
		is_str(check_message(w, wl), admitted, "it is back: the words go");
		is_str(check_state(w, wl), "Ready", "... and nothing else has changed");
	}
	arena_done(&a);
	w_free(w);
}

/* So many at once are one Event about the check. */
static void many_not_served_here(void)
{
	enum { N = 30 };
	struct world *w = w_new(1);
	char name[24];

	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		(void)a_job(w, name);
		w_settle(w);
		snprintf(name, sizeof(name), "wl-j%d", i);
		admit(w, 1, name);
	}
	w_settle(w);
	w_take(w);
	w->full = true;
	serves(w, 0, ERR_NOT_FOUND);
	w_later(w, 5 * 60 * 1000);
	is_int((long long)w_times(w->log, "\"reason\":\"KindNotServed\""), 21,
	       "30 jobs: twenty Events and one for all");
	ok(strstr(w->log, "20 Workloads or more, as ns/wl-j"), "... in its words");
	w_free(w);
}

static void back_in_time(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	served(w, ERR_DENIED);
	w_later(w, TIMEOUT / 2);
	served(w, ERR_OK);
	w_list(w, 2, JOB);
	w_take(w);
	w_later(w, 2 * TIMEOUT);
	is_str(check_state(w, wl), "Ready", "served again in time: nothing happened");
	is_int(w_times(w_take(w), "Job j "), 0, "nothing at all");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":1}}");
	w_later(w, 2000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "1",
	       "and its status comes over");
	w_free(w);
}

static void failing(struct world *w, const char *words)
{
	w_event(w, EV_FAILING, 2, JOB)->msg = w_dup(str_of(words));
	w_settle(w);
}

/* Of w2: in the list of clusters, and in the Workload's. */
static const char *cluster_words(struct world *w, struct arena *a)
{
	struct answer_env env = {.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = a};

	return arena_dup(a, json_str(json_at(answer_clusters(&env), "/items/1/message"))).p;
}

static const char *winner_words(struct world *w, struct arena *a)
{
	struct answer_env env = {.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = a};
	struct json_iter it =
		json_iter(json_get(answer_workload(&env, STR("ns"), STR("wl-j")), "clusters"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "name")), "w2")) {
			return arena_dup(a, json_str(json_get(it.val, "message"))).p;
		}
	}
	return "";
}

/*
 * The winner's API server does not list its jobs any more, and says why: what was seen stays, and
 * who looks for the reason finds those words.
 */
static void not_shown(bool listed)
{
	static const char says[] = "etcdserver: no leader";
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct arena a;

	arena_init(&a, 0);
	if (!listed) {
		w_stop(w);
		w->hold_jobs[2] = true;
		w_start(w);
	}
	w->full = true;
	w_take(w);
	failing(w, says);
	w_later(w, 50 * 1000);
	ok(strstr(check_message(w, wl), says), "within a minute the check says so");
	ok(strstr(winner_words(w, &a), says), "... and why does");
	is_str(cluster_words(w, &a), "does not show batch/v1, Kind=Job: etcdserver: no leader",
	       "... and the list of clusters");
	w_later(w, listed ? 2 * TIMEOUT : TIMEOUT / 2);
	is_int(w_times(w_take(w), "\"reason\":\"KindNotShown\",\"type\":\"Warning\",\"regarding\":{"
				  "\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
				  "\"MultiKueueCluster\",\"name\":\"w2\""),
	       1, "... and one Event about the cluster");
	is_str(check_state(w, wl), "Ready", "it is not taken for lost");
	if (!listed) {
		w->hold_jobs[2] = false;
		w_list(w, 2, JOB);
	}
	failing(w, "");
	w_later(w, 10 * 60 * 1000);
	is_str(check_message(w, wl), "The workload was admitted on \"w2\"", "it is over");
	is_str(cluster_words(w, &a), "", "... and the words are gone");
	arena_done(&a);
	w_free(w);
}

/*
 * Evicted while its kind is refused: the copy may run there, and must stop; its
 * quota comes back, but not at once.
 */
static void evicted_unserved(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	served(w, ERR_DENIED);
	evict(w, wl, "Preempted");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 5000);
	ok(strstr(w_take(w), "apply_status 2 Workload wl-j deactivate") != NULL,
	   "evicted where its kind is refused: it is told to stop");
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "2",
	       "it may be running still");
	w_later(w, TIMEOUT);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "",
	       "the quota comes back when it counts as lost");
	w_free(w);
}

/* The kind goes between the win and the job. */
static void never_made(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	refuse_jobs(w, OP_CREATE, 1);
	admit(w, 2, "wl-j");
	w_step(w);
	w_step(w);
	served(w, ERR_DENIED);
	w_later(w, TIMEOUT + 1000);
	is_str(check_state(w, wl), "Retry", "won, and its job cannot be made: that ends, too");
	w_free(w);
}

/* Where Jobs cannot be seen, a clone does not win. */
static void unlisted_wins_not(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_later(w, 13 * 60 * 1000); /* the look at jobs that were left is over */
	w->hold_jobs[2] = true;
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_later(w, 5000);
	is_str(w_str(w, wl, "/status/clusterName"), "", "jobs are not listed yet: no win");
	w_list(w, 2, JOB);
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "they are: it wins");
	w_free(w);
}

/* --- what ended while it could not be seen ---------------------------------------------------- */

static const char *const ended =
	"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":\"Complete\","
	"\"status\":\"True\"}]}}";

/* The worker's Kueue removes Workloads that are Finished (objectRetentionPolicies). */
static void retention(int64_t away)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w_later(w, away);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), ended);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_take(w);
	w_link(w, 2, LINK_UP);
	w_later(w, 10000);
	is_str(check_state(w, wl), "Ready", "its Workload was removed after its end: no Retry");
	ok(strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status"), "Complete") != NULL,
	   "the end comes home");
	is_int(w_times(w_take(w), "create "), 0, "and it is not run again");
	clone_condition(w, 0, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 5000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "when Kueue here says Finished, the copy goes");
	w_free(w);
}

/* The job's watch is behind: it still shows it running. */
static void behind(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *job = w_find(w, 2, JOB, "ns", "j");

	job->hidden = true;
	w_patch(w, job, ended);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 5000);
	is_str(check_state(w, wl), "Ready",
	       "a job that seems to run is looked at before it is given up");
	ok(strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status"), "Complete") != NULL,
	   "its end comes home");
	w_free(w);
}

/* Out of reach for longer than the timeout: evicted, and back before another cluster has won. */
static void back_in_the_next_round(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w_later(w, TIMEOUT + 1000);
	is_str(check_state(w, wl), "Retry", "lost");
	evict(w, wl, "AdmissionCheck");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 5000);
	release_quota(w, wl);
	w_later(w, 1000);
	give_quota(w, wl);
	w_later(w, 1000);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), ended);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_link(w, 2, LINK_UP);
	w_later(w, 10000);
	ok(strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status"), "Complete") != NULL,
	   "it had completed: its end comes home");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Succeeded") != NULL, "and is not run again");
	w_free(w);
}

/*
 * It ended, and a user there removed the job before its last status was copied: the clone says how.
 */
static void removed_after_its_end(const char *reason, const char *end, const char *before)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *job;
	char text[256];

	w_link(w, 2, LINK_DOWN);
	w_later(w, 1000);
	clone_condition(w, 2, "wl-j", "Finished", reason, true);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_link(w, 2, LINK_UP);
	w_later(w, 10000);
	job = w_find(w, 0, JOB, "ns", "j");
	snprintf(text, sizeof(text), "\"type\":\"%s\",\"status\":\"True\",\"reason\":\"%s\"", end,
		 reason);
	ok(strstr(job->text, text),
	   "the job was removed after its end: the local one ends as its clone");
	snprintf(text, sizeof(text), "\"type\":\"%s\",\"status\":\"True\"", before);
	ok(strstr(job->text, text), "with what Kubernetes wants beside that");
	is_str(w_str(w, job, "/status/active"), "", "and no pods");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL,
	   "its Workload is Finished");
	is_int(w_times(w->log, "create "), 0, "it is not run again");
	w_free(w);
}

/*
 * The winner's clone and job were deleted while no process ran. The clone's absence is confirmed
 * before the jobs there are listed.
 */
static void gone_before_the_list(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_stop(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, w_find(w, 2, KIND_WORKLOAD, "ns", "wl-j"));
	w->hold_jobs[2] = true;
	w_start(w);
	w_settle(w);
	is_str(check_state(w, wl), "Ready", "its job may be there: the list of jobs is awaited");
	w->hold_jobs[2] = false;
	w_list(w, 2, JOB);
	w_settle(w);
	is_str(check_state(w, wl), "Retry", "... and then the Workload is queued again");
	w_free(w);
}

/*
 * It ended while no process ran, and the worker hides its jobs now. The next process sees the
 * Workloads of the manager before its jobs: that there is no job to tell the end to is not known.
 */
static void ended_before_our_list(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_stop(w);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w->unserved[2][JOB] = true;
	w->hold_jobs[0] = true;
	w_start(w);
	w_settle(w);
	served(w, ERR_NOT_FOUND);
	w_later(w, 10000);
	ok(!strstr(w_str(w, wl, "/status/conditions"), "Finished"),
	   "our jobs are not listed yet: the end waits");
	w->hold_jobs[0] = false;
	w_list(w, 0, JOB);
	w_later(w, 5000);
	ok(strstr(w_find(w, 0, JOB, "ns", "j")->text, "\"type\":\"Complete\"") != NULL,
	   "... the job gets its end");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL,
	   "... before its Workload");
	w_free(w);
}

/*
 * The manager hides its jobs when the copy ends, and the worker does so after it. The end was seen:
 * it comes home when the manager shows its jobs again.
 */
static void ended_while_both_hide(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_stop(w);
	w->unserved[0][JOB] = true;
	w_start(w);
	serves(w, 0, ERR_DENIED);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\",\"reason\":\"CompletionsReached\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, TIMEOUT - 10 * 1000);
	served(w, ERR_DENIED);
	w->unserved[2][JOB] = true;
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\","
		"\"reason\":\"Succeeded\",\"message\":\"m\"}]}}");
	w_later(w, 1000);
	ok(clone_of(w, 2, "wl-j") != NULL, "Finished without its job: the end is owed");
	w->unserved[0][JOB] = false;
	serves(w, 0, ERR_OK);
	w_list(w, 0, JOB);
	w_later(w, 3000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
	       "they are back: the end comes home");
	ok(w_times(w->log, "get 0 ") <= 2, "... and the Workload is not read again and again");
	w_free(w);
}

int main(void)
{
	not_served_here(ERR_NOT_FOUND, false, "the manager cluster does not serve batch/v1");
	not_served_here(ERR_NOT_FOUND, true, "the manager cluster does not serve batch/v1");
	not_served_here(ERR_DENIED, false, "the manager cluster gives us no right to batch/v1");
	not_served_here(ERR_UNAVAILABLE, false, "the manager cluster cannot say whether it serves");
	many_not_served_here();
	ended_while_both_hide();
	ended_before_our_list();
	running_then_unserved(ERR_DENIED, "the winner refuses the kind: an Event tells at once");
	running_then_unserved(ERR_NOT_FOUND,
			      "the winner has the kind no more: an Event tells at once");
	runs_elsewhere(ERR_DENIED);
	runs_elsewhere(ERR_UNAVAILABLE);
	back_in_time();
	not_shown(true);
	not_shown(false);
	evicted_unserved();
	never_made();
	gone_before_the_list();
	unlisted_wins_not();
	retention(30 * 1000);
	retention(TIMEOUT - 60 * 1000);
	behind();
	back_in_the_next_round();
	removed_after_its_end("Succeeded", "Complete", "SuccessCriteriaMet");
	removed_after_its_end("Failed", "Failed", "FailureTarget");
	return done_testing();
}
