/* SPDX-License-Identifier: Apache-2.0 */
/* The group `kubectl multikueue tree`. */
#include "core/cli/tree/tree.h"

static const struct cli_command *const commands[] = {
	&tree_show, &tree_top,     &tree_validate, &tree_explain, &tree_simulate,
	&tree_diff, &tree_compile, &tree_status,   NULL,
};

const struct cli_command cli_tree = {
	.name = "tree",
	.synopsis = "COMMAND [-f FILE...]",
	.summary = "queue trees: look, measure, check, explain, simulate, compare, compile",
	.help = "With -f all commands work on files alone and need no cluster. Without, show, top, "
		"explain, validate\n"
		"and compile read the cluster of the kubeconfig, through kubectl. They know both "
		"ways to write a\n"
		"tree, ClusterQueues with a parent and ClusterQuotaTree; of a cluster show, top "
		"and "
		"explain take\n"
		"Kueue's Cohorts, too.\n",
	.examples = "  kubectl multikueue tree show\n"
		    "  kubectl multikueue tree top -w\n"
		    "  kubectl multikueue tree show -f queues.yaml\n"
		    "  kubectl multikueue tree validate -f queues/ -f localqueues.yaml\n",
	.below = commands,
};
