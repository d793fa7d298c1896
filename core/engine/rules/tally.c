/* SPDX-License-Identifier: Apache-2.0 */
/* Counters for metrics; see tally.h. */
#include "core/engine/rules/tally.h"

#include "core/engine/answers/why.h"

static void tell(const struct pass *p, struct engine_count count)
{
	const struct engine_options *o = &p->e->o;

	count.cluster_queue = p->f->s[S_QUEUE];
	if (o->count) {
		o->count(o->count_ctx, &count);
	}
}

void tally_local(struct pass *p)
{
	struct wl *w = p->w;
	mk_str cluster = p->f->s[S_CLUSTER];

	if (!p->e->may_write) {
		w->live = false;
		w->pending = false;
		return;
	}
	if (facts_is(p->f, F_FINISHED)) {
		p->e->stats.finished += w->live;
		w->live = false;
		w->pending = false;
		return;
	}
	w->live = true;
	if (p->state != CHECK_READY) {
		w->pending = true;
	} else if (w->pending && cluster.n > 0) {
		w->pending = false;
		p->e->stats.admitted++;
		tell(p, (struct engine_count){.what = COUNT_ADMITTED, .cluster = cluster});
	}
}

void tally_clone(struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	if (!wc->asked || !p->local || k->twin != TWIN_OURS) {
		return;
	}
	wc->asked = false;
	p->e->stats.dispatched++;
	tell(p, (struct engine_count){.what = COUNT_DISPATCHED, .cluster = str_of(k->c->name)});
}

void tally_evicted(struct pass *p, const struct clone *k)
{
	if (p->w->round.evicted || !p->e->may_write) {
		return;
	}
	p->w->round.evicted = true;
	tell(p, (struct engine_count){.what = COUNT_EVICTED,
				      .cluster = str_of(k->c->name),
				      .reason = k->r->facts->s[S_REASON]});
}

static bool waits(const struct pass *p)
{
	return p->local && p->checked && p->e->may_write && facts_is(p->f, F_QUOTA) &&
	       !facts_is(p->f, F_EVICTED) && !facts_is(p->f, F_FINISHED) &&
	       !facts_is(p->f, F_TERMINATING) && p->f->s[S_CLUSTER].n == 0 &&
	       p->state == CHECK_PENDING;
}

void tally_line(struct pass *p)
{
	struct engine *e = p->e;
	struct wl *w = p->w;

	if (!waits(p)) {
		list_del(&w->line);
		e->stats.overdue -= w->is_overdue;
		w->is_overdue = false;
	} else if (list_empty(&w->line)) {
		w->lined_up_at = e->now;
		list_add_tail(&e->lined_up, &w->line);
	}
}

void tally_phase(const struct pass *p)
{
	enum why_phase phase = why_phase(p);

	p->e->phases[p->w->phase]--;
	p->w->phase = (uint8_t)phase;
	p->e->phases[phase]++;
}

void engine_phases(const struct engine *e, void (*fn)(void *ctx, const char *phase, size_t n),
		   void *ctx)
{
	size_t now[PHASE_N] = {0};

	for (size_t i = 0; i < PHASE_N; i++) {
		now[why_phase_now(e, (enum why_phase)i)] += e->phases[i];
	}
	for (size_t i = 0; i < PHASE_N; i++) {
		fn(ctx, why_phases[i], now[i]);
	}
}

bool engine_first_waiting(const struct engine *e, mk_str *ret_ns, mk_str *ret_name,
			  int64_t *ret_since_ms)
{
	const struct list_node *line = list_empty(&e->overdue) ? &e->lined_up : &e->overdue;
	const struct wl *w;

	if (list_empty(line)) {
		return false;
	}
	w = LIST_ENTRY(line->next, struct wl, line);
	*ret_ns = w->ns;
	*ret_name = w->name;
	*ret_since_ms = w->lined_up_at;
	return true;
}

void tally_overdue(struct engine *e)
{
	while (!list_empty(&e->lined_up)) {
		struct wl *w = LIST_ENTRY(e->lined_up.next, struct wl, line);

		if (e->now - w->lined_up_at < ENGINE_OVERDUE_MS) {
			return;
		}
		list_del(&w->line);
		list_add_tail(&e->overdue, &w->line);
		w->is_overdue = true;
		e->stats.overdue++;
	}
}
