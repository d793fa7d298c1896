/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands of `kubectl multikueue tree` share: files read, judged and turned into trees.
 */
#ifndef MK_CLI_TREE_H
#define MK_CLI_TREE_H

#include "core/cli/tree/files.h"
#include "core/cli/output.h"
#include "core/quota/validate.h"

/* Files, the objects in them, and what is wrong with those. */
struct tree_input {
	struct files files;
	struct api_set *set;
	struct validate_errors errors;   /* also of objects of 'before' that are gone */
	const struct tree_input *before; /* borrowed; NULL: judged as they stand */
};

/*
 * Reads the files of option 'name' and judges them as they stand, or as a change from 'before' (may
 * be NULL; must outlive 'ret'). CLI_OK also when there are errors in ret->errors; else what to exit
 * with, after the error was printed.
 */
enum cli_exit tree_read(struct cli *c, const struct cli_args *args, const char *name,
			const struct tree_input *before, struct tree_input *ret);

/* Prints the errors, a line each with file and line, and what to do about them, to 'out'. */
void tree_print_errors(struct cli *c, struct buf *out, const struct tree_input *in);

/* "note: ..." on stderr for words of a tree that are right and that nothing acts on yet. */
void tree_print_idle(struct cli *c, const struct api_tree *tree);

extern const struct cli_command tree_status, tree_validate, tree_show, tree_explain, tree_simulate,
	tree_diff, tree_compile;

#endif
