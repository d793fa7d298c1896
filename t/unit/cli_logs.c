/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What containers print becomes lines: labels, parts, ends of lines, and what a terminal would take
 * for a command. A script stands for kubectl.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/cli.h"
#include "core/cli/pods/streams.h"
#include "t/lib/tap.h"

static char dir[] = "/tmp/cli_logs.XXXXXX";

/* kubectl prints this from now on: words of printf. */
static void prints(const char *what)
{
	char path[64], text[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/kubectl", dir);
	snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", what);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0 || chmod(path, 0700) != 0) {
		exit(1);
	}
}

/* What comes of it; valid until the next call. *ret_bad: streams that did not end well. */
static const char *shown(bool terminal, const char *label, size_t *ret_bad)
{
	static const char *const argv[] = {"kubectl", "logs", NULL};
	static struct streams s;
	static struct cli c;
	static char text[8192];
	size_t bad;

	cli_init(&c, terminal);
	c.is_data = !terminal;
	streams_init(&s, &c);
	*ret_bad = 0;
	if (!streams_begin(&s, STR("key"), str_of(label), argv)) {
		exit(1);
	}
	while (s.n > 0) {
		(void)streams_read(&s, 1000, &bad);
		*ret_bad += bad;
	}
	ok(streams_seen(&s, STR("key")) && !streams_seen(&s, STR("other")),
	   "what was begun is remembered");
	streams_done(&s);
	cli_make_harmless(&c);
	snprintf(text, sizeof(text), "%.*s", (int)c.out.n, c.out.p ? c.out.p : "");
	cli_done(&c);
	return text;
}

int main(void)
{
	char path[64];
	size_t bad;

	if (!mkdtemp(dir) || setenv("PATH", dir, 1) != 0) {
		return 1;
	}
	prints("printf 'one\\ntwo\\n'");
	is_str(shown(false, "[w1/p/c] ", &bad), "[w1/p/c] one\n[w1/p/c] two\n",
	       "each line behind its label");
	is_int((long long)bad, 0, "kubectl ended well");
	prints("printf 'a\\n\\nb'");
	is_str(shown(false, "", &bad), "a\n\nb\n", "an empty line, and one without an end");
	prints("printf 'half'; /bin/sleep 0.1; printf ' a line\\n'");
	is_str(shown(false, "> ", &bad), "> half a line\n", "a line that comes in parts is one");
	prints("printf '10%%\\r20%%\\rdone\\r\\nnext\\n'");
	is_str(shown(true, "> ", &bad), "> 10%\n> 20%\n> done\n> next\n",
	       "progress on a terminal: a line each time");
	is_str(shown(false, "", &bad), "10%\r20%\rdone\r\nnext\n", "... in a pipe as it came");
	prints("printf '\\033[31mred\\033[0m \\033]0;title\\007\\n'");
	is_str(shown(true, "", &bad), "\033[31mred\033[0m ?]0;title?\n",
	       "a terminal gets colours and no other commands");
	is_str(shown(false, "", &bad), "\033[31mred\033[0m \033]0;title\007\n",
	       "... a pipe all of it");
	prints("echo gone; exit 1");
	is_str(shown(false, "", &bad), "gone\n", "what was printed before an error");
	is_int((long long)bad, 1, "... which counts");
	snprintf(path, sizeof(path), "%s/kubectl", dir);
	(void)unlink(path);
	(void)rmdir(dir);
	return done_testing();
}
