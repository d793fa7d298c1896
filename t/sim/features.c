/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of features behind gates, and of states so rare that no seed is sure to come to them. */
#include <stdio.h>

#include "t/sim/churn.h"
#include "t/sim/story.h"

enum { FEW_GATES = 10 };

/* Does something to the object of that name; false: it went wrong. */
typedef bool change_fn(struct sim *s, struct plane *p, const struct json *o, mk_str name);

/* ... to each Workload of a plane; how many there were. */
static size_t each_workload(struct sim *s, size_t plane, change_fn *change)
{
	struct plane *p = &s->plane[plane];
	size_t pos = 0, n = 0;
	const struct json *o;

	arena_clear(&s->arena);
	for (o = ks_each(p->store, WORKLOADS, &pos); o != NULL;
	     o = ks_each(p->store, WORKLOADS, &pos)) {
		n += change(s, p, o, arena_dup(&s->arena, json_str_at(o, "/metadata/name")));
	}
	return n;
}

static bool patch(struct sim *s, struct plane *p, mk_str name, const char *sub, mk_str body)
{
	const char *path = arena_printf(&s->arena, WORKLOAD_PATH "%.*s%s", STR_ARG(name), sub).p;

	return plane_merge(p, path, body) == 200;
}

/* --- clones that Kueue made or would have made ------------------------------------------------ */

static bool hold(struct sim *s, struct plane *p, const struct json *o, mk_str name)
{
	(void)o;
	return patch(s, p, name, "",
		     STR("{\"metadata\":{\"finalizers\":[\"kueue.x-k8s.io/resource-in-use\","
			 "\"example.com/other\"]}}"));
}

static bool let_go(struct sim *s, struct plane *p, const struct json *o, mk_str name)
{
	return json_len(json_at(o, "/metadata/finalizers")) == 1 &&
	       patch(s, p, name, "", STR("{\"metadata\":{\"finalizers\":[]}}"));
}

void story_adopted(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 2, 15 * MINUTE, 1);
	size_t held = 0, left = 0;

	story_hold_queue(s, 1, true);
	story_hold_queue(s, 2, true);
	story_submit(s, size, 30 * SECOND);
	held = each_workload(s, 1, hold) + each_workload(s, 2, hold);
	story_expect(s, held == 2 * size, "two clones each, with Kueue's finalizer and another");
	story_hold_queue(s, 1, false);
	story_hold_queue(s, 2, false);
	run_until(s, s->now + 2 * MINUTE);
	left = each_workload(s, 1, let_go) + each_workload(s, 2, let_go);
	story_expect(s, left == 2 * size, "Kueue's is gone from each, the other one is not ours");
	story_expect(s, story_all_done(s, 10 * MINUTE), "all finish, and nothing is left");
	story_end(s);
}

/* --- jobs of earlier incarnations ------------------------------------------------------------- */

static void plant(struct sim *s, size_t number)
{
	arena_clear(&s->arena);
	(void)plane_request(
		&s->plane[1], "POST", JOBS_PATH, NULL,
		arena_printf(
			&s->arena,
			"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
			"\"job-%04zu\",\"namespace\":\"default\",\"labels\":{"
			"\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
			"\"multikueued.io/manager-id\":\"%s\","
			"\"kueue.x-k8s.io/multikueue-origin-uid\":\"of-another-one\"}},\"spec\":{"
			"\"suspend\":true,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
			"\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
			number, s->site[0].manager_id));
}

void story_leftovers(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 1, 15 * MINUTE, 1);

	for (size_t i = 0; i < size; i++) {
		plant(s, i);
	}
	story_expect(s, story_count_ours(&s->plane[1], JOBS) == size,
		     "jobs of earlier incarnations are on the worker");
	story_submit(s, size, 30 * SECOND);
	story_expect(s, story_all_done(s, 10 * MINUTE), "they give way, and all finish");
	story_expect(s, story_count_retries(s) == 0, "none was given up");
	story_end(s);
}

/* --- a check that vanished, a winner that no daemon knows of ---------------------------------- */

void story_unchecked(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 1, 15 * MINUTE, 1);
	uint64_t requests;

	story_submit(s, size, 10 * MINUTE);
	(void)plane_request(&s->plane[0], "DELETE", KUEUE "admissionchecks/mk", NULL, STR("{}"));
	run_until(s, s->now + 10 * SECOND);
	requests = s->requests;
	run_until(s, s->now + MINUTE);
	story_expect(s, story_count_ours(&s->plane[1], JOBS) == size && s->requests == requests,
		     "a check that vanished stops no job");
	for (size_t i = 0; i < size; i++) {
		arena_clear(&s->arena);
		user_turn(s, i, TURN_DELETE);
	}
	run_until(s, s->now + MINUTE);
	story_expect(s,
		     story_count_ours(&s->plane[1], JOBS) == 0 &&
			     story_count_ours(&s->plane[1], WORKLOADS) == 0,
		     "what is deleted is still cleaned up");
	story_end(s);
}

static bool pause(struct sim *s, struct plane *p, const struct json *o, mk_str name)
{
	(void)o;
	return patch(s, p, name, "", STR("{\"spec\":{\"active\":false}}"));
}

static bool resume(struct sim *s, struct plane *p, const struct json *o, mk_str name)
{
	(void)o;
	return patch(s, p, name, "", STR("{\"spec\":{\"active\":true}}"));
}

void story_unasked(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 1, 15 * MINUTE, 1);

	story_submit(s, size, 5 * MINUTE);
	story_ask_queue(s, false);
	run_until(s, s->now + 10 * SECOND);
	story_expect(s, story_count_ours(&s->plane[1], JOBS) == size,
		     "the queue loses the check: what runs goes on");
	story_expect(s, each_workload(s, 0, pause) == size, "each Workload is deactivated");
	run_until(s, s->now + 2 * MINUTE);
	story_expect(s,
		     story_count_ours(&s->plane[1], JOBS) == 0 &&
			     story_count_ours(&s->plane[1], WORKLOADS) == 0,
		     "... its job is stopped, and nothing is left on the worker");
	story_ask_queue(s, true);
	story_expect(s, each_workload(s, 0, resume) == size, "... and active again");
	story_expect(s, story_all_done(s, 30 * MINUTE), "the queue has the check: all finish");
	story_end(s);
}

static bool clear(struct sim *s, struct plane *p, const struct json *o, mk_str name)
{
	(void)o;
	return patch(s, p, name, "/status", STR("{\"status\":{\"clusterName\":null}}"));
}

static bool drop(struct sim *s, struct plane *p, const struct json *o, mk_str name)
{
	const char *path = arena_printf(&s->arena, WORKLOAD_PATH "%.*s", STR_ARG(name)).p;

	(void)o;
	return plane_request(p, "DELETE", path, NULL, STR("{}")) == 200;
}

void story_forgotten(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 1, 15 * MINUTE, 1);

	story_submit(s, size, MINUTE);
	story_expect(s, each_workload(s, 0, clear) == size, "a client clears every clusterName");
	run_until(s, s->now + 10 * SECOND);
	story_expect(s, story_count_retries(s) == 0, "what runs is left in peace");
	story_expect(s, each_workload(s, 1, drop) == size, "then every clone is deleted");
	story_expect(s, story_all_done(s, 20 * MINUTE), "dispatched anew, all finish");
	story_expect(s, story_count_retries(s) == size, "after one Retry each");
	story_end(s);
}

/* --- a restart while every server is slow: lists come one by one, in any order ---------------- */

void story_slow_restart(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 3, 15 * MINUTE, 1);
	size_t copies = 0;

	story_submit(s, size, 10 * MINUTE);
	for (size_t i = 0; i <= s->n_workers; i++) {
		s->plane[i].slow = true;
	}
	for (int i = 0; i < 3; i++) {
		proc_kill(&s->proc[0]);
		proc_start(&s->proc[0]);
		run_until(s, s->now + MINUTE);
	}
	for (size_t i = 0; i <= s->n_workers; i++) {
		copies += i > 0 ? story_count_ours(&s->plane[i], JOBS) : 0;
		s->plane[i].slow = false;
	}
	story_expect(s, copies == size && story_count_retries(s) == 0,
		     "what is not listed yet is not missed: every job runs on");
	story_expect(s, story_all_done(s, 20 * MINUTE), "and finishes");
	story_end(s);
}

/* --- gates of preemption ---------------------------------------------------------------------- */

static bool block(struct sim *s, struct plane *p, const struct json *o, mk_str name)
{
	(void)name;
	return churn_block(s, p, o) == 200;
}

static bool is_open(struct sim *s, struct plane *p, const struct json *o, mk_str name)
{
	(void)s;
	(void)p;
	(void)name;
	return str_is(json_str_at(o, "/status/preemptionGates/0/position"), "Open");
}

void story_gates(struct coverage *cov, size_t most)
{
	struct engine_gates gates = {.orchestrated_preemption = true};
	struct sim *s = story_begin_with(cov, 2, 15 * MINUTE, 1, gates);
	size_t size = most < FEW_GATES ? most : FEW_GATES, n;

	story_hold_queue(s, 1, true);
	story_hold_queue(s, 2, true);
	story_submit(s, size, 30 * SECOND);
	n = each_workload(s, 1, block);
	run_until(s, s->now + 10 * SECOND);
	n += each_workload(s, 2, block);
	story_expect(s, n == 2 * size, "every clone waits at its gate");
	run_until(s, s->now + 4 * MINUTE);
	story_expect(s, each_workload(s, 1, is_open) == size, "the first one's is opened");
	story_expect(s, each_workload(s, 2, is_open) == 0, "no other one is for five minutes");
	run_until(s, s->now + 2 * MINUTE);
	story_expect(s, each_workload(s, 2, is_open) == size, "then the next one's is");
	story_hold_queue(s, 1, false);
	story_hold_queue(s, 2, false);
	story_expect(s, story_all_done(s, 10 * MINUTE), "all finish");
	story_end(s);
}

/* --- quotas ----------------------------------------------------------------------------------- */

static bool quota_is(struct sim *s, const char *wanted)
{
	const struct json *q = ks_get(s->plane[0].store, CLUSTER_QUEUES, STR(""),
				      str_of(queue_name(&s->plane[0])));
	mk_str text = json_write(
		&s->arena, json_at(q, "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"));

	printf("# quota %.*s\n", STR_ARG(text));
	return str_is(text, wanted) &&
	       has_condition(q, "MultiKueueManagerQuotaAutomation") == (text.p[0] == '"');
}

void story_quotas(struct coverage *cov, size_t size)
{
	struct engine_gates gates = {.quota_automation = true};
	struct sim *s = story_begin_with(cov, 3, 15 * MINUTE, 1, gates);
	uint64_t writes;

	story_expect(s, quota_is(s, "1000000"), "not asked for: the queue keeps its own quota");
	arena_clear(&s->arena);
	(void)plane_merge(&s->plane[0], KUEUE "multikueueconfigs/mkc",
			  STR("{\"spec\":{\"quotaManagement\":\"Automated\"}}"));
	run_until(s, s->now + 10 * SECOND);
	story_expect(s, quota_is(s, "\"900k\""), "the manager's queue has what three workers have");
	plane_set_quota(&s->plane[1], 5);
	run_until(s, s->now + 10 * SECOND);
	story_expect(s, quota_is(s, "\"600005\""), "a worker's shrinks, and the manager's with it");
	story_cut_off(s, 2, true);
	run_until(s, s->now + 2 * MINUTE);
	story_expect(s, quota_is(s, "\"600005\""), "a worker out of reach counts on");
	story_cut_off(s, 2, false);
	run_until(s, s->now + 2 * MINUTE);
	writes = s->writes;
	run_until(s, s->now + 10 * MINUTE);
	story_expect(s, s->writes == writes, "nothing changes: nothing is written");
	story_submit(s, size, 30 * SECOND);
	story_expect(s, story_all_done(s, 10 * MINUTE), "and jobs run");
	story_end(s);
}

/* --- a wall ----------------------------------------------------------------------------------- */

/* What a user may reach on workers is cut off while jobs run: they end, and no more leave. */
void story_walled(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 2, 15 * MINUTE, 1);
	struct json *shut = NULL;
	struct arena a;

	arena_init(&a, 0);
	(void)json_parse(&a, STR("[{\"config\":\"*\",\"allow\":[]}]"), &shut, NULL);
	story_submit(s, size, 5 * MINUTE);
	story_expect(s, story_count_won(s, NULL) == size, "jobs run");
	s->walls = shut;
	proc_kill(&s->proc[0]);
	proc_start(&s->proc[0]);
	story_submit(s, size, MINUTE);
	story_expect(s, story_count_won(s, NULL) == size, "behind a wall no more leave");
	story_expect(s,
		     story_count_ours(&s->plane[1], JOBS) + story_count_ours(&s->plane[2], JOBS) ==
				     size &&
			     story_count_ours(&s->plane[1], WORKLOADS) +
					     story_count_ours(&s->plane[2], WORKLOADS) ==
				     size,
		     "workers have what ran before, and nothing else");
	story_expect(s, story_all_done(s, 20 * MINUTE), "what ran ends, the others are rejected");
	story_expect(s, story_count_retries(s) == 0, "none comes back");
	story_end(s);
	arena_done(&a);
}
