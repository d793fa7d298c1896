/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that are less than a new tree, and shedding over limits (2.10). */
#include "core/quota/quota_impl.h"

static void recompute(struct quota *q, uint32_t node)
{
	quota_end_cycle(q);
	q->seq++;
	q->outside++;
	if (node == 0 || q->t->has_reserve) {
		quota_effective(q->t);
		q->t->nodes[0].changed = q->seq;
	} else {
		quota_effective_below(q->t, node, q->seq);
	}
}

enum mk_code quota_set_total(struct quota *q, mk_str flavor, mk_str resource, int64_t total,
			     struct mk_err *err)
{
	size_t f = quota_fr_find(q, flavor, resource);

	if (total < 0 || (total > QUOTA_MAX_AMOUNT && total != QUOTA_UNLIMITED)) {
		return err_set(err, MK_INVALID, "quota", "total of %.*s", STR_ARG(flavor));
	}
	if (f == QUOTA_NONE || !q->t->pairs[f].declared) {
		return err_set(err, MK_NOT_FOUND, "quota", "%.*s in flavor %.*s", STR_ARG(resource),
			       STR_ARG(flavor));
	}
	q->t->pairs[f].total = total;
	recompute(q, 0);
	return MK_OK;
}

enum mk_code quota_edit(struct quota *q, mk_str name, const struct quota_node *n,
			struct mk_err *err)
{
	uint32_t x = quota_tree_find(q->t, name);
	struct quota_tnode *to = x == QUOTA_NO_NODE ? NULL : &q->t->nodes[x];

	if (to == NULL) {
		return err_set(err, MK_NOT_FOUND, "quota", "node %.*s", STR_ARG(name));
	}
	if (n->weight < 0 || n->weight > 1000000000 || n->min_weight < -1 || n->min_weight > 100 ||
	    n->max_weight < -1 || n->max_weight > 100 ||
	    (to->absolute && (n->min_weight >= 0 || n->max_weight >= 0))) {
		return err_set(err, MK_INVALID, "quota", "weights of %.*s", STR_ARG(name));
	}
	to->policy = (uint8_t)n->policy;
	to->fence_open = n->fence_open;
	to->weight = (int32_t)n->weight;
	to->min_weight = (int8_t)n->min_weight;
	to->max_weight = (int8_t)n->max_weight;
	recompute(q, to->parent == QUOTA_NO_NODE ? 0 : to->parent);
	return MK_OK;
}

void quota_recompute(struct quota *q)
{
	if (q->t->n > 0) {
		recompute(q, 0);
	}
}

/* --- overLimitPolicy Evict ------------------------------------------------------------------------------ */

static bool lowers(const struct quota_tree *t, uint32_t node, const struct quota_work *v)
{
	for (size_t i = 0; i < v->n_asks; i++) {
		size_t f = quota_metas(v)[i].fr;
		const struct quota_cell *c = f == QUOTA_NO_FR ? NULL : quota_cell(t, node, f);

		if (c != NULL && quota_amounts(v)[i] > 0 && quota_hold(t, c) > c->max &&
		    quota_hold(t, c) > quota_reserved(t, c)) {
			return true;
		}
	}
	return false;
}

static struct quota_work *worst(const struct quota *q, uint32_t over, uint32_t node,
				struct quota_work *best)
{
	const struct quota_tree *t = q->t;
	const struct quota_tnode *n = &t->nodes[node];
	struct quota_work *v =
		n->leaf != NULL ? quota_set_first(q, &n->leaf->running, quota_by_worth) : NULL;

	while (v != NULL && (best == NULL || quota_by_worth(v, best) < 0)) {
		if (!v->chosen && lowers(t, over, v)) {
			return v;
		}
		v = quota_set_after(q, &n->leaf->running, v, quota_by_worth);
	}
	for (uint32_t k = n->first; k < n->first + n->n_children; k++) {
		best = worst(q, over, k, best);
	}
	return best;
}

static enum mk_code shed_node(struct quota *q, uint32_t node)
{
	while (quota_over_limit(q, node)) {
		struct quota_work *v = worst(q, node, node, NULL);

		if (v == NULL) {
			return MK_OK;
		}
		if (!quota_room((void **)(void *)&q->victims, &q->size_victims, q->n_victims,
				sizeof(*q->victims))) {
			return MK_NO_MEMORY;
		}
		q->victims[q->n_victims++] = (struct quota_victim){v, QUOTA_BY_PRIORITY, node};
		v->chosen = true;
		quota_charge_work(q, v, -1);
	}
	return MK_OK;
}

/* Does the path of 'v', which is back, still hold what it may? */
static bool path_ok(const struct quota *q, const struct quota_work *v)
{
	const struct quota_tree *t = q->t;

	for (uint32_t x = quota_leaf_of(q, v)->node; x != QUOTA_NO_NODE; x = t->nodes[x].parent) {
		for (size_t i = 0; i < v->n_asks; i++) {
			size_t f = quota_metas(v)[i].fr;
			const struct quota_cell *c = f == QUOTA_NO_FR ? NULL : quota_cell(t, x, f);

			if (c != NULL && quota_hold(t, c) > c->max) {
				return false;
			}
		}
	}
	return true;
}

static void put_back(struct quota *q)
{
	for (size_t i = q->n_victims; i-- > 0;) {
		struct quota_work *v = q->victims[i].work;

		quota_charge_work(q, v, 1);
		if (path_ok(q, v)) {
			v->chosen = false;
			memmove(&q->victims[i], &q->victims[i + 1],
				(q->n_victims - i - 1) * sizeof(*q->victims));
			q->n_victims--;
			continue;
		}
		quota_charge_work(q, v, -1);
	}
}

/* Nodes first to end - 1, all of one level, by name. */
static enum mk_code shed_level(struct quota *q, uint32_t first, uint32_t end)
{
	const struct quota_tree *t = q->t;
	uint32_t last = QUOTA_NO_NODE;

	for (;;) {
		uint32_t next = QUOTA_NO_NODE;
		enum mk_code code;

		for (uint32_t x = first; x < end; x++) {
			if ((last == QUOTA_NO_NODE || str_cmp(t->label[x], t->label[last]) > 0) &&
			    (next == QUOTA_NO_NODE || str_cmp(t->label[x], t->label[next]) < 0) &&
			    quota_over_limit(q, x)) {
				next = x;
			}
		}
		if (next == QUOTA_NO_NODE) {
			return MK_OK;
		}
		code = shed_node(q, next);
		if (code != MK_OK) {
			return code;
		}
		last = next;
	}
}

enum mk_code quota_shed(struct quota *q, struct quota_plan *ret)
{
	struct quota_tree *t = q->t;
	enum mk_code code = MK_OK;
	uint32_t end = (uint32_t)t->n;

	q->n_victims = 0;
	for (size_t i = 0; i < q->n_evicting; i++) {
		quota_charge_work(q, q->evicting[i], -1);
	}
	while (end > 0 && code == MK_OK) {
		uint32_t first = end - 1;

		while (first > 0 && t->nodes[first - 1].level == t->nodes[end - 1].level) {
			first--;
		}
		code = shed_level(q, first, end);
		end = first;
	}
	put_back(q);
	for (size_t i = 0; i < q->n_victims; i++) {
		quota_charge_work(q, q->victims[i].work, 1);
		q->victims[i].work->chosen = false;
	}
	for (size_t i = 0; i < q->n_evicting; i++) {
		quota_charge_work(q, q->evicting[i], 1);
	}
	if (code == MK_OK) {
		*ret = quota_keep_plan(q);
	}
	return code;
}
