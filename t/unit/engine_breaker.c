/* SPDX-License-Identifier: Apache-2.0 */
/* Clones that must be made again and again halt what may destroy; ordinary traffic never does. */
#include "t/lib/engine_world.h"

static struct engine_stats stats(const struct world *w)
{
	struct engine_stats st;

	engine_get_stats(w->e, &st);
	return st;
}

static size_t n_lines(const char *log, const char *part)
{
	size_t n = 0;

	for (const char *p = strstr(log, part); p; p = strstr(p + 1, part)) {
		n++;
	}
	return n;
}

/* A webhook on w1 makes every clone look as if it came from another spec. */
static void rewriting_webhook(void)
{
	static const char other[] =
		"{\"metadata\":{\"annotations\":{\"multikueued.io/spec-hash\":\"v1:other\"}}}";
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	const char *log;

	for (int i = 0; i < 20; i++) {
		w_settle(w);
		if (clone_of(w, 1, "wl-j")) {
			w_patch(w, clone_of(w, 1, "wl-j"), other);
		}
		w_settle(w);
		w_advance(w, 5000);
	}
	log = w_take(w);
	is_int(n_lines(log, "create 1 Workload wl-j"), 4, "made, and made again three times");
	is_int(n_lines(log, "delete 1 Workload wl-j spec_differs"), 3, "then it is left alone");
	is_int(n_lines(log, "event 0 Event wl-j event\n"), 2,
	       "Events tell: that w1 changes it, and that it is left alone there");
	ok(!stats(w).breaker_open, "the breaker of others stays closed");
	is_int(stats(w).recreated, 3, "three were counted");
	/* What the Workload itself demands goes on. */
	admit(w, 2, "wl-j");
	w_settle(w);
	ok(strstr(w_take(w), " win\n") && w_find(w, 2, JOB, "ns", "j"), "another cluster may win");
	w_advance(w, 5000);
	ok(!clone_of(w, 1, "wl-j"), "the loser goes");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"succeeded\":2,\"conditions\":[{\"type\":\"Complete\",\"status\":"
		"\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_settle(w);
	w_advance(w, 5000);
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") && !clone_of(w, 2, "wl-j") &&
		   !w_find(w, 2, JOB, "ns", "j"),
	   "and the job ends and is cleaned up");
	w_advance(w, 12 * 60000);
	ok(!stats(w).breaker_open, "ten quiet minutes close it");
	w_free(w);
}

/* A user deletes clones: some are made again, then it stops, and goes on after a while. */
static void somebody_deletes(void)
{
	struct world *w = w_new(2);
	char name[32];

	many_jobs(w, 30);
	w_take(w);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "wl-j%d", i);
		w_del(w, clone_of(w, 1, name));
		w_settle(w);
		w_advance(w, 100);
	}
	is_int(n_lines(w_take(w), "create 1 Workload"), 11, "eleven are made again, nine are not");
	ok(stats(w).breaker_open, "the breaker is open");
	w_restart(w);
	w_settle(w);
	w_advance(w, 5000);
	ok(!stats(w).breaker_open, "a restart closes it");
	is_int(n_lines(w_take(w), "create 1 Workload"), 9, "and makes the others");
	w_free(w);
}

/* While it is open, garbage that only a list shows stays; what a user deletes goes. */
static void no_garbage(void)
{
	struct world *w = w_new(2);
	char name[32];

	many_jobs(w, 15);
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "wl-j%d", i);
		w_del(w, clone_of(w, 1, name));
		w_settle(w);
	}
	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-x\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
	      "\"multikueued.io/manager-id\":\"manager-id\","
	      "\"multikueued.io/workload-uid\":\"x\","
	      "\"multikueued.io/owner-kind\":\"batch/v1, Kind=Job\","
	      "\"multikueued.io/owner-name\":\"x\"}},\"spec\":{}}");
	w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j14"));
	w_settle(w);
	w_advance(w, 300000);
	ok(stats(w).breaker_open, "the breaker is open");
	ok(clone_of(w, 1, "wl-x") != NULL, "an orphan stays");
	ok(!clone_of(w, 1, "wl-j14") && !clone_of(w, 2, "wl-j14"), "a deleted one's clones go");
	w_advance(w, 13 * 60000);
	ok(!stats(w).breaker_open && !clone_of(w, 1, "wl-x"), "later it is collected");
	w_free(w);
}

/* Winners, losers, ends, evictions on either side, several rounds in ten minutes. */
static void ordinary_traffic(void)
{
	struct world *w = w_new(3);
	struct object *wl[40];
	char name[32], job[32];

	for (int i = 0; i < 40; i++) {
		snprintf(job, sizeof(job), "j%d", i);
		wl[i] = a_job(w, job);
	}
	for (int round = 0; round < 6; round++) {
		w_settle(w);
		w_advance(w, 20000);
		for (int i = 0; i < 40; i++) {
			cluster_id c = (cluster_id)(1 + (i + round) % 3);

			snprintf(name, sizeof(name), "wl-j%d", i);
			if (i % 4 == 0 && clone_of(w, c, name)) {
				clone_condition(w, c, name, "Evicted", "Preempted", false);
			} else if (clone_of(w, c, name)) {
				admit(w, c, name);
			}
		}
		w_settle(w);
		w_advance(w, 2000);
		for (int i = 0; i < 40; i++) {
			evict(w, wl[i], "x");
			w_settle(w);
			release_quota(w, wl[i]);
		}
		w_settle(w);
		w_advance(w, 10000);
		for (int i = 0; i < 40; i++) {
			give_quota(w, wl[i]);
		}
	}
	/* A user changes what still waits. */
	w_settle(w);
	w_advance(w, 20000);
	for (int i = 0; i < 40; i++) {
		w_patch(w, wl[i],
			"{\"metadata\":{\"generation\":2},\"spec\":{\"queueName\":\"other\"}}");
	}
	w_settle(w);
	w_advance(w, 60000);
	is_int(stats(w).recreated, 0, "nothing counts as made again");
	ok(!stats(w).breaker_open && stats(w).dispatched > 500, "and much was made");
	w_free(w);
}

/* One Workload's clones go on all workers, again and again: no other is concerned. */
static void one_of_many(void)
{
	struct world *w = w_new(5);

	a_job(w, "j");
	for (int i = 0; i < 40; i++) {
		w_settle(w);
		for (cluster_id c = 1; c <= 5; c++) {
			if (clone_of(w, c, "wl-j")) {
				w_del(w, clone_of(w, c, "wl-j"));
			}
		}
		w_settle(w);
		w_advance(w, 10000);
	}
	ok(stats(w).recreated > 10, "one Workload's clones go again and again");
	ok(!stats(w).breaker_open, "that alone does not open the breaker of all");
	ok(!clone_of(w, 1, "wl-j"), "its own clones are left alone for a while");
	a_job(w, "k");
	w_settle(w);
	ok(clone_of(w, 1, "wl-k") != NULL, "another Workload's are made");
	w_free(w);
}

/* A job of this name that a user has deleted sits on the winner: its removal is asked for. */
static void removals_go_on(void)
{
	struct world *w = w_new(2);
	char name[32];

	many_jobs(w, 15);
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "wl-j%d", i);
		w_del(w, clone_of(w, 1, name));
		w_settle(w);
	}
	ok(stats(w).breaker_open, "the breaker of all is open");
	w_put(w, 2, JOB,
	      "{\"metadata\":{\"name\":\"j14\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
	      "\"multikueued.io/manager-id\":\"manager-id\",\"multikueued.io/workload-uid\":"
	      "\"earlier\",\"kueue.x-k8s.io/multikueue-origin-uid\":\"earlier-job\","
	      "\"kueue.x-k8s.io/prebuilt-workload-name\":\"wl-j14\"}},\"spec\":{}}");
	admit(w, 2, "wl-j14");
	w_advance(w, 15000);
	ok(stats(w).breaker_open && w_find(w, 2, JOB, "ns", "j14") &&
		   !strstr(w_str(w, w_find(w, 2, JOB, "ns", "j14"), "/metadata/annotations"),
			   "earlier"),
	   "a job that a user replaced goes all the same, and the new one runs");
	w_free(w);
}

int main(void)
{
	one_of_many();
	removals_go_on();
	rewriting_webhook();
	somebody_deletes();
	no_garbage();
	ordinary_traffic();
	return done_testing();
}
