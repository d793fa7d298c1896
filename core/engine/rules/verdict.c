/* SPDX-License-Identifier: Apache-2.0 */
/* The state and message of our admission check; see verdict.h. */
#include "core/engine/rules/verdict.h"

#include "core/engine/act/ssa.h"
#include "core/engine/rules/places.h"

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
	ssa_send(p->e, p->local, body, rule, PRIO_COMMIT, note_type, message);
	if (rule == R_LOST || rule == R_EVICTED || rule == R_REFUSED) {
		places_failed(p);
	}
}

static mk_str with_previous(struct pass *p, mk_str text)
{
	return arena_printf(p->e->out->arena, "%.*s, Previously: \"%s\"", STR_ARG(text),
			    check_state_name(p->state));
}

void verdict_retry(struct pass *p, enum rule rule, mk_str text, const char *note_type)
{
	if (p->authority != AUTHORITY_FULL) {
		return;
	}
	p->over = true;
	if (!p->grouped && p->job && facts_is(p->job->facts, F_ENDED | F_MANAGED)) {
		return; /* an ended job does not run again: Kueue finishes the Workload */
	}
	if (p->state == CHECK_READY || p->state == CHECK_PENDING) {
		verdict_write(p, CHECK_RETRY, rule, with_previous(p, text), note_type);
	}
}

mk_str verdict_admitted_on(struct arena *a, const struct clone *k)
{
	return arena_printf(a, ADMITTED_ON "%s\"", k->c->name);
}

mk_str verdict_admitted_name(mk_str message)
{
	const mk_str before = STR(ADMITTED_ON);

	return str_starts(message, before) && str_ends(message, STR("\""))
		       ? str_sub(message, before.n, message.n - before.n - 1)
		       : STR("");
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

	verdict_retry(p, R_OUT_OF_SYNC, text, "Warning");
}

void verdict_remote_gone(struct pass *p)
{
	verdict_retry(p, R_REMOTE_GONE, STR("Admitting remote no longer exists"), NULL);
}
