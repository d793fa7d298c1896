/* SPDX-License-Identifier: Apache-2.0 */
/* Gauges of queue trees; see trees_gauges.h. */
#include "core/daemon/trees_gauges.h"

#include "core/base/map.h"

enum { SERIES_MAX = 20000, KEPT_MAX = 64 * 1024 * 1024, N_LABELS = 4 };

void trees_gauges_init(struct trees_gauges *g)
{
	*g = (struct trees_gauges){.n = 0};
	g->amounts[0] = metric_gauge("multikueue_quota_tree_nominal",
				     "Minimum of a queue: cpu in cores, all else in units.", "tree",
				     "queue", "flavor", "resource", NULL);
	g->amounts[1] =
		metric_gauge("multikueue_quota_tree_maximum",
			     "Maximum of a queue: cpu in cores, all else in units; -1: none.",
			     "tree", "queue", "flavor", "resource", NULL);
	g->amounts[2] = metric_gauge("multikueue_quota_tree_used",
				     "What Workloads below the queue have: cpu in cores, all else "
				     "in units.",
				     "tree", "queue", "flavor", "resource", NULL);
	g->amounts[3] = metric_gauge("multikueue_quota_tree_held",
				     "That, or what is reserved for the queue, where it is more.",
				     "tree", "queue", "flavor", "resource", NULL);
	for (size_t i = 0; i < TREES_GAUGES; i++) {
		metric_limit(g->amounts[i], SERIES_MAX);
	}
	g->pending =
		metric_gauge("multikueue_quota_tree_pending_workloads",
			     "Workloads that wait in a queue and below it.", "tree", "queue", NULL);
	metric_limit(g->pending, SERIES_MAX);
	g->trees = metric_gauge("multikueue_quota_trees",
				"Queue trees of the cluster; wrong: their rules are broken; "
				"inexpressible: Kueue cannot enforce them.",
				"state", NULL);
	arena_init(&g->shown[0], KEPT_MAX);
	arena_init(&g->shown[1], KEPT_MAX);
}

void trees_gauges_done(struct trees_gauges *g)
{
	arena_done(&g->shown[0]);
	arena_done(&g->shown[1]);
}

static double in_units(mk_str resource, int64_t v)
{
	if (v == QUOTA_UNLIMITED) {
		return -1;
	}
	return str_is(resource, "cpu") ? (double)v / 1000 : (double)v;
}

static mk_str key_of(struct arena *a, const struct trees_figure *f)
{
	return arena_printf(a, "%.*s %.*s %.*s %.*s", STR_ARG(f->tree), STR_ARG(f->queue),
			    STR_ARG(f->flavor), STR_ARG(f->resource));
}

static mk_str queue_key(struct arena *a, const struct trees_figure *f)
{
	return arena_printf(a, "%.*s %.*s", STR_ARG(f->tree), STR_ARG(f->queue));
}

static void show(struct trees_gauges *g, const struct trees_figure *f)
{
	const mk_str labels[N_LABELS] = {f->tree, f->queue, f->flavor, f->resource};
	const int64_t values[TREES_GAUGES] = {f->nominal, f->max, f->use, f->hold};

	for (size_t i = 0; i < TREES_GAUGES; i++) {
		metric_set(g->amounts[i], labels, in_units(f->resource, values[i]));
	}
	if (f->first) {
		metric_set(g->pending, labels, (double)f->pending);
	}
}

static void forget(struct trees_gauges *g, const struct trees_figure *f)
{
	const mk_str labels[N_LABELS] = {f->tree, f->queue, f->flavor, f->resource};

	for (size_t i = 0; i < TREES_GAUGES; i++) {
		metric_drop(g->amounts[i], labels);
	}
}

static void forget_queue(struct trees_gauges *g, const struct trees_figure *f)
{
	const mk_str labels[N_LABELS] = {f->tree, f->queue};

	metric_drop(g->pending, labels);
}

/* Without memory a row is shown once less. */
static void note(struct map *now, mk_str key, struct trees_figure *f)
{
	if (key.n > 0) {
		(void)map_put(now, key, f);
	}
}

/* A copy that outlives the pass; 'n' of them in *ret. False: out of memory. */
static bool remember(struct arena *a, const struct trees_plan *plan, struct trees_figure **ret)
{
	*ret = arena_array(a, plan->n_figures, sizeof(**ret));
	for (size_t i = 0; *ret && i < plan->n_figures; i++) {
		const struct trees_figure *f = &plan->figures[i];

		(*ret)[i] = *f;
		(*ret)[i].tree = arena_dup(a, f->tree);
		(*ret)[i].queue = arena_dup(a, f->queue);
		(*ret)[i].flavor = arena_dup(a, f->flavor);
		(*ret)[i].resource = arena_dup(a, f->resource);
	}
	return !arena_failed(a);
}

static void tell_states(struct trees_gauges *g, const struct trees_plan *plan)
{
	mk_str wrong = STR("wrong"), inexpressible = STR("inexpressible"), good = STR("good");

	metric_set(g->trees, &wrong, (double)plan->n_invalid);
	metric_set(g->trees, &inexpressible, (double)plan->n_inexpressible);
	metric_set(g->trees, &good,
		   (double)(plan->n_trees - plan->n_invalid - plan->n_inexpressible));
}

void trees_gauges_set(struct trees_gauges *g, const struct trees_plan *plan)
{
	static const struct trees_plan nothing = {.n = 0};
	struct arena *a = &g->shown[g->turn];
	struct trees_figure *figures;
	struct map now;

	plan = plan ? plan : &nothing;
	map_init(&now);
	if (!remember(a, plan, &figures)) {
		arena_clear(a);
		return; /* what was shown stays until there is memory */
	}
	for (size_t i = 0; i < plan->n_figures; i++) {
		show(g, &figures[i]);
		note(&now, key_of(a, &figures[i]), &figures[i]);
		if (figures[i].first) {
			note(&now, queue_key(a, &figures[i]), &figures[i]);
		}
	}
	for (size_t i = 0; i < g->n; i++) {
		if (!map_get(&now, key_of(a, &g->figures[i]))) {
			forget(g, &g->figures[i]);
		}
		if (g->figures[i].first && !map_get(&now, queue_key(a, &g->figures[i]))) {
			forget_queue(g, &g->figures[i]);
		}
	}
	map_done(&now);
	tell_states(g, plan);
	g->figures = figures;
	g->n = plan->n_figures;
	g->turn = !g->turn;
	arena_clear(&g->shown[g->turn]);
}
