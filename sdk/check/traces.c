/* SPDX-License-Identifier: Apache-2.0 */
/* See traces.h. */
#include "sdk/check/traces.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	while (d && readdir(d)) {
		n++;
	}
	if (d) {
		closedir(d);
	}
	return n;
}

void traces_take(struct traces *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->files = entries("/proc/self/fd");
	ret->threads = entries("/proc/self/task");
	for (int i = 1; i < TRACES_SIGNALS; i++) {
		(void)sigaction(i, NULL, &ret->signals[i]);
	}
	sigprocmask(SIG_BLOCK, NULL, &ret->blocked);
	if (!getcwd(ret->folder, sizeof(ret->folder))) {
		ret->folder[0] = '\0';
	}
	ret->mask = umask(0);
	umask(ret->mask);
}

static void tell(struct buf *out, size_t *n, const char *what)
{
	buf_printf(out, "%s%s", *n == 0 ? "found " : ", ", what);
	(*n)++;
}

static bool same_signals(const struct traces *x, const struct traces *y)
{
	for (int i = 1; i < TRACES_SIGNALS; i++) {
		if (x->signals[i].sa_handler != y->signals[i].sa_handler ||
		    sigismember(&x->blocked, i) != sigismember(&y->blocked, i)) {
			return false;
		}
	}
	return true;
}

size_t traces_tell(const struct traces *before, struct buf *out)
{
	struct traces now;
	siginfo_t child = {.si_pid = 0};
	size_t n = 0;

	traces_take(&now);
	if (now.files > before->files) {
		tell(out, &n, "files that are still open");
	} else if (now.files < before->files) {
		tell(out, &n, "files of the host closed");
	}
	if (now.threads > before->threads) {
		tell(out, &n, "threads that still run");
	}
	if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD) {
		tell(out, &n, "processes that were started");
	}
	if (!same_signals(before, &now)) {
		tell(out, &n, "the handling of signals changed");
	}
	if (strcmp(before->folder, now.folder) != 0) {
		tell(out, &n, "another working directory");
	}
	if (before->mask != now.mask) {
		tell(out, &n, "another mask of files' modes");
	}
	return n;
}
