/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of Pods when something goes wrong: refusals, evictions, lost workers,
 * restarts, answers that do not come.
 */
#include "t/lib/engine_pods.h"

static size_t pods_on(const struct world *w, cluster_id c)
{
	size_t n = 0;

	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		n += w->o[i].used && w->o[i].cluster == c && w->o[i].kind == POD;
	}
	return n;
}

/* The name of a check that many rounds make. */
static const char *of(const char *what, size_t n, const char *name)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s %zu: %s", what, n, name);
	return text;
}

/* Kueue's core takes the quota back and gives it again: a new round. */
static void another_round(struct world *w, struct object *wl)
{
	evict(w, wl, "Evicted due to AdmissionCheck");
	w_later(w, 1000);
	release_quota(w, wl);
	w_later(w, 4000);
	give_quota(w, wl);
	w_settle(w);
}

static void refused(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_group(w);

	w_settle(w);
	w->hold = true;
	admit(w, 2, "grp");
	w_settle(w);
	w->hold = false;
	w_restart(w);
	admit(w, 2, "grp");
	w->rig = (struct rig){1, OP_CREATE, 2, POD, OUTCOME_REFUSED, ERR_INVALID};
	w_settle(w);
	is_str(check_state(w, wl), "Retry", "one member is refused for good: another round");
	ok(strstr(check_message(w, wl), "Cannot create the job on \"w2\": the server said no") !=
		   NULL,
	   "... with the server's words");
	another_round(w, wl);
	is_int((long long)pods_on(w, 2), 0, "the members that were made are taken away");
	admit(w, 1, "grp");
	w_settle(w);
	is_int((long long)pods_on(w, 1), 3, "... and all of them are made elsewhere");
	is_str(check_state(w, wl), "Ready", "... where the group runs");
	w_free(w);
}

/* w2 has been too busy for its members for minutes, and wins the next round. */
static void busy_in_the_round_before(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_group(w);

	w_settle(w);
	w->rig = (struct rig){100000, OP_CREATE, 2, POD, OUTCOME_REFUSED, ERR_LIMITED};
	w->rig_http = 429;
	admit(w, 2, "grp");
	w_later(w, 10 * 60 * 1000);
	w->rig = (struct rig){0};
	another_round(w, wl);
	admit(w, 2, "grp");
	w_later(w, 1000);
	is_int((long long)pods_on(w, 2), 3, "refused in the round before: each is tried at once");
	w_free(w);
}

/* Another object stands where a member's copy should be. */
static void foreign(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_group(w), *theirs;
	char uid[32];

	theirs = w_put(w, 2, POD,
		       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-1\","
		       "\"namespace\":\"ns\"}}");
	snprintf(uid, sizeof(uid), "%s", theirs->uid);
	w_settle(w);
	admit(w, 2, "grp");
	w_settle(w);
	is_str(check_state(w, wl), "Retry",
	       "a pod that is not ours has a member's name: another round");
	for (int i = 0; i < 3; i++) {
		another_round(w, wl);
		is_int((long long)pods_on(w, 2), 1, "the others go, theirs stays");
		w_later(w, 60 * 1000);
		if (clone_of(w, 2, "grp")) {
			admit(w, 2, "grp");
			w_settle(w);
		}
	}
	w_take(w);
	another_round(w, wl);
	ok(!clone_of(w, 2, "grp"),
	   "each time the cluster rests longer, though the other members fit");
	ok(clone_of(w, 1, "grp") != NULL, "... while others are tried");
	is_str(pod_on(w, 2, "p-1")->uid, uid, "nothing was done to theirs");
	w_free(w);
}

static void evicted_here(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	evict(w, wl, "Preempted");
	w_settle(w);
	is_str(w_take_work(w), "apply_status 2 Workload grp deactivate\n",
	       "evicted here: the worker is told to stop the group");
	pod_phase(w, 2, "p-0", "Failed");
	pod_phase(w, 2, "p-2", "Failed");
	w_later(w, 2000);
	is_str(phase_of(w, 0, "p-0"), "Failed", "members' last words come home meanwhile");
	is_str(phase_of(w, 0, "p-2"), "Failed", "... of each");
	release_quota(w, wl);
	w_later(w, 20 * 1000);
	is_int((long long)objects_on(w, 2), 0, "the quota is back: all copies go, and the clone");
	ok(pod_on(w, 0, "p-0") && pod_on(w, 0, "p-1") && pod_on(w, 0, "p-2"),
	   "... and no pod here");
	give_quota(w, wl);
	w_settle(w);
	admit(w, 1, "grp");
	w_settle(w);
	ok(pod_on(w, 1, "p-1") && !pod_on(w, 1, "p-0") && !pod_on(w, 1, "p-2"),
	   "the next round makes those that have not ended");
	a_pod(w, "p-3", "grp");
	a_pod(w, "p-4", "grp");
	w_settle(w);
	is_int((long long)pods_on(w, 1), 3, "... and the successors of the others");
	w_free(w);
}

static void evicted_there(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	clone_condition(w, 2, "grp", "Evicted", "Preempted", true);
	w_settle(w);
	is_str(check_state(w, wl), "Retry", "evicted on the worker: another round");
	w_take(w);
	another_round(w, wl);
	ok(strstr(w_take(w), "apply_status 2 Workload grp deactivate") != NULL,
	   "its worker does not queue it again");
	is_int((long long)pods_on(w, 2), 0, "all copies are gone");
	admit(w, 1, "grp");
	w_settle(w);
	is_int((long long)pods_on(w, 1), 3, "and are made where the next round leads");
	w_free(w);
}

static void lost(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	w->stay_down[w->links[2]] = true;
	w_link(w, 2, LINK_DOWN);
	w_later(w, 14 * 60 * 1000);
	is_str(check_state(w, wl), "Ready", "its worker is away: the group has time");
	a_pod(w, "p-3", "grp");
	w_del(w, pod_on(w, 0, "p-0"));
	w_later(w, 60 * 1000 + 1000);
	is_str(check_state(w, wl), "Retry", "too long: another round");
	evict(w, wl, "Evicted due to AdmissionCheck");
	w_later(w, 5000);
	is_str(phase_of(w, 0, "p-1"), "Pending", "a member that runs nowhere says so");
	is_str(w_str(w, pod_on(w, 0, "p-1"), "/status/conditions/0/reason"), "SchedulingGated",
	       "... and waits at its gate again: Kueue gives the quota back");
	is_str(phase_of(w, 0, "p-2"), "Pending", "... as do the others");
	w_take(w);
	w_later(w, 60 * 1000);
	is_str(w_take_work(w), "", "... once");
	another_round(w, wl);
	admit(w, 1, "grp");
	w_settle(w);
	ok(pod_on(w, 1, "p-1") && pod_on(w, 1, "p-2") && pod_on(w, 1, "p-3") &&
		   !pod_on(w, 1, "p-0"),
	   "elsewhere, with the members of now");
	w->stay_down[w->links[2]] = false;
	w_link(w, 2, LINK_UP);
	w_later(w, 60 * 1000);
	is_int((long long)objects_on(w, 2), 0, "the worker is back: what was left there goes");
	is_int((long long)pods_on(w, 1), 3, "... and nothing else");
	is_str(check_state(w, wl), "Ready", "the group runs");
	w_free(w);
}

/*
 * The lost worker is back in the middle of the next round, with all copies: they run
 * there or elsewhere, never in both.
 */
static void back_again(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);
	bool twice = false;

	w->stay_down[w->links[2]] = true;
	w_link(w, 2, LINK_DOWN);
	w_later(w, 16 * 60 * 1000);
	another_round(w, wl);
	is_int((long long)pods_on(w, 2), 3, "a lost worker's copies are still there");
	a_pod(w, "a-new-one", "grp"); /* it speaks for the group, and has no copy */
	w->stay_down[w->links[2]] = false;
	w_link(w, 2, LINK_UP);
	admit(w, 1, "grp");
	for (int i = 0; i < 300; i++) {
		w_step(w);
		twice |= pods_on(w, 1) > 0 && pods_on(w, 2) > 0;
		w->now += w->n_q == 0 ? 100 : 0;
	}
	w_later(w, 60 * 1000);
	ok(!twice, "... and when it is back, no second set beside them");
	is_int((long long)(pods_on(w, 1) + pods_on(w, 2)), 4, "... but one set, complete");
	is_str(check_state(w, wl), "Ready", "... that runs");
	w_free(w);
}

/*
 * Killed and started again at any point, the group ends in the same way, and no member is made
 * twice.
 */
static void restarted(int at)
{
	struct world *w = w_new(2);
	struct object *wl = a_group(w);
	static const char *const names[] = {"p-0", "p-1", "p-3"};
	char uid[3][32];

	w->full = false;
	for (int phase = 0; phase < 10; phase++) {
		switch (phase) {
		case 1:
			admit(w, 2, "grp");
			break;
		case 2:
			pod_phase(w, 2, "p-0", "Running");
			pod_phase(w, 2, "p-1", "Running");
			pod_phase(w, 2, "p-2", "Running");
			break;
		case 3:
			pod_goes(w, "p-2");
			break;
		case 4:
			w_del(w, pod_on(w, 0, "p-2"));
			break;
		case 5:
			a_pod(w, "p-3", "grp");
			break;
		case 6:
			for (int i = 0; i < 3; i++) {
				snprintf(uid[i], 32, "%s", pod_on(w, 2, names[i])->uid);
			}
			pod_phase(w, 2, "p-0", "Succeeded");
			break;
		case 7:
			for (int i = 0; i < 3; i++) {
				ok(pod_on(w, 2, names[i]) &&
					   !strcmp(uid[i], pod_on(w, 2, names[i])->uid),
				   of("restart in phase", (size_t)at, "no member is made twice"));
			}
			pod_phase(w, 2, "p-1", "Succeeded");
			pod_phase(w, 2, "p-3", "Failed");
			break;
		case 8:
			clone_condition(w, 2, "grp", "Finished", "Failed", true);
			break;
		default:
			break;
		}
		if (phase == at) {
			w_step(w); /* what it did not wait for is lost */
			w_restart(w);
		}
		w_later(w, 20 * 1000);
	}
	ok(is_finished(w, wl), of("restart in phase", (size_t)at, "the group ends"));
	is_str(phase_of(w, 0, "p-0"), "Succeeded", "... with each status");
	is_str(phase_of(w, 0, "p-3"), "Failed", "... of each member");
	w_later(w, 20 * 60 * 1000);
	is_int((long long)(objects_on(w, 1) + objects_on(w, 2)), 0, "... and nothing is left");
	is_int((long long)pods_on(w, 0), 3, "... but here");
	w_free(w);
}

/* The n-th answer of a group's life is lost; what was asked for happened, or did not. */
static void unanswered(size_t n, bool done)
{
	struct world *w = w_new(2);
	struct object *wl = a_group(w);

	w->lose = done ? n : 0;
	w->drop = done ? 0 : n;
	w_later(w, 1000);
	if (!clone_of(w, 2, "grp")) {
		w_later(w, 30 * 1000);
	}
	admit(w, 2, "grp");
	w_later(w, 30 * 1000);
	ok(pods_on(w, 2) == 3, of(done ? "lost answer" : "lost request", n, "three members"));
	pod_phase(w, 2, "p-0", "Succeeded");
	pod_phase(w, 2, "p-1", "Succeeded");
	pod_phase(w, 2, "p-2", "Succeeded");
	clone_condition(w, 2, "grp", "Finished", "Succeeded", true);
	w_later(w, 60 * 1000);
	ok(is_finished(w, wl) && objects_on(w, 1) + objects_on(w, 2) == 0 &&
		   !strcmp(phase_of(w, 0, "p-2"), "Succeeded"),
	   of(done ? "lost answer" : "lost request", n, "the end"));
	w_free(w);
}

/* A thousand members are looked at by turns, and what is told already is not looked at again. */
static void big(void)
{
	enum { N = 300 };
	struct world *w = w_new(1);
	char name[32];
	size_t most = 0;

	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "m-%03d", i);
		a_pod(w, name, "big");
	}
	a_pods_workload(w, "big", "m-000,");
	w_settle(w);
	admit(w, 1, "big");
	w_later(w, 5000);
	is_int((long long)pods_on(w, 1), N, "a large group is made");
	w_take(w);
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "m-%03d", i);
		pod_phase(w, 1, name, "Running");
	}
	while (strcmp(phase_of(w, 0, "m-299"), "Running") != 0 && w->now < 100 * 1000) {
		size_t before = w->requests;

		w_step(w);
		most = w->requests - before > most ? w->requests - before : most;
		w->now += w->n_q == 0;
	}
	ok(most > 0 && most <= 64, "no step looks at more than 64 of it");
	is_str(phase_of(w, 0, "m-000"), "Running", "all are told");
	w_free(w);
}

/* Memory fails once, at every place in turn. */
static void no_memory(void)
{
	struct world *w;
	struct object *wl;
	uint64_t n;
	bool ended = true;

	for (n = 1; n < 400 && ended; n += 3) {
		w = w_new(1);
		wl = a_group(w);
		w_settle(w);
		admit(w, 1, "grp");
		w->fail_at = n;
		w_later(w, 30 * 1000);
		for (int i = 0; i < 3 && pods_on(w, 1) == 3; i++) {
			static const char *const names[] = {"p-0", "p-1", "p-2"};

			w->fail_at = n;
			pod_phase(w, 1, names[i], "Succeeded");
			w_later(w, 30 * 1000);
		}
		clone_condition(w, 1, "grp", "Finished", "Succeeded", true);
		w->fail_at = n;
		w_later(w, 60 * 1000);
		ended = is_finished(w, wl) && objects_on(w, 1) == 0 &&
			!strcmp(phase_of(w, 0, "p-1"), "Succeeded");
		w_free(w);
	}
	ok(ended, "memory fails for a moment, anywhere: the group's end is the same");
}

/*
 * Two members end and are removed while the manager refuses their status; then the others win
 * elsewhere. What has ended is not run again there, so that its end still has to come home.
 */
static void ends_refused_while_others_move(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	w->rig =
		(struct rig){1000000, OP_MERGE, CLUSTER_MANAGER, POD, OUTCOME_REFUSED, ERR_TOO_BIG};
	pod_phase(w, 2, "p-0", "Succeeded");
	pod_phase(w, 2, "p-1", "Succeeded");
	w_settle(w);
	w_del(w, pod_on(w, 2, "p-0"));
	w_del(w, pod_on(w, 2, "p-1"));
	clone_condition(w, 2, "grp", "Evicted", "Preempted", true);
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry",
	       "evicted on the worker while two members' ends are refused");
	another_round(w, wl);
	w_later(w, 20 * 1000);
	admit(w, 1, "grp");
	w_later(w, 60 * 1000);
	is_str(w_str(w, wl, "/status/clusterName"), "w1", "... the group wins elsewhere");
	ok(pod_on(w, 1, "p-2") && !pod_on(w, 1, "p-0") && !pod_on(w, 1, "p-1"),
	   "... those that have ended are not run again");
	w_later(w, 30 * 60 * 1000);
	w->rig.times = 0;
	w_later(w, 10 * 60 * 1000);
	is_str(phase_of(w, 0, "p-0"), "Succeeded", "the manager takes it: the end is home");
	is_str(phase_of(w, 0, "p-1"), "Succeeded", "... of each");
	ok(pod_on(w, 1, "p-2") && pods_on(w, 1) == 1, "... and the last member runs on");
	w_free(w);
}

/*
 * While no process looks, another client edits the Workload and a user deletes a member that had
 * ended. The answer to the question for that member is the last that happens.
 */
static void edited_unseen(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_group(w);

	pod_phase(w, 2, "p-1", "Succeeded");
	w_settle(w);
	w_stop(w);
	w_patch(w, wl,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"maximumExecutionTimeSeconds\":3600}"
		"}");
	w_del(w, pod_on(w, 0, "p-1"));
	w_start(w);
	w_later(w, 5000);
	is_str(check_state(w, wl), "Retry", "the group of another spec is given up");
	w_free(w);
}

int main(void)
{
	w_more = &mk_entry_pod;
	refused();
	busy_in_the_round_before();
	foreign();
	evicted_here();
	evicted_there();
	lost();
	back_again();
	for (int at = 0; at < 10; at++) {
		restarted(at);
	}
	for (size_t n = 1; n <= 14; n++) {
		unanswered(n, true);
		unanswered(n, false);
	}
	big();
	no_memory();
	ends_refused_while_others_move();
	edited_unseen();
	return done_testing();
}
