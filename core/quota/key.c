/* SPDX-License-Identifier: Apache-2.0 */
/* Orders among children and among LocalQueues, compared exactly in 192 bits. */
#include "core/quota/quota_impl.h"

static void mul3(int64_t a, int64_t b, int64_t c, uint64_t ret[3])
{
	quota_u128 p = (quota_u128)(uint64_t)a * (uint64_t)b;
	quota_u128 lo = (quota_u128)(uint64_t)p * (uint64_t)c;
	quota_u128 hi = (quota_u128)(uint64_t)(p >> 64) * (uint64_t)c + (uint64_t)(lo >> 64);

	ret[0] = (uint64_t)(hi >> 64);
	ret[1] = (uint64_t)hi;
	ret[2] = (uint64_t)lo;
}

int quota_key_cmp(const struct quota_key *a, const struct quota_key *b)
{
	uint64_t x[3];
	uint64_t y[3];

	if (a->cls != b->cls) {
		return a->cls < b->cls ? -1 : 1;
	}
	mul3(a->u, b->m, b->w, x);
	mul3(b->u, a->m, a->w, y);
	for (size_t i = 0; i < 3; i++) {
		if (x[i] != y[i]) {
			return x[i] < y[i] ? -1 : 1;
		}
	}
	return 0;
}

static int64_t add_capped(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* The larger of two fractions, weights aside. */
static void raise(struct quota_key *k, int64_t u, int64_t m)
{
	struct quota_key other = {.u = u, .m = m, .w = 1};
	struct quota_key mine = {.u = k->u, .m = k->m, .w = 1};

	if (quota_key_cmp(&other, &mine) > 0) {
		k->u = u;
		k->m = m;
	}
}

/*
 * Largest over resources of (sum over flavors of use) / (sum over flavors of max), by 'weight'.
 * 'use' has one amount per pair, 'step' apart; 'q' (may be NULL) is added to it, or with sign -1
 * taken away.
 */
static struct quota_key dominant(const struct quota_tree *t, const int64_t *use, size_t step,
				 const struct quota_cell *max, int64_t weight,
				 const struct quota_wants *q, int sign)
{
	int64_t sums[QUOTA_MAX_RESOURCES] QUOTA_RAW;
	int64_t maxs[QUOTA_MAX_RESOURCES] QUOTA_RAW;
	struct quota_key k = {.u = 0, .m = 1, .w = weight};
	bool any = false;

	for (size_t r = 0; r < t->n_res; r++) {
		sums[r] = 0;
		maxs[r] = 0;
	}
	for (size_t f = 0; f < t->nf; f++) {
		size_t r = t->pairs[f].res;

		sums[r] = add_capped(sums[r], use[f * step]);
		maxs[r] = add_capped(maxs[r], max[f].max);
	}
	for (size_t i = 0; q != NULL && i < q->n; i++) {
		size_t r = t->pairs[q->v[i].fr].res;

		sums[r] = sign > 0 ? add_capped(sums[r], q->v[i].amount) : sums[r] - q->v[i].amount;
	}
	for (size_t r = 0; r < t->n_res; r++) {
		any = any || sums[r] > 0;
		if (weight > 0 && maxs[r] > 0 && maxs[r] != QUOTA_UNLIMITED) {
			raise(&k, sums[r], maxs[r]);
		}
	}
	if (weight == 0) {
		k = (struct quota_key){.u = any ? 1 : 0, .m = any ? 0 : 1, .w = 1};
	}
	return k;
}

/* Share of a child of its parent, with (sign 1) or without (-1) 'q', which may be NULL. */
struct quota_key quota_share(const struct quota_tree *t, uint32_t node, const struct quota_wants *q,
			     int sign)
{
	const struct quota_tnode *n = &t->nodes[node];

	return dominant(t, &quota_cell(t, node, 0)->use,
			sizeof(struct quota_cell) / sizeof(int64_t), quota_cell(t, n->parent, 0),
			n->weight, q, sign);
}

static struct quota_key key_fifo(const struct quota_tree *t, uint32_t child,
				 const struct quota_wants *q)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct quota_cell *c = quota_cell(t, child, q->v[i].fr);

		if (c->use + q->v[i].amount > c->nominal) {
			return (struct quota_key){.m = 1, .w = 1, .cls = 1};
		}
	}
	return (struct quota_key){.m = 1, .w = 1};
}

static struct quota_key key_capacity(const struct quota_tree *t, uint32_t child,
				     const struct quota_wants *q)
{
	struct quota_key k = {.m = 1, .w = 1};

	for (size_t i = 0; i < q->n; i++) {
		const struct quota_cell *c = quota_cell(t, child, q->v[i].fr);

		if (c->use > c->nominal) {
			k.cls = 2;
		} else if (c->use + q->v[i].amount > c->nominal && k.cls < 1) {
			k.cls = 1;
		}
		if (c->nominal > 0) {
			raise(&k, c->use, c->nominal);
		} else if (c->use > 0) {
			raise(&k, 1, 0);
		}
	}
	return k;
}

/*
 * The key of 'child', which offers 'w', among its siblings. Node keys of HDRF are made by hdrf.c.
 */
struct quota_key quota_child_key(const struct quota_tree *t, uint32_t child,
				 const struct quota_work *w)
{
	enum quota_policy policy = t->nodes[t->nodes[child].parent].policy;
	struct quota_wants q QUOTA_RAW;

	if (policy == QUOTA_FAIR && !t->lookahead) {
		return quota_share(t, child, NULL, 1);
	}
	quota_wants_of(w, &q);
	switch (policy) {
	case QUOTA_FAIR:
		return quota_share(t, child, &q, 1);
	case QUOTA_CAPACITY:
		return key_capacity(t, child, &q);
	case QUOTA_FIFO:
		break;
	}
	return key_fifo(t, child, &q);
}

/*
 * floor(amount * part / whole), exact; 0 when whole is 0; unlimited stays so when part is all of
 * it.
 */
int64_t quota_share_of(int64_t amount, int64_t part, int64_t whole)
{
	if (whole == 0 || part == 0) {
		return 0;
	}
	if (part == whole) {
		return amount;
	}
	return (int64_t)((quota_u128)(uint64_t)amount * (uint64_t)part / (uint64_t)whole);
}

struct quota_key quota_lq_key(const struct quota_tree *t, const struct quota_leaf *l,
			      const struct quota_lqueue *lq, const struct quota_work *w)
{
	struct quota_key k = {.m = 1, .w = 1};
	struct quota_wants q QUOTA_RAW;
	int64_t whole = 0;

	if (lq->weight == 0) {
		k.cls = 2;
		return k;
	}
	if (l->b->strategy == QUOTA_LQ_FAIR) {
		return dominant(t, lq->use, 1, quota_cell(t, l->node, 0), lq->weight, NULL, 1);
	}
	for (size_t i = 0; i < l->n_lqs; i++) {
		if (l->lqs[i].n_waiting + l->lqs[i].n_running > 0) {
			whole += l->lqs[i].weight;
		}
	}
	quota_wants_of(w, &q);
	for (size_t i = 0; i < q.n; i++) {
		const struct quota_cell *c = quota_cell(t, l->node, q.v[i].fr);
		int64_t e = quota_share_of(c->nominal > 0 ? c->nominal : c->max, lq->weight, whole);
		int64_t use = lq->use[q.v[i].fr];

		if (use > e) {
			k.cls = 1;
		}
		if (e > 0) {
			raise(&k, use, e);
		} else if (use > 0) {
			raise(&k, 1, 0);
		}
	}
	return k;
}
