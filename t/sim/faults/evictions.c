/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's Kueue ends rounds by itself, as long as this is on: it evicts clones and queues them
 * again, before the win and after it (a ProvisioningRequest that says Retry, pods that are not
 * ready in time), or cannot start a job (FailedToStart), or finds it another one (OutOfSync).
 */
#include "t/sim/churn.h"
#include "t/sim/sim.h"

static void again_soon(struct sim *s, struct fault *f)
{
	fault_later(s, f, rng_range(&f->rng, 200, 2000));
}

static void put_condition(struct sim *s, struct json *list, const char *type, bool on,
			  const char *reason)
{
	struct arena *a = &s->arena;
	struct json *c = json_find(list, "type", type);

	if (!c) {
		c = json_new_obj(a);
		json_add(a, list, c);
	}
	json_set_str(a, c, "type", str_of(type));
	json_set_str(a, c, "status", on ? STR("True") : STR("False"));
	json_set_str(a, c, "reason", str_of(reason));
	json_set_str(a, c, "message", STR("as the world says"));
	json_set_str(a, c, "lastTransitionTime", STR("2027-01-15T08:00:00Z"));
}

/* Without a job nothing has to stop first: the quota goes, and the clone is queued again. */
static void evict(struct sim *s, struct json *status, struct json *list, bool has_job)
{
	put_condition(s, list, "Evicted", true, has_job ? "PodsReadyTimeout" : "AdmissionCheck");
	if (!has_job) {
		json_set(&s->arena, status, STR("admission"), NULL);
		put_condition(s, list, "QuotaReserved", false, "Pending");
		put_condition(s, list, "Admitted", false, "NoReservation");
		put_condition(s, list, "Requeued", true, "BackoffFinished");
	}
}

/* True: the clone gets an end, or an eviction. */
static bool touch(struct sim *s, const struct fault *f, struct plane *p, const struct json *o)
{
	struct arena *a = &s->arena;
	mk_str name = arena_dup(a, json_str_at(o, "/metadata/name"));
	const struct json *job =
		ks_get(p->store, JOBS, STR("default"),
		       json_str_at(o, "/metadata/annotations/multikueued.io~1owner-name"));
	struct json *status = json_dup(a, json_get(o, "status"));
	struct json *list = json_get(status, "conditions");
	bool idle = job && json_bool(json_at(job, "/spec/suspend"));

	if (!list || has_condition(o, "Finished") || has_condition(o, "Evicted") ||
	    !has_condition(o, "QuotaReserved")) {
		return false;
	}
	if (f->variant % 4 < 2) {
		evict(s, status, list, job != NULL);
	} else if (idle && has_condition(o, "Admitted")) {
		put_condition(s, list, "Finished", true,
			      f->variant % 4 == 2 ? "FailedToStart" : "OutOfSync");
	} else {
		return false;
	}
	say(s, "world", "%s: Kueue ends the round of %.*s: %d", p->name, STR_ARG(name),
	    churn_apply_status(s, p, name, status));
	return true;
}

static void turn(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];
	const struct json *o;
	size_t pos = 0;

	if (!f->on) {
		return;
	}
	for (o = ks_each(p->store, WORKLOADS, &pos); o != NULL;
	     o = ks_each(p->store, WORKLOADS, &pos)) {
		if (churn_is_remote(o) && rng_chance(&f->rng, 1, 3) && touch(s, f, p, o)) {
			break; /* the store has changed under the loop */
		}
	}
	again_soon(s, f);
}

FAULT(evictions) = {
	.family = FAULT_OF_WORLD,
	.number = 16,
	.name = "Kueue there ends rounds",
	.world = "evictions",
	.begin = again_soon,
	.turn = turn,
};
