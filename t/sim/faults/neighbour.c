/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MultiKueue of another manager's Kueue dispatches to the same workers, with the same default
 * origin and without an id of its manager: what it makes there is not ours, whatever happens. In a
 * world of its own it collects garbage there as Kueue does, once a minute: each Workload with its
 * origin whose name it does not have, ours as well where the origins are one. Then a job of ours
 * has lost clone and copy by its hands: it is not lost, does not run twice, and that is reported.
 */
#include <string.h>

#include "core/base/timefmt.h"
#include "t/sim/churn.h"
#include "t/sim/sim.h"

enum {
	THEIRS = 4,
	COLLECT_MS = MINUTE,
	TOLD_MS = MINUTE + 15 * SECOND, /* by then an Event tells what became of the job */
};

static mk_str name_of(struct sim *s, const struct fault *f, size_t i)
{
	return arena_printf(&s->arena, "theirs-%u-%zu", f->variant, i);
}

static struct plane *drawn_worker(struct sim *s, struct fault *f)
{
	return &s->plane[1 + rng_below(&f->rng, (uint64_t)s->n_workers)];
}

/* Of the world that collects, half has an origin of its own. */
static const char *origin_of(const struct fault *f)
{
	return f->kind->number != 19 && f->variant % 2 != 0 ? "theirs" : "multikueue";
}

/* A clone, and, as after a win, its job. */
static void make(struct sim *s, struct fault *f, size_t i)
{
	struct plane *p = drawn_worker(s, f);
	mk_str name = name_of(s, f, i);

	(void)plane_request(
		p, "POST", WORKLOADS_PATH, NULL,
		arena_printf(&s->arena,
			     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
			     "\"metadata\":{\"name\":\"%.*s\",\"namespace\":\"default\",\"labels\":"
			     "{\"kueue.x-k8s.io/multikueue-origin\":\"%s\"}},\"spec\":{"
			     "\"queueName\":\"lq\",\"active\":true,\"podSets\":[{\"name\":\"main\","
			     "\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
			     "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
			     STR_ARG(name), origin_of(f)));
	if (rng_chance(&f->rng, 1, 2)) {
		(void)plane_request(
			p, "POST", JOBS_PATH, NULL,
			arena_printf(&s->arena,
				     "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{"
				     "\"name\":\"%.*s\",\"namespace\":\"default\",\"labels\":{"
				     "\"kueue.x-k8s.io/multikueue-origin\":\"%s\","
				     "\"kueue.x-k8s.io/prebuilt-workload-name\":\"%.*s\"}},"
				     "\"spec\":{\"suspend\":true,\"template\":{\"spec\":{"
				     "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
				     "\"image\":\"i\"}]}}}}",
				     STR_ARG(name), origin_of(f), STR_ARG(name)));
	}
	say(s, "world", "another manager's Kueue makes %.*s on %s", STR_ARG(name), p->name);
}

static void neighbour_turn(struct sim *s, struct fault *f)
{
	size_t i = (size_t)rng_below(&f->rng, THEIRS);

	if (!f->on) {
		return;
	}
	world_unmake(s, name_of(s, f, i));
	if (rng_chance(&f->rng, 3, 4)) {
		make(s, f, i);
	}
	fault_later(s, f, rng_range(&f->rng, 500, 20000));
}

/* --- its garbage collector -------------------------------------------------------------------- */

/* Does it know the Workload of that name? */
static bool is_theirs(struct sim *s, const struct fault *f, mk_str name)
{
	for (size_t i = 0; i < THEIRS; i++) {
		if (str_eq(name, name_of(s, f, i))) {
			return true;
		}
	}
	return false;
}

/* The owner goes only with that origin of its own; what is gone already is no error. */
static void collect_one(struct sim *s, const struct fault *f, struct plane *p, mk_str name)
{
	const struct json *o = ks_get(p->store, WORKLOADS, STR("default"), name);
	const struct json *owner = json_at(o, "/metadata/ownerReferences/0");
	mk_str job = arena_dup(&s->arena, json_str(json_get(owner, "name")));

	if (str_is(json_str(json_get(owner, "kind")), "Job") &&
	    str_is(json_str_at(ks_get(p->store, JOBS, STR("default"), job), ORIGIN),
		   origin_of(f))) {
		world_delete(p, JOBS, job);
	}
	world_delete(p, WORKLOADS, name);
}

/* The job whose winner loses its clone: from then on that is to be told. */
static void note_collected(struct sim *s, const struct plane *p, mk_str name)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct json *wl =
			ks_get(s->plane[s->site[i].home].store, WORKLOADS, STR("default"), name);
		struct user *u = user_by_workload(s, wl);

		if (u && leads_winner(s, wl) == p && judged_of(s, u)->collected_at == 0) {
			judged_of(s, u)->collected_at = s->now;
			judged_of(s, u)->collected_on = p->index;
		}
	}
}

static void collect(struct sim *s, const struct fault *f, struct plane *p)
{
	size_t pos = 0;
	const struct json *o;

	while ((o = ks_each(p->store, WORKLOADS, &pos)) != NULL) {
		mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));

		if (str_is(json_str_at(o, ORIGIN), origin_of(f)) && !is_theirs(s, f, name) &&
		    !json_at(o, "/metadata/deletionTimestamp")) {
			note_collected(s, p, name);
			collect_one(s, f, p, name);
		}
	}
}

/* Does the Workload's eviction tell, which our Retry brought since then? */
static bool is_evicted_since(const struct json *wl, int64_t at)
{
	const struct json *c = json_find(json_at(wl, "/status/conditions"), "type", "Evicted");
	mk_str said = json_str(json_get(c, "message"));
	int64_t ms;

	return time_parse(json_str(json_get(c, "lastTransitionTime")), &ms) &&
	       ms - WALL0 >= at - SECOND && said.n > 0 &&
	       memmem(said.p, said.n, "Retry state", strlen("Retry state")) != NULL;
}

/* Is what became of the job on record, or no matter any more? */
static bool is_told(struct sim *s, const struct user *u, const struct json *wl, int64_t at)
{
	return !wl || is_evicted_since(wl, at) || u->deleted ||
	       json_at(wl, "/metadata/deletionTimestamp") || has_condition(wl, "Finished") ||
	       judge_has_event(s, u, wl, at, STR(""));
}

static void look_told(struct sim *s)
{
	for (size_t i = 0; i < s->n_users; i++) {
		const struct user *u = &s->user[i];
		struct judged *j = judged_of(s, u);
		int64_t since, tells;

		if (j->collected_at == 0 || is_told(s, u, workload_of(s, u), j->collected_at)) {
			j->collected_at = 0;
			continue;
		}
		since = judge_calm_with(s, u->site, &s->plane[j->collected_on]);
		tells = judge_can_tell(s, u->site);
		since = since > tells ? since : tells;
		since = since > j->collected_at ? since : j->collected_at;
		if (since != INT64_MAX && s->now - since > TOLD_MS) {
			fail(s, "I6 words",
			     "another manager's Kueue deleted the clone of %s, and nothing tells",
			     u->name);
		}
	}
}

static void collector_turn(struct sim *s, struct fault *f)
{
	look_told(s);
	if (!f->on) {
		return;
	}
	neighbour_turn(s, f);
	if (s->now >= f->next_at) {
		f->next_at = s->now + COLLECT_MS;
		for (size_t i = 1; i <= s->n_workers; i++) {
			collect(s, f, &s->plane[i]);
		}
	}
}

static void collector_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->at = rng_range(r, 0, 20000);
	f->until = f->at + rng_range(r, MINUTE, 6 * MINUTE);
	for (size_t i = 0; i < s->n_users; i++) {
		if (rng_chance(r, 1, 2)) {
			s->user[i].run_ms = rng_range(r, 10 * SECOND, 2 * MINUTE);
		}
	}
}

static void neighbour_draw(struct sim *s, struct fault *f, struct rng *r)
{
	(void)s;
	f->at = rng_range(r, 0, 20000);
}

/* Its jobs are gone before the end is judged: nothing of any manager is left then. */
static void neighbour_over(struct sim *s, struct fault *f)
{
	for (size_t i = 0; i < THEIRS; i++) {
		world_unmake(s, name_of(s, f, i));
	}
}

/* The restore of a worker brings them back, and that manager collects its garbage as ours does. */
static void neighbour_restored(struct sim *s, struct fault *f, const struct plane *p)
{
	if (is_worker(p) && !f->on) {
		neighbour_over(s, f);
	}
}

FAULT(neighbour) = {
	.family = FAULT_OF_WORLD,
	.number = 19,
	.name = "another manager's Kueue",
	.world = "neighbour",
	.draw = neighbour_draw,
	.begin = neighbour_turn,
	.turn = neighbour_turn,
	.over = neighbour_over,
	.restored = neighbour_restored,
};

FAULT(collector) = {
	.family = FAULT_OF_WORLD,
	.number = 31,
	.name = "another manager's Kueue collects",
	.world = "collector",
	.on_request = true,
	.stays = true,
	.unsettled = true,
	.draw = collector_draw,
	.begin = collector_turn,
	.turn = collector_turn,
	.over = neighbour_over,
	.restored = neighbour_restored,
};
