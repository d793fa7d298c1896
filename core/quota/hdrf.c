/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hierarchical-DRF order (option 'hdrf'): at fair nodes the shares of children are built from
 * the leaves up, each child rescaled to the smallest share among those that are not blocked. Fixed
 * point, 2^-40 of a total; computed anew for each pick, so it is for trees of hundreds of nodes,
 * not of thousands.
 */
#include "core/quota/quota_impl.h"

enum { ONE_BITS = 40 };

struct hdrf {
	struct quota *q;
	struct quota_tree *t;
	bool open[QUOTA_MAX_RESOURCES]; /* not fully used */
	int64_t total[QUOTA_MAX_RESOURCES];
};

static uint64_t *vec_of(const struct quota_tree *t, uint32_t x)
{
	return &t->shares[(size_t)x * t->n_res];
}

static uint64_t *share_of(const struct quota_tree *t, uint32_t x)
{
	return &t->shares[t->n * t->n_res + x];
}

static uint64_t *blocked_of(const struct quota_tree *t, uint32_t x)
{
	return &t->shares[t->n * (t->n_res + 1) + x];
}

static uint64_t capped(quota_u128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static void totals(struct hdrf *h)
{
	int64_t use[QUOTA_MAX_RESOURCES] = {0};

	for (size_t f = 0; f < h->t->nf; f++) {
		const struct quota_cell *c = quota_cell(h->t, 0, f);
		size_t r = h->t->pairs[f].res;

		use[r] += c->use;
		h->total[r] = c->max > INT64_MAX - h->total[r] ? INT64_MAX : h->total[r] + c->max;
	}
	for (size_t r = 0; r < h->t->n_res; r++) {
		h->open[r] = use[r] < h->total[r];
	}
}

static void leaf_vec(struct hdrf *h, uint32_t x)
{
	const struct quota_tree *t = h->t;
	const struct quota_work *w = t->nodes[x].cand;
	bool blocked = !w;

	for (size_t f = 0; f < t->nf; f++) {
		size_t r = t->pairs[f].res;

		if (h->total[r] > 0) {
			vec_of(t, x)[r] = capped(
				vec_of(t, x)[r] +
				((quota_u128)(uint64_t)quota_cell(t, x, f)->use << ONE_BITS) /
					(uint64_t)h->total[r]);
		}
	}
	for (size_t i = 0; w != NULL && i < w->n_asks; i++) {
		uint8_t r = quota_metas(w)[i].res;

		blocked = blocked || r == QUOTA_NO_RES || !h->open[r];
	}
	*blocked_of(t, x) = blocked;
}

static void inner_vec(struct hdrf *h, uint32_t x)
{
	const struct quota_tree *t = h->t;
	const struct quota_tnode *n = &t->nodes[x];
	uint64_t least = UINT64_MAX;
	bool blocked = true;

	for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
		if (!*blocked_of(t, c)) {
			blocked = false;
			least = *share_of(t, c) < least ? *share_of(t, c) : least;
		}
	}
	for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
		uint64_t s = *share_of(t, c);

		for (size_t r = 0; r < t->n_res; r++) {
			quota_u128 v = vec_of(t, c)[r];

			if (!*blocked_of(t, c)) {
				v = s == 0 ? 0 : v * least / s;
			}
			vec_of(t, x)[r] = capped(vec_of(t, x)[r] + v);
		}
	}
	*blocked_of(t, x) = blocked;
}

static void set_share(struct hdrf *h, uint32_t x)
{
	const struct quota_tree *t = h->t;
	int64_t weight = t->nodes[x].weight;
	uint64_t s = 0;

	for (size_t r = 0; r < t->n_res; r++) {
		if (h->open[r] && vec_of(t, x)[r] > s) {
			s = vec_of(t, x)[r];
		}
	}
	if (weight == 0) {
		s = s > 0 ? UINT64_MAX : 0;
	} else {
		s = capped((quota_u128)s * 1000 / (uint64_t)weight);
	}
	*share_of(t, x) = s;
}

static struct quota_key key_of(const struct hdrf *h, uint32_t c, const struct quota_work *w)
{
	if (h->t->nodes[h->t->nodes[c].parent].policy == QUOTA_FAIR) {
		return (struct quota_key){.u = (int64_t)(*share_of(h->t, c) >> 1), .m = 1, .w = 1};
	}
	return quota_child_key(h->t, c, w);
}

static struct quota_work *pick(const struct hdrf *h, uint32_t x)
{
	const struct quota_tnode *n = &h->t->nodes[x];
	struct quota_work *best = NULL;
	struct quota_key best_key = {.m = 1, .w = 1};

	if (n->leaf != NULL) {
		return n->cand;
	}
	for (uint32_t i = 0; i < n->heap_n; i++) {
		uint32_t c = h->t->heap[n->first + i];
		struct quota_work *w = pick(h, c);
		struct quota_key key;
		int order;

		if (!w) {
			continue;
		}
		key = key_of(h, c, w);
		order = quota_key_cmp(&key, &best_key);
		if (!best || order < 0 || (order == 0 && quota_by_turn(w, best) < 0)) {
			best = w;
			best_key = key;
		}
	}
	return best;
}

struct quota_work *quota_hdrf_pick(struct quota *q)
{
	struct quota_tree *t = q->t;
	struct hdrf h = {.q = q, .t = t};

	memset(t->shares, 0, t->n * (t->n_res + 2) * sizeof(*t->shares));
	totals(&h);
	for (uint32_t x = (uint32_t)t->n; x-- > 0;) {
		if (t->nodes[x].leaf != NULL) {
			leaf_vec(&h, x);
		} else {
			inner_vec(&h, x);
		}
		set_share(&h, x);
	}
	return pick(&h, 0);
}
