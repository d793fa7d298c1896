/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a dispatcher is told that a queue could borrow, and could ever have: figures as Kueue's, for
 * queues of one cohort, kept up to date as they come, change and go.
 */
#include "t/lib/engine_probe.h"

enum { FREE, BORROW, MOST, PREEMPTS };

static struct world *cohort_world(const char *spec, const char *quota, const char *used)
{
	struct world *w = probe_world(1);

	probe_queue(w, 1, "cq", spec, quota, used);
	w_restart(w);
	w_settle(w);
	probe.at[FREE] = "c/0/facts/queue/flavors/0/free";
	probe.at[BORROW] = "c/0/facts/queue/flavors/0/borrow";
	probe.at[MOST] = "c/0/facts/queue/flavors/0/most";
	probe.at[PREEMPTS] = "c/0/facts/queue/preempts";
	probe_job(w, "j");
	return w;
}

/* Lets the dispatcher be asked again; "free borrow most" of cpu. */
static const char *figures(struct world *w)
{
	static char text[3 * sizeof(probe.got[0]) + 3];

	w_settle(w);
	w_later(w, 1500);
	snprintf(text, sizeof(text), "%s %s %s", probe.got[FREE], probe.got[BORROW],
		 probe.got[MOST]);
	return text;
}

#define OF_TEAM "\"cohortName\":\"team\""

static void alone(void)
{
	struct world *w = cohort_world("", "\"nominalQuota\":\"10\"", "3");

	is_str(figures(w), "cpu=7000, cpu=0, cpu=10000,", "without a cohort nothing is borrowed");
	is_str(probe.got[PREEMPTS], "false", "no preemption: none is told");
	w_patch(w, w_find(w, 1, KIND_CLUSTER_QUEUE, "", "cq"),
		"{\"spec\":{\"preemption\":{\"withinClusterQueue\":\"LowerPriority\"}}}");
	(void)figures(w);
	is_str(probe.got[PREEMPTS], "true", "within the queue");
	w_patch(w, w_find(w, 1, KIND_CLUSTER_QUEUE, "", "cq"),
		"{\"spec\":{\"preemption\":{\"withinClusterQueue\":\"Never\","
		"\"reclaimWithinCohort\":\"Any\"}}}");
	(void)figures(w);
	is_str(probe.got[PREEMPTS], "true", "within the cohort");
	w_patch(w, w_find(w, 1, KIND_CLUSTER_QUEUE, "", "cq"),
		"{\"spec\":{\"preemption\":{\"reclaimWithinCohort\":\"Never\"}}}");
	(void)figures(w);
	is_str(probe.got[PREEMPTS], "false", "never");
	w_free(w);
}

/* What is made once for each change is made anew by each. */
static void changes(void)
{
	struct world *w = cohort_world("", "\"nominalQuota\":\"10\"", "3");

	(void)figures(w);
	w_patch(w, w_find(w, 1, KIND_CLUSTER_QUEUE, "", "cq"),
		"{\"status\":{\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":"
		"\"cpu\",\"total\":\"9\"}]}]}}");
	is_str(figures(w), "cpu=1000, cpu=0, cpu=10000,", "use changes");
	probe_queue(w, 1, "d", "", "\"nominalQuota\":\"20\"", "5");
	w_patch(w, w_find(w, 1, KIND_LOCAL_QUEUE, "ns", "q"),
		"{\"spec\":{\"clusterQueue\":\"d\"}}");
	is_str(figures(w), "cpu=15000, cpu=0, cpu=20000,", "another queue is asked for");
	w_patch(w, w_find(w, 1, KIND_LOCAL_QUEUE, "ns", "q"),
		"{\"spec\":{\"clusterQueue\":\"cq\"}}");
	is_str(figures(w), "cpu=1000, cpu=0, cpu=10000,", "... and the first again");
	w_free(w);
}

static void siblings(void)
{
	struct world *w = cohort_world(OF_TEAM, "\"nominalQuota\":\"10\"", "3");
	struct object *b;

	is_str(figures(w), "cpu=7000, cpu=0, cpu=10000,", "alone in its cohort");
	b = probe_queue(w, 1, "b", OF_TEAM, "\"nominalQuota\":\"20\"", "5");
	probe_queue(w, 1, "c", "\"cohortName\":\"other\"", "\"nominalQuota\":\"50\"", "0");
	is_str(figures(w), "cpu=7000, cpu=15000, cpu=30000,", "what a sibling has to spare");
	w_patch(w, b,
		"{\"status\":{\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":"
		"\"cpu\",\"total\":\"24\"}]}]}}");
	is_str(figures(w), "cpu=7000, cpu=-4000, cpu=30000,",
	       "a sibling that borrows took of what is free");
	w_patch(w, b, "{\"spec\":{\"cohortName\":\"other\"}}");
	is_str(figures(w), "cpu=7000, cpu=0, cpu=10000,", "it moves to another cohort");
	w_patch(w, b, "{\"spec\":{\"cohortName\":\"team\"}}");
	w_settle(w);
	w_del(w, b);
	is_str(figures(w), "cpu=7000, cpu=0, cpu=10000,", "it is deleted");
	w_free(w);
}

static void limits(void)
{
	struct world *w =
		cohort_world(OF_TEAM, "\"nominalQuota\":\"10\",\"borrowingLimit\":\"4\"", "3");
	struct object *b = probe_queue(w, 1, "b", OF_TEAM,
				       "\"nominalQuota\":\"20\",\"lendingLimit\":\"6\"", "0");

	is_str(figures(w), "cpu=7000, cpu=4000, cpu=14000,", "no more than its borrowing limit");
	w_patch(w, w_find(w, 1, KIND_CLUSTER_QUEUE, "", "cq"),
		"{\"spec\":{\"resourceGroups\":[{\"flavors\":[{\"name\":\"f\",\"resources\":[{"
		"\"name\":\"cpu\",\"nominalQuota\":\"10\"}]}]}]}}");
	is_str(figures(w), "cpu=7000, cpu=6000, cpu=16000,", "no more than a sibling lends");
	w_patch(w, b,
		"{\"status\":{\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":"
		"\"cpu\",\"total\":\"17\"}]}]}}");
	is_str(figures(w), "cpu=7000, cpu=3000, cpu=16000,",
	       "a sibling uses what it keeps, and then what it lends");
	w_patch(w, w_find(w, 1, KIND_CLUSTER_QUEUE, "", "cq"),
		"{\"spec\":{\"resourceGroups\":[{\"flavors\":[{\"name\":\"f\",\"resources\":[{"
		"\"name\":\"cpu\",\"nominalQuota\":\"10\",\"borrowingLimit\":\"x\","
		"\"lendingLimit\":{}}]}]}]}}");
	is_str(figures(w), "cpu=7000, cpu=0, cpu=10000,",
	       "a limit that is none is the strictest one");
	w_free(w);
}

/* Quotas that no sum holds. */
static void huge(void)
{
	struct world *w = cohort_world(OF_TEAM, "\"nominalQuota\":\"9E\"", "0");
	char name[16];

	for (int i = 0; i < 1100; i++) {
		snprintf(name, sizeof(name), "q%d", i);
		probe_queue(w, 1, name, OF_TEAM, "\"nominalQuota\":\"9E\"", i % 2 ? "9E" : "-9E");
		if (i % 100 == 0) {
			w_settle(w);
		}
	}
	is_str(figures(w),
	       "cpu=9223372036854775807, cpu=9223372036854775807, "
	       "cpu=9223372036854775807,",
	       "1,100 queues of huge quotas: figures stop at a bound");
	for (int i = 0; i < 1100; i++) {
		snprintf(name, sizeof(name), "q%d", i);
		w_del(w, w_find(w, 1, KIND_CLUSTER_QUEUE, "", name));
	}
	is_str(strchr(figures(w), ' '), " cpu=0, cpu=9223372036854775807,",
	       "they go, and nothing of them is left");
	w_free(w);
}

static void no_memory(void)
{
	size_t wrong = 0;

	for (uint64_t n = 1; n < 120; n++) {
		struct world *w = cohort_world(OF_TEAM, "\"nominalQuota\":\"10\"", "3");
		struct object *b;

		w->fail_at = n;
		b = probe_queue(w, 1, "b", OF_TEAM, "\"nominalQuota\":\"20\"", "5");
		w_step(w);
		w_settle(w);
		w_list(w, 1, KIND_CLUSTER_QUEUE);
		wrong += strcmp(figures(w), "cpu=7000, cpu=15000, cpu=30000,") != 0;
		w->fail_at = n;
		w_patch(w, b, "{\"spec\":{\"cohortName\":\"other\"}}");
		w_step(w);
		w_settle(w);
		w_list(w, 1, KIND_CLUSTER_QUEUE);
		wrong += strcmp(figures(w), "cpu=7000, cpu=0, cpu=10000,") != 0;
		w_free(w);
	}
	ok(wrong == 0, "memory that fails at any allocation leaves the sums right");
}

int main(void)
{
	alone();
	changes();
	siblings();
	limits();
	huge();
	no_memory();
	return done_testing();
}
