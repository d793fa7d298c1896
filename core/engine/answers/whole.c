/* SPDX-License-Identifier: Apache-2.0 */
/* Where a Workload stands as a whole; see why.h. */
#include "core/engine/answers/why.h"
#include "core/engine/answers/why_words.h"
#include "core/engine/rules/authority.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/patience.h"
#include "core/engine/rules/unplaceable.h"
#include "core/engine/rules/unserved.h"
#include "core/engine/rules/wall.h"

#define NAME_OF(id, text) [id] = text,
const char *const why_phases[PHASE_N] = {WHY_PHASE(NAME_OF)};
#undef NAME_OF

/* The message of a condition of the local Workload, "" when it has none. */
static mk_str local_says(struct pass *p, const char *type)
{
	const struct json *wl = record_parse(p->e, p->local);
	const struct json *c = json_find(json_at(wl, "/status/conditions"), "type", type);

	return why_short(json_str(json_get(c, "message")));
}

/* The first of the other checks that is not Ready; n_checks: all are. */
static size_t other_check(const struct pass *p)
{
	size_t i = 0;

	while (i < p->f->n_checks && (i == p->check || p->f->states[i] == CHECK_READY)) {
		i++;
	}
	return i;
}

/* Its name and state, and what its controller says. */
static mk_str other_check_words(struct pass *p)
{
	mk_str name = p->f->checks[other_check(p)];
	const struct json *checks =
		json_at(record_parse(p->e, p->local), "/status/admissionChecks");
	const struct json *check = json_find(checks, "name", name.p);
	mk_str state = json_str(json_get(check, "state"));
	mk_str said = why_short(json_str(json_get(check, "message")));

	return why_say(p, "admission check \"%.*s\" is %.*s%s%.*s", STR_ARG(name),
		       STR_ARG(state.n > 0 ? state : STR("not Ready")), said.n > 0 ? ": " : "",
		       STR_ARG(said));
}

/* A plugin broke its contract for this Workload: so long it is not called, 0 = it is. */
static int64_t fault_ms(const struct pass *p, bool *ret_adapter)
{
	const struct plug *plug = p->e->o.plug;
	mk_str uid = str_of(p->local->uid);
	int dispatcher = p->config ? plug_find_dispatcher(plug, nominate_dispatcher(p)) : -1;
	int64_t ms = plug_adapter_rest_ms(plug, p->adapter, uid, p->e->wall);

	*ret_adapter = ms > 0;
	return ms > 0 || dispatcher < 0
		       ? ms
		       : plug_dispatcher_rest_ms(plug, (size_t)dispatcher, uid, p->e->wall);
}

/* Does the manager run the job itself? */
static bool is_here(const struct pass *p)
{
	return p->job && facts_is(p->job->facts, F_HERE);
}

/* Nothing new is begun, and there is a winner: what of it goes on? */
static mk_str finishing_words(struct pass *p)
{
	return why_say(p, "%.*s: what runs on %.*s goes on, and nothing new is begun",
		       STR_ARG(authority_words(p)), STR_ARG(p->f->s[S_CLUSTER]));
}

/* What stands before a race on the manager; PHASE_RACING: nothing. */
static enum why_phase held_phase(const struct pass *p)
{
	return p->state == CHECK_REJECTED            ? PHASE_REJECTED
	       : !facts_is(p->f, F_ACTIVE)           ? PHASE_INACTIVE
	       : !facts_is(p->f, F_QUOTA)            ? PHASE_NO_QUOTA
	       : facts_is(p->f, F_EVICTED)           ? PHASE_EVICTED
	       : p->state == CHECK_RETRY             ? PHASE_RETRY
	       : is_here(p)                          ? PHASE_NOT_MANAGED
	       : p->f->s[S_CLUSTER].n > 0            ? PHASE_WON
	       : !p->job                             ? PHASE_NO_JOB
	       : !facts_is(p->job->facts, F_MANAGED) ? PHASE_NOT_MANAGED
	       : other_check(p) < p->f->n_checks     ? PHASE_CHECKS
	       : !p->config                          ? PHASE_NO_CONFIG
						     : PHASE_RACING;
}

enum why_phase why_phase(const struct pass *p)
{
	enum why_phase phase;
	bool by_adapter;

	if (!p->local || facts_is(p->f, F_TERMINATING)) {
		return PHASE_DELETING;
	}
	if (facts_is(p->f, F_FINISHED)) {
		return PHASE_FINISHED;
	}
	if (!p->checked || !p->kind) {
		return !p->checked ? PHASE_NOT_OURS : PHASE_NO_ADAPTER;
	}
	if (fault_ms(p, &by_adapter) > 0) {
		return PHASE_FAULT;
	}
	phase = held_phase(p);
	if (phase != PHASE_RACING) {
		return phase;
	}
	if (plug_find_dispatcher(p->e->o.plug, nominate_dispatcher(p)) < 0) {
		return PHASE_NO_DISPATCHER;
	}
	return p->w->round.unplaceable != FITS_PERHAPS ? PHASE_UNPLACEABLE
	       : p->f->n_names == 0                    ? PHASE_NOT_NOMINATED
						       : PHASE_RACING;
}

enum why_phase why_phase_now(const struct engine *e, enum why_phase phase)
{
	bool races =
		phase == PHASE_RACING || phase == PHASE_NOT_NOMINATED || phase == PHASE_UNPLACEABLE;

	return races && e->breaker.open ? PHASE_BREAKER : phase;
}

static mk_str fault_words(struct pass *p, bool by_adapter)
{
	mk_str who = by_adapter
			     ? why_say(p, "the adapter of %.*s", STR_ARG(p->f->s[S_OWNER_KIND]))
			     : why_say(p, "dispatcher \"%.*s\"", STR_ARG(nominate_dispatcher(p)));

	return why_say(p, "%.*s failed for this Workload%s%.*s", STR_ARG(who),
		       p->w->fault ? ": " : "", STR_ARG(why_short(str_of(p->w->fault))));
}

static mk_str won_words(struct pass *p)
{
	mk_str unserved = unserved_words(p);
	mk_str words = p->authority == AUTHORITY_FULL
			       ? why_say(p, "it was sent to %.*s", STR_ARG(p->f->s[S_CLUSTER]))
			       : finishing_words(p);

	return unserved.n == 0 ? words
			       : why_say(p, "%.*s; %.*s", STR_ARG(words), STR_ARG(unserved));
}

static mk_str held_words(struct pass *p, enum why_phase phase)
{
	if (phase == PHASE_REJECTED) {
		return why_say(p, "the admission check was rejected%.*s", STR_ARG(wall_words(p)));
	}
	if (phase == PHASE_INACTIVE) {
		return why_say(p, "spec.active is false: it was deactivated%.*s",
			       STR_ARG(wall_words(p)));
	}
	if (phase == PHASE_NO_QUOTA) {
		return why_say(p, "Kueue has no quota for it on the manager: %.*s",
			       STR_ARG(local_says(p, "QuotaReserved")));
	}
	if (phase == PHASE_EVICTED) {
		return why_say(p, "Kueue has evicted it: %.*s",
			       STR_ARG(why_short(p->f->s[S_EVICTED_MESSAGE])));
	}
	if (phase == PHASE_RETRY) {
		return STR("the admission check asks Kueue to queue it again");
	}
	return won_words(p);
}

/* Of a phase in which no dispatcher is asked. */
static mk_str unready_words(struct pass *p, enum why_phase phase)
{
	if (phase == PHASE_NO_JOB && unserved_words(p).n > 0) {
		return unserved_words(p);
	}
	if (phase == PHASE_NO_JOB) {
		return why_say(p, "its job \"%.*s\" is not there", STR_ARG(p->object));
	}
	if (phase == PHASE_NOT_MANAGED && is_here(p)) {
		return STR("the manager cluster runs the job itself: no copy of it may run");
	}
	if (phase == PHASE_NOT_MANAGED) {
		return why_say(p, "its job is not managed by MultiKueue: %.*s",
			       STR_ARG(why_short(p->job->facts->s[S_REASON])));
	}
	if (phase == PHASE_CHECKS) {
		return other_check_words(p);
	}
	return why_say(p, "admission check \"%.*s\" has no MultiKueueConfig",
		       STR_ARG(p->f->checks[p->check]));
}

static mk_str race_words(struct pass *p, enum why_phase phase)
{
	const struct plug *plug = p->e->o.plug;
	mk_str name = nominate_dispatcher(p);
	int dispatcher = plug_find_dispatcher(plug, name);

	if (phase == PHASE_NO_DISPATCHER) {
		return why_say(p, "no dispatcher is named \"%.*s\"", STR_ARG(name));
	}
	if (phase == PHASE_BREAKER) {
		return STR("the breaker is open: clones that exist already are not made again");
	}
	if (phase == PHASE_UNPLACEABLE) {
		return why_say(p, "it fits on no worker: %.*s", STR_ARG(unplaceable_words(p)));
	}
	if (phase == PHASE_NOT_NOMINATED) {
		return why_say(p, "dispatcher \"%.*s\" %s", STR_ARG(name),
			       plug_dispatcher(plug, (size_t)dispatcher)->is_template
				       ? "has nominated no cluster"
				       : "finds no worker that can take it now");
	}
	return why_say(p, "%u of %u clusters are nominated, none has admitted it",
		       (unsigned)p->f->n_names, (unsigned)p->roster.n);
}

static mk_str words_of(struct pass *p, enum why_phase phase, bool by_adapter)
{
	switch (phase) {
	case PHASE_DELETING:
		return p->local ? STR("the Workload is being deleted")
				: STR("the Workload is gone; what is left of it is removed");
	case PHASE_FINISHED:
		return why_short(p->f->s[S_FINISHED_MESSAGE]);
	case PHASE_NOT_OURS:
		return p->f->s[S_CLUSTER].n > 0
			       ? finishing_words(p)
			       : STR("its ClusterQueue has no admission check of MultiKueue");
	case PHASE_NO_ADAPTER:
		return p->f->s[S_OWNER_KIND].n == 0
			       ? STR("it names no job as its owner")
			       : why_say(p, "no adapter serves its owner \"%.*s\"",
					 STR_ARG(p->f->s[S_OWNER_KIND]));
	case PHASE_FAULT:
		return fault_words(p, by_adapter);
	case PHASE_REJECTED:
	case PHASE_INACTIVE:
	case PHASE_NO_QUOTA:
	case PHASE_EVICTED:
	case PHASE_RETRY:
	case PHASE_WON:
		return held_words(p, phase);
	case PHASE_NO_JOB:
	case PHASE_NOT_MANAGED:
	case PHASE_CHECKS:
	case PHASE_NO_CONFIG:
		return unready_words(p, phase);
	case PHASE_NO_DISPATCHER:
	case PHASE_BREAKER:
	case PHASE_UNPLACEABLE:
	case PHASE_NOT_NOMINATED:
	case PHASE_RACING:
		return race_words(p, phase);
	case PHASE_UNKNOWN:
	case PHASE_N:
		break;
	}
	return STR("");
}

void why_whole(struct pass *p, struct why_whole *ret)
{
	enum why_phase phase = why_phase_now(p->e, why_phase(p));
	bool races = phase >= PHASE_NO_DISPATCHER && phase != PHASE_FAULT, by_adapter = false;
	int64_t ms = phase == PHASE_FAULT ? fault_ms(p, &by_adapter) : 0;
	int64_t deadline = phase == PHASE_WON ? INT64_MAX : patience_deadline(p);

	*ret = (struct why_whole){
		.phase = phase, .words = words_of(p, phase, by_adapter), .until_ms = -1};
	if (ms > 0) {
		ret->until_ms = p->e->wall + ms;
		ret->then = "the plugin is called again";
	} else if (deadline != INT64_MAX) {
		ret->until_ms = why_wall(p->e, deadline);
		ret->then = "its quota is given back";
	} else if (races && p->w->round.asked_again > p->e->now) {
		ret->until_ms = why_wall(p->e, p->w->round.asked_again);
		ret->then = "the dispatcher is asked for more clusters";
	}
}
