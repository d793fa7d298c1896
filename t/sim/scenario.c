/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripted stories, each with one thing that goes badly wrong: they print TAP. The invariants
 * hold in them as in every seed; besides, a story expects how much was written, and how soon.
 * 'sim --list-scenarios' lists them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/story.h"

enum { FEW = 100 };

/* --- 1: an upgrade loses the plugin of a kind that runs --------------------------------------- */

static void restart(struct sim *s, bool with_plugin)
{
	s->no_plugin = !with_plugin;
	for (size_t i = 0; i < s->n_procs; i++) {
		proc_kill(&s->proc[i]);
		proc_start(&s->proc[i]);
	}
}

static void drop_plugin(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 3, 15 * MINUTE, 1);
	struct engine_stats stats = {0};
	uint64_t requests;

	story_submit(s, size, 20 * MINUTE);
	story_expect(s, story_count_won(s, NULL) == size, "all jobs run");
	restart(s, false);
	run_until(s, s->now + MINUTE);
	requests = s->requests;
	run_until(s, s->now + 9 * MINUTE);
	story_expect(s, s->requests == requests,
		     "without the plugin of their kind nothing is written");
	engine_get_stats(manager_engine(s->proc[0].m), &stats);
	story_expect(s, stats.unserved_workloads == size, "they are counted as unserved");
	story_expect(s, story_count_won(s, NULL) == size && story_count_retries(s) == 0,
		     "none is evicted");
	restart(s, true);
	story_expect(s, story_all_done(s, 30 * MINUTE),
		     "the plugin returns: they go on and finish");
	story_expect(s, story_count_retries(s) == 0, "none was dispatched anew");
	story_end(s);
}

/* --- 2: the leader hangs, and wakes ----------------------------------------------------------- */

static size_t leader(const struct sim *s)
{
	for (size_t i = 0; i < s->n_procs; i++) {
		if (s->proc[i].alive && s->proc[i].leads && s->proc[i].fence_until > s->now) {
			return i;
		}
	}
	return SIZE_MAX;
}

static void hung_leader(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 3, 15 * MINUTE, 2);
	size_t first, next;
	int64_t began;

	run_until(s, s->now + 20 * SECOND);
	first = leader(s);
	story_expect(s, first != SIZE_MAX, "a daemon leads");
	if (first == SIZE_MAX) {
		story_end(s);
		return;
	}
	for (size_t i = 0; i < size; i++) {
		arena_clear(&s->arena);
		(void)user_submits(s, 30 * SECOND);
		run_until(s, s->now + 20);
	}
	/* While requests are on the way, and more are about to leave. */
	began = s->now;
	s->proc[first].frozen_until = s->now + 40 * SECOND;
	for (next = leader(s);
	     s->now < began + 60 * SECOND && !s->failed && (next == first || next == SIZE_MAX);
	     next = leader(s)) {
		run_until(s, s->now + 100);
	}
	printf("# the standby leads after %lld ms\n", (long long)(s->now - began));
	story_expect(s, s->now - began <= 20 * SECOND, "the standby leads within 20 s");
	run_until(s, began + 41 * SECOND);
	story_expect(s, !s->failed, "it wakes: nothing leaves it any more");
	story_expect(s, story_all_done(s, 10 * MINUTE), "every job finishes, once");
	story_expect(s, story_count_retries(s) == 0, "none was dispatched anew");
	story_end(s);
}

/* --- 3: a partition, a restart, a clock that jumps -------------------------------------------- */

static void partition(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 2, MINUTE, 1);
	int64_t connected, clean;

	story_hold_queue(s, 2, true);
	story_submit(s, size, 6 * MINUTE);
	story_hold_queue(s, 2, false);
	story_expect(s, story_count_won(s, "w1") == size, "all run on w1");
	story_cut_off(s, 1, true);
	/*
	 * The loss is on record; after the clock jumps it is an hour old, so that the grace of a
	 * clock that is set alone keeps the jobs from being given up.
	 */
	printf("# the loss is on record after %lld ms\n",
	       (long long)story_wait_active(s, "w1", false));
	story_expect(s, !story_is_active(s, "w1") && story_count_retries(s) == 0,
		     "w1 is lost, and nothing given up");
	proc_kill(&s->proc[0]);
	proc_start(&s->proc[0]);
	run_until(s, s->now + 5 * SECOND);
	s->proc[0].wall_step += 3600 * SECOND;
	run_until(s, s->now + 40 * SECOND);
	story_expect(s, story_count_retries(s) == 0,
		     "a restart and a clock that jumps do not end the grace");
	run_until(s, s->now + 4 * MINUTE);
	story_expect(s, story_count_retries(s) == size, "then each is given up once");
	story_expect(s, story_count_won(s, "w2") + story_count_won(s, NULL) >= size,
		     "and goes to w2");
	story_expect(s, story_count_ours(&s->plane[1], JOBS) == size, "w1 still has its copies");
	story_cut_off(s, 1, false);
	connected = story_wait_active(s, "w1", true);
	clean = s->now;
	while (story_count_ours(&s->plane[1], JOBS) > 0 && s->now < clean + MINUTE && !s->failed) {
		run_until(s, s->now + 100);
	}
	printf("# connected %lld ms after it healed, clean %lld ms later\n", (long long)connected,
	       (long long)(s->now - clean));
	story_expect(s, s->now - clean <= 10 * SECOND,
		     "w1 is back: its copies are stopped within 10 s");
	story_expect(s, story_all_done(s, 10 * MINUTE), "every job ends");
	story_expect(s, story_count_retries(s) == size, "no Retry but the first");
	story_end(s);
}

/*
 * The worker is back just before the deadline, and the jobs finished meanwhile: their end counts.
 */
static void partition_healed(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 2, MINUTE, 1);

	story_hold_queue(s, 2, true);
	story_submit(s, size, 30 * SECOND);
	story_hold_queue(s, 2, false);
	story_cut_off(s, 1, true);
	run_until(s, s->now + 50 * SECOND);
	story_cut_off(s, 1, false);
	story_expect(s, story_all_done(s, 5 * MINUTE), "what ended out of reach counts");
	story_expect(s, story_count_retries(s) == 0, "none is given up");
	story_end(s);
}

/* --- 4: a server that lags, and one that was restored ----------------------------------------- */

static void lagging(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 1, 15 * MINUTE, 1);
	struct json *snapshot;
	struct arena a;
	uint64_t least, before;

	story_submit(s, size, MINUTE);
	story_expect(s, story_all_done(s, 10 * MINUTE), "a first lot, with nothing wrong");
	least = s->requests;
	arena_init(&a, 0);
	snapshot = ks_snapshot(s->plane[1].store, &a);
	before = s->requests;
	story_submit(s, size, 5 * MINUTE);
	plane_lag_from(&s->plane[1], snapshot);
	plane_end_streams(&s->plane[1], TRANSPORT_LOST);
	run_until(s, s->now + 40 * SECOND);
	story_expect(s, story_count_ours(&s->plane[1], JOBS) == size,
		     "the server shows none: all still run");
	plane_lag(&s->plane[1], false);
	story_expect(s, story_all_done(s, 20 * MINUTE), "and all finish");
	printf("# %llu requests, %llu without the lag\n",
	       (unsigned long long)(s->requests - before), (unsigned long long)least);
	story_expect(s, (s->requests - before) * 10 <= least * 11,
		     "with at most a tenth more requests");
	story_expect(s, story_count_retries(s) == 0, "none was given up");
	arena_done(&a);
	story_end(s);
}

static void restored(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 1, 15 * MINUTE, 1);
	struct json *snapshot;
	struct arena a;
	uint64_t writes;

	arena_init(&a, 0);
	story_submit(s, size, 2 * MINUTE);
	snapshot = ks_snapshot(s->plane[1].store, &a);
	story_expect(s, story_all_done(s, 20 * MINUTE), "all finish");
	run_until(s, s->now + 3 * MINUTE);
	writes = s->writes;
	plane_restore(&s->plane[1], snapshot);
	story_expect(s, story_count_ours(&s->plane[1], JOBS) == size,
		     "last week's copies are back, and run");
	story_expect(s, story_all_done(s, 30 * MINUTE),
		     "they go, and no result is taken from them");
	printf("# %llu writes\n", (unsigned long long)(s->writes - writes));
	story_expect(s, (s->writes - writes) * 10 <= 2 * size * 11,
		     "a job and a clone each, and at most a tenth more writes");
	arena_done(&a);
	story_end(s);
}

/* Half of the local jobs are gone too: absence is not enough for more than a fifth an interval. */
static void restored_manager(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 1, 15 * MINUTE, 1);
	struct json *snapshot;
	struct arena a;
	int64_t until;
	size_t left;

	arena_init(&a, 0);
	snapshot = ks_snapshot(s->plane[0].store, &a);
	story_submit(s, size, 10 * MINUTE);
	story_expect(s, story_count_won(s, NULL) == size, "all run");
	plane_restore(&s->plane[0], snapshot);
	users_restored(s, &s->site[0]);
	until = s->now + 2 * MINUTE;
	do {
		run_until(s, s->now + SECOND);
		left = story_count_ours(&s->plane[1], JOBS);
	} while (left == size && s->now < until && !s->failed);
	run_until(s, s->now + 5 * SECOND);
	left = story_count_ours(&s->plane[1], JOBS);
	printf("# %zu of %zu jobs are left after the first interval\n", left, size);
	story_expect(s, left < size, "what no Workload stands for is garbage");
	story_expect(s, left * 10 >= size * 6, "but one look takes a share, not all");
	story_expect(s, story_all_done(s, 20 * MINUTE), "what is confirmed goes");
	arena_done(&a);
	story_end(s);
}

/* --- 5: Kueue is upgraded under us ------------------------------------------------------------ */

static void upgraded(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 3, 15 * MINUTE, 1);
	size_t on_w1;

	story_submit(s, size, 8 * MINUTE);
	on_w1 = story_count_ours(&s->plane[1], JOBS);
	(void)ks_serve(s->plane[1].store, WORKLOADS, false);
	ks_watch_end_all(s->plane[1].store);
	plane_watches(&s->plane[1]);
	run_until(s, s->now + 3 * MINUTE);
	story_expect(s, !story_is_active(s, "w1"),
		     "w1 serves the version no more: it is not Active");
	printf("# %.*s\n", STR_ARG(json_str(json_get(story_active(s, "w1"), "message"))));
	story_expect(s, story_count_ours(&s->plane[1], JOBS) == on_w1, "nothing is deleted there");
	story_expect(s, story_count_retries(s) == 0, "no running job is touched");
	(void)ks_serve(s->plane[1].store, WORKLOADS, true);
	story_expect(s, story_all_done(s, 20 * MINUTE), "served again: all finish");
	story_expect(s, story_count_retries(s) == 0, "none was given up");
	story_end(s);
}

/* A CRD comes late: jobs that wait for it need no patience of ten minutes. */
static void late_kind(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 3, 15 * MINUTE, 1);
	size_t there = 0;
	int64_t since;

	for (size_t i = 1; i <= s->n_workers; i++) {
		(void)ks_serve(s->plane[i].store, JOBS, false);
		ks_watch_end_all(s->plane[i].store);
		plane_watches(&s->plane[i]);
	}
	run_until(s, s->now + 2 * MINUTE);
	story_submit(s, size, MINUTE);
	run_until(s, s->now + 3 * MINUTE);
	story_expect(s, story_count_won(s, NULL) == 0 && story_is_active(s, "w1"),
		     "the workers have no Jobs: none wins, the clusters are Active");
	(void)ks_serve(s->plane[2].store, JOBS, true);
	since = s->now;
	while (there < size && s->now < since + 30 * SECOND && !s->failed) {
		run_until(s, s->now + SECOND);
		there = story_count_ours(&s->plane[2], WORKLOADS);
	}
	printf("# %zu of %zu after %lld s\n", there, size, (long long)(s->now - since) / SECOND);
	story_expect(s, there == size, "w2 does: all are tried there within 30 s");
	story_expect(s, story_all_done(s, 20 * MINUTE), "and finish");
	story_end(s);
}

static void rewriting(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 3, 15 * MINUTE, 1);
	uint64_t least;

	story_submit(s, size, MINUTE);
	story_expect(s, story_all_done(s, 10 * MINUTE), "a first lot, with nothing wrong");
	least = s->requests;
	for (size_t i = 1; i <= s->n_workers; i++) {
		s->plane[i].rewrite = true;
	}
	story_submit(s, size, MINUTE);
	story_expect(s, story_all_done(s, 10 * MINUTE),
		     "a webhook rewrites every clone: all finish");
	printf("# %llu requests, %llu before\n", (unsigned long long)(s->requests - least),
	       (unsigned long long)least);
	story_expect(s, (s->requests - least) * 10 <= least * 11,
		     "no loop: at most a tenth more requests");
	story_end(s);
}

/* A user deletes all that there is of a resource on a worker. */
static void delete_all(struct sim *s, size_t worker, const char *resource, const char *path)
{
	struct plane *p = &s->plane[worker];
	const struct json *o;
	size_t pos = 0;

	arena_clear(&s->arena);
	while ((o = ks_each(p->store, resource, &pos)) != NULL) {
		mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));

		(void)plane_request(p, "DELETE",
				    arena_printf(&s->arena, "%s/%.*s", path, STR_ARG(name)).p, NULL,
				    STR("{}"));
	}
}

/*
 * Something on each worker deletes each job, again and again: that must not become a round a
 * second.
 */
static void pruned_jobs(struct coverage *cov, size_t most)
{
	struct sim *s = story_begin(cov, 3, 15 * MINUTE, 1);
	size_t size = most < 5 ? most : 5;
	uint64_t before;

	story_submit(s, size, 8 * MINUTE);
	for (int part = 0; part < 2; part++) {
		before = s->requests;
		for (int64_t end_at = s->now + 5 * MINUTE; s->now < end_at && !s->failed;) {
			for (size_t i = 1; i <= s->n_workers; i++) {
				delete_all(s, i, JOBS, JOBS_PATH);
			}
			run_until(s, s->now + SECOND);
		}
		printf("# %llu requests in 5 minutes\n",
		       (unsigned long long)(s->requests - before));
	}
	story_expect(s, s->requests - before <= 5 * 10 * size,
		     "at most ten requests a minute for a job that is pruned");
	story_expect(s, story_all_done(s, 60 * MINUTE), "the pruning ends: all finish");
	story_end(s);
}

/*
 * An operator deletes every clone at once: that must end with an alert, not with a storm of
 * requests.
 */
static void deleted_clones(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 3, 15 * MINUTE, 1);
	struct engine_stats stats = {0};
	uint64_t before;

	for (size_t i = 1; i <= s->n_workers; i++) {
		story_hold_queue(s, i, true);
	}
	story_submit(s, size, MINUTE);
	before = s->requests;
	for (int64_t end_at = s->now + 5 * MINUTE; s->now < end_at && !s->failed;) {
		delete_all(s, 1, WORKLOADS, WORKLOADS_PATH);
		run_until(s, s->now + SECOND);
	}
	engine_get_stats(manager_engine(s->proc[0].m), &stats);
	printf("# %llu requests in 5 minutes\n", (unsigned long long)(s->requests - before));
	story_expect(s, stats.breaker_open, "the breaker is open");
	story_expect(s, s->requests - before <= 5 * size, "clones are not made again for ever");
	for (size_t i = 1; i <= s->n_workers; i++) {
		story_hold_queue(s, i, false);
	}
	story_expect(s, story_all_done(s, 60 * MINUTE), "in the end all finish");
	story_end(s);
}

/* --- 6: how jobs ended cannot be written for a while ------------------------------------------ */

/* Few jobs: every 429 stops all requests for a second, and each job must meet it often enough. */
static void status_limited(struct coverage *cov, size_t most)
{
	struct sim *s = story_begin(cov, 3, 15 * MINUTE, 1);
	size_t copies = 0, size = most < 4 ? most : 4;

	story_submit(s, size, 30 * SECOND);
	story_expect(s, story_count_won(s, NULL) == size, "all run");
	s->plane[0].limit_jobs = true;
	run_until(s, s->now + 3 * MINUTE);
	for (size_t i = 1; i <= s->n_workers; i++) {
		copies += story_count_ours(&s->plane[i], JOBS);
	}
	story_expect(s, copies == size, "all ended, which cannot be written: the copies wait");
	s->plane[0].limit_jobs = false;
	story_expect(s, story_all_done(s, 10 * MINUTE), "in the end each job tells how it ended");
	story_expect(s, story_count_retries(s) == 0, "none was given up");
	story_end(s);
}

/* --- 7: one of twenty is dead ----------------------------------------------------------------- */

static int by_size(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* 99 of 100 jobs had their check Ready so soon after their quota. */
static int64_t p99(struct coverage *cov, size_t size, bool dead)
{
	struct sim *s = story_begin(cov, 20, 15 * MINUTE, 1);
	int64_t *v = calloc(size, sizeof(*v)), r;

	if (!v) {
		abort();
	}
	if (dead) {
		story_cut_off(s, 20, true);
	}
	/* Half of them before the death is noticed. */
	story_submit(s, size / 2, 5 * MINUTE);
	if (dead) {
		(void)story_wait_active(s, "w20", false);
		story_expect(s, !story_is_active(s, "w20"), "one is dead: that is noticed");
	}
	story_submit(s, size - size / 2, MINUTE);
	for (size_t i = 0; i < size; i++) {
		v[i] = s->user[i].ready_at - s->user[i].reserved_at;
	}
	story_expect(s, story_count_won(s, NULL) == size,
		     dead ? "one is dead: all run" : "all run");
	qsort(v, size, sizeof(*v), by_size);
	r = v[size * 99 / 100];
	free(v);
	story_cut_off(s, 20, false);
	story_expect(s, story_all_done(s, 20 * MINUTE), "and finish");
	story_end(s);
	return r;
}

static void dead_worker(struct coverage *cov, size_t size)
{
	/* The p99 of a hundred is the worst of them, which is chance. */
	size_t n = size < 500 ? 500 : size;
	int64_t with = p99(cov, n, false), without = p99(cov, n, true);

	printf("# p99 %lld ms, one of 20 dead: %lld ms\n", (long long)with, (long long)without);
	story_say(without * 100 < with * 105, "the p99 of the others moves by less than 5 %");
}

/* --- names ------------------------------------------------------------------------------------ */

static const struct {
	const char *name, *words;
	void (*run)(struct coverage *, size_t);
} scenarios[] = {
	{"drop-plugin", "an upgrade loses the plugin of a kind that runs", drop_plugin},
	{"hung-leader", "the leader hangs, a standby leads, it wakes", hung_leader},
	{"partition", "the winner is out of reach for too long; restart, clock step", partition},
	{"partition-healed", "... and back just in time", partition_healed},
	{"lagging-worker", "a worker's lists show none of what runs", lagging},
	{"restored-worker", "a worker goes back to what it was last week", restored},
	{"restored-manager", "the manager goes back to before the jobs", restored_manager},
	{"unserved-version", "a worker's Kueue drops our API version", upgraded},
	{"late-kind", "a CRD comes to a worker while jobs wait for it", late_kind},
	{"rewriting-webhook", "a webhook rewrites every clone", rewriting},
	{"deleted-clones", "an operator deletes every clone", deleted_clones},
	{"pruned-jobs", "something on each worker deletes each job", pruned_jobs},
	{"status-limited", "the manager takes no status of a job as they end", status_limited},
	{"dead-worker", "one of twenty workers is dead", dead_worker},
	{"slow-restart", "the daemon begins anew while every server is slow", story_slow_restart},
	{"adopted-clones", "clones carry Kueue's finalizer", story_adopted},
	{"leftover-jobs", "jobs of earlier incarnations are where new ones win", story_leftovers},
	{"vanished-check", "the check is deleted while jobs run", story_unchecked},
	{"unasked", "the queue loses the check, and its jobs are evicted", story_unasked},
	{"forgotten-winner", "the winner's name is cleared, then its clone goes", story_forgotten},
	{"preemption-gates", "clones wait at gates that are opened in turns", story_gates},
	{"quota-automation", "the manager's quota follows the workers'", story_quotas},
	{"walled", "a wall is built while jobs run", story_walled},
	{"stuck", "a job that fits nowhere now holds the quota of one that does", story_stuck},
	{"unplaceable", "a job is larger than any worker", story_unplaceable},
	{"hour", "jobs come and go for an hour", story_hour},
	{"pod-groups", "members of groups of Pods come and go", story_pods},
	{"pods-here", "the manager's Kueue starts Pods of which copies run", story_pods_here},
};

void scenario_list(void)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		printf("%-20s %s\n", scenarios[i].name, scenarios[i].words);
	}
	for (const struct story *t = copies_stories; t->name != NULL; t++) {
		printf("%-20s %s%s\n", t->name, t->words, t->told ? "" : " (not yet)");
	}
}

static void tell(struct coverage *cov, const char *name, const char *words,
		 void (*run)(struct coverage *, size_t), size_t size)
{
	printf("# %s: %s\n", name, words);
	run(cov, size ? size : FEW);
}

int scenario_run(const char *name, size_t size)
{
	struct coverage cov = {.kind = COVER_STORIES};
	bool found = false, all = name[0] == 0;

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		if (all || strcmp(name, scenarios[i].name) == 0) {
			tell(&cov, scenarios[i].name, scenarios[i].words, scenarios[i].run, size);
			found = true;
		}
	}
	for (const struct story *t = copies_stories; t->name != NULL; t++) {
		if (all ? t->told : strcmp(name, t->name) == 0) {
			tell(&cov, t->name, t->words, t->run, size);
			found = true;
		}
	}
	if (all) {
		story_say(coverage_print(&cov) == 0, "together they meet what no seed is sure to");
	}
	if (!found) {
		fprintf(stderr, "sim: no scenario is named %s\n", name);
	}
	return story_over() && found ? 0 : 1;
}
