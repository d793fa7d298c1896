/* SPDX-License-Identifier: Apache-2.0 */
/* The program around cli.h: arguments in, buffers out. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/cli/cli.h"

static volatile sig_atomic_t ended;

/* False: the reader closed the other end, or the disk is full. */
static bool put(bool is_err, mk_str text)
{
	size_t at = 0;

	while (at < text.n) {
		ssize_t n = write(is_err ? STDERR_FILENO : STDOUT_FILENO, text.p + at, text.n - at);

		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return false;
		}
		at += (size_t)n;
	}
	return true;
}

static void on_signal(int signo)
{
	ended = signo != SIGPIPE ? 1 : ended;
}

/* Programs that we start get the default again. */
static bool follow(void)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
	struct sigaction pipe = {.sa_handler = on_signal}, old;

	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++) {
		/* nohup, and shells of what runs in the background, have it ignored. */
		if (sigaction(ending[i], NULL, &old) != 0 ||
		    (old.sa_handler != SIG_IGN && sigaction(ending[i], &sa, NULL) != 0)) {
			return false;
		}
	}
	return sigaction(SIGPIPE, &pipe, NULL) == 0;
}

/* A signal between the look at 'ended' and the sleep waits for the sleep, and ends it. */
static bool wait_for_end(int64_t ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	if (!ended && ms > 0) {
		ppoll(NULL, 0, &time, &before);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return !ended;
}

/* Goes on as that program; returns only when it cannot be started. */
static enum cli_exit become(struct cli *c)
{
	char *plain[CLI_PROGRAM_MAX];

	/* execvp changes no word, but its type does not say so. */
	memcpy(plain, c->program, sizeof(plain));
	execvp(plain[0], plain);
	buf_clear(&c->err);
	cli_error(c, "%s cannot be run: %s; expected it in the PATH", plain[0], strerror(errno));
	put(true, buf_str(&c->err));
	return CLI_FAILED;
}

int main(int argc, char **argv)
{
	const char *none = getenv("NO_COLOR");
	bool terminal = isatty(STDOUT_FILENO) == 1;
	const struct cli_host host = {.put = put, .follow = follow, .wait = wait_for_end};
	struct cli c;
	enum cli_exit rc;

	cli_init(&c, terminal);
	c.color = terminal && (!none || none[0] == '\0');
	c.host = &host;
	rc = cli_run(&c, argc, argv);
	if (c.out.failed || !put(false, buf_str(&c.out))) {
		cli_error(&c, "the output could not be written");
		rc = CLI_FAILED;
	}
	put(true, buf_str(&c.err));
	if (rc == CLI_OK && c.program[0]) {
		rc = become(&c);
	}
	cli_done(&c);
	return (int)rc;
}
