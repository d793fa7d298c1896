/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters that rest for a Workload; see rest.h. */
#include "core/engine/rules/rest.h"

#include "core/base/alloc.h"
#include "core/base/backoff.h"
#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "core/engine/act/note.h"
#include "core/engine/rules/verdict.h"

enum {
	SKIP_FIRST_MS = 1000,
	SKIP_MAX_MS = 1000 * 1000,
	REST_FIRST_MS = 5 * 1000,
	REST_MAX_MS = 5 * 60 * 1000,
	FORGET_MS = 10 * 60 * 1000, /* after the last rest: removals count from the first again */
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

/* The first removal costs no rest: an operator may have cleaned up once. */
static void removed(struct pass *p, const struct clone *k, struct wl_cluster *wc, const char *what)
{
	struct engine *e = p->e;

	if (e->now >= wc->forget_at) {
		wc->removed = 0;
	}
	wc->removed++;
	if (wc->removed > 1) {
		rest(e, p->w, wc, wc->removed - 2,
		     wc->bout.changed
			     ? rest_changed(p, k)
			     : arena_printf(&e->scratch,
					    "the %s was removed on worker cluster \"%s\" %u times "
					    "in a row, by another client",
					    what, k->c->name, wc->removed));
	}
	wc->forget_at = (wc->skip_until > e->now ? wc->skip_until : e->now) + FORGET_MS;
}

void rest_if_vanished(struct pass *p, const struct clone *k)
{
	struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);

	if (wc && wc->bout.there && !wc->bout.respec && p->e->may_write) {
		removed(p, k, wc, "Workload");
	}
	if (wc) {
		wc->bout.there = false;
	}
}

void rest_copy_gone(struct pass *p, const struct clone *k, const char *what, bool told)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);
	bool busy = p->local->inflight != NULL;

	if (told) {
		verdict_out_of_sync(p, k);
	} else {
		verdict_remote_gone(p);
	}
	if (!wc || busy || !p->local->inflight || wc->leaving) {
		return;
	}
	removed(p, k, wc, what);
	wc->bout.there = false;
	wc->leaving = true; /* what is left of it does not count */
}

void rest_skip(struct pass *p, struct wl_cluster *wc, mk_str why, bool quiet)
{
	(void)keep_str(&wc->hurdle, why); /* without memory the text of another rest stays */
	wc->quiet = quiet;
	wc->skip_until = p->e->now + backoff_ms(SKIP_FIRST_MS, wc->fails++, SKIP_MAX_MS);
	pass_again(p, wc->skip_until);
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
