/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One object with several Workloads, as LeaderWorkerSets have: who is tried, who
 * follows, and whose the remote copy is.
 */
#include "t/lib/engine_world.h"

enum { SET = JOB + 1, SECOND = 1000, TIMEOUT = 900 * SECOND };

static const char *const set_forward[] = {"/spec/replicas", NULL};
static const mk_adapter set = {.struct_size = sizeof(mk_adapter),
			       .flags = MK_STATUS_NONE,
			       .group = "test.io",
			       .version = "v1",
			       .kind = "Set",
			       .replicas = "/spec/replicas",
			       .forward = set_forward};
static const void *const set_items[] = {&set};
static const mk_factory set_factory = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, set_items};
static const mk_factory *const set_factories[] = {&set_factory, NULL};
static const mk_entry set_plugin = MK_ENTRY("io.test.set", "1", set_factories);

static struct object *a_set(struct world *w, const char *replicas)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"test.io/v1\",\"kind\":\"Set\",\"metadata\":{\"name\":\"s\","
		 "\"namespace\":\"ns\",\"generation\":1},\"spec\":{\"replicas\":%s}}",
		 replicas);
	return w_put(w, 0, SET, text);
}

/* Component 'index' of 'owner', with quota. */
static struct object *component(struct world *w, const struct object *owner, int index)
{
	char text[2048];
	struct object *wl;

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
		 "\"name\":\"c%d\",\"namespace\":\"ns\",\"generation\":1,\"annotations\":{"
		 "\"kueue.x-k8s.io/job-owner-gvk\":\"test.io/v1, Kind=Set\","
		 "\"kueue.x-k8s.io/job-owner-name\":\"s\","
		 "\"kueue.x-k8s.io/component-workload-index\":\"%d\"},\"ownerReferences\":[{"
		 "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"s-%d\",\"uid\":\"pod\"},{"
		 "\"apiVersion\":\"test.io/v1\",\"kind\":\"Set\",\"name\":\"s\",\"uid\":\"%s\"}]},"
		 "\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":2}]},\"status\":{"
		 "\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"\","
		 "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}",
		 index, index, index, owner->uid);
	wl = w_put(w, 0, KIND_WORKLOAD, text);
	w_apply(w, wl, "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	return wl;
}

/* A set of two that runs on w2. */
static void running_set(struct world *w, struct object *c[2])
{
	struct object *s = a_set(w, "2");

	c[1] = component(w, s, 1);
	c[0] = component(w, s, 0);
	w_settle(w);
	admit(w, 2, "c0");
	w_settle(w);
	admit(w, 2, "c1");
	w_settle(w);
	(void)w_take(w);
}

static void dispatch(void)
{
	struct world *w = w_new(3);
	struct object *s = a_set(w, "2"), *c0, *c1 = component(w, s, 1);

	w_settle(w);
	is_str(nominated(w, c1), "", "all components exist before any is nominated");
	c0 = component(w, s, 0);
	w_settle(w);
	is_str(nominated(w, c0), "[\"w1\",\"w2\",\"w3\"]", "the lowest index leads");
	is_str(nominated(w, c1), "", "the others wait for its cluster");
	ok(!clone_of(w, 1, "c1"), "... without a clone");
	admit(w, 2, "c0");
	w_settle(w);
	is_str(w_str(w, c0, "/status/clusterName"), "w2", "the leader wins");
	is_str(nominated(w, c1), "[\"w2\"]", "a follower is pinned to the leader's cluster");
	ok(clone_of(w, 2, "c1") && !clone_of(w, 1, "c1") && !clone_of(w, 3, "c1"),
	   "... and cloned only there");
	admit(w, 2, "c1");
	w_settle(w);
	is_str(check_state(w, c1), "Ready", "... where it wins");
	is_int((long long)w_times(w_take(w), "create 2 Set s "), 1, "one copy serves all");
	s = w_find(w, 2, SET, "ns", "s");
	is_str(w_str(w, s, "/metadata/annotations/kueue.x-k8s.io~1multikueue-origin-uid"),
	       w_find(w, 0, SET, "ns", "s")->uid, "it is the object's, by uid");
	is_str(w_str(w, s, "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"), "",
	       "... and no one Workload's");
	is_str(w_str(w, s, "/metadata/annotations/multikueued.io~1workload-uid"), "",
	       "... by no mark");
	w_advance(w, 60 * 1000);
	is_str(w_take_work(w), "", "then silence");
	w_free(w);
}

static void scaled(bool synced)
{
	struct world *w = w_new(2);
	struct object *c[2];

	running_set(w, c);
	w->gate_no_sync = !synced;
	w_restart(w);
	w_settle(w);
	(void)w_take(w);
	w_patch(w, w_find(w, 0, SET, "ns", "s"),
		"{\"metadata\":{\"generation\":2},\"spec\":{\"replicas\":1}}");
	w_settle(w);
	is_str(w_str(w, w_find(w, 2, SET, "ns", "s"), "/spec/replicas"), synced ? "1" : "2",
	       synced ? "a new number of replicas is forwarded"
		      : "gate MultiKueueRemoteSpecSync off: nothing is forwarded");
	(void)w_take(w);
	w_del(w, c[1]);
	w_settle(w);
	is_str(w_take_work(w), "delete 2 Workload c1 workload_gone\n",
	       "a component goes: the others keep the copy");
	w_del(w, w_find(w, 0, SET, "ns", "s"));
	w_del(w, c[0]);
	w_settle(w);
	is_int((long long)objects_on(w, 2), 0, "the last one takes it along");
	w_free(w);
}

static void evicted(void)
{
	struct world *w = w_new(2);
	struct object *c[2];

	running_set(w, c);
	evict(w, c[0], "P");
	w_settle(w);
	release_quota(w, c[0]);
	w_settle(w);
	ok(!clone_of(w, 2, "c0") && w_find(w, 2, SET, "ns", "s"),
	   "one is evicted: its clone goes, the copy stays");
	give_quota(w, c[0]);
	w_settle(w);
	is_str(nominated(w, c[0]), "[\"w2\"]", "... and it comes back to where the others are");
	ok(!clone_of(w, 1, "c0"), "... only there");
	w_free(w);
}

static void away(void)
{
	struct world *w = w_new(2);
	struct object *c[2];

	running_set(w, c);
	evict(w, c[1], "P");
	w_settle(w);
	release_quota(w, c[1]);
	w_settle(w);
	w_link(w, 2, LINK_DOWN);
	give_quota(w, c[1]);
	w_settle(w);
	ok(!clone_of(w, 1, "c1"), "their cluster is away: it waits");
	w_free(w);
}

static void divided(void)
{
	struct world *w = w_new(2);
	struct object *s = a_set(w, "3"), *c;

	w->full = true;
	for (int i = 0; i < 2; i++) {
		c = component(w, s, i);
		w_patch(w, c,
			i ? "{\"status\":{\"clusterName\":\"w1\"}}"
			  : "{\"status\":{\"clusterName\":\"w2\"}}");
	}
	c = component(w, s, 2);
	w_settle(w);
	is_str(nominated(w, c), "", "components on two clusters: no third one");
	ok(strstr(w_take(w), "component workloads assigned to different clusters: \\\"w") != NULL,
	   "... and an Event tells");
	w_free(w);
}

static void unusable(const char *replicas)
{
	struct world *w = w_new(1);
	struct object *c = component(w, a_set(w, replicas), 0);

	w_settle(w);
	is_str(nominated(w, c), "", "trap_61: no number of replicas can be: nothing is sent");
	is_str(check_state(w, c), "Pending", "... nor is it Rejected");
	w_patch(w, w_find(w, 0, SET, "ns", "s"), "{\"spec\":{\"replicas\":1}}");
	w_settle(w);
	is_str(nominated(w, c), "[\"w1\"]", "... until they are one");
	w_free(w);
}

/*
 * A scaler over there puts its own number back each time: the components share
 * the copy, and so its rest.
 */
static void undone(void)
{
	struct world *w = w_new(2);
	struct object *c[2];
	const char *log;

	running_set(w, c);
	w_patch(w, w_find(w, 0, SET, "ns", "s"),
		"{\"metadata\":{\"generation\":2},\"spec\":{\"replicas\":1}}");
	w_settle(w);
	for (int i = 0; i < 20; i++) {
		w_patch(w, w_find(w, 2, SET, "ns", "s"), "{\"spec\":{\"replicas\":9}}");
		w_settle(w);
	}
	is_int((long long)w_times(w_take(w), "job_forward"), 3,
	       "undone three times: it rests for all");
	w_advance(w, 10 * 1000);
	log = w_take(w);
	is_int((long long)w_times(log, "event 0 Event"), 1, "... an Event tells once");
	is_str(w_str(w, w_find(w, 2, SET, "ns", "s"), "/spec/replicas"), "1",
	       "... and it is sent again");
	w_free(w);
}

/* The set was deleted and made anew while we were down. */
static void another_set(void)
{
	struct world *w = w_new(1);
	struct object *s = a_set(w, "1"), *c = component(w, s, 0);
	char old[32];

	w_settle(w);
	admit(w, 1, "c0");
	w_settle(w);
	snprintf(old, sizeof(old), "%s", w_find(w, 1, SET, "ns", "s")->uid);
	w->up[0] = false;
	w_del(w, c);
	w_del(w, s);
	c = component(w, a_set(w, "1"), 0);
	w->up[0] = true;
	w_restart(w);
	w_settle(w);
	w_advance(w, 60 * 1000);
	admit(w, 1, "c0");
	w_advance(w, 60 * 1000);
	s = w_find(w, 1, SET, "ns", "s");
	ok(s && strcmp(s->uid, old) != 0, "the copy of an earlier object is no copy of this one");
	w_free(w);
}

/*
 * Nothing says any more where the set runs: the first component's Workload is made anew, and a
 * client has cleared the other one's clusterName. The set itself does.
 */
static void nowhere_on_record(void)
{
	struct world *w = w_new(2);
	struct object *c[2], *s;

	running_set(w, c);
	s = w_find(w, 0, SET, "ns", "s");
	w_patch(w, c[1], "{\"status\":{\"clusterName\":null}}");
	w_del(w, c[0]);
	w_settle(w);
	c[0] = component(w, s, 0);
	w_later(w, 5000);
	for (int i = 0; i < 12; i++) {
		if (clone_of(w, 1, "c0")) {
			admit(w, 1, "c0");
		}
		w_later(w, 5000);
		ok(!w_find(w, 1, SET, "ns", "s") || !w_find(w, 2, SET, "ns", "s"),
		   "nothing is on record of a set that runs: it does not run elsewhere as well");
	}
	w_free(w);
}

/*
 * The Workloads of a set are made anew while no process runs, and its worker is not in sight. The
 * set has no status of its own that says where, or whether, it runs.
 */
static void made_anew_unseen(int64_t after)
{
	struct world *w = w_new(2);
	struct object *c[2], *s;

	running_set(w, c);
	s = w_find(w, 0, SET, "ns", "s");
	w->stay_down[2] = true;
	w_stop(w);
	w_del(w, c[0]);
	w_del(w, c[1]);
	w->wall += after;
	c[1] = component(w, s, 1);
	c[0] = component(w, s, 0);
	w_start(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 20 * 1000);
	admit(w, 1, "c0");
	w_later(w, 60 * 1000);
	if (after == 0) {
		ok(w_find(w, 1, SET, "ns", "s") != NULL, "... one as old as the set is the first");
		w_free(w);
		return;
	}
	ok(!w_find(w, 1, SET, "ns", "s"),
	   "younger than the set: it may run on a worker never seen");
	ok(strstr(check_message(w, c[0]), "a copy from an earlier round may be there") != NULL,
	   "... which the check's message reports");
	w_later(w, 20 * 60 * 1000);
	ok(w_find(w, 1, SET, "ns", "s") != NULL, "... until it counts as lost");
	w_free(w);
}

/* The set and its Workloads are deleted while no process runs, after its clones: the copy goes. */
static void gone_while_away(void)
{
	struct world *w = w_new(2);
	struct object *c[2];

	running_set(w, c);
	w->up[0] = false;
	w_del(w, clone_of(w, 2, "c0"));
	w_del(w, clone_of(w, 2, "c1"));
	w_del(w, c[0]);
	w_del(w, c[1]);
	w_del(w, w_find(w, 0, SET, "ns", "s"));
	w->up[0] = true;
	w_restart(w);
	w_later(w, 10 * 60 * 1000);
	ok(!w_find(w, 2, SET, "ns", "s"),
	   "a set without clones whose Workloads are gone is removed");
	w_free(w);
}

/* --- the worker where it ran comes back ------------------------------------------------------- */

/*
 * The set ran on w2, which was lost, and both components have had their Retry. The first one is
 * queued again, with a clone on w1; the other one has no quota yet.
 */
static struct world *lost(struct object *c[2])
{
	struct world *w = w_new(2);

	running_set(w, c);
	w_link(w, 2, LINK_DOWN);
	w_later(w, TIMEOUT + 60 * SECOND);
	is_str(check_state(w, c[0]), "Retry", "the worker of a set is lost");
	is_str(check_state(w, c[1]), "Retry", "... for both components");
	evict(w, c[1], "AdmissionCheck");
	evict(w, c[0], "AdmissionCheck");
	w_settle(w);
	release_quota(w, c[0]);
	release_quota(w, c[1]);
	w_settle(w);
	give_quota(w, c[0]);
	w_later(w, 60 * SECOND);
	return w;
}

/* What comes with the next w_settle: the second component is queued again. */
static void requeue(struct world *w, struct object *c1, const char *nominated)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"status\":{\"nominatedClusterNames\":%s}}", nominated);
	give_quota(w, c1);
	w_patch(w, c1, text);
}

/* Both components are admitted on worker 'at' and win there; nothing is left on the other one. */
static void is_on_one(struct world *w, struct object *c[2], cluster_id at, const char *text)
{
	const char *where = at == 1 ? "w1" : "w2";
	cluster_id other = 3 - at;
	bool once = true;

	for (int i = 0; i < 24; i++) {
		for (int j = 0; j < 2; j++) {
			if (clone_of(w, at, j ? "c1" : "c0")) {
				admit(w, at, j ? "c1" : "c0");
			}
		}
		w_later(w, 5 * SECOND);
		once &= i == 0 || !w_find(w, 1, SET, "ns", "s") || !w_find(w, 2, SET, "ns", "s");
	}
	ok(once, text);
	is_str(w_str(w, c[0], "/status/clusterName"), where, "... the first component goes there");
	is_str(w_str(w, c[1], "/status/clusterName"), where, "... so does the second one");
	ok(!w_find(w, other, SET, "ns", "s") && !clone_of(w, other, "c0") &&
		   !clone_of(w, other, "c1"),
	   "... nothing is left elsewhere");
}

/*
 * The first component has won on w1 when w2 is back, where the second one's clone and the copy are.
 * 'names': where a client nominates the second one; 'anew': its Workload was made anew.
 */
static void back_after_win(const char *names, bool anew)
{
	struct object *c[2];
	struct world *w = lost(c);

	admit(w, 1, "c0");
	w_settle(w);
	is_str(w_str(w, c[0], "/status/clusterName"), "w1", "the first one wins on another worker");
	if (anew) {
		w_del(w, c[1]);
		w_settle(w);
		c[1] = component(w, w_find(w, 0, SET, "ns", "s"), 1);
	}
	requeue(w, c[1], names);
	w_link(w, 2, LINK_UP);
	is_on_one(w, c, 1, "its copy goes where the set ran before");
	w_free(w);
}

/* The second component has no quota when w2 is back, or is 'evicted' and has it yet. */
static void back_at_eviction(bool evicted)
{
	struct object *c[2];
	struct world *w = lost(c);

	admit(w, 1, "c0");
	w_settle(w);
	if (evicted) {
		evict(w, c[1], "P");
	}
	w_link(w, 2, LINK_UP);
	w_later(w, 30 * SECOND);
	ok(!w_find(w, 2, SET, "ns", "s"), "a component that is not placed keeps no copy");
	release_quota(w, c[1]);
	w_settle(w);
	give_quota(w, c[1]);
	is_on_one(w, c, 1, "... and gets none of its own");
	w_free(w);
}

/*
 * w2 is back before the first component wins on w1. The second one has a clone on w2, with the
 * copy, but a client has nominated it for w1 alone.
 */
static void back_before_win(void)
{
	struct object *c[2];
	struct world *w = lost(c);

	requeue(w, c[1], "[\"w1\"]");
	w_del(w, clone_of(w, 2, "c0"));
	w_link(w, 2, LINK_UP);
	w_settle(w);
	is_on_one(w, c, 1, "a component that waits elsewhere keeps no copy from going");
	w_free(w);
}

/* Without a copy anywhere, both components could win at the same time, each on another worker. */
static void both_could_win(bool refused)
{
	struct object *c[2];
	struct world *w = lost(c);

	requeue(w, c[1], "[\"w1\"]");
	w_del(w, w_find(w, 2, SET, "ns", "s"));
	w_del(w, clone_of(w, 2, "c0"));
	w_link(w, 2, LINK_UP);
	w_settle(w);
	if (refused) {
		w->rig = (struct rig){.times = 1,
				      .type = OP_APPLY_STATUS,
				      .kind = KIND_WORKLOAD,
				      .outcome = OUTCOME_REFUSED,
				      .code = ERR_DENIED};
	}
	w_patch(w, c[1], "{\"status\":{\"nominatedClusterNames\":[\"w2\"]}}");
	admit(w, 1, "c0");
	w_step(w);
	if (refused) {
		w_del(w, clone_of(w, 2, "c1"));
		w_settle(w);
		is_str(w_str(w, c[0], "/status/clusterName"), "w1",
		       "one win is refused: the other one wins");
		is_on_one(w, c, 1, "... and takes the set");
	} else {
		is_on_one(w, c, 2, "both could win on different workers: one does");
	}
	w_free(w);
}

/* --- on two clusters -------------------------------------------------------------------------- */

/*
 * Both components have won and run, each on another worker, as when a daemon that led before wrote
 * late.
 */
static void won_on_two(void)
{
	struct object *c[2];
	struct world *w = w_new(2);

	running_set(w, c);
	w->up[0] = false;
	(void)w_put(w, 1, KIND_WORKLOAD, clone_of(w, 2, "c1")->text);
	(void)w_put(w, 1, SET, w_find(w, 2, SET, "ns", "s")->text);
	w_del(w, clone_of(w, 2, "c1"));
	w_patch(w, c[1], "{\"status\":{\"clusterName\":\"w1\"}}");
	w->up[0] = true;
	w_restart(w);
	w_later(w, 30 * SECOND);
	is_str(check_state(w, c[0]), "Ready",
	       "a set runs on two workers: the first component stays");
	is_str(check_state(w, c[1]), "Retry", "... the other one gives way");
	evict(w, c[1], "AdmissionCheck");
	w_settle(w);
	ok(!w_find(w, 1, SET, "ns", "s"), "... its copy goes");
	release_quota(w, c[1]);
	w_settle(w);
	give_quota(w, c[1]);
	is_on_one(w, c, 2, "... and it follows");
	w_free(w);
}

int main(void)
{
	w_more = &set_plugin;
	dispatch();
	scaled(true);
	scaled(false);
	evicted();
	away();
	divided();
	unusable("\"many\"");
	unusable("-1");
	unusable("2147483648");
	unusable("1e300");
	undone();
	another_set();
	nowhere_on_record();
	made_anew_unseen(20 * 1000);
	made_anew_unseen(2 * 1000);
	made_anew_unseen(0);
	gone_while_away();
	back_after_win("[\"w1\",\"w2\"]", false);
	back_after_win("[\"w2\"]", false);
	back_after_win("[\"w2\"]", true);
	back_at_eviction(false);
	back_at_eviction(true);
	back_before_win();
	both_could_win(false);
	both_could_win(true);
	won_on_two();
	return done_testing();
}
