/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files into an arena; see file_read.h. */
#include "core/base/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum mk_code read_error(const char *path, int e, struct mk_err *err)
{
	enum mk_code code = e == ENOENT   ? ERR_NOT_FOUND
			    : e == EACCES ? ERR_DENIED
					  : ERR_UNAVAILABLE;

	return err_set(err, code, "cannot read %s: %s", path, strerror(e));
}

enum mk_code file_read_open(struct arena *a, int fd, const char *path, size_t max, mk_str *ret,
			    struct mk_err *err)
{
	struct stat st;
	size_t n = 0;
	char *text;

	if (fstat(fd, &st) != 0) {
		return read_error(path, errno, err);
	}
	if (!S_ISREG(st.st_mode)) {
		return err_set(err, ERR_INVALID, "%s is not a regular file", path);
	}
	if (st.st_size < 0 || (uint64_t)st.st_size > max) {
		return err_set(err, ERR_TOO_BIG, "%s is larger than %zu bytes", path, max);
	}
	text = arena_alloc(a, (size_t)st.st_size + 1);
	if (!text) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	while (n < (size_t)st.st_size) {
		ssize_t got = read(fd, text + n, (size_t)st.st_size - n);

		if (got < 0 && errno != EINTR) {
			return read_error(path, errno, err);
		}
		if (got == 0) {
			break;
		}
		n += got > 0 ? (size_t)got : 0;
	}
	*ret = (mk_str){text, n};
	return ERR_OK;
}

enum mk_code file_read(struct arena *a, const char *path, size_t max, mk_str *ret,
		       struct mk_err *err)
{
	enum mk_code code;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0) {
		return read_error(path, errno, err);
	}
	code = file_read_open(a, fd, path, max, ret, err);
	close(fd);
	return code;
}
