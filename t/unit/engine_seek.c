/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds that are missing on a cluster: who has them looked for, and until when. */
#include "t/lib/engine_world.h"

/*
 * Requests for a kind that is missing are for jobs that need it there, not for those
 * that run or have ended elsewhere.
 */
static void unserved_and_unneeded(void)
{
	struct world *w = w_new(2);

	w_event(w, EV_UNSERVED, 1, JOB)->ev.code = ERR_NOT_FOUND;
	w_settle(w);
	ok(!w->sought[1][JOB], "without jobs a kind is not looked for");
	a_job(w, "j");
	w_settle(w);
	ok(w->sought[1][JOB], "a job waits: it is looked for");
	admit(w, 2, "wl-j");
	w_settle(w);
	ok(!w->sought[1][JOB], "the job runs elsewhere: not any more");
	w_event(w, EV_UNSERVED, 2, JOB)->ev.code = ERR_NOT_FOUND;
	w_settle(w);
	ok(w->sought[2][JOB], "where it runs it is missed");
	w_event(w, EV_SERVED, 2, JOB);
	w_settle(w);
	ok(w->sought[2][JOB], "that the kind is there says nothing of whether it may be seen");
	w_list(w, 2, JOB);
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

/*
 * Its quota waits for a cluster that does not say whether a copy runs there: no
 * other job may need the kind there.
 */
static void evicted_and_unsure(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_event(w, EV_UNSERVED, 1, JOB)->ev.code = ERR_DENIED;
	w_settle(w);
	ok(!w->sought[1][JOB], "a kind is refused where no job needs it");
	w_del(w, clone_of(w, 2, "wl-j"));
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_later(w, 5000);
	evict(w, wl, "AdmissionCheck");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 5000);
	ok(w->sought[1][JOB], "an evicted job's quota waits for it: it is looked for");
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "2", "so long");
	w_event(w, EV_SERVED, 1, JOB);
	w_list(w, 1, JOB);
	w_later(w, 5000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "",
	       "it is back, and none is there: the quota may go");
	ok(!w->sought[1][JOB], "and it is not looked for any more");
	w_free(w);
}

/* The winner's clone is gone, and whether its job ended cannot be seen. */
static void winner_without_clone(void)
{
	struct world *w = w_new(2);

	running_job(w);
	w_event(w, EV_UNSERVED, 2, JOB)->ev.code = ERR_DENIED;
	w_settle(w);
	w_del(w, clone_of(w, 2, "wl-j"));
	w_restart(w);
	w_event(w, EV_UNSERVED, 2, JOB)->ev.code = ERR_DENIED;
	w_later(w, 20 * 1000);
	ok(w->sought[2][JOB], "a winner that waits without its clone has the kind looked for");
	w_free(w);
}

/* The process may end at any time, also while something is looked for. */
static void ends_seeking(void)
{
	struct world *w = w_new(1);

	w_event(w, EV_UNSERVED, 1, JOB)->ev.code = ERR_NOT_FOUND;
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	ok(w->sought[1][JOB], "a kind is looked for when the engine ends");
	w_free(w);
}

int main(void)
{
	unserved_and_unneeded();
	evicted_and_unsure();
	winner_without_clone();
	ends_seeking();
	return done_testing();
}
