/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a cluster, read with kubectl, in place of files. */
#ifndef MK_CLI_TREE_LIVE_H
#define MK_CLI_TREE_LIVE_H

#include "core/cli/kubectl.h"
#include "core/cli/tree/tree.h"

/*
 * Reads what trees are made of from the cluster of kubectl's context, one list per kind, into
 * in->set and in->limits. Kinds that the cluster does not serve are passed over. A ClusterQueue
 * that a tree of this cluster was compiled to is taken as the tree's owner wrote it: without the
 * Cohort and the limits that compile gave it. CLI_OK, or CLI_FAILED after the error was printed; of
 * lists that are refused, each right that is missing.
 */
enum cli_exit live_read(struct cli *c, const struct cli_args *args, enum tree_live what,
			struct tree_input *in);

#endif
