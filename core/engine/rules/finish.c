/* SPDX-License-Identifier: Apache-2.0 */
/* The clone is Finished; see finish.h. */
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
	LIST_WAIT_MS = 15 * 60 * 1000, /* for a list that shows how the job ended */
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
 * The watch on Workloads may be ahead of the one on jobs. Waits a moment for the job's end, then
 * reads the job once, before the Workload's Finished lets the job be removed.
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
		/* After a failure the get is sent again. */
		ops_get(p->e, remote);
		pace->finish_asked = remote->inflight != NULL;
		pass_again(p, p->e->now + LAST_STATUS_WAIT_MS);
		return false;
	}
	return true;
}

/*
 * Kueue on the manager writes Finished as well, as soon as it sees the local job's end, with the
 * same words, since the job's conditions are copies. The second writer wastes a request or meets a
 * conflict, so Kueue gets a moment.
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

/*
 * The job cannot be seen: the clone's Finished is the last word, and is written to the local job. A
 * permanent refusal ends the wait.
 */
static bool end_is_told(struct pass *p, const struct clone *k)
{
	return p->grouped || job_ended_status(p, k) == SYNC_SAME ||
	       (p->job && p->job->denied >= STATUS_GIVE_UP);
}

/*
 * Is there surely no object here to report to: a copy without a member, or a job that was deleted?
 * A new process learns of Workloads before it learns of jobs.
 */
static bool lacks_object(const struct pass *p)
{
	return !p->job &&
	       (manager_knows(p->e, p->kind) || table_is_unserved(manager_table(p->e, p->kind)));
}

/* True when this object's status is up to date. */
static bool object_done(struct pass *p, struct clone *k)
{
	struct table *t = k->c->tables[p->kind];
	struct record *remote = twin_record(p, k);
	enum twin twin = twin_of_job(p, remote);

	if (!p->job && (p->grouped || !lacks_object(p))) {
		return lacks_object(p);
	}
	if (table_view(k->c, p->kind) != VIEW_KNOWN) {
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
	/*
	 * Only permanent refusals end the wait: other errors pass, and with the copy the job's end
	 * would be lost.
	 */
	return last_status_seen(p, remote) &&
	       (job_status(p, remote, R_LAST_STATUS, true) == SYNC_SAME ||
		(p->job && p->job->denied >= STATUS_GIVE_UP));
}

/*
 * The list that shows the job's end may come late; after LIST_WAIT_MS the quota is given back
 * without it.
 */
static bool is_list_awaited(struct pass *p, const struct clone *k)
{
	int64_t since = hidden_since(k->c, p->kind);

	return !watches_ready(p->e, k->c, p->kind) && table_view(k->c, p->kind) == VIEW_HIDDEN &&
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
	if (slices_is_replaced(p, k->r->facts->s[S_FINISHED_REASON])) {
		return; /* Kueue finishes the local Workload for the same reason */
	}
	if (is_finished_as(k, "OutOfSync")) {
		verdict_out_of_sync(p, k);
	} else if (is_finished_as(k, "OwnerNotFound")) {
		/* The job was removed on the worker: that does not tell how it ended. */
		rest_copy_gone(p, k, "job", true);
	} else {
		finish_local(p, k);
	}
}
