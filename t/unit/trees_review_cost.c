/* SPDX-License-Identifier: Apache-2.0 */
/* What a review of a large set costs: it is told, and it is answered within its arena. */
#include <time.h>

#include "t/lib/tap.h"

#include "t/lib/trees_asked.h"

static void add(struct arena *a, struct json *docs, mk_str text)
{
	struct json *v = NULL;

	if (json_parse(a, text, &v, NULL) != ERR_OK) {
		ok(false, text.p);
	}
	json_add(a, docs, v);
}

static void add_queue(struct arena *a, struct json *docs, int i, bool has_parent)
{
	static const char group[] =
		"[{\"coveredResources\":[\"cpu\",\"memory\",\"nvidia.com/gpu\"],\"flavors\":"
		"[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"10\"},{"
		"\"name\":"
		"\"memory\",\"nominalQuota\":\"10Gi\"},{\"name\":\"nvidia.com/"
		"gpu\",\"nominalQuota\":"
		"\"0\"}]}]}]";
	mk_str note = has_parent ? arena_printf(a,
						"\"annotations\":{\"kueue.x-k8s.io/parent\":"
						"\"q%d\"},",
						(i - 1) / 10)
				 : STR("");

	add(a, docs,
	    arena_printf(a,
			 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
			 "\"metadata\":{%.*s\"uid\":\"4d2a1c1e-0000-4000-8000-%012d\","
			 "\"generation\":3,\"name\":\"q%d\"},\"spec\":{\"namespaceSelector\":{},"
			 "\"queueingStrategy\":\"BestEffortFIFO\",\"preemption\":"
			 "{\"reclaimWithinCohort\":\"Never\",\"withinClusterQueue\":\"Never\"},"
			 "\"resourceGroups\":%s},\"status\":{\"pendingWorkloads\":0,"
			 "\"admittedWorkloads\":0,\"conditions\":[{\"type\":\"Active\",\"status\":"
			 "\"True\",\"reason\":\"Ready\",\"message\":\"Can admit new workloads\","
			 "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],\"flavorsReservation\":"
			 "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":\"0\","
			 "\"borrowed\":\"0\"}]}]}}",
			 STR_ARG(note), i, i, group));
}

/* One tree of 'n' queues, ten below each inner one. */
static void add_tree(struct arena *a, struct json *docs, int n)
{
	struct json *map = json_new_obj(a);

	for (int i = 1; i < n; i++) {
		const char *list = arena_printf(a, "/q%d/weightedQuotas", (i - 1) / 10).p;
		struct json *node = json_new_obj(a);

		if ((i - 1) % 10 == 0) {
			json_put(a, map, list, json_new_arr(a));
		}
		json_set_str(a, node, "name", arena_printf(a, "q%d", i));
		json_add(a, json_at(map, list), node);
	}
	add(a, docs,
	    STR("{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\","
		"\"metadata\":{\"name\":\"t\"},\"spec\":{\"resourceGroup\":{\"coveredResources\":"
		"[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
		"\"nominalQuota\":\"1000\"}]}]}}}"));
	json_put(a, json_elem(docs, json_len(docs) - 1), "/spec/hierarchies", map);
}

/* 'n' ClusterQueues, by a ClusterQuotaTree or by parents, with LocalQueues. */
static struct json *large(struct arena *a, int n, int n_lqs, bool plan_b)
{
	struct json *docs = json_new_arr(a);

	for (int i = 0; i < n; i++) {
		add_queue(a, docs, i, i > 0 && !plan_b);
	}
	for (int i = 0; i < n_lqs; i++) {
		add(a, docs,
		    arena_printf(
			    a,
			    "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
			    "\"LocalQueue\",\"metadata\":{\"namespace\":\"ns%d\",\"name\":\"lq\"},"
			    "\"spec\":{\"clusterQueue\":\"q%d\",\"stopPolicy\":\"None\"}}",
			    i, n - 1 - i % (n / 2)));
	}
	if (plan_b) {
		add_tree(a, docs, n);
	}
	return docs;
}

/* Of this thread: other programs do not count. */
static int64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Prints how long the review of one change takes, and what memory. */
static void time_one(struct trees_store *s, const struct json *old, const char *pointer,
		     const char *value, const char *what)
{
	struct arena a, made;
	struct json *new, *v = NULL;
	struct answered got;
	int64_t best = INT64_MAX;
	mk_str text;

	arena_init(&made, 0);
	new = json_dup(&made, old);
	json_parse(&made, str_of(value), &v, NULL);
	json_put(&made, new, pointer, v);
	text = asked_text(&made, &(struct asked){.operation = "UPDATE", .object = new, .old = old});
	for (int i = 0; i < 3; i++) {
		int64_t t0 = cpu_us();
		size_t used;

		arena_init(&a, 0);
		got = asked_send(s, &a, ASKED_US, text);
		used = a.used;
		t0 = cpu_us() - t0;
		best = t0 < best ? t0 : best;
		if (i == 2) {
			printf("# %s: %lld us, %zu KiB\n", what, (long long)best, used / 1024);
		}
		if (got.code != ERR_OK || !got.allowed) {
			printf("# %s\n", got.code == ERR_OK ? got.text : got.err);
		}
		ok(got.code == ERR_OK && got.allowed, what);
		arena_done(&a);
	}
	arena_done(&made);
}

static void costs(int n, int n_lqs)
{
	struct arena a;
	struct json *docs;
	struct trees_store *s;
	char what[128];

	for (int plan_b = 0; plan_b < 2; plan_b++) {
		const char *of = plan_b ? "of a ClusterQuotaTree" : "with parents";

		arena_init(&a, 1024 * 1024 * 1024);
		docs = large(&a, n, n_lqs, plan_b);
		s = asked_store(&a, docs);
		snprintf(what, sizeof(what), "%d queues %s, %d LocalQueues: a queue", n, of, n_lqs);
		time_one(s, json_elem(docs, (size_t)n - 1), "/spec/stopPolicy", "\"Hold\"", what);
		snprintf(what, sizeof(what), "%d queues %s, %d LocalQueues: a LocalQueue", n, of,
			 n_lqs);
		time_one(s, json_elem(docs, (size_t)n), "/spec/stopPolicy", "\"Hold\"", what);
		if (plan_b) {
			snprintf(what, sizeof(what), "%d queues %s, %d LocalQueues: the tree", n,
				 of, n_lqs);
			time_one(s, json_elem(docs, (size_t)(n + n_lqs)), "/spec/fairShare",
				 "\"HDRF\"", what);
		}
		trees_store_free(s);
		arena_done(&a);
	}
}

int main(void)
{
	costs(1000, 2000);
	return done_testing();
}
