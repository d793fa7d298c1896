/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate MultiKueueOrchestratedPreemption: clones wait before they preempt, and are
 * let through one after the other.
 */
#include "t/lib/engine_world.h"

enum { MINUTE = 60 * 1000 };

static struct world *gated_world(size_t n)
{
	struct world *w = w_new(n);

	w->gate_preemption = true;
	w_restart(w);
	w_settle(w);
	return w;
}

/* The clone finds room only by preemption. */
static void blocks(struct world *w, cluster_id c)
{
	struct object *o = clone_of(w, c, "wl-j");

	w_apply(w, o,
		"{\"preemptionGates\":[{\"name\":\"kueue.x-k8s.io/multikueue\",\"position\":"
		"\"Closed\"}],\"conditions\":[{\"type\":\"BlockedOnPreemptionGates\",\"status\":"
		"\"True\",\"reason\":\"PreemptionGated\",\"message\":\"m\"}]}");
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
}

static const char *gate_at(struct world *w, cluster_id c)
{
	return w_str(w, clone_of(w, c, "wl-j"), "/status/preemptionGates/0/position");
}

static void clones(void)
{
	struct world *w = gated_world(1);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, "{\"spec\":{\"preemptionGates\":[{\"name\":\"a.b/c\"}]}}");
	w_settle(w);
	is_str(w_str(w, clone_of(w, 1, "wl-j"), "/spec/preemptionGates"),
	       "[{\"name\":\"kueue.x-k8s.io/multikueue\"}]", "the clone's gates are ours alone");
	w_take(w);
	w_advance(w, 10 * MINUTE);
	is_str(w_take_work(w), "", "not blocked: its gate stays as it is");
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(check_state(w, wl), "Ready", "... and it may win without it");
	w_free(w);
}

static void turns(void)
{
	struct world *w = gated_world(3);

	a_job(w, "j");
	w_settle(w);
	w_take(w);
	blocks(w, 3);
	w_settle(w);
	is_str(w_take_work(w), "apply_status 3 Workload wl-j gate_open\n",
	       "the first to be blocked");
	is_str(gate_at(w, 3), "Open", "... gets its gate opened");
	is_str(w_str(w, clone_of(w, 3, "wl-j"), "/status/preemptionGates/0/lastTransitionTime"),
	       "2027-01-15T08:00:01Z", "... with the time");
	blocks(w, 2);
	w_settle(w);
	w_advance(w, MINUTE);
	blocks(w, 1);
	w_settle(w);
	is_str(w_take_work(w), "", "exactly one worker preempts");
	w_advance(w, 4 * MINUTE - 1000);
	is_str(w_take_work(w), "", "... not another one before five minutes");
	w_advance(w, 1000);
	is_str(w_take_work(w), "apply_status 2 Workload wl-j gate_open\n",
	       "... then the next, by when it was blocked");
	w_advance(w, MINUTE);
	w_restart(w);
	w_settle(w);
	w_advance(w, 3 * MINUTE);
	is_str(gate_at(w, 1), "Closed", "a restart does not shorten a turn");
	w_advance(w, MINUTE);
	is_str(gate_at(w, 1), "Open", "... nor lengthen it");
	w_free(w);
}

/* The wall clock is set back, or far ahead: a turn takes as long as before. */
static void clock_is_set(int64_t by)
{
	struct world *w = gated_world(2);

	a_job(w, "j");
	w_settle(w);
	blocks(w, 1);
	blocks(w, 2);
	w_settle(w);
	is_str(gate_at(w, 1), "Open", "one has its turn");
	w->wall += by;
	w_advance(w, 4 * MINUTE);
	is_str(gate_at(w, 2), "Closed", "the wall clock is set: its turn is not over");
	w_advance(w, 2 * MINUTE);
	is_str(gate_at(w, 2), "Open", "... and ends in time");
	w_free(w);
}

static void unknown_answer(void)
{
	struct world *w = gated_world(2);

	a_job(w, "j");
	w_settle(w);
	w->lose = 1;
	w->silent_watch = true;
	blocks(w, 1);
	blocks(w, 2);
	w_settle(w);
	w_advance(w, MINUTE);
	ok((strcmp(gate_at(w, 1), "Open") == 0) + (strcmp(gate_at(w, 2), "Open") == 0) == 1,
	   "an answer that is lost opens no second gate");
	w_free(w);
}

static void winner(void)
{
	struct world *w = gated_world(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	blocks(w, 1);
	blocks(w, 2);
	w_settle(w);
	is_str(gate_at(w, 1), "Open", "together: in the order of the config");
	is_str(gate_at(w, 2), "Closed", "... the other one waits");
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	is_str(gate_at(w, 2), "Open", "the opened one is lost: the turn is free");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "... and it wins");
	w_take(w);
	w_advance(w, 10 * MINUTE);
	ok(!strstr(w_take(w), "gate_open"), "then no gate is opened any more");
	w_free(w);
}

static void gate_off(void)
{
	struct world *w = w_new(1);

	a_job(w, "j");
	w_settle(w);
	is_str(w_str(w, clone_of(w, 1, "wl-j"), "/spec/preemptionGates"), "",
	       "without the feature gate there is none");
	blocks(w, 1);
	w_settle(w);
	is_str(gate_at(w, 1), "Closed", "... to open");
	w_free(w);
}

/* A core whose gate is off ignores the clone's gates and tells nothing of them. */
static void one_off(void)
{
	struct world *w = gated_world(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	is_str(w_str(w, clone_of(w, 2, "wl-j"), "/spec/preemptionGates"),
	       "[{\"name\":\"kueue.x-k8s.io/multikueue\"}]", "a worker without the feature");
	blocks(w, 1);
	w_settle(w);
	is_str(gate_at(w, 1), "Open", "... keeps no other from its turn");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "... and may win: the race ends");
	w_free(w);
}

/* Clones of a time when the feature gate was off, in a race and after it. */
static void switched_on(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_stop(w);
	w->gate_preemption = true;
	w_restart(w);
	w_settle(w);
	w_later(w, 10 * MINUTE);
	ok(!strstr(w_take(w), "Workload wl-j"), "a clone without gates is no drift: not touched");
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "... and wins as any other");
	w_take(w);
	w_later(w, 10 * MINUTE);
	ok(!strstr(w_take(w), "spec_differs"), "... its spec is not another");
	w_free(w);
}

int main(void)
{
	one_off();
	switched_on();
	clones();
	turns();
	clock_is_set((int64_t)-600 * MINUTE);
	clock_is_set((int64_t)600 * MINUTE);
	unknown_answer();
	winner();
	gate_off();
	return done_testing();
}
