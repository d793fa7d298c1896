/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl as a child process, with the options --context and --kubeconfig that we were given. */
#ifndef MK_CLI_FLEET_KUBECTL_H
#define MK_CLI_FLEET_KUBECTL_H

#include "core/cli/cli.h"

enum {
	KUBECTL_WORDS_MAX = 32,
	KUBECTL_SAID_MAX = 64 * 1024 * 1024, /* of each stream, in kubectl_run */
};

/* A running kubectl and its standard output. */
struct kubectl {
	int pid, fd;
};

/*
 * Starts `kubectl WORDS...` ('words' ends with NULL, KUBECTL_WORDS_MAX - 5 at most). Its standard
 * error is ours unless 'quiet'. False: it could not be started; errno says why.
 */
bool kubectl_start(struct kubectl *k, const struct cli_args *args, const char *const *words,
		   bool quiet);
/* One line of its output, without its end, within 'ms'. False: there is none. */
bool kubectl_line(struct kubectl *k, char *line, size_t size, int64_t ms);
/* Ends it, if it has not ended, and waits. True: it ended by itself, with exit status 0. */
bool kubectl_end(struct kubectl *k, bool kill_it);

/* What a kubectl said that ran to its end, and whether its exit status was 0. */
struct kubectl_said {
	mk_str out, err;
	bool good;
};
/*
 * Runs a kubectl to its end; 'words' are all of its words, "kubectl" first and NULL last. 'input'
 * is its standard input, which no other process sees. What it says is in the arena. False: it
 * could not be run, or said more than KUBECTL_SAID_MAX; errno says why.
 */
bool kubectl_run(struct arena *a, const char *const *words, mk_str input, struct kubectl_said *ret);

#endif
