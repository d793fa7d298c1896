/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue status`: is the daemon well, and what is it doing? */
#include "core/cli/fleet/rows.h"

#define NAME "kubectl multikueue status"

enum { POLL_MS = 2000 };

static void print_daemon(struct cli *c, const struct json *v)
{
	const struct json *lease = json_get(v, "lease");
	mk_str holder = row_text(lease, "holder");

	buf_printf(&c->out, "Daemon:     multikueued %.*s, %s", STR_ARG(row_text(v, "version")),
		   json_bool(json_get(v, "leader")) ? "leads" : "standby");
	if (!json_bool(json_get(v, "leader")) && holder.n > 0) {
		buf_printf(&c->out, "; %.*s leads", STR_ARG(holder));
	}
	buf_printf(&c->out, "\nWorkloads:  %lld; %lld operations under way\n",
		   (long long)json_int(json_get(v, "workloads"), 0),
		   (long long)json_int(json_get(v, "pending"), 0));
}

/* "Racing 12, Won 1100", and the Workload that has waited the longest. */
static void print_phases(struct cli *c, const struct json *v)
{
	const struct json *phases = json_get(v, "phases"), *first = json_get(v, "first");
	struct json_iter it = json_iter(phases);
	const char *comma = "Phases:     ";

	while (json_next(&it)) {
		buf_printf(&c->out, "%s%.*s %lld", comma, STR_ARG(it.key),
			   (long long)json_int(it.val, 0));
		comma = ", ";
	}
	buf_printf(&c->out, "%s", json_len(phases) > 0 ? "\n" : "");
	if (first) {
		buf_printf(&c->out, "First:      %.*s/%.*s, waits for a worker for %.*s\n",
			   STR_ARG(row_text(first, "namespace")), STR_ARG(row_text(first, "name")),
			   STR_ARG(row_age(c, row_text(first, "since"))));
	}
}

/* How many clusters are in another state than Connected. */
static size_t away(const struct json *clusters)
{
	struct json_iter it = json_iter(json_get(clusters, "items"));
	size_t n = 0;

	while (json_next(&it)) {
		n += !str_is(row_text(it.val, "state"), "Connected");
	}
	return n;
}

static void print_away(struct cli *c, const struct json *clusters)
{
	struct json_iter it = json_iter(json_get(clusters, "items"));

	while (json_next(&it)) {
		mk_str state = row_text(it.val, "state"),
		       age = row_age(c, row_text(it.val, "since"));

		if (!str_is(state, "Connected")) {
			buf_printf(&c->out, "  %.*s  %.*s%s%.*s  %.*s\n",
				   STR_ARG(row_text(it.val, "name")),
				   STR_ARG(output_paint(c, OUTPUT_RED, state)),
				   age.n > 0 ? " for " : "", STR_ARG(age),
				   STR_ARG(row_text(it.val, "message")));
		}
	}
}

/* The command, also while it goes on. */
struct status {
	struct daemon d;
	enum cli_format format;
	bool watches, again; /* 'again': not for the first time */
};

static enum cli_exit show(void *ctx)
{
	struct status *s = ctx;
	struct daemon *d = &s->d;
	struct cli *c = d->c;
	int status;
	struct json *v = daemon_get(d, STR("/status"), &status), *clusters;
	size_t n, lost;

	if (!v || status != 200) {
		return CLI_FAILED;
	}
	if (s->watches && s->format == CLI_JSON) {
		rows_stream(c, v);
		return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
	}
	if (s->format == CLI_JSON || s->format == CLI_YAML) {
		return output_value(c, v, s->format) ? CLI_OK : cli_no_memory(c);
	}
	clusters = daemon_get(d, STR("/v1/clusters"), &status);
	if (!clusters) {
		return CLI_FAILED;
	}
	if (s->again && !c->terminal) {
		buf_add(&c->out, STR("\n"));
	}
	s->again = true;
	print_daemon(c, v);
	print_phases(c, v);
	n = json_len(json_get(clusters, "items"));
	lost = away(clusters);
	buf_printf(&c->out, "Workers:    %zu, %zu connected\n", n, n - lost);
	print_away(c, clusters);
	return arena_failed(&c->a) ? cli_no_memory(c) : lost > 0 ? CLI_NO : CLI_OK;
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	enum cli_exit rc = CLI_FAILED;
	struct status s = {.watches = cli_get(args, "watch") != NULL};

	if (args->n_rest > 0) {
		return cli_usage(c, NAME, "unexpected %s", args->rest[0]);
	}
	if (!cli_get_format(c, args, &s.format)) {
		return CLI_USAGE;
	}
	if (s.watches && s.format == CLI_YAML) {
		return cli_usage(c, NAME, "--watch goes with -o json or text, not with yaml");
	}
	if (s.watches && !cli_follow(c)) {
		return CLI_FAILED;
	}
	if (daemon_open(&s.d, c, args)) {
		rc = s.watches ? cli_repeat(c, POLL_MS, s.format != CLI_JSON, show, &s) : show(&s);
	}
	daemon_close(&s.d);
	return rc;
}

static const struct cli_option options[] = {
	{'w', "watch", NULL, false, "again every 2 s, until interrupted"},
	{'o', "output", "FORMAT", false,
	 "text, json or yaml; with --watch json is one object per line"},
	DAEMON_OPTIONS,
	{.name = NULL}};

const struct cli_command cli_status = {
	.name = "status",
	.synopsis = "[--watch]",
	.summary = "is the daemon well, who leads, which workers are connected?",
	.help = "The exit status is 1 while a worker is not connected; with --watch, when it was "
		"so last.\n",
	.examples = "  kubectl multikueue status\n"
		    "  kubectl multikueue status --watch\n"
		    "  kubectl multikueue status --server http://localhost:8081\n",
	.options = options,
	.run = run,
};
