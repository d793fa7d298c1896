/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads: the table by uid, and the sets that their states put them into. */
#include "core/quota/quota_impl.h"

#include "core/base/hash.h"

struct quota *quota_new(void)
{
	struct quota *q = mk_calloc(1, sizeof(*q));
	struct quota_tree *t = mk_calloc(1, sizeof(*t));

	if (!q || !t) {
		mk_free(q);
		mk_free(t);
		return NULL;
	}
	t->reserve_ms = 300000;
	q->t = t;
	q->outside = 1;
	list_init(&q->active);
	list_init(&q->stuck);
	return q;
}

void quota_free(struct quota *q)
{
	if (!q) {
		return;
	}
	for (uint32_t x = 0; x < q->t->n; x++) {
		if (q->t->nodes[x].leaf != NULL) {
			quota_leaf_free(q, q->t->nodes[x].leaf);
		}
	}
	for (size_t i = 0; i < q->n_gone; i++) {
		quota_leaf_free(q, q->gone[i]);
	}
	mk_free(q->table);
	mk_free(q->gone);
	mk_free(q->reserved);
	mk_free(q->evicting);
	mk_free(q->victims);
	mk_free(q->kept);
	quota_tree_free(q->t);
	quota_pool_done(&q->works);
	quota_pool_done(&q->leaves);
	mk_free(q);
}

/* --- lists ------------------------------------------------------------------------------------ */

static bool is_later(const struct quota_work *a, const struct quota_work *b)
{
	return a->since_ms > b->since_ms || (a->since_ms == b->since_ms && quota_uid_cmp(a, b) > 0);
}

void quota_reserve_add(struct quota *q, struct quota_work *w)
{
	size_t at = q->n_reserved++;

	q->n_expired = 0;
	for (; at > 0 && is_later(q->reserved[at - 1].work, w); at--) {
		q->reserved[at] = q->reserved[at - 1];
	}
	q->reserved[at] = (struct quota_reserve){.work = w, .free_ms = INT64_MIN};
}

void quota_reserve_del(struct quota *q, const struct quota_work *w)
{
	size_t at = 0;

	q->n_expired = 0;
	while (at < q->n_reserved && q->reserved[at].work != w) {
		at++;
	}
	if (at < q->n_reserved) {
		memmove(&q->reserved[at], &q->reserved[at + 1],
			(q->n_reserved - at - 1) * sizeof(*q->reserved));
		q->n_reserved--;
	}
}

/* --- states ----------------------------------------------------------------------------------- */

static void note_leaf(struct quota *q, struct quota_leaf *l)
{
	if (l->n_ready > 0 && list_empty(&l->active)) {
		list_add_tail(&q->active, &l->active);
	} else if (l->n_ready == 0 && !list_empty(&l->active)) {
		list_del(&l->active);
	}
	if (l->n_blocked > 0 && list_empty(&l->stuck)) {
		list_add_tail(&q->stuck, &l->stuck);
	} else if (l->n_blocked == 0 && !list_empty(&l->stuck)) {
		list_del(&l->stuck);
	}
}

/* Puts 'w', which is in no set, into that of 'state'. Usage is the caller's business. */
void quota_enter(struct quota *q, struct quota_work *w, enum quota_state state)
{
	struct quota_leaf *l = quota_leaf_or_null(q, w);
	struct quota_lqueue *lq = l != NULL ? &l->lqs[w->lq] : NULL;

	w->state = (uint8_t)state;
	switch (state) {
	case QUOTA_PENDING:
		w->stamp = 0;
		w->delayed = false;
		quota_set_add(q, &lq->ready, w);
		lq->n_waiting++;
		l->n_ready++;
		break;
	case QUOTA_BLOCKED:
		w->stamp = (uint32_t)q->seq;
		quota_set_add(q, &lq->blocked, w);
		lq->n_waiting++;
		l->n_blocked++;
		q->n_delayed += w->delayed;
		break;
	case QUOTA_RESERVED:
	case QUOTA_ADMITTED:
		quota_set_add(q, &l->running, w);
		lq->n_running++;
		l->n_running++;
		break;
	case QUOTA_EVICTING:
		quota_set_add(q, &l->leaving, w);
		lq->n_running++;
		l->n_running++;
		break;
	case QUOTA_PARKED:
		w->leaf = 0;
		return;
	}
	note_leaf(q, l);
}

void quota_leave(struct quota *q, struct quota_work *w)
{
	struct quota_leaf *l = quota_leaf_or_null(q, w);
	struct quota_lqueue *lq = l != NULL ? &l->lqs[w->lq] : NULL;

	switch ((enum quota_state)w->state) {
	case QUOTA_PENDING:
		quota_set_del(q, &lq->ready, w, quota_by_turn);
		lq->n_waiting--;
		l->n_ready--;
		break;
	case QUOTA_BLOCKED:
		quota_set_del(q, &lq->blocked, w, quota_by_turn);
		lq->n_waiting--;
		l->n_blocked--;
		q->n_delayed -= w->delayed;
		break;
	case QUOTA_RESERVED:
	case QUOTA_ADMITTED:
		quota_set_del(q, &l->running, w, quota_by_worth);
		lq->n_running--;
		l->n_running--;
		break;
	case QUOTA_EVICTING:
		quota_set_del(q, &l->leaving, w, quota_by_worth);
		lq->n_running--;
		l->n_running--;
		break;
	case QUOTA_PARKED:
		return;
	}
	note_leaf(q, l);
}

/* Drops a reservation: usage goes, 'w' is an ordinary pending workload. */
void quota_unreserve(struct quota *q, struct quota_work *w)
{
	quota_reserve_del(q, w);
	quota_leave(q, w);
	quota_charge_work(q, w, -1);
	quota_charge_lq(q, w, -1);
	quota_dropped(q, w);
	w->since_ms = INT64_MIN;
	quota_enter(q, w, QUOTA_PENDING);
}

/* --- the table -------------------------------------------------------------------------------- */

static size_t slot_of(const struct quota *q, mk_str uid, uint32_t hash)
{
	size_t at = hash & (q->n_table - 1);

	while (q->table[at] != 0) {
		const struct quota_work *w = quota_work_of(q, q->table[at]);

		if (w->hash == hash && quota_uid_is(w, uid)) {
			break;
		}
		at = (at + 1) & (q->n_table - 1);
	}
	return at;
}

struct quota_work *quota_work_find(const struct quota *q, mk_str uid)
{
	return q->n_table == 0 ? NULL
			       : quota_work_of(q, q->table[slot_of(q, uid, (uint32_t)hash64(uid))]);
}

static bool grow(struct quota *q)
{
	size_t n = q->n_table == 0 ? 64 : q->n_table * 2;
	uint32_t *table;

	if (q->n_works * 4 < q->n_table * 3) {
		return true;
	}
	table = mk_calloc(n, sizeof(*table));
	if (!table) {
		return false;
	}
	for (size_t i = 0; i < q->n_table; i++) {
		size_t at;

		if (q->table[i] == 0) {
			continue;
		}
		at = quota_work_of(q, q->table[i])->hash & (n - 1);
		while (table[at] != 0) {
			at = (at + 1) & (n - 1);
		}
		table[at] = q->table[i];
	}
	mk_free(q->table);
	q->table = table;
	q->n_table = n;
	return true;
}

/* Takes 'w' out and closes the gap. */
static void table_del(struct quota *q, const struct quota_work *w)
{
	size_t mask = q->n_table - 1;
	size_t at = w->hash & mask;
	size_t next;

	while (q->table[at] != w->self) {
		at = (at + 1) & mask;
	}
	next = (at + 1) & mask;
	while (q->table[next] != 0) {
		size_t home = quota_work_of(q, q->table[next])->hash & mask;

		if (((next - home) & mask) >= ((next - at) & mask)) {
			q->table[at] = q->table[next];
			at = next;
		}
		next = (next + 1) & mask;
	}
	q->table[at] = 0;
	q->n_works--;
}

/* --- put and del ------------------------------------------------------------------------------ */

static enum mk_code check_work(const struct quota *q, const struct quota_work_desc *d,
			       struct mk_err *err)
{
	if (d->uid.n == 0 || d->uid.n > QUOTA_MAX_UID) {
		return err_set(err, ERR_INVALID, "uid of %zu bytes", d->uid.n);
	}
	if (d->n_asks > QUOTA_MAX_ASKS || d->n_pods > QUOTA_MAX_PODS) {
		return err_set(err, ERR_TOO_BIG, "%zu pod sets with %zu requests", d->n_pods,
			       d->n_asks);
	}
	for (size_t i = 0; i < d->n_asks; i++) {
		const struct quota_ask *a = &d->asks[i];

		if (a->amount < 0 || a->amount > QUOTA_MAX_AMOUNT || a->pod >= d->n_pods) {
			return err_set(err, ERR_INVALID, "request for %.*s", STR_ARG(a->resource));
		}
		if (d->admitted && a->amount > 0 &&
		    quota_fr_find(q, a->flavor, a->resource) == QUOTA_NONE) {
			return err_set(err, ERR_NOT_FOUND, "%.*s in flavor %.*s",
				       STR_ARG(a->resource), STR_ARG(a->flavor));
		}
	}
	return ERR_OK;
}

static enum mk_code find_place(const struct quota *q, const struct quota_work_desc *d,
			       struct quota_leaf **ret_leaf, uint32_t *ret_lq, struct mk_err *err)
{
	uint32_t x = quota_tree_find(q->t, d->leaf);
	struct quota_leaf *l = x == QUOTA_NO_NODE ? NULL : q->t->nodes[x].leaf;
	size_t i = 0;

	while (l != NULL && d->lq.n > 0 && i < l->n_lqs && !str_eq(l->lqs[i].name, d->lq)) {
		i++;
	}
	if (!l || i == l->n_lqs) {
		return err_set(err, ERR_NOT_FOUND, "leaf %.*s, LocalQueue %.*s", STR_ARG(d->leaf),
			       STR_ARG(d->lq));
	}
	*ret_leaf = l;
	*ret_lq = (uint32_t)i;
	return ERR_OK;
}

static uint8_t res_of(const struct quota_tree *t, mk_str resource)
{
	for (size_t r = 0; r < t->n_res; r++) {
		if (str_eq(t->res[r], resource)) {
			return (uint8_t)r;
		}
	}
	return QUOTA_NO_RES;
}

static size_t work_size(const struct quota_work *w)
{
	return sizeof(*w) + w->n_asks * (8 + sizeof(struct quota_meta)) +
	       (w->masked ? w->n_pods * 8U : 0) + (w->placed ? 8 : 0) + w->uid_len;
}

static struct quota_work *make_work(struct quota *q, const struct quota_work_desc *d)
{
	struct quota_work head = {
		.time_ms = d->time_ms,
		.since_ms = d->admitted ? d->admitted_ms : INT64_MIN,
		.hash = (uint32_t)hash64(d->uid),
		.priority = d->priority,
		.n_pods = (uint8_t)d->n_pods,
		.masked = d->flavors != NULL,
		.placed = d->clusters != 0,
	};
	unsigned char uid[QUOTA_PACKED_UID];
	struct quota_work *w;
	size_t n = 0;

	head.packed = quota_uid_pack(d->uid, uid);
	head.uid_len = (uint8_t)(head.packed ? QUOTA_PACKED_UID : d->uid.n);
	for (size_t i = 0; i < d->n_asks; i++) {
		head.n_asks = (uint8_t)(head.n_asks + (d->asks[i].amount > 0));
	}
	w = quota_pool_take(&q->works, work_size(&head), &head.self);
	if (!w) {
		return NULL;
	}
	*w = head;
	for (size_t i = 0; i < d->n_asks; i++) {
		const struct quota_ask *a = &d->asks[i];
		size_t f = d->admitted ? quota_fr_find(q, a->flavor, a->resource) : QUOTA_NONE;

		if (a->amount == 0) {
			continue;
		}
		quota_amounts(w)[n] = a->amount;
		quota_metas(w)[n++] = (struct quota_meta){
			.fr = f == QUOTA_NONE ? QUOTA_NO_FR : (uint16_t)f,
			.res = res_of(q->t, a->resource),
			.pod = (uint8_t)a->pod,
		};
	}
	if (w->masked) {
		memcpy(quota_masks(w), d->flavors, d->n_pods * sizeof(uint64_t));
	}
	if (w->placed) {
		*quota_bitmap(w) = d->clusters;
	}
	memcpy(quota_uid(w), w->packed ? (const void *)uid : d->uid.p, w->uid_len);
	return w;
}

static void give_work(struct quota *q, struct quota_work *w)
{
	w->state = QUOTA_FREE;
	quota_pool_give(&q->works, w->self, work_size(w));
}

static void update_admitted(struct quota *q, struct quota_work *w, const struct quota_work_desc *d)
{
	enum quota_state state = (enum quota_state)w->state;

	quota_leave(q, w);
	w->priority = d->priority;
	w->time_ms = d->time_ms;
	quota_enter(q, w, state);
}

/* A leaf that is gone goes for good with its last work. */
static void drop_gone(struct quota *q, struct quota_leaf *l)
{
	size_t i = 0;

	if (!l || !l->gone || l->n_running > 0) {
		return;
	}
	while (q->gone[i] != l) {
		i++;
	}
	q->gone[i] = q->gone[--q->n_gone];
	quota_leaf_free(q, l);
}

static void uncharge(struct quota *q, struct quota_work *w)
{
	if (w->state == QUOTA_RESERVED) {
		quota_reserve_del(q, w);
	} else if (w->state == QUOTA_EVICTING) {
		q->evicting[w->stamp] = q->evicting[--q->n_evicting];
		q->evicting[w->stamp].work->stamp = w->stamp;
	}
	quota_charge_work(q, w, -1);
	quota_charge_lq(q, w, -1);
	quota_dropped(q, w);
}

static void del_work(struct quota *q, struct quota_work *w)
{
	struct quota_leaf *l;

	quota_end_cycle(q);
	q->outside++;
	l = quota_leaf_or_null(q, w);
	if (quota_charged(w)) {
		uncharge(q, w);
	}
	quota_leave(q, w);
	table_del(q, w);
	give_work(q, w);
	drop_gone(q, l);
}

void quota_del(struct quota *q, mk_str uid)
{
	struct quota_work *w = quota_work_find(q, uid);

	if (w != NULL) {
		del_work(q, w);
	}
}

enum mk_code quota_put(struct quota *q, const struct quota_work_desc *d, struct mk_err *err)
{
	struct quota_work *old = quota_work_find(q, d->uid);
	struct quota_leaf *leaf = NULL;
	struct quota_wants wants QUOTA_RAW;
	struct quota_work *w;
	uint32_t lq = 0;
	enum mk_code code = check_work(q, d, err);

	if (old != NULL && (old->state == QUOTA_ADMITTED || old->state == QUOTA_EVICTING)) {
		quota_end_cycle(q);
		q->outside++;
		update_admitted(q, old, d);
		return ERR_OK;
	}
	if (code == ERR_OK) {
		code = find_place(q, d, &leaf, &lq, err);
	}
	if (code != ERR_OK) {
		return code;
	}
	w = grow(q) ? make_work(q, d) : NULL;
	if (!w) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	quota_wants_of(w, &wants);
	if (d->admitted && quota_would_overflow(q, &wants)) {
		give_work(q, w);
		return err_set(err, ERR_TOO_BIG, "the usage of the tree overflows");
	}
	if (old != NULL) {
		del_work(q, old);
	}
	quota_end_cycle(q);
	q->outside++;
	w->leaf = leaf->self;
	w->lq = (uint16_t)lq;
	q->table[slot_of(q, d->uid, w->hash)] = w->self;
	q->n_works++;
	quota_enter(q, w, d->admitted ? QUOTA_ADMITTED : QUOTA_PENDING);
	if (d->admitted) {
		quota_charge_work(q, w, 1);
		quota_charge_lq(q, w, 1);
	}
	return ERR_OK;
}

enum mk_code quota_evict(struct quota *q, struct quota_work *w, struct mk_err *err)
{
	if (w->state != QUOTA_ADMITTED) {
		return err_set(err, ERR_CONFLICT, "the workload is not admitted");
	}
	if (!quota_room((void **)(void *)&q->evicting, &q->size_evicting, q->n_evicting,
			sizeof(*q->evicting))) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	w->stamp = (uint32_t)q->n_evicting;
	q->evicting[q->n_evicting++] = (struct quota_leaving){w, ++q->n_begun};
	quota_leave(q, w);
	quota_enter(q, w, QUOTA_EVICTING);
	return ERR_OK;
}

enum mk_code quota_gone(struct quota *q, struct quota_work *w)
{
	struct quota_leaf *l = quota_leaf_or_null(q, w);

	if (w->state != QUOTA_EVICTING) {
		return ERR_CONFLICT;
	}
	quota_end_cycle(q);
	uncharge(q, w);
	quota_leave(q, w);
	w->since_ms = INT64_MIN;
	quota_enter(q, w, l->gone ? QUOTA_PARKED : QUOTA_PENDING);
	drop_gone(q, l);
	return ERR_OK;
}
