/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check, the owner or the adapter of a Workload goes: nothing is begun for it any more, and
 * what was begun comes to its end.
 */
#include "t/lib/engine_pods.h"

#define ENDED                                                                                  \
	"{\"status\":{\"active\":null,\"succeeded\":2,\"startTime\":\"2027-01-15T08:00:00Z\"," \
	"\"completionTime\":\"2027-01-15T08:10:00Z\",\"conditions\":[{\"type\":\"Complete\","  \
	"\"status\":\"True\"}]}}"
#define HELD "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "," ADMITTED "]}"
#define CHECK_OF(name, config)                                                             \
	"{\"metadata\":{\"name\":\"" name                                                  \
	"\",\"generation\":1},\"spec\":{\"controllerName\":\"kueue.x-k8s.io/multikueue\"," \
	"\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":\"MultiKueueConfig\","   \
	"\"name\":\"" config "\"}}}"

/* --- how authority goes ----------------------------------------------------------------------- */

/* The ClusterQueue loses the check: Kueue takes the entry away. */
static void entry_goes(struct world *w, struct object *wl)
{
	w_patch(w, wl, "{\"status\":{\"admissionChecks\":null}}");
}

static void check_goes(struct world *w, struct object *wl)
{
	(void)wl;
	w_del(w, w_find(w, 0, KIND_CHECK, "", "mk"));
}

static void controller_changes(struct world *w, struct object *wl)
{
	(void)wl;
	w_patch(w, w_find(w, 0, KIND_CHECK, "", "mk"),
		"{\"spec\":{\"controllerName\":\"example.com/other\"}}");
}

/* kubectl delete --cascade=orphan: the garbage collector takes the reference away first. */
static void owner_goes(struct world *w, struct object *wl)
{
	w_patch(w, wl, "{\"metadata\":{\"ownerReferences\":null}}");
}

static void config_goes(struct world *w, struct object *wl)
{
	(void)wl;
	w_del(w, w_find(w, 0, KIND_CONFIG, "", "cfg"));
}

static const struct way {
	void (*go)(struct world *w, struct object *wl);
	const char *name;
	bool may_begin;
} ways[] = {{entry_goes, "the queue loses the check", false},
	    {check_goes, "the AdmissionCheck is deleted", false},
	    {controller_changes, "the check has another controller", false},
	    {owner_goes, "the owner reference goes", false},
	    {config_goes, "the MultiKueueConfig is deleted", true}};
enum { WAYS = sizeof(ways) / sizeof(*ways) };

#define TOLD "nothing new is begun"

/* --- what is seen ----------------------------------------------------------------------------- */

static const char *local_status(struct world *w)
{
	return w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status");
}

static void ends(struct world *w)
{
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), ENDED);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
}

/* The worker's Kueue does what it is told. */
static void stops(struct world *w)
{
	clone_condition(w, 2, "wl-j", "Evicted", "Deactivated", false);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":null}}");
}

static bool is_told_to_stop(struct world *w)
{
	return strstr(w_str(w, clone_of(w, 2, "wl-j"), "/status/conditions"),
		      "\"DeactivationTarget\"") != NULL;
}

/* --- a job that runs -------------------------------------------------------------------------- */

static void comes_home(const struct way *way, bool restart)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *log;

	w->full = true;
	if (restart) {
		w_stop(w);
		way->go(w, wl);
		w_restart(w);
	} else {
		way->go(w, wl);
	}
	w_later(w, 3600 * 1000);
	ok(clone_of(w, 2, "wl-j") && w_find(w, 2, JOB, "ns", "j"), way->name);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":1}}");
	w_later(w, 5000);
	ok(strstr(local_status(w), "\"active\":1") != NULL, "... its status is copied");
	log = w_take(w);
	is_int((long long)w_times(log, TOLD), !way->may_begin, "... one Event says so");
	ok(!strstr(log, "delete ") && !strstr(log, "create 1"), "... nothing goes or begins");
	w->full = false;
	ends(w);
	w_later(w, 5000);
	ok(strstr(local_status(w), "Complete") != NULL, "... its end comes home");
	ok(is_finished(w, wl), "... the Workload is Finished, which gives its quota back");
	is_int((long long)objects_on(w, 2), 0, "... and nothing is left on the worker");
	w_free(w);
}

static void is_wound_down(const struct way *way, bool restart)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	way->go(w, wl);
	w_settle(w);
	if (restart) {
		w_restart(w);
		w_settle(w);
	}
	w_take(w);
	w_patch(w, wl,
		"{\"status\":{\"clusterName\":null,\"conditions\":[" QUOTA
		",{\"type\":\"Evicted\",\"status\":\"True\",\"reason\":\"Preempted\","
		"\"message\":\"m\"}]}}");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 5000);
	ok(is_told_to_stop(w), way->name);
	ok(clone_of(w, 2, "wl-j") && w_find(w, 2, JOB, "ns", "j"), "... nothing is deleted yet");
	stops(w);
	w_later(w, 5000);
	ok(!strstr(local_status(w), "\"active\":2"), "evicted: the local job learns of the stop");
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\"}]}"
		"}");
	w_later(w, 5000);
	is_int((long long)objects_on(w, 2), 0, "... and when its quota is back, the copies go");
	w_free(w);
}

/* The winner is lost: the job may run there, and no other cluster gets it. */
static void is_lost(const struct way *way)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *log;

	way->go(w, wl);
	w_settle(w);
	w_take(w);
	w->full = true;
	w_link(w, 2, LINK_DOWN);
	w_later(w, 3600 * 1000);
	log = w_take(w);
	ok(!strstr(log, "\"Retry\"") && !clone_of(w, 1, "wl-j"), way->name);
	ok(strstr(log, "is out of reach since") && strstr(log, "the job is not run elsewhere"),
	   "... the loss is reported, without a promise to run it again");
	w_link(w, 2, LINK_UP);
	ends(w);
	w_later(w, 5000);
	ok(is_finished(w, wl), "... it comes back, and the end is not lost");
	w_free(w);
}

/* --- what has not begun ----------------------------------------------------------------------- */

static void clones_go(const struct way *way)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	ok(clone_of(w, 1, "wl-j") && clone_of(w, 2, "wl-j"), "a race");
	way->go(w, wl);
	w_later(w, 5000);
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2)), 0, way->name);
	w_take(w);
	w_later(w, 3600 * 1000);
	ok(!strstr(w_take(w), "create"), "... what waits on workers goes, and nothing is made");
	w_free(w);
}

/* Kueue on the manager goes on waiting for a check that there is not. */
static void wait_is_told(const struct way *way)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_take(w);
	w->full = true;
	way->go(w, wl);
	w_later(w, 60 * 1000);
	is_int((long long)w_times(w_take(w), TOLD), 1, way->name);
	w_stop(w);
	w_restart(w);
	w_later(w, 60 * 1000);
	is_int((long long)w_times(w_take(w), TOLD), 1, "... who waits is told, by each process");
	w_free(w);
}

/* So does who has won on a server to which no name leads any more. */
static void lost_sight_is_told(void)
{
	struct world *w = w_new(2);

	running_job(w);
	w->full = true;
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_settle(w);
	w_take(w);
	w_del(w, w_find(w, 0, KIND_CHECK, "", "mk"));
	w_later(w, 60 * 1000);
	is_int((long long)w_times(w_take(w), TOLD), 1,
	       "no check, and no way to the winner's server: that nothing begins is told");
	w_free(w);
}

/* It has won, and the check goes before the job was made. */
static void job_is_not_made(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w->refuse = ERR_UNAVAILABLE;
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "it has won");
	ok(!w_find(w, 2, JOB, "ns", "j"), "... its job is not made yet");
	entry_goes(w, wl);
	w_later(w, 60 * 1000);
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"),
	   "the check goes: it is not made, and its clone holds no quota of the worker");
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry", "the check is back: it is queued again");
	w_free(w);
}

/* The queue gains the check again while the job runs. */
static void check_is_back(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->full = true;
	for (int i = 0; i < 2; i++) {
		entry_goes(w, wl);
		w_later(w, 60 * 1000);
		w_patch(w, wl,
			"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
			"\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
		w_later(w, 5000);
		is_str(check_state(w, wl), "Ready", "the check is back: Ready, it still runs");
	}
	is_int((long long)w_times(w_take(w), TOLD), 2, "each loss is reported");
	ok(w_find(w, 2, JOB, "ns", "j") && objects_on(w, 1) == 0, "... and runs once");
	w_free(w);
}

/* --- the manager itself runs it --------------------------------------------------------------- */

static const struct start {
	const char *patch, *says;
} starts[] = {{"{\"spec\":{\"schedulingGates\":null}}", "Kueue takes its gate away"},
	      {"{\"spec\":{\"nodeName\":\"n1\"}}", "it is bound to a node, gate or not"}};

static void pod_starts_here(const char *group, const struct start *start)
{
	struct world *w = w_new(2);
	struct object *wl;

	if (group) {
		wl = running_group(w);
	} else {
		a_pod(w, "p-0", NULL);
		wl = a_pods_workload(w, "pod-p-0", "p-0,");
		w_settle(w);
		admit(w, 2, "pod-p-0");
		w_settle(w);
		pod_phase(w, 2, "p-0", "Running");
		w_settle(w);
	}
	ok(pod_on(w, 2, "p-0") != NULL, group ? "a group runs on a worker" : "a Pod runs there");
	entry_goes(w, wl);
	w_later(w, 5000);
	ok(pod_on(w, 2, "p-0") != NULL, "the check goes: it runs on");
	w_take(w);
	w->full = true;
	w_patch(w, pod_on(w, 0, "p-0"), start->patch);
	w_settle(w);
	is_int((long long)objects_on(w, 2), 0, start->says);
	ok(pod_on(w, 0, "p-0") != NULL, "... the copies go at once, or it would run twice");
	is_int((long long)w_times(w_take(w), "\"RunsOnManager\",\"re"), 1, "... an Event says why");
	w->full = false;
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
	w_later(w, 3600 * 1000);
	ok(!strstr(w_take(w), "create "), "the check is back: it is not dispatched beside that");
	is_str(check_state(w, wl), "Pending", "... nor Rejected, which would end it");
	w_free(w);
}

/* Nothing was sent before: it has quota and waits for a place that there will not be. */
static void pod_began_before(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_patch(w, a_pod(w, "p-0", NULL), starts[0].patch);
	wl = a_pods_workload(w, "pod-p-0", "p-0,");
	w->full = true;
	w_later(w, 60 * 1000);
	is_int((long long)w_times(w_take(w), "\"RunsOnManager\",\"re"), 1,
	       "a Pod began on the manager before anything was sent: an Event says so, once");
	is_str(w_str(w, wl, "/status/admissionChecks/0/message"),
	       "Not admitted yet: the job has begun on the manager cluster",
	       "... and so does the check");
	w_free(w);
}

/* Kueue gives the quota of a group back when none of its Pods says that it runs. */
static void evicted_beside_a_start(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	pod_phase(w, 2, "p-0", "Succeeded");
	w_settle(w);
	evict(w, wl, "m");
	w_patch(w, pod_on(w, 0, "p-0"), starts[0].patch);
	w_later(w, 60 * 1000);
	is_int((long long)objects_on(w, 2), 0, "evicted, and a member has no gate: the copies go");
	is_str(phase_of(w, 0, "p-1"), "Pending", "... and what waits at its gate does not run");
	is_str(phase_of(w, 0, "p-0"), "Succeeded", "... an end stays");
	w_free(w);
}

/* The status of a local Pod is a copy: that it runs says nothing. */
static void copied_status_is_no_start(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	is_str(phase_of(w, 0, "p-0"), "Running", "its local Pod has the status of the copy");
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_later(w, 60 * 1000);
	ok(pod_on(w, 2, "p-0") && pod_on(w, 2, "p-2"), "... and its copies stay");
	w_free(w);
}

/* A queue gains the check while its jobs run on the manager. */
static void check_is_new(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"spec\":{\"managedBy\":null,\"suspend\":false},\"status\":{\"active\":2}}");
	w_apply(w, wl,
		"{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "," ADMITTED
		"],\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\"}]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	w_later(w, 60 * 1000);
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2)), 0,
	       "a queue gains the check: what runs on the manager is not dispatched");
	is_str(check_state(w, wl), "Pending", "... nor ended by Rejected");
	w_free(w);
}

/* --- no adapter ------------------------------------------------------------------------------- */

static void no_adapter_stops(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *log;

	w_stop(w);
	w_patch(w, wl,
		"{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"ex.io/v1\",\"kind\":"
		"\"Gone\",\"name\":\"j\",\"uid\":\"u\",\"controller\":true}]}}");
	w_restart(w);
	w_later(w, 3600 * 1000);
	log = w_take(w);
	ok(!strstr(log, "delete") && !strstr(log, "apply_status") && !strstr(log, "merge 0 Job"),
	   "no adapter: what runs is left as it is");
	evict(w, wl, "m");
	w_later(w, 60 * 1000);
	ok(is_told_to_stop(w), "evicted: it is told to stop, which needs no adapter");
	ok(objects_on(w, 2) == 2 && !strstr(w_take(w), "delete"), "... and nothing is deleted");
	w_free(w);
}

/* Its worker's Kueue evicted it before, and would queue it again. */
static void no_adapter_stops_what_is_queued(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_stop(w);
	w_patch(w, wl,
		"{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"ex.io/v1\",\"kind\":"
		"\"Gone\",\"name\":\"j\",\"uid\":\"u\",\"controller\":true}]}}");
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	evict(w, wl, "m");
	w_restart(w);
	w_later(w, 60 * 1000);
	ok(is_told_to_stop(w), "no adapter, evicted there as well: it is not queued there again");
	w_free(w);
}

/* --- two checks of ours ----------------------------------------------------------------------- */

static struct object *second_check(struct world *w, const char *clusters)
{
	struct object *wl = running_job(w);
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"other\"},\"spec\":{\"clusters\":[%s]}}", clusters);
	w_put(w, 0, KIND_CONFIG, text);
	w_put(w, 0, KIND_CHECK, CHECK_OF("aa", "other"));
	w_settle(w);
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"aa\",\"state\":\"Pending\","
		"\"message\":\"\"},{\"name\":\"mk\",\"state\":\"Ready\",\"message\":\"The workload "
		"was admitted on \\\"w2\\\"\"}]}}");
	return wl;
}

static void two_checks(const char *clusters, const char *name, bool restart)
{
	struct world *w = w_new(2);
	struct object *wl = second_check(w, clusters);

	if (restart) {
		w_restart(w);
	}
	w_later(w, 3600 * 1000);
	is_str(check_state(w, wl), "Pending", name);
	is_str(w_str(w, wl, "/status/admissionChecks/1/state"), "Ready", "... the one that won");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "... its job runs on");
	ends(w);
	w_later(w, 5000);
	ok(is_finished(w, wl), "... and its end comes home");
	w_free(w);
}

/* The check that won is the one that asks for another round. */
static void two_checks_evicted(void)
{
	struct world *w = w_new(2);
	struct object *wl = second_check(w, "\"w1\"");

	w_settle(w);
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_later(w, 5000);
	ok(strstr(w_str(w, wl, "/status/admissionChecks"), "\"mk\",\"state\":\"Retry\"") != NULL,
	   "evicted on the worker: the check that won asks for another round");
	ok(strstr(w_str(w, wl, "/status/admissionChecks"), "\"aa\",\"state\":\"Pending\"") != NULL,
	   "... not the new one");
	w_free(w);
}

/* --- what is not ours ------------------------------------------------------------------------- */

/* Kueue's MultiKueue on another manager has the same origin, and a Workload of the same name. */
static void neighbour(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	entry_goes(w, wl);
	w_settle(w);
	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"ownerReferences\":[{"
	      "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"x\","
	      "\"controller\":true}]},\"spec\":{},\"status\":" HELD "}");
	w_settle(w);
	w_take(w);
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":"
		"\"False\"}]}}");
	w_later(w, 60 * 1000);
	ok(clone_of(w, 1, "wl-j") != NULL,
	   "without a check, a Workload of its name that has no mark of ours is left alone");
	is_str(w_take_work(w), "", "... and nothing is written");
	w_free(w);
}

/* A Workload of an ordinary queue costs no watch on its jobs. */
static void ordinary_queue(void)
{
	struct world *w = w_new(1);
	struct object *wl;

	w_settle(w);
	w_take(w);
	wl = a_job(w, "j");
	entry_goes(w, wl);
	w_drop(w, w->n_q);
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	w_later(w, 60 * 1000);
	ok(!strstr(w_take(w), "watch_open"), "a queue without a check: its jobs are not watched");
	w_free(w);
}

/* --- hidden workers --------------------------------------------------------------------------- */

/* Evicted, and no config says which clusters count: one that was not seen yet may have the job. */
static void evicted_unseen(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_stop(w);
	config_goes(w, wl);
	evict(w, wl, "m");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w->stay_down[2] = true;
	w_restart(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 60 * 1000);
	ok(strstr(local_status(w), "\"active\":2") != NULL,
	   "no config, evicted: the job may run on a worker that is out of reach");
	w->stay_down[2] = false;
	w_link(w, 2, LINK_UP);
	w_later(w, 5000);
	ok(is_told_to_stop(w), "... it is told to stop when it is back");
	w_free(w);
}

int main(void)
{
	w_more = &mk_entry_pod;
	for (size_t i = 0; i < WAYS; i++) {
		comes_home(&ways[i], false);
		comes_home(&ways[i], true);
		is_wound_down(&ways[i], false);
		is_wound_down(&ways[i], true);
	}
	for (size_t i = 0; i < WAYS && !ways[i].may_begin; i++) {
		clones_go(&ways[i]);
		is_lost(&ways[i]);
	}
	wait_is_told(&ways[1]);
	wait_is_told(&ways[2]);
	lost_sight_is_told();
	job_is_not_made();
	check_is_back();
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		pod_starts_here("grp", &starts[i]);
		pod_starts_here(NULL, &starts[i]);
	}
	pod_began_before();
	evicted_beside_a_start();
	copied_status_is_no_start();
	check_is_new();
	no_adapter_stops();
	no_adapter_stops_what_is_queued();
	two_checks("\"w1\"", "a second check without the winner in its config", false);
	two_checks("\"w1\"", "... after a restart", true);
	two_checks("\"w1\",\"w2\"", "a second check that has the winner, too", false);
	two_checks_evicted();
	neighbour();
	ordinary_queue();
	evicted_unseen();
	return done_testing();
}
