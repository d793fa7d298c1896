/* SPDX-License-Identifier: Apache-2.0 */
/* Flavor choice: pod set by pod set, group by group, on what is left after the earlier pod sets. */
#include "core/quota/quota_impl.h"

struct choice {
	uint8_t slot;
	enum quota_verdict verdict;
	size_t height;
};

struct scan {
	struct quota *q;
	struct quota_work *w;
	bool plans;
	int64_t now_ms;
	size_t pod, group;
};

static bool mine(const struct scan *s, size_t i)
{
	const struct quota_meta *m = &quota_metas(s->w)[i];

	return m->pod == s->pod && m->res != QUOTA_NO_RES && s->q->t->res_group[m->res] == s->group;
}

/* May this pod set use the flavor, and has it all that is asked? */
static bool allowed(const struct scan *s, uint8_t slot)
{
	const struct quota_tree *t = s->q->t;

	if (s->w->masked && (quota_masks(s->w)[s->pod] >> slot & 1) == 0) {
		return false;
	}
	for (size_t i = 0; i < s->w->n_asks; i++) {
		if (mine(s, i)) {
			size_t f = t->fr_of[slot][quota_metas(s->w)[i].res];

			if (f == QUOTA_NO_FR || !t->pairs[f].declared) {
				return false;
			}
		}
	}
	return true;
}

static void set_flavor(const struct scan *s, uint16_t slot)
{
	for (size_t i = 0; i < s->w->n_asks; i++) {
		struct quota_meta *m = &quota_metas(s->w)[i];

		if (mine(s, i)) {
			m->fr = slot == QUOTA_NO_FR ? QUOTA_NO_FR : s->q->t->fr_of[slot][m->res];
		}
	}
}

/*
 * What this pod set wants of the pairs it has now, with what earlier pod sets took of the same
 * pairs.
 */
static void scratch(const struct scan *s, struct quota_wants *ret)
{
	struct quota_wants all QUOTA_RAW;
	size_t n = 0;

	quota_wants_of(s->w, &all);
	for (size_t k = 0; k < all.n; k++) {
		for (size_t i = 0; i < s->w->n_asks; i++) {
			if (mine(s, i) && quota_metas(s->w)[i].fr == all.v[k].fr) {
				ret->v[n++] = all.v[k];
				break;
			}
		}
	}
	ret->n = n;
	ret->outside = false;
}

static struct choice evaluate(const struct scan *s, uint8_t slot)
{
	struct choice c = {.slot = slot, .verdict = QUOTA_NO_FIT};
	struct quota_wants wants QUOTA_RAW;
	uint32_t node = quota_leaf_of(s->q, s->w)->node;

	set_flavor(s, slot);
	scratch(s, &wants);
	c.height = quota_height(s->q->t, node, &wants);
	if (quota_fits(s->q->t, node, &wants, NULL)) {
		c.verdict = QUOTA_FIT;
	} else if (s->plans && quota_try_plan(s->q, s->w, &wants, s->now_ms) == ERR_OK) {
		c.verdict = QUOTA_PREEMPT;
	}
	return c;
}

static bool stops(const struct quota_behaviour *b, const struct choice *c)
{
	return (c->verdict == QUOTA_FIT || (c->verdict == QUOTA_PREEMPT && b->preempt_may_stop)) &&
	       (c->height == 0 || !b->borrow_next_flavor);
}

static bool better(const struct quota_behaviour *b, const struct choice *x, const struct choice *y)
{
	if ((x->verdict == QUOTA_NO_FIT) != (y->verdict == QUOTA_NO_FIT)) {
		return y->verdict == QUOTA_NO_FIT;
	}
	if (x->verdict == QUOTA_NO_FIT) {
		return false;
	}
	if (b->preempt_over_borrow && x->height != y->height) {
		return x->height < y->height;
	}
	if (x->verdict != y->verdict) {
		return x->verdict > y->verdict;
	}
	return x->height < y->height;
}

/*
 * Chooses for one pod set and group. A single candidate needs no look: the verdict on the whole
 * follows anyway.
 */
static bool choose(const struct scan *s)
{
	const struct quota_tree *t = s->q->t;
	const struct quota_behaviour *b = quota_leaf_of(s->q, s->w)->b;
	struct choice best = {.verdict = QUOTA_NO_FIT};
	size_t n = 0;

	for (size_t k = 0; k < t->n_order; k++) {
		if (allowed(s, t->order[k])) {
			best.slot = n == 0 ? t->order[k] : best.slot;
			n++;
		}
	}
	if (n < 2) {
		set_flavor(s, n == 0 ? QUOTA_NO_FR : best.slot);
		return true;
	}
	n = 0;
	for (size_t k = 0; k < t->n_order; k++) {
		struct choice c;

		if (!allowed(s, t->order[k])) {
			continue;
		}
		c = evaluate(s, t->order[k]);
		if (n++ == 0 || better(b, &c, &best)) {
			best = c;
		}
		if (stops(b, &c)) {
			best = c;
			break;
		}
	}
	set_flavor(s, best.slot);
	return best.verdict != QUOTA_NO_FIT;
}

/* Is there anything to choose? */
static bool forced(const struct quota_tree *t, const struct quota_work *w)
{
	if (t->n_order > 1 || (w->masked && t->n_order > 0)) {
		return false;
	}
	for (size_t i = 0; i < w->n_asks; i++) {
		struct quota_meta *m = &quota_metas(w)[i];
		size_t f = m->res == QUOTA_NO_RES || t->n_order == 0
				   ? QUOTA_NO_FR
				   : t->fr_of[t->order[0]][m->res];

		m->fr = f == QUOTA_NO_FR || !t->pairs[f].declared ? QUOTA_NO_FR : (uint16_t)f;
	}
	return true;
}

/*
 * Asks memory for the cells of a leaf and its parent, some two pairs a line. Those of nodes above
 * are read so often that they are near.
 */
static void ask_cells(const struct quota_tree *t, uint32_t node)
{
	size_t lines = t->nf < 8 ? t->nf : 8;
	uint32_t parent = t->nodes[node].parent;

	for (size_t f = 0; f < lines; f += 2) {
		__builtin_prefetch(quota_cell(t, node, f), 1);
	}
	if (parent != QUOTA_NO_NODE) {
		__builtin_prefetch(&t->nodes[parent]);
	}
}

/*
 * Assigns flavors to 'w', on the present state. FIT or NO_FIT; PREEMPT: it does not fit, but a plan
 * may be tried ('plans' says whether flavors that need one count). Fills *ret.
 */
enum quota_verdict quota_assign(struct quota *q, struct quota_work *w, bool plans, int64_t now_ms,
				struct quota_decision *ret)
{
	struct scan s = {.q = q, .w = w, .plans = plans, .now_ms = now_ms};
	uint32_t node = quota_leaf_of(q, w)->node;
	struct quota_wants wants QUOTA_RAW;
	bool usable = true;

	ask_cells(q->t, node);
	if (!forced(q->t, w)) {
		for (size_t i = 0; i < w->n_asks; i++) {
			quota_metas(w)[i].fr = QUOTA_NO_FR;
		}
		for (s.pod = 0; s.pod < w->n_pods; s.pod++) {
			for (s.group = 0; s.group < q->t->n_groups; s.group++) {
				usable = choose(&s) && usable;
			}
		}
	}
	quota_wants_of(w, &wants);
	*ret = (struct quota_decision){.verdict = QUOTA_FIT};
	ret->height = wants.outside ? 0 : quota_height(q->t, node, &wants);
	if (!quota_fits(q->t, node, &wants, &ret->row)) {
		ret->verdict = usable && plans && !wants.outside ? QUOTA_PREEMPT : QUOTA_NO_FIT;
	}
	return ret->verdict;
}
