/* SPDX-License-Identifier: Apache-2.0 */
/* How far Workloads come, and when: what metrics count of it, and what is not known. */
#include "core/engine/answers/answers.h"
#include "core/engine/rules/stages.h"
#include "t/lib/engine_world.h"

static struct wl *the_wl(struct world *w)
{
	return wl_find(w->e, STR("ns"), STR("wl-j"));
}

/* The stages counted since the last call. */
static const char *stages(struct world *w)
{
	static char text[sizeof(w->stages)];

	memcpy(text, w->stages, sizeof(text));
	w->stages[0] = '\0';
	return text;
}

/* What operators are told: "<stage>[ <after>][ <cluster>], ..." */
static const char *told(struct world *w)
{
	static char text[1024];
	struct arena a;
	struct answer_env env = {.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = &a};
	struct json_iter it;
	size_t n = 0;

	arena_init(&a, 0);
	text[0] = '\0';
	it = json_iter(json_get(answer_workload(&env, STR("ns"), STR("wl-j")), "stages"));
	while (json_next(&it)) {
		mk_str cluster = json_str(json_get(it.val, "cluster"));
		long long after = json_int(json_get(it.val, "afterMs"), -1);

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s", n > 0 ? ", " : "",
				      STR_ARG(json_str(json_get(it.val, "stage"))));
		n += after < 0 ? 0 : (size_t)snprintf(text + n, sizeof(text) - n, " %lld", after);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s",
				      cluster.n > 0 ? " " : "", STR_ARG(cluster));
	}
	arena_done(&a);
	return text;
}

static void finish(struct world *w)
{
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"conditions\":[{\"type\":\"Complete\",\"status\":"
		"\"True\"}]}}");
	clone_condition(w, 2, "wl-j", "Finished", "Succeeded", true);
	w_settle(w);
	w_advance(w, 1000);
}

/* A whole round, with a pause before each step. */
static void a_round(void)
{
	struct world *w = w_new(3);
	int64_t begin = w->now;
	struct wl *wl;

	w_settle(w);
	w_advance(w, 60000);
	begin = w->now;
	a_job(w, "j");
	w_settle(w);
	is_str(stages(w), "nominated 0\n", "quota, and nominated at once");
	w_advance(w, 42000);
	admit(w, 2, "wl-j");
	w_settle(w);
	is_str(stages(w), "won 42000\ncreated 0\n", "won after a while; the job is made at once");
	w_advance(w, 600000);
	finish(w);
	is_str(stages(w), "finished 600500\nclean 0\n",
	       "Finished half a second after the job's end, as no other client says so; cleaned");
	wl = the_wl(w);
	is_int(wl->stage, STAGE_CLEAN, "the last stage");
	is_int(stages_time(wl, STAGE_QUOTA), begin, "time of the quota");
	is_int(stages_time(wl, STAGE_NOMINATED), begin, "... the nominations");
	is_int(stages_time(wl, STAGE_WON), begin + 42000, "... the win");
	is_int(stages_time(wl, STAGE_CREATED), begin + 42000, "... the job");
	is_int(stages_time(wl, STAGE_FINISHED), begin + 642500, "... the end");
	is_int(stages_time(wl, STAGE_CLEAN), begin + 642500, "... the cleaning");
	is_int(wl->course.winner, cluster_named(w->e, STR("w2"))->id, "and who won");
	is_str(told(w), "quota, nominated 0, won 42000 w2, created 0, finished 600500, clean 0",
	       "operators are told all of it");
	w_advance(w, 3600000);
	is_str(stages(w), "", "nothing is counted again");
	w_free(w);
}

static void an_eviction(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	int64_t won = stages_time(the_wl(w), STAGE_WON);

	(void)stages(w);
	ok(won != INT64_MAX, "a job runs");
	clone_condition(w, 2, "wl-j", "Evicted", "Preempted", true);
	w_settle(w);
	w_advance(w, 5000);
	is_int((long long)w_times(w->counts, "evicted cq w2 Preempted\n"), 1,
	       "the winner's eviction is counted, with the reason");
	evict(w, wl, "x");
	w_settle(w);
	is_int(the_wl(w)->stage, STAGE_NONE, "the round is over");
	is_int(stages_time(the_wl(w), STAGE_WON), won, "its times are kept");
	is_str(told(w), "quota, nominated 0, won 0 w2, created 0", "... and told");
	release_quota(w, wl);
	w_settle(w);
	w_advance(w, 20000);
	is_str(stages(w), "", "waiting for quota is no stage");
	give_quota(w, wl);
	w_settle(w);
	is_str(stages(w), "nominated 0\n", "a new round");
	is_int(stages_time(the_wl(w), STAGE_WON), INT64_MAX, "... with times of its own");
	is_int(the_wl(w)->course.winner, 0, "... and no winner");
	w_advance(w, 3000);
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(stages(w), "won 3000\ncreated 0\n", "... which is won later");
	clone_condition(w, 1, "wl-j", "Evicted", "PodsReadyTimeout", true);
	w_settle(w);
	is_int((long long)w_times(w->counts, "evicted"), 2, "and evicted once more");
	w_free(w);
}

/* What was before the process is not known, and not guessed. */
static void a_restart(void)
{
	struct world *w = w_new(2);

	running_job(w);
	w->counts[0] = '\0';
	(void)stages(w);
	w_restart(w);
	w_settle(w);
	w_advance(w, 5000);
	is_int(the_wl(w)->stage, STAGE_CREATED, "after a restart: its job is there");
	ok(str_starts(str_of(told(w)), STR("quota, won")), "operators are told what is written");
	is_int(stages_time(the_wl(w), STAGE_CREATED), INT64_MAX, "... since when is not known");
	is_int(stages_time(the_wl(w), STAGE_QUOTA), INT64_MAX, "... nor what was before");
	finish(w);
	is_str(stages(w), "clean 0\n", "the way to its end is not measured, what follows is");
	ok(stages_time(the_wl(w), STAGE_FINISHED) != INT64_MAX, "its end has a time");
	w_free(w);
}

/* A standby sees the same; when it begins to lead, it knows the times. */
static void a_standby(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_settle(w);
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = false;
	wl = a_job(w, "j");
	w_settle(w);
	w_advance(w, 7000);
	w_patch(w, wl, "{\"status\":{\"nominatedClusterNames\":[\"w1\",\"w2\"]}}");
	w_settle(w);
	w_advance(w, 2000);
	is_str(stages(w), "", "a standby counts nothing");
	is_int(the_wl(w)->stage, STAGE_NOMINATED, "... and sees how far others bring a Workload");
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = true;
	w_settle(w);
	w_advance(w, 1000);
	admit(w, 1, "wl-j");
	w_settle(w);
	is_str(stages(w), "won 3000\ncreated 0\n", "it leads: what it saw before counts");
	w_free(w);
}

/* A stage that no pass saw is left out: the sum of all is the whole time. */
static void a_leap(void)
{
	struct world *w = w_new(2);
	struct object *wl;

	w_stop(w);
	w->dispatcher = "example.com/ours";
	w_restart(w);
	w_settle(w);
	wl = a_job(w, "j");
	w_settle(w);
	w_advance(w, 4000);
	is_int(the_wl(w)->stage, STAGE_QUOTA, "an external dispatcher is awaited");
	w_apply(w, wl,
		"{\"admission\":{\"clusterQueue\":\"cq\"},\"clusterName\":\"w1\","
		"\"conditions\":[" QUOTA "],\"admissionChecks\":[{\"name\":\"mk\","
		"\"state\":\"Ready\",\"message\":\"\"}]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	w_step(w);
	is_str(stages(w), "won 4000\n", "from quota to a win in one event");
	is_int(stages_time(the_wl(w), STAGE_NOMINATED), INT64_MAX, "no time is made up");
	w_free(w);
}

/* The notes of a Workload: nothing more than what was agreed on. */
static void memory(void)
{
	ok(sizeof(struct course) <= 32, "32 bytes of each Workload");
}

int main(void)
{
	a_round();
	an_eviction();
	a_restart();
	a_standby();
	a_leap();
	memory();
	return done_testing();
}
