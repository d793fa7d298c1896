/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room that comes free on workers as jobs end, while Workloads rest after a placement timeout: it
 * ends pauses of as many as fit, and not more often than the brakes allow.
 */
#include "t/lib/engine_probe.h"

enum { MINUTE = 60 * 1000 };

/* Two workers whose queues have ten cpu, all in use; a Workload asks for two of them. */
static struct world *full_world(void)
{
	struct world *w = w_new(2);

	w_stop(w);
	w->placement_timeout = 5 * MINUTE;
	w_restart(w);
	for (cluster_id c = 1; c <= 2; c++) {
		probe_queue(w, c, "cq", "", "\"nominalQuota\":\"10\"", "10");
	}
	w_settle(w);
	w->wall -= 5000; /* the queues were there before each eviction */
	w_restart(w);
	w_settle(w);
	return w;
}

static void uses(struct world *w, cluster_id c, int cpu)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"status\":{\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":"
		 "\"cpu\",\"total\":\"%d\"}]}]}}",
		 cpu);
	w_patch(w, w_find(w, c, KIND_CLUSTER_QUEUE, "", "cq"), text);
	w_settle(w);
}

/* Kueue has evicted the Workload for its check at 08:05:00, for the n-th time. */
static void evicted(struct world *w, struct object *wl, int n)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		 "\"Pending\"},{\"type\":\"Requeued\",\"status\":\"False\",\"reason\":"
		 "\"AdmissionCheck\"},{\"type\":\"Evicted\",\"status\":\"True\",\"reason\":"
		 "\"AdmissionCheck\",\"message\":\"Evicted due to AdmissionCheck in Retry state: "
		 "\\\"mk\\\" (No worker admitted it within 5m0s: w1: x, Previously: \\\"Pending"
		 "\\\")\",\"lastTransitionTime\":\"2027-01-15T08:05:00Z\"}],\"admissionChecks\":[{"
		 "\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"Reset\",\"retryCount\":%d}]}",
		 n);
	w_apply(w, wl, text);
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
}

/* Jobs j0, j1, ... that rest, as of a second after 08:05:00. */
static struct world *resting_world(struct object **wl, size_t jobs, int n)
{
	struct world *w = full_world();
	char name[32];

	for (size_t i = 0; i < jobs; i++) {
		snprintf(name, sizeof(name), "j%zu", i);
		wl[i] = probe_job(w, name);
	}
	w_advance(w, WALL0 + 5 * MINUTE + 1000 - w->wall);
	for (size_t i = 0; i < jobs; i++) {
		evicted(w, wl[i], n);
	}
	w_take(w);
	return w;
}

static bool rests(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/requeueState/requeueAt")[0] != '\0';
}

static size_t count_rests(struct world *w, struct object **wl, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += rests(w, wl[i]);
	}
	return sum;
}

static void room_comes(void)
{
	struct object *wl;
	struct world *w = resting_world(&wl, 1, 1);

	ok(rests(w, wl), "no worker has room: it rests");
	uses(w, 2, 9);
	ok(rests(w, wl), "... also when a worker has room for half of it");
	w_advance(w, 10000);
	w_take(w);
	uses(w, 2, 8);
	ok(!rests(w, wl), "... no longer than until there is room for all of it");
	is_int(w_times(w_take(w), "requeue_early"), 1, "... by one write");
	w_free(w);
}

static void room_was_there(void)
{
	struct object *wl;
	struct world *w = full_world();

	uses(w, 1, 4);
	wl = probe_job(w, "j");
	w_advance(w, WALL0 + 5 * MINUTE + 1000 - w->wall);
	evicted(w, wl, 1);
	w_advance(w, 20000);
	ok(rests(w, wl), "room that was there before the eviction did not help: it rests");
	uses(w, 1, 3);
	ok(!rests(w, wl), "... until more comes");
	w_free(w);
}

static void as_many_as_fit(void)
{
	struct object *wl[20];
	struct world *w = resting_world(wl, 20, 1);

	uses(w, 1, 5);
	is_int((int)count_rests(w, wl, 20), 18, "room for two of twenty: two rest no longer");
	uses(w, 1, 4);
	is_int((int)count_rests(w, wl, 20), 18, "... and no more within ten seconds");
	w_advance(w, 10000);
	is_int((int)count_rests(w, wl, 20), 15, "... then the three for which there is room");
	w_free(w);
}

static void room_for_those_that_wait(void)
{
	struct object *wl[2];
	struct world *w = resting_world(wl, 1, 1);

	wl[1] = probe_job(w, "k");
	ok(clone_of(w, 1, "wl-k") != NULL, "another Workload waits there");
	uses(w, 1, 8);
	ok(rests(w, wl[0]), "the room is for the one that waits there");
	w_advance(w, 10000);
	uses(w, 1, 6);
	ok(!rests(w, wl[0]), "... and what is beyond that, for one that rests");
	w_free(w);
}

/* Use that goes up and down each second. */
static void use_flaps(void)
{
	struct object *wl[20];
	struct world *w = resting_world(wl, 20, 5);
	struct engine_stats before, after;
	const char *log;

	engine_get_stats(w->e, &before);
	for (int i = 0; i < 60; i++) {
		uses(w, 1, 10);
		uses(w, 1, 0);
		w_advance(w, 1000);
	}
	engine_get_stats(w->e, &after);
	log = w_take(w);
	is_int(w_times(log, "requeue_early"), 0, "the fifth pause: not in its first minutes");
	ok(after.passes - before.passes <= 8 * 20, "use that flaps for a minute: seven offers");
	printf("# %llu passes of 20 Workloads\n",
	       (unsigned long long)(after.passes - before.passes));
	w_advance(w, MINUTE);
	ok(count_rests(w, wl, 20) == 15, "an eighth of the pause over, it ends as room comes");
	w_free(w);
}

int main(void)
{
	room_comes();
	room_was_there();
	as_many_as_fit();
	room_for_those_that_wait();
	use_flaps();
	return done_testing();
}
