/* SPDX-License-Identifier: Apache-2.0 */
/* `tree status`: what the controller writes into ClusterQueueTree "default" for these queues. */
#include "core/cli/tree/tree.h"

static enum cli_exit run_status(struct cli *c, const struct cli_args *args)
{
	struct tree_input in;
	enum cli_format format;
	struct json *status;
	enum cli_exit rc;

	if (!cli_get_format(c, args, &format)) {
		return CLI_USAGE;
	}
	if (args->n_rest > 0) {
		return cli_usage(c, "kubectl multikueue tree status",
				 "unexpected %s: name files with -f", args->rest[0]);
	}
	rc = tree_read(c, args, "filename", TREE_FILES, NULL, &in);
	if (rc != CLI_OK) {
		return rc;
	}
	if (in.errors.n > 0) {
		tree_print_errors(c, &c->err, &in);
		return CLI_NO;
	}
	status = api_status(&c->a, in.set);
	if (!status || !output_value(c, status, format == CLI_JSON ? format : CLI_YAML)) {
		return cli_no_memory(c);
	}
	return CLI_OK;
}

static const struct cli_option options[] = {
	{'f', "filename", "FILE", true,
	 "file or folder of YAML or JSON objects; - reads standard input; may be repeated"},
	{'o', "output", "FORMAT", false, "yaml (default) or json"},
	{0, NULL, NULL, false, NULL},
};

const struct cli_command tree_status = {
	.name = "status",
	.synopsis = "-f FILE... [-o FORMAT]",
	.summary = "print the status of ClusterQueueTree: the trees that parents make",
	.help = "The controller writes the same into ClusterQueueTree \"default\", with "
		"conditions: "
		"each tree with\n"
		"its nodes in breadth-first order.\n",
	.examples = "  kubectl multikueue tree status -f queues.yaml\n"
		    "  kubectl get clusterqueues -o json | kubectl multikueue tree status -f - -o "
		    "json\n",
	.options = options,
	.run = run_status,
};
