/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter pass with an adapter whose hooks do as the test says: refusals, retries,
 * broken contracts, descriptor flags.
 */
#include "t/lib/engine_world.h"

enum { TOY = JOB + 1 };

static struct {
	int remote_new, remote_old, status; /* verdicts of the hooks */
	const char *says;
	unsigned remote_calls, status_calls;
	unsigned
		poison_calls; /* ... of them for a toy of this name, whose call breaks the contract */
} does;

static int toy_remote(mk_call *c, const mk_view *v, mk_val draft)
{
	bool is_new = c->host->type(c, v->remote) == MK_ABSENT;

	does.remote_calls++;
	if (mk_is(c, c->host->get(c, v->local, "/metadata/name"), "poison")) {
		does.poison_calls++;
		return 4711;
	}
	if (does.says) {
		c->host->say(c, mk_lit(does.says));
	}
	if (!is_new && does.remote_old == MK_SET) {
		c->host->set(c, draft, "/spec/colour", c->host->get(c, v->local, "/spec/colour"));
	}
	return is_new ? does.remote_new : does.remote_old;
}

static int toy_status(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	(void)draft;
	does.status_calls++;
	if (does.says) {
		c->host->say(c, mk_lit(does.says));
	}
	return does.status;
}

static const char *const toy_forward[] = {"/spec/size", NULL};
static mk_adapter toy = {
	.struct_size = sizeof(mk_adapter),
	.group = "test.io",
	.version = "v1",
	.kind = "Toy",
	.managed_by = "/spec/managedBy",
	.forward = toy_forward,
	.remote = toy_remote,
	.status = toy_status,
};
static const void *const toy_items[] = {&toy};
static const mk_factory toy_adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, toy_items};
static const mk_factory *const toy_factories[] = {&toy_adapters, NULL};
static const mk_entry toy_plugin = MK_ENTRY("io.test.toy", "1.0.0", toy_factories);

static struct world *toy_world(uint32_t flags)
{
	struct world *w = w_new(2);
	uint16_t id;

	memset(&does, 0, sizeof(does));
	does.remote_new = MK_SET;
	does.remote_old = MK_KEEP;
	does.status = MK_SET;
	toy.flags = flags;
	w_stop(w);
	w_plugin(w, &toy_plugin);
	kinds_add(&w->kinds, STR("test.io"), STR("v1"), STR("Toy"), STR("test.io/v1, Kind=Toy"),
		  &id);
	w_restart(w);
	w_settle(w);
	w_take(w);
	return w;
}

/* A toy and its Workload "wl-<name>" with quota. */
static struct object *a_toy_named(struct world *w, const char *name, const char *managed_by)
{
	char text[2048];
	struct object *job, *wl;

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"test.io/v1\",\"kind\":\"Toy\",\"metadata\":{\"name\":\"%s\","
		 "\"namespace\":\"ns\",\"generation\":1},\"spec\":{\"size\":1,\"colour\":\"red\","
		 "\"managedBy\":%s}}",
		 name, managed_by);
	job = w_put(w, 0, TOY, text);
	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
		 "\"name\":\"wl-%s\",\"namespace\":\"ns\",\"generation\":1,\"ownerReferences\":[{"
		 "\"apiVersion\":\"test.io/v1\",\"kind\":\"Toy\",\"name\":\"%s\",\"uid\":\"%s\","
		 "\"controller\":true}]},\"spec\":{\"active\":true,\"queueName\":\"q\","
		 "\"podSets\":[]},\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":"
		 "\"Pending\",\"message\":\"\"}]}}",
		 name, name, job->uid);
	wl = w_put(w, 0, KIND_WORKLOAD, text);
	w_apply(w, wl, "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	return wl;
}

static struct object *a_toy(struct world *w, const char *managed_by)
{
	return a_toy_named(w, "t", managed_by);
}

/* What waits is seen first, then time goes by. */
#define OURS "\"kueue.x-k8s.io/multikueue\""

/* Up to the win of w1. */
static struct object *a_won_toy(struct world *w)
{
	struct object *wl = a_toy(w, OURS);

	w_settle(w);
	admit(w, 1, "wl-t");
	w_settle(w);
	return wl;
}

static struct object *remote(struct world *w)
{
	return w_find(w, 1, TOY, "ns", "t");
}

/* MK_E_INPUT: told once, not tried until the object changes; never Rejected. */
static void unusable(void)
{
	struct world *w = toy_world(0);
	struct object *wl;
	const char *log;

	does.remote_new = MK_E_INPUT;
	does.says = "the size must be even";
	w->full = true;
	wl = a_won_toy(w);
	log = w_take(w);
	ok(strstr(log, "The job cannot be handled: the size must be even") != NULL,
	   "an Event says why");
	ok(!remote(w), "nothing is made");
	is_str(check_state(w, wl), "Ready", "the check stays Ready");
	does.remote_calls = 0;
	w_later(w, 120000);
	is_int(does.remote_calls, 0, "the same input is not tried again");
	ok(!strstr(w_take(w), "cannot be handled"), "nor talked about");
	does.remote_new = MK_SET;
	w_patch(w, w_find(w, 0, TOY, "ns", "t"), "{\"spec\":{\"size\":2}}");
	w_settle(w);
	ok(remote(w) != NULL, "a change of the job is another try");
	is_str(w_str(w, remote(w), "/spec/size"), "2", "with the new input");
	w_free(w);
}

/* MK_E_RETRY: tried again by itself; without a reason there is nothing to say. */
static void not_yet(void)
{
	struct world *w = toy_world(0);
	struct object *wl;

	does.remote_new = MK_E_RETRY;
	wl = a_won_toy(w);
	ok(w_times(w_take(w), "event 0 Event wl-t") == 1, "only the win is told");
	ok(!remote(w), "not made yet");
	does.remote_new = MK_KEEP;
	w_later(w, 10000);
	ok(!remote(w), "the hook keeps it back: nothing is made");
	ok(does.remote_calls >= 2, "it was asked again");
	is_str(check_state(w, wl), "Ready", "still Ready");
	does.remote_new = MK_SET;
	w_patch(w, w_find(w, 0, TOY, "ns", "t"), "{\"spec\":{\"size\":3}}");
	w_settle(w);
	ok(remote(w) != NULL, "made when the hook lets it");
	w_free(w);
}

/* A broken contract: nothing is sent, its Workload rests longer each time, nothing is deleted. */
static void breach(void)
{
	struct world *w = toy_world(0);
	struct object *wl;
	const char *log;
	unsigned calls;

	does.remote_new = 4711;
	w->full = true;
	wl = a_won_toy(w);
	w_later(w, 20000);
	log = w_take(w);
	is_int(w_times(log, "Fault of a plugin"), 1, "told once");
	ok(strstr(log, "io.test.toy") != NULL, "by the plugin's name");
	is_int(does.remote_calls, 3, "three faults in 20 s: it rests");
	w_later(w, 30000);
	is_int(does.remote_calls, 4, "and longer each time");
	is_str(check_state(w, wl), "Ready", "the check stays");
	ok(clone_of(w, 1, "wl-t") && !remote(w), "the clone too");
	w_later(w, 60000);
	ok(does.remote_calls > 4, "then it gets another chance");
	calls = does.remote_calls;
	does.remote_new = MK_SET;
	w_later(w, 120000);
	ok(remote(w) && does.remote_calls > calls, "and takes it");
	w_free(w);
}

/* One object that the adapter stumbles over, among others of its kind. */
static void poison(void)
{
	struct world *w = toy_world(0);
	static const char *const good[] = {"a", "b", "c", "d"};
	char name[8];

	w->full = true;
	a_toy_named(w, "poison", OURS);
	w_settle(w);
	admit(w, 1, "wl-poison");
	w_later(w, 70000);
	is_int(does.poison_calls, 4, "a Workload whose calls break the contract rests each time");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(name, sizeof(name), "wl-%s", good[i]);
		a_toy_named(w, good[i], OURS);
		w_settle(w);
		admit(w, 1, name);
		w_settle(w);
		ok(w_find(w, 1, TOY, "ns", good[i]) != NULL, "others of its kind do not wait");
		w_later(w, 20000);
	}
	ok(does.poison_calls > 4, "nor is it forgotten meanwhile");
	ok(!w_find(w, 1, TOY, "ns", "poison"), "nothing of it is sent");
	is_int(w_times(w_take(w), "Fault of a plugin"), 1, "told once");
	w_free(w);
}

/*
 * Faults of the status hook: the running job is left alone, its end is kept until it can be told.
 */
static void status_faults(void)
{
	struct world *w = toy_world(0);
	struct object *wl = a_won_toy(w), *job = w_find(w, 0, TOY, "ns", "t");

	ok(remote(w) != NULL, "made");
	does.status = 4711;
	w_patch(w, remote(w), "{\"status\":{\"done\":1}}");
	w_later(w, 5000);
	is_str(w_str(w, job, "/status/done"), "", "a faulty hook writes nothing");
	clone_condition(w, 1, "wl-t", "Finished", "Succeeded", true);
	w_later(w, 50000);
	ok(remote(w) && clone_of(w, 1, "wl-t"), "the finished copy is kept");
	ok(!strstr(w_str(w, wl, "/status/conditions"), "Finished"), "the Workload waits");
	ok(does.status_calls >= 3 && does.status_calls <= 8, "the adapter rests meanwhile");
	does.status = MK_SET;
	w_later(w, 130000);
	is_str(w_str(w, job, "/status/done"), "1", "then the status comes over");
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL, "and the end");
	w_later(w, 30000);
	ok(!remote(w) && !clone_of(w, 1, "wl-t"), "and nothing is left");
	w_free(w);
}

/* MK_STATUS_NONE: never called, never written, and no reason to wait at the end. */
static void no_status(void)
{
	struct world *w = toy_world(MK_STATUS_NONE);
	struct object *wl = a_won_toy(w), *job = w_find(w, 0, TOY, "ns", "t");

	w_patch(w, remote(w), "{\"status\":{\"done\":1}}");
	w_later(w, 10000);
	is_str(w_str(w, job, "/status"), "", "the local status is never written");
	is_int(does.status_calls, 0, "the hook is never called");
	clone_condition(w, 1, "wl-t", "Finished", "Succeeded", true);
	w_later(w, 30000);
	ok(strstr(w_str(w, wl, "/status/conditions"), "Finished") != NULL, "finished");
	ok(!remote(w), "and cleaned up");
	w_free(w);
}

/* MK_STATUS_IF_PRESENT: a copy without a status says nothing. */
static void status_if_present(void)
{
	struct world *w = toy_world(MK_STATUS_IF_PRESENT);
	struct object *job;

	a_toy(w, OURS);
	job = w_find(w, 0, TOY, "ns", "t");
	w_patch(w, job, "{\"status\":{\"mine\":1}}");
	w_settle(w);
	admit(w, 1, "wl-t");
	w_later(w, 5000);
	ok(remote(w) != NULL, "made");
	is_str(w_str(w, job, "/status/mine"), "1", "no remote status: the local one is left alone");
	w_patch(w, remote(w), "{\"status\":{\"done\":1}}");
	w_later(w, 5000);
	is_str(w_str(w, job, "/status"), "{\"done\":1}", "then it is the remote one");
	w_free(w);

	w = toy_world(0);
	a_toy(w, OURS);
	job = w_find(w, 0, TOY, "ns", "t");
	w_patch(w, job, "{\"status\":{\"mine\":1}}");
	w_settle(w);
	admit(w, 1, "wl-t");
	w_later(w, 5000);
	is_str(w_str(w, job, "/status/mine"), "", "without the flag absent counts as {}");
	w_free(w);
}

/*
 * Pointers of 'forward' are kept equal; the hook may edit a copy that is
 * there, and then it is stamped anew.
 */
static void forwarded(void)
{
	struct world *w = toy_world(0);
	struct object *job;

	a_won_toy(w);
	job = w_find(w, 0, TOY, "ns", "t");
	w_take(w);
	w_patch(w, job, "{\"spec\":{\"size\":5,\"colour\":\"blue\"}}");
	w_settle(w);
	is_str(w_str(w, remote(w), "/spec/size"), "5", "forwarded");
	is_str(w_str(w, remote(w), "/spec/colour"), "red", "the rest is not");
	ok(strstr(w_take(w), "merge 1 Toy t job_forward") != NULL, "by one patch");
	does.remote_old = MK_SET;
	w_patch(w, job, "{\"spec\":{\"size\":null}}");
	w_settle(w);
	is_str(w_str(w, remote(w), "/spec/size"), "", "absent here is removed there");
	is_str(w_str(w, remote(w), "/spec/colour"), "blue", "the hook's edit");
	w_take(w);
	w_later(w, 60000);
	ok(!strstr(w_take(w), "job_forward"), "equal is silent");
	does.remote_old = MK_E_INPUT;
	does.says = "odd";
	w_patch(w, job, "{\"spec\":{\"size\":7}}");
	w_settle(w);
	is_str(w_str(w, remote(w), "/spec/size"), "", "a hook that fails forwards nothing");
	ok(strstr(w_take(w), "event 0 Event wl-t") != NULL, "and is told");
	does.remote_old = MK_KEEP;
	does.says = NULL;
	w_patch(w, job, "{\"metadata\":{\"deletionTimestamp\":\"2027-01-15T08:00:00Z\"}}");
	w_later(w, 5000);
	is_str(w_str(w, remote(w), "/spec/size"), "", "nor is a job that is going forwarded");
	w_free(w);
}

/*
 * A controller over there puts the old value back each time: that must not become a loop of writes.
 */
static void undone(void)
{
	struct world *w = toy_world(0);
	struct object *wl = a_won_toy(w), *job = w_find(w, 0, TOY, "ns", "t");
	const char *log;

	w_take(w);
	w_patch(w, job, "{\"metadata\":{\"generation\":2},\"spec\":{\"size\":5}}");
	w_settle(w);
	for (int i = 0; i < 10; i++) {
		w_patch(w, remote(w), "{\"spec\":{\"size\":1}}");
		w_settle(w);
	}
	is_int((long long)w_times(w_take(w), "job_forward"), 3, "undone three times: it rests");
	for (int i = 0; i < 10; i++) {
		w_advance(w, 60 * 1000);
		w_patch(w, remote(w), "{\"spec\":{\"size\":1}}");
		w_settle(w);
	}
	log = w_take(w);
	is_int((long long)w_times(log, "event 0 Event wl-t"), 1, "... and an Event tells, once");
	ok(w_times(log, "job_forward") > 3 && w_times(log, "job_forward") < 10,
	   "... it is sent again, ever more seldom");
	w_advance(w, 5 * 60 * 1000);
	is_str(w_str(w, remote(w), "/spec/size"), "5", "... and is there when nobody undoes it");
	(void)w_take(w);
	w_patch(w, remote(w), "{\"spec\":{\"size\":1}}");
	w_settle(w);
	w_patch(w, job, "{\"metadata\":{\"generation\":3}}");
	w_settle(w);
	log = w_take(w);
	is_int((long long)w_times(log, "job_forward"), 1, "a new generation is another try");
	is_str(w_str(w, remote(w), "/spec/size"), "5", "... which may stay");
	for (int i = 6; i < 16; i++) {
		char patch[64];

		snprintf(patch, sizeof(patch), "{\"spec\":{\"size\":%d}}", i);
		w_patch(w, job, patch);
		w_settle(w);
	}
	is_str(w_str(w, remote(w), "/spec/size"), "15",
	       "what changes each time is forwarded each time");
	w_take(w);
	w->rig = (struct rig){8, OP_MERGE, 1, TOY, OUTCOME_REFUSED, ERR_CONFLICT};
	w_patch(w, job, "{\"metadata\":{\"generation\":4},\"spec\":{\"size\":16}}");
	w_later(w, 60 * 1000);
	is_str(w_str(w, remote(w), "/spec/size"), "16", "what is refused is not undone");
	is_str(check_state(w, wl), "Ready", "... and the job goes on");
	w_free(w);
}

/* No memory for the difference is not the same as none: the change arrives all the same. */
static void forwarded_without_memory(void)
{
	static char patch[600 * 1000];
	int failed = 0;

	memset(patch, 'x', sizeof(patch) - 1);
	memcpy(patch, "{\"spec\":{\"size\":\"", 17);
	memcpy(patch + sizeof(patch) - 4, "\"}}", 4);
	for (uint64_t n = 1; n < 120; n++) {
		struct world *w = toy_world(0);

		a_won_toy(w);
		w_patch(w, w_find(w, 0, TOY, "ns", "t"), patch);
		arena_done(&w->arena); /* of which a block would be left */
		w->fail_at = n;
		w_step(w);
		w_later(w, 5000);
		failed += strlen(remote(w)->text) < sizeof(patch) / 2;
		w_free(w);
	}
	is_int(failed, 0, "a change is forwarded however starved the step was that saw it");
}

/*
 * managedBy of another JSON type: reported, not dispatched, not
 * Rejected; proceeds when it is repaired.
 */
static void odd_managed_by(void)
{
	struct world *w = toy_world(0);
	struct object *wl = a_toy(w, "7");
	size_t told;

	w_later(w, 10000);
	told = w_times(w_take(w), "event 0 Event wl-t");
	is_int((long long)told, 1, "an Event tells, once");
	ok(!clone_of(w, 1, "wl-t") && !clone_of(w, 2, "wl-t"), "nothing is dispatched");
	is_str(check_state(w, wl), "Pending", "and nothing Rejected");
	w_patch(w, w_find(w, 0, TOY, "ns", "t"), "{\"spec\":{\"managedBy\":" OURS "}}");
	w_settle(w);
	ok(clone_of(w, 1, "wl-t") != NULL, "repaired: it proceeds");
	admit(w, 1, "wl-t");
	w_settle(w);
	ok(remote(w) != NULL, "to the end");
	w_free(w);
}

/* managedBy gets an odd type while the job runs: its copy stays as it is until that is repaired. */
static void odd_while_it_runs(void)
{
	struct world *w = toy_world(0);
	struct object *wl = a_won_toy(w);

	w_take(w);
	w_patch(w, w_find(w, 0, TOY, "ns", "t"), "{\"spec\":{\"managedBy\":7}}");
	w_settle(w);
	w_patch(w, remote(w), "{\"status\":{\"done\":1}}");
	w_later(w, 60000);
	ok(!strstr(w_take(w), "get 0 Toy"), "of an odd type: nothing is asked");
	ok(remote(w) && clone_of(w, 1, "wl-t"), "nothing is deleted");
	is_str(w_str(w, w_find(w, 0, TOY, "ns", "t"), "/status/done"), "", "nor written");
	is_str(check_state(w, wl), "Ready", "nor taken back");
	w_patch(w, w_find(w, 0, TOY, "ns", "t"), "{\"spec\":{\"managedBy\":" OURS "}}");
	w_later(w, 5000);
	is_str(w_str(w, w_find(w, 0, TOY, "ns", "t"), "/status/done"), "1",
	       "repaired: its status comes");
	w_free(w);
}

/* Another controller runs the job from now on: a copy of it would be a second run. */
static void given_away(void)
{
	struct world *w = toy_world(0);
	struct object *wl = a_won_toy(w);

	w_patch(w, w_find(w, 0, TOY, "ns", "t"),
		"{\"spec\":{\"managedBy\":\"example.com/other\"}}");
	w_settle(w);
	ok(!remote(w) && !clone_of(w, 1, "wl-t"), "another controller's: the copies go at once");
	w_later(w, 60000);
	is_str(check_state(w, wl), "Ready", "... and nothing is written");
	w_patch(w, w_find(w, 0, TOY, "ns", "t"), "{\"spec\":{\"managedBy\":" OURS "}}");
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry", "given back: it is queued again");
	w_free(w);
}

/* A note is cut to 1024 bytes. */
static void long_words(void)
{
	struct world *w = toy_world(0);
	char words[1021];
	const char *note, *end;

	memset(words, 'x', sizeof(words) - 1);
	words[sizeof(words) - 1] = 0;
	does.remote_new = MK_E_INPUT;
	does.says = words;
	w->full = true;
	a_won_toy(w);
	note = strstr(w_take(w), "\"note\":\"The job cannot be handled: ");
	ok(note != NULL, "told");
	note = note ? note + strlen("\"note\":\"") : "\"";
	end = strchr(note, '"');
	is_int(end - note, 1024, "as many bytes as Kubernetes takes");
	ok(strncmp(end - 4, " ...", 4) == 0, "and it shows that more was said");
	w_free(w);
}

int main(void)
{
	unusable();
	not_yet();
	breach();
	poison();
	status_faults();
	no_status();
	status_if_present();
	forwarded();
	undone();
	forwarded_without_memory();
	odd_managed_by();
	given_away();
	odd_while_it_runs();
	long_words();
	return done_testing();
}
