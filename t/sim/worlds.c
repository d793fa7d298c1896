/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worlds that a few of the wide seeds live in: a server under two names, an origin that changes, a
 * manager built anew, a worker that serves no jobs, refuses clones, deletes them, or is taken out.
 * Each has a generator of its own, so that none changes another's draws, and is tried by default
 * when it stands in the list below; sim --world NAME tries it in every wide seed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/api/names.h"
#include "core/base/timefmt.h"
#include "t/sim/sim.h"

#define WORKLOADS "kueue.x-k8s.io/v1beta2/workloads"
#define JOBS "batch/v1/jobs"
#define JOB_PATH "/apis/batch/v1/namespaces/default/jobs/"
#define PREBUILT "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"
#define MANAGER "/metadata/annotations/multikueued.io~1manager-id"
#define ORIGIN "/metadata/labels/kueue.x-k8s.io~1multikueue-origin"

enum { ONE_OF = 10, TOLD_LATE_MS = 30 * 1000 };

/* One line each: is it tried by default, in seeds and stories? */
static const struct {
	const char *name;
	bool enabled;
} worlds[FAULT_N - FAULT_WORLD] = {
	[FAULT_ALIAS - FAULT_WORLD] = {"alias", true},
	[FAULT_ORIGIN - FAULT_WORLD] = {"origin", true},
	[FAULT_REBUILT - FAULT_WORLD] = {"rebuilt", true},
	[FAULT_UNSERVED - FAULT_WORLD] = {"unserved", true},
	[FAULT_RETENTION - FAULT_WORLD] = {"retention", true},
	[FAULT_PRUNED - FAULT_WORLD] = {"pruned", true},
	[FAULT_KINDS - FAULT_WORLD] = {"kinds", true},
	[FAULT_REFUSED - FAULT_WORLD] = {"refused", true},
	[FAULT_CORDON - FAULT_WORLD] = {"cordon", true},
	/* Not by default: older seeds would have another meaning. */
	[FAULT_STUCK - FAULT_WORLD] = {"stuck", false},
};

bool world_enabled(enum fault_type type)
{
	return worlds[type - FAULT_WORLD].enabled;
}

const char *world_name(enum fault_type type)
{
	return worlds[type - FAULT_WORLD].name;
}

enum fault_type world_named(mk_str name)
{
	enum fault_type t = FAULT_WORLD;

	while (t < FAULT_N && !str_is(name, world_name(t))) {
		t++;
	}
	return t;
}

bool churn_is_on(const struct sim *s, enum fault_type type, size_t plane)
{
	for (size_t i = 0; i < s->n_faults; i++) {
		if (s->fault[i].on && s->fault[i].type == type &&
		    (plane == SIZE_MAX || s->fault[i].plane == plane)) {
			return true;
		}
	}
	return false;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static struct fault *add_fault(struct sim *s, enum fault_type type, struct rng *r)
{
	struct fault *f = &s->fault[s->n_faults];
	struct msg *m = msg_new(s, M_FAULT);

	f->type = type;
	f->at = rng_range(r, 1000, 50000);
	f->until = f->at + rng_range(r, 10000, 70000);
	f->plane = 1 + (size_t)rng_below(r, s->n_workers);
	f->proc = (size_t)rng_below(r, s->n_procs);
	f->variant = (unsigned)rng_below(r, 8);
	m->index = s->n_faults++;
	schedule(s, m, f->at);
	return f;
}

static void draw_alias(struct sim *s, struct fault *f, struct rng *r)
{
	s->alias = (struct alias){.place = (enum alias_place)(1 + rng_below(r, 4)),
				  .on = rng_chance(r, 1, 2),
				  .plane = f->plane};
	if (s->alias.place == ALIAS_OTHER_CONFIG) {
		plane_other_queue(s);
	}
	for (size_t i = 0; s->alias.place == ALIAS_OTHER_CONFIG && i < s->n_users; i++) {
		s->user[i].elsewhere = rng_chance(r, 1, 2);
	}
	users_clear_later(s);
	if (s->alias.on) {
		churn_assert(s); /* it was always there */
	}
}

static void draw_kinds(struct sim *s, struct rng *r)
{
	sim_kinds_init(s);
	for (size_t i = 0; i < s->n_users; i++) {
		if (s->user[i].kind == USER_JOB && rng_chance(r, 1, 2)) {
			s->user[i].of = USER_OF_JOBSETS;
			s->user[i].run_ms = rng_range(r, 50, 9000);
		}
	}
}

static void draw_world(struct sim *s, enum fault_type type, struct rng *r)
{
	struct fault *f = add_fault(s, type, r);

	if (type == FAULT_ALIAS) {
		draw_alias(s, f, r);
	} else if (type == FAULT_KINDS) {
		draw_kinds(s, r);
	} else if (type == FAULT_STUCK) {
		stuck_draw(s, f, r);
	} else if (type == FAULT_REBUILT) {
		f->plane = s->proc[f->proc].site->home;
	} else if (type == FAULT_RETENTION && rng_chance(r, 2, 3)) {
		struct fault *away = add_fault(s, FAULT_BLACKHOLE, r);

		away->plane = f->plane;
	}
	f->rng = *r;
}

static bool draws(const struct sim *s, enum fault_type type, struct rng *r)
{
	bool drawn;

	rng_init(r, s->seed * 0x9e3779b97f4a7c15u + 2 + (uint64_t)(type - FAULT_WORLD));
	drawn = rng_chance(r, 1, ONE_OF) && world_enabled(type);
	return s->is_wide && !s->scripted &&
	       (s->wants_worlds ? (s->wants_worlds >> type & 1) != 0 : drawn);
}

bool world_drawn(const struct sim *s, enum fault_type type)
{
	struct rng r;

	return draws(s, type, &r);
}

void worlds_init(struct sim *s)
{
	for (int t = FAULT_WORLD; t < FAULT_N; t++) {
		struct rng r;

		if (draws(s, (enum fault_type)t, &r)) {
			draw_world(s, (enum fault_type)t, &r);
		}
	}
}

/* --- what deletes what it did not make -------------------------------------------------------- */

static bool is_old(struct sim *s, const struct json *o, int64_t age_ms, bool finished)
{
	const struct json *at = json_at(o, "/metadata/creationTimestamp");
	struct json_iter it = json_iter(json_at(o, "/status/conditions"));
	int64_t ms;

	while (finished && json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), "Finished")) {
			at = json_get(it.val, "lastTransitionTime");
		}
	}
	return json_str_at(o, ORIGIN).n > 0 && !json_at(o, "/metadata/deletionTimestamp") &&
	       (!finished || has_condition(o, "Finished")) && time_parse(json_str(at), &ms) &&
	       wall_of(s) >= ms + age_ms;
}

static void delete_one(struct plane *p, const char *resource, mk_str name)
{
	struct arena *a = &p->sim->arena;
	mk_str key = arena_dup(a, name);
	const char *plural = strrchr(resource, '/');

	say(p->sim, "world", "%s: %.*s is deleted", p->name, STR_ARG(key));
	(void)plane_request(p, "DELETE",
			    arena_printf(a, "/apis/%.*s/namespaces/default%s/%.*s",
					 (int)(plural - resource), resource, plural, STR_ARG(key))
				    .p,
			    NULL, STR("{\"propagationPolicy\":\"Background\"}"));
}

size_t world_deletes(struct plane *p, const char *resource, int64_t age_ms, bool finished)
{
	struct sim *s = p->sim;
	size_t pos = 0, n = 0;
	const struct json *o;

	for (o = ks_each(p->store, resource, &pos); o != NULL;
	     o = ks_each(p->store, resource, &pos)) {
		if (is_old(s, o, age_ms, finished)) {
			delete_one(p, resource, json_str_at(o, "/metadata/name"));
			n++;
		}
	}
	return n;
}

/* --- kinds that come and go ------------------------------------------------------------------- */

void world_crd(struct plane *p, bool served)
{
	struct sim *s = p->sim;
	size_t pos = 0;
	const struct json *o;

	for (o = served ? NULL : ks_each(p->store, JOBS, &pos); o != NULL;
	     o = ks_each(p->store, JOBS, &pos)) {
		const char *path = arena_printf(&s->arena, JOB_PATH "%.*s",
						STR_ARG(json_str_at(o, "/metadata/name")))
					   .p;

		/* With the definition of a kind go its objects. */
		(void)plane_request(p, "DELETE", path, NULL,
				    STR("{\"propagationPolicy\":\"Background\"}"));
		(void)plane_merge(p, path, STR("{\"metadata\":{\"finalizers\":null}}"));
	}
	(void)ks_serve(p->store, JOBS, served);
	ks_watch_end_all(p->store);
	plane_watches(p);
}

static void unserve(struct plane *p, const struct fault *f, bool on)
{
	if (f->variant % 2 == 0) {
		world_crd(p, !on);
		return;
	}
	p->forbid_jobs = on;
	ks_watch_end_all(p->store);
	plane_watches(p);
}

/* --- another origin, another manager ---------------------------------------------------------- */

void world_restart(struct sim *s, struct site *site, struct rng *r)
{
	for (size_t i = 0; i < s->n_procs; i++) {
		struct msg *m;

		if (s->proc[i].site != site) {
			continue;
		}
		proc_kill(&s->proc[i]);
		m = msg_new(s, M_START);
		m->proc = &s->proc[i];
		schedule(s, m, s->now + (r ? rng_range(r, 10, 3000) : 0));
	}
}

void world_change_origin(struct site *site, const char *origin)
{
	size_t n = 0;

	for (size_t i = 0; i < site->n_former_origins; i++) {
		if (!str_is(site->former_origins[i], origin)) {
			site->former_origins[n++] = site->former_origins[i];
		}
	}
	if (n < MAX_ORIGINS && strcmp(site->origin, origin) != 0) {
		site->former_origins[n++] = str_of(site->origin);
	}
	site->n_former_origins = n;
	site->origin = origin;
	say(site->sim, "world", "the origin is %s now", origin);
}

/* Every occurrence of the object's uid becomes another one. */
static void new_uid(char *text, size_t n, mk_str uid)
{
	static const char from[] = "0123456789abcdef", to[] = "89abcdef01234567";
	const char *digit = uid.n > 0 ? strchr(from, uid.p[0]) : NULL;
	char *at = text;

	while (digit && (at = memmem(at, n - (size_t)(at - text), uid.p, uid.n)) != NULL) {
		*at = to[digit - from];
		at += uid.n;
	}
}

static void new_uids(char *text, size_t n, const struct json *objects)
{
	static const char *const resources[] = {WORKLOADS, JOBS, "v1/namespaces"};

	for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++) {
		struct json_iter it = json_iter(json_get(objects, resources[i]));

		while (json_next(&it)) {
			new_uid(text, n, json_str_at(it.val, "/metadata/uid"));
		}
	}
}

void world_know_manager(struct site *site)
{
	const struct plane *p = &site->sim->plane[site->home];
	mk_str uid = json_str_at(ks_get(p->store, "v1/namespaces", STR(""), STR("kube-system")),
				 "/metadata/uid");

	if (str_is(uid, site->manager_id)) {
		return;
	}
	memcpy(site->former_manager, site->manager_id, sizeof(site->former_manager));
	snprintf(site->manager_id, sizeof(site->manager_id), "%.*s", STR_ARG(uid));
}

/*
 * What the backup left out: the status of what is not over, or Workloads, which Kueue makes anew.
 */
static void leave_out(struct arena *a, struct json *objects, bool status, bool workloads)
{
	static const char *const resources[] = {WORKLOADS, JOBS};

	for (size_t i = 0; status && i < 2; i++) {
		struct json_iter it = json_iter(json_get(objects, resources[i]));

		while (json_next(&it)) {
			if (!has_condition(it.val, "Finished") &&
			    !has_condition(it.val, "Complete") &&
			    !has_condition(it.val, "Failed")) {
				json_set(a, it.val, STR("status"), NULL);
			}
		}
	}
	if (workloads) {
		json_set(a, objects, STR(WORKLOADS), json_new_arr(a));
	}
}

void world_rebuild(struct sim *s, struct site *site, const struct json *snapshot, bool status,
		   bool workloads)
{
	mk_str text = json_write(&s->arena, snapshot);
	char *copy = malloc(text.n + 1);
	struct json *changed = NULL;

	if (!copy) {
		abort();
	}
	memcpy(copy, text.p, text.n);
	new_uids(copy, text.n, json_get(snapshot, "objects"));
	if (json_parse(&s->arena, (mk_str){copy, text.n}, &changed, NULL) != ERR_OK) {
		abort();
	}
	free(copy);
	leave_out(&s->arena, json_get(changed, "objects"), !status, !workloads);
	plane_restore(&s->plane[site->home], changed);
	world_know_manager(site);
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];
		char uid[sizeof(u->uid)];

		if (u->site == site && u->created) {
			memcpy(uid, u->uid, sizeof(uid));
			user_restored(s, u);
			memcpy(u->former_uid, uid, sizeof(uid));
		}
	}
	say(s, "world", "the manager is built anew");
}

/*
 * A copy of the former manager that no Workload here waits for: only an
 * operator can know what it is worth.
 */
static bool is_leftover(const struct site *site, const struct json *o)
{
	mk_str name = json_str_at(o, PREBUILT);
	const struct json *wl;

	name = name.n > 0 ? name : json_str_at(o, "/metadata/name");
	wl = ks_get(site->sim->plane[site->home].store, WORKLOADS, STR("default"), name);
	return str_is(json_str_at(o, MANAGER), site->former_manager) &&
	       (!wl || has_condition(wl, "Finished"));
}

static void clean_up(const struct site *site, struct plane *p, const char *resource)
{
	size_t pos = 0;
	const struct json *o;

	for (o = ks_each(p->store, resource, &pos); o != NULL;
	     o = ks_each(p->store, resource, &pos)) {
		if (is_leftover(site, o)) {
			delete_one(p, resource, json_str_at(o, "/metadata/name"));
		}
	}
}

static void people_later(struct sim *s, struct fault *f)
{
	struct msg *m = msg_new(s, M_CHURN);

	m->index = (size_t)(f - s->fault);
	schedule(s, m, s->now + TOLD_LATE_MS);
}

/* They name the former manager, and after a while delete what is left of it. */
static void people(struct sim *s, struct fault *f)
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
		people_later(s, f);
	}
}

static void rebuilt(struct sim *s, struct fault *f)
{
	struct site *site = s->plane[f->plane].site;

	site->tells_manager = f->variant % 2 == 0;
	world_restart(s, site, &f->rng);
	world_rebuild(s, site, f->snapshot, f->variant % 4 < 2, f->variant < 6);
	churn_assert(s);
	churn_restored_manager(s);
	people_later(s, f);
}

/* --- a worker taken out ----------------------------------------------------------------------- */

/* The annotation that takes the worker out: none, as a rule. */
static const char *cordon_of(const struct sim *s, size_t worker)
{
	static const char *const words[] = {"\"Cordon\"", "\"Evict\"", "\"Drain\""};

	for (size_t i = 0; i < s->n_faults; i++) {
		const struct fault *f = &s->fault[i];

		if (f->on && f->type == FAULT_CORDON && f->plane == worker) {
			return words[f->variant % 3];
		}
	}
	return "null";
}

void world_cordon(struct sim *s, struct plane *p, size_t worker)
{
	if (world_drawn(s, FAULT_CORDON)) {
		(void)plane_merge(
			p,
			arena_printf(&s->arena,
				     "/apis/kueue.x-k8s.io/v1beta2/multikueueclusters/w%zu", worker)
				.p,
			arena_printf(&s->arena,
				     "{\"metadata\":{\"annotations\":{\"" NAME_CORDON "\":%s}}}",
				     cordon_of(s, worker)));
	}
}

/* --- a world begins, and ends ----------------------------------------------------------------- */

static void again_soon(struct sim *s, struct fault *f)
{
	struct msg *m = msg_new(s, M_CHURN);

	m->index = (size_t)(f - s->fault);
	schedule(s, m, s->now + rng_range(&f->rng, 100, 900));
}

static void change_origin(struct sim *s, struct fault *f, bool back)
{
	struct site *site = s->proc[f->proc].site;

	/* Sometimes the configuration names the former origin late. */
	site->tells_origin = back || f->variant % 4 != 0;
	if (!back || f->variant % 2 == 0) {
		world_change_origin(site, back ? "multikueue" : "another");
	}
	world_restart(s, site, &f->rng);
}

void world_begin(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];

	switch ((int)f->type) {
	case FAULT_ALIAS:
		s->alias.on = true;
		churn_assert(s);
		break;
	case FAULT_ORIGIN:
		change_origin(s, f, false);
		break;
	case FAULT_REBUILT:
		arena_init(&f->arena, 0);
		f->snapshot = ks_snapshot(p->store, &f->arena);
		break;
	case FAULT_UNSERVED:
		unserve(p, f, true);
		break;
	case FAULT_REFUSED:
		p->refuse_clones = true;
		break;
	case FAULT_CORDON:
		churn_assert(s);
		break;
	case FAULT_KINDS:
		break; /* from the start to the end */
	default:
		again_soon(s, f);
		break;
	}
}

void world_turn(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];

	if (f->type == FAULT_REBUILT) {
		people(s, f);
		return;
	}
	if (f->type == FAULT_STUCK) {
		stuck_turn(s, f);
		return;
	}
	if (!f->on) {
		return;
	}
	if (f->type == FAULT_RETENTION) {
		(void)world_deletes(p, WORKLOADS, f->variant * 1000, true);
	} else {
		/* clones, jobs, or both */
		if (f->variant % 3 != 1) {
			(void)world_deletes(p, WORKLOADS, 0, false);
		}
		if (f->variant % 3 != 0) {
			(void)world_deletes(p, JOBS, 0, false);
		}
	}
	again_soon(s, f);
}

void world_over(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];

	switch ((int)f->type) {
	case FAULT_ALIAS:
		s->alias.on = f->variant % 2 == 0; /* or it stays */
		churn_assert(s);
		break;
	case FAULT_ORIGIN:
		change_origin(s, f, true);
		break;
	case FAULT_REBUILT:
		if (f->snapshot != NULL) {
			rebuilt(s, f);
		}
		break;
	case FAULT_UNSERVED:
		unserve(p, f, false);
		break;
	case FAULT_REFUSED:
		p->refuse_clones = false;
		break;
	case FAULT_CORDON:
		churn_assert(s);
		break;
	default:
		break;
	}
}
