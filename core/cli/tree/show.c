/* SPDX-License-Identifier: Apache-2.0 */
/* `tree show`: trees with their quotas and what is used of them. */
#include "core/cli/tree/world.h"

enum { BAR = 20 };

/* Which queues of a tree are shown. */
struct filter {
	mk_str name;                 /* this one and what is below it; empty: all */
	int64_t depth;               /* so many levels, from the first that is shown; 0: all */
	const struct cli_args *args; /* -l: only these, with those above them */
};

/*
 * What one line of a table is about: one pair, or (pair QUOTA_NONE) all flavors of a resource
 * together.
 */
struct subject {
	mk_str resource, flavor;
	size_t fr;
	bool kueue; /* nodes have no policies and fences */
};

static struct quota_cell_info cell(const struct quota *q, size_t node, const struct subject *s)
{
	struct quota_cell_info sum = {.nominal = 0};

	if (s->fr != QUOTA_NONE) {
		return quota_cell_at(q, node, s->fr);
	}
	for (size_t f = 0; f < quota_n_frs(q); f++) {
		struct quota_cell_info one;

		if (!str_eq(quota_fr_at(q, f).resource, s->resource)) {
			continue;
		}
		one = quota_cell_at(q, node, f);
		sum.nominal = api_add(sum.nominal, one.nominal);
		sum.max = api_add(sum.max, one.max);
		sum.reserved = api_add(sum.reserved, one.reserved);
		sum.guarantee = api_add(sum.guarantee, one.guarantee);
		sum.use = api_add(sum.use, one.use);
		sum.hold = api_add(sum.hold, one.hold);
		sum.orphan = api_add(sum.orphan, one.orphan);
	}
	return sum;
}

/*
 * "│ ├─ " before the name of a node, from the leaf's side: which of those above have more siblings
 * to come.
 */
static mk_str branch(struct cli *c, const struct quota *q, size_t node, const bool *shown)
{
	mk_str out = {NULL, 0};
	size_t at = node;
	size_t up = quota_node_at(q, at).parent;

	for (; up != QUOTA_NONE && shown[up]; up = quota_node_at(q, at).parent) {
		struct quota_node_info p = quota_node_at(q, up);
		size_t next = at + 1;
		const char *part;
		bool last;

		while (next < p.first_child + p.n_children && !shown[next]) {
			next++;
		}
		last = next == p.first_child + p.n_children;
		part = at == node ? (last ? "└─ " : "├─ ") : (last ? "   " : "│  ");
		out = arena_printf(&c->a, "%s%.*s", part, STR_ARG(out));
		at = up;
	}
	return out;
}

static mk_str number(struct cli *c, size_t n)
{
	return arena_printf(&c->a, "%zu", n);
}

/* The labels of a queue that exists as an object, else NULL. */
static const struct json *labels_of(const struct world *w, mk_str name)
{
	struct api_queue *queue = api_set_queue(w->in.set, name);

	return queue != NULL ? json_at(queue->object->json, "/metadata/labels") : NULL;
}

/* Does one of "key=value", "key==value", "key!=value", "key", "!key" hold? */
static bool term_holds(const struct json *labels, mk_str term)
{
	ptrdiff_t at = str_index(term, '=');
	bool no = at > 0 ? term.p[at - 1] == '!' : str_starts(term, STR("!"));
	mk_str key = at >= 0 ? str_sub(term, 0, (size_t)at - (no && at > 0 ? 1 : 0)) : term;
	mk_str value = at >= 0 ? str_sub(term, (size_t)at + 1, SIZE_MAX) : STR("");
	const struct json *v;

	if (at < 0) {
		v = json_getn(labels, str_sub(key, no ? 1 : 0, SIZE_MAX));
		return (v != NULL) != no;
	}
	if (str_starts(value, STR("="))) {
		value = str_sub(value, 1, SIZE_MAX);
	}
	v = json_getn(labels, str_trim(key));
	return (v != NULL && str_eq(json_str(v), str_trim(value))) != no;
}

static bool selected(const struct world *w, const struct filter *f, mk_str name)
{
	mk_str rest = str_of(cli_get(f->args, "selector"));
	mk_str term;

	while (str_split(&rest, ',', &term)) {
		if (!term_holds(labels_of(w, name), str_trim(term))) {
			return false;
		}
	}
	return true;
}

/*
 * Which nodes of tree 'i' are shown: marks for each. A queue that is selected brings those above
 * it. NULL: out of memory.
 */
static bool *choose(struct cli *c, const struct world *w, size_t i, const struct filter *f)
{
	const struct quota *q = w->trees[i];
	size_t n = quota_n_nodes(q);
	bool *shown = arena_array(&c->a, n, sizeof(*shown));
	size_t top = f->name.n > 0 ? quota_node_find(q, f->name) : 0;
	size_t first = top != QUOTA_NONE && n > 0 ? quota_node_at(q, top).level : 0;

	for (size_t x = 0; shown != NULL && top != QUOTA_NONE && x < n; x++) {
		size_t up = quota_node_at(q, x).parent;
		bool deep = f->depth > 0 && quota_node_at(q, x).level >= first + (size_t)f->depth;

		/* Parents come before their children. */
		shown[x] = x == top || (up != QUOTA_NONE && shown[up] && !deep);
	}
	for (size_t x = n; shown != NULL && cli_get(f->args, "selector") != NULL && x-- > 0;) {
		struct quota_node_info info = quota_node_at(q, x);
		bool keep = selected(w, f, info.name);

		for (size_t k = 0; k < info.n_children; k++) {
			keep = keep || shown[info.first_child + k];
		}
		shown[x] = shown[x] && keep;
	}
	return shown;
}

static void row(struct output_table *t, const struct quota *q, size_t node, const struct subject *s,
		bool wide, const bool *shown)
{
	struct cli *c = t->c;
	struct quota_node_info n = quota_node_at(q, node);
	struct quota_cell_info x = cell(q, node, s);
	size_t admitted = 0, pending = 0;
	mk_str name = arena_printf(&c->a, "%.*s%.*s", STR_ARG(branch(c, q, node, shown)),
				   STR_ARG(n.name));
	bool over = x.hold > x.max;
	bool named = n.n_children > 0 && !s->kueue;

	world_count(q, node, &admitted, &pending);
	output_cell(t, name);
	output_cell(t, named ? str_of(world_policy(n.policy)) : STR("-"));
	output_cell(t, !named ? STR("-") : n.fence_open ? STR("open") : STR("closed"));
	output_cell(t, output_paint(c, over ? OUTPUT_RED : OUTPUT_PLAIN,
				    world_amount(c, x.use, s->resource)));
	output_cell(t, world_amount(c, x.nominal, s->resource));
	output_cell(t, world_amount(c, x.max, s->resource));
	if (wide) {
		output_cell(t, world_amount(c, x.hold, s->resource));
		output_cell(t, world_amount(c, x.reserved, s->resource));
		output_cell(t, world_amount(c, x.guarantee, s->resource));
		output_cell(t, world_amount(c, x.orphan, s->resource));
	}
	output_cell(t, number(c, admitted));
	output_cell(t, number(c, pending));
	output_cell(t, arena_printf(&c->a, "%.*s%s",
				    STR_ARG(output_bar(c, x.use, x.max, x.nominal, BAR)),
				    over ? " over its limit" : ""));
}

static void table(struct cli *c, const struct quota *q, const struct subject *s, bool wide,
		  const bool *shown)
{
	static const bool right_narrow[] = {false, false, false, true, true,
					    true,  true,  true,  false};
	static const bool right_wide[] = {false, false, false, true, true, true, true,
					  true,  true,  true,  true, true, false};
	static const char *const heads_narrow[] = {"POLICY", "FENCE", "USED", "MIN",
						   "MAX",    "RUN",   "WAIT", ""};
	static const char *const heads_wide[] = {"POLICY", "FENCE", "USED",     "MIN",
						 "MAX",    "HELD",  "RESERVED", "GUARANTEE",
						 "ORPHAN", "RUN",   "WAIT",     ""};
	const char *const *heads = wide ? heads_wide : heads_narrow;
	size_t n_heads = wide ? sizeof(heads_wide) / sizeof(heads_wide[0])
			      : sizeof(heads_narrow) / sizeof(heads_narrow[0]);
	struct output_table t;

	output_table_init(&t, c, n_heads + 1, wide ? right_wide : right_narrow);
	output_cell(&t, output_paint(c, OUTPUT_BOLD,
				     s->flavor.n > 0 ? arena_printf(&c->a, "%.*s in flavor %.*s",
								    STR_ARG(s->resource),
								    STR_ARG(s->flavor))
						     : arena_printf(&c->a, "%.*s in all flavors",
								    STR_ARG(s->resource))));
	for (size_t i = 0; i < n_heads; i++) {
		output_cell(&t, output_paint(c, OUTPUT_DIM, str_of(heads[i])));
	}
	/* Nodes come breadth first; a table reads better depth first. */
	for (size_t at = 0, n = 0; n < quota_n_nodes(q); n++) {
		struct quota_node_info info = quota_node_at(q, at);

		if (shown[at]) {
			row(&t, q, at, s, wide, shown);
		}
		if (info.n_children > 0) {
			at = info.first_child;
			continue;
		}
		while (info.parent != QUOTA_NONE) {
			struct quota_node_info p = quota_node_at(q, info.parent);

			if (at + 1 < p.first_child + p.n_children) {
				at++;
				break;
			}
			at = info.parent;
			info = p;
		}
	}
	output_table_print(&t, "");
}

static bool seen_before(const struct quota *q, size_t f)
{
	for (size_t i = 0; i < f; i++) {
		if (str_eq(quota_fr_at(q, i).resource, quota_fr_at(q, f).resource)) {
			return true;
		}
	}
	return false;
}

static size_t count_shown(const struct quota *q, const bool *shown)
{
	size_t n = 0;

	for (size_t x = 0; x < quota_n_nodes(q); x++) {
		n += shown[x] ? 1U : 0U;
	}
	return n;
}

/* The number of queues that are shown; all of the tree's are counted in the line above them. */
static size_t show_tree(struct cli *c, const struct world *w, size_t i, bool wide,
			const struct filter *filter)
{
	const struct quota *q = w->trees[i];
	const bool *shown = choose(c, w, i, filter);
	bool sum = cli_get(filter->args, "sum") != NULL;
	size_t n_leaves = 0, levels = 0;
	size_t n_shown = shown != NULL ? count_shown(q, shown) : 0;

	if (n_shown == 0) {
		return 0;
	}
	for (size_t k = 0; k < quota_n_nodes(q); k++) {
		struct quota_node_info n = quota_node_at(q, k);

		n_leaves += n.n_children == 0 ? 1 : 0;
		levels = n.level > levels ? n.level : levels;
	}
	buf_printf(&c->out, "%s%.*s: %s, %zu queue%s, %zu lea%s, %zu level%s",
		   c->out.n > 0 ? "\n" : "",
		   STR_ARG(output_paint(c, OUTPUT_BOLD, w->models.v[i].name)), world_what(w, i),
		   quota_n_nodes(q), quota_n_nodes(q) == 1 ? "" : "s", n_leaves,
		   n_leaves == 1 ? "f" : "ves", levels, levels == 1 ? "" : "s");
	if (n_shown < quota_n_nodes(q)) {
		buf_printf(&c->out, "; %zu shown", n_shown);
	}
	buf_add(&c->out, STR("\n"));
	for (size_t f = 0; f < quota_n_frs(q); f++) {
		struct quota_fr fr = quota_fr_at(q, f);
		struct subject s = {fr.resource, sum ? (mk_str){NULL, 0} : fr.flavor,
				    sum ? QUOTA_NONE : f, world_is_kueues(w, i)};

		if (!sum || !seen_before(q, f)) {
			buf_add(&c->out, STR("\n"));
			table(c, q, &s, wide, shown);
		}
	}
	return n_shown;
}

/* --- as data ---------------------------------------------------------------------------------- */

static struct json *node_json(struct cli *c, const struct quota *q, size_t node, const bool *shown,
			      bool kueue)
{
	struct quota_node_info n = quota_node_at(q, node);
	struct json *v = json_new_obj(&c->a);
	struct json *quotas = json_new_arr(&c->a);
	struct json *children = json_new_arr(&c->a);

	json_set_str(&c->a, v, "name", n.name);
	json_set_int(&c->a, v, "level", (int64_t)n.level);
	if (n.n_children > 0 && !kueue) {
		json_set_str(&c->a, v, "policy", str_of(world_policy(n.policy)));
		json_set_str(&c->a, v, "fence", n.fence_open ? STR("open") : STR("closed"));
	} else if (n.n_children == 0) {
		json_set_int(&c->a, v, "admitted", (int64_t)n.n_admitted);
		json_set_int(&c->a, v, "pending", (int64_t)n.n_pending);
	}
	json_set_bool(&c->a, v, "overLimit", quota_over_limit(q, node));
	for (size_t f = 0; f < quota_n_frs(q); f++) {
		struct quota_fr fr = quota_fr_at(q, f);
		struct quota_cell_info x = quota_cell_at(q, node, f);
		struct json *one = json_new_obj(&c->a);

		json_set_str(&c->a, one, "flavor", fr.flavor);
		json_set_str(&c->a, one, "resource", fr.resource);
		json_set_str(&c->a, one, "nominal", world_amount(c, x.nominal, fr.resource));
		json_set_str(&c->a, one, "max", world_amount(c, x.max, fr.resource));
		json_set_str(&c->a, one, "reserved", world_amount(c, x.reserved, fr.resource));
		json_set_str(&c->a, one, "guarantee", world_amount(c, x.guarantee, fr.resource));
		json_set_str(&c->a, one, "used", world_amount(c, x.use, fr.resource));
		json_set_str(&c->a, one, "held", world_amount(c, x.hold, fr.resource));
		json_add(&c->a, quotas, one);
	}
	json_set(&c->a, v, STR("quotas"), quotas);
	for (size_t i = 0; i < n.n_children; i++) {
		if (shown[n.first_child + i]) {
			json_add(&c->a, children, node_json(c, q, n.first_child + i, shown, kueue));
		}
	}
	if (n.n_children > 0) {
		json_set(&c->a, v, STR("children"), children);
	}
	return v;
}

/* *ret_n: trees of which something is shown. */
static bool show_data(struct cli *c, const struct world *w, enum cli_format format,
		      const struct filter *filter, size_t *ret_n)
{
	struct json *v = json_new_obj(&c->a);
	struct json *trees = json_new_arr(&c->a);

	for (size_t i = 0; i < w->models.n; i++) {
		struct json *tree = json_new_obj(&c->a);
		const bool *shown = choose(c, w, i, filter);
		size_t top = filter->name.n > 0 ? quota_node_find(w->trees[i], filter->name) : 0;

		if (!shown || top == QUOTA_NONE || !shown[top]) {
			continue;
		}
		(*ret_n)++;
		json_set_str(&c->a, tree, "name", w->models.v[i].name);
		json_set_str(&c->a, tree, "kind", str_of(world_kind(w, i)));
		json_set_str(&c->a, tree, "origin", str_of(world_origin(w, i)));
		json_set_bool(&c->a, tree, "degraded", quota_degraded(w->trees[i]));
		json_set(&c->a, tree, STR("root"),
			 node_json(c, w->trees[i], top, shown, world_is_kueues(w, i)));
		json_add(&c->a, trees, tree);
	}
	json_set(&c->a, v, STR("trees"), trees);
	return !arena_failed(&c->a) && output_value(c, v, format);
}

static enum cli_exit run_show(struct cli *c, const struct cli_args *args)
{
	struct world w;
	struct filter filter = {.args = args};
	enum cli_format format;
	enum cli_exit rc;
	size_t n = 0;

	if (!cli_get_format(c, args, &format) ||
	    !cli_get_number(c, args, "depth", 0, 0, &filter.depth)) {
		return CLI_USAGE;
	}
	if (args->n_rest > 1) {
		return cli_usage(c, "kubectl multikueue tree show",
				 "unexpected %s: one queue at a time; name files with -f",
				 args->rest[1]);
	}
	filter.name = args->n_rest > 0 ? str_of(args->rest[0]) : STR("");
	rc = world_open(c, args, "filename", TREE_WORKLOADS, NULL, &w);
	if (rc == CLI_OK && (format == CLI_JSON || format == CLI_YAML)) {
		rc = show_data(c, &w, format, &filter, &n) ? CLI_OK : cli_no_memory(c);
	} else if (rc == CLI_OK) {
		for (size_t i = 0; i < w.models.n; i++) {
			n += show_tree(c, &w, i, format == CLI_WIDE, &filter);
		}
		rc = arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
	}
	if (rc == CLI_OK && n == 0) {
		if (filter.name.n > 0) {
			cli_error(c, "no queue \"%s\" in these trees%s", filter.name.p,
				  cli_get(args, "selector") ? " that -l selects" : "");
		} else {
			cli_error(c, "no queue in these trees that -l selects");
		}
		rc = CLI_NO;
	} else if (rc == CLI_OK) {
		world_print_notes(c, &w);
	}
	world_close(&w);
	return rc;
}

static const struct cli_option options[] = {
	TREE_LIVE_OPTIONS,
	{'l', "selector", "LABELS", false,
	 "only ClusterQueues with these labels (key=value, key!=value, key, !key; comma: all of "
	 "them), and the queues above them"},
	{0, "depth", "N", false, "so many levels, from the queue that is named or the root"},
	{0, "sum", NULL, false, "one table per resource: all its flavors added up"},
	{'o', "output", "FORMAT", false,
	 "text (default), wide (with what is held, reserved, guaranteed), json or yaml"},
	{0, NULL, NULL, false, NULL},
};

const struct cli_command tree_show = {
	.name = "show",
	.synopsis = "[-f FILE...] [QUEUE] [--depth N] [-l LABELS] [--sum] [-o FORMAT]",
	.summary = "draw queue trees with their quotas and what is used of them",
	.help = "For each flavor and resource the tree, or QUEUE and what is below it, with what "
		"is used, the minimum\n"
		"(nominal quota) and the maximum of every queue; the bar is as long as the "
		"maximum, "
		"its line marks the\n"
		"minimum. Workloads that hold quota count as used; RUN and WAIT count workloads. "
		"Without -f, of the\n"
		"cluster of the kubeconfig: its trees, and Kueue's Cohorts and ClusterQueues that "
		"are in none.\n",
	.examples = "  kubectl multikueue tree show\n"
		    "  kubectl multikueue tree show research --sum --context prod\n"
		    "  kubectl multikueue tree show -f queues.yaml\n"
		    "  kubectl multikueue tree show -f queues.yaml research --depth 2 --sum\n"
		    "  kubectl multikueue tree show -f queues.yaml -f workloads.yaml -o wide\n",
	.options = options,
	.run = run_show,
};
