/* SPDX-License-Identifier: Apache-2.0 */
/* After the win; see won.h. */
#include "core/engine/rules/won.h"

#include "core/base/timefmt.h"
#include "core/engine/act/note.h"
#include "core/engine/answers/message.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/authority.h"
#include "core/engine/rules/breaker.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/cordon.h"
#include "core/engine/rules/finish.h"
#include "core/engine/rules/former.h"
#include "core/engine/rules/group.h"
#include "core/engine/rules/hidden.h"
#include "core/engine/rules/inplace.h"
#include "core/engine/rules/job.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/patience.h"
#include "core/engine/rules/priority.h"
#include "core/engine/rules/race.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/remove.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/scale.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/tally.h"
#include "core/engine/rules/topology.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/verdict.h"

/*
 * The winner's cluster is in reach, and its jobs of this kind cannot be seen, or the kind is gone:
 * an Event says so at once, Retry follows at the timeout.
 */
static void kind_lost(struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	struct engine *e = p->e;
	const struct table *t = k->c->tables[p->kind];
	mk_str gvk = e->o.kinds->k[p->kind].gvk;
	mk_str why = str_of(t ? t->why : NULL);

	if (!t) {
		return; /* out of memory */
	}
	if (t->service != SERVICE_YES && wc->hidden_said != t->hidden_at && e->may_write) {
		wc->hidden_said = t->hidden_at;
		note_warn(e, p->local, "KindNotServed",
			  "%.*s: the worker cluster \"%s\" that was admitted to %s: the job there "
			  "cannot be seen, and counts as lost after workerLostTimeout%s%.*s",
			  STR_ARG(gvk), k->c->name,
			  table_is_unserved(t) ? "does not serve the kind any more, or not to us"
					       : "cannot say whether it serves the kind",
			  why.n ? ": " : "", STR_ARG(why));
	}
	hidden_lost(
		p, k, hidden_since(k->c, p->kind), R_UNSERVED,
		arena_printf(e->out->arena, "Admitting remote does not serve %.*s", STR_ARG(gvk)));
}

/*
 * The job has run for as long as it may. Kueue on the manager counts as well, from when the winner
 * was on record, and deactivates the Workload; a Retry would run the job once more until then.
 */
static bool is_over_time(struct pass *p, const struct clone *k)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);

	if (!wc || !str_ends(k->r->facts->s[S_REASON], STR("MaximumExecutionTimeExceeded"))) {
		return false;
	}
	if (wc->bout.evicted_at == 0) {
		wc->bout.evicted_at = p->e->now;
	}
	return !pass_is_due(p, wc->bout.evicted_at + p->e->o.worker_lost_timeout_ms);
}

static void evicted(struct pass *p, const struct clone *k)
{
	if (is_over_time(p, k)) {
		return;
	}
	if (p->state == CHECK_READY || p->state == CHECK_PENDING) {
		tally_evicted(p, k);
		verdict_evicted(p, k);
	}
}

/* The worker's API server refuses the job for good, or has not taken it for too long. */
static void refused(struct pass *p, struct clone *k, struct wl_cluster *wc)
{
	mk_str text = arena_printf(p->e->out->arena, "Cannot create the job on \"%s\": %s",
				   k->c->name, wc->why ? wc->why : "");

	verdict_retry(p, k, R_REFUSED, text, "Warning");
}

/*
 * Did a copy exist already, so that creating one would run the job twice? A group's clone does not
 * tell about one member.
 */
static bool was_copied(const struct pass *p, const struct clone *k, const struct wl_cluster *wc)
{
	if (p->grouped) {
		return p->job->member->copied;
	}
	return wc->bout.job_made || k->r->facts->s[S_OWNER_UID].n > 0;
}

int64_t won_given_up_at(const struct pass *p, const struct clone *k, const struct record *job)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);

	if (!wc || !wc->bout.wanted || refusal_since(job) == INT64_MAX ||
	    job->refusal->rule != R_JOB_CREATE) {
		return INT64_MAX;
	}
	return lost_refused_until(p->e, k->c, job, p->e->o.worker_lost_timeout_ms);
}

/* The job could not be created for too long: nothing runs there, and others may take it. */
static bool is_overdue(struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	const struct record *job = twin_record(p, k);

	return pass_is_due(p, won_given_up_at(p, k, job)) &&
	       keep_str(&wc->why,
			job->refusal->words ? str_of(job->refusal->words) : STR("no answer"));
}

static void job_absent(struct pass *p, struct clone *k, struct wl_cluster *wc)
{
	struct table *t = table_of(p->e, k->c, p->kind);
	struct record *r;

	if (p->authority != AUTHORITY_FULL) {
		return; /* making it would begin something */
	}
	if (wc->bout.refused) {
		refused(p, k, wc);
		return;
	}
	if (p->grouped && (p->job->member->ended || facts_is(p->job->facts, F_ENDED))) {
		return; /* the other members go on */
	}
	if (was_copied(p, k, wc)) {
		if (t && twin_surely_absent(p, t, p->w->ns, p->object)) {
			rest_copy_gone(p, k, "job", false);
		}
		return;
	}
	if (!p->job || !facts_is(p->job->facts, F_MANAGED) ||
	    (p->job->facts->flags & (F_TERMINATING | F_ENDED))) {
		return;
	}
	if (!wc->bout.wanted) {
		wc->bout.wanted = true;
		(void)members_each(p, k, refusal_of_before);
	}
	if (is_overdue(p, k, wc)) {
		refused(p, k, wc);
		return;
	}
	if (p->job->inflight) {
		return; /* its answer queues the pass; it may hold the end of an earlier copy */
	}
	r = t ? store_touch(&p->e->store, t, p->w->ns, p->object, p->e->now) : NULL;
	if (!r || (p->grouped && !record_join(&p->e->store, r, p->w->name))) {
		say_no_memory(p->e);
		return;
	}
	job_create(p, k, r);
}

/* Is surely none of the job there, or only what is not ours? */
static bool is_nowhere(struct pass *p, struct clone *k)
{
	enum twin t = twin_of_job(p, twin_record(p, k));

	return t == TWIN_FOREIGN || t == TWIN_OTHER ||
	       (t == TWIN_ABSENT &&
		twin_surely_absent(p, k->c->tables[p->kind], p->w->ns, p->object));
}

void won_run_job(struct pass *p, struct clone *k)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);

	if (p->state == CHECK_PENDING) {
		verdict_ready(p, k);
	}
	if (!wc || p->state == CHECK_RETRY) {
		return;
	}
	if (!watches_ready(p->e, k->c, p->kind)) {
		kind_lost(p, k, wc);
		return;
	}
	if (p->authority != AUTHORITY_FULL && !twin_is_ours(twin_there(p, k)) &&
	    members_each(p, k, is_nowhere)) {
		(void)remove_remote(p, k, R_UNCHECKED); /* it waits for a job that is not made */
		return;
	}
	if (p->grouped && wc->bout.refused) {
		refused(p, k, wc);
	} else if (p->grouped) {
		members_run(p, k, wc);
	} else {
		won_run_object(p, k, wc);
	}
}

void won_run_object(struct pass *p, struct clone *k, struct wl_cluster *wc)
{
	struct record *remote = twin_record(p, k);

	switch (twin_of_job(p, remote)) {
	case TWIN_UNKNOWN:
		pass_ask(p, remote);
		break;
	case TWIN_ABSENT:
		job_absent(p, k, wc);
		break;
	case TWIN_FOREIGN:
		if (p->local->inflight || remote->inflight || !p->e->may_write ||
		    p->authority != AUTHORITY_FULL) {
			break; /* its answer queues the pass, and may be the Retry or the job */
		}
		if (wc->fails > 0 && !wc->rested && !wc->bout.refused) {
			/*
			 * The cluster has rested: one create per round finds out whether the object
			 * still exists.
			 */
			wc->rested = true;
			record_gone(&p->e->store, remote, 0, remote->epoch, p->e->now);
			job_absent(p, k, wc);
			break;
		}
		wc->rested = false;
		wc->bout.refused = true;
		(void)keep_str(&wc->why, STR("an object of this name is there and not ours"));
		job_absent(p, k, wc);
		break;
	case TWIN_STALE:
		remove_copy(p, remote, R_JOB_OTHER);
		break;
	case TWIN_OTHER:
	case TWIN_FORMER:
	case TWIN_ALIAS:
		break;
	case TWIN_GO:
	case TWIN_OURS:
		wc->bout.job_made = true;
		if (wc->bout.ran_at == 0 && !(remote->facts->flags & (F_SUSPENDED | F_ENDED))) {
			wc->bout.ran_at = p->e->now;
		}
		if (p->grouped) {
			p->job->member->copied = true;
			p->job->member->ended = facts_is(remote->facts, F_ENDED);
		} else {
			wc->rested = false;
		}
		if (job_status(p, remote, R_JOB_STATUS, false) == SYNC_SAME &&
		    !facts_is(remote->facts, F_UNUSABLE) && !scale_tell(p, k, remote)) {
			job_forward(p, k, remote);
		}
		break;
	}
}

/*
 * A winner was admitted as it won. To a process that has not seen that, its watch may show a state
 * from before the win: it looks once more.
 */
static bool has_seen_it(struct pass *p, const struct clone *k)
{
	struct record *r = k->r;

	if (r->admitted_step != 0 || r->asked_at != 0) {
		return true;
	}
	if (pass_ready(p, r)) {
		ops_get(p->e, r);
	}
	return false;
}

/* Copies the status of one object whose clone is another manager's by its marks. */
static bool mirror(struct pass *p, struct clone *k)
{
	struct record *r = twin_record(p, k);

	return twin_is_ours(twin_of_job(p, r)) &&
	       job_status(p, r, R_JOB_STATUS, false) == SYNC_SAME;
}

/* Nothing is made or given up, but what runs there under our marks comes home. */
static void anothers_clone(struct pass *p, struct clone *k)
{
	former_tell(p, k);
	if (watches_ready(p->e, k->c, p->kind)) {
		(void)members_each(p, k, mirror);
	}
	message_won(p, k);
}

void won_go_on(struct pass *p, struct clone *k)
{
	if (!twin_is_ours(k->twin)) {
		anothers_clone(p, k);
	} else if (clone_is(k, F_FINISHED) &&
		   (finish_tells_the_end(k) ||
		    slices_is_replaced(p, k->r->facts->s[S_FINISHED_REASON]))) {
		finish_remotely(p, k);
	} else {
		won_run_job(p, k);
	}
}

/* Does the clone give cause for another round? */
static bool is_given_up(struct pass *p, const struct clone *k)
{
	return !clone_is(k, F_ADMITTED) || clone_is(k, F_FINISHED) || clone_is(k, F_EVICTED) ||
	       !race_in_sync(p, k);
}

/*
 * True when the object's status is up to date, so that the winner may be given up. The list of jobs
 * may be older than the clone's end: the job is read once more. A job that the list does not show
 * is read as well: a copy with an origin that the configuration does not name is hidden.
 */
static bool object_told(struct pass *p, struct clone *k)
{
	struct record *r = twin_record(p, k);
	enum twin t = twin_of_job(p, r);
	bool told;

	if (t == TWIN_UNKNOWN) {
		pass_ask(p, r);
		return false;
	}
	if (t == TWIN_ABSENT) {
		return twin_surely_absent(p, k->c->tables[p->kind], p->w->ns, p->object);
	}
	if (!twin_is_ours(t)) {
		return true;
	}
	if (facts_is(r->facts, F_ENDED)) {
		told = job_status(p, r, R_LAST_STATUS, true) == SYNC_SAME;
		if (!told) {
			refusal_owed(p);
		}
		return told;
	}
	if (k->r && !k->r->present && r->asked_at < k->r->gone_at) {
		if (pass_ready(p, r)) {
			ops_get(p->e, r);
		}
		return false;
	}
	return true;
}

/* The same of what was read of late. */
static bool object_read(struct pass *p, struct clone *k)
{
	return twin_is_read(p, k) && object_told(p, k);
}

/*
 * The winner's clone is gone, and no other round may begin. Kueue there stops the copy, and its
 * status goes on to be copied: it may have an end yet. Without a job here it is of no use.
 */
static void unasked_without_clone(struct pass *p, struct clone *k)
{
	if (!p->job && manager_knows(p->e, p->kind)) {
		(void)remove_remote(p, k, R_UNCHECKED);
	} else {
		won_run_job(p, k);
	}
}

/*
 * The winner's clone cannot be used any more. Its job may have ended before, because a worker's
 * Kueue may remove Finished Workloads. An ended job is reported and does not run again, so the job
 * is read before the winner is given up.
 */
static void give_up(struct pass *p, struct clone *k)
{
	if (!watches_ready(p->e, k->c, p->kind)) {
		if (table_view(k->c, p->kind) != VIEW_MISSING) {
			hidden_winner(p, k, p->kind, R_REMOTE_GONE,
				      STR("Admitting remote no longer exists"));
			return;
		}
	} else if (!members_each(p, k, k->twin == TWIN_ABSENT ? object_told : object_read)) {
		return;
	}
	if (p->authority != AUTHORITY_FULL) {
		unasked_without_clone(p, k);
	} else if (k->twin == TWIN_ABSENT) {
		rest_copy_gone(p, k, "Workload", false);
	} else {
		verdict_remote_gone(p, k);
	}
}

/*
 * The clone was made from another spec than the local one: its job is given up, unless the breaker
 * is open.
 */
static void other_spec(struct pass *p, struct clone *k)
{
	bool busy = p->local->inflight != NULL;

	if (inplace_shrink(p, k)) {
		return;
	}
	rule_hit(p->e, R_SPEC);
	if ((p->state != CHECK_READY && p->state != CHECK_PENDING) ||
	    breaker_holds(p->e, wl_cluster_known(p->w, k->c->id))) {
		return;
	}
	give_up(p, k);
	if (!busy && p->local->inflight) {
		breaker_gave_up(p, k->c);
	}
}

static void winner(struct pass *p, struct clone *k)
{
	if (p->authority != AUTHORITY_FULL) {
		won_go_on(p, k);
	} else if (is_given_up(p, k) && finish_has_ended(p, k)) {
		finish_local(p, k);
	} else if (clone_is(k, F_FINISHED)) {
		finish_remotely(p, k);
	} else if (!clone_is(k, F_ADMITTED) && !has_seen_it(p, k)) {
		return;
	} else if (clone_is(k, F_EVICTED)) {
		evicted(p, k);
	} else if (!race_in_sync(p, k)) {
		other_spec(p, k);
	} else if (clone_is(k, F_ADMITTED)) {
		priority_sync(p, k);
		topology_write(p, k);
		won_run_job(p, k);
		message_won(p, k);
	} else {
		give_up(p, k);
	}
}

/*
 * The winner's MultiKueueCluster is gone. Another MultiKueueCluster that the config does not name
 * may lead to its server: a job that ended there still gets its status copied, and does not run
 * again. Its clone may be gone: a worker's Kueue may remove Finished Workloads.
 */
static void cluster_gone(struct pass *p)
{
	for (CLONES_EACH(k, p)) {
		bool has = twin_is_ours(k->twin) || twin_is_ours(twin_recorded(p, k));

		if (has && watches_ready(p->e, k->c, p->kind) && !members_each(p, k, object_told)) {
			return;
		}
	}
	remove_jobless(p, NULL);
	hidden_cluster(p, p->f->s[S_CLUSTER]);
}

/*
 * The clone of a slice that waits: may it be made, or is it there and has not come to an end? One
 * that is admitted waits as well where the job is gone, which ran there: a slice makes none.
 */
static bool may_be_admitted(const struct pass *p, const struct clone *k)
{
	if (!twin_is_ours(k->twin)) {
		return k->twin == TWIN_ABSENT || k->twin == TWIN_STALE;
	}
	return clone_is(k, F_ACTIVE) && !clone_is(k, F_FINISHED) &&
	       (!clone_is(k, F_ADMITTED) || twin_there(p, k) == TWIN_ABSENT);
}

/*
 * A slice waits where its job runs at the size before: has that run ended, or come to nothing? Its
 * end is told with the status; what else befalls it counts as without slices.
 */
static bool run_is_over(struct pass *p, struct clone *k)
{
	struct record *job = twin_record(p, k);
	enum twin twin = twin_of_job(p, job);
	struct clone running = *k;

	if (facts_is(p->job->facts, F_ENDED)) {
		return true;
	}
	if (twin == TWIN_UNKNOWN) {
		pass_ask(p, job);
		return false;
	}
	if (twin == TWIN_ABSENT) {
		if (!twin_surely_absent(p, k->c->tables[p->kind], p->w->ns, p->object)) {
			return false;
		}
		rest_copy_gone(p, k, "job", false);
		return true;
	}
	if (!twin_is_ours(twin)) {
		return false;
	}
	if (facts_is(job->facts, F_ENDED)) {
		refusal_owed(p);
		return true;
	}
	running.r = slices_running(p, k, job);
	if (!clone_is(&running, F_EVICTED) || clone_is(&running, F_FINISHED)) {
		return false;
	}
	evicted(p, &running);
	return true;
}

static void slice_waits(struct pass *p, struct clone *k)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);

	if (!wc) {
		return;
	}
	slices_wait(p, k);
	if (!watches_ready(p->e, k->c, p->kind)) {
		kind_lost(p, k, wc);
	} else if (!p->job || (!run_is_over(p, k) && !patience_ends(p))) {
		message_growing(p, k);
	}
}

const struct cluster *won_named(const struct pass *p, mk_str name)
{
	const struct cluster *c = cluster_named(p->e, name);
	const struct record *r = c ? cluster_record(p->e, c) : NULL;

	return r && str_eq(str_of(r->uid), str_of(c->uid)) ? c : NULL;
}

void won_pass(struct pass *p)
{
	struct clone *k = pass_clone_on(p, won_named(p, p->f->s[S_CLUSTER]));
	int64_t since = k ? lost_elsewhere(p, k) : INT64_MAX;
	struct clone *other = !k || since != INT64_MAX ? copied_winner(p) : NULL, *ran;

	if (copied_is_unread(p)) {
		return;
	}
	if (!other && since != INT64_MAX && hidden_elsewhere(p, k, since)) {
		remove_jobless(p, copied_won_there(p, k) < 0 ? NULL : k);
		return;
	}
	k = other ? other : k ? alias_speaker(k) : NULL;
	if (k && alias_is_known(k->c)) {
		remove_losers(p, k); /* else a loser may be the winner under another name */
	}
	if (!k) {
		cluster_gone(p);
		return;
	}
	p->w->round.lost_at = INT64_MAX;
	if (twin_is_ours(k->twin) && finish_tells_the_end(k)) {
		finish_remotely(p, k); /* whatever became of its cluster since */
	} else if (p->authority == AUTHORITY_FULL && p->config && !k->in_config) {
		give_up(p, k);
	} else if (p->authority == AUTHORITY_FULL &&
		   (cordon_drains(p, k) || group_gives_way(p, k))) {
		return;
	} else if (table_known(k->c, KIND_WORKLOAD) && (ran = slices_run_ended(p, k)) != NULL) {
		finish_local(p, ran);
	} else if (slices_waits(p) && may_be_admitted(p, k)) {
		slice_waits(p, k);
	} else if (twin_is_ours(k->twin)) {
		winner(p, k);
	} else if (k->twin == TWIN_FORMER) {
		anothers_clone(p, k);
	} else if (k->twin != TWIN_UNKNOWN) {
		if (k->twin != TWIN_ABSENT ||
		    twin_surely_absent(p, k->c->tables[KIND_WORKLOAD], p->w->ns, p->w->name)) {
			give_up(p, k);
		} else if (k->r && k->r->refusal && !p->owed) {
			p->owed = k->r;
		}
	} else {
		if (k->r && k->r->unknown) {
			pass_ask(p, k->r); /* not of a worker out of reach */
		}
		hidden_winner(p, k, KIND_WORKLOAD, R_LOST, STR("Admitting remote lost"));
	}
}
