/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is offered: each leaf offers one workload, each inner node the best of its children's.
 * Children that offer stand in a 4-ary heap per node; a change re-keys one child per level.
 */
#include "core/quota/quota_impl.h"

/* Assigns flavors to a new head, once in a cycle; its keys use them. */
static void nominate(struct quota *q, struct quota_work *w)
{
	struct quota_decision d;

	if (w->stamp == (uint32_t)q->cycle) {
		return;
	}
	w->stamp = (uint32_t)q->cycle;
	quota_assign(q, w, true, q->now_ms, &d);
}

static struct quota_work *earlier(struct quota_work *a, struct quota_work *b)
{
	return !a || (b != NULL && quota_by_turn(b, a) < 0) ? b : a;
}

/* One order over all LocalQueues; a strict leaf is silent while its head is blocked or reserves. */
static struct quota_work *in_one_order(struct quota *q, const struct quota_leaf *l)
{
	struct quota_work *head = NULL;
	struct quota_work *wait = NULL;

	for (size_t i = 0; i < l->n_lqs; i++) {
		head = earlier(head, quota_set_first(q, &l->lqs[i].ready, quota_by_turn));
	}
	if (!head || l->b->strategy != QUOTA_STRICT) {
		return head;
	}
	for (size_t i = 0; i < l->n_lqs; i++) {
		wait = earlier(wait, quota_set_first(q, &l->lqs[i].blocked, quota_by_turn));
	}
	for (size_t i = 0; i < q->n_reserved; i++) {
		if (q->reserved[i].work->leaf == l->self) {
			wait = earlier(wait, q->reserved[i].work);
		}
	}
	return wait != NULL && quota_by_turn(wait, head) < 0 ? NULL : head;
}

static struct quota_work *offer_of(struct quota *q, struct quota_leaf *l)
{
	struct quota_work *best = NULL;
	struct quota_key best_key = {.m = 1, .w = 1};

	if (l->n_ready == 0) {
		return NULL;
	}
	/* A single LocalQueue has no rank among others, and no amounts kept for one. */
	if (l->n_lqs == 1 || l->b->strategy == QUOTA_STRICT ||
	    l->b->strategy == QUOTA_BEST_EFFORT) {
		best = in_one_order(q, l);
		if (best != NULL) {
			nominate(q, best);
		}
		return best;
	}
	for (size_t i = 0; i < l->n_lqs; i++) {
		struct quota_work *w = quota_set_first(q, &l->lqs[i].ready, quota_by_turn);
		struct quota_key key;
		int order;

		if (!w) {
			continue;
		}
		nominate(q, w);
		key = quota_lq_key(q->t, l, &l->lqs[i], w);
		order = quota_key_cmp(&key, &best_key);
		if (!best || order < 0 || (order == 0 && quota_by_turn(w, best) < 0)) {
			best = w;
			best_key = key;
		}
	}
	return best;
}

/* --- the heap of a node's children ------------------------------------------------------------ */

static bool before(const struct quota_tree *t, uint32_t a, uint32_t b)
{
	int order = quota_key_cmp(&t->keys[a], &t->keys[b]);

	return order != 0 ? order < 0 : quota_by_turn(t->nodes[a].cand, t->nodes[b].cand) < 0;
}

static void place(struct quota_tree *t, const struct quota_tnode *p, uint32_t at, uint32_t child)
{
	t->heap[p->first + at] = child;
	t->pos[child] = at;
}

static void up(struct quota_tree *t, const struct quota_tnode *p, uint32_t at)
{
	uint32_t child = t->heap[p->first + at];

	while (at > 0 && before(t, child, t->heap[p->first + (at - 1) / 4])) {
		place(t, p, at, t->heap[p->first + (at - 1) / 4]);
		at = (at - 1) / 4;
	}
	place(t, p, at, child);
}

static void down(struct quota_tree *t, const struct quota_tnode *p, uint32_t at)
{
	uint32_t child = t->heap[p->first + at];

	for (;;) {
		uint32_t lo = at * 4 + 1;
		uint32_t best = lo;

		if (lo >= p->heap_n) {
			break;
		}
		for (uint32_t k = lo + 1; k < lo + 4 && k < p->heap_n; k++) {
			if (before(t, t->heap[p->first + k], t->heap[p->first + best])) {
				best = k;
			}
		}
		if (!before(t, t->heap[p->first + best], child)) {
			break;
		}
		place(t, p, at, t->heap[p->first + best]);
		at = best;
	}
	place(t, p, at, child);
}

static void touch(struct quota *q, uint32_t node)
{
	struct quota_tnode *n = &q->t->nodes[node];

	if (!n->touched) {
		n->touched = true;
		n->next_touched = q->touched[n->level];
		q->touched[n->level] = node;
	}
}

static void heap_out(struct quota_tree *t, struct quota_tnode *p, uint32_t child)
{
	uint32_t at = t->pos[child];

	t->nodes[child].queued = false;
	p->heap_n--;
	if (at < p->heap_n) {
		uint32_t moved = t->heap[p->first + p->heap_n];

		place(t, p, at, moved);
		up(t, p, at);
		down(t, p, t->pos[moved]);
	}
}

static void reseat(struct quota *q, uint32_t child)
{
	struct quota_tree *t = q->t;
	struct quota_tnode *c = &t->nodes[child];
	struct quota_tnode *p = &t->nodes[c->parent];

	if (!c->cand) {
		if (c->queued) {
			heap_out(t, p, child);
		}
		return;
	}
	t->keys[child] = quota_child_key(t, child, c->cand);
	if (!c->queued) {
		touch(q, c->parent);
		c->queued = true;
		place(t, p, p->heap_n++, child);
		up(t, p, p->heap_n - 1);
		return;
	}
	up(t, p, t->pos[child]);
	down(t, p, t->pos[child]);
}

/* Offer or usage of 'node' changed: keys and offers of everything above follow. */
static void rekey_path(struct quota *q, uint32_t node)
{
	struct quota_tree *t = q->t;

	for (uint32_t x = node; t->nodes[x].parent != QUOTA_NO_NODE; x = t->nodes[x].parent) {
		struct quota_tnode *p = &t->nodes[t->nodes[x].parent];

		reseat(q, x);
		p->cand = p->heap_n > 0 ? t->nodes[t->heap[p->first]].cand : NULL;
	}
}

/* The offer of 'l' may have changed. */
void quota_offer(struct quota *q, struct quota_leaf *l)
{
	q->t->nodes[l->node].cand = offer_of(q, l);
	rekey_path(q, l->node);
}

/* --- all at once ------------------------------------------------------------------------------ */

void quota_end_cycle(struct quota *q)
{
	struct quota_tree *t = q->t;

	if (!q->in_cycle) {
		return;
	}
	q->in_cycle = false;
	t->nodes[0].cand = NULL;
	for (size_t level = 0; level <= QUOTA_MAX_LEVELS; level++) {
		uint32_t x = q->touched[level];

		while (x != QUOTA_NO_NODE) {
			struct quota_tnode *n = &t->nodes[x];

			for (uint32_t k = 0; k < n->heap_n; k++) {
				t->nodes[t->heap[n->first + k]].queued = false;
				t->nodes[t->heap[n->first + k]].cand = NULL;
			}
			n->heap_n = 0;
			n->cand = NULL;
			n->touched = false;
			x = n->next_touched;
		}
	}
}

static void append(struct quota *q, uint32_t child)
{
	struct quota_tree *t = q->t;
	struct quota_tnode *c = &t->nodes[child];

	if (c->parent == QUOTA_NO_NODE || !c->cand) {
		return;
	}
	touch(q, c->parent);
	t->keys[child] = quota_child_key(t, child, c->cand);
	c->queued = true;
	place(t, &t->nodes[c->parent], t->nodes[c->parent].heap_n++, child);
}

/* Asks every leaf that has something, then builds the heaps, deepest first. */
void quota_offer_all(struct quota *q)
{
	struct quota_tree *t = q->t;

	for (size_t level = 0; level <= QUOTA_MAX_LEVELS; level++) {
		q->touched[level] = QUOTA_NO_NODE;
	}
	for (LIST_EACH(n, &q->active)) {
		struct quota_leaf *l = LIST_ENTRY(n, struct quota_leaf, active);

		t->nodes[l->node].cand = offer_of(q, l);
		append(q, l->node);
	}
	for (size_t level = QUOTA_MAX_LEVELS; level > 0; level--) {
		for (uint32_t x = q->touched[level]; x != QUOTA_NO_NODE;
		     x = t->nodes[x].next_touched) {
			struct quota_tnode *p = &t->nodes[x];

			for (uint32_t at = p->heap_n / 4 + 1; at-- > 0;) {
				if (at < p->heap_n) {
					down(t, p, at);
				}
			}
			p->cand = t->nodes[t->heap[p->first]].cand;
			append(q, x);
		}
	}
}
