/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers out of reach: when a loss counts, what others' copies say
 * meanwhile, and what is collected where.
 */
#include "t/lib/engine_world.h"

/* A job that ran for long is not lost sooner: the clock is the loss's, not the check's. */
static void fresh_loss(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_later(w, 36000000);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 899000);
	is_str(check_state(w, wl), "Ready", "Ready for ten hours, lost for less than the timeout");
	w_link(w, 2, LINK_UP);
	w_later(w, 1000);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 899000);
	is_str(check_state(w, wl), "Ready", "an earlier loss does not count");
	w_later(w, 2000);
	is_str(check_state(w, wl), "Retry", "the one that lasts does");
	w_free(w);
}

/*
 * A world whose job j runs on w2, with a clone of it on w1 that is out of
 * sync and comes back into sight.
 */
static struct world *other_out_of_sync(struct object **ret_wl, bool winner_away)
{
	struct world *w = w_new(2);

	*ret_wl = a_job(w, "j");
	w_settle(w);
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	clone_condition(w, 1, "wl-j", "Finished", "OutOfSync", false);
	admit(w, 2, "wl-j");
	w_settle(w);
	if (winner_away) {
		w_link(w, 2, LINK_DOWN);
		w_settle(w);
	}
	w_take(w);
	w_link(w, 1, LINK_UP);
	w_later(w, 5000);
	return w;
}

static void others_out_of_sync(void)
{
	struct object *wl = NULL;
	struct world *w = other_out_of_sync(&wl, false);

	ok(strstr(w_take(w), "delete 1 Workload wl-j loser") != NULL,
	   "another worker's clone is out of sync while the winner runs: it goes");
	is_str(check_state(w, wl), "Ready", "the winner stays");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "with its job");
	w_free(w);

	w = other_out_of_sync(&wl, true);
	is_int((long long)objects_on(w, 1), 0, "... and while the winner is away: it goes too");
	is_str(check_state(w, wl), "Ready", "the winner has its grace all the same");
	w_later(w, 880000);
	is_str(check_state(w, wl), "Ready", "all of it");
	w_later(w, 20000);
	is_str(check_message(w, wl), "Admitting remote lost, Previously: \"Ready\"",
	       "and is lost in the end, not out of sync");
	w_free(w);
}

/*
 * The check says where the Workload was admitted, as in Kueue; of an outage that lasts an Event
 * tells, and when the job counts as lost.
 */
static void event_of_the_outage(void)
{
	struct world *w = w_new(2);
	const char *log;

	w->full = true;
	(void)running_job(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 20000);
	w_link(w, 2, LINK_UP);
	w_later(w, 60000);
	is_int((int)w_times(w_take(w), "WorkerUnreachable"), 0, "a short outage is no Event");
	w_link(w, 2, LINK_DOWN);
	w_later(w, 200000);
	log = w_take(w);
	is_int((int)w_times(log, "\"reason\":\"WorkerUnreachable\""), 1, "one that lasts is one");
	ok(strstr(log, "The worker cluster \\\"w2\\\" that was admitted to is out of reach since "
		       "2027-01-15T08:01:20Z: the job there counts as lost at "
		       "2027-01-15T08:16:20Z (workerLostTimeout), and is queued again then"),
	   "... with both dates");
	w_free(w);
}

/* The name of the Event that a log has last; "" none. */
static const char *event_name(const char *log)
{
	static char name[64];
	const char *at = strstr(log, "\"reason\":\"WorkerUnreachable\""), *from = NULL;

	name[0] = 0;
	for (const char *p = strstr(log, "\"wl-j."); at && p && p < at;
	     p = strstr(p + 1, "\"wl-j.")) {
		from = p;
	}
	snprintf(name, sizeof(name), "%.*s", from ? 22 : 0, from ? from : "");
	return name;
}

/*
 * A daemon that is killed every three seconds: the date of the loss is on the manager, so each
 * process goes on with it, and an Event of the same date has the same name, which exists already.
 */
static void killed_every_three_seconds(void)
{
	struct world *w = w_new(2);
	const struct object *wl;
	const char *log;
	char name[64] = "";
	int said = 0, same = 0;

	w->full = true;
	wl = running_job(w);
	w_take(w);
	w_link(w, 2, LINK_DOWN);
	w_later(w, 40000);
	snprintf(name, sizeof(name), "%s", event_name(w_take(w)));
	ok(name[0], "an Event tells that the worker is out of reach");
	w->stay_down[2] = true;
	for (int i = 0; i < 284; i++) { /* not at the same part of a second */
		w_restart(w);
		w->wall += i % 2;
		w_settle(w);
		w_link(w, 2, LINK_DOWN);
		w_later(w, 2000);
		log = w_take(w);
		said += w_times(log, "\"reason\":\"WorkerUnreachable\"") > 0;
		same += strcmp(event_name(log), name) == 0;
	}
	is_str(check_state(w, wl), "Ready", "killed every three seconds: not lost too early");
	ok(said == 284 && same == said, "each process sends the same Event, that exists already");
	for (int i = 0; i < 3; i++) {
		w_restart(w);
		w_settle(w);
		w_link(w, 2, LINK_DOWN);
		w_later(w, 2000);
	}
	is_str(check_state(w, wl), "Retry", "nor too late");
	w_free(w);
}

static void overdue(void)
{
	struct world *w = w_new(2);
	struct engine_stats st;

	(void)a_job(w, "j");
	w_later(w, 590000);
	engine_get_stats(w->e, &st);
	is_int((int)st.overdue, 0, "a Workload that waits for a worker for less than ten minutes");
	w_later(w, 120000);
	engine_get_stats(w->e, &st);
	is_int((int)st.overdue, 1, "... and for more is counted");
	admit(w, 2, "wl-j");
	w_later(w, 60000);
	engine_get_stats(w->e, &st);
	is_int((int)st.overdue, 0, "... until a worker admits it");
	w_free(w);
}

/* The link's verdict on credentials that are no use. */
static void bad_credentials(struct world *w, cluster_id c)
{
	struct pending *p;

	w_link(w, c, LINK_DOWN);
	p = &w->q[w->n_q - 1];
	p->ev.code = ERR_INVALID;
	p->ev.reason = STR("BadKubeConfig");
	free(p->msg);
	p->msg = w_dup(STR("load client config failed: invalid kubeconfig"));
}

/* Bad credentials and restarts, more often than the timeout: the loss is on record and ends. */
static void bad_kubeconfig_and_restarts(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	int64_t lost = 0;

	w->stay_down[2] = true;
	w_patch(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w2"),
		"{\"data\":{\"kubeconfig\":\"YmFk\"}}");
	w_settle(w);
	bad_credentials(w, 2);
	w_settle(w);
	for (; lost < 850000; lost += 301000) {
		w_later(w, 300000);
		is_str(check_state(w, wl), lost < 600000 ? "Ready" : "Retry",
		       lost < 600000
			       ? "bad credentials: within the grace"
			       : "trap_20: restarts do not put it off: lost after the timeout");
		w_restart(w);
		w_settle(w);
		bad_credentials(w, 2);
		w_settle(w);
	}
	is_str(check_message(w, wl), "Admitting remote lost, Previously: \"Ready\"",
	       "in the words of a loss");
	w_free(w);
}

/* The Secret is not there after a restart: nothing is tried, and the grace runs. */
static void no_kubeconfig_and_a_restart(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);

	w_del(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w2"));
	w_later(w, 600000);
	w_restart(w);
	w_later(w, 200000);
	is_str(check_state(w, wl), "Ready", "the Secret is gone: within the grace");
	w_later(w, 120000);
	is_str(check_state(w, wl), "Retry", "over a restart: lost after the timeout");
	w_free(w);
}

/*
 * The collector's intervals pass while a worker is away, was never
 * there, or is no cluster any more.
 */
static void collector_meets_absence(void)
{
	struct world *w = w_new(3);

	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	orphans(w, 1);
	w->stay_down[2] = true;
	w_del(w, w_find(w, 0, KIND_SECRET, "kueue-system", "w2"));
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w3"));
	w_settle(w);
	w_take(w);
	w_later(w, 650000);
	is_str(w_take_work(w), "",
	       "trap_03: the collector asks nothing of workers that are not connected");
	is_int((long long)objects_on(w, 1), 1, "what it cannot see stays");
	w_link(w, 1, LINK_UP);
	w_later(w, 130000);
	is_int((long long)objects_on(w, 1), 0, "it is collected when the worker is back");
	w_free(w);
}

enum { HOUR = 3600 * 1000 };

/*
 * A running job whose worker is lost: with lostWorkerPolicy Keep, or with a timeout of that many
 * hours.
 */
static struct world *lost_for_long(bool keeps, int hours, struct object **wl)
{
	struct world *w = w_new(2);

	w->lost_keep = keeps;
	w->lost_timeout = hours * INT64_C(1) * HOUR;
	w_restart(w);
	w_settle(w);
	*wl = running_job(w);
	w_advance(w, 2000);
	w->stay_down[w->links[2]] = true;
	w_link(w, w->links[2], LINK_DOWN);
	w_settle(w);
	return w;
}

static void keep(void)
{
	struct object *wl;
	struct world *w = lost_for_long(true, 0, &wl);

	w_advance(w, INT64_C(30) * 24 * HOUR);
	is_str(check_state(w, wl), "Ready", "Keep: a month without its worker is no loss");
	w_free(w);
	w = lost_for_long(true, 0, &wl);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	evict(w, wl, "P");
	w_advance(w, 14 * 60 * 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "2",
	       "Keep: evicted, its worker is awaited");
	w_advance(w, 2 * 60 * 1000);
	ok(strcmp(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "2") != 0,
	   "Keep: ... for a quarter of an hour, then its quota can go");
	w_free(w);
}

/* A timeout of more than a year is that timeout, for running jobs and for evicted ones. */
static void more_than_a_year(void)
{
	struct object *wl;
	struct world *w = lost_for_long(false, 9000, &wl);

	w_advance(w, INT64_C(8999) * HOUR);
	is_str(check_state(w, wl), "Ready", "9000h: no loss before");
	w_advance(w, INT64_C(2) * HOUR);
	is_str(check_state(w, wl), "Retry", "9000h: a loss after it");
	w_free(w);
	w = lost_for_long(false, 9000, &wl);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	evict(w, wl, "P");
	w_advance(w, INT64_C(8999) * HOUR);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "2",
	       "9000h: evicted, its quota is held so long");
	w_free(w);
}

int main(void)
{
	keep();
	more_than_a_year();
	fresh_loss();
	others_out_of_sync();
	event_of_the_outage();
	killed_every_three_seconds();
	overdue();
	bad_kubeconfig_and_restarts();
	no_kubeconfig_and_a_restart();
	collector_meets_absence();
	return done_testing();
}
