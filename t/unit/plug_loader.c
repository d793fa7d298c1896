/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories of plugins, as the daemon loads them: allow lists, paths that are not absolute, the
 * same directory for two registries. What makes a file or a directory untrustworthy is in
 * t/abi/bad.t.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/plug/loader.h"
#include "t/lib/tap.h"

static char dir[64];

/* build/<flavour>/t/unit/plug_loader -> build/<flavour>/plugins/<file>, copied into 'dir' */
static bool copy(struct arena *a, const char *file)
{
	char exe[PATH_MAX], block[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	for (int up = 0; n > 0 && up < 3; n--) {
		up += exe[n - 1] == '/';
	}
	int from = open(arena_printf(a, "%.*s/plugins/%s", (int)n, exe, file).p, O_RDONLY);
	int to = open(arena_printf(a, "%s/%s", dir, file).p, O_WRONLY | O_CREAT, 0755);
	bool good = from >= 0 && to >= 0;

	while (good) {
		n = read(from, block, sizeof(block));
		if (n <= 0) {
			good = n == 0;
			break;
		}
		good = write(to, block, (size_t)n) == n;
	}
	if (from >= 0) {
		close(from);
	}
	if (to >= 0) {
		fchmod(to, 0755);
		close(to);
	}
	return good;
}

static void allow_lists(struct arena *a)
{
	const mk_str job = STR("job.so"), none = STR("none.so");
	const mk_str both[] = {none, job};
	struct plug *p = plug_new(NULL);
	struct mk_err err = {0};
	mk_str problems = {NULL, 0};

	is_int(plug_load_dir(p, dir, &job, 1, a, &problems, &err), ERR_OK, "an allow list");
	is_int((int64_t)plug_n_adapters(p), 1, "loads what is on it");
	is_int((int64_t)plug_n_dispatchers(p), 0, "and nothing else");
	plug_free(p);

	p = plug_new(NULL);
	is_int(plug_load_dir(p, dir, both, 2, a, &problems, &err), ERR_INVALID,
	       "a name that is not there");
	is_str(problems.p,
	       arena_printf(a, "%s: allow: expected none.so, found no such file", dir).p,
	       "is reported");
	is_str(err.msg, problems.p, "err has the first line");
	is_int((int64_t)plug_n_adapters(p), 1, "the other one is there");
	plug_free(p);
}

static void directories(struct arena *a)
{
	struct plug *p = plug_new(NULL), *q = plug_new(NULL);
	struct mk_err err = {0};
	mk_str problems = {NULL, 0};

	is_int(plug_load_dir(p, "plugins", NULL, 0, a, &problems, &err), ERR_NOT_FOUND,
	       "a relative path");
	is_str(problems.p, "plugins: directory: expected an absolute path, found another",
	       "is refused");
	is_int(plug_load_dir(p, "/none/at/all", NULL, 0, a, &problems, NULL), ERR_NOT_FOUND,
	       "no directory");
	is_str(problems.p,
	       "/none/at/all: directory: expected one, found no \"none\" in /: create it, or name "
	       "another",
	       "says where");
	is_int(plug_load_dir(p, arena_printf(a, "/%0300d/x", 7).p, NULL, 0, a, &problems, NULL),
	       ERR_NOT_FOUND, "a name that is too long");
	ok(strstr(problems.p, "found at \"000000") && strstr(problems.p, ": File name too long"),
	   "says which, and why");
	is_int(plug_load_dir(p, "/etc/passwd", NULL, 0, a, NULL, &err), ERR_NOT_FOUND, "a file");
	is_str(err.msg,
	       "/etc/passwd: directory: expected one, found at \"passwd\": Not a directory",
	       "is no directory");
	is_int(plug_load_dir(p, dir, NULL, 0, a, &problems, &err), ERR_OK, "all of a directory");
	is_int((int64_t)(plug_n_adapters(p) + plug_n_dispatchers(p)), 2, "both plugins");
	is_str(plug_adapter(p, 0)->source.file, arena_printf(a, "%s/job.so", dir).p,
	       "with its file");
	is_str(plug_adapter(p, 0)->gvk.p, "batch/v1, Kind=Job", "and its kind");
	is_int(plug_load_dir(q, arena_printf(a, "%s/./../%s", dir, dir + 5).p, NULL, 0, a,
			     &problems, &err),
	       ERR_OK, "the same directory by another path, for another registry");
	is_int(plug_load_dir(q, dir, NULL, 0, a, &problems, &err), ERR_INVALID,
	       "a directory twice in one registry");
	plug_free(p);
	plug_free(q);
}

int main(void)
{
	struct arena a;

	arena_init(&a, 0);
	(void)snprintf(dir, sizeof(dir), "/tmp/plug_loader.XXXXXX");
	bool made = mkdtemp(dir) && chmod(dir, 0755) == 0;

	if (ok(made && copy(&a, "job.so") && copy(&a, "all_at_once.so"),
	       "a directory with the plugins of this build")) {
		allow_lists(&a);
		directories(&a);
	}
	(void)unlink(arena_printf(&a, "%s/job.so", dir).p);
	(void)unlink(arena_printf(&a, "%s/all_at_once.so", dir).p);
	(void)rmdir(dir);
	arena_done(&a);
	return done_testing();
}
