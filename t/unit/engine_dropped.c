/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user deletes the Workload of a job that runs, and Kueue makes another one, while the worker of
 * the job is out of reach: the job does not run elsewhere before that worker counts as lost. And a
 * Workload that lost its quota when its copy had ended: the job is not run again.
 */
#include "t/lib/engine_world.h"

/* The Workload is made anew, and w1 admits its clone. */
static struct object *made_anew(struct world *w, struct object *wl)
{
	w_del(w, wl);
	w_settle(w);
	wl = a_workload(w, "j");
	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	return wl;
}

static void out_of_reach(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	wl = made_anew(w, wl);
	ok(clone_of(w, 1, "wl-j") != NULL, "the new Workload is tried on the other worker");
	is_str(w_str(w, wl, "/status/clusterName"), "",
	       "a copy was seen on a worker that is away: no other one wins");
	w_later(w, 880000);
	is_str(w_str(w, wl, "/status/clusterName"), "", "... for as long as a worker may be away");
	w_later(w, 30000);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "... then the other one wins");
	w_free(w);
}

static void back_in_time(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	wl = made_anew(w, wl);
	w_take(w);
	w_later(w, 60000);
	w_link(w, 2, LINK_UP);
	w_later(w, 30000);
	ok(strstr(w_take(w), "delete 2 Job j") != NULL, "it is back: the former copy goes first");
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "... then the other one wins");
	w_free(w);
}

/* Its create had no answer: the copy may run there all the same. */
static void create_in_doubt(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	admit(w, 2, "wl-j");
	w->rig = (struct rig){1, OP_CREATE, 2, JOB, OUTCOME_UNKNOWN, ERR_UNKNOWN};
	while (w->rig.times > 0) {
		w_step(w);
	}
	w_link(w, 2, LINK_DOWN);
	w->stay_down[2] = true;
	w_settle(w);
	wl = made_anew(w, wl);
	is_str(w_str(w, wl, "/status/clusterName"), "",
	       "a create had no answer from a worker that is away: no other one wins");
	w_later(w, 910000);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "... before that one counts as lost");
	w_free(w);
}

static void of_another_job(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"metadata\":{\"annotations\":{"
		"\"kueue.x-k8s.io/multikueue-origin-uid\":"
		"\"another-job\"}}}");
	w_settle(w);
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	wl = made_anew(w, wl);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "another job's copy is not waited for");
	w_free(w);
}

/* The copy ends while Kueue evicts the Workload and takes its quota, before we hear of either. */
static void ended_without_quota(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *log;

	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	evict(w, wl, "the queue is drained");
	release_quota(w, wl);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"conditions\":[{\"type\":\"Complete\",\"status\":"
		"\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 2000);
	log = w_take(w);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/conditions/0/type"), "Complete",
	       "it lost its quota when its copy had ended: the end comes home");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL,
	   "... and the Workload is Finished");
	ok(strstr(log, "last_status") && strstr(log, "delete 2 Job j") &&
		   strstr(log, "last_status") < strstr(log, "delete 2 Job j"),
	   "... before the copy is deleted");
	w_free(w);
}

int main(void)
{
	out_of_reach();
	back_in_time();
	create_in_doubt();
	of_another_job();
	ended_without_quota();
	return done_testing();
}
