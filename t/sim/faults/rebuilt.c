/* SPDX-License-Identifier: Apache-2.0 */
/* The manager is built anew from a backup: every uid is another one. */
#include "core/api/names.h"
#include "t/sim/churn.h"
#include "t/sim/sim.h"

#define PREBUILT "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"
#define MANAGER "/metadata/annotations/multikueued.io~1manager-id"

enum { TOLD_LATE_MS = 30 * 1000 };

/* Its own manager's server. */
static void rebuilt_draw(struct sim *s, struct fault *f, struct rng *r)
{
	(void)r;
	f->plane = s->proc[f->proc].site->home;
}

static void rebuilt_begin(struct sim *s, struct fault *f)
{
	arena_init(&f->arena, 0);
	f->snapshot = ks_snapshot(s->plane[f->plane].store, &f->arena);
}

/* Does its check say that Workloads of the former manager are in the way? */
static bool is_told(const struct site *site, const struct json *wl)
{
	mk_str said =
		json_str(json_get(json_elem(json_at(wl, "/status/admissionChecks"), 0), "message"));

	return said.n > 0 &&
	       memmem(said.p, said.n, site->former_manager, strlen(site->former_manager)) != NULL;
}

/*
 * A copy of the former manager that no Workload here waits for, as one that is inactive does not,
 * or that was made from another spec and is in the way of one: only an operator can know what it is
 * worth.
 */
static bool is_leftover(const struct site *site, const struct json *o)
{
	mk_str name = json_str_at(o, PREBUILT);
	const struct json *wl;

	name = name.n > 0 ? name : json_str_at(o, "/metadata/name");
	wl = ks_get(site->sim->plane[site->home].store, WORKLOADS, STR("default"), name);
	return str_is(json_str_at(o, MANAGER), site->former_manager) &&
	       (!wl || has_condition(wl, "Finished") || rest_inactive(wl) || is_told(site, wl));
}

static void clean_up(const struct site *site, struct plane *p, const char *resource)
{
	size_t pos = 0;
	const struct json *o;

	for (o = ks_each(p->store, resource, &pos); o != NULL;
	     o = ks_each(p->store, resource, &pos)) {
		if (is_leftover(site, o)) {
			world_delete(p, resource, json_str_at(o, "/metadata/name"));
		}
	}
}

/* Operators name the former manager, and after a while delete what is left of it. */
static void rebuilt_turn(struct sim *s, struct fault *f)
{
	struct site *site = s->plane[f->plane].site;

	if (!site->tells_manager) {
		say(s, "world", "an operator names the former manager");
		site->tells_manager = true;
		world_restart(s, site, &f->rng);
	} else if (s->now > FAULTS_END_MS + 2 * TOLD_LATE_MS) {
		for (size_t i = 1; i <= s->n_workers; i++) {
			for (size_t kind = 0; job_resource(s, kind) != NULL; kind++) {
				clean_up(site, &s->plane[i], job_resource(s, kind));
			}
			clean_up(site, &s->plane[i], WORKLOADS);
		}
	}
	if (s->now < 10 * FAULTS_END_MS) {
		fault_later(s, f, TOLD_LATE_MS);
	}
}

/* With or without any status or Workload. */
static void rebuilt_over(struct sim *s, struct fault *f)
{
	struct site *site = s->plane[f->plane].site;

	for (size_t i = 0; i < s->n_users; i++) {
		s->user[i].meddled = true;
	}
	site->tells_manager = f->variant % 2 == 0;
	world_restart(s, site, &f->rng);
	world_rebuild(s, site, f->snapshot, f->variant % 4 < 2, f->variant < 6);
	upkeep(s);
	churn_restored(s, &s->plane[f->plane]);
	fault_later(s, f, TOLD_LATE_MS);
}

FAULT(rebuilt) = {
	.family = FAULT_OF_WORLD,
	.number = 2,
	.name = "manager built anew",
	.world = "rebuilt",
	.drops_workloads = true,
	.draw = rebuilt_draw,
	.begin = rebuilt_begin,
	.turn = rebuilt_turn,
	.over = rebuilt_over,
};
