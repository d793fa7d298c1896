/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that is taken out of use: nothing new begins there, what runs goes on, or is queued
 * again; and what operators are told of it.
 */
#include "core/engine/answers/answers.h"
#include "core/engine/state.h"
#include "t/lib/engine_world.h"

static struct arena words;

static void says(struct world *w, const char *cluster, const char *value, const char *reason)
{
	struct object *o = w_find(w, 0, KIND_CLUSTER, "", cluster);
	char text[1024], quoted[2][256];

	snprintf(quoted[0], sizeof(quoted[0]), value ? "\"%s\"" : "null", value);
	snprintf(quoted[1], sizeof(quoted[1]), reason ? "\"%s\"" : "null", reason);
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"annotations\":{\"multikueued.io/cordon\":%s,"
		 "\"multikueued.io/cordon-reason\":%s}}}",
		 quoted[0], quoted[1]);
	w_patch(w, o, text);
	w_settle(w);
}

static const struct json *item(const struct json *list, const char *name)
{
	return json_find(list, "name", name);
}

static struct answer_env env_of(struct world *w)
{
	arena_clear(&words);
	return (struct answer_env){.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = &words};
}

static const char *line(const struct json *o)
{
	static char text[1024];

	snprintf(text, sizeof(text), "%.*s: %.*s", STR_ARG(json_str(json_get(o, "reason"))),
		 STR_ARG(json_str(json_get(o, "message"))));
	return text;
}

/* "<reason>: <message>" of a cluster for the Workload. */
static const char *why(struct world *w, const char *cluster)
{
	struct answer_env env = env_of(w);
	const struct json *v = answer_workload(&env, STR("ns"), STR("wl-j"));

	return line(item(json_get(v, "clusters"), cluster));
}

/* The same of a cluster as a whole. */
static const char *fleet(struct world *w, const char *cluster)
{
	struct answer_env env = env_of(w);

	return line(item(json_get(answer_clusters(&env), "items"), cluster));
}

static bool has(struct world *w, cluster_id c)
{
	return clone_of(w, c, "wl-j") != NULL;
}

static void no_new_clone(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	says(w, "w1", "Cordon", "new disks");
	wl = a_job(w, "j");
	w_settle(w);
	ok(!has(w, 1) && has(w, 2), "a cordoned worker gets no clone");
	is_str(nominated(w, wl), "[\"w2\"]", "and is not nominated");
	is_str(why(w, "w1"), "Cordoned: is cordoned: new disks", "why says so");
	is_str(fleet(w, "w1"), "Cordoned: is cordoned: new disks", "and the list of clusters");
	w_later(w, 31000);
	ok(strstr(check_message(w, wl), "w1: is cordoned: new disks"), "and the check that waits");
	is_str(w_active(w, KIND_CHECK, "mk"), "True Active: The admission check is active",
	       "a cordon is no fault of the check");
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected", "nor of the cluster");
	w_restart(w);
	w_settle(w);
	ok(!has(w, 1), "a new process keeps the cordon");
	says(w, "w1", NULL, NULL);
	ok(has(w, 1) && has(w, 2), "without the annotation it is asked at once");
	w_free(w);
}

static void clones_go(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	ok(has(w, 1) && has(w, 2), "two clones race");
	w_take(w);
	says(w, "w1", "Cordon", NULL);
	ok(!has(w, 1) && has(w, 2), "the clone on a worker that is cordoned goes");
	ok(strstr(w_take(w), "delete 1 Workload wl-j"), "deleted by us");
	is_str(why(w, "w1"), "Cordoned: is cordoned", "without a reason none is told");
	says(w, "w2", "Cordon", "too");
	ok(!has(w, 2), "so does the last one");
	w_later(w, 31000);
	ok(strstr(check_message(w, wl),
		  "Not admitted yet by 2 workers: w1: is cordoned; w2: is cordoned: too"),
	   "all are cordoned: the Workload waits and says why");
	says(w, "w2", NULL, NULL);
	ok(!has(w, 1) && has(w, 2), "one is back: it goes on there");
	w_free(w);
}

static void quota_before_the_win(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j"), *clone;

	w_settle(w);
	clone = clone_of(w, 1, "wl-j");
	w_apply(w, clone, "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "]}");
	w_tell(w, clone, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	says(w, "w1", "Cordon", NULL);
	ok(!has(w, 1), "a clone with quota that has not won goes, too: no job was made");
	ok(!w_find(w, 1, JOB, "ns", "j"), "none is made");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "the other one wins");
	w_free(w);
}

static void winner_runs_on(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	says(w, "w2", "Cordon", NULL);
	w_later(w, 60000);
	is_str(check_state(w, wl), "Ready", "a winner's job runs on");
	ok(has(w, 2) && w_find(w, 2, JOB, "ns", "j"), "with its clone and job");
	is_str(why(w, "w2"), "JobRuns: was chosen; the job runs", "which is what is told");
	w_restart(w);
	w_settle(w);
	ok(has(w, 2) && w_find(w, 2, JOB, "ns", "j"), "also for a new process");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":0,\"conditions\":[{\"type\":\"Complete\",\"status\":"
		"\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_settle(w);
	w_later(w, 1000);
	ok(strstr(wl->text, "Finished") && !has(w, 2), "to its end");
	w_free(w);
}

/* Kueue's part after Retry, until the Workload is queued again. */
static void kueue_requeues(struct world *w, struct object *wl, cluster_id from)
{
	evict(w, wl, "check");
	w_settle(w);
	clone_condition(w, from, "wl-j", "Evicted", "Deactivated", false);
	w_patch(w, w_find(w, from, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":0}}");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_settle(w);
	release_quota(w, wl);
	w_settle(w);
}

static void drained(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	says(w, "w2", "Evict", "new disks");
	is_str(check_state(w, wl), "Retry", "a drained worker's job is queued again");
	is_str(check_message(w, wl),
	       "Cluster \"w2\" is being drained: new disks, Previously: \"Ready\"", "and why");
	ok(w_find(w, 2, JOB, "ns", "j"), "its job is stopped by Kueue, not cut off");
	kueue_requeues(w, wl, 2);
	is_int(objects_on(w, 2), 0, "then nothing is left there");
	give_quota(w, wl);
	w_settle(w);
	ok(has(w, 1) && !has(w, 2), "the next round is elsewhere");
	is_str(why(w, "w2"), "Cordoned: is being drained: new disks", "as is told");
	admit(w, 1, "wl-j");
	w_settle(w);
	ok(w_find(w, 1, JOB, "ns", "j"), "and runs there");
	is_str(check_state(w, wl), "Ready", "undisturbed");
	w_free(w);
}

static void not_what_has_ended(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->hold = true;
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":0,\"conditions\":[{\"type\":\"Complete\",\"status\":"
		"\"True\"}]}}");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/cordon\":\"Evict\"}}}");
	w->hold = false;
	w_settle(w);
	is_str(check_state(w, wl), "Ready", "a job that has ended is not queued again");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_settle(w);
	w_later(w, 1000);
	ok(strstr(wl->text, "Finished"), "it is reported");
	w_free(w);
}

/* The worker is back after an outage, and its watch does not show yet that the job has ended. */
static void not_what_the_watch_shows_late(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":0,\"succeeded\":2,\"conditions\":[{\"type\":\"Complete\","
		"\"status\":\"True\"}]}}");
	w_drop(w, w->n_q);
	says(w, "w2", "Evict", NULL);
	is_str(check_state(w, wl), "Ready", "a copy is read before it is given up: it has ended");
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
	       "... and its end is here");
	w_free(w);
}

static void drained_out_of_reach(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->stay_down[2] = true;
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	says(w, "w2", "Evict", NULL);
	is_str(check_state(w, wl), "Ready",
	       "out of reach its job may run: it counts as lost later");
	w_later(w, 16 * 60 * 1000);
	is_str(check_state(w, wl), "Retry", "as without the annotation");
	w_free(w);
}

/* The worker was lost, its job was queued again, and it comes back with the job running. */
static struct object *comes_back(struct world *w, const char *value)
{
	struct object *wl = running_job(w);

	w->stay_down[2] = true;
	w_link(w, 2, LINK_DOWN);
	w_later(w, 16 * 60 * 1000);
	says(w, "w2", value, NULL);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":0}}");
	evict(w, wl, "check");
	w_settle(w);
	queue_again(w, wl);
	w->stay_down[2] = false;
	w_link(w, 2, LINK_UP);
	w_settle(w);
	return wl;
}

static void copy_of_an_earlier_round(void)
{
	struct world *w = w_new(2);
	struct object *wl = comes_back(w, "Cordon");

	is_str(w_str(w, wl, "/status/clusterName"), "w2",
	       "a copy that an earlier round left running on a cordoned worker wins");
	ok(w_find(w, 2, JOB, "ns", "j"), "its work is kept");
	w_free(w);
	w = w_new(2);
	wl = comes_back(w, "Evict");
	ok(!w_find(w, 2, JOB, "ns", "j") && !has(w, 2), "on a drained worker it is removed");
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "and another worker may win");
	w_free(w);
}

static void unknown_word(void)
{
	struct world *w = w_new(2);
	const char *log;

	w->full = true;
	w_take(w);
	says(w, "w1", "Drain", NULL);
	log = w_take(w);
	ok(strstr(log, "expected \\\"Cordon\\\" or \\\"Evict\\\", found \\\"Drain\\\""),
	   "an unknown word: an Event names what was expected and found");
	is_int(w_times(log, "UnknownCordon"), 2, "one Event, by reason and action");
	says(w, "w1", "Drain", "again");
	ok(!strstr(w_take(w), "UnknownCordon"), "once");
	a_job(w, "j");
	w_settle(w);
	ok(!has(w, 1) && has(w, 2), "it counts as cordoned");
	says(w, "w1", "", NULL);
	ok(strstr(w_take(w), "found \\\"\\\""), "an empty word, too");
	ok(!has(w, 1), "... is a cordon");
	w_free(w);
}

static void named_by_another_controller(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_stop(w);
	w->dispatcher = "example.com/mine";
	w_restart(w);
	w_settle(w);
	says(w, "w1", "Cordon", "new disks");
	wl = a_job(w, "j");
	w_settle(w);
	w_patch(w, wl, "{\"status\":{\"nominatedClusterNames\":[\"w1\"]}}");
	w_settle(w);
	ok(!has(w, 1), "named by another controller: no clone");
	is_str(nominated(w, wl), "[\"w1\"]", "its list stays as it wrote it");
	w_later(w, 31000);
	ok(strstr(check_message(w, wl), "w1: is cordoned: new disks"), "and the message says why");
	says(w, "w1", NULL, NULL);
	ok(has(w, 1), "until the cordon goes");
	w_free(w);
}

static void made_anew(void)
{
	struct world *w = w_new(1);
	char text[1024];

	snprintf(text, sizeof(text), "%s", w_find(w, 0, KIND_CLUSTER, "", "w1")->text);
	says(w, "w1", "Cordon", NULL);
	a_job(w, "j");
	w_settle(w);
	ok(!has(w, 1), "cordoned");
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w1"));
	w_settle(w);
	w_put(w, 0, KIND_CLUSTER, text);
	w_later(w, 2000);
	ok(!strstr(fleet(w, "w1"), "ordoned"),
	   "a MultiKueueCluster that is made anew without it is not");
	w_free(w);
}

int main(void)
{
	arena_init(&words, 0);
	no_new_clone();
	clones_go();
	quota_before_the_win();
	winner_runs_on();
	drained();
	not_what_has_ended();
	not_what_the_watch_shows_late();
	drained_out_of_reach();
	copy_of_an_earlier_round();
	unknown_word();
	named_by_another_controller();
	made_anew();
	arena_done(&words);
	return done_testing();
}
