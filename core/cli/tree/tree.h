/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands of `kubectl multikueue tree` share: files or a cluster read, judged and turned
 * into trees.
 */
#ifndef MK_CLI_TREE_H
#define MK_CLI_TREE_H

#include "core/cli/tree/files.h"
#include "core/cli/kubectl.h"
#include "core/cli/output.h"
#include "core/quota/validate.h"

/* What a command reads of the cluster when no file is named. */
enum tree_live {
	TREE_FILES, /* nothing: files are needed */
	TREE_QUEUES,
	TREE_WORKLOADS, /* and queues */
};

/* Where objects come from; initialisers of struct cli_option. */
#define TREE_FILE_OPTION                                                                          \
	{                                                                                         \
		'f', "filename", "FILE", true,                                                    \
			"file or folder of YAML or JSON objects; - reads standard input; may be " \
			"repeated"                                                                \
	}
#define TREE_LIVE_OPTIONS                                                                       \
	{'f', "filename", "FILE", true,                                                         \
	 "file or folder of YAML or JSON objects, in place of the cluster's; - reads standard " \
	 "input; may be repeated"},                                                             \
		KUBECTL_OPTIONS

/* Files or a cluster, the objects there, and what is wrong with those. */
struct tree_input {
	bool is_live;       /* of a cluster: objects have no files and lines */
	struct files files; /* else */
	/* live: Cohorts and ClusterQueues as the cluster has them; others in 'set' may differ */
	struct json **limits;
	size_t n_limits;
	struct api_set *set;
	struct validate_errors errors;   /* also of objects of 'before' that are gone */
	const struct tree_input *before; /* borrowed; NULL: judged as they stand */
};

/*
 * Reads the files of option 'name', or without any 'live' of the cluster, and judges them as they
 * stand, or as a change from 'before' (may be NULL; must outlive 'ret'). CLI_OK also when there are
 * errors in ret->errors; else what to exit with, after the error was printed.
 */
enum cli_exit tree_read(struct cli *c, const struct cli_args *args, const char *name,
			enum tree_live live, const struct tree_input *before,
			struct tree_input *ret);

/* Prints the errors, a line each, of files with file and line, and what to do about them. */
void tree_print_errors(struct cli *c, struct buf *out, const struct tree_input *in);

/* "note: ..." on stderr for words of a tree that are right and that nothing acts on yet. */
void tree_print_idle(struct cli *c, const struct api_tree *tree);

extern const struct cli_command tree_status, tree_validate, tree_show, tree_explain, tree_simulate,
	tree_diff, tree_compile, tree_top;

#endif
