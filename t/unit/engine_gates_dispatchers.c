/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preemption in turns (gate MultiKueueOrchestratedPreemption) with each dispatcher: one worker
 * after the other may preempt, however the workers are chosen and the list changes.
 */
#include "t/lib/engine_world.h"

enum { MINUTE = 60 * 1000, N = 3 };

static struct world *gated_world(const mk_entry *plugin, const char *dispatcher)
{
	struct world *w = w_new(N);

	w_stop(w);
	if (plugin) {
		w_plugin(w, plugin);
	}
	w->dispatcher = dispatcher;
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
	w_settle(w);
}

static bool is_open(struct world *w, cluster_id c)
{
	return strcmp(w_str(w, clone_of(w, c, "wl-j"), "/status/preemptionGates/0/position"),
		      "Open") == 0;
}

static size_t n_open(struct world *w)
{
	size_t n = 0;

	for (cluster_id c = 1; c <= N; c++) {
		n += is_open(w, c);
	}
	return n;
}

/* All workers have a clone that waits at its gate: they preempt one after the other. */
static void turns(struct world *w, const char *who)
{
	printf("# %s\n", who);
	for (cluster_id c = 1; c <= N; c++) {
		blocks(w, c);
	}
	is_int((int)n_open(w), 1, "one worker may preempt");
	w_advance(w, 5 * MINUTE - 2000);
	is_int((int)n_open(w), 1, "... alone, for five minutes");
	w_advance(w, 3000);
	is_int((int)n_open(w), 2, "... then the second");
	w_restart(w);
	w_settle(w);
	w_advance(w, 4 * MINUTE);
	is_int((int)n_open(w), 2, "a restart does not shorten its turn");
	w_advance(w, MINUTE);
	is_int((int)n_open(w), 3, "... then the third");
	admit(w, 3, "wl-j");
	w_settle(w);
	is_str(w_str(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"), "/status/clusterName"), "w3",
	       "the one that finds room wins");
	w_free(w);
}

static struct world *with_clones(struct world *w)
{
	a_job(w, "j");
	w_settle(w);
	return w;
}

static void by_another(void)
{
	struct world *w = with_clones(gated_world(NULL, "example.com/mine"));

	they_nominate(w, "\"w1\",\"w2\",\"w3\"");
	turns(w, "another controller nominates");

	w = with_clones(gated_world(NULL, "example.com/mine"));
	they_nominate(w, "\"w1\"");
	blocks(w, 1);
	ok(is_open(w, 1), "the only one that is nominated may preempt");
	they_nominate(w, "\"w1\",\"w2\"");
	blocks(w, 2);
	w_advance(w, 4 * MINUTE);
	ok(!is_open(w, 2), "one that joins waits for its turn");
	they_nominate(w, "\"w2\"");
	ok(is_open(w, 2), "... which comes when the first leaves the list");
	w_free(w);
}

/* In rounds of one: each new worker waits until the one before has had its turn. */
static void by_least_loaded(void)
{
	struct world *w =
		with_clones(gated_world(&mk_entry_least_loaded, "multikueued.io/least-loaded"));

	w_advance(w, 5 * MINUTE);
	turns(w, "least loaded");
}

/* --- a dispatcher that fails ------------------------------------------------------------------ */

static bool fails;

static int moody_nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	(void)c;
	(void)d;
	for (uint32_t i = 0; i < N; i++) {
		pick->index[i] = i;
	}
	pick->n = N;
	return fails ? MK_E_RETRY : MK_SET;
}

static const mk_dispatcher moody = {
	.struct_size = sizeof(mk_dispatcher), .name = "test.io/moody", .nominate = moody_nominate};
static const void *const moody_items[] = {&moody};
static const mk_factory moody_dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER,
					     moody_items};
static const mk_factory *const moody_factories[] = {&moody_dispatchers, NULL};
static const mk_entry moody_plugin = MK_ENTRY("io.test.moody", "1.0.0", moody_factories);

static void by_one_that_fails(void)
{
	struct world *w;

	fails = false;
	w = with_clones(gated_world(&moody_plugin, "test.io/moody"));
	fails = true;
	turns(w, "a dispatcher that fails after it has chosen");
	fails = false;
}

/* --- workers whose core has no such gate ------------------------------------------------------ */

/* It says nothing of gates; the others take their turns as if it were not there. */
static void without_the_gate(void)
{
	struct world *w = with_clones(gated_world(NULL, NULL));

	blocks(w, 2);
	blocks(w, 3);
	is_int((int)n_open(w), 1, "a worker that knows no gates takes no turn");
	w_advance(w, 5 * MINUTE);
	is_int((int)n_open(w), 2, "... and keeps none from the others");
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(w_str(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"), "/status/clusterName"), "w1",
	       "... and wins as it finds room");
	w_free(w);
}

/* A turn that ends with the Workload's time: the next round begins with closed gates. */
static void with_a_timeout(void)
{
	struct world *w = w_new(N);
	struct object *wl;

	w_stop(w);
	w->gate_preemption = true;
	w->placement_timeout = 7 * MINUTE;
	w_restart(w);
	wl = a_job(w, "j");
	w_settle(w);
	blocks(w, 1);
	blocks(w, 2);
	w_advance(w, 6 * MINUTE);
	is_int((int)n_open(w), 2, "two have had a turn, or have it");
	w_advance(w, MINUTE);
	is_str(check_state(w, wl), "Retry", "a turn does not prolong placementTimeout");
	release_quota(w, wl);
	w_settle(w);
	give_quota(w, wl);
	w_later(w, MINUTE);
	is_int((int)n_open(w), 0, "... and the next round begins anew");
	w_free(w);
}

int main(void)
{
	turns(with_clones(gated_world(NULL, NULL)), "all at once");
	turns(with_clones(gated_world(&mk_entry_incremental,
				      "kueue.x-k8s.io/multikueue-dispatcher-incremental")),
	      "in rounds");
	by_least_loaded();
	by_another();
	by_one_that_fails();
	without_the_gate();
	with_a_timeout();
	return done_testing();
}
