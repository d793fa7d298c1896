/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nominal, maximum and reserve of each node: parents before children, reserves and sums the other
 * way.
 */
#include "core/quota/quota_impl.h"

/* floor(amount * percent / 100), exact; unlimited stays so at 100. */
static int64_t percent(int64_t amount, int64_t w)
{
	if (amount <= INT64_MAX / 100) {
		return amount * w / 100;
	}
	return quota_share_of(amount, w, 100);
}

static int64_t min2(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static struct quota_held *held_of(const struct quota_tree *t, const struct quota_cell *c)
{
	return &t->held[c - t->cells];
}

static int64_t *reserved_of(const struct quota_tree *t, const struct quota_cell *c)
{
	return &t->held[c - t->cells].reserved;
}

static void by_weight(struct quota_tree *t, uint32_t p, bool equal)
{
	const struct quota_tnode *n = &t->nodes[p];
	const struct quota_cell *from = quota_cell(t, p, 0);

	for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
		struct quota_cell *to = quota_cell(t, c, 0);
		int64_t max = t->nodes[c].max_weight < 0 ? 100 : t->nodes[c].max_weight;
		int64_t min = t->nodes[c].min_weight < 0 ? 0 : t->nodes[c].min_weight;

		for (size_t f = 0; f < t->nf; f++) {
			to[f].max = percent(from[f].max, max);
			to[f].nominal =
				equal ? min2(quota_share_of(from[f].nominal, 1, n->n_children),
					     to[f].max)
				      : percent(from[f].nominal, min);
		}
	}
}

/* Scales the minima of p's children down where they sum up to more than p has. */
static void scale(struct quota_tree *t, uint32_t p)
{
	const struct quota_tnode *n = &t->nodes[p];

	for (size_t f = 0; f < t->nf; f++) {
		int64_t have = quota_cell(t, p, f)->nominal;
		quota_u128 sum = 0;

		for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
			sum += (uint64_t)quota_cell(t, c, f)->nominal;
		}
		if (sum <= (quota_u128)(uint64_t)have) {
			continue;
		}
		t->degraded = true;
		t->scaled = true;
		for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
			struct quota_cell *to = quota_cell(t, c, f);

			to->nominal =
				(int64_t)((quota_u128)(uint64_t)to->nominal * (uint64_t)have / sum);
		}
	}
}

/*
 * Amounts of p's children; 'reserved' is their own part until quota_effective adds that of their
 * children.
 */
static void by_amount(struct quota_tree *t, uint32_t p)
{
	const struct quota_tnode *n = &t->nodes[p];
	const struct quota_cell *from = quota_cell(t, p, 0);

	for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
		struct quota_cell *to = quota_cell(t, c, 0);
		const struct quota_tnode *m = &t->nodes[c];

		for (size_t f = 0; f < t->nf; f++) {
			to[f].nominal = 0;
			to[f].max = from[f].max;
		}
		for (uint32_t i = m->base + m->n_min; i < m->base + m->n_min + m->n_max; i++) {
			size_t f = t->base[i].fr;

			to[f].max = min2(t->base[i].nominal, from[f].max);
		}
		for (uint32_t i = m->base; i < m->base + m->n_min; i++) {
			to[t->base[i].fr].nominal = t->base[i].nominal;
		}
	}
	scale(t, p);
	for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
		const struct quota_tnode *m = &t->nodes[c];

		for (uint32_t i = m->base; i < m->base + m->n_min; i++) {
			struct quota_cell *to = quota_cell(t, c, t->base[i].fr);

			/*
			 * A maximum below the minimum is refused by validation; without it, max
			 * wins.
			 */
			to->nominal = min2(to->nominal, to->max);
			if (t->base[i].lending >= 0 && to->nominal > t->base[i].lending) {
				*reserved_of(t, to) = to->nominal - t->base[i].lending;
			}
		}
	}
}

static void children_of(struct quota_tree *t, uint32_t p)
{
	const struct quota_tnode *n = &t->nodes[p];
	bool weighted = false;

	if (t->nodes[n->first].absolute) {
		by_amount(t, p);
		return;
	}
	for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
		weighted = weighted || t->nodes[c].min_weight >= 0;
	}
	if (!weighted && n->policy == QUOTA_CAPACITY) {
		t->degraded = true;
		t->unweighted = t->unweighted == QUOTA_NO_NODE ? p : t->unweighted;
	}
	by_weight(t, p, !weighted);
}

/*
 * Sums of hold and use of inner nodes; leaves and orphans must be in 'use' and, for inner nodes,
 * nothing else.
 */
void quota_sum_up(struct quota_tree *t)
{
	for (uint32_t x = (uint32_t)t->n; x-- > 0;) {
		struct quota_cell *c = quota_cell(t, x, 0);
		const struct quota_tnode *n = &t->nodes[x];

		for (size_t f = 0; t->held != NULL && f < t->nf; f++) {
			held_of(t, c)[f].sum = c[f].use;
			for (uint32_t k = n->first; k < n->first + n->n_children; k++) {
				held_of(t, c)[f].sum += quota_hold(t, quota_cell(t, k, f));
			}
		}
		for (uint32_t k = n->first; k < n->first + n->n_children; k++) {
			const struct quota_cell *d = quota_cell(t, k, 0);

			for (size_t f = 0; f < t->nf; f++) {
				c[f].use += d[f].use;
			}
		}
	}
}

/* Makes 'use' of inner nodes their orphan usage again, so that quota_sum_up can run. */
static void take_down(struct quota_tree *t)
{
	for (uint32_t x = 0; x < t->n; x++) {
		const struct quota_tnode *n = &t->nodes[x];

		for (uint32_t k = n->first; k < n->first + n->n_children; k++) {
			for (size_t f = 0; f < t->nf; f++) {
				quota_cell(t, x, f)->use -= quota_cell(t, k, f)->use;
			}
		}
	}
}

static void reserves(struct quota_tree *t)
{
	for (uint32_t x = (uint32_t)t->n; x-- > 0;) {
		const struct quota_tnode *n = &t->nodes[x];

		for (size_t f = 0; n->n_children > 0 && f < t->nf; f++) {
			int64_t sum = 0;

			for (uint32_t k = n->first; k < n->first + n->n_children; k++) {
				sum += *reserved_of(t, quota_cell(t, k, f));
			}
			if (sum > *reserved_of(t, quota_cell(t, x, f))) {
				*reserved_of(t, quota_cell(t, x, f)) = sum;
			}
		}
	}
}

static void root_values(struct quota_tree *t)
{
	for (size_t f = 0; f < t->nf; f++) {
		struct quota_cell *c = quota_cell(t, 0, f);

		c->nominal = t->pairs[f].declared ? t->pairs[f].total : 0;
		c->max = c->nominal;
	}
}

void quota_effective(struct quota_tree *t)
{
	if (t->n == 0) {
		return;
	}
	t->degraded = false;
	t->scaled = false;
	t->unweighted = QUOTA_NO_NODE;
	for (size_t i = 0; t->held != NULL && i < t->n * t->nf; i++) {
		t->held[i].reserved = 0;
	}
	root_values(t);
	for (uint32_t x = 0; x < t->n; x++) {
		if (t->nodes[x].n_children > 0) {
			children_of(t, x);
		}
	}
	if (t->held != NULL) {
		reserves(t);
		take_down(t);
		quota_sum_up(t);
	}
}
