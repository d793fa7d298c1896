/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads that fit on no worker, whatever ends there: Kueue's words for it, who may say so, and
 * what becomes of them with multiKueue.unplaceable Wait and Reject.
 */
#include "core/engine/answers/answers.h"
#include "core/engine/store/facts_fit.h"
#include "t/lib/engine_world.h"

enum { MINUTE = 60 * 1000 };

#define POD_SET "couldn't assign flavors to pod set main: "
#define TOO_MUCH(flavor)                                                                  \
	"insufficient quota for cpu in flavor " flavor ", previously considered podsets " \
	"requests (0) + current podset request (9) > maximum capacity (4)"
#define BIG POD_SET TOO_MUCH("one")
#define BUSY POD_SET "insufficient unused quota for cpu in flavor one, 1 more needed"

/* --- Kueue's words ---------------------------------------------------------------------------- */

/* As the flavor assigner of Kueue 0.18.3 and 0.19.2 writes them. */
static void words(void)
{
	static const struct {
		const char *message;
		bool never;
	} cases[] = {
		{BIG, true},
		{POD_SET TOO_MUCH("one") ", " TOO_MUCH("two"), true},
		{POD_SET "flavor gpu doesn't match node affinity, " TOO_MUCH("one"), true},
		{POD_SET TOO_MUCH("one") ", untolerated taint {spot true NoSchedule <nil>} in "
					 "flavor two",
		 true},
		{BUSY, false},
		{POD_SET TOO_MUCH("one") ", insufficient unused quota for cpu in flavor two, 1 "
					 "more needed",
		 false},
		{POD_SET "insufficient quota for cpu in flavor one, previously considered podsets "
			 "requests (3) + current podset request (3) > maximum capacity (4)",
		 false},
		{"couldn't assign flavors to pod set a: insufficient unused quota for cpu in "
		 "flavor one, 1 more needed; couldn't assign flavors to pod set b: " TOO_MUCH(
			 "one"),
		 true},
		{POD_SET "flavor gpu doesn't match node affinity", false},
		{POD_SET "flavor one not found, " TOO_MUCH("two"), false},
		{POD_SET "topology \"t\" doesn't allow to fit any of 1 pod(s), " TOO_MUCH("one"),
		 false},
		{POD_SET "insufficient quota for cpu in flavor one", false},
		{POD_SET "insufficient quota for cpu in flavor one, previously considered podsets "
			 "requests (0) + current podset request (9) > maximum capacity (4",
		 false},
		{POD_SET, false},
		{"couldn't assign flavors to pod set", false},
		{TOO_MUCH("one"), false},
		{"The workload has failed admission checks", false},
		{"", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		is_str(facts_never_fits(str_of(cases[i].message), NULL) ? "never" : "perhaps",
		       cases[i].never ? "never" : "perhaps", cases[i].message);
	}
}

static void words_of_a_job_that_shrinks(void)
{
	struct arena a;
	struct json *spec = NULL;

	arena_init(&a, 0);
	json_parse(&a, STR("{\"podSets\":[{\"name\":\"main\",\"count\":9,\"minCount\":1}]}"), &spec,
		   NULL);
	ok(!facts_never_fits(STR(BIG), spec), "pods that may be fewer may fit");
	json_parse(&a, STR("{\"podSets\":7}"), &spec, NULL);
	ok(facts_never_fits(STR(BIG), spec), "a spec of the wrong type has none");
	arena_done(&a);
}

/* --- worlds ----------------------------------------------------------------------------------- */

static struct world *world_of(size_t n, bool reject)
{
	struct world *w = w_new(n);

	w_stop(w);
	w->reject_unplaceable = reject;
	w_restart(w);
	w->full = true;
	w_settle(w);
	return w;
}

static void says(struct world *w, cluster_id c, const char *message)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		 "\"Pending\",\"message\":\"%s\"}]}",
		 message);
	w_apply(w, clone_of(w, c, "wl-j"), text);
	w_tell(w, clone_of(w, c, "wl-j"), EV_OBSERVED, VIA_WATCH);
	w_settle(w);
}

static const char *phase(struct world *w)
{
	static char text[512];
	struct arena a;
	struct answer_env env;
	const struct json *v;

	arena_init(&a, 0);
	env = (struct answer_env){.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = &a};
	v = answer_workload(&env, STR("ns"), STR("wl-j"));
	snprintf(text, sizeof(text), "%.*s: %.*s", STR_ARG(json_str(json_get(v, "phase"))),
		 STR_ARG(json_str(json_get(v, "message"))));
	arena_done(&a);
	return text;
}

static size_t events(const char *log)
{
	return w_times(log, "\"type\":\"Warning\"");
}

#define NOWHERE                                                                              \
	"Fits on no worker: it exceeds the capacity of each worker's queue; w1, w2: has no " \
	"quota: " BIG

static void waits(void)
{
	struct world *w = world_of(2, false);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	says(w, 1, BIG);
	is_str(check_message(w, wl), "", "one worker says so: nothing yet");
	w_take(w);
	says(w, 2, BIG);
	is_str(check_state(w, wl), "Pending", "each says so, Wait: it waits");
	is_str(check_message(w, wl), NOWHERE, "... and is told at once");
	is_int(events(w_take(w)), 1, "... with an Event");
	is_str(phase(w),
	       "Unplaceable: it fits on no worker: it exceeds the capacity of each worker's queue",
	       "... and by why");
	w_restart(w);
	w_settle(w);
	w_advance(w, 60 * MINUTE);
	is_str(check_message(w, wl), NOWHERE, "a restart later it says the same");
	is_int(events(w_take(w)), 0, "... and tells it once");
	says(w, 2, BUSY);
	is_str(phase(w), "Racing: 2 of 2 clusters are nominated, none has admitted it",
	       "a worker has become larger: it may fit");
	w_advance(w, 10 * MINUTE);
	ok(strncmp(check_message(w, wl), "Not admitted yet by 2 workers: w1: ", 35) == 0,
	   "... and the message says so");
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(check_state(w, wl), "Ready", "... and it does");
	w_free(w);
}

static void rejects(void)
{
	struct world *w = world_of(2, true);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	says(w, 1, BIG);
	is_str(check_state(w, wl), "Pending", "one worker says so: Reject waits for the other");
	w_take(w);
	says(w, 2, BIG);
	is_str(check_state(w, wl), "Rejected", "each says so: rejected");
	is_str(check_message(w, wl), NOWHERE ", Previously: \"Pending\"", "... with the words");
	is_int(events(w_take(w)), 1, "... and an Event");
	w_later(w, MINUTE);
	ok(!clone_of(w, 1, "wl-j") && !clone_of(w, 2, "wl-j"), "... no clone is left");
	w_free(w);
}

/* --- not before all are known ----------------------------------------------------------------- */

static void unknown_worker(void)
{
	struct world *w = world_of(2, true);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_link(w, 2, LINK_DOWN);
	says(w, 1, BIG);
	w_later(w, MINUTE);
	is_str(check_state(w, wl), "Pending", "a worker out of reach may be large enough");
	ok(strncmp(check_message(w, wl), "Fits", 4) != 0, "... and nothing else is said");
	w_link(w, 2, LINK_UP);
	w_settle(w);
	is_str(check_state(w, wl), "Pending", "... it is back, and has not said why");
	says(w, 2, BIG);
	is_str(check_state(w, wl), "Rejected", "... until it says so");
	w_free(w);

	w = world_of(2, true);
	wl = a_job(w, "j");
	w_settle(w);
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/cordon\":\"Cordon\"}}}");
	w_settle(w);
	says(w, 1, BIG);
	is_str(check_state(w, wl), "Pending", "a cordoned worker may take it later");
	w_free(w);

	w = world_of(2, true);
	wl = a_job(w, "j");
	w_settle(w);
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
		"{\"spec\":{\"clusters\":[\"w1\",\"w9\"]}}");
	w_settle(w);
	says(w, 1, BIG);
	is_str(check_state(w, wl), "Pending", "a name without a cluster may get one");
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), "{\"spec\":{\"clusters\":[\"w1\"]}}");
	w_settle(w);
	is_str(check_state(w, wl), "Rejected", "... the config names it no more");
	w_free(w);
}

static void quota_somewhere(void)
{
	struct world *w = world_of(2, true);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	says(w, 1, BIG);
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(check_state(w, wl), "Ready", "the other one admits it: it wins");
	w_free(w);

	w = world_of(2, true);
	wl = a_job(w, "j");
	w_settle(w);
	w->hold_jobs[2] = true;
	says(w, 1, BIG);
	clone_condition(w, 2, "wl-j", "PodsReady", "x", false);
	w_settle(w);
	is_str(check_state(w, wl), "Pending", "the other one has quota for it: it waits");
	w_free(w);
}

static void annotations(void)
{
	struct world *w = world_of(1, true);
	struct object *check = w_find(w, 0, KIND_CHECK, "", "mk");
	struct object *wl = a_job(w, "j");

	w_patch(w, check,
		"{\"metadata\":{\"annotations\":{\"multikueued.io/unplaceable\":\"Wait\"}}}");
	w_settle(w);
	says(w, 1, BIG);
	is_str(check_state(w, wl), "Pending", "the check's annotation comes first: Wait");
	w_take(w);
	w_patch(w, check,
		"{\"metadata\":{\"annotations\":{\"multikueued.io/unplaceable\":[\"Reject\"]}}}");
	w_settle(w);
	is_int(w_times(w_take(w), "Annotation multikueued.io/unplaceable: expected \\\"Reject\\\" "
				  "or \\\"Wait\\\", found"),
	       1, "another value is told of");
	is_str(check_state(w, wl), "Rejected", "... and the configuration counts");
	w_free(w);

	w = world_of(1, false);
	wl = a_job(w, "j");
	w_settle(w);
	says(w, 1, BIG);
	is_str(check_state(w, wl), "Pending", "the configuration says Wait");
	w_patch(w, w_find(w, 0, KIND_CHECK, "", "mk"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/unplaceable\":\"Reject\"}}}");
	w_settle(w);
	is_str(check_state(w, wl), "Rejected", "... and the check's annotation Reject");
	w_free(w);
}

/* With a placementTimeout it is retried as any other. */
static void retried(void)
{
	struct world *w = w_new(1);
	struct object *wl;

	w_stop(w);
	w->placement_timeout = 5 * MINUTE;
	w_restart(w);
	wl = a_job(w, "j");
	w_settle(w);
	says(w, 1, BIG);
	w_advance(w, 5 * MINUTE);
	is_str(check_state(w, wl), "Retry", "it gives its quota back at the deadline");
	w_free(w);
}

/* --- a dispatcher that says so ---------------------------------------------------------------- */

static struct {
	int verdict;
	const char *says;
} does;

static int knows_nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	(void)d;
	if (does.says) {
		c->host->say(c, mk_lit(does.says));
	}
	pick->index[0] = 0;
	pick->n = does.verdict == MK_SET;
	return does.verdict;
}

static const mk_dispatcher knows = {
	.struct_size = sizeof(mk_dispatcher), .name = "test.io/knows", .nominate = knows_nominate};
static const void *const knows_items[] = {&knows};
static const mk_factory knows_dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER,
					     knows_items};
static const mk_factory *const knows_factories[] = {&knows_dispatchers, NULL};
static const mk_entry knows_plugin = MK_ENTRY("io.test.knows", "1.0.0", knows_factories);

static struct world *knowing_world(bool reject)
{
	struct world *w = w_new(2);

	w_stop(w);
	w_plugin(w, &knows_plugin);
	w->dispatcher = "test.io/knows";
	w->reject_unplaceable = reject;
	w_restart(w);
	w->full = true;
	w_settle(w);
	does.verdict = MK_KEEP | MK_UNPLACEABLE;
	does.says = "no worker has an H100";
	return w;
}

#define SAID "Fits on no worker: dispatcher \"test.io/knows\": no worker has an H100"

static void dispatcher_knows(void)
{
	struct world *w = knowing_world(false);
	struct object *wl = a_job(w, "j");

	w_take(w);
	w_settle(w);
	is_str(check_state(w, wl), "Pending", "a dispatcher says that it fits nowhere, Wait");
	is_str(check_message(w, wl), SAID, "... told at once, in its words");
	is_int(events(w_take(w)), 1, "... with an Event");
	does.verdict = MK_SET;
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") != NULL, "... it has changed its mind");
	w_later(w, 2 * MINUTE);
	ok(strncmp(check_message(w, wl), "Not admitted yet", 16) == 0, "... the message follows");
	w_free(w);

	w = knowing_world(true);
	wl = a_job(w, "j");
	w_take(w);
	w_settle(w);
	is_str(check_state(w, wl), "Rejected", "... Reject: rejected");
	is_str(check_message(w, wl), SAID ", Previously: \"Pending\"", "... in its words");
	is_int(events(w_take(w)), 1, "... with an Event");
	w_free(w);
}

/* Something else was waited for meanwhile, and what is waited for now is new. */
static void words_out_of_date(void)
{
	struct world *w = knowing_world(false);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	is_str(check_message(w, wl), SAID, "it fits nowhere");
	w_del(w, w_find(w, 0, KIND_CONFIG, "", "cfg"));
	does.verdict = MK_SET;
	w_later(w, MINUTE - 5000);
	w_put(w, 0, KIND_CONFIG,
	      "{\"metadata\":{\"name\":\"cfg\"},\"spec\":{\"clusters\":[\"w1\"]}}");
	w_later(w, 10000);
	ok(clone_of(w, 1, "wl-j") != NULL, "... and is asked of a worker a minute later");
	is_str(check_message(w, wl),
	       "Not admitted yet by 1 worker: w1: has no quota: Kueue there has not said why; is "
	       "it "
	       "running?",
	       "... for which its check says what it waits for, not nothing");
	w_free(w);
}

static void dispatcher_is_late(void)
{
	struct world *w = knowing_world(true);
	struct object *wl = a_job(w, "j");

	does.verdict = MK_SET;
	w_settle(w);
	clone_condition(w, 1, "wl-j", "PodsReady", "x", false);
	does.verdict = MK_KEEP | MK_UNPLACEABLE;
	w_settle(w);
	is_str(check_state(w, wl), "Pending", "a worker has quota for it: no rejection");
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(check_state(w, wl), "Ready", "... and it wins, whatever the dispatcher says");
	w_free(w);
}

/* The worker with the job of an earlier round is out of reach. */
static void job_somewhere(void)
{
	struct world *w = knowing_world(true);
	struct object *wl;

	does.verdict = MK_SET;
	wl = running_job_on(w, 1);
	w_link(w, 1, LINK_DOWN);
	evict(w, wl, "P");
	w_settle(w);
	release_quota(w, wl);
	w_settle(w);
	does.verdict = MK_KEEP | MK_UNPLACEABLE;
	give_quota(w, wl);
	w_later(w, MINUTE);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "a job of an earlier round is there, unseen");
	is_str(check_state(w, wl), "Pending", "... nothing is rejected");
	w_link(w, 1, LINK_UP);
	w_later(w, MINUTE);
	ok(!w_find(w, 1, JOB, "ns", "j"), "... in reach again it is removed");
	is_str(check_state(w, wl), "Rejected", "... then the check is rejected");
	w_free(w);
}

static void no_memory(void)
{
	size_t bad = 0;

	for (size_t n = 1; n < 400; n++) {
		struct world *w = world_of(1, true);
		struct object *wl = a_job(w, "j");

		w_settle(w);
		w_apply(w, clone_of(w, 1, "wl-j"),
			"{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\","
			"\"reason\":\"Pending\",\"message\":\"" BIG "\"}]}");
		w_tell(w, clone_of(w, 1, "wl-j"), EV_OBSERVED, VIA_WATCH);
		w->fail_at = n;
		w_step(w);
		w_later(w, 2 * MINUTE);
		bad += strcmp(check_state(w, wl), "Rejected") != 0;
		w_free(w);
	}
	is_int((long)bad, 0, "without memory it is rejected later, but it is");
}

int main(void)
{
	words();
	words_of_a_job_that_shrinks();
	waits();
	rejects();
	unknown_worker();
	quota_somewhere();
	annotations();
	retried();
	dispatcher_knows();
	words_out_of_date();
	dispatcher_is_late();
	job_somewhere();
	no_memory();
	return done_testing();
}
