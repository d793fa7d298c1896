/* SPDX-License-Identifier: Apache-2.0 */
/* Random queue trees with several flavors, resources and groups, as objects that users write. */
#ifndef MK_T_LIB_QUOTA_RANDOM_H
#define MK_T_LIB_QUOTA_RANDOM_H

#include "core/base/arena.h"
#include "core/base/json.h"
#include "core/base/rng.h"

enum { RANDOM_NODES = 20, RANDOM_PAIRS = 6 };

/* How a tree says its numbers. */
enum random_shape {
	RANDOM_WEIGHTS,  /* a ClusterQuotaTree, in percent */
	RANDOM_AMOUNTS,  /* a ClusterQuotaTree, in amounts */
	RANDOM_RESERVES, /* the same, with lending limits */
	RANDOM_PARENTS,  /* ClusterQueues with parents, in percent */
};

struct random_pair {
	const char *flavor, *resource;
	size_t group;
	int64_t grain; /* amounts are multiples of it */
	int64_t total; /* in units of quota.h */
};

struct random_node {
	size_t parent; /* before it; of the root, 0, its own */
	size_t level;  /* of the root: 0 */
	size_t n_children;
	int min_weight, max_weight; /* -1: not said */
	int64_t min[RANDOM_PAIRS];  /* 0: not said */
	int64_t max[RANDOM_PAIRS];
	bool says_max[RANDOM_PAIRS];
	int64_t lending[RANDOM_PAIRS]; /* -1: not said */
};

struct random_tree {
	const char *policy; /* of all its queues */
	enum random_shape shape;
	bool open; /* its fences */
	size_t n_pairs, n;
	struct random_pair pairs[RANDOM_PAIRS];
	struct random_node nodes[RANDOM_NODES]; /* their names: q0, q1, ... */
};

/*
 * A valid tree of 1 to 5 levels below its root, 1 to 3 flavors and 1 to 3 resources in 1 or 2
 * groups; it draws from 'r'.
 */
void random_tree(struct random_tree *t, struct rng *r, const char *policy, enum random_shape shape);

/* Its objects, as an array in 'a'; 'r' chooses spellings. NULL when out of memory. */
struct json *random_objects(const struct random_tree *t, struct rng *r, struct arena *a);

#endif
