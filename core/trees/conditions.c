/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of a ClusterQuotaTree, without their times; see status.h. */
#include <stdarg.h>

#include "core/trees/status_int.h"

enum { LISTED = 10, REASONS_LISTED = 20, MESSAGE_MAX = 512 };

#define YES "True"
#define NO "False"
#define UNKNOWN "Unknown"

/* --- text ------------------------------------------------------------------------------------- */

/* Text of several lines: the first 'most', then how many more there are. */
struct lines {
	struct arena *a;
	mk_str text;
	size_t n, most;
};

/* Is there room for one more line, to be given to add_line? Counts it in any case. */
static bool has_room(struct lines *l)
{
	return l->n++ < l->most;
}

static void __attribute__((format(printf, 2, 3))) add_line(struct lines *l, const char *fmt, ...)
{
	va_list ap;
	mk_str line;

	va_start(ap, fmt);
	line = arena_vprintf(l->a, fmt, ap);
	va_end(ap);
	l->text = arena_printf(l->a, "%.*s%s%.*s", STR_ARG(l->text), l->text.n > 0 ? "\n" : "",
			       STR_ARG(line));
}

static mk_str text_of(struct lines *l)
{
	if (l->n <= l->most) {
		return l->text;
	}
	return arena_printf(l->a, "%.*s\nand %zu more", STR_ARG(l->text), l->n - l->most);
}

static void add_faults(struct lines *l, const struct api_faults *faults)
{
	for (size_t i = 0; i < faults->n; i++) {
		if (has_room(l)) {
			add_line(l, "%.*s: %.*s", STR_ARG(faults->p[i].path),
				 STR_ARG(faults->p[i].text));
		}
	}
}

static mk_str shown(struct arena *a, const struct trees_judged *j, size_t f, int64_t v)
{
	return api_amount_shown(a, v, j->model->desc.frs[f].resource);
}

/* --- Accepted, Expressible -------------------------------------------------------------------- */

static void judge_accepted(struct arena *a, const struct trees_judged *j, struct trees_condition *c)
{
	bool evicts = str_is(json_str_at(j->live, "/spec/overLimitPolicy"), "Evict");

	if (j->n_errors > 0) {
		*c = (struct trees_condition){"Accepted", NO, STR("Invalid"),
					      validate_text(a, j->errors, j->n_errors)};
		return;
	}
	*c = (struct trees_condition){
		"Accepted", YES, STR("Valid"),
		evicts ? STR("the tree is valid; spec.overLimitPolicy: Evict: nothing acts on it, "
			     "no workload is evicted")
		       : STR("the tree is valid")};
}

static void judge_expressible(struct arena *a, const struct trees_judged *j,
			      struct trees_condition *c)
{
	struct lines l = {.a = a, .most = REASONS_LISTED};

	c->type = "Expressible";
	if (!j->compiled) {
		c->status = UNKNOWN;
		c->reason = STR("NotCompiled");
		c->message = STR("whether Kueue can do what the tree says is asked with "
				 "enforcement Compile alone");
		return;
	}
	if (j->compiled->reasons.n > 0) {
		add_faults(&l, &j->compiled->reasons);
		c->status = NO;
		c->reason = STR("NotExpressible");
		c->message = text_of(&l);
		return;
	}
	add_faults(&l, &j->compiled->notes);
	c->status = YES;
	c->reason = STR("Expressible");
	c->message = STR("Kueue enforces each minimum, maximum and reserve of the tree");
	if (l.n > 0) {
		c->message = arena_printf(a, "%.*s; what it decides in its own way:\n%.*s",
					  STR_ARG(c->message), STR_ARG(text_of(&l)));
	}
}

/* --- Degraded --------------------------------------------------------------------------------- */

/* The reason is that of the first cause. */
static void degraded_by(struct trees_condition *c, mk_str reason)
{
	if (!str_is(str_of(c->status), YES)) {
		c->status = YES;
		c->reason = reason;
	}
}

static void find_missing_flavors(const struct trees_judged *j, struct trees_condition *c,
				 struct lines *l)
{
	const struct quota_desc *d = &j->model->desc;

	for (size_t f = 0; f < d->n_frs; f++) {
		if ((f > 0 && str_eq(d->frs[f].flavor, d->frs[f - 1].flavor)) ||
		    api_set_find(j->set, API_FLAVOR, STR_NONE, d->frs[f].flavor) != NULL) {
			continue;
		}
		degraded_by(c, STR("FlavorNotFound"));
		if (has_room(l)) {
			add_line(l,
				 "flavor \"%.*s\": there is no such ResourceFlavor, so no "
				 "workload gets it",
				 STR_ARG(d->frs[f].flavor));
		}
	}
}

/* Minima that are less than they were written: their parent has not so much. */
static void find_scaled(struct arena *a, const struct trees_judged *j, const struct trees_usage *u,
			struct trees_condition *c, struct lines *l)
{
	for (size_t node = 0; quota_scaled(j->q) && node < u->n; node++) {
		const struct quota_node *d = &j->model->desc.nodes[u->desc[node]];

		for (size_t i = 0; d->absolute && i < d->n_min; i++) {
			size_t f = d->min[i].fr;
			const struct trees_cell *cell = trees_cell(u, node, f);

			if (cell->nominal >= d->min[i].nominal) {
				continue;
			}
			degraded_by(c, STR("MinimaScaled"));
			if (has_room(l)) {
				add_line(l,
					 "queue \"%.*s\": %.*s in flavor %.*s: minimum %.*s "
					 "became %.*s, because the minima add up to more than "
					 "their parent has",
					 STR_ARG(d->name), STR_ARG(j->model->desc.frs[f].resource),
					 STR_ARG(j->model->desc.frs[f].flavor),
					 STR_ARG(shown(a, j, f, d->min[i].nominal)),
					 STR_ARG(shown(a, j, f, cell->nominal)));
			}
		}
	}
}

/* Leaves that Kueue does not admit to. One that its owner stopped is as it shall be. */
static void find_inactive(const struct trees_judged *j, const struct trees_usage *u,
			  struct trees_condition *c, struct lines *l)
{
	for (size_t node = 0; node < u->n; node++) {
		const struct api_queue *queue = j->model->places[u->desc[node]]->queue;
		const struct json *active;

		if (!queue || quota_node_at(j->q, node).n_children > 0) {
			continue;
		}
		active = json_find(json_at(queue->object->json, "/status/conditions"), "type",
				   "Active");
		if (!str_is(json_str(json_get(active, "status")), NO) ||
		    str_is(json_str(json_get(active, "reason")), "Stopped")) {
			continue;
		}
		degraded_by(c, STR("QueueInactive"));
		if (has_room(l)) {
			add_line(l, "ClusterQueue \"%.*s\" is not active: %.*s",
				 STR_ARG(queue->name),
				 STR_ARG(str_cut(json_str(json_get(active, "message")),
						 MESSAGE_MAX)));
		}
	}
}

static void judge_degraded(struct arena *a, const struct trees_judged *j,
			   const struct trees_usage *u, struct trees_condition *c)
{
	struct lines l = {.a = a, .most = LISTED};
	size_t unweighted = quota_unweighted(j->q);

	*c = (struct trees_condition){"Degraded", NO, STR("AsWritten"),
				      STR("each queue has what the tree says")};
	if (j->model->notes.n > 0) {
		degraded_by(c, STR("RelatedElasticQuotaNotFound"));
		add_faults(&l, &j->model->notes);
	}
	find_missing_flavors(j, c, &l);
	find_scaled(a, j, u, c, &l);
	if (unweighted != QUOTA_NONE) {
		degraded_by(c, STR("EqualShares"));
		if (has_room(&l)) {
			add_line(&l,
				 "queue \"%.*s\": policy capacity, but its children have "
				 "neither minWeight nor amounts: each has an equal part",
				 STR_ARG(trees_node_name(j, u, unweighted)));
		}
	}
	find_inactive(j, u, c, &l);
	if (l.n > 0) {
		c->message = text_of(&l);
	}
}

/* --- OverLimit -------------------------------------------------------------------------------- */

static void over_line(struct arena *a, const struct trees_judged *j, const struct trees_usage *u,
		      size_t node, size_t f, struct lines *l)
{
	const struct trees_cell *cell = trees_cell(u, node, f);
	const struct quota_fr *fr = &j->model->desc.frs[f];
	mk_str held = STR("");

	if (cell->hold > cell->use) {
		held = arena_printf(a, ", with reserves %.*s", STR_ARG(shown(a, j, f, cell->hold)));
	}
	add_line(l,
		 "queue \"%.*s\" (level %zu of %zu): %.*s in flavor %.*s: used %.*s%.*s, max %.*s",
		 STR_ARG(trees_node_name(j, u, node)), quota_node_at(j->q, node).level,
		 trees_depth(j), STR_ARG(fr->resource), STR_ARG(fr->flavor),
		 STR_ARG(shown(a, j, f, cell->use)), STR_ARG(held),
		 STR_ARG(shown(a, j, f, cell->max)));
}

static void judge_over_limit(struct arena *a, const struct trees_judged *j,
			     const struct trees_usage *u, struct trees_condition *c)
{
	struct lines l = {.a = a, .most = LISTED};

	for (size_t node = 0; node < u->n; node++) {
		for (size_t f = 0; f < u->n_frs; f++) {
			const struct trees_cell *cell = trees_cell(u, node, f);

			if (cell->hold > cell->max && has_room(&l)) {
				over_line(a, j, u, node, f, &l);
			}
		}
	}
	for (size_t i = 0; i < u->n_strays; i++) {
		if (has_room(&l) && i < TREES_STRAYS) {
			const struct trees_stray *s = &u->strays[i];

			add_line(&l,
				 "queue \"%.*s\": %.*s in flavor %.*s: used %.*s, and the "
				 "tree does not have it",
				 STR_ARG(trees_node_name(j, u, s->node)), STR_ARG(s->resource),
				 STR_ARG(s->flavor),
				 STR_ARG(api_amount_shown(a, s->use, s->resource)));
		}
	}
	*c = (struct trees_condition){"OverLimit", NO, STR("WithinLimits"),
				      STR("no queue uses more than its maximum")};
	if (l.n > 0) {
		c->status = YES;
		c->reason = STR("OverLimit");
		c->message = text_of(&l);
	}
}

/* --- ReclaimEffective, RoundedToZero ---------------------------------------------------------- */

static void judge_reclaim(struct arena *a, const struct trees_judged *j,
			  const struct trees_usage *u, struct trees_condition *c)
{
	bool *open = arena_array(a, u->n + 1, sizeof(*open)); /* is there an open fence above? */
	mk_str names = STR("");
	size_t n = 0, n_never = 0;

	for (size_t node = 0; open != NULL && node < u->n; node++) {
		struct quota_node_info i = quota_node_at(j->q, node);

		for (size_t k = i.first_child; k < i.first_child + i.n_children; k++) {
			open[k] = open[node] || (i.fence_open && i.n_children > 1);
		}
		if (i.n_children > 0 || !open[node]) {
			continue;
		}
		n++;
		if (i.behaviour->reclaim == QUOTA_NEVER && n_never++ < LISTED) {
			names = arena_printf(a, "%.*s%s%.*s", STR_ARG(names),
					     names.n > 0 ? ", " : "", STR_ARG(i.name));
		}
	}
	if (n == 0) {
		*c = (struct trees_condition){
			"ReclaimEffective", UNKNOWN, STR("NoOpenFence"),
			STR("no fence between queues is open: none takes quota back from another")};
		return;
	}
	*c = (struct trees_condition){
		"ReclaimEffective", YES, STR("ReclaimAllowed"),
		STR("each leaf below an open fence may take quota back from other queues")};
	if (n_never > 0) {
		c->status = NO;
		c->reason = STR("ReclaimNever");
		c->message = arena_printf(
			a,
			"%zu of %zu leaves below an open fence have "
			"preemption.reclaimWithinCohort Never, Kueue's default, and wait for their "
			"minimum until others end: %.*s",
			n_never, n, STR_ARG(names));
		if (n_never > LISTED) {
			c->message = arena_printf(a, "%.*s and %zu more", STR_ARG(c->message),
						  n_never - LISTED);
		}
	}
}

static void judge_rounded(struct arena *a, const struct trees_judged *j,
			  const struct trees_usage *u, struct trees_condition *c)
{
	size_t node = 0, f = 0;

	*c = (struct trees_condition){"RoundedToZero", NO, STR("NotRounded"),
				      STR("each weight above 0 gives at least one unit")};
	if (quota_rounded_to_zero(j->q, &node, &f)) {
		c->status = YES;
		c->reason = STR("RoundedToZero");
		c->message = arena_printf(
			a,
			"queue \"%.*s\": %.*s in flavor %.*s: its weight is above 0, and gives 0, "
			"because its parent has too few units of it",
			STR_ARG(trees_node_name(j, u, node)),
			STR_ARG(j->model->desc.frs[f].resource),
			STR_ARG(j->model->desc.frs[f].flavor));
	}
}

/* --- all -------------------------------------------------------------------------------------- */

/* What cannot be said of a tree that is not accepted, or that is part of another. */
static void unknown(const struct trees_condition *active, const char *type,
		    struct trees_condition *c)
{
	bool grafted = str_is(active->reason, "Grafted");

	*c = (struct trees_condition){
		type, UNKNOWN, active->reason,
		grafted ? active->message
			: STR("the tree is not accepted: see condition Accepted")};
}

static void judge_capacity(const struct trees_judged *j, struct trees_condition *c)
{
	const struct trees_capacity *from = j->capacity;

	*c = (struct trees_condition){.type = NULL};
	if (from != NULL) {
		*c = (struct trees_condition){"CapacityFromWorkers", from->status,
					      str_of(from->reason), from->message};
	}
}

void trees_conditions(struct arena *a, const struct trees_judged *j, const struct trees_usage *u,
		      struct trees_condition ret[TREES_CONDITIONS])
{
	ret[TREES_ACTIVE] = trees_active(a, j, u);
	judge_accepted(a, j, &ret[TREES_ACCEPTED]);
	judge_capacity(j, &ret[TREES_CAPACITY]);
	if (!u) {
		unknown(&ret[TREES_ACTIVE], "Expressible", &ret[TREES_EXPRESSIBLE]);
		unknown(&ret[TREES_ACTIVE], "Degraded", &ret[TREES_DEGRADED]);
		unknown(&ret[TREES_ACTIVE], "OverLimit", &ret[TREES_OVER_LIMIT]);
		unknown(&ret[TREES_ACTIVE], "ReclaimEffective", &ret[TREES_RECLAIM]);
		unknown(&ret[TREES_ACTIVE], "RoundedToZero", &ret[TREES_ROUNDED]);
		return;
	}
	judge_expressible(a, j, &ret[TREES_EXPRESSIBLE]);
	judge_degraded(a, j, u, &ret[TREES_DEGRADED]);
	judge_over_limit(a, j, u, &ret[TREES_OVER_LIMIT]);
	judge_reclaim(a, j, u, &ret[TREES_RECLAIM]);
	judge_rounded(a, j, u, &ret[TREES_ROUNDED]);
}
