/* SPDX-License-Identifier: Apache-2.0 */
/* Binary heap in a growing table; every node knows its place. */
#include "core/base/heap.h"

#include "core/base/alloc.h"

void heap_init(struct heap *h)
{
	*h = (struct heap){.nodes = NULL};
}

void heap_done(struct heap *h)
{
	for (size_t i = 0; i < h->n; i++) {
		h->nodes[i]->index = SIZE_MAX;
	}
	mk_free(h->nodes);
	heap_init(h);
}

void heap_node_init(struct heap_node *n)
{
	*n = (struct heap_node){.index = SIZE_MAX};
}

static bool before(const struct heap_node *x, const struct heap_node *y)
{
	return x->at != y->at ? x->at < y->at : x->seq < y->seq;
}

static void place(struct heap *h, size_t i, struct heap_node *n)
{
	h->nodes[i] = n;
	n->index = i;
}

static void up(struct heap *h, struct heap_node *n)
{
	size_t i = n->index;

	while (i > 0 && before(n, h->nodes[(i - 1) / 2])) {
		place(h, i, h->nodes[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	place(h, i, n);
}

static void down(struct heap *h, struct heap_node *n)
{
	size_t i = n->index;

	while (2 * i + 1 < h->n) {
		size_t child = 2 * i + 1;

		if (child + 1 < h->n && before(h->nodes[child + 1], h->nodes[child])) {
			child++;
		}
		if (!before(h->nodes[child], n)) {
			break;
		}
		place(h, i, h->nodes[child]);
		i = child;
	}
	place(h, i, n);
}

bool heap_reserve(struct heap *h, size_t n)
{
	size_t size = h->size ? h->size : 16;
	struct heap_node **nodes = NULL;

	if (n <= h->size) {
		return true;
	}
	while (size < n && size <= SIZE_MAX / 2) {
		size *= 2;
	}
	if (size >= n && size <= SIZE_MAX / 2 / sizeof(struct heap_node *)) {
		nodes = mk_realloc(h->nodes, size * sizeof(struct heap_node *));
	}
	if (!nodes) {
		return false;
	}
	h->nodes = nodes;
	h->size = size;
	return true;
}

bool heap_set(struct heap *h, struct heap_node *n, int64_t at)
{
	if (heap_has(n)) {
		if (n->at == at) {
			return true;
		}
	} else {
		if (!heap_reserve(h, h->n + 1)) {
			return false;
		}
		place(h, h->n++, n);
	}
	n->at = at;
	n->seq = h->next_seq++;
	up(h, n);
	down(h, n);
	return true;
}

void heap_del(struct heap *h, struct heap_node *n)
{
	struct heap_node *last;

	if (!heap_has(n)) {
		return;
	}
	last = h->nodes[--h->n];
	if (last != n) {
		place(h, n->index, last);
		up(h, last);
		down(h, last);
	}
	n->index = SIZE_MAX;
}

struct heap_node *heap_min(const struct heap *h)
{
	return h->n > 0 ? h->nodes[0] : NULL;
}
