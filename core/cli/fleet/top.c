/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue top`: how full the manager's ClusterQueues and the workers are. */
#include <stdlib.h>

#include "core/api/amount.h"
#include "core/cli/fleet/usage.h"

#define NAME "kubectl multikueue top"

enum order { BY_NAME, BY_PERCENT, BY_WAITING, BY_WON };

/* One of the two tables, as it was asked for. */
struct view {
	struct cli *c;
	struct usages *of;
	bool is_queues, is_wide, has_head;
};

/* --- figures ---------------------------------------------------------------------------------- */

static int64_t in_phase(const struct usage *u, const char *phase)
{
	return json_int(json_get(u->phases, phase), 0);
}

static int64_t racing(const struct usage *u)
{
	return in_phase(u, "Racing") + in_phase(u, "NotNominated");
}

/* Workloads that have no quota in the queue, or on the worker; or USAGE_UNKNOWN. */
static int64_t waiting(const struct view *v, const struct usage *u)
{
	return json_int(json_get(u->row, v->is_queues ? "pending" : "waiting"), USAGE_UNKNOWN);
}

/* What no column of their own shows. */
static int64_t others(const struct view *v, const struct usage *u)
{
	struct json_iter it = json_iter(u->phases);
	int64_t n = -in_phase(u, "Won");

	while (json_next(&it)) {
		n += json_int(it.val, 0);
	}
	return v->is_queues ? n - racing(u) - in_phase(u, "WaitsForQuota") : n;
}

/* Rounded down; USAGE_UNKNOWN where nothing is nominal. */
static int64_t percent(const struct usage_amount *x)
{
	__extension__ typedef __int128 wide;
	wide n = x->nominal > 0 ? (wide)x->used * 100 / x->nominal : USAGE_UNKNOWN;

	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* The same with all flavors of a resource together; NULL: out of memory. */
static struct usage *merged(struct cli *c, const struct usage *u)
{
	struct usage *m = arena_alloc(&c->a, sizeof(*m));

	if (!m) {
		return NULL;
	}
	*m = *u;
	m->v = NULL;
	m->n = m->size = 0;
	for (size_t i = 0; i < u->n; i++) {
		struct usage_amount *x = usage_amount(c, m, STR(""), u->v[i].resource);

		if (!x) {
			return NULL;
		}
		x->used = usage_add(x->used, u->v[i].used);
		x->nominal = usage_add(x->nominal, u->v[i].nominal);
		x->reserved = usage_add(x->reserved, u->v[i].reserved);
	}
	return m;
}

/* --- tables ----------------------------------------------------------------------------------- */

enum column {
	AT_NAME,
	AT_STATE,
	AT_FLAVOR,
	AT_RESOURCE,
	AT_USED,
	AT_NOMINAL,
	AT_PERCENT,
	AT_RESERVED,
	AT_CLONES,
	AT_WAITING,
	AT_RACING,
	AT_WON,
	AT_OTHER,
	N_COLUMNS
};

static const char *const heads[N_COLUMNS] = {"NAME",    "STATE", "FLAVOR",   "RESOURCE", "USED",
					     "NOMINAL", "%",     "RESERVED", "CLONES",   "WAITING",
					     "RACING",  "WON",   "OTHER"};

/* Which table shows a column: of queues or of workers, always or with -o wide. */
static bool has_column(const struct view *v, enum column column)
{
	switch (column) {
	case AT_STATE:
	case AT_CLONES:
		return !v->is_queues;
	case AT_RESERVED:
		return !v->is_queues && v->is_wide;
	case AT_FLAVOR:
		return v->is_queues && v->is_wide;
	case AT_RACING:
		return v->is_queues;
	case AT_OTHER:
		return v->is_wide;
	case AT_NAME:
	case AT_RESOURCE:
	case AT_USED:
	case AT_NOMINAL:
	case AT_PERCENT:
	case AT_WAITING:
	case AT_WON:
	case N_COLUMNS:
		break;
	}
	return true;
}

static mk_str amount_text(struct cli *c, const struct usage_amount *x, int64_t v)
{
	return v == USAGE_UNKNOWN ? STR("-") : api_amount_shown(&c->a, v, x->resource);
}

static mk_str number(struct cli *c, int64_t n)
{
	return n == USAGE_UNKNOWN ? STR("-") : arena_printf(&c->a, "%lld", (long long)n);
}

static mk_str percent_text(struct cli *c, const struct usage_amount *x)
{
	int64_t n = percent(x);
	mk_str s = n == USAGE_UNKNOWN ? STR("-") : arena_printf(&c->a, "%lld%%", (long long)n);

	return n > 100  ? output_paint(c, OUTPUT_RED, s)
	       : n > 90 ? output_paint(c, OUTPUT_YELLOW, s)
			: s;
}

static mk_str state_text(struct cli *c, const struct usage *u)
{
	mk_str state = u->row ? row_text(u->row, "state") : STR("Missing");

	return output_paint(c, str_is(state, "Connected") ? OUTPUT_GREEN : OUTPUT_RED, state);
}

static mk_str cell(const struct view *v, const struct usage *u, const struct usage_amount *x,
		   enum column column)
{
	struct cli *c = v->c;

	switch (column) {
	case AT_NAME:
		return u->name;
	case AT_STATE:
		return state_text(c, u);
	case AT_FLAVOR:
		return x->flavor.n > 0 ? x->flavor : STR("-");
	case AT_RESOURCE:
		return x->resource.n > 0 ? x->resource : STR("-");
	case AT_USED:
		return amount_text(c, x, x->used);
	case AT_NOMINAL:
		return amount_text(c, x, x->nominal);
	case AT_PERCENT:
		return percent_text(c, x);
	case AT_RESERVED:
		return amount_text(c, x, x->reserved);
	case AT_CLONES:
		return number(c, json_int(json_get(u->row, "clones"), USAGE_UNKNOWN));
	case AT_WAITING:
		return number(c, waiting(v, u));
	case AT_RACING:
		return number(c, racing(u));
	case AT_WON:
		return number(c, in_phase(u, "Won"));
	case AT_OTHER:
		return number(c, others(v, u));
	case N_COLUMNS:
		break;
	}
	return STR("");
}

static void table_rows(const struct view *v, struct output_table *t, const struct usage *u)
{
	static const struct usage_amount nothing = {
		.used = USAGE_UNKNOWN, .nominal = USAGE_UNKNOWN, .reserved = USAGE_UNKNOWN};

	for (size_t i = 0; i < (u->n > 0 ? u->n : 1); i++) {
		for (int k = 0; k < N_COLUMNS; k++) {
			if (has_column(v, (enum column)k)) {
				output_cell(t, cell(v, u, u->n > 0 ? &u->v[i] : &nothing,
						    (enum column)k));
			}
		}
	}
}

static bool print_table(const struct view *v)
{
	bool right[N_COLUMNS];
	struct output_table t;
	size_t n = 0;

	for (int k = 0; k < N_COLUMNS; k++) {
		if (has_column(v, (enum column)k)) {
			right[n++] = k >= AT_USED;
		}
	}
	output_table_init(&t, v->c, n, right);
	for (int k = 0; v->has_head && k < N_COLUMNS; k++) {
		if (has_column(v, (enum column)k)) {
			row_head(&t, &heads[k], 1);
		}
	}
	for (size_t i = 0; i < v->of->n; i++) {
		const struct usage *u = v->is_wide ? v->of->v[i] : merged(v->c, v->of->v[i]);

		if (!u) {
			return false;
		}
		table_rows(v, &t, u);
	}
	output_table_print(&t, "");
	return !arena_failed(&v->c->a);
}

/* --- objects ---------------------------------------------------------------------------------- */

static void set_known(struct arena *a, struct json *o, const char *key, int64_t v)
{
	if (v != USAGE_UNKNOWN) {
		json_set_int(a, o, key, v);
	}
}

static struct json *object_of(const struct view *v, const struct usage *u)
{
	static const char *const kept[] = {"active", "pending", "state", "clones", "waiting"};
	struct arena *a = &v->c->a;
	struct json *o = json_new_obj(a), *resources = json_new_arr(a);

	json_set_str(a, o, "kind", v->is_queues ? STR("ClusterQueueUsage") : STR("WorkerUsage"));
	json_set_str(a, o, "name", u->name);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		const struct json *x = json_get(u->row, kept[i]);

		if (x) {
			json_set(a, o, str_of(kept[i]), json_dup(a, x));
		}
	}
	for (size_t i = 0; i < u->n; i++) {
		const struct usage_amount *x = &u->v[i];
		struct json *one = json_new_obj(a);

		json_set_str(a, one, "name", x->resource);
		if (x->flavor.n > 0) {
			json_set_str(a, one, "flavor", x->flavor);
		}
		json_set_int(a, one, "used", x->used);
		set_known(a, one, "nominal", x->nominal);
		set_known(a, one, "reserved", x->reserved);
		set_known(a, one, "percent", percent(x));
		json_add(a, resources, one);
	}
	json_set(a, o, STR("resources"), resources);
	json_set(a, o, STR("phases"), json_dup(a, u->phases));
	return o;
}

/* --- order and choice ------------------------------------------------------------------------- */

struct place {
	struct usage *u;
	int64_t key; /* the largest first */
};

static int by_key(const void *x, const void *y)
{
	const struct place *p = x, *q = y;

	return p->key != q->key ? (p->key < q->key ? 1 : -1) : str_cmp(p->u->name, q->u->name);
}

static int64_t key_of(const struct view *v, const struct usage *u, enum order order)
{
	const struct usage *m;
	int64_t most = USAGE_UNKNOWN;

	if (order != BY_PERCENT) {
		return order == BY_WAITING ? waiting(v, u)
		       : order == BY_WON   ? in_phase(u, "Won")
					   : 0;
	}
	m = merged(v->c, u);
	for (size_t i = 0; m && i < m->n; i++) {
		most = percent(&m->v[i]) > most ? percent(&m->v[i]) : most;
	}
	return most;
}

static bool sort(const struct view *v, enum order order)
{
	struct place *places = arena_array(&v->c->a, v->of->n + 1, sizeof(*places));

	if (!places) {
		return false;
	}
	for (size_t i = 0; i < v->of->n; i++) {
		places[i] = (struct place){v->of->v[i], key_of(v, v->of->v[i], order)};
	}
	qsort(places, v->of->n, sizeof(*places), by_key);
	for (size_t i = 0; i < v->of->n; i++) {
		v->of->v[i] = places[i].u;
	}
	return true;
}

/* Only those that are named, if any is. False: one is not there, and the error was printed. */
static bool choose(const struct view *v, const char *const *names, size_t n_names)
{
	struct usages *all = v->of;
	size_t n = 0;

	for (size_t k = 0; k < n_names; k++) {
		if (!map_get(&all->by_name, str_of(names[k]))) {
			cli_error(v->c,
				  "%s \"%s\" is not known to the daemon; `" NAME
				  " %s -o name` prints those that are",
				  v->is_queues ? "ClusterQueue" : "worker", names[k],
				  v->is_queues ? "queues" : "workers");
			return false;
		}
	}
	for (size_t i = 0; n_names > 0 && i < all->n; i++) {
		for (size_t k = 0; k < n_names; k++) {
			if (str_is(all->v[i]->name, names[k])) {
				all->v[n++] = all->v[i];
				break;
			}
		}
	}
	all->n = n_names > 0 ? n : all->n;
	return true;
}

/* --- the command ------------------------------------------------------------------------------ */

struct top {
	bool queues, workers, names_only;
	enum cli_format format;
	enum order order;
	const char *const *names;
	size_t n_names;
};

static void print_names(const struct view *v)
{
	for (size_t i = 0; i < v->of->n; i++) {
		buf_printf(&v->c->out, "%s.kueue.x-k8s.io/%.*s\n",
			   v->is_queues ? "clusterqueue" : "multikueuecluster",
			   STR_ARG(v->of->v[i]->name));
	}
}

/* Puts one of the two out, its objects into 'items' when that is not NULL. */
static enum cli_exit put(const struct view *v, const struct top *t, struct json *items)
{
	struct cli *c = v->c;

	if (!choose(v, t->names, t->n_names)) {
		return CLI_NO;
	}
	if (!sort(v, t->order)) {
		return cli_no_memory(c);
	}
	if (t->names_only) {
		print_names(v);
		return CLI_OK;
	}
	for (size_t i = 0; items && i < v->of->n; i++) {
		json_add(&c->a, items, object_of(v, v->of->v[i]));
	}
	if (items) {
		return CLI_OK;
	}
	if (v->of->n == 0) {
		buf_printf(&c->err, "No %s found.\n", v->is_queues ? "ClusterQueues" : "workers");
		return CLI_OK;
	}
	if (c->out.n > 0) {
		buf_add(&c->out, STR("\n"));
	}
	return print_table(v) ? CLI_OK : cli_no_memory(c);
}

static enum cli_exit put_all(struct cli *c, const struct cli_args *args, const struct top *t,
			     struct usage_fleet *f)
{
	bool is_data = t->format == CLI_JSON || t->format == CLI_YAML;
	struct json *items = is_data ? json_new_arr(&c->a) : NULL;
	struct view v = {
		.c = c, .is_wide = t->format == CLI_WIDE, .has_head = !cli_get(args, "no-headers")};
	enum cli_exit rc = CLI_OK;

	if (t->queues) {
		v.is_queues = true;
		v.of = &f->queues;
		rc = put(&v, t, items);
		if (f->no_quotas.n > 0) {
			buf_printf(
				&c->err,
				"NOMINAL and WAITING of ClusterQueues are not known, and USED is "
				"what their "
				"Workloads ask for: the\ndaemon does not watch them, and %.*s.\n",
				STR_ARG(f->no_quotas));
		}
	}
	if (t->workers && rc == CLI_OK) {
		v.is_queues = false;
		v.of = &f->workers;
		rc = put(&v, t, items);
	}
	if (rc == CLI_OK && is_data) {
		return output_value(c, rows_list(c, items), t->format) ? CLI_OK : cli_no_memory(c);
	}
	return rc;
}

static bool is_one_of(const char *word, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(word, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* What is asked for. False: the error was printed. */
static bool read_args(struct cli *c, const struct cli_args *args, struct top *ret)
{
	static const char *const queues[] = {"queues", "queue", "clusterqueues", "clusterqueue"};
	static const char *const workers[] = {"workers", "worker", "clusters", "cluster"};
	static const char *const orders[] = {"name", "percent", "waiting", "won"};
	const char *order = cli_get(args, "sort-by");
	size_t at = 0;

	*ret = (struct top){.names_only = rows_wants_names(args), .queues = true, .workers = true};
	if (args->n_rest > 0) {
		ret->queues = is_one_of(args->rest[0], queues, 4);
		ret->workers = is_one_of(args->rest[0], workers, 4);
		ret->names = args->rest + 1;
		ret->n_names = args->n_rest - 1;
	}
	if (!ret->queues && !ret->workers) {
		(void)cli_usage(c, NAME, "expected queues or workers, found %s", args->rest[0]);
		return false;
	}
	while (order && at < 4 && strcmp(order, orders[at]) != 0) {
		at++;
	}
	if (at == 4) {
		(void)cli_usage(c, NAME, "--sort-by %s: expected name, percent, waiting or won",
				order);
		return false;
	}
	ret->order = (enum order)at;
	return ret->names_only || cli_get_format(c, args, &ret->format);
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	enum cli_exit rc = CLI_FAILED;
	struct usage_fleet f;
	struct daemon d;
	struct top t;

	if (!read_args(c, args, &t)) {
		return CLI_USAGE;
	}
	if (daemon_open(&d, c, args)) {
		if (usage_read(&d, t.queues, &f)) {
			rc = put_all(c, args, &t, &f);
		}
		usage_done(&f);
	}
	daemon_close(&d);
	return rc;
}

static const struct cli_option options[] = {
	{0, "sort-by", "KEY", false, "name (default), percent, waiting or won; the largest first"},
	{0, "no-headers", NULL, false, "tables without headings"},
	{'o', "output", "FORMAT", false, "text, wide, json, yaml or name"},
	DAEMON_OPTIONS,
	{.name = NULL}};

static const struct cli_place places[] = {{"", "queues|workers"},
					  {"queues", "QUEUE"},
					  {"workers", "CLUSTER"},
					  {"sort-by", "name|percent|waiting|won"},
					  {.of = NULL}};

const struct cli_command cli_top = {
	.name = "top",
	.synopsis = "[queues|workers [NAME...]]",
	.summary = "how full ClusterQueues and workers are, and how much waits",
	.help = "Of a ClusterQueue on the manager USED is what Workloads have reserved there. Of a "
		"worker it is\n"
		"what the Workloads that were sent there ask for, and NOMINAL the sum of its "
		"ClusterQueues,\n"
		"known where a dispatcher wants facts (least_loaded, placement). "
		"docs/visibility.md explains\n"
		"the columns.\n",
	.examples = "  kubectl multikueue top\n"
		    "  kubectl multikueue top queues --sort-by percent\n"
		    "  kubectl multikueue top workers west east -o wide\n"
		    "  kubectl multikueue top workers -o json\n",
	.options = options,
	.places = places,
	.run = run,
};
