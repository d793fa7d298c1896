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

static int spawn(struct kubectl *k, char *const *argv, int out, bool quiet)
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
	if (rc == 0 && quiet) {
		rc = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
						      O_WRONLY, 0);
	}
	if (rc == 0) {
		rc = posix_spawnp(&k->pid, "kubectl", &actions, NULL, argv, environ);
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
	char *plain[KUBECTL_WORDS_MAX];
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
	/* posix_spawn changes no word, but its type does not say so. */
	memcpy(plain, argv, sizeof(plain));
	rc = spawn(k, plain, ends[1], quiet);
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
