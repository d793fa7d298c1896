/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What servers may answer to an operation besides "done", and what follows: gets that
 * find nothing or fail, refusals of a job for good, objects that vanish under a write,
 * answers that come too late to matter.
 */
#include "core/engine/state.h"
#include "t/lib/engine_world.h"

static void rig(struct world *w, unsigned times, enum op_type type, cluster_id c, uint16_t kind,
		enum mk_code code)
{
	enum op_outcome outcome = code == ERR_UNKNOWN ? OUTCOME_UNKNOWN
				  : code == ERR_OK    ? OUTCOME_APPLIED
						      : OUTCOME_REFUSED;

	w->rig = (struct rig){.times = times,
			      .type = type,
			      .cluster = c,
			      .kind = kind,
			      .outcome = outcome,
			      .code = code};
}

/* An answer of the test to operation 'id' of a cluster. */
static struct pending *answer(struct world *w, uint64_t id, enum op_outcome outcome,
			      enum mk_code code)
{
	struct pending *p = w_event(w, EV_OP_DONE, 2, JOB);

	p->ev.op_id = id;
	p->ev.outcome = outcome;
	p->ev.code = code;
	p->msg = w_dup(STR("said so"));
	return p;
}

/* A create whose fate is unknown never happened: the get finds nothing, and it is sent again. */
static void lost_create(void)
{
	struct world *w = w_new(2);
	const char *log;

	rig(w, 1, OP_CREATE, 1, KIND_WORKLOAD, ERR_UNKNOWN);
	a_job(w, "j");
	w_settle(w);
	w_advance(w, 1000);
	log = w_take(w);
	is_int((long long)w_times(log, "create 1 Workload wl-j"), 2, "sent again");
	ok(w_times(log, "get 1 Workload wl-j get\ncreate 1 Workload wl-j clone_create") == 1,
	   "after one look");
	ok(clone_of(w, 1, "wl-j") != NULL, "and there it is");
	w_free(w);
}

/*
 * The look fails, too, or brings nothing readable: it is repeated, ever more
 * slowly, and nothing else is sent.
 */
static void failing_gets(enum mk_code code, const char *name)
{
	struct world *w = w_new(2);
	size_t early;

	rig(w, 1, OP_CREATE, 1, KIND_WORKLOAD, ERR_UNKNOWN);
	a_job(w, "j");
	w_step(w);
	rig(w, 1000, OP_GET, 1, KIND_WORKLOAD, code);
	w_settle(w);
	w_advance(w, 2000);
	early = w_times(w->log, "get 1 Workload wl-j");
	ok(early > 2, name);
	w_advance(w, 60000);
	ok(w_times(w->log, "get 1 Workload wl-j") < early + 8, "the pauses grow");
	is_int((long long)w_times(w_take(w), "create 1 Workload"), 1, "no create meanwhile");
	admit(w, 2, "wl-j");
	w_settle(w);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "the other cluster goes on");
	w_free(w);
}

/* A 404 that was sent before the object was seen says nothing. */
static void late_404(void)
{
	struct world *w = w_new(2);
	uint64_t id;

	rig(w, 1, OP_CREATE, 1, KIND_WORKLOAD, ERR_UNKNOWN);
	a_job(w, "j");
	w_step(w);
	w->hold = true;
	id = w->e->op_seq + 1;
	w_step(w);
	ok(strstr(w_take(w), "get 1 Workload wl-j") != NULL, "a look is under way");
	w->hold = false;
	w_put(w, 1, KIND_WORKLOAD, clone_of(w, 2, "wl-j")->text);
	w_step(w);
	answer(w, id, OUTCOME_REFUSED, ERR_NOT_FOUND);
	w_settle(w);
	w_advance(w, 5000);
	ok(!strstr(w_take(w), "create 1 Workload"), "what was seen since counts: no second create");
	w_free(w);
}

/* A job that a worker refuses for good: Retry in the server's words. */
static void refused_for_good(enum mk_code code, const char *name)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w->refuse = code;
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/admissionChecks/0/state"), "Retry", name);
	ok(strstr(check_message(w, wl), "the server said no") != NULL, "with the reason");
	w_free(w);
}

/* Trouble that passes is no reason to give a cluster up. */
static void refused_for_now(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w->refuse = ERR_UNAVAILABLE;
	w_settle(w);
	admit(w, 2, "wl-j");
	w_settle(w);
	w_advance(w, 5000);
	is_str(w_str(w, wl, "/status/admissionChecks/0/state"), "Ready", "503: still Ready");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "the next try made it");
	w_free(w);
}

/*
 * While a job's create is under way, its Workload is given to another job:
 * the refusal finds no Workload.
 */
static void refused_for_nobody(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	uint64_t id;

	w_settle(w);
	admit(w, 2, "wl-j");
	w_step(w); /* the win */
	w->hold = true;
	id = w->e->op_seq + 1;
	while (!strstr(w->log, "create 2 Job j")) {
		id = w->e->op_seq + 1;
		w_step(w);
	}
	w->hold = false;
	w_patch(w, wl,
		"{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
		"\"name\":\"k\",\"uid\":\"k\",\"controller\":true}]}}");
	w_step(w);
	for (uint64_t i = id; i <= w->e->op_seq; i++) {
		answer(w, i, OUTCOME_REFUSED, ERR_INVALID);
	}
	w_settle(w);
	ok(!strstr(check_message(w, wl), "Cannot create"), "no Workload is told of it");
	w_free(w);
}

/* The local Workload vanishes under a status write; the watch has not said so yet. */
static void vanished(void)
{
	struct world *w = w_new(2);
	const char *log;

	rig(w, 1, OP_APPLY_STATUS, 0, KIND_WORKLOAD, ERR_NOT_FOUND);
	a_job(w, "j");
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "get 0 Workload wl-j get\napply_status 0 Workload wl-j nominate") != NULL,
	   "it is looked for, and when it is there the write goes on");
	w_free(w);
}

/* A refused delete: the uid was another's. What is there now is looked at. */
static void delete_meets_another(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	rig(w, 1, OP_DELETE, 2, JOB, ERR_NOT_FOUND);
	w_del(w, wl);
	w_settle(w);
	w_advance(w, 2000);
	ok(!clone_of(w, 2, "wl-j"), "a job that was gone already: its clone goes");
	w_free(w);

	w = w_new(2);
	wl = running_job(w);
	rig(w, 1, OP_DELETE, 2, JOB, ERR_CONFLICT);
	w_del(w, wl);
	w_settle(w);
	ok(w_find(w, 2, JOB, "ns", "j") && !strstr(w_take(w), "delete 2 Workload"),
	   "a conflict: nothing more is done at once");
	w_advance(w, 2000);
	ok(strstr(w->log, "get 2 Job j") && !w_find(w, 2, JOB, "ns", "j"),
	   "a look, then it is deleted");
	w_free(w);
}

/* Finalizers hold the job and its clone: each is deleted once, and waited for. */
static void finalizers(void)
{
	static const char held[] = "{\"metadata\":{\"finalizers\":[\"x.io/hold\"]}}";
	static const char let_go[] = "{\"metadata\":{\"finalizers\":null}}";
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"), held);
	w_patch(w, clone_of(w, 2, "wl-j"), held);
	w_settle(w);
	w_take(w);
	w->silent_watch = true;
	w_del(w, wl);
	w_settle(w);
	w_advance(w, 300000);
	is_int((long long)w_times(w->log, "delete 2 Job j"), 1, "the job is deleted once");
	is_int((long long)w_times(w_take(w), "delete 2 Workload wl-j"), 1, "its clone, too");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), let_go);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, "wl-j"));
	w_settle(w);
	w_advance(w, 60000);
	is_str(w_take_work(w), "", "gone: silence");
	w_free(w);
}

/* A foreign finalizer holds the local job: its Workload ends when Kueue ends it, not before. */
static void owner_is_held(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct object *job = w_find(w, 0, JOB, "ns", "j");

	w_take(w);
	w_patch(w, job,
		"{\"metadata\":{\"finalizers\":[\"x.io/hold\"],\"deletionTimestamp\":"
		"\"2027-01-15T08:00:00Z\"}}");
	w_settle(w);
	w_advance(w, 300000);
	ok(!strstr(w_take(w), "apply_status 0 Workload wl-j"),
	   "a job that goes slowly: its Workload is not finished early");
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"), "... and its copy stays");
	w_del(w, job);
	w_del(w, wl);
	w_settle(w);
	w_advance(w, 60000);
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"),
	   "... until both are gone, then nothing is left");
	w_free(w);
}

/* A conflict is settled by the watch's news, without a get. */
static void conflict_and_news(void)
{
	struct world *w = w_new(2);
	struct object *wl;
	const char *log;

	rig(w, 1, OP_APPLY_STATUS, 0, KIND_WORKLOAD, ERR_CONFLICT);
	wl = a_job(w, "j");
	w_settle(w);
	w_take(w);
	w_advance(w, 100);
	is_str(w_take(w), "", "half a second's patience for the watch");
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "nominate") && !strstr(log, "get 0"), "its news suffice");
	w_free(w);
}

/*
 * API servers send the event of a write before they answer the write that it made fail: then the
 * next try begins at once, with that state.
 */
static void news_and_conflict(void)
{
	struct world *w = w_new(2);
	struct object *wl;
	uint64_t first;
	const char *log;

	w->hold = true;
	wl = a_job(w, "j");
	first = w->e->op_seq + 1;
	w_step(w);
	ok(strstr(w_take(w), "nominate") != NULL, "the nomination is under way");
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_settle(w);
	ok(!strstr(w_take(w), "nominate"), "news: one write at a time");
	for (uint64_t i = first; i <= w->e->op_seq; i++) {
		answer(w, i, OUTCOME_REFUSED, ERR_CONFLICT);
	}
	w->hold = false;
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "nominate") && !strstr(log, "get 0"),
	   "its conflict: again at once, the state that made it fail is known");
	w_free(w);
}

static void config_names(struct world *w, const char *names)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"spec\":{\"clusters\":[%s]}}", names);
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), text);
	w_settle(w);
}

/* The config loses w2 and has it again; the end of the clone there comes before its answer. */
static void leaves_and_returns(struct world *w)
{
	uint64_t first;

	w->hold = true;
	first = w->e->op_seq + 1;
	config_names(w, "\"w1\"");
	ok(strstr(w_take(w), "delete 2 Workload wl-j") != NULL, "a delete is under way");
	w_del(w, clone_of(w, 2, "wl-j"));
	w_settle(w);
	for (uint64_t i = first; i <= w->e->op_seq; i++) {
		answer(w, i, OUTCOME_APPLIED, ERR_OK);
	}
	w_settle(w);
	w->hold = false;
	config_names(w, "\"w1\",\"w2\"");
	w_advance(w, 3000);
}

/* For deletes, too, the event comes first; what is gone need not be waited for, but once. */
static void gone_and_deleted(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_stop(w);
	w->placement_timeout = 15000;
	w_restart(w);
	wl = a_job(w, "j");
	w_settle(w);
	w_take(w);
	leaves_and_returns(w);
	ok(clone_of(w, 2, "wl-j") != NULL, "the end was seen before the answer: a clone at once");
	w_take(w);
	leaves_and_returns(w);
	ok(!clone_of(w, 2, "wl-j"), "twice within a minute: it waits");
	w_advance(w, 10000);
	ok(clone_of(w, 2, "wl-j") != NULL, "... ten seconds");
	is_str(check_state(w, wl), "Pending", "... and the placement timeout is put off");
	leaves_and_returns(w);
	w_advance(w, 6000);
	is_str(check_state(w, wl), "Retry", "... and no rest of this round puts it off again");
	w_free(w);
}

/* A cluster is forgotten while operations on it are under way: their answers change nothing. */
static void forgotten(void)
{
	struct world *w = w_new(2);
	uint64_t first;

	a_job(w, "j");
	first = w->e->op_seq + 1;
	w->hold = true;
	w_step(w);
	ok(strstr(w_take(w), "create 2 Workload") != NULL, "a create is under way");
	w->hold = false;
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_settle(w);
	for (uint64_t i = first; i <= w->e->op_seq; i++) {
		answer(w, i, OUTCOME_UNKNOWN, ERR_UNKNOWN);
	}
	answer(w, 4711, OUTCOME_APPLIED, ERR_OK); /* nor does one that no operation waits for */
	w_settle(w);
	w_advance(w, 5000);
	ok(!strstr(w_take(w), " 2 Workload"), "nothing more is sent there");
	ok(clone_of(w, 1, "wl-j") != NULL, "the other cluster has its clone");
	w_free(w);
}

#define OVER \
	"{\"status\":{\"active\":0,\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}}"

/*
 * A copy is over, and its last status was sent; then a user deletes the Workload, and Kueue makes
 * another, which w1 admits if it is asked. What is asked for since then.
 */
static const char *over_and_again(struct world *w, bool answered)
{
	struct object *wl = running_job(w);

	w->hold = !answered;
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), OVER);
	w_step(w);
	ok(strstr(w_take(w), "merge 0 Job j") != NULL, "its last status is written");
	w->hold = false;
	w_del(w, wl);
	w_settle(w);
	a_workload(w, "j");
	w_advance(w, 3000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "the copy of a Workload that is gone goes");
	if (!answered) {
		admit(w, 1, "wl-j");
		w_advance(w, 3000);
	}
	return w_take(w);
}

static void ended_meanwhile(void)
{
	struct world *w = w_new(2);
	const char *log = over_and_again(w, true);

	ok(!strstr(log, "create "), "what is over is not run again");
	w_free(w);
}

static void perhaps_ended_meanwhile(void)
{
	struct world *w = w_new(2);
	uint64_t id = w->e->op_seq;
	const char *log = over_and_again(w, false);

	ok(strstr(log, " win\n") != NULL && !strstr(log, "job_create"),
	   "nor before it is known whether it is over");
	for (uint64_t i = id + 1; i <= w->e->op_seq; i++) {
		answer(w, i, OUTCOME_REFUSED, ERR_UNAVAILABLE);
	}
	w_advance(w, 3000);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "it is not: it runs again");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), OVER);
	w_settle(w);
	w_take(w);
	w_patch(w, w_find(w, 1, JOB, "ns", "j"), "{\"status\":{\"active\":2}}");
	w_advance(w, 5000);
	ok(!strstr(w_take(w), "merge 0 Job"), "over is over, whatever a later copy says");
	w_free(w);
}

/*
 * A create meets an object that a late one has made, and the watch shows it before the get: the
 * get comes all the same, and the other cluster may win.
 */
static void met_and_shown(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	rig(w, 1, OP_CREATE, 1, KIND_WORKLOAD, ERR_EXISTS);
	w_step(w);
	(void)w_put(w, 1, KIND_WORKLOAD, clone_of(w, 2, "wl-j")->text);
	w_settle(w);
	w_take(w);
	admit(w, 2, "wl-j");
	w_later(w, 1000);
	ok(strstr(w_take(w), "get 1 Workload wl-j get") != NULL, "the object is asked for");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "and the other cluster wins");
	w_free(w);
}

/*
 * A delete of a loser gets no answer, and a get still shows the clone; then the Workload is
 * dispatched anew. The delete may arrive now, so that clone does not win: it is deleted once more,
 * and another one takes its place.
 */
static void late_delete(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	char *uid;

	w_settle(w);
	admit(w, 1, "wl-j");
	rig(w, 1000, OP_DELETE, 2, KIND_WORKLOAD, ERR_UNKNOWN);
	w_settle(w);
	uid = w_dup(str_of(clone_of(w, 2, "wl-j")->uid));
	evict(w, wl, "x");
	w_settle(w);
	release_quota(w, wl);
	w_later(w, 5000);
	admit(w, 2, "wl-j");
	w_take(w);
	w->rig.times = 0;
	give_quota(w, wl);
	w_later(w, 60000);
	ok(strstr(w_take(w), "delete 2 Workload wl-j disqualified") != NULL, "it does not win");
	ok(clone_of(w, 2, "wl-j") && strcmp(clone_of(w, 2, "wl-j")->uid, uid) != 0,
	   "another clone is in its place");
	admit(w, 2, "wl-j");
	w_later(w, 1000);
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "which wins");
	free(uid);
	w_free(w);
}

/* The same with the job of the round before. */
static void late_delete_of_a_job(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	char *uid = w_dup(str_of(w_find(w, 2, JOB, "ns", "j")->uid));

	evict(w, wl, "x");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":null}}");
	w_later(w, 2000);
	rig(w, 1000, OP_DELETE, 2, JOB, ERR_UNKNOWN);
	release_quota(w, wl);
	w_later(w, 2000);
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"), "the job is still there");
	w_take(w);
	w->rig.times = 0;
	give_quota(w, wl);
	w_later(w, 60000);
	ok(strstr(w_take(w), "delete 2 Job j disqualified") != NULL, "it is deleted once more");
	admit(w, 2, "wl-j");
	w_later(w, 1000);
	ok(w_find(w, 2, JOB, "ns", "j") && strcmp(w_find(w, 2, JOB, "ns", "j")->uid, uid) != 0,
	   "another job runs in its place");
	free(uid);
	w_free(w);
}

/*
 * The status of a job is answered "not found", although the job is there: its CRD has lost the
 * subresource, or a proxy answers. The writes rest, ever longer, and none is the last.
 */
static void found_after_all(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *log;
	size_t writes;

	w_take(w);
	w->full = true;
	rig(w, 1000000, OP_MERGE, 0, JOB, ERR_NOT_FOUND);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":7}}");
	w_later(w, 60000);
	log = w_take(w);
	writes = w_times(log, "merge 0 Job.batch ns/j");
	ok(writes > 3 && writes < 40, "it is tried again, ever more seldom");
	ok(strstr(log, "WriteRefused") != NULL, "an Event says what is refused");
	w->rig.times = 0;
	w_later(w, 60000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "7",
	       "and comes home when the server takes it");
	is_str(check_state(w, wl), "Ready", "nothing else came of it");
	w_free(w);
}

int main(void)
{
	lost_create();
	met_and_shown();
	late_delete();
	late_delete_of_a_job();
	failing_gets(ERR_UNAVAILABLE, "503 to the look: again");
	failing_gets(ERR_OK, "a look that brings no object is none");
	late_404();
	refused_for_good(ERR_INVALID, "422");
	refused_for_good(ERR_DENIED, "403");
	refused_for_good(ERR_TOO_BIG, "too big");
	refused_for_good(ERR_NOT_FOUND, "404: no such namespace");
	refused_for_now();
	refused_for_nobody();
	vanished();
	delete_meets_another();
	finalizers();
	owner_is_held();
	conflict_and_news();
	news_and_conflict();
	gone_and_deleted();
	forgotten();
	ended_meanwhile();
	perhaps_ended_meanwhile();
	found_after_all();
	return done_testing();
}
