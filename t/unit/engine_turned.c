/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that went back: versions that are lower than what was seen, in an epoch that kube knows
 * of, or found out by what a list or a get says.
 */
#include "core/engine/state.h"
#include "t/lib/engine_world.h"

/*
 * In which version an object's end was seen in one epoch says nothing of the next one's versions.
 */
static void low_versions_in_a_new_epoch(void)
{
	struct store s;
	struct table *t = table_new(1, KIND_WORKLOAD);
	struct record *r;

	store_init(&s);
	r = store_touch(&s, t, STR("ns"), STR("a"), 0);
	record_gone(&s, r, 50, 1, 0);
	ok(record_is_newer(r, 1, 49) && !record_is_newer(r, 1, 51),
	   "its end is known in one epoch");
	record_gone(&s, r, 0, 2, 0);
	ok(!record_is_newer(r, 2, 9), "a low version is news in the next one, where it was not");
	record_gone(&s, r, 7, 3, 0);
	ok(record_is_newer(r, 3, 6) && !record_is_newer(r, 3, 9), "as of the list that lacked it");
	table_free(&s, t);
	store_done(&s);
}

static void rv_back(struct world *w, struct object *o, const char *patch)
{
	uint64_t now = w->rv;

	w->rv = o->rv - 2;
	w_patch(w, o, patch);
	w_drop(w, w->n_q); /* no watch shows it */
	w->rv = now + 10;
}

/*
 * A list as of a later version names an object in an earlier one: what it says counts,
 * after a new look at everything.
 */
static void found_by_a_list(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct object *c = w_find(w, 0, KIND_CLUSTER, "", "w1");
	const char *log;

	is_str(w_str(w, c, "/status/conditions/0/status"), "True", "w1 is Active");
	rv_back(w, c,
		"{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"False\",\"reason\":"
		"\"ClientConnectionFailed\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
	w_list(w, 0, KIND_CLUSTER);
	w_later(w, 5000);
	log = w_take(w);
	ok(strstr(log, "watch_open 0 Workload") && strstr(log, "watch_open 0 MultiKueueCluster") &&
		   strstr(log, "watch_open 0 Secret") && strstr(log, "watch_open 0 Job"),
	   "everything is listed anew");
	ok(!strstr(log, "watch_open 0 Namespace") && !strstr(log, "watch_open 0 Event") &&
		   !strstr(log, "watch_open 0 Lease") &&
		   !strstr(log, "watch_open 0 ClusterProfile"),
	   "but what is not watched");
	is_str(w_str(w, c, "/status/conditions/0/status"), "True",
	       "and the condition of then is seen, and put right");
	is_str(check_state(w, wl), "Ready", "the job is not touched");
	w_take(w);
	w_list(w, 0, KIND_CLUSTER);
	w_later(w, 60000);
	is_str(w_take_work(w), "", "the next list contradicts nothing");
	w_free(w);
}

/*
 * A list from a server that lags contradicts nothing: what is later than the list was not to be in
 * it.
 */
static void a_lagging_list(void)
{
	struct world *w = w_new(2);
	struct object *c;

	running_job(w);
	c = w_find(w, 0, KIND_CLUSTER, "", "w1");
	w_list(w, 0, KIND_CLUSTER);
	for (size_t i = 0; i < w->n_q; i++) {
		struct pending *p = &w->q[i];

		if (p->ev.type == EV_OBSERVED && strcmp(p->name, "w1") == 0) {
			p->ev.rv = c->rv - 1;
		}
		if (p->ev.type == EV_LIST_END) {
			p->ev.rv = c->rv - 1;
		}
	}
	w_later(w, 5000);
	ok(!strstr(w_take(w), "watch_close 0"), "nothing is listed anew");
	w_free(w);
}

/* A write conflicts, and the get after it brings an older version than the one we knew. */
static void found_by_a_get(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	rv_back(w, wl, "{\"metadata\":{\"annotations\":{\"restored\":\"yes\"}}}");
	admit(w, 2, "wl-j");
	w_later(w, 10000);
	ok(strstr(w_take(w), "watch_close 0 Workload") != NULL, "everything is listed anew");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "and the win is written");
	w_free(w);
}

/* Steps until the clone's end is about to be told. */
static struct event *end_of(struct world *w, cluster_id c, const char *name)
{
	for (int i = 0; i < 100; i++) {
		for (size_t j = 0; j < w->n_q; j++) {
			if (w->q[j].ev.type == EV_GONE && w->q[j].ev.cluster == c &&
			    strcmp(w->q[j].name, name) == 0) {
				return &w->q[j].ev;
			}
		}
		w_step(w);
	}
	return NULL;
}

/* The object is in the store in version 'rv', and no watch shows it. */
static struct object *put_back(struct world *w, cluster_id c, uint16_t kind, const char *text,
			       uint64_t rv)
{
	uint64_t now = w->rv;
	struct object *o;

	w->rv = rv - 1;
	o = w_put(w, c, kind, text);
	w_drop(w, w->n_q);
	w->rv = now + 10;
	return o;
}

/*
 * A clone that was deleted is back, and was written since: it has the
 * very version that its end had.
 */
static void found_by_the_version_of_an_end(void)
{
	struct world *w = w_new(2);
	char *text;
	uint64_t end;

	a_job(w, "j");
	w_settle(w);
	text = w_dup(str_of(clone_of(w, 1, "wl-j")->text));
	admit(w, 2, "wl-j");
	end = end_of(w, 1, "wl-j")->rv;
	w_settle(w);
	ok(!clone_of(w, 1, "wl-j"), "a loser was deleted");
	w_take(w);
	put_back(w, 1, KIND_WORKLOAD, text, end);
	w_list(w, 1, KIND_WORKLOAD);
	w_later(w, 5000);
	ok(strstr(w_take(w), "watch_close 1 Workload") != NULL, "everything is listed anew");
	ok(!clone_of(w, 1, "wl-j"), "and the clone is deleted once more");
	free(text);
	w_free(w);
}

/*
 * A delete was answered, and its event never came; a list names the clone in the version from
 * before. Either the list is old, or the store went back to then.
 */
static void found_by_asking(bool is_back)
{
	struct world *w = w_new(2);
	char *text;
	uint64_t last;
	struct object *o;
	const char *log;

	a_job(w, "j");
	w_settle(w);
	text = w_dup(str_of(clone_of(w, 1, "wl-j")->text));
	last = clone_of(w, 1, "wl-j")->rv;
	admit(w, 2, "wl-j");
	end_of(w, 1, "wl-j")->cluster = 99; /* and not told */
	w_later(w, 20000);
	ok(!clone_of(w, 1, "wl-j"), "a loser was deleted");
	w_take(w);
	o = put_back(w, 1, KIND_WORKLOAD, text, last);
	w_list(w, 1, KIND_WORKLOAD);
	if (!is_back) {
		w_free_object(o);
	}
	w_later(w, 5000);
	log = w_take_work(w);
	ok(strstr(log, "get 1 Workload wl-j") != NULL, "it is asked for");
	is_int((long long)w_times(log, "delete 1 Workload"), is_back,
	       is_back ? "it is back: deleted once more" : "the list was old: nothing is done");
	ok(!clone_of(w, 1, "wl-j"), "and it is gone");
	free(text);
	w_free(w);
}

/*
 * The manager's server says that it has not come to what we saw, or its stream broke:
 * what we took for gone may be back.
 */
static void not_sure(enum event_type why)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	refuse_jobs(w, OP_DELETE, 1);
	w_del(w, wl);
	w_step(w);
	ok(strstr(w_take(w), "delete 2 Job j") != NULL, "its Workload is gone: the job is deleted");
	w_event(w, why, 0, KIND_WORKLOAD);
	w_later(w, 30000);
	is_str(w_take_work(w), "", "until it is known what is there, nothing more is done");
	if (why == EV_STALE) {
		w_event(w, EV_FRESH, 0, KIND_WORKLOAD);
	} else {
		w_list(w, 0, KIND_WORKLOAD);
	}
	w_later(w, 1000);
	ok(strstr(w_take(w), "delete 2 Job j") != NULL,
	   "it is gone for good: the delete is repeated");
	w_free(w);
}

/* A list lacked the local Workload, and the next one has it again, as it was. */
static void local_is_back(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	char *text = w_dup(str_of(wl->text));
	uint64_t last = wl->rv;

	refuse_jobs(w, OP_DELETE, 1);
	w_free_object(wl);
	w_list(w, 0, KIND_WORKLOAD);
	w_step(w);
	ok(strstr(w_take(w), "delete 2 Job j") != NULL, "its Workload is gone: the job is deleted");
	w_step(w);
	put_back(w, 0, KIND_WORKLOAD, text, last);
	w_list(w, 0, KIND_WORKLOAD);
	w_later(w, 300000);
	ok(!strstr(w_take_work(w), "delete"), "it is back: the delete is not repeated");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "its job runs on");
	free(text);
	w_free(w);
}

/*
 * A Workload is deleted while a write to it is in doubt, and the manager is restored to a time
 * before: in the new epoch that object is there again.
 */
static void back_while_in_doubt(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	char *text = w_dup(str_of(wl->text));
	uint64_t last = wl->rv, number;

	ok(str_u64(str_sub(str_of(wl->uid), 4, 32), &number), "uids are numbers");
	w_settle(w);
	w_del(w, wl);
	w_later(w, 20000);
	is_int((long long)objects_on(w, 1), 0, "its Workload is gone: so are the clones");
	store_touch(&w->e->store, manager_table(w->e, KIND_WORKLOAD), STR("ns"), STR("wl-j"),
		    w->now)
		->unknown = true;
	w->turns[0]++;
	w->uid = number - 1;
	put_back(w, 0, KIND_WORKLOAD, text, last);
	for (uint16_t kind = 0; kind <= JOB; kind++) {
		w_list(w, 0, kind);
	}
	w_take(w);
	w_later(w, 120000);
	ok(strstr(w_take(w), "create 1 Workload wl-j") != NULL, "it is back: dispatched anew");
	free(text);
	w_free(w);
}

/* A new epoch begins on w2, whose lists by our label are empty. */
static void lists_nothing(struct world *w)
{
	w->turns[w->links[2]]++;
	for (uint16_t kind = KIND_WORKLOAD; kind <= JOB; kind += JOB - KIND_WORKLOAD) {
		(void)w_event(w, EV_LIST_BEGIN, w->links[2], kind);
		w_event(w, EV_LIST_END, w->links[2], kind)->ev.rv = w->rv;
	}
}

/*
 * A user's own object of the clone's name, written long ago: lists by our label lack
 * it, and it is there all the same.
 */
static void not_ours_and_old(void)
{
	struct world *w = w_new(2);
	struct object *o =
		w_put(w, 2, KIND_WORKLOAD,
		      "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\"},\"spec\":{}}");

	o->hidden = true;
	w_drop(w, w->n_q);
	a_job(w, "j");
	w_later(w, 5000);
	ok(w_times(w_take(w), "get 2 Workload wl-j") > 0, "it is met by a create");
	lists_nothing(w);
	w_later(w, 60000);
	ok(w_times(w_take(w), "create 2 Workload wl-j") < 8, "its cluster goes on resting for it");
	w_free(w);
}

/*
 * w2 is restored to a time when a user's own Job had the name of ours that ran there. The list as
 * of which ours is gone lacks theirs as well, and has a higher version.
 */
static void theirs_where_ours_was(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *theirs;
	uint64_t now = w->rv;

	w_free_object(clone_of(w, 2, "wl-j"));
	w_free_object(w_find(w, 2, JOB, "ns", "j"));
	w->rv = 3;
	theirs = w_put(w, 2, JOB,
		       "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\"},\"spec\":{}}");
	theirs->hidden = true;
	w_drop(w, w->n_q);
	w->rv = now + 10;
	lists_nothing(w);
	w_later(w, 20000);
	is_str(check_state(w, wl), "Retry", "our job is gone: Retry");
	evict(w, wl, "x");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_settle(w);
	release_quota(w, wl);
	w_later(w, 5000);
	give_quota(w, wl);
	w_later(w, 20000);
	admit(w, 2, "wl-j");
	w_take(w);
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry", "a get shows that the name is taken: Retry");
	ok(w_times(w_take(w), "create 2 Job j") <= 2, "nor are creates sent again and again");
	w_free(w);
}

/*
 * The copy has ended, and its end is on the manager, which is restored to a time before. The
 * Workloads are listed again, the jobs are not yet.
 */
static void end_is_taken_back(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *job = w_find(w, 0, JOB, "ns", "j");
	char *text = w_dup(str_of(job->text));
	uint64_t last = job->rv, number;

	ok(str_u64(str_sub(str_of(job->uid), 4, 32), &number), "uids are numbers");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	w_settle(w);
	ok(strstr(job->text, "Complete") != NULL, "the end of the copy is on the manager");
	w_event(w, EV_BEHIND, 0, KIND_WORKLOAD);
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_step(w);
	w_free_object(job);
	w->turns[0]++;
	w->uid = number - 1;
	job = put_back(w, 0, JOB, text, last);
	for (uint16_t kind = 0; kind < JOB; kind++) {
		w_list(w, 0, kind);
	}
	w_later(w, 30000);
	ok(!strstr(w_str(w, wl, "/status/conditions"), "Finished"),
	   "it is restored: while its jobs are not listed, the Workload is not Finished");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "... and the copy stays");
	w_list(w, 0, JOB);
	w_later(w, 30000);
	ok(strstr(job->text, "Complete") && strstr(w_str(w, wl, "/status/conditions"), "Finished"),
	   "the end is written once more, then Finished");
	free(text);
	w_free(w);
}

int main(void)
{
	low_versions_in_a_new_epoch();
	found_by_a_list();
	a_lagging_list();
	found_by_a_get();
	found_by_the_version_of_an_end();
	found_by_asking(true);
	found_by_asking(false);
	not_sure(EV_BEHIND);
	not_sure(EV_STALE);
	local_is_back();
	back_while_in_doubt();
	end_is_taken_back();
	not_ours_and_old();
	theirs_where_ours_was();
	return done_testing();
}
