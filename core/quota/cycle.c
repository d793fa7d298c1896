/* SPDX-License-Identifier: Apache-2.0 */
/* The cycle: retries, picks, admissions, reservations. */
#include "core/quota/quota_impl.h"

/* --- who may try again ------------------------------------------------------------------------ */

struct retry {
	struct quota *q;
	bool all;
};

static bool wants_retry(const struct retry *r, const struct quota_work *w)
{
	const struct quota *q = r->q;

	uint64_t blocked = q->seq - (uint32_t)((uint32_t)q->seq - w->stamp);

	if (r->all) {
		return true;
	}
	if (w->delayed && q->now_ms - w->since_ms >= quota_leaf_of(q, w)->b->delay_ms) {
		return true;
	}
	for (size_t i = 0; i < w->n_asks; i++) {
		uint8_t res = quota_metas(w)[i].res;

		if (res != QUOTA_NO_RES && q->t->drops[res] > blocked) {
			return true;
		}
	}
	return false;
}

static void retry_leaf(struct quota *q, struct quota_leaf *l, bool all)
{
	struct retry r = {.q = q, .all = all};

	for (size_t i = 0; i < l->n_lqs; i++) {
		struct quota_work *w = quota_set_some(q, &l->lqs[i].blocked);

		while (w != NULL) {
			struct quota_work *next =
				quota_set_other(q, &l->lqs[i].blocked, w, quota_by_turn);

			if (wants_retry(&r, w)) {
				quota_leave(q, w);
				quota_enter(q, w, QUOTA_PENDING);
			}
			w = next;
		}
	}
}

static void retry_all(struct quota *q)
{
	/* A workload is retried before the low bits of its stamp could mean another time. */
	bool all = q->seq - q->swept > UINT32_MAX / 2;

	if (q->seen == q->seq && q->n_delayed == 0) {
		return;
	}
	for (LIST_EACH_SAFE(n, &q->stuck)) {
		retry_leaf(q, LIST_ENTRY(n, struct quota_leaf, stuck), all);
	}
	q->seen = q->seq;
	q->swept = all ? q->seq : q->swept;
}

/* --- how long a reservation lives ------------------------------------------------------------- */

/* The first eviction that runs, of each pair. */
static void find_oldest(struct quota *q)
{
	struct quota_pair *pairs = q->t->pairs;

	for (size_t f = 0; f < q->t->nf; f++) {
		pairs[f].oldest = UINT64_MAX;
	}
	for (size_t i = 0; i < q->n_evicting; i++) {
		const struct quota_work *v = q->evicting[i].work;

		for (size_t k = 0; k < v->n_asks; k++) {
			uint16_t fr = quota_metas(v)[k].fr;

			if (fr != QUOTA_NO_FR && q->evicting[i].number < pairs[fr].oldest) {
				pairs[fr].oldest = q->evicting[i].number;
			}
		}
	}
}

/* Does an eviction still run that had begun when 'r' reserved, and holds what 'r' asks for? */
static bool waits(const struct quota *q, const struct quota_reserve *r)
{
	for (size_t k = 0; k < r->work->n_asks; k++) {
		uint16_t fr = quota_metas(r->work)[k].fr;

		if (fr != QUOTA_NO_FR && q->t->pairs[fr].oldest <= r->last) {
			return true;
		}
	}
	return false;
}

/*
 * Ends reservations that are too old. Their time runs from when what they wait for has left: else
 * an eviction that takes longer would be in vain, and be asked for again without an end.
 */
static void drop_old(struct quota *q)
{
	size_t expired = 0;

	if (q->n_reserved > 0) {
		find_oldest(q);
	}
	for (size_t i = q->n_reserved; i-- > 0;) {
		struct quota_reserve *r = &q->reserved[i];
		struct quota_work *w = r->work;

		if (waits(q, r)) {
			r->free_ms = INT64_MIN;
			continue;
		}
		r->free_ms = r->free_ms == INT64_MIN ? q->now_ms : r->free_ms;
		if (q->now_ms - r->free_ms >= q->t->reserve_ms) {
			quota_unreserve(q, w);
			q->reserved[q->n_reserved].work = w;
			expired++;
		}
	}
	q->n_expired = expired;
}

void quota_cycle(struct quota *q, int64_t now_ms)
{
	quota_end_cycle(q);
	if (q->t->n == 0) {
		return;
	}
	q->now_ms = now_ms;
	q->cycle++;
	drop_old(q);
	retry_all(q);
	q->in_cycle = true;
	quota_offer_all(q);
}

struct quota_work *quota_pick(struct quota *q)
{
	if (!q->in_cycle) {
		return NULL;
	}
	for (size_t i = 0; i < q->n_reserved; i++) {
		if (q->reserved[i].work->stamp != (uint32_t)q->cycle) {
			return q->reserved[i].work;
		}
	}
	return q->t->hdrf ? quota_hdrf_pick(q) : q->t->nodes[0].cand;
}

static void changed(struct quota *q, struct quota_leaf *l)
{
	if (q->in_cycle && !l->gone) {
		quota_offer(q, l);
	}
}

void quota_block(struct quota *q, struct quota_work *w, int64_t now_ms)
{
	struct quota_leaf *l = quota_leaf_of(q, w);

	if (w->state == QUOTA_RESERVED) {
		w->stamp = (uint32_t)q->cycle;
		return;
	}
	if (w->state != QUOTA_PENDING) {
		return;
	}
	quota_leave(q, w);
	if (w->since_ms == INT64_MIN) {
		w->since_ms = now_ms;
	}
	w->delayed = l->b->delay_ms > 0 && now_ms - w->since_ms < l->b->delay_ms;
	quota_enter(q, w, QUOTA_BLOCKED);
	changed(q, l);
}

/* A reservation becomes the real thing when q fits without itself. */
static enum mk_code admit_reserved(struct quota *q, struct quota_work *w, int64_t now_ms)
{
	struct quota_wants wants QUOTA_RAW;
	bool fits;

	quota_wants_of(w, &wants);
	quota_charge_work(q, w, -1);
	fits = quota_fits(q->t, quota_leaf_of(q, w)->node, &wants, NULL);
	quota_charge_work(q, w, 1);
	if (!fits) {
		return ERR_CONFLICT;
	}
	quota_reserve_del(q, w);
	quota_leave(q, w);
	w->since_ms = now_ms;
	quota_enter(q, w, QUOTA_ADMITTED);
	return ERR_OK;
}

static void charge_new(struct quota *q, struct quota_work *w, enum quota_state state,
		       int64_t now_ms)
{
	quota_leave(q, w);
	w->since_ms = now_ms;
	quota_charge_work(q, w, 1);
	quota_charge_lq(q, w, 1);
	quota_enter(q, w, state);
}

/*
 * An admission will enter 'w' among the running ones of its leaf: their memory is asked for while
 * the check runs.
 */
static void ask_running(const struct quota *q, const struct quota_work *w)
{
	const struct quota_leaf *l = quota_leaf_of(q, w);

	__builtin_prefetch(l->lqs, 1);
	__builtin_prefetch(quota_pool_at(&q->works, l->running.fresh), 1);
}

static enum mk_code admit_assigned(struct quota *q, struct quota_work *w, int64_t now_ms)
{
	struct quota_wants wants QUOTA_RAW;

	quota_wants_of(w, &wants);
	if (quota_would_overflow(q, &wants)) {
		return ERR_CONFLICT;
	}
	charge_new(q, w, QUOTA_ADMITTED, now_ms);
	changed(q, quota_leaf_of(q, w));
	return ERR_OK;
}

enum mk_code quota_admit(struct quota *q, struct quota_work *w, int64_t now_ms)
{
	struct quota_decision d;

	if (w->state == QUOTA_RESERVED) {
		enum mk_code code = admit_reserved(q, w, now_ms);

		if (code == ERR_OK) {
			changed(q, quota_leaf_of(q, w));
		}
		return code;
	}
	if (w->state != QUOTA_PENDING && w->state != QUOTA_BLOCKED) {
		return ERR_CONFLICT;
	}
	ask_running(q, w);
	if (quota_assign(q, w, false, now_ms, &d) != QUOTA_FIT) {
		return ERR_CONFLICT;
	}
	return admit_assigned(q, w, now_ms);
}

/* --- plans ------------------------------------------------------------------------------------ */

/* The plan just made outlives those that new heads need for their flavors. */
static struct quota_plan keep_plan(struct quota *q)
{
	struct quota_victim *kept = q->victims;
	size_t size = q->size_victims;

	q->victims = q->kept;
	q->size_victims = q->size_kept;
	q->kept = kept;
	q->size_kept = size;
	return (struct quota_plan){.victims = kept, .n = q->n_victims};
}

static enum mk_code plan_assigned(struct quota *q, struct quota_work *w, int64_t now_ms,
				  struct quota_plan *ret)
{
	struct quota_wants wants QUOTA_RAW;
	enum mk_code code;

	quota_wants_of(w, &wants);
	if (quota_would_overflow(q, &wants)) {
		return ERR_CONFLICT;
	}
	code = quota_try_plan(q, w, &wants, now_ms);
	if (code == ERR_OK) {
		*ret = keep_plan(q);
	}
	return code;
}

enum mk_code quota_plan(struct quota *q, struct quota_work *w, int64_t now_ms,
			struct quota_plan *ret)
{
	struct quota_decision d;

	if ((w->state != QUOTA_PENDING && w->state != QUOTA_BLOCKED) ||
	    quota_assign(q, w, true, now_ms, &d) == QUOTA_NO_FIT) {
		return ERR_CONFLICT;
	}
	return plan_assigned(q, w, now_ms, ret);
}

static bool room_for(struct quota *q, size_t n)
{
	while (q->size_evicting < q->n_evicting + n) {
		if (!quota_room((void **)(void *)&q->evicting, &q->size_evicting, q->size_evicting,
				sizeof(*q->evicting))) {
			return false;
		}
	}
	return quota_room((void **)(void *)&q->reserved, &q->size_reserved, q->n_reserved,
			  sizeof(*q->reserved));
}

/* Counts the plan against the limits that end circles of claims. */
static void note_plan(const struct quota *q, struct quota_work *w, const struct quota_plan *plan)
{
	uint32_t leaf = quota_leaf_of(q, w)->node;
	bool swap = false;
	bool claim = false;

	for (size_t i = 0; i < plan->n; i++) {
		if (plan->victims[i].node != leaf) {
			bool capacity = q->t->nodes[plan->victims[i].node].policy == QUOTA_CAPACITY;

			claim = claim || capacity;
			swap = swap || !capacity;
		}
	}
	if (w->limit != q->outside) {
		w->limit = q->outside;
		w->swapped = false;
		w->claims = 0;
	}
	w->swapped = w->swapped || swap;
	w->claims = (uint8_t)(w->claims + claim);
}

static void evict_all(struct quota *q, struct quota_work *w, const struct quota_plan *plan)
{
	note_plan(q, w, plan);
	for (size_t i = 0; i < plan->n; i++) {
		struct quota_work *v = plan->victims[i].work;

		if (v->state == QUOTA_RESERVED) {
			quota_unreserve(q, v);
		} else {
			(void)quota_evict(q, v, NULL);
		}
	}
	for (size_t i = 0; i < plan->n; i++) {
		if (plan->victims[i].work->state == QUOTA_PENDING) {
			changed(q, quota_leaf_of(q, plan->victims[i].work));
		}
	}
}

/* The reservation of 'w' waits for the evictions that run now. */
static void await(struct quota *q, const struct quota_work *w)
{
	for (size_t i = q->n_reserved; i-- > 0;) {
		if (q->reserved[i].work == w) {
			q->reserved[i].last = q->n_begun;
			return;
		}
	}
}

/*
 * Carries out a plan just made for 'w': victims are evicting, their reservations cancelled, 'w'
 * reserves. ERR_NO_MEMORY.
 */
static enum mk_code carry_out(struct quota *q, struct quota_work *w, const struct quota_plan *plan,
			      int64_t now_ms)
{
	if (!room_for(q, plan->n)) {
		return ERR_NO_MEMORY;
	}
	charge_new(q, w, QUOTA_RESERVED, now_ms);
	w->stamp = (uint32_t)q->cycle;
	quota_reserve_add(q, w);
	evict_all(q, w, plan);
	await(q, w);
	changed(q, quota_leaf_of(q, w));
	return ERR_OK;
}

static enum mk_code decide(struct quota *q, struct quota_work *w, int64_t now_ms,
			   struct quota_step *ret)
{
	enum mk_code code = ERR_CONFLICT;

	switch (quota_assign(q, w, true, now_ms, &ret->decision)) {
	case QUOTA_FIT:
		code = admit_assigned(q, w, now_ms);
		ret->event = QUOTA_ADMIT;
		break;
	case QUOTA_PREEMPT:
		code = plan_assigned(q, w, now_ms, &ret->plan);
		if (code == ERR_OK) {
			code = carry_out(q, w, &ret->plan, now_ms);
			ret->event = QUOTA_RESERVE;
		}
		break;
	case QUOTA_NO_FIT:
		break;
	}
	if (code == ERR_OK) {
		return ERR_OK;
	}
	ret->event = QUOTA_BLOCK;
	ret->decision.verdict = QUOTA_NO_FIT;
	ret->plan = (struct quota_plan){.n = 0};
	quota_block(q, w, now_ms);
	return code == ERR_NO_MEMORY ? code : ERR_OK;
}

enum mk_code quota_step(struct quota *q, int64_t now_ms, struct quota_step *ret)
{
	q->now_ms = now_ms;
	*ret = (struct quota_step){.event = QUOTA_END};
	if (q->in_cycle && q->n_expired > 0) {
		ret->event = QUOTA_EXPIRE;
		ret->work = q->reserved[q->n_reserved + --q->n_expired].work;
		return ERR_OK;
	}
	for (;;) {
		struct quota_work *w = quota_pick(q);

		ret->work = w;
		if (!w) {
			return ERR_OK;
		}
		if (w->state != QUOTA_RESERVED) {
			return decide(q, w, now_ms, ret);
		}
		if (quota_admit(q, w, now_ms) == ERR_OK) {
			ret->event = QUOTA_ADMIT;
			ret->decision.verdict = QUOTA_FIT;
			return ERR_OK;
		}
		w->stamp = (uint32_t)q->cycle;
	}
}

struct quota_decision quota_check(struct quota *q, struct quota_work *w, bool plans,
				  struct quota_row *rows, size_t size, size_t *ret_n)
{
	struct quota_decision d = {.verdict = QUOTA_NO_FIT, .row = {.node = QUOTA_NONE}};
	const struct quota_leaf *l = quota_leaf_or_null(q, w);
	struct quota_wants wants QUOTA_RAW;
	size_t n = 0;

	if (l != NULL && !l->gone && !quota_charged(w)) {
		(void)quota_assign(q, w, plans, q->now_ms, &d);
		quota_wants_of(w, &wants);
		if (d.verdict == QUOTA_PREEMPT &&
		    quota_try_plan(q, w, &wants, q->now_ms) != ERR_OK) {
			d.verdict = QUOTA_NO_FIT;
		}
		if (rows != NULL) {
			n = quota_rows(q->t, l->node, &wants, rows, size);
		}
	}
	if (ret_n != NULL) {
		*ret_n = n;
	}
	return d;
}
