/* SPDX-License-Identifier: Apache-2.0 */
/* The three caches behind admission; see queues.h. Lists replace: what a list does not name is gone at its end. */
#include "core/admit/queues.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/map.h"

/* AdmissionCheck.spec.controllerName of a check that is ours to answer. */
#define CONTROLLER "kueue.x-k8s.io/multikueue"

enum {
	ENTRIES_MAX = 200000,   /* of each kind */
	NAMES_MAX = 256 * 1024, /* of the checks of one ClusterQueue */
	LABEL_MAX = 63,
	KEY_MAX = 1024, /* "<namespace>/<queue>" */
};

enum kind_slot { LOCAL_QUEUES, CLUSTER_QUEUES, CHECKS, N_SLOTS };

/* What is known of one object: all that decisions need is a few names. */
struct entry {
	uint64_t mark; /* of the list that named it last */
	bool gone;     /* LocalQueues only: deleted, but remembered */
	bool ours;     /* checks only */
	size_t n;
	char names
		[]; /* LocalQueue: its ClusterQueue; ClusterQueue: its checks; each ends with a NUL */
};

struct cache {
	struct map entries;
	uint64_t mark;
	bool synced;
	bool unserved; /* not watched any more: what is new is not seen */
};

struct admit_queues {
	struct cache caches[N_SLOTS];
	uint64_t version;
	bool broken;
};

struct admit_queues *admit_queues_new(void)
{
	struct admit_queues *q = mk_calloc(1, sizeof(*q));

	for (size_t i = 0; q && i < N_SLOTS; i++) {
		map_init(&q->caches[i].entries);
		q->caches[i].mark = 1;
	}
	return q;
}

void admit_queues_free(struct admit_queues *q)
{
	for (size_t i = 0; q && i < N_SLOTS; i++) {
		size_t pos = 0;
		void *val = NULL;

		while (map_next(&q->caches[i].entries, &pos, NULL, &val)) {
			mk_free(val);
		}
		map_done(&q->caches[i].entries);
	}
	mk_free(q);
}

/* --- one object -------------------------------------------------------------------------------------- */

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
	if (slot == LOCAL_QUEUES) {
		add_name(&names, json_str(json_get(spec, "clusterQueue")));
	}
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
			  str_is(json_str(json_get(spec, "controllerName")), CONTROLLER);
	}
	buf_done(&names);
	return e;
}

static bool same_entry(const struct entry *x, const struct entry *y)
{
	return x->n == y->n && x->ours == y->ours && memcmp(x->names, y->names, x->n) == 0;
}

/* "<namespace>/<name>", or the name alone. Empty when it is longer than any that the API server lets through. */
static mk_str key_of(enum kind_slot slot, mk_str ns, mk_str name, char out[static KEY_MAX])
{
	size_t n = 0;

	if (ns.n + name.n + 1 > KEY_MAX || name.n == 0) {
		return (mk_str){NULL, 0};
	}
	if (slot == LOCAL_QUEUES) {
		if (ns.n > 0) {
			memcpy(out, ns.p, ns.n);
		}
		out[ns.n] = '/';
		n = ns.n + 1;
	}
	memcpy(out + n, name.p, name.n);
	return (mk_str){out, n + name.n};
}

static void observe(struct admit_queues *q, enum kind_slot slot, mk_str key, const struct json *obj)
{
	struct cache *c = &q->caches[slot];
	struct entry *old = map_get(&c->entries, key);
	struct entry *e = entry_of(slot, obj);

	if (!e || (!old && map_len(&c->entries) >= ENTRIES_MAX)) {
		mk_free(e);
		q->broken = true;
		return;
	}
	if (old && same_entry(old, e)) {
		mk_free(e); /* most events: only the status changed */
		old->mark = c->mark;
		old->gone = false;
		return;
	}
	e->mark = c->mark;
	if (!map_put(&c->entries, key, e)) {
		mk_free(e);
		q->broken = true;
		return;
	}
	mk_free(old);
	q->version++;
}

static void forget(struct admit_queues *q, enum kind_slot slot, mk_str key)
{
	struct entry *e = map_get(&q->caches[slot].entries, key);

	if (e && slot == LOCAL_QUEUES) {
		e->gone = true;
	} else if (e) {
		map_del(&q->caches[slot].entries, key);
		mk_free(e);
		q->version++;
	}
}

static void end_list(struct admit_queues *q, enum kind_slot slot)
{
	struct cache *c = &q->caches[slot];
	size_t pos = 0;
	mk_str key;
	void *val = NULL;

	while (map_next(&c->entries, &pos, &key, &val)) {
		const struct entry *e = val;

		if (e->mark != c->mark) {
			forget(q, slot, key);
		}
	}
	c->synced = true;
	c->unserved = false;
}

void admit_queues_event(struct admit_queues *q, const struct event *ev)
{
	char text[KEY_MAX];
	enum kind_slot slot;
	mk_str key;

	if (ev->cluster != CLUSTER_MANAGER ||
	    (ev->kind != KIND_LOCAL_QUEUE && ev->kind != KIND_CLUSTER_QUEUE &&
	     ev->kind != KIND_CHECK)) {
		return;
	}
	slot = ev->kind == KIND_LOCAL_QUEUE     ? LOCAL_QUEUES
	       : ev->kind == KIND_CLUSTER_QUEUE ? CLUSTER_QUEUES
						: CHECKS;
	key = key_of(slot, ev->ns, ev->name, text);
	if (ev->type == EV_LIST_BEGIN) {
		q->caches[slot].mark++;
	} else if (ev->type == EV_LIST_END) {
		end_list(q, slot);
	} else if (ev->type == EV_UNSERVED) {
		q->caches[slot].unserved = true;
	} else if (ev->type == EV_FRESH) {
		q->caches[slot].unserved = false; /* it went on without a list */
	} else if (ev->type == EV_OBSERVED && key.n > 0) {
		observe(q, slot, key, ev->obj);
	} else if (ev->type == EV_GONE && key.n > 0) {
		forget(q, slot, key);
	}
}

/* --- questions --------------------------------------------------------------------------------------- */

bool admit_queues_ready(const struct admit_queues *q)
{
	for (size_t i = 0; i < N_SLOTS; i++) {
		if (!q->caches[i].synced || q->caches[i].unserved) {
			return false;
		}
	}
	return !q->broken;
}

static bool leads_away(const struct admit_queues *q, const struct entry *local)
{
	const struct entry *cq =
		local ? map_get(&q->caches[CLUSTER_QUEUES].entries, str_of(local->names)) : NULL;

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

bool admit_queues_lead_away(const struct admit_queues *q, mk_str ns, mk_str name)
{
	char text[KEY_MAX];
	mk_str key = key_of(LOCAL_QUEUES, ns, name, text);

	return key.n > 0 && leads_away(q, map_get(&q->caches[LOCAL_QUEUES].entries, key));
}

uint64_t admit_queues_version(const struct admit_queues *q)
{
	return q->version;
}

static int by_key(const void *x, const void *y)
{
	return str_cmp(((const struct admit_row *)x)->key, ((const struct admit_row *)y)->key);
}

const struct admit_row *admit_queues_table(const struct admit_queues *q, struct arena *a,
					   size_t *ret_n)
{
	const struct cache *c = &q->caches[LOCAL_QUEUES];
	struct admit_row *rows = arena_array(a, map_len(&c->entries) + 1, sizeof(*rows));
	size_t n = 0;
	size_t pos = 0;
	mk_str key;
	void *val = NULL;

	while (rows && map_next(&c->entries, &pos, &key, &val)) {
		size_t slash = (size_t)str_index(key, '/');
		const struct entry *e = val;

		if (key.n - slash - 1 > LABEL_MAX || !leads_away(q, e)) {
			continue;
		}
		rows[n++] = (struct admit_row){
			.key = arena_printf(a, "%.*s.%.*s", (int)slash, key.p,
					    STR_ARG(str_sub(key, slash + 1, key.n))),
			.cluster_queue = str_of(e->names)};
	}
	if (n > 0) {
		qsort(rows, n, sizeof(*rows), by_key);
	}
	*ret_n = n;
	return arena_failed(a) ? NULL : rows;
}
