/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elastic Jobs, as Kueue 0.19 sees them: one whose user changes its parallelism keeps its Workload
 * where that shrinks, or has no quota yet.
 */
#include "t/kubesim/queue_controller.h"

#define ANNOTATION_ELASTIC "kueue.x-k8s.io/elastic-job"

bool slices_is_elastic(const struct json *o)
{
	return str_is(obj_annotation(o, ANNOTATION_ELASTIC), "true");
}

bool slices_resize(struct ks_actors *k, struct item *it, const struct json *wl, int64_t pods)
{
	int64_t had = json_int(json_at(wl, "/spec/podSets/0/count"), 1);
	struct json *patch, *sets;

	if (!slices_is_elastic(wl) || obj_is_true(wl, "Finished") || had == pods ||
	    (had < pods && obj_is_true(wl, "QuotaReserved"))) {
		return false;
	}
	patch = json_new_obj(&k->a);
	sets = json_dup(&k->a, json_at(wl, "/spec/podSets"));
	json_put(&k->a, sets, "/0/count", json_new_int(&k->a, pods));
	json_put(&k->a, patch, "/spec/podSets", sets);
	return api_merge(k, it,
			 obj_path(&k->a, str_of(RES_WORKLOADS), it->ns, obj_meta(wl, "name")),
			 patch, "kueue");
}
