/* SPDX-License-Identifier: Apache-2.0 */
/* A workload explained, as text and as data; see explain.h. */
#include "core/cli/tree/explain.h"

static const char *const reasons[] = {
	[QUOTA_BY_PRIORITY] = "lower priority in the same queue",
	[QUOTA_BY_CLAIM] = "the claim to a minimum",
	[QUOTA_BY_FAIR] = "fair shares",
	[QUOTA_BY_BORROW] = "lower priority while borrowing",
};

/* "namespace/name" of a workload in the tree. */
static mk_str who(struct cli *c, const struct explanation *e, const struct quota_work *w)
{
	char uid[QUOTA_MAX_UID + 1];
	mk_str text = quota_work_uid(w, uid);
	const struct outlook *out = map_get(e->by_uid, text);

	if (!out) {
		return arena_dup(&c->a, text);
	}
	return arena_printf(&c->a, "%.*s/%.*s", STR_ARG(out->ww->work.ns),
			    STR_ARG(out->ww->work.name));
}

static mk_str next_text(struct cli *c, const struct explanation *e)
{
	bool taken = e->decision.verdict == QUOTA_FIT && e->out->next == QUOTA_BLOCK;
	const char *what = taken                         ? "those before it take the room"
			   : e->out->next == QUOTA_ADMIT ? "is admitted"
			   : e->out->next == QUOTA_RESERVE
				   ? "reserves its room and waits for what it preempts"
				   : "does not fit";

	if (e->out->turn == 0) {
		return STR("it has no turn: its queue goes on only behind another one");
	}
	return arena_printf(&c->a, "it is number %zu in the order, and %s", e->out->turn, what);
}

/* --- text ------------------------------------------------------------------------------------- */

static const char *state_text(enum quota_state state)
{
	static const char *const words[] = {
		[QUOTA_PENDING] = "waits",
		[QUOTA_BLOCKED] = "waits",
		[QUOTA_RESERVED] = "has its room reserved",
		[QUOTA_ADMITTED] = "is admitted",
		[QUOTA_EVICTING] = "is being evicted",
		[QUOTA_PARKED] = "waits for a queue",
	};

	return words[state];
}

/* Do reserves of other queues count anywhere? Most trees have none, and no column for them. */
static bool has_reserves(const struct explanation *e)
{
	for (size_t i = 0; i < e->n_rows; i++) {
		if (e->rows[i].node != QUOTA_NONE && e->rows[i].reserved > 0) {
			return true;
		}
	}
	return false;
}

static void print_rows(struct cli *c, const struct explanation *e)
{
	enum { RESERVED = 5 };
	static const bool right[] = {false, true, false, false, true,
				     true,  true, true,  true,  false};
	static const bool right_less[] = {false, true, false, false, true, true, true, true, false};
	static const char *const heads[] = {"QUEUE",    "LEVEL",     "RESOURCE", "FLAVOR", "USED",
					    "RESERVED", "REQUESTED", "MIN",      "MAX",    ""};
	const size_t n = sizeof(heads) / sizeof(heads[0]);
	bool reserves = has_reserves(e);
	struct output_table t;

	output_table_init(&t, c, reserves ? n : n - 1, reserves ? right : right_less);
	for (size_t i = 0; i < n; i++) {
		if (i != RESERVED || reserves) {
			output_cell(&t, output_paint(c, OUTPUT_DIM, str_of(heads[i])));
		}
	}
	for (size_t i = 0; i < e->n_rows; i++) {
		const struct quota_row *r = &e->rows[i];
		struct quota_fr fr;

		if (r->node == QUOTA_NONE) {
			continue;
		}
		fr = quota_fr_at(e->q, r->fr);
		output_cell(&t, quota_node_at(e->q, r->node).name);
		output_cell(&t, arena_printf(&c->a, "%zu of %zu", r->level, r->n_levels));
		output_cell(&t, fr.resource);
		output_cell(&t, fr.flavor);
		output_cell(&t, world_amount(c, r->used, fr.resource));
		if (reserves) {
			output_cell(&t, world_amount(c, r->reserved, fr.resource));
		}
		output_cell(&t, world_amount(c, r->requested, fr.resource));
		output_cell(&t, world_amount(c, r->min, fr.resource));
		output_cell(&t, world_amount(c, r->max, fr.resource));
		output_cell(&t, r->fits ? output_paint(c, OUTPUT_GREEN, STR("fits"))
					: output_paint(c, OUTPUT_RED, STR("does not fit")));
	}
	output_table_print(&t, "  ");
}

static mk_str row_text(struct cli *c, const struct explanation *e)
{
	return world_why(c, e->q, &e->ww->work, &e->decision.row);
}

/* Names of the nodes above a leaf whose fence is as 'open' says: "product, company". */
static mk_str fences(struct cli *c, const struct quota *q, size_t leaf, bool open)
{
	mk_str out = {NULL, 0};

	for (size_t up = quota_node_at(q, leaf).parent; up != QUOTA_NONE;
	     up = quota_node_at(q, up).parent) {
		struct quota_node_info n = quota_node_at(q, up);

		if (n.fence_open == open) {
			out = arena_printf(&c->a, "%.*s%s%.*s", STR_ARG(out), out.n > 0 ? ", " : "",
					   STR_ARG(n.name));
		}
	}
	return out;
}

/* What keeps a workload from preempting: settings of its queue, fences, or too few victims. */
static void print_no_plan(struct cli *c, const struct explanation *e)
{
	size_t leaf = quota_node_find(e->q, e->ww->work.queue);
	const struct quota_behaviour *b =
		leaf != QUOTA_NONE ? quota_node_at(e->q, leaf).behaviour : NULL;
	mk_str closed = b != NULL ? fences(c, e->q, leaf, false) : STR("");
	mk_str open = b != NULL ? fences(c, e->q, leaf, true) : STR("");

	if (e->decision.row.node == QUOTA_NONE) {
		buf_printf(&c->out, "  preemption: would not help\n");
		return;
	}
	if (b != NULL && b->within == QUOTA_NEVER && b->reclaim == QUOTA_NEVER) {
		buf_printf(&c->out,
			   "  preemption: not allowed: withinClusterQueue and reclaimWithinCohort "
			   "of queue %.*s are Never\n",
			   STR_ARG(e->ww->work.queue));
		return;
	}
	buf_printf(&c->out, "  preemption: nobody whom it may preempt would make enough room\n");
	if (b != NULL && b->within == QUOTA_NEVER) {
		buf_printf(&c->out,
			   "    in queue %.*s: nobody, since withinClusterQueue is Never\n",
			   STR_ARG(e->ww->work.queue));
	}
	if (b != NULL && b->reclaim == QUOTA_NEVER) {
		buf_printf(&c->out,
			   "    in other queues: nobody, since reclaimWithinCohort is Never\n");
	} else if (closed.n > 0) {
		buf_printf(&c->out, "    in other queues: closed fence at %.*s%s%.*s\n",
			   STR_ARG(closed), open.n > 0 ? ", open at " : "", STR_ARG(open));
	}
}

static void print_plan(struct cli *c, struct explanation *e)
{
	struct quota_plan plan = {.n = 0};

	if (quota_plan(e->q, e->work, 0, &plan) != ERR_OK) {
		print_no_plan(c, e);
		return;
	}
	if (plan.n == 0) {
		buf_printf(&c->out, "  preemption: evictions that run already make the room\n");
	}
	for (size_t i = 0; i < plan.n; i++) {
		struct quota_work_info v = quota_work_at(e->q, plan.victims[i].work);
		mk_str at = quota_node_at(e->q, plan.victims[i].node).name;

		buf_printf(&c->out,
			   "  preemption: would evict %.*s of queue %.*s (priority %d), by %s at "
			   "%.*s\n",
			   STR_ARG(who(c, e, plan.victims[i].work)), STR_ARG(v.leaf), v.priority,
			   reasons[plan.victims[i].reason], STR_ARG(at));
	}
}

/* Requests for what the tree does not have, of which the library knows no name. */
static void print_uncovered(struct cli *c, const struct explanation *e)
{
	const struct api_work *w = &e->ww->work;

	for (size_t s = 0; s < w->n_sets; s++) {
		for (size_t i = 0; i < w->sets[s].n; i++) {
			mk_str resource = w->sets[s].requests[i].resource;

			if (!world_covers(e->q, resource)) {
				buf_printf(
					&c->out,
					"  asks for %.*s for pod set %.*s, of which the tree has "
					"nothing\n",
					STR_ARG(resource), STR_ARG(w->sets[s].name));
			}
		}
	}
}

/*
 * Could another choice of flavors matter? Pod sets choose one after the other and never go back, so
 * the first may take what a later one needs.
 */
static void print_greedy(struct cli *c, const struct explanation *e)
{
	const struct quota_row *row = &e->decision.row;
	size_t flavors = 0;

	if (row->node == QUOTA_NONE || e->ww->work.n_sets < 2) {
		return;
	}
	for (size_t f = 0; f < quota_n_frs(e->q); f++) {
		flavors +=
			str_eq(quota_fr_at(e->q, f).resource, quota_fr_at(e->q, row->fr).resource);
	}
	if (flavors > 1) {
		buf_printf(&c->out,
			   "  pod sets choose flavors one after the other: other choices of "
			   "the first were not tried\n");
	}
}

void explain_text(struct cli *c, struct explanation *e)
{
	const struct api_work *w = &e->ww->work;
	struct quota_work_info info = quota_work_at(e->q, e->work);
	mk_str name = arena_printf(&c->a, "%.*s/%.*s", STR_ARG(w->ns), STR_ARG(w->name));

	buf_printf(&c->out, "%.*s in queue %.*s (priority %d) %s\n",
		   STR_ARG(output_paint(c, OUTPUT_BOLD, name)), STR_ARG(w->queue), info.priority,
		   state_text(info.state));
	for (size_t i = 0; i < info.n_asks; i++) {
		struct quota_ask ask = quota_work_ask(e->q, e->work, i);
		mk_str set = ask.pod < w->n_sets ? w->sets[ask.pod].name : STR("");

		if (ask.resource.n == 0) {
			continue;
		}
		buf_printf(&c->out, "  %s %.*s %.*s for pod set %.*s%s%.*s\n",
			   info.state == QUOTA_ADMITTED || info.state == QUOTA_EVICTING ? "has"
											: "asks",
			   STR_ARG(world_amount(c, ask.amount, ask.resource)),
			   STR_ARG(ask.resource), STR_ARG(set),
			   ask.flavor.n > 0 ? " in flavor " : "", STR_ARG(ask.flavor));
	}
	print_uncovered(c, e);
	if (info.state != QUOTA_PENDING && info.state != QUOTA_BLOCKED) {
		return;
	}
	print_rows(c, e);
	if (e->decision.verdict == QUOTA_FIT) {
		buf_printf(&c->out, "  it fits as things are%s\n",
			   e->decision.height > 0 ? ", and borrows" : "");
	} else {
		buf_printf(&c->out, "  it does not fit: %.*s\n", STR_ARG(row_text(c, e)));
		print_greedy(c, e);
		print_plan(c, e);
	}
	buf_printf(&c->out, "  in the next cycle %.*s\n", STR_ARG(next_text(c, e)));
}

/* --- data ------------------------------------------------------------------------------------- */

static struct json *rows_json(struct cli *c, const struct explanation *e)
{
	struct json *rows = json_new_arr(&c->a);

	for (size_t i = 0; i < e->n_rows; i++) {
		const struct quota_row *r = &e->rows[i];
		struct json *v = json_new_obj(&c->a);
		struct quota_fr fr;

		if (r->node == QUOTA_NONE) {
			continue;
		}
		fr = quota_fr_at(e->q, r->fr);
		json_set_str(&c->a, v, "queue", quota_node_at(e->q, r->node).name);
		json_set_int(&c->a, v, "level", (int64_t)r->level);
		json_set_int(&c->a, v, "levels", (int64_t)r->n_levels);
		json_set_str(&c->a, v, "flavor", fr.flavor);
		json_set_str(&c->a, v, "resource", fr.resource);
		json_set_str(&c->a, v, "used", world_amount(c, r->used, fr.resource));
		json_set_str(&c->a, v, "reserved", world_amount(c, r->reserved, fr.resource));
		json_set_str(&c->a, v, "requested", world_amount(c, r->requested, fr.resource));
		json_set_str(&c->a, v, "min", world_amount(c, r->min, fr.resource));
		json_set_str(&c->a, v, "max", world_amount(c, r->max, fr.resource));
		json_set_bool(&c->a, v, "fits", r->fits);
		json_add(&c->a, rows, v);
	}
	return rows;
}

struct json *explain_json(struct cli *c, struct explanation *e)
{
	const struct api_work *w = &e->ww->work;
	struct quota_work_info info = quota_work_at(e->q, e->work);
	struct json *v = json_new_obj(&c->a);
	struct json *victims = json_new_arr(&c->a);
	struct quota_plan plan = {.n = 0};

	json_set_str(&c->a, v, "namespace", w->ns);
	json_set_str(&c->a, v, "name", w->name);
	json_set_str(&c->a, v, "queue", w->queue);
	json_set_int(&c->a, v, "priority", info.priority);
	json_set_str(&c->a, v, "state", str_of(state_text(info.state)));
	if (info.state != QUOTA_PENDING && info.state != QUOTA_BLOCKED) {
		return v;
	}
	json_set_bool(&c->a, v, "fits", e->decision.verdict == QUOTA_FIT);
	json_set_int(&c->a, v, "turn", (int64_t)e->out->turn);
	json_set(&c->a, v, STR("rows"), rows_json(c, e));
	if (e->decision.verdict != QUOTA_FIT) {
		json_set_str(&c->a, v, "reason", row_text(c, e));
		quota_plan(e->q, e->work, 0, &plan);
	}
	for (size_t i = 0; i < plan.n; i++) {
		json_add(&c->a, victims, json_new_str(&c->a, who(c, e, plan.victims[i].work)));
	}
	json_set(&c->a, v, STR("victims"), victims);
	return v;
}
