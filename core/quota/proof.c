/* SPDX-License-Identifier: Apache-2.0 */
/* All usage from the workloads anew: after a restart, and as a proof that the running sums are right. */
#include "core/quota/quota_impl.h"

static void count(struct quota *q, const struct quota_work *w)
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

static void uncount_lq(void *ctx, const struct quota_work *w)
{
	if (quota_charged(w)) {
		quota_charge_lq(ctx, w, -1);
	}
}

static void clear_lqs(struct quota *q)
{
	for (uint32_t x = 0; x < q->t->n; x++) {
		struct quota_leaf *l = q->t->nodes[x].leaf;

		for (size_t i = 0; l != NULL && l->n_lqs > 1 && i < l->n_lqs; i++) {
			memset(l->lqs[i].use, 0, q->t->nf * sizeof(int64_t));
		}
	}
}

/* A place in the pool of workloads, which is walked as it lies in memory. */
struct place {
	size_t chunk, unit;
};

static const struct quota_work *step(const struct quota *q, struct place *at)
{
	while (at->chunk < q->works.n_chunks) {
		const uint64_t *chunk = (const void *)q->works.chunks[at->chunk];

		if (at->unit < chunk[0]) {
			const struct quota_work *w = (const void *)&chunk[at->unit];

			at->unit += (quota_work_size(w) + 7) / 8;
			return w;
		}
		at->chunk++;
		at->unit = 1;
	}
	return NULL;
}

/* What 'count' will touch some turns later is asked for early: leaves and their cells lie anywhere. */
static void ask_leaf(const struct quota *q, const struct quota_work *w)
{
	if (w != NULL && quota_charged(w)) {
		__builtin_prefetch(quota_leaf_of(q, w));
	}
}

static void ask_cells(const struct quota *q, const struct quota_work *w)
{
	uint32_t node;

	if (w == NULL || !quota_charged(w) || w->n_asks == 0) {
		return;
	}
	/* The pairs of a flavor are neighbours: first and last are on all their lines. */
	node = quota_leaf_of(q, w)->node;
	for (size_t i = 0; i<w->n_asks; i += w->n_asks> 1 ? w->n_asks - 1U : 1U) {
		if (quota_metas(w)[i].fr != QUOTA_NO_FR) {
			__builtin_prefetch(quota_cell(q->t, node, quota_metas(w)[i].fr), 1);
		}
	}
}

enum { FAR = 32, NEAR = 16 };

void quota_recount(struct quota *q)
{
	struct place far = {.unit = 1};
	struct place near = {.unit = 1};
	struct place here = {.unit = 1};
	const struct quota_work *w;

	for (size_t i = 0; i < q->t->n * q->t->nf; i++) {
		q->t->cells[i].use = 0;
	}
	clear_lqs(q);
	for (size_t i = 0; i < FAR; i++) {
		ask_leaf(q, step(q, &far));
	}
	for (size_t i = 0; i < NEAR; i++) {
		ask_cells(q, step(q, &near));
	}
	for (w = step(q, &here); w != NULL; w = step(q, &here)) {
		ask_leaf(q, step(q, &far));
		ask_cells(q, step(q, &near));
		if (quota_charged(w)) {
			count(q, w);
		}
	}
	quota_sum_up(q->t);
}

static enum mk_code check_lqs(struct quota *q, struct mk_err *err)
{
	quota_works(q, uncount_lq, q);
	for (uint32_t x = 0; x < q->t->n; x++) {
		const struct quota_leaf *l = q->t->nodes[x].leaf;

		for (size_t i = 0; l != NULL && l->n_lqs > 1 && i < l->n_lqs; i++) {
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

/* The cells and, where there are any, the reserves. No padding in either. */
static void *copy_of(const void *p, size_t bytes)
{
	void *copy = mk_malloc(bytes);

	if (copy != NULL && bytes > 0 && p != NULL) {
		memcpy(copy, p, bytes);
	}
	return copy;
}

enum mk_code quota_self_check(struct quota *q, struct mk_err *err)
{
	size_t n = q->t->n * q->t->nf;
	struct quota_cell *was = copy_of(q->t->cells, n * sizeof(*was));
	struct quota_held *held =
		q->t->held == NULL ? NULL : copy_of(q->t->held, n * sizeof(*held));
	enum mk_code code = MK_OK;

	if (was == NULL || (q->t->held != NULL && held == NULL)) {
		code = err_set(err, MK_NO_MEMORY, "quota", "out of memory");
		goto out;
	}
	code = check_lqs(q, err);
	quota_effective(q->t);
	quota_recount(q);
	for (size_t i = 0; code == MK_OK && i < n; i++) {
		if (memcmp(&was[i], &q->t->cells[i], sizeof(*was)) != 0 ||
		    (held != NULL && memcmp(&held[i], &q->t->held[i], sizeof(*held)) != 0)) {
			code = err_set(err, MK_BUG, "quota", "sums of node %.*s are off",
				       STR_ARG(q->t->label[i / q->t->nf]));
		}
	}
out:
	mk_free(was);
	mk_free(held);
	return code;
}
