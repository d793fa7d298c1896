/* SPDX-License-Identifier: Apache-2.0 */
/* Lost answers, conflicts, refusals, objects of others, missing kinds, standby, rejections. */
#include "t/lib/engine_world.h"

/*
 * Each answer of a job's life is lost once: the object is asked for, and
 * everything ends as it would have.
 */
static void lost_answers(void)
{
	for (size_t n = 1; n <= 16; n++) {
		struct world *w = w_new(3);
		struct object *wl, *remote, *clone;
		char name[64];

		w->lose = n;
		wl = a_job(w, "j");
		w_settle(w);
		w_advance(w, 3000);
		admit(w, 2, "wl-j");
		w_settle(w);
		w_advance(w, 3000);
		remote = w_find(w, 2, JOB, "ns", "j");
		clone = clone_of(w, 2, "wl-j");
		if (remote && clone) {
			w_patch(w, remote,
				"{\"spec\":{\"suspend\":false},\"status\":{\"active\":2}}");
			w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":false}}");
			w_settle(w);
			w_advance(w, 3000);
			w_patch(w, remote, "{\"status\":{\"active\":null,\"succeeded\":2}}");
			clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
			w_settle(w);
			w_advance(w, 30000);
		}
		snprintf(name, sizeof(name), "answer %zu lost: finished", n);
		ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL, name);
		is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
		       "status came over");
		ok(!clone_of(w, 1, "wl-j") && !clone_of(w, 2, "wl-j") && !clone_of(w, 3, "wl-j") &&
			   !w_find(w, 2, JOB, "ns", "j"),
		   "nothing is left");
		w_free(w);
	}
}

static void conflict(void)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");
	const char *log;

	w_settle(w);
	w_take(w);
	/* Kueue writes between our read and our write; its event is late. */
	w->up[0] = false;
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w->up[0] = true;
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_take(w), "apply_status 0 Workload wl-j win\n", "the win meets a conflict");
	w_advance(w, 1000);
	log = w_take(w);
	ok(strstr(log, "get 0 Workload wl-j get\napply_status 0 Workload wl-j win\n"),
	   "read again, recomputed");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "won");
	w_free(w);
}

/* The watch lags: our own writes are seen through their answers, nothing is sent twice. */
static void lagging_watch(void)
{
	struct world *w = w_new(3);
	struct object *wl;

	w->silent_watch = true;
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "the job is made");
	w_take(w);
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	w_advance(w, 60000);
	is_str(w_take(w), "", "no duplicate, no get");
	w_free(w);
}

static void foreign_clone(void)
{
	struct world *w = w_new(3);
	const char *log;

	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\"},\"spec\":{}}");
	a_job(w, "j");
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "get 1 Workload wl-j get\n") && strstr(log, "event 0 Event wl-j"),
	   "reported");
	w_advance(w, 100000);
	log = w_take(w);
	ok(!strstr(log, "delete"), "never touched");
	ok(strstr(log, "create 1 Workload wl-j"), "tried again later");
	admit(w, 2, "wl-j");
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, " win\n") && !strstr(log, "delete 1"), "another cluster wins, it stays");
	w_free(w);
}

static void foreign_job(void)
{
	struct world *w = w_new(3);
	struct object *wl, *theirs;
	const char *log;

	theirs = w_put(w, 2, JOB,
		       "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\"},\"spec\":{}}");
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "create 2 Job j job_create\n") && strstr(log, "get 2 Job j get\n") &&
		   strstr(log, "apply_status 0 Workload wl-j job_refused\n"),
	   "the job cannot be made: Retry");
	is_str(check_message(w, wl),
	       "Cannot create the job on \"w2\": an object of this name is there and not ours, "
	       "Previously: \"Ready\"",
	       "message");
	ok(theirs->used, "trap_52: theirs is untouched");
	evict(w, wl, "x");
	w_settle(w);
	queue_again(w, wl);
	log = w_take(w);
	ok(strstr(log, "create 1 Workload") && strstr(log, "create 3 Workload") &&
		   !strstr(log, "create 2 Workload"),
	   "that cluster is left out for a while");
	is_str(w_str(w, wl, "/status/nominatedClusterNames"), "[\"w1\",\"w3\"]", "nor nominated");
	w_free(w);
}

/*
 * The foreign job is shown again while the create that asks for it is on its way, and gone before
 * that arrives: only the answer says whether this place took the job.
 */
static void foreign_job_goes(void)
{
	struct world *w = w_new(2);
	struct object *wl, *theirs;

	theirs = w_put(w, 2, JOB,
		       "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\",\"labels\":{"
		       "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
		       "\"multikueued.io/manager-id\":\"another\"}},\"spec\":{}}");
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	evict(w, wl, "x");
	w_settle(w);
	queue_again(w, wl);
	w_later(w, 60 * 1000);
	admit(w, 2, "wl-j");
	w_take(w);
	w_step(w);
	w->hold = true;
	w_step(w);
	is_int(w_times(w_take(w), "create 2 Job j job_create\n"), 1, "it wins there again");
	w_patch(w, theirs, "{\"spec\":{\"parallelism\":2}}");
	w_step(w);
	w_step(w);
	w->hold = false;
	ok(!strstr(w_take(w), "job_refused"), "no Retry while that create is on its way");
	w_free(w);
}

/* The manager does not take the Retry: what is known already is not asked of the worker again. */
static void foreign_job_unreported(void)
{
	struct world *w = w_new(3);
	struct object *wl;

	w_put(w, 2, JOB, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\"},\"spec\":{}}");
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_step(w); /* it wins */
	w->rig = (struct rig){.times = 5,
			      .type = OP_APPLY_STATUS,
			      .cluster = 0,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_LIMITED};
	w_take(w);
	w_later(w, 60 * 1000);
	is_str(check_state(w, wl), "Retry", "the manager takes the Retry at last");
	is_int(w_times(w_take(w), "create 2 Job j"), 1, "... and the job was tried once");
	w_free(w);
}

static void refused_job(void)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");

	w->refuse = ERR_INVALID;
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(check_message(w, wl),
	       "Cannot create the job on \"w2\": the server said no, Previously: \"Ready\"",
	       "the server's words");
	w_free(w);
}

static void unserved_kind(void)
{
	struct world *w = w_new(3);
	struct pending *p = w_event(w, EV_UNSERVED, 1, JOB);

	p->ev.code = ERR_NOT_FOUND;
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	w_take(w);
	ok(!clone_of(w, 1, "wl-j") && clone_of(w, 2, "wl-j"),
	   "trap_57: no clone where the kind is missing");
	ok(w->sought[1][JOB] && !w->sought[2][JOB],
	   "a kind that a job waits for is looked for where it is missing");
	w_event(w, EV_SERVED, 1, JOB);
	w_list(w, 1, JOB);
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") != NULL, "it comes when the kind does");
	ok(!w->sought[1][JOB], "and is looked for no more");
	w_free(w);
}

static void other_checks(void)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");

	w_take(w);
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"prov\",\"state\":\"Pending\"},{"
		"\"name\":\"mk\",\"state\":"
		"\"Pending\"}]}}");
	w_settle(w);
	is_str(w_take(w), "watch_open 0 Job watch_open\n", "trap_30: other checks first");
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"prov\",\"state\":\"Ready\"},{"
		"\"name\":\"mk\",\"state\":"
		"\"Pending\"}]}}");
	w_settle(w);
	ok(strstr(w_take(w), "nominate"), "then nominate");
	w_free(w);
}

static void standby(void)
{
	struct world *w = w_new(3);
	struct object *wl;

	w_event(w, EV_LEADER, 0, 0);
	w_settle(w);
	wl = a_job(w, "j");
	w_settle(w);
	ok(!strstr(w_take(w), "create"), "a standby writes nothing");
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = true;
	w_settle(w);
	ok(strstr(w_take(w), "nominate") && clone_of(w, 1, "wl-j"), "the leader does");
	(void)wl;
	w_free(w);
}

/* What a leader elsewhere does: a clone on w1, which wins. */
static void another_leads_to_w1(struct world *w, struct object *wl)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\",\"labels\":{"
		 "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
		 "\"multikueued.io/manager-id\":\"manager-id\","
		 "\"multikueued.io/workload-uid\":\"%s\","
		 "\"multikueued.io/owner-kind\":\"batch/v1, Kind=Job\","
		 "\"multikueued.io/owner-name\":\"j\"}},\"spec\":{}}",
		 wl->uid);
	w_put(w, 1, KIND_WORKLOAD, text);
	admit(w, 1, "wl-j");
	w_settle(w);
	w_patch(w, wl,
		"{\"status\":{\"clusterName\":\"w1\",\"admissionChecks\":[{\"name\":\"mk\","
		"\"state\":\"Ready\",\"message\":\"The workload got reservation on "
		"\\\"w1\\\"\"}]}}");
	w_settle(w);
}

/* ... and the job there, 'manager' being who made it. */
static struct object *another_makes_the_job(struct world *w, const struct object *wl,
					    const char *manager)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\",\"labels\":{"
		 "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
		 "\"multikueued.io/manager-id\":\"%s\","
		 "\"multikueued.io/workload-uid\":\"%s\","
		 "\"kueue.x-k8s.io/prebuilt-workload-name\":\"wl-j\","
		 "\"kueue.x-k8s.io/multikueue-origin-uid\":\"%s\"}},"
		 "\"spec\":{\"suspend\":false}}",
		 manager, wl->uid, w_find(w, 0, JOB, "ns", "j")->uid);
	return w_put(w, 1, JOB, text);
}

static struct world *standby_world(void)
{
	struct world *w = w_new(2);

	w_event(w, EV_LEADER, 0, 0);
	w_settle(w);
	w_take(w);
	return w;
}

/*
 * A standby sees whole rounds. What it saw in one says nothing of the
 * next, in which it begins to lead.
 */
static void standby_of_rounds(void)
{
	struct world *w = standby_world();
	struct object *wl = a_job(w, "j"), *job;
	const char *log;

	w_settle(w);
	another_leads_to_w1(w, wl);
	job = another_makes_the_job(w, wl, "manager-id");
	w_settle(w);
	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	evict(w, wl, "preempted");
	w_settle(w);
	release_quota(w, wl);
	w_del(w, job);
	w_del(w, clone_of(w, 1, "wl-j"));
	w_settle(w);
	give_quota(w, wl);
	w_settle(w);
	another_leads_to_w1(w, wl);
	is_str(w_take_work(w), "", "a standby of two rounds writes nothing");
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = true;
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "create 1 Job j job_create") && !strstr(log, "winner_gone"),
	   "... and makes the job of the second, which the leader did not come to");
	is_str(check_state(w, wl), "Ready", "... whose win stands");
	w_free(w);
}

/*
 * What is in the way of the job is the leader's to find: when a
 * standby's time comes it may be gone.
 */
static void standby_of_strangers(void)
{
	struct world *w = standby_world();
	struct object *wl = a_job(w, "j"), *theirs;
	const char *log;

	w_settle(w);
	another_leads_to_w1(w, wl);
	theirs = another_makes_the_job(w, wl, "somebody-else");
	w_settle(w);
	w_del(w, theirs);
	w_settle(w);
	w_take(w);
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = true;
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "create 1 Job j job_create") && !strstr(log, "job_refused"),
	   "an object that was in the job's way, seen by a standby, is no refusal");
	is_str(check_state(w, wl), "Ready", "... and the win stands");
	w_free(w);
}

static void rejected(void)
{
	struct world *w = w_new(3);
	struct object *wl, *theirs;

	w_take(w);
	wl = w_put(w, 0, KIND_WORKLOAD,
		   "{\"metadata\":{\"name\":\"wl-x\",\"namespace\":\"ns\",\"generation\":1,"
		   "\"ownerReferences\":[{"
		   "\"apiVersion\":\"kubeflow.org/"
		   "v2beta1\",\"kind\":\"MPIJob\",\"name\":\"x\",\"uid\":\"u\",\"controller\":"
		   "true}]},\"spec\":{},\"status\":{\"admissionChecks\":[{\"name\":\"mk\","
		   "\"state\":\"Pending\"}]}}");
	w_settle(w);
	is_str(w_take(w), "apply_status 0 Workload wl-x rejected_no_adapter\n", "no adapter");
	is_str(check_message(w, wl),
	       "No multikueue adapter found for owner kind \"kubeflow.org/v2beta1, Kind=MPIJob\", "
	       "Previously: \"Pending\"",
	       "message");
	w_del(w, wl);
	wl = w_put(w, 0, KIND_WORKLOAD,
		   "{\"metadata\":{\"name\":\"wl-y\",\"namespace\":\"ns\"},\"spec\":{},\"status\":{"
		   "\"admissionChecks\":[{"
		   "\"name\":\"mk\",\"state\":\"Pending\"}]}}");
	w_settle(w);
	is_str(check_message(w, wl), "No multikueue adapter found, Previously: \"Pending\"",
	       "no owner");
	wl = a_job(w, "j");
	theirs = w_find(w, 0, JOB, "ns", "j");
	w_patch(w, theirs, "{\"spec\":{\"managedBy\":\"kubernetes.io/job-controller\"}}");
	w_settle(w);
	is_str(check_message(w, wl),
	       "The owner is not managed by Kueue: Expecting spec.managedBy to be "
	       "\"kueue.x-k8s.io/multikueue\" not "
	       "\"kubernetes.io/job-controller\", Previously: \"Pending\"",
	       "not managed");
	ok(!clone_of(w, 1, "wl-j"), "nothing was dispatched");
	w_free(w);
}

/* A kind that no plugin serves, dispatched already: hands off. */
static void frozen(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);
	struct engine_stats st;

	w_stop(w);
	w_patch(w, wl,
		"{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"ex.io/"
		"v1\",\"kind\":\"Gone\",\"name\":\"j\",\"uid\":"
		"\"u\",\"controller\":true}]}}");
	w_restart(w);
	w_settle(w);
	w_advance(w, 120000);
	ok(!strstr(w_take(w), "apply_status 0 Workload") && clone_of(w, 2, "wl-j") &&
		   w_find(w, 2, JOB, "ns", "j"),
	   "hands off");
	engine_get_stats(w->e, &st);
	is_int(st.unserved_workloads, 1, "counted");
	w_free(w);

	/* Evicted, and not at its end yet: the winner's name is gone, its job may run. */
	w = w_new(3);
	wl = running_job(w);
	evict(w, wl, "x");
	w_settle(w);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_settle(w);
	w_stop(w);
	w_patch(w, wl,
		"{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"ex.io/"
		"v1\",\"kind\":\"Gone\",\"name\":\"j\",\"uid\":"
		"\"u\",\"controller\":true}]}}");
	w_restart(w);
	w_settle(w);
	is_str(check_state(w, wl), "Pending",
	       "an evicted one is not rejected: its job may still stop");
	w_free(w);
}

/*
 * Objects of Go MultiKueue: adopted while the twin lives; without one they may be another
 * manager's, unless the configuration says that there is none.
 */
static void adopted(void)
{
	static const char none[] = "{\"metadata\":{\"annotations\":null,\"ownerReferences\":[{"
				   "\"apiVersion\":\"batch/v1\",\"kind\":"
				   "\"Job\",\"name\":\"j\",\"uid\":\"x\",\"controller\":true}]}}";
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_stop(w);
	w_patch(w, clone_of(w, 2, "wl-j"), none);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), none);
	w_restart(w);
	w_settle(w);
	w_advance(w, 5000);
	ok(!strstr(w_take(w), "winner_gone"), "taken over as it is");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":1}}");
	w_settle(w);
	w_advance(w, 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "1", "status is mirrored");
	w_stop(w);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_del(w, wl);
	w_restart(w);
	w_settle(w);
	ok(clone_of(w, 2, "wl-j") != NULL, "an orphan without annotations stays for now");
	w_advance(w, 200000);
	ok(clone_of(w, 2, "wl-j") && w_find(w, 2, JOB, "ns", "j"),
	   "... and is left by the collector");
	w->collect_unmarked = true;
	w_restart(w);
	w_settle(w);
	w_advance(w, 61000);
	ok(!clone_of(w, 2, "wl-j") && !w_find(w, 2, JOB, "ns", "j"),
	   "the collector takes it when the configuration says so");
	w_free(w);
}

/* Another manager's objects, of the same origin: left alone. */
static void other_manager(void)
{
	struct world *w = w_new(3);

	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"theirs\",\"namespace\":\"ns\",\"labels\":{\"kueue.x-k8s."
	      "io/multikueue-origin\":"
	      "\"multikueue\"},\"annotations\":{\"multikueued.io/"
	      "manager-id\":\"another\"}},\"spec\":{}}");
	w_settle(w);
	w_advance(w, 200000);
	ok(clone_of(w, 1, "theirs") != NULL, "trap_55: the other manager's clone stays");
	w_free(w);
}

/* Before a winner exists, what cannot win is taken away and tried again. */
static void disqualified(void)
{
	struct world *w = w_new(3);
	const char *log;

	a_job(w, "j");
	w_settle(w);
	w_take(w);
	clone_condition(w, 1, "wl-j", "Evicted", "Preempted", false);
	w_advance(w, 2000);
	ok(!strstr(w_take(w), "delete"), "evicted, Kueue there queues it again: it stays");
	w_patch(w, clone_of(w, 1, "wl-j"), "{\"spec\":{\"active\":false}}");
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "delete 1 Workload wl-j disqualified"), "taken away");
	w_advance(w, 2000);
	ok(strstr(w_take(w), "create 1 Workload wl-j clone_create"), "and tried again");
	w_free(w);
}

/* Several admitted at once: config order; one after another: the first that was seen. */
static void who_wins(void)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	admit(w, 3, "wl-j");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "in one step: config order");
	w_free(w);
	w = w_new(3);
	wl = a_job(w, "j");
	w_settle(w);
	w->hold = true;
	admit(w, 3, "wl-j");
	w_step(w);
	w->hold = false;
	admit(w, 1, "wl-j");
	w_step(w);
	ok(strstr(w_take(w), " win\n") != NULL, "a win is under way");
	w_free(w);
}

int main(void)
{
	lost_answers();
	conflict();
	lagging_watch();
	foreign_clone();
	foreign_job();
	foreign_job_goes();
	foreign_job_unreported();
	refused_job();
	unserved_kind();
	other_checks();
	standby();
	standby_of_rounds();
	standby_of_strangers();
	rejected();
	frozen();
	adopted();
	other_manager();
	disqualified();
	who_wins();
	return done_testing();
}
