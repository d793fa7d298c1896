/* SPDX-License-Identifier: Apache-2.0 */
/* The breaker; see breaker.h. */
#include "core/engine/rules/breaker.h"

#include "core/engine/act/note.h"

enum {
	MINUTE_MS = 60 * 1000,
	QUIET_MS = BREAKER_MINUTES * MINUTE_MS,
	CLONE_MAX = 3,   /* of one clone */
	TOTAL_MIN = 10,  /* of all: more than ten Workloads ... */
	TOTAL_SHARE = 20 /* ... and more than one in twenty clones */
};

static bool is_open(const struct engine *e, const struct wl_cluster *wc)
{
	return e->breaker.open || (wc && wc->again_until > e->now);
}

bool breaker_holds(struct engine *e, const struct wl_cluster *wc)
{
	bool open = is_open(e, wc);

	if (open) {
		rule_hit(e, R_BREAKER);
	}
	return open;
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

/* One Workload counts once in that time, wherever its clones are made again. */
static bool is_counted(struct pass *p)
{
	int64_t last = p->w->again_at;

	if (last != 0 && p->e->now - last < QUIET_MS) {
		return true;
	}
	p->w->again_at = p->e->now;
	return false;
}

/* Counts one case; one Workload too many opens the breaker of all. */
static void note(struct pass *p, const struct cluster *c)
{
	struct engine *e = p->e;
	struct breaker *b = &e->breaker;
	size_t clones = n_clones(e);

	roll(e);
	b->last_at = e->now;
	e->stats.recreated++;
	if (is_counted(p)) {
		return;
	}
	b->count[b->minute % BREAKER_MINUTES]++;
	b->sum++;
	if (!b->open && b->sum > TOTAL_MIN && b->sum > clones / TOTAL_SHARE) {
		open_now(
			p, c,
			arena_printf(&e->scratch,
				     "Clones of %u Workloads were made again in %d minutes, of %zu "
				     "clones in all",
				     b->sum, BREAKER_MINUTES, clones));
	}
}

/* The same clone again and again: there the breaker of this Workload opens. */
static void open_place(struct pass *p, const struct cluster *c, struct wl_cluster *wc)
{
	wc->again_until = p->e->now + QUIET_MS;
	note_warn(p->e, p->local, NULL,
		  "The clone on worker cluster \"%s\" was made again %u times in %d minutes: it is "
		  "not made again there for as long",
		  c->name, wc->bout.again, BREAKER_MINUTES);
}

static bool is_again(const struct pass *p, const struct wl_cluster *wc)
{
	return wc->bout.made && wc->bout.made_generation == p->f->generation;
}

bool breaker_may_create(struct pass *p, const struct wl_cluster *wc)
{
	if (!is_again(p, wc) || !breaker_holds(p->e, wc)) {
		return true;
	}
	if (wc->again_until > p->e->now) {
		pass_again(p, wc->again_until);
	}
	return false;
}

bool breaker_bars(const struct pass *p, const struct wl_cluster *wc)
{
	return is_open(p->e, wc) && is_again(p, wc);
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
	note(p, c);
	if (wc->bout.again >= CLONE_MAX) {
		open_place(p, c, wc);
	}
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
	note(p, c);
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
