/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More quota on the manager than workers have: Workloads give it back
 * (multiKueue.placementTimeout), and none waits where a worker has room for it.
 */
#include "t/sim/churn.h"

enum {
	LOOK_MS = 1000,        /* the world is looked at so often */
	ROOM_MS = 15 * SECOND, /* a Workload may wait so long where a worker has room for it */
	LARGE = 8,             /* quota of each worker in the end: for any job */
};

static void stuck_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->at = 1000;
	f->until = 2000; /* what follows disturbs nothing */
	s->placement_timeout_ms = rng_range(r, 8000, 40000);
	s->stuck_until = rng_range(r, 5 * MINUTE, 20 * MINUTE);
	for (size_t i = 1; i <= s->n_workers; i++) {
		plane_set_quota(&s->plane[i], 1 + (unsigned)rng_below(r, 2));
	}
	for (size_t i = 0; i < s->n_users; i++) {
		s->user[i].run_ms = rng_range(r, 2000, 40000);
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

/* It gave no quota back in time, or waits where a nominated worker has room for it. */
static void check_user(struct sim *s, struct user *u, const struct quota *q)
{
	const struct json *wl = workload_of(s, u);
	int64_t since;

	if (u->kind == USER_NO_ADAPTER || u->kind == USER_UNMANAGED || !is_waiting(wl) ||
	    !user_job(u, &s->plane[u->site->home])) {
		memset(u->room_ms, 0, sizeof(u->room_ms));
		return;
	}
	if (bound_is_busy(s, &s->plane[u->site->home])) {
		memset(u->room_ms, 0, sizeof(u->room_ms));
		u->calm_since = INT64_MAX;
		return;
	}
	u->calm_since = u->calm_since < s->now ? u->calm_since : s->now;
	since = u->calm_since > u->reserved_at ? u->calm_since : u->reserved_at;
	if (s->now - since > s->placement_timeout_ms + 2 * MINUTE) {
		fail(s, "stuck", "%s holds its quota for %lld s", u->name,
		     (long long)(s->now - since) / 1000);
	}
	for (size_t i = 1; i <= s->n_workers && !is_hindered(s, u); i++) {
		const struct plane *p = &s->plane[i];
		bool room =
			pods_of(wl) <= q[i].free && is_nominated(wl, p->name) && !excuse_late(s, p);

		u->room_ms[i] = room ? u->room_ms[i] + LOOK_MS : 0;
		if (u->room_ms[i] > ROOM_MS) {
			if (s->story) {
				rest_say(s, u, wl);
			}
			fail(s, "room", "%s waits, and %s has had room for it for %lld s", u->name,
			     p->name, (long long)u->room_ms[i] / SECOND);
		}
	}
}

/* Looks for Workloads that wait without need; also when the world is over. */
static void stuck_turn(struct sim *s, struct fault *f)
{
	struct quota q[MAX_PLANES] = {0};

	if (s->now >= s->stuck_until && s->stuck_until > 0) {
		say(s, "world", "workers get quota for all");
		for (size_t i = 1; i <= s->n_workers; i++) {
			plane_set_quota(&s->plane[i], LARGE);
		}
		s->stuck_until = 0;
	}
	for (size_t i = 1; i <= s->n_workers; i++) {
		q[i] = plane_quota(&s->plane[i]);
	}
	for (size_t i = 0; i < s->n_users && !s->failed; i++) {
		check_user(s, &s->user[i], q);
	}
	fault_later(s, f, LOOK_MS);
}

static void stuck_begin(struct sim *s, struct fault *f)
{
	fault_later(s, f, LOOK_MS);
}

FAULT(stuck) = {
	.family = FAULT_OF_WORLD,
	.number = 10,
	.name = "little quota on workers",
	.world = "stuck",
	.alone = "it sets the quota of workers, and judges waits by it alone",
	.on_request = true, /* older seeds would have another meaning */
	.draw = stuck_draw,
	.begin = stuck_begin,
	.turn = stuck_turn,
};
