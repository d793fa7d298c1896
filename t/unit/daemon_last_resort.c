/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose end hangs is ended all the same, and says where it hung. */
#include "t/lib/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/daemon/last_resort.h"

enum { LIMIT_MS = 300, PATIENCE_S = 60 };

/* Takes apart what never comes apart; its descriptor for the log is 'out'. */
static void hang(int out)
{
	alarm(PATIENCE_S); /* should nothing else end it */
	log_set_output(out, LOG_JSON);
	last_resort_begin(7, LIMIT_MS);
	last_resort_at("what is quick");
	last_resort_at("what hangs");
	for (;;) {
		pause();
	}
}

int main(void)
{
	char text[4096] = "";
	int fds[2];
	int status = 0;
	int64_t begin = clock_mono_ms();
	pid_t child;

	if (pipe(fds) != 0) {
		printf("Bail out! no pipe\n");
		return 1;
	}
	child = fork();
	if (child == 0) {
		hang(fds[1]);
	}
	close(fds[1]);
	waitpid(child, &status, 0);
	ok(clock_mono_ms() - begin >= LIMIT_MS, "a hanging end has its time");
	ok(WIFEXITED(status), "then the process ends");
	is_int(WEXITSTATUS(status), 7, "with the status that it has earned");
	ok(read(fds[0], text, sizeof(text) - 1) > 0 && strstr(text, "the end takes too long"),
	   "it says so");
	ok(strstr(text, "\"at\":\"what hangs\""), "and where it hung");
	close(fds[0]);
	child = fork();
	if (child == 0) {
		last_resort_begin(7, PATIENCE_S * 1000);
		exit(0);
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "an end that does not hang is its own");
	return done_testing();
}
