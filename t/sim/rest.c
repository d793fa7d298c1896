/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a seed: what the users wanted is done, nothing is left behind,
 * and nothing is written any more.
 */
#include <stdio.h>

#include "t/sim/sim.h"

#define WORKLOADS "kueue.x-k8s.io/v1beta2/workloads"

bool is_replaced(const struct json *wl)
{
	struct json_iter it = json_iter(json_at(wl, "/status/conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "reason")), "WorkloadSliceReplaced")) {
			return true;
		}
	}
	return false;
}

/* An elastic job that grows has several: the newest one that is not Finished counts. */
static bool is_newer(const struct json *o, const struct json *than)
{
	bool over = has_condition(o, "Finished"), than_over = has_condition(than, "Finished");
	mk_str made = json_str_at(o, "/metadata/creationTimestamp");
	int order = str_cmp(made, json_str_at(than, "/metadata/creationTimestamp"));

	if (!than || over != than_over) {
		return !than || than_over;
	}
	return order != 0 ? order > 0
			  : str_ends(json_str_at(o, SLICE_BEFORE),
				     json_str_at(than, "/metadata/name"));
}

const struct json *workload_of(struct sim *s, const struct user *u)
{
	size_t pos = 0;
	const struct ks_store *mgr = s->plane[u->site->home].store;
	const struct json *o, *best = NULL;

	if (u->group != NULL) {
		return ks_get(mgr, WORKLOADS, STR("default"), str_of(u->name));
	}
	while ((o = ks_each(mgr, WORKLOADS, &pos)) != NULL) {
		const struct json *meta = json_get(o, "metadata"), *ref;

		if (u->kind == USER_NO_ADAPTER) {
			ref = meta;
		} else {
			ref = json_elem(json_get(meta, "ownerReferences"), 0);
		}
		if (str_is(json_str(json_get(ref, "name")), u->name) && !is_follower(o) &&
		    is_newer(o, best)) {
			best = o;
		}
	}
	return best;
}

static void say_object(struct sim *s, const struct plane *p, const struct json *o)
{
	if (o != NULL) {
		say(s, "rest", "%s has %.*s", p->name, STR_ARG(json_write(&s->arena, o)));
	}
}

/* What every server has of a user's job: why the seed never ended. */
void rest_say(struct sim *s, const struct user *u, const struct json *wl)
{
	const struct plane *home = &s->plane[u->site->home];
	mk_str name = json_str_at(wl, "/metadata/name");

	say_object(s, home, wl);
	say_object(s, home, user_job(u, home));
	for (size_t i = 0; u->group != NULL && i < u->group->n_members; i++) {
		for (size_t k = 0; k <= s->n_workers; k++) {
			say_object(s, &s->plane[k], member_pod(s, u, &u->group->member[i], k));
		}
	}
	for (size_t i = 1; i <= s->n_workers; i++) {
		const struct plane *w = &s->plane[i];

		say_object(s, w, ks_get(w->store, WORKLOADS, STR("default"), name));
		say_object(s, w, user_job(u, w));
	}
}

bool rest_inactive(const struct json *wl)
{
	const struct json *active = json_at(wl, "/spec/active");

	return active != NULL && !json_bool(active);
}

static bool user_done(struct sim *s, const struct user *u, char *why, size_t n)
{
	const struct json *job = user_job(u, &s->plane[u->site->home]);
	const struct json *wl = workload_of(s, u);
	const char *missing = NULL;

	if (u->deleted) {
		missing = job != NULL  ? "its job is still there"
			  : wl != NULL ? "its Workload is still there"
				       : NULL;
	} else if (u->kind == USER_AGAIN && !u->again) {
		missing = "its second job is not submitted";
	} else if (u->kind == USER_UNMANAGED || u->kind == USER_NO_ADAPTER ||
		   (u->refused && !has_condition(wl, "Finished"))) {
		/* Kueue makes none for a job that is over. */
		missing = job_over(job) && excuse_dropped(s, wl) ? NULL
			  : !wl                                  ? "it has no Workload"
			  : rest_inactive(wl)                    ? NULL
			  : excuse_rejected_in_vain(u, wl)       ? NULL
			  : excuse_runs_here(s, u)               ? NULL
								 : "it was not rejected";
	} else if (u->limit_ms > 0 && rest_inactive(wl)) {
		missing = NULL; /* it was over its time */
	} else if (judged_of(s, u)->taken && has_condition(wl, "Finished")) {
		missing = NULL; /* its Workload tells how it ended, its own status cannot */
	} else if (u->group != NULL && !groups_told(s, u)) {
		missing = "a member is not over";
	} else if (u->group != NULL          ? false
		   : u->kind == USER_FAILING ? !has_condition(job, "Failed")
					     : !job_over(job)) {
		missing = "its job is not over";
	} else if (!has_condition(wl, "Finished") && !excuse_dropped(s, wl)) {
		missing = "its Workload is not Finished";
	}
	if (missing != NULL) {
		snprintf(why, n, "%s: %s", u->name, missing);
		if (s->story && s->now > SETTLE_MAX_MS) {
			rest_say(s, u, wl);
		}
	}
	return !missing;
}

static bool nothing_left(struct sim *s, const char *resource, char *why, size_t n)
{
	for (size_t i = 1; i <= s->n_workers; i++) {
		size_t pos = 0;
		const struct json *o = leads_any(s, &s->plane[i])
					       ? ks_each(s->plane[i].store, resource, &pos)
					       : NULL; /* out of reach: not ours to clean up */

		while (o != NULL) {
			if (json_at(o, "/metadata/labels/kueue.x-k8s.io~1multikueue-origin") !=
			    NULL) {
				snprintf(why, n, "%s %.*s is left on %s", resource,
					 STR_ARG(json_str_at(o, "/metadata/name")),
					 s->plane[i].name);
				return false;
			}
			o = ks_each(s->plane[i].store, resource, &pos);
		}
	}
	return true;
}

/* Do two names lead to the server of this one? The later of them is not Active. */
static bool is_second(const struct sim *s, mk_str name)
{
	for (size_t i = 1; i <= leads_named(s); i++) {
		for (size_t k = 1; str_is(name, s->plane[i].name) && k <= leads_named(s); k++) {
			if (k != i && leads_to(s, k) == leads_to(s, i)) {
				return true;
			}
		}
	}
	return str_is(name, ALIAS);
}

static bool clusters_active(struct sim *s, const struct site *site, char *why, size_t n)
{
	static const char clusters[] = "kueue.x-k8s.io/v1beta2/multikueueclusters";
	const struct ks_store *mgr = s->plane[site->home].store;
	size_t pos = 0;
	const struct json *o = ks_each(mgr, clusters, &pos);

	while (o != NULL) {
		mk_str name = json_str_at(o, "/metadata/name");

		if (!has_condition(o, "Active") && !is_second(s, name)) {
			snprintf(why, n, "cluster %.*s is not Active", STR_ARG(name));
			return false;
		}
		if (has_condition(o, "multikueued.io/OriginClash")) {
			snprintf(why, n, "cluster %.*s has an origin clash", STR_ARG(name));
			return false;
		}
		o = ks_each(mgr, clusters, &pos);
	}
	return true;
}

bool rest_reached(struct sim *s, char *why, size_t n)
{
	/* An OriginClash goes ten minutes after another manager's objects were in sight. */
	if (s->led_at > 0 && s->now - s->led_at < 11 * MINUTE) {
		snprintf(why, n, "a name leads elsewhere");
		return false;
	}
	if (s->places && !s->places->is_over) {
		snprintf(why, n, "workers change");
		return false;
	}
	for (size_t i = 0; i < s->n_faults; i++) {
		if (s->fault[i].on && (s->fault[i].kind->unsettled || s->fault[i].hides)) {
			snprintf(why, n, "%s", s->fault[i].kind->name);
			return false;
		}
	}
	for (size_t i = 0; i < s->n_users; i++) {
		if (!s->user[i].created || !user_done(s, &s->user[i], why, n)) {
			return false;
		}
	}
	for (size_t i = 0; job_resource(s, i) != NULL; i++) {
		if (!nothing_left(s, job_resource(s, i), why, n)) {
			return false;
		}
	}
	if (!nothing_left(s, WORKLOADS, why, n) || !nothing_left(s, PODS, why, n)) {
		return false;
	}
	for (size_t i = 0; i < s->n_sites; i++) {
		if (!clusters_active(s, &s->site[i], why, n)) {
			return false;
		}
	}
	return true;
}

void rest_check(struct sim *s)
{
	char why[256] = "";
	uint64_t writes;

	/* Else most steps from here on would be renewals of the lease, hundreds of them. */
	procs_lease_rests(s);
	/* What is still on its way (trailing status, conditions, garbage) may arrive first. */
	run_until(s, s->now + 3 * 60 * 1000);
	if (s->failed) {
		return;
	}
	if (!rest_reached(s, why, sizeof(why))) {
		fail(s, "no leak", "it was done and is no more: %s", why);
		return;
	}
	writes = s->writes;
	/*
	 * Long enough for every timer of the engine, on some seeds; most writes
	 * that should not be come within a minute or two.
	 */
	run_until(s, s->now + (s->seed % 8 == 0 ? REST_MS : REST_MS / 4));
	if (s->writes != writes) {
		fail(s, "quiet", "%llu writes at rest", (unsigned long long)(s->writes - writes));
	}
	for (size_t i = 0; i < s->n_procs && !s->failed; i++) {
		proc_kill(&s->proc[i]);
		proc_start(&s->proc[i]);
	}
	run_until(s, s->now + REST_MS / 4);
	if (s->writes != writes) {
		fail(s, "quiet", "%llu writes after a restart at rest",
		     (unsigned long long)(s->writes - writes));
	}
	if (!s->failed && !rest_reached(s, why, sizeof(why))) {
		fail(s, "quiet", "a restart at rest changed something: %s", why);
	}
}
