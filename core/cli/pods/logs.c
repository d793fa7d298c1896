/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue logs`: what the pods of a job print, wherever the job runs. */
#include "core/base/clock.h"
#include "core/cli/pods/place.h"
#include "core/cli/pods/streams.h"

#define NAME "kubectl multikueue logs"

enum { LOOK_MS = 2000, READ_MS = 200, WHERE_SIZE = 256, WORDS = 16 };

/* The command, which goes on for a while. */
struct logs {
	struct cli *c;
	struct place p;
	struct streams s;
	bool follows;
	bool began;             /* the job was seen on a worker, and its pods could be listed */
	int64_t look_at;        /* monotonic ms */
	char where[WHERE_SIZE]; /* what was said last of where the job is */
	size_t bad;             /* streams that did not end well */
};

/* --- one container ---------------------------------------------------------------------------- */

/* The words for kubectl, of which those that the user gave are borrowed. False: out of memory. */
static bool words_of(const struct logs *l, mk_str pod, mk_str container, const char *words[WORDS])
{
	static const char *const passed[] = {"tail", "since"};
	struct arena *a = &l->c->a;
	const struct cli_args *args = l->p.args;
	size_t n = 0;

	words[n++] = "logs";
	words[n++] = arena_dup(a, pod).p;
	words[n++] = "--container";
	words[n++] = arena_dup(a, container).p;
	if (l->follows) {
		words[n++] = "--follow";
	}
	if (cli_get(args, "previous")) {
		words[n++] = "--previous";
	}
	if (cli_get(args, "timestamps")) {
		words[n++] = "--timestamps";
	}
	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++) {
		if (cli_get(args, passed[i])) {
			words[n++] =
				arena_printf(a, "--%s=%s", passed[i], cli_get(args, passed[i])).p;
		}
	}
	words[n] = NULL;
	return !arena_failed(a) || cli_no_memory(l->c) == CLI_OK;
}

static bool begin(struct logs *l, const struct json *pod, const struct place_container *k,
		  mk_str key)
{
	struct arena *a = &l->c->a;
	mk_str name = json_str_at(pod, "/metadata/name");
	const char *words[WORDS], *argv[KUBECTL_WORDS_MAX];
	mk_str label = cli_get(l->p.args, "no-prefix")
			       ? STR("")
			       : arena_printf(a, "[%.*s/%.*s/%.*s] ", STR_ARG(l->p.worker),
					      STR_ARG(name), STR_ARG(k->name));

	return words_of(l, name, k->name, words) && place_words(&l->p, words, argv) &&
	       streams_begin(&l->s, key, label, argv);
}

/* Reads one that has begun to its end: without -f the outputs come one behind the other. */
static bool drain(struct logs *l)
{
	size_t bad;

	while (l->s.n > 0) {
		if (!streams_read(&l->s, READ_MS, &bad) || !cli_flush(l->c)) {
			return false;
		}
		l->bad += bad;
		if (l->c->host && !l->c->host->wait(0)) {
			return false; /* the user ended it */
		}
	}
	return true;
}

/* Begins what has a log and has not begun. False: the error was printed. */
static bool begin_all(struct logs *l, const struct json *pods)
{
	const char *only = cli_get(l->p.args, "container");
	struct json_iter it = json_iter(pods);
	struct place_container k;

	while (json_next(&it)) {
		for (size_t pos = 0; place_each(it.val, &pos, &k);) {
			mk_str key = arena_printf(&l->c->a, "%.*s/%.*s/%lld",
						  STR_ARG(json_str_at(it.val, "/metadata/uid")),
						  STR_ARG(k.name), (long long)k.restarts);

			if (!k.started || (only && !str_is(k.name, only)) ||
			    streams_seen(&l->s, key) || !streams_has_room(&l->s)) {
				continue;
			}
			if (!begin(l, it.val, &k, key) || (!l->follows && !drain(l))) {
				return false;
			}
		}
	}
	return true;
}

/* --- where it is ------------------------------------------------------------------------------ */

/* Says where the job is, on standard error, when that has changed. */
static void say_where(struct logs *l)
{
	const struct place *p = &l->p;
	struct arena *a = &l->c->a;
	mk_str name = p->w.name, now;

	if (p->worker.n > 0) {
		now = arena_printf(a, "%.*s runs on worker %.*s", STR_ARG(name),
				   STR_ARG(p->worker));
	} else if (str_is(p->phase, "Finished")) {
		now = arena_printf(a, "%.*s has ended", STR_ARG(name));
	} else {
		now = arena_printf(a, "%.*s runs on no worker: %.*s", STR_ARG(name),
				   STR_ARG(p->phase));
	}
	now = str_cut(now, WHERE_SIZE - 1);
	if (str_is(now, l->where)) {
		return;
	}
	memcpy(l->where, now.p, now.n);
	l->where[now.n] = '\0';
	buf_printf(&l->c->err, "%s\n", l->where);
}

/* The daemon gave no place. What has begun goes on while only the daemon does not answer. */
static enum cli_exit nowhere(struct logs *l)
{
	if (l->began) {
		buf_clear(&l->c->err);
		l->c->ends = l->p.missing && l->s.n == 0;
		return CLI_OK;
	}
	l->c->ends = true;
	return l->p.missing ? CLI_NO : CLI_FAILED;
}

/* Begins the logs of all pods that there are now. */
static enum cli_exit show_all(struct logs *l)
{
	struct json *pods = place_pods(&l->p);

	pods = pods ? place_pod(&l->p, pods) : NULL;
	return pods && begin_all(l, pods) ? CLI_OK : CLI_NO;
}

/* A look at the daemon and at the pods. Once it has begun, a worker may fail to answer. */
static enum cli_exit look(struct logs *l)
{
	if (!place_look(&l->p)) {
		return nowhere(l);
	}
	say_where(l);
	if (l->p.worker.n == 0) {
		l->c->ends = str_is(l->p.phase, "Finished") && l->s.n == 0;
		return CLI_OK;
	}
	if (show_all(l) == CLI_OK) {
		l->began = true;
		return CLI_OK;
	}
	l->c->ends = !l->began;
	return l->began ? CLI_OK : CLI_NO;
}

static enum cli_exit follow_step(void *ctx)
{
	struct logs *l = ctx;
	int64_t now = clock_mono_ms();
	enum cli_exit rc = CLI_OK;
	size_t bad;

	/* Where the job is gets said before its first line is read. */
	if (now >= l->look_at) {
		l->look_at = now + LOOK_MS;
		rc = look(l);
	} else if (!streams_read(&l->s, READ_MS, &bad)) {
		rc = cli_no_memory(l->c);
	}
	return rc;
}

/* --- the command ------------------------------------------------------------------------------ */

static enum cli_exit once(struct logs *l)
{
	enum cli_exit rc = place_find(&l->p);

	rc = rc == CLI_OK ? show_all(l) : rc;
	if (rc == CLI_OK && map_len(&l->s.seen) == 0) {
		cli_error(l->c,
			  "no container of %.*s has started on worker %.*s; `kubectl multikueue "
			  "pods %.*s -n %s` says why, -f waits",
			  STR_ARG(l->p.w.name), STR_ARG(l->p.worker), STR_ARG(l->p.w.name),
			  l->p.ns);
		return CLI_NO;
	}
	return rc == CLI_OK && l->bad > 0 ? CLI_FAILED : rc;
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	static struct logs l; /* too large for the stack */
	enum cli_exit rc = CLI_FAILED;
	int64_t tail;

	if (args->n_rest != 1) {
		return cli_usage(c, NAME, "expected one job or Workload, found %zu", args->n_rest);
	}
	if (!cli_get_number(c, args, "tail", -1, -1, &tail)) {
		return CLI_USAGE;
	}
	l = (struct logs){.c = c, .follows = cli_get(args, "follow") != NULL};
	c->is_data = !c->terminal; /* a pipe gets the bytes as they are */
	streams_init(&l.s, c);
	if (place_open(&l.p, c, args, args->rest[0]) && cli_follow(c)) {
		rc = l.follows ? cli_repeat(c, 1, false, follow_step, &l) : once(&l);
	}
	streams_done(&l.s);
	place_close(&l.p);
	return rc;
}

static const struct cli_option options[] = {
	{'f', "follow", NULL, false, "go on until the job has ended, also when it moves"},
	{'c', "container", "NAME", false, "only this container (default all)"},
	{0, "pod", "NAME", false, "only this pod (default all)"},
	{'p', "previous", NULL, false, "of the container before the last restart"},
	{0, "tail", "LINES", false, "begin with the last lines of each container"},
	{0, "since", "DURATION", false, "only what is newer, such as 5m"},
	{0, "timestamps", NULL, false, "each line with its time"},
	{0, "no-prefix", NULL, false, "lines without [WORKER/POD/CONTAINER]"},
	PLACE_OPTIONS,
	{.name = NULL}};

static const struct cli_place places[] = {{"", "JOB"}, {.of = NULL}};

const struct cli_command cli_logs = {
	.name = "logs",
	.synopsis = "[KIND/]NAME [-n NAMESPACE] [-f]",
	.summary = "what the pods of a job print, on whatever worker it runs",
	.help = "The daemon says which worker took the job. `kubectl logs` runs there for each "
		"container, with\nyour own kubeconfig and rights: with the context that has the "
		"worker's name, or one that\n--worker-context names. With -f it waits for the job, "
		"takes in pods that start later, and goes\nalong when the job moves to another "
		"worker. When a job has ended its pods are deleted there,\nand their logs with "
		"them.\n",
	.examples = "  kubectl multikueue logs train -n team-a -f\n"
		    "  kubectl multikueue logs train --tail 20 -c main\n"
		    "  kubectl multikueue logs jobset/train --worker-context west=kind-west\n",
	.options = options,
	.places = places,
	.run = run,
};
