/* SPDX-License-Identifier: Apache-2.0 */
/* What the judge remembers, and when it looks. */
#include <stdlib.h>

#include "core/api/names.h"
#include "t/sim/sim.h"

void judge_init(struct sim *s)
{
	s->judge = calloc(1, sizeof(*s->judge));
	if (s->judge) {
		s->judge->of = calloc(MAX_USERS, sizeof(*s->judge->of));
	}
	if (!s->judge || !s->judge->of) {
		abort();
	}
	for (size_t i = 0; i < MAX_SITES; i++) {
		s->judge->calm_since[i] = INT64_MAX;
		s->judge->told_since[i] = INT64_MAX;
		s->judge->unasked_since[i] = INT64_MAX;
	}
}

void judge_done(struct sim *s)
{
	free(s->judge->refused);
	free(s->judge->of);
	free(s->judge);
}

struct judged *judged_of(const struct sim *s, const struct user *u)
{
	return &s->judge->of[u - s->user];
}

struct judged *judged_by_uid(const struct sim *s, const struct user *u, mk_str uid)
{
	struct member *m = member_by_uid(u, uid);

	return m != NULL ? &m->judged : judged_of(s, u);
}

/* --- what daemons can do ---------------------------------------------------------------------- */

struct led judge_leader(const struct sim *s, const struct site *site)
{
	for (size_t i = 0; i < s->n_procs; i++) {
		const struct proc *p = &s->proc[i];

		if (p->site == site && p->alive && p->leads && p->frozen_until <= s->now) {
			return (struct led){p, p->gen};
		}
	}
	return (struct led){0};
}

bool judge_is_led(struct led x, struct led y)
{
	return x.by == y.by && x.gen == y.gen;
}

bool judge_knows_winner(const struct sim *s, const struct user *u)
{
	struct led won_by = judged_of(s, u)->won_by;

	return won_by.by != NULL && judge_is_led(won_by, judge_leader(s, u->site));
}

/* A winner that is on record at a look has been seen by who leads. */
static void note_won(struct sim *s, const struct user *u, const struct json *wl)
{
	struct judged *j = judged_of(s, u);

	if (json_str_at(wl, "/status/clusterName").n > 0) {
		j->won_by = judge_leader(s, u->site);
	} else if (!has_condition(wl, "Evicted")) {
		j->won_by = (struct led){0};
	}
}

static void note(const struct sim *s, int64_t *since, bool is_so)
{
	*since = !is_so ? INT64_MAX : *since < s->now ? *since : s->now;
}

/*
 * Does the manager's server refuse the check's message, or throttle other writes, so that it waits
 * its turn? Events alone are no report that must be seen: each is sent once in a quarter of an
 * hour, and may be lost.
 */
static bool is_mute(struct sim *s, const struct plane *home)
{
	static const char *const others[] = {"/apis/batch/v1/namespaces/default/jobs/any/status",
					     "/api/v1/namespaces/default/pods/any/status"};
	mk_str body;

	for (size_t i = 0; i < 2; i++) {
		if (faults_refuse(s, home, STR("PATCH"), str_of(others[i]), &body) == 429) {
			return true;
		}
	}
	return faults_refuse(s, home, STR("PATCH"), STR(WORKLOADS_PATH "/any/status"), &body) != 0;
}

/* A report needs nothing of jobs, so it is due also while the server refuses all about them. */
static void note_calm(struct sim *s, size_t i)
{
	const struct plane *home = &s->plane[s->site[i].home];
	bool leads =
		!s->no_plugin && !excuse_late(s, home) && judge_leader(s, &s->site[i]).by != NULL;

	note(s, &s->judge->told_since[i], leads && !is_mute(s, home));
	note(s, &s->judge->unasked_since[i],
	     !str_is(json_str_at(ks_get(home->store, CHECKS, STR(""), STR("mk")),
				 "/spec/controllerName"),
		     NAME_CONTROLLER));
	note(s, &s->judge->calm_since[i],
	     leads && !home->limit_jobs && !home->forbid_jobs && !home->forbid_status &&
		     faults_refused_until(s, home) != INT64_MAX);
}

int64_t judge_unasked(const struct sim *s, const struct site *site)
{
	return s->judge->unasked_since[site - s->site];
}

int64_t judge_can_tell(const struct sim *s, const struct site *site)
{
	return s->judge->told_since[site - s->site];
}

int64_t judge_calm(const struct sim *s, const struct site *site)
{
	return s->judge->calm_since[site - s->site];
}

int64_t judge_calm_with(const struct sim *s, const struct site *site, const struct plane *w)
{
	int64_t since = judge_calm(s, site);

	int64_t refused = faults_refused_until(s, w);

	if (since == INT64_MAX || excuse_late(s, w)) {
		return INT64_MAX;
	}
	since = since > refused ? since : refused;
	return since > w->bad_until ? since : w->bad_until;
}

/* --- looks ------------------------------------------------------------------------------------ */

static void look_at(struct sim *s, struct user *u)
{
	const struct json *wl;

	judge_doubled(s, u);
	/* A story says by itself what it expects, and when. */
	if (s->scripted || !u->created || u->deleted || u->kind == USER_NO_ADAPTER) {
		return;
	}
	wl = workload_of(s, u);
	note_won(s, u, wl);
	judge_home(s, u);
	judge_waits(s, u, wl);
}

void judge_look(struct sim *s)
{
	if (s->now < s->judge->look_at || s->failed) {
		return;
	}
	s->judge->look_at = s->now + JUDGE_LOOK_MS;
	for (size_t i = 0; i < s->n_sites; i++) {
		note_calm(s, i);
	}
	for (size_t i = 0; i < s->n_users; i++) {
		look_at(s, &s->user[i]);
	}
	if (!s->scripted) {
		judge_left(s);
		judge_tries(s);
		judge_shared_look(s);
	}
}

void judge_commit(struct sim *s, struct plane *p, const struct ks_commit *c, const struct site *by)
{
	if (!is_worker(p) || !judge_is_copy(c->resource)) {
		return;
	}
	judge_run(s, p, c);
	if (by && !c->before) {
		judge_made(s, by, p, c);
	}
	if (by && str_is(c->verb, "delete") && c->before != NULL) {
		judge_deleted(s, by, p, c);
	}
	judge_ended(s, p, c);
}
