/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a tree from its description: checks it, puts it in breadth-first order, numbers pairs,
 * flavors and resources.
 */
#include "core/quota/quota_impl.h"

#include <stdlib.h>

#include "core/base/hash.h"

void quota_tree_free(struct quota_tree *t)
{
	if (!t) {
		return;
	}
	mk_free(t->nodes);
	mk_free(t->label);
	mk_free(t->cells);
	mk_free(t->held);
	mk_free(t->keys);
	mk_free(t->shares);
	mk_free(t->heap);
	mk_free(t->pos);
	mk_free(t->pairs);
	mk_free(t->names);
	mk_free(t->text);
	mk_free(t->base);
	mk_free(t->behaviours);
	mk_free(t);
}

uint32_t quota_tree_find(const struct quota_tree *t, mk_str name)
{
	uint64_t h = hash64(name);

	for (size_t i = 0; t->n_names > 0 && i < t->n_names; i++) {
		uint32_t at = t->names[(h + i) & (t->n_names - 1)];

		if (at == 0) {
			break;
		}
		if (str_eq(t->label[at - 1], name)) {
			return at - 1;
		}
	}
	return QUOTA_NO_NODE;
}

static enum mk_code bad(struct mk_err *err, const char *what, mk_str name)
{
	return err_set(err, ERR_INVALID, "%s: %.*s", what, STR_ARG(name));
}

static bool amount_ok(int64_t v)
{
	return v >= 0 && (v <= QUOTA_MAX_AMOUNT || v == QUOTA_UNLIMITED);
}

static enum mk_code check_amounts(const struct quota_desc *d, const struct quota_node *n,
				  const struct quota_amount *a, size_t n_a, struct mk_err *err)
{
	if (n_a > QUOTA_MAX_FR) {
		return bad(err, "too many amounts of a node", n->name);
	}
	for (size_t i = 0; i < n_a; i++) {
		if (a[i].fr >= d->n_frs || !amount_ok(a[i].nominal)) {
			return bad(err, "amount of a node", n->name);
		}
	}
	return ERR_OK;
}

static enum mk_code check_node(const struct quota_desc *d, const struct quota_node *n,
			       struct mk_err *err)
{
	enum mk_code code;

	if (n->parent != QUOTA_NONE && n->parent >= d->n_nodes) {
		return bad(err, "parent of a node", n->name);
	}
	if (n->weight < 0 || n->weight > 1000000000 || n->min_weight < -1 || n->min_weight > 100 ||
	    n->max_weight < -1 || n->max_weight > 100 || n->behaviour.delay_ms < 0) {
		return bad(err, "weight or delay of a node", n->name);
	}
	if (n->parent != QUOTA_NONE && n->absolute && (n->min_weight >= 0 || n->max_weight >= 0)) {
		return bad(err, "weights and amounts at a node", n->name);
	}
	code = check_amounts(d, n, n->min, n->n_min, err);
	return code == ERR_OK ? check_amounts(d, n, n->max, n->n_max, err) : code;
}

static enum mk_code check(const struct quota_desc *d, struct mk_err *err)
{
	size_t roots = 0;

	if (d->n_frs > QUOTA_MAX_FR || d->n_nodes >= UINT32_MAX / 4 || d->n_nodes == 0) {
		return err_set(err, d->n_nodes == 0 ? ERR_INVALID : ERR_TOO_BIG,
			       "number of nodes or pairs");
	}
	for (size_t i = 0; i < d->n_frs; i++) {
		if (!amount_ok(d->frs[i].total) || d->frs[i].group >= QUOTA_MAX_RESOURCES) {
			return bad(err, "total of a flavor", d->frs[i].flavor);
		}
	}
	for (size_t i = 0; i < d->n_nodes; i++) {
		enum mk_code code = check_node(d, &d->nodes[i], err);

		if (code != ERR_OK) {
			return code;
		}
		roots += d->nodes[i].parent == QUOTA_NONE;
	}
	if (roots != 1) {
		return err_set(err, ERR_INVALID, "%zu roots", roots);
	}
	for (size_t i = 0; i < d->n_lqs; i++) {
		if (d->lqs[i].node >= d->n_nodes || d->lqs[i].weight < 0 ||
		    d->lqs[i].weight > 1000000000) {
			return bad(err, "node or weight of a LocalQueue", d->lqs[i].name);
		}
	}
	return ERR_OK;
}

/* --- pairs ------------------------------------------------------------------------------------ */

static size_t text_size(const struct quota *q, const struct quota_desc *d)
{
	size_t n = 1;

	for (size_t i = 0; i < d->n_nodes; i++) {
		n += d->nodes[i].name.n;
	}
	for (size_t i = 0; i < d->n_frs; i++) {
		n += d->frs[i].flavor.n + d->frs[i].resource.n;
	}
	for (size_t i = 0; i < q->t->nf; i++) {
		n += q->t->pairs[i].flavor.n + q->t->pairs[i].resource.n;
	}
	return n;
}

static mk_str keep(char **at, mk_str s)
{
	mk_str kept = {*at, s.n};

	if (s.n > 0) {
		memcpy(*at, s.p, s.n);
		*at += s.n;
	}
	return kept;
}

static size_t index_of(const mk_str *v, size_t n, mk_str s)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].p != NULL && str_eq(v[i], s)) {
			return i;
		}
	}
	return QUOTA_NONE;
}

/* The bit of a flavor: that of the old tree, else a free one. */
static size_t slot_of(const struct quota *q, struct quota_tree *t, mk_str flavor)
{
	size_t i = index_of(t->slots, QUOTA_MAX_FLAVORS, flavor);

	if (i != QUOTA_NONE) {
		return i;
	}
	i = index_of(q->t->slots, QUOTA_MAX_FLAVORS, flavor);
	if (i != QUOTA_NONE && !t->slots[i].p) {
		return i;
	}
	for (i = 0; i < QUOTA_MAX_FLAVORS; i++) {
		if (!t->slots[i].p && !q->t->slots[i].p) {
			return i;
		}
	}
	for (i = 0; i < QUOTA_MAX_FLAVORS && t->slots[i].p != NULL; i++) {
	}
	return i < QUOTA_MAX_FLAVORS ? i : QUOTA_NONE;
}

static enum mk_code add_pair(const struct quota *q, struct quota_tree *t, char **text,
			     const struct quota_fr *fr, bool declared, struct mk_err *err)
{
	struct quota_pair *p = &t->pairs[t->nf];
	size_t slot = slot_of(q, t, fr->flavor);
	size_t res = index_of(t->res, t->n_res, fr->resource);

	if (slot == QUOTA_NONE || (res == QUOTA_NONE && t->n_res == QUOTA_MAX_RESOURCES)) {
		return err_set(err, ERR_TOO_BIG, "more than %d flavors or resources",
			       QUOTA_MAX_FLAVORS);
	}
	p->flavor = keep(text, fr->flavor);
	p->resource = keep(text, fr->resource);
	p->total = fr->total;
	p->group = (uint32_t)fr->group;
	p->declared = declared;
	if (!t->slots[slot].p) {
		t->slots[slot] = p->flavor;
		t->order[t->n_order++] = (uint8_t)slot;
	}
	if (res == QUOTA_NONE) {
		res = t->n_res++;
		t->res[res] = p->resource;
		t->res_group[res] = p->group;
	}
	p->slot = (uint8_t)slot;
	p->res = (uint8_t)res;
	if (t->fr_of[slot][res] != QUOTA_NO_FR || (declared && t->res_group[res] != p->group)) {
		return bad(err, "a pair twice, or a resource in two groups", fr->flavor);
	}
	t->fr_of[slot][res] = (uint16_t)t->nf++;
	t->n_groups = fr->group + 1 > t->n_groups ? fr->group + 1 : t->n_groups;
	return ERR_OK;
}

static bool still_used(const struct quota *q, size_t f)
{
	return q->t->n > 0 && quota_cell(q->t, 0, f)->use > 0;
}

/* Declared pairs, then those that are gone but used. fr_map: old number to new. */
static enum mk_code make_pairs(const struct quota *q, const struct quota_desc *d,
			       struct quota_tree *t, char **text, uint16_t *fr_map,
			       struct mk_err *err)
{
	memset(t->fr_of, 0xFF, sizeof(t->fr_of));
	for (size_t i = 0; i < d->n_frs; i++) {
		enum mk_code code = add_pair(q, t, text, &d->frs[i], true, err);

		if (code != ERR_OK) {
			return code;
		}
	}
	for (size_t f = 0; f < q->t->nf; f++) {
		const struct quota_pair *p = &q->t->pairs[f];
		struct quota_fr fr = {.flavor = p->flavor, .resource = p->resource};
		size_t slot = index_of(t->slots, QUOTA_MAX_FLAVORS, p->flavor);
		size_t res = index_of(t->res, t->n_res, p->resource);

		if (slot == QUOTA_NONE || res == QUOTA_NONE || t->fr_of[slot][res] == QUOTA_NO_FR) {
			enum mk_code code;

			fr_map[f] = QUOTA_NO_FR;
			if (!still_used(q, f)) {
				continue;
			}
			fr.group = res == QUOTA_NONE ? 0 : t->res_group[res];
			code = add_pair(q, t, text, &fr, false, err);
			if (code != ERR_OK) {
				return code;
			}
			fr_map[f] = (uint16_t)(t->nf - 1);
			continue;
		}
		fr_map[f] = t->fr_of[slot][res];
	}
	return ERR_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */

struct named {
	mk_str name;
	uint32_t index, next, first;
};

static int by_name_down(const void *a, const void *b)
{
	const struct named *const x = a;
	const struct named *const y = b;

	return str_cmp(y->name, x->name);
}

static void fill_node(struct quota_tree *t, const struct quota_node *n, uint32_t at,
		      uint32_t parent, char **text, uint32_t *n_base)
{
	struct quota_tnode *to = &t->nodes[at];

	*to = (struct quota_tnode){
		.parent = parent,
		.level = (uint8_t)(parent == QUOTA_NO_NODE ? 1 : t->nodes[parent].level + 1),
		.policy = (uint8_t)n->policy,
		.fence_open = n->fence_open,
		.absolute = n->absolute,
		.min_weight = (int8_t)n->min_weight,
		.max_weight = (int8_t)n->max_weight,
		.weight = (int32_t)n->weight,
		.base = *n_base,
		.n_min = n->absolute ? (uint16_t)n->n_min : 0,
		.n_max = n->absolute ? (uint16_t)n->n_max : 0,
	};
	t->label[at] = keep(text, n->name);
	for (size_t i = 0; i < to->n_min; i++) {
		t->base[(*n_base)++] =
			(struct quota_base){n->min[i].nominal, n->min[i].lending, n->min[i].fr};
		t->has_reserve = t->has_reserve || n->min[i].lending >= 0;
	}
	for (size_t i = 0; i < to->n_max; i++) {
		t->base[(*n_base)++] = (struct quota_base){n->max[i].nominal, -1, n->max[i].fr};
	}
}

static enum mk_code index_names(struct quota_tree *t, struct mk_err *err)
{
	for (uint32_t x = 0; x < t->n; x++) {
		uint64_t h = hash64(t->label[x]);

		while (t->names[h & (t->n_names - 1)] != 0) {
			if (str_eq(t->label[t->names[h & (t->n_names - 1)] - 1], t->label[x])) {
				return bad(err, "a name twice", t->label[x]);
			}
			h++;
		}
		t->names[h & (t->n_names - 1)] = x + 1;
	}
	return ERR_OK;
}

/* Children lists by name: nodes sorted downwards, each put in front of its parent's list. */
static struct named *link_children(const struct quota_desc *d, uint32_t *ret_root)
{
	struct named *v = mk_calloc(d->n_nodes, sizeof(*v));
	uint32_t *first = mk_malloc(d->n_nodes * sizeof(*first));
	uint32_t *at = mk_malloc(d->n_nodes * sizeof(*at));

	if (!v || !first || !at) {
		mk_free(v);
		v = NULL;
		goto out;
	}
	for (uint32_t i = 0; i < d->n_nodes; i++) {
		v[i] = (struct named){.name = d->nodes[i].name, .index = i};
		first[i] = QUOTA_NO_NODE;
	}
	qsort(v, d->n_nodes, sizeof(*v), by_name_down);
	for (uint32_t k = 0; k < d->n_nodes; k++) {
		size_t parent = d->nodes[v[k].index].parent;

		at[v[k].index] = k;
		v[k].next = QUOTA_NO_NODE;
		if (parent == QUOTA_NONE) {
			*ret_root = k;
		} else {
			v[k].next = first[parent];
			first[parent] = k;
		}
	}
	for (uint32_t k = 0; k < d->n_nodes; k++) {
		v[k].first = first[v[k].index];
	}
out:
	mk_free(first);
	mk_free(at);
	return v;
}

/* place: where each node of 'd' stands breadth first. */
static enum mk_code make_nodes(const struct quota_desc *d, struct quota_tree *t, char **text,
			       uint32_t *place, struct mk_err *err)
{
	uint32_t root = 0;
	uint32_t n_base = 0;
	uint32_t n = 1;
	struct named *v = link_children(d, &root);
	uint32_t *order = mk_malloc(d->n_nodes * sizeof(*order));
	enum mk_code code = ERR_OK;

	if (!v || !order) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
		goto out;
	}
	order[0] = root;
	fill_node(t, &d->nodes[v[root].index], 0, QUOTA_NO_NODE, text, &n_base);
	place[v[root].index] = 0;
	for (uint32_t x = 0; x < n; x++) {
		t->nodes[x].first = n;
		if (t->nodes[x].level > QUOTA_MAX_LEVELS) {
			code = err_set(err, ERR_TOO_BIG, "more than %d levels", QUOTA_MAX_LEVELS);
			goto out;
		}
		for (uint32_t k = v[order[x]].first; k != QUOTA_NO_NODE; k = v[k].next) {
			if (t->nodes[x].n_children > 0 &&
			    t->nodes[t->nodes[x].first].absolute != d->nodes[v[k].index].absolute) {
				code = bad(err, "weights and amounts among siblings", v[k].name);
				goto out;
			}
			order[n] = k;
			place[v[k].index] = n;
			fill_node(t, &d->nodes[v[k].index], n, x, text, &n_base);
			t->nodes[x].n_children++;
			n++;
		}
	}
	if (n != d->n_nodes) {
		code = err_set(err, ERR_INVALID, "nodes that do not hang below the root");
		goto out;
	}
	t->n = n;
	code = index_names(t, err);
out:
	mk_free(v);
	mk_free(order);
	return code;
}

static bool make_room(const struct quota *q, const struct quota_desc *d, struct quota_tree *t)
{
	size_t n_base = 0;
	size_t nf = d->n_frs;

	for (size_t i = 0; i < d->n_nodes; i++) {
		n_base += d->nodes[i].n_min + d->nodes[i].n_max;
	}
	for (size_t f = 0; f < q->t->nf; f++) {
		nf += still_used(q, f);
	}
	for (t->n_names = 4; t->n_names < 2 * d->n_nodes; t->n_names *= 2) {
	}
	t->nodes = mk_calloc_big(d->n_nodes * sizeof(*t->nodes));
	t->label = mk_calloc(d->n_nodes, sizeof(*t->label));
	t->keys = mk_calloc(d->n_nodes, sizeof(*t->keys));
	t->heap = mk_calloc(d->n_nodes, sizeof(*t->heap));
	t->pos = mk_calloc(d->n_nodes, sizeof(*t->pos));
	t->names = mk_calloc(t->n_names, sizeof(*t->names));
	t->text = mk_malloc(text_size(q, d));
	t->base = mk_malloc((n_base + 1) * sizeof(*t->base));
	t->pairs = mk_calloc(nf + 1, sizeof(*t->pairs));
	t->cells = mk_calloc_big(d->n_nodes * nf * sizeof(*t->cells));
	t->bytes = d->n_nodes * (sizeof(*t->nodes) + sizeof(mk_str) + sizeof(*t->keys) + 8 +
				 nf * sizeof(*t->cells)) +
		   t->n_names * 4 + text_size(q, d) + (n_base + 1) * sizeof(*t->base);
	return t->nodes != NULL && t->label != NULL && t->keys != NULL && t->heap != NULL &&
	       t->pos != NULL && t->names != NULL && t->text != NULL && t->base != NULL &&
	       t->pairs != NULL && t->cells != NULL;
}

enum mk_code quota_apply(struct quota *q, const struct quota_desc *d, struct mk_err *err)
{
	struct quota_tree *t = mk_calloc(1, sizeof(*t));
	uint16_t *fr_map = mk_malloc((q->t->nf + 1) * sizeof(*fr_map));
	uint32_t *place =
		d->n_nodes < UINT32_MAX / 4 ? mk_malloc(d->n_nodes * sizeof(*place)) : NULL;
	enum mk_code code = check(d, err);
	char *text;

	if (code != ERR_OK) {
		goto out;
	}
	if (!t || !fr_map || !place || !make_room(q, d, t)) {
		code = err_set(err, ERR_NO_MEMORY, "out of memory");
		goto out;
	}
	text = t->text;
	t->lookahead = d->fair_lookahead;
	t->hdrf = d->hdrf;
	t->reserve_ms = d->reserve_ms > 0 ? d->reserve_ms : 300000;
	code = make_pairs(q, d, t, &text, fr_map, err);
	if (code == ERR_OK) {
		code = make_nodes(d, t, &text, place, err);
	}
	if (code == ERR_OK && t->hdrf) {
		t->shares = mk_calloc(t->n * (t->n_res + 2), sizeof(*t->shares));
		code = !t->shares ? err_set(err, ERR_NO_MEMORY, "out of memory") : ERR_OK;
	}
	if (code == ERR_OK && t->has_reserve) {
		t->held = mk_calloc(t->n * t->nf, sizeof(*t->held));
		t->bytes += t->n * t->nf * sizeof(*t->held);
		code = !t->held ? err_set(err, ERR_NO_MEMORY, "out of memory") : ERR_OK;
	}
	if (code == ERR_OK) {
		quota_effective(t);
		code = quota_leaves_prepare(q, d, t, place, err);
	}
	if (code == ERR_OK) {
		struct quota_tree *old = q->t;

		quota_end_cycle(q);
		quota_leaves_take(q, t, fr_map);
		t = old;
	}
out:
	mk_free(fr_map);
	mk_free(place);
	quota_tree_free(t);
	return code;
}
