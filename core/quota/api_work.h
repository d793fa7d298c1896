/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Workload asks for and holds, as far as queue trees care; read when it is needed, one by
 * one.
 */
#ifndef MK_QUOTA_API_WORK_H
#define MK_QUOTA_API_WORK_H

#include "core/api/pods.h"
#include "core/quota/api.h"

struct api_work {
	const struct api_object *object;
	mk_str ns, name, uid; /* uid: "namespace/name" when the object has none */
	mk_str lq;            /* LocalQueue */
	/* ClusterQueue: of the admission, else of the LocalQueue; empty when unknown */
	mk_str queue;
	int64_t priority;
	int64_t created_ms; /* of creation; 0 when unknown */
	int64_t queued_ms;  /* its time in the order of the queue */
	int64_t admitted_ms;
	bool admitted; /* holds quota */
	bool evicting; /* holds quota and is being evicted */
	bool done;     /* finished, or switched off */
	struct api_pod_set *sets;
	size_t n_sets;
};

/*
 * Reads the Workload 'o' of a linked set; memory in 'a'. Values that cannot be read are added to
 * 'faults' (as rule 0) and count as nothing. ERR_NO_MEMORY.
 */
enum mk_code api_work_read(struct arena *a, const struct api_set *set, const struct api_object *o,
			   struct api_faults *faults, struct api_work *ret);

/*
 * May the pods of 'ps' run on nodes of flavor 'f'? By nodeSelector and required node affinity over
 * the labels that the flavor has, and by its NoSchedule and NoExecute taints. 'f' NULL: a flavor
 * without an object, which all may use.
 */
bool api_work_may_use(const struct api_pod_set *ps, const struct api_flavor *f);

#endif
