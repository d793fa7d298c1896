/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/quota_proof.h"

#include "core/base/alloc.h"
#include "core/quota/quota_impl.h"

static void proof_count(struct quota *q, const struct quota_work *w)
{
	const struct quota_leaf *l = quota_leaf_of(q, w);

	for (size_t i = 0; i < w->n_asks; i++) {
		size_t f = quota_metas(w)[i].fr;

		if (f != QUOTA_NO_FR) {
			quota_cell(q->t, l->node, f)->use += quota_amounts(w)[i];
		}
	}
	if (l->n_lqs > 1) {
		quota_charge_lq(q, w, 1);
	}
}

/* Calls fn for each workload in no particular order. */
static void proof_each(struct quota *q, void (*fn)(struct quota *q, const struct quota_work *w))
{
	for (size_t i = 0; i < q->n_table; i++) {
		const struct quota_work *w = quota_work_of(q, q->table[i]);

		if (w != NULL && quota_charged(w)) {
			fn(q, w);
		}
	}
}

static void proof_uncount_lq(struct quota *q, const struct quota_work *w)
{
	quota_charge_lq(q, w, -1);
}

static void proof_clear_lqs(struct quota *q)
{
	for (uint32_t x = 0; x < q->t->n; x++) {
		struct quota_leaf *l = q->t->nodes[x].leaf;

		for (size_t i = 0; l != NULL && l->n_lqs > 1 && i < l->n_lqs; i++) {
			memset(l->lqs[i].use, 0, q->t->nf * sizeof(int64_t));
		}
	}
}

/* Recomputes all usage from the workloads. */
static void proof_recount(struct quota *q)
{
	for (size_t i = 0; i < q->t->n * q->t->nf; i++) {
		q->t->cells[i].use = 0;
	}
	proof_clear_lqs(q);
	proof_each(q, proof_count);
	quota_sum_up(q->t);
}

static enum mk_code proof_check_lqs(struct quota *q, struct mk_err *err)
{
	proof_each(q, proof_uncount_lq);
	for (uint32_t x = 0; x < q->t->n; x++) {
		const struct quota_leaf *l = q->t->nodes[x].leaf;

		for (size_t i = 0; l != NULL && l->n_lqs > 1 && i < l->n_lqs; i++) {
			for (size_t f = 0; f < q->t->nf; f++) {
				if (l->lqs[i].use[f] != 0) {
					return err_set(err, ERR_BUG,
						       "use of LocalQueue %.*s is off",
						       STR_ARG(l->lqs[i].name));
				}
			}
		}
	}
	return ERR_OK;
}

/* The cells and, where there are any, the reserves. No padding in either. */
static void *proof_copy(const void *p, size_t bytes)
{
	void *copy = mk_malloc(bytes);

	if (copy != NULL && bytes > 0 && p != NULL) {
		memcpy(copy, p, bytes);
	}
	return copy;
}

enum mk_code proof_check(struct quota *q, struct mk_err *err)
{
	size_t n = q->t->n * q->t->nf;
	struct quota_cell *was = proof_copy(q->t->cells, n * sizeof(*was));
	struct quota_held *held = !q->t->held ? NULL : proof_copy(q->t->held, n * sizeof(*held));
	enum mk_code code = ERR_OK;

	if (!was || (q->t->held != NULL && !held)) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
		goto out;
	}
	code = proof_check_lqs(q, err);
	quota_effective(q->t);
	proof_recount(q);
	for (size_t i = 0; code == ERR_OK && i < n; i++) {
		if (memcmp(&was[i], &q->t->cells[i], sizeof(*was)) != 0 ||
		    (held != NULL && memcmp(&held[i], &q->t->held[i], sizeof(*held)) != 0)) {
			code = err_set(err, ERR_BUG, "sums of node %.*s are off",
				       STR_ARG(q->t->label[i / q->t->nf]));
		}
	}
out:
	mk_free(was);
	mk_free(held);
	return code;
}
