/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of other kinds than Job hold the quota of an eviction by fields of their own. */
#include "t/lib/kubesim_cluster.h"

static const struct row {
	const char *group, *version, *plural, *kind;
	const char *spec;    /* of a job that is not suspended */
	const char *suspend; /* where that shows */
	const char *active, *idle;
} rows[] = {
	{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", "{\"suspend\":false}", "/spec/suspend",
	 "{\"replicatedJobsStatus\":[{\"active\":0},{\"active\":1}]}",
	 "{\"replicatedJobsStatus\":[{\"active\":0},{\"active\":0,\"ready\":1}]}"},
	{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", "{}", "/spec/suspend",
	 "{\"jobsStatus\":[{\"active\":1}]}", "{\"jobsStatus\":[{\"active\":0}]}"},
	{"kubeflow.org", "v2beta1", "mpijobs", "MPIJob", "{}", "/spec/runPolicy/suspend",
	 "{\"replicaStatuses\":{\"Launcher\":{},\"Worker\":{\"active\":2}}}",
	 "{\"replicaStatuses\":{\"Worker\":{\"active\":null}}}"},
	{"kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", "{\"runPolicy\":{}}",
	 "/spec/runPolicy/suspend", "{\"replicaStatuses\":{\"Master\":{\"active\":1}}}",
	 "{\"replicaStatuses\":null}"},
	{"workload.codeflare.dev", "v1beta2", "appwrappers", "AppWrapper", "{}", "/spec/suspend",
	 "{\"phase\":\"Running\",\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"}]"
	 "}",
	 "{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\"}]}"},
	{"ray.io", "v1", "rayclusters", "RayCluster", "{}", "/spec/suspend",
	 "{\"state\":\"ready\"}", "{\"state\":\"suspended\"}"},
	{"ray.io", "v1", "rayjobs", "RayJob", "{}", "/spec/suspend",
	 "{\"jobDeploymentStatus\":\"Initializing\"}", "{\"jobDeploymentStatus\":null}"},
	{"ray.io", "v1", "rayservices", "RayService", "{}", "/spec/rayClusterConfig/suspend",
	 "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}", "{\"conditions\":[]}"},
	{"sparkoperator.k8s.io", "v1beta2", "sparkapplications", "SparkApplication", "{}",
	 "/spec/suspend", "{\"applicationState\":{\"state\":\"RUNNING\"}}",
	 "{\"applicationState\":{\"state\":\"SUSPENDED\"}}"},
};

static const char *path(struct world *w, const struct row *r, const char *rest)
{
	return arena_printf(&w->a, "/apis/%s/%s/namespaces/default/%s%s", r->group, r->version,
			    r->plural, rest)
		.p;
}

/* A job that runs, and its Workload, with quota; evicted then. */
static void make(struct world *w, const struct row *r)
{
	mk_str uid;

	ks_register_crd(w->store, r->group, r->version, r->plural, r->kind, true, true);
	sim_queues(w, 1, false);
	sim_post(w, path(w, r, ""),
		 "{\"apiVersion\":\"%s/"
		 "%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"x\",\"namespace\":"
		 "\"default\"},\"spec\":%s}",
		 r->group, r->version, r->kind, r->spec);
	sim_merge(w, path(w, r, "/x/status"), "{\"status\":%s}", r->active);
	uid = json_str_at(
		sim_get(w, arena_printf(&w->a, "%s/%s/%s", r->group, r->version, r->plural).p, "x"),
		"/metadata/uid");
	sim_post(w, KUEUE "namespaces/default/workloads",
		 KUEUE_HEAD
		 "\"Workload\",\"metadata\":{\"name\":\"wl\",\"namespace\":\"default\","
		 "\"ownerReferences\":[{\"apiVersion\":\"%s/%s\",\"kind\":\"%s\",\"name\":\"x\","
		 "\"uid\":\"%.*s\",\"controller\":true}]},\"spec\":{\"queueName\":\"lq\","
		 "\"podSets\":[{"
		 "\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":"
		 "\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
		 r->group, r->version, r->kind, STR_ARG(uid));
	sim_run(w, 1000);
	sim_merge(w, KUEUE "namespaces/default/workloads/wl", "{\"spec\":{\"active\":false}}");
	sim_run(w, 60000);
}

static void holds_quota_while_active(const struct row *r)
{
	struct world w;
	const char *resource;

	sim_init(&w, KS_MANAGER, 0, 1000, 1);
	make(&w, r);
	resource = arena_printf(&w.a, "%s/%s/%s", r->group, r->version, r->plural).p;
	is_str(sim_condition_text(&w, WORKLOADS, "wl", "Evicted"),
	       "True Deactivated The workload is deactivated", r->kind);
	is_str(sim_at(&w, resource, "x", r->suspend), "true", "is suspended");
	is_str(sim_at(&w, WORKLOADS, "wl", "/status/admission/clusterQueue"), "cq",
	       "the quota is held while it is active");
	sim_merge(&w, path(&w, r, "/x/status"), "{\"status\":%s}", r->idle);
	sim_run(&w, 0);
	is_str(sim_at(&w, WORKLOADS, "wl", "/status/admission"), "-", "and given back then");
	is_int((int64_t)ks_actors_refused(w.actors), 0, "no write was refused");
	sim_done(&w);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		holds_quota_while_active(&rows[i]);
	}
	return done_testing();
}
