/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users delete jobs with --cascade=foreground, while they wait and while they run: the Job stays,
 * under deletion, until its Workload is gone, and of some until another controller lets go of it.
 */
#include <string.h>

#include "t/sim/sim.h"

static void draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->until = f->at; /* what users do disturbs nothing */
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];

		if (u->kind != USER_JOB && u->kind != USER_DELETED) {
			continue;
		}
		u->foreground = rng_chance(r, 1, 2);
		if (u->foreground && u->kind == USER_JOB) {
			user_deletes_at(s, i, u->create_at + rng_range(r, 5, 40 * SECOND));
		}
	}
}

/* Another controller lets go of the job. */
static void let_go(struct sim *s, const struct user *u)
{
	struct plane *home = &s->plane[u->site->home];
	const struct json *list = json_at(user_job(u, home), "/metadata/finalizers");
	struct json *others = json_new_arr(&s->arena);

	for (size_t i = 0; i < json_len(list); i++) {
		mk_str name = json_str(json_elem(list, i));

		if (!str_is(name, USER_FINALIZER)) {
			json_add(&s->arena, others, json_new_str(&s->arena, name));
		}
	}
	say(s, "world", "a controller lets go of %s", u->name);
	(void)plane_merge(home, user_path(s, u, true),
			  arena_printf(&s->arena, "{\"metadata\":{\"finalizers\":%.*s}}",
				       STR_ARG(json_write(&s->arena, others))));
}

static void turn(struct sim *s, struct fault *f)
{
	for (size_t i = 0; i < s->n_users; i++) {
		const struct user *u = &s->user[i];
		const struct json *job = user_job(u, &s->plane[u->site->home]);
		mk_str held = json_write(&s->arena, json_at(job, "/metadata/finalizers"));

		if (json_at(job, "/metadata/deletionTimestamp") != NULL &&
		    memmem(held.p, held.n, USER_FINALIZER, strlen(USER_FINALIZER)) != NULL &&
		    rng_chance(&f->rng, 1, 8)) {
			let_go(s, u);
		}
	}
	fault_later(s, f, SECOND);
}

FAULT(foreground) = {
	.family = FAULT_OF_WORLD,
	.number = 26,
	.name = "jobs deleted in the foreground",
	.world = "foreground",
	.on_request = true, /* older seeds would have another meaning */
	.draw = draw,
	.begin = turn,
	.turn = turn,
};
