/* SPDX-License-Identifier: Apache-2.0 */
/* On which server a copy of the job is; see copied.h. */
#include "core/engine/rules/copied.h"

#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "core/engine/act/note.h"
#include "core/engine/clusters/server.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/inplace.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/won.h"

enum {
	MADE_MS = 10 * 1000, /* Kueue makes the Workload of a new job within this time, */
	SOON_MS = 1000,      /* ... and mostly within this; dates are whole seconds */
};

/* A server whose identity may not be read is known by the name that leads to it. */
static uint64_t place_of(const struct cluster *c)
{
	return c->own.place != 0 ? c->own.place : server_place(str_of(c->name));
}

/* The place of a server that says who it is; 0: it does not, or not yet. */
static uint64_t identified(const struct cluster *c)
{
	return server_hides(c) || !alias_is_known(c) ? 0 : place_of(c);
}

/* --- what is seen ----------------------------------------------------------------------------- */

/* May a copy that is not seen be there? A create is under way; else what was seen last counts. */
static bool may_be_there(const struct record *r, const struct wl_cluster *wc)
{
	return (r && r->inflight && r->inflight->type == OP_CREATE) || (wc && wc->copy.on != 0);
}

static bool is_hidden(const struct pass *p, const struct clone *k)
{
	enum view view = p->kind ? table_view(k->c, p->kind) : VIEW_MISSING;

	return view != VIEW_KNOWN && view != VIEW_MISSING;
}

/*
 * The server to which the job was sent by this name, before this process could see those of that
 * server: while it is not connected, as it is on record. A get that found none is believed.
 */
static uint64_t unseen_winner(struct pass *p, const struct clone *k, const struct record *r)
{
	if ((r && r->absent) || !p->local || facts_is(p->f, F_FINISHED) ||
	    !str_is(p->f->s[S_CLUSTER], k->c->name)) {
		return 0;
	}
	return alias_is_known(k->c) ? identified(k->c) : copied_won_place(p);
}

/* The server where a copy is, or may be; 0: none is at the clone's. */
static uint64_t place_of_copy(struct pass *p, const struct clone *k, const struct record *r,
			      const struct wl_cluster *wc)
{
	enum twin t = p->grouped ? twin_recorded(p, k) : twin_of_job(p, r);
	bool there;

	if (t == TWIN_ABSENT && is_hidden(p, k)) {
		if (!wc || wc->copy.on == 0) {
			return unseen_winner(p, k, r);
		}
		return alias_is_known(k->c) ? place_of(k->c) : wc->copy.on;
	}
	there = t == TWIN_UNKNOWN ? may_be_there(r, wc)
				  : (twin_is_ours(t) || t == TWIN_STALE) &&
					    (p->grouped || twin_is_of_object(p, r));
	return there ? place_of(k->c) : 0;
}

/*
 * Does nothing say yet which server that is? Lists of a first link may come before it is up, and
 * then it turns out to be one that says who it is. That is no move.
 */
static bool is_nameless(const struct cluster *c)
{
	return !c->was_up && str_of(c->own.server).n == 0;
}

static void note_copy(struct pass *p, const struct clone *k, const struct record *r)
{
	struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);
	uint64_t there = p->kind ? place_of_copy(p, k, r, wc) : 0;

	wc = there != 0 ? wl_cluster(p->e, p->w, k->c->id) : wc;
	if (!wc) {
		return;
	}
	if (wc->copy.on != place_of(k->c) && alias_is_known(k->c) && !wc->nameless) {
		copied_lose(p->e, p->w, wc);
	}
	wc->copy.on = there;
	wc->nameless = there == place_of(k->c) && is_nameless(k->c);
	if (there != 0 && r && r->present) {
		wc->copy.of = hash64(r->facts->s[S_ORIGIN_UID]);
	}
}

static void note_won(struct pass *p, const struct clone *k, mk_str name)
{
	p->w->round.won_on = (struct won_on){.place = identified(k->c), .name = hash64(name)};
}

/* As this process noted; 0: another client has recorded another winner since, or nothing is. */
static uint64_t noted_won(const struct pass *p)
{
	const struct won_on *won = &p->w->round.won_on;

	return won->name == hash64(p->f->s[S_CLUSTER]) ? won->place : 0;
}

/* A date (wall ms) before which the job was not sent anywhere. */
static int64_t begin_of(const struct pass *p)
{
	return p->f->since_ms > 0 ? p->f->since_ms : p->f->made_ms;
}

/* A date up to which it may have been sent by that name: the last move may be dated ahead. */
static int64_t end_of(const struct pass *p, const struct cluster *named)
{
	return named->own.moved_ms > p->e->wall ? named->own.moved_ms : p->e->wall;
}

/*
 * Does only the date of Ready tell to which server the recorded name led? The text of what is
 * Finished is not read for that.
 */
static bool is_dated(const struct pass *p, const struct cluster *c)
{
	return p->checked && p->state == CHECK_READY && !facts_is(p->f, F_FINISHED) &&
	       server_moved_after(p->e, c, begin_of(p)) &&
	       server_between(p->e, c, begin_of(p), end_of(p, c)) == 0;
}

/*
 * Was the copy made since there is quota, on a server to which the recorded name may have led then?
 * A move is dated one second late. A winner's alone is made, but one of a round before may have won
 * again: an older copy says nothing.
 */
static bool is_of_round(const struct pass *p, const struct cluster *named, const struct clone *k)
{
	const struct record *r = twin_record(p, k);
	uint64_t here = identified(k->c);
	int64_t made = r && r->present ? r->facts->made_ms : 0;

	return here != 0 && k->twin != TWIN_ALIAS && !p->grouped &&
	       twin_is_ours(twin_of_job(p, r)) && made >= wall_second(begin_of(p)) &&
	       server_may_be_between(p->e, named, here, made, made + 1000);
}

/* The only server with a copy that was made in this round; 0: there is none, or several. */
static uint64_t place_by_copy(const struct pass *p, const struct cluster *named)
{
	uint64_t found = 0;

	for (CLONES_EACH(k, p)) {
		if (!is_of_round(p, named, k)) {
			continue;
		}
		if (found != 0 && found != identified(k->c)) {
			return 0;
		}
		found = identified(k->c);
	}
	return found;
}

uint64_t copied_won_place(struct pass *p)
{
	const uint64_t noted = noted_won(p);
	const struct cluster *c = noted == 0 ? won_named(p, p->f->s[S_CLUSTER]) : NULL;
	int64_t from, to;
	uint64_t place;

	if (!c) {
		return noted;
	}
	from = begin_of(p);
	to = end_of(p, c);
	if (is_dated(p, c)) {
		if (!pass_workload(p)) {
			return 0;
		}
		from = to = lost_sent_at(p);
	}
	place = server_between(p->e, c, from, to);
	return place != 0 || !server_moved_after(p->e, c, begin_of(p)) ? place
								       : place_by_copy(p, c);
}

/*
 * Does nothing say to which of several servers the job was sent? A client took Ready's date, or the
 * MultiKueueCluster was made anew after it, and its record went. Of a group that is not asked: its
 * members' dates tell nothing.
 */
static bool is_undated(struct pass *p, const struct cluster *named)
{
	return named && !(p->state == CHECK_READY && p->grouped) && !copied_is_unread(p) &&
	       server_moved_after(p->e, named, begin_of(p)) && copied_won_place(p) == 0;
}

/* May it be the winner's, where nothing tells which one is? */
static bool is_candidate(struct pass *p, const struct clone *k)
{
	return k->twin != TWIN_ALIAS && identified(k->c) != 0 && copied_won_there(p, k) >= 0;
}

bool copied_may_be_unseen(struct pass *p)
{
	bool unseen = false;

	if (!is_undated(p, won_named(p, p->f->s[S_CLUSTER]))) {
		return false;
	}
	for (CLONES_EACH(k, p)) {
		if (is_candidate(p, k) && is_hidden(p, k)) {
			k->lacks = true; /* so that the watch looks for the kind */
			unseen |= !lost_given_up(p, k->c, p->kind);
		}
	}
	return unseen;
}

bool copied_is_unclear(struct pass *p)
{
	const struct cluster *named = won_named(p, p->f->s[S_CLUSTER]);
	size_t n = 0;

	if (!is_undated(p, named)) {
		return false;
	}
	for (CLONES_EACH(k, p)) {
		n += is_candidate(p, k) && twin_is_ours(twin_recorded(p, k));
	}
	/* With a date, those that are on record after it are not where it was sent. */
	return n > 1 || copied_may_be_unseen(p) ||
	       (p->state != CHECK_READY &&
		server_left_after(p->e, named, begin_of(p)) != INT64_MIN);
}

bool copied_is_unread(struct pass *p)
{
	const struct cluster *c = noted_won(p) == 0 ? won_named(p, p->f->s[S_CLUSTER]) : NULL;

	return c && is_dated(p, c) && !pass_workload(p);
}

/*
 * A server that took over the name in the second of the win is dated a second later. Where another
 * client took Ready back, the date of the win went with it: not now, but once there was quota, and
 * the recorded name led to the server.
 */
int64_t copied_wins(struct pass *p, const struct clone *k)
{
	const struct cluster *recorded = won_named(p, p->f->s[S_CLUSTER]);
	int64_t since;

	note_won(p, k, p->f->s[S_CLUSTER].n > 0 ? p->f->s[S_CLUSTER] : str_of(k->c->name));
	if (p->f->s[S_CLUSTER].n == 0 || p->f->since_ms <= 0) {
		return k->c->own.moved_ms > p->e->wall ? k->c->own.moved_ms : p->e->wall;
	}
	since = recorded ? server_since_ms(p->e, recorded, identified(k->c)) : 0;
	return since > p->f->since_ms ? since : p->f->since_ms;
}

int copied_won_there(struct pass *p, const struct clone *k)
{
	uint64_t here = p->f->s[S_CLUSTER].n > 0 ? identified(k->c) : 0;
	uint64_t won = here != 0 ? copied_won_place(p) : 0;
	const struct cluster *named;

	if (won != 0 || here == 0) {
		return here == 0 ? 0 : won == here ? 1 : -1;
	}
	named = won_named(p, p->f->s[S_CLUSTER]);
	if (is_undated(p, named) &&
	    !server_may_be_between(p->e, named, here, begin_of(p), end_of(p, named))) {
		return -1;
	}
	return 0;
}

bool copied_wound_there(const struct pass *p, const struct clone *k)
{
	const struct won_on *won = &p->w->round.won_on;

	return p->f->s[S_CLUSTER].n == 0 && won->place != 0 && won->place == identified(k->c);
}

/*
 * May the clone go on as the winner's? A server that only a name outside of the config leads to is
 * waited for, as long as the config has the name that was recorded.
 */
static bool may_go_on(const struct pass *p, const struct clone *k)
{
	const struct clone *recorded = pass_clone_on(p, won_named(p, p->f->s[S_CLUSTER]));

	return k->in_config || !p->config || (recorded && !recorded->in_config);
}

/*
 * A job of this round exists only on the server that won. Where that is not known, the one clone
 * with a job is the winner's. One of a round before may be back, too: which of two it is nothing
 * tells then, and neither is removed.
 */
struct clone *copied_winner(struct pass *p)
{
	struct clone *found = NULL;
	size_t n = 0;

	for (CLONES_EACH(k, p)) {
		int there = copied_won_there(p, k);

		if (there > 0) {
			return may_go_on(p, k) ? alias_speaker(k) : NULL;
		}
		if (twin_is_ours(k->twin) && twin_is_ours(twin_recorded(p, k)) && there == 0) {
			found = k;
			n++;
		}
	}
	return n == 1 && !copied_is_unclear(p) && may_go_on(p, found) ? found : NULL;
}

/* Is the recorded winner in sight, at the server that the job was sent to? */
static bool is_where_it_won(struct pass *p, const struct clone *k)
{
	int there;

	if (!p->local || facts_is(p->f, F_FINISHED) || !str_is(p->f->s[S_CLUSTER], k->c->name) ||
	    !cluster_up(k->c) || !alias_is_known(k->c)) {
		return false;
	}
	there = copied_won_there(p, k);
	return there > 0 || k->c->own.moved_ms < p->f->since_ms ||
	       (there == 0 && !copied_is_unclear(p) &&
		(twin_is_ours(twin_there(p, k)) || k->c->own.moved_ms < lost_sent_at(p)));
}

void copied_note(struct pass *p, const struct clone *k, const struct record *copy)
{
	struct wl_cluster *wc;

	note_copy(p, k, copy);
	if (is_where_it_won(p, k)) {
		wc = wl_cluster(p->e, p->w, k->c->id);
		if (wc) {
			wc->bout.won_at = p->e->now;
		}
		note_won(p, k, p->f->s[S_CLUSTER]);
	}
}

bool copied_on(const struct pass *p, const struct clone *k)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);

	return wc && wc->copy.on != 0;
}

bool copied_unseen(struct pass *p, const struct clone *k)
{
	return copied_on(p, k) && is_hidden(p, k) && !lost_given_up(p, k->c, p->kind);
}

bool copied_elsewhere(const struct pass *p, const struct clone *k)
{
	const uint64_t here = place_of(k->c);
	bool any = p->w->unnamed.since != INT64_MAX && p->w->unnamed.copy.on != here;

	for (WL_CLUSTERS_EACH(wc, p->w)) {
		any |= wc->copy.on != 0 && wc->copy.on != here;
	}
	return any;
}

bool copied_only_since(const struct pass *p, const struct clone *k)
{
	/* Another name that won did so in a round before. */
	bool recorded = str_is(p->f->s[S_CLUSTER], k->c->name);

	for (WL_CLUSTERS_EACH(wc, p->w)) {
		if (wc->bout.won_at != 0 && cluster_get(p->e, wc->id) &&
		    (wc->id != k->c->id ? !recorded : wc->bout.won_at > k->c->own.moved_at)) {
			return true;
		}
	}
	return p->w->round.won_on.place != 0 && p->w->round.won_on.place == identified(k->c);
}

/* Has this process seen a copy of the job, anywhere? */
static bool is_seen(const struct pass *p)
{
	for (WL_CLUSTERS_EACH(wc, p->w)) {
		if (wc->copy.of != 0) {
			return true;
		}
	}
	return false;
}

/*
 * Was there a round before whose copy this process has not seen? Kueue takes the quota of what it
 * evicts as soon as the job's status does not say that it runs, which is written after the copy has
 * begun and after it was stopped. What follows an eviction is the work of the process that is gone.
 */
bool copied_in_round_before(const struct pass *p)
{
	return facts_is(p->f, F_WAS_EVICTED) && !is_seen(p);
}

/* Does the status of the job say nothing of copies? */
static bool is_statusless(const struct pass *p)
{
	return p->grouped || (plug_adapter(p->e->o.plug, p->adapter)->d->flags & MK_STATUS_NONE);
}

/* Is the Workload of such a job younger than that by more than 'ms'? */
static bool is_younger(const struct pass *p, int64_t ms)
{
	const struct facts *job = p->job->facts;

	return is_statusless(p) && !is_seen(p) && job->made_ms != 0 &&
	       p->f->made_ms > job->made_ms + ms;
}

bool copied_by_workload_before(const struct pass *p)
{
	const struct facts *job = p->job ? p->job->facts : NULL;

	if (!p->f || !facts_is(job, F_MANAGED) || is_seen(p)) {
		return false;
	}
	return is_statusless(p) ? is_younger(p, MADE_MS) : facts_is(job, F_ACTIVE);
}

bool copied_is_told_by_job(const struct pass *p)
{
	const struct facts *job = p->job ? p->job->facts : NULL;

	return facts_is(job, F_MANAGED) && is_seen(p) &&
	       (is_statusless(p) || facts_is(job, F_ACTIVE));
}

/*
 * No winner is on record, and the job's status says that it runs, or a round has ended: it may run
 * on a server to which a name led since it has quota, or had it first, and none leads now. The same
 * wait as for a lost worker.
 */
int64_t copied_behind_until(const struct pass *p, const struct cluster *c)
{
	bool again = copied_in_round_before(p);
	int64_t left = again || copied_by_workload_before(p)
			       ? server_left_after(p->e, c, again ? p->f->made_ms : begin_of(p))
			       : INT64_MIN;

	return left == INT64_MIN
		       ? left
		       : lost_after(p->e, p->e->now - (p->e->wall - left), lost_patience(p->e));
}

/*
 * A Workload that came a few seconds after its job may be the second one: a process that is gone
 * may have placed the first in that time. Only a worker that this one never saw is in doubt.
 */
bool copied_before(const struct pass *p, const struct cluster *c)
{
	return p->job && facts_is(p->job->facts, F_MANAGED) && facts_is(p->f, F_QUOTA) &&
	       p->f->s[S_CLUSTER].n == 0 &&
	       (copied_by_workload_before(p) ||
		(!c->was_up && (copied_in_round_before(p) || is_younger(p, SOON_MS))));
}

/* --- a server without a name ------------------------------------------------------------------ */

void copied_lose(struct engine *e, struct wl *w, const struct wl_cluster *wc)
{
	if (wc->copy.on != 0) {
		w->unnamed = (struct unnamed){.copy = wc->copy, .since = e->now};
	}
}

/* Does a cluster show what is on that server? */
static bool shows(const struct pass *p, const struct cluster *c)
{
	enum view view = p->kind ? table_view(c, p->kind) : VIEW_MISSING;

	return place_of(c) == p->w->unnamed.copy.on && alias_is_known(c) &&
	       table_known(c, KIND_WORKLOAD) && (view == VIEW_KNOWN || view == VIEW_MISSING);
}

int64_t copied_unnamed_until(const struct pass *p)
{
	const struct wl *w = p->w;

	if (w->unnamed.since == INT64_MAX || !p->job ||
	    (!p->grouped && w->unnamed.copy.of != 0 &&
	     w->unnamed.copy.of != hash64(str_of(p->job->uid)))) {
		return INT64_MIN;
	}
	for (WORKERS_EACH(c, p->e)) {
		if (shows(p, c) || server_is_declared_lost(p->e, c, w->unnamed.copy.on)) {
			return INT64_MIN;
		}
	}
	return lost_after(p->e, w->unnamed.since, lost_patience(p->e));
}

mk_str copied_unnamed_words(const struct pass *p)
{
	struct arena *a = &p->e->scratch;
	int64_t now = p->e->now, wall = p->e->wall;

	return arena_printf(
		a,
		"has no MultiKueueCluster any more since %.*s: the job may go on there, "
		"and counts as lost at %.*s (workerLostTimeout)",
		STR_ARG(time_rfc3339(a, wall - (now - p->w->unnamed.since))),
		STR_ARG(time_rfc3339(a, wall + (copied_unnamed_until(p) - now))));
}

/* What was noted with a slice that this one replaced is about its copy. */
static void take_over_note(struct pass *p)
{
	if (!p->e->out || !p->w->owner || !inplace_is_elastic(p)) {
		return;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = manager_get(p->e, KIND_WORKLOAD, w->ns, w->name);

		if (p->w->unnamed.since == INT64_MAX && w->unnamed.since != INT64_MAX &&
		    (!r || facts_is(r->facts, F_FINISHED))) {
			p->w->unnamed = w->unnamed;
			w->unnamed.since = INT64_MAX;
		}
	}
}

bool copied_waits(struct pass *p)
{
	int64_t until;

	take_over_note(p);
	until = copied_unnamed_until(p);

	if (!p->job || !p->e->out) {
		return until > p->e->now;
	}
	if (until == INT64_MIN || pass_is_due(p, until)) {
		p->w->unnamed.since = INT64_MAX;
		return false;
	}
	p->anywhere = true; /* any cluster may turn out to lead there */
	for (WORKERS_EACH(c, p->e)) {
		if (place_of(c) == p->w->unnamed.copy.on) {
			(void)watches_ready(p->e, c, p->kind);
		}
	}
	if (!p->w->unnamed.said && p->e->may_write) {
		p->w->unnamed.said = true;
		note_warn(p->e, p->local, "WorkerUnreachable",
			  "The worker cluster where the job ran %.*s",
			  STR_ARG(copied_unnamed_words(p)));
	}
	return true;
}
