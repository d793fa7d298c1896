/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walls: what may not leave is rejected with words before a clone is made, and not created or
 * changed on a worker when it changes later.
 */
#include "t/lib/engine_pods.h"

static struct arena a;

/* A world whose check "mk" leads to config "cfg" behind a wall. */
static struct world *walled(size_t n, const char *rules)
{
	struct world *w = w_new(n);
	struct json *v = NULL;
	mk_str text = arena_printf(&a, "[{\"config\":\"cfg\",\"allow\":%s}]", rules);

	if (json_parse(&a, text, &v, NULL) != ERR_OK) {
		printf("Bail out! no JSON: %s\n", text.p);
		exit(1);
	}
	w->walls = v;
	w_restart(w);
	w_settle(w);
	w_take(w);
	return w;
}

#define DEFAULT_ONLY "[{\"namespaces\":[\"ns\"],\"serviceAccounts\":[\"default\"]}]"
#define ADMIN "{\"spec\":{\"template\":{\"spec\":{\"serviceAccountName\":\"admin\"}}}}"

static struct object *a_job_of_admin(struct world *w)
{
	struct object *wl = a_job(w, "j");

	w_patch(w, w_find(w, 0, JOB, "ns", "j"), ADMIN);
	return wl;
}

static void is_kept(void)
{
	struct world *w = walled(2, DEFAULT_ONLY);
	struct object *wl = a_job_of_admin(w);

	w_settle(w);
	is_str(w_take_work(w),
	       "apply_status 0 Workload wl-j rejected_wall\nevent 0 Event wl-j event\n",
	       "what may not leave is rejected, with one Event");
	is_str(check_state(w, wl), "Rejected", "... by the check");
	is_str(check_message(w, wl),
	       "the wall of MultiKueueConfig \"cfg\" keeps it here: service account \"admin\" "
	       "(spec.template.spec.serviceAccountName) is not allowed; allowed: default",
	       "... which says where and what");
	w_later(w, 600000);
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2)), 0, "no worker has seen any of it");
	is_str(w_take_work(w), "", "and that is all that is written");
	w_free(w);
}

static void is_let(void)
{
	struct world *w = walled(2, DEFAULT_ONLY);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	ok(clone_of(w, 1, "wl-j") && clone_of(w, 2, "wl-j"), "what may leave is cloned");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "... and wins");
	ok(w_find(w, 2, JOB, "ns", "j"), "... and its job is made");
	w_free(w);
	w = walled(1, "[{\"namespaces\":[\"other\"]}]");
	a_job(w, "j");
	w_settle(w);
	is_int((long long)objects_on(w, 1), 0, "another namespace: nothing leaves");
	w_free(w);
	w = walled(1, "[{\"kinds\":[\"JobSet.v1alpha2.jobset.x-k8s.io\"]}]");
	wl = a_job(w, "j");
	w_settle(w);
	ok(strstr(check_message(w, wl), "a job of kind \"Job.v1.batch\""),
	   "another kind: it says so");
	is_int((long long)objects_on(w, 1), 0, "... and nothing leaves");
	w_free(w);
}

/* The Workload is judged, too: its priority is what Kueue on the worker orders by. */
static void by_workload(void)
{
	struct world *w = walled(1, "[{\"priorityClasses\":[\"low\"]}]");
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, "{\"spec\":{\"priority\":1000000}}");
	w_settle(w);
	ok(strstr(check_message(w, wl), "priority 1000000"), "a priority without a class");
	is_int((long long)objects_on(w, 1), 0, "... does not leave");
	w_free(w);
}

/* A job that changes after its clone was made, before it is created. */
static void after_the_clone(void)
{
	struct world *w = walled(2, DEFAULT_ONLY);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_take(w);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), ADMIN);
	admit(w, 2, "wl-j");
	w_later(w, 5000);
	is_str(check_state(w, wl), "Rejected", "a job that changes is judged again");
	is_str(w_str(w, wl, "/status/clusterName"), "", "... and no worker wins");
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2)), 0, "... and its clones go");
	w_free(w);
}

/* ... and after the win, when only its creation is left. */
static void after_the_win(void)
{
	struct world *w = walled(2, DEFAULT_ONLY);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	refuse_jobs(w, OP_CREATE, 3);
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "a win, and the worker is busy");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), ADMIN);
	w_later(w, 60000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "a job that changes meanwhile is not created");
	is_str(check_state(w, wl), "Retry", "... the round ends");
	ok(strstr(check_message(w, wl), "the wall of MultiKueueConfig"), "... in the wall's words");
	evict(w, wl, "Retry");
	w_later(w, 5000);
	release_quota(w, wl);
	w_later(w, 5000);
	is_int((long long)objects_on(w, 2), 0, "nothing of it is left");
	give_quota(w, wl);
	w_later(w, 5000);
	is_str(check_state(w, wl), "Rejected", "the next round begins with the wall");
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2)), 0, "... and asks no worker");
	w_free(w);
}

/* Any pod of a group may name an account of its own. */
static void each_member(void)
{
	struct world *w = walled(2, DEFAULT_ONLY);
	struct object *wl = a_group(w);

	w_patch(w, pod_on(w, 0, "p-2"), "{\"spec\":{\"serviceAccountName\":\"admin\"}}");
	w_settle(w);
	ok(strstr(check_message(w, wl), "service account \"admin\" (spec.serviceAccountName)"),
	   "the last pod of a group names another account");
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2)), 0, "... and none leaves");
	w_free(w);
	w = walled(2, DEFAULT_ONLY);
	(void)a_group(w);
	w_settle(w);
	ok(clone_of(w, 1, "grp") && clone_of(w, 2, "grp"), "a group that keeps to the wall leaves");
	w_free(w);
}

/* What runs when a wall is built runs on. */
static void what_runs(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct json *v = NULL;

	(void)json_parse(&a, STR("[{\"config\":\"*\",\"allow\":[]}]"), &v, NULL);
	w->walls = v;
	w_restart(w);
	w_later(w, 60000);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "a wall does not end what runs");
	ok(w_find(w, 2, JOB, "ns", "j"), "... on its worker");
	w_free(w);
}

int main(void)
{
	w_more = &mk_entry_pod;
	arena_init(&a, 0);
	is_kept();
	is_let();
	by_workload();
	after_the_clone();
	after_the_win();
	each_member();
	what_runs();
	arena_done(&a);
	return done_testing();
}
