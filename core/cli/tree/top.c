/* SPDX-License-Identifier: Apache-2.0 */
/* `tree top`: how full the queues of each level are. */
#include <stdlib.h>

#include "core/cli/tree/world.h"

#define NAME "kubectl multikueue tree top"

enum { POLL_MS = 2000, NO_PERCENT = -1 };

/* What a queue has of a resource: in one flavor, or in all of them. */
struct amounts {
	int64_t guaranteed, used, borrowed, max, reserved;
};

/* The command, also while it goes on. */
struct top {
	struct cli *c;
	const struct cli_args *args;
	enum cli_format format;
	bool watches, again; /* 'again': not for the first time */
};

/* --- figures ---------------------------------------------------------------------------------- */

/* Rounded down; NO_PERCENT where there is no maximum. */
static int64_t percent(const struct amounts *x)
{
	__extension__ typedef __int128 wide;
	wide n =
		x->max > 0 && x->max != QUOTA_UNLIMITED ? (wide)x->used * 100 / x->max : NO_PERCENT;

	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static void add(struct amounts *to, const struct quota *q, size_t node, size_t f)
{
	struct quota_cell_info x = quota_cell_at(q, node, f);

	to->guaranteed = api_add(to->guaranteed, x.nominal);
	to->used = api_add(to->used, x.use);
	to->borrowed = api_add(to->borrowed, x.use > x.nominal ? x.use - x.nominal : 0);
	to->max = api_add(to->max, x.max);
	to->reserved = api_add(to->reserved, x.reserved);
}

/* Of pair 'f', or ('all') of its resource in all flavors. */
static struct amounts amounts_of(const struct quota *q, size_t node, size_t f, bool all)
{
	struct amounts sum = {.used = 0};

	for (size_t k = 0; k < quota_n_frs(q); k++) {
		if (k == f ||
		    (all && str_eq(quota_fr_at(q, k).resource, quota_fr_at(q, f).resource))) {
			add(&sum, q, node, k);
		}
	}
	return sum;
}

/* Is 'f' the first pair of its resource? */
static bool is_first(const struct quota *q, size_t f)
{
	for (size_t i = 0; i < f; i++) {
		if (str_eq(quota_fr_at(q, i).resource, quota_fr_at(q, f).resource)) {
			return false;
		}
	}
	return true;
}

/* How full a queue is of what it has least left of. */
static int64_t fullest(const struct quota *q, size_t node)
{
	int64_t most = NO_PERCENT;

	for (size_t f = 0; f < quota_n_frs(q); f++) {
		struct amounts x = amounts_of(q, node, f, true);
		int64_t n = is_first(q, f) ? percent(&x) : NO_PERCENT;

		most = n > most ? n : most;
	}
	return most;
}

/* --- order ------------------------------------------------------------------------------------ */

struct place {
	size_t node, level;
	int64_t percent;
	mk_str name;
};

/* Level by level, and in each the fullest first. */
static int by_usage(const void *x, const void *y)
{
	const struct place *p = x, *q = y;

	if (p->level != q->level) {
		return p->level < q->level ? -1 : 1;
	}
	return p->percent != q->percent ? (p->percent < q->percent ? 1 : -1)
					: str_cmp(p->name, q->name);
}

/* All nodes of a tree in that order; NULL: out of memory. */
static struct place *sorted(struct cli *c, const struct quota *q)
{
	size_t n = quota_n_nodes(q);
	struct place *places = arena_array(&c->a, n + 1, sizeof(*places));

	for (size_t i = 0; places && i < n; i++) {
		struct quota_node_info info = quota_node_at(q, i);

		places[i] = (struct place){i, info.level, fullest(q, i), info.name};
	}
	if (places) {
		qsort(places, n, sizeof(*places), by_usage);
	}
	return places;
}

/* --- tables ----------------------------------------------------------------------------------- */

static mk_str percent_text(struct cli *c, int64_t n)
{
	mk_str s = n == NO_PERCENT ? STR("-") : arena_printf(&c->a, "%lld%%", (long long)n);

	return n > 100  ? output_paint(c, OUTPUT_RED, s)
	       : n > 90 ? output_paint(c, OUTPUT_YELLOW, s)
			: s;
}

static void row(struct output_table *t, const struct quota *q, size_t node, size_t f, bool wide)
{
	struct cli *c = t->c;
	struct quota_node_info n = quota_node_at(q, node);
	struct quota_fr fr = quota_fr_at(q, f);
	struct amounts x = amounts_of(q, node, f, !wide);
	size_t admitted = 0, pending = 0;

	world_count(q, node, &admitted, &pending);
	output_cell(t, arena_printf(&c->a, "%zu", n.level));
	output_cell(t, n.name);
	output_cell(t, fr.resource);
	if (wide) {
		output_cell(t, fr.flavor);
	}
	output_cell(t, world_amount(c, x.used, fr.resource));
	output_cell(t, world_amount(c, x.guaranteed, fr.resource));
	output_cell(t, world_amount(c, x.borrowed, fr.resource));
	output_cell(t, world_amount(c, x.max, fr.resource));
	output_cell(t, percent_text(c, percent(&x)));
	if (wide) {
		output_cell(t, world_amount(c, x.reserved, fr.resource));
		output_cell(t, arena_printf(&c->a, "%zu", admitted));
	}
	output_cell(t, arena_printf(&c->a, "%zu", pending));
}

static bool table(const struct top *top, const struct world *w, size_t i)
{
	static const bool right[] = {true, false, false, true, true, true, true, true, true};
	static const bool right_wide[] = {true, false, false, false, true, true,
					  true, true,  true,  true,  true, true};
	static const char *const heads[] = {"LEVEL",    "QUEUE", "RESOURCE", "USED",   "GUARANTEED",
					    "BORROWED", "MAX",   "%",        "PENDING"};
	static const char *const heads_wide[] = {"LEVEL", "QUEUE",      "RESOURCE", "FLAVOR",
						 "USED",  "GUARANTEED", "BORROWED", "MAX",
						 "%",     "RESERVED",   "RUNNING",  "PENDING"};
	struct cli *c = top->c;
	const struct quota *q = w->trees[i];
	bool wide = top->format == CLI_WIDE;
	size_t n = wide ? sizeof(heads_wide) / sizeof(*heads_wide) : sizeof(heads) / sizeof(*heads);
	const struct place *places = sorted(c, q);
	struct output_table t;

	buf_printf(&c->out, "%s%.*s: %s\n", i > 0 ? "\n" : "",
		   STR_ARG(output_paint(c, OUTPUT_BOLD, w->models.v[i].name)), world_what(w, i));
	output_table_init(&t, c, n, wide ? right_wide : right);
	for (size_t k = 0; k < n && !cli_get(top->args, "no-headers"); k++) {
		output_cell(&t,
			    output_paint(c, OUTPUT_DIM, str_of(wide ? heads_wide[k] : heads[k])));
	}
	for (size_t k = 0; places && k < quota_n_nodes(q); k++) {
		for (size_t f = 0; f < quota_n_frs(q); f++) {
			if (wide || is_first(q, f)) {
				row(&t, q, places[k].node, f, wide);
			}
		}
	}
	output_table_print(&t, "");
	return places && !arena_failed(&c->a);
}

/* --- as data ---------------------------------------------------------------------------------- */

static struct json *node_json(struct cli *c, const struct quota *q, const struct place *p)
{
	struct quota_node_info n = quota_node_at(q, p->node);
	struct json *v = json_new_obj(&c->a), *quotas = json_new_arr(&c->a);
	size_t admitted = 0, pending = 0;

	world_count(q, p->node, &admitted, &pending);
	json_set_str(&c->a, v, "name", n.name);
	if (n.parent != QUOTA_NONE) {
		json_set_str(&c->a, v, "parent", quota_node_at(q, n.parent).name);
	}
	json_set_int(&c->a, v, "level", (int64_t)n.level);
	if (p->percent != NO_PERCENT) {
		json_set_int(&c->a, v, "percent", p->percent);
	}
	json_set_int(&c->a, v, "running", (int64_t)admitted);
	json_set_int(&c->a, v, "pending", (int64_t)pending);
	for (size_t f = 0; f < quota_n_frs(q); f++) {
		struct quota_fr fr = quota_fr_at(q, f);
		struct amounts x = amounts_of(q, p->node, f, false);
		struct json *one = json_new_obj(&c->a);

		json_set_str(&c->a, one, "flavor", fr.flavor);
		json_set_str(&c->a, one, "resource", fr.resource);
		json_set_str(&c->a, one, "used", world_amount(c, x.used, fr.resource));
		json_set_str(&c->a, one, "guaranteed", world_amount(c, x.guaranteed, fr.resource));
		json_set_str(&c->a, one, "borrowed", world_amount(c, x.borrowed, fr.resource));
		json_set_str(&c->a, one, "max", world_amount(c, x.max, fr.resource));
		json_set_str(&c->a, one, "reserved", world_amount(c, x.reserved, fr.resource));
		json_add(&c->a, quotas, one);
	}
	json_set(&c->a, v, STR("quotas"), quotas);
	return v;
}

/* NULL: out of memory. */
static struct json *world_json(struct cli *c, const struct world *w)
{
	struct json *v = json_new_obj(&c->a), *trees = json_new_arr(&c->a);

	for (size_t i = 0; i < w->models.n; i++) {
		const struct place *places = sorted(c, w->trees[i]);
		struct json *tree = json_new_obj(&c->a), *nodes = json_new_arr(&c->a);

		json_set_str(&c->a, tree, "name", w->models.v[i].name);
		json_set_str(&c->a, tree, "kind", str_of(world_kind(w, i)));
		json_set_str(&c->a, tree, "origin", str_of(world_origin(w, i)));
		for (size_t k = 0; places && k < quota_n_nodes(w->trees[i]); k++) {
			json_add(&c->a, nodes, node_json(c, w->trees[i], &places[k]));
		}
		json_set(&c->a, tree, STR("nodes"), nodes);
		json_add(&c->a, trees, tree);
	}
	json_set(&c->a, v, STR("trees"), trees);
	return arena_failed(&c->a) ? NULL : v;
}

static bool put_data(const struct top *top, const struct world *w)
{
	struct cli *c = top->c;
	const struct json *v = world_json(c, w);

	if (!v || !top->watches) {
		return v && output_value(c, v, top->format);
	}
	c->is_data = true;
	buf_add(&c->out, json_write(&c->a, v));
	buf_add(&c->out, STR("\n"));
	return !arena_failed(&c->a);
}

/* --- the command ------------------------------------------------------------------------------ */

static enum cli_exit show(void *ctx)
{
	struct top *top = ctx;
	struct cli *c = top->c;
	struct world w;
	enum cli_exit rc = world_open(c, top->args, "filename", TREE_WORKLOADS, NULL, &w);
	bool good = true;

	if (rc == CLI_OK && (top->format == CLI_JSON || top->format == CLI_YAML)) {
		good = put_data(top, &w);
	} else if (rc == CLI_OK) {
		if (top->again && !c->terminal) {
			buf_add(&c->out, STR("\n"));
		}
		for (size_t i = 0; good && i < w.models.n; i++) {
			good = table(top, &w, i);
		}
	}
	if (rc == CLI_OK && !top->again) {
		world_print_notes(c, &w);
	}
	top->again = true;
	world_close(&w);
	return good ? rc : cli_no_memory(c);
}

static enum cli_exit run_top(struct cli *c, const struct cli_args *args)
{
	struct top top = {.c = c, .args = args, .watches = cli_get(args, "watch") != NULL};

	if (args->n_rest > 0) {
		return cli_usage(c, NAME, "unexpected %s: name files with -f", args->rest[0]);
	}
	if (!cli_get_format(c, args, &top.format)) {
		return CLI_USAGE;
	}
	if (top.watches && top.format == CLI_YAML) {
		return cli_usage(c, NAME, "--watch goes with text, wide or json, not with yaml");
	}
	if (top.watches && !cli_follow(c)) {
		return CLI_FAILED;
	}
	return top.watches ? cli_repeat(c, POLL_MS, top.format != CLI_JSON, show, &top)
			   : show(&top);
}

static const struct cli_option options[] = {
	TREE_LIVE_OPTIONS,
	{'w', "watch", NULL, false, "again every 2 s, until interrupted"},
	{0, "no-headers", NULL, false, "tables without headings"},
	{'o', "output", "FORMAT", false,
	 "text (default), wide (each flavor, with reserves), json or yaml; with --watch json is "
	 "one "
	 "object per line"},
	{0, NULL, NULL, false, NULL},
};

const struct cli_command tree_top = {
	.name = "top",
	.synopsis = "[-f FILE...] [--watch] [-o FORMAT]",
	.summary = "how full the queues of each level are, the fullest first",
	.help = "Of each queue what is used, what is guaranteed to it (its minimum), what it "
		"borrows "
		"beyond that,\n"
		"its maximum, how much of that is used, and how many Workloads wait below it. "
		"Level by level, and\n"
		"in each the fullest first. Without -f, of the cluster of the kubeconfig: its "
		"trees, "
		"and Kueue's\n"
		"Cohorts and ClusterQueues that are in none.\n",
	.examples = "  kubectl multikueue tree top\n"
		    "  kubectl multikueue tree top -w --context prod\n"
		    "  kubectl multikueue tree top -o wide\n"
		    "  kubectl multikueue tree top -f queues.yaml -f workloads.yaml -o json\n",
	.options = options,
	.run = run_top,
};
