/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of workloads, whose links live in the workload, so that moving between sets allocates
 * nothing. What is added is chained up, at the same cost whatever else is there; it is put in
 * order, in a treap, when the first one is asked for.
 */
#include "core/quota/quota_impl.h"

/* Which workload comes first in a queue: higher priority, earlier, smaller uid. */
int quota_by_turn(const struct quota_work *a, const struct quota_work *b)
{
	if (a->priority != b->priority) {
		return a->priority > b->priority ? -1 : 1;
	}
	if (a->time_ms != b->time_ms) {
		return a->time_ms < b->time_ms ? -1 : 1;
	}
	return quota_uid_cmp(a, b);
}

/* Which workload is given up first: lower priority, admitted later, smaller uid. */
int quota_by_worth(const struct quota_work *a, const struct quota_work *b)
{
	if (a->priority != b->priority) {
		return a->priority < b->priority ? -1 : 1;
	}
	if (a->since_ms != b->since_ms) {
		return a->since_ms > b->since_ms ? -1 : 1;
	}
	return quota_uid_cmp(a, b);
}

/* The two orders are known here, so that a comparison is no call. */
#define INLINED static inline __attribute__((always_inline))

/* Splits at 'w', which is in neither half. */
INLINED void split(const struct quota *q, uint32_t ref, const struct quota_work *w,
		   quota_order *cmp, uint32_t *lo, uint32_t *hi)
{
	while (ref != 0) {
		struct quota_work *root = quota_work_of(q, ref);

		if (cmp(root, w) < 0) {
			*lo = ref;
			lo = &root->right;
			ref = root->right;
		} else {
			*hi = ref;
			hi = &root->left;
			ref = root->left;
		}
	}
	*lo = 0;
	*hi = 0;
}

INLINED void tree_add(const struct quota *q, uint32_t *root, struct quota_work *w, quota_order *cmp)
{
	struct quota_work *at = quota_work_of(q, *root);

	while (at != NULL && at->hash >= w->hash) {
		root = cmp(w, at) < 0 ? &at->left : &at->right;
		at = quota_work_of(q, *root);
	}
	split(q, *root, w, cmp, &w->left, &w->right);
	*root = w->self;
}

INLINED void tree_del(const struct quota *q, uint32_t *root, struct quota_work *w, quota_order *cmp)
{
	struct quota_work *a = quota_work_of(q, w->left);
	struct quota_work *b = quota_work_of(q, w->right);

	while (*root != 0 && *root != w->self) {
		struct quota_work *at = quota_work_of(q, *root);

		root = cmp(w, at) < 0 ? &at->left : &at->right;
	}
	while (a != NULL && b != NULL) {
		if (a->hash >= b->hash) {
			*root = a->self;
			root = &a->right;
			a = quota_work_of(q, a->right);
		} else {
			*root = b->self;
			root = &b->left;
			b = quota_work_of(q, b->left);
		}
	}
	*root = quota_ref(a != NULL ? a : b);
}

INLINED void order(const struct quota *q, struct quota_set *s, quota_order *cmp)
{
	while (s->fresh != 0) {
		struct quota_work *w = quota_work_of(q, s->fresh);

		s->fresh = w->right;
		w->loose = false;
		tree_add(q, &s->root, w, cmp);
	}
}

static struct quota_work *leftmost(const struct quota *q, uint32_t root)
{
	struct quota_work *w = quota_work_of(q, root);

	while (w != NULL && w->left != 0) {
		w = quota_work_of(q, w->left);
	}
	return w;
}

void quota_set_add(const struct quota *q, struct quota_set *s, struct quota_work *w)
{
	w->loose = true;
	w->left = 0;
	w->right = s->fresh;
	if (s->fresh != 0) {
		quota_work_of(q, s->fresh)->left = w->self;
	}
	s->fresh = w->self;
}

static void unchain(const struct quota *q, struct quota_set *s, struct quota_work *w)
{
	if (w->left == 0) {
		s->fresh = w->right;
	} else {
		quota_work_of(q, w->left)->right = w->right;
	}
	if (w->right != 0) {
		quota_work_of(q, w->right)->left = w->left;
	}
}

void quota_set_del(const struct quota *q, struct quota_set *s, struct quota_work *w,
		   quota_order *cmp)
{
	if (w->loose) {
		unchain(q, s, w);
	} else if (cmp == quota_by_turn) {
		tree_del(q, &s->root, w, quota_by_turn);
	} else {
		tree_del(q, &s->root, w, quota_by_worth);
	}
	w->loose = false;
	w->left = 0;
	w->right = 0;
}

struct quota_work *quota_set_first(const struct quota *q, struct quota_set *s, quota_order *cmp)
{
	if (cmp == quota_by_turn) {
		order(q, s, quota_by_turn);
	} else {
		order(q, s, quota_by_worth);
	}
	return leftmost(q, s->root);
}

struct quota_work *quota_set_after(const struct quota *q, const struct quota_set *s,
				   const struct quota_work *w, quota_order *cmp)
{
	struct quota_work *best = NULL;
	struct quota_work *at = quota_work_of(q, s->root);

	while (at != NULL) {
		if (cmp(at, w) > 0) {
			best = at;
			at = quota_work_of(q, at->left);
		} else {
			at = quota_work_of(q, at->right);
		}
	}
	return best;
}

struct quota_work *quota_set_some(const struct quota *q, const struct quota_set *s)
{
	return s->fresh != 0 ? quota_work_of(q, s->fresh) : leftmost(q, s->root);
}

struct quota_work *quota_set_other(const struct quota *q, const struct quota_set *s,
				   const struct quota_work *w, quota_order *cmp)
{
	if (!w->loose) {
		return quota_set_after(q, s, w, cmp);
	}
	return w->right != 0 ? quota_work_of(q, w->right) : leftmost(q, s->root);
}

static void tree_each(struct quota *q, uint32_t root,
		      void (*fn)(struct quota *q, void *ctx, struct quota_work *w), void *ctx)
{
	struct quota_work *w = quota_work_of(q, root);

	while (w != NULL) {
		tree_each(q, w->left, fn, ctx);
		fn(q, ctx, w);
		w = quota_work_of(q, w->right);
	}
}

void quota_set_each(struct quota *q, const struct quota_set *s,
		    void (*fn)(struct quota *q, void *ctx, struct quota_work *w), void *ctx)
{
	for (struct quota_work *w = quota_work_of(q, s->fresh); w != NULL;
	     w = quota_work_of(q, w->right)) {
		fn(q, ctx, w);
	}
	tree_each(q, s->root, fn, ctx);
}

bool quota_room(void **p, size_t *size, size_t n, size_t item)
{
	size_t want = *size < 16 ? 16 : *size * 2;
	void *bigger;

	if (n < *size) {
		return true;
	}
	bigger = mk_realloc(*p, want * item);
	if (!bigger) {
		return false;
	}
	*p = bigger;
	*size = want;
	return true;
}
