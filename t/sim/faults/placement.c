/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher placement, with sections from the file and from annotations, over workers whose
 * quota, tenants, labels, taints, cordons and reachability change for minutes; with preemption in
 * turns, timeouts of placement, and jobs that fit nowhere. Then all is well and large. What must
 * hold meanwhile is in t/sim/placing.c.
 */
#include <stdio.h>

#include "core/api/names.h"
#include "t/sim/churn.h"

enum {
	LARGEST_JOB = 8, /* pods */
	/* Of the variant for each worker: which cordon, and whether its label is missing. */
	CORDON = 3,
	UNLABELLED = 4,
	WORKER_BITS = 3,
};

/* What jobs say; the number of a wish is the one of placing_wishes. */
#define REQUIRES(selector) ",\"multikueued.io/requires\":\"" selector "\""
static const char *const job_notes[] = {
	NULL,
	NULL,
	NULL,
	REQUIRES("zone=a"),
	REQUIRES("zone in (a, b)") ",\"multikueued.io/group\":\"g\"",
	REQUIRES("!zone"),
	",\"multikueued.io/prefers\":\"zone=b, cloud\"",
	",\"multikueued.io/tolerates\":\"team=ml\"",
	REQUIRES("zone!=a") ",\"multikueued.io/tolerates\":\"team\"",
};

/* Some take so long that what waits behind them has to go elsewhere. */
static int64_t draw_run_ms(struct rng *r)
{
	return rng_chance(r, 1, 4) ? rng_range(r, 30 * SECOND, 150 * SECOND)
				   : rng_range(r, SECOND, 25 * SECOND);
}

static const char *draw_notes(struct rng *r)
{
	return job_notes[rng_below(r, sizeof(job_notes) / sizeof(job_notes[0]))];
}

/* --- what is drawn at first ------------------------------------------------------------------- */

static char draw_zone(struct rng *r)
{
	static const char zones[] = {'a', 'b', 0};

	return zones[rng_below(r, 3)];
}

static void placement_prepare(struct sim *s)
{
	placing_init(s);
	s->selects = s->cordons = true;
}

static void placement_draw(struct sim *s, struct fault *f, struct rng *r)
{
	struct places *x = s->places;

	f->until = 2000; /* what follows goes on after the faults of other kinds */
	f->variant = 0;
	x->until = rng_range(r, 3 * MINUTE, 9 * MINUTE);
	s->placement_timeout_ms = rng_chance(r, 1, 3)   ? 0
				  : rng_chance(r, 1, 2) ? rng_range(r, 8 * SECOND, 40 * SECOND)
							: rng_range(r, MINUTE, 5 * MINUTE);
	x->rejects = rng_chance(r, 1, 3);
	s->gates.orchestrated_preemption = rng_chance(r, 1, 2);
	x->has_cohort = rng_chance(r, 1, 2);
	section_draw(&x->file, r, true);
	section_draw(&x->config, r, false);
	section_draw(&x->check, r, false);
	section_parse(x);
	for (size_t i = 1; i <= s->n_workers; i++) {
		x->at[i] = (struct place){.zone = draw_zone(r),
					  .is_cloud = rng_chance(r, 1, 4),
					  .preempts = rng_chance(r, 1, 3),
					  .nominal = (unsigned)rng_below(r, 5),
					  .other = (unsigned)rng_below(r, 3)};
	}
	for (size_t i = 0; i < s->n_users; i++) {
		s->user[i].run_ms = draw_run_ms(r);
		/* What others have there may be in the way of the only worker that may take it. */
		if (s->user[i].kind != USER_FOREIGN_JOB && s->n_sites == 1 &&
		    s->user[i].kind != USER_FOREIGN_WORKLOAD) {
			s->user[i].notes = draw_notes(r);
		}
	}
}

static void placement_want(const struct fault *f, struct wanted *w)
{
	static const char *const words[] = {NULL, "\"Cordon\"", "\"Evict\"", "\"Drain\""};

	for (size_t i = 1; i < PLACES_MAX; i++) {
		unsigned bits = f->variant >> WORKER_BITS * i;

		w->cordon[i] = words[bits & CORDON];
		w->unlabelled[i] = (bits & UNLABELLED) != 0;
	}
}

/* --- objects ---------------------------------------------------------------------------------- */

/* Our queue, which may borrow; the other tenants' queue, which may not. */
static void keep_queues(struct sim *s, size_t i)
{
	struct plane *p = &s->plane[i];
	const struct place *at = &s->places->at[i];
	const char *cohort = s->places->has_cohort ? ",\"cohortName\":\"all\"" : "";

	(void)plane_request(p, "POST", KUEUE "clusterqueues", NULL,
			    STR("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
				"\"ClusterQueue\",\"metadata\":{\"name\":\"cqt\"},\"spec\":{"
				"\"namespaceSelector\":{}}}"));
	(void)plane_request(p, "POST", KUEUE "namespaces/default/localqueues", NULL,
			    STR("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
				"\"LocalQueue\",\"metadata\":{\"name\":\"lqt\",\"namespace\":"
				"\"default\"},\"spec\":{\"clusterQueue\":\"cqt\"}}"));
	(void)plane_merge(
		p, KUEUE "clusterqueues/cqt",
		arena_printf(
			&s->arena, "{\"spec\":{%.*s%s}}",
			STR_ARG(plane_groups(s, at->other,
					     s->places->has_cohort ? ",\"borrowingLimit\":0" : "")),
			cohort));
	(void)plane_merge(
		p, KUEUE "clusterqueues/cq",
		arena_printf(&s->arena, "{\"spec\":{%.*s%s,\"preemption\":%s}}",
			     STR_ARG(plane_groups(s, at->nominal, "")), cohort,
			     at->preempts ? "{\"withinClusterQueue\":\"LowerPriority\"}" : "null"));
}

static void keep_cluster(struct sim *s, struct plane *home, size_t i)
{
	const struct place *at = &s->places->at[i];
	char zone[8] = "null";

	if (at->zone != 0) {
		snprintf(zone, sizeof(zone), "\"%c\"", at->zone);
	}
	(void)plane_merge(home, arena_printf(&s->arena, KUEUE "multikueueclusters/w%zu", i).p,
			  arena_printf(&s->arena,
				       "{\"metadata\":{\"labels\":{\"zone\":%s,\"cloud\":%s},"
				       "\"annotations\":{\"multikueued.io/taints\":%s,"
				       "\"multikueued.io/cost\":\"%zu\"}}}",
				       zone, at->is_cloud ? "\"yes\"" : "null",
				       at->is_tainted ? "\"team=ml\"" : "null", i * 3 % 4));
}

static void keep_annotation(struct sim *s, struct plane *home, const char *path,
			    const struct section *x)
{
	mk_str text = json_write(&s->arena, json_new_str(&s->arena, str_of(x->text)));

	(void)plane_merge(home, path,
			  arena_printf(&s->arena,
				       "{\"metadata\":{\"annotations\":{\"" NAME_DISPATCHER_CONFIG
				       "\":%.*s}}}",
				       STR_ARG(text)));
}

/* As upkeep(): what others changed, deleted or restored becomes what it was. */
static void keep_objects(struct sim *s)
{
	const struct places *x = s->places;

	for (size_t i = 1; i <= s->n_workers; i++) {
		keep_queues(s, i);
	}
	for (size_t k = 0; k < s->n_sites; k++) {
		struct plane *home = &s->plane[s->site[k].home];

		for (size_t i = 1; i <= s->n_workers; i++) {
			keep_cluster(s, home, i);
		}
		keep_annotation(s, home, KUEUE "multikueueconfigs/mkc", &x->config);
		keep_annotation(s, home, KUEUE "admissionchecks/mk", &x->check);
	}
}

/* --- what happens ----------------------------------------------------------------------------- */

static void say_place(struct sim *s, size_t i, const char *what)
{
	say(s, "world", "w%zu %s", i, what);
}

/* Another tenant of the worker gets a Workload of so many pods, in our queue or in its own. */
static void tenant_comes(struct sim *s, struct fault *f, size_t i)
{
	struct places *x = s->places;
	unsigned slot = (unsigned)rng_below(&f->rng, TENANTS);
	struct place *at = &x->at[i];
	const char *queue = rng_chance(&f->rng, 1, 3) ? "lqt" : "lq";

	if (at->tenant_until[slot] != 0) {
		return;
	}
	at->tenant_until[slot] = s->now + draw_run_ms(&f->rng);
	(void)plane_request(
		&s->plane[i], "POST", KUEUE "namespaces/default/workloads", NULL,
		arena_printf(
			&s->arena,
			"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
			"\"metadata\":{\"name\":\"tenant-%u\",\"namespace\":\"default\"},\"spec\":{"
			"\"queueName\":\"%s\",\"podSets\":[{\"name\":\"main\",\"count\":%llu,"
			"\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
			"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
			slot, queue, 1 + (unsigned long long)rng_below(&f->rng, 2)));
	say_place(s, i, "has a Workload of another tenant");
}

static mk_str tenant_name(struct sim *s, size_t slot)
{
	return arena_printf(&s->arena, "tenant-%zu", slot);
}

static void tenant_goes(struct sim *s, size_t i, size_t slot)
{
	s->places->at[i].tenant_until[slot] = 0;
	if (ks_get(s->plane[i].store, WORKLOADS, STR("default"), tenant_name(s, slot))) {
		world_delete(&s->plane[i], WORKLOADS, tenant_name(s, slot));
	}
}

/* Out of reach, or half of what is sent there fails. */
static void lose(struct sim *s, struct fault *f, struct plane *p, int64_t most_ms)
{
	struct place *at = &s->places->at[p->index];

	if (at->lost_until != 0 || excuse_late(s, p)) {
		return;
	}
	at->lost_until = s->now + rng_range(&f->rng, SECOND, most_ms);
	excuse_disturbed(p, true);
	if (is_worker(p) && rng_chance(&f->rng, 2, 3)) {
		p->refuse = true;
		plane_end_streams(p, TRANSPORT_LOST);
	} else {
		p->error = true;
	}
	say(s, "world", "%s is %s", p->name, p->refuse ? "lost" : "refusing half of it");
}

static void find(struct sim *s, struct plane *p)
{
	struct place *at = &s->places->at[p->index];

	at->lost_until = 0;
	p->refuse = p->error = false;
	excuse_disturbed(p, false);
	say(s, "world", "%s is back", p->name);
}

static void serve(struct sim *s, size_t i, int64_t until)
{
	struct plane *p = &s->plane[i];

	s->places->at[i].unserved_until = until;
	p->forbid_jobs = until != 0;
	excuse_disturbed(p, until != 0);
	ks_watch_end_all(p->store);
	plane_watches(p);
	say_place(s, i, until != 0 ? "does not serve jobs" : "serves jobs");
}

static void restart(struct sim *s, struct fault *f)
{
	struct proc *p = &s->proc[rng_below(&f->rng, s->n_procs)];

	if (p->alive) {
		proc_restart(p, rng_range(&f->rng, 10, 5000));
		say(s, "world", "daemon %zu is restarted", p->index);
	}
}

static void submit(struct sim *s, struct fault *f)
{
	s->notes = draw_notes(&f->rng);
	s->each_pods = rng_chance(&f->rng, 1, 6) ? (unsigned)rng_range(&f->rng, 4, LARGEST_JOB)
						 : (unsigned)rng_range(&f->rng, 1, 3);
	(void)user_submits(s, draw_run_ms(&f->rng));
	s->notes = NULL;
	s->each_pods = 0;
}

static void change_place(struct fault *f, struct place *at)
{
	switch (rng_below(&f->rng, 4)) {
	case 0:
		at->zone = draw_zone(&f->rng);
		break;
	case 1:
		at->is_cloud = !at->is_cloud;
		break;
	case 2:
		at->is_tainted = !at->is_tainted;
		break;
	default:
		at->other = (unsigned)rng_below(&f->rng, 3);
		at->preempts = rng_chance(&f->rng, 1, 3);
		break;
	}
}

static void say_all(struct sim *s, size_t i, const struct fault *f)
{
	const struct place *at = &s->places->at[i];

	say(s, "world", "w%zu: zone %c%s%s%s, quota %u and %u, cordon and label %u", i,
	    at->zone ? at->zone : '-', at->is_cloud ? ", cloud" : "",
	    at->is_tainted ? ", tainted" : "", at->preempts ? ", preempts" : "", at->nominal,
	    at->other, f->variant >> WORKER_BITS * i & (CORDON | UNLABELLED));
}

static void happens(struct sim *s, struct fault *f)
{
	size_t i = 1 + (size_t)rng_below(&f->rng, s->n_workers);
	struct place *at = &s->places->at[i];
	unsigned shift = WORKER_BITS * (unsigned)i;

	switch (rng_below(&f->rng, 20)) {
	case 0:
	case 1:
		f->variant &= ~((unsigned)CORDON << shift);
		f->variant |= (unsigned)(rng_chance(&f->rng, 1, 2) ? rng_below(&f->rng, 4) : 0)
			      << shift;
		upkeep(s);
		break;
	case 2:
		f->variant ^= (unsigned)UNLABELLED << shift;
		upkeep(s);
		break;
	case 3:
	case 4:
		change_place(f, at);
		break;
	case 5:
	case 6:
	case 7:
		at->nominal = (unsigned)rng_below(&f->rng, 5);
		break;
	case 8:
	case 9:
	case 10:
		tenant_comes(s, f, i);
		break;
	case 11:
		lose(s, f, &s->plane[i], 40 * SECOND);
		break;
	case 12:
		lose(s, f, &s->plane[s->site[0].home], 4 * SECOND);
		break;
	case 13:
		restart(s, f);
		break;
	case 14:
		section_draw(&s->places->check, &f->rng, false);
		placing_forget(s); /* rounds have another length */
		say(s, "world", "the check says %s", s->places->check.text);
		break;
	case 15:
		if (at->unserved_until == 0 && !s->plane[i].forbid_jobs &&
		    !excuse_late(s, &s->plane[i])) {
			serve(s, i, s->now + rng_range(&f->rng, 5 * SECOND, 30 * SECOND));
		}
		break;
	default:
		submit(s, f);
		break;
	}
	say_all(s, i, f);
}

/* What lasted is over. */
static void ends(struct sim *s, bool all)
{
	for (size_t i = 0; i <= s->n_workers; i++) {
		struct place *at = &s->places->at[i];

		if (at->lost_until != 0 && (all || s->now >= at->lost_until)) {
			find(s, &s->plane[i]);
		}
		if (at->unserved_until != 0 && (all || s->now >= at->unserved_until)) {
			serve(s, i, 0);
		}
		for (size_t slot = 0; i > 0 && slot < TENANTS; slot++) {
			if (all ||
			    (at->tenant_until[slot] != 0 && s->now >= at->tenant_until[slot])) {
				tenant_goes(s, i, slot);
			}
		}
	}
}

/* --- preemption on workers, as Kueue there does it -------------------------------------------- */

static bool is_open(const struct json *wl)
{
	return str_is(json_str(json_get(
			      json_find(json_at(wl, "/status/preemptionGates"), "name", NAME_GATE),
			      "position")),
		      "Open");
}

/* A tenant of our queue with quota; TENANTS: none. */
static size_t victim(struct sim *s, size_t i)
{
	size_t slot = 0;

	for (; slot < TENANTS; slot++) {
		const struct json *wl =
			ks_get(s->plane[i].store, WORKLOADS, STR("default"), tenant_name(s, slot));

		if (has_condition(wl, "QuotaReserved") &&
		    str_is(json_str_at(wl, "/spec/queueName"), "lq")) {
			break;
		}
	}
	return slot;
}

/* The first clone that waits evicts another tenant, if its gate lets it; else that is said. */
static void preempt(struct sim *s, size_t i)
{
	struct plane *p = &s->plane[i];
	size_t pos = 0, slot = s->places->at[i].preempts ? victim(s, i) : TENANTS;
	const struct json *wl;

	if (slot == TENANTS) {
		return;
	}
	for (wl = ks_each(p->store, WORKLOADS, &pos); wl; wl = ks_each(p->store, WORKLOADS, &pos)) {
		bool gated = json_len(json_at(wl, "/spec/preemptionGates")) > 0;

		if (!churn_is_remote(wl) || has_condition(wl, "QuotaReserved") ||
		    has_condition(wl, "Finished") ||
		    (gated && has_condition(wl, "BlockedOnPreemptionGates") && !is_open(wl))) {
			continue;
		}
		if (gated && !is_open(wl)) {
			(void)churn_block(s, p, wl);
		} else {
			tenant_goes(s, i, slot);
		}
		return;
	}
}

/* --- turns ------------------------------------------------------------------------------------ */

static void heal(struct sim *s, struct fault *f)
{
	static const char zones[] = {0, 'a', 'b', 0, 0};
	struct places *x = s->places;

	say(s, "world", "all is well, and workers have quota for all");
	ends(s, true);
	f->variant = 0;
	for (size_t i = 1; i <= s->n_workers; i++) {
		x->at[i] = (struct place){.zone = zones[i], .nominal = PLACES_LARGE_PODS};
	}
	section_free(&x->check);
	placing_forget(s);
	upkeep(s);
}

static void placement_turn(struct sim *s, struct fault *f)
{
	struct places *x = s->places;
	bool changes = s->now < FAULTS_END_MS + PLACES_LOOK_MS; /* restores undo what was written */

	if (s->now < x->until) {
		ends(s, false);
		if (rng_chance(&f->rng, 1, 3)) {
			happens(s, f);
			changes = true;
		}
	} else if (!x->is_over) {
		x->is_over = changes = true;
		heal(s, f);
	}
	if (changes) {
		keep_objects(s);
	}
	for (size_t i = 1; !x->is_over && i <= s->n_workers; i++) {
		preempt(s, i);
	}
	placing_look(s);
	fault_later(s, f, PLACES_LOOK_MS);
}

static void placement_begin(struct sim *s, struct fault *f)
{
	keep_objects(s);
	fault_later(s, f, PLACES_LOOK_MS);
}

FAULT(placement) = {
	.family = FAULT_OF_WORLD,
	.number = 11,
	.name = "placement over changing workers",
	.world = "placement",
	.alone = "it sets quota, labels and reach of workers, and judges waits by them alone",
	.on_request = true, /* older seeds would have another meaning */
	.lasts = true,
	.prepare = placement_prepare,
	.draw = placement_draw,
	.want = placement_want,
	.begin = placement_begin,
	.turn = placement_turn,
};
