/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters that rest for a Workload; see rest.h. */
#include "core/engine/rules/rest.h"

#include "core/base/alloc.h"
#include "core/base/backoff.h"
#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "core/engine/act/note.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/verdict.h"
#include "core/engine/rules/won.h"

enum {
	SKIP_FIRST_MS = 1000,
	RUN_MS = 10 * 1000,  /* a copy that goes sooner has done nothing */
	TELL_MS = 10 * 1000, /* a shorter rest after a Retry is no news */
	ROOM_MS = 5 * 1000,  /* what comes free just after our clone left is its own room */
	REST_FIRST_MS = 5 * 1000,
	REST_MAX_MS = 5 * 60 * 1000,
	FORGET_MS = 10 * 60 * 1000, /* after the last rest: all counts from the first again */
	AGAIN_MS = 10 * 60 * 1000,  /* the same text is an Event again after this time */
	WORDS_MAX = 256,            /* of a worker's message */
};

/* Sends an Event; the same text only once in ten minutes. */
static void tell(struct engine *e, const struct wl *w, struct wl_cluster *wc)
{
	const struct record *local = manager_get(e, KIND_WORKLOAD, w->ns, w->name);
	uint64_t words = hash64(str_of(wc->hurdle));
	mk_str until;

	if (!local || !e->may_write || (wc->told == words && e->now - wc->told_at < AGAIN_MS)) {
		return;
	}
	wc->told = words;
	wc->told_at = e->now;
	until = time_rfc3339(&e->scratch, e->wall + (wc->skip_until - e->now));
	note_warn(e, local, NULL, "%s; the cluster rests for this Workload until %.*s", wc->hurdle,
		  STR_ARG(until));
}

/* The n-th rest in a row, from 0. */
static void rest(struct engine *e, struct wl *w, struct wl_cluster *wc, unsigned n, mk_str why)
{
	int64_t until = e->now + backoff_ms(REST_FIRST_MS, n, REST_MAX_MS);

	wc->skip_until = until > wc->skip_until ? until : wc->skip_until;
	wc->quiet = false;
	queue_add_at(&e->queue, &w->item, wc->skip_until);
	if (!keep_str(&wc->hurdle, why)) {
		return; /* it rests; only the text is missing */
	}
	tell(e, w, wc);
}

void rest_refused(struct engine *e, const struct record *r, mk_str words)
{
	const struct cluster *c = cluster_get(e, r->table->cluster);
	struct wl *w = wl_find(e, r->ns, r->name);
	struct wl_cluster *wc = c && w ? wl_cluster(e, w, c->id) : NULL;

	if (!wc) {
		return;
	}
	rest(e, w, wc, wc->turned_down,
	     arena_printf(&e->scratch, "worker cluster \"%s\" refused the Workload: %.*s", c->name,
			  STR_ARG(str_cut(words, WORDS_MAX))));
	wc->turned_down++;
	if (r->refusal) {
		r->refusal->rested = true;
	}
}

void rest_saw(struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	if (p->local && twin_is_ours(k->twin) && !wc->leaving && !clone_is(k, F_TERMINATING)) {
		wc->turned_down = 0;
		wc->bout.there = true;
	}
}

mk_str rest_changed(struct pass *p, const struct clone *k)
{
	return arena_printf(&p->e->scratch,
			    "worker cluster \"%s\" changes the Workload that is created there",
			    k->c->name);
}

static mk_str removed_words(struct pass *p, const struct clone *k, const struct wl_cluster *wc,
			    const char *what)
{
	return arena_printf(&p->e->scratch,
			    "the %s was removed on worker cluster \"%s\" %u times in a row, by "
			    "another client",
			    what, k->c->name, wc->removed);
}

/* The first removal costs no rest: an operator may have cleaned up once. */
static void removed(struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	struct engine *e = p->e;

	if (e->now >= wc->forget_at) {
		wc->removed = 0;
	}
	wc->removed++;
	if (wc->removed > 1) {
		rest(e, p->w, wc, wc->removed - 2,
		     wc->bout.changed ? rest_changed(p, k) : removed_words(p, k, wc, "Workload"));
	}
	wc->forget_at = (wc->skip_until > e->now ? wc->skip_until : e->now) + FORGET_MS;
}

void rest_if_vanished(struct pass *p, const struct clone *k)
{
	struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);

	if (wc && wc->bout.there && !wc->bout.respec && p->e->may_write) {
		removed(p, k, wc);
	}
	if (wc) {
		wc->bout.there = false;
	}
}

/* The length of the next rest: a run that was longer than the rest before it was worth the try. */
static int64_t next_rest(const struct engine *e, struct wl_cluster *wc)
{
	int64_t last = wc->fails > 0 ? backoff_ms(SKIP_FIRST_MS, wc->fails - 1, REST_MAX_MS) : 0;
	bool ran =
		wc->bout.ran_at > 0 && e->now - wc->bout.ran_at > (last > RUN_MS ? last : RUN_MS);
	int64_t wait;

	if (ran || e->now >= wc->forget_at) {
		wc->fails = 0;
		wc->removed = 0;
	}
	wait = backoff_ms(SKIP_FIRST_MS, wc->fails++, REST_MAX_MS);
	wc->forget_at = e->now + wait + FORGET_MS;
	return wait;
}

void rest_skip(struct pass *p, struct wl_cluster *wc, mk_str why, bool quiet)
{
	(void)keep_str(&wc->hurdle, why); /* without memory the text of another rest stays */
	wc->quiet = quiet;
	wc->room_after = 0;
	wc->skip_until = p->e->now + next_rest(p->e, wc);
	pass_again(p, wc->skip_until);
}

mk_str rest_end_words(struct pass *p, const struct clone *k)
{
	const struct facts *f = k->r->facts;
	bool finished = facts_is(f, F_FINISHED);
	mk_str said = f->s[finished ? S_FINISHED_MESSAGE : S_EVICTED_MESSAGE];

	return arena_printf(&p->e->scratch, "worker cluster \"%s\" %s the Workload%s%.*s",
			    k->c->name, finished ? "ended" : "evicted", said.n > 0 ? ": " : "",
			    STR_ARG(str_cut(said, WORDS_MAX)));
}

/* Why the round ended there. */
static mk_str retry_words(struct pass *p, const struct clone *k, const struct wl_cluster *wc,
			  enum rule rule)
{
	struct arena *a = &p->e->scratch;

	if (k->r && k->r->present && (k->r->facts->flags & (F_FINISHED | F_EVICTED))) {
		return rest_end_words(p, k);
	}
	if (rule == R_REFUSED) {
		return arena_printf(a, "worker cluster \"%s\" refused the job: %.*s", k->c->name,
				    STR_ARG(str_cut(str_of(wc->why), WORDS_MAX)));
	}
	return arena_printf(a, "%s worker cluster \"%s\"",
			    rule == R_LOST       ? "no contact was made with"
			    : rule == R_UNSERVED ? "the kind of the job was not served by"
			    : rule == R_DRAIN    ? "the job was drained from"
						 : "the job did not stay on",
			    k->c->name);
}

/* The rest after the Retry of this round begins now, at the earliest. */
static void rest_begins(struct pass *p, struct wl_cluster *wc)
{
	int64_t until;

	if (wc->bout.retried && wc->fails > 0) {
		until = p->e->now + backoff_ms(SKIP_FIRST_MS, wc->fails - 1, REST_MAX_MS);
		wc->skip_until = until > wc->skip_until ? until : wc->skip_until;
		pass_again(p, wc->skip_until);
	}
}

void rest_seen(struct pass *p)
{
	for (WL_CLUSTERS_EACH(wc, p->w)) {
		if (!wc->bout.rests) {
			rest_begins(p, wc);
			wc->bout.rests = wc->bout.retried;
		}
	}
}

/* The round ended on the clone's cluster. */
static void ended_on(struct pass *p, const struct clone *k, enum rule rule)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);
	int64_t wait;

	if (!wc) {
		return; /* out of memory */
	}
	if (wc->bout.retried) {
		rest_begins(p, wc); /* the Retry that was counted was not written */
		return;
	}
	wc->bout.retried = true;
	wait = next_rest(p->e, wc);
	wc->skip_until = p->e->now + wait;
	wc->quiet = rule != R_REFUSED && wait < TELL_MS;
	pass_again(p, wc->skip_until);
	if (rule == R_EVICTED && wait >= TELL_MS) {
		wc->room_after = p->e->wall + ROOM_MS;
		watches_want_queues(p->e);
	}
	/* Of copies that other clients remove, rest_copy_gone tells. */
	if (keep_str(&wc->hurdle, retry_words(p, k, wc, rule)) && wait >= TELL_MS &&
	    wc->removed == 0) {
		tell(p->e, p->w, wc);
	}
}

/* The name of the winner; "": none has won. */
static mk_str winner_name(struct pass *p)
{
	if (p->f->s[S_CLUSTER].n > 0 || p->state != CHECK_READY) {
		return p->f->s[S_CLUSTER];
	}
	return verdict_told_winner(p);
}

/*
 * May the round, whose winner is not seen, have ended there? 'named': where the name that won leads
 * now; NULL: it is gone. Where the job was sent counts; where that is not known, the name, else
 * each server with a clone that may be the winner's.
 */
static bool may_have_ended_on(struct pass *p, const struct clone *k, const struct cluster *named)
{
	int there = copied_won_there(p, k);

	if (there != 0) {
		return there > 0;
	}
	return named ? k->c == named : twin_is_ours(k->twin);
}

static void ended_unseen(struct pass *p, enum rule rule)
{
	mk_str name = winner_name(p);
	const struct cluster *named = won_named(p, name);

	for (WORKERS_EACH(c, p->e)) {
		const struct clone *seen = pass_clone_on(p, c);
		const struct clone k = seen ? *seen : (struct clone){.c = c};

		if (name.n > 0 && may_have_ended_on(p, &k, named)) {
			ended_on(p, &k, rule);
		}
	}
}

void rest_retried(struct pass *p, const struct clone *k, enum rule rule)
{
	if (!k || copied_won_there(p, k) < 0) {
		ended_unseen(p, rule);
	} else {
		ended_on(p, k, rule);
	}
}

void rest_copy_gone(struct pass *p, const struct clone *k, const char *what, bool told)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);
	bool busy = p->local->inflight != NULL;

	if (told) {
		verdict_out_of_sync(p, k);
	} else {
		verdict_remote_gone(p, k);
	}
	if (!wc || busy || !p->local->inflight || wc->leaving) {
		return;
	}
	wc->removed++;
	wc->bout.there = false;
	wc->leaving = true; /* what is left of it does not count */
	if (wc->removed > 1) {
		rest(p->e, p->w, wc, wc->removed - 2, removed_words(p, k, wc, what));
	}
}

int64_t rest_until(const struct pass *p, const struct cluster *c)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, c->id);
	int64_t until = wc ? wc->skip_until : 0;

	if (!c->own.shared) {
		return until;
	}
	for (WL_CLUSTERS_EACH(other, p->w)) { /* the place is the server, whatever its name */
		const struct cluster *name = cluster_get(p->e, other->id);

		if (name && other->skip_until > until && alias_same_server(name, c)) {
			until = other->skip_until;
		}
	}
	return until;
}

bool rest_awaits_room(const struct pass *p)
{
	for (WL_CLUSTERS_EACH(wc, p->w)) {
		if (wc->room_after > 0 && wc->skip_until > p->e->now) {
			return true;
		}
	}
	return false;
}

void rest_look_for_room(struct pass *p)
{
	for (WL_CLUSTERS_EACH(wc, p->w)) {
		const struct cluster *c = wc->room_after > 0 ? cluster_get(p->e, wc->id) : NULL;

		if (!c || wc->skip_until <= p->e->now) {
			continue;
		}
		if (wc->there_at != 0) {
			wc->room_after = p->e->wall + ROOM_MS;
		} else if (c->own.freed_at > wc->room_after) {
			wc->room_after = 0;
			wc->skip_until = p->e->now;
		}
	}
}

mk_str rest_hurdle(const struct pass *p, const struct clone *k)
{
	const struct wl_cluster *wc;

	if (!k->in_config || twin_is_ours(k->twin)) {
		return STR("");
	}
	wc = wl_cluster_known(p->w, k->c->id);
	return str_of(wc && (wc->turned_down > 0 || wc->skip_until > p->e->now) ? wc->hurdle
										: NULL);
}

mk_str rest_news(const struct pass *p, const struct clone *k)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);

	return wc && !wc->quiet ? rest_hurdle(p, k) : STR("");
}
