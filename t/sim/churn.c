/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What wide seeds have besides their worlds, drawn from the generator 'wide', for two seeds of
 * three, so that no other seed changes: a dispatcher, perhaps an external one, which is played
 * here, and faults of users, operators, webhooks and other controllers. What these do to objects is
 * in faults/; what they do it with is here.
 */
#include "t/sim/churn.h"

const char *const dispatching_names[DISPATCH_N] = {
	[DISPATCH_ALL] = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once",
	[DISPATCH_INCREMENTAL] = "kueue.x-k8s.io/multikueue-dispatcher-incremental",
	[DISPATCH_EXTERNAL] = "example.com/by-hand",
	[DISPATCH_PLACEMENT] = "multikueued.io/placement",
};

/* --- drawing ---------------------------------------------------------------------------------- */

void churn_init(struct sim *s)
{
	size_t n;

	if (!s->is_wide) {
		return;
	}
	s->dispatching = (enum dispatching)rng_below(&s->wide, DISPATCH_DRAWN);
	s->cov->dispatchers[s->places ? DISPATCH_PLACEMENT : s->dispatching]++;
	if (rng_chance(&s->wide, 1, 2)) {
		s->lost_timeout_ms = rng_range(&s->wide, 8000, 40000);
	}
	n = 1 + (size_t)rng_below(&s->wide, 4);
	for (size_t i = 0; i < n; i++) {
		faults_draw_churn(s);
	}
	if (s->places) {
		s->dispatching = DISPATCH_PLACEMENT;
	} else if (s->dispatching == DISPATCH_EXTERNAL) {
		/* In one seed of four it is silent at first. */
		s->silent_until = rng_chance(&s->wide, 1, 4) ? 90000 : 0;
		schedule(s, msg_new(s, M_DISPATCH), 1000);
	}
}

/* --- picking ---------------------------------------------------------------------------------- */

const struct json *churn_pick(struct sim *s, const struct ks_store *store, const char *resource,
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

bool churn_is_remote(const struct json *o)
{
	return json_str_at(o, ORIGIN).n > 0 && !json_at(o, "/metadata/deletionTimestamp");
}

bool churn_is_open(const struct json *o)
{
	return json_at(o, "/metadata/ownerReferences") != NULL && !has_condition(o, "Finished") &&
	       !json_at(o, "/metadata/deletionTimestamp");
}

bool churn_is_racing(const struct json *o)
{
	return churn_is_open(o) && json_len(json_at(o, "/status/nominatedClusterNames")) > 0;
}

bool churn_has_won(const struct json *o)
{
	return churn_is_open(o) && json_str_at(o, "/status/clusterName").n > 0;
}

bool churn_is_running(const struct json *o)
{
	return !json_bool(json_at(o, "/spec/suspend")) && !has_condition(o, "Complete") &&
	       !has_condition(o, "Failed") && !json_at(o, "/metadata/deletionTimestamp");
}

struct plane *churn_home(struct sim *s, const struct fault *f)
{
	return &s->plane[s->proc[f->proc].site->home];
}

/* --- writing ---------------------------------------------------------------------------------- */

const char *churn_path(struct sim *s, const char *collection, mk_str name, const char *sub)
{
	return arena_printf(&s->arena, "%s%.*s%s", collection, STR_ARG(name), sub).p;
}

void churn_patch_named(struct sim *s, struct plane *p, const char *path, mk_str name, mk_str body)
{
	int status = plane_merge(p, churn_path(s, path, name, ""), body);

	say(s, "churn", "%s: %.*s gets %.*s: %d", p->name, STR_ARG(name), STR_ARG(body), status);
}

void churn_patch_workload(struct sim *s, struct plane *p, const struct json *wl, const char *body)
{
	mk_str name = arena_dup(&s->arena, json_str_at(wl, "/metadata/name"));

	if (wl != NULL) {
		churn_patch_named(s, p, WORKLOAD_PATH, name, str_of(body));
	}
}

int churn_apply_status(struct sim *s, struct plane *p, mk_str name, const struct json *status)
{
	const char *path = churn_path(s, WORKLOAD_PATH, name,
				      "/status?fieldManager=kueue-admission&force=true");

	return plane_request(
		p, "PATCH", path, "application/apply-patch+yaml",
		arena_printf(&s->arena,
			     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
			     "\"metadata\":{\"name\":\"%.*s\",\"namespace\":\"default\"},"
			     "\"status\":%.*s}",
			     STR_ARG(name), STR_ARG(json_write(&s->arena, status))));
}

int churn_block(struct sim *s, struct plane *p, const struct json *wl)
{
	struct arena *a = &s->arena;
	struct json *list = json_dup(a, json_at(wl, "/status/conditions")), *c = NULL;
	mk_str name = arena_dup(a, json_str_at(wl, "/metadata/name"));

	(void)json_parse(a,
			 STR("{\"type\":\"BlockedOnPreemptionGates\",\"status\":\"True\","
			     "\"reason\":\"PreemptionGated\",\"message\":\"\","
			     "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}"),
			 &c, NULL);
	list = list ? list : json_new_arr(a);
	json_add(a, list, c);
	return plane_merge(p, churn_path(s, WORKLOAD_PATH, name, "/status"),
			   arena_printf(a, "{\"status\":{\"conditions\":%.*s}}",
					STR_ARG(json_write(a, list))));
}

void churn_nominate(struct sim *s, struct plane *p, const struct json *wl, mk_str list)
{
	struct arena *a = &s->arena;
	struct json *status = json_dup(a, json_get(wl, "status")), *names = NULL;
	mk_str name = arena_dup(a, json_str_at(wl, "/metadata/name"));

	if (!status || json_parse(a, list, &names, NULL) != ERR_OK) {
		return;
	}
	json_set(a, status, STR("nominatedClusterNames"), json_len(names) > 0 ? names : NULL);
	say(s, "churn", "a client nominates %.*s for %.*s: %d", STR_ARG(list), STR_ARG(name),
	    churn_apply_status(s, p, name, status));
}

mk_str churn_draw_clusters(struct sim *s)
{
	struct arena *a = &s->arena;
	mk_str list = STR("");

	for (size_t i = 1; i <= leads_named(s); i++) {
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

void churn_restored(struct sim *s, const struct plane *p)
{
	for (size_t i = 1; i <= leads_named(s) && !is_worker(p); i++) {
		plane_secret(s, i, false);
	}
	if (s->flips) {
		upkeep(s);
	}
	for (size_t i = 0; i < s->n_faults; i++) {
		if (s->fault[i].kind->restored != NULL) {
			s->fault[i].kind->restored(s, &s->fault[i], p);
		}
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

		if (!churn_is_open(o) || !is_waiting(o) ||
		    (nominated && !rng_chance(&s->wide, 1, 20))) {
			continue;
		}
		churn_nominate(s, p, o, churn_draw_clusters(s));
	}
}

void churn_dispatch(struct sim *s)
{
	for (size_t i = 0; s->now >= s->silent_until && i < s->n_sites; i++) {
		dispatch_site(s, &s->site[i]);
	}
	schedule(s, msg_new(s, M_DISPATCH), s->now + rng_range(&s->wide, 200, 3000));
}
