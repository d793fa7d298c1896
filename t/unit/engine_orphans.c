/* SPDX-License-Identifier: Apache-2.0 */
/* A job is deleted and leaves its Workload behind, or its name is another job's now. */
#include "t/lib/engine_pods.h"

#define ENDED                                                                                  \
	"{\"status\":{\"active\":null,\"succeeded\":2,\"startTime\":\"2027-01-15T08:00:00Z\"," \
	"\"completionTime\":\"2027-01-15T08:10:00Z\",\"conditions\":[{\"type\":\"Complete\","  \
	"\"status\":\"True\"}]}}"

/* kubectl delete --cascade=orphan: the garbage collector takes the reference away first. */
static void owner_goes(struct world *w, struct object *wl)
{
	w_patch(w, wl, "{\"metadata\":{\"ownerReferences\":null}}");
}

static const char *local_status(struct world *w)
{
	return w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status");
}

static void ends(struct world *w)
{
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), ENDED);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
}

static void runs_on(bool restart, bool finished_by_kueue)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *later;

	owner_goes(w, wl);
	w_settle(w);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_settle(w);
	if (restart) {
		w_restart(w);
	}
	w_later(w, 3600 * 1000);
	ok(clone_of(w, 2, "wl-j") && w_find(w, 2, JOB, "ns", "j"),
	   "deleted with --cascade=orphan: the copy runs on");
	later = w_put(w, 0, JOB,
		      "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
		      "\"namespace\":\"ns\",\"generation\":1},\"spec\":{\"parallelism\":2,"
		      "\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\"}}");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":1}}");
	w_later(w, 5000);
	is_str(w_str(w, later, "/status"), "", "... a later job of its name gets no status of it");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "... nor ends it");
	if (finished_by_kueue) {
		w_patch(w, wl,
			"{\"status\":{\"conditions\":[" QUOTA "," ADMITTED
			",{\"type\":\"Finished\",\"status\":\"True\",\"reason\":\"OwnerNotFound\","
			"\"message\":\"m\"}]}}");
	} else {
		ends(w);
		w_later(w, 20 * 1000);
		ok(is_finished(w, wl), "... it ends: the Workload is Finished");
	}
	w_later(w, 20 * 1000);
	is_int((long long)objects_on(w, 2), 0, "... Finished: its copies go");
	is_str(w_str(w, later, "/status"), "", "... and the later job is as it was");
	w_free(w);
}

/* A later job of the orphan's name gets a Workload of its own, and wins on another worker. */
static void beside_a_later_job(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *later, *its;
	char owner[256];

	owner_goes(w, wl);
	w_settle(w);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_settle(w);
	later = w_put(w, 0, JOB,
		      "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
		      "\"namespace\":\"ns\",\"generation\":1},\"spec\":{\"parallelism\":2,"
		      "\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\"}}");
	its = a_job(w, "later");
	snprintf(owner, sizeof(owner),
		 "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"
		 "\"Job\",\"name\":\"j\",\"uid\":\"%s\",\"controller\":true}]}}",
		 later->uid);
	w_patch(w, its, owner);
	w_settle(w);
	admit(w, 1, "wl-later");
	w_later(w, 60 * 1000);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "a later job of an orphan's name runs elsewhere");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "... and the copy of the orphan runs on");
	ends(w);
	w_later(w, 20 * 1000);
	ok(is_finished(w, wl), "... it ends: the Workload of the orphan is Finished");
	ok(!is_finished(w, its), "... and the later job is as it was");
	w_free(w);
}

/* The user deletes what --cascade=orphan has left. */
static void is_deleted(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	owner_goes(w, wl);
	w_settle(w);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_restart(w);
	w_settle(w);
	w_del(w, wl);
	w_later(w, 200 * 1000);
	is_int((long long)objects_on(w, 2), 0, "an orphan that is deleted leaves nothing");
	w_free(w);
}

/* Another client removes the clone of an orphan: its copy alone says whose it is. */
static void without_clone(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	owner_goes(w, wl);
	w_settle(w);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_settle(w);
	w_stop(w);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_restart(w);
	w_later(w, 200 * 1000);
	is_int((long long)objects_on(w, 2), 0,
	       "an orphan without its clone: the copy, which Kueue there stops, is removed");
	w_free(w);
}

/* While no process runs, Kueue makes the Workload anew, and then the job is orphaned. */
static void is_made_anew(bool cloned)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_stop(w);
	w_del(w, wl);
	wl = a_workload(w, "j");
	owner_goes(w, wl);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	if (!cloned) {
		w_del(w, clone_of(w, 2, "wl-j"));
	}
	w_restart(w);
	w_later(w, 200 * 1000);
	is_int((long long)objects_on(w, 2), 0,
	       cloned ? "an orphan that was made anew: what ran is removed"
		      : "... and a copy without its clone");
	w_free(w);
}

/* The owner reference names another uid: the copy and its status are of the job before. */
static void owner_is_another(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_put(w, 0, JOB,
	      "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
	      "\"namespace\":\"ns\",\"generation\":1},\"spec\":{\"parallelism\":2,"
	      "\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\"}}");
	w_later(w, 60 * 1000);
	is_str(local_status(w), "", "the job is made anew: the new one gets no status of the old");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "... whose Workload is Kueue's to delete");
	w_del(w, wl);
	w_later(w, 5000);
	is_int((long long)objects_on(w, 2), 0, "... and then its copies go");
	w_free(w);
}

int main(void)
{
	runs_on(false, false);
	runs_on(true, false);
	runs_on(false, true);
	runs_on(true, true);
	beside_a_later_job();
	is_deleted();
	without_clone();
	is_made_anew(true);
	is_made_anew(false);
	owner_is_another();
	return done_testing();
}
