/* SPDX-License-Identifier: Apache-2.0 */
/* The Pending check's message; see message.h. */
#include "core/engine/answers/message.h"

#include <stdlib.h>

#include "core/base/backoff.h"
#include "core/engine/act/ssa.h"
#include "core/engine/answers/why.h"
#include "core/engine/rules/authority.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/topology.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/unfit.h"
#include "core/engine/rules/unplaceable.h"
#include "core/engine/rules/unserved.h"
#include "core/engine/rules/verdict.h"

enum {
	REWRITE_MS = 60 * 1000,         /* between the first two writes, then doubled up to */
	REWRITE_MAX_MS = 8 * 60 * 1000, /* ... this */
	SKEW_MS = 500,                  /* the wall clock was moved by so much: times are others */
	SUM_MAX = 1024,                 /* of a message; clusters that do not fit are counted */
};

/* What a Workload may wait for; with another one the half minute begins anew. */
enum waits { WAITS_NOTHING, WAITS_HELD, WAITS_RACE, WAITS_END, WAITS_HOME };

#define PREFIX "Not admitted yet"
#define NOWHERE "Fits on no worker"
#define LEFT_OUT "Left out for now: "
#define ENDING "Not queued again yet: "
#define ENDED "The job has ended"
#define HERE "the job has begun on the manager cluster"

/* What is said of one or more clusters. */
struct part {
	mk_str names, words;
	size_t n;
};

struct parts {
	struct part *v;
	size_t n;
};

static void add(struct arena *a, struct parts *parts, mk_str name, mk_str words)
{
	for (size_t i = 0; i < parts->n; i++) {
		struct part *part = &parts->v[i];

		if (str_eq(part->words, words)) {
			part->n++;
			if (part->names.n <= SUM_MAX) { /* else it does not fit, and is counted */
				part->names = arena_printf(a, "%.*s, %.*s", STR_ARG(part->names),
							   STR_ARG(name));
			}
			return;
		}
	}
	parts->v[parts->n++] = (struct part){.names = name, .words = words, .n = 1};
}

/* There is room for it. */
static void add_unnamed(struct pass *p, struct parts *parts)
{
	if (copied_unnamed_until(p) > p->e->now) {
		add(&p->e->scratch, parts, STR("the worker where the job ran"),
		    copied_unnamed_words(p));
	}
}

/*
 * Clusters of the config in its order, of a large one those that have their turn; those of equal
 * words together. NULL: out of memory.
 */
static struct parts parts_of(struct pass *p)
{
	struct arena *a = &p->e->scratch;
	const struct roster *all = &p->roster;
	struct parts parts = {
		.v = arena_array(a, p->n_clones + all->n_named + 1, sizeof(struct part))};

	for (CLONES_EACH(k, p)) {
		struct why_cluster w;

		if (parts.v && k->in_config && (!p->turn || nominate_has(p, str_of(k->c->name)))) {
			why_cluster(p, k, &w);
			add(a, &parts, str_of(k->c->name), w.words);
		}
	}
	for (size_t i = 0; parts.v && i < all->n_named; i++) {
		if (!cluster_named(p->e, all->names[i])) {
			add(a, &parts, all->names[i], STR("no MultiKueueCluster has this name"));
		}
	}
	if (parts.v) {
		add_unnamed(p, &parts);
	}
	return parts;
}

/* 'sum' and the parts after it, as many as fit. */
static mk_str with_parts(struct arena *a, mk_str sum, const struct parts *parts, const char *sep)
{
	size_t more = 0;

	for (size_t i = 0; i < parts->n; i++) {
		const struct part *part = &parts->v[i];

		if (sum.n + part->names.n + part->words.n > SUM_MAX) {
			more += part->n;
			continue;
		}
		sum = arena_printf(a, "%.*s%s%.*s: %.*s", STR_ARG(sum), i == 0 ? sep : "; ",
				   STR_ARG(part->names), STR_ARG(part->words));
	}
	return more > 0 ? arena_printf(a, "%.*s; and %zu more", STR_ARG(sum), more) : sum;
}

static mk_str sum_up(struct pass *p)
{
	struct arena *a = p->e->out->arena;
	struct parts parts = parts_of(p);
	struct why_whole whole;
	size_t n = 0;
	mk_str sum;

	for (size_t i = 0; i < parts.n; i++) {
		n += parts.v[i].n;
	}
	why_whole(p, &whole);
	sum = p->turn ? arena_printf(a, PREFIX " by %zu of %zu workers", n, p->roster.n)
		      : arena_printf(a, PREFIX " by %zu worker%s", n, n == 1 ? "" : "s");
	if (whole.phase == PHASE_RACING ||
	    (whole.phase == PHASE_NOT_NOMINATED && !p->is_external)) {
		return with_parts(a, sum, &parts, ": ");
	}
	/* Something stands before all workers: the breaker, a dispatcher that is silent. */
	return with_parts(a, arena_printf(a, "%.*s: %.*s", STR_ARG(sum), STR_ARG(whole.words)),
			  &parts, "; ");
}

mk_str message_reasons(struct pass *p)
{
	struct parts parts = p->config ? parts_of(p) : (struct parts){0};

	return p->config ? with_parts(p->e->out->arena, STR(""), &parts, "")
			 : STR("its check has no MultiKueueConfig");
}

mk_str message_unplaceable(struct pass *p)
{
	struct arena *a = p->e->out->arena;
	mk_str words = arena_printf(a, NOWHERE ": %.*s", STR_ARG(unplaceable_words(p)));
	struct parts parts;

	if (p->w->round.unplaceable == FITS_NOT_SAID && p->w->said) {
		return words; /* the dispatcher speaks of each worker */
	}
	parts = parts_of(p);
	return with_parts(a, words, &parts, "; ");
}

/* Does it wait for something before any worker is asked, of which a message is worth while? */
static bool is_held(const struct pass *p)
{
	enum why_phase phase = why_phase(p);

	return phase == PHASE_NO_JOB || phase == PHASE_NOT_MANAGED || phase == PHASE_CHECKS ||
	       phase == PHASE_NO_CONFIG || phase == PHASE_NO_DISPATCHER || phase == PHASE_FAULT;
}

/* Where the job of an evicted Workload is being stopped, or may run; "": nowhere. */
static mk_str ending(struct pass *p)
{
	struct arena *a = p->e->out->arena;
	struct parts parts = {
		.v = arena_array(&p->e->scratch, p->n_clones + 1, sizeof(struct part))};

	for (CLONES_EACH(k, p)) {
		bool hides = !cluster_up(k->c) && (k->in_config || copied_on(p, k)), stops;
		struct why_cluster w;

		why_cluster(p, k, &w);
		stops = w.why == WHY_WINDING ||
			(w.why == WHY_EVICTED && p->kind && twin_is_ours(twin_there(p, k)));
		if (parts.v && (stops || hides)) {
			add(a, &parts, str_of(k->c->name), w.words);
		}
	}
	if (parts.v) {
		add_unnamed(p, &parts);
	}
	return parts.n > 0 ? with_parts(a, STR(""), &parts, ENDING) : STR("");
}

/* Why it is left out, or what it refuses that keeps the Workload from others. */
static mk_str news_of(struct pass *p, struct clone *k)
{
	mk_str refused = twin_is_ours(twin_left(p, k)) ? refusal_on(p, k, false) : STR("");

	return refused.n > 0 ? refused : rest_news(p, k);
}

/* Before its time: only what is news, the clusters that are left out, "" when none is. */
static mk_str left_out(struct pass *p)
{
	struct arena *a = p->e->out->arena;
	mk_str sum = STR("");
	unsigned more = 0;

	for (CLONES_EACH(k, p)) {
		mk_str why = news_of(p, k);

		if (why.n > 0 && sum.n + why.n > SUM_MAX) {
			more++;
		} else if (why.n > 0) {
			sum = arena_printf(a, "%.*s%s%.*s", STR_ARG(sum),
					   sum.n > 0 ? "; " : LEFT_OUT, STR_ARG(why));
		}
	}
	return more > 0 ? arena_printf(a, "%.*s; and %u more", STR_ARG(sum), more) : sum;
}

/* Has it waited for this for so long that all is to be said? */
static bool is_long(struct pass *p, enum waits what)
{
	struct round *round = &p->w->round;

	if (round->waits_since == INT64_MAX || round->waits_for != what) {
		round->waits_since = p->e->now;
		round->waits_for = (uint8_t)what;
	}
	return pass_is_due(p, round->waits_since + MESSAGE_AFTER_MS);
}

static bool is_ours(mk_str message)
{
	return str_starts(message, STR(PREFIX)) || str_starts(message, STR(NOWHERE)) ||
	       str_starts(message, STR(LEFT_OUT)) || str_starts(message, STR(ENDING)) ||
	       str_starts(message, STR(ENDED));
}

/* What the check says now. */
static mk_str said(struct pass *p)
{
	const struct json *checks = json_at(pass_workload(p), "/status/admissionChecks");

	return json_str(json_get(json_elem(checks, p->check), "message"));
}

/* May it be written again? If not, the pass comes when it may. */
static bool is_time(struct pass *p)
{
	const struct wl *w = p->w;
	unsigned n = w->round.explained > 0 ? w->round.explained - 1 : 0;

	return w->explained_at == INT64_MIN ||
	       pass_is_due(p, w->explained_at + backoff_ms(REWRITE_MS, n, REWRITE_MAX_MS));
}

/* Lets the check say 'sum', when it does not yet and the time has come. True: it says so. */
static bool write(struct pass *p, mk_str sum, enum rule rule)
{
	bool news = rule == R_UNPLACEABLE; /* until it is told: at once, and with an Event */
	struct engine *e = p->e;
	bool checks = json_at(pass_workload(p), "/status/admissionChecks") != NULL;
	mk_str was = said(p);
	bool same = checks && str_eq(was, sum);
	struct json *body;

	if (!checks || e->no_memory || arena_failed(e->out->arena) || same ||
	    (sum.n == 0 && !is_ours(was))) {
		return same;
	}
	news = news && !str_starts(was, STR(NOWHERE));
	if (!news && !is_time(p)) {
		return false;
	}
	body = ssa_body(p, p->local);
	if (body) {
		ssa_check(p, body, p->state, sum);
		ssa_send(e, p->local, body, rule, PRIO_STATUS, news ? "Warning" : NULL, sum);
		p->w->explained_at = e->now;
		p->w->round.explained++;
	}
	return false;
}

void message_unwritten(struct wl *w, enum rule rule)
{
	if (rule == R_LEFT_OUT || rule == R_WAITING || rule == R_UNPLACEABLE) {
		w->explained_at = INT64_MIN;
		w->round.explained -= w->round.explained > 0;
	}
}

/*
 * Did it say all in an earlier pass since which nothing has changed? Times in it move with the wall
 * clock.
 */
static bool is_told(const struct pass *p)
{
	int64_t at = p->w->round.told_skew;

	return at != INT64_MIN && llabs(at - p->e->skew_ms) < SKEW_MS;
}

/* Does the check say what is so no more, and may it be written? A Workload that waits says why. */
static bool is_outdated(struct pass *p)
{
	return (p->w->explained_at != INT64_MIN || p->wl_json) && is_ours(said(p)) && is_time(p) &&
	       (!p->is_narrow || pass_look(p));
}

void message_explain(struct pass *p)
{
	bool all = is_long(p, WAITS_RACE);
	mk_str sum;

	if (p->w->round.unplaceable != FITS_PERHAPS) {
		(void)write(p, message_unplaceable(p), R_UNPLACEABLE);
		return;
	}
	if (p->is_narrow && all && (is_told(p) || !pass_look(p))) {
		return;
	}
	sum = all ? sum_up(p) : left_out(p);
	if (sum.n == 0 && is_outdated(p)) {
		sum = sum_up(p);
		all = true;
	}
	if (sum.n > 0 || p->w->explained_at != INT64_MIN || p->wl_json) {
		bool same = write(p, sum, all ? R_WAITING : R_LEFT_OUT);

		p->w->round.told_skew = same && all ? p->e->skew_ms : INT64_MIN;
	} /* else the text is not parsed yet, and need not be for this */
}

void message_owed(struct pass *p)
{
	struct arena *a = p->e->out->arena;
	mk_str late, name, head;

	if ((!p->owed && !p->end_waits) || !p->checked || p->over ||
	    (p->f->flags & (F_FINISHED | F_TERMINATING)) ||
	    (p->state != CHECK_READY && p->state != CHECK_PENDING)) {
		return;
	}
	late = refusal_words(p->e, p->owed);
	if (late.n == 0 && p->end_waits) {
		late = unserved_words(p);
		late = late.n > 0 && is_long(p, WAITS_HOME) ? late : STR("");
	}
	if (late.n > 0) {
		name = slices_waits(p) ? STR("") : p->f->s[S_CLUSTER];
		name = name.n > 0 ? name : verdict_told_winner(p);
		head = name.n > 0 ? verdict_admitted_by(a, name) : STR(ENDED);
		(void)write(p, arena_printf(a, "%.*s; %.*s", STR_ARG(head), STR_ARG(late)),
			    R_WAITING);
	}
}

/* What the winner waits for, if there is anything. */
static mk_str late_words(struct pass *p, struct clone *k)
{
	struct why_cluster w;
	mk_str words;

	if (k->twin == TWIN_FORMER) {
		why_cluster(p, k, &w);
		return w.words;
	}
	words = refusal_on(p, k, true);
	words = words.n > 0 ? words : why_unshown(p, k);
	words = words.n > 0 ? words : unserved_late(p);
	words = words.n > 0 ? words : unfit_words(p, twin_record(p, k));
	return words.n > 0 ? words : topology_late(p, k);
}

void message_won(struct pass *p, struct clone *k)
{
	struct arena *a = p->e->out->arena;
	mk_str late, sum, on;

	if (p->state != CHECK_READY || p->over) {
		return;
	}
	on = verdict_admitted_on(a, k);
	late = late_words(p, k);
	if (late.n > 0) {
		sum = arena_printf(a, "%.*s; %.*s", STR_ARG(on), STR_ARG(late));
		(void)write(p, sum, R_WAITING);
	} else if (facts_is(p->f, F_LATE)) {
		(void)write(p, on, R_WAITING);
	}
}

void message_growing(struct pass *p, struct clone *k)
{
	mk_str unseen = p->job ? STR("") : unserved_words(p);
	struct why_cluster w;

	if (is_long(p, WAITS_RACE)) {
		why_cluster(p, k, &w);
		(void)write(p,
			    arena_printf(p->e->out->arena,
					 PREFIX " by the worker where its job runs: %s: %.*s%s%.*s",
					 k->c->name, STR_ARG(str_cut(w.words, SUM_MAX)),
					 unseen.n > 0 ? "; " : "", STR_ARG(unseen)),
			    R_WAITING);
	}
}

void message_held(struct pass *p)
{
	struct why_whole whole;

	if (is_held(p) && is_long(p, WAITS_HELD)) {
		why_whole(p, &whole);
		(void)write(p,
			    arena_printf(p->e->out->arena, PREFIX ": %.*s",
					 STR_ARG(str_cut(whole.words, SUM_MAX))),
			    R_WAITING);
	}
}

void message_unasked(struct pass *p)
{
	bool names_us = (p->job && facts_is(p->job->facts, F_MANAGED)) || p->f->n_names > 0;
	bool waits = !p->checked && facts_is(p->f, F_QUOTA) &&
		     (!facts_is(p->f, F_ADMITTED) || p->f->s[S_CLUSTER].n > 0);

	if (waits && !(p->f->flags & (F_EVICTED | F_FINISHED | F_TERMINATING)) && names_us &&
	    is_long(p, WAITS_HELD)) {
		authority_tell(p, false);
	}
}

void message_here(struct pass *p)
{
	struct clone won = {.c = cluster_named(p->e, p->f->s[S_CLUSTER])};

	if (p->state == CHECK_PENDING) {
		(void)write(p, STR(PREFIX ": " HERE), R_WAITING);
	} else if (p->state == CHECK_READY && won.c) {
		(void)write(p,
			    arena_printf(p->e->out->arena, "%.*s; " HERE,
					 STR_ARG(verdict_admitted_on(p->e->out->arena, &won))),
			    R_WAITING);
	}
}

void message_ending(struct pass *p)
{
	mk_str sum;
	bool more;

	if (p->state != CHECK_PENDING || p->over || p->owed || p->end_waits ||
	    !is_long(p, WAITS_END)) {
		return;
	}
	sum = ending(p);
	if (sum.n > 0 && verdict_admitted_name(said(p), &more).n == 0) {
		(void)write(p, sum, R_WAITING);
	}
}
