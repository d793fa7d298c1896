/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A priority that changes while a Workload waits or runs: the clones follow in
 * place, and no job is lost for it.
 */
#include "t/lib/engine_world.h"

#define CLASS(name, value)                                                    \
	"{\"spec\":{\"priority\":" #value ",\"priorityClassRef\":{\"group\":" \
	"\"kueue.x-k8s.io\",\"kind\":\"WorkloadPriorityClass\",\"name\":\"" name "\"}}}"

#define COMPLETE                                                                      \
	"{\"spec\":{\"suspend\":false},\"status\":{\"succeeded\":2,\"conditions\":[{" \
	"\"type\":\"Complete\",\"status\":\"True\",\"reason\":\"CompletionsReached\"}]}}"

static void changed_while_it_waits(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, CLASS("low", 1));
	w_settle(w);
	is_str(w_str(w, clone_of(w, 1, "wl-j"), "/spec/priority"), "1", "cloned with it");
	(void)w_take(w);
	w_patch(w, wl, CLASS("high", 100));
	w_settle(w);
	is_str(w_str(w, clone_of(w, 1, "wl-j"), "/spec/priority"), "100", "a clone follows");
	is_str(w_str(w, clone_of(w, 2, "wl-j"), "/spec/priorityClassRef/name"), "high",
	       "... each of them");
	ok(!strstr(w_take(w), "delete"), "... in place");
	w_advance(w, 60 * 1000);
	is_str(w_take_work(w), "", "... once");
	w_free(w);
}

static void changed_while_it_runs(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, CLASS("low", 1));
	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	(void)w_take(w);
	w_patch(w, wl, CLASS("low", 7));
	w_settle(w);
	is_str(w_str(w, clone_of(w, 1, "wl-j"), "/spec/priority"), "7",
	       "trap_31: the winner follows in place");
	is_str(check_state(w, wl), "Ready", "... and its job goes on");
	is_int((long long)w_times(w_take_work(w), "merge"), 1, "... for one request");
	w_free(w);
}

static void not_ours_to_change(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl,
		"{\"spec\":{\"priority\":5,\"priorityClassRef\":{\"group\":\"scheduling.k8s.io\","
		"\"kind\":\"PriorityClass\",\"name\":\"pods\"}}}");
	w_settle(w);
	(void)w_take(w);
	w_patch(w, wl, "{\"spec\":{\"priority\":6}}");
	w_settle(w);
	is_str(w_take_work(w), "", "a Pod's PriorityClass is the worker's business");
	w_free(w);
}

static void refused(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, CLASS("low", 1));
	w_settle(w);
	w->full = true;
	(void)w_take(w);
	w->rig = (struct rig){.times = 1000,
			      .type = OP_MERGE,
			      .cluster = w->links[1],
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_INVALID};
	w_patch(w, wl, CLASS("high", 100));
	w_settle(w);
	w_advance(w, 3600 * 1000);
	ok(w->rig.times > 970, "a worker that refuses is asked ever more seldom");
	ok(strstr(w_take(w), "worker cluster \\\"w1\\\" has refused the changed priority since "),
	   "... and an Event tells");
	w->rig.times = 0;
	w_advance(w, 5 * 60 * 1000);
	is_str(w_str(w, clone_of(w, 1, "wl-j"), "/spec/priority"), "100",
	       "the priority is there when the worker takes it");
	w_free(w);
}

/* A refused change is no refused removal: all goes, and nothing is written to it before. */
static void refused_until_the_end(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	const char *log;

	w_patch(w, wl, CLASS("low", 1));
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":false}}");
	w->rig = (struct rig){.times = 1,
			      .type = OP_MERGE,
			      .cluster = 2,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_DENIED};
	w_patch(w, wl, CLASS("high", 100));
	w_settle(w);
	is_int(w->rig.times, 0, "the running clone's worker refuses the priority");
	(void)w_take(w);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), COMPLETE);
	w_settle(w);
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\","
		"\"reason\":\"Succeeded\"}]}}");
	w_later(w, 10 * 1000);
	log = w_take(w);
	ok(strstr(log, "delete 2 Job") && strstr(log, "delete 2 Workload"), "its end: all goes");
	ok(!strstr(log, "deactivate"), "... without a write to the clone before");
	w_free(w);
}

int main(void)
{
	changed_while_it_waits();
	changed_while_it_runs();
	not_ours_to_change();
	refused();
	refused_until_the_end();
	return done_testing();
}
