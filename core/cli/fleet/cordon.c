/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kubectl multikueue cordon`, `uncordon` and `drain`: take a worker out of use and back, by the
 * annotation that docs/operations.md describes. kubectl writes it, with the user's own rights.
 */
#include <errno.h>
#include <stdio.h>

#include "core/api/names.h"
#include "core/base/clock.h"
#include "core/base/timefmt.h"
#include "core/cli/fleet/rows.h"

#define RESOURCE "multikueuecluster.kueue.x-k8s.io/"

enum {
	PATCH_MS = 60 * 1000,
	POLL_MS = 2000,
	AGAIN_MS = 60 * 1000, /* progress that stays the same is printed again */
	SEEN_MS = 60 * 1000,  /* a daemon that reads the annotation has seen it by then */
	NAME_BYTES = 253,
};

/* --- the annotation --------------------------------------------------------------------------- */

/* To be written: 'cordon' NULL takes the cordon away, 'reason' NULL leaves that as it is. */
struct wish {
	const char *name; /* of the MultiKueueCluster */
	const char *cordon, *reason;
	const char *done; /* "cordoned" */
};

/* The only argument; false: the error was printed. */
static bool one_name(struct cli *c, const struct cli_args *args, const char *command,
		     const char **ret)
{
	mk_str name = STR("");

	if (args->n_rest != 1) {
		(void)cli_usage(c, command, "expected one MultiKueueCluster, found %zu",
				args->n_rest);
		return false;
	}
	name = str_of(args->rest[0]);
	if (name.n == 0 || name.n > NAME_BYTES || str_index(name, '/') >= 0) {
		(void)cli_usage(c, command,
				"expected the name of a MultiKueueCluster, found \"%.*s\"",
				STR_ARG(str_cut(name, NAME_BYTES)));
		return false;
	}
	*ret = args->rest[0];
	return true;
}

static mk_str patch_of(struct cli *c, const struct wish *w)
{
	struct arena *a = &c->a;
	struct json *body = json_new_obj(a), *meta = json_new_obj(a), *notes = json_new_obj(a);
	mk_str none = STR("null");
	struct json *null = NULL;

	(void)json_parse(a, none, &null, NULL);
	json_set(a, notes, STR(NAME_CORDON), w->cordon ? json_new_str(a, str_of(w->cordon)) : null);
	if (!w->cordon || w->reason) {
		json_set(a, notes, STR(NAME_CORDON_REASON),
			 w->cordon ? json_new_str(a, str_of(w->reason)) : null);
	}
	json_set(a, meta, STR("annotations"), notes);
	json_set(a, body, STR("metadata"), meta);
	return json_write(a, body);
}

/* Has kubectl write it; what kubectl says of errors is on standard error already. */
static enum cli_exit write_wish(struct cli *c, const struct cli_args *args, const struct wish *w)
{
	mk_str object = arena_printf(&c->a, "multikueueclusters.kueue.x-k8s.io/%s", w->name);
	mk_str patch = patch_of(c, w);
	const char *words[] = {"patch", object.p, "--type=merge", "--patch", patch.p, NULL};
	struct kubectl k;
	char line[1024];
	bool same;

	if (arena_failed(&c->a)) {
		return cli_no_memory(c);
	}
	if (!kubectl_start(&k, args, words, false)) {
		cli_error(c, "kubectl cannot be started: %s; expected it in the PATH",
			  strerror(errno));
		return CLI_FAILED;
	}
	if (!kubectl_line(&k, line, sizeof(line), PATCH_MS)) {
		line[0] = '\0';
	}
	if (!kubectl_end(&k, line[0] == '\0')) {
		cli_error(c, "MultiKueueCluster \"%s\" was not changed: kubectl failed", w->name);
		return CLI_FAILED;
	}
	same = str_ends(str_of(line), STR("(no change)"));
	buf_printf(&c->out, RESOURCE "%s %s%s\n", w->name, same ? "already " : "", w->done);
	return CLI_OK;
}

static enum cli_exit cordon(struct cli *c, const struct cli_args *args)
{
	struct wish w = {.cordon = "Cordon", .reason = cli_get(args, "reason"), .done = "cordoned"};

	return one_name(c, args, "kubectl multikueue cordon", &w.name) ? write_wish(c, args, &w)
								       : CLI_USAGE;
}

static enum cli_exit uncordon(struct cli *c, const struct cli_args *args)
{
	struct wish w = {.done = "uncordoned"};

	return one_name(c, args, "kubectl multikueue uncordon", &w.name) ? write_wish(c, args, &w)
									 : CLI_USAGE;
}

/* --- until it is empty ------------------------------------------------------------------------ */

struct drain {
	struct cli *c;
	struct daemon d;
	struct wish w;
	int64_t began_ms, said_ms, timeout_ms; /* timeout 0: none */
	bool is_drained;
	char said[256]; /* the progress that was printed last */
};

/* How long it has taken, as kubectl writes ages. */
static mk_str taken(struct drain *s)
{
	int64_t began = clock_wall_ms() - (clock_mono_ms() - s->began_ms);

	return row_age(s->c, time_rfc3339(&s->c->a, began));
}

/* Prints what has changed since the last line, and now and then what has not. */
static void progress(struct drain *s, mk_str words)
{
	int64_t now = clock_mono_ms();

	if (str_is(words, s->said) && now - s->said_ms < AGAIN_MS) {
		return;
	}
	s->said_ms = now;
	snprintf(s->said, sizeof(s->said), "%.*s", STR_ARG(words));
	buf_printf(&s->c->out, "%s: %.*s, %.*s\n", s->w.name, STR_ARG(words), STR_ARG(taken(s)));
}

static mk_str count(struct drain *s, size_t n, const char *one, const char *many)
{
	return arena_printf(&s->c->a, "%zu %s", n, n == 1 ? one : many);
}

/* What keeps the worker from being empty; "": nothing, or memory ran out. */
static mk_str what_is_left(struct drain *s, const struct json *cluster, size_t jobs)
{
	mk_str state = row_text(cluster, "state");
	int64_t clones = json_int(json_get(cluster, "clones"), 0);

	if (!str_is(state, "Connected")) {
		return arena_printf(&s->c->a,
				    "not connected; what runs there is not known, and counts as "
				    "lost after workerLostTimeout");
	}
	if (!str_is(row_text(cluster, "cordon"), s->w.cordon)) {
		return STR("the daemon has not seen the annotation yet");
	}
	if (jobs > 0) {
		return count(s, jobs, "job runs there", "jobs run there");
	}
	return clones > 0 ? count(s, (size_t)clones, "Workload is being removed",
				  "Workloads are being removed")
			  : STR("");
}

static enum cli_exit judge(struct drain *s, mk_str left, bool is_seen)
{
	struct cli *c = s->c;
	int64_t age = clock_mono_ms() - s->began_ms;

	if (arena_failed(&c->a)) {
		return cli_no_memory(c);
	}
	if (left.n == 0) {
		buf_printf(&c->out, RESOURCE "%s drained\n", s->w.name);
		s->is_drained = c->ends = true;
		return CLI_OK;
	}
	if (!is_seen && age >= SEEN_MS) {
		cli_error(c,
			  "the daemon does not tell that %s is cordoned; expected one that reads "
			  "annotation " NAME_CORDON,
			  s->w.name);
		return CLI_FAILED;
	}
	progress(s, left);
	if (s->timeout_ms > 0 && age >= s->timeout_ms) {
		cli_error(c, "%s is not empty within the --timeout: %.*s; it stays cordoned",
			  s->w.name, STR_ARG(left));
		c->ends = true;
	}
	return CLI_NO;
}

static enum cli_exit look(void *ctx)
{
	struct drain *s = ctx;
	struct cli *c = s->c;
	mk_str name = daemon_encode(c, str_of(s->w.name));
	int status;
	const struct json *clusters = daemon_get(&s->d, STR("/v1/clusters"), &status), *mine;
	struct json *rows;

	if (!clusters) {
		return CLI_FAILED;
	}
	mine = json_find(json_get(clusters, "items"), "name", s->w.name);
	if (!mine) {
		return judge(s, STR("the daemon does not know this cluster"), false);
	}
	rows = rows_of_workloads(&s->d,
				 arena_printf(&c->a, "phase=Won&cluster=%.*s", STR_ARG(name)));
	return rows ? judge(s, what_is_left(s, mine, json_len(rows)), json_get(mine, "cordon"))
		    : CLI_FAILED;
}

static bool timeout_of(struct cli *c, const struct cli_args *args, int64_t *ret)
{
	const char *text = cli_get(args, "timeout");
	struct mk_err err;

	*ret = 0;
	if (!text || (duration_parse(str_of(text), ret, &err) && *ret >= 0)) {
		return true;
	}
	cli_error(c, "--timeout %s: expected a duration such as 90s, 30m or 1h", text);
	return false;
}

static enum cli_exit watch(struct drain *s, const struct cli_args *args)
{
	struct cli *c = s->c;
	enum cli_exit rc = CLI_FAILED;

	s->began_ms = clock_mono_ms();
	if (daemon_open(&s->d, c, args)) {
		rc = cli_repeat(c, POLL_MS, false, look, s);
	}
	daemon_close(&s->d);
	if (!s->is_drained) {
		buf_printf(&c->err,
			   "%s stays cordoned; `kubectl multikueue uncordon %s` takes it back.\n",
			   s->w.name, s->w.name);
	}
	return rc;
}

static enum cli_exit drain(struct cli *c, const struct cli_args *args)
{
	bool evicts = cli_get(args, "evict") != NULL;
	struct drain s = {.c = c,
			  .w = {.cordon = evicts ? "Evict" : "Cordon",
				.reason = cli_get(args, "reason"),
				.done = evicts ? "cordoned; what runs there is queued again"
					       : "cordoned; what runs there goes on"}};
	enum cli_exit rc;

	if (!one_name(c, args, "kubectl multikueue drain", &s.w.name) ||
	    !timeout_of(c, args, &s.timeout_ms)) {
		return CLI_USAGE;
	}
	if (!cli_follow(c)) {
		return CLI_FAILED;
	}
	rc = write_wish(c, args, &s.w);
	return rc == CLI_OK ? watch(&s, args) : rc;
}

/* --- the commands ----------------------------------------------------------------------------- */

#define REASON                                                               \
	{                                                                    \
		0, "reason", "TEXT", false, "why, for those whose jobs wait" \
	}
#define KUBECTL                                                                  \
	{0, "context", "NAME", false, "context of the kubeconfig, for kubectl"}, \
	{                                                                        \
		0, "kubeconfig", "FILE", false, "kubeconfig, for kubectl"        \
	}

static const struct cli_option cordon_options[] = {REASON, KUBECTL, {.name = NULL}};
static const struct cli_option uncordon_options[] = {KUBECTL, {.name = NULL}};
static const struct cli_option drain_options[] = {
	{0, "evict", NULL, false, "queue again what runs there; without it: wait for its end"},
	{0, "timeout", "DURATION", false, "how long to wait (default 0: without end)"},
	REASON,
	DAEMON_OPTIONS,
	{.name = NULL}};

static const struct cli_place places[] = {{"", "CLUSTER"}, {.of = NULL}};

const struct cli_command cli_cordon = {
	.name = "cordon",
	.synopsis = "CLUSTER [--reason TEXT]",
	.summary = "take a worker out: nothing new begins there, what runs goes on",
	.help = "Sets annotation " NAME_CORDON " of the MultiKueueCluster; see "
		"docs/operations.md.\n",
	.examples = "  kubectl multikueue cordon west --reason \"new disks until Friday\"\n",
	.options = cordon_options,
	.places = places,
	.run = cordon,
};

const struct cli_command cli_uncordon = {
	.name = "uncordon",
	.synopsis = "CLUSTER",
	.summary = "take a cordoned worker back",
	.help = "Removes the annotations of cordon and drain; the worker is asked again at "
		"once.\n",
	.examples = "  kubectl multikueue uncordon west\n",
	.options = uncordon_options,
	.places = places,
	.run = uncordon,
};

const struct cli_command cli_drain = {
	.name = "drain",
	.synopsis = "CLUSTER [--evict] [--timeout DURATION]",
	.summary = "cordon a worker, and wait until nothing of ours is left there",
	.help = "Without --evict jobs run to their end; with it they are stopped and queued again, "
		"and begin\nanew on another worker. An interrupt ends the wait, not the cordon. "
		"The "
		"exit status is 1 when\nthe worker is not empty.\n",
	.examples = "  kubectl multikueue drain west --timeout 2h\n"
		    "  kubectl multikueue drain west --evict --reason \"new disks until Friday\"\n",
	.options = drain_options,
	.places = places,
	.run = drain,
};
