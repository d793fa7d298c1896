/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands of `kubectl multikueue worker` share: the two clusters, what the manager has of
 * a worker, the token, and waiting. A function that fails has printed why.
 */
#ifndef MK_CLI_WORKER_STEPS_H
#define MK_CLI_WORKER_STEPS_H

#include "core/cli/worker/objects.h"
#include "core/cli/worker/plane.h"

/* Options of each of the commands; an initialiser of struct cli_option. */
#define STEPS_CONTEXT                                                                       \
	{                                                                                   \
		0, "context", "CONTEXT", false, "context of the worker (default: its name)" \
	}
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

/* What the manager has of a worker. An object that is not there is an empty one. */
struct steps_held {
	struct json *cluster; /* the MultiKueueCluster */
	mk_str location;      /* of its Secret; "": its kubeconfig is in no Secret */
	struct json *secret;  /* the one of that name */
	struct json *secrets; /* a List of those that may have a kubeconfig */
};

/* How a wait ended. */
enum steps_end { STEPS_DONE, STEPS_LATE, STEPS_FAILED };

/* Looks once. *ret_missing: what is waited for, "" when nothing is. False: it printed why. */
typedef bool steps_look_fn(void *ctx, mk_str *ret_missing);

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

/*
 * Finds what the manager has of the worker of that name. A MultiKueueCluster that is not there has
 * the Secret of its own name.
 */
bool steps_find(const struct steps *s, struct steps_held *ret);

/* Says that the manager has no MultiKueueCluster of that name, and which there are. Not CLI_OK. */
enum cli_exit steps_no_cluster(const struct steps *s);

/*
 * CLI_OK: the Secret says that it leads to the worker of 's'. CLI_NO: to another cluster, or it was
 * not made by these commands, so that it is not known where it leads.
 */
enum cli_exit steps_judge(const struct steps *s, const struct steps_held *held);

/* Applies token Secret 'number' and waits for its token. "": it failed. */
mk_str steps_token(const struct steps *s, int64_t number);

/*
 * Calls look(ctx) until nothing is missing or the time is over, and says what it waits for.
 * *ret_missing: what the last look said.
 */
enum steps_end steps_until(const struct steps *s, steps_look_fn *look, void *ctx,
			   mk_str *ret_missing);

/* What the MultiKueueCluster 'cluster' lacks to be Active; "": nothing. */
mk_str steps_inactive(const struct steps *s, const struct json *cluster);

/* Waits until the MultiKueueCluster is Active. */
bool steps_wait(const struct steps *s);

/* Prints 'objects' as what would be applied to the cluster 'name', which is a worker or manager. */
void steps_print(struct cli *c, const char *side, const char *name, const struct json *objects);

#endif
