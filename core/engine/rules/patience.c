/* SPDX-License-Identifier: Apache-2.0 */
/* Quota that is given back; see patience.h. */
#include "core/engine/rules/patience.h"

#include "core/base/backoff.h"
#include "core/base/timefmt.h"
#include "core/engine/act/ops.h"
#include "core/engine/act/ssa.h"
#include "core/engine/answers/message.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/vacancy.h"
#include "core/engine/rules/verdict.h"
#include "core/engine/store/touch.h"

enum {
	FRESH_MS = 60 * 1000,          /* a round so young was seen from its beginning */
	ADMITTED_MS = 60 * 1000,       /* an admitted clone has so long to win */
	PAUSE_MS = 60 * 1000,          /* the first pause, doubled each time up to */
	PAUSE_MAX_MS = 30 * 60 * 1000, /* ... this */
};

/* Kueue's Evicted condition repeats it; see is_given_back. */
#define GIVEN_BACK "No worker admitted it within "

/* --- the deadline ----------------------------------------------------------------------------- */

static int64_t timeout_of(const struct pass *p)
{
	const struct record *check = manager_named(p->e, KIND_CHECK, p->f->checks[p->check]);

	return check && check->facts->placement_ms >= 0 ? check->facts->placement_ms
							: p->e->o.placement_timeout_ms;
}

/* Since when workers may have been asked (wall ms); -1: they are not yet, or it is not known. */
static int64_t asked_since(struct pass *p)
{
	int64_t since = p->f->since_ms, ready;
	const struct json *checks;

	for (size_t i = 0; i < p->f->n_checks; i++) {
		if (i != p->check && p->f->states[i] != CHECK_READY) {
			return -1;
		}
	}
	if (p->f->n_checks < 2 || since < 0) {
		return since;
	}
	checks = json_at(p->wl_json ? p->wl_json : record_parse(p->e, p->local),
			 "/status/admissionChecks");
	for (size_t i = 0; i < p->f->n_checks; i++) {
		const struct json *c = json_elem(checks, i);

		if (i != p->check &&
		    time_parse(json_str(json_get(c, "lastTransitionTime")), &ready) &&
		    ready > since) {
			since = ready;
		}
	}
	return checks ? since : -1;
}

static int64_t age_of(const struct pass *p, int64_t since)
{
	return p->e->wall > since ? p->e->wall - since : 0;
}

/*
 * Notes when a wait began that this process sees: it saw the Workload before, or it is young. By
 * the wall clock alone, which may be another one than Kueue's, it might be over as it begins.
 */
static void note_begin(struct pass *p, int64_t since)
{
	struct patience_notes *asked = &p->w->round.asked;
	int64_t age = age_of(p, since);

	if (asked->since == since) {
		return;
	}
	asked->at = age < FRESH_MS                        ? p->e->now - age
		    : p->w->was_idle || asked->since != 0 ? p->e->now
							  : INT64_MAX;
	asked->since = since;
	asked->seen = p->e->now;
	p->w->was_idle = false;
}

/*
 * A wait that this process saw from its beginning is measured by the monotonic clock, which no
 * operator sets; an older one by the wall clock as it is now, with a grace.
 */
static int64_t end_of(const struct pass *p, int64_t since, int64_t timeout)
{
	const struct patience_notes *asked = &p->w->round.asked;
	bool noted = asked->since == since;
	int64_t begin = noted && asked->at != INT64_MAX ? asked->at : p->e->now - age_of(p, since);
	int64_t least =
		(noted ? asked->seen : p->e->now) + (timeout < FRESH_MS ? timeout : FRESH_MS);
	int64_t end = lost_after(p->e, begin, timeout);

	if (asked->last > 0 && asked->last + timeout > end) {
		end = asked->last + timeout;
	}
	return end > least ? end : least;
}

void patience_asks_later(struct pass *p, int64_t at)
{
	struct patience_notes *asked = &p->w->round.asked;
	int64_t most = asked->seen + OPS_REMADE_MS;

	/* A rest that begins later is of this round: it would put the end off again and again. */
	at = at < most ? at : most;
	asked->last = at > asked->last ? at : asked->last;
}

/* Does it hold quota on the manager, and has no worker taken it? */
static bool is_waiting(const struct pass *p)
{
	return p->checked && p->job && facts_is(p->f, F_QUOTA | F_ACTIVE) &&
	       !(p->f->flags & (F_EVICTED | F_FINISHED | F_TERMINATING)) &&
	       p->state == CHECK_PENDING && (p->f->s[S_CLUSTER].n == 0 || slices_waits(p));
}

int64_t patience_deadline(struct pass *p)
{
	int64_t timeout = is_waiting(p) ? timeout_of(p) : 0;
	int64_t since = timeout > 0 ? asked_since(p) : -1;

	return since < 0 ? INT64_MAX : end_of(p, since, timeout);
}

/* An admitted clone is about to win: what holds it up ends soon, or never. */
static bool is_about_to_win(struct pass *p)
{
	for (CLONES_EACH(k, p)) {
		if (twin_is_ours(k->twin) && k->in_config && clone_is(k, F_ADMITTED) &&
		    !(k->r->facts->flags & (F_FINISHED | F_EVICTED | F_TERMINATING)) &&
		    cluster_up(k->c)) {
			return true;
		}
	}
	return false;
}

bool patience_ends(struct pass *p)
{
	int64_t timeout = is_waiting(p) ? timeout_of(p) : 0, since, deadline;
	struct arena *a = p->e->out->arena;

	if (timeout == 0) {
		return false;
	}
	since = asked_since(p);
	if (since < 0) {
		p->w->was_idle = true;
		return false;
	}
	note_begin(p, since);
	deadline = end_of(p, since, timeout);
	watches_want_queues(p->e);
	if (!pass_is_due(p, deadline) ||
	    (is_about_to_win(p) && !pass_is_due(p, deadline + ADMITTED_MS))) {
		return false;
	}
	if (p->is_narrow && !pass_look(p)) {
		return true; /* without memory for the words; the pass comes again */
	}
	verdict_retry(p, NULL, R_PATIENCE,
		      arena_printf(a, GIVEN_BACK "%.*s: %.*s", STR_ARG(duration_text(a, timeout)),
				   STR_ARG(message_reasons(p))),
		      "Warning");
	return true;
}

/* --- the pause -------------------------------------------------------------------------------- */

/* Is it evicted, and did our check in Retry say why? The words are those of Kueue 0.18 and 0.19. */
static bool is_given_back(const struct pass *p)
{
	mk_str said, name;
	const char *at;

	if (!p->checked || !facts_is(p->f, F_EVICTED | F_ACTIVE) || p->state != CHECK_PENDING) {
		return false;
	}
	said = p->f->s[S_EVICTED_MESSAGE];
	name = p->f->checks[p->check];
	at = said.n > 0 ? memmem(said.p, said.n, "\" (" GIVEN_BACK, strlen("\" (" GIVEN_BACK))
			: NULL;
	return at && str_starts(said, STR("Evicted due to AdmissionCheck")) &&
	       str_ends(str_sub(said, 0, (size_t)(at - said.p)), name);
}

bool patience_rests(const struct pass *p)
{
	return !facts_is(p->f, F_QUOTA) && is_given_back(p);
}

static const struct json *condition(const struct json *wl, const char *type)
{
	return json_find(json_at(wl, "/status/conditions"), "type", type);
}

/*
 * Has Kueue queued it again? Then a pause would only keep it from a second look when room comes:
 * the core looks at the time for what enters its queue.
 */
static bool is_queued(const struct pass *p, const struct json *wl)
{
	mk_str requeued = json_str(json_get(condition(wl, "Requeued"), "status"));

	return !facts_is(p->f, F_QUOTA) && !str_is(requeued, "False");
}

/* End of the pause, in whole seconds of wall time; -1: there is none. */
static int64_t pause_end(const struct pass *p, const struct json *wl, int64_t *ret_since)
{
	const struct json *checks = json_at(wl, "/status/admissionChecks");
	int64_t n = json_int(json_get(json_elem(checks, p->check), "retryCount"), 1), until;
	mk_str since = json_str(json_get(condition(wl, "Evicted"), "lastTransitionTime"));

	if (!time_parse(since, ret_since)) {
		return -1;
	}
	n = n < 1 ? 1 : n > 16 ? 16 : n;
	until = *ret_since + backoff_ms(PAUSE_MS, (unsigned)n - 1, PAUSE_MAX_MS);
	until -= until % 1000;
	/* A time far ahead is of another clock. */
	return until > p->e->wall && until <= p->e->wall + PAUSE_MAX_MS ? until : -1;
}

static bool has_grown(const struct pass *p, int64_t since)
{
	for (size_t i = 0; i < p->roster.n; i++) {
		const struct cluster *c = cluster_named(p->e, p->roster.names[i]);

		/* A time to come is of a clock that was set back since. */
		if (c && c->own.grew_at > since && c->own.grew_at <= p->e->wall) {
			return true;
		}
	}
	return false;
}

/* Writes the time; -1 takes it away. False: it is not sent. */
static bool put_time(struct pass *p, int64_t until, enum rule rule)
{
	struct arena *a = p->e->out->arena;
	struct json *body = ssa_body(p, p->local);

	if (!body ||
	    json_put(a, body, "/status/requeueState/requeueAt",
		     until < 0 ? NULL : json_new_str(a, time_rfc3339(a, until))) != ERR_OK) {
		return false;
	}
	ssa_send(p->e, p->local, body, rule, PRIO_COMMIT, NULL, STR_NONE);
	return true;
}

/* The pause, which is written, ends for room that came free on a worker; see vacancy.h. */
static void look_for_room(struct pass *p, int64_t since, int64_t until)
{
	int64_t from = until - since > PAUSE_MS ? since + (until - since) / 8 : since;
	struct cluster *c = vacancy_for(p, since);

	if (c && p->e->wall < from) {
		pass_again(p, p->e->now + (from - p->e->wall));
	} else if (c && put_time(p, -1, R_RESUME)) {
		vacancy_taken(p->e, c);
	}
}

void patience_pause(struct pass *p)
{
	const struct json *wl;
	int64_t since, until, set = -1;

	p->w->was_idle = !facts_is(p->f, F_QUOTA);
	if (!is_given_back(p)) {
		return;
	}
	wl = pass_workload(p);
	until = wl && !is_queued(p, wl) ? pause_end(p, wl, &since) : -1;
	if (until < 0) {
		return;
	}
	(void)time_parse(json_str_at(wl, "/status/requeueState/requeueAt"), &set);
	watches_want_queues(p->e);
	if (set == until) {
		p->w->paused_for = since;
	}
	if (!has_grown(p, since)) {
		/* Once: by Kueue's clock the pause may be over, and the time was taken away. */
		if (set == until) {
			look_for_room(p, since, until);
		} else if (set < until && p->w->paused_for != since) {
			(void)put_time(p, until, R_PAUSE);
		}
	} else if (set == until) {
		(void)put_time(p, -1, R_RESUME); /* another time is of another controller */
	}
}

/* --- workers that grow ------------------------------------------------------------------------ */

static struct api_quota_list quotas_of(const struct facts *f)
{
	return (struct api_quota_list){.v = f->quotas, .n = f->n_quotas};
}

static bool has_more(const struct facts *old, const struct facts *now)
{
	return api_quotas_grew(quotas_of(old), quotas_of(now));
}

void patience_saw(struct engine *e, const struct table *t, const struct facts *old,
		  const struct facts *now)
{
	struct cluster *c = cluster_get(e, t->cluster);

	if (t->kind != KIND_CLUSTER_QUEUE || t->cluster == CLUSTER_MANAGER || !now) {
		return;
	}
	if (old && api_quotas_freed(quotas_of(old), quotas_of(now))) {
		vacancy_saw(e, c);
	}
	/* What a first list shows has been there before. */
	if (old ? has_more(old, now) || (facts_is(now, F_ACTIVE) && !facts_is(old, F_ACTIVE))
		: t->synced && !t->mending && now->n_quotas > 0) {
		c->own.grew_at = e->wall;
		touch_view(e, c);
	}
}
