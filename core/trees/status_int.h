/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of status.h share: what each node has and uses, conditions, lists. Memory is the
 * caller's arena; not thread-safe.
 */
#ifndef MK_TREES_STATUS_INT_H
#define MK_TREES_STATUS_INT_H

#include "core/trees/status.h"

enum { TREES_STRAYS = 10 };

/* One node and pair, in the units of quota.h. */
struct trees_cell {
	int64_t nominal, max;
	int64_t use, hold;
};

/* Workloads of a node, with those of the nodes below it. */
struct trees_workloads {
	int64_t pending, reserving, admitted;
};

/* Something that a queue uses, and that the tree does not have. */
struct trees_stray {
	size_t node;
	mk_str flavor, resource;
	int64_t use;
};

struct trees_usage {
	size_t n, n_frs;          /* nodes and pairs of the tree */
	size_t *desc;             /* per node: its index in model->desc.nodes */
	struct trees_cell *cells; /* node by node */
	struct trees_workloads *workloads;
	struct trees_stray strays[TREES_STRAYS];
	size_t n_strays; /* may be more than are kept */
};

/* Of node 'node' (quota_node_at) and pair 'f'. */
static inline const struct trees_cell *trees_cell(const struct trees_usage *u, size_t node,
						  size_t f)
{
	return &u->cells[node * u->n_frs + f];
}

/* Name of a node; lives as long as the model. */
static inline mk_str trees_node_name(const struct trees_judged *j, const struct trees_usage *u,
				     size_t node)
{
	return j->model->desc.nodes[u->desc[node]].name;
}

/* Has the node a pair in which it holds more than its maximum? */
bool trees_is_over(const struct trees_usage *u, size_t node);
/* Levels of the tree: the root is 1. */
size_t trees_depth(const struct trees_judged *j);

/*
 * The conditions of a status, in this order. All but the last are always there; that one has no
 * type where the tree's total is its own.
 */
enum {
	TREES_ACCEPTED,
	TREES_ACTIVE,
	TREES_EXPRESSIBLE,
	TREES_DEGRADED,
	TREES_OVER_LIMIT,
	TREES_RECLAIM,
	TREES_ROUNDED,
	TREES_CAPACITY,
	TREES_CONDITIONS,
};

struct trees_condition {
	const char *type, *status;
	mk_str reason, message;
};

/* Fills 'ret'; out of memory shows in arena_failed. 'u' is NULL for a tree that is wrong. */
void trees_conditions(struct arena *a, const struct trees_judged *j, const struct trees_usage *u,
		      struct trees_condition ret[TREES_CONDITIONS]);
/* Those that the pass, or the API server, decides: Active. */
struct trees_condition trees_active(struct arena *a, const struct trees_judged *j,
				    const struct trees_usage *u);

/* Sets the sizes, sums and lists of a valid tree in 'status'. */
void trees_lists(struct arena *a, const struct trees_judged *j, const struct trees_usage *u,
		 struct json *status);

#endif
