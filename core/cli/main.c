/* SPDX-License-Identifier: Apache-2.0 */
/* The program around cli.h: arguments in, buffers out. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cli/cli.h"

/* False: the reader closed the other end, or the disk is full. */
static bool put(int fd, const struct buf *b)
{
	size_t at = 0;

	while (at < b->n) {
		ssize_t n = write(fd, b->p + at, b->n - at);

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

int main(int argc, char **argv)
{
	const char *none = getenv("NO_COLOR");
	bool terminal = isatty(STDOUT_FILENO) == 1;
	struct cli c;
	enum cli_exit rc;

	cli_init(&c, terminal);
	c.color = terminal && (!none || none[0] == '\0');
	rc = cli_run(&c, argc, argv);
	if (c.out.failed || !put(STDOUT_FILENO, &c.out)) {
		cli_error(&c, "the output could not be written");
		rc = CLI_FAILED;
	}
	put(STDERR_FILENO, &c.err);
	cli_done(&c);
	return (int)rc;
}
