/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads from API objects into a tree; see api_build.h. */
#include "core/quota/api_build.h"

static const struct api_flavor *flavor_of(const struct api_set *set, mk_str name)
{
	struct api_object *o = api_set_find(set, API_FLAVOR, (mk_str){NULL, 0}, name);

	return o != NULL ? set->flavors[o->item] : NULL;
}

static uint64_t allowed(const struct api_set *set, const struct api_model *model,
			const struct quota *q, const struct api_pod_set *ps)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < model->desc.n_frs; i++) {
		mk_str name = model->desc.frs[i].flavor;
		uint64_t bit = quota_flavor_bit(q, name);

		if ((bits & bit) == 0 && api_work_may_use(ps, flavor_of(set, name))) {
			bits |= bit;
		}
	}
	return bits;
}

static bool has_resource(const struct api_model *model, mk_str resource)
{
	for (size_t i = 0; i < model->desc.n_frs; i++) {
		if (str_eq(model->desc.frs[i].resource, resource)) {
			return true;
		}
	}
	return false;
}

/* Is this something that quota is asked for? Pods count where the tree counts them. */
static bool counts(const struct api_model *model, const struct api_work *w,
		   const struct api_request *r)
{
	if (r->amount == 0 || (w->admitted && r->flavor.n == 0)) {
		return false;
	}
	return !str_is(r->resource, "pods") || has_resource(model, r->resource);
}

static int32_t clamped(int64_t priority)
{
	return priority > INT32_MAX   ? INT32_MAX
	       : priority < INT32_MIN ? INT32_MIN
				      : (int32_t)priority;
}

/* The LocalQueue's name where the tree knows it, else empty. */
static mk_str lq_of(struct arena *a, const struct api_model *model, const struct api_work *w)
{
	mk_str name = arena_printf(a, "%.*s/%.*s", STR_ARG(w->ns), STR_ARG(w->lq));

	for (size_t i = 0; i < model->desc.n_lqs; i++) {
		const struct quota_lq *lq = &model->desc.lqs[i];

		if (str_eq(lq->name, name) && str_eq(model->desc.nodes[lq->node].name, w->queue)) {
			return name;
		}
	}
	return (mk_str){NULL, 0};
}

enum mk_code api_build_put(struct arena *a, const struct api_set *set,
			   const struct api_model *model, struct quota *q, const struct api_work *w,
			   struct mk_err *err)
{
	size_t n = 0;
	struct quota_ask *asks;
	uint64_t *flavors = arena_array(a, w->n_sets + 1, sizeof(*flavors));
	struct quota_work_desc d = {
		.uid = w->uid,
		.leaf = w->queue,
		.lq = lq_of(a, model, w),
		.priority = clamped(w->priority),
		.time_ms = w->queued_ms,
		.n_pods = w->n_sets,
		.admitted = w->admitted,
		.admitted_ms = w->admitted_ms,
	};

	for (size_t s = 0; s < w->n_sets; s++) {
		n += w->sets[s].n;
	}
	asks = arena_array(a, n, sizeof(*asks));
	if (!asks || !flavors) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (size_t s = 0; s < w->n_sets; s++) {
		flavors[s] = allowed(set, model, q, &w->sets[s]);
		for (size_t i = 0; i < w->sets[s].n; i++) {
			const struct api_request *r = &w->sets[s].requests[i];

			if (counts(model, w, r)) {
				asks[d.n_asks++] = (struct quota_ask){
					.pod = (uint32_t)s,
					.resource = r->resource,
					.amount = r->amount > QUOTA_MAX_AMOUNT ? QUOTA_MAX_AMOUNT
									       : r->amount,
					.flavor = w->admitted ? r->flavor : (mk_str){NULL, 0},
				};
			}
		}
	}
	d.asks = asks;
	d.flavors = flavors;
	return quota_put(q, &d, err);
}
