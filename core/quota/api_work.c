/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads: what they hold, where they stand, when they came; see api_work.h. */
#include "core/quota/api_work.h"

#include "core/base/timefmt.h"
#include "core/quota/api_read.h"

/* --- times ------------------------------------------------------------------------------------ */

static int64_t since(const struct json *cond, int64_t otherwise)
{
	int64_t at = otherwise;

	time_parse(json_str(api_get(cond, "lastTransitionTime")), &at);
	return at;
}

/* A workload that was preempted keeps its place; one that failed to start goes to the end. */
static int64_t queue_time(const struct json *status, int64_t created)
{
	const struct json *evicted = api_condition_get(status, "Evicted");
	mk_str reason = json_str(api_get(evicted, "reason"));

	if (str_is(json_str(api_get(evicted, "status")), "True") &&
	    (str_is(reason, "PodsReadyTimeout") || str_is(reason, "AdmissionCheck"))) {
		return since(evicted, created);
	}
	return created;
}

enum mk_code api_work_read(struct arena *a, const struct api_set *set, const struct api_object *o,
			   struct api_faults *faults, struct api_work *ret)
{
	const struct json *meta = api_get(o->json, "metadata");
	const struct json *spec = api_get(o->json, "spec");
	const struct json *status = api_get(o->json, "status");
	const struct json *admission = api_get(status, "admission");
	const struct api_object *lq;
	struct api_pod_sets sets;
	struct api_work w = {
		.object = o,
		.ns = o->ns,
		.name = o->name,
		.uid = json_str(api_get(meta, "uid")),
		.lq = json_str(api_get(spec, "queueName")),
		.queue = json_str(api_get(admission, "clusterQueue")),
		.priority = json_int(api_get(spec, "priority"), 0),
	};

	time_parse(json_str(api_get(meta, "creationTimestamp")), &w.created_ms);
	lq = api_set_find(set, API_LQ, w.ns, w.lq);
	if (w.queue.n == 0 && lq != NULL) {
		w.queue = set->lqs[lq->item]->queue;
	}
	w.done = api_condition(status, "Finished") ||
		 (json_type(api_get(spec, "active")) == JSON_BOOL &&
		  !json_bool(api_get(spec, "active")) && !admission);
	w.admitted = admission != NULL && !api_condition(status, "Finished");
	w.evicting = w.admitted && api_condition(status, "Evicted");
	w.queued_ms = queue_time(status, w.created_ms);
	w.admitted_ms = since(api_condition_get(status, "QuotaReserved"), w.created_ms);
	w.uid = w.uid.n > 0 ? w.uid : arena_printf(a, "%.*s/%.*s", STR_ARG(w.ns), STR_ARG(w.name));
	if (!w.uid.p || api_pod_sets_read(a, o->json, faults, &sets) != ERR_OK) {
		return ERR_NO_MEMORY;
	}
	w.sets = sets.v;
	w.n_sets = sets.n;
	*ret = w;
	return ERR_OK;
}
