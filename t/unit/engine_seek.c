/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds that are missing on a cluster: who has them looked for, and until when. */
#include "t/unit/engine_world.h"

/* Requests for a kind that is missing are for jobs that need it there, not for those that run or have ended elsewhere. */
static void unserved_and_unneeded(void)
{
	struct world *w = w_new(2);

	w_event(w, EV_UNSERVED, 1, JOB)->ev.code = MK_NOT_FOUND;
	w_settle(w);
	ok(!w->sought[1][JOB], "without jobs nobody looks for a kind");
	a_job(w, "j");
	w_settle(w);
	ok(w->sought[1][JOB], "a job waits: it is looked for");
	admit(w, 2, "wl-j");
	w_settle(w);
	ok(!w->sought[1][JOB], "the job runs elsewhere: not any more");
	w_event(w, EV_UNSERVED, 2, JOB)->ev.code = MK_NOT_FOUND;
	w_settle(w);
	ok(w->sought[2][JOB], "where it runs it is missed");
	w_event(w, EV_SERVED, 2, JOB);
	w_settle(w);
	ok(!w->sought[2][JOB], "until it is back");
	a_job(w, "k");
	w_settle(w);
	ok(w->sought[1][JOB], "the next job waits");
	w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-k"));
	w_settle(w);
	ok(!w->sought[1][JOB], "and is deleted");
	w_free(w);
}

/* The process may end at any time, also while something is looked for. */
static void ends_seeking(void)
{
	struct world *w = w_new(1);

	w_event(w, EV_UNSERVED, 1, JOB)->ev.code = MK_NOT_FOUND;
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	ok(w->sought[1][JOB], "a kind is looked for when the engine ends");
	w_free(w);
}

int main(void)
{
	unserved_and_unneeded();
	ends_seeking();
	return done_testing();
}
