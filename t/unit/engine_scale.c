/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes cost in a fleet of up to 1,000 clusters: how many clusters they look at, and how many
 * passes a link that flaps, a list that ends, or a change of the configuration brings.
 */
#include "core/engine/state.h"
#include "t/lib/engine_crowd.h"

/* One link goes down and up again. Returns the passes of Workloads. */
static uint64_t flap(struct crowd *f, cluster_id c)
{
	struct engine_stats before, after;

	engine_get_stats(f->e, &before);
	crowd_link(f, c, LINK_DOWN);
	crowd_settle(f);
	crowd_link(f, c, LINK_UP);
	crowd_settle(f);
	engine_get_stats(f->e, &after);
	return after.passes - before.passes;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* The clusters that a pass of each Workload looks at, in hundredths. */
static uint64_t visits(int n_clusters, int n_named, enum crowd_stage stage)
{
	struct crowd *f = crowd_new(n_clusters, n_named, 20, stage);
	struct engine_stats before, after;

	(void)crowd_connect(f);
	engine_get_stats(f->e, &before);
	for (int i = 0; i < f->n; i++) {
		crowd_show(f, i, VIA_WATCH);
	}
	crowd_settle(f);
	engine_get_stats(f->e, &after);
	ok(after.passes - before.passes >= 20, "each change of a Workload brings a pass");
	crowd_free(f);
	return (after.visits - before.visits) * 100 / (after.passes - before.passes);
}

static void a_pass(void)
{
	static const int sizes[] = {20, 300, 1000};
	static const char *const names[] = {"waiting for quota", "racing", "running"};

	for (int stage = WAITING; stage <= RUNNING; stage++) {
		uint64_t small = visits(3, 3, (enum crowd_stage)stage);

		ok(small <= 300, names[stage]);
		for (size_t i = 0; i < 3; i++) {
			is_int(visits(sizes[i], 3, (enum crowd_stage)stage), small,
			       "a pass looks at no cluster that does not concern it");
		}
	}
	is_int(visits(1000, 20, RACING), 2000, "a race looks at all clusters of its config");
	is_int(visits(1000, 20, RUNNING), 100, "after the win only the winner counts");
}

static void a_flap(void)
{
	struct crowd *f = crowd_new(1000, 3, 100, RUNNING);

	(void)crowd_connect(f);
	is_int(flap(f, 1000), 0, "no config names the cluster: no pass");
	is_int(flap(f, 3), 0, "all have another winner: no pass");
	is_int(flap(f, 1), 200, "the winner is lost, and found: two passes each");
	crowd_free(f);
	f = crowd_new(1000, 3, 100, RACING);
	(void)crowd_connect(f);
	is_int(flap(f, 1000), 0, "a race without that cluster");
	ok(flap(f, 3) >= 100, "a race with it");
	crowd_free(f);
	f = crowd_new(1000, 3, 100, WAITING);
	(void)crowd_connect(f);
	is_int(flap(f, 3), 0, "no race has begun");
	crowd_free(f);
}

static void a_start(void)
{
	struct crowd *f = crowd_new(300, 3, 100, RUNNING);

	ok(crowd_connect(f) <= 1000, "300 links and their lists: a few passes a Workload");
	crowd_free(f);
}

/* All Workloads are concerned: none is forgotten, and no step has more than a slice of them. */
static void a_new_config(void)
{
	struct crowd *f = crowd_new(20, 3, 1000, RUNNING);
	struct engine_stats before, after;
	uint64_t most = 0, all = 0;

	(void)crowd_connect(f);
	crowd_list(f, CLUSTER_MANAGER, KIND_CONFIG, EV_LIST_BEGIN);
	engine_get_stats(f->e, &before);
	crowd_show_config(f, 4);
	engine_get_stats(f->e, &after);
	all = most = after.passes - before.passes;
	while (engine_next_ms(f->e) <= f->now) {
		before = after;
		crowd_step(f, NULL, 0);
		engine_get_stats(f->e, &after);
		most = after.passes - before.passes > most ? after.passes - before.passes : most;
		all += after.passes - before.passes;
	}
	is_int(all, 1000, "one pass each");
	ok(most <= 64, "in small steps");
	crowd_free(f);
}

/* Every slice is spent at once: a run is one pass. */
static int64_t spent(void)
{
	static int64_t us;

	us += 1000;
	return us;
}

/* One that is large is not touched and freed at once when it is taken out. */
static void a_large_worker(void)
{
	enum { N = 2000, FREED = 500 };
	struct crowd *f = crowd_new(2, 2, N, RUNNING);
	struct event gone = {.type = EV_GONE, .kind = KIND_CLUSTER, .epoch = 1, .ns = STR("")};
	struct engine_stats before, last, now;
	size_t most = 0;

	(void)crowd_connect(f);
	engine_get_stats(f->e, &before);
	f->slice = (struct slice){.clock_us = spent};
	gone.name = STR("w1");
	gone.uid = STR("m1");
	gone.rv = ++f->rv;
	gone.retry_after_ms = -1;
	last = before;
	crowd_step(f, &gone, 1);
	while (engine_next_ms(f->e) <= f->now) {
		engine_get_stats(f->e, &now);
		most = last.objects - now.objects > most ? last.objects - now.objects : most;
		last = now;
		crowd_step(f, NULL, 0);
	}
	engine_get_stats(f->e, &now);
	is_int((long long)(before.objects - now.objects), 2 * N,
	       "a worker is taken out: what is known of its objects is freed");
	ok(most > 0 && most <= FREED, "a few in each pass");
	ok(now.passes - before.passes >= N, "each Workload that had some has a pass");
	ok(now.bytes < before.bytes, "and the memory is that of the others");
	crowd_free(f);

	f = crowd_new(2, 2, N, RUNNING);
	(void)crowd_connect(f);
	f->slice = (struct slice){.clock_us = spent};
	crowd_step(f, &gone, 1);
	crowd_step(f, NULL, 0);
	crowd_free(f);
	ok(true, "an engine that ends meanwhile frees it, too");
}

/* A link's event does not queue all objects of a large worker at once, nor is one forgotten. */
static void a_large_worker_flaps(void)
{
	enum { N = 5000, A_FEW = 2100 };
	struct crowd *f = crowd_new(2, 2, N, RUNNING);
	struct engine_stats before, after;
	size_t most = 0;

	(void)crowd_connect(f);
	f->slice = (struct slice){.clock_us = spent};
	for (int i = 0; i < 2; i++) {
		engine_get_stats(f->e, &before);
		crowd_link(f, 1, i == 0 ? LINK_DOWN : LINK_UP);
		most = f->e->queue.n > most ? f->e->queue.n : most;
		crowd_settle(f);
		engine_get_stats(f->e, &after);
		ok(after.passes - before.passes >= N,
		   i == 0 ? "a link goes down: each Workload has a pass" : "it comes up: again");
	}
	ok(most > 0 && most <= A_FEW, "few of them are queued at once");
	crowd_free(f);
}

static size_t queued(const struct crowd *f)
{
	struct engine_stats st;

	engine_get_stats(f->e, &st);
	return st.queued;
}

/* Clones without a Workload, so many that the collector does not look at all of them at once. */
static void much_garbage(void)
{
	enum { N = 3000, SEEN = 1000, INTERVAL_MS = 60000 };
	struct crowd *f = crowd_new(1, 1, 0, RUNNING);
	struct engine_stats before, after;
	size_t most = 0, last;

	(void)crowd_connect(f);
	for (int i = 0; i < N; i++) {
		crowd_show_remote(f, i, KIND_WORKLOAD);
	}
	crowd_settle(f);
	f->slice = (struct slice){.clock_us = spent};
	engine_get_stats(f->e, &before);
	f->now += INTERVAL_MS;
	last = queued(f);
	while (engine_next_ms(f->e) <= f->now) {
		crowd_step(f, NULL, 0);
		most = queued(f) > last && queued(f) - last > most ? queued(f) - last : most;
		last = queued(f);
	}
	engine_get_stats(f->e, &after);
	ok(most > 0 && most <= SEEN + 10, "the collector looks at some Workloads in each pass");
	ok(after.passes - before.passes >= N && after.passes - before.passes < 2 * N,
	   "each has one pass in an interval");
	crowd_free(f);
}

int main(void)
{
	a_pass();
	a_flap();
	a_start();
	a_new_config();
	a_large_worker();
	a_large_worker_flaps();
	much_garbage();
	return done_testing();
}
