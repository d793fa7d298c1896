/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/quota_brute_run.h"

struct brute_right {
	size_t n;
	bool claimed, contested[BRUTE_FR];
	struct brute_ratio share;
};

static void brute_take(struct brute *b, struct brute_work *v, size_t lca)
{
	v->gone = true;
	v->victim = true;
	b->victims[b->n_victims] = (size_t)(v - b->w);
	b->victim_lca[b->n_victims++] = lca;
}

static void brute_own(struct brute *b, const struct brute_work *w)
{
	enum quota_reclaim within = brute_node(b, w->leaf)->behaviour.within;

	while (within != QUOTA_NEVER && !brute_fits(b, w)) {
		struct brute_work *best = NULL;

		for (size_t i = 0; i < b->n; i++) {
			struct brute_work *v = &b->w[i];
			bool uses = false;

			for (size_t f = 0; f < b->d->n_frs; f++) {
				uses = uses || (brute_contested(b, w, f) && brute_want(v, f) > 0);
			}
			if (v == w || v->leaf != w->leaf || !brute_counts(v) ||
			    v->state == QUOTA_EVICTING || !uses || v->priority > w->priority ||
			    (v->priority == w->priority &&
			     (within != QUOTA_LOWER_OR_NEWER || v->time <= w->time))) {
				continue;
			}
			best = !best || brute_cheaper(v, best) ? v : best;
		}
		if (!best) {
			return;
		}
		brute_take(b, best, w->leaf);
	}
}

static void brute_at(struct brute *b, const struct brute_work *w, size_t p, int pass,
		     struct brute_right *right)
{
	while (!brute_fits(b, w) && brute_below(b, p, brute_top(b, w))) {
		bool contested[BRUTE_FR] = {false};
		struct brute_work *v;

		for (size_t f = 0; f < b->d->n_frs; f++) {
			contested[f] = brute_contested(b, w, f);
		}
		v = brute_victim(b, w, p, p, pass, contested);
		if (!v) {
			return;
		}
		right[p].n++;
		right[p].claimed = right[p].claimed ||
				   brute_claim(b, w, brute_child_to(b, w->leaf, p), contested);
		right[p].share = brute_share(b, brute_child_to(b, w->leaf, p), w, 1);
		memcpy(right[p].contested, contested, sizeof(contested));
		brute_take(b, v, p);
	}
}

static bool brute_rights(const struct brute *b, const struct brute_work *w,
			 const struct brute_right *right)
{
	for (size_t p = brute_node(b, w->leaf)->parent; p != QUOTA_NONE;
	     p = brute_node(b, p)->parent) {
		size_t a = brute_child_to(b, w->leaf, p);

		if (right[p].n == 0) {
			continue;
		}
		if (brute_node(b, p)->policy == QUOTA_FAIR) {
			if (brute_ratio_cmp(brute_share(b, a, w, 1), right[p].share) > 0) {
				return false;
			}
		} else if (right[p].claimed && !brute_claim(b, w, a, right[p].contested)) {
			return false;
		}
	}
	return true;
}

static void brute_prune(struct brute *b, const struct brute_work *w, struct brute_right *right)
{
	for (size_t i = b->n_victims; i-- > 0;) {
		struct brute_work *v = &b->w[b->victims[i]];

		v->gone = false;
		right[b->victim_lca[i]].n--;
		if (brute_fits(b, w) && brute_rights(b, w, right)) {
			v->victim = false;
			for (size_t k = i + 1; k < b->n_victims; k++) {
				b->victims[k - 1] = b->victims[k];
				b->victim_lca[k - 1] = b->victim_lca[k];
			}
			b->n_victims--;
			continue;
		}
		v->gone = true;
		right[b->victim_lca[i]].n++;
	}
}

/* Leaves the victims in b->victims; nothing else changes. */
static bool brute_plan(struct brute *b, struct brute_work *w)
{
	struct brute_right right[BRUTE_NODES];
	enum quota_reclaim reclaim = brute_node(b, w->leaf)->behaviour.reclaim;
	bool fits;

	memset(right, 0, sizeof(right));
	b->n_victims = 0;
	if (w->flavor < 0) {
		return false;
	}
	for (size_t i = 0; i < b->n; i++) {
		b->w[i].gone = b->w[i].state == QUOTA_EVICTING;
	}
	brute_own(b, w);
	for (int pass = 1; pass <= 2 && reclaim != QUOTA_NEVER; pass++) {
		for (size_t p = brute_node(b, w->leaf)->parent; p != QUOTA_NONE;
		     p = brute_node(b, p)->parent) {
			const struct quota_node *n = brute_node(b, p);

			if (n->fence_open && (pass == 1 || n->policy == QUOTA_FAIR) &&
			    (n->policy == QUOTA_CAPACITY ? w->claims < 16 : !w->limited)) {
				brute_at(b, w, p, pass, right);
			}
		}
	}
	fits = brute_fits(b, w);
	if (fits) {
		brute_prune(b, w, right);
	}
	for (size_t i = 0; i < b->n; i++) {
		b->w[i].gone = false;
		b->w[i].victim = false;
	}
	return fits;
}

/* --- flavors ---------------------------------------------------------------------------------- */

int brute_assign(struct brute *b, struct brute_work *w, bool *ret_usable)
{
	const struct quota_behaviour *k = &brute_node(b, w->leaf)->behaviour;
	size_t n = b->d->n_frs / BRUTE_RES;
	int best = -1;
	int best_verdict = 0;
	size_t best_height = 0;
	int count = 0;

	w->flavor = -1;
	for (size_t f = 0; f < n; f++) {
		count += (w->mask >> f & 1) != 0;
	}
	for (size_t f = 0; f < n; f++) {
		int verdict;
		size_t height;
		bool wins;

		if ((w->mask >> f & 1) == 0) {
			continue;
		}
		w->flavor = (int)f;
		verdict = brute_fits(b, w) ? 2 : count > 1 && brute_plan(b, w) ? 1 : 0;
		height = brute_height(b, w);
		if (verdict == 0 || best_verdict == 0) {
			wins = best < 0 || (verdict > 0 && best_verdict == 0);
		} else if (k->preempt_over_borrow && height != best_height) {
			wins = height < best_height;
		} else {
			wins = verdict != best_verdict ? verdict > best_verdict
						       : height < best_height;
		}
		if ((verdict == 2 || (verdict == 1 && k->preempt_may_stop)) &&
		    (height == 0 || !k->borrow_next_flavor)) {
			best = (int)f;
			best_verdict = verdict;
			break;
		}
		if (wins) {
			best = (int)f;
			best_verdict = verdict;
			best_height = height;
		}
	}
	w->flavor = best;
	*ret_usable = count == 1 || best_verdict > 0;
	return best_verdict;
}

/* --- offers ----------------------------------------------------------------------------------- */

static struct brute_work *brute_head(struct brute *b, size_t leaf, size_t lq,
				     enum quota_state state)
{
	struct brute_work *best = NULL;

	for (size_t i = 0; i < b->n; i++) {
		struct brute_work *w = &b->w[i];

		if (w->there && w->leaf == leaf && (lq == QUOTA_NONE || w->lq == lq) &&
		    w->state == state && (!best || brute_earlier(w, best))) {
			best = w;
		}
	}
	return best;
}

static void brute_nominate(struct brute *b, struct brute_work *w)
{
	bool usable;

	if (!w->nominated) {
		w->nominated = true;
		brute_assign(b, w, &usable);
	}
}

static int64_t brute_lq_use(const struct brute *b, size_t lq, size_t f)
{
	int64_t sum = 0;

	for (size_t i = 0; i < b->n; i++) {
		sum += brute_counts(&b->w[i]) && b->w[i].lq == lq ? brute_want(&b->w[i], f) : 0;
	}
	return sum;
}

static int brute_lq_key(const struct brute *b, size_t lq, const struct brute_work *w,
			struct brute_ratio *ret)
{
	const struct quota_lq *q = &b->d->lqs[lq];
	int64_t whole = 0;
	int cls = 0;

	*ret = (struct brute_ratio){0, 1};
	if (q->weight == 0) {
		return 2;
	}
	for (size_t i = 0; i < b->d->n_lqs; i++) {
		bool any = false;

		for (size_t k = 0; k < b->n; k++) {
			any = any || (b->w[k].there && b->w[k].lq == i);
		}
		whole += any && b->d->lqs[i].node == q->node ? b->d->lqs[i].weight : 0;
	}
	for (size_t r = 0; r < BRUTE_RES; r++) {
		int64_t use = 0;
		int64_t max = 0;

		for (size_t f = r; f < b->d->n_frs; f += BRUTE_RES) {
			int64_t base = brute_nominal(b, q->node, f);
			int64_t e;

			use += brute_lq_use(b, lq, f);
			max += brute_max(b, q->node, f);
			if (brute_node(b, q->node)->behaviour.strategy == QUOTA_LQ_FAIR ||
			    brute_want(w, f) == 0) {
				continue;
			}
			e = (base > 0 ? base : brute_max(b, q->node, f)) * q->weight / whole;
			cls = brute_lq_use(b, lq, f) > e ? 1 : cls;
			*ret = brute_larger(
				*ret, e == 0 ? (struct brute_ratio){brute_lq_use(b, lq, f) > 0,
								    brute_lq_use(b, lq, f) == 0}
					     : (struct brute_ratio){brute_lq_use(b, lq, f), e});
		}
		if (brute_node(b, q->node)->behaviour.strategy == QUOTA_LQ_FAIR && max > 0) {
			*ret = brute_larger(*ret, (struct brute_ratio){use, max});
		}
	}
	if (brute_node(b, q->node)->behaviour.strategy == QUOTA_LQ_FAIR) {
		ret->m *= q->weight;
	}
	return cls;
}

static bool brute_has_lqs(const struct brute *b, size_t leaf)
{
	for (size_t i = 0; i < b->d->n_lqs; i++) {
		if (b->d->lqs[i].node == leaf) {
			return true;
		}
	}
	return false;
}

static struct brute_work *brute_leaf_offer(struct brute *b, size_t leaf)
{
	enum quota_strategy s = brute_node(b, leaf)->behaviour.strategy;
	struct brute_work *best = NULL;
	struct brute_ratio best_ratio = {0, 1};
	int best_cls = 0;

	if (s == QUOTA_STRICT || s == QUOTA_BEST_EFFORT || !brute_has_lqs(b, leaf)) {
		struct brute_work *blocked = brute_head(b, leaf, QUOTA_NONE, QUOTA_BLOCKED);
		struct brute_work *reserved = brute_head(b, leaf, QUOTA_NONE, QUOTA_RESERVED);

		best = brute_head(b, leaf, QUOTA_NONE, QUOTA_PENDING);
		if (best != NULL && s == QUOTA_STRICT &&
		    ((blocked != NULL && brute_earlier(blocked, best)) ||
		     (reserved != NULL && brute_earlier(reserved, best)))) {
			return NULL;
		}
		if (best != NULL) {
			brute_nominate(b, best);
		}
		return best;
	}
	for (size_t i = 0; i < b->d->n_lqs; i++) {
		struct brute_work *w = brute_head(b, leaf, i, QUOTA_PENDING);
		struct brute_ratio r;
		int cls;
		int order;

		if (!w) {
			continue;
		}
		brute_nominate(b, w);
		cls = brute_lq_key(b, i, w, &r);
		order = cls != best_cls ? cls - best_cls : brute_ratio_cmp(r, best_ratio);
		if (!best || order < 0 || (order == 0 && brute_earlier(w, best))) {
			best = w;
			best_ratio = r;
			best_cls = cls;
		}
	}
	return best;
}

static struct brute_work *brute_offer(struct brute *b, size_t x)
{
	struct brute_work *best = NULL;
	struct brute_ratio best_ratio = {0, 1};
	int best_cls = 0;

	if (!brute_has_children(b, x)) {
		return brute_leaf_offer(b, x);
	}
	for (size_t c = 0; c < b->d->n_nodes; c++) {
		struct brute_work *w = brute_node(b, c)->parent == x ? brute_offer(b, c) : NULL;
		struct brute_ratio r;
		int cls;
		int order;

		if (!w) {
			continue;
		}
		cls = brute_key(b, c, w, &r);
		order = cls != best_cls ? cls - best_cls : brute_ratio_cmp(r, best_ratio);
		if (!best || order < 0 || (order == 0 && brute_earlier(w, best))) {
			best = w;
			best_ratio = r;
			best_cls = cls;
		}
	}
	return best;
}

/* --- cycles ----------------------------------------------------------------------------------- */

void brute_dropped(struct brute *b, const struct brute_work *w)
{
	for (size_t i = 0; i < b->n; i++) {
		for (size_t r = 0; r < BRUTE_RES; r++) {
			b->w[i].again = b->w[i].again || (w->ask[r] > 0 && b->w[i].ask[r] > 0);
		}
	}
}

static struct brute_work *brute_reserved_next(struct brute *b)
{
	struct brute_work *best = NULL;

	for (size_t i = 0; i < b->n; i++) {
		struct brute_work *w = &b->w[i];

		if (w->there && w->state == QUOTA_RESERVED && !w->tried &&
		    (!best || w->since < best->since ||
		     (w->since == best->since && strcmp(w->uid, best->uid) < 0))) {
			best = w;
		}
	}
	return best;
}

void brute_begin(struct brute *b, int64_t now)
{
	b->now = now;
	for (size_t i = 0; i < b->n; i++) {
		struct brute_work *w = &b->w[i];

		w->nominated = false;
		w->tried = false;
		if (w->state == QUOTA_BLOCKED && w->again) {
			w->state = QUOTA_PENDING;
		}
	}
}

static void brute_reserve(struct brute *b, struct brute_work *w)
{
	bool claimed = false;

	w->state = QUOTA_RESERVED;
	w->since = b->now;
	w->tried = true;
	for (size_t i = 0; i < b->n_victims; i++) {
		struct brute_work *v = &b->w[b->victims[i]];

		if (b->victim_lca[i] != w->leaf) {
			if (brute_node(b, b->victim_lca[i])->policy != QUOTA_CAPACITY) {
				w->limited = true;
			} else {
				claimed = true;
			}
		}
		if (v->state == QUOTA_RESERVED) {
			v->state = QUOTA_PENDING;
			v->nominated = false;
			brute_dropped(b, v);
		} else {
			v->state = QUOTA_EVICTING;
		}
	}
	w->claims += claimed;
}

struct brute_work *brute_step(struct brute *b, enum quota_event *ret)
{
	struct brute_work *w = brute_reserved_next(b);
	bool usable;
	int verdict;

	while (w != NULL) {
		bool fits;

		w->gone = true;
		fits = brute_fits(b, w);
		w->gone = false;
		w->tried = true;
		if (fits) {
			w->state = QUOTA_ADMITTED;
			w->since = b->now;
			*ret = QUOTA_ADMIT;
			return w;
		}
		w = brute_reserved_next(b);
	}
	w = brute_offer(b, 0);
	if (!w) {
		return NULL;
	}
	verdict = brute_assign(b, w, &usable);
	b->n_victims = 0;
	*ret = QUOTA_BLOCK;
	if (verdict == 2) {
		w->state = QUOTA_ADMITTED;
		w->since = b->now;
		*ret = QUOTA_ADMIT;
	} else if (usable && brute_plan(b, w)) {
		brute_reserve(b, w);
		*ret = QUOTA_RESERVE;
	} else {
		w->state = QUOTA_BLOCKED;
		w->again = false;
		b->n_victims = 0;
	}
	return w;
}
