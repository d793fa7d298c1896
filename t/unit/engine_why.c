/* SPDX-License-Identifier: Apache-2.0 */
/* What operators are told: the reason of each cluster, the phase of the Workload, pages. */
#include "core/engine/answers/answers.h"
#include "core/engine/answers/message.h"
#include "core/engine/state.h"
#include "t/lib/engine_world.h"

static struct arena words;

static struct answer_env env_of(struct world *w)
{
	arena_clear(&words);
	return (struct answer_env){.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = &words};
}

static const struct json *why(struct world *w)
{
	struct answer_env env = env_of(w);

	return answer_workload(&env, STR("ns"), STR("wl-j"));
}

/* "<reason>: <message>" of a cluster. */
static const char *on(struct world *w, const char *cluster)
{
	static char text[2048];
	const struct json *c = json_find(json_get(why(w), "clusters"), "name", cluster);

	snprintf(text, sizeof(text), "%.*s: %.*s", STR_ARG(json_str(json_get(c, "reason"))),
		 STR_ARG(json_str(json_get(c, "message"))));
	return text;
}

/* "<phase>: <message>" of the Workload. */
static const char *whole(struct world *w)
{
	static char text[2048];
	const struct json *v = why(w);

	snprintf(text, sizeof(text), "%.*s: %.*s", STR_ARG(json_str(json_get(v, "phase"))),
		 STR_ARG(json_str(json_get(v, "message"))));
	return text;
}

/* The first thing that happens next: "<at> <cluster> <what>". */
static const char *next(struct world *w)
{
	static char text[512];
	const struct json *n = json_elem(json_get(why(w), "next"), 0);

	snprintf(text, sizeof(text), "%.*s %.*s %.*s", STR_ARG(json_str(json_get(n, "at"))),
		 STR_ARG(json_str(json_get(n, "cluster"))), STR_ARG(json_str(json_get(n, "what"))));
	return text;
}

static bool starts(const char *text, const char *with)
{
	return str_starts(str_of(text), str_of(with));
}

static void test_race(void)
{
	struct world *w = w_new(2);
	struct object *clone;

	a_job(w, "j");
	w_settle(w);
	is_str(whole(w), "Racing: 2 of 2 clusters are nominated, none has admitted it",
	       "two clones are placed");
	is_str(on(w, "w1"),
	       "WaitsForQuota: has no quota: Kueue there has not said why; is it running?",
	       "a worker whose Kueue says nothing");
	clone = clone_of(w, 1, "wl-j");
	w_apply(w, clone,
		"{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		"\"Pending\",\"message\":\"couldn't assign flavors to pod set main: insufficient "
		"unused quota for cpu in flavor default, 4 more needed\"}]}");
	w_tell(w, clone, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	is_str(on(w, "w1"),
	       "WaitsForQuota: has no quota: couldn't assign flavors to pod set main: "
	       "insufficient unused quota for cpu in flavor default, 4 more needed",
	       "a worker without quota, in the words of its Kueue");
	w_apply(w, clone, "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "]}");
	w_tell(w, clone, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	is_str(on(w, "w1"),
	       "QuotaReserved: has quota there; admission checks of the worker are not Ready",
	       "a worker with checks of its own");
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	ok(starts(on(w, "w2"), "NotConnected: is not connected since 2027-01-15T08:00:"),
	   "a worker that is down, and since when");
	w_free(w);
}

static void test_winner(void)
{
	struct world *w = w_new(2);

	running_job(w);
	is_str(whole(w), "Won: it was sent to w2", "a winner");
	is_str(on(w, "w2"), "JobRuns: was chosen; the job runs", "whose job runs");
	is_str(on(w, "w1"), "NotChosen: was not chosen; nothing is left there", "and the other");
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	ok(starts(on(w, "w2"), "WinnerNotConnected: was chosen, and is not connected since "),
	   "it is lost");
	ok(strstr(on(w, "w2"), "the job may go on there"), "... and the job perhaps not");
	is_str(next(w),
	       "2027-01-15T08:15:00Z w2 the worker counts as lost, and the job is queued again",
	       "until it counts as lost");
	w_free(w);
}

static void test_jobs(void)
{
	struct world *w = w_new(1);
	struct object *job;

	a_job(w, "j");
	w_settle(w);
	w->hold = true;
	admit(w, 1, "wl-j");
	w_step(w);
	is_str(on(w, "w1"), "Admitted: is admitted there", "a clone that is about to win");
	w_free(w);
	w = w_new(1);
	running_job_on(w, 1);
	job = w_find(w, 1, JOB, "ns", "j");
	w_patch(w, job, "{\"spec\":{\"suspend\":true},\"status\":{\"active\":0}}");
	w_settle(w);
	is_str(on(w, "w1"), "JobSuspended: was chosen; the job is there, suspended",
	       "a job that is suspended there");
	w_patch(w, job,
		"{\"spec\":{\"suspend\":false},\"status\":{\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	w_step(w);
	is_str(on(w, "w1"), "JobEnded: was chosen; the job has ended", "a job that ended");
	w_free(w);
}

static void test_left_out(void)
{
	struct world *w = w_new(2);

	w->rig = (struct rig){.times = 1,
			      .type = OP_CREATE,
			      .cluster = 1,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_DENIED};
	w->rig_words = "namespaces \"ns\" not found";
	w->rig_http = 404;
	a_job(w, "j");
	w_settle(w);
	is_str(on(w, "w1"),
	       "Resting: is left out for now: worker cluster \"w1\" refused the Workload: "
	       "namespaces \"ns\" not found",
	       "a worker that refuses the clone, in its words");
	is_str(next(w), "2027-01-15T08:00:05Z w1 the cluster is tried again", "for five seconds");
	w_free(w);
	w = w_new(2);
	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\"},\"spec\":{}}");
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	is_str(on(w, "w1"), "ForeignObject: has a Workload of this name that is not ours",
	       "an object that is not ours");
	w_free(w);
}

/* A webhook makes all clones look as if they came from another spec: the breaker opens. */
static void test_breaker(void)
{
	static const char other[] =
		"{\"metadata\":{\"annotations\":{\"multikueued.io/spec-hash\":\"v1:other\"}}}";
	static const char *const names[] = {"j",  "j1", "j2", "j3", "j4",  "j5",
					    "j6", "j7", "j8", "j9", "j10", "j11"};
	struct world *w = w_new(2);

	for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++) {
		a_job(w, names[j]);
	}
	for (int i = 0; i < 20; i++) {
		w_settle(w);
		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++) {
			char name[16];

			(void)snprintf(name, sizeof(name), "wl-%s", names[j]);
			if (clone_of(w, 1, name)) {
				w_patch(w, clone_of(w, 1, name), other);
			}
		}
		w_settle(w);
		w_advance(w, 5000);
	}
	ok(starts(whole(w), "BreakerOpen: the breaker is open"), "the breaker is open");
	is_str(on(w, "w1"),
	       "CloneChanged: the clone is not as we made it: a webhook or client there changes it",
	       "because of the clone on w1");
	w_free(w);
}

/* A clone that its worker changed: the cluster rests, and no client is said to have deleted it. */
static void test_changed(void)
{
	static const char other[] =
		"{\"metadata\":{\"annotations\":{\"multikueued.io/spec-hash\":\"v1:other\"}}}";
	struct world *w = w_new(2);

	a_job(w, "j");
	for (int i = 0; i < 2; i++) {
		w_settle(w);
		if (clone_of(w, 1, "wl-j")) {
			w_patch(w, clone_of(w, 1, "wl-j"), other);
		}
		w_settle(w);
		w_advance(w, 100);
	}
	is_str(on(w, "w1"),
	       "Resting: is left out for now: worker cluster \"w1\" changes the Workload that is "
	       "created there",
	       "a worker that changes each clone");
	w_free(w);
}

/* A job that its worker refuses: the next round says where and why. */
static void test_job_refused(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w->rig = (struct rig){.times = 1,
			      .type = OP_CREATE,
			      .cluster = 1,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_INVALID};
	w->rig_words = "Job.batch \"j\" is invalid: no";
	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(check_state(w, wl), "Retry", "a job that is refused: queued again");
	evict(w, wl, "x");
	w_step(w);
	release_quota(w, wl);
	w_step(w);
	give_quota(w, wl);
	w_settle(w);
	is_str(on(w, "w1"),
	       "Resting: is left out for now: worker cluster \"w1\" refused the job: Job.batch "
	       "\"j\" is invalid: no",
	       "then the worker rests, in its words");
	is_str(whole(w),
	       "NotNominated: dispatcher \"kueue.x-k8s.io/multikueue-dispatcher-all-at-once\" "
	       "finds "
	       "no worker that can take it now",
	       "and the Workload has none");
	w_free(w);
}

/* A job that its winner does not take, for a reason that may pass. */
static void test_job_awaited(void)
{
	struct world *w = w_new(1);

	(void)a_job(w, "j");
	w->rig = (struct rig){.times = 1000,
			      .type = OP_CREATE,
			      .cluster = 1,
			      .kind = JOB,
			      .outcome = OUTCOME_UNKNOWN,
			      .code = ERR_UNKNOWN};
	w->rig_words = "failed calling webhook \"mjob.kb.io\"";
	w_settle(w);
	admit(w, 1, "wl-j");
	w_later(w, 12000);
	is_str(on(w, "w1"),
	       "JobAwaited: was chosen; the job is not there yet; worker cluster \"w1\" has "
	       "refused "
	       "the job since 2027-01-15T08:00:00Z, and is asked again: failed calling webhook "
	       "\"mjob.kb.io\"",
	       "a job that the winner does not take: its words");
	is_str(next(w), "2027-01-15T08:15:00Z w1 the job is queued again", "... and how long");
	w_free(w);
}

/* Before any worker is asked, and after an eviction: the check says what is waited for. */
static void test_message_of_others(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_del(w, w_find(w, 0, KIND_CONFIG, "", "cfg"));
	w_settle(w);
	w_later(w, MESSAGE_AFTER_MS + 1000);
	is_str(check_message(w, wl),
	       "Not admitted yet: admission check \"mk\" has no MultiKueueConfig",
	       "what holds it on the manager, after half a minute");
	w_free(w);
	w = w_new(2);
	wl = running_job_on(w, 2);
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	evict(w, wl, "Preempted");
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\","
		"\"message\":\"Reset to Pending after eviction\"}]}}");
	w_settle(w);
	is_str(whole(w), "Evicted: Kueue has evicted it: Preempted", "evicted, and out of reach");
	ok(strstr(on(w, "w2"), "the job may run there, quota is held until that is known"),
	   "where the job may run");
	is_str(next(w),
	       "2027-01-15T08:15:00Z w2 the worker counts as lost, and the job is queued again",
	       "until the worker counts as lost");
	w_later(w, MESSAGE_AFTER_MS + 1000);
	ok(starts(check_message(w, wl), "Not queued again yet: w2: is not connected since "),
	   "and the check says so");
	w_free(w);
}

/* Another manager with our origin made a Workload of this name. */
static void test_clash(void)
{
	struct world *w = w_new(2);
	struct answer_env env;

	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-j\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
	      "\"multikueued.io/manager-id\":\"another\"}},\"spec\":{}}");
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	is_str(on(w, "w1"),
	       "ForeignObject: has a Workload of this name that another manager with our origin "
	       "made (another)",
	       "another manager with our origin");
	env = env_of(w);
	is_str(arena_dup(&words, json_str(json_at(answer_clusters(&env), "/items/0/otherManager")))
		       .p,
	       "another", "and the cluster has it");
	w_free(w);
}

static void test_gate(void)
{
	struct world *w = w_new(1);
	struct object *clone;

	w_stop(w);
	w->gate_preemption = true;
	w_restart(w);
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	clone = clone_of(w, 1, "wl-j");
	w->hold = true;
	w_apply(w, clone,
		"{\"preemptionGates\":[{\"name\":\"kueue.x-k8s.io/multikueue\",\"position\":"
		"\"Closed\"}],\"conditions\":[{\"type\":\"BlockedOnPreemptionGates\",\"status\":"
		"\"True\",\"reason\":\"PreemptionGated\",\"message\":\"m\"}]}");
	w_tell(w, clone, EV_OBSERVED, VIA_WATCH);
	w_step(w);
	is_str(on(w, "w1"), "WaitsAtGate: waits at its preemption gate until its turn comes",
	       "a clone at its gate");
	w_free(w);
}

static void test_whole(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	evict(w, wl, "Preempted to accommodate a higher priority Workload");
	w_settle(w);
	is_str(whole(w),
	       "Evicted: Kueue has evicted it: Preempted to accommodate a higher priority Workload",
	       "an eviction on the manager");
	release_quota(w, wl);
	w_settle(w);
	ok(starts(whole(w), "WaitsForQuota: Kueue has no quota for it on the manager"),
	   "no quota on the manager");
	w_patch(w, wl, "{\"spec\":{\"active\":false}}");
	w_settle(w);
	is_str(whole(w), "Inactive: spec.active is false: it was deactivated", "not active");
	w_patch(w, wl, "{\"spec\":{\"active\":true}}");
	give_quota(w, wl);
	w_del(w, w_find(w, 0, KIND_CONFIG, "", "cfg"));
	w_settle(w);
	is_str(whole(w), "ConfigMissing: admission check \"mk\" has no MultiKueueConfig",
	       "no MultiKueueConfig");
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_settle(w);
	is_str(whole(w), "JobMissing: its job \"j\" is not there", "no job");
	w_free(w);
}

static void test_missing_cluster(void)
{
	struct world *w = w_new(1);

	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
		"{\"spec\":{\"clusters\":[\"w1\",\"typo\"]}}");
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	is_str(on(w, "typo"), "ClusterMissing: no MultiKueueCluster has this name",
	       "a name that the config has and no cluster");
	w_free(w);
}

static void say_no_quota(struct world *w, cluster_id c, int needed)
{
	struct object *clone = clone_of(w, c, "wl-j");
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		 "\"Pending\",\"message\":\"%d more cpu needed\"}]}",
		 needed);
	w_apply(w, clone, text);
	w_tell(w, clone, EV_OBSERVED, VIA_WATCH);
}

/* The message of the check: once after half a minute; with new words ever more seldom. */
static void test_message(void)
{
	struct world *w = w_new(3);
	struct object *wl = a_job(w, "j");

	w->full = true;
	w_settle(w);
	say_no_quota(w, 1, 4);
	say_no_quota(w, 2, 4);
	w_link(w, 3, LINK_DOWN);
	w_later(w, MESSAGE_AFTER_MS - 1000);
	is_str(check_message(w, wl), "", "a race that is young: no message");
	w_take(w);
	w_later(w, 1000);
	is_str(check_message(w, wl),
	       "Not admitted yet by 3 workers: w1, w2: has no quota: 4 more cpu needed; w3: is not "
	       "connected since 2027-01-15T08:00:00Z: nothing listens at its address (connection "
	       "refused)",
	       "after half a minute it sums the reasons up");
	w_later(w, 3600 * 1000);
	is_int((int)w_times(w_take(w), "cause=waiting"), 1, "the same words are written once");
	for (int i = 0; i < 360; i++) {
		say_no_quota(w, 1, i);
		w_later(w, 10000);
	}
	ok(w_times(w_take(w), "cause=waiting") <= MESSAGE_WRITES_MAX,
	   "words that change are written a few times an hour");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(check_message(w, wl), "The workload was admitted on \"w2\"",
	       "the winner's message takes its place");
	w_free(w);
}

/* What the manager did not take was not said: it comes as soon as the object may be written. */
static void test_message_refused(enum op_outcome outcome, enum mk_code code)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	say_no_quota(w, 1, 4);
	w->rig = (struct rig){3, OP_APPLY_STATUS, 0, KIND_WORKLOAD, outcome, code};
	w_later(w, MESSAGE_AFTER_MS + 30 * 1000);
	is_str(check_message(w, wl),
	       "Not admitted yet by 1 worker: w1: has no quota: 4 more cpu needed",
	       "a message that was refused is written after the rest");
	w_free(w);
}

static void test_pages(void)
{
	struct world *w = w_new(1);
	struct answer_filter f = {.limit = 2};
	struct answer_env env;
	const struct json *page;
	size_t requests, rows = 0, pages = 0;
	uint64_t passes;

	many_jobs(w, 5);
	requests = w->requests;
	passes = w->e->stats.passes;
	do {
		static char after[64];

		env = env_of(w);
		page = answer_workloads(&env, &f);
		rows += json_len(json_get(page, "items"));
		pages++;
		snprintf(after, sizeof(after), "%.*s",
			 STR_ARG(json_str(json_get(page, "continue"))));
		f.after = str_of(after);
	} while (f.after.n > 0 && pages < 9);
	is_int(rows, 5, "all Workloads");
	is_int(pages, 3, "two at a time");
	f = (struct answer_filter){.phase = STR("Won")};
	env = env_of(w);
	is_int(json_len(json_get(answer_workloads(&env, &f), "items")), 0, "none has won");
	f.phase = STR("Racing");
	env = env_of(w);
	is_int(json_len(json_get(answer_workloads(&env, &f), "items")), 5, "all race");
	f.after = STR("ns/none");
	env = env_of(w);
	ok(!answer_workloads(&env, &f) && !arena_failed(&words), "an unknown row to go on behind");
	w_settle(w);
	is_int(w->requests, requests, "answers send nothing");
	is_int(w->e->stats.passes, passes, "and cause no pass");
	env = env_of(w);
	is_str(arena_dup(&words, json_str(json_at(answer_clusters(&env), "/items/0/state"))).p,
	       "Connected", "a cluster");
	ok(answer_queues(&env), "queues");
	ok(!answer_workload(&env, STR("ns"), STR("none")), "an unknown Workload");
	w_free(w);
}

/* What pods ask for, page by page: texts that are large make pages short. */
static void test_requests(void)
{
	enum { JOBS = 5, LARGE = 1024 * 1024 };
	static char text[LARGE + 64], after[64];
	struct world *w = w_new(1);
	struct answer_filter f = {.requests = true};
	struct answer_env env;
	const struct json *page;
	size_t rows = 0, pages = 0;
	char name[16];

	snprintf(text, sizeof(text), "{\"invented\":{\"x\":\"%0*d\"}}", LARGE, 7);
	for (int i = 0; i < JOBS; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		w_apply(w, a_job(w, name), text);
		snprintf(name, sizeof(name), "wl-j%d", i);
		w_tell(w, w_find(w, 0, KIND_WORKLOAD, "ns", name), EV_OBSERVED, VIA_WATCH);
	}
	w_settle(w);
	env = env_of(w);
	page = answer_workload(&env, STR("ns"), STR("wl-j0"));
	is_str(arena_dup(&words, json_write(&words, json_get(page, "requests"))).p,
	       "[{\"name\":\"pods\",\"amount\":2}]", "what its pods ask for");
	do {
		env = env_of(w);
		page = answer_workloads(&env, &f);
		rows += json_len(json_get(page, "items"));
		pages++;
		ok(json_int(json_at(page, "/items/0/requests/0/amount"), 0) == 2, "... on a page");
		snprintf(after, sizeof(after), "%.*s",
			 STR_ARG(json_str(json_get(page, "continue"))));
		f.after = str_of(after);
	} while (f.after.n > 0 && pages < 9);
	is_int(rows, JOBS, "each once");
	ok(pages > 1, "large texts are read a few at a time");
	f = (struct answer_filter){.limit = 0};
	env = env_of(w);
	page = answer_workloads(&env, &f);
	ok(json_len(json_get(page, "items")) == JOBS && !json_at(page, "/items/0/requests"),
	   "a page without requests reads none");
	w_free(w);
}

int main(void)
{
	arena_init(&words, 0);
	test_race();
	test_winner();
	test_jobs();
	test_left_out();
	test_breaker();
	test_changed();
	test_job_refused();
	test_job_awaited();
	test_message_of_others();
	test_clash();
	test_gate();
	test_whole();
	test_missing_cluster();
	test_message();
	test_message_refused(OUTCOME_REFUSED, ERR_DENIED);
	test_message_refused(OUTCOME_UNKNOWN, ERR_UNKNOWN);
	test_pages();
	test_requests();
	arena_done(&words);
	return done_testing();
}
