/* SPDX-License-Identifier: Apache-2.0 */
/* `tree diff`: what a change of files means for every queue: effective quotas, places, policies. */
#include "core/cli/tree/world.h"

/* What changed at one queue: its kind of change, and a cell for numbers. */
struct change {
	const char *sign; /* "+", "-", "~" */
	mk_str tree, queue;
	mk_str what;  /* "moved", "policy", or "cpu in spot" */
	mk_str field; /* "min", "max", "reserved", or empty */
	mk_str from, to;
	enum output_color color;
};

struct changes {
	struct cli *c;
	struct change *v;
	size_t n, size;
};

static void add(struct changes *l, struct change change)
{
	if (l->n == l->size) {
		size_t size = l->size ? l->size * 2 : 64;
		struct change *bigger = arena_array(&l->c->a, size, sizeof(*bigger));

		if (!bigger) {
			return;
		}
		if (l->n > 0) {
			memcpy(bigger, l->v, l->n * sizeof(*bigger));
		}
		l->v = bigger;
		l->size = size;
	}
	l->v[l->n++] = change;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void number(struct changes *l, struct change base, const char *field, int64_t from,
		   int64_t to, mk_str resource)
{
	if (from == to) {
		return;
	}
	base.field = str_of(field);
	base.from = world_amount(l->c, from, resource);
	base.to = world_amount(l->c, to, resource);
	base.color = to > from ? OUTPUT_GREEN : OUTPUT_RED;
	add(l, base);
}

static struct quota_cell_info cell_of(const struct quota *q, size_t node, struct quota_fr fr)
{
	size_t f = q != NULL ? quota_fr_find(q, fr.flavor, fr.resource) : QUOTA_NONE;

	if (f == QUOTA_NONE || node == QUOTA_NONE) {
		return (struct quota_cell_info){.nominal = 0};
	}
	return quota_cell_at(q, node, f);
}

static void numbers(struct changes *l, struct change base, const struct quota *old, size_t old_node,
		    const struct quota *new, size_t new_node, struct quota_fr fr)
{
	struct quota_cell_info from = cell_of(old, old_node, fr);
	struct quota_cell_info to = cell_of(new, new_node, fr);

	base.what =
		arena_printf(&l->c->a, "%.*s in %.*s", STR_ARG(fr.resource), STR_ARG(fr.flavor));
	number(l, base, "min", from.nominal, to.nominal, fr.resource);
	number(l, base, "max", from.max, to.max, fr.resource);
	number(l, base, "reserved", from.reserved, to.reserved, fr.resource);
	/*
	 * Where the policy gives one it equals the minimum: it is shown when the policy alone
	 * changed.
	 */
	if (from.nominal == to.nominal) {
		number(l, base, "guarantee", from.guarantee, to.guarantee, fr.resource);
	}
}

/* Pairs of the new tree, then those that only the old one has. */
static void all_numbers(struct changes *l, struct change base, const struct quota *old,
			size_t old_node, const struct quota *new, size_t new_node)
{
	for (size_t f = 0; new != NULL &&f < quota_n_frs(new); f++) {
		numbers(l, base, old, old_node, new, new_node, quota_fr_at(new, f));
	}
	for (size_t f = 0; old != NULL && f < quota_n_frs(old); f++) {
		struct quota_fr fr = quota_fr_at(old, f);

		if (!new || quota_fr_find(new, fr.flavor, fr.resource) == QUOTA_NONE) {
			numbers(l, base, old, old_node, new, new_node, fr);
		}
	}
}

/* --- queues ----------------------------------------------------------------------------------- */

static mk_str parent_name(const struct quota *q, size_t node)
{
	size_t up = quota_node_at(q, node).parent;

	return up != QUOTA_NONE ? quota_node_at(q, up).name : STR("(root)");
}

static void word(struct changes *l, struct change base, const char *what, mk_str from, mk_str to)
{
	if (!str_eq(from, to)) {
		base.what = str_of(what);
		base.from = from;
		base.to = to;
		base.color = OUTPUT_YELLOW;
		add(l, base);
	}
}

static mk_str fence_word(bool open)
{
	return open ? STR("open") : STR("closed");
}

static mk_str weight_word(struct cli *c, int64_t weight)
{
	return api_amount_shown(&c->a, weight, STR("cpu"));
}

/* --- who may preempt whom, and in what order -------------------------------------------------- */

static mk_str reclaim_word(enum quota_reclaim v)
{
	static const char *const words[] = {
		[QUOTA_NEVER] = "Never",
		[QUOTA_LOWER] = "LowerPriority",
		[QUOTA_LOWER_OR_NEWER] = "LowerOrNewerEqualPriority",
		[QUOTA_ANY] = "Any",
	};

	return str_of(words[v]);
}

static mk_str borrow_word(struct cli *c, const struct quota_behaviour *b)
{
	if (!b->borrow_within) {
		return STR("Never");
	}
	return b->has_threshold
		       ? arena_printf(&c->a, "LowerPriority up to %lld", (long long)b->threshold)
		       : STR("LowerPriority");
}

/* Below which nodes a leaf may preempt in other queues: those whose fence is open. */
static mk_str reach(struct cli *c, const struct quota *q, size_t leaf)
{
	const struct quota_behaviour *b = quota_node_at(q, leaf).behaviour;
	mk_str out = {NULL, 0};

	for (size_t up = quota_node_at(q, leaf).parent; up != QUOTA_NONE;
	     up = quota_node_at(q, up).parent) {
		struct quota_node_info n = quota_node_at(q, up);

		if (b->reclaim != QUOTA_NEVER && n.fence_open) {
			out = arena_printf(&c->a, "%.*s%s%.*s", STR_ARG(out), out.n > 0 ? ", " : "",
					   STR_ARG(n.name));
		}
	}
	return out.n > 0 ? out : STR("nobody");
}

static mk_str strategy_word(enum quota_strategy s)
{
	static const char *const words[] = {
		[QUOTA_BEST_EFFORT] = "BestEffortFIFO",
		[QUOTA_STRICT] = "StrictFIFO",
		[QUOTA_LQ_FAIR] = "Fair",
		[QUOTA_LQ_CAPACITY] = "Capacity",
	};

	return str_of(words[s]);
}

/* "2", or "-" when the leaf has no such LocalQueue. */
static mk_str lq_word(struct cli *c, const struct quota *q, size_t leaf, mk_str name, size_t near)
{
	size_t n = quota_node_at(q, leaf).n_lqs;

	if (near < n && str_eq(quota_lq_at(q, leaf, near).name, name)) {
		return weight_word(c, quota_lq_at(q, leaf, near).weight);
	}
	for (size_t k = 0; k < n; k++) {
		struct quota_lq_info lq = quota_lq_at(q, leaf, k);

		if (str_eq(lq.name, name)) {
			return weight_word(c, lq.weight);
		}
	}
	return STR("-");
}

/* The LocalQueues of the new leaf, or those that only the old one has. */
static void compare_lqs(struct changes *l, struct change base, const struct quota *old,
			size_t old_leaf, const struct quota *new, size_t new_leaf, bool of_new)
{
	const struct quota *q = of_new ? new : old;
	size_t leaf = of_new ? new_leaf : old_leaf;

	for (size_t k = 0; k < quota_node_at(q, leaf).n_lqs; k++) {
		mk_str name = quota_lq_at(q, leaf, k).name;
		mk_str from = lq_word(l->c, old, old_leaf, name, k);
		mk_str to = lq_word(l->c, new, new_leaf, name, k);

		if (name.n > 0 && (of_new || str_is(to, "-"))) {
			base.field = STR("weight");
			word(l, base, arena_printf(&l->c->a, "LocalQueue %.*s", STR_ARG(name)).p,
			     from, to);
		}
	}
}

static void compare_leaves(struct changes *l, struct change base, const struct quota *old,
			   size_t old_leaf, const struct quota *new, size_t new_leaf)
{
	const struct quota_behaviour *a = quota_node_at(old, old_leaf).behaviour;
	const struct quota_behaviour *b = quota_node_at(new, new_leaf).behaviour;

	if (!a || !b) {
		return;
	}
	word(l, base, "queueingStrategy", strategy_word(a->strategy), strategy_word(b->strategy));
	word(l, base, "withinClusterQueue", reclaim_word(a->within), reclaim_word(b->within));
	word(l, base, "reclaimWithinCohort", reclaim_word(a->reclaim), reclaim_word(b->reclaim));
	word(l, base, "borrowWithinCohort", borrow_word(l->c, a), borrow_word(l->c, b));
	word(l, base, "preempts below", reach(l->c, old, old_leaf), reach(l->c, new, new_leaf));
	word(l, base, "whenCanBorrow",
	     a->borrow_next_flavor ? STR("TryNextFlavor") : STR("MayStopSearch"),
	     b->borrow_next_flavor ? STR("TryNextFlavor") : STR("MayStopSearch"));
	word(l, base, "whenCanPreempt",
	     a->preempt_may_stop ? STR("MayStopSearch") : STR("TryNextFlavor"),
	     b->preempt_may_stop ? STR("MayStopSearch") : STR("TryNextFlavor"));
	word(l, base, "preference",
	     a->preempt_over_borrow ? STR("PreemptionOverBorrowing")
				    : STR("BorrowingOverPreemption"),
	     b->preempt_over_borrow ? STR("PreemptionOverBorrowing")
				    : STR("BorrowingOverPreemption"));
	compare_lqs(l, base, old, old_leaf, new, new_leaf, true);
	compare_lqs(l, base, old, old_leaf, new, new_leaf, false);
}

/* "on-demand, spot": the order in which flavors are tried. */
static mk_str flavor_order(struct cli *c, const struct quota *q)
{
	mk_str out = {NULL, 0};

	for (size_t f = 0; f < quota_n_frs(q); f++) {
		mk_str name = quota_fr_at(q, f).flavor;
		bool again = false;

		for (size_t k = 0; k < f; k++) {
			again = again || str_eq(quota_fr_at(q, k).flavor, name);
		}
		if (!again) {
			out = arena_printf(&c->a, "%.*s%s%.*s", STR_ARG(out), out.n > 0 ? ", " : "",
					   STR_ARG(name));
		}
	}
	return out;
}

static mk_str share_word(const struct api_model *m)
{
	return m->desc.hdrf ? STR("HDRF") : STR("Dominant");
}

/* What holds for a whole tree is told at its root. */
static void compare_models(struct changes *l, const struct world *old, size_t a,
			   const struct world *new, size_t b)
{
	struct change base = {.sign = "~",
			      .tree = new->models.v[b].name,
			      .queue = quota_node_at(new->trees[b], 0).name};

	word(l, base, "flavors", flavor_order(l->c, old->trees[a]),
	     flavor_order(l->c, new->trees[b]));
	word(l, base, "fairShare", share_word(&old->models.v[a]), share_word(&new->models.v[b]));
}

static void compare(struct changes *l, mk_str tree, mk_str old_tree, const struct quota *old,
		    size_t old_node, const struct quota *new, size_t new_node)
{
	struct quota_node_info a = quota_node_at(old, old_node);
	struct quota_node_info b = quota_node_at(new, new_node);
	struct change base = {.sign = "~", .tree = tree, .queue = b.name};

	word(l, base, "tree", old_tree, tree);
	word(l, base, "parent", parent_name(old, old_node), parent_name(new, new_node));
	word(l, base, "kind", a.n_children > 0 ? STR("inner") : STR("leaf"),
	     b.n_children > 0 ? STR("inner") : STR("leaf"));
	if (a.n_children > 0 && b.n_children > 0) {
		word(l, base, "policy", str_of(world_policy(a.policy)),
		     str_of(world_policy(b.policy)));
		word(l, base, "fence", fence_word(a.fence_open), fence_word(b.fence_open));
	}
	word(l, base, "weight", weight_word(l->c, a.weight), weight_word(l->c, b.weight));
	compare_leaves(l, base, old, old_node, new, new_node);
	all_numbers(l, base, old, old_node, new, new_node);
}

static void compare_trees(struct changes *l, const struct world *old, const struct world *new)
{
	for (size_t t = 0; t < new->models.n; t++) {
		const struct quota *q = new->trees[t];
		mk_str tree = new->models.v[t].name;

		for (size_t i = 0; i < quota_n_nodes(q); i++) {
			size_t node = QUOTA_NONE;
			size_t at = world_find(old, quota_node_at(q, i).name, &node);

			if (at != API_NONE) {
				if (i == 0) {
					compare_models(l, old, at, new, t);
				}
				compare(l, tree, old->models.v[at].name, old->trees[at], node, q,
					i);
				continue;
			}
			add(l, (struct change){"+",
					       tree,
					       quota_node_at(q, i).name,
					       STR("added below"),
					       {NULL, 0},
					       {NULL, 0},
					       parent_name(q, i),
					       OUTPUT_GREEN});
			all_numbers(l,
				    (struct change){"+",
						    tree,
						    quota_node_at(q, i).name,
						    {NULL, 0},
						    {NULL, 0},
						    {NULL, 0},
						    {NULL, 0},
						    OUTPUT_PLAIN},
				    NULL, QUOTA_NONE, q, i);
		}
	}
	for (size_t t = 0; t < old->models.n; t++) {
		const struct quota *q = old->trees[t];

		for (size_t i = 0; i < quota_n_nodes(q); i++) {
			mk_str name = quota_node_at(q, i).name;

			if (world_find(new, name, NULL) == API_NONE) {
				add(l, (struct change){"-",
						       old->models.v[t].name,
						       name,
						       STR("removed from"),
						       {NULL, 0},
						       parent_name(q, i),
						       {NULL, 0},
						       OUTPUT_RED});
			}
		}
	}
}

/* --- output ----------------------------------------------------------------------------------- */

static void print_text(struct cli *c, const struct changes *l)
{
	static const bool right[] = {false, false, false, false, true, false, false};
	mk_str tree = {NULL, 0};

	for (size_t i = 0; i < l->n;) {
		struct output_table t;

		tree = l->v[i].tree;
		buf_printf(&c->out, "%stree %.*s\n", i > 0 ? "\n" : "",
			   STR_ARG(output_paint(c, OUTPUT_BOLD, tree)));
		output_table_init(&t, c, sizeof(right) / sizeof(right[0]), right);
		for (; i < l->n && str_eq(l->v[i].tree, tree); i++) {
			const struct change *v = &l->v[i];
			bool arrow = v->from.n > 0 && v->to.n > 0;

			output_cell(&t, output_paint(c, v->color, str_of(v->sign)));
			output_cell(&t, v->queue);
			output_cell(&t, v->what);
			output_cell(&t, v->field);
			output_cell(&t, v->from);
			output_cell(&t, arrow ? STR("->") : STR(""));
			output_cell(&t, output_paint(c, v->color, v->to));
		}
		output_table_print(&t, "  ");
	}
	if (l->n == 0) {
		buf_printf(&c->out, "no difference\n");
	}
}

static void set_if(struct cli *c, struct json *v, const char *key, mk_str s)
{
	if (s.n > 0) {
		json_set_str(&c->a, v, key, s);
	}
}

static bool print_data(struct cli *c, const struct changes *l, enum cli_format format)
{
	struct json *list = json_new_arr(&c->a);

	for (size_t i = 0; i < l->n; i++) {
		const struct change *v = &l->v[i];
		struct json *one = json_new_obj(&c->a);

		json_set_str(&c->a, one, "change",
			     v->sign[0] == '+'   ? STR("added")
			     : v->sign[0] == '-' ? STR("removed")
						 : STR("changed"));
		json_set_str(&c->a, one, "tree", v->tree);
		json_set_str(&c->a, one, "queue", v->queue);
		set_if(c, one, "what", v->what);
		set_if(c, one, "field", v->field);
		set_if(c, one, "from", v->from);
		set_if(c, one, "to", v->to);
		json_add(&c->a, list, one);
	}
	return !arena_failed(&c->a) && output_value(c, list, format);
}

static enum cli_exit run_diff(struct cli *c, const struct cli_args *args)
{
	struct world old = {.n_works = 0}, new = {.n_works = 0};
	struct changes l = {.c = c};
	enum cli_format format;
	enum cli_exit rc;

	if (!cli_get_format(c, args, &format)) {
		return CLI_USAGE;
	}
	if (args->n_rest > 0 || !cli_get(args, "from")) {
		return cli_usage(c, "kubectl multikueue tree diff",
				 "say what to compare: --from OLD -f NEW");
	}
	rc = world_open(c, args, "from", TREE_FILES, NULL, &old);
	if (rc == CLI_OK) {
		rc = world_open(c, args, "filename", TREE_FILES, &old, &new);
	}
	if (rc == CLI_OK) {
		compare_trees(&l, &old, &new);
		world_print_notes(c, &new);
		if (format == CLI_JSON || format == CLI_YAML) {
			rc = print_data(c, &l, format) ? CLI_OK : CLI_FAILED;
		} else {
			print_text(c, &l);
		}
		rc = rc == CLI_OK && l.n > 0 ? CLI_NO : rc;
	}
	world_close(&old);
	world_close(&new);
	return arena_failed(&c->a) ? cli_no_memory(c) : rc;
}

static const struct cli_option options[] = {
	{0, "from", "FILE", true, "how things are: file or folder; may be repeated"},
	{'f', "filename", "FILE", true,
	 "how they will be: file or folder; - reads standard input; may be repeated"},
	{'o', "output", "FORMAT", false, "text (default; wide is the same), json or yaml"},
	{0, NULL, NULL, false, NULL},
};

const struct cli_command tree_diff = {
	.name = "diff",
	.synopsis = "--from OLD... -f NEW... [-o FORMAT]",
	.summary = "show what a change means for the quota of every queue",
	.help = "Compares effective quotas: a change of one weight shows at every queue below. "
		"Queues that were added,\n"
		"removed or moved are shown, too; and what decides about order and preemption: "
		"policies, fences,\n"
		"strategies, weights of LocalQueues, the preemption of each leaf, and below which "
		"nodes it may preempt\n"
		"in other queues. The change itself is checked by the rules about changes:\n"
		"a node that cannot be removed, a queue that cannot become a parent. Status 1: "
		"they differ.\n",
	.examples = "  kubectl multikueue tree diff --from main/queues.yaml -f queues.yaml\n"
		    "  kubectl get clusterquotatrees,clusterqueues,localqueues -A -o json "
		    ">/tmp/live.json\n"
		    "  kubectl multikueue tree diff --from /tmp/live.json -f queues.yaml\n",
	.options = options,
	.run = run_diff,
};
