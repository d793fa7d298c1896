/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds that need no code: those of Kubeflow's training operator, MPIJob, RayJob,
 * RayService, StatefulSet and LeaderWorkerSet. What distinguishes them is where the field stands
 * that says who manages the job, whether their status is copied back, and which fields of a running
 * copy follow its original. A kind of your own that is like one of these needs no plugin at all:
 * docs/write-an-adapter.md.
 */
#include <multikueue/adapter.h>

#define MANAGED .managed_by = "/spec/managedBy"
/*
 * What has the worker's controller delete the copy, whose status is to be read. That of MPIJob
 * deletes the launcher alone, so it stays; so does what else only frees resources.
 */
static const char *const run_policy_ttl[] = {"/spec/runPolicy/ttlSecondsAfterFinished", NULL};
static const char *const ray_deletes[] = {"/spec/deletionStrategy", NULL};

#define RUN_POLICY                                                        \
	.managed_by = "/spec/runPolicy/managedBy", .ends = kubeflow_ends, \
	.active = replicas_active, .of_run = replicas_run
#define KIND(g, v, k) .struct_size = sizeof(mk_adapter), .group = (g), .version = (v), .kind = (k)

/* The edit does not change the Workload, and serving must not stop for it. */
static const char *const serve_config[] = {"/spec/serveConfigV2", NULL};
/* One set has a Workload for each replica: scaling makes and removes Workloads, never the set. */
static const char *const replicas[] = {"/spec/replicas", NULL};

static const mk_end kubeflow_ends[] = {
	{"Succeeded", NULL, NULL}, {"Failed", NULL, NULL}, {NULL, NULL, NULL}};
/* Kinds that say by a word, not by a condition, that they have ended. */
static const char *const ray_ends[] = {"Complete", "Failed", NULL};
static const mk_end ray_job_ends[] = {{NULL, "/status/jobDeploymentStatus", ray_ends},
				      {NULL, NULL, NULL}};

/*
 * What holds the quota of an evicted job: the fields that Kueue 0.19.2 reads in each kind's
 * IsActive. And what else is of the run that is no more; then the status is what the kind's
 * controller says of a suspended job.
 */
static const mk_sign replicas_active[] = {{.pointer = "/status/replicaStatuses/*/active"},
					  {.pointer = NULL}};
static const mk_sign replicas_run[] = {{.condition = "Running"}, {.pointer = NULL}};

/*
 * Kueue's IsActive is true of an ended job, too; but Kueue looks for the end first, and an end is
 * never taken back.
 */
static const char *const ray_rests[] = {"Suspended", "Complete", "Failed", NULL};
static const mk_sign ray_job_active[] = {
	{.pointer = "/status/jobDeploymentStatus", .except = ray_rests, .without = "\"Suspended\""},
	{.pointer = NULL}};
static const mk_sign ray_job_run[] = {
	{.pointer = "/status/jobStatus"},        {.pointer = "/status/jobId"},
	{.pointer = "/status/dashboardURL"},     {.pointer = "/status/rayClusterName"},
	{.pointer = "/status/rayClusterStatus"}, {.pointer = NULL}};

static const mk_sign ray_service_active[] = {{.condition = "Ready"}, {.pointer = NULL}};
static const mk_sign ray_service_run[] = {{.pointer = "/status/serviceStatus"},
					  {.pointer = "/status/numServeEndpoints"},
					  {.pointer = NULL}};

/*
 * Ray's autoscaler on the worker changes the RayCluster that KubeRay makes there of the copy;
 * 'where' the cluster stands in the spec.
 */
#define RAY_CHILD(where, its_name)                                                             \
	{                                                                                      \
		.enabled = where "/enableInTreeAutoscaling",                                   \
		.declared = where "/workerGroupSpecs", .child = (its_name), .group = "ray.io", \
		.version = "v1", .kind = "RayCluster", .groups = "/spec/workerGroupSpecs",     \
		.name = "/groupName", .count = "/replicas", .times = "/numOfHosts",            \
		.sizes = "kueue.x-k8s.io/raycluster-podset-replica-sizes",                     \
		.revision = "kueue.x-k8s.io/raycluster-generation",                            \
	}
static const mk_scale ray_job_scale = RAY_CHILD("/spec/rayClusterSpec", "/status/rayClusterName");
static const mk_scale ray_service_scale =
	RAY_CHILD("/spec/rayClusterConfig", "/status/activeServiceStatus/rayClusterName");

/*
 * StatefulSet and LeaderWorkerSet: their controllers on the manager own the status and would write
 * ours over. Nor is their quota held by it: Kueue looks at their Pods here, which wait at their
 * gates.
 */
static const mk_sign nothing[] = {{.pointer = NULL}};

static const mk_adapter table[] = {
	{KIND("kubeflow.org", "v1", "TFJob"), RUN_POLICY, .strip = run_policy_ttl},
	{KIND("kubeflow.org", "v1", "PyTorchJob"), RUN_POLICY, .strip = run_policy_ttl},
	{KIND("kubeflow.org", "v1", "XGBoostJob"), RUN_POLICY, .strip = run_policy_ttl},
	{KIND("kubeflow.org", "v1", "JAXJob"), RUN_POLICY, .strip = run_policy_ttl},
	{KIND("kubeflow.org", "v1", "PaddleJob"), RUN_POLICY, .strip = run_policy_ttl},
	{KIND("kubeflow.org", "v2beta1", "MPIJob"), RUN_POLICY},
	{KIND("ray.io", "v1", "RayJob"), MANAGED, .strip = ray_deletes, .ends = ray_job_ends,
	 .active = ray_job_active, .of_run = ray_job_run, .scale = &ray_job_scale},
	{KIND("ray.io", "v1", "RayService"), MANAGED, .forward = serve_config,
	 .suspend = "/spec/rayClusterConfig/suspend", .active = ray_service_active,
	 .of_run = ray_service_run, .scale = &ray_service_scale},
	{KIND("apps", "v1", "StatefulSet"), .flags = MK_STATUS_NONE, .active = nothing},
	{KIND("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"), .flags = MK_STATUS_NONE,
	 .active = nothing, .replicas = "/spec/replicas", .forward = replicas},
};

static const void *const items[] = {
	&table[0], &table[1], &table[2], &table[3], &table[4],
	&table[5], &table[6], &table[7], &table[8], &table[9],
};
static const mk_factory adapters = {sizeof(mk_factory), sizeof(items) / sizeof(items[0]),
				    MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&adapters, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("io.multikueue.kinds-without-code", "1.0.0", factories);
