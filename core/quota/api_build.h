/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From API objects to the trees of quota.h. The set must be linked and free of errors (validate.h).
 */
#ifndef MK_QUOTA_API_BUILD_H
#define MK_QUOTA_API_BUILD_H

#include "core/quota/api_work.h"
#include "core/quota/quota.h"

/* One tree, ready for quota_apply. */
struct api_model {
	mk_str name;                 /* of the ClusterQuotaTree, or of the root */
	const struct api_tree *tree; /* NULL: a tree of parents */
	struct quota_desc desc;
	const struct api_place **places; /* of each desc.nodes */
	struct api_faults
		/*
		 * what is odd but no error, such as a flavor whose ElasticQuota is missing; path:
		 * the name
		 */
		notes;
};

struct api_models {
	struct api_model *v;
	size_t n;
};

/*
 * All trees of 'set': ClusterQuotaTrees in the order of the set, with those grafted on them, then
 * trees of parents by name of the root. Memory in 'a'; the descriptions borrow from the set.
 * ERR_TOO_BIG: more than QUOTA_MAX_FR pairs; ERR_NO_MEMORY.
 */
enum mk_code api_build(struct arena *a, struct api_set *set, struct api_models *ret,
		       struct mk_err *err);

/*
 * Puts workload 'w' into 'q', which was made from 'model'. Flavors that its pods cannot use by
 * labels and taints of the set's ResourceFlavors are not allowed to it. Errors as of quota_put.
 */
enum mk_code api_build_put(struct arena *a, const struct api_set *set,
			   const struct api_model *model, struct quota *q, const struct api_work *w,
			   struct mk_err *err);

#endif
