/* SPDX-License-Identifier: Apache-2.0 */
/* The normal life of a job: nominate, clone, win, create, mirror, finish, clean up. */
#include "t/lib/engine_world.h"

static void start(struct world *w)
{
	is_str(w_take(w),
	       "watch_close 0 Workload watch_close\n"
	       "watch_open 0 Workload watch_open\n"
	       "watch_close 0 AdmissionCheck watch_close\n"
	       "watch_open 0 AdmissionCheck watch_open\n"
	       "watch_close 0 MultiKueueConfig watch_close\n"
	       "watch_open 0 MultiKueueConfig watch_open\n"
	       "connect 1 MultiKueueCluster w1 cluster_connect\n"
	       "watch_open 1 Workload watch_open\n"
	       "connect 2 MultiKueueCluster w2 cluster_connect\n"
	       "watch_open 2 Workload watch_open\n"
	       "connect 3 MultiKueueCluster w3 cluster_connect\n"
	       "watch_open 3 Workload watch_open\n"
	       "watch_open 1 Job watch_open\n"
	       "merge 0 MultiKueueCluster w1 cluster_condition\n"
	       "watch_open 2 Job watch_open\n"
	       "merge 0 MultiKueueCluster w2 cluster_condition\n"
	       "watch_open 3 Job watch_open\n"
	       "merge 0 MultiKueueCluster w3 cluster_condition\n"
	       "merge 0 MultiKueueCluster w1 cluster_condition\n"
	       "merge 0 AdmissionCheck mk check_condition\n"
	       "merge 0 MultiKueueCluster w2 cluster_condition\n"
	       "merge 0 MultiKueueCluster w3 cluster_condition\n",
	       "start: links, then conditions");
	is_str(w_str(w, w_find(w, 0, KIND_CLUSTER, "", "w1"), "/status/conditions/0"),
	       "{\"type\":\"Active\",\"status\":\"True\",\"reason\":\"Active\",\"message\":"
	       "\"Connected\","
	       "\"observedGeneration\":1,\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}",
	       "cluster condition");
	is_str(w_str(w, w_find(w, 0, KIND_CHECK, "", "mk"), "/status/conditions/0/message"),
	       "The admission check is active", "check condition");
}

/* wl-j and its Job on the manager are there. */
static void test_nominate(struct world *w)
{
	struct object *wl = w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j");
	struct object *clone;

	w_settle(w);
	is_str(w_take(w),
	       "watch_open 0 Job watch_open\n"
	       "apply_status 0 Workload wl-j nominate\n"
	       "create 1 Workload wl-j clone_create\n"
	       "create 2 Workload wl-j clone_create\n"
	       "create 3 Workload wl-j clone_create\n",
	       "nominates and clones in one step");
	is_str(w_str(w, wl, "/status/nominatedClusterNames"), "[\"w1\",\"w2\",\"w3\"]",
	       "nominated");
	is_str(w_str(w, wl, "/status/invented/x"), "1",
	       "an unknown field of the same manager survives");
	is_str(w_str(w, wl, "/status/admissionChecks/0/state"), "Pending", "check untouched");
	clone = clone_of(w, 2, "wl-j");
	is_str(w_str(w, clone, "/metadata/labels"),
	       "{\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"}",
	       "clone: origin, no job uid");
	is_str(w_str(w, clone, "/metadata/ownerReferences"), "", "trap_53: clone: no owners");
	is_str(w_str(w, clone, "/spec/podSets/0/count"), "2", "clone: spec");
}

static void test_win(struct world *w)
{
	struct object *wl = w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j");
	struct object *remote;

	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_take(w),
	       "apply_status 0 Workload wl-j win\n"
	       "event 0 Event wl-j event\n"
	       "delete 1 Workload wl-j loser\n"
	       "delete 3 Workload wl-j loser\n"
	       "create 2 Job j job_create\n",
	       "one write wins; then job and losers in one step");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "clusterName");
	is_str(w_str(w, wl, "/status/nominatedClusterNames"), "", "nominations gone");
	is_str(w_str(w, wl, "/status/admissionChecks"),
	       "[{\"name\":\"mk\",\"state\":\"Ready\",\"message\":\"The workload was admitted on "
	       "\\\"w2\\\"\","
	       "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]",
	       "check Ready");
	is_str(w_str(w, wl, "/status/admission/clusterQueue"), "cq", "admission kept");
	is_str(w_str(w, wl, "/status/invented/x"), "1", "the unknown field too");
	remote = w_find(w, 2, JOB, "ns", "j");
	is_str(w_str(w, remote, "/spec"),
	       "{\"parallelism\":2,\"suspend\":true,\"template\":{\"metadata\":{\"labels\":{}},"
	       "\"spec\":{}}}",
	       "trap_46 trap_56: remote job: no managedBy, selector, generated labels, ttl");
	is_str(w_str(w, remote, "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"),
	       "wl-j", "prebuilt annotation");
	is_str(w_str(w, remote, "/metadata/labels/kueue.x-k8s.io~1prebuilt-workload-name"), "wl-j",
	       "prebuilt label");
	is_str(w_str(w, remote, "/metadata/labels/team"), "blue", "the user's label");
	w_advance(w, 5000);
	is_str(w_take(w), "", "nothing to do until something happens");
}

static void test_run(struct world *w)
{
	struct object *local = w_find(w, 0, JOB, "ns", "j");
	struct object *remote = w_find(w, 2, JOB, "ns", "j");

	/* The suspended state waits a second, the running one supersedes it. */
	w_patch(w, remote, "{\"spec\":{\"suspend\":false}}");
	w_settle(w);
	w_patch(w, remote, "{\"status\":{\"active\":2}}");
	w_settle(w);
	is_str(w_take(w), "", "trap_37: local suspended, remote running: no hurry");
	w_patch(w, local, "{\"spec\":{\"suspend\":false}}");
	w_settle(w);
	is_str(w_take(w), "merge 0 Job j job_status\n", "running is told at once");
	is_str(w_str(w, local, "/status"), "{\"active\":2}", "local status");
	w_patch(w, remote, "{\"status\":{\"ready\":1}}");
	w_settle(w);
	w_patch(w, remote, "{\"status\":{\"ready\":2}}");
	w_settle(w);
	is_str(w_take(w), "", "the next change waits");
	w_advance(w, 1000);
	is_str(w_take(w), "merge 0 Job j job_status\n", "one write a second, the last state");
	is_str(w_str(w, local, "/status"), "{\"active\":2,\"ready\":2}", "local status");
}

static void test_end(struct world *w)
{
	struct object *wl = w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j");
	struct object *clone;

	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"ready\":null,\"succeeded\":2,\"conditions\":[{"
		"\"type\":\"Complete\","
		"\"status\":\"True\"}]}}");
	clone = clone_of(w, 2, "wl-j");
	w_patch(w, clone,
		"{\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\","
		"\"reason\":\"Succeeded\","
		"\"message\":\"done\"}]}}");
	w_settle(w);
	is_str(w_take(w), "merge 0 Job j last_status\n", "trap_40: the last status first");
	/* No other controller writes Finished in this world: after half a second we do. */
	w_advance(w, 500);
	is_str(w_take(w),
	       "apply_status 0 Workload wl-j finished\n"
	       "delete 2 Job j release\n"
	       "delete 2 Workload wl-j release\n",
	       "last status, Finished, then the remote objects");
	is_str(w_str(w, wl, "/status/conditions/1"),
	       "{\"type\":\"Finished\",\"status\":\"True\",\"reason\":\"Succeeded\",\"message\":"
	       "\"done\","
	       "\"observedGeneration\":1,\"lastTransitionTime\":\"2027-01-15T08:00:06Z\"}",
	       "Finished as the clone says");
}

static void test_rest(struct world *w)
{
	const char *log;

	w_advance(w, 3600 * 1000);
	log = w_take(w);
	ok(strstr(log, "watch_close 0 Job") && strstr(log, "watch_close 1 Job") &&
		   strstr(log, "watch_close 2 Job") && strstr(log, "watch_close 3 Job"),
	   "an idle hour closes the watches");
	w_advance(w, 3600 * 1000);
	is_str(w_take_work(w), "", "and does nothing else");
	w_restart(w);
	w_settle(w);
	w_take(w);
	w_advance(w, 120000);
	is_str(w_take_work(w), "", "a restart at rest: nothing");
}

/*
 * The job there is at rest before Kueue unsuspends the one here: no
 * event will tell its state again.
 */
static void steady_before_unsuspended(void)
{
	struct world *w = w_new(2);
	struct object *local;
	struct engine_stats before, after;

	a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	local = w_find(w, 0, JOB, "ns", "j");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":false},\"status\":{\"active\":2,\"ready\":2,"
		"\"startTime\":\"2027-01-15T08:00:01Z\"}}");
	w_later(w, 5000);
	is_str(w_str(w, local, "/status/active"), "", "deferred while it is suspended here");
	is_str(w_str(w, local, "/status/startTime"), "", "trap_39: ... and its start with it");
	is_str(w_str(w, local, "/status/conditions"),
	       "[{\"type\":\"Suspended\",\"status\":\"True\",\"reason\":\"MultiKueueAdapter\","
	       "\"message\":\"Set by MultiKueue "
	       "adapter\",\"lastProbeTime\":\"2027-01-15T08:00:01Z\","
	       "\"lastTransitionTime\":\"2027-01-15T08:00:01Z\"}]",
	       "trap_42: what is written meanwhile says that it is suspended");
	w_take(w);
	engine_get_stats(w->e, &before);
	w_later(w, 20000);
	engine_get_stats(w->e, &after);
	is_int((long long)(after.passes - before.passes), 10, "looked at again every 2 s");
	is_str(w_take(w), "", "without a request");
	w_patch(w, local, "{\"spec\":{\"suspend\":false}}");
	w_settle(w);
	is_str(w_str(w, local, "/status/ready"), "2",
	       "trap_41: unsuspended later: the status that rested there comes over");
	w_later(w, 2000);
	engine_get_stats(w->e, &before);
	w_later(w, 600000);
	engine_get_stats(w->e, &after);
	ok(after.passes - before.passes < 10, "and nothing is looked at for nothing");
	w_free(w);
}

/*
 * The copy was stopped and went on while no daemon ran: Kubernetes lets no
 * running job's start time change.
 */
static void start_time_stays(void)
{
	struct world *w = w_new(2);
	struct object *job;

	running_job(w);
	job = w_find(w, 0, JOB, "ns", "j");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"startTime\":\"2027-01-15T08:00:01Z\"}}");
	w_later(w, 2000);
	is_str(w_str(w, job, "/status/startTime"), "2027-01-15T08:00:01Z", "it comes over");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"startTime\":\"2027-01-15T08:00:09Z\",\"active\":1}}");
	w_later(w, 2000);
	is_str(w_str(w, job, "/status/startTime"), "2027-01-15T08:00:01Z", "and stays");
	is_str(w_str(w, job, "/status/active"), "1", "all else is told");
	w_free(w);
}

int main(void)
{
	struct world *w = w_new(3);
	size_t before;

	start(w);
	a_job(w, "j");
	before = w->requests;
	test_nominate(w);
	test_win(w);
	test_run(w);
	test_end(w);
	is_int(w->requests - before, 14, "requests: 13 and one more status");
	test_rest(w);
	w_free(w);
	steady_before_unsuspended();
	start_time_stays();
	return done_testing();
}
