/* SPDX-License-Identifier: Apache-2.0 */
/* Counters for metrics; see tally.h. */
#include "core/engine/rules/tally.h"

static void tell(const struct pass *p, enum engine_count what, mk_str cluster)
{
	const struct engine_options *o = &p->e->o;

	if (o->count) {
		o->count(o->count_ctx, what, p->f->s[S_QUEUE], cluster);
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
		tell(p, COUNT_ADMITTED, cluster);
	}
}

void tally_clone(struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	if (!wc->asked || !p->local || k->twin != TWIN_OURS) {
		return;
	}
	wc->asked = false;
	p->e->stats.dispatched++;
	tell(p, COUNT_DISPATCHED, str_of(k->c->name));
}
