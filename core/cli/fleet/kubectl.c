/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl as a child process; see kubectl.h. */
#include "core/cli/fleet/kubectl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"

enum { NOWHERE = -1, OURS = -2 }; /* in place of a descriptor */

static int redirect(posix_spawn_file_actions_t *actions, int fd, int target)
{
	if (fd == OURS) {
		return 0;
	}
	return fd == NOWHERE
		       ? posix_spawn_file_actions_addopen(actions, target, "/dev/null", O_RDWR, 0)
		       : posix_spawn_file_actions_adddup2(actions, fd, target);
}

/* 'fds': its standard input, output and error. */
static int spawn(pid_t *pid, const char *const *argv, const int fds[3])
{
	char *plain[KUBECTL_WORDS_MAX] = {NULL};
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc != 0) {
		return rc;
	}
	/* posix_spawn changes no word, but its type does not say so. */
	for (size_t i = 0; i + 1 < KUBECTL_WORDS_MAX && argv[i]; i++) {
		memcpy(&plain[i], &argv[i], sizeof(plain[i]));
	}
	for (int i = 0; rc == 0 && i < 3; i++) {
		rc = redirect(&actions, fds[i], i);
	}
	if (rc == 0) {
		rc = posix_spawnp(pid, "kubectl", &actions, NULL, plain, environ);
	}
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

bool kubectl_start(struct kubectl *k, const struct cli_args *args, const char *const *words,
		   bool quiet)
{
	static const char *const passed[] = {"context", "kubeconfig"};
	static const char *const flags[] = {"--context", "--kubeconfig"};
	const char *argv[KUBECTL_WORDS_MAX] = {"kubectl"};
	size_t n = 1;
	int ends[2], rc;

	for (size_t i = 0; i < 2; i++) {
		const char *value = cli_get(args, passed[i]);

		if (value) {
			argv[n++] = flags[i];
			argv[n++] = value;
		}
	}
	for (; *words && n + 1 < KUBECTL_WORDS_MAX; words++) {
		argv[n++] = *words;
	}
	if (pipe2(ends, O_CLOEXEC) != 0) {
		return false;
	}
	rc = spawn(&k->pid, argv, (const int[3]){NOWHERE, ends[1], quiet ? NOWHERE : OURS});
	close(ends[1]);
	k->fd = ends[0];
	if (rc != 0) {
		close(ends[0]);
		*k = (struct kubectl){.fd = -1};
		errno = rc;
		return false;
	}
	return true;
}

bool kubectl_line(struct kubectl *k, char *line, size_t size, int64_t ms)
{
	int64_t until = clock_mono_ms() + ms;
	size_t n = 0;

	while (n + 1 < size) {
		int64_t left = until - clock_mono_ms();
		struct pollfd p = {.fd = k->fd, .events = POLLIN};
		char ch;

		if (left <= 0 || poll(&p, 1, (int)left) <= 0) {
			return false; /* or a signal came */
		}
		if (read(k->fd, &ch, 1) != 1) {
			break; /* the end of its output: what came counts */
		}
		if (ch == '\n') {
			line[n] = '\0';
			return true;
		}
		line[n++] = ch;
	}
	line[n] = '\0';
	return n > 0;
}

bool kubectl_end(struct kubectl *k, bool kill_it)
{
	int status = 0;

	if (k->pid <= 0) {
		return false;
	}
	close(k->fd);
	if (kill_it) {
		kill(k->pid, SIGTERM);
	}
	while (waitpid(k->pid, &status, 0) < 0 && errno == EINTR) {
	}
	*k = (struct kubectl){.fd = -1};
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* --- to its end ------------------------------------------------------------------------------- */

/* A file without a name, which no other process can open: what passes may be secret. */
static int nameless(mk_str content)
{
	int fd = memfd_create("kubectl", MFD_CLOEXEC);
	size_t at = 0;

	while (fd >= 0 && at < content.n) {
		ssize_t n = write(fd, content.p + at, content.n - at);

		if (n <= 0) {
			close(fd);
			return -1;
		}
		at += (size_t)n;
	}
	return fd >= 0 && lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
}

static bool content_of(struct arena *a, int fd, mk_str *ret)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *p =
		size >= 0 && size <= KUBECTL_SAID_MAX ? arena_alloc_raw(a, (size_t)size + 1) : NULL;
	size_t at = 0;

	while (p && at < (size_t)size) {
		ssize_t n = pread(fd, p + at, (size_t)size - at, (off_t)at);

		if (n <= 0) {
			return false;
		}
		at += (size_t)n;
	}
	if (p) {
		p[at] = '\0';
		*ret = (mk_str){p, at};
	}
	return p != NULL;
}

bool kubectl_run(struct arena *a, const char *const *words, mk_str input, struct kubectl_said *ret)
{
	int fds[3] = {nameless(input), nameless(STR_NONE), nameless(STR_NONE)};
	bool done = fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0;
	int status = 0, rc = 0;
	pid_t pid = 0;

	if (done) {
		rc = spawn(&pid, words, fds);
		done = rc == 0;
	}
	while (done && waitpid(pid, &status, 0) < 0) {
		done = errno == EINTR;
	}
	if (done) {
		ret->good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
		done = content_of(a, fds[1], &ret->out) && content_of(a, fds[2], &ret->err);
		rc = done ? 0 : EFBIG;
	}
	for (int i = 0; i < 3; i++) {
		if (fds[i] >= 0) {
			close(fds[i]);
		}
	}
	errno = rc != 0 ? rc : errno;
	return done;
}
