/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of more quota on the manager than workers have (multiKueue.placementTimeout). */
#include "core/base/timefmt.h"
#include "t/sim/story.h"

#define CHECK KUEUE "admissionchecks/mk"

/* Two workers of ten pods, twenty on the manager, and that timeout. */
static struct sim *begin(struct coverage *cov, int64_t timeout_ms)
{
	struct sim *s = story_begin(cov, 2, 15 * MINUTE, 1);

	plane_set_quota(&s->plane[0], 20);
	plane_set_quota(&s->plane[1], 10);
	plane_set_quota(&s->plane[2], 10);
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
	plane_set_quota(&s->plane[0], 30);
	plane_set_quota(&s->plane[2], 20);
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
	plane_set_quota(&s->plane[2], 12);
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
