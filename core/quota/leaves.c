/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of leaves, LocalQueues and workloads when quota_apply replaces the tree. */
#include "core/quota/quota_impl.h"

void quota_leaf_free(struct quota *q, struct quota_leaf *l)
{
	if (l->lqs != &l->own) {
		mk_free(l->lqs);
	}
	mk_free(l->next_lqs);
	mk_free(l->name);
	quota_pool_give(&q->leaves, l->self, sizeof(*l));
}

static struct quota_leaf *find_leaf(const struct quota *q, mk_str name)
{
	uint32_t x = quota_tree_find(q->t, name);

	if (x != QUOTA_NO_NODE && q->t->nodes[x].leaf != NULL) {
		return q->t->nodes[x].leaf;
	}
	for (size_t i = 0; i < q->n_gone; i++) {
		if (str_is(name, q->gone[i]->name)) {
			return q->gone[i];
		}
	}
	return NULL;
}

static struct quota_leaf *new_leaf(struct quota *q)
{
	uint32_t ref = 0;
	struct quota_leaf *l = quota_pool_take(&q->leaves, sizeof(*l), &ref);

	if (!l) {
		return NULL;
	}
	*l = (struct quota_leaf){.self = ref};
	list_init(&l->active);
	list_init(&l->stuck);
	return l;
}

static bool lq_kept(const struct quota_lqueue *lq)
{
	return lq->n_waiting + lq->n_running > 0;
}

static size_t find_lq(const struct quota_lqueue *v, size_t n, size_t near, mk_str name)
{
	if (near < n && str_eq(v[near].name, name)) {
		return near;
	}
	for (size_t i = 0; i < n; i++) {
		if (str_eq(v[i].name, name)) {
			return i;
		}
	}
	return QUOTA_NONE;
}

/* Is one without a name enough for 'l', which will have 'n'? */
static bool own_is_enough(const struct quota_leaf *l, size_t n)
{
	for (size_t i = 0; i < l->n_lqs; i++) {
		if (lq_kept(&l->lqs[i]) && l->lqs[i].name.n > 0) {
			return false;
		}
	}
	return n == 0;
}

/* One block: queues, their use, their names. Those of 'l' which still have work stay. */
static bool next_lqs(struct quota_leaf *l, const struct quota_desc *d, const uint32_t *list,
		     size_t n, size_t nf)
{
	size_t total = n > 0 ? n : 1;
	size_t text = 1;
	size_t use;
	char *at;

	if (own_is_enough(l, n)) {
		l->n_next_lqs = 1;
		return true;
	}
	for (size_t i = 0; i < n; i++) {
		text += d->lqs[list[i]].name.n;
	}
	for (size_t i = 0; i < l->n_lqs; i++) {
		total += lq_kept(&l->lqs[i]);
		text += l->lqs[i].name.n;
	}
	use = total > 1 ? total * nf * 8 : 0;
	l->next_lqs = mk_calloc(1, total * sizeof(struct quota_lqueue) + use + text);
	if (!l->next_lqs) {
		return false;
	}
	at = (char *)(l->next_lqs + total) + use;
	l->n_next_lqs = (uint32_t)(n > 0 ? n : 1);
	l->next_lqs[0].name = (mk_str){at, 0};
	l->next_lqs[0].weight = 1000;
	for (size_t i = 0; i < n; i++) {
		const struct quota_lq *lq = &d->lqs[list[i]];

		l->next_lqs[i].name = (mk_str){at, lq->name.n};
		l->next_lqs[i].weight = lq->weight;
		memcpy(at, str_chars(lq->name), lq->name.n);
		at += lq->name.n;
	}
	for (size_t i = 0; i < l->n_lqs; i++) {
		const struct quota_lqueue *lq = &l->lqs[i];
		struct quota_lqueue *to = &l->next_lqs[l->n_next_lqs];

		if (!lq_kept(lq) ||
		    find_lq(l->next_lqs, l->n_next_lqs, i, lq->name) != QUOTA_NONE) {
			continue;
		}
		to->name = (mk_str){at, lq->name.n};
		to->weight = lq->weight;
		memcpy(at, lq->name.p, lq->name.n);
		at += lq->name.n;
		l->n_next_lqs++;
	}
	for (size_t i = 0; l->n_next_lqs > 1 && i < l->n_next_lqs; i++) {
		l->next_lqs[i].use = (int64_t *)(void *)(l->next_lqs + total) + i * nf;
	}
	return true;
}

static void drop_prepared(struct quota *q, struct quota_tree *t)
{
	for (uint32_t x = 0; x < t->n; x++) {
		struct quota_leaf *l = t->nodes[x].leaf;

		if (!l) {
			continue;
		}
		l->kept = false;
		if (!l->lqs) {
			quota_leaf_free(q, l);
		} else {
			mk_free(l->next_lqs);
			l->next_lqs = NULL;
		}
	}
}

/*
 * Indices of LocalQueues grouped by the leaf they belong to: those of node x at from[x] to from[x +
 * 1].
 */
static uint32_t *group_lqs(const struct quota_desc *d, const uint32_t *place, size_t n,
			   uint32_t **ret_from)
{
	uint32_t *from = mk_calloc(n + 2, sizeof(*from));
	uint32_t *list = mk_malloc((d->n_lqs + 1) * sizeof(*list));

	if (!from || !list) {
		mk_free(from);
		mk_free(list);
		return NULL;
	}
	for (size_t i = 0; i < d->n_lqs; i++) {
		from[place[d->lqs[i].node] + 2]++;
	}
	for (size_t x = 2; x < n + 2; x++) {
		from[x] += from[x - 1];
	}
	for (size_t i = 0; i < d->n_lqs; i++) {
		list[from[place[d->lqs[i].node] + 1]++] = (uint32_t)i;
	}
	*ret_from = from;
	return list;
}

/* Names too: those of the tree go with it. */
static bool room_for_gone(struct quota *q)
{
	size_t n = q->n_gone;
	size_t at;

	for (uint32_t x = 0; x < q->t->n; x++) {
		struct quota_leaf *l = q->t->nodes[x].leaf;

		if (!l || l->kept || l->n_running == 0) {
			continue;
		}
		l->name = l->name != NULL ? l->name : mk_strndup(q->t->label[x]);
		if (!l->name) {
			return false;
		}
		n++;
	}
	for (at = q->n_gone; at < n; at++) {
		if (!quota_room((void **)(void *)&q->gone, &q->size_gone, at,
				sizeof(struct quota_leaf *))) {
			return false;
		}
	}
	return true;
}

static bool same_behaviour(const struct quota_behaviour *a, const struct quota_behaviour *b)
{
	return a->strategy == b->strategy && a->within == b->within && a->reclaim == b->reclaim &&
	       a->borrow_within == b->borrow_within && a->has_threshold == b->has_threshold &&
	       a->threshold == b->threshold && a->borrow_next_flavor == b->borrow_next_flavor &&
	       a->preempt_may_stop == b->preempt_may_stop &&
	       a->preempt_over_borrow == b->preempt_over_borrow && a->delay_ms == b->delay_ms;
}

/* Most leaves say the same as the one before them. */
static bool take_behaviours(const struct quota_desc *d, struct quota_tree *t, const uint32_t *place)
{
	size_t n = 1;

	for (size_t i = 1; i < d->n_nodes; i++) {
		n += !same_behaviour(&d->nodes[i].behaviour, &d->nodes[i - 1].behaviour);
	}
	t->behaviours = mk_calloc(n, sizeof(*t->behaviours));
	if (!t->behaviours) {
		return false;
	}
	t->bytes += n * sizeof(*t->behaviours);
	n = 0;
	for (size_t i = 0; i < d->n_nodes; i++) {
		const struct quota_behaviour *b = &d->nodes[i].behaviour;

		n += i > 0 && !same_behaviour(b, &d->nodes[i - 1].behaviour);
		t->behaviours[n] = *b;
		if (t->nodes[place[i]].leaf != NULL) {
			t->nodes[place[i]].leaf->b = &t->behaviours[n];
		}
	}
	return true;
}

enum mk_code quota_leaves_prepare(struct quota *q, const struct quota_desc *d, struct quota_tree *t,
				  const uint32_t *place, struct mk_err *err)
{
	uint32_t *from = NULL;
	uint32_t *list = group_lqs(d, place, t->n, &from);
	enum mk_code code = !list ? ERR_NO_MEMORY : ERR_OK;

	for (size_t i = 0; code == ERR_OK && i < d->n_nodes; i++) {
		uint32_t x = place[i];
		struct quota_leaf *l;

		if (t->nodes[x].n_children > 0) {
			code = from[x] != from[x + 1] ? ERR_INVALID : ERR_OK;
			continue;
		}
		l = find_leaf(q, d->nodes[i].name);
		if (!l) {
			l = new_leaf(q);
		}
		t->nodes[x].leaf = l;
		if (l != NULL && from[x + 1] - from[x] + l->n_lqs > QUOTA_MAX_LQS) {
			code = ERR_TOO_BIG;
			continue;
		}
		if (!l || !next_lqs(l, d, &list[from[x]], from[x + 1] - from[x], t->nf)) {
			code = ERR_NO_MEMORY;
			continue;
		}
		l->kept = true;
	}
	if (code == ERR_OK && !room_for_gone(q)) {
		code = ERR_NO_MEMORY;
	}
	if (code == ERR_OK && !take_behaviours(d, t, place)) {
		code = ERR_NO_MEMORY;
	}
	mk_free(from);
	mk_free(list);
	if (code != ERR_OK) {
		drop_prepared(q, t);
		err_set(err, code, "%s",
			code == ERR_INVALID   ? "a LocalQueue at an inner node"
			: code == ERR_TOO_BIG ? "too many LocalQueues of a leaf"
					      : "out of memory");
	}
	return code;
}

/* --- the change itself ------------------------------------------------------------------------ */

static void map_works(struct quota *q, const struct quota_tree *t, const uint16_t *fr_map)
{
	uint8_t res_map[256];
	bool same = true;

	memset(res_map, QUOTA_NO_RES, sizeof(res_map));
	for (size_t r = 0; r < q->t->n_res; r++) {
		for (size_t k = 0; k < t->n_res; k++) {
			if (str_eq(q->t->res[r], t->res[k])) {
				res_map[r] = (uint8_t)k;
			}
		}
		same = same && res_map[r] == r;
	}
	for (size_t f = 0; f < q->t->nf; f++) {
		same = same && fr_map[f] == f;
	}
	for (size_t i = 0; !same && i < q->n_table; i++) {
		struct quota_work *w = quota_work_of(q, q->table[i]);
		struct quota_meta *m = w != NULL ? quota_metas(w) : NULL;

		for (size_t k = 0; w != NULL && k < w->n_asks; k++) {
			m[k].fr = m[k].fr == QUOTA_NO_FR ? QUOTA_NO_FR : fr_map[m[k].fr];
			m[k].res = res_map[m[k].res];
		}
	}
}

static void set_lq(struct quota *q, void *ctx, struct quota_work *w)
{
	const struct quota_leaf *l = ctx;

	(void)q;
	w->lq = (uint16_t)l->lqs[w->lq].moved;
}

/* The new LocalQueues take over sets and use of the old ones, whose block goes. */
static void take_lqs(struct quota *q, struct quota_leaf *l)
{
	struct quota_lqueue own = {.name = {"", 0}, .weight = 1000};
	struct quota_lqueue *next = l->next_lqs != NULL ? l->next_lqs : &own;
	bool same = true;

	for (size_t i = 0; i < l->n_lqs; i++) {
		struct quota_lqueue *lq = &l->lqs[i];
		size_t k = find_lq(next, l->n_next_lqs, i, lq->name);
		struct quota_lqueue *to = &next[k == QUOTA_NONE ? 0 : k];

		lq->moved = (uint32_t)k;
		if (k == QUOTA_NONE) {
			continue;
		}
		same = same && k == i;
		to->ready = lq->ready;
		to->blocked = lq->blocked;
		to->n_waiting = lq->n_waiting;
		to->n_running = lq->n_running;
	}
	for (size_t i = 0; !same && i < l->n_lqs; i++) {
		quota_set_each(q, &l->lqs[i].ready, set_lq, l);
		quota_set_each(q, &l->lqs[i].blocked, set_lq, l);
	}
	if (!same) {
		quota_set_each(q, &l->running, set_lq, l);
		quota_set_each(q, &l->leaving, set_lq, l);
	}
	if (l->lqs != &l->own) {
		mk_free(l->lqs);
	}
	l->own = own;
	l->lqs = l->next_lqs != NULL ? l->next_lqs : &l->own;
	l->n_lqs = l->n_next_lqs;
	l->next_lqs = NULL;
	l->kept = false;
}

static void charge_lq(struct quota *q, void *ctx, struct quota_work *w)
{
	(void)ctx;
	quota_charge_lq(q, w, 1);
}

static void charge_orphan(struct quota *q, void *ctx, struct quota_work *w)
{
	struct quota_tree *t = ctx;
	uint32_t node = quota_leaf_of(q, w)->node;

	for (size_t i = 0; i < w->n_asks; i++) {
		size_t f = quota_metas(w)[i].fr;

		if (f != QUOTA_NO_FR) {
			quota_cell(t, node, f)->use += quota_amounts(w)[i];
		}
	}
}

static void move_all(struct quota *q, const struct quota_set *from, enum quota_state state)
{
	struct quota_work *w = quota_set_some(q, from);

	while (w != NULL) {
		quota_leave(q, w);
		quota_enter(q, w, state);
		w = quota_set_some(q, from);
	}
}

static void park_all(struct quota *q, struct quota_leaf *l)
{
	for (size_t i = 0; i < l->n_lqs; i++) {
		move_all(q, &l->lqs[i].ready, QUOTA_PARKED);
		move_all(q, &l->lqs[i].blocked, QUOTA_PARKED);
	}
}

/* Reservations below leaves that go away end before anything is counted. */
static void end_reservations(struct quota *q)
{
	for (size_t i = q->n_reserved; i-- > 0;) {
		struct quota_work *w = q->reserved[i].work;

		if (!quota_leaf_of(q, w)->kept) {
			quota_unreserve(q, w);
		}
	}
}

static uint32_t nearest(const struct quota_tree *old, const struct quota_tree *t, uint32_t x)
{
	for (; x != QUOTA_NO_NODE; x = old->nodes[x].parent) {
		uint32_t y = quota_tree_find(t, old->label[x]);

		if (y != QUOTA_NO_NODE) {
			return y;
		}
	}
	return 0;
}

/* 'l' is no leaf any more: its work is orphaned. False when it has none and was freed. */
static bool orphan(struct quota *q, struct quota_tree *t, struct quota_leaf *l)
{
	park_all(q, l);
	if (l->n_running == 0) {
		quota_leaf_free(q, l);
		return false;
	}
	l->node = nearest(q->t, t, l->node);
	l->gone = true;
	l->b = NULL;
	return true;
}

static void carry_use(const struct quota_tree *old, struct quota_tree *t, uint32_t x,
		      const struct quota_leaf *l, const uint16_t *fr_map)
{
	for (size_t f = 0; f < old->nf; f++) {
		if (fr_map[f] != QUOTA_NO_FR) {
			quota_cell(t, x, fr_map[f])->use += quota_cell(old, l->node, f)->use;
		}
	}
}

/* Leaves that go: with work they move to quota.gone. */
static void sort_out(struct quota *q, struct quota_tree *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->n_gone; i++) {
		struct quota_leaf *l = q->gone[i];

		if (!l->kept && orphan(q, t, l)) {
			q->gone[kept++] = l;
		}
	}
	q->n_gone = kept;
	for (uint32_t x = 0; x < q->t->n; x++) {
		struct quota_leaf *l = q->t->nodes[x].leaf;

		if (l != NULL && !l->kept && orphan(q, t, l)) {
			q->gone[q->n_gone++] = l;
		}
	}
}

static void unblock_leaf(struct quota *q, struct quota_leaf *l)
{
	for (size_t i = 0; i < l->n_lqs; i++) {
		move_all(q, &l->lqs[i].blocked, QUOTA_PENDING);
	}
}

/* 't' becomes the tree. Nothing can fail here. */
void quota_leaves_take(struct quota *q, struct quota_tree *t, const uint16_t *fr_map)
{
	struct quota_tree *old = q->t;

	end_reservations(q);
	map_works(q, t, fr_map);
	sort_out(q, t);
	for (uint32_t x = 0; x < t->n; x++) {
		struct quota_leaf *l = t->nodes[x].leaf;

		if (!l) {
			continue;
		}
		take_lqs(q, l);
		if (l->gone) {
			l->node = x;
			l->gone = false;
			quota_set_each(q, &l->running, charge_orphan, t);
			quota_set_each(q, &l->leaving, charge_orphan, t);
		} else if (l->placed) {
			carry_use(old, t, x, l, fr_map);
		}
		l->placed = true;
		l->node = x;
		if (l->n_lqs > 1) {
			quota_set_each(q, &l->running, charge_lq, NULL);
			quota_set_each(q, &l->leaving, charge_lq, NULL);
		}
	}
	for (size_t i = 0; i < q->n_gone; i++) {
		quota_set_each(q, &q->gone[i]->running, charge_orphan, t);
		quota_set_each(q, &q->gone[i]->leaving, charge_orphan, t);
	}
	quota_sum_up(t);
	q->t = t;
	q->seq++;
	q->outside++;
	for (uint32_t x = 0; x < t->n; x++) {
		if (t->nodes[x].leaf != NULL) {
			unblock_leaf(q, t->nodes[x].leaf);
		}
	}
}
