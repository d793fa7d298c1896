/* SPDX-License-Identifier: Apache-2.0 */
/* Evicted on the manager; see winding.h. */
#include "core/engine/rules/winding.h"

#include "core/engine/act/ssa.h"
#include "core/engine/answers/message.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/abandon.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/finish.h"
#include "core/engine/rules/hidden.h"
#include "core/engine/rules/job.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/remove.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/verdict.h"
#include "core/engine/rules/won.h"

/* Does the local job have the same start time as the copy? Most kinds have one. */
static bool is_same_start(struct pass *p, const struct clone *k)
{
	const struct record *r = twin_record(p, k);
	const struct json *copy = r && r->present ? pass_copy(p, r) : NULL;
	mk_str start = json_str_at(pass_job(p), "/status/startTime");

	return start.n > 0 && str_eq(start, json_str_at(copy, "/status/startTime"));
}

/*
 * How likely is it that the clone's job ran last? Others may be left from earlier rounds, on
 * workers that were lost then. The winner in the check's message comes first, then the one whose
 * status the local job has, then one that is not Finished.
 */
static int rank(struct pass *p, const struct clone *k)
{
	return 4 * str_is(verdict_told_winner(p), k->c->name) + 2 * is_same_start(p, k) +
	       !clone_is(k, F_FINISHED);
}

/* The clone whose job ran: one with a job; else one that may have a job; else an admitted one. */
static struct clone *last_winner(struct pass *p)
{
	struct clone *has = NULL, *likely = NULL, *best = NULL;

	for (CLONES_EACH(k, p)) {
		enum twin job;

		if (!twin_is_ours(k->twin)) {
			continue;
		}
		job = twin_there(p, k);
		if (twin_is_ours(job) && (!has || rank(p, k) > rank(p, has))) {
			has = k;
		}
		if (!likely && job == TWIN_UNKNOWN) {
			likely = k;
		}
		if (!best && (clone_is(k, F_ADMITTED) || clone_is(k, F_EVICTED))) {
			best = k;
		}
	}
	return has ? has : likely ? likely : best;
}

/* Are the jobs of all clones known, or given up for lost? */
static bool jobs_known(struct pass *p)
{
	for (CLONES_EACH(k, p)) {
		if (!twin_is_ours(k->twin) || watches_ready(p->e, k->c, p->kind)) {
			continue;
		}
		if (table_view(k->c, p->kind) != VIEW_MISSING && !lost_given_up(p, k->c, p->kind)) {
			return false;
		}
	}
	return true;
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
	body = ssa_body(p, k->r);
	if (body) {
		ssa_condition(e, body, "DeactivationTarget", STR("EvictedOnManagerCluster"),
			      message, f->generation);
		ssa_send(e, k->r, body, R_DEACTIVATE, PRIO_STOP, NULL, STR_NONE);
	}
}

/*
 * Does the job still name the clone of the slice that this one replaces, whose Workload has ended?
 */
static bool is_of_slice_before(const struct pass *p, const struct record *remote)
{
	return remote && remote->present && slices_inherits(p, remote->facts) &&
	       !str_eq(remote->facts->s[S_PREBUILT], p->w->name);
}

static bool may_run_on(const struct clone *k)
{
	return clone_is(k, F_ADMITTED) && !clone_is(k, F_EVICTED) && !clone_is(k, F_FINISHED);
}

/*
 * May Kueue there run the job of the clone, now or later? It queues again what it evicted, unless
 * that is deactivated.
 */
static bool may_start(const struct clone *k)
{
	return clone_is(k, F_ACTIVE) && !clone_is(k, F_FINISHED) &&
	       (k->r->facts->flags & (F_QUOTA | F_ADMITTED | F_EVICTED));
}

/*
 * Would the copy's status free the quota here while its clone may still start it? Kueue here then
 * begins another round, and a process that ends before it has removed the clone leaves a copy that
 * starts again. One without quota whose stop is refused is waited for as long as a lost worker.
 */
static bool is_too_early(struct pass *p, const struct clone *k, const struct record *copy)
{
	if ((copy->facts->flags & (F_ACTIVE | F_ENDED)) || !may_start(k) ||
	    clone_is(k, F_DEACTIVATION)) {
		return false;
	}
	return (k->r->facts->flags & (F_QUOTA | F_ADMITTED)) || !k->r->refusal ||
	       k->r->refusal->rule != R_DEACTIVATE ||
	       !pass_is_due(p, lost_refused_until(p->e, k->c, k->r, lost_patience(p->e)));
}

static void tell_status(struct pass *p, const struct clone *k, struct record *copy)
{
	if (!is_too_early(p, k, copy)) {
		(void)job_status(p, copy, R_WINDING_STATUS, false);
	}
}

/*
 * Tells each clone with a job that we see to stop, whichever was the winner: a worker whose jobs
 * are hidden must not delay the others.
 */
static void stop_what_is_seen(struct pass *p)
{
	for (CLONES_EACH(k, p)) {
		if (twin_is_ours(k->twin) && may_start(k) && twin_is_ours(twin_recorded(p, k)) &&
		    !is_of_slice_before(p, twin_record(p, k))) {
			deactivate(p, k);
		}
	}
}

/* Has another client made the clone of a copy of ours another manager's? */
static bool is_beside_anothers(const struct pass *p, const struct clone *k)
{
	return twin_is_anothers(k->twin) && twin_is_ours(twin_there(p, k));
}

/*
 * Such a copy cannot be stopped through its clone, and Kueue there may start it at any time: it is
 * removed, after its end is home. True: one is there still, and the quota is held.
 */
static bool takes_back(struct pass *p)
{
	bool any = false;

	for (CLONES_EACH(k, p)) {
		if (is_beside_anothers(p, k)) {
			(void)remove_remote(p, k, R_ABANDONED);
			any = true;
		}
	}
	return any;
}

/* Copies the status of one object of a group, or says that it runs nowhere any more. */
static bool wind(struct pass *p, struct clone *k)
{
	struct record *remote = twin_record(p, k);

	if (twin_is_ours(twin_of_job(p, remote))) {
		tell_status(p, k, remote);
	} else {
		abandon_member(p);
	}
	return true;
}

static void wind_down(struct pass *p)
{
	struct clone *k;
	struct record *remote;
	enum twin job;

	if (takes_back(p) || !jobs_known(p)) {
		stop_what_is_seen(p);
		return;
	}
	k = last_winner(p);
	remove_losers(p, k);
	if (!k) {
		abandon_pass(p);
		return;
	}
	remote = twin_record(p, k);
	if (is_of_slice_before(p, remote)) {
		(void)remove_remote(p, k, R_ABANDONED);
		return;
	}
	if (finish_tells_the_end(k)) {
		finish_local(p, k);
		return;
	}
	job = twin_there(p, k);
	if (may_start(k) && (p->grouped || !remote || !remote->absent)) {
		deactivate(p, k); /* else nothing is there to stop, and the clone goes soon */
	}
	if (p->grouped && job != TWIN_ABSENT && job != TWIN_UNKNOWN) {
		(void)members_each(p, k, wind);
	} else if (!p->grouped && twin_is_ours(job)) {
		tell_status(p, k, remote);
	} else {
		abandon_pass(p);
	}
}

void winding_pass(struct pass *p)
{
	wind_down(p);
	message_ending(p);
}

void winding_stop(struct pass *p)
{
	for (CLONES_EACH(k, p)) {
		if (twin_is_ours(k->twin) && may_start(k)) {
			deactivate(p, k);
		}
	}
}

void winding_unrecorded(struct pass *p)
{
	struct clone *k = last_winner(p);

	if (k && twin_there(p, k) == TWIN_ABSENT) {
		k = NULL; /* it only waits */
	}
	for (CLONES_EACH(other, p)) {
		k = !k && is_beside_anothers(p, other) ? other : k;
	}
	remove_losers(p, k);
	if (k) {
		won_go_on(p, k);
	}
}

/* A config names all clusters that count, but for a winner that the check's message names. */
static bool counts(struct pass *p, const struct clone *k)
{
	return !p->config || k->in_config || copied_on(p, k) ||
	       str_is(verdict_told_winner(p), k->c->name);
}

/*
 * May the clone still appear? In reach, a get tells; a cluster out of reach is waited for as long
 * as a lost winner.
 */
static bool may_turn_up(struct pass *p, struct clone *k)
{
	int64_t since = hidden_since(k->c, KIND_WORKLOAD);

	if (k->twin != TWIN_UNKNOWN || !counts(p, k)) {
		return false;
	}
	if (cluster_up(k->c)) {
		if (k->r && k->r->unknown) {
			pass_ask(p, k->r);
		}
		return true;
	}
	return !pass_is_due(p, lost_deadline(p->e, k->c, since));
}

static bool is_none(struct pass *p, struct clone *k)
{
	struct table *t = k->c->tables[p->kind];

	return table_is_unserved(t) || twin_surely_absent(p, t, p->w->ns, p->object);
}

/*
 * Has the clone a job, or may it have one? Without a recorded winner a missing job is not created.
 */
static bool may_have_job(struct pass *p, struct clone *k)
{
	enum twin job = twin_there(p, k);

	return twin_is_ours(job) || job == TWIN_UNKNOWN ||
	       (job == TWIN_ABSENT && !(members_each(p, k, is_none)));
}

/*
 * The clone that won, or most likely won. If the check's message names a winner whose clone we do
 * not see, no other clone counts: others are of earlier rounds.
 */
static struct clone *ready_clone(struct pass *p)
{
	mk_str told = verdict_told_winner(p);
	struct clone *k = pass_clone_on(p, cluster_named(p->e, told));

	if (!k) {
		return told.n > 0 ? NULL : last_winner(p);
	}
	k = alias_speaker(k);
	return twin_is_ours(k->twin) ? k : NULL;
}

/* The clone goes on as the winner's: its job is made nowhere, and others that are there go. */
static void goes_on_unrecorded(struct pass *p, struct clone *k)
{
	enum twin job = twin_there(p, k);

	if (twin_is_ours(job) && alias_is_known(k->c)) {
		remove_losers(p, k); /* a worker out of reach came back, or a race is over */
	}
	if (job != TWIN_ABSENT) {
		won_run_job(p, k);
	}
}

/* Ready, but another client cleared status.clusterName. A job that runs is left alone. */
void winding_without_cluster(struct pass *p)
{
	struct clone *k;
	bool unknown;

	if (!jobs_known(p)) {
		return;
	}
	if (verdict_told_winner(p).n > 0 && !won_named(p, verdict_told_winner(p))) {
		hidden_cluster(p, verdict_told_winner(p)); /* its job runs out of sight */
		return;
	}
	p->w->round.lost_at = INT64_MAX;
	k = ready_clone(p);
	unknown = copied_waits(p);
	for (CLONES_EACH(any, p)) {
		unknown |= may_turn_up(p, any) || lost_waits_elsewhere(p, any);
	}
	for (WORKERS_EACH(c, p->e)) {
		struct clone hidden = {.c = c, .twin = TWIN_UNKNOWN};

		unknown |= !pass_clone_on(p, c) && !table_known(c, KIND_WORKLOAD) &&
			   may_turn_up(p, &hidden);
	}
	if (k && clone_is(k, F_FINISHED)) {
		finish_remotely(p, k);
	} else if (k && may_run_on(k) && may_have_job(p, k)) {
		goes_on_unrecorded(p, k);
	} else if (!unknown) {
		verdict_retry(p, k, R_NO_CLUSTER,
			      STR("Admission check is Ready but no admitting cluster is recorded; "
				  "this is "
				  "unexpected, please report it"),
			      NULL);
	}
}
