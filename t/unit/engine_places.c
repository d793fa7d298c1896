/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clusters are as places: labels, our clone there, where the Workload and its group ran, and
 * how often runs ended badly.
 */
#include "core/engine/answers/answers.h"
#include "t/lib/engine_probe.h"

static struct world *place_world(size_t n)
{
	struct world *w = probe_world(n);

	w_restart(w);
	w_settle(w);
	return w;
}

static struct object *mk_cluster(struct world *w, int i)
{
	char name[16];

	snprintf(name, sizeof(name), "w%d", i);
	return w_find(w, 0, KIND_CLUSTER, "", name);
}

static void labels(void)
{
	struct world *w = place_world(2);
	unsigned calls;

	probe.wait_ms = -1;
	probe.at[0] = "c/1/labels";
	probe.at[1] = "c/1/annotations";
	probe.at[2] = "c/0/labels";
	probe_job(w, "j");
	is_str(probe.got[0], "", "no labels: an empty list");
	calls = probe.calls;
	w_patch(w, mk_cluster(w, 2),
		"{\"metadata\":{\"labels\":{\"zone\":\"a\",\"a-b\":\"1\",\"a\":\"x=y\",\"n\":7},"
		"\"annotations\":{\"multikueued.io/cost\":\"3\",\"other.io/x\":\"1\"}}}");
	w_settle(w);
	ok(probe.calls > calls, "labels that change: who waits is asked about again");
	is_str(probe.got[0], "a=x=y,a-b=1,n=,zone=a,", "by name, and a value may hold anything");
	is_str(probe.got[1], "cost=3,", "annotations of ours, without their prefix");
	is_str(probe.got[2], "", "of that cluster alone");
	calls = probe.calls;
	w_patch(w, mk_cluster(w, 2), "{\"spec\":{\"x\":1}}");
	w_settle(w);
	ok(probe.calls == calls, "another change of it asks nobody");
	w_free(w);
}

static void the_job(void)
{
	struct world *w = place_world(1);

	probe.at[0] = "j/kind";
	probe.at[1] = "j/name";
	probe.at[2] = "j/labels";
	probe.at[3] = "j/annotations";
	probe.at[4] = "t";
	a_job(w, "j");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"metadata\":{\"annotations\":{\"z\":\"1\",\"a\":\"2\",\"wrong\":{}}}}");
	w_settle(w);
	is_str(probe.got[0], "batch/v1, Kind=Job", "the kind");
	is_str(probe.got[1], "j", "the name");
	is_str(probe.got[2], "team=blue,", "its labels");
	is_str(probe.got[3], "a=2,wrong=,z=1,", "its annotations, by name");
	is_str(probe.got[4], "1800000000000", "since when it has quota on the manager");
	w_free(w);
}

/* A patch by which a clone waits with 1,000 digits, and why at their end. */
static const char *long_wait(void)
{
	static char text[2048];
	size_t n = (size_t)snprintf(text, sizeof(text),
				    "{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\","
				    "\"status\":\"False\",\"message\":\"");

	for (size_t i = 0; i < 1000; i++) {
		text[n++] = (char)('0' + i % 10);
	}
	snprintf(text + n, sizeof(text) - n, ". Pending the preemption of 2 workload(s)\"}]}}");
	return text;
}

static void our_clone(void)
{
	struct world *w = place_world(2);
	struct object *o;

	probe.at[0] = "c/0/clone/sinceMs";
	probe.at[1] = "c/0/clone/quota";
	probe.at[2] = "c/0/clone/says";
	probe.at[3] = "c/1/clone/quota";
	probe.at[4] = "c/0/running";
	probe_job(w, "j");
	w_advance(w, 5000);
	ok(probe_int(0) >= 4000 && probe_int(0) <= 5000, "for so long it has been there");
	is_str(probe.got[1], "false", "without quota");
	is_str(probe.got[2], "", "and the worker says nothing");
	is_str(probe.got[3], "-", "on the other one there is none");
	o = clone_of(w, 1, "wl-j");
	w_patch(w, o,
		"{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\","
		"\"reason\":\"Pending\",\"message\":\"insufficient quota for cpu\"}]}}");
	w_settle(w);
	is_str(probe.got[2], "insufficient quota for cpu", "why not, in the worker's words");
	is_str(probe.got[4], "0", "none of ours runs there");
	w_patch(w, o, long_wait());
	w_settle(w);
	ok(strncmp(probe.got[2], "0123456789", 10) == 0 && strlen(probe.got[2]) <= 512 &&
		   strstr(probe.got[2], "8 ... ") && strstr(probe.got[2], "Pending the preemption"),
	   "long words: their beginning and their end");
	w_apply(w, o, "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "]}");
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	is_str(probe.got[1], "true", "it has quota");
	is_str(probe.got[2], "", "... and nothing is wrong");
	is_str(probe.got[4], "1", "one of ours runs there");
	w_free(w);
}

/* Kueue queues the Workload again, after its winner evicted it. */
static void evicted_there(struct world *w, cluster_id c, struct object *wl, const char *clone)
{
	clone_condition(w, c, clone, "Evicted", "Preempted", false);
	w_settle(w);
	evict(w, wl, "evicted there");
	w_settle(w);
	release_quota(w, wl);
	w_later(w, 2000);
}

static void another_run(void)
{
	struct world *w = place_world(2);
	struct object *wl;

	probe.at[0] = "c/0/ranMs";
	probe.at[1] = "c/1/ranMs";
	probe.at[2] = "c/0/failures";
	probe.at[3] = "c/1/failures";
	wl = probe_job(w, "j");
	is_str(probe.got[0], "-", "it never ran");
	is_str(probe.got[2], "0", "no run failed");
	admit(w, 1, "wl-j");
	w_settle(w);
	evicted_there(w, 1, wl, "wl-j");
	w_later(w, 60 * 1000);
	give_quota(w, wl);
	w_settle(w);
	ok(probe_int(0) >= 60 * 1000 && probe_int(0) < 70 * 1000, "so long ago");
	is_str(probe.got[1], "-", "on the other cluster it never ran");
	is_str(probe.got[2], "1", "that run was evicted: one failure");
	is_str(probe.got[3], "0", "none on the other cluster");
	w_advance(w, 8 * 60 * 1000);
	is_str(probe.got[2], "1", "nine minutes later it still counts");
	w_advance(w, 2 * 60 * 1000);
	is_str(probe.got[2], "0", "after ten minutes it does not");
	w_free(w);
}

static void refused_there(void)
{
	struct world *w = place_world(2);
	struct object *wl;

	probe.at[0] = "c/0/failures";
	probe.at[1] = "c/1/failures";
	wl = probe_job(w, "j");
	w->rig = (struct rig){.times = 1,
			      .type = OP_CREATE,
			      .cluster = 1,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_INVALID};
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(check_state(w, wl), "Retry", "the worker refuses the job");
	evict(w, wl, "x");
	w_settle(w);
	release_quota(w, wl);
	w_later(w, 2000);
	give_quota(w, wl);
	w_settle(w);
	is_str(probe.got[0], "1", "a refused job is a failure");
	w_later(w, 2000);
	admit(w, 1, "wl-j");
	w_settle(w);
	w_link(w, 1, LINK_DOWN);
	w_later(w, 16 * 60 * 1000);
	is_str(check_state(w, wl), "Retry", "the winner is lost");
	evict(w, wl, "x");
	w_settle(w);
	release_quota(w, wl);
	w_later(w, 2000);
	give_quota(w, wl);
	w_settle(w);
	is_str(probe.got[0], "1", "... is one, too, and the earlier one is past");
	is_str(probe.got[1], "0", "the other cluster had none");
	w_free(w);
}

static void of_a_group(struct world *w, const char *name, const char *what)
{
	char text[256];

	a_job(w, name);
	snprintf(text, sizeof(text), "{\"metadata\":{\"%s\":{\"multikueued.io/group\":\"g\"}}}",
		 what);
	w_patch(w, w_find(w, 0, JOB, "ns", name), text);
	w_settle(w);
}

static void win(struct world *w, cluster_id c, const char *wl)
{
	admit(w, c, wl);
	w_settle(w);
}

/* Labels that changed while a page was all that asked for what a cluster has. */
static void labels_after_pages(void)
{
	struct world *w = place_world(1);
	struct arena a;
	struct answer_env env = {.e = w->e, .a = &a};
	const struct json *told;

	arena_init(&a, 0);
	probe.at[0] = "c/0/labels";
	probe.at[1] = "c/0/facts/queue/name";
	probe_queue(w, 1, "cq", "", "\"nominalQuota\":\"10\"", "0");
	probe_job(w, "j");
	win(w, 1, "wl-j");
	w_patch(w, mk_cluster(w, 1), "{\"metadata\":{\"labels\":{\"zone\":\"a\"}}}");
	w_settle(w);
	env.mono_ms = w->now;
	env.wall_ms = w->wall;
	told = answer_workload(&env, STR("ns"), STR("wl-j"));
	ok(str_is(json_str_at(told, "/clusters/0/queue/name"), "cq"), "a page shows the queue");
	is_str(probe.got[0], "", "nobody waits: no dispatcher is asked");
	probe_job(w, "k");
	is_str(probe.got[0], "zone=a,", "the next question has the labels");
	is_str(probe.got[1], "cq", "... beside the queue");
	arena_done(&a);
	w_free(w);
}

static void finish(struct world *w, cluster_id c, const char *wl)
{
	clone_condition(w, c, wl, "Finished", "Succeeded", true);
	w_later(w, 5000);
}

static void groups(void)
{
	struct world *w = place_world(2);

	probe.at[0] = "c/0/group";
	probe.at[1] = "c/1/group";
	probe.wait_ms = -1;
	of_a_group(w, "a", "annotations");
	is_str(probe.got[0], "0", "nothing of the group ran anywhere");
	win(w, 1, "wl-a");
	of_a_group(w, "b", "labels");
	is_str(probe.got[0], "1", "one of its jobs runs on the first");
	is_str(probe.got[1], "0", "... and none on the second");
	win(w, 1, "wl-b");
	probe.pick[0] = 1;
	of_a_group(w, "c", "annotations");
	is_str(probe.got[0], "2", "an annotation or a label, all the same");
	win(w, 2, "wl-c");
	finish(w, 1, "wl-a");
	of_a_group(w, "d", "annotations");
	is_str(probe.got[0], "1", "one has ended");
	is_str(probe.got[1], "1", "one runs on the second");
	finish(w, 1, "wl-b");
	finish(w, 2, "wl-c");
	of_a_group(w, "e", "annotations");
	is_str(probe.got[0], "0", "all have ended");
	is_str(probe.got[1], "1", "... the last one was placed on the second");
	probe.got[1][0] = 'x';
	probe_job(w, "f");
	is_str(probe.got[1], "0", "a job without a group belongs to none");
	w_restart(w);
	w_settle(w);
	of_a_group(w, "h", "annotations");
	is_str(probe.got[1], "0", "a restart forgets where jobs were that have ended");
	w_free(w);
}

/* More groups than are kept: those of which nothing runs are forgotten. */
static void many_groups(void)
{
	struct world *w = place_world(1);
	char name[32], text[256], wl[40];

	probe.at[0] = "c/0/group";
	for (int i = 0; i < 1100; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		snprintf(wl, sizeof(wl), "wl-%s", name);
		a_job(w, name);
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"annotations\":{\"multikueued.io/group\":\"g%d\"}}}", i);
		w_patch(w, w_find(w, 0, JOB, "ns", name), text);
		w_settle(w);
		win(w, 1, wl);
		w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", wl));
		w_del(w, w_find(w, 0, JOB, "ns", name));
		w_settle(w);
		w_take(w);
	}
	a_job(w, "old");
	w_patch(w, w_find(w, 0, JOB, "ns", "old"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/group\":\"g3\"}}}");
	w_settle(w);
	is_str(probe.got[0], "0", "of 1,100 groups the first are forgotten");
	w_patch(w, w_find(w, 0, JOB, "ns", "old"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/group\":\"g1099\"}}}");
	w_settle(w);
	is_str(probe.got[0], "1", "... the last is not");
	w_free(w);
}

static void no_memory(void)
{
	size_t wrong = 0;

	for (uint64_t n = 1; n < 400; n += 3) {
		struct world *w = place_world(1);

		of_a_group(w, "a", "annotations");
		w->fail_at = n;
		admit(w, 1, "wl-a");
		w_step(w);
		w_step(w);
		w_settle(w);
		w_later(w, 10000);
		wrong += !w_find(w, 1, JOB, "ns", "a");
		w->fail_at = n;
		of_a_group(w, "b", "labels");
		w_step(w);
		w_settle(w);
		w_later(w, 10000);
		wrong += !clone_of(w, 1, "wl-b");
		w_free(w);
	}
	ok(wrong == 0, "memory that fails at any allocation stops nothing");
}

int main(void)
{
	labels();
	labels_after_pages();
	the_job();
	our_clone();
	another_run();
	refused_there();
	groups();
	many_groups();
	no_memory();
	return done_testing();
}
