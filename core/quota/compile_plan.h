/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the Cohorts and ClusterQueues of a cluster to those that compile.h made, in an order in
 * which no limit is ever above both what it was and what it will be: first what gets less, the
 * lowest first; when Kueue has seen that, what gets more, the highest first. A plan follows from
 * what is there alone: a program that ends between two writes goes on with the next plan.
 */
#ifndef MK_QUOTA_COMPILE_PLAN_H
#define MK_QUOTA_COMPILE_PLAN_H

#include "core/base/json.h"

struct compile_plan {
	struct json **objects; /* to be written, in this order */
	size_t *levels;        /* of each: 1 is a root; those of one do not depend on each other */
	size_t n;
	bool more;    /* they are those that get less: others follow */
	mk_str *idle; /* names of Cohorts of the trees that are not needed any more */
	size_t n_idle;
};

/*
 * The next writes: 'want' are the objects of one or more trees, 'live' all Cohorts and
 * ClusterQueues of the cluster, borrowed. Of the live ones only those count that are wanted, are
 * labelled as made by one of the trees, or are in one of their Cohorts. n and n_idle are 0 when
 * everything is as wanted. Everything in 'a'. ERR_INVALID: an amount that cannot be read, Cohorts
 * in a cycle; ERR_CONFLICT: a ClusterQueue is in a Cohort of the trees, and is not wanted;
 * ERR_NO_MEMORY.
 */
enum mk_code compile_plan(struct arena *a, struct json *const *want, size_t n_want,
			  struct json *const *live, size_t n_live, struct compile_plan *ret,
			  struct mk_err *err);

#endif
