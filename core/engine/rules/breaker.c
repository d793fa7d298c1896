/* SPDX-License-Identifier: Apache-2.0 */
/* The breaker; see breaker.h. */
#include "core/engine/rules/breaker.h"

#include "core/engine/act/note.h"

enum {
	MINUTE_MS = 60 * 1000,
	QUIET_MS = BREAKER_MINUTES * MINUTE_MS,
	CLONE_MAX = 3,   /* of one clone */
	TOTAL_MIN = 10,  /* of all clones: more than ten ... */
	TOTAL_SHARE = 20 /* ... and more than one in twenty */
};

bool breaker_holds(struct engine *e)
{
	if (e->breaker.open) {
		rule_hit(e, R_BREAKER);
	}
	return e->breaker.open;
}

static size_t n_clones(const struct engine *e)
{
	size_t n = 0;

	for (WORKERS_EACH(c, e)) {
		const struct table *t = c->tables[KIND_WORKLOAD];

		n += t ? t->n_present : 0;
	}
	return n;
}

/* Removes counts older than BREAKER_MINUTES from the sum. */
static void roll(struct engine *e)
{
	struct breaker *b = &e->breaker;
	int64_t minute = e->now / MINUTE_MS;

	for (int i = 0; b->minute < minute && i < BREAKER_MINUTES; i++) {
		b->minute++;
		b->sum -= b->count[b->minute % BREAKER_MINUTES];
		b->count[b->minute % BREAKER_MINUTES] = 0;
	}
	b->minute = minute;
}

static void open_now(struct pass *p, const struct cluster *c, mk_str why)
{
	struct engine *e = p->e;
	const struct record *r = cluster_record(e, c);

	e->breaker.open = true;
	e->stats.breaker_open = true;
	note_warn(e, r ? r : p->local, NULL,
		  "%.*s: clones are not made again, running jobs are not given up "
		  "for their spec, and garbage is not collected, until %d minutes "
		  "were quiet; last was workload %.*s/%.*s",
		  STR_ARG(why), BREAKER_MINUTES, STR_ARG(p->w->ns), STR_ARG(p->w->name));
}

/* Counts one case; the last that is allowed, of one clone or of all, opens the breaker. */
static void note(struct pass *p, const struct cluster *c, unsigned of_this_clone)
{
	struct engine *e = p->e;
	struct breaker *b = &e->breaker;
	struct arena *a = &e->scratch;
	size_t clones = n_clones(e);

	roll(e);
	b->count[b->minute % BREAKER_MINUTES]++;
	b->sum++;
	b->last_at = e->now;
	e->stats.recreated++;
	if (b->open) {
		return;
	}
	if (of_this_clone >= CLONE_MAX) {
		open_now(p, c,
			 arena_printf(a, "A clone was made again %u times in %d minutes",
				      of_this_clone, BREAKER_MINUTES));
	} else if (b->sum > TOTAL_MIN && b->sum > clones / TOTAL_SHARE) {
		open_now(p, c,
			 arena_printf(a, "%u of %zu clones were made again in %d minutes", b->sum,
				      clones, BREAKER_MINUTES));
	}
}

static bool is_again(const struct pass *p, const struct wl_cluster *wc)
{
	return wc->bout.made && wc->bout.made_generation == p->f->generation;
}

bool breaker_may_create(struct pass *p, const struct wl_cluster *wc)
{
	return !is_again(p, wc) || !breaker_holds(p->e);
}

bool breaker_bars(const struct pass *p, const struct wl_cluster *wc)
{
	return p->e->breaker.open && is_again(p, wc);
}

void breaker_created(struct pass *p, const struct cluster *c, struct wl_cluster *wc)
{
	bool again = is_again(p, wc);

	wc->bout.made = false;
	wc->bout.there = wc->bout.respec = wc->bout.changed = false;
	wc->leaving = false;
	wc->bout.made_generation = p->f->generation;
	if (!again) {
		return;
	}
	if (wc->bout.again == 0 || p->e->now - wc->again_since > QUIET_MS) {
		wc->bout.again = 0;
		wc->again_since = p->e->now;
	}
	wc->bout.again++;
	note(p, c, wc->bout.again);
}

void breaker_saw(struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	const struct record *r = k->r;

	if (p->local && twin_is_ours(k->twin) && !wc->leaving && wc->bout.made_generation > 0 &&
	    !r->inflight && !r->unknown && !facts_is(r->facts, F_TERMINATING)) {
		wc->bout.made = true;
	}
}

void breaker_gave_up(struct pass *p, const struct cluster *c)
{
	note(p, c, 0);
}

void breaker_tick(struct engine *e)
{
	struct breaker *b = &e->breaker;

	roll(e);
	if (!b->open || e->now - b->last_at < QUIET_MS) {
		return;
	}
	*b = (struct breaker){.minute = e->now / MINUTE_MS};
	e->stats.breaker_open = false;
	for (LIST_EACH_AS(struct wl, w, &e->workloads, node)) {
		for (WL_CLUSTERS_EACH(wc, w)) {
			wc->bout.again = 0;
		}
	}
	wl_queue_all(e);
}
