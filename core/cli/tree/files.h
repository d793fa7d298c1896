/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of Kubernetes objects for the commands: YAML or JSON, many documents in a file, with the
 * lines of their values.
 */
#ifndef MK_CLI_TREE_FILES_H
#define MK_CLI_TREE_FILES_H

#include "core/base/yaml.h"
#include "core/cli/cli.h"
#include "core/quota/api.h"

/* One object of a file. */
struct files_doc {
	const char *file; /* as it was named; "-" reads standard input */
	size_t first;     /* line of the file where the document begins, from 1 */
	struct yaml_lines lines;
	mk_str prefix; /* JSON pointer of the object in its document: "", or "/items/3" of a List */
	struct json *json;
};

struct files {
	struct files_doc *docs; /* tags of the set's objects are indexes in here */
	size_t n, size;
};

/*
 * Reads 'paths' (files; of a folder, its .yaml, .yml and .json files by name; "-": standard input).
 * Errors are printed with file and line; false then, or when no object was found.
 */
bool files_read(struct cli *c, struct files *f, const char *const *paths, size_t n);

/*
 * Gives ClusterQueues that a cluster printed (they have a uid), and that a tree was compiled to,
 * back what their owners wrote; compile_source.h. False: out of memory, which was told.
 */
bool files_restore(struct cli *c, struct files *f);

/*
 * Adds the objects to 'set', whose arena must be the cli's. Errors are printed with file and line;
 * false then.
 */
bool files_add(struct cli *c, const struct files *f, struct api_set *set);

/*
 * The line of the value at 'path' ("spec.hierarchies[a].weightedQuotas[0].name") in object 'tag';
 * of what it is in, when it is not there.
 */
size_t files_line(struct cli *c, const struct files *f, size_t tag, mk_str path);

#endif
