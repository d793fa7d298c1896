/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's life and its step loop; state.h has the table of files. */
#include "core/engine/engine.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/engine/act/note.h"
#include "core/engine/act/ops.h"
#include "core/engine/clusters/workers.h"
#include "core/engine/clusters/check.h"
#include "core/engine/clusters/clusters.h"
#include "core/engine/clusters/overlay.h"
#include "core/engine/clusters/roster.h"
#include "core/engine/clusters/source.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/breaker.h"
#include "core/engine/rules/gc.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/places.h"
#include "core/engine/rules/tally.h"
#include "core/engine/rules/workload.h"
#include "core/engine/state.h"
#include "core/engine/store/observe.h"

enum {
	SLICE = 64,                     /* passes a step */
	SCRATCH_MAX = 64 * 1024 * 1024, /* for one event or pass */
	TOMB_MS = 5 * 60 * 1000,
	SWEEP_MS = 60 * 1000,
	SWEEP_SLICE = 2000,
	SWEEP_SOON_MS = 10,           /* while more is left: faster than tombstones can arise */
	CLOCK_STEP_MS = 60 * 1000,    /* a larger jump means that the wall clock was set */
	TRIM_BYTES = 4 * 1024 * 1024, /* a larger piece would stall the loop */
};

static bool find_dispatcher(const struct engine_options *o, struct mk_err *err)
{
	if (plug_find_dispatcher(o->plug, o->dispatcher) >= 0) {
		return true;
	}
	err_set(err, ERR_INVALID, "no dispatcher is named \"%.*s\"%s", STR_ARG(o->dispatcher),
		plug_is_external(o->dispatcher) ? ": " PLUG_NO_EXTERNAL : "");
	return false;
}

struct engine *engine_new(const struct engine_options *o, struct mk_err *err)
{
	struct engine *e = mk_calloc(1, sizeof(*e));
	struct cluster *manager = mk_calloc(1, sizeof(*manager));
	struct cluster **clusters = mk_calloc(1, sizeof(struct cluster *));

	if (!e || !manager || !clusters || !queue_init(&e->queue)) {
		mk_free(e);
		mk_free(manager);
		mk_free(clusters);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	e->o = *o;
	store_init(&e->store);
	map_init(&e->cluster_by_name);
	map_init(&e->check_by_name);
	map_init(&e->wl_by_key);
	map_init(&e->owner_by_key);
	map_init(&e->inflight_by_id);
	map_init(&e->frozen_kinds);
	map_init(&e->place_groups);
	map_init(&e->selections);
	list_init(&e->inflight);
	list_init(&e->workloads);
	list_init(&e->waits);
	list_init(&e->gone);
	list_init(&e->left);
	list_init(&e->gc_mark);
	list_init(&e->idle_groups);
	list_init(&e->lined_up);
	list_init(&e->overdue);
	arena_init(&e->scratch, SCRATCH_MAX);
	queue_item_init(&e->gc_item, ITEM_GC, STR_NONE);
	queue_item_init(&e->sweep_item, ITEM_SWEEP, STR_NONE);
	queue_item_init(&e->quota_item, ITEM_QUOTA, STR_NONE);
	queue_item_init(&manager->item, ITEM_CLUSTER, STR_NONE);
	list_init(&manager->waits);
	list_init(&manager->left);
	manager->own.lost_at = INT64_MAX;
	clusters[0] = manager;
	e->clusters = clusters;
	e->n_clusters = 1;
	e->facts_wanted =
		nominate_wants(e, plug_find_dispatcher(o->plug, o->dispatcher), MK_WANTS_FACTS);
	if (!find_dispatcher(o, err)) {
		engine_free(e);
		return NULL;
	}
	/*
	 * The manager's tables exist from the start, so that no event of the manager is lost
	 * because a table cannot be allocated.
	 */
	for (uint16_t k = 0; k < KIND_FIRST_JOB; k++) {
		if (!table_of(e, manager, k)) {
			err_set(err, ERR_NO_MEMORY, "out of memory");
			engine_free(e);
			return NULL;
		}
	}
	return e;
}

static void free_maps(struct engine *e)
{
	size_t pos = 0;
	void *v;

	while (map_next(&e->check_by_name, &pos, NULL, &v)) {
		overlay_done(v);
		mk_free(((struct check *)v)->name);
		mk_free(v);
	}
	map_done(&e->cluster_by_name);
	map_done(&e->check_by_name);
	map_done(&e->wl_by_key);
	map_done(&e->owner_by_key);
	map_done(&e->inflight_by_id);
	map_done(&e->frozen_kinds);
	roster_done(e);
}

void engine_free(struct engine *e)
{
	if (!e) {
		return;
	}
	while (!list_empty(&e->inflight)) {
		struct inflight *f = LIST_ENTRY(e->inflight.next, struct inflight, node);

		list_del(&f->node);
		mk_free(f->note);
		mk_free(f->note_reason);
		mk_free(f);
	}
	while (!list_empty(&e->left)) {
		struct cluster *c = LIST_ENTRY(e->left.next, struct cluster, left);

		queue_del(&e->queue, &c->item);
		cluster_free(e, c);
	}
	/* Before the workloads: wl_free must find no cluster whose watches it would release. */
	for (size_t i = 0; i < e->n_clusters; i++) {
		queue_del(&e->queue, &e->clusters[i]->item);
		cluster_free(e, e->clusters[i]);
	}
	e->n_clusters = 0;
	while (!list_empty(&e->workloads)) {
		wl_free(e, LIST_ENTRY(e->workloads.next, struct wl, node));
	}
	places_done(e);
	queue_done(&e->queue);
	store_done(&e->store);
	free_maps(e);
	mk_free(e->clusters);
	arena_done(&e->scratch);
	mk_free(e);
}

static void sweep_pass(struct engine *e)
{
	if (store_sweep(&e->store, e->now - TOMB_MS, SWEEP_SLICE)) {
		queue_add_at(&e->queue, &e->sweep_item, e->now + SWEEP_SOON_MS);
		return;
	}
	watches_sweep(e);
	breaker_tick(e);
	queue_add_at(&e->queue, &e->sweep_item, e->now + SWEEP_MS);
}

static void run_item(struct engine *e, struct queue_item *i)
{
	switch ((enum item_type)i->type) {
	case ITEM_WORKLOAD:
		workload_pass(e, HEAP_ENTRY(i, struct wl, item));
		break;
	case ITEM_CLUSTER:
		cluster_pass(e, HEAP_ENTRY(i, struct cluster, item));
		break;
	case ITEM_CHECK:
		check_pass(e, HEAP_ENTRY(i, struct check, item));
		break;
	case ITEM_GC:
		gc_pass(e);
		break;
	case ITEM_SWEEP:
		sweep_pass(e);
		break;
	case ITEM_QUOTA:
		workers_pass(e);
		break;
	case ITEM_ROSTER:
		roster_pass(e, roster_selection(i));
		break;
	}
}

/*
 * What is to run now. Each fourth is of the walk over all workloads, which else would wait for ever
 * where there is always something to do.
 */
static struct queue_item *next_item(struct engine *e, size_t i)
{
	struct queue_item *item = i % 4 == 3 ? wl_walk(e) : NULL;

	item = item ? item : queue_take(&e->queue);
	return item ? item : wl_walk(e);
}

/* kube opens the watches of the manager's first kinds with the link; others have 'watched' set. */
static bool is_watched(const struct table *t)
{
	return t->watched || (t->cluster == CLUSTER_MANAGER && t->kind <= KIND_SECRET);
}

/* Opens the watches anew of tables that lost an event, so that they are listed again. */
static void mend_tables(struct engine *e)
{
	e->any_broken = false;
	for (size_t i = 0; i < e->n_clusters; i++) {
		const struct cluster *c = e->clusters[i];

		for (size_t k = 0; k < e->o.kinds->n; k++) {
			struct table *t = c->tables[k];
			struct op op = {.cluster = c->id, .kind = (uint16_t)k, .subresource = ""};

			if (!t || !t->broken) {
				continue;
			}
			if (k == KIND_FILE) {
				t->broken = false;
				source_files_again(e);
				t->broken = e->no_memory;
				e->any_broken |= t->broken;
				continue;
			}
			if (!is_watched(t)) {
				t->broken = false;
				continue;
			}
			op.selector = watches_selector(e, op.cluster, op.kind);
			op.type = OP_WATCH_CLOSE;
			ops_plain(e, &op, R_UNWATCH);
			op.type = OP_WATCH_OPEN;
			op.sought = t->sought;
			ops_plain(e, &op, R_WATCH);
			t->broken = arena_failed(e->out->arena);
			table_doubt(e, t);
			t->mending = true;
			e->any_broken |= t->broken;
		}
	}
}

/*
 * The wall clock was set: times computed with it are wrong. Losses that were read from conditions
 * are read again, and no worker is given up before a new grace period has passed.
 */
static void clock_was_set(struct engine *e)
{
	e->clock_set_ms = e->now;
	e->seen++;
	for (WORKERS_EACH(c, e)) {
		if (!c->was_up) {
			c->own.lost_at = c->failed ? e->now : INT64_MAX;
			c->own.lost_wall_ms = c->failed ? wall_second(e->wall) : 0;
			queue_add(&e->queue, &c->item);
		}
	}
}

/* What comes before the first event or pass of a call: the time, and what hangs on it. */
static void enter(struct engine *e, int64_t mono_ms, int64_t wall_ms, struct op_list *out)
{
	e->now = mono_ms;
	e->wall = wall_ms;
	e->out = out;
	e->no_memory = false;
	if (!e->started) {
		e->started = true;
		e->start_ms = mono_ms;
		e->clock_set_ms = INT64_MIN;
		e->skew_ms = wall_ms - mono_ms;
		queue_add_at(&e->queue, &e->sweep_item, mono_ms + SWEEP_MS);
		queue_add_at(&e->queue, &e->gc_item,
			     mono_ms + (e->o.gc_interval_ms > 0 ? e->o.gc_interval_ms : SWEEP_MS));
		watches_queues(e, e->clusters[CLUSTER_MANAGER]);
	}
	if (llabs(wall_ms - mono_ms - e->skew_ms) > CLOCK_STEP_MS) {
		clock_was_set(e);
	}
	e->skew_ms = wall_ms - mono_ms;
}

/* The end of a call: 'out' is the caller's again. */
static void leave(struct engine *e)
{
	arena_clear(&e->scratch);
	e->out = NULL;
}

void engine_observe(struct engine *e, const struct event *ev, int64_t mono_ms, int64_t wall_ms,
		    struct op_list *out)
{
	enter(e, mono_ms, wall_ms, out);
	observe_event(e, ev);
	leave(e);
}

bool engine_knows(struct engine *e, const struct event *ev)
{
	return observe_known(e, ev);
}

static size_t bytes_now(const struct engine *e)
{
	return e->store.bytes + map_len(&e->wl_by_key) * sizeof(struct wl);
}

/*
 * Between what is freed there is always something that stays, so that none of it would go back to
 * the system before the process ends: not what a worker took before it exceeded its share.
 */
static void give_back(struct engine *e)
{
	size_t now = bytes_now(e);

	e->held_bytes = now > e->held_bytes ? now : e->held_bytes;
	if (e->held_bytes - now >= TRIM_BYTES) {
		e->held_bytes = now;
		alloc_trim();
	}
}

void engine_run(struct engine *e, int64_t mono_ms, int64_t wall_ms, struct op_list *out)
{
	bool spent = false;
	size_t i;

	enter(e, mono_ms, wall_ms, out);
	e->stats.steps++;
	queue_due(&e->queue, mono_ms);
	if (e->any_broken) {
		arena_clear(&e->scratch);
		mend_tables(e);
	}
	e->no_memory = false;
	for (i = e->turn; i < SLICE && !spent; i++) {
		struct queue_item *item = next_item(e, i);

		if (!item) {
			break;
		}
		arena_clear(&e->scratch);
		run_item(e, item);
		if (e->no_memory) {
			break;
		}
		spent = slice_spent(e->o.slice);
	}
	/* The turns of the walk go on where time ran out, or a short slice had none of them. */
	e->turn = spent ? i % SLICE : 0;
	tally_overdue(e);
	give_back(e);
	leave(e);
}

int64_t engine_next_ms(const struct engine *e)
{
	if (e->queue.n > 0 || e->walk_left > 0 || e->any_broken) {
		return e->now;
	}
	return queue_next(&e->queue);
}

void engine_get_stats(const struct engine *e, struct engine_stats *ret)
{
	const struct table *t = manager_table(e, KIND_WORKLOAD);

	*ret = e->stats;
	ret->workloads = t ? t->n_present : 0;
	ret->objects = e->store.n_records;
	ret->bytes = bytes_now(e);
	ret->queued = e->queue.n + e->walk_left;
}

void engine_rules(const struct engine *e, void (*fn)(void *ctx, const char *rule, uint64_t count),
		  void *ctx)
{
	for (size_t i = 0; i < R_N; i++) {
		fn(ctx, rule_names[i], e->rules[i]);
	}
}
