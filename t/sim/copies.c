/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stories of one winner: nothing runs twice, nothing is lost, nothing is held for ever, whatever a
 * server is called, whichever the manager was before, and whatever others do with the copies.
 */
#include <stdio.h>

#include "t/sim/story.h"

#define EVENTS "events.k8s.io/v1/events"

enum { SOME = 20 };

/* --- what is told ----------------------------------------------------------------------------- */

/*
 * Has an Event that is newer than 'rv' these words? What is told otherwise is
 * printed, a line for each reason.
 */
static bool is_told(struct sim *s, uint64_t rv, const char *words)
{
	size_t pos = 0, n = 0;
	const struct json *o;
	mk_str last = STR("");

	for (o = ks_each(s->plane[0].store, EVENTS, &pos); o != NULL;
	     o = ks_each(s->plane[0].store, EVENTS, &pos)) {
		mk_str note = json_str_at(o, "/note"), reason = json_str_at(o, "/reason");
		uint64_t at = 0;

		if (!str_u64(json_str_at(o, "/metadata/resourceVersion"), &at) || at <= rv) {
			continue;
		}
		n += memmem(note.p, note.n, words, strlen(words)) != NULL;
		if (!str_eq(reason, last)) {
			printf("# %.*s: %.*s\n", STR_ARG(reason), STR_ARG(note));
			last = reason;
		}
	}
	return n > 0;
}

static size_t copies(struct sim *s)
{
	size_t n = 0;

	for (size_t i = 1; i <= s->n_workers; i++) {
		n += story_count_ours(&s->plane[i], JOBS);
	}
	return n;
}

static size_t few(size_t size)
{
	return size < SOME ? size : SOME;
}

/* --- a server under two names ----------------------------------------------------------------- */

static void alias(struct sim *s, enum alias_place place, bool on)
{
	arena_clear(&s->arena);
	s->alias = (struct alias){.place = place, .on = on, .plane = 1};
	if (place == ALIAS_OTHER_CONFIG) {
		plane_other_queue(s);
	}
	upkeep(s);
	run_until(s, s->now + 20 * SECOND);
}

static void alias_appears(struct sim *s, enum alias_place place, size_t size)
{
	uint64_t rv = ks_rv(s->plane[0].store), requests = s->requests;
	size_t now = copies(s);

	alias(s, place, true);
	run_until(s, s->now + MINUTE);
	story_expect(s, copies(s) == now && story_count_retries(s) == 0,
		     "a second name for w1 appears: what runs is left in peace");
	story_expect(s, s->requests - requests <= size / 4 + 4, "... with next to no request");
	if (place != ALIAS_NO_CONFIG) {
		const struct json *c = story_active(s, ALIAS);
		mk_str message = json_str(json_get(c, "message"));

		printf("# %.*s\n", STR_ARG(message));
		story_expect(s,
			     memmem(message.p, message.n, "w1", 2) != NULL || is_told(s, rv, "w1"),
			     "... and a condition or an Event says which is the first");
	}
	story_submit(s, size, 30 * SECOND);
	story_expect(s, story_count_won(s, NULL) >= size, "new jobs run");
	story_expect(s, story_count_won(s, ALIAS) == 0, "... by the first name");
}

static void alias_same(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 2, 15 * MINUTE, 1);

	story_submit(s, size, 4 * MINUTE);
	alias_appears(s, ALIAS_LAST, size);
	proc_kill(&s->proc[0]);
	proc_start(&s->proc[0]);
	run_until(s, s->now + 20 * SECOND);
	alias(s, ALIAS_LAST, false);
	alias_appears(s, ALIAS_NO_CONFIG, size);
	story_expect(s, story_all_done(s, 10 * MINUTE), "all finish, and nothing is left");
	story_expect(s, story_count_retries(s) == 0, "none was given up");
	story_end(s);
}

static void alias_other(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 2, 15 * MINUTE, 1);

	alias(s, ALIAS_OTHER_CONFIG, true);
	story_hold_queue(s, 2, true);
	story_submit(s, size, 2 * MINUTE);
	s->elsewhere = true;
	story_submit(s, size, 2 * MINUTE);
	story_hold_queue(s, 2, false);
	story_expect(s, story_count_won(s, "w1") == size && story_count_won(s, ALIAS) == size,
		     "one server wins by either name, as each config calls it");
	story_expect(s, copies(s) == 2 * size, "each job has one copy");
	story_expect(s, story_all_done(s, 10 * MINUTE), "all finish, and nothing is left");
	story_expect(s, story_count_retries(s) == 0, "none was given up");
	story_end(s);
}

/* --- a name that leads to another server ------------------------------------------------------ */

static struct sim *all_on_first(struct coverage *cov, size_t size, int64_t lost_timeout_ms)
{
	struct sim *s = story_begin(cov, 2, lost_timeout_ms, 1);

	story_hold_queue(s, 2, true);
	story_submit(s, size, 6 * MINUTE);
	story_expect(s, story_count_won(s, "w1") == size && copies(s) == size, "all run on w1");
	return s;
}

/* Few jobs: every 429 stops all requests for a second. */
static struct sim *all_wait_on_first(struct coverage *cov, size_t size, int64_t lost_timeout_ms)
{
	struct sim *s = story_begin(cov, 2, lost_timeout_ms, 1);

	story_hold_queue(s, 2, true);
	s->plane[1].limit_jobs = true;
	story_submit(s, size, MINUTE);
	for (int64_t end_at = s->now + 5 * MINUTE;
	     story_count_won(s, "w1") < size && s->now < end_at;) {
		run_until(s, s->now + SECOND);
	}
	story_hold_queue(s, 2, false);
	story_expect(s, story_count_won(s, "w1") == size && copies(s) == 0,
		     "w1 has won all, and has no job yet");
	return s;
}

static void is_awaited(struct sim *s, size_t size)
{
	run_until(s, s->now + 2 * MINUTE);
	story_expect(s, copies(s) == size && story_count_ours(&s->plane[1], JOBS) == size,
		     "... no job is doubled, and none deleted");
	story_expect(s, story_count_retries(s) == 0, "... and none given up");
	leads_move(s, 1, 1);
	story_expect(s, story_all_done(s, 20 * MINUTE), "it leads back: all finish");
	story_expect(s, story_count_retries(s) == 0, "... where they were");
	story_end(s);
}

static void led_elsewhere(struct coverage *cov, size_t most)
{
	struct sim *s = all_on_first(cov, few(most), 15 * MINUTE);

	story_say(true, "the Secret of w1 leads to another server while jobs run");
	leads_move(s, 1, 2);
	is_awaited(s, few(most));
}

static void led_elsewhere_unseen(struct coverage *cov, size_t most)
{
	struct sim *s = all_on_first(cov, few(most), 15 * MINUTE);

	story_say(true, "... and while no daemon runs");
	proc_kill(&s->proc[0]);
	leads_move(s, 1, 2);
	run_until(s, s->now + 5 * SECOND);
	proc_start(&s->proc[0]);
	is_awaited(s, few(most));
}

static void led_elsewhere_while_busy(struct coverage *cov, size_t most)
{
	size_t size = most < 4 ? most : 4;
	struct sim *s = all_wait_on_first(cov, size, 15 * MINUTE);

	story_say(true, "... while jobs wait to be sent there");
	leads_move(s, 1, 2);
	run_until(s, s->now + MINUTE);
	story_expect(s, copies(s) == 0, "none is sent to that server, which has not won");
	s->plane[1].limit_jobs = false;
	leads_move(s, 1, 1);
	story_expect(s, story_all_done(s, 20 * MINUTE), "it leads back: all finish");
	story_end(s);
}

/* A daemon that is killed again and again, as soon as it knows that the worker is lost. */
static void lost_and_restarted(struct coverage *cov, size_t most)
{
	size_t size = few(most);
	struct sim *s = all_on_first(cov, size, 2 * MINUTE);
	int64_t began;

	story_hold_queue(s, 2, false);
	story_cut_off(s, 1, true);
	(void)story_wait_active(s, "w1", false);
	began = s->now;
	while (s->now < began + 5 * MINUTE && story_count_retries(s) < size && !s->failed) {
		proc_kill(&s->proc[0]);
		proc_start(&s->proc[0]);
		run_until(s, s->now + 45 * SECOND);
	}
	printf("# given up %lld ms after the loss was noticed\n", (long long)(s->now - began));
	story_expect(s, story_count_retries(s) == size,
		     "a worker that is lost is given up, however often the daemon is killed");
	story_cut_off(s, 1, false);
	story_expect(s, story_all_done(s, 20 * MINUTE), "every job ends");
	story_end(s);
}

/* --- another origin --------------------------------------------------------------------------- */

static void change_origin(struct sim *s, const char *origin, bool told)
{
	world_change_origin(&s->site[0], origin);
	s->site[0].tells_origin = told;
	world_restart(s, &s->site[0], NULL);
	run_until(s, s->now + MINUTE);
}

static void origin(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 2, 15 * MINUTE, 1);

	story_submit(s, size, 5 * MINUTE);
	change_origin(s, "another", true);
	story_expect(s, copies(s) == size && story_count_retries(s) == 0,
		     "the origin is changed, the former one is named: all run on");
	story_submit(s, size, 3 * MINUTE);
	story_expect(s, story_count_won(s, NULL) == 2 * size, "new jobs run beside them");
	change_origin(s, "third", false);
	story_expect(s, copies(s) == 2 * size && story_count_retries(s) == 0,
		     "it is changed again, and none is named: all run on");
	s->site[0].tells_origin = true;
	world_restart(s, &s->site[0], NULL);
	story_expect(s, story_all_done(s, 10 * MINUTE), "all finish, and nothing is left");
	story_expect(s, story_count_retries(s) == 0, "none was given up");
	story_end(s);
}

/* --- a manager built anew --------------------------------------------------------------------- */

static void rebuilt(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 2, 15 * MINUTE, 1);
	struct json *snapshot;
	struct arena a;
	uint64_t rv;

	arena_init(&a, 0);
	story_submit(s, size, 8 * MINUTE);
	snapshot = ks_snapshot(s->plane[0].store, &a);
	arena_clear(&s->arena);
	world_restart(s, &s->site[0], NULL);
	world_rebuild(s, &s->site[0], snapshot, false, true);
	rv = ks_rv(s->plane[0].store);
	run_until(s, s->now + 2 * MINUTE);
	story_expect(s, copies(s) == size, "nothing of the former manager is doubled, or deleted");
	story_expect(s, is_told(s, rv, "formerManagers"), "an Event says what to do");
	s->site[0].tells_manager = true;
	world_restart(s, &s->site[0], NULL);
	run_until(s, s->now + MINUTE);
	story_expect(s, story_count_won(s, NULL) == size && copies(s) == size,
		     "the former one is named: its copies are taken over");
	story_expect(s, story_all_done(s, 30 * MINUTE), "all finish, and nothing is left");
	story_expect(s, story_count_retries(s) == 0, "none was given up");
	arena_done(&a);
	story_end(s);
}

/* --- a kind that is not served any more ------------------------------------------------------- */

static void forbid(struct sim *s, size_t plane, bool on)
{
	struct plane *p = &s->plane[plane];

	excuse_disturbed(p, on);
	p->forbid_jobs = on;
	ks_watch_end_all(p->store);
	plane_watches(p);
}

static void unserved(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 2, MINUTE, 1);
	uint64_t rv;

	story_hold_queue(s, 2, true);
	story_submit(s, size, 12 * MINUTE);
	story_hold_queue(s, 2, false);
	story_expect(s, story_count_won(s, "w1") == size, "all run on w1");
	rv = ks_rv(s->plane[0].store);
	forbid(s, 1, true);
	run_until(s, s->now + 20 * SECOND);
	story_expect(s, is_told(s, rv, "w1"), "w1 forbids jobs: an Event tells at once");
	forbid(s, 1, false);
	run_until(s, s->now + 3 * MINUTE);
	story_expect(s, story_count_retries(s) == 0 && copies(s) == size,
		     "it allows them again in time: nothing happened");
	forbid(s, 1, true);
	run_until(s, s->now + 3 * MINUTE);
	story_expect(s, story_count_retries(s) == size, "it does not: each is given up once");
	story_expect(s, story_count_won(s, "w2") == size, "and runs on w2");
	forbid(s, 1, false);
	story_expect(s, story_all_done(s, 30 * MINUTE), "all finish, and nothing is left");
	story_end(s);
}

static void unserved_early(struct coverage *cov, size_t most)
{
	size_t size = most < 4 ? most : 4;
	struct sim *s = all_wait_on_first(cov, size, MINUTE);

	forbid(s, 1, true);
	s->plane[1].limit_jobs = false;
	run_until(s, s->now + 4 * MINUTE);
	story_expect(s, story_count_retries(s) == size, "w1 forbids jobs: each is given up once");
	forbid(s, 1, false);
	story_expect(s, story_all_done(s, 10 * MINUTE), "all finish, and nothing is left");
	story_end(s);
}

/* --- what ended, and is gone ------------------------------------------------------------------ */

static void retention(struct coverage *cov, size_t size)
{
	struct sim *s = story_begin(cov, 2, 15 * MINUTE, 1);

	story_hold_queue(s, 2, true);
	story_submit(s, size, 30 * SECOND);
	story_hold_queue(s, 2, false);
	story_cut_off(s, 1, true);
	run_until(s, s->now + 2 * MINUTE);
	arena_clear(&s->arena);
	story_expect(s, world_deletes(&s->plane[1], WORKLOADS, MINUTE, true) == size,
		     "out of reach all end, and Kueue deletes their clones");
	run_until(s, s->now + 10 * SECOND);
	story_cut_off(s, 1, false);
	story_expect(s, story_all_done(s, 5 * MINUTE), "what ended out of reach counts");
	story_expect(s, story_count_retries(s) == 0, "none is given up");
	story_end(s);
}

static size_t over_at_home(struct sim *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_users; i++) {
		n += has_condition(
			ks_get(s->plane[0].store, JOBS, STR("default"), str_of(s->user[i].name)),
			"Complete");
	}
	return n;
}

static void ended_removed(struct coverage *cov, size_t most)
{
	struct sim *s = story_begin(cov, 1, 15 * MINUTE, 1);
	size_t size = most < 4 ? most : 4, gone = 0;

	story_submit(s, size, 30 * SECOND);
	s->plane[0].limit_jobs = true;
	run_until(s, s->now + MINUTE);
	arena_clear(&s->arena);
	for (size_t i = 0; i < size; i++) {
		gone += plane_request(&s->plane[1], "DELETE",
				      arena_printf(&s->arena, JOB_PATH "%s", s->user[i].name).p,
				      NULL, STR("{\"propagationPolicy\":\"Orphan\"}")) == 200;
	}
	run_until(s, s->now + MINUTE);
	s->plane[0].limit_jobs = false;
	story_expect(s, gone == size, "all ended, which could not be written, and are gone there");
	story_expect(s, story_all_done(s, 10 * MINUTE), "their clones tell how: all finish");
	story_expect(s, over_at_home(s) == size, "... and each job says so itself");
	story_expect(s, story_count_retries(s) == 0, "none is given up");
	story_end(s);
}

/* --- pruning, refusals ------------------------------------------------------------------------ */

static void prune(struct sim *s, const char *resource, int64_t ms)
{
	for (int64_t end_at = s->now + ms; s->now < end_at && !s->failed;) {
		arena_clear(&s->arena);
		(void)world_deletes(&s->plane[1], resource, 0, false);
		run_until(s, s->now + SECOND / 2);
	}
}

static void prune_all(struct coverage *cov, size_t size, const char *resource)
{
	struct sim *s = story_begin(cov, 2, 15 * MINUTE, 1);
	uint64_t requests, rv;
	bool clones = str_is(str_of(resource), WORKLOADS);

	story_hold_queue(s, 1, clones);
	story_hold_queue(s, 2, true);
	story_submit(s, size, MINUTE);
	requests = s->requests;
	rv = ks_rv(s->plane[0].store);
	prune(s, resource, 5 * MINUTE);
	printf("# %llu requests about %zu jobs in 5 minutes\n",
	       (unsigned long long)(s->requests - requests), size);
	story_expect(s, s->requests - requests <= (clones ? 15 : 80) * size,
		     "w1 rests, longer each time");
	story_expect(s, is_told(s, rv, "w1"), "and an Event says what is seen there");
	story_hold_queue(s, 2, false);
	story_hold_queue(s, 1, false);
	prune(s, resource, 2 * MINUTE);
	story_expect(s, story_count_won(s, "w2") == size, "all run on w2");
	story_expect(s, story_all_done(s, 20 * MINUTE), "all finish, and nothing is left");
	story_end(s);
}

static void pruned_clones(struct coverage *cov, size_t size)
{
	prune_all(cov, few(size), WORKLOADS);
}

static void pruned_jobs(struct coverage *cov, size_t size)
{
	prune_all(cov, few(size), JOBS);
}

static void refused(struct coverage *cov, size_t most)
{
	struct sim *s = story_begin(cov, 1, 15 * MINUTE, 1);
	size_t size = few(most), pos = 0, n = 0;
	uint64_t requests = s->requests, rv = ks_rv(s->plane[0].store);
	const struct json *o;

	s->plane[1].refuse_clones = true;
	story_submit(s, size, MINUTE);
	run_until(s, s->now + 5 * MINUTE);
	while ((o = ks_each(s->plane[0].store, WORKLOADS, &pos)) != NULL) {
		mk_str m = json_str_at(o, "/status/admissionChecks/0/message");

		n += memmem(m.p, m.n, "exceeded quota", 14) != NULL;
	}
	printf("# %llu requests\n", (unsigned long long)(s->requests - requests));
	story_expect(s, n == size, "w1 refuses every clone: each check says so, in its words");
	story_expect(s, is_told(s, rv, "exceeded quota"), "... and so does an Event");
	story_expect(s, s->requests - requests <= 20 * size, "w1 rests, longer each time");
	s->plane[1].refuse_clones = false;
	story_expect(s, story_all_done(s, 20 * MINUTE), "it takes them again: all finish");
	story_end(s);
}

/* --- kinds whose activity is in other fields -------------------------------------------------- */

static size_t count_quota(struct sim *s)
{
	size_t pos = 0, n = 0;
	const struct json *o;

	while ((o = ks_each(s->plane[0].store, WORKLOADS, &pos)) != NULL) {
		n += has_condition(o, "QuotaReserved");
	}
	return n;
}

/* The winner is lost, and no other worker can take them: their quota is free. */
static void lost_kind(struct coverage *cov, size_t most, enum user_of of)
{
	struct sim *s = story_begin_kinds(cov, 2, MINUTE);
	size_t size = few(most);

	s->of = of;
	story_hold_queue(s, 2, true);
	story_submit(s, size, 10 * MINUTE);
	run_until(s, s->now + 10 * SECOND);
	story_expect(s, story_count_won(s, "w1") == size, "all run on w1");
	story_hold_queue(s, 0, true);
	story_cut_off(s, 1, true);
	run_until(s, s->now + 4 * MINUTE);
	story_expect(s, story_count_retries(s) == size, "w1 is lost: each is given up once");
	story_expect(s, count_quota(s) == 0, "... and none holds quota any more");
	story_hold_queue(s, 2, false);
	story_hold_queue(s, 0, false);
	run_until(s, s->now + 20 * SECOND);
	story_expect(s, story_count_won(s, "w2") == size, "all run on w2 then");
	story_cut_off(s, 1, false);
	if (of == USER_OF_RAYCLUSTERS) {
		/* They end when a user deletes them. */
		for (size_t i = 0; i < size; i++) {
			arena_clear(&s->arena);
			user_turn(s, i, TURN_DELETE);
		}
	}
	story_expect(s, story_all_done(s, 20 * MINUTE), "all end, and nothing is left");
	story_end(s);
}

static void lost_jobset(struct coverage *cov, size_t size)
{
	lost_kind(cov, size, USER_OF_JOBSETS);
}

static void lost_raycluster(struct coverage *cov, size_t size)
{
	lost_kind(cov, size, USER_OF_RAYCLUSTERS);
}

/* One line each: is it told with the others? */
const struct story copies_stories[] = {
	{"alias-same-config", "a second name leads to a worker, in its config or in none",
	 alias_same, true},
	{"alias-other-config", "... and in another config", alias_other, true},
	{"led-elsewhere", "a Secret leads to another server while jobs run", led_elsewhere, true},
	{"led-elsewhere-unseen", "... and while no daemon runs", led_elsewhere_unseen, true},
	{"led-elsewhere-busy", "... while jobs wait to be sent", led_elsewhere_while_busy, true},
	{"lost-and-restarted", "a worker is lost, and the daemon is killed again and again",
	 lost_and_restarted, true},
	{"origin-changed", "the origin is changed while jobs run", origin, true},
	{"manager-rebuilt", "the manager is built anew while jobs run", rebuilt, true},
	{"unserved-winner", "the winner forbids the kind that runs there", unserved, true},
	{"unserved-early", "... before the job was made", unserved_early, true},
	{"retention-while-away", "jobs end out of reach, and their clones are deleted", retention,
	 true},
	{"ended-and-removed", "... and the jobs, before they could be told of", ended_removed,
	 false},
	{"pruned-clones", "something deletes every clone on a worker", pruned_clones, true},
	{"pruned-jobs", "... and every job", pruned_jobs, true},
	{"refused-clones", "a worker refuses every clone", refused, true},
	{"lost-jobset", "the winner of JobSets is lost, and their quota is needed", lost_jobset,
	 true},
	{"lost-raycluster", "... and of RayClusters", lost_raycluster, true},
	{0},
};
