/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks for a job is gone: the manager's ClusterQueue loses the check and regains it, or the
 * owner of a Workload goes. Nothing new is begun then, and what was begun comes to its end.
 */
#include <stdio.h>

#include "t/sim/churn.h"
#include "t/sim/sim.h"

enum { BACK = 7 }; /* a variant: the queue has it for a while */

static void checkless_want(const struct fault *f, struct wanted *w)
{
	w->unchecked |= f->on && f->variant != BACK;
}

/* While most jobs are submitted and run. */
static void checkless_draw(struct sim *s, struct fault *f, struct rng *r)
{
	(void)s;
	f->at = rng_range(r, 1000, 20000);
}

/* It comes and goes. */
static void checkless_turn(struct sim *s, struct fault *f)
{
	if (f->on) {
		f->variant = f->variant == BACK ? 0 : BACK;
		upkeep(s);
		fault_later(s, f, rng_range(&f->rng, 200, 8000));
	}
}

static void checkless_begin(struct sim *s, struct fault *f)
{
	f->variant %= BACK;
	if (f->variant % 2 == 0) {
		fault_later(s, f, rng_range(&f->rng, 200, 8000));
	}
}

FAULT(checkless) = {
	.family = FAULT_OF_WORLD,
	.number = 17,
	.name = "queue without check",
	.world = "checkless",
	.drops_check = true,
	.draw = checkless_draw,
	.want = checkless_want,
	.begin = checkless_begin,
	.turn = checkless_turn,
};

/* --- orphans ---------------------------------------------------------------------------------- */

enum { FINISHED_LATE_MS = 150 * 1000 };

/*
 * kubectl delete --cascade=orphan: the garbage collector takes the owner reference, and the job
 * goes. Its copy is not told to stop.
 */
static void orphan_begin(struct sim *s, struct fault *f)
{
	struct plane *home = churn_home(s, f);
	const struct json *wl = churn_pick(s, home->store, WORKLOADS, churn_has_won);
	struct user *u = user_by_workload(s, wl);
	mk_str name = arena_dup(&s->arena, json_str_at(wl, "/metadata/name"));

	if (!u || u->kind != USER_JOB || u->deleted || has_condition(wl, "Finished")) {
		return;
	}
	snprintf(f->name, sizeof(f->name), "%.*s", STR_ARG(name));
	churn_patch_workload(s, home, wl, "{\"metadata\":{\"ownerReferences\":null}}");
	say(s, "world", "%s is deleted, and its Workload stays", u->name);
	(void)plane_request(home, "DELETE", user_path(s, u, true), NULL,
			    STR("{\"propagationPolicy\":\"Background\"}"));
	u->deleted = true;
	fault_later(s, f, FINISHED_LATE_MS);
}

/*
 * An orphan that was evicted has no job which could give its quota back: Kueue ends it. One that
 * a restore of the manager gave its job again is none.
 */
static void orphan_turn(struct sim *s, struct fault *f)
{
	struct plane *home = churn_home(s, f);
	const struct json *wl = ks_get(home->store, WORKLOADS, STR("default"), str_of(f->name));

	if (wl != NULL && json_len(json_at(wl, "/metadata/ownerReferences")) == 0 &&
	    !has_condition(wl, "Finished")) {
		say(s, "world", "Kueue ends the orphan %s", f->name);
		(void)plane_merge(home, churn_path(s, WORKLOAD_PATH, str_of(f->name), "/status"),
				  STR("{\"status\":{\"conditions\":[{\"type\":\"Finished\","
				      "\"status\":\"True\",\"reason\":\"OwnerNotFound\","
				      "\"message\":\"\",\"lastTransitionTime\":"
				      "\"2027-01-15T08:00:00Z\"}]}}"));
	}
}

FAULT(orphan) = {
	.family = FAULT_OF_WORLD,
	.number = 18,
	.name = "job deleted, Workload kept",
	.world = "orphan",
	.drops_check = true,
	.begin = orphan_begin,
	.turn = orphan_turn,
};
