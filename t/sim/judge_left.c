/* SPDX-License-Identifier: Apache-2.0 */
/* The judge: a remote object with our marks that nothing stands for goes (I2). */
#include <stdio.h>

#include "t/sim/sim.h"

#define PREBUILT "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"
#define MANAGER "/metadata/annotations/multikueued.io~1manager-id"
#define SLICE_OF "/metadata/annotations/kueue.x-k8s.io~1workload-slice-replacement-for"

enum { LEFT_MS = 12 * MINUTE }; /* a kind that was not served is looked for after ten */

/*
 * Its marks are the manager's id and the origin: who takes the origin away takes the object out of
 * what a watch shows. Only one whose Workload stands is found then, by its name.
 */
static struct site *site_of(struct sim *s, const struct json *o)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		if (str_is(json_str_at(o, MANAGER), s->site[i].manager_id) &&
		    str_is(json_str_at(o, ORIGIN), s->site[i].origin)) {
			return &s->site[i];
		}
	}
	return NULL;
}

bool judge_winner_is_anew(const struct sim *s, const struct site *site, const struct json *wl)
{
	const struct json *c = ks_get(s->plane[site->home].store, CLUSTERS, STR(""),
				      json_str_at(wl, "/status/clusterName"));
	mk_str won = json_str_at(wl, "/status/admissionChecks/0/lastTransitionTime");

	return c && str_cmp(json_str_at(c, "/metadata/creationTimestamp"), won) >= 0;
}

/*
 * Was it replaced while it had quota, by a slice that has not come to its end, and had it won, or
 * is a copy of the job on 'p'?
 */
static bool is_inherited(struct sim *s, const struct plane *p, const struct json *wl)
{
	const struct user *u = user_by_workload(s, wl);
	const struct json *newest = u != NULL ? workload_of(s, u) : NULL;

	return is_replaced(wl) && has_condition(wl, "QuotaReserved") &&
	       !has_condition(wl, "Evicted") && !has_condition(newest, "Finished") &&
	       (has_condition(newest, "QuotaReserved") || !has_condition(newest, "Evicted")) &&
	       json_at(newest, SLICE_OF) != NULL &&
	       (leads_winner(s, wl) != NULL || judge_is_marked(s, user_job(u, p)));
}

/* Does that Workload of the manager want an object with its uid on 'p'? */
static bool wants(struct sim *s, const struct site *site, const struct plane *p,
		  const struct json *wl)
{
	const struct plane *winner = leads_winner(s, wl);

	return wl && !json_at(wl, "/metadata/deletionTimestamp") &&
	       !(has_condition(wl, "Finished") && !is_inherited(s, p, wl)) &&
	       has_condition(wl, "QuotaReserved") &&
	       (!winner || winner == p || judge_winner_is_anew(s, site, wl));
}

/* The copy of a set is each component's. */
static bool set_has_reason(struct sim *s, const struct site *site, const struct plane *p,
			   const struct json *o)
{
	const struct ks_store *store = s->plane[site->home].store;
	size_t pos = 0;
	const struct json *wl;

	while ((wl = ks_each(store, WORKLOADS, &pos)) != NULL) {
		if (str_eq(json_str_at(wl, "/metadata/ownerReferences/0/uid"),
			   json_str_at(o, ORIGIN_UID)) &&
		    wants(s, site, p, wl)) {
			return true;
		}
	}
	return false;
}

/* Does a Workload of the manager stand for the object on 'p'? */
static bool has_reason(struct sim *s, const struct site *site, const struct plane *p,
		       const struct json *o, bool is_clone)
{
	mk_str name = json_str_at(o, is_clone ? "/metadata/name" : PREBUILT);
	const struct json *wl = ks_get(s->plane[site->home].store, WORKLOADS, STR("default"), name);

	if (is_set(o)) {
		return set_has_reason(s, site, p, o);
	}
	if (!str_eq(json_str_at(wl, "/metadata/uid"), json_str_at(o, WORKLOAD_UID)) ||
	    !wants(s, site, p, wl)) {
		return false;
	}
	return !str_is(json_str_at(o, "/kind"), "Pod") ||
	       user_local(s, user_by_uid(s, json_str_at(o, ORIGIN_UID)), o) != NULL;
}

static struct leftover *find(struct judge *j, mk_str uid)
{
	for (size_t i = 0; i < j->n_left; i++) {
		if (str_is(uid, j->left[i].uid)) {
			return &j->left[i];
		}
	}
	return NULL;
}

bool judge_is_left(const struct sim *s, mk_str uid)
{
	return find(s->judge, uid) != NULL;
}

static void note(struct sim *s, const struct site *site, const struct plane *p,
		 const struct json *o, const char *resource)
{
	mk_str uid = json_str_at(o, "/metadata/uid");
	struct leftover *l = find(s->judge, uid);
	int64_t calm = judge_calm_with(s, site, p);

	if (!l) {
		if (s->judge->n_left == JUDGE_LEFT_MAX) {
			return;
		}
		l = &s->judge->left[s->judge->n_left++];
		*l = (struct leftover){.since = s->now};
		snprintf(l->uid, sizeof(l->uid), "%.*s", STR_ARG(uid));
	}
	l->is_there = true;
	calm = calm > l->since ? calm : l->since;
	if (calm != INT64_MAX && s->now - calm > LEFT_MS && !judge_may_be_anothers(s, p, o)) {
		const struct user *u = user_by_uid(s, json_str_at(o, ORIGIN_UID));

		if (s->story && u != NULL) {
			rest_say(s, u, workload_of(s, u));
		}
		fail(s, "I2 reason", "%s %.*s is on %s without a reason for %lld s", resource,
		     STR_ARG(json_str_at(o, "/metadata/name")), p->name,
		     (long long)(s->now - calm) / SECOND);
	}
}

static void look(struct sim *s, const struct plane *p, const char *resource)
{
	size_t pos = 0;
	const struct json *o;

	while ((o = ks_each(p->store, resource, &pos)) != NULL && !s->failed) {
		const struct site *site = site_of(s, o);

		if (site && !has_reason(s, site, p, o, str_is(str_of(resource), WORKLOADS))) {
			note(s, site, p, o, resource);
		}
	}
}

void judge_left(struct sim *s)
{
	struct judge *j = s->judge;
	size_t n = 0;

	for (size_t i = 0; i < j->n_left; i++) {
		j->left[i].is_there = false;
	}
	for (size_t i = 1; i <= s->n_workers; i++) {
		look(s, &s->plane[i], WORKLOADS);
		look(s, &s->plane[i], PODS);
		for (size_t k = 0; job_resource(s, k) != NULL; k++) {
			look(s, &s->plane[i], job_resource(s, k));
		}
	}
	for (size_t i = 0; i < j->n_left; i++) {
		if (j->left[i].is_there) {
			j->left[n++] = j->left[i];
		}
	}
	j->n_left = n;
}
