/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of kubeconfigs: how they resolve, step by step, and whether they may be read. For files.c.
 */
#ifndef MK_DAEMON_FILE_PATH_H
#define MK_DAEMON_FILE_PATH_H

#include <limits.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"

/* One step of the way: 'name' is looked up in 'dir', both without symlinks before them. */
typedef void file_step_fn(void *ctx, const char *dir, const char *name);

/*
 * Follows 'path' and all its symlinks; before each lookup 'fn' (may be NULL) is called with it.
 * 'ret_at' becomes the way without symlinks, or as far as it went: its last name is the one that
 * failed. Returns 0 or errno.
 */
int file_walk(const char *path, file_step_fn *fn, void *ctx, char ret_at[static PATH_MAX]);

/*
 * May the kubeconfig 'path' be read, with 'directory' as the only place for them (Kueue's gate
 * MultiKueueKubeConfigPathValidation)? 'ret' becomes the path to read, without symlinks, in 'a'.
 * ERR_INVALID with Kueue's texts; ERR_NO_MEMORY.
 */
enum mk_code file_path_check(struct arena *a, mk_str path, const char *directory, const char **ret,
			     struct mk_err *err);

/* Go's words for errno. 'out' is used when they must be made. */
const char *file_error(int e, char out[static 128]);

#endif
