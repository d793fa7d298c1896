/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue events`: the last decisions of the daemon, and those to come. */
#include "core/cli/fleet/rows.h"

#define NAME "kubectl multikueue events"

enum { PAGE = 100, COLUMNS = 5, POLL_MS = 1000, PAGES_MAX = 32, SINCE_SIZE = 40 };

/* The command while it goes on. */
struct events {
	struct cli *c;
	struct daemon d;
	enum cli_format format;
	bool follows, has_head;
	const char *ns;         /* NULL: all */
	const struct wanted *w; /* NULL: all */
	int64_t after;          /* -1: from the oldest on */
	char since[SINCE_SIZE]; /* which process gave that number; "": none yet */
	size_t widths[COLUMNS];
};

/* --- asking ----------------------------------------------------------------------------------- */

static struct json *ask(struct events *e)
{
	struct arena *a = &e->c->a;
	mk_str path = arena_printf(a, "/v1/events?limit=%d", PAGE);
	struct json *v;
	int status;

	if (e->ns) {
		path = arena_printf(a, "%.*s&namespace=%.*s", STR_ARG(path),
				    STR_ARG(daemon_encode(e->c, str_of(e->ns))));
	}
	if (e->after >= 0) {
		path = arena_printf(a, "%.*s&after=%lld", STR_ARG(path), (long long)e->after);
	}
	v = daemon_get(&e->d, path, &status);
	if (v && status != 200) {
		cli_error(e->c, "the daemon has no /v1/events; expected a newer multikueued");
		return NULL;
	}
	return v;
}

/* False: another process answers, whose numbers are others; it is asked from the beginning. */
static bool same_process(struct events *e, const struct json *v)
{
	mk_str since = str_cut(row_text(v, "since"), SINCE_SIZE - 1);
	bool same = e->since[0] == '\0' || str_is(since, e->since);

	memcpy(e->since, since.p, since.n);
	e->since[since.n] = '\0';
	if (!same) {
		buf_add(&e->c->err, STR("The daemon was started again.\n"));
		e->after = -1;
	}
	return same;
}

/* What is new, an array; NULL: the error was printed. */
static struct json *news(struct events *e)
{
	struct arena *a = &e->c->a;
	struct json *all = json_new_arr(a);
	size_t n = PAGE;

	for (int i = 0; n == PAGE && i < PAGES_MAX; i++) {
		struct json *v = ask(e), *items = json_get(v, "items");
		struct json_iter it = json_iter(items);
		int64_t missed = json_int(json_get(v, "missed"), 0);

		if (!v) {
			return NULL;
		}
		if (!same_process(e, v)) {
			continue;
		}
		if (missed > 0) {
			buf_printf(&e->c->err, "%lld older ones are not kept any more.\n",
				   (long long)missed);
		}
		while (json_next(&it)) {
			json_add(a, all, json_share(a, it.val));
		}
		n = json_len(items);
		e->after = json_int(json_get(v, "next"), e->after);
	}
	return all;
}

/* --- which are meant -------------------------------------------------------------------------- */

/* What an item is about: a Workload, or an object that a cluster refused. */
static const struct json *subject(const struct json *item)
{
	const struct json *workload = json_get(item, "workload");

	return workload ? workload : json_get(item, "object");
}

static bool same_object(const struct json *x, const struct json *y)
{
	return str_eq(row_text(x, "name"), row_text(y, "name")) &&
	       str_eq(row_text(x, "namespace"), row_text(y, "namespace"));
}

/* Is it the Workload that was named, or one of the job's ('rows': the Workloads), or the job? */
static bool is_meant(const struct wanted *w, const struct json *item, const struct json *rows)
{
	const struct json *about = subject(item);
	struct json_iter it = json_iter(rows);

	if (wanted_is(w, json_get(item, "object")) ||
	    (json_get(item, "workload") && wanted_is_workload(w, about))) {
		return true;
	}
	while (json_next(&it)) {
		if (same_object(it.val, about) && wanted_is(w, json_get(it.val, "job"))) {
			return true;
		}
	}
	return false;
}

/* Only those that are meant; NULL: the error was printed. */
static struct json *meant(struct events *e, struct json *items)
{
	struct arena *a = &e->c->a;
	struct json *rows, *some = json_new_arr(a);
	struct json_iter it = json_iter(items);

	if (!e->w || json_len(items) == 0) {
		return items;
	}
	rows = rows_of_workloads(&e->d,
				 e->ns ? arena_printf(a, "namespace=%.*s",
						      STR_ARG(daemon_encode(e->c, str_of(e->ns))))
				       : STR("limit=100"));
	while (rows && json_next(&it)) {
		if (is_meant(e->w, it.val, rows)) {
			json_add(a, some, json_share(a, it.val));
		}
	}
	return rows ? some : NULL;
}

/* --- output ----------------------------------------------------------------------------------- */

static mk_str who(struct events *e, const struct json *item)
{
	const struct json *about = subject(item);
	mk_str kind = row_kind(row_text(about, "kind")), ns = row_text(about, "namespace");

	return arena_printf(&e->c->a, "%.*s%s%.*s%s%.*s", e->ns ? 0 : (int)ns.n, ns.p,
			    e->ns ? "" : "/", STR_ARG(kind), kind.n > 0 ? "/" : "",
			    STR_ARG(row_text(about, "name")));
}

static mk_str words_of(struct cli *c, const struct json *item)
{
	mk_str what = row_text(item, "what"), message = row_text(item, "message");

	if (message.n > 0 && json_get(item, "before")) {
		return message; /* the check's, which says it all */
	}
	return message.n > 0 ? arena_printf(&c->a, "%.*s: %.*s", STR_ARG(what), STR_ARG(message))
			     : what;
}

static void print_table(struct events *e, const struct json *items)
{
	static const char *const head[] = {"TIME", "WORKLOAD", "WORKER", "RULE", "MESSAGE"};
	static const bool right[COLUMNS];
	struct json_iter it = json_iter(items);
	struct output_table t;

	if (json_len(items) == 0) {
		return;
	}
	output_table_init(&t, e->c, COLUMNS, right);
	t.widths = e->widths;
	if (!e->has_head) {
		row_head(&t, head, COLUMNS);
		e->has_head = true;
	}
	while (json_next(&it)) {
		/* Without the fraction. */
		mk_str time = str_cut(row_text(it.val, "time"), strlen("2026-01-02T03:04:05"));

		output_cell(&t, arena_printf(&e->c->a, "%.*sZ", STR_ARG(time)));
		output_cell(&t, who(e, it.val));
		output_cell(&t, row_text(it.val, "cluster"));
		output_cell(&t, row_text(it.val, "rule"));
		output_cell(&t, words_of(e->c, it.val));
	}
	output_table_print(&t, "");
}

static enum cli_exit step(void *ctx)
{
	struct events *e = ctx;
	struct cli *c = e->c;
	struct json *all = news(e), *items = all ? meant(e, all) : NULL;
	struct json_iter it = json_iter(items);

	if (!items) {
		return arena_failed(&c->a) ? cli_no_memory(c) : CLI_FAILED;
	}
	if (e->follows && e->format == CLI_JSON) {
		while (json_next(&it)) {
			rows_stream(c, it.val);
		}
	} else if (e->format == CLI_JSON || e->format == CLI_YAML) {
		output_value(c, rows_list(c, items), e->format);
	} else {
		print_table(e, items);
	}
	if (!e->follows && e->format == CLI_TEXT && json_len(items) == 0) {
		buf_add(&c->err, e->ns ? STR("No decisions found in this namespace; -A: in all.\n")
				       : STR("No decisions found.\n"));
	}
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

/* --- the command ------------------------------------------------------------------------------ */

static enum cli_exit go(struct events *e, const struct cli_args *args)
{
	enum cli_exit rc = CLI_FAILED;

	if (!cli_get(args, "all-namespaces")) {
		e->ns = daemon_namespace(e->c, args);
		if (!e->ns) {
			return CLI_FAILED;
		}
	}
	if (e->follows && !cli_follow(e->c)) {
		return CLI_FAILED;
	}
	if (daemon_open(&e->d, e->c, args)) {
		rc = e->follows ? cli_repeat(e->c, POLL_MS, false, step, e) : step(e);
	}
	daemon_close(&e->d);
	return rc;
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	struct events e = {.c = c, .after = -1, .follows = cli_get(args, "follow") != NULL};
	struct wanted w;

	if (args->n_rest > 1) {
		return cli_usage(c, NAME, "expected one job or Workload, found %zu", args->n_rest);
	}
	if (!cli_get_format(c, args, &e.format)) {
		return CLI_USAGE;
	}
	if (e.follows && e.format == CLI_YAML) {
		return cli_usage(c, NAME, "-f goes with -o json or text, not with yaml");
	}
	if (args->n_rest == 1) {
		w = wanted_of(args->rest[0]);
		e.w = &w;
	}
	return go(&e, args);
}

static const struct cli_option options[] = {
	{'f', "follow", NULL, false, "go on with what is decided from now on, until interrupted"},
	{'n', "namespace", "NAME", false, "namespace (default that of the context)"},
	{'A', "all-namespaces", NULL, false, "decisions of all namespaces"},
	{'o', "output", "FORMAT", false, "text, json or yaml; with -f json is one object per line"},
	DAEMON_OPTIONS,
	{.name = NULL}};

static const struct cli_place places[] = {{"", "JOB"}, {.of = NULL}};

const struct cli_command cli_events = {
	.name = "events",
	.synopsis = "[-f] [-n NAMESPACE|-A] [[KIND/]NAME]",
	.summary = "what the daemon decided of late, and why",
	.help = "NAME is that of a Workload, or of a job whose Workload is still there.\n"
		"The daemon keeps the last 1,024 decisions, until it ends. The rules are explained "
		"in\ndocs/metrics.md.\n",
	.examples = "  kubectl multikueue events -n team-a\n"
		    "  kubectl multikueue events -A -f\n"
		    "  kubectl multikueue events job/train -o json\n",
	.options = options,
	.places = places,
	.run = run,
};
