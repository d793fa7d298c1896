/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies that workers decide: the Workload here waits for that, and is told. */
#include "core/engine/answers/answers.h"
#include "t/lib/engine_world.h"

#define ADMISSION                                                                     \
	"{\"status\":{\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[" \
	"{\"name\":\"main\",\"count\":2,\"delayedTopologyRequest\":\"Pending\"},"     \
	"{\"name\":\"plain\",\"count\":1}]}}}"
#define ASSIGNMENT                                                                          \
	"\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\"," \
	"\"count\":2,\"topologyAssignment\":{\"levels\":[\"rack\"],\"slices\":[]}}]}"

static const char *request(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/admission/podSetAssignments/0/delayedTopologyRequest");
}

/* What "why" says of a cluster. */
static const char *why_on(struct world *w, const char *cluster)
{
	static char text[2048];
	struct arena a;
	struct answer_env env = {.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = &a};
	const struct json *v;

	arena_init(&a, 0);
	v = answer_workload(&env, STR("ns"), STR("wl-j"));
	v = json_find(json_get(v, "clusters"), "name", cluster);
	snprintf(text, sizeof(text), "%.*s", STR_ARG(json_str(json_get(v, "message"))));
	arena_done(&a);
	return text;
}

static void with_the_win(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j"), *clone;

	w_patch(w, wl, ADMISSION);
	w_settle(w);
	clone = clone_of(w, 1, "wl-j");
	w_apply(w, clone, "{" ASSIGNMENT ",\"conditions\":[" QUOTA "," ADMITTED "]}");
	w_tell(w, clone, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	is_str(request(w, wl), "Ready", "told with the win");
	is_str(check_state(w, wl), "Ready", "... in one write");
	is_str(w_str(w, wl, "/status/admission/podSetAssignments/0/topologyAssignment"), "",
	       "the assignment stays there");
	is_str(w_str(w, wl, "/status/admission/podSetAssignments/1/name"), "plain",
	       "... and the others here");
	w_free(w);
}

static void after_the_win(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, ADMISSION);
	w_settle(w);
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(request(w, wl), "Pending", "not before there is one");
	(void)w_take(w);
	w_patch(w, clone_of(w, 1, "wl-j"), "{\"status\":{" ASSIGNMENT "}}");
	w_settle(w);
	is_str(request(w, wl), "Ready", "later: by a write of its own");
	w_advance(w, 60 * 1000);
	is_int((long long)w_times(w_take_work(w), "apply"), 1, "... and only one");
	w_free(w);
}

/*
 * The winner's flavor has no topology: Kueue there admits without one, and Kueue here waits. It is
 * reported once, and taken back with what brings the assignment.
 */
static void without_one(bool restart)
{
	static const char says[] =
		"The workload was admitted on \"w1\"; Kueue there admitted it without a topology "
		"for pod set \"main\", which Kueue here waits for: give the ResourceFlavor there a "
		"topologyName as it has one here, then set spec.active of the Workload to false "
		"and back to true";
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_patch(w, wl, ADMISSION);
	w_settle(w);
	w->full = true;
	admit(w, 1, "wl-j");
	w_later(w, 20 * 1000);
	is_str(check_message(w, wl), "The workload was admitted on \"w1\"", "it may come yet");
	is_int((long long)w_times(w_take(w), "TopologyMissing"), 0, "... and no Event");
	w_later(w, 40 * 1000);
	is_str(check_message(w, wl), says, "within a minute the check says what is missing");
	ok(strstr(why_on(w, "w1"), "admitted it without a topology for pod set \"main\"") != NULL,
	   "... and so does why");
	if (restart) {
		w_restart(w); /* which forgets the log */
	}
	w_later(w, 3600 * 1000);
	is_int((long long)w_times(w_take(w), "\"reason\":\"TopologyMissing\""), 1,
	       "... and one Event of a process");
	is_str(check_message(w, wl), says, "it stays");
	w_patch(w, clone_of(w, 1, "wl-j"), "{\"status\":{" ASSIGNMENT "}}");
	w_later(w, 10 * 60 * 1000);
	is_str(request(w, wl), "Ready", "the assignment comes: no more is waited for");
	is_str(check_message(w, wl), "The workload was admitted on \"w1\"", "... nor said");
	w_free(w);
}

int main(void)
{
	without_one(false);
	without_one(true);
	with_the_win();
	after_the_win();
	return done_testing();
}
