/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's workqueue: an item waits at most once, namespaces take turns, and an item can be
 * added for a later time (the earliest time counts). Adding never fails: without memory for a
 * bucket of the namespace, the item waits in a shared bucket; without memory for a timer, it is due
 * now.
 */
#ifndef MK_ENGINE_STORE_QUEUE_H
#define MK_ENGINE_STORE_QUEUE_H

#include "core/base/heap.h"
#include "core/base/list.h"
#include "core/base/map.h"
#include "core/base/str.h"

struct queue_bucket;

/* Member of the object that is to get a pass. */
struct queue_item {
	struct list_node node;
	struct heap_node timer;
	struct queue_bucket *bucket; /* NULL: not waiting */
	mk_str ns;                   /* borrowed from the object */
	int type;                    /* enum item_type */
};

struct queue {
	struct list_node buckets; /* those with items; the first has the next turn */
	struct map by_ns;
	struct heap timers;
	struct queue_bucket *shared;
	size_t n;
};

/* An empty queue. False: out of memory. */
bool queue_init(struct queue *q);
/* Frees the queue. Items belong to their objects and are not touched. */
void queue_done(struct queue *q);

/* Prepares an item that is not queued; 'ns' must live as long as the item. */
void queue_item_init(struct queue_item *i, int type, mk_str ns);
/* Makes the item due now, once however often it is added; a timer of it ends. */
void queue_add(struct queue *q, struct queue_item *i);
/* Makes the item due no later than 'at' (monotonic ms). */
void queue_add_at(struct queue *q, struct queue_item *i, int64_t at);
/* Removes the item from queue and timers. */
void queue_del(struct queue *q, struct queue_item *i);
/* Moves items whose time has come into the queue. */
void queue_due(struct queue *q, int64_t now);
/* Takes the next item; NULL when none waits. */
struct queue_item *queue_take(struct queue *q);
/* When the first timer is due; INT64_MAX = never. */
int64_t queue_next(const struct queue *q);

/* 5 ms * 2^fails, at most 1000 s: the wait after the fails-th failure in a row (from 0). */
int64_t queue_backoff(unsigned fails);

#endif
