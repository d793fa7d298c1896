/* SPDX-License-Identifier: Apache-2.0 */
/* The next victim at one common ancestor: the way down, and which workloads are eligible there. */
#include "core/quota/quota_impl.h"

/* What a node must use more than, so that something below it may be taken. */
static int64_t floor_of(const struct quota_try *x, uint32_t node, const struct quota_cell *c)
{
	const struct quota_tree *t = x->q->t;
	enum quota_policy parent = t->nodes[t->nodes[node].parent].policy;

	if (parent == QUOTA_CAPACITY ||
	    (parent == QUOTA_FIFO && t->nodes[x->path[x->at]].policy == QUOTA_FIFO)) {
		return c->nominal;
	}
	return 0;
}

static bool above_floor(const struct quota_try *x, uint32_t node, size_t k)
{
	const struct quota_cell *c = quota_cell(x->q->t, node, x->wants->v[k].fr);

	return c->use > floor_of(x, node, c);
}

static bool uses(const struct quota_work *v, size_t fr)
{
	for (size_t i = 0; i < v->n_asks; i++) {
		if (quota_metas(v)[i].fr == fr && quota_amounts(v)[i] > 0) {
			return true;
		}
	}
	return false;
}

/* Is every node from v's leaf up to b above its floor in some contested pair that v uses? */
static bool chain_ok(const struct quota_try *x, const struct quota_work *v)
{
	const struct quota_tree *t = x->q->t;

	for (uint32_t n = quota_leaf_of(x->q, v)->node; n != x->path[x->at];
	     n = t->nodes[n].parent) {
		bool any = false;

		for (size_t k = 0; k < x->wants->n && !any; k++) {
			any = x->contested[k] && uses(v, x->wants->v[k].fr) && above_floor(x, n, k);
		}
		if (!any) {
			return false;
		}
	}
	return true;
}

static bool fair_ok(const struct quota_try *x, const struct quota_work *v)
{
	const struct quota_tree *t = x->q->t;
	struct quota_wants wants QUOTA_RAW;
	struct quota_key share;
	uint32_t b = quota_leaf_of(x->q, v)->node;

	while (t->nodes[b].parent != x->path[x->at]) {
		b = t->nodes[b].parent;
	}
	if (x->pass == 2) {
		share = quota_share(t, b, NULL, 1);
		return quota_key_cmp(&x->claimant, &share) < 0;
	}
	quota_wants_of(v, &wants);
	share = quota_share(t, b, &wants, -1);
	return quota_key_cmp(&x->claimant, &share) <= 0;
}

static bool policy_ok(const struct quota_try *x, const struct quota_work *v)
{
	const struct quota_behaviour *b = x->leaf->b;

	switch ((enum quota_policy)x->q->t->nodes[x->path[x->at]].policy) {
	case QUOTA_CAPACITY:
		return x->claim;
	case QUOTA_FAIR:
		return fair_ok(x, v);
	case QUOTA_FIFO:
		break;
	}
	return x->claim || (b->borrow_within && v->priority < x->w->priority &&
			    (!b->has_threshold || v->priority <= b->threshold));
}

static bool eligible(const struct quota_try *x, const struct quota_work *v)
{
	if (v->chosen || v == x->w || !quota_try_uses(x, v)) {
		return false;
	}
	if (x->w->placed && v->placed && (*quota_bitmap(x->w) & *quota_bitmap(v)) == 0) {
		return false;
	}
	return chain_ok(x, v) && policy_ok(x, v);
}

static struct quota_work *in_leaf(const struct quota_try *x, struct quota_leaf *l)
{
	struct quota_work *v = quota_set_first(x->q, &l->running, quota_by_worth);

	while (v != NULL && (x->leaf->b->reclaim == QUOTA_ANY || v->priority < x->w->priority)) {
		if (eligible(x, v)) {
			return v;
		}
		v = quota_set_after(x->q, &l->running, v, quota_by_worth);
	}
	return NULL;
}

/* Can anything below be eligible at all? A share without a victim is no larger than with it. */
static bool worth_a_look(const struct quota_try *x, uint32_t node)
{
	const struct quota_tree *t = x->q->t;

	if (t->nodes[node].parent == x->path[x->at] &&
	    t->nodes[x->path[x->at]].policy == QUOTA_FAIR) {
		struct quota_key share = quota_share(t, node, NULL, 1);

		if (quota_key_cmp(&x->claimant, &share) >= (x->pass == 1)) {
			return false;
		}
	}
	for (size_t k = 0; k < x->wants->n; k++) {
		if (x->contested[k] && above_floor(x, node, k)) {
			return true;
		}
	}
	return false;
}

static struct quota_key descent_key(const struct quota_try *x, uint32_t child)
{
	const struct quota_tree *t = x->q->t;
	struct quota_key k = {.m = 1, .w = 1};

	if (t->nodes[t->nodes[child].parent].policy == QUOTA_FAIR) {
		return quota_share(t, child, NULL, 1);
	}
	for (size_t i = 0; i < x->wants->n; i++) {
		const struct quota_cell *c = quota_cell(t, child, x->wants->v[i].fr);
		struct quota_key other = {.u = c->use, .m = c->nominal, .w = 1};

		if (!x->contested[i] || c->use == 0) {
			continue;
		}
		if (c->nominal == 0) {
			other.u = 1;
		}
		k = quota_key_cmp(&other, &k) > 0 ? other : k;
	}
	return k;
}

static struct quota_work *below(struct quota_try *x, uint32_t node);

/*
 * Among the children with the largest key (equal: those alone; else: all others) the one with the
 * best victim.
 */
static struct quota_work *among(struct quota_try *x, uint32_t node, const struct quota_key *largest,
				bool equal)
{
	const struct quota_tnode *n = &x->q->t->nodes[node];
	struct quota_work *best = NULL;
	struct quota_key best_key = {.m = 1, .w = 1};

	for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
		struct quota_work *v;
		struct quota_key k;
		int order;

		if (c == x->path[x->at - 1] || !worth_a_look(x, c)) {
			continue;
		}
		k = descent_key(x, c);
		if ((quota_key_cmp(&k, largest) == 0) != equal) {
			continue;
		}
		order = quota_key_cmp(&k, &best_key);
		if (best != NULL && order < 0) {
			continue;
		}
		v = below(x, c);
		if (v != NULL && (!best || order > 0 || quota_by_worth(v, best) < 0)) {
			best = v;
			best_key = k;
		}
	}
	return best;
}

static struct quota_work *below(struct quota_try *x, uint32_t node)
{
	const struct quota_tnode *n = &x->q->t->nodes[node];
	struct quota_key largest = {.m = 1, .w = 1};
	struct quota_work *v;
	bool any = false;

	if (n->leaf != NULL) {
		return in_leaf(x, n->leaf);
	}
	for (uint32_t c = n->first; c < n->first + n->n_children; c++) {
		struct quota_key k;

		if (c == x->path[x->at - 1] || !worth_a_look(x, c)) {
			continue;
		}
		k = descent_key(x, c);
		if (!any || quota_key_cmp(&k, &largest) > 0) {
			largest = k;
		}
		any = true;
	}
	if (!any) {
		return NULL;
	}
	v = among(x, node, &largest, true);
	return v != NULL ? v : among(x, node, &largest, false);
}

/* The next victim below path[at], or NULL. */
struct quota_work *quota_try_victim(struct quota_try *x)
{
	return below(x, x->path[x->at]);
}
