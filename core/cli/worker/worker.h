/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the group `kubectl multikueue worker`; see worker.c. */
#ifndef MK_CLI_WORKER_WORKER_H
#define MK_CLI_WORKER_WORKER_H

#include "core/cli/cli.h"

extern const struct cli_command worker_add, worker_rotate, worker_remove;

#endif
