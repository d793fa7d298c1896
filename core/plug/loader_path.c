/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a path on descriptors. realpath() and then stat() would check one path and open another;
 * here every component is opened below the one that was checked before it, without following links,
 * and looked at through its descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/plug/loader_path.h"

enum { MAX_LINKS = 40 };

void problems_init(struct problems *pr)
{
	*pr = (struct problems){.n = 0};
	buf_init(&pr->text, 256 * 1024);
}

void problems_done(struct problems *pr)
{
	buf_done(&pr->text);
}

void problem(struct problems *pr, const char *path, const char *fmt, ...)
{
	char line[4096];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	buf_printf(&pr->text, "%s%s: %s", pr->n ? "\n" : "", path, line);
	pr->n++;
}

/*
 * Owner and mode of an open component. 'is_parent': the sticky bit excuses a directory that all may
 * write to, because there only its owner can rename or remove what we walk through, and that
 * is checked next.
 */
static bool check_fd(int fd, const char *path, bool is_parent, struct problems *pr)
{
	struct stat st;
	struct statvfs fs;
	size_t before = pr->n;

	if (fstat(fd, &st) != 0 || fstatvfs(fd, &fs) != 0) {
		problem(pr, path, "status: expected to read it, found: %s", strerror(errno));
		return false;
	}
	if (fs.f_flag & ST_RDONLY) {
		return true;
	}
	if (st.st_uid != 0 && st.st_uid != geteuid()) {
		problem(pr, path, "owner: expected root or uid %u, found uid %u",
			(unsigned)geteuid(), (unsigned)st.st_uid);
	}
	bool excused = is_parent && S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX);

	if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !excused) {
		problem(pr, path, "mode: expected not writable by group or others, found %04o",
			(unsigned)(st.st_mode & 07777));
	}
	return pr->n == before;
}

/* The walk: what is open, how it is called, and what is still to go. */
struct walk {
	int fd;
	char done[PATH_MAX];
	char left[PATH_MAX];
	int links;
};

static bool restart(struct walk *w)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		return false;
	}
	if (w->fd >= 0) {
		close(w->fd);
	}
	w->fd = fd;
	w->done[0] = '\0';
	return true;
}

/*
 * Cuts the next component off w->left into 'name'; false when there is none or it is too long,
 * which 'name' shows cut.
 */
static bool next_component(struct walk *w, char name[NAME_MAX + 1])
{
	const char *p = w->left + strspn(w->left, "/");
	size_t n = strcspn(p, "/");

	bool fits = n <= NAME_MAX;

	memcpy(name, p, fits ? n : NAME_MAX);
	name[fits ? n : NAME_MAX] = '\0';
	if (n == 0 || !fits) {
		errno = fits ? ENOENT : ENAMETOOLONG;
		return false;
	}
	memmove(w->left, p + n, strlen(p + n) + 1);
	return true;
}

/* Puts the target of link 'name' before what is left. */
static bool follow(struct walk *w, const char *name)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlinkat(w->fd, name, target, sizeof(target) - 1);

	if (n <= 0 || ++w->links > MAX_LINKS) {
		errno = n <= 0 ? errno : ELOOP;
		return false;
	}
	target[n] = '\0';
	memcpy(rest, w->left, strlen(w->left) + 1);
	int len = snprintf(w->left, sizeof(w->left), "%s/%s", target, rest);

	if (len < 0 || (size_t)len >= sizeof(w->left)) {
		errno = ENAMETOOLONG;
		return false;
	}
	return target[0] == '/' ? restart(w) : true;
}

static void cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash) {
		*slash = '\0';
	}
}

/* Opens component 'name' below w->fd. False with errno set. */
static bool descend(struct walk *w, const char *name)
{
	struct stat st;
	int fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) != 0) {
		if (fd >= 0) {
			close(fd);
		}
		return false;
	}
	if (S_ISLNK(st.st_mode)) {
		close(fd);
		return follow(w, name);
	}
	close(w->fd);
	w->fd = fd;
	size_t n = strlen(w->done);

	if (strcmp(name, "..") == 0) {
		cut_last(w->done);
	} else if (strcmp(name, ".") != 0) {
		int len = snprintf(w->done + n, sizeof(w->done) - n, "/%s", name);

		if (len < 0 || (size_t)len >= sizeof(w->done) - n) {
			errno = ENAMETOOLONG;
			return false;
		}
	}
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return false;
	}
	return true;
}

/* The walk along 'path' ended at 'name' in 'parent', with errno set. */
static void not_there(const char *path, const char *parent, const char *name, struct problems *pr)
{
	if (errno == ENOENT) {
		problem(pr, path,
			"directory: expected one, found no \"%s\" in %s: create it, or name "
			"another",
			name, parent[0] ? parent : "/");
	} else {
		problem(pr, path, "directory: expected one, found at \"%s\": %s", name,
			strerror(errno));
	}
}

int path_open_dir(const char *path, struct problems *pr)
{
	struct walk w = {.fd = -1};
	char name[NAME_MAX + 1];
	size_t before = pr->n;

	if (path[0] != '/' || strlen(path) >= sizeof(w.left)) {
		problem(pr, path, "directory: expected an absolute path, found another");
		return -1;
	}
	memcpy(w.left, path, strlen(path) + 1);
	if (!restart(&w)) {
		problem(pr, path, "directory: expected to open /, found: %s", strerror(errno));
		return -1;
	}
	for (;;) {
		bool last = w.left[strspn(w.left, "/")] == '\0';

		check_fd(w.fd, w.done[0] ? w.done : "/", !last, pr);
		if (last) {
			break;
		}
		if (!next_component(&w, name) || !descend(&w, name)) {
			not_there(path, w.done, name, pr);
			break;
		}
	}
	if (pr->n > before) {
		close(w.fd);
		return -1;
	}
	return w.fd;
}

/* A link in the directory may name another entry of it and nothing else. */
static bool link_stays(int dir, const char *name, const char *path, char target[PATH_MAX],
		       struct problems *pr)
{
	ssize_t n = readlinkat(dir, name, target, PATH_MAX - 1);

	if (n < 0) {
		return false;
	}
	target[n] = '\0';
	if (strchr(target, '/') || strcmp(target, "..") == 0) {
		problem(pr, path, "link: expected a file of the same directory, found a link to %s",
			target);
		return false;
	}
	return true;
}

int path_open_file(int dir, const char *name, const char *path, struct problems *pr)
{
	char target[PATH_MAX];
	struct stat st;
	size_t before = pr->n;

	/* one link, as version links are made; its target is opened without following any more */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
		if (!link_stays(dir, name, path, target, pr)) {
			return -1;
		}
		name = target;
	}
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0) {
		problem(pr, path, "file: expected a readable one, found: %s", strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		problem(pr, path, "file: expected a regular one, found another type");
	} else {
		check_fd(fd, path, false, pr);
	}
	if (pr->n > before) {
		close(fd);
		return -1;
	}
	return fd;
}
