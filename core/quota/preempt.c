/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preemption plans: which workloads have to go so that a request fits. Works on the planes of usage
 * themselves: victims are taken out one by one and all put back at the end, so the state is then as
 * before, byte for byte.
 */
#include "core/quota/quota_impl.h"

bool quota_try_uses(const struct quota_try *x, const struct quota_work *v)
{
	for (size_t i = 0; i < v->n_asks; i++) {
		for (size_t k = 0; k < x->wants->n; k++) {
			if (x->contested[k] && quota_metas(v)[i].fr == x->wants->v[k].fr &&
			    quota_amounts(v)[i] > 0) {
				return true;
			}
		}
	}
	return false;
}

/* Bottlenecks, contested pairs and 'top' on the present planes. */
static void look(struct quota_try *x)
{
	const struct quota_tree *t = x->q->t;

	x->fits = true;
	x->top = 0;
	for (size_t k = 0; k < x->wants->n; k++) {
		int64_t delta = x->wants->v[k].amount;

		x->contested[k] = false;
		for (size_t i = 0; i < x->depth; i++) {
			const struct quota_cell *c = quota_cell(t, x->path[i], x->wants->v[k].fr);

			if (quota_need(t, c, &delta) > c->max) {
				x->contested[k] = true;
				x->fits = false;
				x->top = i > x->top ? i : x->top;
			}
		}
	}
}

/* Would 'a' with q stay within its nominal in all contested pairs? */
static bool may_claim(const struct quota_try *x, const bool *contested, uint32_t a)
{
	for (size_t k = 0; k < x->wants->n; k++) {
		const struct quota_cell *c = quota_cell(x->q->t, a, x->wants->v[k].fr);

		if (contested[k] && c->use + x->wants->v[k].amount > c->nominal) {
			return false;
		}
	}
	return true;
}

static bool take_victim(struct quota_try *x, struct quota_work *v, enum quota_reason reason,
			uint32_t node)
{
	struct quota *q = x->q;

	if (!quota_room((void **)(void *)&q->victims, &q->size_victims, q->n_victims,
			sizeof(*q->victims))) {
		x->failed = true;
		return false;
	}
	q->victims[q->n_victims++] = (struct quota_victim){v, reason, node};
	v->chosen = true;
	quota_charge_work(q, v, -1);
	look(x);
	return true;
}

static bool within_ok(const struct quota_try *x, const struct quota_work *v)
{
	if (v->priority < x->w->priority) {
		return true;
	}
	return x->leaf->b->within == QUOTA_LOWER_OR_NEWER && v->priority == x->w->priority &&
	       v->time_ms > x->w->time_ms;
}

static bool where_ok(const struct quota_try *x, const struct quota_work *v)
{
	return !x->w->placed || !v->placed || (*quota_bitmap(x->w) & *quota_bitmap(v)) != 0;
}

static void own_leaf(struct quota_try *x)
{
	struct quota_work *v;

	if (x->leaf->b->within == QUOTA_NEVER) {
		return;
	}
	v = quota_set_first(x->q, &x->leaf->running, quota_by_worth);
	while (v != NULL && !x->fits && v->priority <= x->w->priority) {
		if (v != x->w && !v->chosen && within_ok(x, v) && where_ok(x, v) &&
		    quota_try_uses(x, v) && !take_victim(x, v, QUOTA_BY_PRIORITY, x->path[0])) {
			return;
		}
		v = quota_set_after(x->q, &x->leaf->running, v, quota_by_worth);
	}
}

/* May 'w' preempt at a node that is not fair? There only the claimant decides, not the victim. */
static bool has_right(const struct quota_try *x, enum quota_policy policy)
{
	return policy == QUOTA_FAIR || x->claim ||
	       (policy == QUOTA_FIFO && x->leaf->b->borrow_within);
}

/* Victims below the siblings of path[at - 1], the children of path[at]. */
static void at_level(struct quota_try *x, size_t at, int pass)
{
	const struct quota_tree *t = x->q->t;
	uint32_t p = x->path[at];
	uint32_t a = x->path[at - 1];
	struct quota_lca *lca = &x->lca[at];

	x->at = at;
	x->pass = pass;
	while (!x->fits && !x->failed && at <= x->top) {
		struct quota_work *v;

		x->claim = may_claim(x, x->contested, a);
		if (!has_right(x, (enum quota_policy)t->nodes[p].policy)) {
			return;
		}
		if (t->nodes[p].policy == QUOTA_FAIR) {
			x->claimant = quota_share(t, a, x->wants, 1);
		}
		v = quota_try_victim(x);
		if (!v) {
			return;
		}
		lca->n_victims++;
		lca->fair = t->nodes[p].policy == QUOTA_FAIR;
		lca->claimed = lca->claimed || (!lca->fair && x->claim);
		lca->share = x->claimant;
		memcpy(lca->contested, x->contested, sizeof(lca->contested));
		take_victim(x, v,
			    lca->fair  ? QUOTA_BY_FAIR
			    : x->claim ? QUOTA_BY_CLAIM
				       : QUOTA_BY_BORROW,
			    p);
	}
}

static void all_levels(struct quota_try *x, int pass)
{
	const struct quota_tree *t = x->q->t;
	bool counts = x->w->limit == x->q->outside;
	bool swapped = counts && x->w->swapped;
	bool tired = counts && x->w->claims >= QUOTA_MAX_CLAIMS;

	for (size_t at = 1; at < x->depth && at <= x->top && !x->fits && !x->failed; at++) {
		const struct quota_tnode *p = &t->nodes[x->path[at]];

		if (!p->fence_open || (pass == 2 && p->policy != QUOTA_FAIR) ||
		    (p->policy == QUOTA_CAPACITY ? tired : swapped)) {
			continue;
		}
		at_level(x, at, pass);
	}
}

/* Does the claimant keep its right at every level that still has victims? */
static bool right_kept(const struct quota_try *x)
{
	for (size_t at = 1; at < x->depth; at++) {
		const struct quota_lca *lca = &x->lca[at];
		uint32_t a = x->path[at - 1];

		if (lca->n_victims == 0) {
			continue;
		}
		if (lca->fair) {
			struct quota_key now = quota_share(x->q->t, a, x->wants, 1);

			if (quota_key_cmp(&now, &lca->share) > 0) {
				return false;
			}
		} else if (lca->claimed && !may_claim(x, lca->contested, a)) {
			return false;
		}
	}
	return true;
}

static size_t level_of(const struct quota_try *x, size_t node)
{
	size_t at = 0;

	while (x->path[at] != node) {
		at++;
	}
	return at;
}

static void prune(struct quota_try *x)
{
	struct quota *q = x->q;

	for (size_t i = q->n_victims; i-- > x->first_victim;) {
		struct quota_victim v = q->victims[i];
		struct quota_lca *lca = &x->lca[level_of(x, v.node)];

		quota_charge_work(q, v.work, 1);
		lca->n_victims--;
		if (quota_fits(q->t, x->path[0], x->wants, NULL) && right_kept(x)) {
			v.work->chosen = false;
			memmove(&q->victims[i], &q->victims[i + 1],
				(q->n_victims - i - 1) * sizeof(v));
			q->n_victims--;
			continue;
		}
		lca->n_victims++;
		quota_charge_work(q, v.work, -1);
	}
}

static void evictions(struct quota *q, int sign)
{
	for (size_t i = 0; i < q->n_evicting; i++) {
		quota_charge_work(q, q->evicting[i].work, sign);
	}
}

static bool delayed(const struct quota_leaf *l, const struct quota_work *w, int64_t now_ms)
{
	int64_t delay = l->b->delay_ms;

	return delay > 0 && (w->since_ms == INT64_MIN || now_ms - w->since_ms < delay);
}

enum mk_code quota_try_plan(struct quota *q, struct quota_work *w, const struct quota_wants *wants,
			    int64_t now_ms)
{
	struct quota_try x QUOTA_RAW;

	x.q = q;
	x.w = w;
	x.leaf = quota_leaf_of(q, w);
	x.wants = wants;
	x.failed = false;
	x.depth = 0;
	x.first_victim = 0;
	q->n_victims = 0;
	if (wants->outside || delayed(x.leaf, w, now_ms)) {
		return ERR_CONFLICT;
	}
	for (uint32_t n = x.leaf->node; n != QUOTA_NO_NODE; n = q->t->nodes[n].parent) {
		x.path[x.depth++] = n;
	}
	memset(x.lca, 0, x.depth * sizeof(*x.lca));
	evictions(q, -1);
	look(&x);
	if (!x.fits) {
		own_leaf(&x);
	}
	if (x.leaf->b->reclaim != QUOTA_NEVER) {
		all_levels(&x, 1);
		all_levels(&x, 2);
	}
	if (x.fits) {
		prune(&x);
	}
	for (size_t i = 0; i < q->n_victims; i++) {
		quota_charge_work(q, q->victims[i].work, 1);
		q->victims[i].work->chosen = false;
	}
	evictions(q, 1);
	if (!x.fits) {
		q->n_victims = 0;
	}
	return x.failed ? ERR_NO_MEMORY : x.fits ? ERR_OK : ERR_CONFLICT;
}
