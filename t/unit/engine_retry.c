/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each Retry rests the cluster on which the round ended, for that Workload: others get their turn
 * meanwhile, and where there is no other, the rest is the date of the next try.
 */
#include "t/lib/engine_probe.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND };

/* Core Kueue's part of a round that ended. */
static void next_round(struct world *w, struct object *wl)
{
	if (strcmp(check_state(w, wl), "Retry") != 0) {
		return;
	}
	evict(w, wl, "Evicted due to AdmissionCheck in Retry state");
	w_settle(w);
	queue_again(w, wl);
}

static bool may_be_admitted(struct world *w, cluster_id c)
{
	const struct object *k = clone_of(w, c, "wl-j");

	return k && !strstr(k->text, "Admitted");
}

/* How the worker's Kueue ends a round on w1. */
struct end {
	const char *type, *reason;
};

/*
 * For 'ms': w1 admits what it gets at once, and ends it as soon as the job is there; w2 admits
 * while w1 has no clone. Returns how often w1 had the job; stops when w2 has it.
 */
static int rounds_on_w1(struct world *w, struct object *wl, int64_t ms, struct end end)
{
	int64_t until = w->now + ms;
	int rounds = 0;

	while (w->now < until && !w_find(w, 2, JOB, "ns", "j")) {
		if (may_be_admitted(w, 1)) {
			admit(w, 1, "wl-j");
			w_settle(w);
		}
		if (w_find(w, 1, JOB, "ns", "j")) {
			rounds++;
			clone_condition(w, 1, "wl-j", end.type, end.reason, true);
			w_settle(w);
		} else if (!clone_of(w, 1, "wl-j") && may_be_admitted(w, 2)) {
			admit(w, 2, "wl-j");
			w_settle(w);
		}
		next_round(w, wl);
		w_advance(w, SECOND / 2);
	}
	return rounds;
}

static void another_has_its_turn(struct end end)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	int rounds;

	w_settle(w);
	rounds = rounds_on_w1(w, wl, 10 * MINUTE, end);
	ok(rounds >= 1 && rounds <= 2, "w1 ends each round at once: it rests after the first");
	ok(w_find(w, 2, JOB, "ns", "j"), "... and w2 has its turn");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "... and wins");
	w_free(w);
}

static void alone(struct end end, const char *said)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");
	const char *log;
	size_t before;

	w_settle(w);
	w->full = true;
	w_take(w);
	is_int(rounds_on_w1(w, wl, 60 * SECOND, end), 6,
	       "where there is no other: at 0, 1, 3, 7, 15 and 31 s");
	log = w_take(w);
	ok(strstr(log, said), "an Event says what the worker said, and until when it rests");
	is_int((int)w_times(log, "the cluster rests for this Workload until"), 1, "... once");
	is_str(check_state(w, wl), "Pending", "it waits");
	(void)rounds_on_w1(w, wl, 10 * MINUTE, end);
	before = w->requests;
	is_int(rounds_on_w1(w, wl, 60 * MINUTE, end), 12, "then once in five minutes");
	ok(w->requests - before <= 12 * 20, "... with the requests of a round each time");
	ok(strstr(check_message(w, wl), said), "the check's message says it, too");
	w_free(w);
}

/* The copy is no longer suspended; it ran for 'ms' until the worker's Kueue evicts it. */
static void run_for(struct world *w, struct object *wl, int64_t ms)
{
	if (may_be_admitted(w, 1)) {
		admit(w, 1, "wl-j");
		w_settle(w);
	}
	w_patch(w, w_find(w, 1, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":false},\"status\":{\"active\":1}}");
	w_later(w, ms);
	clone_condition(w, 1, "wl-j", "Evicted", "Preempted", true);
	w_settle(w);
	next_round(w, wl);
}

/* Kueue evicts the Workload and gives it quota again before one of these events arrives. */
static void a_round_in_one_batch(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	for (int round = 0; round < 3; round++) { /* later ones find what the first has noted */
		w->refuse = ERR_INVALID;
		admit(w, 1, "wl-j");
		w_settle(w);
		is_str(check_state(w, wl), "Retry", "w1 refuses the job");
		evict(w, wl, "Evicted due to AdmissionCheck in Retry state");
		release_quota(w, wl);
		give_quota(w, wl);
		w_settle(w);
		is_str(check_state(w, wl), "Pending", "the next round has begun, at once");
		ok(!clone_of(w, 1, "wl-j"), "... without w1, whose clone was of the round before");
		ok(clone_of(w, 2, "wl-j"), "... but with w2");
		w_advance(w, (1 << round) * SECOND - 100);
		ok(!clone_of(w, 1, "wl-j"), "w1 rests, longer each time");
		w_advance(w, 200);
		ok(clone_of(w, 1, "wl-j"), "... and takes part again");
	}
	w_free(w);
}

/* The manager takes the Retry only after a rest would be over: the rest begins then. */
static void a_retry_that_is_late(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w->rig = (struct rig){.times = 12,
			      .type = OP_APPLY_STATUS,
			      .cluster = CLUSTER_MANAGER,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	while (strcmp(check_state(w, wl), "Retry") != 0) {
		w_later(w, 50);
	}
	next_round(w, wl);
	ok(!clone_of(w, 2, "wl-j"), "a Retry that came late: the place rests");
	w_advance(w, 800);
	ok(!clone_of(w, 2, "wl-j"), "... for a second");
	w_advance(w, 400);
	ok(clone_of(w, 2, "wl-j"), "... and takes part again");
	w_free(w);
}

/*
 * The Retry is under way for longer than the rest, and Kueue takes it at once: its eviction, or
 * even the next round ('is_over'), is the first that is seen of it.
 */
static void a_retry_that_is_not_seen(bool is_over)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct op_list out = {.arena = &w->arena};

	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_ask(w, &out);
	w->now += 3 * SECOND;
	w->wall += 3 * SECOND;
	for (size_t i = 0; i < out.n; i++) {
		w_do(w, &out.v[i], &w->arena);
	}
	is_str(check_state(w, wl), "Retry", "the manager has a Retry that took three seconds");
	if (is_over) {
		release_quota(w, wl);
		give_quota(w, wl);
		w_settle(w);
	} else {
		next_round(w, wl);
	}
	ok(!clone_of(w, 2, "wl-j"), is_over ? "the next round is seen: the place rests"
					    : "its eviction is seen: the place rests");
	w_advance(w, 800);
	ok(!clone_of(w, 2, "wl-j"), "... for a second");
	w_advance(w, 400);
	ok(clone_of(w, 2, "wl-j"), "... and takes part again");
	w_free(w);
}

static const struct end preempted = {"Evicted", "Preempted"};
static const struct end out_of_sync = {"Finished", "OutOfSync"};

static void a_long_run_begins_anew(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	(void)rounds_on_w1(w, wl, 60 * SECOND, preempted);
	w_later(w, 4 * SECOND);
	ok(clone_of(w, 1, "wl-j"), "after the sixth rest of 32 s");
	run_for(w, wl, 40 * SECOND);
	w_later(w, 900);
	ok(!clone_of(w, 1, "wl-j"), "it ran for longer than the rest before: the next one ...");
	w_later(w, 200);
	ok(clone_of(w, 1, "wl-j"), "... takes a second");
	run_for(w, wl, 500);
	w_later(w, 1900);
	ok(!clone_of(w, 1, "wl-j"), "it ran for less: the next one ...");
	w_later(w, 200);
	ok(clone_of(w, 1, "wl-j"), "... takes two");
	w_free(w);
}

static void uses(struct world *w, cluster_id c, int cpu)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"status\":{\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":"
		 "\"cpu\",\"total\":\"%d\"}]}]}}",
		 cpu);
	w_patch(w, w_find(w, c, KIND_CLUSTER_QUEUE, "", "cq"), text);
	w_settle(w);
}

static void room_ends_it(struct end end, bool ends)
{
	struct world *w = w_new(1);
	struct object *wl;

	probe_queue(w, 1, "cq", "", "\"nominalQuota\":\"10\"", "10");
	wl = a_job(w, "j");
	w_settle(w);
	(void)rounds_on_w1(w, wl, 50 * SECOND, end);
	ok(!clone_of(w, 1, "wl-j"), "it rests for 32 s");
	uses(w, 1, 6);
	w_later(w, 100);
	ok((clone_of(w, 1, "wl-j") != NULL) == ends,
	   ends ? "room that comes free there ends the rest after an eviction"
		: "... but no other rest");
	w_free(w);
}

/* What comes free at once is what the Workload itself used. */
static void its_own_room_does_not(void)
{
	struct world *w = w_new(1);
	struct object *wl;

	probe_queue(w, 1, "cq", "", "\"nominalQuota\":\"10\"", "10");
	wl = a_job(w, "j");
	w_settle(w);
	(void)rounds_on_w1(w, wl, 31 * SECOND, preempted);
	w_later(w, 500);
	is_int(rounds_on_w1(w, wl, SECOND, preempted), 1, "the sixth round");
	uses(w, 1, 6);
	w_later(w, SECOND);
	ok(!clone_of(w, 1, "wl-j"), "its own room does not end the rest");
	w_free(w);
}

/* The worker is known by two names: it rests under both. */
static void both_names_rest(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w->alias_of[2] = 1;
	w_restart(w);
	wl = a_job(w, "j");
	w_settle(w);
	is_int(rounds_on_w1(w, wl, 60 * SECOND, preempted), 6, "one server, two names: one rest");
	w_free(w);
}

/* Kueue there has taken the quota, and has the clone in its queue. */
static void queued_again(struct world *w, cluster_id c)
{
	w_apply(w, clone_of(w, c, "wl-j"),
		"{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		"\"Pending\",\"message\":\"m\"},{\"type\":\"Evicted\",\"status\":\"True\","
		"\"reason\":\"AdmissionCheck\",\"message\":\"m\"},{\"type\":\"Requeued\","
		"\"status\":\"True\",\"reason\":\"BackoffFinished\",\"message\":\"m\"}]}");
	w_tell(w, clone_of(w, c, "wl-j"), EV_OBSERVED, VIA_WATCH);
}

/* A ProvisioningRequest of w1 says Retry: Kueue there evicts the clone and queues it again. */
static void evicted_before_the_win(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	char uid[64];

	w_settle(w);
	snprintf(uid, sizeof(uid), "%s", clone_of(w, 1, "wl-j")->uid);
	w_take(w);
	for (int i = 1; i <= 5; i++) {
		char text[64];

		clone_condition(w, 1, "wl-j", "Evicted", "AdmissionCheck", true);
		w_later(w, 100);
		is_str(w_str(w, wl, "/status/clusterName"), "",
		       "a clone on its way out cannot win");
		queued_again(w, 1);
		snprintf(text, sizeof(text), "{\"status\":{\"requeueState\":{\"count\":%d}}}", i);
		w_patch(w, clone_of(w, 1, "wl-j"), text);
		w_later(w, MINUTE);
	}
	ok(!strstr(w_take(w), "delete"), "Kueue there queues it again: it stays");
	is_str(clone_of(w, 1, "wl-j")->uid, uid, "... the same clone");
	is_str(w_str(w, clone_of(w, 1, "wl-j"), "/status/requeueState/count"), "5",
	       "... with what Kueue there has counted of it");
	ok(strstr(check_message(w, wl), "w1: Kueue there has evicted it and queues it again: m"),
	   "the check's message says so");
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "admitted again, it wins");
	w_free(w);
}

/* Kueue there evicts it and leaves it the quota, with which it does not queue it again. */
static void evicted_and_left(void)
{
	struct world *w = w_new(1);

	a_job(w, "j");
	w_settle(w);
	w_take(w);
	clone_condition(w, 1, "wl-j", "Evicted", "AdmissionCheck", false);
	w_later(w, 59 * SECOND);
	ok(!strstr(w_take(w), "delete"), "evicted with quota: Kueue there has a minute to take it");
	w_later(w, 2 * SECOND);
	ok(strstr(w_take(w), "delete 1 Workload wl-j disqualified"), "... then it is made anew");
	w_free(w);
}

/* The worker's Kueue deactivates it: it does not queue it again. */
static void deactivated_before_the_win(void)
{
	struct world *w = w_new(1);

	a_job(w, "j");
	w_settle(w);
	w_take(w);
	clone_condition(w, 1, "wl-j", "Evicted", "DeactivatedDueToAdmissionCheck", false);
	w_patch(w, clone_of(w, 1, "wl-j"), "{\"spec\":{\"active\":false}}");
	w_settle(w);
	ok(strstr(w_take(w), "delete 1 Workload wl-j disqualified"), "inactive: it is removed");
	w_later(w, 1100);
	ok(clone_of(w, 1, "wl-j"), "... and made anew after a rest");
	w_free(w);
}

/* The copy of an earlier round is left beside an evicted clone: both go. */
static void evicted_with_a_copy(void)
{
	struct world *w = w_new(1);
	struct object *wl = running_job_on(w, 1);

	w_stop(w);
	clone_condition(w, 1, "wl-j", "Evicted", "Preempted", false);
	w_patch(w, wl,
		"{\"status\":{\"clusterName\":null,\"admissionChecks\":[{\"name\":\"mk\","
		"\"state\":\"Pending\",\"message\":\"\"}],\"conditions\":[" QUOTA "]}}");
	w_restart(w);
	w_settle(w);
	w_later(w, 100);
	ok(strstr(w_take(w), "delete 1 Job j disqualified"),
	   "evicted with a copy of a round before: it is removed");
	w_free(w);
}

/* Kueue on w1 cannot start the job: it sets what the copy has already. */
static void failed_to_start(void)
{
	static const struct end not_started = {"Finished", "FailedToStart"};
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	w->full = true;
	w_take(w);
	clone_condition(w, 1, "wl-j", "Finished", "FailedToStart", true);
	w_settle(w);
	is_str(check_state(w, wl), "Retry", "a job that cannot start there has not ended");
	is_str(check_message(w, wl), "Cannot start the job on \"w1\": m, Previously: \"Ready\"",
	       "the check has the words of Kueue there");
	ok(strstr(w_take(w), "Cannot start the job on \\\"w1\\\": m"), "so has an Event");
	next_round(w, wl);
	(void)rounds_on_w1(w, wl, 10 * MINUTE, not_started);
	ok(w_find(w, 2, JOB, "ns", "j"), "w1 rests, and w2 has its turn");
	ok(!strstr(w_str(w, wl, "/status/conditions"), "Finished"), "it is not Finished");
	w_free(w);
}

/* A worker takes no job for now. */
static void is_too_busy(struct world *w, cluster_id c)
{
	w->rig = (struct rig){.times = 10000,
			      .type = OP_CREATE,
			      .cluster = c,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_LIMITED};
	w->rig_http = 429;
}

/* ... for so long that the round there was given up: the next one tries. */
static void refused_in_an_earlier_round(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	admit(w, 1, "wl-j");
	is_too_busy(w, 1);
	w_later(w, 16 * MINUTE);
	is_str(check_state(w, wl), "Retry", "a job that is not taken for too long is given up");
	w->rig = (struct rig){0};
	next_round(w, wl);
	w_later(w, 10 * SECOND);
	admit(w, 1, "wl-j");
	w_later(w, SECOND);
	is_str(check_state(w, wl), "Ready", "the next round there is not given up unasked");
	ok(w_find(w, 1, JOB, "ns", "j"), "... and has its job");
	w_free(w);
}

#define TRY "create 1 Job.batch ns/j "

/*
 * ... at once, not when the last round would have tried again. What is still refused is reported,
 * and rests as long as it would have in the round before.
 */
static void refused_in_the_next_round(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");
	const char *log;

	w_settle(w);
	admit(w, 1, "wl-j");
	is_too_busy(w, 1);
	w_later(w, 10 * MINUTE);
	evict(w, wl, "Preempted");
	w_later(w, SECOND);
	queue_again(w, wl);
	w_later(w, 2 * SECOND);
	w_take(w);
	w->full = true;
	admit(w, 1, "wl-j");
	w_later(w, SECOND);
	is_int((int)w_times(w_take(w), TRY), 1, "the next round there tries at once");
	w_later(w, 8 * SECOND);
	ok(!strstr(w_take(w), "WriteRefused"), "... is refused for a moment");
	w_later(w, 4 * SECOND);
	log = w_take(w);
	is_int((int)w_times(log, "\"reason\":\"WriteRefused\""), 1,
	       "... and for longer, as an Event says");
	w_later(w, MINUTE);
	ok(strstr(check_message(w, wl), "has refused the job since"), "... and the check");
	w_later(w, 3 * MINUTE);
	ok(!strstr(w_take(w), TRY), "the rests go on where they were");
	w_later(w, 2 * MINUTE);
	is_int((int)w_times(w_take(w), TRY), 1, "... at five minutes");
	w_later(w, 11 * MINUTE);
	is_str(check_state(w, wl), "Retry", "it is given up after the same time as the first");
	w_free(w);
}

/* Its Workload is deleted and has quota again at once: this is another one's round. */
static void refused_and_made_anew(bool listed)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	is_too_busy(w, 1);
	admit(w, 1, "wl-j");
	w_later(w, 10 * MINUTE);
	w->rig = (struct rig){0};
	w_del(w, wl);
	wl = a_workload(w, "j");
	if (listed) { /* no watch has shown it */
		w_drop(w, w->n_q);
		w_list(w, 0, KIND_WORKLOAD);
	}
	w_later(w, 2 * SECOND);
	admit(w, 1, "wl-j");
	w_later(w, SECOND);
	ok(w_find(w, 1, JOB, "ns", "j"), "a refused job's Workload is made anew: at once, too");
	is_str(check_state(w, wl), "Ready", listed ? "... which a list shows" : "... and Ready");
	w_free(w);
}

/* The job has run for as long as it may: Kueue on the manager says so a moment later. */
static void over_time(bool told)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	clone_condition(w, 2, "wl-j", "Evicted", "DeactivatedDueToMaximumExecutionTimeExceeded",
			true);
	w_patch(w, clone_of(w, 2, "wl-j"), "{\"spec\":{\"active\":false}}");
	w_later(w, 5 * SECOND);
	is_str(check_state(w, wl), "Ready",
	       "over its time there: no Retry, which would run it again");
	if (told) {
		w_patch(w, wl, "{\"spec\":{\"active\":false}}");
		evict(w, wl, "The maximum execution time (60s) exceeded");
		w_patch(w, w_find(w, 2, JOB, "ns", "j"),
			"{\"spec\":{\"suspend\":true},\"status\":{\"active\":null}}");
		w_later(w, 2 * SECOND);
		is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "",
		       "... Kueue on the manager evicts it: its status says that nothing runs");
		release_quota(w, wl);
		w_later(w, SECOND);
		ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j") &&
			   !clone_of(w, 1, "wl-j"),
		   "... and nothing is left");
	} else {
		w_later(w, 16 * MINUTE);
		is_str(check_state(w, wl), "Retry",
		       "... unless Kueue on the manager does not deactivate it");
	}
	w_free(w);
}

int main(void)
{
	over_time(true);
	over_time(false);
	evicted_before_the_win();
	evicted_and_left();
	deactivated_before_the_win();
	evicted_with_a_copy();
	failed_to_start();
	refused_in_an_earlier_round();
	refused_in_the_next_round();
	refused_and_made_anew(false);
	refused_and_made_anew(true);
	another_has_its_turn(preempted);
	another_has_its_turn(out_of_sync);
	alone(preempted, " evicted the Workload");
	alone(out_of_sync, " ended the Workload");
	a_long_run_begins_anew();
	a_round_in_one_batch();
	a_retry_that_is_late();
	a_retry_that_is_not_seen(false);
	a_retry_that_is_not_seen(true);
	room_ends_it(preempted, true);
	room_ends_it(out_of_sync, false);
	its_own_room_does_not();
	both_names_rest();
	return done_testing();
}
