/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many jobs through a small quota: never too many at once, and twice the same. KUBESIM_JOBS gives
 * another number of jobs than 800.
 */
#include <time.h>

#include "t/lib/kubesim_cluster.h"

enum { JOBS_DEFAULT = 800, SHARE = 20 };

static int n_jobs = JOBS_DEFAULT;

struct outcome {
	uint64_t digest;
	size_t commits, finished;
	int64_t most, now;
	double cpu_s;
};

static struct outcome run_all(uint64_t seed)
{
	struct ks_actors_options o = {.role = KS_WORKER,
				      .seed = seed,
				      .admit_delay_ms_max = 50,
				      .run_ms_min = 100,
				      .run_ms_max = 900};
	struct outcome out = {0};
	clock_t start = clock();
	struct world w;
	size_t pos = 0;

	sim_init(&w, KS_WORKER, 0, 0, seed);
	ks_actors_free(w.actors);
	o.on_commit = sim_commit;
	o.on_commit_ctx = &w;
	w.actors = ks_actors_new(w.store, &o);
	sim_queues(&w, n_jobs / SHARE, false);
	for (int i = 0; i < n_jobs; i++) {
		sim_job(&w, arena_printf(&w.a, "j%05d", i).p, 1, "");
		if (i % 10 == 0) {
			sim_run(&w, 1);
			arena_clear(&w.a);
		}
	}
	while (ks_actors_next_ms(w.actors) != INT64_MAX) {
		int64_t active = 0;

		sim_run(&w, 250);
		for (size_t p = 0;;) {
			const struct json *j = ks_each(w.store, JOBS, &p);

			if (!j) {
				break;
			}
			active += json_int(json_at(j, "/status/active"), 0);
		}
		out.most = active > out.most ? active : out.most;
		arena_clear(&w.a);
	}
	for (;;) {
		const struct json *wl = ks_each(w.store, WORKLOADS, &pos);

		if (!wl) {
			break;
		}
		out.finished += sim_condition(wl, "Finished") != NULL;
	}
	out.digest = w.digest;
	out.commits = w.commits;
	out.now = w.now;
	ok(ks_actors_refused(w.actors) == 0, "no write was refused");
	sim_done(&w);
	out.cpu_s = (double)(clock() - start) / CLOCKS_PER_SEC;
	return out;
}

int main(void)
{
	const char *wanted = getenv("KUBESIM_JOBS");
	struct outcome a, b, c;
	uint64_t n;

	if (wanted != NULL && str_u64(str_of(wanted), &n) && n >= SHARE && n <= 1000000) {
		n_jobs = (int)n;
	}
	a = run_all(7);
	b = run_all(7);
	c = run_all(8);
	printf("# %zu commits in %.1f s of CPU: %.0f a second; %lld ms simulated\n", a.commits,
	       a.cpu_s, (double)a.commits / a.cpu_s, (long long)(a.now - INT64_C(1800000000000)));
	is_int((int64_t)a.finished, n_jobs, "every job finished");
	ok(a.most <= n_jobs / SHARE, "never more pods than quota");
	ok(a.most > n_jobs / SHARE / 2, "and the quota was used");
	ok(a.digest == b.digest && a.commits == b.commits, "the same seed gives the same commits");
	ok(a.digest != c.digest, "another seed gives others");
	return done_testing();
}
