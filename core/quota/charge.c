/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: charging along the path to the root, and the level-by-level check. */
#include "core/quota/quota_impl.h"

void quota_wants_of(const struct quota_work *w, struct quota_wants *ret)
{
	const int64_t *amounts = quota_amounts(w);
	const struct quota_meta *metas = quota_metas(w);

	ret->n = 0;
	ret->outside = false;
	for (size_t i = 0; i < w->n_asks; i++) {
		size_t at = ret->n;

		if (amounts[i] == 0) {
			continue;
		}
		if (metas[i].fr == QUOTA_NO_FR) {
			ret->outside = true;
			continue;
		}
		while (at > 0 && ret->v[at - 1].fr > metas[i].fr) {
			at--;
		}
		if (at > 0 && ret->v[at - 1].fr == metas[i].fr) {
			ret->v[at - 1].amount += amounts[i];
			continue;
		}
		for (size_t k = ret->n; k > at; k--) {
			ret->v[k] = ret->v[k - 1];
		}
		ret->v[at] = (struct quota_want){.fr = metas[i].fr, .amount = amounts[i]};
		ret->n++;
	}
}

static void charge(struct quota_tree *t, uint32_t node, size_t fr, int64_t amount)
{
	int64_t delta = amount;

	for (uint32_t x = node; x != QUOTA_NO_NODE; x = t->nodes[x].parent) {
		struct quota_cell *c = quota_cell(t, x, fr);

		if (t->held != NULL) {
			int64_t before = quota_hold(t, c);

			t->held[c - t->cells].sum += delta;
			delta = quota_hold(t, c) - before;
		}
		c->use += amount;
	}
}

void quota_charge_work(const struct quota *q, const struct quota_work *w, int sign)
{
	uint32_t node = quota_leaf_of(q, w)->node;
	const int64_t *amounts = quota_amounts(w);
	const struct quota_meta *metas = quota_metas(w);

	for (size_t i = 0; i < w->n_asks; i++) {
		if (metas[i].fr != QUOTA_NO_FR && amounts[i] != 0) {
			charge(q->t, node, metas[i].fr, sign > 0 ? amounts[i] : -amounts[i]);
		}
	}
}

void quota_charge_lq(const struct quota *q, const struct quota_work *w, int sign)
{
	const struct quota_leaf *l = quota_leaf_of(q, w);
	const int64_t *amounts = quota_amounts(w);
	const struct quota_meta *metas = quota_metas(w);
	int64_t *use;

	/*
	 * Rows of a leaf that is gone have the pairs of its own time; they are counted anew when it
	 * comes back.
	 */
	if (l->n_lqs == 1 || l->gone) {
		return;
	}
	use = l->lqs[w->lq].use;
	for (size_t i = 0; i < w->n_asks; i++) {
		if (metas[i].fr != QUOTA_NO_FR) {
			use[metas[i].fr] += sign > 0 ? amounts[i] : -amounts[i];
		}
	}
}

/* 'need': quota_need there for a request of 'amount'. */
static void fill_row(const struct quota_tree *t, uint32_t leaf, uint32_t x,
		     const struct quota_want *want, int64_t need, struct quota_row *ret)
{
	const struct quota_cell *c = quota_cell(t, x, want->fr);

	*ret = (struct quota_row){
		.node = x,
		.level = t->nodes[x].level,
		.n_levels = t->nodes[leaf].level,
		.fr = want->fr,
		.used = c->use,
		.reserved = need - c->use - want->amount,
		.requested = want->amount,
		.min = c->nominal,
		.max = c->max,
		.fits = need <= c->max,
	};
}

/*
 * Does 'q' fit 'node' and everything above? If not, *ret (may be NULL) is the first failure from
 * the leaf up. A node that reserves keep over its maximum refuses no request that stays in a
 * reserve and within that maximum.
 */
bool quota_fits(const struct quota_tree *t, uint32_t node, const struct quota_wants *q,
		struct quota_row *ret)
{
	int best = -1;
	struct quota_row row;

	if (q->outside) {
		if (ret != NULL) {
			*ret = (struct quota_row){.node = QUOTA_NONE};
		}
		return false;
	}
	for (size_t i = 0; i < q->n; i++) {
		int64_t delta = q->v[i].amount;

		for (uint32_t x = node; x != QUOTA_NO_NODE; x = t->nodes[x].parent) {
			const struct quota_cell *c = quota_cell(t, x, q->v[i].fr);
			int64_t need = quota_need(t, c, &delta);

			if (need > c->max) {
				if (!ret) {
					return false;
				}
				if ((int)t->nodes[x].level > best) {
					best = t->nodes[x].level;
					fill_row(t, node, x, &q->v[i], need, &row);
				}
				break;
			}
		}
	}
	if (best < 0) {
		return true;
	}
	*ret = row;
	return false;
}

/* One row per node from 'node' up and pair of 'q'; returns how many of at most 'size'. */
size_t quota_rows(const struct quota_tree *t, uint32_t node, const struct quota_wants *q,
		  struct quota_row *rows, size_t size)
{
	int64_t delta[QUOTA_MAX_ASKS] QUOTA_RAW;
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++) {
		delta[i] = q->v[i].amount;
	}
	for (uint32_t x = node; x != QUOTA_NO_NODE; x = t->nodes[x].parent) {
		for (size_t i = 0; i < q->n; i++) {
			int64_t need = quota_need(t, quota_cell(t, x, q->v[i].fr), &delta[i]);

			if (n < size) {
				fill_row(t, node, x, &q->v[i], need, &rows[n++]);
			}
		}
	}
	return n;
}

size_t quota_height(const struct quota_tree *t, uint32_t node, const struct quota_wants *q)
{
	size_t height = 0;
	size_t at = 1;

	for (uint32_t x = node; t->nodes[x].parent != QUOTA_NO_NODE; x = t->nodes[x].parent) {
		for (size_t i = 0; i < q->n; i++) {
			const struct quota_cell *c = quota_cell(t, x, q->v[i].fr);

			if (c->use + q->v[i].amount > c->nominal) {
				height = at;
				break;
			}
		}
		at++;
	}
	return height;
}

bool quota_would_overflow(const struct quota *q, const struct quota_wants *wants)
{
	const int64_t limit = (int64_t)1 << QUOTA_LIMIT_BITS;

	for (size_t i = 0; i < wants->n; i++) {
		if (wants->v[i].amount > limit - quota_cell(q->t, 0, wants->v[i].fr)->use) {
			return true;
		}
	}
	return false;
}

void quota_dropped(struct quota *q, const struct quota_work *w)
{
	const struct quota_meta *metas = quota_metas(w);

	q->seq++;
	for (size_t i = 0; i < w->n_asks; i++) {
		if (metas[i].res != QUOTA_NO_RES) {
			q->t->drops[metas[i].res] = q->seq;
		}
	}
}
