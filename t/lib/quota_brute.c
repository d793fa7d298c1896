/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/quota_brute.h"

int brute_ratio_cmp(struct brute_ratio a, struct brute_ratio b)
{
	int64_t x = a.u * b.m;
	int64_t y = b.u * a.m;

	return x < y ? -1 : x > y;
}

/* --- the tree --------------------------------------------------------------------------------- */

const struct quota_node *brute_node(const struct brute *b, size_t x)
{
	return &b->d->nodes[x];
}

bool brute_has_children(const struct brute *b, size_t x)
{
	for (size_t i = 0; i < b->d->n_nodes; i++) {
		if (brute_node(b, i)->parent == x) {
			return true;
		}
	}
	return false;
}

bool brute_below(const struct brute *b, size_t x, size_t top)
{
	while (x != top && x != QUOTA_NONE) {
		x = brute_node(b, x)->parent;
	}
	return x == top;
}

int64_t brute_max(const struct brute *b, size_t x, size_t f)
{
	const struct quota_node *n = brute_node(b, x);
	int64_t above;

	if (n->parent == QUOTA_NONE) {
		return f < b->d->n_frs ? b->d->frs[f].total : 0;
	}
	above = brute_max(b, n->parent, f);
	if (!n->absolute) {
		return above * (n->max_weight < 0 ? 100 : n->max_weight) / 100;
	}
	for (size_t i = 0; i < n->n_max; i++) {
		if (n->max[i].fr == f) {
			return n->max[i].nominal < above ? n->max[i].nominal : above;
		}
	}
	return above;
}

int64_t brute_min_of(const struct quota_node *n, size_t f)
{
	for (size_t i = 0; i < n->n_min; i++) {
		if (n->min[i].fr == f) {
			return n->min[i].nominal;
		}
	}
	return 0;
}

int64_t brute_nominal(const struct brute *b, size_t x, size_t f)
{
	const struct quota_node *n = brute_node(b, x);
	int64_t above;
	int64_t sum = 0;
	int64_t k = 0;
	int64_t v;
	bool weighted = false;

	if (n->parent == QUOTA_NONE) {
		return brute_max(b, x, f);
	}
	above = brute_nominal(b, n->parent, f);
	for (size_t i = 0; i < b->d->n_nodes; i++) {
		if (brute_node(b, i)->parent == n->parent) {
			k++;
			sum += brute_min_of(brute_node(b, i), f);
			weighted = weighted || brute_node(b, i)->min_weight >= 0;
		}
	}
	if (!n->absolute) {
		if (weighted) {
			return n->min_weight < 0 ? 0 : above * n->min_weight / 100;
		}
		v = above / k;
		return v < brute_max(b, x, f) ? v : brute_max(b, x, f);
	}
	v = brute_min_of(n, f);
	if (sum > above) {
		v = v * above / sum;
	}
	return v < brute_max(b, x, f) ? v : brute_max(b, x, f);
}

int64_t brute_reserved(const struct brute *b, size_t x, size_t f)
{
	const struct quota_node *n = brute_node(b, x);
	int64_t sum = 0;
	int64_t own = 0;

	for (size_t i = 0; i < b->d->n_nodes; i++) {
		sum += brute_node(b, i)->parent == x ? brute_reserved(b, i, f) : 0;
	}
	for (size_t i = 0; i < n->n_min && n->absolute; i++) {
		if (n->min[i].fr == f && n->min[i].lending >= 0) {
			own = brute_nominal(b, x, f) - n->min[i].lending;
		}
	}
	return own > sum ? own : sum;
}

/* --- usage ------------------------------------------------------------------------------------ */

bool brute_counts(const struct brute_work *w)
{
	return w->there && !w->gone &&
	       (w->state == QUOTA_ADMITTED || w->state == QUOTA_RESERVED ||
		w->state == QUOTA_EVICTING);
}

int64_t brute_want(const struct brute_work *w, size_t f)
{
	return w->flavor >= 0 && f / BRUTE_RES == (size_t)w->flavor ? w->ask[f % BRUTE_RES] : 0;
}

int64_t brute_use(const struct brute *b, size_t x, size_t f)
{
	int64_t sum = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (brute_counts(&b->w[i]) && brute_below(b, b->w[i].leaf, x)) {
			sum += brute_want(&b->w[i], f);
		}
	}
	return sum;
}

int64_t brute_hold(const struct brute *b, size_t x, size_t f, size_t leaf, int64_t extra)
{
	int64_t sum = 0;
	int64_t reserved = brute_reserved(b, x, f);

	if (leaf != QUOTA_NONE && brute_below(b, leaf, x)) {
		reserved = 0;
	}
	if (!brute_has_children(b, x)) {
		sum = brute_use(b, x, f) + (x == leaf ? extra : 0);
	}
	for (size_t i = 0; i < b->d->n_nodes; i++) {
		sum += brute_node(b, i)->parent == x ? brute_hold(b, i, f, leaf, extra) : 0;
	}
	return sum > reserved ? sum : reserved;
}

static bool brute_over(const struct brute *b, const struct brute_work *w, size_t x, size_t f)
{
	return brute_want(w, f) > 0 &&
	       brute_hold(b, x, f, w->leaf, brute_want(w, f)) > brute_max(b, x, f);
}

bool brute_fits(const struct brute *b, const struct brute_work *w)
{
	if (w->flavor < 0) {
		return false;
	}
	for (size_t x = w->leaf; x != QUOTA_NONE; x = brute_node(b, x)->parent) {
		for (size_t f = 0; f < b->d->n_frs; f++) {
			if (brute_over(b, w, x, f)) {
				return false;
			}
		}
	}
	return true;
}

size_t brute_height(const struct brute *b, const struct brute_work *w)
{
	size_t height = 0;
	size_t at = 1;

	for (size_t x = w->leaf; brute_node(b, x)->parent != QUOTA_NONE;
	     x = brute_node(b, x)->parent) {
		for (size_t f = 0; f < b->d->n_frs; f++) {
			if (brute_want(w, f) > 0 &&
			    brute_use(b, x, f) + brute_want(w, f) > brute_nominal(b, x, f)) {
				height = at;
			}
		}
		at++;
	}
	return height;
}

/* --- orders ----------------------------------------------------------------------------------- */

bool brute_earlier(const struct brute_work *a, const struct brute_work *c)
{
	if (a->priority != c->priority) {
		return a->priority > c->priority;
	}
	return a->time != c->time ? a->time < c->time : strcmp(a->uid, c->uid) < 0;
}

bool brute_cheaper(const struct brute_work *a, const struct brute_work *c)
{
	if (a->priority != c->priority) {
		return a->priority < c->priority;
	}
	return a->since != c->since ? a->since > c->since : strcmp(a->uid, c->uid) < 0;
}

struct brute_ratio brute_larger(struct brute_ratio a, struct brute_ratio c)
{
	return brute_ratio_cmp(c, a) > 0 ? c : a;
}

struct brute_ratio brute_share(const struct brute *b, size_t x, const struct brute_work *w,
			       int sign)
{
	const struct quota_node *n = brute_node(b, x);
	struct brute_ratio best = {0, 1};
	int64_t any = 0;

	for (size_t r = 0; r < BRUTE_RES; r++) {
		int64_t use = 0;
		int64_t max = 0;

		for (size_t f = r; f < b->d->n_frs; f += BRUTE_RES) {
			use += brute_use(b, x, f) + (w != NULL ? sign * brute_want(w, f) : 0);
			max += brute_max(b, n->parent, f);
		}
		any += use;
		if (max > 0) {
			best = brute_larger(best, (struct brute_ratio){use, max});
		}
	}
	if (n->weight == 0) {
		return any > 0 ? (struct brute_ratio){1, 0} : (struct brute_ratio){0, 1};
	}
	best.m *= n->weight;
	return best;
}

int brute_key(const struct brute *b, size_t x, const struct brute_work *w, struct brute_ratio *ret)
{
	enum quota_policy policy = brute_node(b, brute_node(b, x)->parent)->policy;
	int cls = 0;

	*ret = (struct brute_ratio){0, 1};
	if (policy == QUOTA_FAIR) {
		*ret = brute_share(b, x, b->d->fair_lookahead ? w : NULL, 1);
		return 0;
	}
	for (size_t f = 0; f < b->d->n_frs; f++) {
		int64_t use = brute_use(b, x, f);
		int64_t nominal = brute_nominal(b, x, f);

		if (brute_want(w, f) == 0) {
			continue;
		}
		if (use + brute_want(w, f) > nominal && cls == 0) {
			cls = 1;
		}
		if (policy == QUOTA_CAPACITY) {
			cls = use > nominal ? 2 : cls;
			*ret = brute_larger(*ret, nominal == 0
							  ? (struct brute_ratio){use > 0, use == 0}
							  : (struct brute_ratio){use, nominal});
		}
	}
	return cls;
}

/* --- plans ------------------------------------------------------------------------------------ */

bool brute_contested(const struct brute *b, const struct brute_work *w, size_t f)
{
	for (size_t x = w->leaf; x != QUOTA_NONE; x = brute_node(b, x)->parent) {
		if (brute_over(b, w, x, f)) {
			return true;
		}
	}
	return false;
}

size_t brute_top(const struct brute *b, const struct brute_work *w)
{
	size_t top = QUOTA_NONE;

	for (size_t x = w->leaf; x != QUOTA_NONE; x = brute_node(b, x)->parent) {
		for (size_t f = 0; f < b->d->n_frs; f++) {
			top = brute_over(b, w, x, f) ? x : top;
		}
	}
	return top;
}

bool brute_claim(const struct brute *b, const struct brute_work *w, size_t a, const bool *contested)
{
	for (size_t f = 0; f < b->d->n_frs; f++) {
		if (contested[f] &&
		    brute_use(b, a, f) + brute_want(w, f) > brute_nominal(b, a, f)) {
			return false;
		}
	}
	return true;
}

size_t brute_child_to(const struct brute *b, size_t x, size_t p)
{
	while (brute_node(b, x)->parent != p) {
		x = brute_node(b, x)->parent;
	}
	return x;
}

static bool brute_chain(const struct brute *b, const struct brute_work *v, size_t p,
			const bool *contested)
{
	for (size_t x = v->leaf; x != p; x = brute_node(b, x)->parent) {
		enum quota_policy parent = brute_node(b, brute_node(b, x)->parent)->policy;
		bool any = false;

		for (size_t f = 0; f < b->d->n_frs; f++) {
			int64_t least =
				parent == QUOTA_CAPACITY || (parent == QUOTA_FIFO &&
							     brute_node(b, p)->policy == QUOTA_FIFO)
					? brute_nominal(b, x, f)
					: 0;

			any = any ||
			      (contested[f] && brute_want(v, f) > 0 && brute_use(b, x, f) > least);
		}
		if (!any) {
			return false;
		}
	}
	return true;
}

static bool brute_eligible(const struct brute *b, const struct brute_work *w,
			   const struct brute_work *v, size_t p, int pass, const bool *contested)
{
	const struct quota_behaviour *k = &brute_node(b, w->leaf)->behaviour;
	size_t a = brute_child_to(b, w->leaf, p);
	bool uses = false;
	struct brute_ratio mine;
	size_t other;

	for (size_t f = 0; f < b->d->n_frs; f++) {
		uses = uses || (contested[f] && brute_want(v, f) > 0);
	}
	if (v == w || !brute_counts(v) || v->state == QUOTA_EVICTING || !uses ||
	    !brute_below(b, v->leaf, p) || brute_below(b, v->leaf, a) ||
	    k->reclaim == QUOTA_NEVER ||
	    (k->reclaim == QUOTA_LOWER && v->priority >= w->priority) ||
	    !brute_chain(b, v, p, contested)) {
		return false;
	}
	switch (brute_node(b, p)->policy) {
	case QUOTA_CAPACITY:
		return brute_claim(b, w, a, contested);
	case QUOTA_FAIR:
		mine = brute_share(b, a, w, 1);
		other = brute_child_to(b, v->leaf, p);
		return pass == 1 ? brute_ratio_cmp(mine, brute_share(b, other, v, -1)) <= 0
				 : brute_ratio_cmp(mine, brute_share(b, other, NULL, 1)) < 0;
	case QUOTA_FIFO:
		break;
	}
	return brute_claim(b, w, a, contested) ||
	       (k->borrow_within && v->priority < w->priority &&
		(!k->has_threshold || v->priority <= k->threshold));
}

static struct brute_ratio brute_over_ratio(const struct brute *b, size_t x, const bool *contested)
{
	struct brute_ratio r = {0, 1};

	if (brute_node(b, brute_node(b, x)->parent)->policy == QUOTA_FAIR) {
		return brute_share(b, x, NULL, 1);
	}
	for (size_t f = 0; f < b->d->n_frs; f++) {
		int64_t use = brute_use(b, x, f);
		int64_t nominal = brute_nominal(b, x, f);

		if (contested[f] && use > 0) {
			r = brute_larger(r, nominal == 0 ? (struct brute_ratio){1, 0}
							 : (struct brute_ratio){use, nominal});
		}
	}
	return r;
}

struct brute_work *brute_victim(struct brute *b, const struct brute_work *w, size_t x, size_t p,
				int pass, const bool *contested)
{
	struct brute_work *best = NULL;
	struct brute_ratio best_ratio = {0, 1};

	for (size_t i = 0; i < b->n; i++) {
		struct brute_work *v = &b->w[i];

		if (v->there && v->leaf == x && brute_eligible(b, w, v, p, pass, contested) &&
		    (!best || brute_cheaper(v, best))) {
			best = v;
		}
	}
	for (size_t c = 0; c < b->d->n_nodes; c++) {
		struct brute_work *v = NULL;
		struct brute_ratio r;
		int order;

		if (brute_node(b, c)->parent == x) {
			v = brute_victim(b, w, c, p, pass, contested);
		}
		if (!v) {
			continue;
		}
		r = brute_over_ratio(b, c, contested);
		order = !best ? 1 : brute_ratio_cmp(r, best_ratio);
		if (order > 0 || (order == 0 && brute_cheaper(v, best))) {
			best = v;
			best_ratio = r;
		}
	}
	return best;
}
