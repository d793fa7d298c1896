/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files into an arena. The messages name the file and the reason. */
#ifndef MK_BASE_FILE_READ_H
#define MK_BASE_FILE_READ_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"

/*
 * Reads a regular file of at most 'max' bytes into 'a', NUL-terminated. ERR_NOT_FOUND, ERR_DENIED,
 * ERR_UNAVAILABLE (other reasons to fail), ERR_INVALID (not a regular file), ERR_TOO_BIG,
 * ERR_NO_MEMORY.
 */
enum mk_code file_read(struct arena *a, const char *path, size_t max, mk_str *ret,
		       struct mk_err *err);

/*
 * The same of a file that is open at its beginning; 'path' is for messages. The descriptor stays
 * the caller's.
 */
enum mk_code file_read_open(struct arena *a, int fd, const char *path, size_t max, mk_str *ret,
			    struct mk_err *err);

#endif
