/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elastic jobs, whose users change their size at any time while they wait or run: up to the quota
 * that they have in place, and beyond it by a slice. Once all is well a copy that runs, and its
 * clone, have the size of the local job.
 */
#include <stdio.h>

#include "core/api/names.h"
#include "t/sim/churn.h"
#include "t/sim/sim.h"

enum {
	LOOK_MS = 1000,
	LARGEST = 3,                   /* pods; a job completes with so many */
	SIZED_MS = MINUTE,             /* after so long copies have the size of their jobs */
	CHANGES_MS = 2 * FAULTS_END_MS /* users change sizes until then */
};

static void scaling_prepare(struct sim *s)
{
	s->gates.elastic_slices = true;
}

static bool is_elastic(const struct user *u)
{
	return u->notes != NULL;
}

/* Workloads without an owner keep theirs for ever: nothing tells Kueue that they have stopped. */
static unsigned quota_kept(const struct sim *s, const struct site *site)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->n_users; i++) {
		n += s->user[i].site == site && s->user[i].kind == USER_NO_ADAPTER;
	}
	return n;
}

/* Many run on when the faults are over, and slices wait for quota on the manager as well. */
static void scaling_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->at = 1000;
	f->until = 2000; /* what follows disturbs nothing */
	for (size_t i = 0; i < s->n_sites; i++) {
		unsigned quota = (unsigned)rng_range(r, 8, 40) + quota_kept(s, &s->site[i]);

		plane_set_quota(&s->plane[s->site[i].home], quota);
	}
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];

		if (u->of != USER_OF_JOBS || u->kind == USER_NO_ADAPTER || !rng_chance(r, 2, 3)) {
			continue;
		}
		u->notes = ",\"" NAME_ELASTIC "\":\"true\"";
		u->run_ms = rng_chance(r, 1, 2) ? rng_range(r, SECOND, 20 * SECOND)
						: rng_range(r, MINUTE, 4 * MINUTE);
	}
}

static int64_t size_of(const struct json *job)
{
	return json_int(json_at(job, "/spec/parallelism"), 0);
}

static void resize(struct sim *s, struct fault *f, const struct user *u)
{
	struct plane *home = &s->plane[u->site->home];
	const struct json *job = user_job(u, home);
	int64_t had = size_of(job), pods;

	if (!job || job_over(job) || json_at(job, "/metadata/deletionTimestamp")) {
		return;
	}
	pods = rng_range(&f->rng, 1, LARGEST);
	say(s, "user", "resizes %s from %lld to %lld pods: %d", u->name, (long long)had,
	    (long long)pods,
	    plane_merge(
		    home, churn_path(s, JOB_PATH, str_of(u->name), ""),
		    arena_printf(&s->arena, "{\"spec\":{\"parallelism\":%lld}}", (long long)pods)));
}

/* What its worker has of the job that has won there: NULL, it does not run. */
static const struct json *running_copy(struct sim *s, const struct user *u, const struct json *wl,
				       const struct plane **ret_on)
{
	const struct plane *w = plane_of_cluster(s, json_str_at(wl, "/status/clusterName"));
	const struct json *copy = w ? user_job(u, w) : NULL;

	*ret_on = w;
	return copy && judge_runs(s, copy) && user_local(s, u, copy) &&
			       has_condition(wl, "Admitted") && !has_condition(wl, "Evicted") &&
			       !has_condition(wl, "Finished")
		       ? copy
		       : NULL;
}

static bool is_sized(const struct json *wl, const struct json *job, const struct json *copy,
		     const struct plane *w)
{
	const struct json *clone =
		ks_get(w->store, WORKLOADS, STR("default"), json_str_at(wl, "/metadata/name"));

	return size_of(copy) == size_of(job) && (!clone || pods_of(clone) == pods_of(wl));
}

static void check_size(struct sim *s, struct user *u)
{
	const struct plane *w;
	const struct json *wl = workload_of(s, u), *copy = running_copy(s, u, wl, &w);
	const struct json *job = user_job(u, &s->plane[u->site->home]);
	int64_t since;

	if (!copy || !job || job_over(job) || is_sized(wl, job, copy, w)) {
		u->unsized_since = 0;
		return;
	}
	u->unsized_since = u->unsized_since > 0 ? u->unsized_since : s->now;
	since = judge_calm_with(s, u->site, w);
	since = since > FAULTS_END_MS ? since : FAULTS_END_MS;
	since = since > u->unsized_since ? since : u->unsized_since;
	if (since != INT64_MAX && s->now - since > SIZED_MS) {
		if (s->story) {
			rest_say(s, u, wl);
		}
		fail(s, "I4 duties", "%s is to have %lld pods, and has %lld on %s for %lld s",
		     u->name, (long long)size_of(job), (long long)size_of(copy), w->name,
		     (long long)(s->now - since) / SECOND);
	}
}

static void scaling_turn(struct sim *s, struct fault *f)
{
	for (size_t i = 0; i < s->n_users && !s->failed; i++) {
		struct user *u = &s->user[i];

		if (!is_elastic(u) || !u->created || u->deleted) {
			continue;
		}
		if (s->now < CHANGES_MS && rng_chance(&f->rng, 1, 25)) {
			resize(s, f, u);
		}
		check_size(s, u);
	}
	fault_later(s, f, LOOK_MS);
}

static void scaling_begin(struct sim *s, struct fault *f)
{
	fault_later(s, f, LOOK_MS);
}

FAULT(scaling) = {
	.family = FAULT_OF_WORLD,
	.number = 22,
	.name = "elastic jobs change their size",
	.world = "scaling",
	.alone = "a job of another size in the backup is not known for the one that runs",
	.without = "rebuilt",
	.on_request = true, /* older seeds would have another meaning */
	.prepare = scaling_prepare,
	.draw = scaling_draw,
	.begin = scaling_begin,
	.turn = scaling_turn,
};
