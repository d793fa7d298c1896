/* SPDX-License-Identifier: Apache-2.0 */
/* What is deleted without a local Workload: a share at once, all of it when its absence is sure. */
#include "t/lib/engine_world.h"

static uint64_t held(const struct world *w)
{
	struct engine_stats st;

	engine_get_stats(w->e, &st);
	return st.gc_held;
}

static void cap(void)
{
	struct world *w = w_new(2);
	const char *log;
	const char *at;

	orphans(w, 40);
	w_settle(w);
	is_int(objects_on(w, 1), 32, "one in five goes at once");
	is_int(held(w), 32, "the others are counted");
	log = w_take(w);
	at = strstr(log, "event 0 Event w1 event\n");
	ok(at && !strstr(at + 1, "event 0 Event"), "one event, about the cluster");
	w_advance(w, 50000);
	is_int(objects_on(w, 1), 32, "they wait");
	w_advance(w, 11000);
	is_int(objects_on(w, 1), 26, "the next interval has a share of its own");
	w_advance(w, 60000);
	is_int(objects_on(w, 1), 0, "two intervals in a row say the same: all of it");
	w_free(w);
}

/*
 * Kueue's MultiKueue on another manager has the same default origin: its clone and its running job
 * carry no manager's id, and no Workload here has their name.
 */
static struct world *a_neighbour(bool collects)
{
	struct world *w = w_new(2);

	w->collect_unmarked = collects;
	w->full = true;
	w_restart(w);
	w_settle(w);
	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"job-train\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"ownerReferences\":[{"
	      "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"train\",\"uid\":\"x\","
	      "\"controller\":true}]},\"spec\":{},\"status\":{\"conditions\":[" QUOTA "," ADMITTED
	      "]}}");
	w_put(w, 1, JOB,
	      "{\"metadata\":{\"name\":\"train\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\","
	      "\"kueue.x-k8s.io/prebuilt-workload-name\":\"job-train\"}},\"spec\":{},"
	      "\"status\":{\"active\":2}}");
	w_take(w);
	w_later(w, 600000);
	return w;
}

static void neighbours(void)
{
	struct world *w = a_neighbour(false);
	const char *log = w_take(w);

	ok(clone_of(w, 1, "job-train") && w_find(w, 1, JOB, "ns", "train"),
	   "what another manager may have made is left");
	is_int((int)w_times(log, "\"reason\":\"UnmarkedObjects\""), 1, "one Event tells");
	ok(strstr(log, "such as Workload ns/job-train: they are left alone") ||
		   strstr(log, "such as Job ns/train: they are left alone"),
	   "... of which, and why");
	w_restart(w);
	w_later(w, 600000);
	ok(clone_of(w, 1, "job-train") && w_find(w, 1, JOB, "ns", "train"),
	   "also by a new process");
	w_free(w);

	w = a_neighbour(true);
	ok(!clone_of(w, 1, "job-train") && !w_find(w, 1, JOB, "ns", "train"),
	   "takeOver: CollectUnmarked removes it");
	w_free(w);
}

static void a_handful(void)
{
	struct world *w = w_new(2);

	orphans(w, 5);
	w_settle(w);
	is_int(objects_on(w, 1), 0, "a handful goes at once");
	is_int(held(w), 0, "and nothing waits");
	w_free(w);
}

/* A manager that cannot be seen confirms nothing. */
static void manager_away(void)
{
	struct world *w = w_new(2);

	orphans(w, 40);
	w_settle(w);
	w_advance(w, 61000);
	is_int(objects_on(w, 1), 26, "a first interval");
	w_link(w, 0, LINK_DOWN);
	w_settle(w);
	w_advance(w, 60000);
	w_link(w, 0, LINK_UP);
	w_settle(w);
	ok(objects_on(w, 1) > 15, "an interval without the manager is none");
	w_advance(w, 60000);
	ok(objects_on(w, 1) > 10, "nor does the one before it count any more");
	w_advance(w, 60000);
	is_int(objects_on(w, 1), 0, "two in a row do");
	w_free(w);
}

/* A daemon that saw the deletion waits for no confirmation. */
static void seen_deletion(void)
{
	struct world *w = w_new(2);
	char name[32];

	many_jobs(w, 30);
	is_int(objects_on(w, 1), 30, "thirty clones");
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "wl-j%d", i);
		w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", name));
	}
	w_settle(w);
	w_advance(w, 1000);
	is_int(objects_on(w, 1), 0, "all deleted by users: all removed");
	is_int(held(w), 0, "nothing waits");
	w_free(w);
}

/*
 * The manager's store is empty after a restart: a share goes, the rest
 * comes back with the Workloads.
 */
static void restored_manager(void)
{
	struct world *w = w_new(2);
	struct object *wl[30];
	char name[32];
	size_t left;

	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		wl[i] = a_job(w, name);
	}
	w_settle(w);
	w_stop(w);
	for (int i = 0; i < 30; i++) {
		wl[i]->used = false; /* out of sight */
	}
	w_restart(w);
	w_settle(w);
	w_advance(w, 5000);
	left = objects_on(w, 1);
	is_int(left, 24, "a list that shows nothing costs a share");
	for (int i = 0; i < 30; i++) {
		wl[i]->used = true;
		w_tell(w, wl[i], EV_OBSERVED, VIA_WATCH);
	}
	w_settle(w);
	w_advance(w, 200000);
	is_int(objects_on(w, 1), 30, "back in sight: what stayed stays, the rest is made again");
	w_free(w);
}

/* A job of ours on w1, made for the Workload "wl-x" of this uid; its event does not come. */
static void lone_job(struct world *w, const char *uid)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\",\"labels\":{"
		 "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
		 "\"multikueued.io/manager-id\":\"manager-id\","
		 "\"multikueued.io/workload-uid\":\"%s\","
		 "\"kueue.x-k8s.io/prebuilt-workload-name\":\"wl-x\"}},\"spec\":{}}",
		 uid);
	w->up[1] = false;
	w_put(w, 1, JOB, text);
	w->up[1] = true;
}

/* A job whose clone is gone is found at a connect, and at each tenth interval. */
static void lone_jobs(void)
{
	struct world *w = w_new(2);

	w_advance(w, 70 * 1000);
	lone_job(w, "gone");
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	w_link(w, 1, LINK_UP);
	w_settle(w);
	w_advance(w, 1000);
	ok(!w_find(w, 1, JOB, "ns", "x"), "found when the cluster is connected again");
	w_advance(w, 120 * 1000);
	ok(strstr(w_take(w), "watch_close 1 Job"), "the watch does not stay");
	lone_job(w, "gone");
	w_advance(w, 120 * 1000);
	ok(w_find(w, 1, JOB, "ns", "x") != NULL, "not looked at in each interval");
	w_advance(w, 600 * 1000);
	ok(!w_find(w, 1, JOB, "ns", "x"), "but at each tenth");
	w_free(w);
}

/*
 * A user gives a job the name of a Workload that no API server takes: no Workload is
 * looked for, however often it comes.
 */
static void no_such_name(void)
{
	struct world *w = w_new(2);
	char text[1024], name[341];
	struct engine_stats s;
	uint64_t before = 0;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	a_job(w, "j"); /* w1's jobs are watched */
	w_settle(w);
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\",\"labels\":{"
		 "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
		 "\"multikueued.io/manager-id\":\"x\","
		 "\"kueue.x-k8s.io/prebuilt-workload-name\":\"%s\"}},\"spec\":{}}",
		 name);
	w_put(w, 1, JOB, text);
	w_settle(w);
	engine_get_stats(w->e, &s);
	before = s.passes;
	for (int i = 0; i < 100; i++) {
		w_patch(w, w_find(w, 1, JOB, "ns", "x"), "{\"spec\":{\"x\":1}}");
		w_settle(w);
	}
	engine_get_stats(w->e, &s);
	ok(s.passes - before <= 100, "100 changes cost no more than a pass each");
	w_free(w);
}

/* The Workload lives: its job stays, and only that of another incarnation goes. */
static void job_with_twin(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "x");

	w_settle(w);
	admit(w, 1, "wl-x");
	w_settle(w);
	ok(w_find(w, 1, JOB, "ns", "x") != NULL, "the job runs");
	w_advance(w, 700 * 1000);
	ok(w_find(w, 1, JOB, "ns", "x") && wl->used, "and is left alone");
	w_free(w);
}

/*
 * A standby that did not hear of a Workload yet begins to lead: what the
 * leader before it made is no garbage.
 */
static void standby_behind(void)
{
	struct world *w = w_new(1);
	struct object *wl;
	char text[1024];

	w_event(w, EV_LEADER, 0, 0);
	w_settle(w);
	w->up[0] = false; /* its watch is behind */
	wl = a_job(w, "j");
	w->up[0] = true;
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\",\"labels\":{"
		 "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
		 "\"multikueued.io/manager-id\":\"manager-id\","
		 "\"multikueued.io/workload-uid\":\"%s\","
		 "\"multikueued.io/owner-kind\":\"batch/v1, Kind=Job\","
		 "\"multikueued.io/owner-name\":\"j\"}},\"spec\":{}}",
		 wl->uid);
	w_put(w, 1, KIND_WORKLOAD, text);
	w_later(w, 1000);
	w_take(w);
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = true;
	w_later(w, 1000);
	is_int(w_times(w_take(w), "delete "), 0,
	       "who begins to lead looks at the manager anew before it collects anything");
	ok(clone_of(w, 1, "wl-j") != NULL,
	   "the clone of a Workload that it had not heard of stays");
	w_free(w);
}

int main(void)
{
	lone_jobs();
	no_such_name();
	job_with_twin();
	cap();
	a_handful();
	neighbours();
	manager_away();
	seen_deletion();
	restored_manager();
	standby_behind();
	return done_testing();
}
