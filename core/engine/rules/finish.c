/* SPDX-License-Identifier: Apache-2.0 */
/* The clone is Finished; see finish.h. */
#include "core/engine/rules/finish.h"

#include "core/base/hash.h"
#include "core/engine/act/ssa.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/job.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/verdict.h"
#include "core/engine/store/ending.h"

enum {
	LAST_STATUS_WAIT_MS = 1000,
	CORE_FINISH_WAIT_MS = 500,
	/*
	 * Of refusals of the status that the copy has. With the rest that follows the last of them,
	 * these are ten seconds.
	 */
	SMALLEST_AFTER_MS = 5 * 1000,
	LIST_WAIT_MS = 15 * 60 * 1000, /* for a list that shows how the job ended */
};

/* As 'f' says, the facts of the clone. */
static void write_finished(struct pass *p, const struct facts *f)
{
	struct json *body = ssa_body(p, p->local);

	if (!body) {
		return;
	}
	ssa_condition(p->e, body, "Finished", f->s[S_FINISHED_REASON], f->s[S_FINISHED_MESSAGE],
		      p->f->generation);
	ssa_send(p->e, p->local, body, R_FINISHED, PRIO_STATUS, NULL, STR_NONE);
}

/* Where a slice was replaced, the job goes on as the next one. */
static bool tells_the_end(const struct facts *f)
{
	mk_str reason = f->s[S_FINISHED_REASON];

	return facts_is(f, F_FINISHED) && !str_is(reason, "OwnerNotFound") &&
	       !str_is(reason, "OutOfSync") && !str_is(reason, "FailedToStart") &&
	       !str_is(reason, NAME_REPLACED);
}

/*
 * The watch on Workloads may be ahead of the one on jobs. Waits a moment for the job's end, then
 * reads the job once, before the Workload's Finished lets the job be removed.
 */
static bool last_status_seen(struct pass *p, struct record *remote)
{
	struct pace *pace = p->pace;
	uint32_t copy = (uint32_t)hash64(str_of(remote->uid));

	if (facts_is(remote->facts, F_ENDED)) {
		return true;
	}
	if (pace->finish_at == INT64_MAX || pace->finish_of != copy) {
		pace->finish_at = p->e->now + LAST_STATUS_WAIT_MS;
		pace->finish_of = copy;
		pace->finish_asked = false;
	}
	if (!pass_is_due(p, pace->finish_at)) {
		return false;
	}
	if (remote->inflight || remote->retry_at > p->e->now) {
		pass_again(p, p->e->now + LAST_STATUS_WAIT_MS);
		return false;
	}
	if (!pace->finish_asked || remote->fails > 0) {
		/* After a failure the get is sent again. */
		ops_get(p->e, remote);
		pace->finish_asked = remote->inflight != NULL;
		pass_again(p, p->e->now + LAST_STATUS_WAIT_MS);
		return false;
	}
	return true;
}

/*
 * Kueue on the manager writes Finished as well, as soon as it sees the local job's end, with the
 * same words, since the job's conditions are copies. The second writer wastes a request or meets a
 * conflict, so Kueue gets a moment.
 */
static bool core_had_its_turn(struct pass *p)
{
	struct wl *w = p->w;

	if (!p->job || !facts_is(p->job->facts, F_ENDED)) {
		return true;
	}
	if (w->round.core_until == INT64_MAX) {
		w->round.core_until = p->e->now + CORE_FINISH_WAIT_MS;
	}
	return pass_is_due(p, w->round.core_until);
}

/*
 * The manager has refused the job's last status for workerLostTimeout. The Workload turns Finished
 * without it, so that its quota is free; the copy stays, and its end stays owed (finish_owes).
 */
static bool is_refused_for_long(struct pass *p)
{
	int64_t since = refusal_since(p->job);

	return since != INT64_MAX && pass_is_due(p, since + p->e->o.worker_lost_timeout_ms);
}

/* The same, when the manager does not let us see its jobs. */
static bool is_unseen_for_long(struct pass *p)
{
	int64_t since = hidden_since(p->e->clusters[CLUSTER_MANAGER], p->kind);

	return since != INT64_MAX && pass_is_due(p, since + p->e->o.worker_lost_timeout_ms);
}

/*
 * Is what was last seen of the local job so? Where the manager was restored, its store has not what
 * was written since, until a list shows it again.
 */
static bool is_believed(struct pass *p)
{
	return manager_knows(p->e, p->kind) || is_unseen_for_long(p);
}

/* Does the local job, which is there, have its end? */
static bool has_end(struct pass *p)
{
	return facts_is(p->job->facts, F_ENDED) && is_believed(p);
}

/* Is what was to be written there? Else it is owed. */
static bool is_home(struct pass *p, enum sync done)
{
	bool home = done == SYNC_SAME && is_believed(p);

	if (!home) {
		refusal_owed(p);
	}
	return home;
}

/*
 * The job cannot be seen: the clone's Finished is the last word, and is written to the local job.
 */
static bool end_is_told(struct pass *p, const struct clone *k)
{
	return p->grouped || is_home(p, job_ended_status(p, k->r->facts)) || is_refused_for_long(p);
}

/*
 * Has the local job the end of its copy? 'words' is the Workload or clone that is Finished, NULL:
 * none. While the manager refuses the status of the copy for what it is, every other write is the
 * smallest status that says the end: a policy or a limit may let that pass.
 */
static bool end_is_home(struct pass *p, struct record *remote, const struct facts *words)
{
	struct refusal *f = refusal_of_object(p->job) == INT64_MAX ? NULL : p->job->refusal;
	enum sync done = SYNC_WAIT;
	bool smallest, was;

	ending_owe(store_find(remote->table, remote->ns, remote->name)); /* not of a view's copy */
	if (!f) {
		done = job_status(p, remote, R_LAST_STATUS, true);
		return is_home(p, p->status_unfit && words ? job_ended_status(p, words) : done);
	}
	if (has_end(p)) {
		return true; /* the end was taken, the rest of the status is not */
	}
	was = p->job->inflight;
	smallest = words && !f->smallest && f->last_at - f->object_since >= SMALLEST_AFTER_MS &&
		   job_ended_status(p, words) == SYNC_WAIT;
	done = smallest ? SYNC_WAIT : job_status(p, remote, R_LAST_STATUS, true);
	if (!was && p->job->inflight) {
		f->smallest = smallest;
	}
	return is_home(p, done);
}

/*
 * Is there surely no object here to report to: a copy without a member, or a job that was deleted?
 * A new process learns of Workloads before it learns of jobs, and a manager that lets us see no
 * jobs may have it.
 */
static bool lacks_object(const struct pass *p)
{
	enum view view = table_view(p->e->clusters[CLUSTER_MANAGER], p->kind);

	return !p->job && (view == VIEW_KNOWN || view == VIEW_MISSING);
}

/* The same of an end that is known: one that may have an object here waits until that is seen. */
static bool is_unwanted(struct pass *p)
{
	bool lacks = lacks_object(p);

	if (!lacks) {
		refusal_owed(p);
	}
	return lacks;
}

/* Did the clone that is gone stand for this Workload, and was it ours to the end? */
static bool was_its_clone(const struct pass *p, const struct facts *f)
{
	mk_str manager = f->s[S_MANAGER_ID];

	return p->local && str_eq(f->s[S_LOCAL_UID], str_of(p->local->uid)) &&
	       (manager.n == 0 || str_eq(manager, str_of(p->e->manager_id)));
}

/* How the clone of this Workload ended, there or gone; NULL: it did not, as far as we saw. */
static const struct facts *words_of(const struct pass *p, const struct clone *k)
{
	const struct ending *x = k->r ? k->r->ending : NULL;

	if (clone_is(k, F_FINISHED) && !twin_is_anothers(k->twin)) {
		return k->r->facts;
	}
	if (facts_is(p->f, F_FINISHED)) {
		return p->f;
	}
	return x && k->r && !k->r->present && tells_the_end(x->facts) && was_its_clone(p, x->facts)
		       ? x->facts
		       : NULL;
}

/*
 * The winner's cluster: where another client has cleared its name, the check's message still has
 * it. NULL: none has won, or it has no MultiKueueCluster.
 */
static const struct cluster *winner_of(struct pass *p)
{
	bool cleared =
		p->f->s[S_CLUSTER].n == 0 && p->state == CHECK_READY && !facts_is(p->f, F_FINISHED);

	return cluster_named(p->e, cleared ? verdict_told_winner(p) : p->f->s[S_CLUSTER]);
}

/*
 * May an end that was seen there be that of this round? Once a place has won, it is its alone,
 * under whichever name of its server. A winner without a MultiKueueCluster may have another name.
 */
static bool counts(struct pass *p, const struct clone *k)
{
	const struct cluster *winner = winner_of(p);
	int there = copied_won_there(p, k);

	return there != 0 ? there > 0
			  : !winner || k->c == winner || alias_same_server(k->c, winner);
}

/*
 * A member of a group that has ended is not run again where the others win next: its end counts
 * until it has a copy there.
 */
static bool is_kept_end(struct pass *p, const struct record *local, mk_str name)
{
	const struct cluster *winner = winner_of(p);

	return p->grouped && local && local->member && local->member->ended && winner &&
	       !store_get(winner->tables[p->kind], p->w->ns, name);
}

static bool object_counts(struct pass *p, const struct clone *k)
{
	return counts(p, k) || is_kept_end(p, p->job, p->object);
}

/*
 * Has another place run the job after this copy of it? The local job has the start of the run that
 * was seen last. The end of the one before is no news, and its times do not fit the status.
 */
static bool is_outrun(struct pass *p, const struct clone *k, const struct record *copy)
{
	return !str_is(p->f->s[S_CLUSTER], k->c->name) && job_began_after(p, copy);
}

/*
 * The record as it was when its object, a copy of the local one, was seen to have ended. False: it
 * was not.
 */
static bool end_of(const struct pass *p, const struct record *r, struct record *ret)
{
	return ending_seen(r, ret) && facts_is(ret->facts, F_ENDED) &&
	       twin_is_ours(twin_of_job(p, ret));
}

/* Has the local object the end that its copy there was seen to have, if it was seen? */
static bool copy_is_told(struct pass *p, struct clone *k)
{
	struct record seen;
	bool told = true;

	if (!end_of(p, twin_record(p, k), &seen)) {
		return true;
	}
	if (!p->job) {
		return is_unwanted(p);
	}
	if (!facts_is(p->job->facts, F_MANAGED) || facts_is(p->job->facts, F_TERMINATING) ||
	    has_end(p)) {
		return true;
	}
	if (!seen.kept) {
		return !words_of(p, k) || is_home(p, job_ended_status(p, words_of(p, k)));
	}
	if (!is_outrun(p, k, &seen)) {
		told = end_is_home(p, &seen, words_of(p, k));
	}
	p->copy_of = NULL; /* 'seen' ends here */
	p->copy_json = NULL;
	return told;
}

bool finish_is_told(struct pass *p)
{
	bool told = true;

	for (CLONES_EACH(k, p)) {
		told &= members_each(p, k, copy_is_told);
	}
	return told;
}

bool finish_lets_go(struct pass *p, struct clone *k)
{
	return !p->local || facts_is(p->f, F_TERMINATING) || !object_counts(p, k) ||
	       copy_is_told(p, k);
}

bool finish_would_owe(struct pass *p, const struct clone *k)
{
	return p->local && !facts_is(p->f, F_TERMINATING) && counts(p, k) && p->job &&
	       facts_is(p->job->facts, F_MANAGED) && !facts_is(p->job->facts, F_TERMINATING) &&
	       !has_end(p);
}

bool finish_has_ended(struct pass *p, const struct clone *k)
{
	const struct record *copy = twin_record(p, k);

	return !p->grouped && k->twin != TWIN_ALIAS && twin_is_ours(twin_there(p, k)) &&
	       (facts_is(copy->facts, F_ENDED) ||
		(twin_is_ours(k->twin) && finish_tells_the_end(k))) &&
	       !job_ended_elsewhere(p, copy) && !is_outrun(p, k, copy);
}

/*
 * The same where the job is not seen, or is gone: as the clone said when it was seen last. It won
 * in this round, or a job is its owner, and so was made there in one before: on a clone that never
 * won another client's Finished is no end.
 */
static bool has_ended_unseen(struct pass *p, const struct clone *k)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);
	enum twin job = twin_there(p, k);

	return k->twin != TWIN_ALIAS && finish_tells_the_end(k) &&
	       (job == TWIN_UNKNOWN || job == TWIN_ABSENT) &&
	       twin_is_ours(twin_of_clone_seen(p, k->r)) && counts(p, k) &&
	       (winner_of(p) == k->c || (wc && wc->bout.won_at != 0) ||
		k->r->facts->s[S_OWNER_UID].n > 0);
}

struct clone *finish_ended(struct pass *p)
{
	struct clone *ran = NULL;

	for (CLONES_EACH(k, p)) {
		if (finish_has_ended(p, k) || has_ended_unseen(p, k)) {
			return k;
		}
		ran = ran || !counts(p, k) ? ran : slices_run_ended(p, k);
	}
	return ran;
}

/* The same of a copy that is gone; one that is there is the winner's to report. */
static bool gone_is_told(struct pass *p, struct clone *k)
{
	const struct record *r = twin_record(p, k);
	struct record seen;

	if (!r || !object_counts(p, k)) {
		return true;
	}
	/* The copy may have been that of a member before this one of the same name. */
	if (p->grouped && p->job && end_of(p, r, &seen)) {
		p->job->member->ended = true;
	}
	return r->present || !r->ending || copy_is_told(p, k);
}

static bool is_gone(struct pass *p, struct clone *k)
{
	const struct record *r = twin_record(p, k);

	return !r || !r->present;
}

/*
 * How a clone ended that is gone, without a copy that can say more: one that is there comes to the
 * same end, which its own watch may show later.
 */
static const struct facts *last_words(struct pass *p, struct clone *k)
{
	return !clone_is(k, F_FINISHED) && members_each(p, k, is_gone) ? words_of(p, k) : NULL;
}

/*
 * Has a place won, in this round or in the one that an eviction ends? Before that no copy is made,
 * and another client's Finished on a clone is no end.
 */
static bool has_won(const struct pass *p)
{
	return p->f->s[S_CLUSTER].n > 0 || p->state == CHECK_READY || facts_is(p->f, F_EVICTED);
}

bool finish_seen(struct pass *p)
{
	const struct facts *words = NULL, *last;
	bool told = true;

	if (p->e->store.n_endings == 0 || !p->kind) {
		return false;
	}
	for (CLONES_EACH(k, p)) {
		told &= members_each(p, k, gone_is_told);
		last = has_won(p) && counts(p, k) ? last_words(p, k) : NULL;
		words = last ? last : words;
	}
	if (words && told && !p->grouped) {
		told = is_home(p, job_ended_status(p, words)); /* no copy is left to say it */
	}
	if (words && (told || is_refused_for_long(p))) {
		if (core_had_its_turn(p)) {
			write_finished(p, words);
		}
		return true;
	}
	return !told && (words || !p->grouped);
}

/* Is there no more to tell of this Workload? A slice that takes over has the end of the copy. */
static bool is_over(const struct pass *p)
{
	return !p->local || facts_is(p->f, F_TERMINATING) ||
	       (facts_is(p->f, F_FINISHED) && !p->w->owes);
}

static void forget(struct pass *p, struct table *t, bool over)
{
	const struct group *g = t ? store_group(t, p->w->ns, p->w->name) : NULL;
	const struct table *here = manager_table(p->e, p->kind);
	struct record *r = store_find(t, p->w->ns, p->object);

	if (r && !p->grouped) {
		ending_free(&p->e->store, r);
	}
	if (!g) {
		return;
	}
	for (LIST_EACH_AS(struct member, m, &g->members, node)) {
		mk_str name = m->record->name;

		if (over || !is_kept_end(p, store_get(here, p->w->ns, name), name)) {
			ending_free(&p->e->store, m->record);
		}
	}
}

bool finish_keeps(const struct pass *p, const struct clone *k)
{
	const struct table *t = p->kind ? k->c->tables[p->kind] : NULL;
	const struct group *g = t ? store_group(t, p->w->ns, p->w->name) : NULL;
	const struct record *r = t ? store_find(t, p->w->ns, p->object) : NULL;
	bool any = r && r->ending && !is_over(p);

	if (p->e->store.n_endings == 0 || !g) {
		return any;
	}
	for (LIST_EACH_AS(const struct member, m, &g->members, node)) {
		any |= m->record->ending != NULL;
	}
	return any;
}

void finish_forget(struct pass *p)
{
	bool over = is_over(p), inherited = over && slices_is_inherited(p);

	for (CLONES_EACH(k, p)) {
		bool past = !inherited && (over || !counts(p, k));

		if (past && k->r) {
			ending_free(&p->e->store, k->r);
		}
		if (past && p->kind) {
			forget(p, k->c->tables[p->kind], over);
		}
	}
}

/* True when this object's status is up to date. */
static bool object_done(struct pass *p, struct clone *k)
{
	struct table *t = k->c->tables[p->kind];
	struct record *remote = twin_record(p, k);
	enum twin twin = twin_of_job(p, remote);

	if (!p->job && (p->grouped || !lacks_object(p))) {
		return is_unwanted(p) || is_unseen_for_long(p);
	}
	if (table_view(k->c, p->kind) != VIEW_KNOWN) {
		return end_is_told(p, k);
	}
	if (p->grouped && twin == TWIN_ABSENT && has_end(p)) {
		return true;
	}
	if (twin == TWIN_ABSENT && !twin_surely_absent(p, t, p->w->ns, p->object)) {
		return false;
	}
	if (twin == TWIN_UNKNOWN) {
		pass_ask(p, remote);
		return false;
	}
	if (!twin_is_ours(twin)) {
		return (copy_is_told(p, k) && end_is_told(p, k)) || is_refused_for_long(p);
	}
	/* Where its server was restored, the clone alone has shown the end. */
	return last_status_seen(p, remote) &&
	       (end_is_home(p, remote, words_of(p, k)) || is_refused_for_long(p)) &&
	       (facts_is(remote->facts, F_ENDED) || end_is_told(p, k));
}

/*
 * The list that shows the job's end may come late; after LIST_WAIT_MS the quota is given back
 * without it.
 */
static bool is_list_awaited(struct pass *p, const struct clone *k)
{
	int64_t since = hidden_since(k->c, p->kind);

	return !watches_ready(p->e, k->c, p->kind) && table_view(k->c, p->kind) == VIEW_HIDDEN &&
	       !pass_is_due(p, since == INT64_MAX ? since : since + LIST_WAIT_MS);
}

void finish_local(struct pass *p, struct clone *k)
{
	if (is_list_awaited(p, k)) {
		return;
	}
	if (members_each(p, k, object_done) && finish_tells_the_end(k) && core_had_its_turn(p)) {
		write_finished(p, k->r->facts);
	}
}

bool finish_owes(struct pass *p)
{
	bool owes = false;

	for (CLONES_EACH(k, p)) {
		owes |= !members_each(p, k, finish_lets_go);
	}
	p->w->owes = owes; /* before the pass that may: keep_text() keeps the Workload's */
	return owes;
}

bool finish_tells_the_end(const struct clone *k)
{
	return clone_is(k, F_FINISHED) && tells_the_end(k->r->facts);
}

void finish_remotely(struct pass *p, struct clone *k)
{
	mk_str reason = k->r->facts->s[S_FINISHED_REASON];

	if (slices_is_replaced(p, reason)) {
		return; /* Kueue finishes the local Workload for the same reason */
	}
	if (str_is(reason, "OutOfSync")) {
		verdict_out_of_sync(p, k);
	} else if (str_is(reason, "OwnerNotFound")) {
		/* The job was removed on the worker: that does not tell how it ended. */
		rest_copy_gone(p, k, "job", true);
	} else if (str_is(reason, "FailedToStart")) {
		verdict_not_started(p, k);
	} else {
		finish_local(p, k);
	}
}
