/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a worker's queues for dispatchers; see facts_queue.h. */
#include "core/engine/rules/facts_queue.h"

#include "core/api/amount.h"
#include "core/api/pods.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/assume.h"
#include "core/engine/store/cohort.h"

enum { AWAIT_MS = 5000 };

bool facts_are_wanted(const struct engine *e, int dispatcher)
{
	const struct plug_dispatcher *d =
		dispatcher < 0 ? NULL : plug_dispatcher(e->o.plug, (size_t)dispatcher);

	return d && (d->d->flags & MK_WANTS_FACTS);
}

static const struct table *queue_table(const struct cluster *c, uint16_t kind)
{
	const struct table *t = c->tables[kind];

	return t && t->synced && t->service == SERVICE_YES ? t : NULL;
}

/*
 * Are lists under way that were requested a moment ago, of a cluster that is up? Their end queues
 * the pass.
 */
static bool is_awaited(struct pass *p, const struct clone *k)
{
	const struct table *t[] = {k->c->tables[KIND_LOCAL_QUEUE],
				   k->c->tables[KIND_CLUSTER_QUEUE]};
	bool awaited = false;

	for (size_t i = 0; i < 2 && cluster_up(k->c); i++) {
		int64_t since = !t[i]                         ? 0
				: t[i]->idle_at > k->c->up_at ? t[i]->idle_at
							      : k->c->up_at;

		if (t[i] && t[i]->watched && !t[i]->synced && t[i]->service == SERVICE_YES &&
		    p->e->now - since < AWAIT_MS) {
			queue_add_at(&p->e->queue, &p->w->item, since + AWAIT_MS);
			awaited = true;
		}
	}
	return awaited;
}

bool facts_awaited(struct pass *p)
{
	bool awaited = false;

	watches_want_queues(p->e);
	for (CLONES_EACH(k, p)) {
		if (!k->in_config) {
			break; /* those of the config come first */
		}
		awaited |= is_awaited(p, k);
	}
	return awaited;
}

void facts_add_amount(struct arena *a, struct json *list, mk_str name, int64_t amount)
{
	struct json *one = json_new_obj(a);

	json_set_str(a, one, "name", name);
	json_set_int(a, one, "amount", amount);
	json_add(a, list, one);
}

static struct json *flavors_of(struct arena *a, const struct table *cqs, const struct facts *f)
{
	struct json *list = json_new_arr(a), *free_ = NULL, *borrow = NULL, *most = NULL;

	for (size_t i = 0; i < f->n_quotas; i++) {
		const struct api_quota *q = &f->quotas[i];
		struct cohort_room room = cohort_room(cqs, f, q);

		if (i == 0 || q->group != q[-1].group || !str_eq(q->flavor, q[-1].flavor)) {
			struct json *flavor = json_new_obj(a);

			free_ = json_new_arr(a);
			borrow = json_new_arr(a);
			most = json_new_arr(a);
			json_set_str(a, flavor, "name", q->flavor);
			json_set_int(a, flavor, "group", q->group);
			json_set(a, flavor, STR("free"), free_);
			json_set(a, flavor, STR("borrow"), borrow);
			json_set(a, flavor, STR("most"), most);
			json_add(a, list, flavor);
		}
		facts_add_amount(a, free_, q->resource, api_add(q->nominal, -q->used));
		facts_add_amount(a, borrow, q->resource, room.borrow);
		facts_add_amount(a, most, q->resource, room.most);
	}
	return list;
}

const struct record *facts_queue_record(const struct pass *p, const struct cluster *c,
					mk_str local_queue)
{
	const struct table *lqs = queue_table(c, KIND_LOCAL_QUEUE);
	const struct table *cqs = queue_table(c, KIND_CLUSTER_QUEUE);
	const struct record *lq = store_get(lqs, p->w->ns, local_queue);

	return lq ? store_get(cqs, STR_NONE, lq->facts->s[S_QUEUE]) : NULL;
}

struct json *facts_of_cluster(struct pass *p, const struct clone *k, mk_str local_queue)
{
	struct arena *a = &p->e->scratch;
	const struct record *cq = facts_queue_record(p, k->c, local_queue);
	const struct table *clones = k->c->tables[KIND_WORKLOAD];
	int64_t age = k->c->own.lost_at == INT64_MAX ? 0 : p->e->now - k->c->own.lost_at;
	struct json *facts, *queue;

	if (!cq || !clones) {
		return NULL;
	}
	facts = json_new_obj(a);
	queue = json_new_obj(a);
	json_set_int(a, facts, "ageMs", age);
	json_set_int(a, facts, "waiting", (int64_t)(clones->n_waiting + clones->n_creating));
	json_set_str(a, queue, "name", cq->name);
	json_set_bool(a, queue, "active", facts_is(cq->facts, F_ACTIVE));
	json_set_int(a, queue, "pending", cq->facts->pending);
	json_set_bool(a, queue, "preempts", facts_is(cq->facts, F_PREEMPTS));
	json_set_int(a, queue, "elderMs", assume_elder_ms(p, k, cq->name));
	json_set(a, queue, STR("assumed"), assume_list(p, k, cq->name));
	json_set(a, queue, STR("flavors"), flavors_of(a, cq->table, cq->facts));
	json_set(a, facts, STR("queue"), queue);
	return facts;
}

struct json *facts_requests(struct pass *p, const struct json *wl)
{
	struct arena *a = &p->e->scratch;
	struct api_faults faults = {.n = 0};
	struct json *sums = json_new_arr(a);
	struct api_pod_sets sets;

	if (api_pod_sets_read(a, wl, &faults, &sets) != ERR_OK) {
		say_no_memory(p->e);
		return NULL;
	}
	for (size_t i = 0; i < sets.n; i++) {
		for (size_t j = 0; j < sets.v[i].n; j++) {
			const struct api_request *r = &sets.v[i].requests[j];
			struct json *sum = json_find(sums, "name", r->resource.p);

			if (!sum) {
				facts_add_amount(a, sums, r->resource, r->amount);
				continue;
			}
			json_set_int(a, sum, "amount",
				     api_add(json_int(json_get(sum, "amount"), 0), r->amount));
		}
	}
	return sums;
}
