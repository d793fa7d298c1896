/* SPDX-License-Identifier: Apache-2.0 */
/* A check that was rejected, or that vanished: what is removed, and what is left as it is. */
#include "t/lib/engine_world.h"

/*
 * A client, or Kueue, rejects: the Workload is deactivated, and keeps its quota until core took it.
 */
static void reject_it(struct world *w, struct object *wl)
{
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Rejected\","
		"\"message\":\"no\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
	w_settle(w);
}

static void while_pending(void)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	ok(objects_on(w, 1) && objects_on(w, 2) && objects_on(w, 3), "a race on three clusters");
	w_take(w);
	reject_it(w, wl);
	is_str(w_take(w),
	       "delete 1 Workload wl-j release\ndelete 2 Workload wl-j release\n"
	       "delete 3 Workload wl-j release\n",
	       "trap_54: Rejected before a win: the clones go at once, and nothing else is sent");
	w_later(w, 3600000);
	is_str(w_take_work(w), "", "no new race while it is Rejected");
	w_restart(w);
	w_later(w, 120000);
	ok(!strstr(w_take(w), " wl-j "), "nor after a restart");
	w_del(w, wl);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_later(w, 5000);
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2) + objects_on(w, 3)), 0,
	       "deleted: nothing is left");
	w_free(w);
}

/* A clone that is admitted in the moment of the rejection does not win. */
static void while_one_is_admitted(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	admit(w, 1, "wl-j");
	reject_it(w, wl);
	w_later(w, 5000);
	is_str(w_str(w, wl, "/status/clusterName"), "", "Rejected wins nothing");
	ok(!w_find(w, 1, JOB, "ns", "j"), "no job is made");
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2)), 0, "no clone stays");
	w_free(w);
}

/* With a worker away: its clone goes when it is back. */
static void while_a_worker_is_away(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	reject_it(w, wl);
	w_later(w, 5000);
	is_int((long long)objects_on(w, 2), 0, "Rejected: the clone in reach goes");
	is_int((long long)objects_on(w, 1), 1, "the other one cannot");
	w_link(w, 1, LINK_UP);
	w_later(w, 5000);
	is_int((long long)objects_on(w, 1), 0, "it goes when its worker is back");
	w_free(w);
}

/* After the win the job winds down as Kueue evicts: Rejected alone ends nothing. */
static void while_it_runs(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	reject_it(w, wl);
	w_later(w, 5000);
	ok(objects_on(w, 2) == 2 && !strstr(w_take(w), "delete"),
	   "Rejected after the win: its job is not cut off");
	evict(w, wl, "Rejected");
	w_settle(w);
	ok(strstr(w_take(w), "apply_status 2 Workload wl-j deactivate"),
	   "core evicts: the worker's Kueue stops it");
	release_quota(w, wl);
	w_later(w, 5000);
	is_int((long long)objects_on(w, 2), 0, "quota is released: nothing is left");
	w_free(w);
}

/* The AdmissionCheck is deleted, or taken off the queue, while jobs race and run. */
static void check_vanishes(bool object)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	if (object) {
		w_del(w, w_find(w, 0, KIND_CHECK, "", "mk"));
	} else {
		w_patch(w, wl, "{\"status\":{\"admissionChecks\":null}}");
	}
	w_later(w, 2000000);
	ok(objects_on(w, 2) == 2, object ? "the AdmissionCheck is deleted: the job runs on"
					 : "the check leaves the Workload: the job runs on");
	is_str(w_take_work(w), "", "and nothing is written");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"status\":{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}}");
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\","
		"\"reason\":\"Succeeded\",\"message\":\"\"}]}}");
	w_later(w, 5000);
	is_int((long long)objects_on(w, 2), 0, "what ended is cleaned up all the same");
	w_free(w);
}

/*
 * One after the other: clusters are dropped, the check is given another
 * configuration, Rejected, deleted.
 */
static void one_after_the_other(void)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");
	size_t left = 0;

	w_settle(w);
	w_put(w, 0, KIND_CONFIG,
	      "{\"metadata\":{\"name\":\"other\"},\"spec\":{\"clusters\":[\"w3\"]}}");
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), "{\"spec\":{\"clusters\":[\"w2\"]}}");
	w_settle(w);
	is_int((long long)objects_on(w, 1), 0, "a cluster that leaves loses its clone");
	w_patch(w, w_find(w, 0, KIND_CHECK, "", "mk"),
		"{\"spec\":{\"parameters\":{\"name\":\"other\"}}}");
	w_settle(w);
	reject_it(w, wl);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_del(w, wl);
	w_later(w, 5000);
	for (cluster_id c = 1; c <= 3; c++) {
		left += objects_on(w, c);
	}
	is_int((long long)left, 0,
	       "dropped clusters, another configuration, Rejected, deleted: nothing is left");
	w_free(w);
}

int main(void)
{
	while_pending();
	while_one_is_admitted();
	while_a_worker_is_away();
	while_it_runs();
	check_vanishes(true);
	check_vanishes(false);
	one_after_the_other();
	return done_testing();
}
