/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs have a maximum execution time that half of them need longer than. Kueue counts it on the
 * worker and on the manager, there from a little later on, and deactivates what is over it
 * (MaximumExecutionTimeExceeded): such a job rests on the manager, and has not run again.
 */
#include "core/base/timefmt.h"
#include "t/sim/churn.h"
#include "t/sim/sim.h"

enum { TURN_MS = 500, LATE_MS = 4000 };

static void draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->until = f->at; /* what follows disturbs nothing */
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];

		if (u->kind == USER_JOB && rng_chance(r, 1, 2)) {
			u->limit_ms = rng_range(r, 2, 20) * SECOND;
			u->run_ms = rng_range(r, SECOND, 2 * u->limit_ms);
		}
	}
}

/* Has what was admitted run for as long as it may, and has Kueue not said so yet? */
static bool is_over(const struct sim *s, const struct json *wl, int64_t limit_ms)
{
	const struct json *c = json_find(json_at(wl, "/status/conditions"), "type", "Admitted");
	int64_t at;

	return has_condition(wl, "Admitted") && !has_condition(wl, "Finished") &&
	       !has_condition(wl, "Evicted") && !has_condition(wl, "DeactivationTarget") &&
	       !rest_inactive(wl) && time_parse(json_str(json_get(c, "lastTransitionTime")), &at) &&
	       wall_of(s) - at >= limit_ms;
}

/* What follows, as for any other target, is Kueue's. */
static void deactivate(struct sim *s, struct plane *p, const struct json *wl)
{
	struct arena *a = &s->arena;
	mk_str name = arena_dup(a, json_str_at(wl, "/metadata/name"));
	struct json *status = json_dup(a, json_get(wl, "status")), *c = json_new_obj(a);

	json_set_str(a, c, "type", STR("DeactivationTarget"));
	json_set_str(a, c, "status", STR("True"));
	json_set_str(a, c, "reason", STR("MaximumExecutionTimeExceeded"));
	json_set_str(a, c, "message", STR("exceeding the maximum execution time"));
	json_set_str(a, c, "lastTransitionTime", time_rfc3339(a, wall_of(s)));
	json_add(a, json_get(status, "conditions"), c);
	say(s, "world", "%s: %.*s is over its time: %d", p->name, STR_ARG(name),
	    churn_apply_status(s, p, name, status));
}

static void turn(struct sim *s, struct fault *f)
{
	for (size_t i = 0; i < s->n_users; i++) {
		const struct user *u = &s->user[i];
		const struct json *wl = u->limit_ms > 0 ? workload_of(s, u) : NULL;
		mk_str name = arena_dup(&s->arena, json_str_at(wl, "/metadata/name"));

		for (size_t k = 1; wl != NULL && k <= s->n_workers; k++) {
			const struct plane *w = &s->plane[k];
			const struct json *clone =
				ks_get(w->store, WORKLOADS, STR("default"), name);

			if (churn_is_remote(clone) && judge_has_origin(u->site, clone) &&
			    is_over(s, clone, u->limit_ms + SECOND)) {
				deactivate(s, &s->plane[k], clone);
			}
		}
		if (wl != NULL && is_over(s, wl, u->limit_ms + LATE_MS)) {
			deactivate(s, &s->plane[u->site->home], wl);
		}
	}
	fault_later(s, f, TURN_MS);
}

FAULT(overtime) = {
	.family = FAULT_OF_WORLD,
	.number = 27,
	.name = "jobs over their time",
	.world = "overtime",
	.on_request = true, /* older seeds would have another meaning */
	.draw = draw,
	.begin = turn,
	.turn = turn,
};
