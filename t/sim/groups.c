/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of Pods. Which members a group has is what the manager's server shows: each has a name,
 * which a successor may take, and a uid, by which the judge knows it. Kueue on a worker counts a
 * member whose copy has ended there on when that is removed, and those that had ended before the
 * group won there.
 */
#include "t/sim/groups.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/api/names.h"
#include "core/base/hash.h"
#include "core/base/timefmt.h"

/* --- requests --------------------------------------------------------------------------------- */

bool groups_send(struct plane *p, const char *method, const char *path, mk_str body)
{
	const char *type = strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : NULL;

	return plane_request(p, method, path, type, body) / 100 == 2;
}

bool groups_make_pod(struct plane *p, const char *group, const char *pod)
{
	const char *key = group ? "kueue.x-k8s.io/pod-group-name" : "kueue.x-k8s.io/queue-name";

	return groups_send(
		p, "POST", PODS_PATH,
		arena_printf(&p->sim->arena,
			     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
			     "\"%s\",\"namespace\":\"default\",\"labels\":{"
			     "\"%s\":\"%s\"}},\"spec\":{"
			     "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}],"
			     "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
			     pod, key, group ? group : "lq"));
}

static mk_str owner(struct plane *p, mk_str pod, bool alone)
{
	const struct json *o = ks_get(p->store, PODS, STR("default"), pod);

	return arena_printf(&p->sim->arena,
			    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"%.*s\",\"uid\":\"%."
			    "*s\"%s}",
			    STR_ARG(pod), STR_ARG(json_str_at(o, "/metadata/uid")),
			    alone ? ",\"controller\":true" : "");
}

bool groups_make_workload(struct plane *p, const char *group, const char *const *pods, size_t n)
{
	struct arena *a = &p->sim->arena;
	mk_str owners = STR("");

	for (size_t i = 0; i < n; i++) {
		owners = arena_printf(a, "%.*s%s%.*s", STR_ARG(owners), i > 0 ? "," : "",
				      STR_ARG(owner(p, str_of(pods[i]), n == 1)));
	}
	return groups_send(
		p, "POST", WORKLOADS_PATH,
		arena_printf(a,
			     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
			     "\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
			     "\"ownerReferences\":[%.*s]},\"spec\":{\"queueName\":\"lq\","
			     "\"podSets\":[{\"name\":\"main\",\"count\":%d,\"template\":{\"spec\":{"
			     "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
			     "\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
			     group, STR_ARG(owners), n == 1 ? 1 : GROUP_SIZE));
}

static void delete_pod(struct plane *p, mk_str name)
{
	(void)groups_send(p, "DELETE",
			  arena_printf(&p->sim->arena, PODS_PATH "/%.*s", STR_ARG(name)).p,
			  STR(""));
}

void groups_set_phase(struct plane *p, mk_str pod, const char *phase)
{
	struct arena *a = &p->sim->arena;

	(void)groups_send(
		p, "PATCH", arena_printf(a, PODS_PATH "/%.*s/status", STR_ARG(pod)).p,
		strcmp(phase, "Running") == 0
			? arena_printf(
				  a, "{\"status\":{\"phase\":\"Running\",\"startTime\":\"%.*s\"}}",
				  STR_ARG(time_rfc3339(a, wall_of(p->sim))))
			: arena_printf(a, "{\"status\":{\"phase\":\"%s\"}}", phase));
}

void groups_finish(struct plane *p, const struct json *wl, const char *reason)
{
	struct arena *a = &p->sim->arena;
	struct json *list = json_new_arr(a), *end = NULL;
	struct json_iter it = json_iter(json_at(wl, "/status/conditions"));
	bool good = strcmp(reason, "Succeeded") == 0;
	mk_str name = json_str_at(wl, "/metadata/name");

	while (json_next(&it)) {
		if (!str_is(json_str(json_get(it.val, "type")), "Finished")) {
			json_add(a, list, json_dup(a, it.val));
		}
	}
	(void)json_parse(
		a,
		arena_printf(a,
			     "{\"type\":\"Finished\",\"status\":\"True\",\"reason\":\"%s\","
			     "\"message\":\"%s\",\"lastTransitionTime\":\"%.*s\"}",
			     reason, good ? "Pods succeeded: 3/3." : "Pods failed.",
			     STR_ARG(time_rfc3339(a, wall_of(p->sim)))),
		&end, NULL);
	json_add(a, list, end);
	(void)groups_send(p, "PATCH",
			  arena_printf(a, WORKLOADS_PATH "/%.*s/status", STR_ARG(name)).p,
			  arena_printf(a, "{\"status\":{\"conditions\":%.*s}}",
				       STR_ARG(json_write(a, list))));
}

/* --- members ---------------------------------------------------------------------------------- */

struct member *member_by_uid(const struct user *u, mk_str uid)
{
	for (size_t i = 0; u->group != NULL && uid.n > 0 && i < u->group->n_members; i++) {
		if (str_is(uid, u->group->member[i].uid)) {
			return &u->group->member[i];
		}
	}
	return NULL;
}

const struct json *member_pod(const struct sim *s, const struct user *u, const struct member *m,
			      size_t plane)
{
	bool home = plane == u->site->home;
	const struct json *o = ks_get(s->plane[plane].store, PODS, STR("default"), str_of(m->name));

	return str_is(json_str_at(o, home ? "/metadata/uid" : ORIGIN_UID), m->uid) ? o : NULL;
}

const struct json *groups_any(const struct user *u, const struct plane *p)
{
	for (size_t i = 0; i < u->group->n_members; i++) {
		const struct json *o = member_pod(p->sim, u, &u->group->member[i], p->index);

		if (o != NULL) {
			return o;
		}
	}
	return NULL;
}

bool pod_has_begun(const struct json *pod)
{
	return json_str_at(pod, "/spec/nodeName").n > 0 ||
	       !json_find(json_at(pod, "/spec/schedulingGates"), "name", NAME_POD_GATE);
}

static bool has_phase(const struct json *pod, const char *phase)
{
	return str_is(json_str_at(pod, "/status/phase"), phase);
}

/* Members that are here and need no successor. */
static size_t count_good(const struct sim *s, const struct user *u)
{
	size_t n = 0;

	for (size_t i = 0; i < u->group->n_members; i++) {
		const struct member *m = &u->group->member[i];
		const struct json *o = member_pod(s, u, m, u->site->home);
		bool failed = has_phase(o, "Failed") || (m->fails && m->is_forgotten);

		n += o != NULL && (u->kind == USER_FAILING || !failed);
	}
	return n;
}

bool groups_told(const struct sim *s, const struct user *u)
{
	for (size_t i = 0; i < u->group->n_members; i++) {
		const struct member *m = &u->group->member[i];
		const struct json *o = member_pod(s, u, m, u->site->home);

		if (o != NULL && !job_over(o) && m->judged.over_round == u->rounds &&
		    !judge_is_taken(s, u, &m->judged)) {
			return false;
		}
	}
	return true;
}

/* A Pod by itself has no successor. */
static bool is_end(const struct user *u, size_t ended, size_t failed)
{
	return u->kind == USER_FAILING || u->group->size == 1
		       ? failed + ended >= u->group->size && (failed > 0 || u->group->size == 1)
		       : ended >= u->group->size;
}

/* Have enough members ended here, as the user wants it? */
static bool is_over(const struct sim *s, const struct user *u)
{
	size_t ended = 0, failed = 0;

	for (size_t i = 0; i < u->group->n_members; i++) {
		const struct member *m = &u->group->member[i];
		const struct json *o = member_pod(s, u, m, u->site->home);
		bool lost = o != NULL && judge_is_taken(s, u, &m->judged) && !job_over(o);

		failed += has_phase(o, "Failed") || (lost && m->fails);
		ended += has_phase(o, "Succeeded") || (lost && !m->fails);
	}
	return is_end(u, ended, failed);
}

/* --- users ------------------------------------------------------------------------------------ */

static void add_member(struct sim *s, struct user *u, const char *name, struct rng *r)
{
	struct plane *p = &s->plane[u->site->home];
	struct group *g = u->group;
	struct member *m = &g->member[g->n_members];
	bool failing = u->kind == USER_FAILING;

	if (g->n_members == GROUP_MEMBERS ||
	    !groups_make_pod(p, g->size == 1 ? NULL : u->name, name)) {
		return;
	}
	*m = (struct member){.run_ms = rng_range(r, 500, 20000)};
	m->fails = failing ? g->n_members == 0 : rng_chance(r, 1, 10) && g->size > 1;
	m->is_pruned = rng_chance(r, 1, 4);
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->uid, sizeof(m->uid), "%.*s",
		 STR_ARG(json_str_at(ks_get(p->store, PODS, STR("default"), str_of(name)),
				     "/metadata/uid")));
	g->n_members++;
	say(s, "user", "makes %s (%s)", m->name, m->uid);
}

void groups_draw(struct sim *s, size_t size, struct rng *r)
{
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];

		if (u->site != &s->site[0] || !rng_chance(r, 1, 2) ||
		    (u->kind != USER_JOB && u->kind != USER_FAILING && u->kind != USER_DELETED &&
		     u->kind != USER_AGAIN)) {
			continue;
		}
		u->group = calloc(1, sizeof(*u->group));
		if (!u->group) {
			abort();
		}
		u->group->size = size;
		u->of = USER_OF_GROUPS;
	}
}

void groups_done(struct sim *s)
{
	for (size_t i = 0; i < s->n_users; i++) {
		free(s->user[i].group);
	}
}

void groups_submit(struct sim *s, struct user *u)
{
	struct rng r;

	rng_init(&r, s->seed * 1000 + (uint64_t)(u - s->user) * 10 + u->created);
	for (size_t i = 0; i < u->group->size; i++) {
		add_member(s, u, arena_printf(&s->arena, "%s-%zu", u->name, i).p, &r);
	}
}

void groups_delete(struct sim *s, struct user *u)
{
	for (size_t i = 0; i < u->group->n_members; i++) {
		if (member_pod(s, u, &u->group->member[i], u->site->home) != NULL) {
			delete_pod(&s->plane[u->site->home], str_of(u->group->member[i].name));
		}
	}
}

void groups_restored(struct user *u)
{
	for (size_t i = 0; i < u->group->n_members; i++) {
		struct member *m = &u->group->member[i];

		for (size_t k = 0; k < MAX_PLANES; k++) {
			m->is_forgotten |= m->judged.ended_at[k] > 0;
		}
		m->judged = (struct judged){0};
	}
}

void groups_forgotten(struct sim *s, const struct plane *p)
{
	for (size_t i = 0; i < s->n_users; i++) {
		struct group *g = s->user[i].group;

		for (size_t k = 0; g != NULL && k < g->n_members; k++) {
			struct member *m = &g->member[k];

			m->ended_on &= ~((uint64_t)1 << p->index);
			m->judged.taken |= m->judged.ended_at[p->index] > 0;
			m->judged.ended_by = (struct led){0};
		}
	}
}

/* The name of one that is gone, or another. */
static const char *new_name(struct sim *s, const struct user *u, struct rng *r)
{
	const struct group *g = u->group;
	const struct member *m = &g->member[rng_below(r, g->n_members)];

	if (rng_chance(r, 1, 2) &&
	    !ks_get(s->plane[u->site->home].store, PODS, STR("default"), str_of(m->name))) {
		return arena_printf(&s->arena, "%s", m->name).p;
	}
	return arena_printf(&s->arena, "%s-%zu", u->name, g->n_members).p;
}

/* A user deletes members, and makes successors of those that are gone or have failed. */
static void play_user(struct sim *s, struct user *u, struct rng *r)
{
	struct plane *p = &s->plane[u->site->home];
	struct group *g = u->group;
	const struct member *m = &g->member[rng_below(r, g->n_members)];
	const struct json *o = member_pod(s, u, m, p->index);
	size_t good = count_good(s, u);

	if (g->size == 1) {
		return; /* it has no successor */
	}
	if (good < GROUP_SIZE) {
		if (rng_chance(r, 1, 6)) {
			add_member(s, u, new_name(s, u, r), r);
		}
	} else if (o != NULL && !job_over(o) &&
		   (good > GROUP_SIZE ||
		    (s->now < FAULTS_END_MS && u->kind == USER_JOB &&
		     g->n_members < GROUP_MEMBERS / 2 && rng_chance(r, 1, 100)))) {
		say(s, "user", "deletes %s (%s)", m->name, m->uid);
		delete_pod(p, str_of(m->name));
	}
}

/* --- Kueue on the manager --------------------------------------------------------------------- */

/* Those of the group's Pods there that the Workload does not name are its owners too. */
static void own(struct sim *s, const struct user *u, struct plane *p, const struct json *wl)
{
	struct arena *a = &s->arena;
	const struct json *had = json_at(wl, "/metadata/ownerReferences");
	struct json *list = had != NULL ? json_dup(a, had) : json_new_arr(a);
	mk_str name = arena_dup(a, json_str_at(wl, "/metadata/name"));
	size_t n = json_len(list);

	for (size_t i = 0; i < u->group->n_members; i++) {
		const struct member *m = &u->group->member[i];
		const struct json *o = member_pod(s, u, m, p->index);
		struct json *ref = NULL;
		bool known = false;
		struct json_iter it = json_iter(had);

		while (json_next(&it)) {
			known |= str_eq(json_str(json_get(it.val, "uid")),
					json_str_at(o, "/metadata/uid"));
		}
		if (o != NULL && !known &&
		    json_parse(a, owner(p, str_of(m->name), u->group->size == 1), &ref, NULL) ==
			    ERR_OK) {
			json_add(a, list, ref);
		}
	}
	if (json_len(list) > n) {
		(void)groups_send(p, "PATCH",
				  arena_printf(a, WORKLOADS_PATH "/%.*s", STR_ARG(name)).p,
				  arena_printf(a, "{\"metadata\":{\"ownerReferences\":%.*s}}",
					       STR_ARG(json_write(a, list))));
	}
}

static const char *end_of(const struct user *u)
{
	const struct group *g = u->group;

	return u->kind == USER_FAILING || (g->size == 1 && g->member[g->n_members - 1].fails)
		       ? "Failed"
		       : "Succeeded";
}

/* A group that is evicted is stopped: those of its Pods go that the manager has begun to run. */
static void stop_here(struct sim *s, const struct user *u, struct plane *p)
{
	for (size_t i = 0; i < u->group->n_members; i++) {
		const struct member *m = &u->group->member[i];
		const struct json *o = member_pod(s, u, m, p->index);

		if (o != NULL && !job_over(o) && pod_has_begun(o)) {
			say(s, "world", "mgr: Kueue stops %s", m->name);
			delete_pod(p, str_of(m->name));
		}
	}
}

static void play_home(struct sim *s, struct user *u, const struct json *wl, struct rng *r)
{
	struct plane *p = &s->plane[u->site->home];
	const char *names[GROUP_MEMBERS];
	size_t n = 0;

	if (has_condition(wl, "Evicted")) {
		stop_here(s, u, p);
	}
	if (wl != NULL) {
		if (is_over(s, u) && rng_chance(r, 1, 20)) {
			say(s, "world", "mgr: Kueue ends %s", u->name);
			groups_finish(p, wl, end_of(u));
		} else if (!json_at(wl, "/metadata/deletionTimestamp")) {
			own(s, u, p, wl);
		}
		return;
	}
	for (size_t i = 0; i < u->group->n_members; i++) {
		if (member_pod(s, u, &u->group->member[i], p->index) != NULL) {
			names[n++] = u->group->member[i].name;
		}
	}
	if (n >= u->group->size && !is_over(s, u)) {
		(void)groups_make_workload(p, u->name, names, n);
	}
}

/* --- Kueue and kubelets on a worker ----------------------------------------------------------- */

static bool is_admitted(const struct json *wl)
{
	return has_condition(wl, "Admitted") && !has_condition(wl, "Evicted");
}

/* One step of a copy. 'starts': its group is complete there. */
static void play_copy(struct sim *s, const struct user *u, struct member *m, struct plane *p,
		      const struct json *clone, bool starts, struct rng *r)
{
	const struct json *o = member_pod(s, u, m, p->index);
	bool gated = json_len(json_at(o, "/spec/schedulingGates")) > 0;
	int64_t began;

	if (job_over(o)) {
		m->fails = has_phase(o, "Failed"); /* a client may have said so */
		m->ended_on |= (uint64_t)1 << p->index;
		if (m->is_pruned && rng_chance(r, 1, 2)) {
			say(s, "world", "%s: the end of %s is removed", p->name, m->name);
			delete_pod(p, str_of(m->name));
		}
	} else if (!is_admitted(clone)) {
		if (!gated) {
			say(s, "world", "%s: Kueue stops %s", p->name, m->name);
			delete_pod(p, str_of(m->name));
		}
	} else if (gated && starts) {
		(void)groups_send(p, "PATCH", arena_printf(&s->arena, PODS_PATH "/%s", m->name).p,
				  STR("{\"spec\":{\"schedulingGates\":null}}"));
	} else if (!gated && !has_phase(o, "Running")) {
		groups_set_phase(p, str_of(m->name), "Running");
	} else if (!gated && time_parse(json_str_at(o, "/status/startTime"), &began) &&
		   wall_of(s) >= began + m->run_ms) {
		groups_set_phase(p, str_of(m->name), m->fails ? "Failed" : "Succeeded");
	}
}

static void play_end(struct sim *s, const struct user *u, struct plane *p, const struct json *clone)
{
	size_t ended = 0, failed = 0, open = 0;

	for (size_t i = 0; i < u->group->n_members; i++) {
		const struct member *m = &u->group->member[i];
		bool is_here = member_pod(s, u, m, u->site->home) != NULL;
		bool over = (m->ended_on >> p->index & 1) != 0;

		open += is_here && !over;
		failed += is_here && over && m->fails;
		ended += is_here && over && !m->fails;
	}
	if (open > 0 || has_condition(clone, "Finished") || !is_admitted(clone)) {
		return;
	}
	if (is_end(u, ended, failed)) {
		say(s, "world", "%s: Kueue ends %s", p->name, u->name);
		groups_finish(p, clone, end_of(u));
	}
}

static const struct json *clone_on(const struct user *u, const struct plane *p)
{
	const struct json *o = ks_get(p->store, WORKLOADS, STR("default"), str_of(u->name));

	return json_str_at(o, ORIGIN).n > 0 ? o : NULL;
}

/* A copy is made where the group won, whatever others do to the manager's status since. */
static bool has_won(struct sim *s, const struct user *u, const struct plane *p)
{
	for (size_t i = 0; i < u->group->n_members; i++) {
		if (member_pod(s, u, &u->group->member[i], p->index) != NULL) {
			return true;
		}
	}
	return plane_of_cluster(s, json_str_at(workload_of(s, u), "/status/clusterName")) == p;
}

static void play_worker(struct sim *s, struct user *u, struct plane *p, struct rng *r)
{
	const struct json *clone = clone_on(u, p);
	bool finished = has_condition(clone, "Finished");
	uint64_t uid = hash64(json_str_at(clone, "/metadata/uid"));
	uint64_t bit = (uint64_t)1 << p->index;
	bool is_new = uid != u->group->clone[p->index];
	bool won = has_won(s, u, p);
	size_t there = 0;

	for (size_t i = 0; i < u->group->n_members; i++) {
		struct member *m = &u->group->member[i];

		m->ended_on &= is_new ? ~bit : ~(uint64_t)0;
		if (won && job_over(member_pod(s, u, m, u->site->home))) {
			m->ended_on |= bit;
		}
		there += member_pod(s, u, m, p->index) != NULL || (m->ended_on & bit) != 0;
	}
	u->group->clone[p->index] = uid;
	for (size_t i = 0; i < u->group->n_members; i++) {
		struct member *m = &u->group->member[i];

		if (member_pod(s, u, m, p->index) != NULL && !(finished && !m->is_pruned)) {
			play_copy(s, u, m, p, clone_on(u, p), there >= u->group->size, r);
		}
	}
	if (clone_on(u, p) != NULL && there >= u->group->size) {
		own(s, u, p, clone_on(u, p));
		play_end(s, u, p, clone_on(u, p));
	}
}

void groups_turn(struct sim *s, struct rng *r)
{
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];
		const struct json *wl;

		if (!u->group || !u->created) {
			continue;
		}
		wl = workload_of(s, u);
		if (!u->deleted && !has_condition(wl, "Finished")) {
			play_user(s, u, r);
			play_home(s, u, workload_of(s, u), r);
		}
		for (size_t k = 1; k <= s->n_workers; k++) {
			play_worker(s, u, &s->plane[k], r);
		}
	}
}
