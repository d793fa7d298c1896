/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl as a child process, with the options --context and --kubeconfig that we were given. */
#ifndef MK_CLI_KUBECTL_H
#define MK_CLI_KUBECTL_H

#include "core/cli/cli.h"

enum { KUBECTL_WORDS_MAX = 24 };

/* The options that kubectl gets, too; initialisers of struct cli_option. */
#define KUBECTL_OPTIONS                                                          \
	{0, "context", "NAME", false, "context of the kubeconfig, for kubectl"}, \
	{                                                                        \
		0, "kubeconfig", "FILE", false, "kubeconfig, for kubectl"        \
	}

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
/* The same with all words of the command line, "kubectl" first: see kubectl_words. */
bool kubectl_open(struct kubectl *k, const char *const *argv, bool quiet);
/* One line of its output, without its end, within 'ms'. False: there is none. */
bool kubectl_line(struct kubectl *k, char *line, size_t size, int64_t ms);
/*
 * All words of a command line: "kubectl", our --context and --kubeconfig, then 'words', which end
 * with NULL as the result does.
 */
void kubectl_words(const struct cli_args *args, const char *const *words,
		   const char *ret[KUBECTL_WORDS_MAX]);
/* The same with that --context in place of ours; NULL: none. */
void kubectl_words_in(const char *context, const struct cli_args *args, const char *const *words,
		      const char *ret[KUBECTL_WORDS_MAX]);
/*
 * Runs a kubectl to its end, within 'ms': 'argv' are all of its words, 'input' is its standard
 * input, which no other process sees. What it writes is appended to 'out' and 'err'. False: it
 * could not be started; errno says why. *ret_good: it ended with exit status 0, and nothing was cut
 * off.
 */
bool kubectl_run(const char *const *argv, mk_str input, int64_t ms, struct buf *out,
		 struct buf *err, bool *ret_good);
/* Called several times a second while a kubectl works: with what shall look meanwhile. */
struct kubectl_watch {
	void (*look)(void *ctx);
	void *ctx;
};

/* The same, and 'w' (may be NULL) looks meanwhile. */
bool kubectl_run_watched(const char *const *argv, mk_str input, int64_t ms,
			 const struct kubectl_watch *w, struct buf *out, struct buf *err,
			 bool *ret_good);
/* Ends it, if it has not ended, and waits. True: it ended by itself, with exit status 0. */
bool kubectl_end(struct kubectl *k, bool kill_it);

#endif
