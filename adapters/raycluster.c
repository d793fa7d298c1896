/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray.io/v1 RayCluster: the plain pattern, and elastic ones forward the size of their worker
 * groups. A group is compared by the pods it makes, so that a default that the worker's CRD fills
 * in does not look like an edit.
 */
#include <multikueue/adapter.h>

#define GROUPS "/spec/workerGroupSpecs"
#define GENERATION "/metadata/annotations/kueue.x-k8s.io~1raycluster-generation"

enum { MAX_GROUPS = 64, MAX_EXTRA = 127 };

/* A number of pods or hosts as the API has it, 32 bits: sums and products of such numbers fit. */
static int64_t count_at(mk_call *c, mk_val group, const char *pointer)
{
	int64_t n = mk_i64_at(c, group, pointer, 1);
	return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n;
}

static int64_t group_size(mk_call *c, mk_val group)
{
	int64_t hosts = count_at(c, group, "/numOfHosts");
	int64_t size = count_at(c, group, "/replicas") * (hosts > 1 ? hosts : 1);
	return size > INT32_MAX ? INT32_MAX : size;
}

static int64_t total_size(mk_call *c, mk_val groups)
{
	int64_t sum = 0;
	size_t i;
	for (i = 0; i < c->host->len(c, groups); i++) {
		sum += group_size(c, c->host->at(c, groups, i));
	}
	return sum;
}

/* The Workload slice that Kueue makes for the cluster as it is now. */
static mk_str current_slice(mk_call *c, const mk_view *v)
{
	mk_str more = mk_str_at(c, v->local, GENERATION);
	char number[24], text[MAX_EXTRA + 1];
	const char *generation =
		mk_decimal(number, mk_i64_at(c, v->local, "/metadata/generation", 0));
	size_t n = strlen(generation);
	mk_str extra = {text, n};
	memcpy(text, generation, n);
	if (more.n > 0 && more.n < MAX_EXTRA - n) {
		text[n] = '_';
		memcpy(text + n + 1, more.p, more.n);
		extra.n = n + 1 + more.n;
	}
	return c->host->workload_name(c, mk_str_at(c, v->local, "/metadata/name"),
				      mk_str_at(c, v->local, "/metadata/uid"), extra);
}

/*
 * Has the Workload quota for the cluster as it is now, with its head? One that was resized while it
 * waited has the name of the generation before.
 */
static int is_large_enough(mk_call *c, const mk_view *v, int64_t want)
{
	mk_val sets = c->host->get(c, v->workload, "/spec/podSets");
	int64_t pods = 0;
	size_t i;
	for (i = 0; i < c->host->len(c, sets); i++) {
		pods += mk_i64_at(c, c->host->at(c, sets, i), "/count", 0);
	}
	return pods > want ||
	       mk_same(mk_str_at(c, v->workload, "/metadata/name"), current_slice(c, v));
}

/* Groups that only one side has are neither made nor removed. */
static void follow_sizes(mk_call *c, mk_val ours, mk_val theirs)
{
	size_t i;
	for (i = 0; i < c->host->len(c, ours); i++) {
		mk_val group = c->host->at(c, ours, i), twin;
		ptrdiff_t k = mk_find(c, theirs, "/groupName", mk_str_at(c, group, "/groupName"));
		if (k < 0) {
			continue;
		}
		twin = c->host->at(c, theirs, (size_t)k);
		if (group_size(c, group) != group_size(c, twin)) {
			c->host->set(c, twin, "/replicas", c->host->get(c, group, "/replicas"));
			c->host->set(c, twin, "/numOfHosts", c->host->get(c, group, "/numOfHosts"));
		}
	}
}

static int raycluster_remote(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val ours = c->host->get(c, v->local, GROUPS);
	mk_val theirs = c->host->get(c, draft, GROUPS);
	if (c->host->type(c, v->remote) == MK_ABSENT) {
		return MK_SET;
	}
	if (!(v->flags & MK_ELASTIC)) {
		return MK_KEEP;
	}
	if (c->host->len(c, ours) > MAX_GROUPS || c->host->len(c, theirs) > MAX_GROUPS) {
		c->host->say(c, mk_lit("spec.workerGroupSpecs: expected at most 64 groups"));
		return MK_E_INPUT;
	}
	/* growing needs the quota of the new slice; the pass of an older slice must not take it */
	if (total_size(c, theirs) < total_size(c, ours) &&
	    !is_large_enough(c, v, total_size(c, ours))) {
		c->host->say(c, mk_lit("stale slice"));
		return MK_KEEP;
	}
	follow_sizes(c, ours, theirs);
	return MK_SET;
}

/* The fields that Kueue v0.19.2 reads in IsActive, and others that belong to one run. */
static const char *const ready[] = {"ready", NULL};
static const mk_sign raycluster_active[] = {
	{.pointer = "/status/state", .values = ready, .without = "\"suspended\""},
	{.pointer = NULL}};
static const mk_sign raycluster_run[] = {{.pointer = "/status/readyWorkerReplicas"},
					 {.pointer = "/status/availableWorkerReplicas"},
					 {.condition = "HeadPodReady"},
					 {.pointer = NULL}};

/* Ray's autoscaler on the worker changes the copy itself. */
static const mk_scale raycluster_scale = {
	.enabled = "/spec/enableInTreeAutoscaling",
	.declared = GROUPS,
	.groups = GROUPS,
	.name = "/groupName",
	.count = "/replicas",
	.times = "/numOfHosts",
	.sizes = "kueue.x-k8s.io/raycluster-podset-replica-sizes",
	.revision = "kueue.x-k8s.io/raycluster-generation",
};

static const mk_adapter raycluster = {
	.struct_size = sizeof(mk_adapter),
	.group = "ray.io",
	.version = "v1",
	.kind = "RayCluster",
	.managed_by = "/spec/managedBy",
	.remote = raycluster_remote,
	.active = raycluster_active,
	.of_run = raycluster_run,
	.scale = &raycluster_scale,
};

static const void *const items[] = {&raycluster};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&adapters, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.raycluster", "1.0.0", factories);
