/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the win: status.clusterName names the one cluster whose clone counts. Losers go, the job is made there, its
 * status comes back; a lost, vanished, evicted or refused winner turns the check to Retry, and Kueue's core does the rest.
 */
#include "core/engine/pass.h"

enum { START_GRACE_MS = 60 * 1000 };

int64_t lost_deadline(const struct engine *e, int64_t since)
{
	int64_t timeout = e->o.worker_lost_timeout_ms;
	int64_t grace = e->start_ms + (timeout < START_GRACE_MS ? timeout : START_GRACE_MS);
	int64_t deadline = since + timeout;

	return deadline > grace ? deadline : grace;
}

/* The winner cannot be seen. 'c' NULL: its MultiKueueCluster is gone. */
static void lost(struct pass *p, const struct cluster *c)
{
	struct engine *e = p->e;
	int64_t since = c ? c->lost_at : p->w->lost_at;
	int64_t deadline;

	if (cluster_up(c)) {
		return; /* up, but not listed again yet: unknown, not lost */
	}
	if (!c && since == INT64_MAX) {
		p->w->lost_at = e->now;
		since = e->now;
	}
	if (c && !c->failed) {
		return; /* the first try to connect is still under way; its end brings us back */
	}
	deadline = lost_deadline(e, since);
	if (e->now < deadline) {
		queue_add_at(&e->queue, &p->w->item, deadline);
		return;
	}
	retry(p, R_LOST, STR("Admitting remote lost"), NULL);
}

static void evicted(struct pass *p, const struct clone *k)
{
	mk_str text = arena_printf(p->e->out->arena,
				   "Workload evicted on worker cluster: \"%s\", resetting for "
				   "re-admission. Previously: \"%s\"",
				   k->c->name, p->state == CHECK_PENDING ? "Pending" : "Ready");

	/* Pending beside a winner: somebody took the check back, and nothing else would bring the job anywhere. */
	if (p->state == CHECK_READY || p->state == CHECK_PENDING) {
		check_write(p, CHECK_RETRY, R_EVICTED, text, "Normal");
	}
}

/* The cluster does not take the job. */
static void refused(struct pass *p, struct clone *k, struct wl_cluster *wc)
{
	mk_str text = arena_printf(p->e->out->arena, "Cannot create the job on \"%s\": %s",
				   k->c->name, wc->why ? wc->why : "");

	retry(p, R_REFUSED, text, "Warning");
	if (p->local->inflight) {
		wc->refused = false;
		skip_cluster(p, wc);
	}
}

/* Was there a copy already, so that making one would run the job twice? A group's clone says nothing of one member. */
static bool was_copied(const struct pass *p, const struct clone *k, const struct wl_cluster *wc)
{
	if (p->grouped) {
		return p->job->member->copied;
	}
	return wc->job_made || k->r->facts->s[S_OWNER_UID].n > 0;
}

static void job_absent(struct pass *p, struct clone *k, struct wl_cluster *wc)
{
	struct table *t = table_of(p->e, k->c, p->kind);
	struct record *r;

	if (wc->refused) {
		refused(p, k, wc);
		return;
	}
	if (p->grouped && (p->job->member->ended || facts_is(p->job->facts, F_ENDED))) {
		return; /* the others go on without it */
	}
	if (was_copied(p, k, wc)) {
		if (t && surely_absent(p, t, p->w->ns, p->object)) {
			copy_gone(p, k, "job");
		}
		return;
	}
	if (!p->job || !facts_is(p->job->facts, F_MANAGED) ||
	    (p->job->facts->flags & (F_TERMINATING | F_ENDED))) {
		return;
	}
	if (p->job->inflight) {
		return; /* its answer brings us back; it may be how an earlier copy ended */
	}
	r = t ? store_touch(&p->e->store, t, p->w->ns, p->object, p->e->now) : NULL;
	if (!r || (p->grouped && !record_join(&p->e->store, r, p->w->name))) {
		say_no_memory(p->e);
		return;
	}
	job_create(p, k, r);
}

void job_delete(struct pass *p, struct record *r, enum rule rule)
{
	struct op op = {.type = OP_DELETE, .prio = PRIO_STOP, .uid = str_of(r->uid)};

	if (!facts_is(r->facts, F_TERMINATING) && !breaker_holds(p->e) &&
	    ops_ready(p->e, r, &p->w->item)) {
		ops_send(p->e, r, &op, rule);
		member_taken(p);
	}
}

/* The clone is admitted: see to the job. */
void run_job(struct pass *p, struct clone *k)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);

	if (p->state == CHECK_PENDING) {
		check_write(p, CHECK_READY, R_READY, admitted_on(p->e->out->arena, k), "Normal");
	}
	if (!wc || p->state == CHECK_RETRY || !watch_ready(p->e, k->c, p->kind)) {
		return;
	}
	if (p->grouped && wc->refused) {
		refused(p, k, wc);
	} else if (p->grouped) {
		members_run(p, k, wc);
	} else {
		run_object(p, k, wc);
	}
}

void run_object(struct pass *p, struct clone *k, struct wl_cluster *wc)
{
	struct record *remote = remote_job(p, k);

	switch (job_twin(p, remote)) {
	case TWIN_UNKNOWN:
		(void)ops_ready(p->e, remote, &p->w->item);
		break;
	case TWIN_ABSENT:
		job_absent(p, k, wc);
		break;
	case TWIN_FOREIGN:
		if (p->local->inflight || !p->e->may_write) {
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
		job_delete(p, remote, R_JOB_OTHER);
		break;
	case TWIN_OTHER:
		break;
	case TWIN_GO:
	case TWIN_OURS:
		wc->job_made = true;
		if (p->grouped) {
			p->job->member->copied = true;
			p->job->member->ended = facts_is(remote->facts, F_ENDED);
		} else {
			wc->fails = 0;
			wc->rested = false;
		}
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

	if (shrink(p, k)) {
		return;
	}
	rule_hit(p->e, R_SPEC);
	if ((p->state != CHECK_READY && p->state != CHECK_PENDING) || breaker_holds(p->e)) {
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
		finished_remotely(p, k);
	} else if (clone_is(k, F_EVICTED)) {
		evicted(p, k);
	} else if (theirs.n > 0 && clone_hash(p).n > 0 && !str_eq(theirs, clone_hash(p))) {
		other_spec(p, k);
	} else if (clone_is(k, F_ADMITTED)) {
		priority_sync(p, k);
		topology_write(p, k);
		run_job(p, k);
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
	remove_losers(p, k);
	if (!k) {
		lost(p, NULL);
		return;
	}
	p->w->lost_at = INT64_MAX;
	if (p->config && !k->in_config) {
		remote_gone(p);
	} else if (slice_waits(p) && k->twin != TWIN_UNKNOWN && !clone_is(k, F_ADMITTED) &&
		   !clone_is(k, F_FINISHED)) {
		slice_wait(p, k);
	} else if (twin_is_ours(k->twin)) {
		winner(p, k);
	} else if (k->twin != TWIN_UNKNOWN) {
		if (k->twin != TWIN_ABSENT) {
			remote_gone(p);
		} else if (surely_absent(p, k->c->tables[KIND_WORKLOAD], p->w->ns, p->w->name)) {
			copy_gone(p, k, "Workload");
		}
	} else if (k->r && k->r->unknown) {
		(void)ops_ready(p->e, k->r, &p->w->item);
	} else {
		lost(p, k->c);
	}
}
