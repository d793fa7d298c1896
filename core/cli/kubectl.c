/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl as a child process; see kubectl.h. */
#include "core/cli/kubectl.h"

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
enum { LOOK_MS = 200 };

static int redirect(posix_spawn_file_actions_t *actions, int fd, int target)
{
	if (fd == OURS) {
		return 0;
	}
	return fd == NOWHERE
		       ? posix_spawn_file_actions_addopen(actions, target, "/dev/null", O_RDWR, 0)
		       : posix_spawn_file_actions_adddup2(actions, fd, target);
}

/* 'fds': its standard input, output and error. False: errno says why. */
static bool spawn(struct kubectl *k, const char *const *argv, const int fds[3])
{
	char *plain[KUBECTL_WORDS_MAX] = {NULL};
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc != 0) {
		errno = rc;
		return false;
	}
	/* posix_spawn changes no word, but its type does not say so. */
	for (size_t i = 0; i + 1 < KUBECTL_WORDS_MAX && argv[i]; i++) {
		memcpy(&plain[i], &argv[i], sizeof(plain[i]));
	}
	for (int i = 0; rc == 0 && i < 3; i++) {
		rc = redirect(&actions, fds[i], i);
	}
	if (rc == 0) {
		rc = posix_spawnp(&k->pid, "kubectl", &actions, NULL, plain, environ);
	}
	posix_spawn_file_actions_destroy(&actions);
	errno = rc;
	return rc == 0;
}

void kubectl_words(const struct cli_args *args, const char *const *words,
		   const char *ret[KUBECTL_WORDS_MAX])
{
	kubectl_words_in(cli_get(args, "context"), args, words, ret);
}

void kubectl_words_in(const char *context, const struct cli_args *args, const char *const *words,
		      const char *ret[KUBECTL_WORDS_MAX])
{
	const char *kubeconfig = cli_get(args, "kubeconfig");
	size_t n = 0;

	ret[n++] = "kubectl";
	if (context) {
		ret[n++] = "--context";
		ret[n++] = context;
	}
	if (kubeconfig) {
		ret[n++] = "--kubeconfig";
		ret[n++] = kubeconfig;
	}
	for (; *words && n + 1 < KUBECTL_WORDS_MAX; words++) {
		ret[n++] = *words;
	}
	ret[n] = NULL;
}

bool kubectl_start(struct kubectl *k, const struct cli_args *args, const char *const *words,
		   bool quiet)
{
	const char *argv[KUBECTL_WORDS_MAX];

	kubectl_words(args, words, argv);
	return kubectl_open(k, argv, quiet);
}

bool kubectl_open(struct kubectl *k, const char *const *argv, bool quiet)
{
	int ends[2];
	bool started;

	*k = (struct kubectl){.fd = -1};
	if (pipe2(ends, O_CLOEXEC) != 0) {
		return false;
	}
	started = spawn(k, argv, (const int[3]){NOWHERE, ends[1], quiet ? NOWHERE : OURS});
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
static bool take_all(const int fds[2], struct buf *const to[2], int64_t ms,
		     const struct kubectl_watch *w)
{
	struct pollfd p[2] = {{.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLIN}};
	int64_t until = clock_mono_ms() + ms;

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		int64_t left = until - clock_mono_ms();
		int n = left > 0 ? poll(p, 2, (int)(w && left > LOOK_MS ? LOOK_MS : left)) : -1;

		if (n < 0 || (n == 0 && left <= LOOK_MS)) {
			return false;
		}
		if (w) {
			w->look(w->ctx);
		}
		for (size_t i = 0; n > 0 && i < 2; i++) {
			if (p[i].revents != 0 && !take(p[i].fd, to[i])) {
				p[i].fd = -1;
			}
		}
	}
	return true;
}

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

static void close_all(const int *fds, size_t n)
{
	int why = errno;

	for (size_t i = 0; i < n; i++) {
		if (fds[i] >= 0) {
			close(fds[i]);
		}
	}
	errno = why;
}

bool kubectl_run_watched(const char *const *argv, mk_str input, int64_t ms,
			 const struct kubectl_watch *w, struct buf *out, struct buf *err,
			 bool *ret_good)
{
	struct kubectl k = {.fd = -1};
	struct buf *const to[2] = {out, err};
	int fds[3] = {-1, -1, -1}, ends[2][2] = {{-1, -1}, {-1, -1}};
	bool started = pipe2(ends[0], O_CLOEXEC) == 0 && pipe2(ends[1], O_CLOEXEC) == 0;
	bool whole;

	fds[0] = started ? nameless(input) : -1;
	fds[1] = ends[0][1];
	fds[2] = ends[1][1];
	started = started && fds[0] >= 0 && spawn(&k, argv, fds);
	close_all(fds, 3);
	if (!started) {
		close_all((const int[2]){ends[0][0], ends[1][0]}, 2);
		return false;
	}
	whole = take_all((const int[2]){ends[0][0], ends[1][0]}, to, ms, w);
	close(ends[1][0]);
	k.fd = ends[0][0];
	*ret_good = kubectl_end(&k, !whole) && whole && !out->failed;
	return true;
}

bool kubectl_run(const char *const *argv, mk_str input, int64_t ms, struct buf *out,
		 struct buf *err, bool *ret_good)
{
	return kubectl_run_watched(argv, input, ms, NULL, out, err, ret_good);
}
