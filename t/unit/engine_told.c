/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions and Events of clusters and checks, workers that cannot be used, and
 * losses while the clock is set.
 */
#include "t/lib/engine_world.h"

#define ABOUT(kind, name)                                                           \
	"\"regarding\":{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"" kind \
	"\",\"name\":\"" name

#define ABOUT_JOBS                                        \
	"\"regarding\":{\"apiVersion\":\"kueue.x-k8s.io/" \
	"v1beta2\",\"kind\":\"Workload\",\"namespace\":\"ns\",\"name\":\"wl-j"

static void conditions(void)
{
	struct world *w = w_new(1);
	const char *log;

	w->full = true;
	w_take(w);
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	log = w_take(w);
	is_int(w_times(log, "\"reason\":\"ClientConnectionFailed\",\"type\":\"Warning\"," ABOUT(
				    "MultiKueueCluster", "w1")),
	       1, "a cluster is lost: a warning with the condition's reason");
	ok(strstr(log, "\"note\":\"connection refused\"") &&
		   strstr(log, "\"reportingController\":\"multikueue-cluster\""),
	   "and its message");
	is_int(w_times(log, "\"reason\":\"NoUsableClusters\",\"type\":\"Warning\"," ABOUT(
				    "AdmissionCheck", "mk")),
	       1, "the check's condition changes, too");
	ok(strstr(log, "\"reportingController\":\"multikueue-admissioncheck\"") != NULL,
	   "by its controller");
	w_link(w, 1, LINK_DOWN);
	w_later(w, 60000);
	is_int(w_times(w_take(w), "event 0 "), 0, "nothing changes: no Event");
	w->rig = (struct rig){.times = 2,
			      .type = OP_MERGE,
			      .kind = KIND_CLUSTER,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_CONFLICT};
	w_link(w, 1, LINK_UP);
	w_later(w, 60000);
	log = w_take(w);
	is_int(w_times(log, "\"reason\":\"Active\",\"type\":\"Normal\"," ABOUT("MultiKueueCluster",
									       "w1")),
	       1, "it is back: told once, though the condition took three tries");
	is_int(w_times(log,
		       "\"reason\":\"Active\",\"type\":\"Normal\"," ABOUT("AdmissionCheck", "mk")),
	       1, "so is the check");
	w_free(w);
}

static void served_because(struct world *w, enum event_type type, mk_str why)
{
	struct pending *p = w_event(w, type, 1, JOB);

	p->ev.code = type == EV_UNSERVED ? ERR_NOT_FOUND : ERR_OK;
	p->msg = w_dup(why);
	if (type == EV_SERVED) {
		w_list(w, 1, JOB);
	}
	w_settle(w);
}

static void served(struct world *w, enum event_type type)
{
	served_because(w, type, STR("no matches for kind \"Job\""));
}

/* The API server refuses an Event whose note is longer. */
static void long_note(void)
{
	static char why[2048];
	struct world *w = w_new(2);
	const char *note, *end;

	memset(why, 'x', sizeof(why));
	w->full = true;
	served_because(w, EV_UNSERVED, (mk_str){why, sizeof(why)});
	w_take(w);
	a_job(w, "a");
	w_settle(w);
	note = strstr(w_take(w), "\"note\":\"batch/v1, Kind=Job");
	end = note ? strchr(note + 8, '"') : NULL;
	is_int(end ? end - note - 8 : 0, 1024, "a long note is cut at 1024 bytes");
	ok(end && strncmp(end - 5, "x ...", 5) == 0, "and ends in dots");
	w_free(w);
}

/* The name of the last Event about the cluster w1 in a log. */
static void name_of(const char *log, char ret[32])
{
	const char *at = log, *next;

	while ((next = strstr(at + 1, "\"name\":\"w1.")) != NULL) {
		at = next;
	}
	snprintf(ret, 32, "%.19s", at == log ? "" : at + strlen("\"name\":\""));
}

static void kinds_not_served(void)
{
	struct world *w = w_new(2);
	char first[32], again[32];
	const char *log;

	w->full = true;
	w_take(w);
	served(w, EV_UNSERVED);
	is_int(w_times(w_take(w), "KindNotServed"), 0, "a kind that no job has gets no Event");
	a_job(w, "a");
	w_settle(w);
	log = w_take(w);
	is_int(w_times(log, "\"reason\":\"KindNotServed\",\"type\":\"Warning\"," ABOUT(
				    "MultiKueueCluster", "w1")),
	       1, "a job of that kind: an Event tells about the cluster");
	name_of(log, first);
	ok(strstr(log, "batch/v1, Kind=Job: the cluster does not serve the kind") &&
		   strstr(log, "no matches for kind"),
	   "which kind, and why");
	a_job(w, "b");
	w_settle(w);
	served(w, EV_SERVED);
	served(w, EV_UNSERVED);
	a_job(w, "c");
	w_settle(w);
	is_int(w_times(w_take(w), "KindNotServed"), 0, "once, for all jobs, if it comes and goes");
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected",
	       "the cluster stays connected");
	ok(!clone_of(w, 1, "wl-c") && clone_of(w, 2, "wl-c"), "jobs go to the other one");
	w_advance(w, 3600000);
	served(w, EV_SERVED);
	served(w, EV_UNSERVED);
	a_job(w, "d");
	w_settle(w);
	log = w_take(w);
	is_int(w_times(log, "\"reason\":\"KindNotServed\""), 1, "an hour later it is news");
	name_of(log, again);
	ok(first[0] && again[0] && strcmp(first, again) != 0, "... of another name");
	w_restart(w);
	w_settle(w);
	served(w, EV_UNSERVED);
	w_settle(w);
	name_of(w_take(w), first);
	is_str(first, again, "another process sends the same Event, which exists already");
	w_free(w);
}

static void up_as(struct world *w, cluster_id c, const char *identity)
{
	struct pending *p = w_event(w, EV_LINK, c, 0);

	p->ev.link = LINK_UP;
	p->name = w_dup(str_of(identity));
	w_settle(w);
}

#define ITSELF                                                                                   \
	"False BadKubeConfig: load client config failed: the kubeconfig leads to the manager's " \
	"own cluster"

static void manager_as_worker(void)
{
	struct world *w = w_new(2);

	w->stay_down[1] = true;
	w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w1"),
		"{\"data\":{\"kubeconfig\":\"c2VsZg==\"}}");
	w_settle(w);
	w_take(w);
	up_as(w, 1, "manager-id");
	is_str(w_active(w, KIND_CLUSTER, "w1"), ITSELF, "a worker that is the manager is refused");
	is_int(w_times(w_take(w), "disconnect 1 "), 1, "and its link cut");
	a_job(w, "j");
	w_later(w, 120000);
	ok(clone_of(w, 2, "wl-j") && w_times(w->log, "connect 3 ") == 0,
	   "it is not tried again, jobs go elsewhere");
	w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w1"),
		"{\"data\":{\"kubeconfig\":\"b3RoZXI=\"}}");
	w_settle(w);
	is_str(w_active(w, KIND_CLUSTER, "w1"), "True Active: Connected",
	       "until its kubeconfig is another");
	w_free(w);

	w = w_new(2);
	up_as(w, 0, "worker-1");
	is_str(w_active(w, KIND_CLUSTER, "w1"), ITSELF,
	       "the manager's identity may be learnt later");
	w_free(w);
}

/*
 * A job's cluster is lost for 20 s; a restart meets a clock that is an hour ahead; it
 * is set right after 30 s, before the first connect has failed, or not.
 */
static struct world *lost_over_restart(const struct object **ret_wl, bool set_right)
{
	struct world *w = w_new(1);

	*ret_wl = running_job_on(w, 1);
	w->stay_down[1] = true;
	w_link(w, 1, LINK_DOWN);
	w_later(w, 20000);
	w->wall += 3600000;
	w_restart(w);
	w_settle(w);
	w_later(w, 30000);
	w->wall -= set_right ? 3600000 : 0;
	w_later(w, 1000);
	w_link(w, 1, LINK_DOWN);
	w_later(w, 50000);
	return w;
}

static void clock_is_set(void)
{
	const struct object *wl;
	struct world *w = lost_over_restart(&wl, false);

	is_str(check_state(w, wl), "Retry", "by the wrong clock the cluster is lost for an hour");
	w_free(w);
	w = lost_over_restart(&wl, true);
	is_str(check_state(w, wl), "Ready", "the clock is set right: the loss is young again");
	w_later(w, 600000);
	is_str(check_state(w, wl), "Ready", "and stays so");
	w_later(w, 300000);
	is_str(check_state(w, wl), "Retry", "until the timeout is over");
	w_free(w);

	/* The clock goes ahead while the cluster is lost. */
	w = w_new(1);
	wl = running_job_on(w, 1);
	w_link(w, 1, LINK_DOWN);
	w_later(w, 870000);
	w->wall += 3600000;
	w_later(w, 40000);
	is_str(check_state(w, wl), "Ready", "a clock that is set begins a grace");
	w_later(w, 30000);
	is_str(check_state(w, wl), "Retry", "of a minute");
	w_free(w);
}

enum { CROWD = 30 };

/* Thirty jobs that run on w1. */
static struct world *crowded(void)
{
	struct world *w = w_new(1);
	char name[32];

	w->full = true;
	many_jobs(w, CROWD);
	for (int i = 0; i < CROWD; i++) {
		snprintf(name, sizeof(name), "wl-j%d", i);
		admit(w, 1, name);
	}
	w_settle(w);
	w_take(w);
	return w;
}

/* Who waits for a server with many others has an Event with them, about the server. */
static void one_for_many(void)
{
	struct world *w = crowded();
	const char *log;
	char name[32];

	w_link(w, 1, LINK_DOWN);
	w->stay_down[1] = true;
	w_later(w, 120 * 1000);
	log = w_take(w);
	is_int(w_times(log, "\"reason\":\"WorkerUnreachable\",\"type\":\"Warning\"," ABOUT_JOBS),
	       20, "thirty jobs run on a worker that is lost: an Event for each of twenty");
	is_int(w_times(log, "\"reason\":\"WorkerUnreachable\",\"type\":\"Warning\"," ABOUT(
				    "MultiKueueCluster", "w1")),
	       1, "... and one about the worker");
	ok(strstr(log, "20 Workloads or more, as ns/wl-j20: The worker cluster") != NULL,
	   "... which says so");
	w_free(w);

	w = crowded();
	w->rig = (struct rig){.times = 1000000,
			      .type = OP_MERGE,
			      .cluster = 0,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_DENIED};
	for (int i = 0; i < CROWD; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		w_patch(w, w_find(w, 1, JOB, "ns", name), "{\"status\":{\"active\":1}}");
	}
	w_later(w, 60 * 1000);
	log = w_take(w);
	is_int(w_times(log, "\"reason\":\"WriteRefused\",\"type\":\"Warning\"," ABOUT_JOBS), 20,
	       "the manager refuses each status: the same of its refusals");
	is_int(w_times(log, "\"reason\":\"WriteRefused\",\"type\":\"Warning\"," ABOUT(
				    "AdmissionCheck", "mk")),
	       1, "... with one about the check");
	w_later(w, 9 * 60 * 1000);
	is_int(w_times(w_take(w), "\"reason\":\"WriteRefused\""), 0, "... not more for minutes");
	w_free(w);
}

int main(void)
{
	conditions();
	kinds_not_served();
	long_note();
	manager_as_worker();
	clock_is_set();
	one_for_many();
	return done_testing();
}
