/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage; see gc.h. */
#include "core/engine/rules/gc.h"

#include "core/engine/act/note.h"
#include "core/engine/rules/breaker.h"
#include "core/engine/rules/shared.h"

enum {
	GC_FEW = 5,              /* objects that may always be deleted in an interval */
	GC_SHARE = 5,            /* else one in five */
	GC_SURE_ROUNDS = 2,      /* intervals in a row that confirm an absence */
	GC_GLANCE = 10,          /* intervals between two looks for jobs without clones */
	GC_TURNS = 100,          /* in which they begin, within one interval */
	GC_ROUND_MS = 60 * 1000, /* an interval, when the collector is off */
	GC_SLICE = 1000,         /* workloads that one pass looks at */
	DAY_MS = 24 * 60 * 60 * 1000,
};

static size_t objects_on(const struct cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < KIND_MAX; i++) {
		n += c->tables[i] ? c->tables[i]->n_present : 0;
	}
	return n;
}

/* Sends one Event an interval and cluster. */
static void say_held(struct pass *p, struct cluster *c)
{
	struct engine *e = p->e;
	const struct record *r = cluster_record(e, c);

	if (!p->w->gc_held) {
		p->w->gc_held = true;
		e->stats.gc_held++;
		rule_hit(e, R_GC_HELD);
	}
	if (c->gc_said || !r) {
		return;
	}
	c->gc_said = true;
	note_warn(e, r, NULL,
		  "Of our %zu objects on this cluster many have no Workload on the "
		  "manager; %zu were removed in this interval, the others wait until "
		  "two intervals in a row have found theirs missing",
		  objects_on(c), c->gc_spent);
}

void gc_tell_unmarked(struct engine *e, const struct record *r)
{
	struct cluster *c = cluster_get(e, r->table->cluster);
	const struct record *about = c ? cluster_record(e, c) : NULL;
	int64_t day = e->wall - e->wall % DAY_MS;

	if (!about || !e->may_write || c->unmarked_said == day) {
		return;
	}
	c->unmarked_said = day;
	note_once(
		e, about, "UnmarkedObjects", day,
		arena_printf(&e->scratch,
			     "There are objects with our origin, without a manager's id and "
			     "without a Workload here, such as %.*s %.*s: they are left alone, as "
			     "another manager may have made them. If none has, and this one alone "
			     "uses the origin, multiKueue.takeOver: CollectUnmarked removes them",
			     STR_ARG(e->o.kinds->k[r->table->kind].kind), STR_ARG(r->key)));
}

bool gc_may(struct pass *p, const struct record *r)
{
	struct engine *e = p->e;
	struct cluster *c = cluster_get(e, r->table->cluster);
	size_t limit, here;

	if (p->local || p->w->sure_gone) {
		return true;
	}
	if (breaker_holds(e, NULL)) {
		return false;
	}
	if (!c) {
		return true;
	}
	if (shared_rests(c)) {
		return false; /* the collector, or the end of the rest, brings the next pass */
	}
	here = objects_on(c);
	c->gc_most = here > c->gc_most ? here : c->gc_most;
	limit = c->gc_most / GC_SHARE > GC_FEW ? c->gc_most / GC_SHARE : GC_FEW;
	if (p->w->absent_rounds >= GC_SURE_ROUNDS || c->gc_spent < limit) {
		return true;
	}
	if (e->may_write) {
		say_held(p, c);
	}
	return false;
}

void gc_spend(struct pass *p, const struct record *r)
{
	struct cluster *c = cluster_get(p->e, r->table->cluster);

	if (c && !p->local && !p->w->sure_gone && p->w->absent_rounds < GC_SURE_ROUNDS) {
		c->gc_spent++;
	}
}

/*
 * Does this interval confirm absences? Not when the manager's list is unknown, or comes from
 * another store than in the last interval.
 */
static bool manager_as_before(struct engine *e)
{
	uint32_t epoch = e->clusters[CLUSTER_MANAGER]->epoch;
	bool same = epoch == e->gc_epoch || e->gc_epoch == 0;

	e->gc_epoch = epoch;
	return same && cluster_up(e->clusters[CLUSTER_MANAGER]) && manager_knows(e, KIND_WORKLOAD);
}

/* Clusters in a new interval. */
static void begin(struct engine *e, int64_t interval)
{
	e->gc_counts = manager_as_before(e);
	for (WORKERS_EACH(c, e)) {
		c->gc_spent = 0;
		c->gc_most = 0;
		c->gc_said = false;
		if (e->o.gc_interval_ms > 0 && (e->gc_rounds + c->id) % GC_GLANCE == 0) {
			/* not all at once: each opens a watch on each kind */
			c->glance = true;
			queue_add_at(&e->queue, &c->item,
				     e->now + interval * (c->id / GC_GLANCE % GC_TURNS) / GC_TURNS);
		}
	}
	e->gc_rounds++;
	list_add_head(&e->gone, &e->gc_mark);
}

static void see(struct engine *e, struct wl *w, bool counts)
{
	w->gc_round = (uint8_t)e->gc_rounds;
	w->absent_rounds = !counts                             ? 0
			   : w->absent_rounds < GC_SURE_ROUNDS ? (uint8_t)(w->absent_rounds + 1)
							       : w->absent_rounds;
	w->gc_held = false;
	w->gc |= e->o.gc_interval_ms > 0;
	queue_add(&e->queue, &w->item);
}

/*
 * Goes on behind the mark. A pass may move a workload behind it again: each counts once in an
 * interval. True: all were seen.
 */
static bool see_some(struct engine *e)
{
	bool counts = e->gc_counts && e->clusters[CLUSTER_MANAGER]->epoch == e->gc_epoch &&
		      cluster_up(e->clusters[CLUSTER_MANAGER]) && manager_knows(e, KIND_WORKLOAD);
	struct list_node *n = e->gc_mark.next;

	list_del(&e->gc_mark);
	for (size_t i = 0; n != &e->gone; n = n->next) {
		struct wl *w = LIST_ENTRY(n, struct wl, waits);

		if (i++ == GC_SLICE) {
			list_add_tail(n, &e->gc_mark); /* before it */
			return false;
		}
		if (w->gc_round != (uint8_t)e->gc_rounds &&
		    !manager_get(e, KIND_WORKLOAD, w->ns, w->name)) {
			see(e, w, counts);
		}
	}
	return true;
}

void gc_pass(struct engine *e)
{
	int64_t interval = e->o.gc_interval_ms > 0 ? e->o.gc_interval_ms : GC_ROUND_MS;

	if (list_empty(&e->gc_mark)) {
		e->gc_next_ms = e->now + interval;
		begin(e, interval);
	}
	if (see_some(e)) {
		queue_add_at(&e->queue, &e->gc_item, e->gc_next_ms);
	} else {
		queue_add(&e->queue, &e->gc_item);
	}
}
