/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters that join and leave a race, configurations that go, checks that are given
 * another one; lists not read yet.
 */
#include "t/lib/engine_world.h"

static void clusters_are(struct world *w, const char *config, const char *names)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"spec\":{\"clusters\":[%s]}}", names);
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", config), text);
	w_settle(w);
}

/* The check is given the configuration 'name'. */
static void check_uses(struct world *w, const char *name)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"spec\":{\"parameters\":{\"name\":\"%s\"}}}", name);
	w_patch(w, w_find(w, 0, KIND_CHECK, "", "mk"), text);
	w_settle(w);
}

/* The round that failed ends, and the Workload has quota again. */
static void another_round(struct world *w, struct object *wl)
{
	evict(w, wl, "x");
	w_settle(w);
	release_quota(w, wl);
	w_later(w, 2000);
	give_quota(w, wl);
	w_later(w, 2000);
}

static void cluster_added(void)
{
	struct world *w = w_new(3);
	struct object *wl;

	clusters_are(w, "cfg", "\"w1\"");
	wl = a_job(w, "j");
	w_settle(w);
	is_str(nominated(w, wl), "[\"w1\"]", "one cluster is configured");
	ok(clone_of(w, 1, "wl-j") && objects_on(w, 2) == 0 && objects_on(w, 3) == 0,
	   "and one clone made");
	w_take(w);
	clusters_are(w, "cfg", "\"w3\",\"w1\"");
	is_str(nominated(w, wl), "[\"w3\",\"w1\"]",
	       "trap_24: a cluster that joins is nominated for who waits already");
	ok(clone_of(w, 3, "wl-j") && clone_of(w, 1, "wl-j") && objects_on(w, 2) == 0,
	   "with a clone there, the other one stays");
	ok(!strstr(w_take(w), "delete"), "nothing is deleted for it");
	admit(w, 3, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w3", "and it may win");
	w_free(w);
}

/* A running job wants nothing of a cluster that joins. */
static void added_while_it_runs(void)
{
	struct world *w = w_new(3);

	clusters_are(w, "cfg", "\"w1\",\"w2\"");
	running_job(w);
	clusters_are(w, "cfg", "\"w1\",\"w2\",\"w3\"");
	w_later(w, 5000);
	is_str(w_take_work(w), "", "a cluster that joins later says nothing to a running job");
	w_free(w);
}

static void config_deleted(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct object *remote = w_find(w, 2, JOB, "ns", "j");

	w_del(w, w_find(w, 0, KIND_CONFIG, "", "cfg"));
	w_later(w, 2000000);
	is_str(check_state(w, wl), "Ready", "the configuration goes: a running job stays");
	ok(clone_of(w, 2, "wl-j") && w_find(w, 2, JOB, "ns", "j"), "with all that is there");
	ok(!strstr(w_take(w), "Workload wl-j"), "nothing is written to its Workload");
	w_patch(w, remote, "{\"status\":{\"ready\":2}}");
	w_later(w, 2000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/ready"), "2",
	       "its status still comes over");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_later(w, 5000);
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") && objects_on(w, 2) == 0,
	   "so does its end");
	w_free(w);
}

static void config_deleted_in_a_race(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_take(w);
	w_del(w, w_find(w, 0, KIND_CONFIG, "", "cfg"));
	w_later(w, 5000);
	ok(objects_on(w, 1) == 0 && objects_on(w, 2) == 0,
	   "the configuration goes: the race stops");
	w_take(w);
	w_later(w, 600000);
	is_str(w_take_work(w), "", "and nothing loops");
	is_str(check_state(w, wl), "Pending", "its Workload waits");
	w_put(w, 0, KIND_CONFIG,
	      "{\"metadata\":{\"name\":\"cfg\"},\"spec\":{\"clusters\":[\"w2\"]}}");
	w_later(w, 5000);
	is_str(nominated(w, wl), "[\"w2\"]", "made anew: the race goes on");
	ok(clone_of(w, 2, "wl-j") && objects_on(w, 1) == 0, "there");
	w_free(w);
}

static void other_config_in_a_race(void)
{
	struct world *w = w_new(3);
	struct object *wl;

	clusters_are(w, "cfg", "\"w1\",\"w2\"");
	w_put(w, 0, KIND_CONFIG,
	      "{\"metadata\":{\"name\":\"other\"},\"spec\":{\"clusters\":[\"w3\"]}}");
	wl = a_job(w, "j");
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") && clone_of(w, 2, "wl-j"), "a race on two clusters");
	check_uses(w, "other");
	w_later(w, 2000);
	is_str(nominated(w, wl), "[\"w3\"]",
	       "trap_25: the check's other configuration counts at once");
	ok(clone_of(w, 3, "wl-j") != NULL, "its cluster gets a clone");
	ok(objects_on(w, 1) == 0 && objects_on(w, 2) == 0, "those of the first one are cleaned up");
	admit(w, 3, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w3", "and it wins");
	w_free(w);
}

static void other_config_of_a_winner(void)
{
	struct world *w = w_new(3);
	struct object *wl;

	clusters_are(w, "cfg", "\"w1\",\"w2\"");
	w_put(w, 0, KIND_CONFIG,
	      "{\"metadata\":{\"name\":\"other\"},\"spec\":{\"clusters\":[\"w3\"]}}");
	wl = running_job(w);
	check_uses(w, "other");
	is_str(check_state(w, wl), "Retry", "the winner is not in the check's other configuration");
	is_str(check_message(w, wl), "Admitting remote no longer exists, Previously: \"Ready\"",
	       "it is requeued in Kueue's words");
	w_take(w);
	w_later(w, 60000);
	ok(!strstr(w_take(w), "Workload wl-j"), "once");
	another_round(w, wl);
	ok(objects_on(w, 1) == 0 && objects_on(w, 2) == 0,
	   "nothing is left on the first one's clusters");
	is_str(nominated(w, wl), "[\"w3\"]", "the next round is the other one's");
	admit(w, 3, "wl-j");
	w_settle(w);
	is_str(check_state(w, wl), "Ready", "and wins there");
	w_free(w);
}

/* A configuration with the winner in it: the same job under another name of the set. */
static void other_config_with_the_winner(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_put(w, 0, KIND_CONFIG,
	      "{\"metadata\":{\"name\":\"other\"},\"spec\":{\"clusters\":[\"w3\",\"w2\"]}}");
	check_uses(w, "other");
	w_later(w, 5000);
	is_str(check_state(w, wl), "Ready",
	       "the winner is in the other configuration too: it stays");
	ok(!strstr(w_take(w), "Workload wl-j"), "without a write");
	w_free(w);
}

/* The end of a list, held back by the test. */
struct held_end {
	cluster_id cluster;
	uint16_t kind;
	uint64_t rv;
};

/* Takes the end of the list out of what waits. False: it is not there. */
static bool hold_end(struct world *w, uint16_t kind, struct held_end *ret)
{
	for (size_t i = 0; i < w->n_q; i++) {
		struct event *ev = &w->q[i].ev;

		if (ev->type == EV_LIST_END && ev->cluster == 0 && ev->kind == kind) {
			*ret = (struct held_end){.kind = kind, .rv = ev->rv};
			memmove(&w->q[i], &w->q[i + 1], (w->n_q - i - 1) * sizeof(*w->q));
			w->n_q--;
			return true;
		}
	}
	return false;
}

/* A restart during which the manager's list of 'kind' does not come to its end at first. */
static void incomplete_list(uint16_t kind, const char *name)
{
	struct world *w = w_new(2);
	struct held_end end = {0};
	const char *log;

	running_job(w);
	a_job(w, "new");
	w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"));
	w_restart(w);
	if (kind != KIND_CLUSTER) {
		w_step(w); /* a new leader has those lists sent again */
	}
	ok(hold_end(w, kind, &end), name);
	w_later(w, 300000);
	log = w_take(w);
	ok(!strstr(log, "create ") && !strstr(log, "delete ") && !strstr(log, " Workload wl-") &&
		   !strstr(log, " Job j"),
	   "a list of the manager's that is not complete: no pass, no write, no collection");
	w_event(w, EV_LIST_END, end.cluster, end.kind)->ev.rv = end.rv;
	w_later(w, 5000);
	ok(clone_of(w, 1, "wl-new") && clone_of(w, 2, "wl-new"), "complete: the new one races");
	w_later(w, 200000);
	ok(!clone_of(w, 2, "wl-j"), "and what lost its Workload is removed");
	w_free(w);
}

/* A check of ours on other flavors, without parameters, beside the one that counts. */
static void beside_another_check(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_put(w, 0, KIND_CHECK,
	      "{\"metadata\":{\"name\":\"mk2\",\"generation\":1},\"spec\":{\"controllerName\":"
	      "\"kueue.x-k8s.io/multikueue\"}}");
	w_settle(w);
	wl = a_job(w, "j");
	w_apply(w, wl, "{}");
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"\"},{\"name\":\"mk2\",\"state\":\"Pending\",\"message\":\"\"}]}}");
	w_take(w);
	w_later(w, 60000);
	is_str(w_take_work(w), "", "Pending before there is quota: no request");
	w_patch(w, wl,
		"{\"status\":{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA
		"],\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"\"}]}"
		"}");
	w_later(w, 2000);
	is_str(nominated(w, wl), "[\"w1\",\"w2\"]", "with quota of the check's flavors it races");
	w_free(w);
}

/*
 * A client has cleared status.clusterName, the winner has left the config and is out of reach, and
 * a new process looks: the check's message alone still has the winner's name.
 */
static void told_winner_left_the_config(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_stop(w);
	w->stay_down[2] = true;
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), "{\"spec\":{\"clusters\":[\"w1\"]}}");
	w_patch(w, wl, "{\"status\":{\"clusterName\":null}}");
	w_restart(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 840000);
	is_str(check_state(w, wl), "Ready",
	       "the winner that only the message names is out of reach: it is waited for");
	w_later(w, 120000);
	is_str(check_state(w, wl), "Retry", "... until it counts as lost");
	w_free(w);
}

int main(void)
{
	told_winner_left_the_config();
	cluster_added();
	added_while_it_runs();
	config_deleted();
	config_deleted_in_a_race();
	other_config_in_a_race();
	other_config_of_a_winner();
	other_config_with_the_winner();
	incomplete_list(KIND_WORKLOAD, "the list of Workloads has no end yet");
	incomplete_list(KIND_CHECK, "the list of checks has no end yet");
	incomplete_list(KIND_CONFIG, "the list of configurations has no end yet");
	incomplete_list(KIND_CLUSTER, "the list of clusters has no end yet");
	beside_another_check();
	return done_testing();
}
