/* SPDX-License-Identifier: Apache-2.0 */
/* The judge: one run at a time (I1), rests after Retry (I7), the server that won (I8). */
#include <string.h>

#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "t/sim/sim.h"

enum {
	/* From 1 s, doubling to five minutes: a dozen, and some that a user caused. */
	RETRIES_MAX = 14,
	RETRIES_MS = 10 * MINUTE,
	RAN_MS = 5 * SECOND, /* a run that lasted so long ends the rests */
	RESTED_MS = 900,     /* the shortest rest, less what a request takes */
	QUEUED_MS = 100,     /* so long a request may wait for its turn to be sent */
};

bool judge_is_copy(mk_str resource)
{
	return is_job_resource(resource) || str_is(resource, PODS);
}

static bool is_pod(const struct json *o)
{
	return str_is(json_str_at(o, "/kind"), "Pod");
}

bool judge_runs(const struct sim *s, const struct json *o)
{
	if (!judge_is_marked(s, o) || judge_was_disowned(s, o)) {
		return false;
	}
	if (is_set(o)) {
		return json_int(json_at(o, "/status/readyReplicas"), 0) > 0;
	}
	return !job_over(o) && (is_pod(o) ? json_len(json_at(o, "/spec/schedulingGates")) == 0
					  : !json_bool(json_at(o, "/spec/suspend")));
}

/* A copy of an earlier job of this name is another job's. */
static bool is_same(struct sim *s, const struct json *o, mk_str uid)
{
	const struct user *u = user_by_uid(s, uid);

	return str_eq(json_str_at(o, ORIGIN_UID), uid) ||
	       (u != NULL && !is_pod(o) && user_by_uid(s, json_str_at(o, ORIGIN_UID)) == u);
}

/*
 * Copies of the job with that uid that run, over all workers; 'ret_excused': one is on a worker
 * that has the excuse.
 */
static int count_runs(struct sim *s, const char *resource, mk_str ns, mk_str name, mk_str uid,
		      bool (*excuse)(const struct sim *s, const struct plane *p), bool *ret_excused)
{
	int running = 0;

	*ret_excused = false;
	for (size_t i = 1; i <= s->n_workers; i++) {
		const struct json *o = ks_get(s->plane[i].store, resource, ns, name);

		if (o != NULL && judge_runs(s, o) && is_same(s, o, uid)) {
			running++;
			*ret_excused |= s->is_wide && (excuse(s, &s->plane[i]) ||
						       excuse_taken_back(s, &s->plane[i], o) ||
						       leads_forgotten(s, &s->plane[i], o));
		}
	}
	return running;
}

static void look_doubled(struct sim *s, const struct user *u, struct judged *j, const char *name,
			 const char *uid)
{
	bool excused;

	if (!j->is_doubled) {
		return;
	}
	if (count_runs(s, user_resource(u), STR("default"), str_of(name), str_of(uid), excuse_late,
		       &excused) <= 1) {
		j->is_doubled = false;
	} else if (!excused) {
		fail(s, "I1 extra copy", "%s runs twice, and every worker is in reach", name);
	}
}

void judge_doubled(struct sim *s, struct user *u)
{
	if (!u->group) {
		look_doubled(s, u, judged_of(s, u), u->name, u->uid);
		return;
	}
	for (size_t i = 0; i < u->group->n_members; i++) {
		struct member *m = &u->group->member[i];

		look_doubled(s, u, &m->judged, m->name, m->uid);
	}
}

/* A group runs as long as any of its members does. */
static bool group_runs(const struct sim *s, const struct user *u, const struct plane *p)
{
	for (size_t i = 0; u->group != NULL && i < u->group->n_members; i++) {
		const struct json *o = member_pod(s, u, &u->group->member[i], p->index);

		if (o != NULL && judge_runs(s, o)) {
			return true;
		}
	}
	return false;
}

/* How long it ran there decides whether the next Retry rests for longer. */
static void note_run(struct sim *s, struct judged *j, const struct plane *p, bool runs)
{
	int64_t *at = &j->ran_at[p->index];

	if (runs) {
		*at = *at > 0 ? *at : s->now;
		return;
	}
	if (*at > 0 && s->now - *at >= RAN_MS) {
		j->retries[p->index] = 0;
	}
	*at = 0;
}

void judge_run(struct sim *s, const struct plane *p, const struct ks_commit *c)
{
	const struct json *o = c->after ? c->after : c->before;
	mk_str uid = arena_dup(&s->arena, json_str_at(o, ORIGIN_UID));
	const char *resource = arena_printf(&s->arena, "%.*s", STR_ARG(c->resource)).p;
	struct user *u = user_by_uid(s, uid);
	bool runs = c->after && judge_runs(s, c->after), excused;

	if (u != NULL) {
		note_run(s, judged_of(s, u), p, runs || group_runs(s, u, p));
	}
	if (!runs) {
		return;
	}
	if (count_runs(s, resource, c->ns, c->name, uid, excuse_unseen, &excused) > 1) {
		if (!excused) {
			fail(s, "I1 one run", "%.*s runs on several clusters", STR_ARG(c->name));
		} else if (u != NULL && !judged_by_uid(s, u, uid)->is_doubled) {
			s->cov->situations[SIT_TWICE]++;
			judged_by_uid(s, u, uid)->is_doubled = true;
		}
	}
	if (!u) {
		return;
	}
	u->ran |= (uint64_t)1 << p->index;
	if ((u->ran & (u->ran - 1)) && !s->is_wide) {
		fail(s, "I1 one run", "%.*s ran on several clusters, one after the other",
		     STR_ARG(c->name));
	}
}

/* A job is made on the committed winner only; this is why it cannot start twice. */
void judge_made(struct sim *s, const struct site *by, const struct plane *p,
		const struct ks_commit *c)
{
	mk_str name = json_str_at(c->after,
				  "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name");
	const struct json *wl = ks_get(s->plane[by->home].store, WORKLOADS, c->ns, name);
	const struct user *u = user_by_uid(s, json_str_at(c->after, ORIGIN_UID));
	const struct judged *j;

	if (wl != NULL &&
	    str_eq(json_str_at(wl, "/metadata/uid"), json_str_at(c->after, WORKLOAD_UID)) &&
	    !has_condition(wl, "Evicted") && !(u && u->meddled) && !excuse_overtaken(s, wl, p, c) &&
	    leads_winner(s, wl) != p) {
		fail(s, "I8 server", "%.*s is made on %s, which has not won", STR_ARG(c->name),
		     p->name);
	}
	j = u != NULL ? judged_by_uid(s, u, json_str_at(c->after, ORIGIN_UID)) : NULL;
	if (j && j->over_round == u->rounds && !(u->group && judge_is_taken(s, u, j)) &&
	    !u->meddled) {
		fail(s, "I3 end", "%.*s ended, and is made again on %s", STR_ARG(c->name), p->name);
	}
}

/*
 * Rests are notes of a process about a Workload: unlike a server's date (I8) they are on no record,
 * and the next one begins with the shortest again (decision 0115).
 */
static void note_leader(struct sim *s, const struct user *u, struct judged *j, uint64_t uid)
{
	struct led by = judge_leader(s, u->site);

	if (uid != j->retried_uid) {
		memset(j->retries, 0, sizeof(j->retries));
		memset(j->rests_since, 0, sizeof(j->rests_since));
		j->retried_uid = uid;
	}
	if (by.by != NULL && !judge_is_led(by, j->retried_by)) {
		memset(j->retries, 0, sizeof(j->retries));
		j->retried_by = by;
	}
}

/*
 * The winner's Kueue has found the job over its time: Kueue on the manager, which counts as well,
 * ends it there, and a Retry for that eviction would run it again before.
 */
static bool is_over_time(const struct sim *s, const struct plane *p, const struct ks_commit *c)
{
	static const char over[] = "DeactivatedDueToMaximumExecutionTimeExceeded";
	const struct json *clone = ks_get(p->store, WORKLOADS, c->ns, c->name);
	const struct json *e = json_find(json_at(clone, "/status/conditions"), "type", "Evicted");
	mk_str said = json_str_at(c->after, "/status/admissionChecks/0/message");
	int64_t at;

	return str_starts(said, STR("Workload evicted")) && has_condition(clone, "Evicted") &&
	       str_is(json_str(json_get(e, "reason")), over) &&
	       str_eq(json_str_at(clone, WORKLOAD_UID), json_str_at(c->before, "/metadata/uid")) &&
	       time_parse(json_str(json_get(e, "lastTransitionTime")), &at) &&
	       wall_of(s) - at < s->lost_timeout_ms;
}

void judge_retry(struct sim *s, struct user *u, const struct ks_commit *c)
{
	const struct plane *p = leads_winner(s, c->before);
	struct judged *j = judged_of(s, u);

	if (!p || leads_renamed(s, c->before)) {
		return; /* its name was given up, which leads to another server */
	}
	if (u->limit_ms > 0 && is_over_time(s, p, c) && !u->meddled) {
		fail(s, "I7 rest", "%s got Retry since it was over its time on %s", u->name,
		     p->name);
	}
	note_leader(s, u, j, hash64(json_str_at(c->before, "/metadata/uid")));
	if (p->named_at > j->retried_at[p->index]) {
		j->retries[p->index] = 0; /* an operator's change of its name ends the rests */
	}
	if (s->now - j->retried_at[p->index] > RETRIES_MS || j->retries[p->index] == 0) {
		j->retries[p->index] = 0;
		j->retried_at[p->index] = s->now;
	}
	j->rests_since[p->index] = s->now;
	if (++j->retries[p->index] > RETRIES_MAX) {
		fail(s, "I7 rest", "%s got Retry %u times on %s within %lld s", u->name,
		     j->retries[p->index], p->name,
		     (long long)(s->now - j->retried_at[p->index]) / SECOND);
	}
}

/* Writes to a Workload carry its version: one that was decided before the Retry is refused. */
void judge_won(struct sim *s, const struct user *u, const struct plane *p, const struct json *wl)
{
	const struct judged *j = judged_of(s, u);
	int64_t since = j->rests_since[p->index];

	if (since > 0 && s->now - since < RESTED_MS && !u->meddled && since > p->named_at &&
	    hash64(json_str_at(wl, "/metadata/uid")) == j->retried_uid &&
	    judge_is_led(j->retried_by, judge_leader(s, u->site))) {
		fail(s, "I7 rest", "%s wins %s again %lld ms after its Retry there", p->name,
		     u->name, (long long)(s->now - since));
	}
}
