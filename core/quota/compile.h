/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compile mode: a queue tree (KEP-1093) as objects that Kueue itself enforces. An inner queue
 * becomes a Cohort <tree>.<queue>, a leaf a ClusterQueue in the Cohort of its parent, and their
 * nominal quotas, borrowing and lending limits say what quota.h says: a workload fits the tree
 * exactly when Kueue finds its quota available. Who is next and who is preempted, Kueue decides.
 *
 * No I/O. The same tree gives the same objects, byte for byte.
 */
#ifndef MK_QUOTA_COMPILE_H
#define MK_QUOTA_COMPILE_H

#include "core/quota/api_build.h"

/* Label of each Cohort, and of each ClusterQueue that did not exist: the name of the tree. */
#define COMPILE_LABEL API_ANNOTATION "created-by-tree"

/* What Kueue is told of one node and pair, in the units of quota.h. */
struct compile_limits {
	/*
	 * nominalQuota; of a Cohort: what is left of the node's own when its children have theirs.
	 * Where the parent's policy is fair, a child has no nominal quota but its reserve, so that
	 * all that it uses is borrowed, and Kueue's shares are those of the tree.
	 */
	int64_t nominal;
	bool limited;      /* not the root: the two below are there */
	int64_t borrowing; /* -1: no limit */
	int64_t lending;
};

/*
 * For tests, and below: of node 'node' and pair 'f' of 'q' (quota_node_at, quota_fr_at).
 * O(children).
 */
struct compile_limits compile_limits(const struct quota *q, size_t node, size_t f);

struct compiled {
	/*
	 * Cohorts, parents first, then ClusterQueues, breadth first. A ClusterQueue of the set has
	 * the fields which the tree decides and no others, for a field manager of its own; others
	 * are whole, from the tree's template. NULL: 'reasons' has something.
	 */
	struct json **objects;
	size_t n;
	/* Why Kueue cannot do what the tree says; path: the queue. */
	struct api_faults reasons;
	/* What Kueue decides in its own way; path: the queue, or the tree. */
	struct api_faults notes;
};

/*
 * The objects of 'model', which was applied to 'q'. Everything in 'a'; borrows from the model's
 * set. ERR_OK also with reasons; ERR_NO_MEMORY.
 */
enum mk_code compile_tree(struct arena *a, const struct api_model *model, const struct quota *q,
			  struct compiled *ret, struct mk_err *err);

/* --- what its files share --------------------------------------------------------------------- */

/* Fills ret->reasons and ret->notes. What does not fit in the arena shows in arena_failed. */
void compile_judge(struct arena *a, const struct api_model *model, const struct quota *q,
		   struct compiled *ret);
/*
 * The fences of a tree that stand between queues: API_FENCE_UNSET when some are open and some
 * closed, API_FENCE_OPEN also when there is none.
 */
enum api_fence compile_fences(const struct quota *q);
/* Name of the Cohort of inner queue 'node'; in 'a'. */
mk_str compile_cohort(struct arena *a, const struct api_model *model, mk_str node);

#endif
