/* SPDX-License-Identifier: Apache-2.0 */
/* Before the win; see race.h. */
#include "core/engine/rules/race.h"

#include "core/engine/act/note.h"
#include "core/engine/act/ssa.h"
#include "core/engine/answers/message.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/assume.h"
#include "core/engine/rules/breaker.h"
#include "core/engine/rules/clone.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/cordon.h"
#include "core/engine/rules/finish.h"
#include "core/engine/rules/former.h"
#include "core/engine/rules/gates.h"
#include "core/engine/rules/group.h"
#include "core/engine/rules/inplace.h"
#include "core/engine/rules/job.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/patience.h"
#include "core/engine/rules/priority.h"
#include "core/engine/rules/remove.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/topology.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/unplaceable.h"
#include "core/engine/rules/verdict.h"
#include "core/engine/rules/wall.h"

enum {
	LOOK_MS = 60 * 1000,    /* wait for the list of jobs so long after the link came up */
	RELEASE_MS = 60 * 1000, /* Kueue takes the quota of what it evicts within this time */
};

bool race_in_sync(struct pass *p, const struct clone *k)
{
	mk_str theirs = k->r->facts->s[S_SPEC_HASH];
	mk_str ours = clone_hash(p);

	return theirs.n == 0 || ours.n == 0 || str_eq(theirs, ours);
}

bool race_is_changed(const struct pass *p, const struct clone *k)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);

	return wc && wc->bout.made_generation == p->f->generation &&
	       k->r->facts->s[S_SPEC_HASH].n > 0;
}

/*
 * Is the clone Finished, inactive, or told to stop (perhaps in the last round, and Kueue there has
 * not yet reacted)? One that Kueue there evicted and queues again keeps its place there and what
 * Kueue counts of it, unless a copy of the job is left from a round that it won.
 */
static bool is_ending(const struct pass *p, const struct clone *k)
{
	return clone_is(k, F_FINISHED) || clone_is(k, F_DEACTIVATION) || !clone_is(k, F_ACTIVE) ||
	       (clone_is(k, F_EVICTED) && twin_is_ours(twin_there(p, k)));
}

/*
 * Evicted, and its quota is not taken there: it is not queued again as long as it has that. Where
 * it stays so, the clone is made anew.
 */
static bool is_stalled(struct pass *p, const struct clone *k)
{
	struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);
	bool stalls = clone_is(k, F_EVICTED | F_QUOTA);

	if (!stalls || !wc) {
		if (wc) {
			wc->bout.evicted_at = 0;
		}
		return false;
	}
	if (wc->bout.evicted_at == 0) {
		wc->bout.evicted_at = p->e->now;
	}
	return pass_is_due(p, wc->bout.evicted_at + RELEASE_MS);
}

/* What the cluster is left out for after that. */
static mk_str end_of_clone(struct pass *p, const struct clone *k, enum rule rule)
{
	if (rule == R_SPEC) {
		return race_is_changed(p, k) ? rest_changed(p, k) : STR("");
	}
	return rest_end_words(p, k);
}

static bool job_is_kept(struct pass *p, struct clone *k)
{
	const struct record *r = twin_record(p, k);

	return !r || !r->present || !r->doomed;
}

/*
 * A delete of an earlier round got no answer. A get has shown the object since, but the delete may
 * still arrive, so nothing may run there before the object is gone.
 */
static bool is_doomed(struct pass *p, struct clone *k)
{
	return k->r->doomed || !members_each(p, k, job_is_kept);
}

/* Removes a clone that cannot win. True when it cannot. */
static bool disqualify(struct pass *p, struct clone *k)
{
	struct wl_cluster *wc;
	enum rule rule;

	if (k->twin == TWIN_STALE) {
		(void)remove_remote(p, k, R_STALE);
		return true;
	}
	if (!twin_is_ours(k->twin)) {
		return false;
	}
	if (!k->in_config || !nominate_is_served(p, k->c) || group_is_elsewhere(p, k->c)) {
		(void)remove_remote(p, k, R_UNNOMINATED);
		return true;
	}
	if (cordon_bars(p, k)) {
		(void)remove_remote(p, k, R_CORDON);
		return true;
	}
	if (is_doomed(p, k)) {
		(void)remove_remote(p, k, R_DISQUALIFIED);
		return true;
	}
	if (!is_ending(p, k) && !is_stalled(p, k) && race_in_sync(p, k)) {
		if (rest_until(p, k->c) <= p->e->now) {
			return clone_is(k, F_TERMINATING);
		}
		(void)remove_remote(p, k, R_UNNOMINATED); /* of a round before */
		return true;
	}
	rule = race_in_sync(p, k) ? R_DISQUALIFIED : R_SPEC;
	if (rule == R_SPEC && inplace_shrink(p, k)) {
		return true;
	}
	if (rule == R_SPEC && breaker_holds(p->e, wl_cluster_known(p->w, k->c->id))) {
		return true;
	}
	wc = wl_cluster(p->e, p->w, k->c->id);
	if (wc && wc->skip_until <= p->e->now) {
		rest_skip(p, wc, end_of_clone(p, k, rule), true);
	}
	if (wc && rule == R_SPEC) {
		wc->bout.changed = race_is_changed(p, k);
		wc->bout.respec = !wc->bout.changed;
	}
	(void)remove_remote(p, k, rule);
	return true;
}

/*
 * A write of an earlier round that ends the clone or its job (delete, deactivation) is under way or
 * may have been applied: the clone must not win.
 */
static bool is_going(struct pass *p, struct record *r)
{
	bool going = r->unknown || r->settling;

	if (r->inflight) {
		going = r->inflight->type == OP_DELETE || r->inflight->type == OP_APPLY_STATUS;
	}

	if (going) {
		pass_ask(p, r);
	}
	return going;
}

/* Is no copy of an earlier round being deleted there, by us or another client? */
static bool job_stays(struct pass *p, struct clone *k)
{
	struct record *r = twin_record(p, k);

	return !r || (!is_going(p, r) &&
		      !(twin_is_ours(twin_of_job(p, r)) && facts_is(r->facts, F_TERMINATING)));
}

/* A clone whose job is being deleted must not win: the job would vanish after the win. */
static bool loses_job(struct pass *p, struct clone *k)
{
	return !(members_each(p, k, job_stays));
}

/* A clone whose job exists comes before one without; then the one that was admitted first. */
static bool is_better(const struct pass *p, const struct clone *k, const struct clone *best)
{
	bool mine = twin_is_ours(twin_there(p, k));
	bool its = best && twin_is_ours(twin_there(p, best));

	return !best || (mine != its ? mine : k->r->admitted_step < best->r->admitted_step);
}

/*
 * Its credentials have changed since it was connected, or it leads to another server than the one
 * on record, if any, by which a win is dated.
 */
static bool leads_anew(const struct cluster *c)
{
	return c->own.moved || c->own.unrecorded;
}

static struct clone *winner(struct pass *p)
{
	struct clone *best = NULL;

	for (CLONES_EACH(k, p)) {
		if (disqualify(p, k) || !twin_is_ours(k->twin) || !clone_is(k, F_ADMITTED) ||
		    clone_is(k, F_EVICTED) || !nominate_has(p, str_of(k->c->name)) ||
		    leads_anew(k->c) || is_going(p, k->r) || !watches_ready(p->e, k->c, p->kind) ||
		    loses_job(p, k)) {
			continue; /* it may be unknown whether its job or its kind exists */
		}
		if (is_better(p, k, best)) {
			best = k;
		}
	}
	return best;
}

/*
 * A new process sees a worker's clones before its jobs. A clone that this process did not create
 * may have a job of an earlier round. Until the list of jobs is known, no other clone wins; but the
 * wait ends, because a list may fail for ever.
 */
static bool may_have_left(struct pass *p, const struct clone *k)
{
	int64_t until = k->c->up_at + LOOK_MS;
	const struct wl_cluster *wc;
	const struct table *t;

	if (!(twin_is_ours(k->twin) || k->twin == TWIN_STALE || copied_in_round_before(p)) ||
	    watches_ready(p->e, k->c, p->kind)) {
		return false;
	}
	wc = wl_cluster(p->e, p->w, k->c->id);
	t = k->c->tables[p->kind]; /* it, or wc, is NULL when out of memory */
	if ((wc && wc->bout.made_generation != 0) || (t && t->service != SERVICE_YES)) {
		return false;
	}
	return !pass_is_due(p, until);
}

/*
 * No job will run there that we could see or delete: the kind has been hidden for as long as a lost
 * worker is waited for, or is missing; and the clone is gone, without which Kueue there has stopped
 * the job.
 */
static bool is_out_of_sight(struct pass *p, const struct clone *k)
{
	return k->twin == TWIN_ABSENT && !watches_ready(p->e, k->c, p->kind) &&
	       (table_view(k->c, p->kind) == VIEW_MISSING || lost_given_up(p, k->c, p->kind));
}

static bool may_run_since_before(struct pass *p, struct clone *k)
{
	bool waits;

	if (!copied_before(p, k->c)) {
		return false;
	}
	waits = !watches_ready(p->e, k->c, p->kind) && table_view(k->c, p->kind) != VIEW_MISSING &&
		!lost_given_up(p, k->c, p->kind);
	k->lacks |= waits; /* so that the watch looks for the kind */
	return waits;
}

/*
 * The same of clusters outside of the config, which may have named them when this process did not
 * run, and of one that it names, whose MultiKueueCluster this process never saw.
 */
static bool may_run_outside(struct pass *p)
{
	const struct engine *e = p->e;
	bool any = false;

	if (!copied_by_workload_before(p)) {
		return false;
	}
	for (WORKERS_EACH(c, e)) {
		struct clone outside = {.c = c};

		any |= !pass_clone_on(p, c) && may_run_since_before(p, &outside);
	}
	for (size_t i = 0; !any && i < p->roster.n_named; i++) {
		if (!cluster_named(e, p->roster.names[i])) {
			any = !pass_is_due(p, lost_after(e, e->start_ms, lost_patience(e)));
		}
	}
	p->anywhere |= any;
	return any;
}

/*
 * Is a copy of the job of an earlier round left on another cluster in reach, or a create of one
 * under way? Its clone there may be admitted again at any time. It is removed before another clone
 * may win, or both jobs would run.
 */
static bool is_left_elsewhere(struct pass *p, const struct clone *best)
{
	bool any = copied_waits(p) | may_run_outside(p) | group_may_be_winning(p);

	for (CLONES_EACH(k, p)) {
		enum twin t = twin_left(p, k);

		any |= !pass_is_due(p, copied_behind_until(p, k->c));
		if (k == best || k->twin == TWIN_ALIAS) {
			continue;
		}
		any |= may_run_since_before(p, k) || copied_unseen(p, k);
		if (!cluster_up(k->c)) {
			any |= slices_is_other(p, twin_record(p, k)) &&
			       !lost_given_up(p, k->c, p->kind);
			continue;
		}
		if (is_out_of_sight(p, k)) {
			continue;
		}
		any |= slices_is_other(p, twin_record(p, k));
		if (t == TWIN_UNKNOWN || t == TWIN_STALE || twin_is_ours(t)) {
			(void)remove_remote(p, k, R_LOSER);
			any |= !remove_is_passed_over(p, k);
		}
		if (k->r && k->r->taken) {
			any = true; /* a create met an unseen object: ours, perhaps */
			pass_ask(p, k->r);
		}
		any |= may_have_left(p, k);
	}
	return any;
}

static void win(struct pass *p, const struct clone *k)
{
	struct engine *e = p->e;
	struct arena *a = e->out->arena;
	mk_str name = arena_dup(a, str_of(k->c->name));
	mk_str message = verdict_admitted_on(a, k);
	struct json *body = ssa_body(p, p->local), *status;

	if (!body) {
		return;
	}
	status = json_get(body, "status");
	/*
	 * Kueue allows clusterName only without nominations. Nominations of another field manager
	 * are removed by taking over the list, empty.
	 */
	json_set(a, status, STR("nominatedClusterNames"),
		 p->f->s[S_NOMINATOR].n > 0 ? json_new_arr(a) : NULL);
	json_set_str(a, status, "clusterName", name);
	(void)topology_ready(p, k, body);
	ssa_check(p, body, CHECK_READY, message);
	ssa_check_time(p, body, copied_wins(p, k));
	ssa_send(e, p->local, body, R_WIN, PRIO_COMMIT, "Normal", message);
	p->w->round.explained = 0; /* what it waited for before is over */
}

/*
 * A Workload of this name on the worker is not ours. An Event says so once; then the cluster rests
 * and is tried again.
 */
static void foreign(struct pass *p, struct clone *k)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);

	if (!wc) {
		return;
	}
	if (!pass_is_due(p, wc->skip_until)) {
		return;
	}
	if (wc->rested) {
		/* Forget the object, so that a create finds out whether it still exists. */
		wc->rested = false;
		record_gone(&p->e->store, k->r, 0, k->r->epoch, p->e->now);
		k->twin = TWIN_ABSENT;
		return;
	}
	wc->rested = true;
	rule_hit(p->e, R_FOREIGN);
	rest_skip(p, wc, STR(""), true);
	if (!wc->reported) {
		wc->reported = true;
		note_warn(p->e, p->local, NULL,
			  "A Workload of this name on worker cluster \"%s\" is not ours; the "
			  "cluster is left out",
			  k->c->name);
	}
}

static void clone_to(struct pass *p, struct clone *k)
{
	struct engine *e = p->e;
	struct op op = {.type = OP_CREATE, .prio = PRIO_START};
	struct table *t = table_of(e, k->c, KIND_WORKLOAD);
	struct record *r = t ? store_touch(&e->store, t, p->w->ns, p->w->name, e->now) : NULL;
	struct wl_cluster *wc = wl_cluster(e, p->w, k->c->id);

	if (!r || !wc) {
		say_no_memory(e);
		return;
	}
	if (!pass_ready(p, r)) {
		patience_asks_later(p, ops_remade_at(r));
		return;
	}
	if (!breaker_may_create(p, wc)) {
		return;
	}
	/* Opens the watch on jobs before the job is created. */
	(void)watches_ready(e, k->c, p->kind);
	watches_use(e, k->c->id, p->kind, &wc->uses, true);
	wc->bout.job_made = false;
	members_new_round(p);
	op.body = clone_body(p);
	op.as = wall_author(p);
	if (op.body) {
		ops_send(e, r, &op, R_CREATE);
		wc->asked = true;
	}
	if (r->inflight) {
		breaker_created(p, k->c, wc);
		assume_clone(p, k);
	}
}

static bool others_ready(const struct pass *p)
{
	for (size_t i = 0; i < p->f->n_checks; i++) {
		if (i != p->check && p->f->states[i] != CHECK_READY) {
			return false;
		}
	}
	return true;
}

static void sync_clones(struct pass *p, const struct pick *pick)
{
	for (CLONES_EACH(k, p)) {
		bool picked = k->in_config && str_in(str_of(k->c->name), pick->names, pick->n);

		if (k->twin == TWIN_UNKNOWN && k->r && k->r->unknown) {
			pass_ask(p, k->r);
		}
		if (k->twin == TWIN_ABSENT) {
			rest_if_vanished(p, k);
		}
		assume_clone(p, k);
		if (picked && k->twin == TWIN_ABSENT && nominate_is_connected(p, k)) {
			clone_to(p, k);
		} else if (picked && twin_is_ours(k->twin) && k->r) {
			priority_sync(p, k);
		} else if (!picked && twin_is_ours(k->twin)) {
			(void)remove_remote(p, k, R_UNNOMINATED);
		}
	}
}

/* A job that has ended does not run again: Kueue finishes the Workload. */
static bool may_dispatch(struct pass *p)
{
	return p->job && facts_is(p->job->facts, F_MANAGED) &&
	       !facts_is(p->job->facts, F_TERMINATING) &&
	       (p->grouped || !facts_is(p->job->facts, F_ENDED)) && facts_is(p->f, F_ACTIVE) &&
	       p->config && others_ready(p);
}

void race_clone_pinned(struct pass *p, struct clone *k)
{
	if (may_dispatch(p) && k->in_config && wall_lets(p) && nominate_is_connected(p, k)) {
		p->pinned = arena_dup(&p->e->scratch, str_of(k->c->name));
		clone_to(p, k);
	}
}

/*
 * A win may have been applied although its answer is missing. Until a get tells, no clone is
 * removed: it may be the winner's.
 */
static bool may_have_won(struct pass *p)
{
	struct record *r = p->local;

	if (r->unknown) {
		pass_ask(p, r);
	}
	return r->unknown || (r->inflight && r->inflight->rule == R_WIN);
}

/* What has ended somewhere, as far as the pass looks, does not run again. */
static bool has_ended(struct pass *p)
{
	struct clone *ended = finish_ended(p);

	if (ended) {
		finish_local(p, ended);
	}
	return ended != NULL;
}

void race_pass(struct pass *p)
{
	struct pick pick = {0};
	struct clone *best;

	if (may_have_won(p)) {
		return;
	}
	if (has_ended(p)) {
		return;
	}
	if (p->job && !wall_lets(p)) {
		return;
	}
	best = winner(p);
	if (best && p->is_narrow) {
		best = pass_look(p) && !has_ended(p) ? winner(p) : NULL;
	}
	if (best) {
		if (is_left_elsewhere(p, best)) {
			message_explain(p);
		} else {
			win(p, best);
		}
		return;
	}
	for (CLONES_EACH(k, p)) {
		if (k->twin == TWIN_FOREIGN && k->in_config) {
			foreign(p, k);
		}
	}
	if (patience_ends(p)) {
		return;
	}
	if (!may_dispatch(p)) {
		message_held(p);
		return;
	}
	if (group_hold(p, &p->pinned) == HOLD_WAIT) {
		return;
	}
	if (former_holds(p)) {
		message_explain(p);
		return;
	}
	nominate_choose(p, &pick);
	if (!pick.valid || p->e->no_memory) {
		gates_turn(p); /* those that were chosen before go on */
		message_held(p);
		return;
	}
	if (unplaceable_rejects(p)) {
		return;
	}
	nominate_write(p, &pick);
	sync_clones(p, &pick);
	gates_turn(p);
	message_explain(p);
}
