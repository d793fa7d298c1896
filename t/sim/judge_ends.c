/* SPDX-License-Identifier: Apache-2.0 */
/* The judge: an end that was seen comes home, and nothing of the job is deleted before (I3). */
#include "t/sim/sim.h"

#define PREBUILT "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"

enum {
	HOME_MS = 2 * MINUTE,  /* after so long an end that could be seen is on the manager */
	SEEN_MS = 15 * SECOND, /* a process that leads for so long watches what is in reach */
};

/* A job ended on the cluster that has won: that round is not to be run again. */
void judge_ended(struct sim *s, const struct plane *p, const struct ks_commit *c)
{
	const struct json *o = c->after ? c->after : c->before;
	mk_str uid = json_str_at(o, ORIGIN_UID);
	struct user *u = user_by_uid(s, uid);
	struct judged *j = u != NULL ? judged_by_uid(s, u, uid) : NULL;

	if (!u || (c->before && c->after && job_over(c->before) == job_over(c->after))) {
		return;
	}
	if (c->after) {
		j->ended_at[p->index] = job_over(c->after) ? s->now : 0;
	} else if (!member_by_uid(u, uid)) {
		j->ended_at[p->index] = 0;
	}
	if (job_over(c->after) && leads_winner(s, workload_of(s, u)) == p) {
		j->over_round = u->rounds;
	}
}

/* Has one process led and been in reach of the server since before the end there? */
static struct led witness(const struct sim *s, const struct user *u, const struct judged *j,
			  const struct plane *p)
{
	int64_t calm = judge_calm_with(s, u->site, p);

	return calm != INT64_MAX && calm + SEEN_MS <= j->ended_at[p->index]
		       ? judge_leader(s, u->site)
		       : (struct led){0};
}

void judge_taken(struct sim *s, struct user *u, mk_str uid, const struct plane *p)
{
	struct judged *j = judged_by_uid(s, u, uid);

	if (member_by_uid(u, uid) != NULL) {
		j->ended_by = witness(s, u, j, p);
	}
	j->taken = true;
}

bool judge_is_taken(const struct sim *s, const struct user *u, const struct judged *j)
{
	return j->taken &&
	       (!j->ended_by.by || !judge_is_led(j->ended_by, judge_leader(s, u->site)));
}

void judge_anew(struct sim *s, struct user *u)
{
	judged_of(s, u)->over_round = 0;
	for (size_t i = 0; u->group != NULL && i < u->group->n_members; i++) {
		u->group->member[i].judged.over_round = 0;
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

/*
 * Did the job, or the member of that uid, end there, and is that not known at home? What the
 * manager has begun to run has another end.
 */
static bool is_owed(struct sim *s, const struct user *u, mk_str uid, const struct plane *p)
{
	const struct member *m = member_by_uid(u, uid);
	const struct json *job =
		m ? member_pod(s, u, m, u->site->home) : user_job(u, &s->plane[u->site->home]);

	return u->won == p->index && str_eq(json_str_at(job, "/metadata/uid"), uid) &&
	       !json_at(job, "/metadata/deletionTimestamp") && !job_over(job) &&
	       !(m && excuse_started(&s->plane[u->site->home], workload_of(s, u)));
}

void judge_deleted(struct sim *s, const struct site *by, const struct plane *p,
		   const struct ks_commit *c)
{
	mk_str uid = json_str_at(c->before, ORIGIN_UID);
	struct user *u = user_by_uid(s, uid);

	if (u != NULL && member_by_uid(u, uid) != NULL && job_over(c->before) &&
	    excuse_started(&s->plane[by->home], workload_of(s, u))) {
		judge_taken(s, u, uid, p); /* the manager runs the group: none may run beside it */
	}
	if (u != NULL && job_over(c->before) && local_of(s, by, c) && is_owed(s, u, uid, p) &&
	    !excuse_outdated(s, by) && !u->meddled) {
		fail(s, "I3 end",
		     "%.*s ended on %s %lld ms ago and is deleted there, and its job at home says "
		     "nothing",
		     STR_ARG(c->name), p->name,
		     (long long)(s->now - judged_by_uid(s, u, uid)->ended_at[p->index]));
	}
}

bool judge_owes(struct sim *s, const struct user *u)
{
	return u->won > 0 && judged_of(s, u)->ended_at[u->won] > 0 &&
	       is_owed(s, u, str_of(u->uid), &s->plane[u->won]) &&
	       !judge_is_taken(s, u, judged_of(s, u));
}

/*
 * The winner's name leads to another server, and the name by which this one is in sight is not in
 * the config: the engine waits for it as for a lost worker (may_go_on in rules/copied.c).
 */
static bool is_beside_config(struct sim *s, const struct user *u, const struct plane *p)
{
	const struct wanted w = faults_want(s);
	const struct json *wl = workload_of(s, u);

	for (size_t i = 1; i <= leads_named(s); i++) {
		if (leads_to(s, i) == p->index && !s->off[i] && !w.left_config[i]) {
			return false;
		}
	}
	return leads_renamed(s, wl) && leads_winner(s, wl) == p &&
	       s->now - s->led_at < s->lost_timeout_ms + HOME_MS;
}

static void look_home(struct sim *s, const struct user *u, const struct judged *j, const char *name,
		      const char *uid)
{
	for (size_t i = 1; i <= s->n_workers; i++) {
		int64_t calm = judge_calm_with(s, u->site, &s->plane[i]);
		int64_t since = j->ended_at[i] > calm ? j->ended_at[i] : calm;

		if (j->ended_at[i] > 0 && calm != INT64_MAX && s->now - since > HOME_MS &&
		    is_owed(s, u, str_of(uid), &s->plane[i]) && !judge_is_taken(s, u, j) &&
		    !u->meddled && !is_beside_config(s, u, &s->plane[i])) {
			fail(s, "I3 end",
			     "%s ended on %s %lld s ago, and its job at home says nothing", name,
			     s->plane[i].name, (long long)(s->now - since) / SECOND);
		}
	}
}

void judge_home(struct sim *s, const struct user *u)
{
	if (!u->group) {
		look_home(s, u, judged_of(s, u), u->name, u->uid);
		return;
	}
	for (size_t i = 0; i < u->group->n_members; i++) {
		const struct member *m = &u->group->member[i];

		look_home(s, u, &m->judged, m->name, m->uid);
	}
}
