/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More quota on the manager than workers have: Workloads give it back
 * (multiKueue.placementTimeout), and none waits where a worker has room for it.
 */
#include "t/sim/churn.h"

enum {
	LOOK_MS = 1000,   /* the world is looked at so often */
	ROOM_MS = MINUTE, /* a Workload may wait so long where a worker has room for it */
	LARGE = 8,        /* quota of each worker in the end: for any job */
	LARGEST = 4,      /* pods of a job, and one more */
};

static void stuck_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->at = 1000;
	f->until = 2000; /* what follows disturbs nothing */
	s->placement_timeout_ms = rng_range(r, 8000, 40000);
	s->stuck_until = rng_range(r, 5 * MINUTE, 20 * MINUTE);
	for (size_t i = 1; i <= s->n_workers; i++) {
		plane_set_quota(&s->plane[i], 1 + (unsigned)rng_below(r, 2));
		for (size_t n = 0; n < LARGEST; n++) {
			s->plane[i].room_at[n] = INT64_MAX;
		}
	}
	for (size_t i = 0; i < s->n_users; i++) {
		s->user[i].run_ms = rng_range(r, 2000, 40000);
	}
}

/* Since when there is room for a job of so many pods. */
static void measure(struct sim *s, struct plane *p)
{
	int64_t room = plane_quota(p).free;

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

/*
 * No Workload waits for long where a nominated worker has room for it, and none holds quota for
 * long after its time.
 */
static void check_user(struct sim *s, struct user *u)
{
	const struct json *wl = workload_of(s, u);
	int64_t pods, since;

	if (u->kind == USER_NO_ADAPTER || u->kind == USER_UNMANAGED || !is_waiting(wl) ||
	    !user_job(u, &s->plane[u->site->home])) {
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

/* Looks for Workloads that wait without need; also when the world is over. */
static void stuck_turn(struct sim *s, struct fault *f)
{
	if (s->now >= s->stuck_until && s->stuck_until > 0) {
		say(s, "world", "workers get quota for all");
		for (size_t i = 1; i <= s->n_workers; i++) {
			plane_set_quota(&s->plane[i], LARGE);
		}
		s->stuck_until = 0;
	}
	for (size_t i = 1; i <= s->n_workers; i++) {
		measure(s, &s->plane[i]);
	}
	for (size_t i = 0; i < s->n_users && !s->failed; i++) {
		check_user(s, &s->user[i]);
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
	.on_request = true, /* older seeds would have another meaning */
	.draw = stuck_draw,
	.begin = stuck_begin,
	.turn = stuck_turn,
};
