/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager deletes what has ended, soon after: Kubernetes the Jobs (ttlSecondsAfterFinished), or
 * Kueue the Workloads (objectRetentionPolicies). Copies on workers may still be there.
 */
#include "t/sim/churn.h"
#include "t/sim/sim.h"

/* One that its daemon, or Kueue there, has just turned Finished. */
static void drop_workload(struct sim *s, const struct user *u)
{
	struct plane *home = &s->plane[u->site->home];
	const struct json *wl = workload_of(s, u);

	if (wl && has_condition(wl, "Finished") && !json_at(wl, "/metadata/deletionTimestamp")) {
		world_delete(home, WORKLOADS, json_str_at(wl, "/metadata/name"));
	}
}

static bool is_ours_to_run(const struct user *u)
{
	return u->created && !u->deleted && !u->refused && u->kind != USER_AGAIN &&
	       u->kind != USER_UNMANAGED && u->kind != USER_NO_ADAPTER;
}

static void ttl_turn(struct sim *s, struct fault *f)
{
	if (!f->on) {
		return;
	}
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];
		const struct json *job = user_job(u, &s->plane[u->site->home]);

		if (!is_ours_to_run(u) || !job || !job_over(job) || !rng_chance(&f->rng, 1, 2)) {
			continue;
		}
		if (f->variant % 2 == 0) {
			user_turn(s, i, TURN_DELETE);
		} else {
			drop_workload(s, u);
		}
	}
	fault_later(s, f, rng_range(&f->rng, 50, 4000));
}

static void ttl_draw(struct sim *s, struct fault *f, struct rng *r)
{
	(void)s;
	f->at = rng_range(r, 0, 10000);
}

FAULT(ttl) = {
	.family = FAULT_OF_WORLD,
	.number = 20,
	.name = "what has ended is deleted",
	.world = "ttl",
	.drops_workloads = true,
	.draw = ttl_draw,
	.begin = ttl_turn,
	.turn = ttl_turn,
};
