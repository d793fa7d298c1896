/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a worker's queues for dispatchers; see facts_queue.h. */
#include "core/engine/rules/facts_queue.h"

#include "core/api/amount.h"
#include "core/api/pods.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/assume.h"

enum { AWAIT_MS = 5000 };

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

	json_append_lit(a, one, STR("name"), json_new_str(a, name));
	json_append_lit(a, one, STR("amount"), json_new_int(a, amount));
	json_add(a, list, one);
}

const struct record *facts_queue_record(const struct pass *p, const struct cluster *c,
					mk_str local_queue)
{
	const struct table *lqs = queue_table(c, KIND_LOCAL_QUEUE);
	const struct table *cqs = queue_table(c, KIND_CLUSTER_QUEUE);
	const struct record *lq = store_get(lqs, p->w->ns, local_queue);

	return lq ? store_get(cqs, STR_NONE, lq->facts->s[S_QUEUE]) : NULL;
}

struct json *facts_of_cluster(struct pass *p, const struct clone *k, const struct record *cq,
			      const struct card *card)
{
	struct arena *a = &p->e->scratch;
	const struct table *clones = k->c->tables[KIND_WORKLOAD];
	int64_t age = k->c->own.lost_at == INT64_MAX ? 0 : p->e->now - k->c->own.lost_at;
	size_t waiting = clones ? clones->n_waiting + clones->n_creating : 0;
	struct json *facts, *queue;

	facts = json_new_obj(a);
	queue = json_new_obj(a);
	json_append_lit(a, facts, STR("ageMs"), json_new_int(a, age));
	json_append_lit(a, facts, STR("waiting"), json_new_int(a, (int64_t)waiting));
	json_append_lit(a, facts, STR("queue"), queue);
	json_append_lit(a, queue, STR("name"), json_share(a, card->queue));
	json_append_lit(a, queue, STR("active"), json_new_bool(a, facts_is(cq->facts, F_ACTIVE)));
	json_append_lit(a, queue, STR("pending"), json_new_int(a, cq->facts->pending));
	json_append_lit(a, queue, STR("preempts"),
			json_new_bool(a, facts_is(cq->facts, F_PREEMPTS)));
	json_append_lit(a, queue, STR("elderMs"), json_new_int(a, assume_elder_ms(p, k, cq->name)));
	json_append_lit(a, queue, STR("assumed"), assume_list(p, k, cq->name));
	json_append_lit(a, queue, STR("flavors"), json_share(a, card->flavors));
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
