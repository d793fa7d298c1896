/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is changed on a clone in place: the size of an elastic Workload that shrinks, a
 * finalizer in the way of its end.
 */
#include "t/lib/engine_world.h"

#define ELASTIC "{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/elastic-job\":\"true\"}}}"

static struct world *elastic_world(size_t n)
{
	struct world *w = w_new(n);

	w->gate_elastic = true;
	w_restart(w);
	w_settle(w);
	return w;
}

/* The local job and its Workload are 'n' pods big. */
static void resize(struct world *w, struct object *wl, int n, int generation)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"generation\":%d},\"spec\":{\"parallelism\":%d}}", generation, n);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), text);
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"generation\":%d},\"spec\":{\"podSets\":[{\"name\":\"main\","
		 "\"count\":%d}]}}",
		 generation, n);
	w_patch(w, wl, text);
	w_settle(w);
}

static struct object *elastic_job(struct world *w, cluster_id c)
{
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, ELASTIC);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), ELASTIC);
	w_settle(w);
	if (c) {
		admit(w, c, "wl-j");
		w_settle(w);
	}
	(void)w_take(w);
	return wl;
}

static void shrinks_while_it_runs(void)
{
	struct world *w = elastic_world(1);
	struct object *wl = elastic_job(w, 1);
	const char *log;

	resize(w, wl, 1, 2);
	log = w_take_work(w);
	ok(strstr(log, "merge 1 Workload wl-j clone_shrink\n") != NULL,
	   "smaller: the clone in place");
	ok(!strstr(log, "delete") && !strstr(log, "winner_gone"), "... nothing is given up");
	is_str(w_str(w, clone_of(w, 1, "wl-j"), "/spec/podSets/0/count"), "1", "... by its counts");
	is_str(w_str(w, w_find(w, 1, JOB, "ns", "j"), "/spec/parallelism"), "1",
	       "... and trap_59: the job is as small");
	is_str(check_state(w, wl), "Ready", "... and runs on");
	w_advance(w, 60 * 1000);
	is_str(w_take_work(w), "", "... once");
	resize(w, wl, 3, 3);
	is_str(check_message(w, wl), "Admitting remote no longer exists, Previously: \"Ready\"",
	       "bigger without a slice: a difference like any other");
	w_free(w);
}

static void shrinks_while_it_waits(void)
{
	struct world *w = elastic_world(2);
	struct object *wl = elastic_job(w, 0);

	resize(w, wl, 1, 2);
	ok(!strstr(w_take_work(w), "delete"), "smaller in a race: in place");
	is_str(w_str(w, clone_of(w, 2, "wl-j"), "/spec/podSets/0/count"), "1", "... everywhere");
	w_free(w);
}

/* The worker may not let us write for a while: that kills no job that runs. */
static void not_allowed(void)
{
	struct world *w = elastic_world(1);
	struct object *wl = elastic_job(w, 1);

	w->rig = (struct rig){.times = 1000,
			      .type = OP_MERGE,
			      .cluster = w->links[1],
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_DENIED};
	w->rig_http = 403;
	w->rig_words = "workloads.kueue.x-k8s.io \"wl-j\" is forbidden: User \"us\" cannot patch";
	resize(w, wl, 1, 2);
	w_advance(w, 3600 * 1000);
	is_str(check_state(w, wl), "Ready", "a worker that gives no right ends no job that runs");
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "... it runs on in its old size");
	w->rig.times = 0;
	w_advance(w, 5 * 60 * 1000);
	is_str(w_str(w, w_find(w, 1, JOB, "ns", "j"), "/spec/parallelism"), "1",
	       "... and shrinks when the right is back");
	w_free(w);
}

static void refused(void)
{
	struct world *w = elastic_world(1);
	struct object *wl = elastic_job(w, 1);

	w->rig = (struct rig){.times = 1000,
			      .type = OP_MERGE,
			      .cluster = w->links[1],
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_INVALID};
	resize(w, wl, 1, 2);
	w_advance(w, 10 * 60 * 1000);
	is_str(check_state(w, wl), "Ready", "a worker that refuses the size: the job runs on");
	w_advance(w, 6 * 60 * 1000);
	is_str(check_state(w, wl), "Retry", "... after workerLostTimeout it starts anew");
	w_free(w);
}

static void not_elastic(void)
{
	struct world *w = w_new(1);
	struct object *wl = elastic_job(w, 1);

	resize(w, wl, 1, 2);
	is_str(w_str(w, w_find(w, 1, JOB, "ns", "j"), "/spec/parallelism"), "2",
	       "without the gate the annotation says nothing");
	is_str(check_state(w, wl), "Retry", "... and a change of size is another spec");
	w_free(w);
}

static void finalizer(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\",\"finalizers\":["
	      "\"kueue.x-k8s.io/resource-in-use\"],\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"}},\"spec\":{}}");
	w_settle(w);
	(void)w_take(w);
	release_quota(w, wl);
	w_settle(w);
	is_str(w_take_work(w), "merge 1 Workload wl-j finalizer\ndelete 1 Workload wl-j release\n",
	       "Kueue's finalizer goes before the adopted clone does");
	ok(!clone_of(w, 1, "wl-j"), "... so it is gone");
	w_free(w);
}

static void other_finalizers(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\",\"finalizers\":[\"a/b\","
	      "\"kueue.x-k8s.io/resource-in-use\"],\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"}},\"spec\":{}}");
	w_settle(w);
	release_quota(w, wl);
	w_settle(w);
	is_str(w_str(w, clone_of(w, 1, "wl-j"), "/metadata/finalizers"), "[\"a/b\"]",
	       "another's finalizer stays");
	w_free(w);
}

int main(void)
{
	shrinks_while_it_runs();
	shrinks_while_it_waits();
	not_allowed();
	refused();
	not_elastic();
	finalizer();
	other_finalizers();
	return done_testing();
}
