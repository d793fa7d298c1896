/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripted stories, each with one thing that goes badly wrong: they print TAP. The invariants hold in them as in every
 * seed; what is told here besides is how much was written, and how soon. docs of the stories: t/README.md.
 */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/sim.h"

#define WORKLOADS "kueue.x-k8s.io/v1beta2/workloads"
#define JOBS "batch/v1/jobs"
#define ORIGIN "/metadata/labels/kueue.x-k8s.io~1multikueue-origin"

enum { SECOND = 1000, MINUTE = 60 * 1000, FEW = 100 };

static unsigned n_tests, n_bad;

static void expect(struct sim *s, bool good, const char *text)
{
	n_tests++;
	n_bad += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", n_tests, text);
	if (s->failed) {
		printf("# %s\n", s->failure);
	}
	fflush(stdout);
}

static struct sim *begin(struct coverage *cov, size_t workers, int64_t lost_timeout_ms,
			 size_t daemons)
{
	struct sim *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		abort();
	}
	s->seed = 1;
	s->cov = cov;
	s->scripted = true;
	s->no_faults = daemons == 1;
	s->n_workers = workers;
	s->quota = 100000;
	s->admit_ms = 100;
	s->lost_timeout_ms = lost_timeout_ms;
	world_start(s);
	while (s->n_procs < daemons) {
		world_add_daemon(s);
	}
	run_until(s, 10 * SECOND);
	return s;
}

static void end(struct sim *s)
{
	expect(s, !s->failed, "every invariant held");
	world_end(s);
	free(s);
}

/* 'n' jobs over a few seconds, each for so long; then time for their wins. */
static void submit(struct sim *s, size_t n, int64_t run_ms)
{
	for (size_t i = 0; i < n; i++) {
		arena_clear(&s->arena);
		(void)user_submits(s, run_ms);
		run_until(s, s->now + 20);
	}
	run_until(s, s->now + 10 * SECOND);
}

static bool all_done(struct sim *s, int64_t within_ms)
{
	char why[256] = "";
	int64_t until = s->now + within_ms;

	while (!s->failed && !rest_reached(s, why, sizeof(why)) && s->now < until) {
		run_until(s, s->now + SECOND);
	}
	if (!rest_reached(s, why, sizeof(why))) {
		printf("# %s\n", why);
		return false;
	}
	return true;
}

/* Objects of ours on a worker. */
static size_t count_ours(const struct plane *p, const char *resource)
{
	size_t pos = 0, n = 0;
	const struct json *o;

	for (o = ks_each(p->store, resource, &pos); o; o = ks_each(p->store, resource, &pos)) {
		n += json_str_at(o, ORIGIN).n > 0;
	}
	return n;
}

static size_t count_won(struct sim *s, const char *cluster)
{
	size_t pos = 0, n = 0;
	const struct ks_store *mgr = s->plane[0].store;
	const struct json *o;

	for (o = ks_each(mgr, WORKLOADS, &pos); o; o = ks_each(mgr, WORKLOADS, &pos)) {
		n += cluster == NULL ? json_str_at(o, "/status/clusterName").n > 0
				     : str_is(json_str_at(o, "/status/clusterName"), cluster);
	}
	return n;
}

static const struct json *active_of(struct sim *s, const char *cluster)
{
	return json_at(ks_get(s->plane[0].store, "kueue.x-k8s.io/v1beta2/multikueueclusters",
			      STR(""), str_of(cluster)),
		       "/status/conditions/0");
}

static bool is_active(struct sim *s, const char *cluster)
{
	return str_is(json_str(json_get(active_of(s, cluster), "status")), "True");
}

/* Until people can see it; how long that took. */
static int64_t wait_active(struct sim *s, const char *cluster, bool wanted)
{
	int64_t began = s->now;

	while (is_active(s, cluster) != wanted && s->now < began + 2 * MINUTE && !s->failed) {
		run_until(s, s->now + 100);
	}
	return s->now - began;
}

static size_t count_retries(const struct sim *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_users; i++) {
		n += s->user[i].retries;
	}
	return n;
}

static void hold_queue(struct sim *s, size_t plane, bool on)
{
	arena_clear(&s->arena);
	(void)plane_merge(&s->plane[plane], "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
			  on ? STR("{\"spec\":{\"stopPolicy\":\"Hold\"}}")
			     : STR("{\"spec\":{\"stopPolicy\":\"None\"}}"));
}

static void cut_off(struct sim *s, size_t plane, bool on)
{
	struct plane *p = &s->plane[plane];

	check_disturbed(p, on);
	p->blackhole = on;
	if (!on) {
		plane_end_streams(p, TRANSPORT_LOST);
	}
}

/* --- 1: an upgrade loses the plugin of a kind that runs ---------------------------------------------- */

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
	struct sim *s = begin(cov, 3, 15 * MINUTE, 1);
	struct engine_stats stats = {0};
	uint64_t requests;

	submit(s, size, 20 * MINUTE);
	expect(s, count_won(s, NULL) == size, "all jobs run");
	restart(s, false);
	run_until(s, s->now + MINUTE);
	requests = s->requests;
	run_until(s, s->now + 9 * MINUTE);
	expect(s, s->requests == requests, "without the plugin of their kind nothing is written");
	engine_get_stats(manager_engine(s->proc[0].m), &stats);
	expect(s, stats.unserved_workloads == size, "people count them as unserved");
	expect(s, count_won(s, NULL) == size && count_retries(s) == 0, "none is evicted");
	restart(s, true);
	expect(s, all_done(s, 30 * MINUTE), "the plugin returns: they go on and finish");
	expect(s, count_retries(s) == 0, "none was dispatched anew");
	end(s);
}

/* --- 2: the leader hangs, and wakes ------------------------------------------------------------------- */

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
	struct sim *s = begin(cov, 3, 15 * MINUTE, 2);
	size_t first, next;
	int64_t began;

	run_until(s, s->now + 20 * SECOND);
	first = leader(s);
	expect(s, first != SIZE_MAX, "somebody leads");
	if (first == SIZE_MAX) {
		end(s);
		return;
	}
	for (size_t i = 0; i < size; i++) {
		arena_clear(&s->arena);
		(void)user_submits(s, 30 * SECOND);
		run_until(s, s->now + 20);
	}
	/* In the middle of it all: requests are on the way, and more are about to leave. */
	began = s->now;
	s->proc[first].frozen_until = s->now + 40 * SECOND;
	for (next = leader(s);
	     s->now < began + 60 * SECOND && !s->failed && (next == first || next == SIZE_MAX);
	     next = leader(s)) {
		run_until(s, s->now + 100);
	}
	printf("# the standby leads after %lld ms\n", (long long)(s->now - began));
	expect(s, s->now - began <= 20 * SECOND, "the standby leads within 20 s");
	run_until(s, began + 41 * SECOND);
	expect(s, !s->failed, "it wakes: nothing leaves it any more");
	expect(s, all_done(s, 10 * MINUTE), "every job finishes, once");
	expect(s, count_retries(s) == 0, "none was dispatched anew");
	end(s);
}

/* --- 3: a partition, a restart, a clock that jumps ---------------------------------------------------- */

static void partition(struct coverage *cov, size_t size)
{
	struct sim *s = begin(cov, 2, MINUTE, 1);
	int64_t connected, clean;

	hold_queue(s, 2, true);
	submit(s, size, 90 * SECOND);
	hold_queue(s, 2, false);
	expect(s, count_won(s, "w1") == size, "all run on w1");
	cut_off(s, 1, true);
	/* On record, and by the clock that jumps an hour ago: only the grace of the start is left. */
	printf("# the loss is on record after %lld ms\n", (long long)wait_active(s, "w1", false));
	expect(s, !is_active(s, "w1") && count_retries(s) == 0, "w1 is lost, and nothing given up");
	s->proc[0].wall_step += 3600 * SECOND;
	proc_kill(&s->proc[0]);
	proc_start(&s->proc[0]);
	run_until(s, s->now + 40 * SECOND);
	expect(s, count_retries(s) == 0, "a restart and a clock that jumps do not end the grace");
	run_until(s, s->now + 4 * MINUTE);
	expect(s, count_retries(s) == size, "then each is given up once");
	expect(s, count_won(s, "w2") + count_won(s, NULL) >= size, "and goes to w2");
	expect(s, count_ours(&s->plane[1], JOBS) == size, "w1 still has its copies");
	cut_off(s, 1, false);
	connected = wait_active(s, "w1", true);
	clean = s->now;
	while (count_ours(&s->plane[1], JOBS) > 0 && s->now < clean + MINUTE && !s->failed) {
		run_until(s, s->now + 100);
	}
	printf("# connected %lld ms after it healed, clean %lld ms later\n", (long long)connected,
	       (long long)(s->now - clean));
	expect(s, s->now - clean <= 10 * SECOND, "w1 is back: its copies are stopped within 10 s");
	expect(s, all_done(s, 10 * MINUTE), "every job ends");
	expect(s, count_retries(s) == size, "no Retry but the first");
	end(s);
}

/* Back just before the deadline, finished meanwhile: the end counts. */
static void partition_healed(struct coverage *cov, size_t size)
{
	struct sim *s = begin(cov, 2, MINUTE, 1);

	hold_queue(s, 2, true);
	submit(s, size, 30 * SECOND);
	hold_queue(s, 2, false);
	cut_off(s, 1, true);
	run_until(s, s->now + 50 * SECOND);
	cut_off(s, 1, false);
	expect(s, all_done(s, 5 * MINUTE), "what ended out of reach counts");
	expect(s, count_retries(s) == 0, "none is given up");
	end(s);
}

/* --- 4: a server that lags, and one that was restored ------------------------------------------------- */

static void lagging(struct coverage *cov, size_t size)
{
	struct sim *s = begin(cov, 1, 15 * MINUTE, 1);
	struct json *snapshot;
	struct arena a;
	uint64_t least, before;

	submit(s, size, MINUTE);
	expect(s, all_done(s, 10 * MINUTE), "a first lot, with nothing wrong");
	least = s->requests;
	arena_init(&a, 0);
	snapshot = ks_snapshot(s->plane[1].store, &a);
	before = s->requests;
	submit(s, size, 5 * MINUTE);
	plane_lag_from(&s->plane[1], snapshot);
	plane_end_streams(&s->plane[1], TRANSPORT_LOST);
	run_until(s, s->now + 40 * SECOND);
	expect(s, count_ours(&s->plane[1], JOBS) == size, "the server shows none: all still run");
	plane_lag(&s->plane[1], false);
	expect(s, all_done(s, 20 * MINUTE), "and all finish");
	printf("# %llu requests, %llu without the lag\n",
	       (unsigned long long)(s->requests - before), (unsigned long long)least);
	expect(s, (s->requests - before) * 10 <= least * 11, "with at most a tenth more requests");
	expect(s, count_retries(s) == 0, "none was given up");
	arena_done(&a);
	end(s);
}

static void restored(struct coverage *cov, size_t size)
{
	struct sim *s = begin(cov, 1, 15 * MINUTE, 1);
	struct json *snapshot;
	struct arena a;
	uint64_t writes;

	arena_init(&a, 0);
	submit(s, size, 2 * MINUTE);
	snapshot = ks_snapshot(s->plane[1].store, &a);
	expect(s, all_done(s, 20 * MINUTE), "all finish");
	run_until(s, s->now + 3 * MINUTE);
	writes = s->writes;
	plane_restore(&s->plane[1], snapshot);
	expect(s, count_ours(&s->plane[1], JOBS) == size, "last week's copies are back, and run");
	expect(s, all_done(s, 30 * MINUTE), "they go, and no result is taken from them");
	printf("# %llu writes\n", (unsigned long long)(s->writes - writes));
	expect(s, (s->writes - writes) * 10 <= 2 * size * 11,
	       "a job and a clone each, and at most a tenth more writes");
	arena_done(&a);
	end(s);
}

/* Half of the local jobs are gone too: absence is not enough for more than a fifth an interval. */
static void restored_manager(struct coverage *cov, size_t size)
{
	struct sim *s = begin(cov, 1, 15 * MINUTE, 1);
	struct json *snapshot;
	struct arena a;
	int64_t until;
	size_t left;

	arena_init(&a, 0);
	snapshot = ks_snapshot(s->plane[0].store, &a);
	submit(s, size, 10 * MINUTE);
	expect(s, count_won(s, NULL) == size, "all run");
	plane_restore(&s->plane[0], snapshot);
	users_restored(s, &s->site[0]);
	until = s->now + 2 * MINUTE;
	do {
		run_until(s, s->now + SECOND);
		left = count_ours(&s->plane[1], JOBS);
	} while (left == size && s->now < until && !s->failed);
	run_until(s, s->now + 5 * SECOND);
	left = count_ours(&s->plane[1], JOBS);
	printf("# %zu of %zu jobs are left after the first interval\n", left, size);
	expect(s, left < size, "what nobody knows of is garbage");
	expect(s, left * 10 >= size * 6, "but one look takes a share, not all");
	expect(s, all_done(s, 20 * MINUTE), "what is confirmed goes");
	arena_done(&a);
	end(s);
}

/* --- 5: Kueue is upgraded under us ------------------------------------------------------------------- */

static void upgraded(struct coverage *cov, size_t size)
{
	struct sim *s = begin(cov, 3, 15 * MINUTE, 1);
	size_t on_w1;

	submit(s, size, 8 * MINUTE);
	on_w1 = count_ours(&s->plane[1], JOBS);
	(void)ks_serve(s->plane[1].store, WORKLOADS, false);
	ks_watch_end_all(s->plane[1].store);
	plane_watches(&s->plane[1]);
	run_until(s, s->now + 3 * MINUTE);
	expect(s, !is_active(s, "w1"), "w1 serves the version no more: it is not Active");
	printf("# %.*s\n", STR_ARG(json_str(json_get(active_of(s, "w1"), "message"))));
	expect(s, count_ours(&s->plane[1], JOBS) == on_w1, "nothing is deleted there");
	expect(s, count_retries(s) == 0, "no running job is touched");
	(void)ks_serve(s->plane[1].store, WORKLOADS, true);
	expect(s, all_done(s, 20 * MINUTE), "served again: all finish");
	expect(s, count_retries(s) == 0, "none was given up");
	end(s);
}

static void rewriting(struct coverage *cov, size_t size)
{
	struct sim *s = begin(cov, 3, 15 * MINUTE, 1);
	uint64_t least;

	submit(s, size, MINUTE);
	expect(s, all_done(s, 10 * MINUTE), "a first lot, with nothing wrong");
	least = s->requests;
	for (size_t i = 1; i <= s->n_workers; i++) {
		s->plane[i].rewrite = true;
	}
	submit(s, size, MINUTE);
	expect(s, all_done(s, 10 * MINUTE), "a webhook rewrites every clone: all finish");
	printf("# %llu requests, %llu before\n", (unsigned long long)(s->requests - least),
	       (unsigned long long)least);
	expect(s, (s->requests - least) * 10 <= least * 11,
	       "no loop: at most a tenth more requests");
	end(s);
}

/* Somebody deletes every clone at once: that must end with an alert, not with a storm. */
static void deleted_clones(struct coverage *cov, size_t size)
{
	struct sim *s = begin(cov, 3, 15 * MINUTE, 1);
	struct engine_stats stats = {0};
	uint64_t before;

	for (size_t i = 1; i <= s->n_workers; i++) {
		hold_queue(s, i, true);
	}
	submit(s, size, MINUTE);
	before = s->requests;
	for (int64_t end_at = s->now + 5 * MINUTE; s->now < end_at && !s->failed;) {
		struct plane *p = &s->plane[1];
		size_t pos = 0;
		const struct json *o;

		arena_clear(&s->arena);
		while ((o = ks_each(p->store, WORKLOADS, &pos)) != NULL) {
			mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));

			(void)plane_request(p, "DELETE",
					    arena_printf(&s->arena,
							 "/apis/kueue.x-k8s.io/v1beta2/namespaces/"
							 "default/workloads/%.*s",
							 STR_ARG(name))
						    .p,
					    NULL, STR("{}"));
		}
		run_until(s, s->now + SECOND);
	}
	engine_get_stats(manager_engine(s->proc[0].m), &stats);
	printf("# %llu requests in 5 minutes\n", (unsigned long long)(s->requests - before));
	expect(s, stats.breaker_open, "the breaker is open");
	expect(s, s->requests - before <= 5 * size, "clones are not made again for ever");
	for (size_t i = 1; i <= s->n_workers; i++) {
		hold_queue(s, i, false);
	}
	expect(s, all_done(s, 60 * MINUTE), "in the end all finish");
	end(s);
}

/* --- 6: how jobs ended cannot be written for a while --------------------------------------------------- */

/* Few jobs: every 429 stops all for a second, and each job is to be told so often enough. */
static void status_limited(struct coverage *cov, size_t most)
{
	struct sim *s = begin(cov, 3, 15 * MINUTE, 1);
	size_t copies = 0, size = most < 4 ? most : 4;

	submit(s, size, 30 * SECOND);
	expect(s, count_won(s, NULL) == size, "all run");
	s->plane[0].limit_jobs = true;
	run_until(s, s->now + 3 * MINUTE);
	for (size_t i = 1; i <= s->n_workers; i++) {
		copies += count_ours(&s->plane[i], JOBS);
	}
	expect(s, copies == size, "all ended, which cannot be written: the copies wait");
	s->plane[0].limit_jobs = false;
	expect(s, all_done(s, 10 * MINUTE), "in the end each job tells how it ended");
	expect(s, count_retries(s) == 0, "none was given up");
	end(s);
}

/* --- 7: one of twenty is dead ------------------------------------------------------------------------ */

static int by_size(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* 99 of 100 jobs had their check Ready so soon after their quota. */
static int64_t p99(struct coverage *cov, size_t size, bool dead)
{
	struct sim *s = begin(cov, 20, 15 * MINUTE, 1);
	int64_t *v = calloc(size, sizeof(*v)), r;

	if (v == NULL) {
		abort();
	}
	if (dead) {
		cut_off(s, 20, true);
	}
	/* Half of them before the death is noticed. */
	submit(s, size / 2, 5 * MINUTE);
	if (dead) {
		(void)wait_active(s, "w20", false);
		expect(s, !is_active(s, "w20"), "one is dead: that is noticed");
	}
	submit(s, size - size / 2, MINUTE);
	for (size_t i = 0; i < size; i++) {
		v[i] = s->user[i].ready_at - s->user[i].reserved_at;
	}
	expect(s, count_won(s, NULL) == size, dead ? "one is dead: all run" : "all run");
	qsort(v, size, sizeof(*v), by_size);
	r = v[size * 99 / 100];
	free(v);
	cut_off(s, 20, false);
	expect(s, all_done(s, 20 * MINUTE), "and finish");
	end(s);
	return r;
}

static void dead_worker(struct coverage *cov, size_t size)
{
	int64_t with = p99(cov, size, false), without = p99(cov, size, true);

	printf("# p99 %lld ms, one of 20 dead: %lld ms\n", (long long)with, (long long)without);
	n_tests++;
	n_bad += without * 100 >= with * 105;
	printf("%sok %u - the p99 of the others moves by less than 5 %%\n",
	       without * 100 >= with * 105 ? "not " : "", n_tests);
}

/* --- names ------------------------------------------------------------------------------------------- */

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
	{"rewriting-webhook", "a webhook rewrites every clone", rewriting},
	{"deleted-clones", "somebody deletes every clone", deleted_clones},
	{"status-limited", "the manager takes no status of a job as they end", status_limited},
	{"dead-worker", "one of twenty workers is dead", dead_worker},
};

void scenario_list(void)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		printf("%-18s %s\n", scenarios[i].name, scenarios[i].words);
	}
}

int scenario_run(const char *name, size_t size)
{
	struct coverage cov = {0};
	bool found = false;

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		if (name[0] == 0 || strcmp(name, scenarios[i].name) == 0) {
			printf("# %s: %s\n", scenarios[i].name, scenarios[i].words);
			scenarios[i].run(&cov, size ? size : FEW);
			found = true;
		}
	}
	printf("1..%u\n", n_tests);
	if (!found) {
		fprintf(stderr, "sim: no scenario is named %s\n", name);
	}
	return found && n_bad == 0 ? 0 : 1;
}
