/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event or an answer may mean besides what it seems to: each wait has an end, and what is
 * late is taken for late.
 */
#include "core/engine/state.h"
#include "t/lib/engine_world.h"

#define PRIORITY(value)                                                       \
	"{\"spec\":{\"priority\":" #value ",\"priorityClassRef\":{\"group\":" \
	"\"kueue.x-k8s.io\",\"kind\":\"WorkloadPriorityClass\",\"name\":\"p" #value "\"}}}"

/*
 * A write to the winner's clone gets no answer because the worker is lost: the job counts as lost
 * after the timeout all the same.
 */
static void lost_with_a_write(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, PRIORITY(1));
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	w->rig = (struct rig){.times = 1,
			      .type = OP_MERGE,
			      .cluster = 2,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_UNKNOWN,
			      .code = ERR_UNKNOWN};
	w_patch(w, wl, PRIORITY(7));
	w_step(w);
	ok(strstr(w_take(w), "merge 2 Workload wl-j priority") != NULL, "a write is under way");
	w_link(w, 2, LINK_DOWN);
	w->stay_down[2] = true;
	w_later(w, 890000);
	is_str(check_state(w, wl), "Ready", "its fate and the worker are unknown: patience");
	w_later(w, 20000);
	is_str(check_state(w, wl), "Retry", "for as long as for any lost worker");
	w_free(w);
}

int main(void)
{
	lost_with_a_write();
	return done_testing();
}
