/* SPDX-License-Identifier: Apache-2.0 */
/* Another controller nominates: the clones follow its list, and only it decides whom to try. */
#include "t/lib/engine_world.h"

static struct world *external_world(size_t n)
{
	struct world *w = w_new(n);

	w_stop(w);
	w->dispatcher = "example.com/mine";
	w_restart(w);
	w_settle(w);
	w_take(w);
	return w;
}

/* Has exactly the clusters of 'which' ("13") a clone? */
static bool clones_are(struct world *w, const char *which)
{
	bool good = true;

	for (cluster_id c = 1; c <= 3; c++) {
		good = good &&
		       (clone_of(w, c, "wl-j") != NULL) == (strchr(which, '0' + (int)c) != NULL);
	}
	return good;
}

static void follows_the_list(void)
{
	struct world *w = external_world(3);
	struct object *wl = a_job(w, "j");

	w_later(w, 30000);
	ok(clones_are(w, ""), "no cluster is nominated: no clone");
	is_str(w_take_work(w), "", "and no nomination of ours");
	they_nominate(w, "\"w2\"");
	ok(clones_are(w, "2"), "w2 is nominated: a clone there alone");
	they_nominate(w, "\"w1\",\"w2\"");
	ok(clones_are(w, "12"), "w1 too: it joins");
	w_later(w, 600000);
	ok(clones_are(w, "12"), "time changes nothing");
	they_nominate(w, "\"w2\",\"w3\"");
	ok(clones_are(w, "23"), "a name that leaves the list takes its clone with it");
	ok(!strstr(w_take(w), "apply_status 0 Workload wl-j"),
	   "the list is theirs: no write of it");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "the race is as ever");
	ok(clones_are(w, "2") && w_find(w, 2, JOB, "ns", "j"), "the loser goes, the job is made");
	w_free(w);
}

/* All names are withdrawn, and the check is rejected in the end. */
static void withdrawn_and_rejected(void)
{
	struct world *w = external_world(3);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	they_nominate(w, "\"w1\",\"w3\"");
	ok(clones_are(w, "13"), "two are nominated");
	they_nominate(w, "");
	ok(clones_are(w, ""), "all names are withdrawn: no clone stays");
	they_nominate(w, "\"w3\"");
	ok(clones_are(w, "3"), "nominated again");
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Rejected\","
		"\"message\":\"no\"}]}}");
	w_later(w, 2000);
	ok(clones_are(w, ""), "Rejected: no clone stays");
	they_nominate(w, "\"w1\"");
	ok(clones_are(w, ""), "a nomination of what is Rejected counts for nothing");
	w_free(w);
}

/* A clone that was admitted while its name was being withdrawn does not win. */
static void admitted_and_withdrawn(void)
{
	struct world *w = external_world(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	they_nominate(w, "\"w1\",\"w2\"");
	admit(w, 1, "wl-j");
	they_nominate(w, "\"w2\"");
	w_later(w, 2000);
	is_str(w_str(w, wl, "/status/clusterName"), "", "who is no longer nominated wins nothing");
	ok(clones_are(w, "2"), "and goes");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "who still is does");
	w_free(w);
}

/*
 * A nominated cluster is out of reach: its clone is made when it connects,
 * without a word from the dispatcher.
 */
static void out_of_reach(void)
{
	struct world *w = external_world(2);
	const char *log;

	w->stay_down[1] = true;
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	they_nominate(w, "\"w1\"");
	ok(clones_are(w, ""), "nominated, and out of reach: no clone");
	w_take(w);
	w_later(w, 600000);
	log = w_take(w);
	ok(!strstr(log, " wl-j "), "no request for it, and no Event");
	w_link(w, 1, LINK_UP);
	w_settle(w);
	ok(clones_are(w, "1"), "it connects: its clone is made at once");
	w_free(w);
}

/*
 * The list is another field manager's: leaving it out does not remove it, and
 * Kueue takes no winner beside it.
 */
static void under_its_own_name(void)
{
	struct world *w = external_world(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	wl->nominator = "acme-dispatcher";
	they_nominate(w, "\"w1\",\"w2\"");
	ok(clones_are(w, "12"), "nominated under another field manager: followed as well");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "the win is written");
	is_str(w_str(w, wl, "/status/nominatedClusterNames"), "[]",
	       "... and takes the list over, empty");
	ok(clones_are(w, "2") && w_find(w, 2, JOB, "ns", "j"), "... and it goes on as ever");
	w_free(w);
}

/* The list is on record, and so are the clones: nothing else is needed to go on. */
static void restarted(void)
{
	struct world *w = external_world(3);

	a_job(w, "j");
	w_settle(w);
	they_nominate(w, "\"w1\",\"w3\"");
	w_stop(w);
	w_patch(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"),
		"{\"status\":{\"nominatedClusterNames\":[\"w2\",\"w3\"]}}");
	w_restart(w);
	w_later(w, 2000);
	ok(clones_are(w, "23"), "the list changed during a restart: the clones follow");
	w_free(w);
}

/*
 * What is there of that name is not ours, and the Workload changes while the cluster rests:
 * it is tried again all the same.
 */
static void foreign_for_a_while(void)
{
	struct world *w = external_world(2);
	struct object *theirs, *wl = a_job(w, "j");

	theirs = w_put(w, 1, KIND_WORKLOAD,
		       "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\"},\"spec\":{}}");
	w_settle(w);
	they_nominate(w, "\"w1\"");
	is_int((long long)w_times(w_take(w), "event 0 Event wl-j"), 1,
	       "a Workload that is not ours is in the way: an Event tells");
	w_patch(w, wl, "{\"metadata\":{\"labels\":{\"team\":\"blue\"}}}");
	w_settle(w);
	w_del(w, theirs);
	w_later(w, 5000);
	ok(clones_are(w, "1"), "... and its going is found out, whatever happened meanwhile");
	w_free(w);
}

/*
 * A job that another controller runs, nominated all the same before we saw it:
 * no cluster would ever refuse it.
 */
static void not_ours(void)
{
	struct world *w = external_world(3);
	struct object *wl = a_job(w, "j");

	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"spec\":{\"managedBy\":\"kubernetes.io/job-controller\"}}");
	they_nominate(w, "\"w1\",\"nowhere\"");
	is_str(w_str(w, wl, "/status/admissionChecks/0/state"), "Rejected",
	       "nominated is not dispatched: a job that is not ours is rejected");
	ok(clones_are(w, ""), "and no clone is made");
	w_free(w);
}

/*
 * Without external.so such a name dispatches nothing: the daemon does not start with it, and where
 * a check names it its users are told.
 */
static void without_the_plugin(void)
{
	struct world *w = w_new(1);
	struct plug *all = w->plug;
	struct mk_err err = {0};
	struct engine_options o = {.kinds = &w->kinds, .dispatcher = STR("example.com/mine")};
	const char *log;

	w_stop(w);
	w->plug = plug_new(&err);
	ok(plug_add(w->plug, &mk_entry_job, "", &err) == ERR_OK &&
		   plug_add(w->plug, &mk_entry_all_at_once, "", &err) == ERR_OK,
	   "a plugin directory without external.so");
	o.plug = w->plug;
	ok(!engine_new(&o, &err), "a dispatcher that is another controller is refused");
	is_str(err.msg, "no dispatcher is named \"example.com/mine\": " PLUG_NO_EXTERNAL,
	       "... with the reason");
	w_restart(w);
	w_settle(w);
	w_patch(w, w_find(w, 0, KIND_CHECK, "", "mk"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":"
		"\"example.com/mine\"}}}");
	a_job(w, "j");
	w_settle(w);
	w->full = true;
	w_take(w);
	they_nominate(w, "\"w1\"");
	ok(clones_are(w, ""), "what is nominated counts for nothing");
	w_stop(w);
	w_restart(w);
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "No dispatcher is named \\\"example.com/mine\\\"") &&
		   strstr(log, PLUG_NO_EXTERNAL),
	   "its users are told the reason");
	w_free(w);
	plug_free(all);
}

int main(void)
{
	without_the_plugin();
	not_ours();
	follows_the_list();
	withdrawn_and_rejected();
	admitted_and_withdrawn();
	out_of_reach();
	under_its_own_name();
	restarted();
	foreign_for_a_while();
	return done_testing();
}
