/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to workers that are not done, after the win and before it: the words of the server are
 * reported, and each wait has an end.
 */
#include "t/lib/engine_probe.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND };

#define NO_ENDPOINTS "failed calling webhook \"mjob.kb.io\": no endpoints available"

#define CLASS(name, value)                                                    \
	"{\"spec\":{\"priority\":" #value ",\"priorityClassRef\":{\"group\":" \
	"\"kueue.x-k8s.io\",\"kind\":\"WorkloadPriorityClass\",\"name\":\"" name "\"}}}"

/* How a worker answers a write: busy, or for good. */
struct answer {
	enum op_outcome outcome;
	enum mk_code code;
	int http;
	const char *words;
};

static const struct answer internal = {OUTCOME_UNKNOWN, ERR_UNKNOWN, 500, NO_ENDPOINTS};
static const struct answer gateway = {OUTCOME_UNKNOWN, ERR_TIMEOUT, 504, "gateway timeout"};
static const struct answer busy = {OUTCOME_REFUSED, ERR_LIMITED, 429, "too many requests"};
static const struct answer unavailable = {OUTCOME_REFUSED, ERR_UNAVAILABLE, 503, "etcd is full"};
static const struct answer denied = {OUTCOME_REFUSED, ERR_DENIED, 403, "is forbidden: User x"};

static void rig(struct world *w, cluster_id c, enum op_type type, uint16_t kind,
		const struct answer *a)
{
	w->rig = (struct rig){.times = 1000000,
			      .type = type,
			      .cluster = c,
			      .kind = kind,
			      .outcome = a->outcome,
			      .code = a->code};
	w->rig_http = a->http;
	w->rig_words = a->words;
}

/* Core Kueue's part of a round that ended. */
static void next_round(struct world *w, struct object *wl)
{
	evict(w, wl, "Evicted due to AdmissionCheck in Retry state");
	w_settle(w);
	queue_again(w, wl);
}

/* The name of the Event in the log that reports what is refused. */
static const char *name_of_event(const char *log)
{
	static const char event[] = "event 0 Event ";
	static char name[64];
	const char *reason = strstr(log, "\"reason\":\"WriteRefused\""), *at = log, *next;

	while ((next = strstr(at + 1, event)) != NULL && next < reason) {
		at = next;
	}
	at += strlen(event);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, " \n"), at);
	return name;
}

/* w1 has won, and cannot take the job. */
static void job_is_not_created(const struct answer *a)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	const char *log;
	char said[512], event[64];

	printf("# %d %s\n", a->http, a->words);
	snprintf(said, sizeof(said),
		 "The workload was admitted on \"w1\"; worker cluster \"w1\" has refused the job "
		 "since 2027-01-15T08:00:00Z, and is asked again: %s",
		 a->words);
	w_settle(w);
	rig(w, 1, OP_CREATE, JOB, a);
	admit(w, 1, "wl-j");
	w_settle(w);
	w->full = true;
	w_take(w);
	w_later(w, 9 * SECOND);
	ok(!strstr(w_take(w), "WriteRefused"), "a server that is busy for a moment is no news");
	w_later(w, 2 * SECOND);
	log = w_take(w);
	is_int((int)w_times(log, "\"reason\":\"WriteRefused\""), 1,
	       "after ten seconds an Event reports it");
	snprintf(event, sizeof(event), "%s", name_of_event(log));
	is_str(check_message(w, wl), said, "... and the check's message, in the server's words");
	is_str(check_state(w, wl), "Ready", "it has won");
	w_later(w, 14 * MINUTE);
	log = w_take(w);
	is_int((int)w_times(log, "\"reason\":\"WriteRefused\""), 1,
	       "the manager may have refused the Event: it is sent again");
	ok(event[0] && !strcmp(name_of_event(log), event), "... under its name: there is one");
	is_str(check_state(w, wl), "Ready",
	       "it is tried for as long as a lost worker is waited for");
	ok(w_times(log, "cause=job_create") <= 45, "... ever more slowly");
	for (int i = 0; i < 300 && !strcmp(check_state(w, wl), "Ready"); i++) {
		w_later(w, SECOND / 5);
	}
	is_str(check_state(w, wl), "Retry", "then others may take it");
	ok(strstr(check_message(w, wl), a->words), "... for the reason");
	next_round(w, wl);
	ok(!clone_of(w, 1, "wl-j"), "w1 rests for it");
	admit(w, 2, "wl-j");
	w_later(w, 100);
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "it runs on w2");
	is_str(check_message(w, wl), "The workload was admitted on \"w2\"",
	       "... and nothing else is said");
	w_free(w);
}

/* What it waited for has changed every few minutes for an hour, as just before w2 wins. */
static void is_told_after_a_long_race(void)
{
	struct world *w = w_new(2);
	struct object *wl;
	char said[1024];

	rig(w, 1, OP_CREATE, KIND_WORKLOAD, &busy);
	wl = a_job(w, "j");
	for (int i = 0; i < 60; i++) {
		w_later(w, MINUTE);
		w->rig_words = i % 2 ? "too many requests" : "try later";
	}
	snprintf(said, sizeof(said), "%s", check_message(w, wl));
	for (int i = 0; i < 1000 && !strcmp(check_message(w, wl), said); i++) {
		w_later(w, SECOND);
	}
	rig(w, 2, OP_CREATE, JOB, &unavailable);
	admit(w, 2, "wl-j");
	w_later(w, MINUTE + 10 * SECOND);
	ok(strstr(check_message(w, wl), "etcd is full"),
	   "after a minute the check says why it waits");
	w_free(w);
}

/* The winner's clone has gone, of which a get is to tell. */
static void gets_are_refused(const char *state)
{
	static const struct answer unauthorized = {OUTCOME_REFUSED, ERR_DENIED, 401,
						   "Unauthorized"};
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	char text[256];

	w->full = true;
	rig(w, 2, OP_GET, KIND_WORKLOAD, &unauthorized);
	w_del(w, clone_of(w, 2, "wl-j"));
	snprintf(text, sizeof(text),
		 "{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"%s\","
		 "\"message\":\"\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}",
		 state);
	w_patch(w, wl, text);
	w_settle(w);
	w_take(w);
	w_later(w, 70 * SECOND);
	is_int((int)w_times(w_take(w), "\"reason\":\"WriteRefused\""), 1,
	       "a worker does not show what is left: an Event reports it");
	ok(strstr(check_message(w, wl),
		  "worker cluster \"w2\" has refused a look at what is there"),
	   "... and the check's message");
	w->rig.times = 0;
	w_later(w, 2 * MINUTE);
	is_str(check_state(w, wl), "Retry", "... until it does");
	w_free(w);
}

/* w2 has won, and cannot take the job; what is on w1 names the same job, and has no round. */
static void another_names_the_job(void)
{
	struct world *w = w_new(2);
	const char *log;

	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-x\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
	      "\"multikueued.io/manager-id\":\"another\",\"multikueued.io/workload-uid\":\"u\","
	      "\"multikueued.io/owner-kind\":\"batch/v1, Kind=Job\","
	      "\"multikueued.io/owner-name\":\"j\"}},\"spec\":{}}");
	a_job(w, "j");
	w_settle(w);
	rig(w, 2, OP_CREATE, JOB, &busy);
	admit(w, 2, "wl-j");
	w->full = true;
	w_settle(w);
	w_take(w);
	for (int i = 0; i < 60; i++) {
		w_later(w, SECOND);
		w_patch(w, w_find(w, 1, KIND_WORKLOAD, "ns", "wl-x"), "{\"x\":1}");
	}
	log = w_take(w);
	ok(strstr(log, "\"reason\":\"WriteRefused\""), "another Workload's: an Event reports it");
	ok(w_times(log, "cause=job_create") <= 15, "... and the tries become rarer");
	w_free(w);
}

/* ... and takes it after a minute. */
static void job_is_created_late(bool restart)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	rig(w, 1, OP_CREATE, JOB, &internal);
	admit(w, 1, "wl-j");
	w_later(w, 60 * SECOND);
	ok(strstr(check_message(w, wl), NO_ENDPOINTS), "the message says what keeps the job away");
	w->rig.times = 0;
	if (restart) {
		w_restart(w);
	}
	w_later(w, 40 * SECOND);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "the job is created");
	w_later(w, 60 * SECOND);
	is_str(check_message(w, wl), "The workload was admitted on \"w1\"",
	       restart ? "... also for a new process" : "... no longer than until it is there");
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "it stays the winner");
	w_free(w);
}

/* w1 is too busy to take the clone, for minutes. */
static void clone_is_delayed(const struct answer *a)
{
	struct world *w = w_new(2);
	struct object *wl;
	const char *log;

	printf("# %d %s\n", a->http, a->words);
	rig(w, 1, OP_CREATE, KIND_WORKLOAD, a);
	wl = a_job(w, "j");
	w->full = true;
	w_later(w, 9 * SECOND);
	ok(!strstr(w_take(w), "WriteRefused"), "a server that is busy for a moment is no news");
	w_later(w, 6 * MINUTE);
	log = w_take(w);
	is_int((int)w_times(log, "\"reason\":\"WriteRefused\""), 1, "then an Event reports it");
	ok(strstr(log, "worker cluster \\\"w1\\\" has refused the Workload since "),
	   "... and names the worker");
	ok(strstr(check_message(w, wl), "w1: has no clone yet; worker cluster \"w1\" has refused"),
	   "... and so does the check's message");
	ok(strstr(check_message(w, wl), a->words), "... in the server's words");
	w->rig.times = 0;
	w_later(w, 6 * MINUTE);
	ok(clone_of(w, 1, "wl-j") != NULL, "it takes the clone");
	w_later(w, 8 * MINUTE);
	ok(!strstr(check_message(w, wl), a->words), "... and nothing is said of it any more");
	w_free(w);
}

/* A clone is refused for a moment, w2 wins, and minutes later w1 is asked again. */
static void delay_is_of_its_round(void)
{
	struct world *w = w_new(2);
	struct object *wl;
	const char *log;

	rig(w, 1, OP_CREATE, KIND_WORKLOAD, &busy);
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 2, "wl-j");
	w_later(w, 3 * MINUTE);
	w->full = true;
	w_take(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_later(w, SECOND);
	next_round(w, wl);
	w_later(w, 9 * SECOND);
	log = w_take(w);
	ok(strstr(log, "cause=clone_create"), "w1 is asked again, and busy again");
	ok(!strstr(log, "WriteRefused"), "... for a moment, as before");
	w_later(w, MINUTE);
	ok(strstr(w_take(w), "WriteRefused"), "... for longer");
	ok(!strstr(check_message(w, wl), "T08:00:"), "... since this round began");
	w_free(w);
}

/* While the link is down nothing is tried, and its time does not count against the job. */
static void outage_does_not_count(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	rig(w, 1, OP_CREATE, JOB, &unavailable);
	admit(w, 1, "wl-j");
	w_later(w, 10 * MINUTE);
	w_link(w, 1, LINK_DOWN);
	w_later(w, 10 * MINUTE);
	w_link(w, 1, LINK_UP);
	w_later(w, MINUTE);
	is_str(check_state(w, wl), "Ready", "an outage in between: the time begins anew");
	w->rig.times = 0;
	w_later(w, MINUTE);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "the job is created");
	w_free(w);
}

/* A change of what runs is refused there. */
static void change_is_refused(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, CLASS("low", 1));
	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	rig(w, 1, OP_MERGE, KIND_WORKLOAD, &denied);
	w_patch(w, wl, CLASS("high", 100));
	w_later(w, 12 * SECOND);
	is_str(check_message(w, wl),
	       "The workload was admitted on \"w1\"; worker cluster \"w1\" has refused the changed "
	       "priority since 2027-01-15T08:00:00Z, and is asked again: is forbidden: User x",
	       "a change that does not reach the winner: the check's message says so");
	w_patch(w, wl, CLASS("low", 1));
	w_later(w, 2 * MINUTE);
	is_str(check_message(w, wl), "The workload was admitted on \"w1\"",
	       "... until it is there, or not wanted any more");
	w_free(w);
}

/* w2 evicts the winner and then refuses deletes of jobs; the next round may go to w1. */
static struct world *left_on_w2(struct object **wl, bool suspends, const struct answer *a)
{
	struct world *w = w_new(2);

	*wl = running_job(w);
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_settle(w);
	rig(w, 2, OP_DELETE, JOB, a);
	if (suspends) {
		w_patch(w, w_find(w, 2, JOB, "ns", "j"),
			"{\"spec\":{\"suspend\":true},\"status\":{\"active\":null}}");
	}
	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":null}}");
	w_take(w);
	next_round(w, *wl);
	return w;
}

/* Kueue there takes the quota of a clone that is not active. */
static void quota_goes(struct world *w)
{
	w_apply(w, clone_of(w, 2, "wl-j"),
		"{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		"\"Pending\",\"message\":\"m\"},{\"type\":\"Evicted\",\"status\":\"True\","
		"\"reason\":\"Deactivated\",\"message\":\"m\"}]}");
	w_tell(w, clone_of(w, 2, "wl-j"), EV_OBSERVED, VIA_WATCH);
	w_settle(w);
}

static void a_stopped_copy_is_passed_over(void)
{
	struct object *wl;
	struct world *w = left_on_w2(&wl, true, &denied);
	const char *log;

	admit(w, 1, "wl-j");
	w->full = true;
	w_later(w, 11 * SECOND);
	log = w_take(w);
	is_int((int)w_times(log, "\"reason\":\"WriteRefused\""), 1,
	       "an Event says what is refused");
	ok(strstr(check_message(w, wl),
		  "worker cluster \"w2\" has refused the removal of what is left there since "
		  "2027-01-15T08:00:00Z, and is asked again: is forbidden"),
	   "so does the check's message");
	ok(strstr(log, "deactivate"), "its clone is told not to start it again");
	is_str(w_str(w, clone_of(w, 2, "wl-j"), "/spec/active"), "false", "... and is inactive");
	w_later(w, 20 * MINUTE);
	is_str(w_str(w, wl, "/status/clusterName"), "", "with quota there it may run: it waits");
	quota_goes(w);
	w_later(w, SECOND);
	is_str(w_str(w, wl, "/status/clusterName"), "w1",
	       "stopped, inactive and without quota: it does not keep the job from others for "
	       "ever");
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "it runs on w1");
	w->rig.times = 0;
	w_later(w, 17 * MINUTE); /* the longest pause of a write */
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"),
	   "what is left goes when the worker lets us");
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "and the job runs on");
	w_free(w);
}

static void not_before_the_timeout(void)
{
	struct object *wl;
	struct world *w = left_on_w2(&wl, true, &unavailable);

	admit(w, 1, "wl-j");
	w_later(w, MINUTE);
	quota_goes(w);
	w_later(w, 13 * MINUTE);
	is_str(w_str(w, wl, "/status/clusterName"), "", "not before workerLostTimeout");
	w_later(w, 2 * MINUTE);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "then");
	w_free(w);
}

static void a_running_copy_is_not(void)
{
	struct object *wl;
	struct world *w = left_on_w2(&wl, false, &denied);

	admit(w, 1, "wl-j");
	w_later(w, MINUTE);
	is_str(w_str(w, clone_of(w, 2, "wl-j"), "/spec/active"), "false", "it is told to stop");
	quota_goes(w);
	w_later(w, 24 * 60 * MINUTE);
	is_str(w_str(w, wl, "/status/clusterName"), "", "a copy that runs is never passed over");
	ok(!w_find(w, 1, JOB, "ns", "j"), "it does not run twice");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":null}}");
	w_later(w, SECOND);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "... until Kueue there has stopped it");
	w_free(w);
}

/* Neither may be written: when deletes are allowed again, the delete is not behind the other. */
static void nothing_is_allowed(void)
{
	struct object *wl;
	struct world *w = left_on_w2(&wl, true, &denied);

	w->rig.kind = KIND_WORKLOAD;
	w->rig.type = OP_MERGE;
	w->full = false;
	w_take(w);
	w_later(w, MINUTE);
	ok(strstr(w_take(w), "delete 2 Workload wl-j disqualified"),
	   "a clone that may not be patched, but deleted, is deleted");
	w_free(w);
}

int main(void)
{
	job_is_not_created(&internal);
	job_is_not_created(&gateway);
	job_is_not_created(&busy);
	job_is_not_created(&unavailable);
	is_told_after_a_long_race();
	gets_are_refused("Ready");
	gets_are_refused("Pending");
	another_names_the_job();
	job_is_created_late(false);
	job_is_created_late(true);
	clone_is_delayed(&busy);
	clone_is_delayed(&unavailable);
	delay_is_of_its_round();
	outage_does_not_count();
	change_is_refused();
	a_stopped_copy_is_passed_over();
	not_before_the_timeout();
	a_running_copy_is_not();
	nothing_is_allowed();
	return done_testing();
}
