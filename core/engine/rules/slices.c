/* SPDX-License-Identifier: Apache-2.0 */
/* An elastic job that grows; see slices.h. */
#include "core/engine/rules/slices.h"

#include "core/base/hash.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/finish.h"
#include "core/engine/rules/inplace.h"
#include "core/engine/rules/job.h"
#include "core/engine/rules/race.h"
#include "core/engine/rules/remove.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/won.h"
#include "core/engine/store/ending.h"

static bool may_be_replaced(const struct facts *f)
{
	mk_str reason = f->s[S_FINISHED_REASON];

	return facts_is(f, F_FINISHED) &&
	       (str_is(reason, NAME_REPLACED) || str_is(reason, "OutOfSync"));
}

/* Does 'is' say so of another Workload of the job, which is there to stay and replaces one? */
static bool any_slice(const struct pass *p, bool (*is)(const struct pass *p, const struct facts *f))
{
	const struct engine *e = p->e;

	if (!e->o.gates.elastic_slices || !p->w->owner) {
		return false;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = manager_get(e, KIND_WORKLOAD, w->ns, w->name);

		if (r && w != p->w && !facts_is(r->facts, F_TERMINATING) &&
		    r->facts->s[S_SLICE_OF].n > 0 && is(p, r->facts)) {
			return true;
		}
	}
	return false;
}

/* One that was replaced in turn counts as well. */
static bool replaces_this(const struct pass *p, const struct facts *f)
{
	return str_eq(f->s[S_SLICE_OF], p->w->key) &&
	       (!facts_is(f, F_FINISHED) || may_be_replaced(f));
}

/*
 * The copy goes by the name of the slice that was admitted last: each that has quota since, or is
 * about to get it, may take it over, whichever slices came between.
 */
static bool is_alive(const struct pass *p, const struct facts *f)
{
	(void)p;
	return !facts_is(f, F_FINISHED) && (facts_is(f, F_QUOTA) || !facts_is(f, F_EVICTED));
}

/* Kueue v0.18.3 says OutOfSync where later versions say WorkloadSliceReplaced. */
bool slices_is_replaced(const struct pass *p, mk_str reason)
{
	return inplace_is_elastic(p) &&
	       (str_is(reason, NAME_REPLACED) ||
		(str_is(reason, "OutOfSync") && any_slice(p, replaces_this)));
}

/* Is it a slice after this one? Dates are whole seconds. */
static bool is_later(const struct pass *p, const struct facts *f)
{
	return f->made_ms > p->f->made_ms || str_eq(f->s[S_SLICE_OF], p->w->key);
}

bool slices_inherits(const struct pass *p, const struct facts *job)
{
	const struct record *old;

	if (!p->f || !inplace_is_elastic(p) || p->f->s[S_SLICE_OF].n == 0 || !p->job ||
	    (job->s[S_ORIGIN_UID].n > 0 && !str_eq(job->s[S_ORIGIN_UID], str_of(p->job->uid)))) {
		return false;
	}
	if (!(p->f->flags & (F_QUOTA | F_EVICTED | F_FINISHED | F_TERMINATING))) {
		return false; /* Kueue ends the old slice just before the new one has quota */
	}
	old = manager_get(p->e, KIND_WORKLOAD, p->w->ns, job->s[S_PREBUILT]);
	return !old || (facts_is(old->facts, F_FINISHED) && !is_later(p, old->facts));
}

bool slices_is_inherited(const struct pass *p)
{
	if (p->local && (!slices_is_replaced(p, p->f->s[S_FINISHED_REASON]) ||
			 !facts_is(p->f, F_QUOTA) || facts_is(p->f, F_EVICTED))) {
		return false; /* a run that was evicted is over */
	}
	return any_slice(p, is_alive);
}

bool slices_is_other(const struct pass *p, const struct record *job)
{
	return inplace_is_elastic(p) && twin_of_job(p, job) == TWIN_OTHER &&
	       twin_is_of_object(p, job);
}

bool slices_waits(const struct pass *p)
{
	return inplace_is_elastic(p) && p->f->s[S_SLICE_OF].n > 0 && p->state == CHECK_PENDING;
}

struct record *slices_running(const struct pass *p, const struct clone *k, const struct record *job)
{
	return store_get(k->c->tables[KIND_WORKLOAD], p->w->ns, job->facts->s[S_PREBUILT]);
}

/*
 * Has that Workload of the job been replaced while it ran? Its clone on the worker then shows how
 * the run ended; one that is gone had replaced ones before it.
 */
static bool has_handed_on(const struct record *local, const struct record *clone)
{
	return !local || (may_be_replaced(local->facts) && facts_is(local->facts, F_QUOTA) &&
			  !facts_is(local->facts, F_EVICTED) &&
			  str_eq(clone->facts->s[S_LOCAL_UID], str_of(local->uid)));
}

/* Was the place the winner of that Workload? A slice without a winner's name goes by that alone. */
static bool has_won(const struct pass *p, const struct clone *k, const struct record *local)
{
	return p->f->s[S_CLUSTER].n > 0 ||
	       (local && str_is(local->facts->s[S_CLUSTER], k->c->name));
}

struct clone *slices_run_ended(const struct pass *p, const struct clone *k)
{
	struct clone *ran = NULL;
	struct record *seen = NULL;

	if (!slices_waits(p) || !p->w->owner) {
		return NULL;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = store_find(k->c->tables[KIND_WORKLOAD], w->ns, w->name);
		const struct record *local = manager_get(p->e, KIND_WORKLOAD, w->ns, w->name);

		if (w == p->w || !r || (!r->present && !r->ending) || !has_won(p, k, local)) {
			continue;
		}
		seen = seen ? seen : arena_alloc(&p->e->scratch, sizeof(*seen));
		ran = ran ? ran : arena_alloc(&p->e->scratch, sizeof(*ran));
		if (!seen || !ran || !ending_seen(r, seen)) {
			return NULL;
		}
		*ran = *k;
		ran->twin = TWIN_OURS;
		ran->r = seen;
		if (finish_tells_the_end(ran) &&
		    str_eq(seen->facts->s[S_MANAGER_ID], str_of(p->e->manager_id)) &&
		    has_handed_on(local, seen)) {
			return ran;
		}
	}
	return NULL;
}

static bool is_open(const struct facts *f)
{
	return !facts_is(f, F_FINISHED);
}

/* The next pass of those other Workloads of the job. */
static void wake(const struct pass *p, bool (*which)(const struct facts *f))
{
	if (!p->e->o.gates.elastic_slices || !p->w->owner) {
		return;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = manager_get(p->e, KIND_WORKLOAD, w->ns, w->name);

		/* One that is gone may still hold an end; two of them do not wake each other. */
		if (w != p->w && (r ? which(r->facts) : p->local != NULL)) {
			queue_add(&p->e->queue, &w->item);
		}
	}
}

/*
 * Lets go what no copy runs as, and none will: a Workload that was replaced begins nothing where it
 * had not won.
 */
static void release_idle(struct pass *p)
{
	struct clone *winner = pass_clone_on(p, won_named(p, p->f->s[S_CLUSTER]));

	winner = winner ? alias_speaker(winner) : NULL;
	for (CLONES_EACH(k, p)) {
		if (k != winner && (twin_is_ours(k->twin) || k->twin == TWIN_STALE) &&
		    twin_there(p, k) == TWIN_ABSENT) {
			(void)remove_remote(p, k, R_LOSER);
		}
	}
}

void slices_pass_on(struct pass *p)
{
	uint64_t news = 0;

	release_idle(p);
	for (CLONES_EACH(k, p)) {
		if ((clone_is(k, F_EVICTED) && !clone_is(k, F_FINISHED)) ||
		    finish_tells_the_end(k)) {
			news = 31 * news + hash64(str_of(k->r->uid)) + k->r->rv;
		}
	}
	if (news != 0 && news != p->w->round.passed_on) {
		wake(p, is_open); /* once: one that is released wakes this one in turn */
	}
	p->w->round.passed_on = news;
}

void slices_over(struct pass *p)
{
	if (!p->local || !may_be_replaced(p->f)) {
		wake(p, may_be_replaced);
	}
}

void slices_wait(struct pass *p, struct clone *k)
{
	struct record *remote;

	if (k->twin == TWIN_STALE) {
		(void)remove_remote(p, k, R_STALE);
	} else if (k->twin == TWIN_ABSENT) {
		race_clone_pinned(p, k);
	} else if (twin_is_ours(k->twin) && !race_in_sync(p, k) && !inplace_shrink(p, k)) {
		(void)remove_remote(p, k, R_SPEC);
	}
	if (!watches_ready(p->e, k->c, p->kind)) {
		return;
	}
	remote = twin_record(p, k);
	if (twin_is_ours(twin_of_job(p, remote))) {
		(void)job_status(p, remote, R_JOB_STATUS, false);
	}
}
