/* SPDX-License-Identifier: Apache-2.0 */
/* How a cluster stands towards a Workload; see why.h. */
#include "core/engine/answers/why.h"

#include "core/base/timefmt.h"
#include "core/engine/answers/loss.h"
#include "core/engine/answers/why_words.h"
#include "core/engine/rules/breaker.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/cordon.h"
#include "core/engine/rules/gates.h"
#include "core/engine/rules/lost.h"
#include "core/engine/rules/nominate.h"
#include "core/engine/rules/race.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/rest.h"
#include "core/engine/rules/shared.h"
#include "core/engine/rules/topology.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/unfit.h"
#include "core/engine/rules/won.h"

#define NAME_OF(id, text) [id] = text,
const char *const why_names[WHY_N] = {WHY_CLUSTER(NAME_OF)};
#undef NAME_OF

int64_t why_wall(const struct engine *e, int64_t mono_ms)
{
	return mono_ms == INT64_MAX || mono_ms == INT64_MIN ? -1 : e->wall + (mono_ms - e->now);
}

mk_str why_say(struct pass *p, const char *fmt, ...)
{
	va_list ap;
	mk_str s;

	va_start(ap, fmt);
	s = arena_vprintf(&p->e->scratch, fmt, ap);
	va_end(ap);
	return s;
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

	w->since_ms = why_wall(p->e, c->own.lost_at);
	if (!c->decided) {
		w->why = WHY_CONNECTING;
		w->words = STR("is being connected");
		return;
	}
	w->why = WHY_NOT_CONNECTED;
	w->detail = why_short(str_of(c->text));
	w->words = w->since_ms < 0 ? STR("is not connected")
				   : why_say(p, "is not connected since %.*s",
					     STR_ARG(time_rfc3339(&p->e->scratch, w->since_ms)));
	w->words = loss ? why_say(p, "%.*s: %s", STR_ARG(w->words), loss->cause) : w->words;
	if (c->own.rest_until > p->e->now) {
		w->until_ms = why_wall(p->e, c->own.rest_until);
		w->then = "the cluster is connected again";
	}
}

static void not_served(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	const struct table *t = k->c->tables[p->kind];
	mk_str gvk = p->e->o.kinds->k[p->kind].gvk;

	w->why = t->service == SERVICE_REFUSED ? WHY_KIND_REFUSED : WHY_KIND_NOT_SERVED;
	w->since_ms = why_wall(p->e, t->hidden_at);
	w->detail = why_short(str_of(t->why));
	w->words = why_say(p, "%s %.*s",
			   t->service == SERVICE_MISSING   ? "does not serve"
			   : t->service == SERVICE_REFUSED ? "gives us no right to"
							   : "cannot say whether it serves",
			   STR_ARG(gvk));
}

/* --- the winner ------------------------------------------------------------------------------- */

static void say_lost_at(struct pass *p, int64_t at, struct why_cluster *w)
{
	w->until_ms = why_wall(p->e, at);
	w->then = at == INT64_MAX ? NULL : "the worker counts as lost, and the job is queued again";
}

static void winner_hidden(struct pass *p, const struct clone *k, uint16_t kind,
			  struct why_cluster *w)
{
	w->why = WHY_WINNER_HIDDEN;
	w->words = why_say(p, "was chosen, and %.*s; the job may go on there", STR_ARG(w->words));
	say_lost_at(p, lost_deadline(p->e, k->c, hidden_since(k->c, kind)), w);
}

/* The Workload was evicted, and the cluster cannot be asked whether the job has stopped there. */
static void maybe_there(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	w->words = why_say(p, "%.*s; the job may run there, quota is held until that is known",
			   STR_ARG(w->words));
	say_lost_at(p, lost_deadline(p->e, k->c, hidden_since(k->c, KIND_WORKLOAD)), w);
}

/* See copied_before. */
static void maybe_left(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	int64_t since = hidden_since(k->c, KIND_WORKLOAD);
	int64_t until = lost_after(p->e, since, lost_patience(p->e));

	if (until <= p->e->now) {
		return;
	}
	w->words = why_say(p,
			   "%.*s; a copy from an earlier round may be there, no other worker "
			   "takes the job until that is known",
			   STR_ARG(w->words));
	w->until_ms = why_wall(p->e, until);
	w->then = "the worker counts as lost, and another one may take the job";
}

/* See copied_behind_until. Only before the win is it waited for. */
static void maybe_behind(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	bool races = p->local && p->state == CHECK_PENDING && p->f->s[S_CLUSTER].n == 0 &&
		     facts_is(p->f, F_QUOTA) && !facts_is(p->f, F_EVICTED);
	int64_t until = races ? copied_behind_until(p, k->c) : INT64_MIN;

	if (until <= p->e->now) {
		return;
	}
	w->words = why_say(p,
			   "%.*s; the job may run on the API server to which it led before, no "
			   "other worker takes it until that counts as lost",
			   STR_ARG(w->words));
	w->until_ms = why_wall(p->e, until);
	w->then = "that server counts as lost, and a worker may take the job";
}

/* Evicted on the manager, where quota is held until the job has stopped? */
static bool winds_down(const struct pass *p)
{
	return p->local && facts_is(p->f, F_QUOTA | F_EVICTED) &&
	       !(p->f->flags & (F_FINISHED | F_TERMINATING));
}

/* It was sent to the server to which the name led before. True: it is waited for there. */
static bool by_former_server(struct pass *p, struct clone *k, bool won, struct why_cluster *w)
{
	int64_t since = won || winds_down(p) ? lost_elsewhere(p, k) : INT64_MAX;
	int64_t until = since == INT64_MAX ? since : lost_elsewhere_until(p, k->c, since);

	if (since == INT64_MAX || until <= p->e->now) {
		return false;
	}
	w->why = WHY_WINNER_HIDDEN;
	w->since_ms = why_wall(p->e, since);
	w->words = why_say(p,
			   "%sleads to another API server since %.*s; the job may go on at the "
			   "former one",
			   won ? "was chosen, and " : "",
			   STR_ARG(time_rfc3339(&p->e->scratch, w->since_ms)));
	say_lost_at(p, until, w);
	return true;
}

static void winner_job(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);
	const struct record *job = twin_record(p, k);
	const struct facts *f = job && job->present ? job->facts : NULL;

	w->since_ms = p->pace->status_at == INT64_MIN ? -1 : why_wall(p->e, p->pace->status_at);
	if (wc && wc->bout.refused) {
		w->why = WHY_JOB_REFUSED;
		w->words = why_say(p, "was chosen and refused the job: %.*s",
				   STR_ARG(why_short(str_of(wc->why))));
	} else if (!f) {
		w->why = WHY_JOB_AWAITED;
		w->words = STR("was chosen; the job is not there yet");
		w->until_ms = why_wall(p->e, won_given_up_at(p, k, job));
		w->then = w->until_ms < 0 ? NULL : "the job is queued again";
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
		w->words =
			why_say(p,
				"waits at its preemption gate until its turn comes; %s may preempt "
				"first, until %.*s",
				holder->c->name, STR_ARG(time_rfc3339(&p->e->scratch, until)));
		w->until_ms = until;
		w->then = "the next worker may preempt";
	}
}

/* An end that the clone of an evicted Workload is told of, or comes to. */
static bool by_winding(struct pass *p, struct clone *k, struct why_cluster *w)
{
	bool runs = p->kind && twin_is_ours(twin_there(p, k)), ours = twin_is_ours(k->twin);

	if (!winds_down(p) || (!runs && !(ours && clone_is(k, F_ADMITTED)))) {
		return false;
	}
	w->why = WHY_WINDING;
	w->words = !runs  ? STR("has the clone, which is being removed")
		   : ours ? STR("has the job, which is being stopped there")
			  : STR("has the job, which is being removed: its clone has another "
				"manager's id");
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
		w->words = why_say(p, "the clone is Finished: %.*s",
				   STR_ARG(why_short(f->s[S_FINISHED_MESSAGE])));
	} else if (facts_is(f, F_EVICTED)) {
		w->why = WHY_EVICTED;
		w->words = why_say(p, "Kueue there has evicted it%s: %.*s",
				   p->f && p->f->s[S_CLUSTER].n == 0 && facts_is(f, F_ACTIVE)
					   ? " and queues it again"
					   : "",
				   STR_ARG(why_short(f->s[S_EVICTED_MESSAGE])));
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
		w->words = k->c->own.unrecorded
				   ? STR("is admitted there; the job is sent when the status of "
					 "the MultiKueueCluster says which API server it leads to")
				   : STR("is admitted there");
	} else if (facts_is(f, F_QUOTA)) {
		w->why = WHY_QUOTA;
		w->words = STR("has quota there; admission checks of the worker are not Ready");
	} else if (facts_is(f, F_BLOCKED)) {
		at_gate(p, k, w);
	} else {
		w->why = WHY_NO_QUOTA;
		w->words = said.n > 0 ? why_say(p, "has no quota: %.*s", STR_ARG(said))
				      : STR("has no quota: Kueue there has not said why; is it "
					    "running?");
	}
}

/* --- no clone --------------------------------------------------------------------------------- */

static mk_str not_nominated(struct pass *p)
{
	bool again = p->w->round.asked_again > p->e->now && p->f->n_names > 0;

	return p->config ? why_say(p, "is not nominated%s by dispatcher \"%.*s\"",
				   again ? " yet" : "", STR_ARG(nominate_dispatcher(p)))
			 : STR("is not nominated by a dispatcher");
}

static void no_clone(struct pass *p, const struct clone *k, struct why_cluster *w)
{
	const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);
	mk_str hurdle = rest_hurdle(p, k);

	if (wc && wc->skip_until > p->e->now) {
		w->until_ms = why_wall(p->e, wc->skip_until);
		w->then = "the cluster is tried again";
	}
	if (hurdle.n > 0 || w->until_ms >= 0) {
		w->why = WHY_RESTS;
		w->words = why_say(p, "is left out for now%s%.*s", hurdle.n > 0 ? ": " : "",
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
		return why_say(
			p,
			"has a Workload of this name that another manager with our origin made "
			"(%.*s)",
			STR_ARG(why_short(f->s[S_MANAGER_ID])));
	}
	return STR("has a Workload of this name that is not ours");
}

static void by_twin(struct pass *p, struct clone *k, struct why_cluster *w)
{
	if (twin_is_anothers(k->twin) && by_winding(p, k, w)) {
		return;
	}
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
		w->words = why_say(p, "leads to the same API server as %s", k->speaker->c->name);
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

/* Would it be asked, had no other manager our id? */
static bool gets_nothing_new(const struct pass *p, const struct clone *k)
{
	return shared_rests(k->c) && p->local && p->f->s[S_CLUSTER].n == 0 && k->in_config &&
	       k->twin == TWIN_ABSENT && !(p->f->flags & (F_FINISHED | F_EVICTED));
}

mk_str why_unshown(struct pass *p, const struct clone *k)
{
	const struct table *t = k->c->tables[p->kind];

	return p->kind && table_is_failing(t)
		       ? why_say(p, "it does not show its jobs, or not what changes: %.*s",
				 STR_ARG(why_short(str_of(t->why))))
		       : STR("");
}

/* What does not come home of the winner, or does not go on here. */
static mk_str winner_lacks(struct pass *p, const struct clone *k)
{
	mk_str unfit = why_unshown(p, k);

	unfit = unfit.n > 0 ? unfit : unfit_words(p, twin_record(p, k));
	return unfit.n > 0 ? unfit : topology_words(p, k);
}

/* Is a clone to be made there, and does the server refuse it for now? */
static bool is_delayed(const struct pass *p, const struct clone *k, const struct why_cluster *w)
{
	return (w->why == WHY_NO_CLONE || w->why == WHY_RESTS) && p->local &&
	       facts_is(p->f, F_QUOTA) && !facts_is(p->f, F_EVICTED) &&
	       refusal_delays_clone(p->e, k->r);
}

void why_cluster(struct pass *p, struct clone *k, struct why_cluster *ret)
{
	bool won = is_winner(p, k);
	mk_str late;

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
		} else if (winds_down(p) && (k->in_config || copied_on(p, k))) {
			maybe_there(p, k, ret);
		} else if (k->in_config && copied_before(p, k->c)) {
			maybe_left(p, k, ret);
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
	if (gets_nothing_new(p, k)) {
		ret->why = WHY_ID_SHARED;
		ret->words = shared_words(p->e, k->c);
		ret->until_ms = why_wall(p->e, k->c->own.shared_id.until);
		ret->then = "the cluster takes new work again";
		return;
	}
	if (by_former_server(p, k, won, ret)) {
		return;
	}
	by_twin(p, k, ret);
	if (won && ret->why == WHY_ADMITTED) {
		winner_job(p, k, ret);
	}
	late = won || k->twin == TWIN_STALE || twin_is_ours(k->twin) || ret->why == WHY_WINDING ||
			       is_delayed(p, k, ret)
		       ? refusal_on(p, k, won)
		       : STR("");
	late = late.n == 0 && won ? winner_lacks(p, k) : late;
	if (late.n > 0) {
		ret->words = why_say(p, "%.*s; %.*s", STR_ARG(ret->words), STR_ARG(late));
	}
	maybe_behind(p, k, ret);
}
