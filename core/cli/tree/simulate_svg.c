/* SPDX-License-Identifier: Apache-2.0 */
/* A replay as a timeline picture; see simulate.h and timeline.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/timefmt.h"
#include "core/cli/tree/simulate.h"
#include "core/cli/tree/timeline.h"

enum { SVG_MAX = 64 * 1024 * 1024 };

struct painter {
	struct cli *c;
	const struct replay *r;
	struct timeline t;
	/* per tree: group of its first leaf; the others follow in the order of nodes */
	size_t *first_group;
	size_t *row_of; /* per job */
	struct timeline_row *rows;
	struct timeline_span *spans;
	struct timeline_use *uses;
};

/* Leaves of all trees, in the order of the tree; inner nodes get no group. */
static bool make_groups(struct painter *p)
{
	const struct world *w = p->r->w;
	mk_str *groups;
	size_t n = 0;

	for (size_t t = 0; t < w->models.n; t++) {
		n += quota_n_nodes(w->trees[t]);
	}
	groups = arena_array(&p->c->a, n, sizeof(*groups));
	p->first_group = arena_array(&p->c->a, w->models.n, sizeof(*p->first_group));
	if (!groups || !p->first_group) {
		return false;
	}
	n = 0;
	for (size_t t = 0; t < w->models.n; t++) {
		p->first_group[t] = n;
		for (size_t i = 0; i < quota_n_nodes(w->trees[t]); i++) {
			struct quota_node_info info = quota_node_at(w->trees[t], i);

			if (info.n_children == 0) {
				groups[n++] = info.name;
			}
		}
	}
	p->t.groups = groups;
	p->t.n_groups = n;
	return true;
}

static size_t group_of(const struct painter *p, size_t tree, mk_str leaf)
{
	size_t g = p->first_group[tree];

	while (g + 1 < p->t.n_groups && !str_eq(p->t.groups[g], leaf)) {
		g++;
	}
	return g;
}

struct order {
	size_t group, job;
	int64_t arrive_ms;
};

static int cmp_orders(const void *x, const void *y)
{
	const struct order *a = x;
	const struct order *b = y;

	if (a->group != b->group) {
		return a->group < b->group ? -1 : 1;
	}
	if (a->arrive_ms != b->arrive_ms) {
		return a->arrive_ms < b->arrive_ms ? -1 : 1;
	}
	return a->job < b->job ? -1 : 1;
}

static bool make_rows(struct painter *p)
{
	const struct replay *r = p->r;
	struct order *orders = arena_array(&p->c->a, r->n_jobs, sizeof(*orders));

	p->rows = arena_array(&p->c->a, r->n_jobs, sizeof(*p->rows));
	p->row_of = arena_array(&p->c->a, r->n_jobs, sizeof(*p->row_of));
	if (!orders || !p->rows || !p->row_of) {
		return false;
	}
	for (size_t i = 0; i < r->n_jobs; i++) {
		orders[i] = (struct order){group_of(p, r->jobs[i].tree, r->jobs[i].work->queue), i,
					   r->jobs[i].arrive_ms};
	}
	qsort(orders, r->n_jobs, sizeof(*orders), cmp_orders);
	for (size_t i = 0; i < r->n_jobs; i++) {
		const struct api_work *w = r->jobs[orders[i].job].work;

		p->row_of[orders[i].job] = i;
		p->rows[i].group = orders[i].group;
		p->rows[i].label = w->priority == 0
					   ? w->name
					   : arena_printf(&p->c->a, "%.*s (%lld)", STR_ARG(w->name),
							  (long long)w->priority);
	}
	p->t.rows = p->rows;
	p->t.n_rows = r->n_jobs;
	return true;
}

/* --- spans ------------------------------------------------------------------------------------ */

/* What a job does after an event; -1: nothing that is drawn. */
static int kind_after(enum replay_what what, int now)
{
	switch (what) {
	case REPLAY_ARRIVE:
	case REPLAY_GONE:
		return TIMELINE_WAIT;
	case REPLAY_ADMIT:
		return TIMELINE_RUN;
	case REPLAY_EVICT:
		return now == TIMELINE_RUN ? TIMELINE_EVICT : now;
	case REPLAY_FINISH:
		return -1;
	case REPLAY_WAIT:
	case REPLAY_RESERVE:
	case REPLAY_EXPIRE:
		break;
	}
	return now;
}

struct open_span {
	int kind;
	int64_t from_ms;
	mk_str note;
};

static void close_span(struct painter *p, const struct open_span *o, size_t job, int64_t to_ms,
		       mk_str end, bool cut)
{
	if (o->kind < 0 || (to_ms == o->from_ms && !cut)) {
		return;
	}
	p->spans[p->t.n_spans++] = (struct timeline_span){
		.row = p->row_of[job],
		.kind = (enum timeline_kind)o->kind,
		.from_ms = o->from_ms,
		.to_ms = to_ms,
		.cut = cut,
		.note = arena_printf(&p->c->a, "%s %.*s to %.*s%s%.*s%s%.*s",
				     o->kind == TIMELINE_WAIT  ? "waits"
				     : o->kind == TIMELINE_RUN ? "runs"
							       : "is being evicted",
				     STR_ARG(duration_text(&p->c->a, o->from_ms)),
				     STR_ARG(duration_text(&p->c->a, to_ms)),
				     o->note.n > 0 ? "; " : "", STR_ARG(o->note),
				     end.n > 0 ? "; preempted " : "", STR_ARG(end)),
	};
}

static bool make_spans(struct painter *p)
{
	const struct replay *r = p->r;
	struct open_span *open = arena_array(&p->c->a, r->n_jobs, sizeof(*open));

	p->spans = arena_array(&p->c->a, r->n_events + r->n_jobs, sizeof(*p->spans));
	if (!open || !p->spans) {
		return false;
	}
	for (size_t i = 0; i < r->n_jobs; i++) {
		open[i].kind = r->jobs[i].work->admitted ? TIMELINE_RUN : -1;
	}
	for (size_t i = 0; i < r->n_events; i++) {
		const struct replay_event *e = &r->events[i];
		struct open_span *o = &open[e->job];
		int kind = kind_after(e->what, o->kind);
		bool evicted = e->what == REPLAY_EVICT && o->kind == TIMELINE_RUN;

		if (e->what == REPLAY_WAIT) {
			o->note = e->detail;
		}
		if (kind != o->kind) {
			close_span(p, o, e->job, e->at_ms, evicted ? e->detail : STR(""), evicted);
			*o = (struct open_span){kind, e->at_ms,
						e->what == REPLAY_ADMIT ? e->detail : STR("")};
		}
	}
	for (size_t i = 0; i < r->n_jobs; i++) {
		close_span(p, &open[i], i, r->now_ms, STR(""), false);
	}
	p->t.spans = p->spans;
	return true;
}

static bool make_uses(struct painter *p)
{
	const struct replay *r = p->r;

	p->uses = arena_array(&p->c->a, r->n_uses, sizeof(*p->uses));
	if (!p->uses) {
		return false;
	}
	for (size_t i = 0; i < r->n_uses; i++) {
		const struct replay_use *u = &r->uses[i];
		mk_str leaf = quota_node_at(r->w->trees[u->tree], u->node).name;

		p->uses[i] = (struct timeline_use){group_of(p, u->tree, leaf), u->at_ms, u->use};
	}
	p->t.uses = p->uses;
	p->t.n_uses = r->n_uses;
	return true;
}

/* --- the file --------------------------------------------------------------------------------- */

static mk_str amount_text(void *ctx, int64_t v)
{
	const struct painter *p = ctx;
	const struct quota *q = p->r->w->trees[0];

	return world_amount(p->c, v, quota_fr_at(q, 0).resource);
}

static enum cli_exit put(struct cli *c, const char *path, const struct buf *b)
{
	FILE *f = fopen(path, "we");
	bool good = f != NULL && fwrite(b->p, 1, b->n, f) == b->n;

	good = f != NULL && fclose(f) == 0 && good;
	if (!good) {
		cli_error(c, "%s: %s", path, strerror(errno));
		return CLI_FAILED;
	}
	return CLI_OK;
}

enum cli_exit simulate_svg(struct cli *c, const struct replay *r, const char *path)
{
	struct painter p = {.c = c, .r = r};
	struct buf b;
	enum cli_exit rc;

	if (quota_n_frs(r->w->trees[0]) > 0) {
		struct quota_fr fr = quota_fr_at(r->w->trees[0], 0);

		p.t.unit = arena_printf(&c->a, "%.*s in %.*s", STR_ARG(fr.resource),
					STR_ARG(fr.flavor));
	}
	for (size_t i = 0; i < r->w->models.n; i++) {
		const struct quota *q = r->w->trees[i];

		p.t.title = arena_printf(&c->a, "%.*s%s%.*s", STR_ARG(p.t.title), i > 0 ? ", " : "",
					 STR_ARG(r->w->models.v[i].name));
		p.t.total = api_add(p.t.total, quota_n_frs(q) > 0 ? quota_fr_at(q, 0).total : 0);
	}
	p.t.end_ms = r->now_ms;
	p.t.amount = amount_text;
	p.t.ctx = &p;
	buf_init(&b, SVG_MAX);
	if (!make_groups(&p) || !make_rows(&p) || !make_spans(&p) || !make_uses(&p) ||
	    !timeline_svg(&p.t, &b)) {
		rc = cli_no_memory(c);
	} else {
		rc = put(c, path, &b);
	}
	buf_done(&b);
	return rc;
}
