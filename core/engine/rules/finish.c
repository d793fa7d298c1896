/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clone is Finished: what the job ended as comes first, then the local Workload's Finished; all that is remote goes
 * only after that.
 */
#include "core/engine/rules/finish.h"

#include "core/base/hash.h"
#include "core/engine/act/ssa.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/job.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/verdict.h"

enum {
	STATUS_GIVE_UP = 8,
	LAST_STATUS_WAIT_MS = 1000,
	CORE_FINISH_WAIT_MS = 500,
	LIST_WAIT_MS = 15 * 60 * 1000, /* for a list that shows what the job ended as */
};

static void write_finished(struct pass *p, const struct clone *k)
{
	const struct facts *f = k->r->facts;
	struct json *body = ssa_body(p, p->local);

	if (!body) {
		return;
	}
	ssa_condition(p->e, body, "Finished", f->s[S_FINISHED_REASON], f->s[S_FINISHED_MESSAGE],
		      p->f->generation);
	ssa_send(p->e, p->local, body, R_FINISHED, PRIO_STATUS, NULL, STR_NONE);
}

/*
 * The clone's watch may be ahead of the job's: what the job ended as is worth a moment's patience, and then one look,
 * before the Workload's end lets the remote job go.
 */
static bool last_status_seen(struct pass *p, struct record *remote)
{
	struct pace *pace = p->pace;
	uint32_t copy = (uint32_t)hash64(str_of(remote->uid));

	if (facts_is(remote->facts, F_ENDED)) {
		return true;
	}
	if (pace->finish_at == INT64_MAX || pace->finish_of != copy) {
		pace->finish_at = p->e->now + LAST_STATUS_WAIT_MS;
		pace->finish_of = copy;
		pace->finish_asked = false;
	}
	if (!pass_is_due(p, pace->finish_at)) {
		return false;
	}
	if (remote->inflight || remote->retry_at > p->e->now) {
		pass_again(p, p->e->now + LAST_STATUS_WAIT_MS);
		return false;
	}
	if (!pace->finish_asked || remote->fails > 0) {
		/* A look that failed was none. */
		ops_get(p->e, remote);
		pace->finish_asked = remote->inflight != NULL;
		pass_again(p, p->e->now + LAST_STATUS_WAIT_MS);
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
	if (w->round.core_until == INT64_MAX) {
		w->round.core_until = p->e->now + CORE_FINISH_WAIT_MS;
	}
	return pass_is_due(p, w->round.core_until);
}

/* Nothing is left there that could say more than the clone does; what refuses that for good ends the wait. */
static bool end_is_told(struct pass *p, const struct clone *k)
{
	return p->grouped || job_ended_status(p, k) == SYNC_SAME ||
	       (p->job && p->job->denied >= STATUS_GIVE_UP);
}

/* Nothing more is to be told of this object. A copy without a member has nobody to tell. */
static bool object_done(struct pass *p, struct clone *k)
{
	struct table *t = k->c->tables[p->kind];
	struct record *remote = twin_record(p, k);
	enum twin twin = twin_of_job(p, remote);

	if (p->grouped && !p->job) {
		return manager_knows(p->e, p->kind);
	}
	if (table_view(p->e, k->c, p->kind) != VIEW_KNOWN) {
		return end_is_told(p, k);
	}
	if (p->grouped && twin == TWIN_ABSENT && facts_is(p->job->facts, F_ENDED)) {
		return true;
	}
	if (twin == TWIN_ABSENT && !twin_surely_absent(p, t, p->w->ns, p->object)) {
		return false;
	}
	if (twin == TWIN_UNKNOWN) {
		pass_ask(p, remote);
		return false;
	}
	if (!twin_is_ours(twin)) {
		return end_is_told(p, k);
	}
	/* Trouble passes, and what the job ended as is lost with the remote copy: only a refusal ends the wait. */
	return last_status_seen(p, remote) &&
	       (job_status(p, remote, R_LAST_STATUS, true) == SYNC_SAME ||
		(p->job && p->job->denied >= STATUS_GIVE_UP));
}

/* The list that shows what the job ended as may come late; one that never comes keeps no quota for ever. */
static bool is_list_awaited(struct pass *p, const struct clone *k)
{
	int64_t since = hidden_since(k->c, p->kind);

	return !watches_ready(p->e, k->c, p->kind) &&
	       table_view(p->e, k->c, p->kind) == VIEW_HIDDEN &&
	       !pass_is_due(p, since == INT64_MAX ? since : since + LIST_WAIT_MS);
}

void finish_local(struct pass *p, struct clone *k)
{
	if (is_list_awaited(p, k)) {
		return;
	}
	if (members_each(p, k, object_done) && core_had_its_turn(p)) {
		write_finished(p, k);
	}
}

static bool is_finished_as(const struct clone *k, const char *reason)
{
	return str_is(k->r->facts->s[S_FINISHED_REASON], reason);
}

bool finish_tells_the_end(const struct clone *k)
{
	return clone_is(k, F_FINISHED) && !is_finished_as(k, "OwnerNotFound") &&
	       !is_finished_as(k, "OutOfSync");
}

void finish_remotely(struct pass *p, struct clone *k)
{
	mk_str text;

	if (slices_is_replaced(p, k->r->facts->s[S_FINISHED_REASON])) {
		return; /* core says so here too */
	}
	if (is_finished_as(k, "OutOfSync")) {
		text = arena_printf(
			p->e->out->arena,
			"Remote workload on worker cluster \"%s\" is out of sync with its user "
			"job, resetting for re-dispatch",
			k->c->name);
		verdict_retry(p, R_OUT_OF_SYNC, text, "Warning");
	} else if (is_finished_as(k, "OwnerNotFound")) {
		/* Somebody removed the job there: that is no verdict on it. */
		rest_copy_gone(p, k, "job");
	} else {
		finish_local(p, k);
	}
}
