/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, finding the one that was meant, its options, its help; see cli.h. */
#include <stdarg.h>

#include "core/cli/output.h"

static const struct cli_command *const top[] = {
	&cli_why,      &cli_logs,   &cli_pods,    &cli_exec,   &cli_status, &cli_top,
	&cli_get_rows, &cli_events, &cli_ui,      &cli_doctor, &cli_cordon, &cli_drain,
	&cli_uncordon, &cli_worker, &cli_adapter, &cli_tree,   NULL};

static const struct cli_command all_commands = {
	.name = "kubectl multikueue",
	.synopsis = "COMMAND",
	.summary = "tools for MultiKueue, the many-cluster side of Kueue",
	.help = "kubectl finds this program by its name, kubectl-multikueue, anywhere in the "
		"PATH.\n",
	.examples = "  kubectl multikueue why train -n team-a\n"
		    "  kubectl multikueue logs train -n team-a -f\n"
		    "  kubectl multikueue status\n"
		    "  kubectl multikueue top workers\n"
		    "  kubectl multikueue events -A -f\n"
		    "  kubectl multikueue ui\n"
		    "  kubectl multikueue doctor\n"
		    "  kubectl multikueue drain west --evict\n"
		    "  kubectl multikueue worker add west --config workers\n"
		    "  kubectl multikueue tree show -f queues.yaml\n"
		    "  kubectl multikueue tree validate -f queues/\n"
		    "  kubectl multikueue adapter test widget.yaml fixtures/\n",
	.below = top,
};

void cli_init(struct cli *c, bool terminal)
{
	*c = (struct cli){.color = terminal, .terminal = terminal};
	arena_init(&c->a, (size_t)2048 * 1024 * 1024);
	buf_init(&c->out, CLI_OUTPUT_MAX);
	buf_init(&c->err, CLI_OUTPUT_MAX);
}

void cli_done(struct cli *c)
{
	arena_done(&c->a);
	buf_done(&c->out);
	buf_done(&c->err);
}

/* --- messages --------------------------------------------------------------------------------- */

static void message(struct cli *c, const char *fmt, va_list ap)
{
	mk_str text = arena_vprintf(&c->a, fmt, ap);

	buf_printf(&c->err, "error: %.*s\n", STR_ARG(text));
}

void cli_error(struct cli *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(c, fmt, ap);
	va_end(ap);
}

enum cli_exit cli_usage(struct cli *c, const char *command, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(c, fmt, ap);
	va_end(ap);
	buf_printf(&c->err, "Run `%s --help` for the options and examples.\n", command);
	return CLI_USAGE;
}

enum cli_exit cli_no_memory(struct cli *c)
{
	cli_error(c, "out of memory");
	return CLI_FAILED;
}

static void help(struct cli *c, const struct cli_command *cmd, const char *path)
{
	struct buf *b = &c->out;

	buf_printf(b, "%s - %s\n\nUsage:\n  %s %s\n", path, cmd->summary, path, cmd->synopsis);
	if (cmd->help != NULL) {
		buf_printf(b, "\n%s", cmd->help);
	}
	for (size_t i = 0; cmd->below != NULL && cmd->below[i] != NULL; i++) {
		buf_printf(b, "%s  %-10s %s\n", i == 0 ? "\nCommands:\n" : "", cmd->below[i]->name,
			   cmd->below[i]->summary);
	}
	for (size_t i = 0; cmd->options != NULL && cmd->options[i].name != NULL; i++) {
		const struct cli_option *o = &cmd->options[i];
		mk_str shown = arena_printf(&c->a, "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
					    o->letter ? o->letter : ' ', o->letter ? ", " : "  ",
					    o->name, o->value ? " " : "", o->value ? o->value : "");

		buf_printf(b, "%s  %-24.*s %s\n", i == 0 ? "\nOptions:\n" : "", STR_ARG(shown),
			   o->help);
	}
	if (cmd->examples != NULL) {
		buf_printf(b, "\nExamples:\n%s", cmd->examples);
	}
	buf_printf(
		b,
		"\nExit status: 0 done, 1 the answer is no (errors found, files differ), 2 wrong "
		"command line,\n3 a file or the daemon cannot be read.\n");
}

/* --- options ---------------------------------------------------------------------------------- */

static const struct cli_option *find(const struct cli_command *cmd, mk_str name, char letter)
{
	for (size_t i = 0; cmd->options != NULL && cmd->options[i].name != NULL; i++) {
		const struct cli_option *o = &cmd->options[i];

		if (letter ? o->letter == letter : str_is(name, o->name)) {
			return o;
		}
	}
	return NULL;
}

const char *cli_get(const struct cli_args *args, const char *name)
{
	const char *value = NULL;

	for (size_t i = 0; i < args->n_given; i++) {
		if (strcmp(args->given[i].option->name, name) == 0) {
			value = args->given[i].value ? args->given[i].value : "";
		}
	}
	return value;
}

const char **cli_get_all(struct cli *c, const struct cli_args *args, const char *name,
			 size_t *ret_n)
{
	const char **all = arena_array(&c->a, args->n_given + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; all != NULL && i < args->n_given; i++) {
		if (strcmp(args->given[i].option->name, name) == 0) {
			all[n++] = args->given[i].value;
		}
	}
	*ret_n = n;
	return all;
}

bool cli_get_format(struct cli *c, const struct cli_args *args, enum cli_format *ret)
{
	static const char *const words[] = {"text", "wide", "json", "yaml"};
	const char *given = cli_get(args, "output");

	*ret = CLI_TEXT;
	for (size_t i = 0; given != NULL && i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(given, words[i]) == 0) {
			*ret = (enum cli_format)i;
			return true;
		}
	}
	if (given != NULL) {
		cli_error(c, "-o %s: expected text, wide, json or yaml", given);
	}
	return !given;
}

bool cli_get_number(struct cli *c, const struct cli_args *args, const char *name, int64_t least,
		    int64_t otherwise, int64_t *ret)
{
	const char *given = cli_get(args, name);

	*ret = otherwise;
	if (!given || (str_i64(str_of(given), ret) && *ret >= least)) {
		return true;
	}
	cli_error(c, "--%s %s: expected a whole number of at least %lld", name, given,
		  (long long)least);
	return false;
}

/* One option from argv[*i] and, when its value stands apart, the next. */
static enum cli_exit take_option(struct cli *c, const struct cli_command *cmd, const char *path,
				 int argc, char *const *argv, int *i, struct cli_args *args)
{
	bool is_long = argv[*i][1] == '-';
	mk_str rest = str_of(argv[*i] + (is_long ? 2 : 1));
	mk_str name = rest;
	const char *value = NULL;
	const struct cli_option *o;

	if (is_long) {
		str_split(&rest, '=', &name);
		value = strchr(argv[*i], '=');
		value = value != NULL ? value + 1 : NULL;
	} else if (rest.n > 1) {
		value = argv[*i] + (rest.p[1] == '=' ? 3 : 2);
	}
	o = find(cmd, name, is_long ? '\0' : argv[*i][1]);
	if (!o) {
		return cli_usage(c, path, "unknown option %s", argv[*i]);
	}
	if (!o->value && value != NULL) {
		return cli_usage(c, path, "--%s takes no value", o->name);
	}
	if (o->value != NULL && !value) {
		if (*i + 1 >= argc) {
			return cli_usage(c, path, "--%s needs a value: %s", o->name, o->value);
		}
		value = argv[++*i];
	}
	if (!o->many && cli_get(args, o->name) != NULL) {
		return cli_usage(c, path, "--%s was given twice", o->name);
	}
	args->given[args->n_given++] = (struct cli_given){o, value};
	return CLI_OK;
}

static enum cli_exit run_command(struct cli *c, const struct cli_command *cmd, const char *path,
				 int argc, char *const *argv)
{
	struct cli_args args = {.n_given = 0};
	bool options = true; /* until "--" */

	args.given = arena_array(&c->a, (size_t)argc + 1, sizeof(*args.given));
	args.rest = arena_array(&c->a, (size_t)argc + 1, sizeof(*args.rest));
	if (!args.given || !args.rest) {
		return cli_no_memory(c);
	}
	for (int i = 0; i < argc; i++) {
		enum cli_exit rc;

		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
			continue;
		}
		if (options && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
			help(c, cmd, path);
			return CLI_OK;
		}
		if (!options || argv[i][0] != '-' || argv[i][1] == '\0') {
			args.rest[args.n_rest++] = argv[i];
			continue;
		}
		rc = take_option(c, cmd, path, argc, argv, &i, &args);
		if (rc != CLI_OK) {
			return rc;
		}
	}
	return cmd->run(c, &args);
}

/* --- finding the command ---------------------------------------------------------------------- */

/* "show, validate or diff" */
static const char *names_of(struct cli *c, const struct cli_command *cmd)
{
	mk_str names = STR("");

	for (size_t k = 0; cmd->below[k] != NULL; k++) {
		const char *comma = k == 0 ? "" : !cmd->below[k + 1] ? " or " : ", ";

		names = arena_printf(&c->a, "%.*s%s%s", STR_ARG(names), comma, cmd->below[k]->name);
	}
	return names.p != NULL ? names.p : "another";
}

static enum cli_exit run_top(struct cli *c, int argc, char *const *argv)
{
	const struct cli_command *cmd = &all_commands;
	mk_str path = str_of(cmd->name);
	bool asked = false;
	int i = 1;

	if (argc > 1 && strcmp(argv[1], "__complete") == 0) {
		return cli_complete(c, cmd, argc - 2, argv + 2);
	}
	for (; cmd->below != NULL; i++) {
		const struct cli_command *next = NULL;

		if (i >= argc || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			help(c, cmd, path.p);
			return i >= argc && !asked ? CLI_USAGE : CLI_OK;
		}
		/* "tree help show" is "tree show --help". */
		if (strcmp(argv[i], "help") == 0) {
			asked = true;
			continue;
		}
		if (cmd == &all_commands && strcmp(argv[i], "--version") == 0) {
			buf_printf(&c->out, "kubectl-multikueue %s\n", MK_VERSION);
			return CLI_OK;
		}
		for (size_t k = 0; cmd->below[k] != NULL; k++) {
			next = strcmp(cmd->below[k]->name, argv[i]) == 0 ? cmd->below[k] : next;
		}
		if (!next) {
			return cli_usage(c, path.p, "unknown command %s: expected %s", argv[i],
					 names_of(c, cmd));
		}
		cmd = next;
		path = arena_printf(&c->a, "%.*s %s", STR_ARG(path), cmd->name);
		if (!path.p) {
			return cli_no_memory(c);
		}
	}
	if (asked) {
		help(c, cmd, path.p);
		return CLI_OK;
	}
	return run_command(c, cmd, path.p, argc - i, argv + i);
}

void cli_make_harmless(struct cli *c)
{
	if (!c->is_data) {
		output_harmless(&c->out, c->color);
	}
	output_harmless(&c->err, false);
}

enum cli_exit cli_run(struct cli *c, int argc, char *const *argv)
{
	enum cli_exit rc = run_top(c, argc, argv);

	cli_make_harmless(c);
	return rc;
}
