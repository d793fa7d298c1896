/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An evicted job that runs nowhere any more says so, in the fields in which its kind says that pods
 * run: else Kueue would hold its quota for ever. Both ways there: its worker is lost past the
 * timeout, or its copy was deleted on the worker.
 */
#include "t/lib/engine_world.h"

#define mk_plugin_entry jobset_entry
#define items jobset_items
#define adapters jobset_adapters
#define factories jobset_factories
#include "adapters/jobset.c"
#undef mk_plugin_entry
#undef items
#undef adapters
#undef factories

#define mk_plugin_entry wrapper_entry
#define items wrapper_items
#define adapters wrapper_adapters
#define factories wrapper_factories
#include "adapters/appwrapper.c"
#undef mk_plugin_entry
#undef items
#undef adapters
#undef factories

#define mk_plugin_entry table_entry
#define items table_items
#define adapters table_adapters
#define factories table_factories
#undef KIND
#include "adapters/kinds_without_code.c"
#undef mk_plugin_entry
#undef items
#undef adapters
#undef factories

#define mk_plugin_entry ray_entry
#define items ray_items
#define adapters ray_adapters
#define factories ray_factories
#define current_slice ray_current_slice
#include "adapters/raycluster.c"
#undef current_slice
#undef mk_plugin_entry
#undef items
#undef adapters
#undef factories

enum { RAY_JOB_ROW = 6, RAY_SERVICE_ROW = 7 }; /* of kinds_without_code.c */

/* A kind that cannot be suspended, and says "busy" while it runs; and one of ABI 1.0. */
static const char *const busy[] = {"busy", NULL};
static const mk_sign free_active[] = {{.pointer = "/status/state", .values = busy},
				      {.pointer = NULL}};
static const mk_adapter cannot_wait = {.struct_size = sizeof(mk_adapter),
				       .group = "ex.io",
				       .version = "v1",
				       .kind = "Free",
				       .managed_by = "/spec/managedBy",
				       .active = free_active};
static const mk_adapter old = {.struct_size = offsetof(mk_adapter, active),
			       .group = "ex.io",
			       .version = "v1",
			       .kind = "Old",
			       .managed_by = "/spec/managedBy",
			       .active = free_active}; /* not read: it lies behind its size */

enum { JOB_SET = JOB + 1, WRAPPER, RAY_CLUSTER, RAY_JOB, RAY_SERVICE, FREE, OLD };

static const void *const test_items[] = {
	&jobset,      &wrapper, &raycluster, &table[RAY_JOB_ROW], &table[RAY_SERVICE_ROW],
	&cannot_wait, &old};
static const mk_factory test_adapters = {sizeof(mk_factory),
					 sizeof(test_items) / sizeof(test_items[0]),
					 MK_FACTORY_ADAPTER, test_items};
static const mk_factory *const test_factories[] = {&test_adapters, NULL};
static const mk_entry test_entry = MK_ENTRY("test.kinds", "1", test_factories);

static const struct row {
	uint16_t kind;
	const char *api, *name;
	const char *spec, *suspend; /* a spec; a merge patch of it, with %s for true or false */
	const char *running, *left; /* status while it runs; status when it runs nowhere */
} rows[] = {
	{JOB_SET, "jobset.x-k8s.io/v1alpha2", "JobSet",
	 "{\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\"}", "{\"suspend\":%s}",
	 "{\"restarts\":1,\"replicatedJobsStatus\":[{\"name\":\"a\",\"active\":2,\"ready\":2,"
	 "\"succeeded\":1},{\"name\":\"b\",\"active\":0,\"ready\":0,\"succeeded\":1}]}",
	 "{\"restarts\":1,\"replicatedJobsStatus\":[{\"name\":\"a\",\"active\":0,\"ready\":0,"
	 "\"succeeded\":1},{\"name\":\"b\",\"active\":0,\"ready\":0,\"succeeded\":1}]}"},
	{WRAPPER, "workload.codeflare.dev/v1beta2", "AppWrapper",
	 "{\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\"}", "{\"suspend\":%s}",
	 "{\"phase\":\"Running\",\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"},{"
	 "\"type\":\"Unhealthy\",\"status\":\"False\"}]}",
	 "{\"phase\":\"Suspended\",\"conditions\":[{\"type\":\"Unhealthy\",\"status\":\"False\"}]"
	 "}"},
	{RAY_CLUSTER, "ray.io/v1", "RayCluster",
	 "{\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\"}", "{\"suspend\":%s}",
	 "{\"state\":\"ready\",\"readyWorkerReplicas\":3,\"desiredWorkerReplicas\":3}",
	 "{\"state\":\"suspended\",\"desiredWorkerReplicas\":3}"},
	{RAY_JOB, "ray.io/v1", "RayJob",
	 "{\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\"}", "{\"suspend\":%s}",
	 "{\"jobDeploymentStatus\":\"Running\",\"jobStatus\":\"RUNNING\",\"rayClusterStatus\":{"
	 "\"state\":\"ready\"},\"failed\":1}",
	 "{\"jobDeploymentStatus\":\"Suspended\",\"failed\":1}"},
	{RAY_SERVICE, "ray.io/v1", "RayService",
	 "{\"rayClusterConfig\":{\"suspend\":true},\"managedBy\":\"kueue.x-k8s.io/multikueue\"}",
	 "{\"rayClusterConfig\":{\"suspend\":%s}}",
	 "{\"serviceStatus\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]"
	 "}",
	 "{\"conditions\":[]}"},
	{FREE, "ex.io/v1", "Free", "{\"managedBy\":\"kueue.x-k8s.io/multikueue\"}", NULL,
	 "{\"state\":\"busy\",\"colour\":\"red\"}", "{\"colour\":\"red\"}"},
};

static struct object *local(struct world *w, const struct row *r)
{
	return w_find(w, 0, r->kind, "ns", "x");
}

static const char *status(struct world *w, const struct row *r)
{
	return w_str(w, local(w, r), "/status");
}

/* Compares without regard to the order of members. */
static void status_is(struct world *w, const struct row *r, const char *want, const char *name)
{
	struct json *x = NULL, *y = NULL;
	struct arena a;

	arena_init(&a, 0);
	json_parse(&a, str_of(status(w, r)), &x, NULL);
	json_parse(&a, str_of(want), &y, NULL);
	ok(x && y && json_equal(x, y), name);
	if (!x || !y || !json_equal(x, y)) {
		printf("#   of a %s: %s\n", r->name, status(w, r));
	}
	arena_done(&a);
}

static void suspend(struct world *w, const struct row *r, cluster_id c, const char *value)
{
	char spec[128], patch[160];

	if (!r->suspend) {
		return;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(spec, sizeof(spec), r->suspend, value);
#pragma GCC diagnostic pop
	snprintf(patch, sizeof(patch), "{\"spec\":%s}", spec);
	w_patch(w, w_find(w, c, r->kind, "ns", "x"), patch);
}

/* A job of the kind, running on w2, with its status at home. */
static struct object *running(struct world *w, const struct row *r)
{
	char text[2048];
	struct object *wl;

	snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"x\",\"namespace\":"
		"\"ns\",\"generation\":1},\"spec\":%s}",
		r->api, r->name, r->spec);
	w_put(w, 0, r->kind, text);
	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
		 "\"name\":\"wl-x\",\"namespace\":\"ns\",\"generation\":1,\"ownerReferences\":[{"
		 "\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"x\",\"uid\":\"%s\","
		 "\"controller\":"
		 "true}]},\"spec\":{\"active\":true,\"queueName\":\"q\",\"podSets\":[{\"name\":"
		 "\"main\",\"count\":2}]},\"status\":{\"admissionChecks\":[{\"name\":\"mk\","
		 "\"state\":\"Pending\",\"message\":\"\"}]}}",
		 r->api, r->name, local(w, r)->uid);
	wl = w_put(w, 0, KIND_WORKLOAD, text);
	w_apply(w, wl, "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	w_settle(w);
	admit(w, 2, "wl-x");
	w_settle(w);
	suspend(w, r, 2, "false");
	suspend(w, r, 0, "false");
	snprintf(text, sizeof(text), "{\"status\":%s}", r->running);
	w_patch(w, w_find(w, 2, r->kind, "ns", "x"), text);
	w_settle(w);
	w_advance(w, 5000);
	status_is(w, r, r->running, r->name);
	(void)w_take(w);
	return wl;
}

static void copy_deleted(const struct row *r)
{
	struct world *w = w_new(2);
	struct object *wl = running(w, r);
	const char *log;

	w_del(w, w_find(w, 2, r->kind, "ns", "x"));
	w_settle(w);
	w_advance(w, 5000);
	is_str(check_state(w, wl), "Retry", "its copy was deleted: the round is over");
	status_is(w, r, r->running, "its status stays until the eviction");
	evict(w, wl, "x");
	w_settle(w);
	if (r->suspend) {
		w_advance(w, 5000);
		status_is(w, r, r->running, "... and until Kueue has suspended it");
		suspend(w, r, 0, "true");
	}
	w_settle(w);
	w_advance(w, 5000);
	status_is(w, r, r->left, "then nothing of it says that pods run");
	log = w_take(w);
	is_int((long long)w_times(log, "abandoned"), 1, "by one write");
	w_advance(w, (int64_t)3600 * 1000);
	ok(!strstr(w_take(w), "abandoned"), "and no second");
	w_free(w);
}

static void worker_lost(const struct row *r)
{
	struct world *w = w_new(2);
	struct object *wl = running(w, r);

	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	evict(w, wl, "preempted");
	suspend(w, r, 0, "true");
	w_settle(w);
	w_advance(w, 890000);
	status_is(w, r, r->running, "within the timeout its pods may run");
	w_advance(w, 12000);
	status_is(w, r, r->left, "after it they do not count");
	w_free(w);
}

/* The worker is back in time: what it says is copied, as ever. */
static void worker_back(const struct row *r)
{
	struct world *w = w_new(2);
	struct object *wl = running(w, r);

	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	evict(w, wl, "preempted");
	suspend(w, r, 0, "true");
	w_settle(w);
	w_advance(w, 600000);
	(void)w_take(w);
	w_link(w, 2, LINK_UP);
	w_settle(w);
	w_advance(w, 5000);
	ok(!strstr(w_take(w), "abandoned"), "back in time: its copy speaks for it");
	w_free(w);
}

/*
 * Evicted on the manager, and its copy goes before the worker's Kueue has suspended it: no status
 * comes home that says that its pods are gone.
 */
static void copy_goes_first(const struct row *r)
{
	struct world *w = w_new(2);
	struct object *wl = running(w, r);
	const char *log;

	evict(w, wl, "preempted");
	suspend(w, r, 0, "true");
	w_settle(w);
	w_advance(w, 5000);
	log = w_take(w);
	ok(strstr(log, "deactivate") && !strstr(log, "delete") && !strstr(log, "abandoned"),
	   "evicted here: its clone is deactivated, its copy stays until its pods are gone");
	status_is(w, r, r->running, "... and counts until then");
	w_del(w, w_find(w, 2, r->kind, "ns", "x"));
	w_settle(w);
	w_advance(w, 5000);
	status_is(w, r, r->left, "the copy went first: then nothing of it says that pods run");
	is_int((long long)w_times(w_take(w), "abandoned"), 1, "by one write, too");
	w_free(w);
}

/*
 * A wrapper that has failed, whose resources are being removed, is no end for Kueue yet;
 * with them gone it is, and stays.
 */
static void end_stays(void)
{
	const struct row failed = {
		WRAPPER,
		rows[1].api,
		rows[1].name,
		rows[1].spec,
		rows[1].suspend,
		"{\"phase\":\"Failed\",\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":"
		"\"True\"},{\"type\":\"ResourcesDeployed\",\"status\":\"True\"}]}",
		"{\"phase\":\"Failed\",\"conditions\":[]}"};

	worker_lost(&failed);
}

/* A job that is over holds nothing: Kueue looks for the end first. */
static void end_is_no_run(void)
{
	struct world *w = w_new(2);
	struct object *wl;
	const struct row over = {
		RAY_JOB,
		rows[3].api,
		rows[3].name,
		rows[3].spec,
		rows[3].suspend,
		"{\"jobDeploymentStatus\":\"Complete\",\"jobStatus\":\"SUCCEEDED\"}",
		NULL};

	wl = running(w, &over);
	w_link(w, 2, LINK_DOWN);
	w_settle(w);
	evict(w, wl, "preempted");
	suspend(w, &over, 0, "true");
	w_settle(w);
	w_advance(w, (int64_t)3600 * 1000);
	status_is(w, &over, over.running, "an end is not taken back");
	w_free(w);
}

/*
 * A plugin of ABI 1.0 has /status/active and its hook, as before;
 * without a hook nothing is taken back.
 */
static void as_before(void)
{
	struct world *w = w_new(2);
	struct object *wl;
	const struct row r = {OLD,
			      "ex.io/v1",
			      "Old",
			      "{\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\"}",
			      "{\"suspend\":%s}",
			      "{\"active\":2,\"state\":\"busy\"}",
			      NULL};

	wl = running(w, &r);
	w_del(w, w_find(w, 2, r.kind, "ns", "x"));
	w_settle(w);
	evict(w, wl, "x");
	suspend(w, &r, 0, "true");
	w_settle(w);
	w_advance(w, 5000);
	status_is(w, &r, r.running, "of a kind of ABI 1.0 without a hook nothing is taken back");
	w_free(w);
}

/* A slice's job may be running for the next slice: what cannot be suspended is left alone. */
static void elastic_is_left_alone(void)
{
	const struct row *r = &rows[5];
	struct world *w = w_new(2);
	struct object *wl = running(w, r);

	w_patch(w, local(w, r),
		"{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/elastic-job\":\"true\"}}}");
	w_del(w, w_find(w, 2, r->kind, "ns", "x"));
	w_settle(w);
	evict(w, wl, "x");
	w_settle(w);
	w_advance(w, 5000);
	status_is(w, r, r->running, "an elastic job that was not suspended may run elsewhere");
	w_free(w);
}

int main(void)
{
	w_more = &test_entry;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		copy_deleted(&rows[i]);
		worker_lost(&rows[i]);
		worker_back(&rows[i]);
		copy_goes_first(&rows[i]);
	}
	end_stays();
	end_is_no_run();
	as_before();
	elastic_is_left_alone();
	return done_testing();
}
