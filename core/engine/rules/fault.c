/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that are missing or break their contract; see fault.h. */
#include "core/engine/rules/fault.h"

#include "core/engine/act/note.h"

enum {
	FAULT_MS = 5000,
	SAY_EVERY_MS = 600 * 1000,
	KINDS_MAX = 64, /* number of kinds that get an Event */
};

static bool may_say(struct pass *p)
{
	int64_t said = p->w->fault_said_at;

	if (!p->e->may_write || (said != INT64_MIN && p->e->now - said < SAY_EVERY_MS)) {
		return false;
	}
	p->w->fault_said_at = p->e->now;
	return true;
}

void fault_tell(struct pass *p, enum mk_code code, const struct mk_err *err, int verdict,
		mk_str said)
{
	if (code == ERR_NO_MEMORY) {
		pass_again(p, p->e->now + FAULT_MS);
		return;
	}
	rule_hit(p->e, R_PLUGIN);
	if (code != ERR_OK) {
		(void)keep_str(&p->w->fault, str_of(err->msg)); /* without memory: the last one */
	}
	if (code != ERR_OK || verdict != MK_E_INPUT) {
		pass_again(p, p->e->now + FAULT_MS);
	}
	if (code == ERR_OK && said.n == 0) {
		return; /* the hook asked to be called again, and gave no reason */
	}
	if (may_say(p)) {
		note_warn(p->e, p->local, NULL, "%s: %.*s",
			  code == ERR_OK ? "The job cannot be handled" : "Fault of a plugin",
			  STR_ARG(code == ERR_OK ? said : str_of(err->msg)));
	}
}

static bool must_wait(struct pass *p, int64_t ms)
{
	if (ms > 0) {
		pass_again(p, p->e->now + ms);
	}
	return ms > 0;
}

bool fault_resting(struct pass *p)
{
	return must_wait(p, plug_adapter_rest_ms(p->e->o.plug, p->adapter, str_of(p->local->uid),
						 p->e->wall));
}

bool fault_dispatcher_resting(struct pass *p)
{
	return must_wait(p, plug_dispatcher_rest_ms(p->e->o.plug, (size_t)p->dispatcher,
						    str_of(p->local->uid), p->e->wall));
}

void fault_frozen(struct pass *p)
{
	struct engine *e = p->e;
	mk_str kind = p->f->s[S_OWNER_KIND];
	const struct record *about =
		p->checked ? manager_named(e, KIND_CHECK, p->f->checks[p->check]) : p->local;

	if (!e->may_write || map_len(&e->frozen_kinds) >= KINDS_MAX ||
	    map_get(&e->frozen_kinds, kind) || !map_put(&e->frozen_kinds, kind, e)) {
		return; /* without memory the next pass sends it */
	}
	if (kind.n == 0) {
		note_warn(e, about, NULL,
			  "Dispatched workloads that no longer name a job as their owner, like "
			  "%.*s/%.*s, are left as they are: delete them when their jobs are gone",
			  STR_ARG(p->w->ns), STR_ARG(p->w->name));
		return;
	}
	note_warn(e, about, NULL,
		  "No plugin serves the kind \"%.*s\" any more: its dispatched "
		  "workloads, like %.*s/%.*s, are left as they are",
		  STR_ARG(kind), STR_ARG(p->w->ns), STR_ARG(p->w->name));
}
