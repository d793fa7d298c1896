/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dispatcher placement owes to jobs, judged by what the servers have, while the manager's
 * server is in reach and a daemon leads:
 *   room       no Workload waits for long where a worker that it may go to has had room for it
 *   stuck      none holds quota of the manager for long after its time
 *   rest       none rests on when a worker has got more quota
 *   forbidden  none is cloned onto a worker that a filter has forbidden for a while
 *   told       what fits on no worker is told of, or rejected, within ten seconds
 *   rejected   ... and nothing else is
 */
#include <stdlib.h>

#include "core/base/timefmt.h"
#include "t/sim/churn.h"

enum {
	SLACK_MS = 30 * SECOND, /* to see, to decide and to write */
	ROOM_MS = 15 * SECOND,  /* ... and what rounds take besides */
	TOLD_MS = 10 * SECOND + PLACES_LOOK_MS,
	POD = 1000, /* quota of a pod, in thousandths */
};

/* Which zones a selector takes: bits for "a", "b" and none. */
enum { ZONE_A = 1, ZONE_B = 2, ZONE_NONE = 4 };
const char *const placing_wishes[WISHES] = {"",        "zone=a", "zone in (a, b)",
					    "zone!=a", "!zone",  "zone notin (b)"};
static const unsigned wish_zones[WISHES] = {
	ZONE_A | ZONE_B | ZONE_NONE, ZONE_A,    ZONE_A | ZONE_B,
	ZONE_B | ZONE_NONE,          ZONE_NONE, ZONE_A | ZONE_NONE};

const struct json *placing_sections(const struct sim *s)
{
	return s->places ? s->places->sections : NULL;
}

static void forget_fits(struct placing *w)
{
	for (size_t i = 0; i < PLACES_MAX; i++) {
		w->could_at[i] = INT64_MAX;
		for (size_t b = 0; b < N_BARS; b++) {
			w->barred_at[i][b] = INT64_MAX;
		}
	}
	w->none_at = INT64_MAX;
}

static void forget(struct placing *w)
{
	for (size_t i = 0; i < PLACES_MAX; i++) {
		w->room_ms[i] = 0;
	}
	forget_fits(w);
}

void placing_forget(struct sim *s)
{
	for (size_t i = 0; i < MAX_USERS; i++) {
		forget(&s->places->of[i]);
	}
}

void placing_init(struct sim *s)
{
	struct places *x = calloc(1, sizeof(*x));
	struct placing *of = calloc(MAX_USERS, sizeof(*of));

	if (!x || !of) {
		abort();
	}
	x->of = of;
	arena_init(&x->arena, 0);
	for (size_t i = 0; i < MAX_SITES; i++) {
		x->calm_since[i] = INT64_MAX;
	}
	s->places = x;
	placing_forget(s);
}

void placing_done(struct sim *s)
{
	if (s->places) {
		arena_done(&s->places->arena);
		free(s->places->of);
		free(s->places);
	}
}

/* Since when it is so; INT64_MAX: it is not. */
static int64_t since_when(int64_t was, bool is, int64_t now)
{
	return !is ? INT64_MAX : was < now ? was : now;
}

/* --- what counts ------------------------------------------------------------------------------ */

static int64_t said(int64_t check, int64_t config, int64_t file, int64_t none)
{
	return check >= 0 ? check : config >= 0 ? config : file >= 0 ? file : none;
}

static struct section section_now(const struct places *x)
{
	const struct section *check = &x->check, *config = &x->config, *file = &x->file;

	return (struct section){
		.requires = said(check->requires, config->requires, file->requires, 0),
		.keep_percent =
			said(check->keep_percent, config->keep_percent, file->keep_percent, 0),
		.overflow_ms = said(check->overflow_ms, config->overflow_ms, file->overflow_ms, 0),
		.wait_ms = said(check->wait_ms, config->wait_ms, file->wait_ms, 0),
		.round_ms = said(check->round_ms, config->round_ms, file->round_ms, 60 * SECOND)};
}

/* --- a worker --------------------------------------------------------------------------------- */

static bool some_clone_waits(const struct plane *p, const struct json *but)
{
	size_t pos = 0;
	const struct json *o;
	mk_str name = json_str_at(but, "/metadata/name");

	for (o = ks_each(p->store, WORKLOADS, &pos); o; o = ks_each(p->store, WORKLOADS, &pos)) {
		if (churn_is_remote(o) && !has_condition(o, "QuotaReserved") &&
		    !has_condition(o, "Finished") &&
		    !str_eq(json_str_at(o, "/metadata/name"), name)) {
			return true;
		}
	}
	return false;
}

/*
 * Is what a daemon knows of it new? A server that went back to a snapshot is disbelieved for a
 * minute, which begins when a daemon asks it: for two at the most.
 */
static bool is_known(const struct sim *s, const struct plane *p)
{
	return !excuse_late(s, p) &&
	       (p->restored_at == 0 || s->now > p->restored_at + 2 * PLACES_HEALED_MS);
}

/* --- a job and a worker ----------------------------------------------------------------------- */

struct fit {
	bool bars[N_BARS]; /* what operators and the job set: labels and taints count for good */
	bool barred;       /* by any of them */
	bool reachable;
	bool could; /* ever */
	bool room;  /* now */
};

static const struct json *cluster_of(const struct sim *s, const struct site *site, size_t i)
{
	char name[8] = {'w', (char)('0' + i), 0};

	return ks_get(s->plane[site->home].store, CLUSTERS, STR_NONE, str_of(name));
}

static unsigned zone_of(const struct json *cluster)
{
	mk_str zone = json_str_at(cluster, "/metadata/labels/zone");

	return zone.n == 0 ? ZONE_NONE : str_is(zone, "a") ? ZONE_A : ZONE_B;
}

static unsigned zones_of_job(const struct json *job)
{
	mk_str text = json_str_at(job, "/metadata/annotations/multikueued.io~1requires");

	for (size_t i = 0; i < WISHES; i++) {
		if (str_is(text, placing_wishes[i])) {
			return wish_zones[i];
		}
	}
	return 0;
}

/* The config names w1, and takes others by this label. */
static bool is_selected(const struct json *cluster, size_t i)
{
	mk_str pool = json_str_at(cluster, "/metadata/labels/pool");

	return cluster && (i == 1 || str_is(pool, "a") || str_is(pool, "c"));
}

/* What forbids the worker to the job now. */
static void find_bars(const struct sim *s, const struct user *u, size_t i, bool bars[static N_BARS])
{
	const struct json *c = cluster_of(s, u->site, i);
	const struct json *job = user_job(u, &s->plane[u->site->home]);
	mk_str tolerates = json_str_at(job, "/metadata/annotations/multikueued.io~1tolerates");
	bool tainted = json_str_at(c, "/metadata/annotations/multikueued.io~1taints").n > 0;
	unsigned zones = wish_zones[section_now(s->places).requires] & zones_of_job(job);

	bars[BAR_LABELS] = !(zone_of(c) & zones) || (tainted && tolerates.n == 0);
	bars[BAR_CONFIG] = !is_selected(c, i);
	bars[BAR_CORDON] = json_str_at(c, "/metadata/annotations/multikueued.io~1cordon").n > 0;
	bars[BAR_UNSERVED] = s->plane[i].forbid_jobs;
}

/* Does the section of now keep the job from the worker for a while? */
static bool is_put_off(const struct sim *s, const struct user *u, const struct json *wl, size_t i,
		       const struct section *now)
{
	bool is_cloud = json_str_at(cluster_of(s, u->site, i), "/metadata/labels/cloud").n > 0;

	return (now->overflow_ms > 0 && is_cloud &&
		s->now < u->reserved_at + now->overflow_ms + PLACES_LOOK_MS) ||
	       (now->wait_ms > 0 && some_clone_waits(&s->plane[i], wl));
}

static struct fit fit_of(const struct sim *s, const struct user *u, const struct json *wl, size_t i,
			 const struct quota *q)
{
	const struct plane *p = &s->plane[i];
	const struct section now = section_now(s->places);
	const struct json *cq = ks_get(p->store, CLUSTER_QUEUES, STR_NONE, STR("cq"));
	int64_t wanted = POD * pods_of(wl), kept = POD * q->most * now.keep_percent / 100;
	struct fit f = {.reachable = is_known(s, p)};

	find_bars(s, u, i, f.bars);
	for (size_t b = 0; b < N_BARS; b++) {
		f.barred |= f.bars[b];
	}
	f.could = !f.bars[BAR_LABELS] && POD * q->most - kept >= wanted;
	f.room = !f.barred && f.reachable && POD * q->free - kept >= wanted && !p->refuse_clones &&
		 !p->rewrite && str_is(json_str_at(cq, "/spec/stopPolicy"), "None") &&
		 !is_put_off(s, u, wl, i, &now);
	return f;
}

/* --- time that counts ------------------------------------------------------------------------- */

static bool has_leader(const struct sim *s, const struct site *site)
{
	for (size_t i = 0; i < s->n_procs; i++) {
		const struct proc *p = &s->proc[i];

		if (p->site == site && p->alive && p->leads && p->frozen_until <= s->now) {
			return true;
		}
	}
	return false;
}

/* Does a fault change what operators and users keep, or has it a moment ago? */
static bool is_churned(const struct sim *s)
{
	for (size_t i = 0; i < s->n_faults; i++) {
		const struct fault *f = &s->fault[i];
		bool other = f->kind->family == FAULT_OF_CHURN ||
			     (f->kind->family == FAULT_OF_WORLD && !f->kind->lasts);

		if (other && s->now >= f->at && (f->on || s->now < f->until + PLACES_HEALED_MS)) {
			return true;
		}
	}
	return s->no_plugin;
}

static void measure(struct sim *s, const struct quota *q)
{
	struct places *x = s->places;
	bool churned = is_churned(s);

	for (size_t k = 0; k < s->n_sites; k++) {
		const struct site *site = &s->site[k];
		bool calm = has_leader(s, site) && !churned &&
			    !excuse_late(s, &s->plane[site->home]) &&
			    !s->plane[site->home].limit_jobs;

		x->calm_since[k] = since_when(x->calm_since[k], calm, s->now);
	}
	for (size_t i = 1; i <= s->n_workers; i++) {
		/* A worker that joins the config ends no pause. */
		if (!is_selected(cluster_of(s, &s->site[0], i), i)) {
			x->grew_at[i] = 0;
		} else if (q[i].nominal > x->nominal[i]) {
			x->grew_at[i] = s->now;
		}
		x->nominal[i] = q[i].nominal;
	}
}

/* --- a job ------------------------------------------------------------------------------------ */

static int64_t max_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Notes what each worker is for the job, and since when. */
static void note_fits(struct sim *s, const struct user *u, const struct json *wl,
		      const struct quota *q)
{
	struct placing *w = &s->places->of[u - s->user];
	bool none = true;

	for (size_t i = 1; i <= s->n_workers; i++) {
		struct fit f = fit_of(s, u, wl, i, &q[i]);
		bool selected = is_selected(cluster_of(s, u->site, i), i);

		for (size_t b = 0; b < N_BARS; b++) {
			w->barred_at[i][b] = since_when(w->barred_at[i][b], f.bars[b], s->now);
		}
		w->could_at[i] =
			since_when(w->could_at[i], f.could && f.reachable && !f.barred, s->now);
		w->room_ms[i] = f.room ? w->room_ms[i] + PLACES_LOOK_MS : 0;
		none = none && (!selected || (f.reachable && !f.could));
	}
	w->none_at = since_when(w->none_at, none, s->now);
}

static void check_waiting(struct sim *s, const struct user *u, const struct json *wl)
{
	const struct places *x = s->places;
	const struct placing *w = &x->of[u - s->user];
	int64_t since = max_of(x->calm_since[u->site - s->site], u->reserved_at);
	int64_t round_ms = section_now(x).round_ms, late = 0;
	int64_t bound = ROOM_MS + (int64_t)(s->n_workers + 1) * round_ms;

	for (size_t i = 1; i <= s->n_workers; i++) {
		late = is_known(s, &s->plane[i]) ? late : PLACES_HEALED_MS;
		if (w->room_ms[i] > bound) {
			fail(s, "room",
			     "%s waits, and %s has had room for it for %lld s, with rounds of "
			     "%lld; its check says \"%.*s\"",
			     u->name, s->plane[i].name, (long long)w->room_ms[i] / SECOND,
			     (long long)round_ms / SECOND,
			     STR_ARG(json_str_at(wl, "/status/admissionChecks/0/message")));
		}
	}
	if (s->placement_timeout_ms > 0 &&
	    s->now - since > s->placement_timeout_ms + SLACK_MS + late) {
		fail(s, "stuck", "%s holds its quota for %lld s", u->name,
		     (long long)(s->now - since) / SECOND);
	}
	if (w->none_at != INT64_MAX && s->now - max_of(since, w->none_at) > TOLD_MS &&
	    !str_starts(json_str_at(wl, "/status/admissionChecks/0/message"),
			STR("Fits on no worker: "))) {
		fail(s, "told", "%s fits on no worker for %lld s, and its check says \"%.*s\"",
		     u->name, (long long)(s->now - max_of(since, w->none_at)) / SECOND,
		     STR_ARG(json_str_at(wl, "/status/admissionChecks/0/message")));
	}
}

/* A Workload that gave its quota back comes again when a worker gets more. */
static void check_resting(struct sim *s, const struct user *u, const struct json *wl)
{
	const struct places *x = s->places;
	const struct json *evicted =
		json_find(json_at(wl, "/status/conditions"), "type", "Evicted");
	int64_t until, since, calm = x->calm_since[u->site - s->site];

	if (has_condition(wl, "QuotaReserved") || !has_condition(wl, "Evicted") ||
	    !time_parse(json_str_at(wl, "/status/requeueState/requeueAt"), &until) ||
	    until <= wall_of(s) ||
	    !time_parse(json_str(json_get(evicted, "lastTransitionTime")), &since)) {
		return;
	}
	for (size_t i = 1; i <= s->n_workers; i++) {
		int64_t grew = x->grew_at[i];

		if (grew + WALL0 > since + 2 * SECOND + PLACES_LOOK_MS && grew > calm + SLACK_MS &&
		    s->now - grew > SLACK_MS && is_known(s, &s->plane[i]) &&
		    is_selected(cluster_of(s, u->site, i), i)) {
			fail(s, "rest", "%s rests, and %s has more quota for %lld s", u->name,
			     s->plane[i].name, (long long)(s->now - grew) / SECOND);
		}
	}
}

static bool is_judged(const struct sim *s, const struct user *u)
{
	return u != NULL && u->kind != USER_NO_ADAPTER && u->kind != USER_UNMANAGED &&
	       !u->deleted && !is_hindered(s, u) && !excuse_runs_here(s, u);
}

static void look_at(struct sim *s, const struct user *u, const struct json *wl,
		    const struct quota *q)
{
	struct placing *w = &s->places->of[u - s->user];

	if (s->places->calm_since[u->site - s->site] == INT64_MAX ||
	    !user_job(u, &s->plane[u->site->home])) {
		forget(w);
		return;
	}
	if (!is_waiting(wl)) {
		if (json_str_at(wl, "/status/clusterName").n > 0) {
			forget(w);
		}
		forget_fits(w);
		check_resting(s, u, wl);
		return;
	}
	note_fits(s, u, wl, q);
	check_waiting(s, u, wl);
}

void placing_look(struct sim *s)
{
	struct quota q[PLACES_MAX] = {0};

	for (size_t i = 1; i <= s->n_workers; i++) {
		q[i] = plane_quota(&s->plane[i]);
	}
	measure(s, q);
	for (size_t k = 0; k < s->n_sites; k++) {
		const struct ks_store *mgr = s->plane[s->site[k].home].store;
		size_t pos = 0;
		const struct json *wl;

		for (wl = ks_each(mgr, WORKLOADS, &pos); wl && !s->failed;
		     wl = ks_each(mgr, WORKLOADS, &pos)) {
			struct user *u =
				has_condition(wl, "Finished") ? NULL : user_by_workload(s, wl);

			if (is_judged(s, u)) {
				look_at(s, u, wl, q);
			}
		}
	}
}

/* --- writes ----------------------------------------------------------------------------------- */

void placing_cloned(struct sim *s, const struct plane *p, const struct ks_commit *c)
{
	const struct user *u = NULL;
	const struct json *wl = NULL;
	bool bars[N_BARS];

	for (size_t k = 0; k < s->n_sites && !is_judged(s, u); k++) {
		wl = ks_get(s->plane[s->site[k].home].store, WORKLOADS, c->ns, c->name);
		u = wl ? user_by_workload(s, wl) : NULL;
	}
	if (c->before || !is_judged(s, u) || !is_waiting(wl) ||
	    s->places->calm_since[u->site - s->site] > s->sent_at - SLACK_MS) {
		return;
	}
	find_bars(s, u, p->index, bars);
	for (size_t b = 0; b < N_BARS; b++) {
		int64_t since = s->places->of[u - s->user].barred_at[p->index][b];

		if (bars[b] && since < s->sent_at - SLACK_MS) {
			fail(s, "forbidden", "%s is cloned onto %s, which is forbidden for %lld s",
			     u->name, p->name, (long long)(s->now - since) / SECOND);
			return;
		}
	}
}

void placing_rejected(struct sim *s, const struct user *u, const struct json *wl)
{
	const struct places *x = s->places;

	if (!is_judged(s, u) || !str_starts(json_str_at(wl, "/status/admissionChecks/0/message"),
					    STR("Fits on no worker"))) {
		return;
	}
	if (!x->rejects) {
		fail(s, "rejected", "%s is rejected, and is to wait", u->name);
	}
	for (size_t i = 1; i <= s->n_workers && x->calm_since[u->site - s->site] < s->now; i++) {
		int64_t could = x->of[u - s->user].could_at[i];

		if (could < s->now - TOLD_MS) {
			fail(s, "rejected", "%s is rejected, and %s could take it for %lld s",
			     u->name, s->plane[i].name, (long long)(s->now - could) / SECOND);
		}
	}
}
