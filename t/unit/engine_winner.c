/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the win: the winner's cluster is deleted, its job is an earlier one's, the
 * check or the name was rewritten.
 */
#include "t/lib/engine_world.h"

/*
 * The MultiKueueCluster of the winner is deleted: worker-lost timeout, then Retry;
 * others' workloads are not touched.
 */
static void cluster_deleted(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_later(w, 899000);
	is_str(check_state(w, wl), "Ready", "gone for less than the timeout: still Ready");
	w_later(w, 2000);
	is_str(check_state(w, wl), "Retry", "after the timeout it is Retry");
	is_str(check_message(w, wl), "Admitting remote lost, Previously: \"Ready\"", "message");
	evict(w, wl, "x");
	w_settle(w);
	queue_again(w, wl);
	ok(clone_of(w, 1, "wl-j") && clone_of(w, 3, "wl-j"), "the next round goes to the others");
	is_str(w_str(w, wl, "/status/nominatedClusterNames"), "[\"w1\",\"w3\"]",
	       "and to them alone");
	w_free(w);
}

/* The cluster comes back in time: the clock of its loss starts anew the next time. */
static void cluster_made_anew(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_later(w, 600000);
	w->alias_of[3] = 2; /* the same worker under a new number */
	add_cluster(w, 2, "");
	w_later(w, 600000);
	is_str(check_state(w, wl), "Ready", "seen again: never Retry");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "the winner is the same");
	ok(w_find(w, 2, JOB, "ns", "j") && !strstr(w_take(w), "delete 3"), "its job runs on");
	w_free(w);
}

/* A job of an earlier workload of this name sits on the winner: it goes, then ours is made. */
static void stale_job(void)
{
	struct world *w = w_new(2);
	const char *log;

	w_put(w, 2, JOB,
	      "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
	      "\"multikueued.io/manager-id\":\"manager-id\",\"multikueued.io/workload-uid\":"
	      "\"earlier\",\"kueue.x-k8s.io/multikueue-origin-uid\":\"earlier-job\","
	      "\"kueue.x-k8s.io/prebuilt-workload-name\":\"wl-j\"}},\"spec\":{}}");
	a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_later(w, 15000);
	log = w_take(w);
	ok(strstr(log, "delete 2 Job j job_of_other_clone") != NULL, "the earlier one is deleted");
	log = strstr(log, "job_of_other_clone");
	ok(log && strstr(log, "create 2 Job j job_create"), "then ours is made");
	ok(strstr(w_str(w, w_find(w, 2, JOB, "ns", "j"), "/metadata/annotations"), "earlier") ==
		   NULL,
	   "and it is ours");
	w_free(w);
}

/* An earlier job that is on its way out already is not deleted twice. */
static void stale_job_going(void)
{
	struct world *w = w_new(2);

	w_put(w, 2, JOB,
	      "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\",\"deletionTimestamp\":"
	      "\"2027-01-15T08:00:00Z\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
	      "\"multikueued.io/manager-id\":\"manager-id\",\"multikueued.io/workload-uid\":"
	      "\"earlier\",\"kueue.x-k8s.io/prebuilt-workload-name\":\"wl-j\"}},\"spec\":{}}");
	a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_later(w, 5000);
	ok(!strstr(w_take(w), "Job j"), "nothing is sent while it goes");
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_settle(w);
	ok(strstr(w_take(w), "create 2 Job j job_create") != NULL, "gone: ours is made");
	w_free(w);
}

/* The check is Pending although a winner is recorded and runs: Ready is written again. */
static void ready_again(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"\"}]}}");
	w_settle(w);
	ok(strstr(w_take(w), "apply_status 0 Workload wl-j ready") != NULL, "one write");
	is_str(check_state(w, wl), "Ready", "Ready again");
	is_str(check_message(w, wl), "The workload was admitted on \"w2\"",
	       "with the winner's name");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "the job runs on");
	w_free(w);
}

/* A winner that leaves the config: the workload is tried elsewhere. */
static void left_the_config(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
		"{\"spec\":{\"clusters\":[\"w1\",\"w3\"]}}");
	w_settle(w);
	is_str(check_state(w, wl), "Retry", "Retry");
	is_str(check_message(w, wl), "Admitting remote no longer exists, Previously: \"Ready\"",
	       "message");
	w_free(w);
}

/* A client clears clusterName of a Ready Workload. */
static void name_cleared(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_later(w, 5000);
	is_str(check_state(w, wl), "Ready", "a job that runs is left in peace");
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"), "with its clone");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 30000);
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL, "its end is told");
	w_free(w);

	w = w_new(2);
	wl = running_job(w);
	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_settle(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry", "nothing of it is left anywhere: Retry");
	ok(strstr(check_message(w, wl), "no admitting cluster is recorded") != NULL, "message");
	w_free(w);
}

/*
 * A worker that was down once gets new credentials: the job runs on while the link comes up again.
 */
static void new_credentials(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_link(w, 2, LINK_DOWN);
	w_later(w, 1000);
	w_link(w, 2, LINK_UP);
	w_later(w, 2000000); /* longer than any timeout */
	w->stay_down[2] = true;
	w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w2"),
		"{\"data\":{\"kubeconfig\":\"bmV3\"}}");
	w_settle(w);
	w_link(w, 2, LINK_CONNECTING);
	w_later(w, 5000);
	is_str(check_state(w, wl), "Ready", "connecting anew is no loss");
	w_link(w, 2, LINK_DOWN);
	w_later(w, 890000);
	is_str(check_state(w, wl), "Ready", "the clock starts when it fails");
	w_later(w, 20000);
	is_str(check_state(w, wl), "Retry", "trap_19: and runs out");
	w_free(w);
}

/*
 * A worker's store is new (an epoch began) and not listed yet: unknown is not lost, and not absent.
 */
static void new_epoch(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_event(w, EV_LIST_BEGIN, 2, KIND_WORKLOAD)->ev.epoch = 2;
	w_later(w, 899000);
	is_str(check_state(w, wl), "Ready", "nothing is concluded from what is not listed");
	ok(!strstr(w_take(w), "Workload wl-j 6."), "nor done");
	w_later(w, 2000);
	is_str(check_state(w, wl), "Retry", "but what stays unlisted for so long is lost");
	w_free(w);
}

/* A refused job: the cluster rests, one create a round finds out how it is now. */
static void foreign_after_a_rest(void)
{
	struct world *w = w_new(1);
	struct object *theirs = w_put(
		w, 1, JOB, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\"},\"spec\":{}}");
	struct object *wl = a_job(w, "j");

	for (int round = 0; round < 3; round++) {
		w_settle(w);
		w_advance(w, 20000);
		admit(w, 1, "wl-j");
		w_later(w, 2000);
		is_str(check_state(w, wl), "Retry", "the name is taken: Retry");
		ok(strstr(w_take(w), "create 1 Job j job_create") != NULL, "found out by a create");
		if (round == 1) {
			w_del(w, theirs);
		}
		evict(w, wl, "x");
		w_settle(w);
		release_quota(w, wl);
		w_later(w, 5000);
		if (round == 1) {
			break;
		}
		give_quota(w, wl);
	}
	give_quota(w, wl);
	w_later(w, 20000);
	admit(w, 1, "wl-j");
	w_later(w, 2000);
	is_str(check_state(w, wl), "Ready", "the name is free: it runs");
	ok(strstr(w_str(w, w_find(w, 1, JOB, "ns", "j"), "/metadata/labels"), "origin") != NULL,
	   "and the job there is ours");
	w_free(w);
}

/* A clone that was made from another spec wins nothing and keeps nothing. */
static void other_spec(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, wl,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"podSets\":[{\"name\":\"main\","
		"\"count\":3}]}}");
	w_later(w, 2000);
	is_str(check_state(w, wl), "Retry", "the spec changed under a running job: Retry");
	w_patch(w, wl,
		"{\"metadata\":{\"generation\":3},\"spec\":{\"podSets\":[{\"name\":\"main\","
		"\"count\":4}]}}");
	w_later(w, 2000);
	is_str(check_state(w, wl), "Retry", "said once");
	w_free(w);
}

/* The manager evicts twice with other words: the worker hears both, each once. */
static void deactivated_again(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	evict(w, wl, "first");
	w_later(w, 5000);
	evict(w, wl, "second");
	w_later(w, 5000);
	ok(strstr(w_str(w, clone_of(w, 2, "wl-j"), "/status/conditions"),
		  "Evicted on manager: second") != NULL,
	   "the latest reason");
	w_take(w);
	w_later(w, 60000);
	is_str(w_take(w), "", "and silence");
	evict(w, wl, "");
	w_later(w, 5000);
	ok(strstr(w_str(w, clone_of(w, 2, "wl-j"), "/status/conditions"),
		  "\"Evicted on manager: \"") != NULL,
	   "an eviction without words");
	w_free(w);
}

/*
 * While a workload winds down, the job's kind vanishes on the worker:
 * the release does not wait for it.
 */
static void winding_unserved(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct pending *p;

	evict(w, wl, "x");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 2000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "2", "it winds down");
	p = w_event(w, EV_UNSERVED, 2, JOB);
	p->ev.code = ERR_NOT_FOUND;
	w_settle(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_later(w, 5000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "",
	       "no kind, no job: its quota can go");
	release_quota(w, wl);
	w_later(w, 5000);
	ok(!clone_of(w, 2, "wl-j"), "the clone goes");
	w_free(w);
}

/*
 * The clone is Finished, and the job's kind is not served there any
 * more: the end counts all the same.
 */
static void finished_unserved(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct pending *p = w_event(w, EV_UNSERVED, 2, JOB);

	p->ev.code = ERR_NOT_FOUND;
	w_settle(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 30000);
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL, "its end is told");
	ok(!clone_of(w, 2, "wl-j"), "and its clone goes");
	w_free(w);
}

/*
 * The remote job is gone when its clone turns Finished: looked for, then
 * the clone's Finished suffices.
 */
static void finished_without_job(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *log;

	w->up[2] = false;
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w->up[2] = true;
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 30000);
	log = w_take(w);
	ok(strstr(log, "get 2 Job j") != NULL, "the job's last status is looked for");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL, "and the end is told");
	w_free(w);
}

/* The last look at a job that ended cannot be had at first: the worker answers 503 for a while. */
static void last_look_fails(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"status\":{\"active\":2}}");
	refuse_jobs(w, OP_GET, 3);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 2500);
	ok(!strstr(w_str(w, wl, "/status/conditions"), "Finished"), "a failed look is none");
	w_later(w, 30000);
	is_int(w->rig.times, 0, "it is repeated");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL, "then the end is told");
	w_free(w);
}

/*
 * The winner's clone comes back without Admitted, and neither Evicted nor
 * Finished: it does not hold the job.
 */
static void unadmitted(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct object *k = clone_of(w, 2, "wl-j");

	w_apply(w, k, "{\"conditions\":[" QUOTA "]}");
	w_tell(w, k, EV_OBSERVED, VIA_WATCH);
	w_later(w, 2000);
	is_str(check_state(w, wl), "Retry", "Retry");
	w_free(w);
}

/* The local job is deleted between the nomination and the win. */
static void job_of_nobody(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	admit(w, 2, "wl-j");
	w_later(w, 5000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "a job that is gone here is not made there");
	is_str(check_state(w, wl), "Ready", "its Workload's end is Kueue's to say");
	w_free(w);
}

/* Names of dispatchers: ours must exist; another domain's is external and gets no say here. */
static void dispatcher_names(void)
{
	static const struct {
		const char *name;
		bool fine;
	} names[] = {
		{"kueue.x-k8s.io/multikueue-dispatcher-all-at-once", true},
		{"kueue.x-k8s.io/multikueue-dispatcher-unknown", false},
		{"example.com/mine", true},
		{"/mine", false},
		{"mine", false},
		{"", true}, /* as Kueue has it: external */
	};
	struct world *w = w_new(1);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct engine_options o = {.kinds = &w->kinds,
					   .plug = w->plug,
					   .origin = STR("multikueue"),
					   .namespace_ = STR("kueue-system"),
					   .dispatcher = str_of(names[i].name)};
		struct mk_err err = {0};
		struct engine *e = engine_new(&o, &err);

		ok((e != NULL) == names[i].fine, names[i].name);
		ok(e || (err.code == ERR_INVALID && strstr(err.msg, names[i].name)),
		   "and the error names it");
		engine_free(e);
	}
	w_free(w);
}

/* No memory at any point of the start: an error, and nothing is left behind. */
static void start_without_memory(void)
{
	struct world *w = w_new(1);
	struct engine_options o = {.kinds = &w->kinds,
				   .plug = w->plug,
				   .dispatcher =
					   STR("kueue.x-k8s.io/multikueue-dispatcher-all-at-once")};
	struct mk_err err = {0};
	struct engine *e = NULL;
	uint64_t n = 0;

	while (!e && n < 200) {
		err.code = ERR_OK;
		alloc_fail_after(++n);
		e = engine_new(&o, &err);
		alloc_fail_after(0);
		if (!e && err.code != ERR_NO_MEMORY) {
			break;
		}
	}
	ok(e != NULL && n > 5, "each missing allocation is told as such, until none is missing");
	engine_free(e);
	engine_free(NULL);
	w_free(w);
}

int main(void)
{
	cluster_deleted();
	cluster_made_anew();
	stale_job();
	stale_job_going();
	ready_again();
	left_the_config();
	name_cleared();
	new_credentials();
	new_epoch();
	foreign_after_a_rest();
	other_spec();
	deactivated_again();
	winding_unserved();
	finished_unserved();
	finished_without_job();
	last_look_fails();
	unadmitted();
	job_of_nobody();
	dispatcher_names();
	start_without_memory();
	return done_testing();
}
