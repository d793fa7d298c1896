/* SPDX-License-Identifier: Apache-2.0 */
/* A winner that is out of sight; see hidden.h. */
#include "core/engine/rules/hidden.h"

#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "core/engine/act/waiters.h"
#include "core/engine/act/note.h"
#include "core/engine/rules/authority.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/finish.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/race.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/verdict.h"

enum { REPORT_MS = 30 * 1000 }; /* most outages are shorter */

/* When an end that was seen before counts as the last word: also with lostWorkerPolicy Keep. */
static int64_t end_counts_at(const struct engine *e, int64_t since, int64_t deadline)
{
	int64_t at = lost_after(e, since, lost_patience(e));

	return at < deadline ? at : deadline;
}

/*
 * Out of sight since 'since': Retry at the deadline, unless the job was seen to have ended: another
 * cluster shows it, or the winner did. 'k': where it was; NULL: not known.
 */
static void lost(struct pass *p, const struct clone *k, int64_t since, int64_t deadline,
		 enum rule rule, mk_str words)
{
	struct clone *ended;

	if (!pass_is_due(p, end_counts_at(p->e, since, deadline))) {
		return;
	}
	ended = finish_ended(p);
	if (ended) {
		finish_local(p, ended);
	} else if ((p->grouped || finish_is_told(p)) && pass_is_due(p, deadline)) {
		verdict_retry(p, k, rule, words, NULL);
	}
}

void hidden_lost(struct pass *p, const struct clone *k, int64_t since, enum rule rule, mk_str words)
{
	lost(p, k, since, lost_deadline(p->e, k->c, since), rule, words);
}

/*
 * 'since' as a condition of the manager tells it: a new process comes to the same date. INT64_MAX:
 * it is not out of sight.
 */
static int64_t date_of(const struct engine *e, const struct cluster *c, int64_t since)
{
	if (since == INT64_MAX) {
		return since;
	}
	return since == c->own.lost_at ? c->own.lost_wall_ms
				       : wall_second(e->wall - (e->now - since));
}

/* A winner that is out of sight. */
struct loss {
	struct cluster *c; /* NULL: it has no MultiKueueCluster */
	mk_str name;
	const char *how;
	int64_t since, deadline; /* monotonic ms */
	int64_t date;            /* of 'since', wall ms, a whole second */
};

/* A time to come, monotonic ms. */
static mk_str rfc3339_of(struct engine *e, int64_t at)
{
	return time_rfc3339(&e->scratch, e->wall + (at - e->now));
}

/* What follows from it, for users. */
static mk_str then_of(struct pass *p, const struct loss *l)
{
	struct engine *e = p->e;

	if (p->authority != AUTHORITY_FULL) {
		return arena_printf(&e->scratch, "%.*s, so the job is not run elsewhere",
				    STR_ARG(authority_words(p)));
	}
	if (finish_ended(p)) {
		return arena_printf(
			&e->scratch,
			"the job there has ended, and its end counts as it was seen before, unless "
			"more of it is seen until %.*s",
			STR_ARG(rfc3339_of(e, end_counts_at(e, l->since, l->deadline))));
	}
	if (l->deadline == INT64_MAX) {
		return STR("its return is waited for without limit (lostWorkerPolicy: Keep)");
	}
	return arena_printf(
		&e->scratch,
		"the job there counts as lost at %.*s (workerLostTimeout), and is queued again "
		"then",
		STR_ARG(rfc3339_of(e, l->deadline)));
}

/*
 * The check still says where the Workload was admitted, as in Kueue. When the job was out of reach
 * for a while, an Event says so, and when it counts as lost. '*reported': the date that one had.
 */
static void report(struct pass *p, const struct loss *l, int64_t *reported)
{
	struct engine *e = p->e;
	int64_t patience = e->o.worker_lost_timeout_ms / 4;
	struct note note = {
		.type = "Warning", .reason = STR("WorkerUnreachable"), .since_wall_ms = l->date};

	if (l->since == INT64_MAX || *reported == l->date || !e->may_write ||
	    !pass_is_due(p, l->since + (patience < REPORT_MS ? patience : REPORT_MS)) ||
	    (p->authority == AUTHORITY_FULL && e->now >= l->deadline)) {
		return;
	}
	*reported = l->date;
	note.text = arena_printf(
		&e->scratch, "The worker cluster \"%.*s\" that was admitted to %s since %.*s: %.*s",
		STR_ARG(l->name), l->how, STR_ARG(time_rfc3339(&e->scratch, l->date)),
		STR_ARG(then_of(p, l)));
	if (l->c) {
		waiters_tell(
			e, l->c, cluster_record(e, l->c), p->local, &note,
			hash64(arena_printf(&e->scratch, "%s %lld", l->how, (long long)l->date)),
			false);
	} else {
		note_send(e, p->local, &note);
	}
}

/* The same of a cluster whose name is known. */
static void report_of(struct pass *p, const struct cluster *c, const char *how, int64_t since,
		      int64_t date, int64_t deadline)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, c->id);
	const struct loss l = {.c = cluster_get(p->e, c->id),
			       .name = p->f->s[S_CLUSTER],
			       .how = how,
			       .since = since,
			       .deadline = deadline,
			       .date = date};

	if (wc) {
		report(p, &l, &wc->hidden_said);
	}
}

void hidden_winner(struct pass *p, const struct clone *k, uint16_t kind, enum rule rule,
		   mk_str words)
{
	int64_t since = hidden_since(k->c, kind);

	report_of(p, k->c, cluster_up(k->c) ? "does not show its jobs" : "is out of reach", since,
		  date_of(p->e, k->c, since), lost_deadline(p->e, k->c, since));
	hidden_lost(p, k, since, rule, words);
}

/* A clone in sight without a job, at a server to which the name leads since the job was sent. */
static bool is_losers(const struct pass *p, const struct clone *k)
{
	return cluster_up(k->c) && twin_is_ours(k->twin) && twin_there(p, k) == TWIN_ABSENT;
}

/*
 * The name leads to another server since 'since' than when the job was sent there. The job is not
 * gone, but out of reach: it is waited for as at a lost worker. False: that has an end now.
 */
bool hidden_elsewhere(struct pass *p, struct clone *k, int64_t since)
{
	report_of(p, k->c, "leads to another API server", since, k->c->own.moved_ms,
		  lost_elsewhere_until(p, k->c, since));
	if (!lost_waits_elsewhere(p, k)) {
		if (copied_won_there(p, k) >= 0 && !is_losers(p, k) && !copied_is_unclear(p)) {
			return false;
		}
		lost(p, k, since, since, R_LOST, STR("Admitting remote lost"));
	}
	return true;
}

void hidden_cluster(struct pass *p, mk_str name)
{
	struct engine *e = p->e;
	struct round *r = &p->w->round;
	struct loss l = {.name = name, .how = "has no MultiKueueCluster"};

	if (r->lost_at == INT64_MAX) {
		r->lost_at = e->now;
	}
	l.since = r->lost_at;
	l.date = wall_second(e->wall - (e->now - l.since));
	l.deadline = e->o.worker_lost_keep ? INT64_MAX
					   : lost_after(e, l.since, e->o.worker_lost_timeout_ms);
	report(p, &l, &r->lost_reported);
	lost(p, NULL, l.since, l.deadline, R_LOST, STR("Admitting remote lost"));
}
