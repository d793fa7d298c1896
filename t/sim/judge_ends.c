/* SPDX-License-Identifier: Apache-2.0 */
/* The judge: an end that was seen comes home, and nothing of the job is deleted before (I3). */
#include "t/sim/sim.h"

#define ORIGIN_UID "/metadata/annotations/kueue.x-k8s.io~1multikueue-origin-uid"
#define PREBUILT "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"
#define WORKLOAD_UID "/metadata/annotations/multikueued.io~1workload-uid"

enum { HOME_MS = 2 * MINUTE }; /* after so long an end that could be seen is on the manager */

/* A job ended on the cluster that has won: that round is not to be run again. */
void judge_ended(struct sim *s, const struct plane *p, const struct ks_commit *c)
{
	const struct json *o = c->after ? c->after : c->before;
	struct user *u = user_by_uid(s, json_str_at(o, ORIGIN_UID));
	struct judged *j = u != NULL ? judged_of(s, u) : NULL;

	if (!u || (c->before && c->after && job_over(c->before) == job_over(c->after))) {
		return;
	}
	j->ended_at[p->index] = c->after && job_over(c->after) ? s->now : 0;
	if (job_over(c->after) &&
	    plane_of_cluster(s, json_str_at(workload_of(s, u), "/status/clusterName")) == p) {
		u->over_round = u->rounds;
	}
}

static const struct json *local_of(const struct sim *s, const struct site *site,
				   const struct ks_commit *c)
{
	const struct json *wl = ks_get(s->plane[site->home].store, WORKLOADS, c->ns,
				       json_str_at(c->before, PREBUILT));

	return wl != NULL && !json_at(wl, "/metadata/deletionTimestamp") &&
			       str_eq(json_str_at(wl, "/metadata/uid"),
				      json_str_at(c->before, WORKLOAD_UID))
		       ? wl
		       : NULL;
}

/* Did the job end there, and is that not known at home? */
static bool is_owed(struct sim *s, const struct user *u, const struct plane *p)
{
	const struct json *job = user_job(u, &s->plane[u->site->home]);

	return u->won == p->index && str_is(json_str_at(job, "/metadata/uid"), u->uid) &&
	       !json_at(job, "/metadata/deletionTimestamp") && !job_over(job);
}

void judge_deleted(struct sim *s, const struct site *by, const struct plane *p,
		   const struct ks_commit *c)
{
	const struct user *u = user_by_uid(s, json_str_at(c->before, ORIGIN_UID));

	if (u != NULL && job_over(c->before) && local_of(s, by, c) && is_owed(s, u, p) &&
	    !excuse_outdated(s, by) && !excuse_meddled(s)) {
		fail(s, "I3 end",
		     "%.*s ended on %s %lld ms ago and is deleted there, and its job at home says "
		     "nothing",
		     STR_ARG(c->name), p->name,
		     (long long)(s->now - judged_of(s, u)->ended_at[p->index]));
	}
}

bool judge_owes(struct sim *s, const struct user *u)
{
	return u->won > 0 && judged_of(s, u)->ended_at[u->won] > 0 &&
	       is_owed(s, u, &s->plane[u->won]) && !u->taken;
}

void judge_home(struct sim *s, const struct user *u)
{
	const struct judged *j = judged_of(s, u);

	for (size_t i = 1; i <= s->n_workers; i++) {
		int64_t calm = judge_calm_with(s, u->site, &s->plane[i]);
		int64_t since = j->ended_at[i] > calm ? j->ended_at[i] : calm;

		if (j->ended_at[i] > 0 && calm != INT64_MAX && s->now - since > HOME_MS &&
		    is_owed(s, u, &s->plane[i]) && !u->taken && !excuse_meddled(s)) {
			fail(s, "I3 end",
			     "%s ended on %s %lld s ago, and its job at home says nothing", u->name,
			     s->plane[i].name, (long long)(s->now - since) / SECOND);
		}
	}
}
