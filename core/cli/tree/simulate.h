/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of `tree simulate` share. */
#ifndef MK_CLI_TREE_SIMULATE_H
#define MK_CLI_TREE_SIMULATE_H

#include "core/cli/tree/replay.h"

/* Draws the story of 'r' into file 'path'. CLI_OK, or CLI_FAILED after the error was printed. */
enum cli_exit simulate_svg(struct cli *c, const struct replay *r, const char *path);

#endif
