/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl as a child process; see kubectl.h. */
#include "core/cli/fleet/kubectl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"

enum { ERR_OURS = -1, ERR_NOWHERE = -2 };

/* 'err': where its standard error goes. */
static int spawn(struct kubectl *k, char *const *argv, int out, int err)
{
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc != 0) {
		return rc;
	}
	rc = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (rc == 0) {
		rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY,
						      0);
	}
	if (rc == 0 && err == ERR_NOWHERE) {
		rc = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
						      O_WRONLY, 0);
	} else if (rc == 0 && err >= 0) {
		rc = posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
	}
	if (rc == 0) {
		rc = posix_spawnp(&k->pid, "kubectl", &actions, NULL, argv, environ);
	}
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* With our options before 'words'. False: errno says why. */
static bool start(struct kubectl *k, const struct cli_args *args, const char *const *words, int out,
		  int err)
{
	static const char *const passed[] = {"context", "kubeconfig"};
	static const char *const flags[] = {"--context", "--kubeconfig"};
	const char *argv[KUBECTL_WORDS_MAX] = {"kubectl"};
	char *plain[KUBECTL_WORDS_MAX];
	size_t n = 1;
	int rc;

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
	/* posix_spawn changes no word, but its type does not say so. */
	memcpy(plain, argv, sizeof(plain));
	rc = spawn(k, plain, out, err);
	errno = rc;
	return rc == 0;
}

bool kubectl_start(struct kubectl *k, const struct cli_args *args, const char *const *words,
		   bool quiet)
{
	int ends[2];
	bool started;

	*k = (struct kubectl){.fd = -1};
	if (pipe2(ends, O_CLOEXEC) != 0) {
		return false;
	}
	started = start(k, args, words, ends[1], quiet ? ERR_NOWHERE : ERR_OURS);
	close(ends[1]);
	if (!started) {
		int why = errno;

		close(ends[0]);
		*k = (struct kubectl){.fd = -1};
		errno = why;
		return false;
	}
	k->fd = ends[0];
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

/* Takes what is there. False: that was the end. */
static bool take(int fd, struct buf *to)
{
	char piece[16 * 1024];
	ssize_t n = read(fd, piece, sizeof(piece));

	if (n < 0) {
		return errno == EINTR;
	}
	return n > 0 && buf_add(to, (mk_str){piece, (size_t)n});
}

/* Reads both until they end. False: the time is over, or a signal came. */
static bool take_all(const int fds[2], struct buf *const to[2], int64_t ms)
{
	struct pollfd p[2] = {{.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLIN}};
	int64_t until = clock_mono_ms() + ms;

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		int64_t left = until - clock_mono_ms();

		if (left <= 0 || poll(p, 2, (int)left) <= 0) {
			return false;
		}
		for (size_t i = 0; i < 2; i++) {
			if (p[i].revents != 0 && !take(p[i].fd, to[i])) {
				p[i].fd = -1;
			}
		}
	}
	return true;
}

bool kubectl_run(const struct cli_args *args, const char *const *words, int64_t ms, struct buf *out,
		 struct buf *err, bool *ret_good)
{
	struct kubectl k = {.fd = -1};
	struct buf *const to[2] = {out, err};
	int ends[2][2], read_ends[2], why;
	bool started, whole;

	if (pipe2(ends[0], O_CLOEXEC) != 0) {
		return false;
	}
	if (pipe2(ends[1], O_CLOEXEC) != 0) {
		close(ends[0][0]);
		close(ends[0][1]);
		return false;
	}
	started = start(&k, args, words, ends[0][1], ends[1][1]);
	why = errno;
	for (size_t i = 0; i < 2; i++) {
		close(ends[i][1]);
		read_ends[i] = ends[i][0];
	}
	whole = started && take_all(read_ends, to, ms);
	close(read_ends[1]);
	k.fd = read_ends[0];
	if (!started) {
		close(k.fd);
		errno = why;
		return false;
	}
	*ret_good = kubectl_end(&k, !whole) && whole && !out->failed;
	return true;
}
