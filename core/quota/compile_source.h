/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back from compile.h: a cluster's ClusterQueues as the owners of their trees wrote them,
 * so that trees are judged and compiled anew by their source, not by what was made of it.
 */
#ifndef MK_QUOTA_COMPILE_SOURCE_H
#define MK_QUOTA_COMPILE_SOURCE_H

#include "core/base/json.h"

/*
 * 'objects': all Cohorts, ClusterQuotaTrees and ClusterQueues of a cluster; others among them are
 * passed over. A ClusterQueue that a tree of theirs was compiled to loses, in place, what compile
 * gave it: its Cohort, and of a queue with a parent the limits, or all resourceGroups where it has
 * a weight. It counts as compiled when its Cohort has the label of a tree, this or another, or is
 * gone and had a name of the tree that the queue is in (or at which that is grafted). New values
 * live in 'a'. ERR_NO_MEMORY.
 */
enum mk_code compile_source(struct arena *a, struct json *const *objects, size_t n,
			    struct mk_err *err);

/* The tree that an object was made for: the value of its label; empty: none. */
mk_str compile_made_by(const struct json *o);

/*
 * The queue that Cohort 'name' of tree 'tree' stands for: what follows "<tree>."; 'name' itself
 * when it does not begin so.
 */
mk_str compile_queue_of(mk_str tree, mk_str name);

#endif
