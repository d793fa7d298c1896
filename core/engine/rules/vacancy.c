/* SPDX-License-Identifier: Apache-2.0 */
/* Room as jobs end; see vacancy.h. */
#include "core/engine/rules/vacancy.h"

#include "core/api/amount.h"
#include "core/engine/rules/assume.h"
#include "core/engine/rules/facts_queue.h"
#include "core/engine/store/cohort.h"
#include "core/engine/store/touch.h"

/* An offer that is old ends; the next one begins. */
static void turn(const struct engine *e, struct cluster *c)
{
	if (e->now - c->own.offer_at >= VACANCY_EVERY_MS || c->own.offer_at > e->now) {
		c->own.offer_at = e->now;
		c->own.offered = 0;
	}
}

void vacancy_saw(struct engine *e, struct cluster *c)
{
	bool first = c->own.freed_at == 0;
	int64_t next = c->own.offer_at + VACANCY_EVERY_MS;

	c->own.freed_at = e->wall;
	touch_resting(e, str_of(c->name), VACANCY_MOST, first || next < e->now ? e->now : next);
}

/* The most that one flavor of the queue has free of the resource; -1: none has the resource. */
static int64_t free_of(const struct record *cq, mk_str resource)
{
	int64_t most = -1;

	for (size_t i = 0; i < cq->facts->n_quotas; i++) {
		const struct api_quota *q = &cq->facts->quotas[i];
		int64_t room;

		if (!str_eq(q->resource, resource)) {
			continue;
		}
		room = api_add(api_add(q->nominal, -q->used),
			       cohort_room(cq->table, cq->facts, q).borrow);
		most = room > most ? room : most;
		most = most < 0 ? 0 : most;
	}
	return most;
}

/* Has the queue room for the Workload, after as many like it as were offered its room already? */
static bool fits(struct pass *p, const struct cluster *c, const struct record *cq)
{
	const struct json *requests = pass_requests(p);
	struct json_iter it = json_iter(requests);

	while (json_next(&it)) {
		mk_str name = json_str(json_get(it.val, "name"));
		int64_t amount = json_int(json_get(it.val, "amount"), 0);
		int64_t room = free_of(cq, name);

		if (amount <= 0 || (room < 0 && str_is(name, "pods"))) {
			continue; /* pods count only where a queue counts them */
		}
		room = api_add(room, -assume_amount(p->e, c, cq->name, name.p));
		if (room / amount <= c->own.offered) {
			return false;
		}
	}
	return requests != NULL;
}

struct cluster *vacancy_for(struct pass *p, int64_t since)
{
	mk_str local_queue = json_str_at(pass_workload(p), "/spec/queueName");

	for (size_t i = 0; i < p->roster.n; i++) {
		struct cluster *c = cluster_named(p->e, p->roster.names[i]);
		const struct record *cq =
			c && cluster_up(c) && !c->own.cordoned && c->own.freed_at > since
				? facts_queue_record(p, c, local_queue)
				: NULL;

		if (!cq || !facts_is(cq->facts, F_ACTIVE)) {
			continue;
		}
		turn(p->e, c);
		if (fits(p, c, cq)) {
			return c;
		}
	}
	return NULL;
}

void vacancy_taken(struct engine *e, struct cluster *c)
{
	turn(e, c);
	c->own.offered++;
}
