/* SPDX-License-Identifier: Apache-2.0 */
/* The state and message of our admission check; see verdict.h. */
#include "core/engine/rules/verdict.h"

#include "core/engine/act/ssa.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/places.h"
#include "core/engine/rules/rest.h"

#define ADMITTED_ON "The workload was admitted on \""

void verdict_write(struct pass *p, enum check_state state, enum rule rule, mk_str message,
		   const char *note_type)
{
	struct json *body;

	if (p->authority != AUTHORITY_FULL && state != CHECK_REJECTED) {
		return; /* it would begin another round */
	}
	body = ssa_body(p, p->local);
	if (!body) {
		return;
	}
	ssa_check(p, body, state, message);
	if (state == CHECK_RETRY) {
		ssa_send_retry(p->e, p->local, body, rule, note_type, message);
	} else {
		ssa_send(p->e, p->local, body, rule, PRIO_COMMIT, note_type, message);
	}
	if (rule == R_LOST || rule == R_EVICTED || rule == R_REFUSED) {
		places_failed(p);
	}
}

void verdict_ready(struct pass *p, const struct clone *k)
{
	mk_str message = verdict_admitted_on(p->e->out->arena, k);
	struct json *body = p->authority == AUTHORITY_FULL ? ssa_body(p, p->local) : NULL;

	if (body) {
		ssa_check(p, body, CHECK_READY, message);
		ssa_check_time(p, body, copied_wins(p, k));
		ssa_send(p->e, p->local, body, R_READY, PRIO_COMMIT, "Normal", message);
	}
}

static mk_str with_previous(struct pass *p, mk_str text)
{
	return arena_printf(p->e->out->arena, "%.*s, Previously: \"%s\"", STR_ARG(text),
			    check_state_name(p->state));
}

/* The only writer of Retry: so none is written without a rest. */
static void retry(struct pass *p, const struct clone *k, enum rule rule, mk_str text,
		  const char *note_type)
{
	bool busy = p->local->inflight != NULL;

	if (p->authority != AUTHORITY_FULL) {
		return;
	}
	p->over = true;
	if (!p->grouped && p->job && facts_is(p->job->facts, F_ENDED | F_MANAGED)) {
		return; /* an ended job does not run again: Kueue finishes the Workload */
	}
	if (p->state == CHECK_READY || p->state == CHECK_PENDING) {
		verdict_write(p, CHECK_RETRY, rule, text, note_type);
		if (!busy && p->local->inflight) {
			rest_retried(p, k, rule);
		}
	}
}

void verdict_retry(struct pass *p, const struct clone *k, enum rule rule, mk_str text,
		   const char *note_type)
{
	retry(p, k, rule, with_previous(p, text), note_type);
}

void verdict_evicted(struct pass *p, const struct clone *k)
{
	/*
	 * Pending with a recorded cluster: another client reset the check. Without Retry nothing
	 * would dispatch the job again.
	 */
	retry(p, k, R_EVICTED,
	      arena_printf(p->e->out->arena,
			   "Workload evicted on worker cluster: \"%s\", resetting for "
			   "re-admission. Previously: \"%s\"",
			   k->c->name, check_state_name(p->state)),
	      "Normal");
}

mk_str verdict_admitted_by(struct arena *a, mk_str cluster)
{
	return arena_printf(a, ADMITTED_ON "%.*s\"", STR_ARG(cluster));
}

mk_str verdict_admitted_on(struct arena *a, const struct clone *k)
{
	return verdict_admitted_by(a, str_of(k->c->name));
}

mk_str verdict_admitted_name(mk_str message, bool *ret_more)
{
	const mk_str before = STR(ADMITTED_ON);
	mk_str name = str_starts(message, before) ? str_sub(message, before.n, message.n - before.n)
						  : STR("");
	const char *end = name.n > 0 ? memchr(name.p, '"', name.n) : NULL;

	*ret_more = end && end + 1 < name.p + name.n;
	return end ? str_sub(name, 0, (size_t)(end - name.p)) : STR("");
}

mk_str verdict_told_winner(struct pass *p)
{
	const struct json *checks =
		p->checked ? json_at(pass_workload(p), "/status/admissionChecks") : NULL;
	bool more;

	return verdict_admitted_name(json_str(json_get(json_elem(checks, p->check), "message")),
				     &more);
}

void verdict_reject(struct pass *p, enum rule rule, mk_str text, const char *note_type)
{
	verdict_write(p, CHECK_REJECTED, rule, with_previous(p, text), note_type);
}

void verdict_out_of_sync(struct pass *p, const struct clone *k)
{
	mk_str text = arena_printf(p->e->out->arena,
				   "Remote workload on worker cluster \"%s\" is out of sync with "
				   "its user job, resetting for re-dispatch",
				   k->c->name);

	verdict_retry(p, k, R_OUT_OF_SYNC, text, "Warning");
}

void verdict_not_started(struct pass *p, const struct clone *k)
{
	verdict_retry(p, k, R_REFUSED,
		      arena_printf(p->e->out->arena, "Cannot start the job on \"%s\": %.*s",
				   k->c->name, STR_ARG(k->r->facts->s[S_FINISHED_MESSAGE])),
		      "Warning");
}

void verdict_remote_gone(struct pass *p, const struct clone *k)
{
	verdict_retry(p, k, R_REMOTE_GONE, STR("Admitting remote no longer exists"), NULL);
}
