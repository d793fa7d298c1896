/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a job runs, and its pods there. The daemon says which worker took it; the pods are asked of
 * that worker by the user's own kubectl, kubeconfig and rights: the context of its name, or one
 * that --worker-context names. Nothing passes through the manager.
 */
#ifndef MK_CLI_PODS_PLACE_H
#define MK_CLI_PODS_PLACE_H

#include "core/cli/fleet/rows.h"

/* The options of each command that goes to a job's worker; an initialiser of struct cli_option. */
#define PLACE_OPTIONS                                                                            \
	{'n', "namespace", "NAME", false, "namespace of the job (default that of the context)"}, \
		{0, "worker-context", "WORKER=CONTEXT", true,                                    \
		 "context of a worker in your kubeconfig (default its name)"},                   \
		DAEMON_OPTIONS

struct place {
	struct daemon d;
	struct cli *c;
	const struct cli_args *args;
	const char *ns;
	struct wanted w;
	/* What the daemon said last, in the arena of the cli */
	mk_str workload, phase, message;
	mk_str worker;    /* "" none: it runs nowhere */
	mk_str job, kind; /* of the job: "train", "JobSet"; "" not known */
	bool missing;     /* the daemon answered, and has no such job */
};

/* A container of a pod. */
struct place_container {
	mk_str name;
	int64_t restarts;
	bool started; /* it runs or has ended, so that it has a log */
};

/*
 * Prepares 'p' for the job that 'name' means and finds the daemon. False: the error was printed.
 * place_close in any case.
 */
bool place_open(struct place *p, struct cli *c, const struct cli_args *args, const char *name);
/* Ends what place_open began. */
void place_close(struct place *p);

/* Asks where the job is. False: the daemon does not know it, or cannot be asked: was printed. */
bool place_look(struct place *p);
/*
 * The same for a command that needs a worker. CLI_NO: the job is not known, or runs on none;
 * CLI_FAILED: the daemon cannot be asked. The error was printed.
 */
enum cli_exit place_find(struct place *p);

/*
 * The words of `kubectl WORDS...` for the job's worker and namespace; 'words' ends with NULL as the
 * result does, and has at most 14. False: --worker-context is wrong, the error was printed.
 */
bool place_words(const struct place *p, const char *const *words,
		 const char *ret[KUBECTL_WORDS_MAX]);

/* The job's pods on its worker, an array in the order of names. NULL: the error was printed. */
struct json *place_pods(const struct place *p);
/* Only the pod that --pod names, all without it. NULL: it is not there, the error was printed. */
struct json *place_pod(const struct place *p, struct json *pods);

/*
 * The container at '*pos' of the pod, init containers first; begin with *pos = 0. False: there are
 * no more.
 */
bool place_each(const struct json *pod, size_t *pos, struct place_container *ret);

#endif
