/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue get` and `status`: tables of what the daemon knows. */
#include "core/cli/fleet/rows.h"

#define NAME "kubectl multikueue get"

/* --- workloads -------------------------------------------------------------------------------- */

static void workload_row(struct output_table *t, const struct json *row, bool all, bool wide)
{
	const struct json *job = json_get(row, "job");
	struct cli *c = t->c;

	if (all) {
		output_cell(t, row_text(row, "namespace"));
	}
	output_cell(t, row_text(row, "name"));
	output_cell(t,
		    job ? arena_printf(&c->a, "%.*s/%.*s", STR_ARG(row_kind(row_text(job, "kind"))),
				       STR_ARG(row_text(job, "name")))
			: STR(""));
	output_cell(t, row_text(row, "phase"));
	output_cell(t, row_text(row, "cluster"));
	output_cell(t, row_text(row, "clusterQueue"));
	if (wide) {
		output_cell(t, row_number(c, row, "priority"));
		output_cell(t, row_text(row, "message"));
	}
}

static void workload_table(struct cli *c, const struct json *rows, bool all, bool wide)
{
	static const char *const head[] = {"NAMESPACE", "NAME",  "JOB",      "PHASE",
					   "WORKER",    "QUEUE", "PRIORITY", "MESSAGE"};
	static const bool right[8];
	size_t first = all ? 0 : 1, last = wide ? 8 : 6;
	struct json_iter it = json_iter(rows);
	struct output_table t;

	output_table_init(&t, c, last - first, right);
	row_head(&t, head + first, last - first);
	while (json_next(&it)) {
		workload_row(&t, it.val, all, wide);
	}
	output_table_print(&t, "");
}

/* The query that the options ask for. */
static bool filter_of(struct cli *c, const struct cli_args *args, mk_str *ret)
{
	static const char *const options[] = {"phase", "cluster", "queue"};
	static const char *const parameters[] = {"phase", "cluster", "clusterQueue"};
	mk_str filter = STR("limit=100");

	if (!cli_get(args, "all-namespaces")) {
		const char *ns = daemon_namespace(c, args);

		if (!ns) {
			return false;
		}
		filter = arena_printf(&c->a, "%.*s&namespace=%.*s", STR_ARG(filter),
				      STR_ARG(daemon_encode(c, str_of(ns))));
	}
	for (size_t i = 0; i < 3; i++) {
		const char *value = cli_get(args, options[i]);

		if (value) {
			filter = arena_printf(&c->a, "%.*s&%s=%.*s", STR_ARG(filter), parameters[i],
					      STR_ARG(daemon_encode(c, str_of(value))));
		}
	}
	*ret = filter;
	return true;
}

static enum cli_exit get_workloads(struct daemon *d, enum cli_format format)
{
	struct cli *c = d->c;
	bool all = cli_get(d->args, "all-namespaces") != NULL;
	mk_str filter;
	struct json *rows = filter_of(c, d->args, &filter) ? rows_of_workloads(d, filter) : NULL;
	struct json_iter it = json_iter(rows);

	if (!rows) {
		return CLI_FAILED;
	}
	if (format == CLI_JSON || format == CLI_YAML) {
		return output_value(c, rows_list(c, rows), format) ? CLI_OK : cli_no_memory(c);
	}
	if (rows_wants_names(d->args)) {
		while (json_next(&it)) {
			buf_printf(&c->out, "workload.kueue.x-k8s.io/%.*s\n",
				   STR_ARG(row_text(it.val, "name")));
		}
	} else if (json_len(rows) == 0) {
		buf_add(&c->err, all ? STR("No Workloads found.\n")
				     : STR("No Workloads found in this namespace; -A: in all.\n"));
	} else {
		workload_table(c, rows, all, format == CLI_WIDE);
	}
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

/* --- clusters --------------------------------------------------------------------------------- */

static mk_str words_of(struct cli *c, const struct json *list)
{
	struct json_iter it = json_iter(list);
	mk_str s = STR("");

	while (json_next(&it)) {
		s = arena_printf(&c->a, "%.*s%s%.*s", STR_ARG(s), s.n > 0 ? ", " : "",
				 STR_ARG(json_str(it.val)));
	}
	return s;
}

/* The MultiKueueConfigs that have the cluster. */
static mk_str configs_with(struct cli *c, const struct json *configs, mk_str cluster)
{
	struct json_iter it = json_iter(configs);
	mk_str s = STR("");

	while (json_next(&it)) {
		struct json_iter names = json_iter(json_get(it.val, "clusters"));
		bool has = false;

		while (!has && json_next(&names)) {
			has = str_eq(json_str(names.val), cluster);
		}
		if (has) {
			s = arena_printf(&c->a, "%.*s%s%.*s", STR_ARG(s), s.n > 0 ? "," : "",
					 STR_ARG(row_text(it.val, "name")));
		}
	}
	return s;
}

static void cluster_table(struct cli *c, const struct json *items, const struct json *configs,
			  bool wide)
{
	static const char *const head[] = {"NAME",    "STATE", "SINCE",   "CLONES",
					   "WAITING", "BYTES", "CONFIGS", "MESSAGE"};
	static const bool right[] = {false, false, false, true, true, true, false, false};
	struct json_iter it = json_iter(items);
	struct output_table t;
	/* Without -o wide: no bytes, no configs. */
	const bool shown_right[] = {false, false, false, true, true, false};
	size_t n = wide ? 8 : 6;

	output_table_init(&t, c, n, wide ? right : shown_right);
	row_head(&t, head, 5);
	row_head(&t, wide ? head + 5 : head + 7, n - 5);
	while (json_next(&it)) {
		mk_str state = row_text(it.val, "state"), message = row_text(it.val, "message");
		mk_str lacks = words_of(c, json_get(it.val, "unserved"));

		output_cell(&t, row_text(it.val, "name"));
		output_cell(&t,
			    output_paint(c, str_is(state, "Connected") ? OUTPUT_GREEN : OUTPUT_RED,
					 state));
		output_cell(&t, row_age(c, row_text(it.val, "since")));
		output_cell(&t, row_number(c, it.val, "clones"));
		output_cell(&t, row_number(c, it.val, "waiting"));
		if (wide) {
			output_cell(&t, row_number(c, it.val, "bytes"));
			output_cell(&t, configs_with(c, configs, row_text(it.val, "name")));
		}
		output_cell(&t, lacks.n > 0
					? arena_printf(&c->a, "does not serve %.*s", STR_ARG(lacks))
					: message);
	}
	output_table_print(&t, "");
}

static enum cli_exit get_clusters(struct daemon *d, enum cli_format format)
{
	struct cli *c = d->c;
	int status;
	struct json *v = daemon_get(d, STR("/v1/clusters"), &status), *items;
	struct json_iter it;

	if (!v || status != 200) {
		return CLI_FAILED;
	}
	items = json_get(v, "items");
	it = json_iter(items);
	if (format == CLI_JSON || format == CLI_YAML) {
		return output_value(c, v, format) ? CLI_OK : cli_no_memory(c);
	}
	while (rows_wants_names(d->args) && json_next(&it)) {
		buf_printf(&c->out, "multikueuecluster.kueue.x-k8s.io/%.*s\n",
			   STR_ARG(row_text(it.val, "name")));
	}
	if (json_len(items) == 0) {
		buf_add(&c->err, STR("No clusters found.\n"));
	} else if (!rows_wants_names(d->args)) {
		cluster_table(c, items, json_get(v, "configs"), format == CLI_WIDE);
	}
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

/* --- plugins ---------------------------------------------------------------------------------- */

static void plugin_table(struct cli *c, const struct json *items, bool wide)
{
	static const char *const head[] = {"TYPE", "NAME", "PLUGIN", "VERSION", "ABI", "FILE"};
	static const bool right[6];
	struct json_iter it = json_iter(items);
	struct output_table t;

	output_table_init(&t, c, wide ? 6 : 4, right);
	row_head(&t, head, wide ? 6 : 4);
	while (json_next(&it)) {
		output_cell(&t, row_text(it.val, "type"));
		output_cell(&t, row_text(it.val, "name"));
		output_cell(&t, row_text(it.val, "plugin"));
		output_cell(&t, row_text(it.val, "version"));
		if (wide) {
			mk_str file = row_text(it.val, "file");

			output_cell(&t, row_text(it.val, "abi"));
			output_cell(&t, file.n > 0 ? file : STR("(linked in)"));
		}
	}
	output_table_print(&t, "");
}

static enum cli_exit get_plugins(struct daemon *d, enum cli_format format)
{
	struct cli *c = d->c;
	int status;
	struct json *v = daemon_get(d, STR("/v1/plugins"), &status), *items;
	struct json_iter it;

	if (!v) {
		return CLI_FAILED;
	}
	if (status != 200) {
		cli_error(c, "the daemon has no /v1/plugins: it is older than this program (%s)",
			  MK_VERSION);
		return CLI_FAILED;
	}
	items = json_get(v, "items");
	it = json_iter(items);
	if (format == CLI_JSON || format == CLI_YAML) {
		return output_value(c, v, format) ? CLI_OK : cli_no_memory(c);
	}
	while (rows_wants_names(d->args) && json_next(&it)) {
		buf_printf(&c->out, "%.*s/%.*s\n", STR_ARG(row_text(it.val, "type")),
			   STR_ARG(row_text(it.val, "name")));
	}
	if (json_len(items) == 0) {
		buf_add(&c->err, STR("No plugins found.\n"));
	} else if (!rows_wants_names(d->args)) {
		plugin_table(c, items, format == CLI_WIDE);
	}
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

/* --- the commands ----------------------------------------------------------------------------- */

static enum cli_exit ask(struct cli *c, const struct cli_args *args,
			 enum cli_exit (*get)(struct daemon *d, enum cli_format format))
{
	enum cli_format format = CLI_TEXT;
	enum cli_exit rc = CLI_FAILED;
	struct daemon d;

	if (!rows_wants_names(args) && !cli_get_format(c, args, &format)) {
		return CLI_USAGE;
	}
	if (daemon_open(&d, c, args)) {
		rc = get(&d, format);
	}
	daemon_close(&d);
	return rc;
}

static enum cli_exit run_get(struct cli *c, const struct cli_args *args)
{
	static const struct {
		const char *names[3];
		enum cli_exit (*get)(struct daemon *d, enum cli_format format);
	} kinds[] = {{{"workloads", "workload", "wl"}, get_workloads},
		     {{"clusters", "cluster", "workers"}, get_clusters},
		     {{"plugins", "plugin", "adapters"}, get_plugins}};

	for (size_t i = 0; args->n_rest == 1 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		for (size_t k = 0; k < 3; k++) {
			if (strcmp(args->rest[0], kinds[i].names[k]) == 0) {
				return ask(c, args, kinds[i].get);
			}
		}
	}
	return cli_usage(c, NAME, "expected workloads, clusters or plugins, found %s",
			 args->n_rest > 0 ? args->rest[0] : "nothing");
}

static const struct cli_option get_options[] = {
	{'n', "namespace", "NAME", false, "namespace (default that of the context)"},
	{'A', "all-namespaces", NULL, false, "Workloads of all namespaces"},
	{0, "phase", "PHASE", false,
	 "only Workloads of this phase: Racing, Won, WaitsForQuota, ..."},
	{0, "cluster", "NAME", false, "only Workloads that were sent to this worker"},
	{0, "queue", "NAME", false, "only Workloads of this ClusterQueue"},
	{'o', "output", "FORMAT", false, "text, wide, json, yaml or name"},
	DAEMON_OPTIONS,
	{.name = NULL}};

static const struct cli_place get_places[] = {
	{"", "workloads|clusters|plugins"},
	{"cluster", "CLUSTER"},
	{"queue", "QUEUE"},
	{"phase",
	 "Unknown|NotOurs|Deleting|Finished|NoAdapter|Rejected|Inactive|Evicted|"
	 "WaitsForQuota|Retry|Won|JobMissing|JobNotManaged|WaitsForOtherChecks|"
	 "ConfigMissing|DispatcherMissing|PluginFault|BreakerOpen|Unplaceable|NotNominated|Racing"},
	{.of = NULL}};

const struct cli_command cli_get_rows = {
	.name = "get",
	.synopsis = "workloads|clusters|plugins",
	.summary = "what the daemon knows of Workloads, workers and its plugins, as a table",
	.help = "Phases and what to do about each are in docs/visibility.md.\n",
	.examples = "  kubectl multikueue get clusters\n"
		    "  kubectl multikueue get workloads -A --phase Racing -o wide\n"
		    "  kubectl multikueue get workloads -n team-a -o name\n"
		    "  kubectl multikueue get plugins -o wide\n",
	.options = get_options,
	.places = get_places,
	.run = run_get,
};
