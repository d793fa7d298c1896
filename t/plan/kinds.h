/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of the kinds that ABI 1 was made for besides batch Job, so that the golden vectors
 * show that it fits them: plain ones, those with forwarded fields, groups of pods, sets with many
 * Workloads. Included by t/plan/adapter.c.
 */
#ifndef MK_T_PLAN_KINDS_H
#define MK_T_PLAN_KINDS_H

#include <stdio.h>

#include <multikueue/adapter.h>

#define PREBUILT_KEY "kueue.x-k8s.io~1prebuilt-workload-name"

/* TrainJob: the worker's Kueue adds its own runtime patch; ours must not be there twice. */
static int trainjob_remote(mk_call *c, const mk_view *v, mk_val draft)
{
	if (c->host->type(c, v->remote) != MK_ABSENT) {
		return MK_KEEP;
	}
	mk_drop(c, draft, "/spec/runtimePatches", "/manager", mk_lit("kueue.x-k8s.io/manager"));
	return MK_SET;
}

/*
 * Pod: while the local pod waits at Kueue's gate it must not look unschedulable, or the manager's
 * autoscaler would add nodes for it.
 */
static int pod_status(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val conditions = c->host->get(c, v->local, "/status/conditions");
	ptrdiff_t ours = mk_find(c, conditions, "/type", mk_lit("PodScheduled"));
	mk_val gates = c->host->get(c, v->local, "/spec/schedulingGates");
	mk_val theirs = c->host->get(c, draft, "/conditions");
	ptrdiff_t i = mk_find(c, theirs, "/type", mk_lit("PodScheduled"));

	if (c->host->type(c, c->host->get(c, v->local, "/metadata/deletionTimestamp")) !=
	    MK_ABSENT) {
		return MK_KEEP;
	}
	if (ours >= 0 && mk_find(c, gates, "/name", mk_lit("kueue.x-k8s.io/admission")) >= 0 &&
	    !(i >= 0 &&
	      mk_is(c, c->host->get(c, c->host->at(c, theirs, (size_t)i), "/status"), "True"))) {
		mk_put(c, draft, "/conditions", "/type", c->host->at(c, conditions, (size_t)ours));
	}
	return MK_SET;
}

/* RayCluster: pods of a worker group. */
static int64_t group_size(mk_call *c, mk_val group)
{
	int64_t hosts = mk_i64_at(c, group, "/numOfHosts", 1);

	return mk_i64_at(c, group, "/replicas", 1) * (hosts > 1 ? hosts : 1);
}

static int64_t total_size(mk_call *c, mk_val groups)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->host->len(c, groups); i++) {
		sum += group_size(c, c->host->at(c, groups, i));
	}
	return sum;
}

static mk_str raycluster_slice(mk_call *c, const mk_view *v)
{
	mk_str more = mk_str_at(c, v->local,
				"/metadata/annotations/kueue.x-k8s.io~1raycluster-generation");
	char extra[128];

	(void)snprintf(extra, sizeof(extra), "%lld%s%.*s",
		       (long long)mk_i64_at(c, v->local, "/metadata/generation", 0),
		       more.n ? "_" : "", more.n < 64 ? (int)more.n : 64, more.n ? more.p : "");
	return c->host->workload_name(c, mk_str_at(c, v->local, "/metadata/name"),
				      mk_str_at(c, v->local, "/metadata/uid"), mk_lit(extra));
}

static int raycluster_remote(mk_call *c, const mk_view *v, mk_val draft)
{
	mk_val ours = c->host->get(c, v->local, "/spec/workerGroupSpecs");
	mk_val theirs = c->host->get(c, draft, "/spec/workerGroupSpecs");

	if (c->host->type(c, v->remote) == MK_ABSENT) {
		return MK_SET;
	}
	if (!(v->flags & MK_ELASTIC)) {
		return MK_KEEP;
	}
	if (total_size(c, theirs) < total_size(c, ours) &&
	    !mk_same(mk_str_at(c, v->workload, "/metadata/name"), raycluster_slice(c, v))) {
		c->host->say(c, mk_lit("stale slice"));
		return MK_KEEP;
	}
	for (size_t i = 0; i < c->host->len(c, ours); i++) {
		mk_val group = c->host->at(c, ours, i);
		ptrdiff_t k = mk_find(c, theirs, "/groupName", mk_str_at(c, group, "/groupName"));
		mk_val twin = k < 0 ? (mk_val){0} : c->host->at(c, theirs, (size_t)k);

		if (k >= 0 && group_size(c, group) != group_size(c, twin)) {
			c->host->set(c, twin, "/replicas", c->host->get(c, group, "/replicas"));
			c->host->set(c, twin, "/numOfHosts", c->host->get(c, group, "/numOfHosts"));
		}
	}
	return MK_SET;
}

#define MANAGED "/spec/managedBy"
#define RUN_POLICY "/spec/runPolicy/managedBy"
#define KIND(g, v, k) .struct_size = sizeof(mk_adapter), .group = (g), .version = (v), .kind = (k)

static const char *const forward_serve[] = {"/spec/serveConfigV2", NULL};
static const char *const forward_replicas[] = {"/spec/replicas", NULL};

static const mk_adapter kind_table[] = {
	{KIND("jobset.x-k8s.io", "v1alpha2", "JobSet"), .managed_by = MANAGED},
	{KIND("workload.codeflare.dev", "v1beta2", "AppWrapper"), .managed_by = MANAGED},
	{KIND("kubeflow.org", "v2beta1", "MPIJob"), .managed_by = RUN_POLICY},
	{KIND("kubeflow.org", "v1", "TFJob"), .managed_by = RUN_POLICY},
	{KIND("trainer.kubeflow.org", "v1alpha1", "TrainJob"), .managed_by = MANAGED,
	 .remote = trainjob_remote},
	{KIND("ray.io", "v1", "RayCluster"), .managed_by = MANAGED, .remote = raycluster_remote},
	{KIND("ray.io", "v1", "RayService"), .managed_by = MANAGED, .forward = forward_serve},
	{KIND("", "v1", "Pod"), .group_key = "kueue.x-k8s.io/pod-group-name", .status = pod_status},
	{KIND("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"), .flags = MK_STATUS_NONE,
	 .replicas = "/spec/replicas", .forward = forward_replicas},
	{KIND("apps", "v1", "StatefulSet"), .flags = MK_STATUS_NONE},
	{.struct_size = sizeof(mk_adapter), .flags = MK_STATUS_IF_PRESENT, .managed_by = MANAGED},
};

static const void *const kind_items[] = {
	&kind_table[0], &kind_table[1], &kind_table[2],  &kind_table[3],
	&kind_table[4], &kind_table[5], &kind_table[6],  &kind_table[7],
	&kind_table[8], &kind_table[9], &kind_table[10],
};
static const mk_factory kind_adapters = {sizeof(mk_factory),
					 sizeof(kind_items) / sizeof(kind_items[0]),
					 MK_FACTORY_ADAPTER, kind_items};
static const mk_factory *const kind_factories[] = {&kind_adapters, NULL};
static const mk_entry kinds = MK_ENTRY("test.kinds", "1", kind_factories);

#endif
