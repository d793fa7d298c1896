/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else uses the worker that a MultiKueueCluster leads to. A server has many signs, and each of
 * them can be missing: a Secret's label is lost when it is made anew by hand, a URL may be one of
 * several. So one sign is enough. Memory lives in the arena of the cli.
 */
#ifndef MK_CLI_WORKER_USES_H
#define MK_CLI_WORKER_USES_H

#include "core/cli/worker/steps.h"

struct uses {
	struct json *others;  /* names of other MultiKueueClusters that lead to this worker */
	struct json *unknown; /* of those that may: their kubeconfig is in no Secret that we read */
	bool is_secret_shared; /* one of them has the same Secret */
	bool is_shared;        /* a token of this manager there is used otherwise, too */
	mk_str why_shared;     /* by whom; "": it is not */
	size_t n_running;      /* Workloads that run there by the other names */
};

/*
 * 'held': what the manager has of the worker; 'tokens': what this manager has there, a List, NULL:
 * not asked. False: it failed and printed why.
 */
bool uses_find(const struct steps *s, const struct steps_held *held, const struct json *tokens,
	       struct uses *ret);

/* Counts the Workloads that run on that MultiKueueCluster. False: it failed and printed why. */
bool uses_running(const struct steps *s, mk_str name, size_t *ret);

#endif
