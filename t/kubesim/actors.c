/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work items, their timers and the loop of the controllers beside a simulated API
 * server. The commit hook turns a change into dirty items; ks_actors_run lets the
 * controller of each item take a step.
 */
#include "t/kubesim/actors_priv.h"

#include <stdlib.h>

#include "core/base/alloc.h"

enum { STEP_ARENA_CAP = 64 * 1024 * 1024, MAX_IDLE_STEPS = 100000000 };

static const char kind_letter[] = {'w', 'j', 'q', 'r', 'g'};

static mk_str make_key(struct buf *b, enum item_kind kind, const char *resource, mk_str ns,
		       mk_str name)
{
	const mk_str parts[] = {
		{&kind_letter[kind], 1}, STR("|"), str_of(resource), STR("|"), ns, STR("|"), name};

	buf_init(b, 4096);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		buf_add(b, parts[i]);
	}
	return buf_str(b);
}

struct item *item_find(const struct ks_actors *k, enum item_kind kind, const char *resource,
		       mk_str ns, mk_str name)
{
	struct buf b;
	mk_str key = make_key(&b, kind, resource, ns, name);
	struct item *it = b.failed ? NULL : map_get(&k->items, key);

	buf_done(&b);
	return it;
}

/* The key's text is "k|resource|ns|name"; none of the parts can hold a '|'. */
static void split_key(struct item *it)
{
	mk_str rest = str_sub(it->key, 2, it->key.n);

	str_split(&rest, '|', &it->resource);
	str_split(&rest, '|', &it->ns);
	it->name = rest;
}

struct item *item_get(struct ks_actors *k, enum item_kind kind, const char *resource, mk_str ns,
		      mk_str name)
{
	struct item *it = item_find(k, kind, resource, ns, name);
	struct buf b;
	mk_str key;
	char *text;

	if (it != NULL) {
		return it;
	}
	key = make_key(&b, kind, resource, ns, name);
	it = mk_calloc(1, sizeof(*it));
	text = mk_strndup(key);
	buf_done(&b);
	if (!it || !text) {
		goto fail;
	}
	it->key = str_of(text);
	split_key(it);
	if (!map_put(&k->items, it->key, it)) {
		goto fail;
	}
	it->kind = kind;
	it->order = ++k->next_order;
	it->admit_ms = -1;
	it->start_ms = -1;
	heap_node_init(&it->node);
	return it;
fail:
	mk_free(it);
	mk_free(text);
	k->stale = true;
	return NULL;
}

void item_at(struct ks_actors *k, struct item *it, int64_t at_ms)
{
	/* "At once" comes after what is due already: else a busy cluster would end no Job. */
	at_ms = at_ms > k->now_ms ? at_ms : k->now_ms;
	if (!it || (heap_has(&it->node) && it->node.at <= at_ms)) {
		return;
	}
	if (!heap_set(&k->heap, &it->node, at_ms)) {
		k->stale = true;
	}
}

void item_dirty(struct ks_actors *k, enum item_kind kind, const char *resource, mk_str ns,
		mk_str name)
{
	if (name.n != 0) {
		item_at(k, item_get(k, kind, resource, ns, name), 0);
	}
}

static void item_free(struct item *it)
{
	char *text = NULL;

	memcpy(&text, &it->key.p, sizeof(text));
	mk_free(text);
	mk_free(it);
}

void item_drop(struct ks_actors *k, struct item *it)
{
	heap_del(&k->heap, &it->node);
	map_del(&k->items, it->key);
	item_free(it);
}

const char *intern(struct ks_actors *k, mk_str s)
{
	char *text = map_get(&k->strings, s);

	if (text != NULL) {
		return text;
	}
	text = mk_strndup(s);
	if (!text || !map_put(&k->strings, s, text)) {
		mk_free(text);
		return NULL;
	}
	return text;
}

/* --- the commit hook -------------------------------------------------------------------------- */

/* Remembers which job names the Workload (NULL: none any more). */
static void index_prebuilt(struct ks_actors *k, mk_str ns, mk_str workload, struct item *job)
{
	struct buf b;

	buf_init(&b, 1024);
	buf_printf(&b, "%.*s/%.*s", STR_ARG(ns), STR_ARG(workload));
	if (!job) {
		map_del(&k->prebuilt, buf_str(&b));
	} else if (!map_put(&k->prebuilt, buf_str(&b), job)) {
		k->stale = true;
	}
	buf_done(&b);
	item_dirty(k, ITEM_WORKLOAD, RES_WORKLOADS, ns, workload);
}

static void commit_job(struct ks_actors *k, const struct ks_commit *c)
{
	const struct json *job = c->after != NULL ? c->after : c->before;
	mk_str prebuilt = job_prebuilt(job), old = job_prebuilt(c->before);

	item_dirty(k, ITEM_JOB, RES_JOBS, c->ns, c->name);
	item_dirty(k, ITEM_RUN, RES_JOBS, c->ns, c->name);
	gc_dirty_owned(k, obj_meta(job, "uid"));
	if (old.n != 0 && (!c->after || !str_eq(old, prebuilt))) {
		index_prebuilt(k, c->ns, old, NULL);
	}
	if (c->after != NULL && prebuilt.n != 0) {
		index_prebuilt(k, c->ns, prebuilt,
			       item_find(k, ITEM_JOB, RES_JOBS, c->ns, c->name));
	}
}

static void commit_workload(struct ks_actors *k, const struct ks_commit *c)
{
	const struct json *wl = c->after != NULL ? c->after : c->before;
	const struct json *owner = obj_controller(wl);
	struct item *job;
	struct buf b;

	item_dirty(k, ITEM_WORKLOAD, RES_WORKLOADS, c->ns, c->name);
	if (owner != NULL && str_is(json_str(json_get(owner, "kind")), "Job")) {
		item_dirty(k, ITEM_JOB, RES_JOBS, c->ns, json_str(json_get(owner, "name")));
	}
	buf_init(&b, 1024);
	buf_printf(&b, "%.*s/%.*s", STR_ARG(c->ns), STR_ARG(c->name));
	job = map_get(&k->prebuilt, buf_str(&b));
	buf_done(&b);
	item_at(k, job, 0);
}

static void commit_any(struct ks_actors *k, const struct ks_commit *c)
{
	if (str_is(c->resource, RES_JOBS)) {
		commit_job(k, c);
	} else if (str_is(c->resource, RES_WORKLOADS)) {
		commit_workload(k, c);
	} else {
		queue_commit(k, c);
	}
	gc_commit(k, c->before, c->after, c->resource, c->ns, c->name);
}

static void on_commit(void *ctx, const struct ks_commit *c)
{
	struct ks_actors *k = ctx;

	if (c->rv <= k->last_rv) {
		k->stale = true;
	}
	k->last_rv = c->rv;
	commit_any(k, c);
	if (k->o.on_commit != NULL) {
		k->o.on_commit(k->o.on_commit_ctx, c);
	}
}

/* --- life ------------------------------------------------------------------------------------- */

static const char *const scanned[] = {
	RES_CLUSTERQUEUES, RES_LOCALQUEUES, RES_FLAVORS,   RES_CHECKS,
	RES_PRIORITIES,    RES_JOBS,        RES_WORKLOADS, "v1/pods",
};

static void scan_resource(struct ks_actors *k, const char *resource)
{
	size_t pos = 0;

	for (;;) {
		const struct json *o = ks_each(k->store, resource, &pos);
		struct ks_commit c = {.store = k->store, .after = o};

		if (!o) {
			break;
		}
		c.resource = str_of(resource);
		c.ns = obj_meta(o, "namespace");
		c.name = obj_meta(o, "name");
		commit_any(k, &c);
	}
}

static void scan(struct ks_actors *k)
{
	/* owners before what they own */
	for (size_t i = 0; kinds_resource(i) != NULL; i++) {
		scan_resource(k, kinds_resource(i));
	}
	for (size_t i = 0; i < sizeof(scanned) / sizeof(scanned[0]); i++) {
		scan_resource(k, scanned[i]);
	}
	k->last_rv = ks_rv(k->store);
	k->config_dirty = true;
}

static void forget(struct ks_actors *k)
{
	void *val;
	size_t pos = 0;

	heap_done(&k->heap); /* while the nodes are still there */
	heap_init(&k->heap);
	while (map_next(&k->items, &pos, NULL, &val)) {
		item_free(val);
	}
	map_done(&k->items);
	map_init(&k->items);
	map_done(&k->prebuilt);
	map_init(&k->prebuilt);
	gc_done(k);
	cq_quota_done(k);
}

void ks_actors_resync(struct ks_actors *k)
{
	forget(k);
	k->stale = !cq_quota_init(k);
	scan(k);
}

struct ks_actors *ks_actors_new(struct ks_store *s, const struct ks_actors_options *o)
{
	struct ks_actors *k = mk_calloc(1, sizeof(*k));

	if (!k) {
		return NULL;
	}
	k->store = s;
	k->o = *o;
	rng_init(&k->rng, o->seed);
	map_init(&k->items);
	map_init(&k->prebuilt);
	map_init(&k->owners);
	map_init(&k->strings);
	heap_init(&k->heap);
	list_init(&k->orders);
	arena_init(&k->a, STEP_ARENA_CAP);
	if (!cq_quota_init(k)) {
		ks_actors_free(k);
		return NULL;
	}
	scan(k);
	ks_on_commit(s, on_commit, k);
	return k;
}

void ks_actors_free(struct ks_actors *k)
{
	void *val;
	size_t pos = 0;

	if (!k) {
		return;
	}
	ks_on_commit(k->store, NULL, NULL);
	forget(k);
	run_orders_done(k);
	while (map_next(&k->strings, &pos, NULL, &val)) {
		mk_free(val);
	}
	map_done(&k->strings);
	map_done(&k->items);
	heap_done(&k->heap);
	arena_done(&k->a);
	mk_free(k);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void step(struct ks_actors *k, struct item *it)
{
	switch (it->kind) {
	case ITEM_WORKLOAD:
		queue_workload_step(k, it);
		break;
	case ITEM_JOB:
		queue_job_step(k, it);
		break;
	case ITEM_QUEUE:
		queue_step(k, it);
		break;
	case ITEM_RUN:
		run_step(k, it);
		break;
	case ITEM_GC:
		gc_step(k, it);
		break;
	}
}

size_t ks_actors_run(struct ks_actors *k, int64_t now_ms, size_t budget)
{
	size_t before = k->writes;

	k->now_ms = now_ms;
	for (size_t i = 0; i < MAX_IDLE_STEPS; i++) {
		struct heap_node *n;

		if (k->stale || ks_rv(k->store) < k->last_rv) {
			ks_actors_resync(k);
		}
		if (k->config_dirty) {
			cq_quota_reload(k);
		}
		n = heap_min(&k->heap);
		if (!n || n->at > now_ms || (budget != 0 && k->writes - before >= budget)) {
			break;
		}
		heap_del(&k->heap, n);
		step(k, HEAP_ENTRY(n, struct item, node));
		arena_clear(&k->a);
	}
	return k->writes - before;
}

int64_t ks_actors_next_ms(const struct ks_actors *k)
{
	const struct heap_node *n = heap_min(&k->heap);

	if (k->stale || k->config_dirty) {
		return 0;
	}
	return !n ? INT64_MAX : n->at;
}

const char *ks_actors_last_error(const struct ks_actors *k)
{
	return k->last_error;
}

size_t ks_actors_refused(const struct ks_actors *k)
{
	return k->refused;
}
