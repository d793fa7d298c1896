/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: what placed Workloads ask for counts against a worker's queue until the queue's
 * status shows it. And who waits there for longest.
 */
#include "t/lib/engine_probe.h"

enum { ASSUMED, ELDER, WAITING };

static struct world *ledger_world(void)
{
	struct world *w = probe_world(2);

	probe_queue(w, 1, "cq", "", "\"nominalQuota\":\"10\"", "0");
	probe_queue(w, 2, "cq", "", "\"nominalQuota\":\"10\"", "0");
	w_restart(w);
	w_settle(w);
	probe.at[ASSUMED] = "c/0/facts/queue/assumed";
	probe.at[ELDER] = "c/0/facts/queue/elderMs";
	probe.at[WAITING] = "c/0/facts/waiting";
	return w;
}

/* Quota on worker 'c' without admission; the condition says no more than that. */
static void quota_there(struct world *w, cluster_id c, const char *name)
{
	struct object *o = clone_of(w, c, name);

	w_apply(w, o, "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "]}");
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
}

/* What the question of a new Workload says that other Workloads have taken. */
static const char *asked_by(struct world *w, const char *name)
{
	probe.got[ASSUMED][0] = '?';
	probe_job(w, name);
	return probe.got[ASSUMED];
}

static void a_burst(void)
{
	struct world *w = ledger_world();

	is_str(asked_by(w, "a"), "", "nothing is placed: nothing is assumed");
	is_str(asked_by(w, "b"), "cpu=2000,pods=2,", "a clone that was sent counts");
	is_str(asked_by(w, "c"), "cpu=4000,pods=4,", "... each of them");
	probe.pick[0] = 1;
	(void)asked_by(w, "d");
	probe.pick[0] = 0;
	is_str(asked_by(w, "e"), "cpu=6000,pods=6,", "what went to another worker does not");
	probe.got[ASSUMED][0] = '?';
	w_patch(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-a"),
		"{\"metadata\":{\"annotations\":{\"x\":\"y\"}}}");
	w_settle(w);
	is_str(probe.got[ASSUMED], "cpu=6000,pods=6,", "a Workload's own clone is left out");
	w_free(w);
}

static void until_it_shows(void)
{
	struct world *w = ledger_world();
	struct object *cq = w_find(w, 1, KIND_CLUSTER_QUEUE, "", "cq");

	(void)asked_by(w, "a");
	quota_there(w, 1, "wl-a");
	is_str(asked_by(w, "b"), "cpu=2000,pods=2,", "with quota it counts until that is shown");
	w_patch(w, cq, "{\"status\":{\"pendingWorkloads\":1}}");
	w_settle(w);
	is_str(asked_by(w, "c"), "cpu=2000,pods=2,",
	       "a newer status of the queue shows it; the clone that waits still counts");
	quota_there(w, 1, "wl-b");
	quota_there(w, 1, "wl-c");
	w_later(w, 9000);
	is_str(asked_by(w, "d"), "cpu=4000,pods=4,", "the status says nothing: they still count");
	w_later(w, 1500);
	is_str(asked_by(w, "e"), "cpu=2000,pods=2,", "... for ten seconds");
	w_del(w, clone_of(w, 1, "wl-d"));
	w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-d"));
	w_settle(w);
	is_str(asked_by(w, "f"), "cpu=2000,pods=2,", "a clone that is gone counts no more");
	w_free(w);
}

/* Quota that a worker takes back, and a create that it refuses. */
static void taken_back(void)
{
	struct world *w = ledger_world();
	struct object *o;

	(void)asked_by(w, "a");
	quota_there(w, 1, "wl-a");
	w_patch(w, w_find(w, 1, KIND_CLUSTER_QUEUE, "", "cq"),
		"{\"status\":{\"pendingWorkloads\":2}}");
	w_settle(w);
	is_str(asked_by(w, "b"), "", "shown");
	o = clone_of(w, 1, "wl-a");
	w_apply(w, o, "{}");
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	is_str(asked_by(w, "c"), "cpu=4000,pods=4,", "the worker took its quota back: it counts");
	w->rig = (struct rig){.times = 1,
			      .type = OP_CREATE,
			      .cluster = 1,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_INVALID};
	(void)asked_by(w, "d");
	is_str(asked_by(w, "e"), "cpu=6000,pods=6,", "a clone that is refused does not");
	w_free(w);
}

/* Kueue's words about a clone without quota. */
static void refused_there(struct world *w, cluster_id c, const char *name, const char *words)
{
	struct object *o = clone_of(w, c, name);
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		 "\"Pending\",\"message\":\"couldn't assign flavors to pod set main: %s\","
		 "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}",
		 words);
	w_apply(w, o, text);
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
}

#define NEVER_FITS                                                                     \
	"insufficient quota for cpu in flavor default, previously considered podsets " \
	"requests (0) + current podset request (2) > maximum capacity (1)"

/* A clone that the queue is too small for cannot take what is free in it. */
static void too_large(void)
{
	struct world *w = ledger_world();

	(void)asked_by(w, "a");
	(void)asked_by(w, "b");
	refused_there(w, 1, "wl-a",
		      "insufficient unused quota for cpu in flavor default, 1 more needed");
	is_str(asked_by(w, "c"), "cpu=4000,pods=4,", "a clone that waits for others counts");
	refused_there(w, 1, "wl-a", NEVER_FITS);
	is_str(asked_by(w, "d"), "cpu=4000,pods=4,", "one that never fits there does not");
	w_patch(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-a"),
		"{\"metadata\":{\"annotations\":{\"x\":\"y\"}}}");
	w_settle(w);
	is_str(probe.got[ASSUMED], "cpu=6000,pods=6,", "... nor is it taken off as the own one");
	w_restart(w);
	w_settle(w);
	is_str(asked_by(w, "e"), "cpu=6000,pods=6,", "... nor after a restart");
	refused_there(w, 1, "wl-a",
		      "insufficient unused quota for cpu in flavor default, 1 more needed");
	is_str(asked_by(w, "f"), "cpu=10000,pods=10,", "the queue got larger: it counts again");
	refused_there(w, 1, "wl-a", NEVER_FITS);
	quota_there(w, 1, "wl-a");
	is_str(asked_by(w, "g"), "cpu=12000,pods=12,", "... and with quota, until that shows");
	refused_there(w, 1, "wl-a", NEVER_FITS);
	w_del(w, clone_of(w, 1, "wl-a"));
	w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-a"));
	w_settle(w);
	is_str(asked_by(w, "h"), "cpu=12000,pods=12,", "gone, it leaves the others as they were");
	w_free(w);
}

static void a_restart(void)
{
	struct world *w = ledger_world();

	(void)asked_by(w, "a");
	(void)asked_by(w, "b");
	quota_there(w, 1, "wl-b");
	(void)asked_by(w, "c");
	admit(w, 1, "wl-c");
	w_settle(w);
	w_restart(w);
	w_settle(w);
	is_str(asked_by(w, "d"), "cpu=4000,pods=4,",
	       "a restart: clones that have not won are met, and count");
	w_free(w);
}

static void at(struct world *w, const char *name, int priority, const char *time)
{
	struct object *wl = w_find(w, 0, KIND_WORKLOAD, "ns", name);
	char text[512];

	snprintf(text, sizeof(text), "{\"spec\":{\"priority\":%d}}", priority);
	w_patch(w, wl, text);
	snprintf(text, sizeof(text),
		 "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[{\"type\":"
		 "\"QuotaReserved\",\"status\":\"True\",\"reason\":\"x\",\"message\":\"\","
		 "\"lastTransitionTime\":\"2027-01-15T08:%sZ\"}]}",
		 time);
	w_apply(w, wl, text);
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
}

/* A job whose quota on the manager is from then. */
static void a_job_of(struct world *w, const char *name, int priority, const char *time)
{
	char wl[64];

	snprintf(wl, sizeof(wl), "wl-%s", name);
	a_job(w, name);
	at(w, wl, priority, time);
	w_settle(w);
}

static void who_waits(void)
{
	struct world *w = ledger_world();

	w_later(w, 300 * 1000);
	a_job_of(w, "a", 0, "01:00");
	is_str(probe.got[ELDER], "0", "nobody waits there");
	a_job_of(w, "b", 0, "02:00");
	ok(probe_int(ELDER) >= 240 * 1000, "one has had quota on the manager for longer");
	a_job_of(w, "c", 5, "03:00");
	is_str(probe.got[ELDER], "0", "those of lower priority do not come first");
	a_job_of(w, "d", 5, "02:30");
	is_str(probe.got[ELDER], "0", "nor do later ones");
	a_job_of(w, "e", 5, "04:00");
	ok(probe_int(ELDER) >= 150 * 1000 && probe_int(ELDER) < 240 * 1000,
	   "the first of as high a priority");
	quota_there(w, 1, "wl-a");
	a_job_of(w, "f", 0, "01:30");
	is_str(probe.got[ELDER], "0", "who has quota there does not wait");
	w_free(w);
}

/* More priorities than are kept apart, and ... and all of them go again. */
static void many(void)
{
	struct world *w = ledger_world();
	char name[16], time[16];

	w_later(w, 300 * 1000);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		snprintf(time, sizeof(time), "01:%02d", i);
		a_job_of(w, name, i * (i % 2 ? 1 : -1), time);
	}
	a_job_of(w, "last", -100, "02:00");
	ok(probe_int(ELDER) >= 240 * 1000, "40 priorities: the first one is known");
	is_str(probe.got[WAITING], "41", "all wait there");
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "wl-j%d", i);
		w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", name));
	}
	w_settle(w);
	probe.got[ASSUMED][0] = 'x';
	a_job_of(w, "alone", -200, "03:00");
	is_str(probe.got[ASSUMED], "pods=2,", "all are gone but one");
	w_free(w);
}

/* Requests that no sum holds: no overflow, and taking them away leaves nothing behind. */
static void huge(void)
{
	struct world *w = ledger_world();
	struct object *wl;
	char name[16];

	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "h%d", i);
		wl = a_job(w, name);
		w_patch(w, wl,
			"{\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":2000000000,"
			"\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
			"\"requests\":{\"cpu\":\"9E\",\"memory\":\"-5\",\"x\":7}}}]}}}]}}");
	}
	w_settle(w);
	ok(strstr(probe.got[ASSUMED], "cpu=") && !strstr(probe.got[ASSUMED], "=-"),
	   "huge requests are bounded");
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "wl-h%d", i);
		w_del(w, w_find(w, 0, KIND_WORKLOAD, "ns", name));
	}
	w_settle(w);
	is_str(asked_by(w, "a"), "", "... and leave nothing behind");
	w_free(w);
}

/* The queue's status, and the clones, with memory failing at each allocation. */
static void no_memory(void)
{
	size_t wrong = 0;

	for (uint64_t n = 1; n < 400; n += 3) {
		struct world *w = ledger_world();

		w->fail_at = n;
		a_job(w, "a");
		w_step(w);
		w_step(w);
		w_settle(w);
		w_later(w, 10000);
		wrong += !clone_of(w, 1, "wl-a");
		quota_there(w, 1, "wl-a");
		w->fail_at = n;
		w_patch(w, w_find(w, 1, KIND_CLUSTER_QUEUE, "", "cq"),
			"{\"status\":{\"pendingWorkloads\":3}}");
		w_step(w);
		w_settle(w);
		w_later(w, 10000);
		wrong += strcmp(asked_by(w, "b"), "") != 0;
		w_free(w);
	}
	ok(wrong == 0, "without memory no clone and no claim is left over");
}

int main(void)
{
	a_burst();
	until_it_shows();
	taken_back();
	too_large();
	a_restart();
	who_waits();
	many();
	huge();
	no_memory();
	return done_testing();
}
