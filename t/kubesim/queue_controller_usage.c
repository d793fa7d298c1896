/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a ClusterQueue: what is reserved and used by flavor, how many Workloads
 * wait, whether it is active. As the real controller it lags behind: written at most once a
 * second, and only what differs.
 */
#include "t/kubesim/queue_controller.h"

enum { EVERY_MS = 1000 };

/* The amounts of one flavor, as flavorsReservation has them. */
static struct json *resources(struct ks_actors *k, const struct cq *q, size_t *i)
{
	struct json *list = json_new_arr(&k->a);
	const char *flavor = q->amount[*i].flavor;

	for (; *i < q->n_amounts && q->amount[*i].flavor == flavor; (*i)++) {
		const struct amount *m = &q->amount[*i];
		struct json *one = json_new_obj(&k->a);

		int64_t borrowed = m->used > m->nominal ? m->used - m->nominal : 0;

		json_set_str(&k->a, one, "borrowed",
			     quantity_text(&k->a, m->resource, q->cohort ? borrowed : 0));
		json_set_str(&k->a, one, "name", str_of(m->resource));
		json_set_str(&k->a, one, "total", quantity_text(&k->a, m->resource, m->used));
		json_add(&k->a, list, one);
	}
	return list;
}

static struct json *flavors(struct ks_actors *k, const struct cq *q)
{
	struct json *list = json_new_arr(&k->a);

	for (size_t i = 0; i < q->n_amounts;) {
		struct json *one = json_new_obj(&k->a);

		json_set_str(&k->a, one, "name", str_of(q->amount[i].flavor));
		json_set(&k->a, one, STR("resources"), resources(k, q, &i));
		json_add(&k->a, list, one);
	}
	return list;
}

/* Conditions of others stay, since a merge patch replaces the list. */
static struct json *conditions(struct ks_actors *k, const struct cq *q, const struct json *obj)
{
	struct json_iter it = json_iter(json_at(obj, "/status/conditions"));
	const struct json *old = obj_condition(obj, "Active");
	struct json *list = json_new_arr(&k->a), *c = json_new_obj(&k->a);
	bool same = old != NULL && obj_is_true(obj, "Active") == q->active;

	json_set_str(&k->a, c, "lastTransitionTime",
		     same ? json_str(json_get(old, "lastTransitionTime")) : now_text(k));
	json_set_str(&k->a, c, "message",
		     q->active ? STR("Can admit new workloads") : STR("Can't admit new workloads"));
	json_set_int(&k->a, c, "observedGeneration",
		     json_int(json_at(obj, "/metadata/generation"), 1));
	json_set_str(&k->a, c, "reason", q->active ? STR("Ready") : STR("NotReady"));
	json_set_str(&k->a, c, "status", q->active ? STR("True") : STR("False"));
	json_set_str(&k->a, c, "type", STR("Active"));
	while (json_next(&it)) {
		if (it.val != old) {
			json_add(&k->a, list, json_dup(&k->a, it.val));
		}
	}
	json_add(&k->a, list, c);
	return list;
}

void usage_publish(struct ks_actors *k, struct item *it)
{
	struct cq *q = it->cq;
	const struct json *obj = ks_get(k->store, RES_CLUSTERQUEUES, STR(""), it->name);
	struct json *status = json_new_obj(&k->a), *patch = json_new_obj(&k->a);

	if (!k->o.publish_usage || !obj || !q->exists) {
		return;
	}
	if (k->now_ms < q->published_ms + EVERY_MS) {
		item_at(k, it, q->published_ms + EVERY_MS);
		return;
	}
	json_set(&k->a, status, STR("conditions"), conditions(k, q, obj));
	json_set(&k->a, status, STR("flavorsReservation"), flavors(k, q));
	json_set(&k->a, status, STR("flavorsUsage"), flavors(k, q));
	json_set_int(&k->a, status, "pendingWorkloads", (int64_t)q->n_pending);
	if (json_equal(json_get(obj, "status"), status)) {
		return;
	}
	json_set(&k->a, patch, STR("status"), status);
	q->published_ms = k->now_ms;
	api_merge(k, it,
		  arena_printf(
			  &k->a, "%.*s/status",
			  STR_ARG(obj_path(&k->a, str_of(RES_CLUSTERQUEUES), STR(""), it->name))),
		  patch, "kueue");
}
