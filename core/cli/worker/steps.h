/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands of `kubectl multikueue worker` share: the two clusters, the token, and the wait
 * until the manager says Active. A function that fails has printed why.
 */
#ifndef MK_CLI_WORKER_STEPS_H
#define MK_CLI_WORKER_STEPS_H

#include "core/cli/worker/objects.h"
#include "core/cli/worker/plane.h"

/* Options of each of the commands; an initialiser of struct cli_option. */
#define STEPS_OPTIONS                                                                   \
	{0, "manager-context", "NAME", false,                                           \
	 "context of the manager (default: the current one)"},                          \
		{0, "namespace", "NAME", false,                                         \
		 "namespace of the account and of the Secrets (default kueue-system)"}, \
	{                                                                               \
		0, "kubeconfig", "FILE", false, "kubeconfig that has the contexts"      \
	}
#define STEPS_OPTIONS_APPLY                                                        \
	{0, "force-conflicts", NULL, false, "take over fields that others wrote"}, \
	{                                                                          \
		0, "timeout", "SECONDS", false, "how long to wait (default 60)"    \
	}

struct steps {
	struct cli *c;
	struct plane manager, worker;
	const char *ns;
	mk_str name; /* of the MultiKueueCluster */
	int64_t timeout_ms;
};

/*
 * Reaches the manager and, unless 'context' is NULL, the worker, which must be two clusters.
 * *ret: what the command ends with when it is false.
 */
bool steps_open(struct steps *s, struct cli *c, const struct cli_args *args, const char *name,
		const char *context, enum cli_exit *ret);

/* Is 'name' one that Kubernetes takes for a MultiKueueCluster? */
bool steps_is_name(mk_str name);

/* The token Secrets that this manager has on the worker, a List. NULL: it failed. */
struct json *steps_tokens(const struct steps *s);

/* Applies token Secret 'number' and waits for its token. "": it failed. */
mk_str steps_token(const struct steps *s, int64_t number);

/* Waits until the MultiKueueCluster is Active, and says what it waits for. */
bool steps_wait(const struct steps *s);

#endif
