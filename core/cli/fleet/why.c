/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue why`: why a job waits, worker by worker, and what happens next. */
#include "core/cli/fleet/rows.h"

#define NAME "kubectl multikueue why"

/* --- output ----------------------------------------------------------------------------------- */

static enum output_color color_of(mk_str reason)
{
	static const char *const good[] = {"JobRuns", "JobEnded", "Admitted", "Won", "Finished"};
	static const char *const plain[] = {"NotChosen", "NotNominated", "Racing"};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		if (str_is(reason, good[i])) {
			return OUTPUT_GREEN;
		}
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		if (str_is(reason, plain[i])) {
			return OUTPUT_PLAIN;
		}
	}
	return OUTPUT_YELLOW;
}

static void line(struct cli *c, const char *what, mk_str value)
{
	if (value.n > 0) {
		buf_printf(&c->out, "%-12s%.*s\n", what, STR_ARG(value));
	}
}

/* "quota 14m ago, nominated 0.1s later, won 42s later (w2)" */
static mk_str stages_text(struct cli *c, const struct json *stages)
{
	struct json_iter it = json_iter(stages);
	mk_str all = STR("");

	while (json_next(&it)) {
		mk_str cluster = row_text(it.val, "cluster");
		int64_t after = json_int(json_get(it.val, "afterMs"), -1);
		mk_str when = after < 0 ? row_age(c, row_text(it.val, "at")) : row_span(c, after);

		all = arena_printf(&c->a, "%.*s%s%.*s %.*s %s%s%.*s%s", STR_ARG(all),
				   all.n > 0 ? ", " : "", STR_ARG(row_text(it.val, "stage")),
				   STR_ARG(when), after < 0 ? "ago" : "later",
				   cluster.n > 0 ? " (" : "", STR_ARG(cluster),
				   cluster.n > 0 ? ")" : "");
	}
	return all;
}

/* Of a Workload that has ended the daemon keeps the ClusterQueue alone. */
static mk_str queues_text(struct cli *c, const struct json *v)
{
	mk_str local = row_text(v, "localQueue"), queue = row_text(v, "clusterQueue");

	return local.n > 0 ? arena_printf(&c->a, "%.*s -> %.*s", STR_ARG(local), STR_ARG(queue))
			   : queue;
}

static void print_head(struct cli *c, const struct json *v)
{
	const struct json *job = json_get(v, "job"), *check = json_get(v, "admissionCheck");
	mk_str phase = row_text(v, "phase"), message = row_text(v, "message");

	line(c, "Workload:",
	     arena_printf(&c->a, "%.*s/%.*s", STR_ARG(row_text(v, "namespace")),
			  STR_ARG(row_text(v, "name"))));
	if (job) {
		line(c, "Job:",
		     arena_printf(&c->a, "%.*s (%.*s)", STR_ARG(row_text(job, "name")),
				  STR_ARG(row_text(job, "kind"))));
	}
	line(c, "Phase:",
	     arena_printf(&c->a, "%.*s%s%.*s", STR_ARG(output_paint(c, color_of(phase), phase)),
			  message.n > 0 ? ": " : "", STR_ARG(message)));
	line(c, "Queue:", queues_text(c, v));
	if (check) {
		line(c, "Check:",
		     arena_printf(&c->a, "%.*s (%.*s)", STR_ARG(row_text(check, "name")),
				  STR_ARG(row_text(check, "state"))));
	}
	line(c, "Dispatcher:", row_text(v, "dispatcher"));
	line(c, "", row_text(v, "dispatcherSays"));
	line(c, "Stages:", stages_text(c, json_get(v, "stages")));
}

static void print_workers(struct cli *c, const struct json *v)
{
	static const char *const head[] = {"WORKER", "REASON", "SINCE", "MESSAGE"};
	static const bool right[4];
	struct json_iter it = json_iter(json_get(v, "clusters"));
	struct output_table t;

	output_table_init(&t, c, 4, right);
	row_head(&t, head, 4);
	while (json_next(&it)) {
		mk_str reason = row_text(it.val, "reason"), detail = row_text(it.val, "detail");

		output_cell(&t, row_text(it.val, "name"));
		output_cell(&t, output_paint(c, color_of(reason), reason));
		output_cell(&t, row_age(c, row_text(it.val, "since")));
		output_cell(&t,
			    arena_printf(&c->a, "%.*s%s%.*s", STR_ARG(row_text(it.val, "message")),
					 detail.n > 0 ? ": " : "", STR_ARG(detail)));
	}
	if (json_len(json_get(v, "clusters")) > 0) {
		buf_add(&c->out, STR("\n"));
		output_table_print(&t, "");
	}
}

/* The workers with this mend; "": an earlier row than 'row' has it, so it was printed. */
static mk_str names_with(struct cli *c, const struct json *rows, mk_str mend,
			 const struct json *row)
{
	struct json_iter it = json_iter(rows);
	mk_str names = STR("");
	bool reached = false;

	while (json_next(&it)) {
		reached = reached || it.val == row;
		if (!str_eq(row_text(it.val, "mend"), mend)) {
			continue;
		}
		if (!reached) {
			return STR("");
		}
		names = arena_printf(&c->a, "%.*s%s%.*s", STR_ARG(names), names.n > 0 ? ", " : "",
				     STR_ARG(row_text(it.val, "name")));
	}
	return names;
}

/* What to do: each sentence once, with the workers that it is about. */
static void print_mends(struct cli *c, const struct json *v)
{
	const struct json *rows = json_get(v, "clusters");
	struct json_iter it = json_iter(rows);
	mk_str whole = row_text(v, "mend");
	mk_str all = whole.n > 0 ? arena_printf(&c->a, "  %.*s\n", STR_ARG(whole)) : STR("");

	while (json_next(&it)) {
		mk_str mend = row_text(it.val, "mend");
		mk_str names = mend.n > 0 ? names_with(c, rows, mend, it.val) : STR("");

		if (names.n > 0) {
			all = arena_printf(&c->a, "%.*s  %.*s: %.*s\n", STR_ARG(all),
					   STR_ARG(names), STR_ARG(mend));
		}
	}
	if (all.n > 0) {
		buf_printf(&c->out, "\n%.*s\n%.*s",
			   STR_ARG(output_paint(c, OUTPUT_BOLD, STR("To do"))), STR_ARG(all));
	}
}

static void print_next(struct cli *c, const struct json *v)
{
	struct json_iter it = json_iter(json_get(v, "next"));

	if (json_len(json_get(v, "next")) > 0) {
		buf_printf(&c->out, "\n%.*s\n", STR_ARG(output_paint(c, OUTPUT_BOLD, STR("Next"))));
	}
	while (json_next(&it)) {
		mk_str cluster = row_text(it.val, "cluster");

		buf_printf(&c->out, "  in %.*s%s%.*s: %.*s\n",
			   STR_ARG(row_age(c, row_text(it.val, "at"))), cluster.n > 0 ? ", " : "",
			   STR_ARG(cluster), STR_ARG(row_text(it.val, "what")));
	}
}

static enum cli_exit print(struct cli *c, const struct json *v, enum cli_format format)
{
	if (format == CLI_JSON || format == CLI_YAML) {
		return output_value(c, v, format) ? CLI_OK : cli_no_memory(c);
	}
	print_head(c, v);
	print_workers(c, v);
	print_mends(c, v);
	print_next(c, v);
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	struct wanted w;
	const char *ns;
	enum cli_exit rc = CLI_FAILED;
	enum cli_format format;
	struct json *v;
	struct daemon d;

	if (args->n_rest != 1) {
		return cli_usage(c, NAME, "expected one job or Workload, found %zu", args->n_rest);
	}
	if (!cli_get_format(c, args, &format)) {
		return CLI_USAGE;
	}
	w = wanted_of(args->rest[0]);
	ns = daemon_namespace(c, args);
	if (ns && daemon_open(&d, c, args)) {
		v = wanted_find(&d, ns, &w, NULL);
		rc = v ? print(c, v, format) : CLI_NO;
		daemon_close(&d);
	} else if (ns) {
		daemon_close(&d);
	}
	return rc;
}

static const struct cli_option options[] = {
	{'n', "namespace", "NAME", false, "namespace of the job (default that of the context)"},
	{'o', "output", "FORMAT", false, "text, json or yaml"},
	DAEMON_OPTIONS,
	{.name = NULL}};

static const struct cli_place places[] = {{"", "JOB"}, {.of = NULL}};

const struct cli_command cli_why = {
	.name = "why",
	.synopsis = "[KIND/]NAME [-n NAMESPACE]",
	.summary = "why a job waits: the reason of each worker, and what happens next",
	.help = "NAME is that of a job or of its Workload: train, job/train, "
		"workload/job-train-1b2c3.\n"
		"The reasons are explained in docs/visibility.md.\n",
	.examples = "  kubectl multikueue why train -n team-a\n"
		    "  kubectl multikueue why jobset/train -o yaml\n"
		    "  kubectl multikueue why train --server http://localhost:8081\n",
	.options = options,
	.places = places,
	.run = run,
};
