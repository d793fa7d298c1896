/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue exec`: a command in a pod of a job, on the worker where it runs. */
#include <unistd.h>

#include "core/cli/pods/place.h"

#define NAME "kubectl multikueue exec"

/* Words of the user that fit behind ours. */
enum { COMMAND_MAX = CLI_PROGRAM_MAX - KUBECTL_WORDS_MAX };

/* The first pod that runs; "" none, the error was printed. */
static mk_str running(const struct place *p, struct json *pods)
{
	struct json_iter it = json_iter(pods);

	while (json_next(&it)) {
		if (str_is(json_str_at(it.val, "/status/phase"), "Running")) {
			return json_str_at(it.val, "/metadata/name");
		}
	}
	cli_error(p->c, "no pod of %.*s runs on worker %.*s; `kubectl multikueue pods %.*s -n %s`",
		  STR_ARG(p->w.name), STR_ARG(p->worker), STR_ARG(p->w.name), p->ns);
	return STR("");
}

/* The command line becomes the program that this process goes on as. */
static enum cli_exit become(const struct place *p, mk_str pod)
{
	struct cli *c = p->c;
	const char *container = cli_get(p->args, "container"), *argv[KUBECTL_WORDS_MAX];
	const char *words[8] = {"exec", arena_dup(&c->a, pod).p, "--stdin"};
	size_t n = 3;

	if (c->terminal && isatty(STDIN_FILENO) == 1) {
		words[n++] = "--tty";
	}
	if (container) {
		words[n++] = "--container";
		words[n++] = container;
	}
	words[n++] = "--";
	words[n] = NULL;
	if (!words[1]) {
		return cli_no_memory(c);
	}
	if (!place_words(p, words, argv)) {
		return CLI_USAGE;
	}
	for (n = 0; argv[n]; n++) {
		c->program[n] = argv[n];
	}
	for (size_t i = 1; i < p->args->n_rest; i++) {
		c->program[n++] = p->args->rest[i];
	}
	c->program[n] = NULL;
	return CLI_OK;
}

/* For a job that runs on a worker. */
static enum cli_exit enter(const struct place *p)
{
	struct json *pods = place_pods(p);
	mk_str pod;

	if (!pods) {
		return CLI_FAILED;
	}
	pods = place_pod(p, pods);
	pod = pods ? running(p, pods) : STR("");
	return pod.n > 0 ? become(p, pod) : CLI_NO;
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	enum cli_exit rc = CLI_FAILED;
	struct place p;

	if (args->n_rest < 2) {
		return cli_usage(c, NAME, "expected a job and, behind --, a command");
	}
	if (args->n_rest > COMMAND_MAX) {
		return cli_usage(c, NAME, "expected a command of at most %d words, found %zu",
				 (int)COMMAND_MAX, args->n_rest - 1);
	}
	if (place_open(&p, c, args, args->rest[0])) {
		rc = place_find(&p);
		rc = rc == CLI_OK ? enter(&p) : rc;
	}
	place_close(&p);
	return rc;
}

static const struct cli_option options[] = {
	{0, "pod", "NAME", false, "this pod (default the first one that runs)"},
	{'c', "container", "NAME", false, "container (default kubectl's choice)"},
	PLACE_OPTIONS,
	{.name = NULL}};

static const struct cli_place places[] = {{"", "JOB"}, {.of = NULL}};

const struct cli_command cli_exec = {
	.name = "exec",
	.synopsis = "[KIND/]NAME [-n NAMESPACE] [--pod NAME] -- COMMAND...",
	.summary = "a command in a pod of a job, on the worker where it runs",
	.help = "Runs `kubectl exec` there, with your own kubeconfig and rights, and with your "
		"terminal if\nthere is one. The exit status is that of kubectl.\n",
	.examples = "  kubectl multikueue exec train -n team-a -- nvidia-smi\n"
		    "  kubectl multikueue exec train --pod train-0-x7k2p -- bash\n",
	.options = options,
	.places = places,
	.run = run,
};
