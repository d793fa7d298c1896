/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the tree and its workloads, and the text of a refusal. */
#include "core/quota/quota_impl.h"

#include <inttypes.h>
#include <stdio.h>

size_t quota_n_nodes(const struct quota *q)
{
	return q->t->n;
}

size_t quota_node_find(const struct quota *q, mk_str name)
{
	uint32_t x = quota_tree_find(q->t, name);

	return x == QUOTA_NO_NODE ? QUOTA_NONE : x;
}

struct quota_node_info quota_node_at(const struct quota *q, size_t i)
{
	const struct quota_tnode *n = &q->t->nodes[i];
	struct quota_node_info info = {
		.name = q->t->label[i],
		.parent = n->parent == QUOTA_NO_NODE ? QUOTA_NONE : n->parent,
		.first_child = n->first,
		.n_children = n->n_children,
		.level = n->level,
		.policy = (enum quota_policy)n->policy,
		.fence_open = n->fence_open,
		.weight = n->weight,
	};

	if (n->leaf != NULL) {
		info.n_admitted = n->leaf->n_running;
		info.n_pending = n->leaf->n_ready + n->leaf->n_blocked;
		info.n_lqs = n->leaf->n_lqs;
		info.behaviour = n->leaf->b;
	}
	return info;
}

struct quota_lq_info quota_lq_at(const struct quota *q, size_t i, size_t k)
{
	const struct quota_lqueue *lq = &q->t->nodes[i].leaf->lqs[k];

	return (struct quota_lq_info){lq->name, lq->weight};
}

size_t quota_n_frs(const struct quota *q)
{
	return q->t->nf;
}

struct quota_fr quota_fr_at(const struct quota *q, size_t f)
{
	const struct quota_pair *p = &q->t->pairs[f];

	return (struct quota_fr){p->flavor, p->resource, p->group, p->declared ? p->total : 0};
}

size_t quota_fr_find(const struct quota *q, mk_str flavor, mk_str resource)
{
	for (size_t f = 0; f < q->t->nf; f++) {
		if (str_eq(q->t->pairs[f].flavor, flavor) &&
		    str_eq(q->t->pairs[f].resource, resource)) {
			return f;
		}
	}
	return QUOTA_NONE;
}

uint64_t quota_flavor_bit(const struct quota *q, mk_str flavor)
{
	for (size_t f = 0; f < q->t->nf; f++) {
		if (str_eq(q->t->pairs[f].flavor, flavor)) {
			return (uint64_t)1 << q->t->pairs[f].slot;
		}
	}
	return 0;
}

struct quota_cell_info quota_cell_at(const struct quota *q, size_t i, size_t f)
{
	const struct quota_tree *t = q->t;
	const struct quota_cell *c = quota_cell(t, (uint32_t)i, f);
	const struct quota_tnode *n = &t->nodes[i];
	struct quota_cell_info info = {
		.nominal = c->nominal,
		.max = c->max,
		.reserved = quota_reserved(t, c),
		.use = c->use,
		.hold = quota_hold(t, c),
		.hard = c->nominal,
	};

	for (uint32_t x = (uint32_t)i; t->nodes[x].parent != QUOTA_NO_NODE;
	     x = t->nodes[x].parent) {
		bool capacity = t->nodes[t->nodes[x].parent].policy == QUOTA_CAPACITY;

		info.hard = capacity ? info.hard : 0;
		info.guarantee = x == i && capacity ? c->nominal : info.guarantee;
	}
	if (n->n_children > 0) {
		info.orphan = c->use;
		for (uint32_t k = n->first; k < n->first + n->n_children; k++) {
			info.orphan -= quota_cell(t, k, f)->use;
		}
	}
	return info;
}

bool quota_over_limit(const struct quota *q, size_t i)
{
	for (size_t f = 0; f < q->t->nf; f++) {
		const struct quota_cell *c = quota_cell(q->t, (uint32_t)i, f);

		if (quota_hold(q->t, c) > c->max) {
			return true;
		}
	}
	return false;
}

bool quota_degraded(const struct quota *q)
{
	return q->t->degraded;
}

size_t quota_unweighted(const struct quota *q)
{
	return q->t->n == 0 || q->t->unweighted == QUOTA_NO_NODE ? QUOTA_NONE : q->t->unweighted;
}

bool quota_scaled(const struct quota *q)
{
	return q->t->scaled;
}

bool quota_rounded_to_zero(const struct quota *q, size_t *ret_node, size_t *ret_fr)
{
	const struct quota_tree *t = q->t;

	for (uint32_t x = 1; x < t->n; x++) {
		const struct quota_tnode *n = &t->nodes[x];

		for (size_t f = 0; !n->absolute && f < t->nf; f++) {
			const struct quota_cell *c = quota_cell(t, x, f);
			const struct quota_cell *p = quota_cell(t, n->parent, f);

			if ((n->min_weight > 0 && c->nominal == 0 && p->nominal > 0) ||
			    (n->max_weight != 0 && c->max == 0 && p->max > 0)) {
				if (ret_node != NULL) {
					*ret_node = x;
				}
				if (ret_fr != NULL) {
					*ret_fr = f;
				}
				return true;
			}
		}
	}
	return false;
}

struct quota_work_info quota_work_at(const struct quota *q, const struct quota_work *w)
{
	const struct quota_leaf *l = quota_leaf_or_null(q, w);
	struct quota_work_info info = {
		.state = (enum quota_state)w->state,
		.priority = w->priority,
		.time_ms = w->time_ms,
		.admitted_ms = w->since_ms,
		.n_asks = w->n_asks,
	};

	if (l != NULL) {
		info.leaf = l->gone ? str_of(l->name) : q->t->label[l->node];
		info.lq = l->lqs[w->lq].name;
	}
	return info;
}

struct quota_ask quota_work_ask(const struct quota *q, const struct quota_work *w, size_t i)
{
	const struct quota_meta *m = &quota_metas(w)[i];
	struct quota_ask a = {.pod = m->pod, .amount = quota_amounts(w)[i]};

	if (m->res != QUOTA_NO_RES) {
		a.resource = q->t->res[m->res];
	}
	if (m->fr != QUOTA_NO_FR) {
		a.flavor = q->t->pairs[m->fr].flavor;
	}
	return a;
}

/* cpu is kept in thousandths and shown in units. */
static void amount_text(mk_str resource, int64_t v, char *buf, size_t size)
{
	if (str_is(resource, "cpu") && v != QUOTA_UNLIMITED && v % 1000 == 0) {
		snprintf(buf, size, "%" PRId64, v / 1000);
	} else {
		snprintf(buf, size, "%" PRId64 "%s", v, str_is(resource, "cpu") ? "m" : "");
	}
}

void quota_row_text(const struct quota *q, const struct quota_row *row, char *buf, size_t size)
{
	const struct quota_pair *p;
	char used[32];
	char reserved[32];
	char requested[32];
	char max[32];

	if (row->node == QUOTA_NONE) {
		snprintf(buf, size, "a resource is in no flavor that the workload may use");
		return;
	}
	p = &q->t->pairs[row->fr];
	amount_text(p->resource, row->used, used, sizeof(used));
	amount_text(p->resource, row->reserved, reserved, sizeof(reserved));
	amount_text(p->resource, row->requested, requested, sizeof(requested));
	amount_text(p->resource, row->max, max, sizeof(max));
	snprintf(buf, size,
		 "queue \"%.*s\" (level %zu of %zu): %.*s in flavor %.*s: used %s%s%s, "
		 "requested %s, max %s",
		 STR_ARG(q->t->label[row->node]), row->level, row->n_levels, STR_ARG(p->resource),
		 STR_ARG(p->flavor), used, row->reserved > 0 ? ", reserved for others " : "",
		 row->reserved > 0 ? reserved : "", requested, max);
}
