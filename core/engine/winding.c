/* SPDX-License-Identifier: Apache-2.0 */
/* Evicted on the manager, quota not released yet: the winner winds down, and its last status lets the quota go. */
#include "core/engine/pass.h"

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
	remove_losers(p, k);
	if (!k) {
		abandon(p);
		return;
	}
	remote = remote_job(p, k);
	if (remote && remote->present && slice_inherits(p, remote->facts) &&
	    !str_eq(remote->facts->s[S_PREBUILT], p->w->name)) {
		/* Still under the clone of the slice before, which nobody here speaks for any more. */
		(void)remove_remote(p, k, R_ABANDONED);
		return;
	}
	if (clone_is(k, F_FINISHED) && !finished_by_others(k) &&
	    !str_is(k->r->facts->s[S_FINISHED_REASON], "OutOfSync")) {
		finish_local(p, k);
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
		finished_remotely(p, k);
	} else if (k && clone_is(k, F_ADMITTED)) {
		run_job(p, k);
	} else if (!unknown) {
		retry(p, R_NO_CLUSTER,
		      STR("Admission check is Ready but no admitting cluster is recorded; this is "
			  "unexpected, please report it"),
		      NULL);
	}
}
