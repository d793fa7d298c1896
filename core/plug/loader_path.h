/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a directory and the files in it so that only root and our own user could have put them
 * there. Used by loader.c. The rules are in loader.h.
 */
#ifndef MK_PLUG_LOADER_PATH_H
#define MK_PLUG_LOADER_PATH_H

#include "core/base/str.h"

/* Lines of `path: problem: expected …, found …`. */
struct problems {
	struct buf text;
	size_t n;
	bool no_memory; /* one of them is that */
};

/* Empty; allocates nothing yet. */
void problems_init(struct problems *pr);

/* Frees the text. */
void problems_done(struct problems *pr);

/* Adds the line "<path>: <message>". */
void problem(struct problems *pr, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Opens the absolute 'path', checking each component (symbolic links are followed and their targets
 * checked like any other). A descriptor for openat, or -1 after one or more problems.
 */
int path_open_dir(const char *path, struct problems *pr);

/*
 * Opens the regular file 'name' of directory 'dir'; a symbolic link must be to a name in the same
 * directory. 'path' is for messages. A readable descriptor, close-on-exec, or -1 after a problem.
 */
int path_open_file(int dir, const char *name, const char *path, struct problems *pr);

#endif
