/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A MultiKueueConfig with far more clusters than status.nominatedClusterNames may name: all have
 * their turn with each dispatcher, and neither requests nor the work of a pass grow with the fleet.
 * engine_fleet WORKERS PASSES makes that many passes over one Workload, for
 * t/unit/engine_fleet_growth.t.
 */
#include "t/lib/engine_fleet.h"

enum { LIST = 20, LARGE = 1000, ROUND_MS = 300 * 1000 };

static struct world *fleet_of(size_t n, const char *dispatcher)
{
	static const mk_entry *const plugins[] = {&mk_entry_incremental, &mk_entry_least_loaded,
						  NULL};

	return fleet_new(n, plugins, dispatcher);
}

/* Counts the clones of the Workload for each worker. Returns how many there are. */
static size_t count_clones(const struct world *w, const char *name, unsigned *seen)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_o; i++) {
		const struct object *o = &w->o[i];

		if (o->used && o->cluster != 0 && o->kind == KIND_WORKLOAD &&
		    strcmp(o->name, name) == 0) {
			seen[o->cluster]++;
			n++;
		}
	}
	return n;
}

static size_t count_seen(const unsigned *seen, size_t workers)
{
	size_t n = 0;

	for (size_t i = 1; i <= workers; i++) {
		n += seen[i] > 0;
	}
	return n;
}

/* --- turns ------------------------------------------------------------------------------------ */

static void all_at_once_in_turns(void)
{
	unsigned seen[WORLD_CLUSTERS] = {0}, most = 0;
	struct world *w = fleet_of(LARGE, NULL);
	struct object *wl = a_job(w, "j");
	char before[1024];
	size_t n;
	bool full = true;

	give_quota(w, wl); /* the check is of Kueue's field manager: its time is kept */
	w_settle(w);
	w_advance(w, ROUND_MS / 2);
	for (int round = 0; round < LARGE / LIST; round++) {
		n = count_clones(w, "wl-j", seen);
		full = full && n == LIST;
		w_advance(w, ROUND_MS);
		w->log[0] = 0;
	}
	ok(full, "twenty of 1,000 clusters have a clone at any time");
	for (size_t i = 1; i <= LARGE; i++) {
		most = seen[i] > most ? seen[i] : most;
	}
	is_int((int)count_seen(seen, LARGE), LARGE, "each cluster has its turn in fifty rounds");
	is_int((int)most, 1, "... and none a second time before all had the first");
	snprintf(before, sizeof(before), "%s", nominated(w, wl));
	w_restart(w);
	w_settle(w);
	w_advance(w, ROUND_MS / 4);
	is_str(nominated(w, wl), before, "a new process keeps the round");
	ok(strncmp(check_message(w, wl), "Not admitted yet by 20 of 1000 workers: ", 40) == 0,
	   "the check tells how many are tried");
	printf("# %s\n", check_message(w, wl));
	w_free(w);
}

/* How many rounds it takes until each of 50 workers has had a clone; more than 'most': too many. */
static int rounds_until_all(const char *dispatcher, int64_t round_ms, int most)
{
	unsigned seen[WORLD_CLUSTERS] = {0};
	struct world *w = fleet_of(50, dispatcher);
	int round = 0;

	(void)a_job(w, "j");
	w_settle(w);
	while (round < most && count_seen(seen, 50) < 50) {
		(void)count_clones(w, "wl-j", seen);
		w_advance(w, round_ms);
		w->log[0] = 0;
		round++;
	}
	if (count_seen(seen, 50) < 50) {
		printf("# only %zu of 50\n", count_seen(seen, 50));
		round = most + 1;
	}
	w_free(w);
	return round;
}

static void others_in_turns(void)
{
	ok(rounds_until_all("kueue.x-k8s.io/multikueue-dispatcher-incremental", ROUND_MS, 20) <= 20,
	   "incremental comes to each of fifty clusters");
	ok(rounds_until_all("multikueued.io/least-loaded", ROUND_MS / 5, 4) <= 4,
	   "least-loaded, too, when nothing is known of them");
}

static void another_nominates(void)
{
	struct world *w = fleet_of(100, "example.com/mine");
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_patch(w, wl, "{\"status\":{\"nominatedClusterNames\":[\"w77\",\"nowhere\",\"w100\"]}}");
	w_settle(w);
	ok(clone_of(w, 77, "wl-j") && clone_of(w, 100, "wl-j"),
	   "another controller names any of a hundred");
	is_int((int)objects_on(w, 50), 0, "and the rest get nothing");
	ok(strstr(w_take(w), "event 0 Event wl-j"), "a name that the config has not is told");
	w_free(w);
}

/* What cannot take a clone now is passed over, and does not stop the ring. */
static void some_are_away(void)
{
	unsigned seen[WORLD_CLUSTERS] = {0};
	struct world *w = fleet_of(60, NULL);

	for (cluster_id c = 1; c <= 60; c++) {
		if (c % 3 == 0) {
			w_link(w, c, LINK_DOWN);
		} else if (c % 3 == 1) {
			char name[16];

			snprintf(name, sizeof(name), "w%u", c);
			w_patch(w, w_find(w, 0, KIND_CLUSTER, "", name),
				"{\"metadata\":{\"annotations\":{\"multikueued.io/cordon\":"
				"\"Cordon\"}}}");
		}
	}
	w_settle(w);
	(void)a_job(w, "j");
	w_settle(w);
	is_int((int)count_clones(w, "wl-j", seen), 20, "a third of sixty can take a clone");
	ok(seen[2] && seen[59] && !seen[3] && !seen[4], "and they get one");
	w_link(w, 3, LINK_UP);
	w_settle(w);
	w_advance(w, ROUND_MS);
	(void)count_clones(w, "wl-j", seen);
	is_int((int)seen[3], 1, "one that comes back has its turn in the next round");
	w_free(w);
}

/* --- costs ------------------------------------------------------------------------------------ */

/* A worker that has a clone of the Workload, the 'nth' of them. */
static cluster_id holder(const struct world *w, const char *name, size_t nth)
{
	for (size_t i = 0; i < w->n_o; i++) {
		const struct object *o = &w->o[i];

		if (o->used && o->cluster != 0 && o->kind == KIND_WORKLOAD &&
		    strcmp(o->name, name) == 0 && nth-- == 0) {
			return o->cluster;
		}
	}
	return 0;
}

/* One job from its quota to its end. Returns its requests; *ret_clones: clones that were made. */
static size_t run_job(struct world *w, int i, size_t *ret_clones, unsigned *seen)
{
	char name[32], wl_name[32];
	size_t before = w->requests;
	struct object *wl, *job;
	cluster_id c;

	snprintf(name, sizeof(name), "j%d", i);
	snprintf(wl_name, sizeof(wl_name), "wl-j%d", i);
	wl = a_job(w, name);
	w_settle(w);
	*ret_clones = count_clones(w, wl_name, seen);
	c = holder(w, wl_name, (size_t)i % LIST);
	admit(w, c, wl_name);
	w_settle(w);
	job = w_find(w, c, JOB, "ns", name);
	if (!job) {
		return SIZE_MAX;
	}
	w_patch(w, job, "{\"spec\":{\"suspend\":false},\"status\":{\"active\":2}}");
	w_patch(w, w_find(w, 0, JOB, "ns", name), "{\"spec\":{\"suspend\":false}}");
	w_settle(w);
	w_advance(w, 2000);
	w_patch(w, w_find(w, c, JOB, "ns", name),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	clone_condition(w, c, wl_name, "Finished", "Succeeded", true);
	w_settle(w);
	w_advance(w, 15000);
	w_del(w, w_find(w, 0, JOB, "ns", name));
	wl = w_find(w, 0, KIND_WORKLOAD, "ns", wl_name);
	if (wl) {
		w_del(w, wl);
	}
	w_settle(w);
	w->log[0] = 0;
	w->counts[0] = 0;
	w->stages[0] = 0;
	return w->requests - before;
}

static void requests_of_jobs(void)
{
	const int jobs = tap_valgrind() ? 100 : 2000;
	unsigned seen[WORLD_CLUSTERS] = {0};
	struct world *w = fleet_of(LARGE, NULL);
	struct engine_stats begin, end;
	size_t worst = 0, sum = 0, clones = 0, n;
	bool within = true;

	engine_get_stats(w->e, &begin);
	for (int i = 0; i < jobs; i++) {
		size_t requests = run_job(w, i, &n, seen);

		clones += n;
		sum += requests;
		worst = requests > worst ? requests : worst;
		within = within && requests <= 2 * n + 7 && n == LIST;
	}
	engine_get_stats(w->e, &end);
	ok(within, "a job on 1,000 workers costs at most 2N + 7 requests, N its clones");
	printf("# %d jobs: %zu clones, %.1f requests each, at most %zu\n", jobs, clones,
	       (double)sum / jobs, worst);
	ok((end.visits - begin.visits) / (end.passes - begin.passes) <= 2 * LIST + 2,
	   "a pass looks at no more clusters than in a fleet of forty");
	printf("# %.1f clusters a pass\n",
	       (double)(end.visits - begin.visits) / (double)(end.passes - begin.passes));
	ok(count_seen(seen, LARGE) * 100 >= LARGE * (size_t)(jobs >= 2000 ? 100 : 80),
	   "Workloads begin at different places of the fleet");
	printf("# %zu of %d workers had a clone\n", count_seen(seen, LARGE), LARGE);
	is_int((int)objects_on(w, 500), 0, "nothing is left on a worker");
	w_free(w);
}

static void passes(size_t workers, int n)
{
	struct world *w = fleet_of(workers, NULL);
	struct object *wl = a_job(w, "j");
	char text[128];

	w_settle(w);
	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "{\"metadata\":{\"annotations\":{\"a\":\"%d\"}}}", i);
		w_patch(w, wl, text);
		w_settle(w);
		w->log[0] = 0;
	}
	w_free(w);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		passes((size_t)strtol(argv[1], NULL, 10), (int)strtol(argv[2], NULL, 10));
		return 0;
	}
	all_at_once_in_turns();
	others_in_turns();
	another_nominates();
	some_are_away();
	requests_of_jobs();
	return done_testing();
}
