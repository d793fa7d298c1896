/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of ours under marks of before: another origin, or the manager before it was rebuilt. */
#include "core/engine/answers/answers.h"
#include "t/lib/engine_world.h"

static const char *origin_of(struct world *w, const struct object *o)
{
	return w_str(w, o, "/metadata/labels/kueue.x-k8s.io~1multikueue-origin");
}

static void complete(struct world *w, const struct object *wl)
{
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\","
		"\"status\":\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 5000);
	ok(strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status"), "Complete") != NULL,
	   "its end comes home");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Succeeded") != NULL, "once");
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"), "and nothing is left there");
}

/* What the selector shows of the workers' objects, after it changed. */
static void select_anew(struct world *w)
{
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		struct arena a;
		struct json *v = NULL;

		if (!w->o[i].used || !w->o[i].cluster) {
			continue;
		}
		arena_init(&a, 0);
		json_parse(&a, str_of(w->o[i].text), &v, NULL);
		w->o[i].hidden = w_is_hidden(w, v);
		arena_done(&a);
	}
}

/* multiKueue.origin is changed while the job runs, and the daemon restarted. */
static void changed(bool told)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *uid = w_find(w, 2, JOB, "ns", "j")->uid;

	w->origin = "new";
	w->former_origins[0] = told ? STR("multikueue") : STR("");
	select_anew(w);
	w_restart(w);
	w_later(w, 120000);
	is_str(check_state(w, wl), "Ready", "another origin: the job runs on");
	ok(w_find(w, 2, JOB, "ns", "j") && w_find(w, 2, JOB, "ns", "j")->uid == uid,
	   "the same one");
	is_int(w_times(w->log, "delete "), 0, "nothing is deleted");
	is_int(w_times(w->log, "create "), 0, "nothing is made");
	is_str(origin_of(w, w_find(w, 2, JOB, "ns", "j")), "new", "the job has the new origin");
	is_str(origin_of(w, clone_of(w, 2, "wl-j")), "new", "the clone has it");
	is_int(w_times(w->log, "adopt"), 2, "by one write each");
	complete(w, wl);
	w_free(w);
}

/* The same while clones wait for quota. */
static void changed_in_a_race(bool told)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w->origin = "new";
	w->former_origins[0] = told ? STR("multikueue") : STR("");
	select_anew(w);
	w_restart(w);
	w_later(w, 10000);
	is_str(origin_of(w, clone_of(w, 1, "wl-j")), "new", "a waiting clone has the new origin");
	is_str(origin_of(w, clone_of(w, 2, "wl-j")), "new", "and the other one");
	admit(w, 2, "wl-j");
	w_later(w, 5000);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "it may win");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "and gets its job");
	w_free(w);
}

/* The job, which is not shown after the change, has ended, and its clone was removed. */
static void changed_and_ended(bool told)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->origin = "new";
	w->former_origins[0] = told ? STR("multikueue") : STR("");
	select_anew(w);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	w_del(w, clone_of(w, 2, "wl-j"));
	w_restart(w);
	w_later(w, 120000);
	is_str(check_state(w, wl), "Ready", "its job ended before the change: no Retry");
	ok(strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status"), "Complete") != NULL,
	   "the end comes home");
	is_int(w_times(w->log, "create "), 0, "and it is not run again");
	w_free(w);
}

/*
 * Evicted after the change, with a job that is not shown: it does not run on beside the next one.
 */
static void changed_and_evicted(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->origin = "new";
	select_anew(w);
	w_stop(w);
	evict(w, wl, "Preempted");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	release_quota(w, wl);
	give_quota(w, wl);
	w->up[1] = w->up[2] = false;
	memset(w->watching, 0, sizeof(w->watching));
	w_drop(w, w->n_q);
	w_start(w);
	w_step(w);
	w_step(w);
	w_settle(w);
	if (clone_of(w, 1, "wl-j")) {
		admit(w, 1, "wl-j");
	}
	w_later(w, 120000);
	ok(!(w_find(w, 1, JOB, "ns", "j") && w_find(w, 2, JOB, "ns", "j")),
	   "never two copies of one job");
	ok(w_find(w, 1, JOB, "ns", "j") || w_find(w, 2, JOB, "ns", "j"), "but one");
	w_free(w);
}

/* --- the manager was rebuilt ------------------------------------------------------------------ */

/*
 * Its objects came back from a backup: other uids, another kube-system. 'status':
 * that of the Workload came, too.
 */
static struct object *rebuild(struct world *w, bool status, bool named)
{
	struct object *wl = w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j");
	struct object *job = w_find(w, 0, JOB, "ns", "j");
	char text[512];

	w->manager_id = "rebuilt-id";
	w->former_managers[0] = named ? STR("manager-id") : STR("");
	w_stop(w);
	job->uid[0] = 'J';
	wl->uid[0] = 'W';
	w_patch(w, job, "{\"spec\":{\"suspend\":true}}");
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"
		 "\"Job\",\"name\":\"j\",\"uid\":\"%s\",\"controller\":true}]}}",
		 job->uid);
	w_patch(w, wl, text);
	if (!status) {
		release_quota(w, wl);
		give_quota(w, wl);
	}
	memset(w->watching, 0, sizeof(w->watching));
	w->up[1] = w->up[2] = false;
	w_drop(w, w->n_q);
	w_start(w);
	w_later(w, 5000);
	return wl;
}

static void rebuilt_and_named(bool status)
{
	struct world *w = w_new(2);
	struct object *wl;
	const char *uid;

	running_job(w);
	uid = w_find(w, 2, JOB, "ns", "j")->uid;
	wl = rebuild(w, status, true);
	w_later(w, 60000);
	ok(w_find(w, 2, JOB, "ns", "j") && w_find(w, 2, JOB, "ns", "j")->uid == uid,
	   "the manager was rebuilt: the running job is taken over");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "its cluster is the winner");
	is_str(check_state(w, wl), "Ready", "the check says so");
	is_int(w_times(w->log, "create 1 Job") + w_times(w->log, "create 2 Job"), 0,
	       "no other job is made");
	is_int(w_times(w->log, "delete 2 "), 0, "nothing of it is deleted");
	is_str(w_str(w, clone_of(w, 2, "wl-j"), "/metadata/annotations/multikueued.io~1manager-id"),
	       "rebuilt-id", "the clone is this manager's now");
	is_str(w_str(w, w_find(w, 2, JOB, "ns", "j"),
		     "/metadata/annotations/kueue.x-k8s.io~1multikueue-origin-uid"),
	       w_find(w, 0, JOB, "ns", "j")->uid, "and the job the new one's copy");
	complete(w, wl);
	w_free(w);
}

static bool why_has(struct world *w, const char *word)
{
	struct arena a;
	struct answer_env env = {.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = &a};
	bool has;

	arena_init(&a, 0);
	has = strstr(json_write(&a, answer_workload(&env, STR("ns"), STR("wl-j"))).p, word) != NULL;
	arena_done(&a);
	return has;
}

/* The Workload came back inactive: its job goes on, under a manager that no longer is. */
static void rebuilt_and_inactive(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w->full = true;
	running_job(w);
	w_patch(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"), "{\"spec\":{\"active\":false}}");
	w_drop(w, w->n_q);
	wl = rebuild(w, false, false);
	release_quota(w, wl);
	w_later(w, 60000);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "an inactive Workload: a former copy is left");
	is_int(w_times(w->log, "\"reason\":\"FormerManager\""), 1, "one Event reports it");
	ok(strstr(w->log, "This Workload is inactive, but worker cluster \\\"w2\\\"") != NULL,
	   "... and where it is");
	ok(why_has(w, "\"FormerManager\""), "why has it, too");
	w_free(w);
}

static void ends(struct world *w, cluster_id c, const char *minute)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"status\":{\"active\":null,\"succeeded\":2,\"startTime\":\"2027-01-15T08:%s:"
		 "00Z\","
		 "\"completionTime\":\"2027-01-15T08:%s:30Z\",\"conditions\":[{\"type\":"
		 "\"Complete\","
		 "\"status\":\"True\"}]}}",
		 minute, minute);
	w_patch(w, w_find(w, c, JOB, "ns", "j"), text);
	clone_condition(w, c, "wl-j", "Finished", "Succeeded", true);
}

/*
 * The former manager had lost one worker and won on another: both copies ended, and both are
 * this manager's now.
 */
static void rebuilt_and_ended_twice(void)
{
	struct world *w = w_new(2);
	struct object *wl, *copy;

	running_job(w);
	copy = w_put(w, 1, KIND_WORKLOAD, clone_of(w, 2, "wl-j")->text);
	copy->uid[0] = 'c';
	copy = w_put(w, 1, JOB, w_find(w, 2, JOB, "ns", "j")->text);
	copy->uid[0] = 'j';
	w_drop(w, w->n_q);
	ends(w, 2, "04");
	ends(w, 1, "02");
	w->rig = (struct rig){.times = 3, /* so the second one becomes this manager's first */
			      .type = OP_MERGE,
			      .cluster = 1,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	wl = rebuild(w, false, true);
	w_later(w, 60000);
	is_int(w_times(w->log, "merge 0 Job"), 1, "two copies ended: one end is told");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL,
	   "the Workload is Finished");
	w_free(w);
}

static void rebuilt_unnamed(bool status)
{
	struct world *w = w_new(2);
	struct object *wl;

	running_job(w);
	w->full = true;
	wl = rebuild(w, status, false);
	w_later(w, 60000);
	is_int(w_times(w->log, "\"reason\":\"FormerManager\""), 1,
	       "not named: an Event tells, once");
	ok(strstr(w->log, "multiKueue.formerManagers") && strstr(w->log, "manager-id"),
	   "which manager's it is");
	ok(!strstr(w->log, "create 1") && !clone_of(w, 1, "wl-j"),
	   "and it is not sent out beside its copy");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "which is left alone");
	w_take(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 60000);
	if (!status) {
		ok(clone_of(w, 1, "wl-j") && clone_of(w, 2, "wl-j"),
		   "when the copy is gone, it goes out");
	} else {
		is_str(check_state(w, wl), "Retry",
		       "when the copy is gone, the winner is given up");
	}
	w_free(w);
}

/*
 * Kueue names a Workload after its owner's uid, too: the copy has
 * another name than the new Workload. 'resized': the job in the backup has another size.
 */
static void rebuilt_under_another_name(bool resized)
{
	struct world *w = w_new(2);
	struct object *job, *wl;

	running_job(w);
	w_stop(w);
	w->manager_id = "rebuilt-id";
	w->former_managers[0] = STR("manager-id");
	job = w_find(w, 0, JOB, "ns", "j");
	job->uid[0] = 'J';
	w_patch(w, job, "{\"spec\":{\"suspend\":true}}");
	w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"));
	memset(w->watching, 0, sizeof(w->watching));
	w->up[1] = w->up[2] = false;
	w_drop(w, w->n_q);
	wl = a_workload(w, "j");
	free(wl->name);
	wl->name = w_dup(STR("wl-j2"));
	w_patch(w, wl,
		resized ? "{\"metadata\":{\"name\":\"wl-j2\"},\"spec\":{\"podSets\":[{\"name\":"
			  "\"main\",\"count\":7}]}}"
			: "{\"metadata\":{\"name\":\"wl-j2\"}}");
	w_drop(w, w->n_q);
	w->full = true;
	w_start(w);
	w_later(w, 60000);
	is_int(w_times(w->log, "\"reason\":\"FormerManager\""), 1,
	       "the copy has another name: an Event tells");
	ok(!clone_of(w, 1, "wl-j2") && !clone_of(w, 2, "wl-j2"),
	   "and it is not sent out beside it");
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 60000);
	ok(clone_of(w, 1, "wl-j2") && clone_of(w, 2, "wl-j2"), "before the copy is gone");
	w_free(w);
}

/*
 * Another manager's Workload of that name, made from another source, is its own
 * business: the cluster is left out.
 */
static void anothers(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_put(w, 2, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
	      "\"multikueued.io/manager-id\":\"other\",\"multikueued.io/spec-hash\":\"v1:0\"}},"
	      "\"spec\":{}}");
	wl = a_job(w, "j");
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") != NULL, "another source: other clusters are tried");
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "and win");
	w_free(w);
}

int main(void)
{
	changed(true);
	changed(false);
	changed_in_a_race(true);
	changed_in_a_race(false);
	changed_and_ended(true);
	changed_and_ended(false);
	changed_and_evicted();
	rebuilt_and_inactive();
	rebuilt_and_named(true);
	rebuilt_and_named(false);
	rebuilt_and_ended_twice();
	rebuilt_unnamed(true);
	rebuilt_unnamed(false);
	rebuilt_under_another_name(false);
	rebuilt_under_another_name(true);
	anothers();
	return done_testing();
}
