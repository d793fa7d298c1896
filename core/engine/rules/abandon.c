/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An evicted workload whose job runs nowhere any more. Kueue gives its quota back once the local job is not active, which
 * it reads in the job's status, where each kind has it elsewhere (mk_adapter.active). That is a copy of what a worker said
 * last: with the remote job gone, or its worker lost for good, nobody would ever correct it, and the workload would hold
 * its quota for ever.
 */
#include "core/engine/rules/abandon.h"

#include "core/engine/clusters/watches.h"
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

/*
 * True: no copy can be running there. A worker out of reach is waited for as long as for a running job, and a first try to
 * connect, whose end brings us back. A job whose clone somebody removed is nobody's any more: Kueue there stops it and never
 * starts it again, so it goes. So does one that an earlier job of this name left.
 */
static bool runs_not_on(struct pass *p, struct clone *k)
{
	enum twin job;

	if (!k->in_config || k->twin == TWIN_ALIAS) {
		return true;
	}
	if (!watches_ready(p->e, k->c, p->kind)) {
		bool gone = table_view(p->e, k->c, p->kind) == VIEW_MISSING ||
			    lost_given_up(p, k->c, p->kind);

		k->lacks |= !gone; /* so that its coming back is looked for */
		return gone;
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

/* Kueue suspends a job first. A kind that has no field for it is not waited for, as far as nothing else can run it. */
static bool is_stopped(const struct pass *p)
{
	const struct facts *f = p->job->facts;
	bool says = plug_adapter(p->e->o.plug, p->adapter)->d->active != NULL;

	return facts_is(f, F_SUSPENDED) || (says && !(f->flags & (F_SUSPENDS | F_ELASTIC)));
}

/* An object of its own says whether pods run, as its kind has it; of a member its adapter knows. */
static bool may_hold_quota(const struct pass *p)
{
	return p->grouped ||
	       (p->job && facts_is(p->job->facts, F_ACTIVE | F_MANAGED) && is_stopped(p));
}

void abandon_pass(struct pass *p)
{
	if (!may_hold_quota(p)) {
		return;
	}
	for (CLONES_EACH(k, p)) {
		if (!runs_not_on(p, k)) {
			return;
		}
	}
	if (p->grouped && p->n_clones > 0) {
		(void)members_each(p, &p->clones[0], give_up);
	} else if (!p->grouped) {
		job_abandoned_status(p);
	}
}
