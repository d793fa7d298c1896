/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over a workload; see workload.h. */
#include "core/engine/rules/workload.h"

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/engine/answers/message.h"
#include "core/engine/clusters/check.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/abandon.h"
#include "core/engine/rules/authority.h"
#include "core/engine/rules/breaker.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/fault.h"
#include "core/engine/rules/finish.h"
#include "core/engine/rules/former.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/pass.h"
#include "core/engine/rules/patience.h"
#include "core/engine/rules/places.h"
#include "core/engine/rules/race.h"
#include "core/engine/rules/remove.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/scale.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/stages.h"
#include "core/engine/rules/tally.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/unserved.h"
#include "core/engine/rules/verdict.h"
#include "core/engine/rules/winding.h"
#include "core/engine/rules/won.h"

/* --- what the pass looks at ------------------------------------------------------------------- */

/*
 * May a clone exist on a nominated cluster? A complete list tells. A nomination alone does not: an
 * external dispatcher may nominate any cluster.
 */
static bool may_be_there(struct pass *p, mk_str name)
{
	const struct cluster *c = cluster_named(p->e, name);
	bool hidden = c && !table_known(c, KIND_WORKLOAD);

	p->anywhere |= hidden;
	return hidden;
}

/*
 * Has a clone been created for this workload? For clusters that are out of reach the Workload's
 * status tells.
 */
static bool is_dispatched(struct pass *p)
{
	if (p->f->s[S_CLUSTER].n > 0 || facts_is(p->f, F_OWNED | F_QUOTA | F_EVICTED)) {
		return true; /* an eviction clears clusterName before the job has stopped */
	}
	for (size_t i = 0; i < p->f->n_names; i++) {
		if (may_be_there(p, p->f->names[i])) {
			return true;
		}
	}
	for (CLONES_EACH(k, p)) {
		const struct record *r = k->r;

		if (r && (r->present || r->inflight || r->unknown)) {
			return true;
		}
	}
	return false;
}

/*
 * Rejected makes Kueue deactivate the Workload. It is only for one that was not dispatched, and
 * says nothing about one that is inactive already.
 */
static bool may_reject(struct pass *p)
{
	return p->state == CHECK_PENDING && facts_is(p->f, F_ACTIVE) && !is_dispatched(p);
}

/* --- the rules -------------------------------------------------------------------------------- */

static void freeze(struct pass *p, bool frozen)
{
	p->e->stats.unserved_workloads += frozen;
	p->e->stats.unserved_workloads -= p->w->frozen;
	p->w->frozen = frozen;
}

/*
 * No adapter serves the kind of the owner. A stop is a write to the clone, and needs none; all else
 * is left as it is.
 */
static void no_adapter(struct pass *p)
{
	mk_str kind = p->f->s[S_OWNER_KIND];
	bool begun = p->checked ? is_dispatched(p) : authority_has_begun(p);
	mk_str text;

	if (may_reject(p) && !facts_is(p->f, F_FINISHED) && !facts_is(p->f, F_TERMINATING)) {
		text = !facts_is(p->f, F_OWNED)
			       ? STR("No multikueue adapter found")
			       : arena_printf(p->e->out->arena,
					      "No multikueue adapter found for owner kind \"%.*s\"",
					      STR_ARG(kind));
		freeze(p, false);
		verdict_reject(p, R_REJECTED_ADAPTER, text, NULL);
		return;
	}
	freeze(p, begun && !facts_is(p->f, F_FINISHED));
	if (p->w->frozen) {
		rule_hit(p->e, R_FROZEN);
		fault_frozen(p);
		if (facts_is(p->f, F_EVICTED) || !facts_is(p->f, F_QUOTA)) {
			winding_stop(p);
		}
	}
}

/* The job does not name us as its manager. True when the pass ends here. */
static bool not_managed(struct pass *p)
{
	mk_str text;

	if (!p->job || facts_is(p->job->facts, F_MANAGED)) {
		return false;
	}
	if (facts_is(p->job->facts, F_UNUSABLE)) {
		/*
		 * The managing field has the wrong type: no reason to reject. An Event tells; a
		 * change of the job brings the next pass.
		 */
		fault_tell(p, ERR_OK, NULL, MK_E_INPUT, p->job->facts->s[S_REASON]);
		return false;
	}
	if (may_reject(p)) {
		text = arena_printf(p->e->out->arena, "The owner is not managed by Kueue: %.*s",
				    STR_ARG(p->job->facts->s[S_REASON]));
		verdict_reject(p, R_REJECTED_OWNER, text, NULL);
		return true;
	}
	return false;
}

/*
 * Is this the only workload of its job? Others would have to fetch the text again that this one
 * drops.
 */
static bool is_alone(const struct wl *w)
{
	return w->owner->workloads.next == w->owner->workloads.prev;
}

/* A standby notes rounds, too: its notes must not count in the one in which it begins to lead. */
static void forget_round(struct pass *p)
{
	p->w->pace = pace_new();
	p->w->round = round_new();
	members_new_round(p);
	for (WL_CLUSTERS_EACH(wc, p->w)) {
		wc->bout = (struct bout){0};
	}
}

/*
 * No round is under way: removes clones and jobs, and resets backoffs and what was noted of the
 * round.
 */
static void release(struct pass *p, enum rule rule)
{
	bool left = false;

	for (CLONES_EACH(k, p)) {
		left |= !remove_remote(p, k, rule) && k->twin != TWIN_UNKNOWN;
	}
	forget_round(p);
	slices_over(p);
	if (!left && facts_is(p->f, F_FINISHED)) {
		record_drop_text(&p->e->store, p->local);
		if (p->job && is_alone(p->w)) {
			record_drop_text(&p->e->store, p->job);
			members_drop_texts(p);
		}
	}
}

/*
 * Admitted and Pending, and a copy of the job exists: another client has reset the check and
 * cleared the winner. Without a copy the check is new to a Workload that was admitted before its
 * queue had the check.
 */
static bool is_taken_back(const struct pass *p)
{
	bool any = false;

	for (CLONES_EACH(k, p)) {
		enum twin job = twin_there(p, k);

		any |= twin_is_ours(k->twin) && (twin_is_ours(job) || job == TWIN_UNKNOWN);
	}
	return any && p->state == CHECK_PENDING && facts_is(p->f, F_ADMITTED);
}

static void reserved(struct pass *p)
{
	former_adopt(p);
	if (facts_is(p->f, F_EVICTED)) {
		winding_pass(p);
		patience_pause(p);
	} else if (p->f->s[S_CLUSTER].n > 0) {
		won_pass(p);
	} else if (p->state == CHECK_READY || is_taken_back(p)) {
		winding_without_cluster(p);
	} else if (p->state == CHECK_PENDING) {
		race_pass(p);
	}
}

/* The Workload is being deleted, or Finished and its job's end is on the manager. */
static void clean_up(struct pass *p, enum rule rule)
{
	if (facts_is(p->f, F_TERMINATING) || !finish_owes(p)) {
		release(p, rule);
		return;
	}
	(void)watches_ready(p->e, p->e->clusters[CLUSTER_MANAGER], p->kind);
	watches_use(p->e, CLUSTER_MANAGER, p->kind, &p->w->counted, true);
}

/*
 * An eviction may take the quota at once, while the end of the copy is on its way. What has ended
 * is not run again: its end comes home first.
 */
static void without_quota(struct pass *p, enum rule rule)
{
	struct clone *ended = finish_ended(p);

	if (ended) {
		finish_local(p, ended);
	} else {
		bool said = p->w->round.former_said;

		release(p, rule);
		patience_pause(p);
		p->w->round.former_said = said && !facts_is(p->f, F_ACTIVE);
		former_left(p);
	}
}

/*
 * Did Kueue end the round of our Retry, and begin the next, faster than its events came? Then what
 * is on the workers belongs to the round before.
 */
static bool is_next_round(const struct pass *p)
{
	bool retried = false;

	for (WL_CLUSTERS_EACH(wc, p->w)) {
		retried |= wc->bout.retried;
	}
	return retried && p->state == CHECK_PENDING && p->f->s[S_CLUSTER].n == 0 &&
	       !facts_is(p->f, F_EVICTED) && !p->local->inflight;
}

/* Is our Retry on the manager? What Kueue made of it may be all that is seen. */
static bool is_retry_taken(const struct pass *p)
{
	return p->state == CHECK_RETRY || facts_is(p->f, F_EVICTED) || is_next_round(p);
}

static void checked(struct pass *p)
{
	if (is_retry_taken(p)) {
		rest_seen(p);
	}
	if (p->state == CHECK_REJECTED) {
		if (p->f->s[S_CLUSTER].n == 0) {
			release(p, R_RELEASE);
		}
	} else if (!not_managed(p)) {
		if (!facts_is(p->f, F_QUOTA)) {
			without_quota(p, R_RELEASE);
		} else if (is_next_round(p) && pass_look(p) && !finish_ended(p)) {
			release(p, R_RELEASE);
			pass_again(p, p->e->now);
		} else {
			reserved(p);
		}
	}
}

/* Nothing may be begun any more. */
static void finish_begun(struct pass *p)
{
	authority_tell(p, false);
	if (!facts_is(p->f, F_QUOTA)) {
		without_quota(p, R_UNCHECKED);
	} else if (facts_is(p->f, F_EVICTED)) {
		winding_pass(p);
	} else if (p->f->s[S_CLUSTER].n > 0) {
		won_pass(p);
	} else {
		winding_unrecorded(p);
	}
}

static void use_local_jobs(struct pass *p)
{
	watches_use(p->e, CLUSTER_MANAGER, p->kind, &p->w->counted, !facts_is(p->f, F_FINISHED));
	if (!facts_is(p->f, F_FINISHED)) {
		(void)watches_ready(p->e, p->e->clusters[CLUSTER_MANAGER], p->kind);
		watches_use(p->e, CLUSTER_MANAGER, p->kind, &p->w->counted, true);
	}
}

/* May the pass go on? If not, nothing has been begun for the Workload, or no adapter serves it. */
static bool has_authority(struct pass *p)
{
	bool begun = p->authority == AUTHORITY_FULL || authority_has_begun(p);

	if (p->authority == AUTHORITY_NONE || (p->checked && !begun)) {
		no_adapter(p);
		return false;
	}
	freeze(p, false);
	if (!begun) {
		message_unasked(p);
	}
	return begun;
}

/*
 * The manager runs the job itself; one that it has not admitted either may be rejected. Members
 * that wait beside one that has begun run nowhere when their copies are gone.
 */
static void runs_here(struct pass *p)
{
	bool begun = authority_has_begun(p);
	bool has_quota = facts_is(p->f, F_QUOTA), evicted = facts_is(p->f, F_EVICTED);
	bool waits = p->checked && facts_is(p->job->facts, F_MANAGED) && has_quota && !evicted &&
		     (!facts_is(p->f, F_ADMITTED) || p->f->s[S_CLUSTER].n > 0);

	if (begun || waits) {
		authority_tell(p, true);
	}
	release(p, R_HERE);
	if (has_quota && evicted) {
		abandon_pass(p);
	} else if (waits) {
		message_here(p);
	}
	if (!begun && p->checked && !facts_is(p->f, F_ADMITTED)) {
		(void)not_managed(p);
	}
}

/* Is it another one than that of this name before? Of it nothing has been said yet. */
static void tell_apart(struct pass *p)
{
	uint32_t of = (uint32_t)hash64(str_of(p->local->uid));

	if (p->w->of != 0 && p->w->of != of) {
		forget_round(p);
		p->w->explained_at = INT64_MIN;
		p->w->authority_said = 0;
	}
	p->w->of = of;
}

static void finished(struct pass *p)
{
	if (slices_is_replaced(p, p->f->s[S_FINISHED_REASON]) && slices_is_inherited(p)) {
		slices_pass_on(p);
		return;
	}
	clean_up(p, R_RELEASE);
}

static void with_local(struct pass *p)
{
	tell_apart(p);
	p->w->gc = false;
	p->w->sure_gone = false;
	p->w->absent_rounds = 0;
	rest_look_for_room(p);
	if (!pass_look_narrow(p) || !has_authority(p)) {
		return;
	}
	tally_local(p);
	use_local_jobs(p);
	(void)unserved_late(p);
	if (facts_is(p->f, F_TERMINATING)) {
		release(p, R_DELETED);
	} else if (facts_is(p->f, F_FINISHED)) {
		finished(p);
	} else if (authority_is_here(p)) {
		runs_here(p);
	} else if (finish_seen(p)) {
		message_owed(p);
		return;
	} else if (p->authority == AUTHORITY_FINISH) {
		finish_begun(p);
	} else {
		p->w->authority_said = 0;
		checked(p);
	}
	message_owed(p);
}

/* The local Workload is gone: removes its clones and jobs. */
static void without_local(struct pass *p)
{
	if (!pass_look(p)) {
		return;
	}
	if (p->kind == 0) {
		for (CLONES_EACH(k, p)) {
			if (clone_is(k, F_OWNED)) {
				return; /* no plugin knows its job: left as it is */
			}
		}
	}
	remove_all(p, p->w->gc ? R_GC : R_GONE);
	slices_over(p);
}

/* --- bookkeeping ------------------------------------------------------------------------------ */

/* Is it a copy of the local job that may have an end, whatever became of its clone? */
static bool has_copy(const struct pass *p, const struct record *job)
{
	return p->local && job && job->present && twin_is_ours(twin_of_job(p, job));
}

/* May a copy be there that nothing shows? Then the kind is looked for until it is known. */
static bool may_have_copy(const struct pass *p, const struct clone *k)
{
	return p->local && !facts_is(p->f, F_FINISHED) &&
	       (copied_on(p, k) || str_is(p->f->s[S_CLUSTER], k->c->name));
}

/*
 * Counts the workload as user of the watches on its job's kind. True while a clone or job of it may
 * exist.
 */
static bool count_uses(struct pass *p)
{
	bool any = false;

	for (CLONES_EACH(k, p)) {
		const struct record *job = twin_record(p, k);
		bool here = k->r && (k->r->present || k->r->inflight || k->r->unknown);
		bool in_use = here || k->lacks || has_copy(p, job) || may_have_copy(p, k) ||
			      finish_keeps(p, k);
		struct wl_cluster *wc;

		if (k->twin == TWIN_ALIAS) {
			continue; /* counted under the other name */
		}
		copied_note(p, k, job);
		any |= here || (k->r && k->r->ending) || (job && (job->inflight || job->unknown)) ||
		       (job && job->present && twin_of_job(p, job) != TWIN_OTHER);
		any |= p->grouped && !p->local && twin_recorded(p, k) != TWIN_ABSENT;
		wc = in_use ? wl_cluster(p->e, p->w, k->c->id) : wl_cluster_known(p->w, k->c->id);
		if (!wc || !p->kind) {
			continue;
		}
		if (here && !k->c->tables[p->kind]) {
			(void)watches_ready(p->e, k->c, p->kind);
		}
		watches_use(p->e, k->c->id, p->kind, &wc->uses, in_use);
		scale_use(p, k, job, wc);
		tally_clone(p, k, wc);
		if (here && k->r->present) {
			breaker_saw(p, k, wc);
			rest_saw(p, k, wc);
		}
	}
	return any;
}

/*
 * Until its next pass, what changes concern the workload? Those of its own objects do always: they
 * queue it by name. What can be seen of its winner does, and before there is one, what can be seen
 * of the clusters that it chooses from.
 */
static struct list_node *waits_for(const struct pass *p)
{
	struct engine *e = p->e;
	struct cluster *winner;
	struct check *check;

	if (!p->local) {
		return &e->gone;
	}
	if (p->anywhere) {
		return &e->waits;
	}
	if ((!p->checked && p->f->s[S_CLUSTER].n == 0) ||
	    (!facts_is(p->f, F_QUOTA) && !patience_rests(p)) ||
	    (p->f->flags & (F_FINISHED | F_TERMINATING))) {
		return NULL;
	}
	if (p->f->s[S_CLUSTER].n > 0 && !facts_is(p->f, F_EVICTED)) {
		winner = cluster_named(e, p->f->s[S_CLUSTER]);
		return winner ? &winner->waits : &e->waits;
	}
	check = p->checked ? map_get(&e->check_by_name, p->f->checks[p->check]) : NULL;
	if (!p->config || !check) {
		return &e->waits;
	}
	return patience_rests(p) || rest_awaits_room(p) ? &check->rests : &check->waits;
}

static void await(const struct pass *p)
{
	struct list_node *waits = waits_for(p);

	list_del(&p->w->waits);
	if (waits) {
		list_add_tail(waits, &p->w->waits);
	}
}

/*
 * For a job a Workload may be made anew: it has to know of a copy that is out of sight, and that
 * one which was seen has gone.
 */
static bool is_remembered(struct pass *p)
{
	int64_t until = copied_unnamed_until(p);
	bool any = (until != INT64_MIN && !pass_is_due(p, until)) || copied_is_told_by_job(p);

	for (WL_CLUSTERS_EACH(wc, p->w)) {
		struct clone k = {.c = p->job ? cluster_get(p->e, wc->id) : NULL};

		any |= k.c && copied_unseen(p, &k);
	}
	return any;
}

void workload_pass(struct engine *e, struct wl *w)
{
	struct pass p;
	bool any;

	if (!pass_may_open(e)) {
		return;
	}
	e->stats.passes++;
	wl_clusters_tidy(e, w);
	pass_open(&p, e, w);
	if (p.local) {
		with_local(&p);
	} else {
		without_local(&p);
	}
	e->stats.visits += p.n_clones;
	if (e->store.n_endings > 0) {
		finish_forget(&p);
	}
	any = count_uses(&p);
	await(&p);
	places_note(&p);
	tally_line(&p);
	tally_phase(&p);
	stages_note(&p, any);
	if (e->no_memory) {
		queue_add(&e->queue, &w->item);
	} else if (!p.local && !any && !is_remembered(&p)) {
		e->stats.unserved_workloads -= w->frozen;
		wl_free(e, w);
	}
}
