/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of jobs besides batch/v1 Job, as the queue controller sees one that is evicted: its quota
 * is given back when it is suspended and not active, and each kind has its own fields for both (the
 * IsSuspended and IsActive of Kueue 0.19.2). What ended meanwhile is Finished instead. Who makes,
 * starts and ends such a job plays its part from outside.
 */
#include "t/kubesim/queue_controller.h"

struct job_kind {
	const char *api_version, *kind, *resource;
	const char *suspend; /* pointer of the boolean; NULL: its Pods wait at their gates */
	bool (*is_active)(const struct json *status);
};

/* An array or an object of objects, one of which counts active pods (or jobs). */
static bool any_active(const struct json *list)
{
	struct json_iter it = json_iter(list);

	while (json_next(&it)) {
		if (json_int(json_get(it.val, "active"), 0) != 0) {
			return true;
		}
	}
	return false;
}

static bool has_condition(const struct json *status, const char *type)
{
	struct json_iter it = json_iter(json_get(status, "conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), type)) {
			return str_is(json_str(json_get(it.val, "status")), "True");
		}
	}
	return false;
}

static bool replicated_jobs(const struct json *status)
{
	return any_active(json_get(status, "replicatedJobsStatus"));
}

static bool jobs_status(const struct json *status)
{
	return any_active(json_get(status, "jobsStatus"));
}

static bool replica_statuses(const struct json *status)
{
	return any_active(json_get(status, "replicaStatuses"));
}

static bool wrapper(const struct json *status)
{
	return has_condition(status, "QuotaReserved");
}

static bool ray_cluster(const struct json *status)
{
	return str_is(json_str(json_get(status, "state")), "ready");
}

static bool ray_job(const struct json *status)
{
	mk_str s = json_str(json_get(status, "jobDeploymentStatus"));

	return s.n > 0 && !str_is(s, "Suspended");
}

static bool ray_service(const struct json *status)
{
	return has_condition(status, "Ready");
}

static bool spark(const struct json *status)
{
	return str_is(json_str_at(status, "/applicationState/state"), "RUNNING");
}

/* Its Pods on the manager never run; those of a worker's copy are stopped from outside. */
static bool nothing(const struct json *status)
{
	(void)status;
	return false;
}

/* How a job of any of these kinds says that it is over; empty: it is not. */
static mk_str end_of(const struct json *status)
{
	static const char *const phase[] = {"/phase", "/jobDeploymentStatus",
					    "/applicationState/state"};
	bool failed = has_condition(status, "Failed");
	bool ended = failed || has_condition(status, "Completed") ||
		     has_condition(status, "Complete") || has_condition(status, "Succeeded");

	for (size_t i = 0; i < sizeof(phase) / sizeof(phase[0]); i++) {
		mk_str at = json_str_at(status, phase[i]);

		failed |= str_is(at, "Failed") || str_is(at, "FAILED");
		ended |= failed || str_is(at, "Succeeded") || str_is(at, "Complete") ||
			 str_is(at, "COMPLETED");
	}
	return !ended ? STR("") : failed ? STR("Failed") : STR("Succeeded");
}

static const struct job_kind kinds[] = {
	{"jobset.x-k8s.io/v1alpha2", "JobSet", "jobset.x-k8s.io/v1alpha2/jobsets", "/spec/suspend",
	 replicated_jobs},
	{"trainer.kubeflow.org/v1alpha1", "TrainJob", "trainer.kubeflow.org/v1alpha1/trainjobs",
	 "/spec/suspend", jobs_status},
	{"kubeflow.org/v2beta1", "MPIJob", "kubeflow.org/v2beta1/mpijobs",
	 "/spec/runPolicy/suspend", replica_statuses},
	{"kubeflow.org/v1", "TFJob", "kubeflow.org/v1/tfjobs", "/spec/runPolicy/suspend",
	 replica_statuses},
	{"kubeflow.org/v1", "PyTorchJob", "kubeflow.org/v1/pytorchjobs", "/spec/runPolicy/suspend",
	 replica_statuses},
	{"kubeflow.org/v1", "XGBoostJob", "kubeflow.org/v1/xgboostjobs", "/spec/runPolicy/suspend",
	 replica_statuses},
	{"kubeflow.org/v1", "JAXJob", "kubeflow.org/v1/jaxjobs", "/spec/runPolicy/suspend",
	 replica_statuses},
	{"kubeflow.org/v1", "PaddleJob", "kubeflow.org/v1/paddlejobs", "/spec/runPolicy/suspend",
	 replica_statuses},
	{"workload.codeflare.dev/v1beta2", "AppWrapper",
	 "workload.codeflare.dev/v1beta2/appwrappers", "/spec/suspend", wrapper},
	{"ray.io/v1", "RayCluster", "ray.io/v1/rayclusters", "/spec/suspend", ray_cluster},
	{"ray.io/v1", "RayJob", "ray.io/v1/rayjobs", "/spec/suspend", ray_job},
	{"ray.io/v1", "RayService", "ray.io/v1/rayservices", "/spec/rayClusterConfig/suspend",
	 ray_service},
	{"sparkoperator.k8s.io/v1beta2", "SparkApplication",
	 "sparkoperator.k8s.io/v1beta2/sparkapplications", "/spec/suspend", spark},
	{"apps/v1", "StatefulSet", "apps/v1/statefulsets", NULL, nothing},
	{"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
	 "leaderworkerset.x-k8s.io/v1/leaderworkersets", NULL, nothing},
};

const char *kinds_resource(size_t i)
{
	return i < sizeof(kinds) / sizeof(kinds[0]) ? kinds[i].resource : NULL;
}

static const struct job_kind *kind_of(const struct json *owner)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (str_is(json_str(json_get(owner, "kind")), kinds[i].kind) &&
		    str_is(json_str(json_get(owner, "apiVersion")), kinds[i].api_version)) {
			return &kinds[i];
		}
	}
	return NULL;
}

/* --- groups of Pods --------------------------------------------------------------------------- */

#define PODS "v1/pods"
#define LABEL_GROUP "kueue.x-k8s.io/pod-group-name"

static bool is_group(const struct json *wl)
{
	return str_is(json_str_at(wl, "/metadata/ownerReferences/0/kind"), "Pod");
}

/* Each that has not ended waits at its gate, and none says that it runs. */
static bool group_stopped(const struct ks_actors *k, const struct json *wl)
{
	size_t pos = 0;
	const struct json *o;

	while ((o = ks_each(k->store, PODS, &pos)) != NULL) {
		mk_str phase = json_str_at(o, "/status/phase");
		bool ended = str_is(phase, "Succeeded") || str_is(phase, "Failed");

		if (str_eq(obj_label(o, LABEL_GROUP), obj_meta(wl, "name")) && !ended &&
		    (str_is(phase, "Running") ||
		     json_len(json_at(o, "/spec/schedulingGates")) == 0)) {
			return false;
		}
	}
	return true;
}

/* Sets of Pods own their Workloads without controlling them. */
static const struct json *owner_of(const struct json *wl)
{
	const struct json *controller = obj_controller(wl);

	return controller ? controller : json_elem(json_at(wl, "/metadata/ownerReferences"), 0);
}

bool kinds_stopped(struct ks_actors *k, struct item *it, const struct json *wl)
{
	const struct json *owner = owner_of(wl), *job;
	const struct job_kind *kind = kind_of(owner);
	mk_str ns = obj_meta(wl, "namespace"), name = json_str(json_get(owner, "name"));
	struct json *patch;
	mk_str end;

	if (is_group(wl)) {
		return group_stopped(k, wl);
	}
	job = kind != NULL ? ks_get(k->store, kind->resource, ns, name) : NULL;
	if (!job || !str_eq(obj_meta(job, "uid"), json_str(json_get(owner, "uid")))) {
		return false;
	}
	end = end_of(json_get(job, "status"));
	if (end.n != 0) {
		/* What ended is finished, whatever evicts it: no round follows. */
		patch = status_body(k, wl);
		status_condition(k, patch, "Finished", true, end, STR("The job is over"));
		status_apply(k, it, patch);
		return false;
	}
	if (kind->suspend && !json_bool(json_at(job, kind->suspend))) {
		patch = json_new_obj(&k->a);
		json_put(&k->a, patch, kind->suspend, json_new_bool(&k->a, true));
		api_merge(k, it, obj_path(&k->a, str_of(kind->resource), ns, name), patch, "kueue");
		return false;
	}
	return !kind->is_active(json_get(job, "status"));
}

void kinds_commit(struct ks_actors *k, const struct ks_commit *c)
{
	mk_str uid = obj_meta(c->after, "uid");
	mk_str group = obj_label(c->after != NULL ? c->after : c->before, LABEL_GROUP);
	size_t pos = 0;

	if (str_is(c->resource, PODS) && group.n > 0) {
		item_dirty(k, ITEM_WORKLOAD, RES_WORKLOADS, c->ns, group);
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct json *wl;

		while (uid.n > 0 && str_is(c->resource, kinds[i].resource) &&
		       (wl = ks_each(k->store, RES_WORKLOADS, &pos)) != NULL) {
			if (str_eq(json_str(json_get(obj_controller(wl), "uid")), uid)) {
				item_dirty(k, ITEM_WORKLOAD, RES_WORKLOADS,
					   obj_meta(wl, "namespace"), obj_meta(wl, "name"));
			}
		}
	}
}
