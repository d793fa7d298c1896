/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user deletes the job at each stage; restarts at each stage; what
 * is left behind must be nothing.
 */
#include "core/engine/store/store.h"
#include "t/lib/engine_world.h"

static size_t remote_objects(const struct world *w)
{
	size_t n = 0;

	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		n += w->o[i].used && w->o[i].cluster > 0;
	}
	return n;
}

enum stage { QUOTA_RESERVED, CLONED, WON, RUNNING, FINISHED, N_STAGES };
static const char *const stage_names[] = {"quota reserved", "cloned", "won", "running", "finished"};

static struct object *bring_to(struct world *w, enum stage s)
{
	struct object *wl = a_job(w, "j");

	if (s >= CLONED) {
		w_settle(w);
	}
	if (s >= WON) {
		admit(w, 2, "wl-j");
		w_settle(w);
	}
	if (s >= RUNNING) {
		w_patch(w, w_find(w, 2, JOB, "ns", "j"),
			"{\"spec\":{\"suspend\":false},\"status\":{\"active\":2}}");
		w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":false}}");
		w_settle(w);
	}
	if (s >= FINISHED) {
		w_patch(w, w_find(w, 2, JOB, "ns", "j"),
			"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
			"\"Complete\","
			"\"status\":\"True\"}]}}");
		w_patch(w, clone_of(w, 2, "wl-j"),
			"{\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\","
			"\"reason\":\"Succeeded\","
			"\"message\":\"done\"}]}}");
		w_settle(w);
	}
	return wl;
}

static void delete_at(enum stage s, bool restart)
{
	struct world *w = w_new(3);
	struct object *wl = bring_to(w, s);
	char name[128];

	w_take(w);
	if (restart) {
		/* The deletion happens while no daemon runs. */
		w_stop(w);
		w_del(w, w_find(w, 0, JOB, "ns", "j"));
		w_del(w, wl);
		w_restart(w);
	} else {
		w_del(w, w_find(w, 0, JOB, "ns", "j"));
		w_settle(w);
		snprintf(name, sizeof(name), "%s: the job alone gone: no write", stage_names[s]);
		is_str(w_take(w), s == QUOTA_RESERVED ? "watch_open 0 Job watch_open\n" : "", name);
		w_del(w, wl);
	}
	w_settle(w);
	w_advance(w, 20000);
	snprintf(name, sizeof(name), "%s%s: nothing is left", stage_names[s],
		 restart ? ", restart" : "");
	is_int(remote_objects(w), 0, name);
	w_take(w);
	w_advance(w, 120000);
	is_str(w_take_work(w), "", "and then silence");
	w_free(w);
}

static void terminating(void)
{
	struct world *w = w_new(3);
	struct object *wl = bring_to(w, RUNNING);

	w_take(w);
	w_patch(w, wl, "{\"metadata\":{\"deletionTimestamp\":\"2027-01-15T08:00:01Z\"}}");
	w_settle(w);
	is_str(w_take(w),
	       "delete 2 Job j workload_deleted\ndelete 2 Workload wl-j workload_deleted\n",
	       "trap_49: terminating: job, then clone");
	w_free(w);
}

/* The same decisions follow from lists alone: at each stage a restart changes nothing, twice. */
static void restart_at(enum stage s)
{
	struct world *w = w_new(3);
	char name[128];
	const char *log;

	bring_to(w, s);
	w_settle(w);
	w_advance(w, 1000);
	for (int i = 0; i < 2; i++) {
		w_restart(w);
		w_settle(w);
		w_advance(w, 5000);
		log = w_take(w);
		snprintf(name, sizeof(name), "trap_33: %s: restart %d asks for nothing",
			 stage_names[s], i + 1);
		if (strstr(log, "create") || strstr(log, "get ")) {
			printf("# %s", log);
		}
		ok(!strstr(log, "create") && !strstr(log, "apply") && !strstr(log, "merge") &&
			   !strstr(log, "delete") && !strstr(log, "get "),
		   name);
	}
	w_free(w);
}

/* A new workload of the same name: what the old one left is taken away first. */
static void another_incarnation(void)
{
	struct world *w = w_new(3);
	struct object *wl = bring_to(w, RUNNING);
	const char *log;

	w_stop(w);
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_del(w, wl);
	a_job(w, "j");
	w_restart(w);
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "delete 2 Job j stale_clone") &&
		   strstr(log, "delete 2 Workload wl-j stale_clone"),
	   "the old clone and job go");
	ok(strstr(log, "create 2 Workload wl-j clone_create"), "a new clone comes");
	w_free(w);
}

/* Jobs come, run and are deleted for long; those that never came near a worker, too. */
static void memory_of_the_deleted(void)
{
	enum { ROUNDS = 20, EACH = 50 };
	struct world *w = w_new(2);
	struct engine_stats before, after;
	char name[32], wl[40];

	w_later(w, 1000);
	engine_get_stats(w->e, &before);
	for (int i = 0; i < ROUNDS * EACH; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		snprintf(wl, sizeof(wl), "wl-%s", name);
		a_job(w, name);
		if (i % 2) {
			/* not of MultiKueue */
			w_patch(w, w_find(w, 0, KIND_WORKLOAD, "ns", wl),
				"{\"status\":{\"admissionChecks\":null}}");
		}
		if (i % EACH != EACH - 1) {
			continue;
		}
		w_settle(w);
		for (int n = i - EACH + 1; n <= i; n++) {
			snprintf(name, sizeof(name), "j%d", n);
			snprintf(wl, sizeof(wl), "wl-%s", name);
			if (n % 4 == 0) {
				admit(w, 2, wl);
				w_settle(w);
			}
			w_del(w, w_find(w, 0, JOB, "ns", name));
			w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", wl));
		}
		w_later(w, 5000);
		w_take(w);
	}
	is_int((long long)remote_objects(w), 0, "a thousand are deleted: nothing is left of them");
	w_later(w, 7200000);
	engine_get_stats(w->e, &after);
	is_int((long long)after.workloads, 0, "no Workload is known");
	is_int((long long)after.objects, (long long)before.objects,
	       "trap_58: records are those of before");
	is_int((long long)after.bytes, (long long)before.bytes, "and so is their memory");
	w_free(w);
}

/* However many come and go in a minute: what is remembered of them lasts as long as of one. */
static void many_a_minute(void)
{
	struct world *w = w_new(2);
	struct engine_stats before, after;

	w_settle(w);
	engine_get_stats(w->e, &before);
	for (int i = 0; i < 10000; i++) {
		char text[128];

		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"wl-%d\",\"namespace\":\"ns\"}}", i);
		w_del(w, w_put(w, 0, KIND_WORKLOAD, text));
		w_settle(w);
	}
	engine_get_stats(w->e, &after);
	is_int((long long)(after.objects - before.objects), 10000,
	       "ten thousand that went are remembered");
	w_advance(w, 5 * 60 * 1000 + 61 * 1000);
	engine_get_stats(w->e, &after);
	is_int((long long)after.objects, (long long)before.objects,
	       "all of them for five minutes, and the next look");
	w_free(w);
}

/* What has something under way stays, and is no reason to look again and again. */
static void needed_ones(void)
{
	struct store s;
	struct table *t = table_new(1, KIND_WORKLOAD);

	store_init(&s);
	for (int i = 0; i < 30; i++) {
		char name[16];
		struct record *r;

		snprintf(name, sizeof(name), "wl-%d", i);
		r = store_touch(&s, t, STR("ns"), str_of(name), 0);
		r->unknown = i < 25;
	}
	ok(!store_sweep(&s, 100, 10), "ten of which the answer is out: no reason to look at once");
	ok(!store_sweep(&s, 200, 10), "nor are ten more");
	ok(store_sweep(&s, 300, 10), "some that are free were among them: there may be more");
	ok(!store_sweep(&s, 400, 10), "there were none");
	is_int((long long)s.n_records, 25, "the five are forgotten, and nothing else");
	table_free(&s, t);
	store_done(&s);
}

int main(void)
{
	for (int s = 0; s < N_STAGES; s++) {
		if (s < FINISHED) {
			delete_at((enum stage)s, false);
			delete_at((enum stage)s, true);
		}
		restart_at((enum stage)s);
	}
	terminating();
	another_incarnation();
	memory_of_the_deleted();
	many_a_minute();
	needed_ones();
	return done_testing();
}
