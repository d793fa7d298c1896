/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's workqueue: items wait at most once, are taken round robin over namespaces, and can be added later (the
 * earliest wish counts). Adding never fails: without memory for a namespace's own bucket the item waits in a shared one,
 * without memory for a timer it waits not at all.
 */
#ifndef MK_ENGINE_STORE_QUEUE_H
#define MK_ENGINE_STORE_QUEUE_H

#include "core/base/heap.h"
#include "core/base/list.h"
#include "core/base/map.h"
#include "core/base/str.h"

struct queue_bucket;

/* Lives in the thing that is to be worked off. */
struct queue_item {
	struct list_node node;
	struct heap_node timer;
	struct queue_bucket *bucket; /* NULL: not waiting */
	mk_str ns;                   /* borrowed from the thing */
	int type;                    /* the owner's */
};

struct queue {
	struct list_node buckets; /* those with items, the next one first */
	struct map by_ns;
	struct heap timers;
	struct queue_bucket *shared;
	size_t n;
};

/* False: out of memory. */
bool queue_init(struct queue *q);
void queue_done(struct queue *q);

/* An item that is not queued; 'ns' must live as long as it. */
void queue_item_init(struct queue_item *i, int type, mk_str ns);
/* Due now, once however often it is added. */
void queue_add(struct queue *q, struct queue_item *i);
/* No later than 'at' (monotonic ms). */
void queue_add_at(struct queue *q, struct queue_item *i, int64_t at);
/* Takes it out of queue and timers. */
void queue_del(struct queue *q, struct queue_item *i);
/* Moves what is due into the queue. */
void queue_due(struct queue *q, int64_t now);
/* Takes the next item; NULL when none waits. */
struct queue_item *queue_take(struct queue *q);
/* When the first timer is due; INT64_MAX = never. */
int64_t queue_next(const struct queue *q);

/* 5 ms * 2^fails, at most 1000 s: the wait after the fails-th failure in a row (from 0). */
int64_t queue_backoff(unsigned fails);

#endif
