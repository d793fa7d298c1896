/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes remote objects of ours; see remove.h. */
#include "core/engine/rules/remove.h"

#include "core/engine/clusters/watches.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/finish.h"
#include "core/engine/rules/gc.h"
#include "core/engine/rules/group.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/twin.h"
#include "core/engine/store/ending.h"

enum { STOPS_MS = 10 * 1000 }; /* a copy stops within this time once Kueue there is to stop it */

/*
 * May an object with this relation be deleted in this pass? One without a manager's id is ours
 * while the local Workload exists, or when its deletion was seen. Kueue's MultiKueue on another
 * manager may have made any other: it is left, unless the configuration says that it is garbage.
 */
static bool may_remove(struct pass *p, const struct record *r, enum twin t)
{
	if (t != TWIN_GO || p->local || p->w->sure_gone) {
		return t == TWIN_OURS || t == TWIN_STALE || t == TWIN_GO;
	}
	if (p->w->gc && !p->e->o.collect_unmarked) {
		gc_tell_unmarked(p->e, r);
	}
	return p->w->gc && p->e->o.collect_unmarked;
}

/*
 * The version that a delete names; 0: whichever there is. No watch shows the manager what becomes
 * of an object without its origin, so only what was read may go.
 */
static uint64_t version_of(const struct record *r, bool as_seen)
{
	return as_seen || !facts_is(r->facts, F_ORIGIN) ? r->rv : 0;
}

/* 'as_seen': only the state that the record has, which decided. */
static void send_delete(struct pass *p, struct record *r, enum rule rule, bool as_seen)
{
	struct op op = {.type = OP_DELETE,
			.prio = r->table->kind == KIND_WORKLOAD ? PRIO_CLEANUP : PRIO_STOP,
			.uid = str_of(r->uid)};
	struct wl_cluster *wc = wl_cluster_known(p->w, r->table->cluster);

	if (!gc_may(p, r) || !pass_ready(p, r)) {
		return;
	}
	op.rv = version_of(r, as_seen);
	ops_send(p->e, r, &op, rule);
	if (r->inflight) {
		ending_let_go(r);
		gc_spend(p, r);
		if (r->table->kind != KIND_WORKLOAD) {
			members_taken(p);
		}
	}
	if (wc) {
		wc->bout.there = false;
		wc->bout.made &= rule == R_SPEC;
		wc->leaving |= rule != R_SPEC;
	}
}

/*
 * Removes Kueue's finalizer from an adopted clone before the delete: no controller on a worker
 * would. Its text may have to be fetched first.
 */
static void strip(struct pass *p, struct clone *k)
{
	struct engine *e = p->e;
	struct arena *a = e->out->arena;
	struct op op = {.prio = PRIO_CLEANUP, .subresource = ""};
	struct json *left = json_new_arr(a), *obj;
	struct json_iter it;

	if (!gc_may(p, k->r) || !pass_ready(p, k->r)) {
		return;
	}
	obj = pass_text(p, k->r);
	if (!obj) {
		return;
	}
	it = json_iter(json_at(obj, "/metadata/finalizers"));
	while (json_next(&it)) {
		if (!str_is(json_str(it.val), NAME_IN_USE)) {
			json_add(a, left, json_dup(a, it.val));
		}
	}
	(void)json_put(a, ops_merge(e, k->r, &op), "/metadata/finalizers", left);
	ops_send(e, k->r, &op, R_STRIP);
}

void remove_copy(struct pass *p, struct record *r, enum rule rule)
{
	struct op op = {.type = OP_DELETE,
			.prio = PRIO_STOP,
			.uid = str_of(r->uid),
			.rv = version_of(r, false)};

	if (!facts_is(r->facts, F_TERMINATING) && pass_ready(p, r)) {
		ops_send(p->e, r, &op, rule);
		members_taken(p);
	}
}

/*
 * Does the copy go because it has not ended? It may end while the delete is on its way, which is
 * refused then. One whose status changes all the time is stopped first, see stop_first, and goes
 * whatever its state is when that does not help.
 */
static bool is_by_state(struct pass *p, const struct clone *k, const struct record *r)
{
	int64_t since = refusal_as_stale(r);

	return p->removing != R_HERE && twin_of_job(p, r) != TWIN_STALE &&
	       !facts_is(r->facts, F_ENDED) && finish_would_owe(p, k) &&
	       !pass_is_due(p, since == INT64_MAX ? since : since + STOPS_MS);
}

/* Does the slice before run there, while the clone of the one that waits is made anew? */
static bool is_running_slice(const struct pass *p, const struct record *r)
{
	return (p->removing == R_SPEC || p->removing == R_STALE) && slices_waits(p) &&
	       !str_eq(r->facts->s[S_PREBUILT], p->w->name);
}

static bool remove_object(struct pass *p, struct clone *k)
{
	struct record *r = twin_record(p, k);

	if (twin_of_job(p, r) == TWIN_UNKNOWN) {
		pass_ask(p, r);
		return false;
	}
	if (!may_remove(p, r, twin_of_job(p, r)) || facts_is(r->facts, F_TERMINATING) ||
	    is_running_slice(p, r) || (twin_of_job(p, r) != TWIN_STALE && group_needs(p, k->c))) {
		return true;
	}
	if (p->removing != R_HERE && !finish_lets_go(p, k)) {
		return false;
	}
	send_delete(p, r, p->removing, is_by_state(p, k, r));
	return false;
}

/*
 * True when no job of ours has to be deleted before the clone. A list that does not come is waited
 * for as long as a lost worker: without its clone a job is stopped by Kueue there, and delays no
 * other cluster's win.
 */
static bool remove_job(struct pass *p, struct clone *k, enum rule rule)
{
	const struct table *t = k->c->tables[p->kind];

	if (p->kind == 0 || table_is_unserved(t)) {
		return true;
	}
	if (k->r && k->r->present && !watches_ready(p->e, k->c, p->kind)) {
		return lost_given_up(p, k->c, p->kind);
	}
	p->removing = rule;
	return members_each(p, k, remove_object);
}

/*
 * The worker refuses to delete the clone or its job, or the job changes all the time: deactivates
 * the clone, so that Kueue there stops the job and starts it no more. True: it was sent.
 */
static bool stop_first(struct pass *p, struct clone *k)
{
	const struct record *job = twin_record(p, k);
	bool job_stays = refusal_of_removal(job) != INT64_MAX && job->present;
	bool stays = refusal_of_removal(k->r) != INT64_MAX && k->r->refusal->rule != R_DEACTIVATE;
	struct op op = {.prio = PRIO_STOP, .subresource = ""};
	struct arena *a = p->e->out->arena;

	if ((!job_stays && !stays) || !clone_is(k, F_ACTIVE) || clone_is(k, F_FINISHED) ||
	    clone_is(k, F_TERMINATING) || !pass_ready(p, k->r)) {
		return false; /* where neither may be written, both are tried by turns */
	}
	(void)json_put(a, ops_merge(p->e, k->r, &op), "/spec/active", json_new_bool(a, false));
	ops_send(p->e, k->r, &op, R_DEACTIVATE);
	return true;
}

/* Is the copy stopped, with nothing there that starts it again? */
static bool is_stopped(const struct pass *p, const struct clone *k)
{
	const struct record *job = twin_record(p, k);
	const uint32_t may_run = F_ACTIVE | F_QUOTA | F_ADMITTED;
	bool idle = k->twin == TWIN_ABSENT ||
		    (k->r && k->r->present && !(k->r->facts->flags & may_run));

	return idle && !p->grouped && job && job->present && !job->unknown && !job->inflight &&
	       facts_is(job->facts, F_SUSPENDED) && !facts_is(job->facts, F_ACTIVE);
}

bool remove_is_passed_over(struct pass *p, struct clone *k)
{
	const struct record *job = twin_record(p, k);
	int64_t timeout = p->e->o.worker_lost_timeout_ms;

	return refusal_of_removal(job) != INT64_MAX && is_stopped(p, k) &&
	       pass_is_due(p, lost_refused_until(p->e, k->c, job, timeout));
}

bool remove_remote(struct pass *p, struct clone *k, enum rule rule)
{
	if (k->twin == TWIN_ALIAS) {
		return true;
	}
	if (k->r && twin_is_ours(twin_recorded(p, k)) && slices_is_inherited(p)) {
		return false; /* a newer slice takes over the job */
	}
	if (may_remove(p, k->r, k->twin) && stop_first(p, k)) {
		return false;
	}
	if (!table_known(k->c, KIND_WORKLOAD) || !remove_job(p, k, rule)) {
		return false;
	}
	if (k->twin == TWIN_UNKNOWN) {
		pass_ask(p, k->r);
		return false;
	}
	if (!may_remove(p, k->r, k->twin)) {
		return true;
	}
	if (clone_is(k, F_HELD)) {
		strip(p, k);
	} else if (!clone_is(k, F_TERMINATING)) {
		send_delete(p, k->r, rule, false);
	}
	return false;
}

void remove_all(struct pass *p, enum rule rule)
{
	for (CLONES_EACH(k, p)) {
		(void)remove_remote(p, k, rule);
	}
}

/*
 * Is it a job of ours whose clone is gone, and has perhaps made room for a Workload that is not
 * ours? The get for the clone also tells whether this is the winner's server under another name.
 */
static bool is_left_alone(struct pass *p, const struct clone *k)
{
	enum twin job = p->kind ? twin_there(p, k) : TWIN_ABSENT;

	if (!twin_is_ours(job) && job != TWIN_STALE) {
		return false;
	}
	return twin_is_anothers(k->twin) ||
	       (k->twin == TWIN_ABSENT &&
		twin_surely_absent(p, k->c->tables[KIND_WORKLOAD], p->w->ns, p->w->name));
}

/* Two names of one server show one clone, also before the server is known to be the same. */
static bool is_same(const struct clone *x, const struct clone *y)
{
	return y && x->r && y->r && x->r->present && y->r->present &&
	       str_eq(str_of(x->r->uid), str_of(y->r->uid));
}

void remove_losers(struct pass *p, const struct clone *keep)
{
	for (CLONES_EACH(k, p)) {
		if (k != keep && !is_same(k, keep) && copied_won_there(p, k) <= 0 &&
		    (twin_is_ours(k->twin) || k->twin == TWIN_STALE || k->twin == TWIN_UNKNOWN ||
		     is_left_alone(p, k))) {
			(void)remove_remote(p, k, k->twin == TWIN_STALE ? R_STALE : R_LOSER);
		}
	}
}

static bool has_none(struct pass *p, struct clone *k)
{
	return twin_surely_absent(p, k->c->tables[p->kind], p->w->ns, p->object);
}

/*
 * One that is admitted may be the winner's, before its job was made: unless the job was sent to
 * another server. A create whose answer is missing may have been sent to this one, under the name
 * that is gone.
 */
static bool may_have_won(const struct pass *p, const struct clone *k)
{
	return clone_is(k, F_ADMITTED) && !copied_elsewhere(p, k);
}

/* Has surely no job, and is not the winner's as far as that is known? */
static bool is_jobless(struct pass *p, struct clone *k)
{
	return !may_have_won(p, k) && watches_ready(p->e, k->c, p->kind) &&
	       twin_there(p, k) == TWIN_ABSENT && members_each(p, k, has_none);
}

void remove_jobless(struct pass *p, const struct clone *keep)
{
	for (CLONES_EACH(k, p)) {
		bool stale = k->twin == TWIN_STALE;

		if (k != keep && (twin_is_ours(k->twin) || stale) &&
		    (copied_won_there(p, k) < 0 || is_jobless(p, k))) {
			(void)remove_remote(p, k, stale ? R_STALE : R_LOSER);
		}
	}
}
