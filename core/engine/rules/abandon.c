/* SPDX-License-Identifier: Apache-2.0 */
/* An evicted Workload whose job runs nowhere any more; see abandon.h. */
#include "core/engine/rules/abandon.h"

#include "core/engine/clusters/watches.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/finish.h"
#include "core/engine/rules/job.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/remove.h"
#include "core/engine/rules/twin.h"

static bool is_not_there(struct pass *p, struct clone *k)
{
	enum twin twin = twin_of_job(p, twin_record(p, k));

	return twin == TWIN_FOREIGN || twin == TWIN_OTHER ||
	       twin_surely_absent(p, k->c->tables[p->kind], p->w->ns, p->object);
}

/* May copies be there? SIGHT_NONE: none that counts; SIGHT_WAITS: not known yet. */
enum sight { SIGHT_NONE, SIGHT_WAITS, SIGHT_CLEAR };

/* Does a name that counts lead to the server that won? Then what it shows tells, and no date. */
static bool is_winner_in_sight(struct pass *p)
{
	for (CLONES_EACH(k, p)) {
		if ((copied_won_there(p, k) > 0 || copied_wound_there(p, k)) &&
		    (!p->config || k->in_config) && watches_ready(p->e, k->c, p->kind)) {
			return true;
		}
	}
	return false;
}

/*
 * A worker out of reach is waited for as long as for a running job; the end of a first try to
 * connect queues the pass.
 */
static enum sight sight_of(struct pass *p, struct clone *k)
{
	bool gone;

	if (p->config && !k->in_config && !copied_on(p, k)) {
		return SIGHT_NONE;
	}
	if (lost_waits_elsewhere(p, k) && !is_winner_in_sight(p)) {
		return SIGHT_WAITS; /* at the server before, also where another name speaks now */
	}
	if (k->twin == TWIN_ALIAS) {
		return SIGHT_NONE;
	}
	if (watches_ready(p->e, k->c, p->kind)) {
		return SIGHT_CLEAR;
	}
	gone = table_view(k->c, p->kind) == VIEW_MISSING || lost_given_up(p, k->c, p->kind);
	k->lacks |= !gone; /* so that the watch looks for the kind */
	return gone ? SIGHT_NONE : SIGHT_WAITS;
}

/*
 * True: no copy can be running there. A job whose clone another client removed is deleted: Kueue
 * there stops it and never starts it again. So is one that an earlier job of this name left.
 */
static bool runs_not_on(struct pass *p, struct clone *k)
{
	enum sight sight = sight_of(p, k);
	enum twin job;

	if (sight != SIGHT_CLEAR) {
		return sight == SIGHT_NONE;
	}
	job = twin_there(p, k);
	if ((twin_is_ours(job) || job == TWIN_STALE) && k->twin == TWIN_ABSENT) {
		(void)remove_remote(p, k, R_ABANDONED);
		return false;
	}
	return members_each(p, k, is_not_there);
}

static bool give_up(struct pass *p, struct clone *k)
{
	(void)k;
	if (p->job && facts_is(p->job->facts, F_MANAGED) && !facts_is(p->job->facts, F_ENDED)) {
		job_abandoned_status(p);
	}
	return true;
}

/*
 * Has Kueue suspended the job, as it does first? A kind without such a field is not waited for, as
 * far as no other controller can start its pods.
 */
static bool is_stopped(const struct pass *p)
{
	const struct facts *f = p->job->facts;
	bool says = plug_adapter(p->e->o.plug, p->adapter)->d->active != NULL;

	return facts_is(f, F_SUSPENDED) || (says && !(f->flags & (F_SUSPENDS | F_ELASTIC)));
}

/*
 * May the Workload hold quota? The status of a single object tells whether pods run; of a member,
 * its adapter tells.
 */
static bool may_hold_quota(const struct pass *p)
{
	return p->grouped ||
	       (p->job && facts_is(p->job->facts, F_ACTIVE | F_MANAGED) && is_stopped(p));
}

/* Without a config nothing says which clusters count: the job may be on any that we do not see. */
static bool may_be_hidden(struct pass *p)
{
	for (WORKERS_EACH(c, p->e)) {
		if (!p->config && !pass_clone_on(p, c) && !table_known(c, KIND_WORKLOAD) &&
		    !lost_given_up(p, c, KIND_WORKLOAD)) {
			p->anywhere = true;
			return true;
		}
	}
	return false;
}

void abandon_member(struct pass *p)
{
	if (may_be_hidden(p) || copied_waits(p)) {
		return;
	}
	for (CLONES_EACH(k, p)) {
		enum sight sight = sight_of(p, k);

		if (sight == SIGHT_WAITS || (sight == SIGHT_CLEAR && !is_not_there(p, k))) {
			return;
		}
	}
	(void)give_up(p, NULL);
}

void abandon_pass(struct pass *p)
{
	struct clone here = {.c = p->e->clusters[CLUSTER_MANAGER]}, *ended = finish_ended(p);

	if (ended) {
		finish_local(p, ended);
		return;
	}
	if (!may_hold_quota(p) || may_be_hidden(p) || copied_waits(p)) {
		return;
	}
	for (CLONES_EACH(k, p)) {
		if (!runs_not_on(p, k)) {
			return;
		}
	}
	if (p->grouped) {
		(void)members_each(p, &here, give_up);
	} else {
		job_abandoned_status(p);
	}
}
