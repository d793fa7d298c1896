/* SPDX-License-Identifier: Apache-2.0 */
/* Asking before something is deleted or overwritten; see cli.h. */
#include <errno.h>
#include <unistd.h>

#include "core/cli/cli.h"

enum { ANSWER_MAX = 64 };

/* A line of standard input, without its end; what is longer is no answer. */
static mk_str read_answer(char *line)
{
	ssize_t n;

	do {
		n = read(STDIN_FILENO, line, ANSWER_MAX);
	} while (n < 0 && errno == EINTR);
	return str_trim((mk_str){line, n > 0 ? (size_t)n : 0});
}

enum cli_exit cli_confirm(struct cli *c, const struct cli_args *args, const char *command,
			  const char *question)
{
	char line[ANSWER_MAX];
	mk_str answer;

	if (cli_get(args, "yes")) {
		return CLI_OK;
	}
	if (isatty(STDIN_FILENO) != 1) {
		return cli_usage(c, command,
				 "standard input is no terminal, so the question cannot be asked "
				 "and nothing was changed; expected --yes, from one who has read "
				 "the lines above");
	}
	buf_printf(&c->out, "%s [y/N] ", question);
	if (!cli_flush(c)) {
		return CLI_FAILED;
	}
	answer = read_answer(line);
	if (str_is(answer, "y") || str_is(answer, "Y") || str_is(answer, "yes")) {
		return CLI_OK;
	}
	buf_printf(&c->err, "Nothing was changed.\n");
	return CLI_NO;
}
