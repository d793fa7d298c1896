/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the win: status.clusterName names the one cluster whose clone counts. Losers go, the job is made there, its
 * status comes back; a lost, vanished, evicted or refused winner turns the check to Retry, and Kueue's core does the rest.
 */
#include "core/engine/pass.h"

enum {
	START_GRACE_MS = 60 * 1000,
	STATUS_GIVE_UP = 8,
	LAST_STATUS_WAIT_MS = 1000,
	CORE_FINISH_WAIT_MS = 500
};

static void write_check(struct pass *p, enum check_state state, enum rule rule, mk_str message,
			const char *note_type)
{
	struct json *body;

	if (!ops_ready(p->e, p->local, &p->w->item)) {
		return;
	}
	body = ssa_body(p->e, p->local);
	if (!body) {
		(void)pass_workload(p);
		return;
	}
	ssa_check(p, body, state, message);
	ssa_send(p->e, p->local, body, rule, PRIO_COMMIT, note_type, message);
}

static mk_str with_previous(struct pass *p, mk_str text)
{
	return arena_printf(p->e->out->arena, "%.*s, Previously: \"%s\"", STR_ARG(text),
			    check_state_name(p->state));
}

void retry(struct pass *p, enum rule rule, mk_str text, const char *note_type)
{
	if (p->state == CHECK_READY || p->state == CHECK_PENDING) {
		write_check(p, CHECK_RETRY, rule, with_previous(p, text), note_type);
	}
}

void reject(struct pass *p, enum rule rule, mk_str text)
{
	write_check(p, CHECK_REJECTED, rule, with_previous(p, text), NULL);
}

static void remote_gone(struct pass *p)
{
	if (p->state == CHECK_READY) {
		retry(p, R_REMOTE_GONE, STR("Admitting remote no longer exists"), NULL);
	}
}

bool surely_absent(struct pass *p, struct table *t, mk_str ns, mk_str name)
{
	struct record *r = store_touch(&p->e->store, t, ns, name, p->e->now);

	if (!r) {
		say_no_memory(p->e);
		return false;
	}
	if (r->absent) {
		return true;
	}
	if (ops_ready(p->e, r, &p->w->item)) {
		ops_get(p->e, r);
	}
	return false;
}

/* The winner cannot be seen. 'c' NULL: its MultiKueueCluster is gone. */
static void lost(struct pass *p, const struct cluster *c)
{
	struct engine *e = p->e;
	int64_t timeout = e->o.worker_lost_timeout_ms;
	int64_t grace = e->start_ms + (timeout < START_GRACE_MS ? timeout : START_GRACE_MS);
	int64_t since = c ? c->lost_at : p->w->lost_at;
	int64_t deadline;

	if (p->state != CHECK_READY || cluster_up(c)) {
		return; /* up, but not listed again yet: unknown, not lost */
	}
	if (!c && since == INT64_MAX) {
		p->w->lost_at = e->now;
		since = e->now;
	}
	if (c && !c->failed) {
		return; /* the first try to connect is still under way; its end brings us back */
	}
	deadline = since + timeout;
	deadline = deadline > grace ? deadline : grace;
	if (e->now < deadline) {
		queue_add_at(&e->queue, &p->w->item, deadline);
		return;
	}
	retry(p, R_LOST, STR("Admitting remote lost"), NULL);
}

static void losers(struct pass *p, const struct clone *keep)
{
	for (size_t i = 0; i < p->n_clones; i++) {
		struct clone *k = &p->clones[i];

		if (k != keep &&
		    (twin_is_ours(k->twin) || k->twin == TWIN_STALE || k->twin == TWIN_UNKNOWN)) {
			(void)remove_remote(p, k, k->twin == TWIN_STALE ? R_STALE : R_LOSER);
		}
	}
}

static void write_finished(struct pass *p, const struct clone *k)
{
	const struct facts *f = k->r->facts;
	struct json *body;

	if (!ops_ready(p->e, p->local, &p->w->item)) {
		return;
	}
	body = ssa_body(p->e, p->local);
	if (!body) {
		(void)pass_workload(p);
		return;
	}
	ssa_condition(p->e, body, "Finished", f->s[S_FINISHED_REASON], f->s[S_FINISHED_MESSAGE],
		      p->f->generation);
	ssa_send(p->e, p->local, body, R_FINISHED, PRIO_STATUS, NULL, (mk_str){NULL, 0});
}

/*
 * The clone's watch may be ahead of the job's: what the job ended as is worth a moment's patience, and then one look,
 * before the Workload's end lets the remote job go.
 */
static bool last_status_seen(struct pass *p, struct record *remote)
{
	struct wl *w = p->w;

	if (facts_is(remote->facts, F_ENDED)) {
		return true;
	}
	if (w->finish_at == INT64_MAX) {
		w->finish_at = p->e->now + LAST_STATUS_WAIT_MS;
	}
	if (p->e->now < w->finish_at) {
		queue_add_at(&p->e->queue, &w->item, w->finish_at);
		return false;
	}
	if (remote->inflight || remote->retry_at > p->e->now) {
		queue_add_at(&p->e->queue, &w->item, p->e->now + LAST_STATUS_WAIT_MS);
		return false;
	}
	if (!w->finish_asked || remote->fails > 0) {
		/* A look that failed was none. */
		ops_get(p->e, remote);
		w->finish_asked = remote->inflight != NULL;
		queue_add_at(&p->e->queue, &w->item, p->e->now + LAST_STATUS_WAIT_MS);
		return false;
	}
	return true;
}

/*
 * Kueue beside us writes Finished too, as soon as it sees the local job's end, and with the same words, since the job's
 * conditions are the remote ones. Whoever comes second wastes a request or meets a conflict: so it gets a moment.
 */
static bool core_had_its_turn(struct pass *p)
{
	struct wl *w = p->w;

	if (!p->job || !facts_is(p->job->facts, F_ENDED)) {
		return true;
	}
	if (w->core_until == INT64_MAX) {
		w->core_until = p->e->now + CORE_FINISH_WAIT_MS;
	}
	if (p->e->now < w->core_until) {
		queue_add_at(&p->e->queue, &w->item, w->core_until);
		return false;
	}
	return true;
}

/* The clone is Finished: the job's last status first, then the Workload's; everything remote goes after that. */
static void finish(struct pass *p, struct clone *k)
{
	struct table *t = k->c->tables[p->kind];
	struct record *remote;
	enum twin twin;

	if (!(t && t->unserved) && !watch_ready(p->e, k->c, p->kind)) {
		return;
	}
	t = k->c->tables[p->kind];
	remote = remote_job(p, k);
	twin = job_twin(p, remote);
	if (twin == TWIN_ABSENT && !t->unserved &&
	    !surely_absent(p, t, p->w->ns, p->w->owner->name)) {
		return;
	}
	if (twin == TWIN_UNKNOWN) {
		(void)ops_ready(p->e, remote, &p->w->item);
		return;
	}
	if (twin_is_ours(twin) && !last_status_seen(p, remote)) {
		return;
	}
	if (twin_is_ours(twin) && job_status(p, remote, R_LAST_STATUS, true) != SYNC_SAME &&
	    !(p->job && p->job->denied >= STATUS_GIVE_UP)) {
		/* Trouble passes, and what the job ended as is lost with the remote copy: only a refusal ends the wait. */
		return;
	}
	if (core_had_its_turn(p)) {
		write_finished(p, k);
	}
}

static bool is_lost_owner(const struct clone *k)
{
	return str_is(k->r->facts->s[S_FINISHED_REASON], "OwnerNotFound");
}

static void finished(struct pass *p, struct clone *k)
{
	mk_str text;

	if (str_is(k->r->facts->s[S_FINISHED_REASON], "OutOfSync")) {
		text = arena_printf(
			p->e->out->arena,
			"Remote workload on worker cluster \"%s\" is out of sync with its user "
			"job, resetting for re-dispatch",
			k->c->name);
		if (p->state == CHECK_READY) {
			retry(p, R_OUT_OF_SYNC, text, "Warning");
		}
	} else if (is_lost_owner(k)) {
		/* Somebody removed the job there: that is no verdict on it. */
		remote_gone(p);
	} else {
		finish(p, k);
	}
}

static void evicted(struct pass *p, const struct clone *k)
{
	mk_str text = arena_printf(p->e->out->arena,
				   "Workload evicted on worker cluster: \"%s\", resetting for "
				   "re-admission. Previously: \"Ready\"",
				   k->c->name);

	if (p->state == CHECK_READY) {
		write_check(p, CHECK_RETRY, R_EVICTED, text, "Normal");
	}
}

static void job_absent(struct pass *p, struct clone *k, struct wl_cluster *wc)
{
	struct table *t = table_of(p->e, k->c, p->kind);
	struct record *r;

	if (wc->refused) {
		mk_str text = arena_printf(p->e->out->arena, "Cannot create the job on \"%s\": %s",
					   k->c->name, wc->why ? wc->why : "");

		retry(p, R_REFUSED, text, "Warning");
		if (p->local->inflight) {
			wc->refused = false;
			skip_cluster(p, wc);
		}
		return;
	}
	if (wc->job_made || k->r->facts->s[S_OWNER_UID].n > 0) {
		if (t && surely_absent(p, t, p->w->ns, p->w->owner->name)) {
			remote_gone(p);
		}
		return;
	}
	if (!p->job || !facts_is(p->job->facts, F_MANAGED) ||
	    facts_is(p->job->facts, F_TERMINATING)) {
		return;
	}
	r = t ? store_touch(&p->e->store, t, p->w->ns, p->w->owner->name, p->e->now) : NULL;
	if (!r) {
		say_no_memory(p->e);
		return;
	}
	job_create(p, k, r);
}

static void stale_job(struct pass *p, struct record *r)
{
	struct op op = {.type = OP_DELETE, .prio = PRIO_STOP, .uid = str_of(r->uid)};

	if (!facts_is(r->facts, F_TERMINATING) && !breaker_holds(p->e) &&
	    ops_ready(p->e, r, &p->w->item)) {
		ops_send(p->e, r, &op, R_JOB_OTHER);
	}
}

/* The clone is admitted: see to the job. */
static void run(struct pass *p, struct clone *k)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);
	struct record *remote;

	if (p->state == CHECK_PENDING) {
		write_check(p, CHECK_READY, R_READY,
			    arena_printf(p->e->out->arena, "The workload was admitted on \"%s\"",
					 k->c->name),
			    "Normal");
	}
	if (!wc || p->state == CHECK_RETRY || !watch_ready(p->e, k->c, p->kind)) {
		return;
	}
	remote = remote_job(p, k);
	switch (job_twin(p, remote)) {
	case TWIN_UNKNOWN:
		(void)ops_ready(p->e, remote, &p->w->item);
		break;
	case TWIN_ABSENT:
		job_absent(p, k, wc);
		break;
	case TWIN_FOREIGN:
		if (p->local->inflight) {
			break; /* its answer brings us back; it may be the Retry */
		}
		if (wc->fails > 0 && !wc->rested && !wc->refused) {
			/* The cluster rested: one create a round finds out how it is now. */
			wc->rested = true;
			record_gone(&p->e->store, remote, 0, remote->epoch, p->e->now);
			job_absent(p, k, wc);
			break;
		}
		wc->rested = false;
		wc->refused = true;
		(void)keep_str(&wc->why, STR("an object of this name is there and not ours"));
		job_absent(p, k, wc);
		break;
	case TWIN_STALE:
		stale_job(p, remote);
		break;
	case TWIN_OTHER:
		break;
	case TWIN_GO:
	case TWIN_OURS:
		wc->job_made = true;
		wc->fails = 0;
		wc->rested = false;
		if (job_status(p, remote, R_JOB_STATUS, false) == SYNC_SAME) {
			job_forward(p, k, remote);
		}
		break;
	}
}

/* The clone was made from another spec than the local one's: its job is given up, unless that befalls too many. */
static void other_spec(struct pass *p, struct clone *k)
{
	bool busy = p->local->inflight != NULL;

	rule_hit(p->e, R_SPEC);
	if (p->state != CHECK_READY || breaker_holds(p->e)) {
		return;
	}
	remote_gone(p);
	if (!busy && p->local->inflight) {
		breaker_gave_up(p, k->c);
	}
}

static void winner(struct pass *p, struct clone *k)
{
	mk_str theirs = k->r->facts->s[S_SPEC_HASH];

	if (clone_is(k, F_FINISHED)) {
		finished(p, k);
	} else if (clone_is(k, F_EVICTED)) {
		evicted(p, k);
	} else if (theirs.n > 0 && clone_hash(p).n > 0 && !str_eq(theirs, clone_hash(p))) {
		other_spec(p, k);
	} else if (clone_is(k, F_ADMITTED)) {
		run(p, k);
	} else {
		remote_gone(p);
	}
}

void won(struct pass *p)
{
	const struct cluster *c = cluster_named(p->e, p->f->s[S_CLUSTER]);
	struct clone *k = NULL;

	for (size_t i = 0; c && i < p->n_clones; i++) {
		if (p->clones[i].c == c) {
			k = &p->clones[i];
		}
	}
	losers(p, k);
	if (!k) {
		lost(p, NULL);
		return;
	}
	p->w->lost_at = INT64_MAX;
	if (p->config && !k->in_config) {
		remote_gone(p);
	} else if (twin_is_ours(k->twin)) {
		winner(p, k);
	} else if (k->twin != TWIN_UNKNOWN) {
		if (k->twin != TWIN_ABSENT ||
		    surely_absent(p, k->c->tables[KIND_WORKLOAD], p->w->ns, p->w->name)) {
			remote_gone(p);
		}
	} else if (k->r && k->r->unknown) {
		(void)ops_ready(p->e, k->r, &p->w->item);
	} else {
		lost(p, k->c);
	}
}

/* --- evicted on the manager, quota not released yet ------------------------------------------------- */

/* The clone whose job ran: the one with a job; else an admitted one. */
static struct clone *last_winner(struct pass *p)
{
	struct clone *best = NULL;

	for (size_t i = 0; i < p->n_clones; i++) {
		struct clone *k = &p->clones[i];

		if (!twin_is_ours(k->twin)) {
			continue;
		}
		if (twin_is_ours(job_twin(p, remote_job(p, k)))) {
			return k;
		}
		if (!best && (clone_is(k, F_ADMITTED) || clone_is(k, F_EVICTED))) {
			best = k;
		}
	}
	return best;
}

static void deactivate(struct pass *p, struct clone *k)
{
	struct engine *e = p->e;
	const struct facts *f = k->r->facts;
	mk_str message = arena_printf(e->out->arena, "Evicted on manager: %.*s",
				      STR_ARG(p->f->s[S_EVICTED_MESSAGE]));
	struct json *body;

	message = str_cut(message, 32768);
	if ((f->flags & F_DEACTIVATION) && str_eq(f->s[S_DEACTIVATION_MESSAGE], message)) {
		return;
	}
	if (!ops_ready(e, k->r, &p->w->item)) {
		return;
	}
	body = ssa_body(e, k->r);
	if (!body) {
		if (!e->no_memory) {
			ops_get(e, k->r);
		}
		return;
	}
	ssa_condition(e, body, "DeactivationTarget", STR("EvictedOnManagerCluster"), message,
		      f->generation);
	ssa_send(e, k->r, body, R_DEACTIVATE, PRIO_STOP, NULL, (mk_str){NULL, 0});
}

void winding(struct pass *p)
{
	struct clone *k;
	struct record *remote;

	for (size_t i = 0; i < p->n_clones; i++) {
		k = &p->clones[i];
		if (twin_is_ours(k->twin) && !watch_ready(p->e, k->c, p->kind) &&
		    !k->c->tables[p->kind]->unserved) {
			return; /* which one has the job is not known yet */
		}
	}
	k = last_winner(p);
	losers(p, k);
	if (!k) {
		abandon(p);
		return;
	}
	remote = remote_job(p, k);
	if (clone_is(k, F_FINISHED) && !is_lost_owner(k) &&
	    !str_is(k->r->facts->s[S_FINISHED_REASON], "OutOfSync")) {
		finish(p, k);
		return;
	}
	if (clone_is(k, F_ADMITTED) && !clone_is(k, F_EVICTED) && !clone_is(k, F_FINISHED)) {
		deactivate(p, k);
	}
	if (twin_is_ours(job_twin(p, remote))) {
		(void)job_status(p, remote, R_WINDING_STATUS, false);
	} else {
		abandon(p);
	}
}

/* Ready, but status.clusterName is empty: somebody cleared it. A running job is left in peace. */
void ready_without_cluster(struct pass *p)
{
	struct clone *k = last_winner(p);
	bool unknown = false;

	for (size_t i = 0; i < p->n_clones; i++) {
		unknown |= p->clones[i].twin == TWIN_UNKNOWN;
	}
	if (k && clone_is(k, F_FINISHED)) {
		finished(p, k);
	} else if (k && clone_is(k, F_ADMITTED)) {
		run(p, k);
	} else if (!unknown) {
		retry(p, R_NO_CLUSTER,
		      STR("Admission check is Ready but no admitting cluster is recorded; this is "
			  "unexpected, please report it"),
		      NULL);
	}
}
