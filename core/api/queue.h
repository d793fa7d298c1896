/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quotas of ClusterQueues and Cohorts (kueue.x-k8s.io/v1beta2: spec.resourceGroups, or in its
 * place status.effectiveQuotas of KEP-12382, alpha since 0.20; of ClusterQueues
 * status.flavorsReservation).
 */
#ifndef MK_API_QUEUE_H
#define MK_API_QUEUE_H

#include "core/base/json.h"

enum { API_QUOTAS_MAX = 1024 };

/*
 * What a ClusterQueue says of one resource in one flavor. cpu in thousandths, everything else in
 * whole units.
 */
struct api_quota {
	mk_str flavor, resource;
	uint32_t group;
	uint8_t format; /* enum api_format of the nominal quota */
	int64_t nominal;
	int64_t used;               /* reserved by Workloads */
	int64_t borrowing, lending; /* limits within the cohort; -1: none */
};

/*
 * Does a DynamicQuotaOrchestrator give 'obj' its quotas? Kueue then schedules by those, and does
 * not look at the spec's. (It would with the gate off, which no object tells.)
 */
bool api_is_orchestrated(const struct json *obj);

/*
 * The quotas that hold for ClusterQueue or Cohort 'obj', in its order, at most API_QUOTAS_MAX, as
 * views into it or 'a'. NULL: out of memory.
 */
struct api_quota *api_quotas(struct arena *a, const struct json *obj, uint32_t *ret_n);

/* Quotas of one object. Of two of the same resource in the same flavor only one is found. */
struct api_quota_list {
	const struct api_quota *v;
	size_t n; /* at most API_QUOTAS_MAX */
};
/* Has 'now' a resource in a flavor of which 'old' has less nominal quota, or none? */
bool api_quotas_grew(struct api_quota_list old, struct api_quota_list now);
/* Has 'now' one of which more is free: nominal quota less use? */
bool api_quotas_freed(struct api_quota_list old, struct api_quota_list now);

#endif
