/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A min-heap of timers, intrusive: the node lives in the object that waits. Nodes of equal time
 * come out in the order in which they were set, so that a run can be repeated exactly.
 */
#ifndef MK_BASE_HEAP_H
#define MK_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
	int64_t at;   /* due time */
	uint64_t seq; /* internal: order of setting */
	size_t index; /* internal: place in the heap; SIZE_MAX when out */
};

struct heap {
	struct heap_node **nodes;
	size_t n, size;
	uint64_t next_seq;
};

/* An empty heap; allocates nothing yet. */
void heap_init(struct heap *h);
/* Frees the table; the nodes are the caller's and count as out. */
void heap_done(struct heap *h);

/* Makes room: while at most 'n' nodes are in, heap_set cannot fail. False: out of memory. */
bool heap_reserve(struct heap *h, size_t n);

/* A node that is in no heap. */
void heap_node_init(struct heap_node *n);
static inline bool heap_has(const struct heap_node *n)
{
	return n->index != SIZE_MAX;
}

/*
 * Inserts 'n', or moves it to a new time (it then stands behind others of that time; setting the
 * time that it already has keeps its place). False: out of memory, only possible when inserting.
 */
bool heap_set(struct heap *h, struct heap_node *n, int64_t at);

/* Takes 'n' out; no effect when it is out. */
void heap_del(struct heap *h, struct heap_node *n);

/* The node due first, still in the heap; NULL when empty. */
struct heap_node *heap_min(const struct heap *h);

#define HEAP_ENTRY(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

#endif
