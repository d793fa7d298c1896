/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v1 Pod, alone or in a group that shares a Workload. A pod has no managedBy: scheduling gates hold
 * the local one back, and travel with the copy, where the worker's Kueue takes them away. The
 * engine makes and removes the members and their copies; this file corrects one condition.
 */
#include <multikueue/adapter.h>

#define GATE "kueue.x-k8s.io/admission"

/* The PodScheduled condition of a pod's status; absent when it has none. */
static mk_val scheduled(mk_call *c, mk_val status)
{
	mk_val conditions = c->host->get(c, status, "/conditions");
	ptrdiff_t i = mk_find(c, conditions, "/type", mk_lit("PodScheduled"));
	const mk_val none = {0};
	return i < 0 ? none : c->host->at(c, conditions, (size_t)i);
}

static int is_gated(mk_call *c, mk_val pod)
{
	return mk_find(c, c->host->get(c, pod, "/spec/schedulingGates"), "/name", mk_lit(GATE)) >=
	       0;
}

/*
 * No copy is left: the pod runs nowhere. Kueue gives a group's quota back only when none of its
 * pods says that it runs, and a pod that waits at its gate is all that is left of this one.
 */
static int pod_without_copy(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val waits = c->host->parse(c, mk_lit("{\"type\":\"PodScheduled\",\"status\":\"False\","
						"\"reason\":\"SchedulingGated\"}"));
	if (!is_gated(c, v->local) ||
	    !mk_is(c, c->host->get(c, v->local, "/status/phase"), "Running")) {
		return MK_KEEP;
	}
	c->host->set(c, waits, "/lastTransitionTime", c->host->text(c, v->now));
	mk_put(c, draft, "/conditions", "/type", waits);
	return MK_SET;
}

/*
 * While the local pod waits at Kueue's gate it must not look unschedulable, or the manager's
 * autoscaler would make nodes for it. A pod that goes away here has nothing more to learn.
 */
static int pod_status(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val ours = scheduled(c, c->host->get(c, v->local, "/status"));
	mk_val deleted = c->host->get(c, v->local, "/metadata/deletionTimestamp");
	if (c->host->type(c, deleted) != MK_ABSENT) {
		return MK_KEEP;
	}
	if (c->host->type(c, v->remote) == MK_ABSENT) {
		return pod_without_copy(c, v, draft);
	}
	if (c->host->type(c, ours) != MK_ABSENT && is_gated(c, v->local) &&
	    !mk_is(c, c->host->get(c, scheduled(c, draft), "/status"), "True")) {
		mk_put(c, draft, "/conditions", "/type", ours);
	}
	return MK_SET;
}

static const char *const phases[] = {"Succeeded", "Failed", NULL};
static const mk_end ends[] = {{NULL, "/status/phase", phases}, {NULL, NULL, NULL}};

/* A running pod counts; when it runs nowhere it waits, and nothing is left of its run. */
static const char *const running[] = {"Running", NULL};
static const mk_sign pod_active[] = {
	{.pointer = "/status/phase", .values = running, .without = "\"Pending\""},
	{.pointer = NULL}};
static const mk_sign pod_run[] = {
	{.pointer = "/status/startTime"},
	{.pointer = "/status/hostIP"},
	{.pointer = "/status/hostIPs"},
	{.pointer = "/status/podIP"},
	{.pointer = "/status/podIPs"},
	{.pointer = "/status/message"},
	{.pointer = "/status/reason"},
	{.pointer = "/status/conditions"},
	{.pointer = "/status/resize"},
	{.pointer = "/status/allocatedResources"},
	{.pointer = "/status/containerStatuses"},
	{.pointer = "/status/initContainerStatuses"},
	{.pointer = "/status/ephemeralContainerStatuses"},
	{.pointer = NULL},
};

/*
 * What admission on the manager has computed, from objects that may differ on the worker, where
 * another value is refused; and what no pod may be created with.
 */
static const char *const strip[] = {
	"/spec/priority", /* of priorityClassName */
	"/spec/preemptionPolicy",
	"/spec/overhead", /* of runtimeClassName */
	"/spec/ephemeralContainers",
	NULL,
};

static const mk_adapter pod = {
	.struct_size = sizeof(mk_adapter),
	.group = "",
	.version = "v1",
	.kind = "Pod",
	.strip = strip,
	.group_key = "kueue.x-k8s.io/pod-group-name",
	.status = pod_status,
	.ends = ends,
	.active = pod_active,
	.of_run = pod_run,
};

static const void *const items[] = {&pod};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&adapters, NULL};

/* The host takes the signs back before it calls the hook 'status'. */
const mk_entry mk_plugin_entry = MK_ENTRY_NEEDS(1, "io.multikueue.pod", "1.0.0", factories);
