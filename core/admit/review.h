/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the mutating webhook answers: an AdmissionReview in, an AdmissionReview with a JSON patch
 * out. A pure function of the review and the queues (queues.h). It never refuses an object; it
 * changes one in two cases:
 *
 *  1. managedBy: a job is created in a LocalQueue that leads away, and its managedBy is not set, or
 *     names the controller that has the kind anyway. It becomes kueue.x-k8s.io/multikueue, so that
 *     no controller of the manager runs the job.
 *  2. parked pods: an update of a pod in such a queue takes the scheduling gate
 *     kueue.x-k8s.io/admission away. The old schedulingGates, nodeSelector, tolerations and
 *     affinity are put back, so that the pod never starts here: it runs on a worker. (Kueue would
 *     also delete it at the next eviction, were it ungated.)
 */
#ifndef MK_ADMIT_REVIEW_H
#define MK_ADMIT_REVIEW_H

#include "core/admit/queues.h"

enum admit_rule { ADMIT_NONE, ADMIT_MANAGED_BY, ADMIT_PARKED, ADMIT_N_RULES };

/* "none", "managed_by", "parked_pod": for metrics and logs. */
const char *admit_rule_name(enum admit_rule rule);

/*
 * Judges the text of a review. *ret_answer is JSON text in 'a', *ret_rule what was done. The text
 * is not trusted: it may be anything. ERR_INVALID: no admission.k8s.io/v1 AdmissionReview with a
 * request; ERR_TOO_BIG; ERR_UNAVAILABLE: the queues are not known (yet), and the answer depends on
 * them; ERR_NO_MEMORY.
 */
enum mk_code admit_review(const struct admit_queues *q, mk_str text, struct arena *a,
			  mk_str *ret_answer, enum admit_rule *ret_rule, struct mk_err *err);

#endif
