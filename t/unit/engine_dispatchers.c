/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loaded dispatcher may answer: parts of the clusters, patience, nothing, faults;
 * and what becomes of its words.
 */
#include "t/lib/engine_world.h"

static struct {
	int verdict;
	uint32_t index[4], n;
	int64_t wait_ms;
	const char *says;
	unsigned calls;
} does;

static int toy_nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	(void)d;
	does.calls++;
	if (does.says) {
		c->host->say(c, mk_lit(does.says));
	}
	for (uint32_t i = 0; i < does.n; i++) {
		pick->index[i] = does.index[i];
	}
	pick->n = does.n;
	pick->wait_ms = does.wait_ms;
	return does.verdict;
}

static const mk_dispatcher toy = {
	.struct_size = sizeof(mk_dispatcher), .name = "test.io/toy", .nominate = toy_nominate};
static const void *const toy_items[] = {&toy};
static const mk_factory toy_dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, toy_items};
static const mk_factory *const toy_factories[] = {&toy_dispatchers, NULL};
static const mk_entry toy_plugin = MK_ENTRY("io.test.toy", "1.0.0", toy_factories);

/* Workers behind the toy, which names the first cluster. */
static struct world *toy_world_of(size_t workers)
{
	struct world *w = w_new(workers);

	memset(&does, 0, sizeof(does));
	does.verdict = MK_SET;
	does.n = 1;
	does.wait_ms = -1;
	w_stop(w);
	w_plugin(w, &toy_plugin);
	w->dispatcher = "test.io/toy";
	w_restart(w);
	w->full = true;
	w_settle(w);
	w_take(w);
	return w;
}

static struct world *toy_world(void)
{
	return toy_world_of(3);
}

/* One cluster, later another: the first one's clone is taken away. */
static void its_choice(void)
{
	struct world *w = toy_world();
	struct object *wl = a_job(w, "j");
	unsigned calls;

	does.wait_ms = 5000;
	w_settle(w);
	is_str(nominated(w, wl), "[\"w1\"]", "one of three");
	ok(clone_of(w, 1, "wl-j") && !clone_of(w, 2, "wl-j"), "and one clone");
	does.index[0] = 2;
	does.index[1] = 1;
	does.n = 2;
	does.wait_ms = -1;
	w_advance(w, 6000);
	is_str(nominated(w, wl), "[\"w3\",\"w2\"]", "asked again after its wait: two others");
	ok(!clone_of(w, 1, "wl-j") && clone_of(w, 2, "wl-j") && clone_of(w, 3, "wl-j"),
	   "the clones follow");
	calls = does.calls;
	w_advance(w, 600000);
	is_int(does.calls, calls + 1, "without a wait it is asked when something happens");
	does.verdict = MK_KEEP;
	does.n = 0;
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_settle(w);
	is_str(nominated(w, wl), "[\"w3\",\"w2\"]", "it may leave the list as it is");
	admit(w, 3, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w3", "the race is as ever");
	w_free(w);
}

/* An empty list takes the nomination back; a state, not an error. */
static void nothing_left(void)
{
	struct world *w = toy_world();
	struct object *wl = a_job(w, "j");

	w_settle(w);
	does.n = 0;
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_settle(w);
	w_advance(w, 3000);
	is_str(nominated(w, wl), "", "no nomination");
	ok(!clone_of(w, 1, "wl-j"), "and no clone");
	does.verdict = MK_KEEP | MK_EXHAUSTED;
	w_take(w);
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"c\"}}}");
	w_settle(w);
	w_advance(w, 600000);
	ok(!strstr(w_take(w), "cause=nominate"), "exhausted: no nomination is written");
	w_free(w);
}

/* MK_E_INPUT with a reason: told; MK_E_RETRY: asked again by itself. */
static void refuses(void)
{
	struct world *w = toy_world();
	struct object *wl;
	unsigned calls;

	does.verdict = MK_E_INPUT;
	does.n = 0;
	does.says = "no cluster has such machines";
	wl = a_job(w, "j");
	w_settle(w);
	ok(strstr(w_take(w), "no cluster has such machines") != NULL, "an Event says why");
	calls = does.calls;
	w_advance(w, 500000);
	is_int(does.calls, calls, "the same input is not tried again");
	is_str(w_str(w, wl, "/status/admissionChecks/0/state"), "Pending", "still Pending");
	does.verdict = MK_E_RETRY;
	does.says = NULL;
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_settle(w);
	does.verdict = MK_SET;
	does.n = 1;
	w_advance(w, 10000);
	is_str(nominated(w, wl), "[\"w1\"]", "\"later\" is asked again");
	w_free(w);
}

/* Faults: a position that does not exist, one twice, an unknown verdict. */
static void breaks_its_contract(uint32_t first, uint32_t second, int verdict, const char *name)
{
	struct world *w = toy_world();
	struct object *wl;
	const char *log;
	unsigned calls;

	does.verdict = verdict;
	does.index[0] = first;
	does.index[1] = second;
	does.n = 2;
	wl = a_job(w, "j");
	w_settle(w);
	w_advance(w, 30000);
	log = w_take(w);
	is_int((long long)w_times(log, "Fault of a plugin"), 1, name);
	ok(!strstr(log, "create "), "nothing is created");
	is_int(does.calls, 3, "three faults in 30 s: it rests longer each time");
	calls = does.calls;
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_settle(w);
	is_int(does.calls, calls, "news do not wake it");
	does.verdict = MK_SET;
	does.index[0] = 0;
	does.n = 1;
	w_advance(w, 120000);
	is_str(nominated(w, wl), "[\"w1\"]", "then it gets another chance");
	w_free(w);
}

/* A fault while another daemon leads: only the leader writes an Event about it. */
static void fault_on_standby(void)
{
	struct world *w = toy_world();

	does.verdict = 4711;
	w_event(w, EV_LEADER, 0, 0);
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	w_advance(w, 60000);
	ok(!strstr(w_take(w), "Fault of a plugin"), "a standby says nothing");
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = true;
	w_settle(w);
	w_advance(w, 60000);
	ok(strstr(w_take(w), "Fault of a plugin") != NULL, "the leader does");
	w_free(w);
}

/*
 * A check, or its configuration, names another dispatcher: who waits is asked about anew, at once.
 */
static void another_one(uint16_t kind, const char *name)
{
	struct world *w = toy_world();
	struct object *o = w_find(w, 0, kind, "", name), *wl;

	w_patch(w, o,
		"{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":\"kueue.x-k8s.io/"
		"none\"}}}");
	w_settle(w);
	wl = a_job(w, "j");
	w_settle(w);
	is_str(nominated(w, wl), "", "a dispatcher without a plugin: no nomination");
	w_patch(w, o, "{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":null}}}");
	w_settle(w);
	is_str(nominated(w, wl), "[\"w1\"]", "its name is taken away: the usual one is asked");
	does.index[0] = 1;
	w_patch(w, o,
		"{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":\"kueue.x-k8s.io/"
		"multikueue-dispatcher-all-at-once\"}}}");
	w_settle(w);
	is_str(nominated(w, wl), "[\"w1\",\"w2\",\"w3\"]", "another one is named: it decides");
	w_free(w);
}

/* The job changes in a way that is no dispatcher's business; clusters that its passes looked at. */
static uint64_t visits_of_a_change(struct world *w, const char *value)
{
	struct engine_stats before, after;
	char text[128];

	snprintf(text, sizeof(text), "{\"metadata\":{\"annotations\":{\"x\":\"%s\"}}}", value);
	engine_get_stats(w->e, &before);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), text);
	w_settle(w);
	engine_get_stats(w->e, &after);
	return after.passes > before.passes ? after.visits - before.visits : UINT64_MAX;
}

static void asks_when_something_changed(void)
{
	struct world *w = toy_world_of(60);
	struct object *wl = a_job(w, "j");
	unsigned calls;

	w_settle(w);
	(void)visits_of_a_change(w, "0"); /* lists that ended last are taken notice of */
	calls = does.calls;
	is_int((int64_t)visits_of_a_change(w, "1"), 1,
	       "nothing that matters changed: a pass looks at the clone's cluster, not at 60");
	is_int(does.calls, calls, "... and asks no dispatcher");
	does.index[0] = 4;
	w_link(w, 9, LINK_DOWN);
	w_settle(w);
	is_str(nominated(w, wl), "[\"w5\"]", "a link: it is asked, and its answer counts");
	does.index[0] = 5;
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w7"),
		"{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	w_settle(w);
	is_str(nominated(w, wl), "[\"w6\"]", "a label");
	does.index[0] = 6;
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w20"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/cordon\":\"Cordon\"}}}");
	w_settle(w);
	is_str(nominated(w, wl), "[\"w7\"]", "a cordon");
	does.index[0] = 7;
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_settle(w);
	is_str(nominated(w, wl), "[\"w8\"]", "the Workload");
	does.index[0] = 8;
	clone_condition(w, 8, "wl-j", "Evicted", "Preempted", false);
	w_settle(w);
	is_str(nominated(w, wl), "[\"w9\"]", "what a worker says of the clone");
	does.index[0] = 10;
	does.wait_ms = 3000;
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"c\"}}}");
	w_settle(w);
	calls = does.calls;
	(void)visits_of_a_change(w, "2");
	is_int(does.calls, calls, "its wait is not over: it is not asked");
	w_advance(w, 3500);
	ok(does.calls > calls, "... it is over, and it is");
	w_later(w, 100 * 1000);
	calls = does.calls;
	does.wait_ms = -1;
	w_later(w, 4000);
	calls = does.calls;
	ok(visits_of_a_change(w, "3") <= 8,
	   "the check's message is written: a pass looks at those with which it had to do");
	is_int(does.calls, calls, "... and asks no dispatcher");
	admit(w, 11, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w11", "who wins is found all the same");
	w_free(w);
}

int main(void)
{
	asks_when_something_changed();
	another_one(KIND_CHECK, "mk");
	another_one(KIND_CONFIG, "cfg");
	its_choice();
	nothing_left();
	refuses();
	breaks_its_contract(7, 0, MK_SET, "no such cluster");
	breaks_its_contract(1, 1, MK_SET, "one twice");
	breaks_its_contract(0, 1, 4711, "no such verdict");
	fault_on_standby();
	return done_testing();
}
