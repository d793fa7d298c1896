/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two MultiKueueClusters that lead to one API server: one object is one
 * object, whatever names lead to it.
 */
#include "t/lib/engine_world.h"

/* MultiKueueCluster w<n> leads to the server of w<to>. */
static void alias(struct world *w, cluster_id n, cluster_id to)
{
	w->alias_of[n] = to;
	add_secret(w, n);
	add_cluster(w, n, "");
	w_settle(w);
}

static void config(struct world *w, const char *clusters)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"spec\":{\"clusters\":%s}}", clusters);
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), text);
	w_settle(w);
}

/* The condition of a cluster: "<status> <reason>: <message>"; "" = none. */
static const char *same_server(struct world *w, const char *name)
{
	static char text[1024];
	const struct object *o = w_find(w, 0, KIND_CLUSTER, "", name);
	struct arena a;
	struct json *v = NULL, *c;
	struct json_iter it;

	text[0] = 0;
	arena_init(&a, 0);
	json_parse(&a, str_of(o->text), &v, NULL);
	it = json_iter(json_at(v, "/status/conditions"));
	while (json_next(&it)) {
		c = it.val;
		if (str_is(json_str(json_get(c, "type")), "multikueued.io/SameServer")) {
			snprintf(text, sizeof(text), "%.*s %.*s: %.*s",
				 STR_ARG(json_str(json_get(c, "status"))),
				 STR_ARG(json_str(json_get(c, "reason"))),
				 STR_ARG(json_str(json_get(c, "message"))));
		}
	}
	arena_done(&a);
	return text;
}

static bool is_untouched(struct world *w, const struct object *wl)
{
	return w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j") &&
	       !strcmp(check_state(w, wl), "Ready");
}

/*
 * An operator makes another name for the winner's server while the job runs.
 * 'hides': its identity may not be read.
 */
static void in_no_config(bool hides)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->hides[3] = hides;
	alias(w, 3, 2);
	w_later(w, 120000);
	ok(is_untouched(w, wl), "another name for the winner's server: its job runs on");
	is_int(w_times(w->log, "delete "), 0, "nothing is deleted");
	is_str(same_server(w, "w3"), "", "in no config, a name changes nothing");
	a_job(w, "k");
	w_later(w, 10000);
	is_int(w_times(w_take(w), "create 3 "), 0, "new jobs go by the names of the config");
	w_free(w);
}

/* The other name shows the winner's job before the clone: its watch of Workloads is behind. */
static void job_is_seen_first(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w->hides[3] = true;
	alias(w, 3, 2);
	w_later(w, 1000);
	w->alias_of[3] = 0;
	wl = running_job(w);
	w->alias_of[3] = 2;
	w_list(w, 3, JOB);
	w_later(w, 1000);
	ok(is_untouched(w, wl), "the job alone shows which servers are one: it runs on");
	is_int(w_times(w->log, "delete "), 0, "and nothing is deleted");
	w_free(w);
}

/*
 * The other name's watch of Workloads is behind: it shows the clone of the round before, and the
 * winner's job.
 */
static void clone_is_old(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	alias(w, 3, 2);
	wl = a_job(w, "j");
	w_later(w, 1000);
	w->up[3] = false;
	w_del(w, clone_of(w, 2, "wl-j"));
	w_later(w, 1000);
	admit(w, 2, "wl-j");
	w_settle(w);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "a name still shows a clone of before");
	w->up[3] = true;
	w_list(w, 3, JOB);
	w_later(w, 60000);
	ok(is_untouched(w, wl), "the job that it shows beside is the winner's: it runs on");
	is_int(w_times(w->log, "delete 3 Job"), 0, "and is not deleted");
	w_free(w);
}

static void in_one_config(bool hides)
{
	struct world *w = w_new(2);
	struct object *wl;

	w->hides[3] = hides;
	alias(w, 3, 2);
	config(w, "[\"w1\",\"w2\",\"w3\"]");
	w_take(w);
	wl = a_job(w, "j");
	w_later(w, 5000);
	if (hides) {
		ok(clone_of(w, 2, "wl-j") != NULL, "the first job shows which servers are one");
		is_int(w_times(w->log, "delete "), 0, "by harmless means");
	} else {
		is_str(nominated(w, wl), "[\"w1\",\"w2\"]", "the second name is not nominated");
	}
	admit(w, 2, "wl-j");
	w_later(w, 5000);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "the first name wins");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":false},\"status\":{\"active\":2}}");
	w_later(w, 120000);
	ok(is_untouched(w, wl), "and is no loser of itself");
	is_str(same_server(w, "w3"),
	       "True SameServer: Leads to the same API server as MultiKueueCluster \"w2\", which "
	       "MultiKueueConfig \"cfg\" names before it: Workloads of that config are not sent "
	       "here",
	       "the second one's condition names the first");
	is_str(same_server(w, "w2"), "", "the first one has none");
	w_take(w);
	a_job(w, "k");
	w_later(w, 5000);
	is_int(w_times(w_take(w), "create 3 "), 0, "the next job is not sent to both");
	config(w, "[\"w1\",\"w2\"]");
	is_str(same_server(w, "w3"),
	       "False OwnServer: No MultiKueueConfig names another cluster of the same API server "
	       "before this one",
	       "it is taken back when the config does");
	w_free(w);
}

/* A cluster gets another name: the new one is made, the config changed, the old one deleted. */
static void renamed(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	alias(w, 3, 2);
	config(w, "[\"w1\",\"w3\"]");
	w_later(w, 60000);
	ok(is_untouched(w, wl), "the config has the new name: the job runs on under the old one");
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_later(w, 1200000);
	ok(is_untouched(w, wl), "the old name is deleted: it runs on under the new one");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\","
		"\"status\":\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 5000);
	ok(strstr(w_str(w, wl, "/status/conditions"), "Succeeded") != NULL, "to its end");
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"), "and is cleaned up there");
	w_free(w);
}

/* The first name cannot connect: the server is used by the second. */
static void first_is_down(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	alias(w, 3, 2);
	config(w, "[\"w2\",\"w3\"]");
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	wl = a_job(w, "j");
	w_settle(w);
	is_str(nominated(w, wl), "[\"w3\"]", "the first name is out of reach: the second is used");
	w_link(w, 2, LINK_UP);
	w_settle(w);
	admit(w, 2, "wl-j");
	w_later(w, 60000);
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"), "it is back: still one job");
	is_str(check_state(w, wl), "Ready", "that runs");
	w_free(w);
}

/* Two names, and a restart of the daemon in the middle. */
static void restarted(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	alias(w, 3, 2);
	config(w, "[\"w1\",\"w2\",\"w3\"]");
	w_restart(w);
	w_later(w, 120000);
	ok(is_untouched(w, wl), "a new process: the job runs on");
	w_free(w);
}

/*
 * A new process hears of one name before the other: what a condition says of
 * both stays until both are known.
 */
static void told_once(const char *clusters, const char *second)
{
	struct world *w = w_new(2);
	char write[64];

	alias(w, 3, 2);
	config(w, clusters);
	ok(strstr(same_server(w, second), "True SameServer") != NULL, second);
	w_later(w, 10000);
	w_take(w);
	w_restart(w);
	w_later(w, 120000);
	snprintf(write, sizeof(write), "MultiKueueCluster %s cluster_condition", second);
	is_int(w_times(w_take(w), write), 0, "a new process has nothing new to say of it");
	w_free(w);
}

/* The same of three, and the first one comes last. */
static void told_late(void)
{
	struct world *w = w_new(2);

	alias(w, 3, 2);
	alias(w, 4, 2);
	config(w, "[\"w2\",\"w3\",\"w4\"]");
	w_later(w, 10000);
	w_take(w);
	w->stay_down[2] = true;
	w_restart(w);
	w_later(w, 5000);
	w->stay_down[2] = false;
	w_link(w, 2, LINK_UP);
	w_later(w, 120000);
	is_int(w_times(w_take(w), "MultiKueueCluster w4 cluster_condition"), 0,
	       "a new process says nothing else of a name before it knows the first one");
	w_free(w);
}

/*
 * The winner's MultiKueueCluster is deleted, and no config has the other name of its server.
 * 'pruned': the worker's Kueue removes Workloads that are Finished.
 */
static void ended_under_other_name(bool pruned)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	alias(w, 3, 2);
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_later(w, 60000);
	is_str(check_state(w, wl), "Ready", "the winner's name is deleted: a loss is awaited");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\","
		"\"status\":\"True\"}]}}");
	if (pruned) {
		w_del(w, clone_of(w, 2, "wl-j"));
	}
	w_later(w, 900000);
	ok(strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/conditions"), "Complete") != NULL,
	   pruned ? "also when only the job is left of it"
		  : "the job that ended there is told by the other name, and not run again");
	is_str(check_state(w, wl), "Ready", "no Retry");
	w_free(w);
}

/*
 * The winner's MultiKueueCluster is deleted before its job is made, or while that is under way: its
 * clone, which the other name shows, may be a loser's as well, and stays until the winner counts as
 * lost.
 */
static void without_job_under_other_name(bool under_way)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	alias(w, 3, 2);
	if (!under_way) {
		refuse_jobs(w, OP_CREATE, 1000);
	}
	admit(w, 2, "wl-j");
	w_step(w);
	w->hold = under_way;
	w_settle(w);
	w->hold = false;
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "w2 has won");
	is_int(w_times(w_take(w), "create 2 Job j"), 1, "... and is sent the job");
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_later(w, 60000);
	ok(clone_of(w, 2, "wl-j"), under_way ? "its clone stays, as the create may yet arrive"
					     : "its clone stays, though it has no job");
	is_str(check_state(w, wl), "Ready", "... and it is waited for");
	w_free(w);
}

/*
 * One name still shows the clone of before as admitted, the other one the clone that was made
 * since. A look tells which is there: neither wins, or is deleted, before.
 */
static void one_view_is_old(void)
{
	struct world *w = w_new(2);
	struct object *wl;
	const char *log;
	char *text;

	alias(w, 3, 2);
	config(w, "[\"w3\",\"w2\"]");
	wl = a_job(w, "j");
	w_later(w, 1000);
	text = w_dup(str_of(clone_of(w, 2, "wl-j")->text));
	admit(w, 2, "wl-j");
	w->up[3] = false;
	w_del(w, clone_of(w, 2, "wl-j"));
	(void)w_put(w, 2, KIND_WORKLOAD, text);
	w->up[3] = true;
	w_take(w);
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "get 3 Workload wl-j") != NULL, "the older view is asked for");
	ok(!strstr(log, "delete ") && !strstr(log, " win"), "no clone is deleted, none wins");
	admit(w, 2, "wl-j");
	w_later(w, 1000);
	is_str(w_str(w, wl, "/status/clusterName"), "w3", "the one that is there does");
	ok(!strstr(w_take(w), "delete "), "... and is no loser beside itself");
	free(text);
	w_free(w);
}

/*
 * The winner's connection is lost for longer than a winner is waited for, and another one leads to
 * its server: the job goes on there, and ends.
 */
static void winner_is_down(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	alias(w, 3, 2);
	wl = running_job(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 3600 * 1000);
	ok(is_untouched(w, wl), "the winner is out of reach, not its server: the job runs on");
	is_int(w_times(w_take(w), "create "), 0, "... once");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 5000);
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL,
	   "... and its end is seen");
	is_int(objects_on(w, 2), 0, "... and nothing is left there");
	w_link(w, 2, LINK_UP);
	w_later(w, 5000);
	is_int(w_times(w_take(w), "create "), 0, "the connection is back: nothing is done");
	w_free(w);
}

/*
 * The winner's name has been out of reach for long, and then the other name goes, its connection
 * or its Secret: from then on the server is out of reach.
 */
static void last_name_goes(bool leads_away)
{
	struct world *w = w_new(2);
	struct object *wl;

	alias(w, 3, 2);
	wl = running_job(w);
	w->stay_down[2] = true;
	w_link(w, 2, LINK_DOWN);
	w_later(w, 3600 * 1000);
	if (leads_away) {
		w->alias_of[3] = 0;
		w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w3"),
			"{\"data\":{\"kubeconfig\":\"bmV3\"}}");
	} else {
		w->stay_down[w->links[3]] = true;
		w_link(w, w->links[3], LINK_DOWN);
	}
	w_later(w, 14 * 60 * 1000);
	is_str(check_state(w, wl), "Ready", "the server is waited for since no name leads there");
	w_later(w, 2 * 60 * 1000);
	is_str(check_state(w, wl), "Retry", "... for workerLostTimeout");
	w_free(w);
}

/* The config's name for a loser's server is out of reach, and another one leads there. */
static void loser_is_down(bool deleted)
{
	struct world *w = w_new(2);

	alias(w, 3, 1);
	a_job(w, "j");
	w_settle(w);
	w->stay_down[1] = true;
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") != NULL, "while it races the names of the config count");
	if (deleted) {
		w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"));
	} else {
		admit(w, 2, "wl-j");
	}
	w_later(w, 5000);
	ok(!clone_of(w, 1, "wl-j"),
	   deleted ? "... it is deleted: its clone there goes by the other name"
		   : "... another worker wins: so does the loser's");
	w_free(w);
}

/*
 * The same for a process that never had the winner's connection, and so cannot know which server it
 * leads to: when the winner counts as lost, an end that another cluster shows counts.
 */
static void ended_by_a_name_unknown(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	alias(w, 3, 2);
	config(w, "[\"w1\",\"w2\",\"w3\"]");
	wl = running_job(w);
	w_stop(w);
	w->stay_down[w->links[2]] = true;
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_start(w);
	w_link(w, w->links[2], LINK_DOWN);
	w_later(w, 1800 * 1000);
	is_str(check_state(w, wl), "Ready", "lost, and known to have ended: no Retry");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL, "... it is finished");
	w_free(w);
}

/* Its kubeconfig leads elsewhere now: another server is no other name. */
static void parted(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	alias(w, 3, 2);
	config(w, "[\"w1\",\"w2\",\"w3\"]");
	w->alias_of[3] = 0;
	w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w3"),
		"{\"data\":{\"kubeconfig\":\"bmV3\"}}");
	w_later(w, 1000);
	wl = a_job(w, "j");
	w_settle(w);
	is_str(nominated(w, wl), "[\"w1\",\"w2\",\"w3\"]",
	       "a server of its own is nominated again");
	w_free(w);
}

/*
 * The name under which a worker won is deleted. Its job is not taken for the loser of a worker that
 * was lost in the round before, and is back with its copy.
 */
static void name_goes_while_a_lost_one_returns(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	alias(w, 3, 1);
	config(w, "[\"w2\",\"w3\"]");
	w_link(w, 2, LINK_DOWN);
	w->stay_down[2] = true;
	w_later(w, 16 * 60 * 1000);
	evict(w, wl, "AdmissionCheck");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 5000);
	release_quota(w, wl);
	w_later(w, 5000);
	give_quota(w, wl);
	w_later(w, 5000);
	admit(w, 1, "wl-j");
	w_later(w, 5000);
	is_str(w_str(w, wl, "/status/clusterName"), "w3", "a lost job wins under another name");
	ok(w_find(w, 1, JOB, "ns", "j") && w_find(w, 2, JOB, "ns", "j"),
	   "... and its copy on the lost worker is still there");
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w3"));
	w_settle(w);
	w->stay_down[2] = false;
	w_link(w, 2, LINK_UP);
	w_later(w, 10 * 60 * 1000);
	ok(w_find(w, 1, JOB, "ns", "j") && clone_of(w, 1, "wl-j"),
	   "the name is deleted, the lost worker is back: the winner's job is not deleted");
	w_free(w);
}

/*
 * A job was lost with its winner's connection, and is queued again. A name outside of the config
 * shows its copy: what is seen there counts, although the config's name is out of reach.
 */
static void copy_of_a_round_before(bool ended)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->stay_down[2] = true;
	w_link(w, 2, LINK_DOWN);
	w_later(w, 16 * 60 * 1000);
	evict(w, wl, "AdmissionCheck");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_later(w, 5000);
	release_quota(w, wl);
	w_later(w, 5000);
	if (ended) {
		w_patch(w, w_find(w, 2, JOB, "ns", "j"),
			"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
			"\"Complete\",\"status\":\"True\"}]}}");
		w_patch(w, clone_of(w, 2, "wl-j"),
			"{\"metadata\":{\"annotations\":{\"multikueued.io/"
			"manager-id\":\"other\"}}}");
	}
	give_quota(w, wl);
	w_later(w, 5000);
	alias(w, 3, 2);
	w_later(w, 5000);
	is_int(w_find(w, 2, JOB, "ns", "j") != NULL, ended,
	       ended ? "the copy of a lost worker has ended, beside another manager's clone: it "
		       "stays, as another name shows it"
		     : "the copy of a lost worker runs, as another name shows: it is removed");
	if (ended) {
		ok(strstr(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/conditions"),
			  "Complete") != NULL,
		   "... and its end comes home");
	}
	admit(w, 1, "wl-j");
	w_later(w, 60000);
	is_int(w_find(w, 1, JOB, "ns", "j") != NULL, !ended,
	       ended ? "... and is not run again" : "... before another worker takes the job");
	w_free(w);
}

int main(void)
{
	copy_of_a_round_before(true);
	copy_of_a_round_before(false);
	in_no_config(false);
	in_no_config(true);
	job_is_seen_first();
	clone_is_old();
	in_one_config(false);
	in_one_config(true);
	renamed();
	first_is_down();
	restarted();
	told_late();
	told_once("[\"w1\",\"w2\",\"w3\"]", "w3");
	told_once("[\"w3\",\"w1\",\"w2\"]", "w2");
	ended_under_other_name(false);
	ended_under_other_name(true);
	without_job_under_other_name(false);
	without_job_under_other_name(true);
	one_view_is_old();
	winner_is_down();
	last_name_goes(false);
	last_name_goes(true);
	loser_is_down(true);
	loser_is_down(false);
	ended_by_a_name_unknown();
	parted();
	name_goes_while_a_lost_one_returns();
	return done_testing();
}
