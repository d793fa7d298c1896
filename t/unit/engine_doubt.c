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

/* --- late events ------------------------------------------------------------------------------ */

/* The last event of those that wait is taken out, and comes when the test says. */
static struct pending keep_last(struct world *w)
{
	return w->q[--w->n_q];
}

static void comes(struct world *w, struct pending p)
{
	w->q[w->n_q++] = p;
}

/*
 * Another client changes the job and deletes it, and our delete finds nothing. The watch is late:
 * it shows that when the create of the next one is in doubt already.
 */
static void late_end_of_the_one_before(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct pending change, end;

	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":1}}");
	change = keep_last(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	end = keep_last(w);
	evict(w, wl, "P");
	w_settle(w);
	release_quota(w, wl);
	w_later(w, 15000);
	give_quota(w, wl);
	w_settle(w);
	admit(w, 2, "wl-j");
	w_take(w);
	w->rig = (struct rig){.times = 1,
			      .type = OP_CREATE,
			      .cluster = 2,
			      .kind = JOB,
			      .outcome = OUTCOME_UNKNOWN,
			      .code = ERR_UNKNOWN};
	while (w->rig.times > 0) {
		w_step(w);
	}
	comes(w, change);
	comes(w, end);
	w_step(w);
	is_str(strstr(w_take(w), "create 2 Job"), "create 2 Job j job_create\nget 2 Job j get\n",
	       "the end of the one before says nothing of a create in doubt: a look does");
	w_settle(w);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "then it is sent again");
	w_free(w);
}

/*
 * Quota goes and comes back. The clone of the round before is deleted; the watch is late, and
 * shows only now that it was admitted before that.
 */
static void late_admission_of_a_deleted_clone(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	struct pending admitted, end = {.ns = NULL};

	w_settle(w);
	admit(w, 2, "wl-j");
	w_drop(w, w->n_q - 1); /* w_apply tells it once, too */
	admitted = keep_last(w);
	release_quota(w, wl);
	while (clone_of(w, 2, "wl-j")) {
		w_step(w);
	}
	for (size_t i = 0; i < w->n_q; i++) {
		if (w->q[i].ev.type == EV_GONE && w->q[i].ev.cluster == 2) {
			end = w->q[i];
			w->q[i] = w->q[--w->n_q];
		}
	}
	w_settle(w);
	w_take(w);
	give_quota(w, wl);
	w_settle(w);
	comes(w, admitted);
	w_settle(w);
	comes(w, end);
	w_later(w, 15000);
	ok(!strstr(w_take(w), " win"), "a deleted clone does not win");
	is_str(check_state(w, wl), "Pending", "... and no quota is given back for it");
	ok(clone_of(w, 2, "wl-j") != NULL, "another is made when its end is seen");
	w_free(w);
}

/*
 * Another manager of our origin has a Workload of the name where our job runs; our clone is gone.
 */
static void name_taken_beside_our_job(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_del(w, clone_of(w, 2, "wl-j"));
	w_put(w, 2, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
	      "\"multikueued.io/manager-id\":\"another\"}},\"spec\":{}}");
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry", "the winner is gone");
	evict(w, wl, "P");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 60000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "its job is removed, whose the Workload there may be");
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "", "so the quota may go");
	ok(clone_of(w, 2, "wl-j") != NULL, "what is not ours stays");
	w_free(w);
}

/* --- old views -------------------------------------------------------------------------------- */

/* What waits of the worker's Workloads shows the object as it was. */
static void is_shown_as_it_was(struct world *w, const char *text, uint64_t rv)
{
	for (size_t i = 0; i < w->n_q; i++) {
		struct pending *p = &w->q[i];

		if (p->ev.cluster != 2 || p->ev.kind != KIND_WORKLOAD) {
			continue;
		}
		if (p->ev.type == EV_OBSERVED) {
			free(p->text);
			p->text = w_dup(str_of(text));
			p->ev.rv = rv;
		} else if (p->ev.type == EV_LIST_END) {
			p->ev.rv = rv;
		}
	}
}

/*
 * A standby's watch is behind: as it begins to lead, it shows the winner's clone as it was before
 * the win.
 */
static void view_from_before_the_win(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	char *before;
	uint64_t rv;

	w_settle(w);
	before = w_dup(str_of(clone_of(w, 2, "wl-j")->text));
	rv = clone_of(w, 2, "wl-j")->rv;
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "it has won");
	w_restart(w);
	for (int i = 0; i < 10; i++) {
		w_step(w);
		is_shown_as_it_was(w, before, rv);
	}
	w_later(w, 60000);
	is_str(check_state(w, wl), "Ready", "a view from before the win is no reason to give up");
	free(before);
	w_free(w);
}

/* The job is refused for good while another write to the Workload is under way. */
static void refused_while_busy(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	admit(w, 2, "wl-j");
	w->rig = (struct rig){.times = 100,
			      .type = OP_CREATE,
			      .cluster = 2,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_INVALID};
	while (w->rig.times == 100) {
		w_step(w);
	}
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"\"}]}}");
	w_later(w, 1000);
	is_str(check_state(w, wl), "Retry", "refused for good, and the check taken back: Retry");
	is_int(100 - (int)w->rig.times, 1, "the job is not sent again");
	w_free(w);
}

/*
 * A server in trouble answers deletes now with 503, which nothing was done after, now with 500,
 * after which a get must tell. Neither answer, nor the get that finds the object, makes the rests
 * begin anew.
 */
static void refused_and_lost_by_turns(void)
{
	struct world *w = w_new(2);
	enum mk_code code = ERR_UNKNOWN;
	struct object *wl = running_job(w);
	int64_t end = w->now + 60000;
	const char *log;

	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_del(w, wl);
	w_take(w);
	while (w->now < end) {
		if (w->rig.times == 0) {
			code = code == ERR_UNKNOWN ? ERR_UNAVAILABLE : ERR_UNKNOWN;
			w->rig = (struct rig){.times = 1,
					      .type = OP_DELETE,
					      .cluster = 2,
					      .kind = JOB,
					      .outcome = code == ERR_UNKNOWN ? OUTCOME_UNKNOWN
									     : OUTCOME_REFUSED,
					      .code = code};
		}
		w_step(w);
		if (w->n_q == 0 && engine_next_ms(w->e) > w->now) {
			w->wall += 5;
			w->now += 5;
		}
	}
	log = w_take(w);
	ok(w_times(log, "delete 2 Job") > 5 && w_times(log, "delete 2 Job") < 30,
	   "500 and 503 by turns: a delete comes again, ever more seldom");
	w->rig.times = 0;
	w_later(w, 60000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "and is not the last");
	w_free(w);
}

int main(void)
{
	lost_with_a_write();
	late_end_of_the_one_before();
	late_admission_of_a_deleted_clone();
	name_taken_beside_our_job();
	view_from_before_the_win();
	refused_while_busy();
	refused_and_lost_by_turns();
	return done_testing();
}
