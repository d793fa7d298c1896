/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events, messages and counters: kinds without a plugin, faulty plugins,
 * a silent dispatcher, counters.
 */
#include "t/lib/engine_world.h"

static size_t n_lines(const char *log, const char *part)
{
	size_t n = 0;

	for (const char *p = strstr(log, part); p; p = strstr(p + 1, part)) {
		n++;
	}
	return n;
}

/* --- counters --------------------------------------------------------------------------------- */

static void counted(void)
{
	struct world *w = w_new(3);
	struct object *wl;
	struct engine_stats st;

	w->lose = 2; /* a create's or the nomination's answer */
	wl = a_job(w, "j");
	w_settle(w);
	w_advance(w, 3000);
	is_int(n_lines(w->counts, "dispatched cq w"), 3, "three clones, an answer lost or not");
	admit(w, 2, "wl-j");
	w_settle(w);
	w_advance(w, 3000);
	is_int(n_lines(w->counts, "admitted cq w2\n"), 1, "one check turned Ready");
	is_int(n_lines(w->counts, "admitted"), 1, "and no other");
	/* Kueue writes Finished before us. */
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"},{"
		"\"type\":\"Finished\",\"status\":\"True\",\"reason\":\"Succeeded\"}]}}");
	w_settle(w);
	w_advance(w, 3000);
	engine_get_stats(w->e, &st);
	is_int(st.dispatched, 3, "stats: dispatched");
	is_int(st.admitted, 1, "stats: admitted");
	is_int(st.finished, 1, "stats: finished, whichever client wrote it");
	w_restart(w);
	w_settle(w);
	w_advance(w, 3000);
	engine_get_stats(w->e, &st);
	is_int(st.finished + st.admitted + st.dispatched, 0, "a restart counts nothing again");
	w_free(w);
}

static void counted_again(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct engine_stats st;

	evict(w, wl, "x");
	w_settle(w);
	release_quota(w, wl);
	w_settle(w);
	w_advance(w, 20000);
	give_quota(w, wl);
	w_settle(w);
	w_advance(w, 3000);
	admit(w, 1, "wl-j");
	w_settle(w);
	engine_get_stats(w->e, &st);
	is_int(st.dispatched, 4, "a second round counts its clones");
	is_int(st.admitted, 2, "and its admission");
	is_int(st.finished, 0, "nothing finished");
	w_free(w);
}

static void standby_counts_nothing(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct engine_stats st;

	w_restart(w);
	w_settle(w);
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = false;
	w_settle(w);
	w_patch(w, wl,
		"{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"},{"
		"\"type\":\"Finished\",\"status\":\"True\",\"reason\":\"Succeeded\"}]}}");
	w_settle(w);
	engine_get_stats(w->e, &st);
	is_int(st.finished, 0, "who does not lead does not count");
	w_free(w);
}

/* --- plugins ---------------------------------------------------------------------------------- */

static void frozen_kind(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);
	const char *log;

	w_stop(w);
	w_patch(w, wl,
		"{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"ex.io/"
		"v1\",\"kind\":\"Gone\",\"name\":\"j\",\"uid\":"
		"\"u\",\"controller\":true}]}}");
	w_restart(w);
	w->full = true;
	w_settle(w);
	w_advance(w, 1000);
	log = w_take(w);
	is_int(n_lines(log, "No plugin serves the kind \\\"ex.io/v1, Kind=Gone\\\" any more"), 1,
	       "one event that names the kind");
	ok(strstr(log, "like ns/wl-j,") != NULL, "and a workload of it");
	w_patch(w, wl, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
	w_settle(w);
	w_advance(w, 3600 * 1000);
	log = w_take(w);
	ok(!strstr(log, "No plugin serves") && !strstr(log, "delete "), "once; and hands off");
	w_free(w);
}

/*
 * Its Workload no longer names an owner, and its winner is out of reach: no clone says which job it
 * was.
 */
static void frozen_orphan(void)
{
	struct world *w = w_new(3);
	struct object *wl = running_job(w);

	w_stop(w);
	w_patch(w, wl, "{\"metadata\":{\"ownerReferences\":null}}");
	w->stay_down[2] = true;
	w_restart(w);
	w->full = true;
	w_settle(w);
	w_advance(w, 1000);
	is_int(n_lines(w_take(w), "Dispatched workloads that no longer name a job as their owner, "
				  "like ns/wl-j, are left as they are"),
	       1, "one event for those without an owner, which names no kind");
	ok(clone_of(w, 2, "wl-j") != NULL, "... and hands off");
	w_free(w);
}

static void faulty_plugin(void)
{
	struct world *w = w_new(3);
	struct plug_limits strict = plug_default_limits;
	struct plug_stats before, after;
	struct object *remote;
	const char *log;

	running_job(w);
	strict.hard_calls = 0;
	plug_set_limits(w->plug, &strict);
	w->full = true;
	remote = w_find(w, 2, JOB, "ns", "j");
	w_patch(w, remote, "{\"status\":{\"active\":1}}");
	w_settle(w);
	w_advance(w, 300 * 1000);
	log = w_take(w);
	is_int(n_lines(log, "Fault of a plugin: plugin "), 1, "one event in ten minutes");
	ok(strstr(log, "status of batch/v1, Kind=Job") != NULL, "plugin and hook are named");
	ok(strstr(log, mk_entry_job.version) != NULL, "and its version");
	ok(remote->used && clone_of(w, 2, "wl-j"), "nothing is deleted");
	plug_get_stats(w->plug, &before);
	w_advance(w, 600 * 1000);
	plug_get_stats(w->plug, &after);
	ok(after.faults > before.faults && after.faults - before.faults <= 30,
	   "it rests in between: at most three faults a minute");
	is_int(n_lines(w_take(w), "Fault of a plugin: plugin "), 1, "said again later");
	plug_set_limits(w->plug, &plug_default_limits);
	w_advance(w, 120 * 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "1",
	       "mended: the status comes over");
	w_free(w);
}

/* --- a dispatcher that is another controller -------------------------------------------------- */

static void silent_dispatcher(void)
{
	static const char text[] = "No cluster was nominated for 60 seconds";
	struct world *w = w_new(2);
	struct object *wl;

	w_stop(w);
	w->dispatcher = "example.com/ours";
	w_restart(w);
	w_settle(w);
	w->full = true;
	wl = a_job(w, "j");
	w_settle(w);
	w_advance(w, 59 * 1000);
	ok(!strstr(w_take(w), text), "patience for a minute");
	w_advance(w, 2000);
	ok(strstr(w_take(w), text) != NULL, "then an Event tells");
	w_advance(w, 600 * 1000);
	ok(!strstr(w_take(w), text), "once");
	w_patch(w, wl, "{\"status\":{\"nominatedClusterNames\":[\"w1\"]}}");
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") && !clone_of(w, 2, "wl-j"), "its word is followed");
	release_quota(w, wl);
	w_settle(w);
	w_advance(w, 20 * 1000);
	w_patch(w, wl, "{\"status\":{\"nominatedClusterNames\":null}}");
	give_quota(w, wl);
	w_settle(w);
	w_advance(w, 61 * 1000);
	ok(strstr(w_take(w), text) != NULL, "the next round is told anew");
	w_free(w);
}

/* A Workload that waits is deleted, and Kueue makes it anew: it says why by itself. */
static void workload_made_anew(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_later(w, 120 * 1000);
	ok(check_message(w, wl)[0] != 0, "a Workload waits: its check says why");
	w_del(w, wl);
	wl = a_workload(w, "j");
	w_settle(w);
	is_str(check_message(w, wl), "", "it is deleted and made anew: nothing is said yet");
	w_later(w, 120 * 1000);
	ok(check_message(w, wl)[0] != 0, "... and then the new one says why, too");
	w_free(w);
}

int main(void)
{
	workload_made_anew();
	counted();
	counted_again();
	standby_counts_nothing();
	frozen_kind();
	frozen_orphan();
	faulty_plugin();
	silent_dispatcher();
	return done_testing();
}
