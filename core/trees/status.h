/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a queue tree says of itself: the status of a ClusterQuotaTree (conditions, sizes, usage per
 * level, who borrows) and of ClusterQueueTree "default", and figures for metrics. Pure; Workloads
 * are not needed: what a leaf uses is what Kueue says in ClusterQueue.status.flavorsReservation.
 */
#ifndef MK_TREES_STATUS_H
#define MK_TREES_STATUS_H

#include "core/trees/pass.h"

/* One tree as a pass found it. */
struct trees_judged {
	const struct json *live; /* the ClusterQuotaTree; NULL: a tree of parents */
	mk_str name;
	/* When it is wrong: the errors that keep it out, and none of what follows but 'refusal'. */
	const struct validate_error *errors;
	size_t n_errors;
	const struct api_set *set;
	const struct api_model *model;
	struct quota *q;                 /* with the tree applied; no workloads */
	const struct compiled *compiled; /* NULL: out of the question (mode, enforcement) */
	enum trees_mode mode;            /* of the daemon, or less: of the tree's enforcement */
	bool engine;                     /* enforcement: Engine, which nothing does */
	/* Nothing is left to be written for it, deletions aside. */
	bool written;
	const struct trees_refusal *refusal;   /* or NULL */
	const struct trees_capacity *capacity; /* NULL: its total is its own */
};

/* What each queue uses, from the statuses of leaves up. */
struct trees_usage;

/* Sums up; in 'a'. NULL: out of memory. Amounts that cannot be read count as 0. */
struct trees_usage *trees_usage(struct arena *a, const struct trees_judged *j);

/*
 * The apply body of the tree's status (apiVersion, kind, metadata.name, status), or NULL when the
 * live status says the same already; conditions keep their lastTransitionTime while their status
 * stays. 'usage' is NULL for a tree that is wrong. In 'a'; out of memory shows in arena_failed.
 */
struct json *trees_status(struct arena *a, const struct trees_judged *j,
			  const struct trees_usage *usage, int64_t wall_ms);

/*
 * The same of a tree of parents, for its entry in the status of ClusterQueueTree "default", also
 * when it says nothing new, and with shorter messages: 'root' is the ClusterQueue (or NULL), 'was'
 * the live entry (or NULL). Out of memory shows in arena_failed.
 */
struct json *trees_status_of_parents(struct arena *a, const struct trees_judged *j,
				     const struct json *root, const struct trees_usage *usage,
				     const struct json *was, int64_t wall_ms);

/* Appends the figures of the tree to plan->figures, which has room for quota_n_nodes * n_frs. */
void trees_figures(const struct trees_judged *j, const struct trees_usage *usage,
		   struct trees_plan *plan);

#endif
