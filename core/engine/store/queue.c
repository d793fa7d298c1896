/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workqueue; see queue.h. Each namespace with waiting items has a bucket; buckets stand in the
 * order of their turns.
 */
#include "core/engine/store/queue.h"

#include "core/base/alloc.h"
#include "core/base/backoff.h"
#include "core/engine/state.h"

struct queue_bucket {
	struct list_node node;
	struct list_node items;
	char *ns; /* NULL: the shared one */
};

enum { BACKOFF_FIRST_MS = 5, BACKOFF_MAX_MS = 1000 * 1000 };

static struct queue_bucket *bucket_new(void)
{
	struct queue_bucket *b = mk_calloc(1, sizeof(*b));

	if (!b) {
		return NULL;
	}
	list_init(&b->node);
	list_init(&b->items);
	return b;
}

bool queue_init(struct queue *q)
{
	*q = (struct queue){0};
	list_init(&q->buckets);
	map_init(&q->by_ns);
	heap_init(&q->timers);
	q->shared = bucket_new();
	return q->shared != NULL;
}

static void bucket_free(struct queue_bucket *b)
{
	if (b) {
		mk_free(b->ns);
		mk_free(b);
	}
}

void queue_done(struct queue *q)
{
	size_t pos = 0;
	void *b;

	while (map_next(&q->by_ns, &pos, NULL, &b)) {
		bucket_free(b);
	}
	map_done(&q->by_ns);
	heap_done(&q->timers);
	bucket_free(q->shared);
	*q = (struct queue){0};
}

void queue_item_init(struct queue_item *i, int type, mk_str ns)
{
	*i = (struct queue_item){.type = type, .ns = ns};
	list_init(&i->node);
	heap_node_init(&i->timer);
}

static struct queue_bucket *bucket_of(struct queue *q, mk_str ns)
{
	struct queue_bucket *b = map_get(&q->by_ns, ns);

	if (b) {
		return b;
	}
	b = bucket_new();
	if (!b) {
		return q->shared;
	}
	b->ns = mk_strndup(ns);
	if (!b->ns || !map_put(&q->by_ns, ns, b)) {
		bucket_free(b);
		return q->shared;
	}
	return b;
}

void queue_add(struct queue *q, struct queue_item *i)
{
	heap_del(&q->timers, &i->timer);
	if (i->bucket) {
		return;
	}
	i->bucket = bucket_of(q, i->ns);
	if (list_empty(&i->bucket->items)) {
		list_add_tail(&q->buckets, &i->bucket->node);
	}
	list_add_tail(&i->bucket->items, &i->node);
	q->n++;
}

void queue_add_at(struct queue *q, struct queue_item *i, int64_t at)
{
	if (i->bucket || (heap_has(&i->timer) && i->timer.at <= at)) {
		return;
	}
	if (!heap_set(&q->timers, &i->timer, at)) {
		queue_add(q, i);
	}
}

/*
 * Removes 'i' from its bucket. An empty bucket leaves the list and is freed, unless it is the
 * shared one.
 */
static void leave(struct queue *q, struct queue_item *i)
{
	struct queue_bucket *b = i->bucket;

	i->bucket = NULL;
	list_del(&i->node);
	q->n--;
	if (!list_empty(&b->items)) {
		return;
	}
	list_del(&b->node);
	if (b->ns) {
		map_del(&q->by_ns, str_of(b->ns));
		bucket_free(b);
	}
}

void queue_del(struct queue *q, struct queue_item *i)
{
	heap_del(&q->timers, &i->timer);
	if (i->bucket) {
		leave(q, i);
	}
}

void queue_due(struct queue *q, int64_t now)
{
	struct heap_node *n = heap_min(&q->timers);

	while (n && n->at <= now) {
		queue_add(q, HEAP_ENTRY(n, struct queue_item, timer));
		n = heap_min(&q->timers);
	}
}

struct queue_item *queue_take(struct queue *q)
{
	struct queue_bucket *b;
	struct queue_item *i;

	if (list_empty(&q->buckets)) {
		return NULL;
	}
	b = LIST_ENTRY(q->buckets.next, struct queue_bucket, node);
	i = LIST_ENTRY(b->items.next, struct queue_item, node);
	list_del(&b->node);
	list_add_tail(&q->buckets, &b->node);
	leave(q, i);
	return i;
}

int64_t queue_next(const struct queue *q)
{
	const struct heap_node *n = heap_min(&q->timers);

	return n ? n->at : INT64_MAX;
}

int64_t queue_backoff(unsigned fails)
{
	return backoff_ms(BACKOFF_FIRST_MS, fails, BACKOFF_MAX_MS);
}
