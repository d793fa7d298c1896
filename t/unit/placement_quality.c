/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well multikueued.io/placement places: small random cases against the best of all
 * assignments, and a burst over a fleet whose queues show late what they have given out. The
 * figures are printed.
 */
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

#include "core/base/rng.h"
#include "core/base/str.h"
#include "core/plug/plug.h"

enum { MAX_WORKERS = 20, MAX_JOBS = 500, N_RESOURCES = 2, HISTORY = 8, STEP_MS = 1000 };

extern const mk_entry mk_entry_placement;

static struct plug *plug;

struct worker {
	int64_t cap[N_RESOURCES];
	int64_t used[N_RESOURCES];  /* reserved, by ours and by others */
	int64_t other[N_RESOURCES]; /* of that, what a preemption would take back */
	int64_t shown[HISTORY][N_RESOURCES];
	bool forbidden, preempts;
};

struct job {
	int64_t wants[N_RESOURCES];
	int arrives, lasts;
	int won, since, end; /* the worker; -1 while it waits */
	bool clone[MAX_WORKERS], refused[MAX_WORKERS];
	int cloned_at[MAX_WORKERS];
	int64_t last_set_ms;
	int clones; /* made in all */
};

struct fleet {
	struct worker w[MAX_WORKERS];
	struct job j[MAX_JOBS];
	size_t n_workers, n_jobs, n_resources;
	int now, lag;
	const char *config;
	/* what must not happen, and what is counted */
	int64_t forbidden, overcommitted, needless, preemptions, clones, done, asked, faults;
};

static const char *const resources[N_RESOURCES] = {"cpu", "memory"};

/* What the queue of a worker shows now. */
static int64_t shown(const struct fleet *f, const struct worker *w, size_t r)
{
	return w->shown[(f->now + HISTORY - f->lag) % HISTORY][r];
}

/* What other Workloads ask for that were placed there and do not show yet. */
static int64_t assumed(const struct fleet *f, size_t w, size_t r, const struct job *but)
{
	int64_t sum = 0;

	for (size_t i = 0; i < f->n_jobs; i++) {
		const struct job *j = &f->j[i];

		if (j == but) {
			continue;
		}
		if (j->won < 0 ? j->clone[w] : j->won == (int)w && f->now - j->since <= f->lag) {
			sum += j->wants[r];
		}
	}
	return sum;
}

/* Does the worker show room for the job, and has it? */
static bool has_room(const struct fleet *f, size_t w, const struct job *j)
{
	for (size_t r = 0; r < f->n_resources; r++) {
		int64_t used = shown(f, &f->w[w], r) + assumed(f, w, r, j);

		if (f->w[w].forbidden || used + j->wants[r] > f->w[w].cap[r]) {
			return false;
		}
	}
	return !j->clone[w];
}

static void add_amounts(const struct fleet *f, struct buf *b, const char *name,
			const int64_t amounts[N_RESOURCES])
{
	buf_printf(b, "%s[", name);
	for (size_t r = 0; r < f->n_resources; r++) {
		buf_printf(b, "%s{\"name\":\"%s\",\"amount\":%" PRId64 "}", r > 0 ? "," : "",
			   resources[r], amounts[r]);
	}
	buf_printf(b, "]");
}

static void add_facts(const struct fleet *f, struct buf *b, size_t i, const struct job *j)
{
	const struct worker *w = &f->w[i];
	int64_t free_[N_RESOURCES] = {0}, taken[N_RESOURCES] = {0};

	for (size_t r = 0; r < f->n_resources; r++) {
		free_[r] = w->cap[r] - shown(f, w, r);
		taken[r] = assumed(f, i, r, j);
	}
	buf_printf(b,
		   ",\"facts\":{\"ageMs\":0,\"waiting\":0,\"queue\":{\"name\":\"cq\",\"active\":"
		   "true,\"pending\":0,\"elderMs\":0,\"preempts\":%s",
		   w->preempts ? "true" : "false");
	add_amounts(f, b, ",\"assumed\":", taken);
	add_amounts(f, b, ",\"flavors\":[{\"name\":\"f\",\"group\":0,\"free\":", free_);
	add_amounts(f, b, ",\"most\":", w->cap);
	buf_printf(b, "}]}}");
}

static struct json *clusters_for(const struct fleet *f, const struct job *j, struct arena *a)
{
	struct json *v = NULL;
	struct buf b;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < f->n_workers; i++) {
		buf_printf(&b,
			   "%s{\"name\":\"w%zu\",\"connected\":true,\"nominated\":%s,\"labels\":[{"
			   "\"name\":\"tier\",\"value\":\"%s\"}]",
			   i > 0 ? "," : "[", i, j->clone[i] ? "true" : "false",
			   f->w[i].forbidden ? "dev" : "prod");
		if (j->clone[i]) {
			buf_printf(&b,
				   ",\"clone\":{\"sinceMs\":%d,\"quota\":false,\"says\":\"%s\"}",
				   (f->now - j->cloned_at[i]) * STEP_MS,
				   j->refused[i] ? "insufficient unused quota" : "");
		}
		add_facts(f, &b, i, j);
		buf_printf(&b, "}");
	}
	buf_printf(&b, "]");
	(void)json_parse(a, arena_dup(a, buf_str(&b)), &v, NULL);
	buf_done(&b);
	return v;
}

/* A clone is made: what must not happen is counted. */
static void place(struct fleet *f, struct job *j, size_t w)
{
	bool fits = has_room(f, w, j);

	f->forbidden += f->w[w].forbidden ? 1 : 0;
	for (size_t v = 0; v < f->n_workers && !fits; v++) {
		if (v != w && has_room(f, v, j)) {
			f->overcommitted++;
			break;
		}
	}
	j->clone[w] = true;
	j->refused[w] = false;
	j->cloned_at[w] = f->now;
	j->clones++;
	f->clones++;
}

static void take(struct fleet *f, struct job *j, const struct plug_pick *pick)
{
	bool wanted[MAX_WORKERS] = {false};

	for (uint32_t i = 0; i < pick->n; i++) {
		wanted[pick->index[i]] = true;
	}
	for (size_t w = 0; w < f->n_workers; w++) {
		j->clone[w] &= wanted[w];
	}
	for (uint32_t i = 0; i < pick->n; i++) {
		if (!j->clone[pick->index[i]]) {
			place(f, j, pick->index[i]);
		}
	}
	j->last_set_ms = (int64_t)f->now * STEP_MS;
}

static void ask(struct fleet *f, struct job *j)
{
	struct plug_pick pick = {.n = 0};
	struct arena a;
	struct buf b;

	arena_init(&a, 0);
	buf_init(&b, 1 << 16);
	add_amounts(f, &b, "", j->wants);
	const struct plug_question q = {
		.workload =
			parse_json(&a, "{\"metadata\":{},\"spec\":{\"podSets\":[{\"count\":1}]}}"),
		.clusters = clusters_for(f, j, &a),
		.config = parse_json(&a, f->config),
		.requests = parse_json(&a, arena_dup(&a, buf_str(&b)).p),
		.job = parse_json(&a, "{\"annotations\":[{\"name\":\"multikueued.io/requires\","
				      "\"value\":\"tier=prod\"}]}"),
		.now_wall_ms = (int64_t)f->now * STEP_MS,
		.last_set_ms = j->last_set_ms,
		.reserved_ms = (int64_t)j->arrives * STEP_MS};

	f->asked++;
	if (plug_nominate(plug, 0, &q, &a, &pick, NULL) != ERR_OK) {
		f->faults++;
	} else if (pick.verdict == MK_SET) {
		take(f, j, &pick);
	}
	buf_done(&b);
	arena_done(&a);
}

/* Gives the job quota there, by preemption when 'evicts'. */
static void admit(struct fleet *f, struct job *j, size_t w)
{
	j->won = (int)w;
	j->since = f->now;
	j->end = f->now + j->lasts;
	for (size_t r = 0; r < f->n_resources; r++) {
		f->w[w].used[r] += j->wants[r];
	}
	memset(j->clone, 0, sizeof(j->clone));
}

/* Kueue on a worker looks at the clone. */
static void schedule(struct fleet *f, struct job *j, size_t w)
{
	struct worker *at = &f->w[w];
	bool fits = true, evicts = at->preempts;

	for (size_t r = 0; r < f->n_resources; r++) {
		fits &= at->used[r] + j->wants[r] <= at->cap[r];
		evicts &= at->used[r] - at->other[r] + j->wants[r] <= at->cap[r];
	}
	if (fits) {
		admit(f, j, w);
		return;
	}
	j->refused[w] = true;
	if (!evicts) {
		return;
	}
	f->preemptions++;
	for (size_t v = 0; v < f->n_workers; v++) {
		if (has_room(f, v, j)) {
			f->needless++;
			break;
		}
	}
	for (size_t r = 0; r < f->n_resources; r++) {
		at->used[r] -= at->other[r];
		at->other[r] = 0;
	}
	admit(f, j, w);
}

static void step(struct fleet *f)
{
	for (size_t i = 0; i < f->n_jobs; i++) {
		struct job *j = &f->j[i];

		if (j->won >= 0 && j->end == f->now) {
			for (size_t r = 0; r < f->n_resources; r++) {
				f->w[j->won].used[r] -= j->wants[r];
			}
			f->done++;
		}
	}
	for (size_t i = 0; i < f->n_jobs; i++) {
		if (f->j[i].won < 0 && f->j[i].arrives <= f->now) {
			ask(f, &f->j[i]);
		}
	}
	for (size_t i = 0; i < f->n_jobs; i++) {
		for (size_t w = 0; w < f->n_workers && f->j[i].won < 0; w++) {
			if (f->j[i].clone[w]) {
				schedule(f, &f->j[i], w);
			}
		}
	}
	f->now++;
	for (size_t w = 0; w < f->n_workers; w++) {
		memcpy(f->w[w].shown[f->now % HISTORY], f->w[w].used, sizeof(f->w[w].used));
	}
}

static struct fleet *fleet_of(size_t n_workers, size_t n_jobs, size_t n_resources,
			      const char *config)
{
	static struct fleet f;

	memset(&f, 0, sizeof(f));
	f.n_workers = n_workers;
	f.n_jobs = n_jobs;
	f.n_resources = n_resources;
	f.config = config;
	for (size_t i = 0; i < n_jobs; i++) {
		f.j[i].won = -1;
		f.j[i].last_set_ms = -1;
	}
	return &f;
}

/* --- small cases ------------------------------------------------------------------------------ */

/* What a job is worth: its share of all there is, in millionths. */
static int64_t worth(const struct fleet *f, const struct job *j)
{
	int64_t sum = 0;

	for (size_t r = 0; r < f->n_resources; r++) {
		int64_t all = 0;

		for (size_t w = 0; w < f->n_workers; w++) {
			all += f->w[w].cap[r];
		}
		sum += j->wants[r] * 1000000 / all;
	}
	return sum;
}

struct search {
	const struct fleet *f;
	int64_t left[MAX_WORKERS][N_RESOURCES];
	int64_t rest[MAX_JOBS + 1]; /* what all later jobs are worth */
	int64_t best;
};

/* The best of all assignments of the jobs from 'i' on. */
static void search(struct search *s, size_t i, int64_t sum)
{
	const struct job *j = &s->f->j[i];

	s->best = sum > s->best ? sum : s->best;
	if (i == s->f->n_jobs || sum + s->rest[i] <= s->best) {
		return;
	}
	for (size_t w = 0; w < s->f->n_workers; w++) {
		bool fits = true;

		for (size_t r = 0; r < s->f->n_resources; r++) {
			fits &= s->left[w][r] >= j->wants[r];
		}
		if (!fits) {
			continue;
		}
		for (size_t r = 0; r < s->f->n_resources; r++) {
			s->left[w][r] -= j->wants[r];
		}
		search(s, i + 1, sum + worth(s->f, j));
		for (size_t r = 0; r < s->f->n_resources; r++) {
			s->left[w][r] += j->wants[r];
		}
	}
	search(s, i + 1, sum);
}

static int64_t optimum(const struct fleet *f)
{
	struct search s = {.f = f};

	for (size_t w = 0; w < f->n_workers; w++) {
		memcpy(s.left[w], f->w[w].cap, sizeof(s.left[w]));
	}
	for (size_t i = f->n_jobs; i-- > 0;) {
		s.rest[i] = s.rest[i + 1] + worth(f, &f->j[i]);
	}
	search(&s, 0, 0);
	return s.best;
}

/* A case of its own for each seed: sizes, jobs in the order of their arrival. */
static struct fleet *small_case(uint64_t seed, int64_t largest)
{
	struct rng rng;
	struct fleet *f;
	size_t workers, jobs;

	rng_init(&rng, seed);
	workers = (size_t)rng_range(&rng, 3, 5);
	jobs = (size_t)rng_range(&rng, 4, 8);
	f = fleet_of(workers, jobs, (size_t)rng_range(&rng, 1, 2), "{}");
	f->lag = 2;
	for (size_t w = 0; w < f->n_workers; w++) {
		for (size_t r = 0; r < f->n_resources; r++) {
			f->w[w].cap[r] = rng_range(&rng, 4, 16) * 1000;
		}
	}
	for (size_t i = 0; i < f->n_jobs; i++) {
		f->j[i].arrives = (int)i;
		f->j[i].lasts = INT32_MAX / 2;
		for (size_t r = 0; r < f->n_resources; r++) {
			f->j[i].wants[r] = rng_range(&rng, 1, largest) * 1000;
		}
	}
	return f;
}

struct sums {
	int64_t got, best, worst, overcommitted, stranded, faults, exact;
};

static void add_case(struct sums *s, struct fleet *f)
{
	int64_t got = 0, best = optimum(f);

	while (f->now < (int)f->n_jobs + 2 * f->lag + 2) {
		step(f);
	}
	for (size_t i = 0; i < f->n_jobs; i++) {
		got += f->j[i].won >= 0 ? worth(f, &f->j[i]) : 0;
		for (size_t w = 0; f->j[i].won < 0 && w < f->n_workers; w++) {
			s->stranded += has_room(f, w, &f->j[i]) ? 1 : 0;
		}
	}
	s->got += got;
	s->best += best;
	s->exact += got == best ? 1 : 0;
	s->worst = best > 0 && got * 100 / best < s->worst ? got * 100 / best : s->worst;
	s->overcommitted += f->overcommitted;
	s->faults += f->faults;
}

static void small_cases(int64_t largest, int64_t percent)
{
	const uint64_t cases = tap_valgrind() ? 5 : 200;
	struct sums s = {.worst = 100};

	for (uint64_t seed = 1; seed <= cases; seed++) {
		add_case(&s, small_case(seed, largest));
	}
	printf("# workers of 4 to 16, jobs of 1 to %" PRId64 ", %" PRIu64 " cases: %" PRId64
	       ".%" PRId64 " %% of the optimum, the optimum itself in %" PRId64 ", worst %" PRId64
	       " %%\n",
	       largest, cases, s.got * 100 / s.best, s.got * 1000 / s.best % 10, s.exact, s.worst);
	ok(s.got * 100 >= s.best * percent, "close to the best of all assignments");
	is_int(s.overcommitted, 0, "no worker gets more than it has while another has room");
	is_int(s.stranded, 0, "... nor does a job wait that fits on another");
	is_int(s.faults, 0, "... without a fault");
}

/* --- the burst -------------------------------------------------------------------------------- */

/*
 * 500 jobs in ten seconds over 20 workers of different sizes. Three are forbidden by a label; on
 * four others half is taken by what a preemption would evict. Queues show what they gave out three
 * seconds late.
 */
static struct fleet *burst(const char *config, int64_t size)
{
	struct fleet *f = fleet_of(MAX_WORKERS, tap_valgrind() ? 60 : MAX_JOBS, 1, config);
	struct rng rng;

	rng_init(&rng, 7);
	f->lag = 3;
	for (size_t w = 0; w < f->n_workers; w++) {
		struct worker *at = &f->w[w];

		at->cap[0] = rng_range(&rng, 8, 64) * size * 1000;
		at->forbidden = w % 7 == 3;
		at->preempts = w % 5 == 1;
		at->other[0] = at->preempts ? at->cap[0] / 2 : 0;
		at->used[0] = at->other[0];
		for (size_t t = 0; t < HISTORY; t++) {
			at->shown[t][0] = at->used[0];
		}
	}
	for (size_t i = 0; i < f->n_jobs; i++) {
		f->j[i].arrives = (int)(i * 10 / f->n_jobs);
		f->j[i].lasts = (int)rng_range(&rng, 5, 30);
		f->j[i].wants[0] = rng_range(&rng, 1, 8) * 1000;
	}
	return f;
}

static void bursts(const char *config, int64_t size, int64_t clones_percent, const char *what)
{
	struct fleet *f = burst(config, size);

	while (f->done < (int64_t)f->n_jobs && f->now < 1000) {
		step(f);
	}
	printf("# %s: %zu jobs in %d s, %" PRId64 " clones (%" PRId64 ".%02" PRId64
	       " per job), %" PRId64 " preemptions, asked %" PRId64 " times\n",
	       what, f->n_jobs, f->now, f->clones, f->clones / (int64_t)f->n_jobs,
	       f->clones * 100 / (int64_t)f->n_jobs % 100, f->preemptions, f->asked);
	is_int(f->done, (int64_t)f->n_jobs, "all jobs end");
	is_int(f->forbidden, 0, "no clone on a worker that the label forbids");
	is_int(f->overcommitted, 0, "no worker gets more than it has while another has room");
	is_int(f->needless, 0, "no preemption while a worker has free quota");
	ok(f->clones * 100 <= clones_percent * (int64_t)f->n_jobs, "few clones per job");
	is_int(f->faults, 0, "... without a fault");
}

int main(void)
{
	struct mk_err err = {.msg = ""};

	plug = plug_new(NULL);
	ok(plug_add(plug, &mk_entry_placement, "", &err) == ERR_OK, "the plugin is loaded");
	small_cases(7, 95);
	/* Who learns of jobs one by one cannot leave one out for a better one to come. */
	small_cases(10, 88);
	bursts("{}", 4, 120, "a burst that fits, as by default");
	/* Workers that are full: a job is copied again to where room comes first. */
	bursts("{}", 1, 200, "a burst of three times as much as fits, as by default");
	bursts("{\"candidates\":1}", 1, 180, "... with one candidate");
	plug_free(plug);
	return done_testing();
}
