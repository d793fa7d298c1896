/* SPDX-License-Identifier: Apache-2.0 */
/* The group `kubectl multikueue worker`: clusters become workers, and cease to be. */
#include "core/cli/worker/worker.h"

static const struct cli_command *const commands[] = {&worker_add, &worker_rotate, &worker_remove,
						     NULL};

const struct cli_command cli_worker = {
	.name = "worker",
	.synopsis = "COMMAND",
	.summary = "make a cluster a worker, replace its token, remove it",
	.help = "These commands run kubectl with two contexts of your kubeconfig: that of the "
		"manager and that of\n"
		"the worker. What they write has the field manager kubectl-multikueue.\n",
	.examples = "  kubectl multikueue worker add west --config workers\n"
		    "  kubectl multikueue worker rotate west\n"
		    "  kubectl multikueue worker remove west\n",
	.below = commands,
};
