/* SPDX-License-Identifier: Apache-2.0 */
/* An elastic job that grows; see slices.h. */
#include "core/engine/rules/slices.h"

#include "core/engine/clusters/watches.h"
#include "core/engine/rules/inplace.h"
#include "core/engine/rules/job.h"
#include "core/engine/rules/race.h"
#include "core/engine/rules/remove.h"
#include "core/engine/rules/twin.h"

/*
 * Does another Workload of the job replace this one? 'live': only one that is not Finished counts.
 */
static bool is_named(const struct pass *p, bool live)
{
	const struct engine *e = p->e;

	if (!e->o.gates.elastic_slices || !p->w->owner) {
		return false;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		const struct record *r = manager_get(e, KIND_WORKLOAD, w->ns, w->name);
		mk_str reason = r ? r->facts->s[S_FINISHED_REASON] : STR("");

		if (!r || w == p->w || facts_is(r->facts, F_TERMINATING) ||
		    !str_eq(r->facts->s[S_SLICE_OF], p->w->key)) {
			continue;
		}
		if (!facts_is(r->facts, F_FINISHED) ||
		    (!live && (str_is(reason, NAME_REPLACED) || str_is(reason, "OutOfSync")))) {
			return true;
		}
	}
	return false;
}

/* Kueue v0.18.3 says OutOfSync where later versions say WorkloadSliceReplaced. */
bool slices_is_replaced(const struct pass *p, mk_str reason)
{
	return inplace_is_elastic(p) && (str_is(reason, NAME_REPLACED) ||
					 (str_is(reason, "OutOfSync") && is_named(p, false)));
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
	return !old || facts_is(old->facts, F_FINISHED);
}

bool slices_is_inherited(const struct pass *p)
{
	return (!p->local || slices_is_replaced(p, p->f->s[S_FINISHED_REASON])) &&
	       is_named(p, true);
}

bool slices_waits(const struct pass *p)
{
	return inplace_is_elastic(p) && p->f->s[S_SLICE_OF].n > 0 && p->state == CHECK_PENDING;
}

struct record *slices_running(const struct pass *p, const struct clone *k, const struct record *job)
{
	return store_get(k->c->tables[KIND_WORKLOAD], p->w->ns, job->facts->s[S_PREBUILT]);
}

void slices_pass_on(struct pass *p)
{
	bool news = false;

	for (CLONES_EACH(k, p)) {
		news |= clone_is(k, F_EVICTED) && !clone_is(k, F_FINISHED);
	}
	if (!news || !p->w->owner) {
		return;
	}
	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		if (w != p->w) {
			queue_add(&p->e->queue, &w->item);
		}
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
