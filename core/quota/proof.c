/* SPDX-License-Identifier: Apache-2.0 */
/* All usage from the workloads anew: after a restart, and as a proof that the running sums are right. */
#include "core/quota/quota_impl.h"

static void count(struct quota *q, const struct quota_work *w)
{
	for (size_t i = 0; quota_charged(w) && i < w->n_asks; i++) {
		size_t f = quota_metas(w)[i].fr;

		if (f != QUOTA_NO_FR) {
			quota_cell(q->t, w->leaf->node, f)->use += quota_amounts(w)[i];
		}
	}
	if (quota_charged(w) && (w->leaf->n_lqs > 1 || q->n_gone > 0)) {
		quota_charge_lq(w, 1);
	}
}

/* A leaf's only LocalQueue uses what the leaf does, where no orphan usage is. */
static void single_lqs(struct quota *q)
{
	for (uint32_t x = 0; x < q->t->n; x++) {
		const struct quota_leaf *l = q->t->nodes[x].leaf;

		for (size_t f = 0; l != NULL && l->n_lqs == 1 && f < q->t->nf; f++) {
			l->lqs[0].use[f] = quota_cell(q->t, x, f)->use;
		}
	}
}

static void uncount_lq(void *ctx, const struct quota_work *w)
{
	(void)ctx;
	if (quota_charged(w)) {
		quota_charge_lq(w, -1);
	}
}

static void clear_lqs(struct quota *q)
{
	for (uint32_t x = 0; x < q->t->n; x++) {
		struct quota_leaf *l = q->t->nodes[x].leaf;

		for (size_t i = 0; l != NULL && i < l->n_lqs; i++) {
			memset(l->lqs[i].use, 0, q->t->nf * sizeof(int64_t));
		}
	}
}

/* What 'count' will touch some turns later is asked for early: the workloads lie anywhere in memory. */
static void prefetch(const struct quota *q, size_t i)
{
	const struct quota_work *far = i + 48 < q->n_table ? q->table[i + 48] : NULL;
	const struct quota_work *mid = i + 32 < q->n_table ? q->table[i + 32] : NULL;
	const struct quota_work *near = i + 16 < q->n_table ? q->table[i + 16] : NULL;

	if (far != NULL) {
		__builtin_prefetch(far);
		__builtin_prefetch(quota_amounts(far) + 4);
	}
	if (mid != NULL && mid->leaf != NULL) {
		__builtin_prefetch(mid->leaf);
	}
	if (near != NULL && near->leaf != NULL && near->n_asks > 0 &&
	    quota_metas(near)->fr != QUOTA_NO_FR) {
		const struct quota_cell *c =
			quota_cell(q->t, near->leaf->node, quota_metas(near)->fr);

		__builtin_prefetch(c, 1);
		__builtin_prefetch(c + 1, 1);
	}
}

void quota_recount(struct quota *q)
{
	for (size_t i = 0; i < q->t->n * q->t->nf; i++) {
		q->t->cells[i].use = 0;
		q->t->cells[i].sum = 0;
	}
	clear_lqs(q);
	for (size_t i = 0; i < q->n_table; i++) {
		prefetch(q, i);
		if (q->table[i] != NULL) {
			count(q, q->table[i]);
		}
	}
	if (q->n_gone == 0) {
		single_lqs(q);
	}
	quota_sum_up(q->t);
}

static enum mk_code check_lqs(struct quota *q, struct mk_err *err)
{
	quota_works(q, uncount_lq, NULL);
	for (uint32_t x = 0; x < q->t->n; x++) {
		const struct quota_leaf *l = q->t->nodes[x].leaf;

		for (size_t i = 0; l != NULL && i < l->n_lqs; i++) {
			for (size_t f = 0; f < q->t->nf; f++) {
				if (l->lqs[i].use[f] != 0) {
					return err_set(err, MK_BUG, "quota",
						       "use of LocalQueue %.*s is off",
						       STR_ARG(l->lqs[i].name));
				}
			}
		}
	}
	return MK_OK;
}

enum mk_code quota_self_check(struct quota *q, struct mk_err *err)
{
	size_t n = q->t->n * q->t->nf;
	struct quota_cell *was = mk_malloc((n + 1) * sizeof(*was));
	enum mk_code code;

	if (was == NULL) {
		return err_set(err, MK_NO_MEMORY, "quota", "out of memory");
	}
	if (n > 0) {
		memcpy(was, q->t->cells, n * sizeof(*was));
	}
	code = check_lqs(q, err);
	quota_effective(q->t);
	quota_recount(q);
	for (size_t i = 0; code == MK_OK && i < n; i++) {
		if (memcmp(&was[i], &q->t->cells[i], sizeof(*was)) != 0) {
			code = err_set(err, MK_BUG, "quota", "sums of node %.*s are off",
				       STR_ARG(q->t->nodes[i / q->t->nf].name));
		}
	}
	mk_free(was);
	return code;
}
