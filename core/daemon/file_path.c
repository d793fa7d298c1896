/* SPDX-License-Identifier: Apache-2.0 */
/* How paths of kubeconfigs resolve, and whether they may be read; see file_path.h. */
#include "core/daemon/file_path.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

const char *file_error(int e, char out[static 128])
{
	snprintf(out, 128, "%s", strerror(e));
	if (isupper((unsigned char)out[0]) && islower((unsigned char)out[1])) {
		out[0] = (char)tolower((unsigned char)out[0]);
	}
	return out;
}

/* --- the way ---------------------------------------------------------------------------------- */

struct way {
	char *at;            /* where we are; "" = the root */
	char rest[PATH_MAX]; /* where to go from there */
	unsigned links;
};

/* "at/name" in place of 'at'. */
static int descend(struct way *w, const char *name)
{
	size_t n = strlen(w->at), add = strlen(name);
	bool slash = n == 0 || w->at[n - 1] != '/';

	if (n + slash + add >= PATH_MAX) {
		return ENAMETOOLONG;
	}
	if (slash) {
		w->at[n++] = '/';
	}
	memcpy(w->at + n, name, add + 1);
	return 0;
}

static void ascend(struct way *w)
{
	char *slash = strrchr(w->at, '/');

	if (slash) {
		*slash = '\0';
	}
}

/* The next name of the rest; false: there is none. */
static bool take_name(struct way *w, char name[static PATH_MAX])
{
	size_t skip = strspn(w->rest, "/");
	size_t n = strcspn(w->rest + skip, "/");

	if (n == 0) {
		return false;
	}
	memcpy(name, w->rest + skip, n);
	name[n] = '\0';
	memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
	return true;
}

/* 'at' is a symlink: its target comes before the rest. */
static int follow_link(struct way *w)
{
	char target[PATH_MAX];
	ssize_t n = readlink(w->at, target, sizeof(target) - 1);
	size_t rest = strlen(w->rest);

	if (n < 0) {
		return errno;
	}
	if (++w->links > LINKS_MAX) {
		return ELOOP;
	}
	if ((size_t)n + rest >= sizeof(w->rest)) {
		return ENAMETOOLONG;
	}
	memmove(w->rest + n, w->rest, rest + 1);
	memcpy(w->rest, target, (size_t)n);
	ascend(w);
	if (n > 0 && target[0] == '/') {
		w->at[0] = '\0';
	}
	return 0;
}

static int step(struct way *w, const char *name, file_step_fn *fn, void *ctx)
{
	struct stat st;
	int e;

	if (strcmp(name, ".") == 0) {
		return 0;
	}
	if (strcmp(name, "..") == 0) {
		ascend(w);
		return 0;
	}
	if (fn) {
		fn(ctx, w->at[0] ? w->at : "/", name);
	}
	e = descend(w, name);
	if (e == 0 && lstat(w->at, &st) != 0) {
		e = errno;
	}
	if (e == 0 && S_ISLNK(st.st_mode)) {
		e = follow_link(w);
	}
	return e;
}

int file_walk(const char *path, file_step_fn *fn, void *ctx, char ret_at[static PATH_MAX])
{
	struct way w = {.at = ret_at};
	char name[PATH_MAX];
	int e = 0;

	ret_at[0] = '\0';
	if (strlen(path) >= PATH_MAX) {
		return ENAMETOOLONG;
	}
	memcpy(w.rest, path, strlen(path) + 1);
	if (path[0] != '/' && !getcwd(ret_at, PATH_MAX)) {
		return errno;
	}
	if (strcmp(ret_at, "/") == 0) {
		ret_at[0] = '\0';
	}
	while (e == 0 && take_name(&w, name)) {
		e = step(&w, name, fn, ctx);
	}
	if (ret_at[0] == '\0') {
		memcpy(ret_at, "/", 2);
	}
	return e;
}

/* --- may it be read --------------------------------------------------------------------------- */

/*
 * Without ".", "..", and double slashes, as text: Go's filepath.Clean. In 'a'; NULL when out of
 * memory.
 */
static char *clean(struct arena *a, mk_str path)
{
	bool rooted = path.n > 0 && path.p[0] == '/';
	char *out = arena_alloc(a, path.n + 2);
	size_t n = 0, floor = rooted ? 1 : 0;

	if (!out) {
		return NULL;
	}
	if (rooted) {
		out[n++] = '/';
	}
	for (size_t i = 0; i < path.n;) {
		const char *slash = memchr(path.p + i, '/', path.n - i);
		mk_str name = str_sub(path, i, slash ? (size_t)(slash - path.p) - i : path.n - i);

		i += name.n + 1;
		if (name.n == 0 || str_is(name, ".")) {
			continue;
		}
		if (str_is(name, "..") && n > floor) {
			while (n > floor && out[n - 1] != '/') {
				n--;
			}
			n -= n > floor;
			continue;
		}
		if (str_is(name, "..") && rooted) {
			continue;
		}
		if (n > (rooted ? 1u : 0u)) {
			out[n++] = '/';
		}
		memcpy(out + n, name.p, name.n);
		n += name.n;
		floor = str_is(name, "..") ? n : floor;
	}
	if (n == 0) {
		out[n++] = '.';
	}
	out[n] = '\0';
	return out;
}

static bool is_inside(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return strncmp(path, directory, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

#define NOT_UNDER "kubeconfig path is not under the allowed prefix: "

enum mk_code file_path_check(struct arena *a, mk_str path, const char *directory, const char **ret,
			     struct mk_err *err)
{
	char safe[PATH_MAX], at[PATH_MAX], words[128];
	char *cleaned = clean(a, path), *found;
	int e;

	if (path.n == 0) {
		return err_set(err, ERR_INVALID, "kubeconfig path must not be empty");
	}
	if (!cleaned) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	if (strcmp(cleaned, "..") == 0 || strncmp(cleaned, "../", 3) == 0) {
		return err_set(err, ERR_INVALID, NOT_UNDER "path contains \"..\"");
	}
	if (cleaned[0] != '/') {
		return err_set(err, ERR_INVALID, NOT_UNDER "path must be absolute");
	}
	e = file_walk(directory, NULL, NULL, safe);
	if (e == ENOENT) {
		return err_set(err, ERR_INVALID, NOT_UNDER "\"%s\" is not under \"%s\"", cleaned,
			       directory);
	}
	if (e != 0) {
		return err_set(err, ERR_INVALID, "cannot resolve allowed prefix: lstat %s: %s",
			       safe, file_error(e, words));
	}
	e = file_walk(cleaned, NULL, NULL, at);
	if (e != 0) {
		return err_set(err, ERR_INVALID,
			       "cannot resolve kubeconfig path symlinks: lstat %s: %s", at,
			       file_error(e, words));
	}
	if (!is_inside(at, safe)) {
		return err_set(err, ERR_INVALID, NOT_UNDER "\"%s\" is not under \"%s\"", at,
			       directory);
	}
	found = arena_alloc(a, strlen(at) + 1);
	if (!found) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	memcpy(found, at, strlen(at) + 1);
	*ret = found;
	return ERR_OK;
}
