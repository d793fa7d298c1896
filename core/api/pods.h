/* SPDX-License-Identifier: Apache-2.0 */
/* What the pod sets of a Workload ask for and hold. */
#ifndef MK_API_PODS_H
#define MK_API_PODS_H

#include "core/api/fault.h"
#include "core/base/json.h"

/*
 * What all pods of a pod set request of one resource together, and the flavor that admission
 * assigned.
 */
struct api_request {
	mk_str resource;
	int64_t amount; /* cpu in thousandths; rounded up per pod */
	mk_str flavor;  /* of an admitted workload; else empty */
};

/* One pod set of a Workload. */
struct api_pod_set {
	mk_str name;
	int64_t count; /* pods that still need quota */
	struct api_request
		*requests; /* in the order of first mention; "pods" is always one of them, last */
	size_t n;
	const struct json *spec; /* of the pod template */
};

struct api_pod_sets {
	struct api_pod_set *v;
	size_t n;
};

/*
 * Reads the pod sets of 'workload', with what its admission says of them; memory in 'a', borrowing
 * from 'workload'. Values that cannot be read are added to 'faults' (as rule 0) and count as 0.
 * ERR_NO_MEMORY.
 */
enum mk_code api_pod_sets_read(struct arena *a, const struct json *workload,
			       struct api_faults *faults, struct api_pod_sets *ret);

#endif
