/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the validating webhook answers about queue trees: the rules V1 to V32 of validate.h for one
 * object that a user wants to write or delete, with the words of `kubectl multikueue tree
 * validate`. A pure function of the review and of what is known of the cluster.
 */
#ifndef MK_TREES_REVIEW_H
#define MK_TREES_REVIEW_H

#include "core/trees/store.h"

struct trees_review {
	bool allowed;
	mk_str text; /* of a refusal; warnings are in the answer */
	mk_str kind, name;
};

/*
 * Judges the text of an AdmissionReview of a ClusterQuotaTree, ClusterQueue, LocalQueue or
 * ClusterQueueTree. 'account' is the user name of the controller ("" while unknown), which may
 * write what others may not (V4, V20, V24). *ret_answer is JSON text in 'a'. The text is not
 * trusted. ERR_INVALID: no admission.k8s.io/v1 AdmissionReview with a request; ERR_TOO_BIG;
 * ERR_UNAVAILABLE: the store is not whole; ERR_NO_MEMORY.
 */
enum mk_code trees_review(struct trees_store *s, mk_str account, mk_str text, struct arena *a,
			  mk_str *ret_answer, struct trees_review *ret, struct mk_err *err);

#endif
