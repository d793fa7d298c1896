/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons; see why.h. */
#include "core/engine/answers/why.h"

#include "core/base/timefmt.h"
#include "core/engine/answers/loss.h"
#include "core/engine/rules/breaker.h"
#include "core/engine/rules/cordon.h"
#include "core/engine/rules/gates.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/race.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/wall.h"

#define NAME_OF(id, text) [id] = text,
const char *const why_names[WHY_N] = {WHY_CLUSTER(NAME_OF)};
const char *const why_phases[PHASE_N] = {WHY_PHASE(NAME_OF)};
#undef NAME_OF

enum { WORDS_MAX = 256 }; /* of a text that a server wrote */

/* Monotonic to wall time; -1 for a time that is not known. */
static int64_t wall_of(const struct engine *e, int64_t mono_ms)
{
	return mono_ms == INT64_MAX || mono_ms == INT64_MIN ? -1 : e->wall + (mono_ms - e->now);
}

static mk_str say(struct pass *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static mk_str say(struct pass *p, const char *fmt, ...)
{
	va_list ap;
	mk_str s;

	va_start(ap, fmt);
	s = arena_vprintf(&p->e->scratch, fmt, ap);
	va_end(ap);
	return s;
}

static mk_str short_of(mk_str words)
{
	return str_cut(words, WORDS_MAX);
}

static bool is_winner(const struct pass *p, const struct clone *k)
{
	return p->f && str_is(p->f->s[S_CLUSTER], k->c->name);
}

/* --- a cluster that cannot be asked ----------------------------------------------------------- */

static void not_connected(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	const struct cluster *c = k->c;
	const struct loss *loss = loss_of(str_of(c->text));

	w->since_ms = wall_of(p->e, c->own.lost_at);
	if (!c->decided) {
		w->why = WHY_CONNECTING;
		w->words = STR("is being connected");
		return;
	}
	w->why = WHY_NOT_CONNECTED;
	w->detail = short_of(str_of(c->text));
	w->words = w->since_ms < 0 ? STR("is not connected")
				   : say(p, "is not connected since %.*s",
					 STR_ARG(time_rfc3339(&p->e->scratch, w->since_ms)));
	w->words = loss ? say(p, "%.*s: %s", STR_ARG(w->words), loss->cause) : w->words;
	if (c->own.rest_until > p->e->now) {
		w->until_ms = wall_of(p->e, c->own.rest_until);
		w->then = "the cluster is connected again";
	}
}

static void not_served(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	const struct table *t = k->c->tables[p->kind];
	mk_str gvk = p->e->o.kinds->k[p->kind].gvk;

	w->why = t->service == SERVICE_REFUSED ? WHY_KIND_REFUSED : WHY_KIND_NOT_SERVED;
	w->since_ms = wall_of(p->e, t->hidden_at);
	w->detail = short_of(str_of(t->why));
	w->words = say(p, "%s %.*s",
		       t->service == SERVICE_MISSING   ? "does not serve"
		       : t->service == SERVICE_REFUSED ? "gives us no right to"
						       : "cannot say whether it serves",
		       STR_ARG(gvk));
}

/* --- the winner ------------------------------------------------------------------------------- */

static void say_lost_at(struct pass *p, int64_t since, struct why_cluster *w)
{
	int64_t at = lost_deadline(p->e, since);

	w->until_ms = wall_of(p->e, at);
	w->then = at == INT64_MAX ? NULL : "the worker counts as lost, and the job is queued again";
}

static void winner_hidden(struct pass *p, const struct clone *k, uint16_t kind,
			  struct why_cluster *w)
{
	w->why = WHY_WINNER_HIDDEN;
	w->words = say(p, "was chosen, and %.*s; the job may go on there", STR_ARG(w->words));
	say_lost_at(p, hidden_since(k->c, kind), w);
}

/* The Workload was evicted, and the cluster cannot be asked whether the job has stopped there. */
static void maybe_there(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	w->words = say(p, "%.*s; the job may run there, quota is held until that is known",
		       STR_ARG(w->words));
	say_lost_at(p, hidden_since(k->c, KIND_WORKLOAD), w);
}

static void winner_job(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);
	const struct record *job = twin_record(p, k);
	const struct facts *f = job && job->present ? job->facts : NULL;

	w->since_ms = p->pace->status_at == INT64_MIN ? -1 : wall_of(p->e, p->pace->status_at);
	if (wc && wc->bout.refused) {
		w->why = WHY_JOB_REFUSED;
		w->words = say(p, "was chosen and refused the job: %.*s",
			       STR_ARG(short_of(str_of(wc->why))));
	} else if (!f) {
		w->why = WHY_JOB_AWAITED;
		w->words = STR("was chosen; the job is not there yet");
	} else if (facts_is(f, F_ENDED)) {
		w->why = WHY_JOB_ENDED;
		w->words = STR("was chosen; the job has ended");
	} else if (facts_is(f, F_SUSPENDED)) {
		w->why = WHY_JOB_SUSPENDED;
		w->words = STR("was chosen; the job is there, suspended");
	} else {
		w->why = WHY_JOB_RUNS;
		w->words = facts_is(f, F_ACTIVE) ? STR("was chosen; the job runs")
						 : STR("was chosen; the job is there, no pod runs");
	}
}

/* --- a clone ---------------------------------------------------------------------------------- */

static void at_gate(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	int64_t until = -1;
	const struct clone *holder = gates_holder(p, &until);

	w->why = WHY_AT_GATE;
	if (facts_is(k->r->facts, F_GATE_OPEN)) {
		w->words = STR("may preempt now, its turn has come; it is not admitted yet");
	} else if (!holder) {
		w->words = STR("waits at its preemption gate until its turn comes");
	} else {
		w->words = say(p,
			       "waits at its preemption gate until its turn comes; %s may preempt "
			       "first, until %.*s",
			       holder->c->name, STR_ARG(time_rfc3339(&p->e->scratch, until)));
		w->until_ms = until;
		w->then = "the next worker may preempt";
	}
}

/* Evicted on the manager, where quota is held until the job has stopped? */
static bool winds_down(const struct pass *p)
{
	return p->local && facts_is(p->f, F_QUOTA | F_EVICTED) &&
	       !(p->f->flags & (F_FINISHED | F_TERMINATING));
}

/* An end that the clone of an evicted Workload is told of, or comes to. */
static bool by_winding(struct pass *p, struct clone *k, struct why_cluster *w)
{
	bool runs = p->kind && twin_is_ours(twin_there(p, k));

	if (!winds_down(p) || (!runs && !clone_is(k, F_ADMITTED))) {
		return false;
	}
	w->why = WHY_WINDING;
	w->words = runs ? STR("has the job, which is being stopped there")
			: STR("has the clone, which is being removed");
	return true;
}

static void clone_state(struct pass *p, struct clone *k, struct why_cluster *w)
{
	const struct facts *f = k->r->facts;
	mk_str said = f->s[S_MESSAGE];

	if (facts_is(f, F_TERMINATING)) {
		w->why = WHY_LEAVING;
		w->words = STR("the clone is being deleted");
	} else if (facts_is(f, F_FINISHED)) {
		w->why = WHY_FINISHED;
		w->words = say(p, "the clone is Finished: %.*s",
			       STR_ARG(short_of(f->s[S_FINISHED_MESSAGE])));
	} else if (facts_is(f, F_EVICTED)) {
		w->why = WHY_EVICTED;
		w->words = say(p, "Kueue there has evicted it: %.*s",
			       STR_ARG(short_of(f->s[S_EVICTED_MESSAGE])));
	} else if (by_winding(p, k, w)) {
		return;
	} else if (!race_in_sync(p, k) && race_is_changed(p, k)) {
		w->why = WHY_CHANGED;
		w->words = STR("the clone is not as we made it: a webhook or client there changes "
			       "it");
	} else if (!race_in_sync(p, k)) {
		w->why = WHY_STALE;
		w->words = STR("the clone was made from another spec");
	} else if (facts_is(f, F_ADMITTED)) {
		w->why = WHY_ADMITTED;
		w->words = STR("is admitted there");
	} else if (facts_is(f, F_QUOTA)) {
		w->why = WHY_QUOTA;
		w->words = STR("has quota there; admission checks of the worker are not Ready");
	} else if (facts_is(f, F_BLOCKED)) {
		at_gate(p, k, w);
	} else {
		w->why = WHY_NO_QUOTA;
		w->words = said.n > 0 ? say(p, "has no quota: %.*s", STR_ARG(said))
				      : STR("has no quota: Kueue there has not said why; is it "
					    "running?");
	}
}

/* --- no clone --------------------------------------------------------------------------------- */

static mk_str not_nominated(struct pass *p)
{
	bool again = p->w->round.asked_again > p->e->now && p->f->n_names > 0;

	return p->config ? say(p, "is not nominated%s by dispatcher \"%.*s\"", again ? " yet" : "",
			       STR_ARG(nominate_dispatcher(p)))
			 : STR("is not nominated by a dispatcher");
}

static void no_clone(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);
	mk_str hurdle = rest_hurdle(p, k);

	if (wc && wc->skip_until > p->e->now) {
		w->until_ms = wall_of(p->e, wc->skip_until);
		w->then = "the cluster is tried again";
	}
	if (hurdle.n > 0 || w->until_ms >= 0) {
		w->why = WHY_RESTS;
		w->words = say(p, "is left out for now%s%.*s", hurdle.n > 0 ? ": " : "",
			       STR_ARG(hurdle));
	} else if (is_winner(p, k)) {
		w->why = facts_is(p->f, F_FINISHED) ? WHY_FINISHED : WHY_CLONE_GONE;
		w->words = facts_is(p->f, F_FINISHED)
				   ? STR("was chosen; the job has ended, nothing is left there")
				   : STR("was chosen, and the clone there is gone");
	} else if (p->f && p->f->s[S_CLUSTER].n > 0) {
		w->why = WHY_NOT_CHOSEN;
		w->words = STR("was not chosen; nothing is left there");
	} else if (!k->in_config) {
		w->why = WHY_NOT_NOMINATED;
		w->words = STR("is not named by the MultiKueueConfig");
	} else if (!nominate_has(p, str_of(k->c->name))) {
		w->why = WHY_NOT_NOMINATED;
		w->words = not_nominated(p);
	} else if (wc && breaker_bars(p, wc)) {
		w->why = wc->bout.changed ? WHY_CHANGED : WHY_NO_CLONE;
		w->words = wc->bout.changed ? STR("has no clone while the breaker is open: a "
						  "webhook or client there "
						  "changes it")
					    : STR("had a clone that another client deleted; it is "
						  "not made again "
						  "while the breaker is open");
	} else {
		w->why = WHY_NO_CLONE;
		w->words = STR("has no clone yet");
	}
}

/* A Workload that is not ours; that of another manager with our origin names the manager. */
static mk_str foreign_words(struct pass *p, const struct clone *k)
{
	const struct facts *f = k->r->facts;

	if (facts_is(f, F_ORIGIN) && f->s[S_MANAGER_ID].n > 0) {
		return say(p,
			   "has a Workload of this name that another manager with our origin made "
			   "(%.*s)",
			   STR_ARG(short_of(f->s[S_MANAGER_ID])));
	}
	return STR("has a Workload of this name that is not ours");
}

static void by_twin(struct pass *p, struct clone *k, struct why_cluster *w)
{
	switch (k->twin) {
	case TWIN_FOREIGN:
		w->why = WHY_FOREIGN;
		w->words = foreign_words(p, k);
		break;
	case TWIN_FORMER:
		w->why = WHY_FORMER;
		w->words =
			STR("has a clone that an earlier manager made: multiKueue.formerManagers");
		break;
	case TWIN_ALIAS:
		w->why = WHY_SAME_SERVER;
		w->words = say(p, "leads to the same API server as %s", k->speaker->c->name);
		break;
	case TWIN_STALE:
		w->why = WHY_STALE;
		w->words = STR("has a clone of an earlier Workload of this name");
		break;
	case TWIN_UNKNOWN:
	case TWIN_ABSENT:
	case TWIN_OTHER:
		no_clone(p, k, w);
		break;
	case TWIN_GO:
	case TWIN_OURS:
		clone_state(p, k, w);
		break;
	}
}

/* Would the cluster be asked, were it not for its cordon? Its clone, if any, goes. */
static bool is_barred(struct pass *p, struct clone *k)
{
	return p->local && p->f->s[S_CLUSTER].n == 0 && k->in_config &&
	       (k->twin == TWIN_ABSENT || k->twin == TWIN_UNKNOWN || twin_is_ours(k->twin)) &&
	       !(p->f->flags & (F_FINISHED | F_EVICTED)) && cordon_bars(p, k);
}

void why_cluster(struct pass *p, struct clone *k, struct why_cluster *ret)
{
	bool won = is_winner(p, k);

	*ret = (struct why_cluster){.since_ms = -1, .until_ms = -1};
	if (!cluster_up(k->c)) {
		not_connected(p, k, ret);
	} else if (!table_known(k->c, KIND_WORKLOAD)) {
		ret->why = WHY_NOT_LISTED;
		ret->words = STR("has not told us its Workloads yet");
	}
	if (ret->words.n > 0) {
		if (won) {
			winner_hidden(p, k, KIND_WORKLOAD, ret);
		} else if (winds_down(p) && k->in_config) {
			maybe_there(p, k, ret);
		}
		return;
	}
	if (p->kind && !nominate_is_served(p, k->c) && k->twin != TWIN_ALIAS) {
		not_served(p, k, ret);
		if (won) {
			winner_hidden(p, k, p->kind, ret);
		}
		return;
	}
	if (is_barred(p, k)) {
		ret->why = WHY_CORDONED;
		ret->words = cordon_words(p->e, k->c);
		return;
	}
	by_twin(p, k, ret);
	if (won && ret->why == WHY_ADMITTED) {
		winner_job(p, k, ret);
	}
}

/* --- the Workload as a whole ------------------------------------------------------------------ */

/* The message of a condition of the local Workload, "" when it has none. */
static mk_str local_says(struct pass *p, const char *type)
{
	const struct json *wl = record_parse(p->e, p->local);
	const struct json *c = json_find(json_at(wl, "/status/conditions"), "type", type);

	return short_of(json_str(json_get(c, "message")));
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
	mk_str said = short_of(json_str(json_get(check, "message")));

	return say(p, "admission check \"%.*s\" is %.*s%s%.*s", STR_ARG(name),
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

/* What stands before a race on the manager; PHASE_RACING: nothing. */
static enum why_phase held_phase(const struct pass *p)
{
	return p->state == CHECK_REJECTED            ? PHASE_REJECTED
	       : !facts_is(p->f, F_ACTIVE)           ? PHASE_INACTIVE
	       : !facts_is(p->f, F_QUOTA)            ? PHASE_NO_QUOTA
	       : facts_is(p->f, F_EVICTED)           ? PHASE_EVICTED
	       : p->state == CHECK_RETRY             ? PHASE_RETRY
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
	return p->f->n_names == 0 ? PHASE_NOT_NOMINATED : PHASE_RACING;
}

enum why_phase why_phase_now(const struct engine *e, enum why_phase phase)
{
	bool races = phase == PHASE_RACING || phase == PHASE_NOT_NOMINATED;

	return races && e->breaker.open ? PHASE_BREAKER : phase;
}

static mk_str fault_words(struct pass *p, bool by_adapter)
{
	mk_str who = by_adapter ? say(p, "the adapter of %.*s", STR_ARG(p->f->s[S_OWNER_KIND]))
				: say(p, "dispatcher \"%.*s\"", STR_ARG(nominate_dispatcher(p)));

	return say(p, "%.*s failed for this Workload%s%.*s", STR_ARG(who), p->w->fault ? ": " : "",
		   STR_ARG(short_of(str_of(p->w->fault))));
}

static mk_str held_words(struct pass *p, enum why_phase phase)
{
	if (phase == PHASE_REJECTED) {
		return say(p, "the admission check was rejected%.*s", STR_ARG(wall_words(p)));
	}
	if (phase == PHASE_INACTIVE) {
		return say(p, "spec.active is false: it was deactivated%.*s",
			   STR_ARG(wall_words(p)));
	}
	if (phase == PHASE_NO_QUOTA) {
		return say(p, "Kueue has no quota for it on the manager: %.*s",
			   STR_ARG(local_says(p, "QuotaReserved")));
	}
	if (phase == PHASE_EVICTED) {
		return say(p, "Kueue has evicted it: %.*s",
			   STR_ARG(short_of(p->f->s[S_EVICTED_MESSAGE])));
	}
	if (phase == PHASE_RETRY) {
		return STR("the admission check asks Kueue to queue it again");
	}
	return say(p, "it was sent to %.*s", STR_ARG(p->f->s[S_CLUSTER]));
}

/* Of a phase in which no dispatcher is asked. */
static mk_str unready_words(struct pass *p, enum why_phase phase)
{
	if (phase == PHASE_NO_JOB) {
		return say(p, "its job \"%.*s\" is not there", STR_ARG(p->object));
	}
	if (phase == PHASE_NOT_MANAGED) {
		return say(p, "its job is not managed by MultiKueue: %.*s",
			   STR_ARG(short_of(p->job->facts->s[S_REASON])));
	}
	if (phase == PHASE_CHECKS) {
		return other_check_words(p);
	}
	return say(p, "admission check \"%.*s\" has no MultiKueueConfig",
		   STR_ARG(p->f->checks[p->check]));
}

static mk_str race_words(struct pass *p, enum why_phase phase)
{
	const struct plug *plug = p->e->o.plug;
	mk_str name = nominate_dispatcher(p);
	int dispatcher = plug_find_dispatcher(plug, name);

	if (phase == PHASE_NO_DISPATCHER) {
		return say(p, "no dispatcher is named \"%.*s\"", STR_ARG(name));
	}
	if (phase == PHASE_BREAKER) {
		return STR("the breaker is open: clones that exist already are not made again");
	}
	if (phase == PHASE_NOT_NOMINATED) {
		return say(p, "dispatcher \"%.*s\" %s", STR_ARG(name),
			   plug_dispatcher(plug, (size_t)dispatcher)->is_template
				   ? "has nominated no cluster"
				   : "finds no worker that can take it now");
	}
	return say(p, "%u of %u clusters are nominated, none has admitted it",
		   (unsigned)p->f->n_names, (unsigned)p->roster.n);
}

static mk_str words_of(struct pass *p, enum why_phase phase, bool by_adapter)
{
	switch (phase) {
	case PHASE_DELETING:
		return p->local ? STR("the Workload is being deleted")
				: STR("the Workload is gone; what is left of it is removed");
	case PHASE_FINISHED:
		return short_of(p->f->s[S_FINISHED_MESSAGE]);
	case PHASE_NOT_OURS:
		return STR("its ClusterQueue has no admission check of MultiKueue");
	case PHASE_NO_ADAPTER:
		return p->f->s[S_OWNER_KIND].n == 0 ? STR("it names no job as its owner")
						    : say(p, "no adapter serves its owner \"%.*s\"",
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

	*ret = (struct why_whole){
		.phase = phase, .words = words_of(p, phase, by_adapter), .until_ms = -1};
	if (ms > 0) {
		ret->until_ms = p->e->wall + ms;
		ret->then = "the plugin is called again";
	} else if (races && p->w->round.asked_again > p->e->now) {
		ret->until_ms = wall_of(p->e, p->w->round.asked_again);
		ret->then = "the dispatcher is asked for more clusters";
	}
}
