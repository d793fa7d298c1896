/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue doctor`: options, the way to the manager, the order of things. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/cli/doctor/doctor.h"

#define NAME "kubectl multikueue doctor"
#define DAY_MS INT64_C(86400000)

enum { PROXY_MS = 15000, SOON_DAYS = 14, TIMEOUT_S = 10, TOLD_MS = 1000 };

/* --- what is meant ---------------------------------------------------------------------------- */

/* Is 'word' a value of the option, or was that not given? */
static bool is_wanted(const struct doctor *d, const char *option, mk_str word)
{
	bool given = false;

	for (size_t i = 0; i < d->args->n_given; i++) {
		if (strcmp(d->args->given[i].option->name, option) != 0) {
			continue;
		}
		given = true;
		if (str_is(word, d->args->given[i].value)) {
			return true;
		}
	}
	return !given;
}

bool doctor_wants_group(const struct doctor *d, const char *group)
{
	return is_wanted(d, "only", str_of(group));
}

bool doctor_wants_worker(const struct doctor *d, mk_str name)
{
	return is_wanted(d, "cluster", name);
}

static mk_str group_names(struct cli *c)
{
	mk_str names = STR("");

	for (const struct doctor_group *g = doctor_groups; g->name; g++) {
		names = arena_printf(&c->a, "%.*s%s%s", STR_ARG(names),
				     g == doctor_groups ? ""
				     : !g[1].name       ? " or "
							: ", ",
				     g->name);
	}
	return names;
}

static bool check_groups(struct doctor *d)
{
	size_t n;
	const char **given = cli_get_all(d->c, d->args, "only", &n);

	for (size_t i = 0; given && i < n; i++) {
		const struct doctor_group *g = doctor_groups;

		while (g->name && strcmp(g->name, given[i]) != 0) {
			g++;
		}
		if (!g->name) {
			cli_error(d->c, "--only %s: expected %.*s", given[i],
				  STR_ARG(group_names(d->c)));
			return false;
		}
	}
	return true;
}

static bool check_clusters(struct doctor *d)
{
	size_t n;
	const char **given = cli_get_all(d->c, d->args, "cluster", &n);

	for (size_t i = 0; given && i < n; i++) {
		if (!doctor_item(d, FACT_CLUSTERS, str_of(given[i]))) {
			cli_error(d->c,
				  "--cluster %s: no such MultiKueueCluster; kubectl get "
				  "multikueueclusters lists them",
				  given[i]);
			return false;
		}
	}
	return true;
}

/* --- progress --------------------------------------------------------------------------------- */

void doctor_progress(struct doctor *d)
{
	struct cli *c = d->c;
	int64_t now = clock_mono_ms();
	mk_str line;

	if (!c->terminal || !c->host || now - d->told_ms < TOLD_MS) {
		return;
	}
	d->told_ms = now;
	line = doctor_text(d, "\r%zu of %zu workers\033[K", d->n_done, d->n_workers);
	c->host->put(true, line);
}

static void end_progress(struct doctor *d)
{
	if (d->c->terminal && d->c->host && d->told_ms > 0) {
		d->c->host->put(true, STR("\r\033[K"));
	}
}

/* --- the manager's API server ----------------------------------------------------------------- */

/* A folder that no other user may enter, with the socket in it. */
struct proxy {
	struct kubectl kubectl;
	char folder[64], socket[80];
};

static bool proxy_open(struct proxy *p, struct doctor *d)
{
	const char *words[] = {"proxy", "--unix-socket", p->socket, NULL};
	const char *temporary = getenv("TMPDIR");
	char line[256] = "";
	bool said;

	*p = (struct proxy){.kubectl.fd = -1};
	if (!temporary || strlen(temporary) > 30) {
		temporary = "/tmp";
	}
	snprintf(p->folder, sizeof(p->folder), "%s/multikueue-XXXXXX", temporary);
	if (!mkdtemp(p->folder)) {
		cli_error(d->c, "%s: %s", p->folder, strerror(errno));
		p->folder[0] = '\0';
		return false;
	}
	snprintf(p->socket, sizeof(p->socket), "%s/api", p->folder);
	if (!kubectl_start(&p->kubectl, d->args, words, false)) {
		cli_error(d->c, "kubectl cannot be started: %s; expected it in the PATH",
			  strerror(errno));
		return false;
	}
	said = kubectl_line(&p->kubectl, line, sizeof(line), PROXY_MS) &&
	       str_starts(str_of(line), STR("Starting to serve"));
	if (!said) {
		cli_error(d->c, "`kubectl proxy` opened no socket%s%s", line[0] ? ": " : "", line);
	}
	return said;
}

static void proxy_close(struct proxy *p)
{
	(void)kubectl_end(&p->kubectl, true);
	if (p->socket[0] != '\0') {
		unlink(p->socket);
	}
	if (p->folder[0] != '\0') {
		rmdir(p->folder);
	}
}

/* --- the command ------------------------------------------------------------------------------ */

static void count_rules(struct doctor *d)
{
	for (const struct doctor_group *g = doctor_groups; g->name; g++) {
		for (const struct doctor_rule *r = g->rules; r->name; r++) {
			d->n_looked += doctor_wants_group(d, g->name);
		}
	}
}

static enum cli_exit examine(struct doctor *d, enum cli_format format)
{
	struct cli *c = d->c;
	bool done;

	if (!doctor_read_manager(d)) {
		return CLI_FAILED;
	}
	if (!check_clusters(d)) {
		return CLI_USAGE;
	}
	count_rules(d);
	if (!cli_get(d->args, "cluster")) {
		doctor_look(d, NULL);
	}
	done = doctor_read_workers(d);
	end_progress(d);
	return !done                 ? CLI_FAILED
	       : arena_failed(&c->a) ? cli_no_memory(c)
				     : doctor_report(d, format);
}

static enum cli_exit ask(struct doctor *d, enum cli_format format)
{
	enum cli_exit rc = CLI_FAILED;
	struct proxy proxy = {.kubectl.fd = -1};
	struct mk_err err;

	d->asker = asker_new("kubectl-multikueue/" MK_VERSION, &err);
	if (!d->asker) {
		cli_error(d->c, "%s", err.msg);
		return rc;
	}
	/* Caught, so that an interrupt leaves no folder behind. */
	if (cli_follow(d->c) && proxy_open(&proxy, d)) {
		d->m.server = asker_open_socket(d->asker, proxy.socket, &err);
		if (d->m.server) {
			rc = examine(d, format);
		} else {
			cli_error(d->c, "%s", err.msg);
		}
	}
	proxy_close(&proxy);
	asker_free(d->asker);
	return rc;
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	const char *ns = cli_get(args, "manager-namespace");
	struct doctor d = {.c = c,
			   .args = args,
			   .ns = ns ? str_of(ns) : STR("kueue-system"),
			   .now_ms = clock_wall_ms()};
	enum cli_format format;
	int64_t days, seconds;

	if (args->n_rest > 0) {
		return cli_usage(c, NAME, "unexpected %s", args->rest[0]);
	}
	if (!cli_get_format(c, args, &format) || !check_groups(&d) ||
	    !cli_get_number(c, args, "soon", 0, SOON_DAYS, &days) ||
	    !cli_get_number(c, args, "timeout", 1, TIMEOUT_S, &seconds)) {
		return CLI_USAGE;
	}
	if (cli_get(args, "list")) {
		return doctor_list(c, format);
	}
	d.soon_ms = (days < 36500 ? days : 36500) * DAY_MS;
	d.timeout_ms = (seconds < 3600 ? seconds : 3600) * 1000;
	return ask(&d, format);
}

static const struct cli_option options[] = {
	{0, "cluster", "NAME", true, "only this worker; may be given several times"},
	{0, "only", "GROUP", true, "only this group of findings; likewise"},
	{0, "list", NULL, false, "print what there is to find, and ask nobody"},
	{0, "soon", "DAYS", false, "what ends within so many days ends soon (default 14)"},
	{0, "timeout", "SECONDS", false, "for each request (default 10)"},
	{0, "worker-rbac", "FILE", false,
	 "rights that a worker must give (default: the daemon says them)"},
	{'o', "output", "FORMAT", false, "text, wide, json or yaml"},
	DAEMON_OPTIONS,
	{.name = NULL}};

static const struct cli_place places[] = {
	{"cluster", "CLUSTER"},
	{"only", "config|daemon|credentials|connection|identity|rights|kueue|queues|copies"},
	{.of = NULL}};

const struct cli_command cli_doctor = {
	.name = "doctor",
	.synopsis = "[--cluster NAME]... [--only GROUP]...",
	.summary = "what is set up wrongly in the fleet, and how to mend it",
	.help = "Reads the manager with your kubeconfig (through kubectl proxy, on a socket that "
		"only you can\n"
		"open), and each worker with the kubeconfig that the manager has for it, as the "
		"daemon does.\n"
		"Nothing is written: what is created is a dry run on the server. The exit status "
		"is 1 when\n"
		"there are findings. docs/doctor.md explains each.\n",
	.examples = "  kubectl multikueue doctor\n"
		    "  kubectl multikueue doctor --cluster west --only rights -o wide\n"
		    "  kubectl multikueue doctor --soon 30 -o json\n"
		    "  kubectl multikueue doctor --context manager --server http://localhost:8081\n"
		    "  kubectl multikueue doctor --list\n",
	.options = options,
	.places = places,
	.run = run,
};
