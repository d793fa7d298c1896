/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass of the controller of queue trees (KEP-1093; multiKueue.quotaTrees): from all objects of
 * the manager cluster to what is to be written next, so that Kueue enforces each tree
 * (core/quota/compile.h) and each tree has a status. A pure function of what the cluster shows: a
 * controller that ends between any two writes, or starts beside half of them, goes on with the next
 * pass.
 *
 * Promises, whatever happens between two passes and two writes:
 *   - no limit is ever above both what it was and what it will be (compile_plan.h);
 *   - a ClusterQueue or Cohort that no tree has is not written, and not deleted;
 *   - a tree that is wrong, cannot be expressed, or is refused by the API server has no effect on
 *     other trees, and what was written for it before stays.
 */
#ifndef MK_TREES_PASS_H
#define MK_TREES_PASS_H

#include "core/quota/api.h"
#include "core/quota/compile.h"
#include "core/quota/validate.h"
#include "core/trees/capacity.h"
#include "core/trees/store.h"

/* The field manager of Cohorts, ClusterQueues and finalizers, and that of status. */
#define TREES_FIELD_MANAGER "multikueue-quotatrees"
#define TREES_FIELD_MANAGER_STATUS "multikueue-quotatrees-status"
/* On a ClusterQuotaTree whose deletionPolicy is Delete, until what was made for it is gone. */
#define TREES_FINALIZER "multikueued.io/quota-tree"
/*
 * Annotation on a ClusterQuotaTree, or on the root of a tree of parents, "true": fields that others
 * own are taken over from them.
 */
#define TREES_TAKE_OVER "multikueued.io/take-over"
/* Has the object that annotation? */
bool trees_takes_over(const struct json *o);

enum trees_mode {
	TREES_OBSERVE, /* status alone; finalizers of TREES_COMPILE go */
	TREES_COMPILE,
};

/* The API server refused a write of that tree; remembered until the tree or the queues change. */
struct trees_refusal {
	mk_str tree;
	mk_str object; /* "ClusterQueue/a" */
	mk_str reason; /* of the Status: "Conflict", "Forbidden", "Invalid" */
	mk_str text;
};

struct trees_input {
	struct json *const *objects; /* of trees_snapshot_objects; not changed */
	size_t n;
	enum trees_mode mode;
	/*
	 * Did Kueue have the time to see what was written without 'more'? Increases wait for it
	 * (trees_plan.settle).
	 */
	bool settled;
	const struct trees_refusal *refusals;
	size_t n_refusals;
	/* Of ElasticQuotas: is one that is not among 'objects' not there? */
	enum trees_service elastic;
	const struct trees_capacities *capacities; /* NULL: no tree has its total from workers */
	int64_t wall_ms;
};

enum trees_verb {
	TREES_APPLY,  /* server-side apply as TREES_FIELD_MANAGER */
	TREES_STATUS, /* the same of subresource status, as TREES_FIELD_MANAGER_STATUS */
	TREES_DELETE, /* body: DeleteOptions with preconditions */
};

struct trees_write {
	enum trees_verb verb;
	enum api_kind kind; /* API_QUEUE, API_COHORT, API_TREE, API_STATUS */
	mk_str tree;        /* whose: of the ClusterQuotaTree, or of the root; "" of API_STATUS */
	bool parents;       /* ... of the root, a ClusterQueue */
	mk_str name;
	/*
	 * Of TREES_APPLY: the tree has TREES_TAKE_OVER, or it is the root whose quota its owner
	 * wants from workers.
	 */
	bool force;
	/*
	 * Of Cohorts and ClusterQueues that are brought to what the tree says: writes of a tree
	 * with the same level, one after the other, do not depend on each other. 0: no such write.
	 */
	size_t level;
	/* Nothing gets less by it: what follows need not wait until Kueue has seen it. */
	bool more;
	int64_t generation; /* ... of the ClusterQueue that the pass saw; 0: there is none yet */
	struct json *body;
};

/* What a tree's queue has of one pair: for metrics. In the units of quota.h. */
struct trees_figure {
	mk_str tree, queue, flavor, resource;
	bool leaf;
	int64_t nominal, max, use, hold;
	bool first;      /* pair of its queue, */
	int64_t pending; /* ... in and below which so many Workloads wait */
};

struct trees_plan {
	/*
	 * In this order for each tree: when one is refused, the rest of that tree waits. Writes of
	 * different trees do not depend on each other. Statuses come last.
	 */
	struct trees_write *writes;
	size_t n;
	/*
	 * Some tree has more to write when Kueue has seen what was written: give 'settled' then.
	 */
	bool settle;
	struct trees_figure *figures;
	size_t n_figures;
	size_t n_trees, n_invalid, n_inexpressible;
};

/*
 * Makes the plan. Everything in 'a', which may borrow from the input. ERR_NO_MEMORY alone: whatever
 * is wrong with an object is said in the status of its tree.
 */
enum mk_code trees_pass(struct arena *a, const struct trees_input *in, struct trees_plan *ret,
			struct mk_err *err);

#endif
