/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multiKueue.workerMemory: a worker that shows more than its share is not connected for a while;
 * other workers are not affected.
 */
#include "core/base/alloc.h"
#include "core/base/rng.h"
#include "t/lib/engine_world.h"

enum { SHARE = 96 * 1024, FAT = 40 * 1024, N_FAT = 4 };

/* A manager with two workers; a job runs on w2. */
static struct world *begin(void)
{
	struct world *w;

	w = w_new(2);
	w_stop(w);
	w->worker_memory = SHARE;
	w_restart(w);
	w_settle(w);
	for (size_t i = 3; i < 8; i++) {
		w->stay_down[i] =
			true; /* what w2 is connected as: its objects have to be moved first */
	}
	return w;
}

/* A job with our label, far larger than real ones. */
static struct object *fat(struct world *w, cluster_id c, int i)
{
	static char text[FAT + 1024];
	struct rng r;
	int n = snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"fat-%d\",\"namespace\":\"x\",\"labels\":{"
			 "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"}},\"spec\":{\"x\":\"",
			 i);

	/* No two are alike: what they share would be kept once. */
	rng_init(&r, (uint64_t)i + 1);
	for (int k = 0; k < FAT; k++) {
		text[n + k] = (char)('a' + (int)rng_below(&r, 26));
	}
	snprintf(text + n + FAT, sizeof(text) - (size_t)n - FAT, "\"}}");
	return w_put(w, c, JOB, text);
}

static void fatten(struct world *w, cluster_id c)
{
	for (int i = 0; i < N_FAT; i++) {
		fat(w, c, i);
	}
}

static void slim(struct world *w, cluster_id c)
{
	for (int i = 0; i < N_FAT; i++) {
		char name[16];

		snprintf(name, sizeof(name), "fat-%d", i);
		w_del(w, w_find(w, c, JOB, "x", name));
	}
	w_settle(w);
}

/* The number that w2 was connected with last leads to its server, and is up. */
static void arrive(struct world *w)
{
	w->alias_of[w->links[2]] = 2;
	w_link(w, w->links[2], LINK_UP);
	w_settle(w);
}

/* Goes on until w2 is to be connected again: how long that took, in seconds; -1: an hour. */
static int until_connect(struct world *w)
{
	w_take(w);
	for (int i = 0; i < 3600; i++) {
		if (strstr(w_take(w), "w2 cluster_connect") != NULL) {
			return i;
		}
		w_later(w, 1000);
	}
	return -1;
}

static size_t bytes(const struct world *w)
{
	struct engine_stats st;

	engine_get_stats(w->e, &st);
	return st.bytes;
}

static uint64_t times_over(const struct world *w)
{
	struct engine_stats st;

	engine_get_stats(w->e, &st);
	return st.overweight;
}

static void over_and_back(void)
{
	struct world *w = begin();
	struct object *wl = running_job(w), *other;
	size_t before = bytes(w);
	const char *log;
	int rest;

	is_int((long long)times_over(w), 0, "a worker within its share");
	w->full = true;
	fatten(w, 2);
	w_settle(w);
	log = w_take(w);
	is_str(w_active(w, KIND_CLUSTER, "w2"),
	       "False MemoryShareExceeded: What is to be known of its objects takes more than "
	       "98304 "
	       "bytes of the manager's memory (multiKueue.workerMemory); none of it is kept, and "
	       "it "
	       "is looked at again after a while",
	       "a worker over its share is not connected, and says why");
	is_int((long long)times_over(w), 1, "that is counted");
	ok(strstr(log, "disconnect") != NULL, "its link is closed");
	is_int((long long)w_times(log, "\"reason\":\"MemoryShareExceeded\",\"type\":\"Warning\""),
	       1, "an Event tells once");
	w->full = false;
	ok(bytes(w) < before, "nothing of it is kept");
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected",
	       "the other one is connected");
	other = a_job(w, "k");
	w_settle(w);
	admit(w, 1, "wl-k");
	w_settle(w);
	is_str(w_str(w, other, "/status/clusterName"), "w1", "and jobs go there");
	is_str(check_state(w, wl), "Ready", "the job that runs on w2 is given time");
	ok(!strstr(w_take(w), "delete"), "and nothing is deleted");

	rest = until_connect(w);
	ok(rest >= 25 && rest <= 31, "it is connected again after 30 s");
	arrive(w);
	is_int((long long)times_over(w), 2, "it has not got smaller");
	ok(strstr(w_active(w, KIND_CLUSTER, "w2"), "False MemoryShareExceeded") != NULL,
	   "so it is not connected again");
	rest = until_connect(w);
	ok(rest >= 55 && rest <= 61, "the next time is after a minute");
	slim(w, 2);
	arrive(w);
	is_str(w_active(w, KIND_CLUSTER, "w2"), "True Active: Connected",
	       "smaller, it is connected");
	is_int((long long)times_over(w), 2, "and stays so");
	is_str(check_state(w, wl), "Ready", "its job ran on");
	is_str(w_str(w, w_find(w, 2, JOB, "ns", "j"), "/status/active"), "2", "... untouched");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":1}}");
	w_later(w, 3000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "1",
	       "and its status is copied");
	w_free(w);
}

/*
 * For as long as it is too big: its job is queued again after workerLostTimeout, and it
 * is asked at a growing distance.
 */
static void stays_over(void)
{
	struct world *w = begin();
	struct object *wl = running_job(w);
	int connects = 0;

	fatten(w, 2);
	w_settle(w);
	for (int s = until_connect(w), all = s; s >= 0 && all < 1500; connects++) {
		arrive(w);
		s = until_connect(w);
		all += s;
	}
	ok(connects >= 4 && connects <= 6, "in 25 minutes it is asked about five times");
	is_str(check_state(w, wl), "Retry", "after workerLostTimeout its job is queued again");
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected",
	       "w1 was connected all the time");
	w_free(w);
}

/*
 * Other credentials may lead elsewhere: they are tried at once, and then there is no rest any more.
 */
static void other_credentials(void)
{
	struct world *w = begin();

	running_job(w);
	fatten(w, 2);
	w_settle(w);
	slim(w, 2);
	w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w2"),
		"{\"data\":{\"kubeconfig\":\"bmV3\"}}");
	w_settle(w);
	ok(strstr(w_take(w), "w2 cluster_connect") != NULL, "new credentials end the rest");
	arrive(w);
	is_str(w_active(w, KIND_CLUSTER, "w2"), "True Active: Connected", "they lead to less");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	w_settle(w);
	is_str(w_active(w, KIND_CLUSTER, "w2"), "True Active: Connected",
	       "whenever it is looked at");
	w_free(w);
}

/* One object that grows, in a list as well as by itself; deletes make room. */
static void grows(void)
{
	struct world *w = begin();

	running_job(w);
	fat(w, 2, 0);
	fat(w, 2, 1);
	w_settle(w);
	for (int i = 0; i < 50; i++) {
		w_del(w, w_find(w, 2, JOB, "x", "fat-1"));
		w_settle(w);
		fat(w, 2, 1);
		w_settle(w);
		w_patch(w, w_find(w, 2, JOB, "x", "fat-0"), "{\"spec\":{\"y\":1}}");
		w_settle(w);
	}
	is_int((long long)times_over(w), 0, "what comes and goes does not add up");
	fat(w, 2, 2);
	fat(w, 2, 3);
	w_settle(w);
	is_int((long long)times_over(w), 1, "two more are too much");
	w_free(w);
}

/* Without memory at that moment it happens later. */
static void starved(void)
{
	int bad = 0;

	for (uint64_t n = 1; n < 60; n++) {
		struct world *w = begin();

		running_job(w);
		fatten(w, 2);
		arena_done(&w->arena);
		w->fail_at = n;
		w_step(w);
		w_later(w, 20000);
		if (w->links[2] != 2) {
			arrive(w); /* its rest was forgotten, as in a process that begins */
		}
		if (!strstr(w_active(w, KIND_CLUSTER, "w2"), "MemoryShareExceeded")) {
			printf("# allocation %llu: %s\n", (unsigned long long)n,
			       w_active(w, KIND_CLUSTER, "w2"));
			bad++;
		}
		w_free(w);
	}
	is_int(bad, 0, "however starved, a worker over its share is noticed");
}

/* The manager has no share, and without the key no worker has one. */
static void no_limit(void)
{
	struct world *w = begin();

	running_job(w);
	fatten(w, 0);
	w_settle(w);
	is_int((long long)times_over(w), 0, "the manager's own objects do not count");
	w_stop(w);
	w->worker_memory = 0;
	w_restart(w);
	w_settle(w);
	fatten(w, 2);
	w_settle(w);
	is_int((long long)times_over(w), 0, "0 is no limit");
	w_free(w);
}

int main(void)
{
	over_and_back();
	stays_over();
	other_credentials();
	grows();
	starved();
	no_limit();
	return done_testing();
}
