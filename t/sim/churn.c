/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What users, operators, webhooks and other controllers change while jobs run: queues are
 * drained, clusters come and go, objects are deleted, edited and restored. Drawn from a generator
 * of its own, for two seeds of three, so that it changes no other seed. Whatever it does is
 * undone when the fault is over.
 */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/sim.h"
#include "t/sim/worlds.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define WORKLOADS "kueue.x-k8s.io/v1beta2/workloads"
#define WORKLOAD_PATH KUEUE "namespaces/default/workloads/"
#define JOB_PATH "/apis/batch/v1/namespaces/default/jobs/"
#define ORIGIN "/metadata/labels/kueue.x-k8s.io~1multikueue-origin"

const char *const dispatching_names[DISPATCH_N] = {
	[DISPATCH_ALL] = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
	[DISPATCH_INCREMENTAL] = "kueue.x-k8s.io/multikueue-dispatcher-incremental",
	[DISPATCH_EXTERNAL] = "example.com/by-hand",
};

/* --- drawing ---------------------------------------------------------------------------------- */

/* Which server a fault hits: some faults need a worker, some a manager. */
static size_t draw_plane(struct sim *s, enum fault_type type)
{
	bool any = type == FAULT_HOLD || type == FAULT_LAG || type == FAULT_RESTORE;

	if (any && rng_chance(&s->wide, 1, 3)) {
		return s->site[rng_below(&s->wide, s->n_sites)].home;
	}
	return 1 + (size_t)rng_below(&s->wide, s->n_workers);
}

static void draw_fault(struct sim *s)
{
	size_t index = s->n_faults++;
	struct fault *f = &s->fault[index];
	struct msg *m = msg_new(s, M_FAULT);

	f->type = FAULT_CHURN +
		  (enum fault_type)rng_below(&s->wide, (uint64_t)(FAULT_WORLD - FAULT_CHURN));
	f->at = rng_range(&s->wide, 2000, 70000);
	f->until = f->at + rng_range(&s->wide, 1000, 40000);
	f->plane = draw_plane(s, f->type);
	f->proc = (size_t)rng_below(&s->wide, s->n_procs);
	m->index = index;
	schedule(s, m, f->at);
}

void churn_init(struct sim *s)
{
	size_t n;

	if (!s->is_wide) {
		return;
	}
	s->dispatching = (enum dispatching)rng_below(&s->wide, DISPATCH_N);
	s->cov->dispatchers[s->dispatching]++;
	if (rng_chance(&s->wide, 1, 2)) {
		s->lost_timeout_ms = rng_range(&s->wide, 8000, 40000);
	}
	n = 1 + (size_t)rng_below(&s->wide, 4);
	for (size_t i = 0; i < n; i++) {
		draw_fault(s);
		if (s->fault[s->n_faults - 1].type == FAULT_PRIORITY) {
			users_classed(s);
		}
	}
	if (s->dispatching == DISPATCH_EXTERNAL) {
		/* In one seed of four it is silent at first. */
		s->silent_until = rng_chance(&s->wide, 1, 4) ? 90000 : 0;
		schedule(s, msg_new(s, M_DISPATCH), 1000);
	}
}

/* --- picking ---------------------------------------------------------------------------------- */

static const struct json *pick(struct sim *s, const struct ks_store *store, const char *resource,
			       bool (*wanted)(const struct json *o))
{
	size_t pos = 0, n = 0;
	const struct json *o, *best = NULL;

	for (o = ks_each(store, resource, &pos); o != NULL; o = ks_each(store, resource, &pos)) {
		if (wanted(o) && rng_below(&s->wide, ++n) == 0) {
			best = o;
		}
	}
	return best;
}

static bool is_remote(const struct json *o)
{
	return json_str_at(o, ORIGIN).n > 0 && !json_at(o, "/metadata/deletionTimestamp");
}

static bool is_open(const struct json *o)
{
	return json_at(o, "/metadata/ownerReferences") != NULL && !has_condition(o, "Finished") &&
	       !json_at(o, "/metadata/deletionTimestamp");
}

static bool is_racing(const struct json *o)
{
	return is_open(o) && json_len(json_at(o, "/status/nominatedClusterNames")) > 0;
}

static bool has_won(const struct json *o)
{
	return is_open(o) && json_str_at(o, "/status/clusterName").n > 0;
}

static bool is_running(const struct json *o)
{
	return !json_bool(json_at(o, "/spec/suspend")) && !has_condition(o, "Complete") &&
	       !has_condition(o, "Failed") && !json_at(o, "/metadata/deletionTimestamp");
}

static struct plane *home(struct sim *s, const struct fault *f)
{
	return &s->plane[s->proc[f->proc].site->home];
}

/* --- one act each ----------------------------------------------------------------------------- */

static const char *path_of(struct sim *s, const char *collection, mk_str name, const char *sub)
{
	return arena_printf(&s->arena, "%s%.*s%s", collection, STR_ARG(name), sub).p;
}

static void patch_named(struct sim *s, struct plane *p, const char *path, mk_str name, mk_str body)
{
	int status = plane_merge(p, path_of(s, path, name, ""), body);

	say(s, "churn", "%s: %.*s gets %.*s: %d", p->name, STR_ARG(name), STR_ARG(body), status);
}

static void patch_workload(struct sim *s, struct plane *p, const struct json *wl, const char *body)
{
	mk_str name = arena_dup(&s->arena, json_str_at(wl, "/metadata/name"));

	if (wl != NULL) {
		patch_named(s, p, WORKLOAD_PATH, name, str_of(body));
	}
}

static void patch_status(struct sim *s, struct plane *p, mk_str name, mk_str body)
{
	int status = plane_merge(p, path_of(s, WORKLOAD_PATH, name, "/status"), body);

	say(s, "churn", "%s: status of %.*s gets %.*s: %d", p->name, STR_ARG(name), STR_ARG(body),
	    status);
}

static void delete_one(struct sim *s, struct plane *p, const char *resource, const char *path)
{
	const struct json *o = pick(s, p->store, resource, is_remote);
	mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));
	int status;

	if (!o) {
		return;
	}
	status = plane_request(p, "DELETE", path_of(s, path, name, ""), NULL,
			       STR("{\"propagationPolicy\":\"Background\"}"));
	say(s, "churn", "a client deletes %.*s on %s: %d", STR_ARG(name), p->name, status);
}

static void drop_workload(struct sim *s, struct plane *p)
{
	const struct json *o = pick(s, p->store, WORKLOADS, is_open);
	mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));
	const char *path = path_of(s, WORKLOAD_PATH, name, "");

	if (!o) {
		return;
	}
	say(s, "churn", "Workload %.*s is deleted by force", STR_ARG(name));
	(void)plane_request(p, "DELETE", path, NULL, STR("{}"));
	(void)plane_merge(p, path, STR("{\"metadata\":{\"finalizers\":null}}"));
}

static void change_priority(struct sim *s, struct plane *p)
{
	static const char *const bodies[] = {
		"{\"spec\":{\"priority\":100,\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\","
		"\"kind\":\"WorkloadPriorityClass\",\"name\":\"high\"}}}",
		"{\"spec\":{\"priority\":-5,\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\","
		"\"kind\":\"WorkloadPriorityClass\",\"name\":\"low\"}}}",
	};

	patch_workload(s, p, pick(s, p->store, WORKLOADS, is_open), bodies[rng_below(&s->wide, 2)]);
}

/* As Kueue writes a Workload's status: by apply, with all that its field manager holds. */
static int apply_status(struct sim *s, struct plane *p, mk_str name, const struct json *status)
{
	const char *path =
		path_of(s, WORKLOAD_PATH, name, "/status?fieldManager=kueue-admission&force=true");

	return plane_request(
		p, "PATCH", path, "application/apply-patch+yaml",
		arena_printf(&s->arena,
			     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
			     "\"metadata\":{\"name\":\"%.*s\",\"namespace\":\"default\"},"
			     "\"status\":%.*s}",
			     STR_ARG(name), STR_ARG(json_write(&s->arena, status))));
}

/* It wants an external dispatcher to do the same. */
static void apply_nominations(struct sim *s, struct plane *p, const struct json *wl, mk_str list)
{
	struct arena *a = &s->arena;
	struct json *status = json_dup(a, json_get(wl, "status")), *names = NULL;
	mk_str name = arena_dup(a, json_str_at(wl, "/metadata/name"));

	if (!status || json_parse(a, list, &names, NULL) != ERR_OK) {
		return;
	}
	json_set(a, status, STR("nominatedClusterNames"), json_len(names) > 0 ? names : NULL);
	say(s, "churn", "a client nominates %.*s for %.*s: %d", STR_ARG(list), STR_ARG(name),
	    apply_status(s, p, name, status));
}

/* A list of clusters, sometimes with a name that is none. */
static mk_str draw_clusters(struct sim *s)
{
	struct arena *a = &s->arena;
	mk_str list = STR("");

	for (size_t i = 1; i <= s->n_workers; i++) {
		if (rng_chance(&s->wide, 2, 3)) {
			list = arena_printf(a, "%.*s%s\"w%zu\"", STR_ARG(list), list.n ? "," : "",
					    i);
		}
	}
	if (rng_chance(&s->wide, 1, 12)) {
		list = arena_printf(a, "%.*s%s\"nowhere\"", STR_ARG(list), list.n ? "," : "");
	}
	if (s->alias.on && s->alias.place != ALIAS_NO_CONFIG) {
		list = arena_printf(a, "%.*s%s\"" ALIAS "\"", STR_ARG(list), list.n ? "," : "");
	}
	return arena_printf(a, "[%.*s]", STR_ARG(list));
}

static void undo_nominations(struct sim *s, struct plane *p)
{
	const struct json *o = pick(s, p->store, WORKLOADS, is_racing);

	apply_nominations(s, p, o, rng_chance(&s->wide, 1, 3) ? draw_clusters(s) : STR("[]"));
}

static void clear_winner(struct sim *s, struct plane *p)
{
	patch_status(s, p,
		     arena_dup(&s->arena, json_str_at(pick(s, p->store, WORKLOADS, has_won),
						      "/metadata/name")),
		     STR("{\"status\":{\"clusterName\":null}}"));
}

static void unready(struct sim *s, struct plane *p)
{
	const struct json *o = pick(s, p->store, WORKLOADS, has_won);
	mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));
	mk_str check = arena_dup(&s->arena, json_str_at(o, "/status/admissionChecks/0/name"));

	if (o != NULL) {
		patch_status(s, p, name,
			     arena_printf(&s->arena,
					  "{\"status\":{\"admissionChecks\":[{\"name\":\"%.*s\","
					  "\"state\":\"Pending\",\"message\":\"\","
					  "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}",
					  STR_ARG(check)));
	}
}

/* The scheduler of 'p' writes a member of the Workload's first assignment. */
static void assign(struct sim *s, struct plane *p, mk_str name, const char *key, struct json *value)
{
	struct arena *a = &s->arena;
	struct json *status =
		json_dup(a, json_get(ks_get(p->store, WORKLOADS, STR("default"), name), "status"));
	char pointer[128];

	if (json_at(status, "/admission/podSetAssignments/0") != NULL) {
		snprintf(pointer, sizeof(pointer), "/admission/podSetAssignments/0/%s", key);
		(void)json_put(a, status, pointer, value);
		say(s, "churn", "%s: %.*s gets %s: %d", p->name, STR_ARG(name), key,
		    apply_status(s, p, name, status));
	}
}

/* The manager's queue waits for a topology that the winner's queue decides a moment later. */
static void decide_topology(struct sim *s, struct plane *p)
{
	struct arena *a = &s->arena;
	const struct json *o = pick(s, p->store, WORKLOADS, has_won);
	struct json *topology = NULL;
	mk_str name = arena_dup(a, json_str_at(o, "/metadata/name"));
	struct plane *w = plane_of_cluster(s, json_str_at(o, "/status/clusterName"));

	if (!w) {
		return;
	}
	assign(s, p, name, "delayedTopologyRequest", json_new_str(a, STR("Pending")));
	(void)json_parse(a,
			 STR("{\"levels\":[\"kubernetes.io/hostname\"],\"slices\":[{"
			     "\"domainCount\":1,\"podCounts\":{\"universal\":1},"
			     "\"valuesPerLevel\":[{\"universal\":\"n1\"}]}]}"),
			 &topology, NULL);
	assign(s, w, name, "topologyAssignment", topology);
}

static void note_job(struct sim *s, struct plane *p)
{
	const struct json *o = pick(s, p->store, "batch/v1/jobs", is_running);
	mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));

	if (o != NULL) {
		patch_named(
			s, p, JOB_PATH, name,
			arena_printf(
				&s->arena,
				"{\"metadata\":{\"annotations\":{\"example.com/note\":\"%llu\"}}}",
				(unsigned long long)rng_below(&s->wide, 1000)));
	}
}

/* A fault that acts again and again as long as it lasts. False: it is none of those. */
static bool act(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane], *mgr = home(s, f);

	switch ((int)f->type) {
	case FAULT_CLONE_OFF:
		patch_workload(s, p, pick(s, p->store, WORKLOADS, is_remote),
			       "{\"spec\":{\"active\":false}}");
		return true;
	case FAULT_CLONES_DROPPED:
		delete_one(s, p, WORKLOADS, WORKLOAD_PATH);
		return true;
	case FAULT_JOBS_DROPPED:
		delete_one(s, p, "batch/v1/jobs", JOB_PATH);
		return true;
	case FAULT_PRIORITY:
		change_priority(s, mgr);
		return true;
	case FAULT_WORKLOAD_DROPPED:
		drop_workload(s, mgr);
		return true;
	case FAULT_QUEUE_NAME:
		patch_workload(s, mgr, pick(s, mgr->store, WORKLOADS, is_open),
			       "{\"spec\":{\"maximumExecutionTimeSeconds\":3600}}");
		return true;
	case FAULT_CLEARED:
		clear_winner(s, mgr);
		return true;
	case FAULT_UNREADY:
		unready(s, mgr);
		return true;
	case FAULT_TOPOLOGY:
		decide_topology(s, mgr);
		return true;
	case FAULT_NOTE:
		note_job(s, mgr);
		return true;
	case FAULT_TUG:
		undo_nominations(s, mgr);
		return true;
	default:
		return false;
	}
}

/* --- states that last ------------------------------------------------------------------------- */

static void assert_config(struct sim *s, struct plane *p)
{
	struct arena *a = &s->arena;
	mk_str names = STR("");

	for (size_t i = 1; i <= s->n_workers; i++) {
		if (!churn_is_on(s, FAULT_CONFIG, i) && (i == 1 || !labels_choose(s))) {
			names = arena_printf(a, "%.*s%s\"w%zu\"", STR_ARG(names),
					     names.n ? "," : "", i);
		}
	}
	names = plane_with_alias(s, names.n ? names : STR("\"w1\""));
	(void)plane_merge(p, KUEUE "multikueueconfigs/mkc",
			  arena_printf(a, "{\"spec\":{\"clusters\":[%.*s]}}", STR_ARG(names)));
	(void)plane_request(p, "POST", KUEUE "multikueueconfigs", NULL,
			    STR("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
				"\"MultiKueueConfig\",\"metadata\":{\"name\":\"mkc2\"},\"spec\":{"
				"\"clusters\":[\"w2\"]}}"));
}

static void assert_check(struct sim *s, struct plane *p)
{
	if (churn_is_on(s, FAULT_UNCHECK, SIZE_MAX)) {
		(void)plane_request(p, "DELETE", KUEUE "admissionchecks/mk", NULL, STR("{}"));
		return;
	}
	(void)plane_merge(
		p, KUEUE "admissionchecks/mk",
		arena_printf(&s->arena,
			     "{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":%s}},"
			     "\"spec\":{\"parameters\":{\"name\":\"%s\"}}}",
			     churn_is_on(s, FAULT_NO_DISPATCHER, SIZE_MAX)
				     ? "\"kueue.x-k8s.io/none\""
				     : "null",
			     churn_is_on(s, FAULT_CHECK, SIZE_MAX) ? "mkc2" : "mkc"));
}

static void assert_manager(struct sim *s, struct site *site)
{
	struct plane *p = &s->plane[site->home];

	plane_manager_objects(s, site);
	for (size_t i = 1; i <= s->n_workers; i++) {
		world_cordon(s, p, i);
		if (churn_is_on(s, FAULT_CLUSTER, i)) {
			(void)plane_request(
				p, "DELETE",
				arena_printf(&s->arena, KUEUE "multikueueclusters/w%zu", i).p, NULL,
				STR("{}"));
		}
	}
	assert_config(s, p);
	labels_assert(s, p);
	assert_check(s, p);
}

void churn_assert(struct sim *s)
{
	for (size_t i = 0; i < s->n_planes; i++) {
		struct plane *p = &s->plane[i];

		p->shape = churn_is_on(s, FAULT_SHAPE, i);
		p->rewrite = churn_is_on(s, FAULT_REWRITE, i);
		(void)plane_merge(p, KUEUE "clusterqueues/cq",
				  churn_is_on(s, FAULT_HOLD, i)
					  ? STR("{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}")
					  : STR("{\"spec\":{\"stopPolicy\":\"None\"}}"));
	}
	for (size_t i = 0; i < s->n_sites; i++) {
		assert_manager(s, &s->site[i]);
	}
	plugins_mood(churn_is_on(s, FAULT_MOODY, SIZE_MAX));
}

static void pause(struct sim *s, struct fault *f)
{
	const struct json *o = pick(s, home(s, f)->store, WORKLOADS, is_open);
	mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));

	snprintf(f->name, sizeof(f->name), "%.*s", STR_ARG(name));
	if (o != NULL) {
		patch_named(s, home(s, f), WORKLOAD_PATH, name,
			    STR("{\"spec\":{\"active\":false}}"));
	}
}

/* All daemons end and start again, with or without the adapter. */
static void restart_all(struct sim *s)
{
	s->no_plugin = churn_is_on(s, FAULT_NO_PLUGIN, SIZE_MAX);
	for (size_t i = 0; i < s->n_procs; i++) {
		struct msg *m = msg_new(s, M_START);

		m->proc = &s->proc[i];
		proc_kill(&s->proc[i]);
		schedule(s, m, s->now + rng_range(&s->wide, 10, 3000));
	}
}

static void restored(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];

	plane_restore(p, f->snapshot);
	for (size_t i = 0; i < s->n_users; i++) {
		/* Its end was told, its last status perhaps not; both are forgotten there. */
		s->user[i].taken |= s->user[i].verdict[p->index] != 0;
	}
	churn_assert(s);
	if (!is_worker(p)) {
		world_know_manager(p->site); /* of before it was built anew, perhaps */
		users_restored(s, p->site);
		churn_restored_manager(s);
	}
}

void churn_restored_manager(struct sim *s)
{
	for (size_t i = 1; i <= s->n_workers; i++) {
		plane_secret(s, i, false);
	}
	/* The restore deactivates Workloads again, and that fault is over. */
	for (size_t i = 0; i < s->n_faults; i++) {
		if (s->fault[i].type == FAULT_PAUSE && s->fault[i].name[0] && !s->fault[i].on) {
			patch_named(s, home(s, &s->fault[i]), WORKLOAD_PATH,
				    str_of(s->fault[i].name), STR("{\"spec\":{\"active\":true}}"));
		}
	}
}

static void act_later(struct sim *s, size_t index)
{
	struct msg *m = msg_new(s, M_CHURN);

	m->index = index;
	schedule(s, m, s->now + rng_range(&s->wide, 50, 2500));
}

void churn_begin(struct sim *s, struct fault *f)
{
	size_t index = (size_t)(f - s->fault);

	if (f->type >= FAULT_WORLD) {
		world_begin(s, f);
	} else if (f->type == FAULT_RESTORE) {
		arena_init(&f->arena, 0);
		f->snapshot = ks_snapshot(s->plane[f->plane].store, &f->arena);
	} else if (f->type == FAULT_LAG) {
		plane_lag(&s->plane[f->plane], true);
	} else if (f->type == FAULT_PAUSE) {
		pause(s, f);
	} else if (f->type == FAULT_NO_PLUGIN) {
		restart_all(s);
	} else if (act(s, f)) {
		act_later(s, index);
	} else {
		churn_assert(s);
	}
}

void churn_turn(struct sim *s, size_t index)
{
	struct fault *f = &s->fault[index];

	if (f->type >= FAULT_WORLD) {
		world_turn(s, f);
	} else if (f->on && act(s, f)) {
		act_later(s, index);
	}
}

void churn_over(struct sim *s, struct fault *f)
{
	if (f->type >= FAULT_WORLD) {
		world_over(s, f);
	} else if (f->type == FAULT_RESTORE && f->snapshot != NULL) {
		restored(s, f);
	} else if (f->type == FAULT_LAG && !churn_is_on(s, FAULT_LAG, f->plane)) {
		plane_lag(&s->plane[f->plane], false);
	} else if (f->type == FAULT_PAUSE && f->name[0]) {
		patch_named(s, home(s, f), WORKLOAD_PATH, str_of(f->name),
			    STR("{\"spec\":{\"active\":true}}"));
	} else if (f->type == FAULT_NO_PLUGIN) {
		restart_all(s);
	} else {
		churn_assert(s);
	}
}

/* --- the external dispatcher ------------------------------------------------------------------ */

static void dispatch_site(struct sim *s, const struct site *site)
{
	struct plane *p = &s->plane[site->home];
	size_t pos = 0;
	const struct json *o;

	for (o = ks_each(p->store, WORKLOADS, &pos); o != NULL;
	     o = ks_each(p->store, WORKLOADS, &pos)) {
		bool nominated = json_len(json_at(o, "/status/nominatedClusterNames")) > 0;

		if (!is_open(o) || !has_condition(o, "QuotaReserved") ||
		    has_condition(o, "Evicted") || json_str_at(o, "/status/clusterName").n > 0 ||
		    !str_is(json_str_at(o, "/status/admissionChecks/0/state"), "Pending") ||
		    (nominated && !rng_chance(&s->wide, 1, 20))) {
			continue;
		}
		apply_nominations(s, p, o, draw_clusters(s));
	}
}

void churn_dispatch(struct sim *s)
{
	for (size_t i = 0; s->now >= s->silent_until && i < s->n_sites; i++) {
		dispatch_site(s, &s->site[i]);
	}
	schedule(s, msg_new(s, M_DISPATCH), s->now + rng_range(&s->wide, 200, 3000));
}
