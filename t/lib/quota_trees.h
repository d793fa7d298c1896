/* SPDX-License-Identifier: Apache-2.0 */
/* Random valid trees of API objects, of both plans, for the tests that plant faults in them. */
#ifndef MK_T_LIB_QUOTA_TREES_H
#define MK_T_LIB_QUOTA_TREES_H

#include <stdarg.h>
#include <stdio.h>

#include "core/base/rng.h"
#include "t/lib/quota_objects.h"

enum { MAX_NODES = 40 };

/* A tree as the generator made it. */
struct world {
	struct arena a;
	struct rng rng;
	bool amounts; /* instead of weights */
	int n;
	int parent[MAX_NODES]; /* -1: the root, which is 0 */
	int n_children[MAX_NODES];
	int level[MAX_NODES];
	int64_t min[MAX_NODES], max[MAX_NODES]; /* of amounts; of the root: the total */
	int min_weight[MAX_NODES], max_weight[MAX_NODES];
	struct json *docs;
	struct json *node[MAX_NODES]; /* entry of a weightedQuotas, or ClusterQueue */
	mk_str path[MAX_NODES];       /* of the entry */
};

extern const mk_str qt_not_here;

/* JSON in the tree's arena; what is none is told in the output. */
struct json *qt_parse(struct world *w, mk_str text);

/* A list of flavor "f" with that much cpu. */
struct json *qt_flavor(struct world *w, int64_t cpu);

/* Writes the tree as one ClusterQuotaTree. */
void qt_plan_b(struct world *w);

/* Writes the tree as ClusterQueues with parents. */
void qt_plan_a(struct world *w);

/* What validate() says when the object of index 'subject' (API_NONE: none) was written last. */
mk_str qt_judge(struct world *w, size_t subject);

/* A random tree by the seed; qt_plan_a() or qt_plan_b() then write its objects. */
void qt_make(struct world *w, uint64_t seed);

/* A text in the tree's arena. */
mk_str qt_text(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
