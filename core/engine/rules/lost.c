/* SPDX-License-Identifier: Apache-2.0 */
/* When a hidden worker counts as lost for good; see lost.h. */
#include "core/engine/rules/lost.h"

#include "core/base/timefmt.h"
#include "core/engine/clusters/server.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/twin.h"

enum { CLOCK_GRACE_MS = 60 * 1000, KEEP_PATIENCE_MS = 15 * 60 * 1000, LISTED_MS = 30 * 1000 };

/*
 * A new process needs no grace of its own: the date is on the manager, and a worker counts as lost
 * only after a connection has failed (hidden_since).
 */
int64_t lost_after(const struct engine *e, int64_t since, int64_t timeout)
{
	int64_t grace = timeout < CLOCK_GRACE_MS ? timeout : CLOCK_GRACE_MS;
	int64_t deadline = since == INT64_MAX ? INT64_MAX : since + timeout;

	return e->clock_set_ms != INT64_MIN && deadline < e->clock_set_ms + grace
		       ? e->clock_set_ms + grace
		       : deadline;
}

int64_t lost_deadline(const struct engine *e, const struct cluster *c, int64_t since)
{
	if (c->own.gone_now && !cluster_up(c)) {
		return since;
	}
	return e->o.worker_lost_keep ? INT64_MAX
				     : lost_after(e, since, e->o.worker_lost_timeout_ms);
}

/*
 * With lostWorkerPolicy Keep a running job waits without limit, the quota of an evicted one does
 * not: docs/decisions/0051.
 */
int64_t lost_patience(const struct engine *e)
{
	return e->o.worker_lost_keep ? KEEP_PATIENCE_MS : e->o.worker_lost_timeout_ms;
}

bool lost_given_up(struct pass *p, const struct cluster *c, uint16_t kind)
{
	int64_t since = hidden_since(c, kind);

	return (c->own.gone_now && !cluster_up(c)) ||
	       pass_is_due(p, lost_after(p->e, since, lost_patience(p->e)));
}

int64_t lost_refused_until(const struct engine *e, const struct cluster *c, const struct record *r,
			   int64_t timeout)
{
	int64_t since = refusal_since(r);

	since = since > c->up_at ? since : c->up_at; /* before, nothing was tried */
	return lost_after(e, since, timeout);
}

/* --- at the server to which the name led before ----------------------------------------------- */

int64_t lost_sent_at(struct pass *p)
{
	const struct json *check;
	int64_t at;

	if (!p->checked || p->state != CHECK_READY || p->f->s[S_CLUSTER].n == 0) {
		return p->f->since_ms;
	}
	check = json_elem(json_at(pass_workload(p), "/status/admissionChecks"), p->check);
	return time_parse(json_str(json_get(check, "lastTransitionTime")), &at) ? at
										: p->f->since_ms;
}

/*
 * Was the clone, which the name 'k' shows, seen first since 'c' leads to this server, and after the
 * link came up, so that it was made here?
 */
static bool is_made_here(const struct clone *k, const struct cluster *c)
{
	return k->r && k->r->present && k->r->uid_at > k->c->up_at &&
	       (c->own.moved_ms == 0 || k->r->uid_at > c->own.moved_at);
}

/* Does the server show another winner's clone of this name, as only the same one can? */
static bool shows_others(const struct engine *e, const struct cluster *c)
{
	for (LIST_EACH_AS(struct record, r, &c->tables[KIND_WORKLOAD]->records, node)) {
		const struct record *local =
			r->present ? manager_get(e, KIND_WORKLOAD, r->ns, r->name) : NULL;

		if (local && str_is(local->facts->s[S_CLUSTER], c->name) &&
		    str_eq(r->facts->s[S_LOCAL_UID], str_of(local->uid))) {
			return true;
		}
	}
	return false;
}

/*
 * The identity cannot be read, and the winner's clone is missing. Has it gone while we looked, or
 * does the server show that it is the same? Else it is another one.
 */
static bool is_doubtful(const struct pass *p, const struct clone *k)
{
	bool went = k->r && k->r->uid && k->r->gone_at > k->c->up_at;

	return server_hides(k->c) && k->twin == TWIN_ABSENT && !went &&
	       str_is(p->f->s[S_CLUSTER], k->c->name) && !shows_others(p->e, k->c);
}

/*
 * Was the job sent before the name led to the server to which it led last? Where it is known which
 * server has won, that tells, and not a date by a clock that may have been wrong.
 */
static bool is_sent_before(struct pass *p, const struct cluster *c)
{
	const uint64_t won = copied_won_place(p);

	if (won != 0 && c->own.place != 0) {
		return c->own.moved_ms > 0 && won != c->own.place;
	}
	return c->own.moved_ms > 0 && p->f->since_ms <= c->own.moved_ms &&
	       lost_sent_at(p) <= c->own.moved_ms;
}

/* Does the server show the kind? What was seen under the name before may be another server's. */
static bool is_listed(const struct pass *p, const struct clone *k)
{
	enum view view = p->kind ? table_view(k->c, p->kind) : VIEW_MISSING;

	return view == VIEW_KNOWN || view == VIEW_MISSING;
}

int64_t lost_elsewhere(struct pass *p, struct clone *k)
{
	struct engine *e = p->e;
	struct cluster *c = k->c;
	/* Another name may speak for the server while this one is being connected. */
	const struct clone *by = alias_speaker(k);
	bool listed = is_listed(p, by), before;
	int there = copied_won_there(p, k);

	if (!p->local || facts_is(p->f, F_FINISHED) || there > 0 ||
	    (there == 0 && (is_made_here(by, c) || (listed && twin_is_ours(twin_recorded(p, by)) &&
						    !copied_is_unclear(p))))) {
		return INT64_MAX;
	}
	if (there < 0) {
		return e->now - (e->wall - server_left_ms(e, c, copied_won_place(p)));
	}
	before = is_sent_before(p, c);
	if (before ? copied_only_since(p, k)
		   : !table_known(by->c, KIND_WORKLOAD) || !is_doubtful(p, k)) {
		return INT64_MAX;
	}
	if (!before && !listed && !pass_is_due(p, by->c->up_at + LISTED_MS)) {
		return e->now; /* the copy may be there: that tells more than the identity */
	}
	if (!before && !e->out) {
		return INT64_MAX; /* an explanation notes nothing */
	}
	if (!before) {
		server_doubt(e, c);
	}
	return e->now - (e->wall - server_left_ms(e, c, copied_won_place(p)));
}

int64_t lost_elsewhere_until(struct pass *p, const struct cluster *c, int64_t since)
{
	bool holds = p->e->o.worker_lost_keep && !facts_is(p->f, F_EVICTED);
	uint64_t place = copied_won_place(p);
	bool gone = place != 0 ? server_is_declared_lost(p->e, c, place) : c->own.gone_before;

	return gone ? since : holds ? INT64_MAX : lost_after(p->e, since, lost_patience(p->e));
}

/* Is a cluster being connected for the first time? It may lead to any server. */
static bool is_any_untried(const struct engine *e)
{
	for (WORKERS_EACH(c, e)) {
		if (!cluster_up(c) && c->own.lost_at == INT64_MAX) {
			return true;
		}
	}
	return false;
}

bool lost_waits_elsewhere(struct pass *p, struct clone *k)
{
	int64_t since = lost_elsewhere(p, k);
	bool untried = since != INT64_MAX && (is_any_untried(p->e) || copied_may_be_unseen(p));

	p->anywhere |= untried;
	return since != INT64_MAX &&
	       (!pass_is_due(p, lost_elsewhere_until(p, k->c, since)) || untried);
}
