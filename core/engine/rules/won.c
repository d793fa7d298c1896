/* SPDX-License-Identifier: Apache-2.0 */
/* After the win; see won.h. */
#include "core/engine/rules/won.h"

#include "core/base/timefmt.h"
#include "core/engine/act/note.h"
#include "core/engine/answers/message.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/breaker.h"
#include "core/engine/rules/cordon.h"
#include "core/engine/rules/finish.h"
#include "core/engine/rules/former.h"
#include "core/engine/rules/inplace.h"
#include "core/engine/rules/job.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/patience.h"
#include "core/engine/rules/priority.h"
#include "core/engine/rules/race.h"
#include "core/engine/rules/remove.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/scale.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/tally.h"
#include "core/engine/rules/topology.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/verdict.h"

enum {
	HIDDEN_SAY_MS = 30 * 1000, /* most outages are shorter */
	REFUSAL_MAX = 256,         /* of a worker's words about the job */
};

/*
 * Retry, when the winner's clone or job could not be seen since 'since' for workerLostTimeout,
 * unless another cluster shows that the job has ended. INT64_MAX: it will be seen soon, and that
 * queues the pass.
 */
static void lost(struct pass *p, int64_t since, enum rule rule, mk_str words)
{
	struct clone *ended;

	if (!pass_is_due(p, lost_deadline(p->e, since))) {
		return;
	}
	ended = race_ended_copy(p);
	if (ended) {
		finish_local(p, ended);
	} else {
		verdict_retry(p, rule, words, NULL);
	}
}

/*
 * The check still says where the Workload was admitted, as in Kueue. When the cluster was out of
 * reach for a while, an Event says so, and when the job counts as lost.
 */
static void tell_hidden(struct pass *p, const struct cluster *c)
{
	struct engine *e = p->e;
	int64_t since = hidden_since(c, KIND_WORKLOAD), deadline = lost_deadline(e, since);
	int64_t patience = e->o.worker_lost_timeout_ms / 4;
	struct wl_cluster *wc = wl_cluster(e, p->w, c->id);
	mk_str from, then;

	if (!wc || since == INT64_MAX || wc->hidden_said == since || !e->may_write ||
	    !pass_is_due(p, since + (patience < HIDDEN_SAY_MS ? patience : HIDDEN_SAY_MS)) ||
	    e->now >= deadline) {
		return;
	}
	wc->hidden_said = since;
	from = time_rfc3339(&e->scratch, e->wall - (e->now - since));
	then = deadline == INT64_MAX
		       ? STR("its return is waited for without limit (lostWorkerPolicy: Keep)")
		       : arena_printf(
				 &e->scratch,
				 "the job there counts as lost at %.*s "
				 "(workerLostTimeout), and is queued again then",
				 STR_ARG(time_rfc3339(&e->scratch, e->wall + (deadline - e->now))));
	note_warn(e, p->local, "WorkerUnreachable",
		  "The worker cluster \"%s\" that was admitted to is out of reach since %.*s: %.*s",
		  c->name, STR_ARG(from), STR_ARG(then));
}

static void winner_lost(struct pass *p, const struct cluster *c)
{
	tell_hidden(p, c);
	lost(p, hidden_since(c, KIND_WORKLOAD), R_LOST, STR("Admitting remote lost"));
}

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
	lost(p, hidden_since(k->c, p->kind), R_UNSERVED,
	     arena_printf(e->out->arena, "Admitting remote does not serve %.*s", STR_ARG(gvk)));
}

static void evicted(struct pass *p, const struct clone *k)
{
	mk_str text = arena_printf(p->e->out->arena,
				   "Workload evicted on worker cluster: \"%s\", resetting for "
				   "re-admission. Previously: \"%s\"",
				   k->c->name, p->state == CHECK_PENDING ? "Pending" : "Ready");

	/*
	 * Pending with a recorded cluster: another client reset the check. Without Retry nothing
	 * would dispatch the job again.
	 */
	if (p->state == CHECK_READY || p->state == CHECK_PENDING) {
		tally_evicted(p, k);
		verdict_write(p, CHECK_RETRY, R_EVICTED, text, "Normal");
	}
}

/* The worker's API server refuses the job for good. */
static void refused(struct pass *p, struct clone *k, struct wl_cluster *wc)
{
	mk_str text = arena_printf(p->e->out->arena, "Cannot create the job on \"%s\": %s",
				   k->c->name, wc->why ? wc->why : "");

	bool busy = p->local->inflight != NULL;

	verdict_retry(p, R_REFUSED, text, "Warning");
	if (!busy && p->local->inflight) {
		wc->bout.refused = false;
		rest_skip(p, wc,
			  arena_printf(&p->e->scratch,
				       "worker cluster \"%s\" refused the job: %.*s", k->c->name,
				       STR_ARG(str_cut(str_of(wc->why), REFUSAL_MAX))),
			  false);
	}
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

static void job_absent(struct pass *p, struct clone *k, struct wl_cluster *wc)
{
	struct table *t = table_of(p->e, k->c, p->kind);
	struct record *r;

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

void won_run_job(struct pass *p, struct clone *k)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);

	if (p->state == CHECK_PENDING) {
		verdict_write(p, CHECK_READY, R_READY, verdict_admitted_on(p->e->out->arena, k),
			      "Normal");
	}
	if (!wc || p->state == CHECK_RETRY) {
		return;
	}
	if (!watches_ready(p->e, k->c, p->kind)) {
		kind_lost(p, k, wc);
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
		if (p->local->inflight || !p->e->may_write) {
			break; /* its answer queues the pass; it may be the Retry */
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
		if (p->grouped) {
			p->job->member->copied = true;
			p->job->member->ended = facts_is(remote->facts, F_ENDED);
		} else {
			wc->fails = 0;
			wc->rested = false;
		}
		if (job_status(p, remote, R_JOB_STATUS, false) == SYNC_SAME &&
		    !scale_tell(p, k, remote)) {
			job_forward(p, k, remote);
		}
		break;
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
	if ((p->state != CHECK_READY && p->state != CHECK_PENDING) || breaker_holds(p->e)) {
		return;
	}
	verdict_remote_gone(p);
	if (!busy && p->local->inflight) {
		breaker_gave_up(p, k->c);
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

static void winner(struct pass *p, struct clone *k)
{
	if (clone_is(k, F_FINISHED)) {
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
	} else {
		verdict_remote_gone(p);
	}
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
		return job_status(p, r, R_LAST_STATUS, true) == SYNC_SAME;
	}
	if (k->r && !k->r->present && r->asked_at < k->r->gone_at) {
		if (pass_ready(p, r)) {
			ops_get(p->e, r);
		}
		return false;
	}
	return true;
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
	if (p->w->round.lost_at == INT64_MAX) {
		p->w->round.lost_at = p->e->now;
	}
	lost(p, p->w->round.lost_at, R_LOST, STR("Admitting remote lost"));
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
			lost(p, hidden_since(k->c, p->kind), R_REMOTE_GONE,
			     STR("Admitting remote no longer exists"));
			return;
		}
	} else if (!members_each(p, k, object_told)) {
		return;
	}
	if (k->twin == TWIN_ABSENT) {
		rest_copy_gone(p, k, "Workload", false);
	} else {
		verdict_remote_gone(p);
	}
}

/*
 * The winner's MultiKueueCluster is gone, perhaps because it was renamed. A job of this round
 * exists only on the cluster that was recorded, so the clone with a job is the winner.
 */
static struct clone *renamed_winner(struct pass *p)
{
	for (CLONES_EACH(k, p)) {
		if (k->in_config && twin_is_ours(k->twin) && twin_is_ours(twin_recorded(p, k))) {
			return k;
		}
	}
	return NULL;
}

/* The clone of a slice that waits: may it be made, or is it there and has not come to an end? */
static bool may_be_admitted(const struct clone *k)
{
	if (!twin_is_ours(k->twin)) {
		return k->twin == TWIN_ABSENT || k->twin == TWIN_STALE;
	}
	return clone_is(k, F_ACTIVE) && !clone_is(k, F_ADMITTED) && !clone_is(k, F_FINISHED);
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

	if (!p->job || facts_is(p->job->facts, F_ENDED)) {
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
	if (!twin_is_ours(twin) || facts_is(job->facts, F_ENDED)) {
		return twin_is_ours(twin);
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
	} else if (!run_is_over(p, k) && !patience_ends(p)) {
		message_growing(p, k);
	}
}

void won_pass(struct pass *p)
{
	struct clone *k = pass_clone_on(p, cluster_named(p->e, p->f->s[S_CLUSTER]));

	k = k ? alias_speaker(k) : renamed_winner(p);
	if (k && alias_is_known(k->c)) {
		remove_losers(p, k); /* else a loser may be the winner under another name */
	}
	if (!k) {
		cluster_gone(p);
		return;
	}
	p->w->round.lost_at = INT64_MAX;
	if (p->config && !k->in_config) {
		give_up(p, k);
	} else if (cordon_drains(p, k)) {
		return;
	} else if (slices_waits(p) && may_be_admitted(k)) {
		slice_waits(p, k);
	} else if (twin_is_ours(k->twin)) {
		winner(p, k);
	} else if (k->twin == TWIN_FORMER) {
		former_tell(p, k);
	} else if (k->twin != TWIN_UNKNOWN) {
		if (k->twin != TWIN_ABSENT ||
		    twin_surely_absent(p, k->c->tables[KIND_WORKLOAD], p->w->ns, p->w->name)) {
			give_up(p, k);
		}
	} else {
		if (k->r && k->r->unknown) {
			pass_ask(p, k->r);
		}
		winner_lost(p, k->c); /* no get is sent to a worker out of reach */
	}
}
