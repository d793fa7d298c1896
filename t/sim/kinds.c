/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of other kinds than Job: they say in fields of their own that they are active, and by those
 * Kueue gives quota back (its IsActive, which t/kubesim has). Who makes their Workloads, starts,
 * runs and stops them is played here.
 */
#include <stdio.h>

#include "core/base/timefmt.h"
#include "t/sim/sim.h"

#define PREBUILT "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"
#define TEMPLATE                                                                               \
	"\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\"," \
	"\"image\":\"i\",\"resources\":{"                                                      \
	"\"requests\":{\"cpu\":\"1\"}}}]}}"

static const struct {
	const char *api_version, *group, *version, *plural, *kind, *resource;
	const char *spec;
	const char *running, *stopped, *ended; /* status; NULL: it never ends */
	unsigned components;                   /* its Workloads; 0: one, and it can be suspended */
} kinds[USER_KINDS] = {
	[USER_OF_JOBS] = {.resource = JOBS},
	[USER_OF_JOBSETS] =
		{"jobset.x-k8s.io/v1alpha2", "jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet",
		 "jobset.x-k8s.io/v1alpha2/jobsets",
		 "\"replicatedJobs\":[{\"name\":\"main\",\"replicas\":1,\"template\":{\"spec\":"
		 "{" TEMPLATE "}}}]",
		 "{\"replicatedJobsStatus\":[{\"name\":\"main\",\"active\":1,\"ready\":1}],"
		 "\"conditions\":[]}",
		 "{\"replicatedJobsStatus\":[{\"name\":\"main\",\"active\":0,\"ready\":0}],"
		 "\"conditions\":[]}",
		 "{\"terminalState\":\"Completed\",\"replicatedJobsStatus\":[{\"name\":\"main\","
		 "\"active\":0,"
		 "\"ready\":0,\"succeeded\":1}],\"conditions\":[{\"type\":\"Completed\",\"status\":"
		 "\"True\","
		 "\"reason\":\"AllJobsCompleted\",\"message\":\"jobset completed successfully\","
		 "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}"},
	[USER_OF_RAYCLUSTERS] = {"ray.io/v1", "ray.io", "v1", "rayclusters", "RayCluster",
				 "ray.io/v1/rayclusters",
				 "\"headGroupSpec\":{" TEMPLATE "},\"workerGroupSpecs\":[]",
				 "{\"state\":\"ready\"}", "{\"state\":\"suspended\"}", NULL},
	[USER_OF_STATEFULSETS] = {"apps/v1", "apps", "v1", "statefulsets", "StatefulSet",
				  "apps/v1/statefulsets", "\"replicas\":1," TEMPLATE,
				  .components = 1},
	[USER_OF_LEADERS] = {"leaderworkerset.x-k8s.io/v1", "leaderworkerset.x-k8s.io", "v1",
			     "leaderworkersets", "LeaderWorkerSet",
			     "leaderworkerset.x-k8s.io/v1/leaderworkersets",
			     "\"replicas\":2,\"leaderWorkerTemplate\":{\"size\":1}",
			     .components = 2},
	[USER_OF_GROUPS] = {.resource = PODS},
};

const char *job_resource(const struct sim *s, size_t i)
{
	return i < (s->kinds ? USER_OF_GROUPS : USER_OF_JOBS + 1) ? kinds[i].resource : NULL;
}

const char *user_resource(const struct user *u)
{
	return kinds[u->of].resource;
}

bool is_set(const struct json *o)
{
	mk_str kind = json_str_at(o, "/kind");

	return str_is(kind, "StatefulSet") || str_is(kind, "LeaderWorkerSet");
}

bool is_job_resource(mk_str resource)
{
	for (int i = 0; i < USER_OF_GROUPS; i++) {
		if (str_is(resource, kinds[i].resource)) {
			return true;
		}
	}
	return false;
}

const char *user_path(struct sim *s, const struct user *u, bool named)
{
	return u->of == USER_OF_JOBS ? arena_printf(&s->arena, JOBS_PATH "%s%s", named ? "/" : "",
						    named ? u->name : "")
					       .p
				     : arena_printf(&s->arena, "/apis/%s/namespaces/default/%s%s%s",
						    kinds[u->of].api_version, kinds[u->of].plural,
						    named ? "/" : "", named ? u->name : "")
					       .p;
}

const struct json *user_local(const struct sim *s, const struct user *u, const struct json *copy)
{
	mk_str uid = json_str_at(copy, ORIGIN_UID);
	const struct member *m = u != NULL ? member_by_uid(u, uid) : NULL;
	const struct json *job = m   ? member_pod(s, u, m, u->site->home)
				 : u ? user_job(u, &s->plane[u->site->home])
				     : NULL;

	return str_eq(json_str_at(job, "/metadata/uid"), uid) ? job : NULL;
}

const struct json *user_job(const struct user *u, const struct plane *p)
{
	return u->group != NULL
		       ? groups_any(u, p)
		       : ks_get(p->store, user_resource(u), STR("default"), str_of(u->name));
}

mk_str sim_kinds_body(struct sim *s, const struct user *u)
{
	return arena_printf(
		&s->arena,
		"{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
		"\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"%s\"}},"
		"\"spec\":{%s%s}}",
		kinds[u->of].api_version, kinds[u->of].kind, u->name, u->elsewhere ? "lq3" : "lq",
		kinds[u->of].components
			? ""
			: "\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\",",
		kinds[u->of].spec);
}

/* --- Kueue on the manager --------------------------------------------------------------------- */

static void merge(struct plane *p, const char *path, const char *sub, mk_str body)
{
	(void)plane_merge(p, arena_printf(&p->sim->arena, "%s%s", path, sub).p, body);
}

static void suspend(struct sim *s, const struct user *u, struct plane *p, bool on)
{
	merge(p, user_path(s, u, true), "",
	      on ? STR("{\"spec\":{\"suspend\":true}}") : STR("{\"spec\":{\"suspend\":false}}"));
}

/* Who has Pods of its own owns its Workloads without controlling them, and they name it. */
static mk_str owner(struct sim *s, const struct user *u, const struct json *job)
{
	return arena_printf(
		&s->arena,
		"[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\",\"uid\":\"%.*s\"%s}]",
		kinds[u->of].api_version, kinds[u->of].kind, u->name,
		STR_ARG(json_str_at(job, "/metadata/uid")),
		kinds[u->of].components ? "" : ",\"controller\":true");
}

static const char *notes(struct sim *s, const struct user *u, unsigned component)
{
	return kinds[u->of].components == 0
		       ? ""
		       : arena_printf(&s->arena,
				      "\"annotations\":{\"kueue.x-k8s.io/job-owner-gvk\":\"%s, "
				      "Kind=%s\",\"kueue.x-k8s.io/job-owner-name\":\"%s\","
				      "\"kueue.x-k8s.io/component-workload-index\":\"%u\"},",
				      kinds[u->of].api_version, kinds[u->of].kind, u->name,
				      component)
				 .p;
}

/* Names as Kueue's, which the engine makes out for components. */
static mk_str workload_name(struct sim *s, const struct user *u, const struct json *job,
			    unsigned component)
{
	return arena_printf(&s->arena, "job-%s-%.5s%s", u->name,
			    json_str_at(job, "/metadata/uid").p, component > 0 ? "-1" : "");
}

static void make_workload(struct sim *s, const struct user *u, struct plane *p,
			  const struct json *job, unsigned component)
{
	(void)plane_request(p, "POST", WORKLOADS_PATH, NULL,
			    arena_printf(&s->arena,
					 "{\"apiVersion\":\"kueue.x-k8s.io/"
					 "v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
					 "\"name\":\"%.*s\",\"namespace\":\"default\",%s"
					 "\"ownerReferences\":%.*s},"
					 "\"spec\":{\"queueName\":\"%s\",\"podSets\":[{\"name\":"
					 "\"main\",\"count\":1,%s}]}}",
					 STR_ARG(workload_name(s, u, job, component)),
					 notes(s, u, component), STR_ARG(owner(s, u, job)),
					 u->elsewhere ? "lq3" : "lq", TEMPLATE));
}

/* Each component's that is not there. */
static void make_workloads(struct sim *s, const struct user *u, struct plane *p,
			   const struct json *job)
{
	for (unsigned i = 0; i < kinds[u->of].components; i++) {
		if (!ks_get(p->store, WORKLOADS, STR("default"), workload_name(s, u, job, i))) {
			make_workload(s, u, p, user_job(u, p), i);
		}
	}
}

static bool is_admitted(const struct json *wl)
{
	return has_condition(wl, "Admitted") && !has_condition(wl, "Evicted") &&
	       !has_condition(wl, "Finished");
}

static void finish(struct sim *s, struct plane *p, mk_str name, const struct json *wl)
{
	struct arena *a = &s->arena;
	struct json *list = json_dup(a, json_at(wl, "/status/conditions")), *c = NULL;

	(void)json_parse(a,
			 arena_printf(a,
				      "{\"type\":\"Finished\",\"status\":\"True\",\"reason\":"
				      "\"Succeeded\",\"message\":\"jobset completed successfully\","
				      "\"lastTransitionTime\":\"%.*s\"}",
				      STR_ARG(time_rfc3339(a, wall_of(s)))),
			 &c, NULL);
	json_add(a, list, c);
	merge(p, WORKLOADS_PATH, arena_printf(a, "/%.*s/status", STR_ARG(name)).p,
	      arena_printf(a, "{\"status\":{\"conditions\":%.*s}}", STR_ARG(json_write(a, list))));
}

static void play_home(struct sim *s, const struct user *u)
{
	struct plane *p = &s->plane[u->site->home];
	const struct json *job = user_job(u, p), *wl = workload_of(s, u);

	if (!job || json_at(job, "/metadata/deletionTimestamp") != NULL) {
		return;
	}
	if (kinds[u->of].components > 0) {
		make_workloads(s, u, p, job);
	} else if (!wl && !json_bool(json_at(job, "/spec/suspend"))) {
		suspend(s, u, p, true);
	} else if (!wl && !job_over(job)) {
		make_workload(s, u, p, job, 0);
	} else if (wl != NULL && job_over(job)) {
		if (!has_condition(wl, "Finished")) {
			finish(s, p, arena_dup(&s->arena, json_str_at(wl, "/metadata/name")), wl);
		}
	} else if (is_admitted(wl) && json_bool(json_at(job, "/spec/suspend"))) {
		suspend(s, u, p, false);
	}
}

/* --- Kueue and the kind's controller on a worker ---------------------------------------------- */

static void set_status(struct sim *s, const struct user *u, struct plane *p, mk_str status)
{
	merge(p, user_path(s, u, true), "/status",
	      arena_printf(&s->arena, "{\"status\":%.*s}", STR_ARG(status)));
}

/* One write towards a job that runs, and ends. */
static void play_running(struct sim *s, struct user *u, struct plane *p, const struct json *job)
{
	if (json_bool(json_at(job, "/spec/suspend"))) {
		suspend(s, u, p, false);
		u->started_at = INT64_MAX;
	} else if (u->started_at == INT64_MAX || !json_at(job, "/status")) {
		set_status(s, u, p, str_of(kinds[u->of].running));
		u->started_at = s->now;
	} else if (kinds[u->of].ended != NULL && s->now >= u->started_at + u->run_ms) {
		set_status(s, u, p, str_of(kinds[u->of].ended));
	}
}

static bool is_active(const struct json *job)
{
	return json_int(json_at(job, "/status/replicatedJobsStatus/0/active"), 0) > 0 ||
	       str_is(json_str_at(job, "/status/state"), "ready");
}

/* Kueue lets the Pods of each component start whose clone is admitted, and stops the others. */
static void play_set(struct sim *s, const struct user *u, struct plane *p, const struct json *set)
{
	const struct json *local = user_job(u, &s->plane[u->site->home]);
	int64_t ready = 0;

	for (unsigned i = 0; i < kinds[u->of].components; i++) {
		const struct json *wl =
			ks_get(p->store, WORKLOADS, STR("default"), workload_name(s, u, local, i));

		ready += json_str_at(wl, ORIGIN).n > 0 && is_admitted(wl);
	}
	if (json_int(json_at(set, "/status/readyReplicas"), 0) != ready) {
		set_status(s, u, p,
			   arena_printf(&s->arena, "{\"readyReplicas\":%lld}", (long long)ready));
	}
}

static void play_worker(struct sim *s, struct user *u, struct plane *p)
{
	const struct json *job = user_job(u, p), *wl;
	mk_str name = arena_dup(&s->arena, json_str_at(job, PREBUILT));

	if (json_str_at(job, ORIGIN).n == 0) {
		return;
	}
	if (kinds[u->of].components > 0) {
		play_set(s, u, p, job);
		return;
	}
	wl = ks_get(p->store, WORKLOADS, STR("default"), name);
	if (wl != NULL && json_len(json_at(wl, "/metadata/ownerReferences")) == 0) {
		merge(p, WORKLOADS_PATH, arena_printf(&s->arena, "/%.*s", STR_ARG(name)).p,
		      arena_printf(&s->arena, "{\"metadata\":{\"ownerReferences\":%.*s}}",
				   STR_ARG(owner(s, u, job))));
	} else if (job_over(job)) {
		if (wl != NULL && !has_condition(wl, "Finished")) {
			finish(s, p, name, wl);
		}
	} else if (is_admitted(wl)) {
		play_running(s, u, p, job);
	} else if (!json_bool(json_at(job, "/spec/suspend"))) {
		suspend(s, u, p, true);
	} else if (is_active(job)) {
		set_status(s, u, p, str_of(kinds[u->of].stopped));
	}
}

void sim_kinds_turn(struct sim *s)
{
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];

		if (u->of == USER_OF_JOBS || u->group != NULL || !u->created) {
			continue;
		}
		play_home(s, u);
		for (size_t k = 1; k <= s->n_workers; k++) {
			play_worker(s, u, &s->plane[k]);
		}
	}
	schedule(s, msg_new(s, M_KINDS), s->now + 300);
}

void sim_kinds_init(struct sim *s)
{
	for (size_t i = 0; i < s->n_planes; i++) {
		for (int k = USER_OF_JOBS + 1; k < USER_OF_GROUPS; k++) {
			if (!ks_register_crd(s->plane[i].store, kinds[k].group, kinds[k].version,
					     kinds[k].plural, kinds[k].kind, true, true)) {
				fail(s, "setup", "no memory for %s", kinds[k].kind);
			}
		}
	}
	schedule(s, msg_new(s, M_KINDS), s->now + 300);
}
