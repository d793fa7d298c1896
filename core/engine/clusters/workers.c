/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers as a part of the process sees them that adds up their quotas (engine.h:
 * engine_want_queues, engine_workers). Their queues it knows from their events.
 */
#include "core/engine/clusters/workers.h"

#include "core/engine/clusters/autoquota.h"
#include "core/engine/clusters/roster.h"
#include "core/engine/clusters/watches.h"

bool engine_want_queues(struct engine *e, bool wanted)
{
	if (e->sums_wanted == wanted) {
		return false;
	}
	e->sums_wanted = wanted;
	queue_add(&e->queue, &e->quota_item);
	return true;
}

void workers_pass(struct engine *e)
{
	watches_queues_again(e);
	if (e->no_memory) {
		queue_add(&e->queue, &e->quota_item);
	} else if (e->o.gates.quota_automation) {
		autoquota_pass(e);
	}
}

static struct engine_worker worker_of(const struct engine *e, const struct record *r)
{
	const struct cluster *c = cluster_named(e, r->name);

	return (struct engine_worker){
		.id = c ? c->id : CLUSTER_MANAGER,
		.name = r->name,
		.labels = r->facts->names,
		.n_labels = r->facts->n_names,
		.hidden_ms = c ? autoquota_blind_since(e, c) : e->now,
		.was_seen = c && autoquota_was_seen(c),
		.server = c && c->own.shared ? str_of(c->own.server) : STR(""),
	};
}

bool engine_workers(const struct engine *e,
		    void (*worker)(void *ctx, const struct engine_worker *w),
		    void (*config)(void *ctx, mk_str name, const mk_str *clusters, size_t n),
		    void *ctx)
{
	if (!manager_knows(e, KIND_CONFIG) || !manager_knows(e, KIND_CLUSTER)) {
		return false;
	}
	for (LIST_EACH_AS(struct record, r, &manager_table(e, KIND_CLUSTER)->records, node)) {
		if (r->present) {
			struct engine_worker w = worker_of(e, r);

			worker(ctx, &w);
		}
	}
	for (LIST_EACH_AS(struct record, r, &manager_table(e, KIND_CONFIG)->records, node)) {
		if (r->present) {
			struct roster clusters = roster_of(e, r);

			config(ctx, r->name, clusters.names, clusters.n);
		}
	}
	return true;
}
