/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three caches behind admission; see queues.h. Lists replace: what a list does not name is gone
 * at its end.
 */
#include "core/admit/queues.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/admit/locals.h"
#include "core/api/names.h"
#include "core/base/alloc.h"

enum {
	ENTRIES_MAX = 200000,   /* ClusterQueues, and checks */
	NAMES_MAX = 256 * 1024, /* of the checks of one ClusterQueue */
	LABEL_MAX = 63,
	NAME_MAX_BYTES = 1024,
};

enum kind_slot { LOCAL_QUEUES, CLUSTER_QUEUES, CHECKS, N_SLOTS };

/* What is kept of a ClusterQueue or check: the few names that decisions need. */
struct entry {
	uint64_t mark; /* of the list that named it last */
	bool ours;     /* checks only */
	size_t n;
	char names[]; /* ClusterQueue: its checks; each ends with a NUL */
};

struct cache {
	struct map entries; /* not of LocalQueues */
	uint64_t mark;
	bool synced;
	bool unserved; /* not watched any more: what is new is not seen */
	bool listing;
	bool broken; /* something is missing, for lack of memory or because there are too many */
	bool failed; /* ... since the list under way began, or the last one */
};

struct admit_queues {
	/* of all that follows; never held for longer than an event or a question takes */
	pthread_mutex_t lock;
	struct cache caches[N_SLOTS];
	struct locals locals;
	bool uses_listing;
	uint64_t version;
};

struct admit_queues *admit_queues_new(void)
{
	struct admit_queues *q = mk_calloc(1, sizeof(*q));

	for (size_t i = 0; q && i < N_SLOTS; i++) {
		map_init(&q->caches[i].entries);
		q->caches[i].mark = 1;
	}
	if (q) {
		pthread_mutex_init(&q->lock, NULL);
		locals_init(&q->locals);
	}
	return q;
}

void admit_queues_free(struct admit_queues *q)
{
	if (!q) {
		return;
	}
	for (size_t i = 0; i < N_SLOTS; i++) {
		size_t pos = 0;
		void *val = NULL;

		while (map_next(&q->caches[i].entries, &pos, NULL, &val)) {
			mk_free(val);
		}
		map_done(&q->caches[i].entries);
	}
	locals_done(&q->locals);
	pthread_mutex_destroy(&q->lock);
	mk_free(q);
}

/* Questions take a const pointer; the lock is all that they change. */
static void lock(const struct admit_queues *q)
{
	pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&q->lock);
}

static void unlock(const struct admit_queues *q)
{
	pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&q->lock);
}

/* --- one object ------------------------------------------------------------------------------ */

static void add_name(struct buf *b, mk_str name)
{
	if (name.n > 0) {
		buf_add(b, name);
		buf_add(b, (mk_str){"", 1});
	}
}

/* NULL: out of memory, or more checks than a ClusterQueue can have. */
static struct entry *entry_of(enum kind_slot slot, const struct json *obj)
{
	const struct json *spec = json_get(obj, "spec");
	struct json_iter it =
		json_iter(json_get(json_get(spec, "admissionChecksStrategy"), "admissionChecks"));
	struct entry *e = NULL;
	struct buf names;

	buf_init(&names, NAMES_MAX);
	while (slot == CLUSTER_QUEUES && json_next(&it)) {
		add_name(&names, json_str(json_get(it.val, "name")));
	}
	if (!names.failed) {
		e = mk_calloc(1, sizeof(*e) + names.n + 1);
	}
	if (e) {
		e->n = names.n;
		if (names.n > 0) {
			memcpy(e->names, names.p, names.n);
		}
		e->ours = slot == CHECKS &&
			  str_is(json_str(json_get(spec, "controllerName")), NAME_CONTROLLER);
	}
	buf_done(&names);
	return e;
}

static bool same_entry(const struct entry *x, const struct entry *y)
{
	return x->n == y->n && x->ours == y->ours && memcmp(x->names, y->names, x->n) == 0;
}

/* False: something is missing now. */
static bool observe_entry(struct admit_queues *q, enum kind_slot slot, mk_str name,
			  const struct json *obj)
{
	struct cache *c = &q->caches[slot];
	struct entry *old = map_get(&c->entries, name);
	struct entry *e = entry_of(slot, obj);

	if (!e || (!old && map_len(&c->entries) >= ENTRIES_MAX)) {
		mk_free(e);
		return false;
	}
	if (old && same_entry(old, e)) {
		mk_free(e); /* most events: only the status changed */
		old->mark = c->mark;
		return true;
	}
	e->mark = c->mark;
	if (!map_put(&c->entries, name, e)) {
		mk_free(e);
		return false;
	}
	mk_free(old);
	q->version++;
	return true;
}

static void observe(struct admit_queues *q, enum kind_slot slot, const struct event *ev)
{
	struct cache *c = &q->caches[slot];
	bool kept;

	if (ev->name.n == 0 || ev->name.n > NAME_MAX_BYTES) {
		return; /* longer than any that the API server lets through */
	}
	if (slot == LOCAL_QUEUES) {
		kept = locals_observe(
			&q->locals, ev->ns, ev->name,
			json_str(json_get(json_get(ev->obj, "spec"), "clusterQueue")));
	} else {
		kept = observe_entry(q, slot, ev->name, ev->obj);
	}
	if (!kept) {
		c->broken = true;
		c->failed = true;
	}
}

static void forget(struct admit_queues *q, enum kind_slot slot, const struct event *ev)
{
	struct entry *e;

	if (slot == LOCAL_QUEUES) {
		locals_gone(&q->locals, ev->ns, ev->name);
		return;
	}
	e = map_del(&q->caches[slot].entries, ev->name);
	if (e) {
		mk_free(e);
		q->version++;
	}
}

static void begin_list(struct admit_queues *q, enum kind_slot slot)
{
	struct cache *c = &q->caches[slot];

	c->mark++;
	c->failed = false;
	c->listing = true;
	if (slot == LOCAL_QUEUES) {
		locals_list_begin(&q->locals);
	}
}

static void end_list(struct admit_queues *q, enum kind_slot slot)
{
	struct cache *c = &q->caches[slot];
	size_t pos = 0;
	mk_str key;
	void *val = NULL;

	if (slot == LOCAL_QUEUES) {
		locals_list_end(&q->locals);
	}
	while (map_next(&c->entries, &pos, &key, &val)) {
		struct entry *e = val;

		if (e->mark != c->mark) {
			map_del(&c->entries, key);
			mk_free(e);
			q->version++;
		}
	}
	c->synced = true;
	c->unserved = false;
	c->listing = false;
	c->broken = c->failed;
}

static void on_queue(struct admit_queues *q, enum kind_slot slot, const struct event *ev)
{
	if (ev->type == EV_LIST_BEGIN) {
		begin_list(q, slot);
	} else if (ev->type == EV_LIST_END) {
		end_list(q, slot);
	} else if (ev->type == EV_UNSERVED) {
		q->caches[slot].unserved = true;
	} else if (ev->type == EV_FRESH) {
		q->caches[slot].unserved = false; /* the watch went on without a list */
	} else if (ev->type == EV_OBSERVED) {
		observe(q, slot, ev);
	} else if (ev->type == EV_GONE) {
		forget(q, slot, ev);
	}
}

static bool is_finished(const struct json *workload)
{
	struct json_iter it = json_iter(json_get(json_get(workload, "status"), "conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), "Finished")) {
			return str_is(json_str(json_get(it.val, "status")), "True");
		}
	}
	return false;
}

static void on_workload(struct admit_queues *q, const struct event *ev)
{
	const mk_str none = {NULL, 0};

	if (ev->type == EV_LIST_BEGIN) {
		q->uses_listing = true;
		locals_uses_begin(&q->locals);
	} else if (ev->type == EV_LIST_END) {
		q->uses_listing = false;
		locals_uses_end(&q->locals);
	} else if (ev->type == EV_GONE) {
		(void)locals_use(&q->locals, ev->ns, ev->name, none);
	} else if (ev->type == EV_OBSERVED) {
		mk_str queue = json_str(json_get(json_get(ev->obj, "spec"), "queueName"));

		/* After a failure admit_queues_wants_list asks for a new list. */
		(void)locals_use(&q->locals, ev->ns, ev->name, is_finished(ev->obj) ? none : queue);
	}
}

void admit_queues_event(struct admit_queues *q, const struct event *ev)
{
	if (ev->cluster != CLUSTER_MANAGER) {
		return;
	}
	lock(q);
	if (ev->kind == KIND_WORKLOAD) {
		on_workload(q, ev);
	} else if (ev->kind == KIND_LOCAL_QUEUE) {
		on_queue(q, LOCAL_QUEUES, ev);
	} else if (ev->kind == KIND_CLUSTER_QUEUE) {
		on_queue(q, CLUSTER_QUEUES, ev);
	} else if (ev->kind == KIND_CHECK) {
		on_queue(q, CHECKS, ev);
	}
	unlock(q);
}

/* --- questions ------------------------------------------------------------------------------- */

static bool is_ready(const struct admit_queues *q)
{
	for (size_t i = 0; i < N_SLOTS; i++) {
		const struct cache *c = &q->caches[i];

		if (!c->synced || c->unserved || c->broken) {
			return false;
		}
	}
	return true;
}

bool admit_queues_ready(const struct admit_queues *q)
{
	bool ready;

	lock(q);
	ready = is_ready(q);
	unlock(q);
	return ready;
}

bool admit_queues_wants_list(const struct admit_queues *q, uint16_t kind)
{
	const struct cache *c = kind == KIND_LOCAL_QUEUE     ? &q->caches[LOCAL_QUEUES]
				: kind == KIND_CLUSTER_QUEUE ? &q->caches[CLUSTER_QUEUES]
				: kind == KIND_CHECK         ? &q->caches[CHECKS]
							     : NULL;
	bool wants = false;

	lock(q);
	if (kind == KIND_WORKLOAD) {
		wants = q->locals.uses_lost && !q->uses_listing;
	} else if (c) {
		wants = c->broken && !c->listing;
		wants |= kind == KIND_LOCAL_QUEUE && q->locals.room_again && !c->listing;
	}
	unlock(q);
	return wants;
}

size_t admit_queues_over(const struct admit_queues *q, char ret_name[static ADMIT_SPACE_MAX])
{
	mk_str name;
	size_t n;

	lock(q);
	name = locals_over(&q->locals);
	n = q->locals.n_over;
	snprintf(ret_name, ADMIT_SPACE_MAX, "%.*s", STR_ARG(name));
	unlock(q);
	return n;
}

static bool leads_away(const struct admit_queues *q, const struct local *local)
{
	const struct entry *cq =
		map_get(&q->caches[CLUSTER_QUEUES].entries, str_of(local->cluster_queue));

	for (size_t at = 0; cq && at < cq->n;) {
		mk_str name = str_of(cq->names + at);
		const struct entry *check = map_get(&q->caches[CHECKS].entries, name);

		if (check && check->ours) {
			return true;
		}
		at += name.n + 1;
	}
	return false;
}

enum admit_way admit_queues_ask(const struct admit_queues *q, mk_str ns, mk_str name)
{
	const struct local *local;
	enum admit_way way = ADMIT_STAYS;
	bool sure = false;

	lock(q);
	local = locals_find(&q->locals, ns, name, &sure);
	if (!is_ready(q)) {
		way = ADMIT_NOT_READY;
	} else if (local && leads_away(q, local)) {
		way = ADMIT_LEADS_AWAY;
	} else if (!sure) {
		way = ADMIT_UNSURE;
	}
	unlock(q);
	return way;
}

uint64_t admit_queues_version(const struct admit_queues *q)
{
	uint64_t version;

	lock(q);
	version = q->version + q->locals.version;
	unlock(q);
	return version;
}

static int by_key(const void *x, const void *y)
{
	return str_cmp(((const struct admit_row *)x)->key, ((const struct admit_row *)y)->key);
}

static size_t add_rows(const struct admit_queues *q, struct arena *a, struct admit_row *rows)
{
	size_t n = 0;
	size_t pos = 0;
	mk_str key;
	void *val = NULL;

	while (map_next(&q->locals.queues, &pos, &key, &val)) {
		size_t slash = (size_t)str_index(key, '/');
		const struct local *local = val;

		if (!local->cluster_queue || key.n - slash - 1 > LABEL_MAX ||
		    !leads_away(q, local)) {
			continue;
		}
		rows[n++] = (struct admit_row){
			.key = arena_printf(a, "%.*s.%.*s", (int)slash, key.p,
					    STR_ARG(str_sub(key, slash + 1, key.n))),
			.cluster_queue = arena_dup(a, str_of(local->cluster_queue))};
	}
	return n;
}

const struct admit_row *admit_queues_table(const struct admit_queues *q, struct arena *a,
					   size_t *ret_n)
{
	struct admit_row *rows;
	size_t n = 0;

	lock(q);
	rows = arena_array(a, map_len(&q->locals.queues) + 1, sizeof(*rows));
	if (rows) {
		n = add_rows(q, a, rows);
	}
	unlock(q);
	if (n > 0) {
		qsort(rows, n, sizeof(*rows), by_key);
	}
	*ret_n = n;
	return arena_failed(a) ? NULL : rows;
}
