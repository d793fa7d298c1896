/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies that workers decide: the Workload here waits for that, and is told. */
#include "t/lib/engine_world.h"

#define ADMISSION                                                                     \
	"{\"status\":{\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[" \
	"{\"name\":\"main\",\"count\":2,\"delayedTopologyRequest\":\"Pending\"},"     \
	"{\"name\":\"plain\",\"count\":1}]}}}"
#define ASSIGNMENT                                                                          \
	"\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\"," \
	"\"count\":2,\"topologyAssignment\":{\"levels\":[\"rack\"],\"slices\":[]}}]}"

static const char *request(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/admission/podSetAssignments/0/delayedTopologyRequest");
}

static void with_the_win(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j"), *clone;

	w_patch(w, wl, ADMISSION);
	w_settle(w);
	clone = clone_of(w, 1, "wl-j");
	w_apply(w, clone, "{" ASSIGNMENT ",\"conditions\":[" QUOTA "," ADMITTED "]}");
	w_tell(w, clone, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	is_str(request(w, wl), "Ready", "told with the win");
	is_str(check_state(w, wl), "Ready", "... in one write");
	is_str(w_str(w, wl, "/status/admission/podSetAssignments/0/topologyAssignment"), "",
	       "the assignment stays there");
	is_str(w_str(w, wl, "/status/admission/podSetAssignments/1/name"), "plain",
	       "... and the others here");
	w_free(w);
}

static void after_the_win(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, ADMISSION);
	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(request(w, wl), "Pending", "not before there is one");
	(void)w_take(w);
	w_patch(w, clone_of(w, 1, "wl-j"), "{\"status\":{" ASSIGNMENT "}}");
	w_settle(w);
	is_str(request(w, wl), "Ready", "later: by a write of its own");
	w_advance(w, 60 * 1000);
	is_int((long long)w_times(w_take_work(w), "apply"), 1, "... and only one");
	w_free(w);
}

int main(void)
{
	with_the_win();
	after_the_win();
	return done_testing();
}
