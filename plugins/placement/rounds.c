/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom to try now, whom to keep and whom to drop; see placement.h. All that this goes by is in the
 * arguments: the list as it is, what its clones say, when it was written. So a restart goes on
 * where it was.
 */
#include "placement.h"

static bool is_waiting(const struct placement_place *p)
{
	return !p->quota && !p->preempting;
}

static bool is_hopeful(const struct placement_place *p)
{
	return p->is_listed && p->connected && !p->refuses;
}

static bool is_forbidden(const struct placement_place *p)
{
	return (p->bar == BAR_REQUIRES || p->bar == BAR_TAINT) && !p->quota;
}

/* What is nominated stays, unless labels or taints forbid it by now. */
static void keep(struct placement *x)
{
	for (size_t i = 0; i < x->n; i++) {
		struct placement_place *p = &x->p[i];

		if (p->nominated && is_forbidden(p)) {
			p->drop = DROP_FORBIDDEN;
		} else if (p->nominated) {
			p->is_listed = true;
			x->n_listed++;
		}
	}
}

static void drop(struct placement *x, struct placement_place *p, enum placement_drop why)
{
	p->is_listed = false;
	p->drop = why;
	x->n_listed--;
}

/* Would a worker take the Workload without evicting others? 'listed': one that is tried. */
static bool is_room(const struct placement *x, bool listed)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct placement_place *p = &x->p[i];

		if (p->connected && !p->refuses && placement_has_room(p) &&
		    (p->is_listed || (!listed && p->bar == BAR_NONE && !p->nominated))) {
			return true;
		}
	}
	return false;
}

enum kind { ANY, TAKES_NOW, PREEMPTS, IDLE };

/* May the place join the list? 'turn': no worker of the list would evict others. */
static bool may_join(const struct placement *x, const struct placement_place *p, enum kind kind,
		     bool turn)
{
	if (p->is_listed || p->nominated || p->bar != BAR_NONE ||
	    (kind != ANY && kind != IDLE && p->fit == FIT_LATER)) {
		return false;
	}
	if (kind == IDLE) {
		return p->idle && p->connected;
	}
	if (p->fit == FIT_PREEMPT) {
		return !x->has_room && (turn || kind == PREEMPTS);
	}
	return kind != PREEMPTS;
}

static bool is_better(const struct placement *x, size_t a, size_t b)
{
	return x->p[a].score > x->p[b].score || (x->p[a].score == x->p[b].score && a < b);
}

/*
 * The best that may join, x->n: there is none. With 'behind' below x->n, the best of those that
 * come after it in the order of points, else of all: so turns go round.
 */
static size_t best_of(const struct placement *x, enum kind kind, size_t behind)
{
	size_t best = x->n, after = x->n;
	bool turn = true;

	for (size_t i = 0; i < x->n; i++) {
		turn &= !(x->p[i].is_listed && x->p[i].fit == FIT_PREEMPT);
	}
	for (size_t i = 0; i < x->n; i++) {
		if (!may_join(x, &x->p[i], kind, turn)) {
			continue;
		}
		best = best == x->n || is_better(x, i, best) ? i : best;
		if (behind < x->n && is_better(x, behind, i) &&
		    (after == x->n || is_better(x, i, after))) {
			after = i;
		}
	}
	return after < x->n ? after : best;
}

static bool join(struct placement *x, size_t i)
{
	if (i == x->n || x->n_added == PLACEMENT_PICK) {
		return false;
	}
	x->p[i].is_listed = true;
	x->p[i].is_new = true;
	x->added[x->n_added++] = i;
	x->n_listed++;
	return true;
}

/* The round is over: the next worker that would evict others has its turn. */
static bool pass_turn(struct placement *x)
{
	for (size_t i = 0; i < x->n; i++) {
		struct placement_place *p = &x->p[i];
		size_t next;

		if (!p->is_listed || p->is_new || p->fit != FIT_PREEMPT || !is_waiting(p)) {
			continue;
		}
		next = best_of(x, PREEMPTS, i);
		if (next < x->n) {
			drop(x, p, DROP_TURN);
			return join(x, next);
		}
	}
	return false;
}

static bool is_worse(const struct placement *x, size_t a, size_t b)
{
	bool away = !x->p[a].connected || x->p[a].bar != BAR_NONE;
	bool away_b = !x->p[b].connected || x->p[b].bar != BAR_NONE;

	return away != away_b ? away : is_better(x, b, a);
}

/* Is a worker tried that has room, though it may be kept for others? */
static bool is_idle_listed(const struct placement *x)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct placement_place *p = &x->p[i];

		if (p->is_listed && p->connected && (p->idle || placement_has_room(p))) {
			return true;
		}
	}
	return false;
}

/*
 * As many are tried as may be: the worst gives its place to one that would take the Workload now.
 * Before the round is over only one that is not connected does. When there is none, and no worker
 * that is tried has room, one has its turn whose room is kept for others: they may be too large for
 * it, and it would stay empty until they fit.
 */
static bool swap(struct placement *x)
{
	size_t worst = x->n, next;

	for (size_t i = 0; i < x->n; i++) {
		const struct placement_place *p = &x->p[i];

		if (p->is_listed && !p->is_new && is_waiting(p) && (x->is_over || !p->connected) &&
		    (worst == x->n || is_worse(x, i, worst))) {
			worst = i;
		}
	}
	if (worst == x->n) {
		return false;
	}
	x->p[worst].is_listed = false;
	next = best_of(x, TAKES_NOW, worst);
	x->p[worst].is_listed = true;
	if (next == x->n && x->is_over && !is_idle_listed(x)) {
		next = best_of(x, IDLE, worst);
	}
	if (next == x->n) {
		return false;
	}
	drop(x, &x->p[worst], DROP_SWAP);
	return join(x, next);
}

/* A clone has quota, or its worker is evicting others for it: it gets time. */
static bool is_held(const struct placement *x)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct placement_place *p = &x->p[i];

		if (p->is_listed && p->connected && !is_waiting(p) &&
		    p->since_ms < PLACEMENT_HOLD * x->s.round_ms) {
			return true;
		}
	}
	return false;
}

static void grow(struct placement *x)
{
	size_t hopeful = 0, alive = 0;
	bool sure = false, fresh;
	int64_t n = x->s.candidates;
	enum kind kind;

	for (size_t i = 0; i < x->n; i++) {
		hopeful += is_hopeful(&x->p[i]) ? 1u : 0u;
		alive += x->p[i].is_listed && x->p[i].connected ? 1u : 0u;
		sure |= is_hopeful(&x->p[i]) && x->p[i].sure;
	}
	fresh = alive == 0;
	x->is_over |= fresh;
	n = (sure && !x->s.races ? 1 : n) - (int64_t)hopeful;
	if (x->is_over) {
		n = n < 1 ? 1 : n;
	} else if (hopeful == x->n_listed) {
		return;
	}
	kind = x->is_over ? ANY : TAKES_NOW;
	for (; n > 0; n--) {
		bool joined = x->n_listed < x->limit ? join(x, best_of(x, kind, x->n)) : swap(x);

		if (!joined && !(x->is_over && pass_turn(x))) {
			break;
		}
		if (!x->s.races && x->p[x->added[x->n_added - 1]].sure) {
			break;
		}
	}
}

/* One worker at a time evicts others for the Workload, and none while another has room. */
static void spare(struct placement *x)
{
	bool room = is_room(x, true), found = false;

	for (size_t i = 0; i < x->n; i++) {
		found |= x->p[i].is_listed && x->p[i].preempting;
	}
	for (size_t i = 0; i < x->n; i++) {
		struct placement_place *p = &x->p[i];

		if (!p->is_listed || p->is_new || p->fit != FIT_PREEMPT || !is_waiting(p)) {
			continue;
		}
		if (room || found) {
			drop(x, p, room ? DROP_ROOM : DROP_TURN);
		}
		found = true;
	}
}

/* Is there no worker that could ever take it, as far as all of them are known? */
static bool is_hopeless(const struct placement *x)
{
	bool by_job = x->s.requires[1].expected != NULL;

	for (size_t i = 0; i < x->n; i++) {
		const struct placement_place *p = &x->p[i];

		if (p->bar == BAR_NONE || p->bar > BAR_FOR_GOOD || p->quota ||
		    (p->bar == BAR_MISTAKE && !by_job)) {
			return false;
		}
	}
	return x->n > 0 && x->n_beyond == 0;
}

static bool is_exhausted(const struct placement *x)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct placement_place *p = &x->p[i];

		if (!p->is_listed && (p->bar == BAR_NONE || p->bar > BAR_AWAY)) {
			return false;
		}
	}
	return x->n_listed > 0 && x->n_beyond == 0;
}

/* Those of the list that are not looked at stay. */
static void keep_beyond(const struct placement *x, mk_pick *pick)
{
	mk_call *c = x->c;

	for (size_t i = x->n; i < x->n + x->n_beyond && pick->n < pick->cap; i++) {
		mk_val cluster = c->host->at(c, x->d->clusters, i);

		if (c->host->boolean(c, c->host->get(c, cluster, "/nominated"))) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
}

static bool answer(const struct placement *x, mk_pick *pick)
{
	bool changed = x->n_added > 0;

	for (size_t i = 0; i < x->n; i++) {
		changed |= x->p[i].drop != DROP_NOT;
		if (x->p[i].is_listed && !x->p[i].is_new && pick->n < pick->cap) {
			pick->index[pick->n++] = (uint32_t)i;
		}
	}
	keep_beyond(x, pick);
	for (size_t i = 0; i < x->n_added && pick->n < pick->cap; i++) {
		if (x->p[x->added[i]].is_listed) {
			pick->index[pick->n++] = (uint32_t)x->added[i];
		}
	}
	return changed;
}

int placement_decide(struct placement *x, mk_pick *pick)
{
	int64_t age_ms = placement_sub(x->d->now_ms, x->d->last_set_ms);
	int64_t wait_ms = x->s.round_ms;
	bool is_new;

	/* A clock that went back must not stretch the round. */
	x->is_over = x->d->last_set_ms < 0 || age_ms < 0 || age_ms >= x->s.round_ms;
	x->limit = pick->cap < PLACEMENT_PICK ? pick->cap : PLACEMENT_PICK;
	if (x->s.max_workers > 0 && (size_t)x->s.max_workers < x->limit) {
		x->limit = (size_t)x->s.max_workers;
	}
	keep(x);
	x->has_room = is_room(x, false);
	if (!is_held(x)) {
		grow(x);
	}
	spare(x);
	is_new = answer(x, pick);
	if (!is_new && !x->is_over) {
		wait_ms -= age_ms;
	}
	if (x->overflow_left_ms > 0 && x->overflow_left_ms < wait_ms) {
		wait_ms = x->overflow_left_ms;
	}
	pick->wait_ms = wait_ms;
	if (is_new) {
		return MK_SET;
	}
	pick->n = 0;
	if (is_hopeless(x)) {
		return MK_KEEP | MK_UNPLACEABLE;
	}
	return is_exhausted(x) ? MK_KEEP | MK_EXHAUSTED : MK_KEEP;
}
