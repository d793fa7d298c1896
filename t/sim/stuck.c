/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More quota on the manager than workers have: a world in which Workloads give it back
 * (multiKueue.placementTimeout), and stories of it.
 */
#include <stdio.h>

#include "core/base/timefmt.h"
#include "t/sim/story.h"

#define QUEUE "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq"
#define CHECK "/apis/kueue.x-k8s.io/v1beta2/admissionchecks/mk"

enum {
	LOOK_MS = 1000,      /* the world is looked at so often */
	ROOM_MS = 60 * 1000, /* a Workload may wait so long where a worker has room for it */
	LARGE = 8,           /* quota of each worker in the end: for any job */
	LARGEST = 4,         /* pods of a job, and one more */
};

static void set_quota(struct plane *p, unsigned pods)
{
	int status = plane_merge(
		p, QUEUE,
		arena_printf(&p->sim->arena,
			     "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],"
			     "\"flavors\":[{\"name\":\"default\",\"resources\":[{\"name\":\"cpu\","
			     "\"nominalQuota\":%u}]}]}]}}",
			     pods));

	if (status != 200) {
		fail(p->sim, "setup", "quota of %s: %d", p->name, status);
	}
}

static int64_t pods_of(const struct json *wl)
{
	return json_int(json_at(wl, "/spec/podSets/0/count"), 1);
}

/* --- the world -------------------------------------------------------------------------------- */

void stuck_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->at = 1000;
	f->until = 2000; /* what follows disturbs nothing */
	s->placement_timeout_ms = rng_range(r, 8000, 40000);
	s->stuck_until = rng_range(r, 5 * MINUTE, 20 * MINUTE);
	for (size_t i = 1; i <= s->n_workers; i++) {
		set_quota(&s->plane[i], 1 + (unsigned)rng_below(r, 2));
		for (size_t n = 0; n < LARGEST; n++) {
			s->plane[i].room_at[n] = INT64_MAX;
		}
	}
	for (size_t i = 0; i < s->n_users; i++) {
		s->user[i].run_ms = rng_range(r, 2000, 40000);
	}
}

/* What Workloads on the worker hold of its quota. */
static int64_t held_on(const struct plane *p)
{
	size_t pos = 0;
	int64_t held = 0;
	const struct json *o;

	for (o = ks_each(p->store, WORKLOADS, &pos); o; o = ks_each(p->store, WORKLOADS, &pos)) {
		held += has_condition(o, "QuotaReserved") && !has_condition(o, "Finished")
				? pods_of(o)
				: 0;
	}
	return held;
}

static int64_t quota_of(const struct plane *p)
{
	const struct json *q =
		ks_get(p->store, "kueue.x-k8s.io/v1beta2/clusterqueues", STR_NONE, STR("cq"));
	const struct json *n =
		json_at(q, "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota");

	return json_int(n, 0);
}

/* Since when there is room for a job of so many pods. */
static void measure(struct sim *s, struct plane *p)
{
	int64_t room = quota_of(p) - held_on(p);

	for (int64_t n = 1; n < LARGEST; n++) {
		bool has = n <= room && !excuse_late(s, p);

		p->room_at[n] = !has ? INT64_MAX : p->room_at[n] < s->now ? p->room_at[n] : s->now;
	}
}

static bool is_nominated(const struct json *wl, const char *name)
{
	struct json_iter it = json_iter(json_at(wl, "/status/nominatedClusterNames"));

	while (json_next(&it)) {
		if (str_is(json_str(it.val), name)) {
			return true;
		}
	}
	return false;
}

/* Does it hold quota on the manager, for workers that have not taken it? */
static bool waits(const struct sim *s, const struct user *u, const struct json *wl)
{
	return wl && user_job(u, &s->plane[u->site->home]) &&
	       !json_at(wl, "/metadata/deletionTimestamp") && has_condition(wl, "QuotaReserved") &&
	       !has_condition(wl, "Evicted") && !has_condition(wl, "Finished") &&
	       json_str_at(wl, "/status/clusterName").n == 0 &&
	       str_is(json_str_at(wl, "/status/admissionChecks/0/state"), "Pending");
}

/*
 * No Workload waits for long where a nominated worker has room for it, and none holds quota for
 * long after its time.
 */
static void check_user(struct sim *s, struct user *u)
{
	const struct json *wl = workload_of(s, u);
	int64_t pods, since;

	if (u->kind == USER_NO_ADAPTER || u->kind == USER_UNMANAGED || !waits(s, u, wl)) {
		return;
	}
	if (bound_is_busy(s, &s->plane[u->site->home])) {
		u->calm_since = INT64_MAX;
		return;
	}
	u->calm_since = u->calm_since < s->now ? u->calm_since : s->now;
	since = u->calm_since > u->reserved_at ? u->calm_since : u->reserved_at;
	if (s->now - since > s->placement_timeout_ms + 2 * MINUTE) {
		fail(s, "stuck", "%s holds its quota for %lld s", u->name,
		     (long long)(s->now - since) / 1000);
	}
	pods = pods_of(wl);
	for (size_t i = 1; i <= s->n_workers && pods < LARGEST; i++) {
		const struct plane *p = &s->plane[i];
		int64_t room = p->room_at[pods] > since ? p->room_at[pods] : since;

		if (room != INT64_MAX && s->now - room > ROOM_MS && is_nominated(wl, p->name)) {
			fail(s, "room", "%s waits, and %s has had room for it for %lld s", u->name,
			     p->name, (long long)(s->now - room) / 1000);
		}
	}
}

void stuck_turn(struct sim *s, struct fault *f)
{
	struct msg *m = msg_new(s, M_CHURN);

	if (s->now >= s->stuck_until && s->stuck_until > 0) {
		say(s, "world", "workers get quota for all");
		for (size_t i = 1; i <= s->n_workers; i++) {
			set_quota(&s->plane[i], LARGE);
		}
		s->stuck_until = 0;
	}
	for (size_t i = 1; i <= s->n_workers; i++) {
		measure(s, &s->plane[i]);
	}
	for (size_t i = 0; i < s->n_users && !s->failed; i++) {
		check_user(s, &s->user[i]);
	}
	m->index = (size_t)(f - s->fault);
	schedule(s, m, s->now + LOOK_MS);
}

/* --- stories ---------------------------------------------------------------------------------- */

/* Two workers of ten pods, twenty on the manager, and that timeout. */
static struct sim *begin(struct coverage *cov, int64_t timeout_ms)
{
	struct sim *s = story_begin(cov, 2, 15 * MINUTE, 1);

	set_quota(&s->plane[0], 20);
	set_quota(&s->plane[1], 10);
	set_quota(&s->plane[2], 10);
	s->placement_timeout_ms = timeout_ms;
	proc_kill(&s->proc[0]);
	proc_start(&s->proc[0]);
	run_until(s, s->now + MINUTE);
	return s;
}

static const struct json *submitted(struct sim *s, unsigned pods, int64_t run_ms, size_t *ret)
{
	arena_clear(&s->arena);
	s->each_pods = pods;
	*ret = user_submits(s, run_ms);
	run_until(s, s->now + SECOND);
	return workload_of(s, &s->user[*ret]);
}

static const struct json *wl_of(struct sim *s, size_t user)
{
	return workload_of(s, &s->user[user]);
}

static mk_str cluster_of(struct sim *s, size_t user)
{
	return json_str_at(wl_of(s, user), "/status/clusterName");
}

static mk_str evicted_words(struct sim *s, size_t user)
{
	return json_str(json_get(
		json_find(json_at(wl_of(s, user), "/status/conditions"), "type", "Evicted"),
		"message"));
}

static bool has(mk_str s, const char *words)
{
	return s.n > 0 && memmem(s.p, s.n, words, strlen(words)) != NULL;
}

/* Turns until it has a pause of four minutes or more. */
static bool comes_to_rest(struct sim *s, size_t user)
{
	for (int64_t until = s->now + 15 * MINUTE; s->now < until;) {
		mk_str at = json_str_at(wl_of(s, user), "/status/requeueState/requeueAt");
		int64_t ms;

		if (time_parse(at, &ms) && ms - wall_of(s) > 3 * MINUTE) {
			return !has_condition(wl_of(s, user), "QuotaReserved");
		}
		run_until(s, s->now + SECOND);
	}
	return false;
}

/*
 * KEP-9988: 7, 7, 6 and 3 pods. The 6 fits beside neither 7, and its quota on the manager is what
 * the 3 needs, for which there is room on each worker.
 */
void story_stuck(struct coverage *cov, size_t size)
{
	struct sim *s = begin(cov, MINUTE);
	size_t seven, other, six, three;
	int64_t left;

	(void)size;
	(void)submitted(s, 7, 20 * MINUTE, &seven);
	(void)submitted(s, 7, 20 * MINUTE, &other);
	(void)submitted(s, 6, MINUTE, &six);
	(void)submitted(s, 3, MINUTE, &three);
	run_until(s, s->now + 30 * SECOND);
	story_expect(s, cluster_of(s, seven).n > 0 && cluster_of(s, other).n > 0,
		     "each worker has a job of 7");
	story_expect(s,
		     has_condition(wl_of(s, six), "QuotaReserved") &&
			     !has_condition(wl_of(s, three), "QuotaReserved"),
		     "the 6 fits on none, and holds the quota that the 3 needs");
	left = s->user[six].reserved_at + MINUTE - s->now;
	run_until(s, s->now + left - SECOND);
	story_expect(s, has_condition(wl_of(s, six), "QuotaReserved"),
		     "... until its time is over");
	run_until(s, s->now + 3 * SECOND);
	story_expect(s, !has_condition(wl_of(s, six), "QuotaReserved"),
		     "... then it gives it back");
	story_expect(s,
		     has(evicted_words(s, six), "No worker admitted it within 1m0s: w1, w2: has "
						"no quota: couldn't assign flavors"),
		     "... and says why");
	story_expect(s, cluster_of(s, three).n > 0, "the 3 starts within two seconds");
	story_expect(s, comes_to_rest(s, six), "the 6 rests for longer and longer");
	story_expect(s, cluster_of(s, seven).n > 0 && cluster_of(s, other).n > 0,
		     "... and what runs is left in peace");
	set_quota(&s->plane[0], 30);
	set_quota(&s->plane[2], 20);
	run_until(s, s->now + SECOND);
	story_expect(s, has_condition(wl_of(s, six), "QuotaReserved"),
		     "a worker gets more quota: it comes back within a second");
	run_until(s, s->now + 15 * SECOND);
	story_expect(s, cluster_of(s, six).n > 0 || has_condition(wl_of(s, six), "Finished"),
		     "... and starts");
	story_expect(s, story_all_done(s, 40 * MINUTE), "all finish");
	story_end(s);
}

/* A job that fits on no worker is told of, and rejected when the check says so. */
void story_unplaceable(struct coverage *cov, size_t size)
{
	struct sim *s = begin(cov, 0);
	size_t huge, twelve;
	int64_t at = s->now;

	(void)size;
	(void)submitted(s, 12, MINUTE, &twelve);
	run_until(s, at + 10 * SECOND);
	story_expect(s,
		     has(json_str_at(wl_of(s, twelve), "/status/admissionChecks/0/message"),
			 "Fits on no worker: "),
		     "what fits nowhere is told of within ten seconds");
	story_expect(s, has_condition(wl_of(s, twelve), "QuotaReserved"), "... and waits");
	set_quota(&s->plane[2], 12);
	run_until(s, s->now + 5 * SECOND);
	story_expect(s, cluster_of(s, twelve).n > 0, "a worker gets more quota: it starts");
	(void)plane_merge(&s->plane[0], CHECK,
			  STR("{\"metadata\":{\"annotations\":{\"multikueued.io/unplaceable\":"
			      "\"Reject\"}}}"));
	run_until(s, s->now + 5 * MINUTE);
	at = s->now;
	(void)submitted(s, 16, MINUTE, &huge);
	run_until(s, at + 10 * SECOND);
	story_expect(s,
		     json_type(json_at(wl_of(s, huge), "/spec/active")) == JSON_BOOL &&
			     !json_bool(json_at(wl_of(s, huge), "/spec/active")),
		     "the check says Reject: Kueue deactivates it within ten seconds");
	story_expect(s, !has_condition(wl_of(s, huge), "QuotaReserved"), "... its quota is free");
	story_expect(s,
		     story_count_ours(&s->plane[1], WORKLOADS) +
				     story_count_ours(&s->plane[2], WORKLOADS) ==
			     0,
		     "... and nothing of it is left on workers");
	s->user[huge].refused = true;
	story_expect(s, story_all_done(s, 10 * MINUTE), "the other one finishes");
	story_end(s);
}
