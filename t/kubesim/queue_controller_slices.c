/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elastic Jobs, as Kueue 0.19 sees them. One whose user changes its parallelism keeps its Workload
 * where that shrinks, or has no quota yet. For growth another Workload is made, a slice, which
 * names the one that it replaces; the job goes on as that meanwhile. Who gives the slice quota ends
 * the one before first, and hands on the name of the cluster where it runs.
 */
#include "t/kubesim/queue_controller.h"

#define ANNOTATION_ELASTIC "kueue.x-k8s.io/elastic-job"
#define ANNOTATION_REPLACES "kueue.x-k8s.io/workload-slice-replacement-for"
#define REPLACED "WorkloadSliceReplaced"

bool slices_is_elastic(const struct json *o)
{
	return str_is(obj_annotation(o, ANNOTATION_ELASTIC), "true");
}

bool slices_is_one(const struct json *wl)
{
	return slices_is_elastic(wl) && obj_annotation(wl, ANNOTATION_REPLACES).n > 0;
}

void slices_name(struct ks_actors *k, struct json *meta, const struct json *before)
{
	struct json *notes = json_get(meta, "annotations");

	json_set_str(&k->a, notes, ANNOTATION_REPLACES,
		     arena_printf(&k->a, "%.*s/%.*s", STR_ARG(obj_meta(before, "namespace")),
				  STR_ARG(obj_meta(before, "name"))));
}

bool slices_was_replaced(const struct json *wl)
{
	return slices_is_elastic(wl) && obj_is_true(wl, "Finished") &&
	       str_is(json_str(json_get(obj_condition(wl, "Finished"), "reason")), REPLACED);
}

static bool replaces(struct ks_actors *k, const struct json *wl, const struct json *other)
{
	return str_eq(obj_annotation(wl, ANNOTATION_REPLACES),
		      arena_printf(&k->a, "%.*s/%.*s", STR_ARG(obj_meta(other, "namespace")),
				   STR_ARG(obj_meta(other, "name"))));
}

const struct json *slices_of(struct ks_actors *k, const struct json *job,
			     const struct json **ret_before)
{
	const struct json *newest = NULL, *over = NULL, *wl;
	size_t pos = 0;

	*ret_before = NULL;
	while ((wl = ks_each(k->store, RES_WORKLOADS, &pos)) != NULL) {
		if (!str_eq(json_str(json_get(obj_controller(wl), "uid")), obj_meta(job, "uid")) ||
		    slices_was_replaced(wl)) {
			continue;
		}
		if (obj_is_true(wl, "Finished")) {
			over = wl;
		} else if (newest != NULL && replaces(k, newest, wl)) {
			*ret_before = wl;
		} else {
			*ret_before = newest;
			newest = wl;
		}
	}
	return newest != NULL ? newest : over;
}

/* --- the job's part --------------------------------------------------------------------------- */

bool slices_resize(struct ks_actors *k, struct item *it, const struct json *wl, int64_t pods)
{
	int64_t had = json_int(json_at(wl, "/spec/podSets/0/count"), 1);
	struct json *patch, *sets;

	if (obj_is_true(wl, "Finished") || had == pods || slices_must_grow(wl, pods)) {
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

bool slices_must_grow(const struct json *wl, int64_t pods)
{
	return json_int(json_at(wl, "/spec/podSets/0/count"), 1) < pods &&
	       obj_is_true(wl, "QuotaReserved") && !obj_is_true(wl, "Finished");
}

/* --- quota ------------------------------------------------------------------------------------ */

struct item *slices_replaced(struct ks_actors *k, const struct json *wl)
{
	mk_str of = obj_annotation(wl, ANNOTATION_REPLACES), ns;
	const struct json *old;

	if (!slices_is_one(wl)) {
		return NULL;
	}
	str_split(&of, '/', &ns);
	old = ks_get(k->store, RES_WORKLOADS, ns, of);
	return old && obj_is_true(old, "QuotaReserved") && !obj_is_true(old, "Finished")
		       ? item_get(k, ITEM_WORKLOAD, RES_WORKLOADS, ns, of)
		       : NULL;
}

mk_str slices_end(struct ks_actors *k, struct item *old)
{
	const struct json *wl = ks_get(k->store, RES_WORKLOADS, old->ns, old->name);
	mk_str cluster = arena_dup(&k->a, json_str_at(wl, "/status/clusterName"));
	struct json *body = status_body(k, wl);

	status_condition(k, body, "Finished", true, STR(REPLACED),
			 STR("Replaced to accommodate a new workload slice"));
	status_apply(k, old, body);
	cq_quota_release(k, old);
	return cluster;
}
