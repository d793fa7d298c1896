/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multiKueue.placementTimeout: a Workload that no worker admits gives its quota back, says why,
 * and is kept from coming back too soon, or too late.
 */
#include "core/engine/answers/answers.h"
#include "t/lib/engine_world.h"

enum { MINUTE = 60 * 1000, HOUR = 60 * MINUTE };

#define FULL                                                                                       \
	"couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, " \
	"1 more needed"

/* Workers with a timeout of five minutes, at 08:00:01. */
static struct world *timed_world(size_t n)
{
	struct world *w = w_new(n);

	w_stop(w);
	w->placement_timeout = 5 * MINUTE;
	w_restart(w);
	w_settle(w);
	return w;
}

/* Lets the wall clock come to so many ms after 08:00:00. */
static void at(struct world *w, int64_t ms)
{
	w_advance(w, WALL0 + ms - w->wall);
}

static void says(struct world *w, cluster_id c, const char *message)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		 "\"Pending\",\"message\":\"%s\"}]}",
		 message);
	w_apply(w, clone_of(w, c, "wl-j"), text);
	w_tell(w, clone_of(w, c, "wl-j"), EV_OBSERVED, VIA_WATCH);
	w_settle(w);
}

static const char *requeue_at(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/requeueState/requeueAt");
}

static void quota_given_back(void)
{
	struct world *w = timed_world(2);
	struct object *wl = a_job(w, "j");
	const char *log;

	w->full = true;
	w_settle(w);
	says(w, 1, FULL);
	w_link(w, 2, LINK_DOWN);
	at(w, 5 * MINUTE - 1);
	is_str(check_state(w, wl), "Pending", "within the time it waits");
	w_take(w);
	at(w, 5 * MINUTE);
	is_str(check_state(w, wl), "Retry", "... at its end the quota is given back");
	is_str(check_message(w, wl),
	       "No worker admitted it within 5m0s: w1: has no quota: " FULL
	       "; w2: is not connected since 2027-01-15T08:00:01Z: nothing listens at its address "
	       "(connection refused), Previously: \"Pending\"",
	       "... with the reason of each worker");
	log = w_take(w);
	is_int(w_times(log, "\"type\":\"Warning\""), 1, "... and one Event");
	w_later(w, HOUR);
	is_str(check_state(w, wl), "Retry", "Kueue does the rest");
	is_int(w_times(w_take(w), "Workload wl-j"), 0, "... nothing more is written");
	w_free(w);
}

static void off(void)
{
	struct world *w = w_new(1);
	struct object *wl = a_job(w, "j");

	w_later(w, 24 * HOUR);
	is_str(check_state(w, wl), "Pending", "without the key it waits for ever");
	is_int(w_times(w_take(w), "ClusterQueue"), 0, "... and no queue is watched");
	w_free(w);
}

/* --- the time --------------------------------------------------------------------------------- */

static void restarts(void)
{
	struct world *w = timed_world(1);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	at(w, 3 * MINUTE);
	w_restart(w);
	w_settle(w);
	at(w, 5 * MINUTE - 1);
	is_str(check_state(w, wl), "Pending", "a restart does not shorten the time");
	at(w, 5 * MINUTE);
	is_str(check_state(w, wl), "Retry", "... nor lengthen it");
	w_free(w);
}

static void restarts_late(void)
{
	struct world *w = timed_world(1);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	at(w, 4 * MINUTE + 49000);
	w_restart(w);
	w_settle(w);
	at(w, 5 * MINUTE + 49999);
	is_str(check_state(w, wl), "Pending", "a new process has a minute to see the workers");
	at(w, 5 * MINUTE + 50000);
	is_str(check_state(w, wl), "Retry", "... and no more");
	w_free(w);
}

static void clock_is_set(int64_t step, const char *what)
{
	struct world *w = timed_world(1);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	at(w, 2 * MINUTE);
	w->wall += step;
	w_advance(w, 3 * MINUTE - 1);
	is_str(check_state(w, wl), "Pending", what);
	w_advance(w, 1);
	is_str(check_state(w, wl), "Retry", "... nor less nor more than five minutes");
	w_free(w);
}

/* A process that did not see the wait begin has the wall clock alone. */
static void clock_is_wrong(void)
{
	struct world *w = timed_world(1);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	at(w, 2 * MINUTE);
	w_restart(w);
	w_settle(w);
	w->wall += HOUR;
	w_advance(w, MINUTE - 1);
	is_str(check_state(w, wl), "Pending", "a clock that is set begins a grace");
	w->wall -= HOUR;
	w_advance(w, MINUTE);
	is_str(check_state(w, wl), "Pending", "... and set right, the time is as it was");
	w_advance(w, MINUTE);
	is_str(check_state(w, wl), "Retry", "... from the beginning");
	w_free(w);
}

/* Quota since a time that is ahead of our clock. */
static void clock_of_kueue(void)
{
	struct world *w = timed_world(1);
	struct object *wl;

	w->wall = WALL0 - 30000;
	wl = a_job(w, "j");
	w_settle(w);
	w_advance(w, 5 * MINUTE - 1);
	is_str(check_state(w, wl), "Pending",
	       "Kueue's clock is ahead: counted from when it is seen");
	w_advance(w, 1);
	is_str(check_state(w, wl), "Retry", "... for five minutes");
	w_free(w);
}

/* Our clock is an hour ahead of Kueue's: each wait seems to be over as it begins. */
static void clock_ahead(void)
{
	struct world *w = timed_world(1);
	struct object *wl;

	w->wall += HOUR;
	w_later(w, 10 * MINUTE);
	wl = a_job(w, "j");
	w_settle(w);
	w_advance(w, MINUTE - 1);
	is_str(check_state(w, wl), "Pending", "our clock is ahead: a new Workload has a minute");
	w_advance(w, 1);
	is_str(check_state(w, wl), "Retry", "... in which workers may take it");
	queue_again(w, wl);
	w_advance(w, 5 * MINUTE - 1);
	is_str(check_state(w, wl), "Pending", "... when it comes back it has the whole time");
	w_advance(w, 1);
	is_str(check_state(w, wl), "Retry", "... and no more");
	w_free(w);
}

static void other_checks(void)
{
	struct world *w = timed_world(1);
	struct object *wl = a_job(w, "j");

	w_apply(w, wl,
		"{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA
		"],\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"\"},{"
		"\"name\":\"prov\",\"state\":\"Pending\",\"message\":\"\"}]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	at(w, HOUR);
	is_str(check_state(w, wl), "Pending", "another check is not Ready: no worker was asked");
	w_apply(w, wl,
		"{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA
		"],\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"\"},{"
		"\"name\":\"prov\",\"state\":\"Ready\",\"message\":\"\",\"lastTransitionTime\":"
		"\"2027-01-15T09:00:00Z\"}]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	ok(clone_of(w, 1, "wl-j") != NULL, "... then workers are asked");
	at(w, HOUR + 5 * MINUTE - 1);
	is_str(check_state(w, wl), "Pending", "... and the time counts from there");
	at(w, HOUR + 5 * MINUTE);
	is_str(check_state(w, wl), "Retry", "... to its end");
	w_free(w);
}

static void annotations(void)
{
	struct world *w = timed_world(1);
	struct object *check = w_find(w, 0, KIND_CHECK, "", "mk");
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_patch(w, check,
		"{\"metadata\":{\"annotations\":{\"multikueued.io/placement-timeout\":\"0s\"}}}");
	at(w, HOUR);
	is_str(check_state(w, wl), "Pending", "the check's annotation comes first: off");
	w->full = true;
	w_take(w);
	w_patch(w, check,
		"{\"metadata\":{\"annotations\":{\"multikueued.io/placement-timeout\":\"90m\"}}}");
	at(w, HOUR + 30 * MINUTE - 1);
	is_str(check_state(w, wl), "Pending", "... 90 minutes");
	is_int(w_times(w_take(w), "UnknownAnnotation"), 0, "... which is a duration");
	w_patch(w, check,
		"{\"metadata\":{\"annotations\":{\"multikueued.io/placement-timeout\":\"soon\"}}}");
	w_settle(w);
	is_int(w_times(w_take(w), "Annotation multikueued.io/placement-timeout: expected a "
				  "duration, such as 10m or 0s, found \\\"soon\\\""),
	       1, "... another word is told of");
	is_str(check_state(w, wl), "Retry", "... and the configuration's time counts");
	w_free(w);
}

/* --- a worker that admits at the last moment -------------------------------------------------- */

static void admitted_in_time(void)
{
	struct world *w = timed_world(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	at(w, 5 * MINUTE - 1);
	admit(w, 2, "wl-j");
	w->now++;
	w->wall++;
	w_settle(w);
	is_str(check_state(w, wl), "Ready", "admitted in the last moment: it wins");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "... there");
	w_later(w, HOUR);
	is_str(check_state(w, wl), "Ready", "... and no time counts any more");
	w_free(w);
}

static void win_under_way(bool done)
{
	struct world *w = timed_world(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	at(w, 5 * MINUTE - 1);
	*(done ? &w->lose : &w->drop) = 1;
	w->silent_watch = true;
	admit(w, 1, "wl-j");
	w_step(w);
	w_later(w, 10 * MINUTE);
	is_str(check_state(w, wl), "Ready",
	       done ? "a win whose answer is lost is not overtaken"
		    : "a win that is lost is sent again, and not overtaken");
	is_int(w_times(w_take(w), "placement_timeout"), 0, "... no Retry was sent");
	w_free(w);
}

/* The job's kind is not listed there, so that the clone cannot win. */
static void admitted_for_nothing(void)
{
	struct world *w = w_new(1);
	struct object *wl;

	w_stop(w);
	w->placement_timeout = 5 * MINUTE;
	w->hold_jobs[1] = true;
	w_restart(w);
	wl = a_job(w, "j");
	w_settle(w);
	admit(w, 1, "wl-j");
	at(w, 6 * MINUTE - 1);
	is_str(check_state(w, wl), "Pending", "an admitted clone has a minute more to win");
	at(w, 6 * MINUTE);
	is_str(check_state(w, wl), "Retry", "... then it counts as none");
	w_free(w);
}

/* --- the pause -------------------------------------------------------------------------------- */

/* Kueue has evicted the Workload for its check, at 08:05:00; 'status' is what comes before that. */
static void evicted(struct world *w, struct object *wl, const char *status, const char *why,
		    int retries)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "{%s,{\"type\":\"Evicted\",\"status\":\"True\",\"reason\":\"AdmissionCheck\","
		 "\"message\":\"Evicted due to AdmissionCheck in Retry state: \\\"mk\\\" (%s)\","
		 "\"lastTransitionTime\":\"2027-01-15T08:05:00Z\"}],\"admissionChecks\":[{"
		 "\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"Reset\",\"retryCount\":%d}]}",
		 status, why, retries);
	w_apply(w, wl, text);
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
}

#define WHY "No worker admitted it within 5m0s: w1: x, Previously: \\\"Pending\\\""
#define HELD "\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA
#define LEFT                                                                                      \
	"\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":\"Pending\"" \
	"},{\"type\":\"Requeued\",\"status\":\"False\",\"reason\":\"AdmissionCheck\"}"
#define QUEUED                                                                                    \
	"\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":\"Pending\"" \
	"},{\"type\":\"Requeued\",\"status\":\"True\",\"reason\":\"BackoffFinished\"}"

/* A Workload whose check has turned Retry at 08:05:00. */
static struct world *given_back(struct object **ret_wl)
{
	struct world *w = timed_world(2);

	*ret_wl = a_job(w, "j");
	w_settle(w);
	at(w, 5 * MINUTE);
	w_take(w);
	return w;
}

static void pauses(void)
{
	static const struct {
		int retries;
		const char *until;
	} cases[] = {{-3, "2027-01-15T08:06:00Z"}, {1, "2027-01-15T08:06:00Z"},
		     {2, "2027-01-15T08:07:00Z"},  {3, "2027-01-15T08:09:00Z"},
		     {5, "2027-01-15T08:21:00Z"},  {6, "2027-01-15T08:35:00Z"},
		     {7, "2027-01-15T08:35:00Z"},  {2000000000, "2027-01-15T08:35:00Z"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct object *wl;
		struct world *w = given_back(&wl);

		evicted(w, wl, HELD, WHY, cases[i].retries);
		is_str(requeue_at(w, wl), cases[i].until, "a pause that grows with each time");
		is_int(w_times(w_take(w), "requeue_later"), 1, "... written once");
		w_later(w, HOUR);
		is_int(w_times(w_take(w), "requeue_later"), 0, "... and not again");
		w_free(w);
	}
}

static void pause_without_quota(void)
{
	struct object *wl;
	struct world *w = given_back(&wl);

	evicted(w, wl, LEFT, WHY, 1);
	is_str(requeue_at(w, wl), "2027-01-15T08:06:00Z", "the quota is gone already: as well");
	ok(!clone_of(w, 1, "wl-j") && !clone_of(w, 2, "wl-j"), "no clone is left");
	/* By Kueue's clock the pause is over. */
	evicted(w, wl, LEFT, WHY, 1);
	is_str(requeue_at(w, wl), "", "Kueue takes the time away: it is not written again");
	w_free(w);

	w = given_back(&wl);
	evicted(w, wl, QUEUED, WHY, 1);
	is_str(requeue_at(w, wl), "", "it is queued already: it stays so");
	w_free(w);
}

static void pause_of_others(void)
{
	struct object *wl;
	struct world *w = given_back(&wl);

	evicted(w, wl, HELD, "Admitting remote lost", 1);
	is_str(requeue_at(w, wl), "", "a Retry for another reason has no pause");
	evicted(w, wl,
		"\"requeueState\":{\"requeueAt\":\"2027-01-15T09:00:00Z\",\"count\":2}," HELD, WHY,
		1);
	is_str(requeue_at(w, wl), "2027-01-15T09:00:00Z",
	       "a longer pause of another controller stays");
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	w_link(w, 2, LINK_UP);
	w_settle(w);
	is_str(requeue_at(w, wl), "2027-01-15T09:00:00Z", "... also when a worker comes back");
	evicted(w, wl,
		"\"requeueState\":{\"requeueAt\":\"2027-01-15T08:05:30Z\",\"count\":2}," LEFT, WHY,
		1);
	is_str(requeue_at(w, wl), "2027-01-15T08:06:00Z", "a shorter one becomes ours");
	is_str(w_str(w, wl, "/status/requeueState/count"), "2", "... its count stays");
	w_free(w);
}

static void hostile_times(void)
{
	struct object *wl;
	struct world *w = given_back(&wl);

	w->wall += 24 * HOUR;
	evicted(w, wl, HELD, WHY, 1);
	is_str(requeue_at(w, wl), "", "evicted long ago: no pause");
	w->wall -= 48 * HOUR;
	evicted(w, wl, LEFT, WHY, 1);
	is_str(requeue_at(w, wl), "", "evicted in the future: no pause");
	w_free(w);
}

/* --- a worker that grows ---------------------------------------------------------------------- */

static struct object *a_queue(struct world *w, cluster_id c, const char *cpu)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"cq\"},\"spec\":{\"resourceGroups\":[{\"flavors\":[{"
		 "\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%s\"}]}]}]},"
		 "\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\"}]}}",
		 cpu);
	return w_put(w, c, KIND_CLUSTER_QUEUE, text);
}

#define QUOTA_OF(cpu)                                                                            \
	"{\"spec\":{\"resourceGroups\":[{\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":" \
	"\"cpu\",\"nominalQuota\":\"" cpu "\"}]}]}]}}"

static void worker_grows(void)
{
	struct object *wl, *queue;
	struct world *w = given_back(&wl);

	w_advance(w, 2000);
	queue = a_queue(w, 2, "4");
	w_settle(w);
	evicted(w, wl, LEFT, WHY, 4);
	w_advance(w, 10000);
	is_str(requeue_at(w, wl), "", "a queue that was made since: no pause at all");
	w_free(w);

	w = given_back(&wl);
	queue = a_queue(w, 2, "4");
	w_settle(w);
	w->wall -= 5000; /* it was there before the eviction */
	w_restart(w);
	w_settle(w);
	w_advance(w, 5000);
	evicted(w, wl, LEFT, WHY, 4);
	is_str(requeue_at(w, wl), "2027-01-15T08:13:00Z", "it rests");
	w_patch(w, queue, QUOTA_OF("3"));
	w_settle(w);
	is_str(requeue_at(w, wl), "2027-01-15T08:13:00Z", "... while a worker gets smaller");
	w_take(w);
	w_patch(w, queue, QUOTA_OF("5"));
	w_settle(w);
	is_str(requeue_at(w, wl), "", "... and no longer when it grows");
	is_int(w_times(w_take(w), "requeue_early"), 1, "... by one write");
	w_restart(w);
	w_settle(w);
	w_advance(w, MINUTE);
	is_int(w_times(w_take(w), "requeue_early"), 0, "a restart finds no worker that grew");
	w_free(w);
}

static void worker_returns(void)
{
	struct object *wl;
	struct world *w = given_back(&wl);

	w_link(w, 2, LINK_DOWN);
	evicted(w, wl, LEFT, WHY, 4);
	is_str(requeue_at(w, wl), "2027-01-15T08:13:00Z", "it rests");
	w_advance(w, MINUTE);
	w_link(w, 2, LINK_UP);
	w_settle(w);
	is_str(requeue_at(w, wl), "", "a lost worker is back: it rests no longer");
	w_free(w);

	w = given_back(&wl);
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/cordon\":\"Cordon\"}}}");
	w_settle(w);
	evicted(w, wl, LEFT, WHY, 4);
	is_str(requeue_at(w, wl), "2027-01-15T08:13:00Z", "it rests");
	w_advance(w, MINUTE);
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/cordon\":null}}}");
	w_settle(w);
	is_str(requeue_at(w, wl), "", "a worker may take jobs again: it rests no longer");
	w_free(w);

	w = given_back(&wl);
	w->wall += HOUR; /* and is set back */
	w_link(w, 2, LINK_DOWN);
	w_link(w, 2, LINK_UP);
	w_settle(w);
	w->wall -= HOUR;
	evicted(w, wl, LEFT, WHY, 4);
	is_str(requeue_at(w, wl), "2027-01-15T08:13:00Z", "the clock was ahead: it rests");
	w_free(w);
}

/* --- answers, memory -------------------------------------------------------------------------- */

static void told(void)
{
	struct world *w = timed_world(1);
	struct arena a;
	struct answer_env env;
	const struct json *next;

	arena_init(&a, 0);
	a_job(w, "j");
	w_settle(w);
	at(w, MINUTE);
	env = (struct answer_env){.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = &a};
	next = json_elem(json_get(answer_workload(&env, STR("ns"), STR("wl-j")), "next"), 0);
	is_str(json_str(json_get(next, "at")).p, "2027-01-15T08:05:00Z", "why: when");
	is_str(json_str(json_get(next, "what")).p, "its quota is given back", "... and what");
	arena_done(&a);
	w_free(w);
}

static void no_memory(void)
{
	size_t bad = 0, n = 1;

	for (; n < 400; n++) {
		struct world *w = timed_world(2);
		struct object *wl = a_job(w, "j");

		w_settle(w);
		at(w, 5 * MINUTE - 1);
		w->now++;
		w->wall++;
		w->fail_at = n;
		w_step(w);
		w_later(w, 2 * MINUTE);
		bad += strcmp(check_state(w, wl), "Retry") != 0;
		w_free(w);
	}
	is_int((long)bad, 0, "without memory it comes later, but it comes");
}

int main(void)
{
	quota_given_back();
	off();
	restarts();
	restarts_late();
	clock_is_set(HOUR, "the clock is set ahead");
	clock_is_set(-HOUR, "the clock is set back");
	clock_is_wrong();
	clock_of_kueue();
	clock_ahead();
	other_checks();
	annotations();
	admitted_in_time();
	win_under_way(true);
	win_under_way(false);
	admitted_for_nothing();
	pauses();
	pause_without_quota();
	pause_of_others();
	hostile_times();
	worker_grows();
	worker_returns();
	told();
	no_memory();
	return done_testing();
}
