/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue controller's view of one Job: its Workload is made (or, with a prebuilt name, taken
 * over), the Job starts when that is admitted, stops when it is not, and finishes it.
 */
#include <stdio.h>

#include "core/base/hash.h"
#include "t/kubesim/queue_controller.h"

#define LABEL_CLUSTER_QUEUE "kueue.x-k8s.io/cluster-queue-name"
#define LABEL_LOCAL_QUEUE "kueue.x-k8s.io/local-queue-name"
#define LABEL_PODSET "kueue.x-k8s.io/podset"
#define LABEL_WORKER_POD "kueue.x-k8s.io/multikueue-worker-workload-pod"
#define ANNOTATION_WORKLOAD "kueue.x-k8s.io/workload"
#define LABEL_PRIORITY "kueue.x-k8s.io/priority-class"
#define ANNOTATION_ELASTIC "kueue.x-k8s.io/elastic-job"

enum { NAME_MAX_LEN = 253, NAME_HASH_LEN = 5 };

mk_str job_workload_name(struct arena *a, const struct json *job)
{
	mk_str name = obj_meta(job, "name"), uid = obj_meta(job, "uid");
	mk_str text = arena_printf(a, "Job\nbatch\n%.*s\n%.*s", STR_ARG(name), STR_ARG(uid));
	int64_t generation = json_int(json_at(job, "/metadata/generation"), 1);
	mk_str prefix = arena_printf(a, "job-%.*s", STR_ARG(name));
	mk_str hash;

	if (slices_is_elastic(job)) {
		text = arena_printf(a, "%.*s\n%lld", STR_ARG(text), (long long)generation);
	}
	hash = sha1_hex(a, text);
	prefix = str_sub(prefix, 0, NAME_MAX_LEN - NAME_HASH_LEN - 1);
	return arena_printf(a, "%.*s-%.*s", STR_ARG(prefix), NAME_HASH_LEN, hash.p);
}

static mk_str job_path(struct ks_actors *k, const struct item *it)
{
	return obj_path(&k->a, str_of(RES_JOBS), it->ns, it->name);
}

static struct json *owner_reference(struct ks_actors *k, const struct json *job)
{
	struct json *o = json_new_obj(&k->a);

	json_set_str(&k->a, o, "apiVersion", STR("batch/v1"));
	json_set_bool(&k->a, o, "blockOwnerDeletion", true);
	json_set_bool(&k->a, o, "controller", true);
	json_set_str(&k->a, o, "kind", STR("Job"));
	json_set_str(&k->a, o, "name", obj_meta(job, "name"));
	json_set_str(&k->a, o, "uid", obj_meta(job, "uid"));
	return o;
}

/* --- making the Workload ---------------------------------------------------------------------- */

static int64_t job_pods(const struct json *job)
{
	int64_t pods = json_int(json_at(job, "/spec/parallelism"), 1);
	int64_t completions = json_int(json_at(job, "/spec/completions"), pods);

	return pods < completions ? pods : completions;
}

/* What takes the node labels of flavors from the spec of the job's pods, as a patch. */
static struct json *without_nodes(struct ks_actors *k, const struct json *job)
{
	const struct json *had = json_at(job, "/spec/template/spec/nodeSelector"), *flavor;
	struct json *gone = json_new_obj(&k->a), *spec = json_new_obj(&k->a);
	size_t pos = 0;

	for (flavor = ks_each(k->store, RES_FLAVORS, &pos); flavor;
	     flavor = ks_each(k->store, RES_FLAVORS, &pos)) {
		struct json_iter it = json_iter(json_at(flavor, "/spec/nodeLabels"));

		while (json_next(&it)) {
			if (json_getn(had, it.key)) {
				json_set(&k->a, gone, it.key, json_new_null(&k->a));
			}
		}
	}
	if (json_len(gone) > 0) {
		json_set(&k->a, spec, STR("nodeSelector"),
			 json_len(gone) == json_len(had) ? json_new_null(&k->a) : gone);
	}
	return spec;
}

static struct json *pod_template(struct ks_actors *k, const struct json *job)
{
	static const char *const dropped[] = {
		"controller-uid",    "job-name",        "batch.kubernetes.io/controller-uid",
		LABEL_CLUSTER_QUEUE, LABEL_LOCAL_QUEUE, LABEL_PODSET,
		LABEL_WORKER_POD,
	};
	struct json *t = json_dup(&k->a, json_at(job, "/spec/template"));
	struct json *meta = json_get(t, "metadata");

	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
		json_set(&k->a, json_get(meta, "labels"), str_of(dropped[i]), NULL);
	}
	json_set(&k->a, json_get(meta, "annotations"), STR(ANNOTATION_WORKLOAD), NULL);
	json_set(&k->a, meta, STR("creationTimestamp"), NULL);
	json_merge(&k->a, json_get(t, "spec"), without_nodes(k, job));
	if (meta != NULL && json_len(json_get(meta, "annotations")) == 0) {
		json_set(&k->a, meta, STR("annotations"), NULL);
	}
	return t;
}

static struct json *pod_sets(struct ks_actors *k, const struct json *job)
{
	struct json *list = json_new_arr(&k->a), *set = json_new_obj(&k->a);

	json_set_int(&k->a, set, "count", job_pods(job));
	json_set_str(&k->a, set, "name", STR("main"));
	json_set(&k->a, set, STR("template"), pod_template(k, job));
	json_put(&k->a, set, "/topologyRequest/podIndexLabel",
		 json_new_str(&k->a, STR("batch.kubernetes.io/job-completion-index")));
	json_add(&k->a, list, set);
	return list;
}

static void set_priority(struct ks_actors *k, struct json *spec, const struct json *job)
{
	mk_str name = obj_label(job, LABEL_PRIORITY);
	const struct json *class =
		name.n != 0 ? ks_get(k->store, RES_PRIORITIES, STR(""), name) : NULL;

	json_set_int(&k->a, spec, "priority", json_int(json_get(class, "value"), 0));
	if (class != NULL) {
		struct json *ref = json_new_obj(&k->a);

		json_set_str(&k->a, ref, "group", STR("kueue.x-k8s.io"));
		json_set_str(&k->a, ref, "kind", STR("WorkloadPriorityClass"));
		json_set_str(&k->a, ref, "name", name);
		json_set(&k->a, spec, STR("priorityClassRef"), ref);
	}
}

/* 'before': the Workload that it is to replace; NULL none. */
static void create_workload(struct ks_actors *k, struct item *it, const struct json *job,
			    mk_str name, const struct json *before)
{
	struct json *wl = json_new_obj(&k->a), *meta = json_new_obj(&k->a);
	struct json *spec = json_new_obj(&k->a), *list;

	json_set_str(&k->a, wl, "apiVersion", STR("kueue.x-k8s.io/v1beta2"));
	json_set_str(&k->a, wl, "kind", STR("Workload"));
	json_set(&k->a, wl, STR("metadata"), meta);
	json_set(&k->a, wl, STR("spec"), spec);
	list = json_new_arr(&k->a);
	json_add(&k->a, list, json_new_str(&k->a, STR(FINALIZER_IN_USE)));
	json_set(&k->a, meta, STR("finalizers"), list);
	json_set(&k->a, meta, STR("labels"), json_new_obj(&k->a));
	json_set_str(&k->a, json_get(meta, "labels"), LABEL_JOB_UID, obj_meta(job, "uid"));
	if (obj_annotation(job, ANNOTATION_ELASTIC).n != 0) {
		(void)json_put(&k->a, meta, "/annotations/kueue.x-k8s.io~1elastic-job",
			       json_new_str(&k->a, obj_annotation(job, ANNOTATION_ELASTIC)));
	}
	if (before != NULL) {
		slices_name(k, meta, before);
	}
	json_set_str(&k->a, meta, "name", name);
	json_set_str(&k->a, meta, "namespace", it->ns);
	list = json_new_arr(&k->a);
	json_add(&k->a, list, owner_reference(k, job));
	json_set(&k->a, meta, STR("ownerReferences"), list);
	json_set_bool(&k->a, spec, "active", true);
	json_set(&k->a, spec, STR("podSets"), pod_sets(k, job));
	set_priority(k, spec, job);
	json_set_str(&k->a, spec, "queueName", obj_label(job, LABEL_QUEUE));
	api_create(k, it, obj_path(&k->a, str_of(RES_WORKLOADS), it->ns, STR("")), wl, "kueue");
}

/* Takes a prebuilt Workload over: controller reference and uid label. */
static void take_over(struct ks_actors *k, struct item *it, const struct json *job,
		      const struct json *wl)
{
	struct json *patch = json_new_obj(&k->a);
	struct json *list = json_dup(&k->a, json_at(wl, "/metadata/ownerReferences"));
	struct json *labels = json_new_obj(&k->a);

	list = list != NULL ? list : json_new_arr(&k->a);
	json_add(&k->a, list, owner_reference(k, job));
	json_set_str(&k->a, labels, LABEL_JOB_UID, obj_meta(job, "uid"));
	json_put(&k->a, patch, "/metadata/ownerReferences", list);
	json_put(&k->a, patch, "/metadata/labels", labels);
	json_put(&k->a, patch, "/metadata/resourceVersion",
		 json_new_str(&k->a, obj_meta(wl, "resourceVersion")));
	api_merge(k, it, obj_path(&k->a, str_of(RES_WORKLOADS), it->ns, obj_meta(wl, "name")),
		  patch, "kueue");
}

static bool in_sync(const struct json *job, const struct json *wl)
{
	const struct json *sets = json_at(wl, "/spec/podSets");

	return json_len(sets) == 1 && json_int(json_at(sets, "/0/count"), 1) == job_pods(job) &&
	       json_equal(json_at(sets, "/0/template/spec"), json_at(job, "/spec/template/spec"));
}

static struct item *workload_item(struct ks_actors *k, const struct json *wl)
{
	return item_get(k, ITEM_WORKLOAD, RES_WORKLOADS, obj_meta(wl, "namespace"),
			obj_meta(wl, "name"));
}

static void finish(struct ks_actors *k, const struct json *wl, mk_str reason, mk_str message)
{
	struct item *it = workload_item(k, wl);
	struct json *body;

	if (!it) {
		return;
	}
	body = status_body(k, wl);
	status_condition(k, body, "Finished", true, reason, message);
	status_apply(k, it, body);
}

/* --- starting and stopping -------------------------------------------------------------------- */

/* The labels of nodes of the flavors that the Workload was admitted to. */
static struct json *flavor_labels(struct ks_actors *k, const struct json *wl)
{
	struct json_iter it =
		json_iter(json_at(wl, "/status/admission/podSetAssignments/0/flavors"));
	struct json *all = json_new_obj(&k->a);

	while (json_next(&it)) {
		const struct json *flavor =
			ks_get(k->store, RES_FLAVORS, STR(""), json_str(it.val));
		struct json_iter label = json_iter(json_at(flavor, "/spec/nodeLabels"));

		while (json_next(&label)) {
			json_set(&k->a, all, label.key, json_dup(&k->a, label.val));
		}
	}
	return all;
}

/* Kueue adds to what a pod template has, and does not change it: its words, "" when they agree. */
static mk_str conflict(struct ks_actors *k, const struct json *had, const struct json *added,
		       const char *what)
{
	struct json_iter it = json_iter(added);

	while (json_next(&it)) {
		mk_str was = json_str(json_getn(had, it.key)), is = json_str(it.val);

		if (was.n > 0 && !str_eq(was, is)) {
			return arena_printf(&k->a,
					    "invalid admission check PodSetUpdate: conflict for "
					    "%s: conflict for key=%.*s, value1=%.*s, value2=%.*s",
					    what, STR_ARG(it.key), STR_ARG(was), STR_ARG(is));
		}
	}
	return STR("");
}

static void start(struct ks_actors *k, struct item *it, const struct json *job,
		  const struct json *wl)
{
	struct json *patch = json_new_obj(&k->a), *labels = json_new_obj(&k->a);
	struct json *annotations = json_new_obj(&k->a), *nodes = flavor_labels(k, wl);
	mk_str words;

	json_set_str(&k->a, labels, LABEL_CLUSTER_QUEUE,
		     json_str(json_at(wl, "/status/admission/clusterQueue")));
	json_set_str(&k->a, labels, LABEL_LOCAL_QUEUE, json_str(json_at(wl, "/spec/queueName")));
	if (obj_label(job, LABEL_ORIGIN).n != 0) {
		json_set_str(&k->a, labels, LABEL_WORKER_POD, STR("true"));
	}
	json_set_str(&k->a, labels, LABEL_PODSET, STR("main"));
	json_set_str(&k->a, annotations, ANNOTATION_WORKLOAD, obj_meta(wl, "name"));
	words = conflict(k, json_at(job, "/spec/template/metadata/labels"), labels, "labels");
	if (words.n == 0) {
		words = conflict(k, json_at(job, "/spec/template/spec/nodeSelector"), nodes,
				 "nodeSelector");
	}
	if (words.n > 0) {
		finish(k, wl, STR("FailedToStart"), words);
		return;
	}
	if (json_len(nodes) > 0) {
		json_put(&k->a, patch, "/spec/template/spec/nodeSelector", nodes);
	}
	json_put(&k->a, patch, "/spec/suspend", json_new_bool(&k->a, false));
	json_put(&k->a, patch, "/spec/template/metadata/labels", labels);
	json_put(&k->a, patch, "/spec/template/metadata/annotations", annotations);
	api_merge(k, it, job_path(k, it), patch, "kueue");
}

static void suspend(struct ks_actors *k, struct item *it)
{
	struct json *patch = json_new_obj(&k->a), *annotations = json_new_obj(&k->a);

	json_set_str(&k->a, annotations, ANNOTATION_STOPPING, STR("true"));
	json_put(&k->a, patch, "/metadata/annotations", annotations);
	json_put(&k->a, patch, "/spec/suspend", json_new_bool(&k->a, true));
	api_merge(k, it, job_path(k, it), patch, "kueue");
}

static void clear_start_time(struct ks_actors *k, struct item *it)
{
	struct json *patch = json_new_obj(&k->a);

	json_put(&k->a, patch, "/status/startTime", json_new_null(&k->a));
	api_merge(k, it, arena_printf(&k->a, "%.*s/status", STR_ARG(job_path(k, it))), patch,
		  "kueue");
}

/* The template as it was before the start; the stop is over. */
static void restore_template(struct ks_actors *k, struct item *it, const struct json *job)
{
	struct json *patch = json_new_obj(&k->a), *labels = json_new_obj(&k->a);
	struct json *annotations = json_new_obj(&k->a), *own = json_new_obj(&k->a);
	static const char *const added[] = {LABEL_CLUSTER_QUEUE, LABEL_LOCAL_QUEUE, LABEL_PODSET,
					    LABEL_WORKER_POD};

	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
		json_set(&k->a, labels, str_of(added[i]), json_new_null(&k->a));
	}
	json_set(&k->a, annotations, STR(ANNOTATION_WORKLOAD), json_new_null(&k->a));
	json_set(&k->a, own, STR(ANNOTATION_STOPPING), json_new_null(&k->a));
	json_put(&k->a, patch, "/metadata/annotations", own);
	json_put(&k->a, patch, "/spec/template/metadata/labels", labels);
	json_put(&k->a, patch, "/spec/template/metadata/annotations", annotations);
	json_put(&k->a, patch, "/spec/template/spec", without_nodes(k, job));
	api_merge(k, it, job_path(k, it), patch, "kueue");
}

/* One write towards a job that stands still; false when it does. */
static bool stop(struct ks_actors *k, struct item *it, const struct json *job)
{
	if (!job_is_suspended(job)) {
		suspend(k, it);
		return true;
	}
	if (obj_annotation(job, ANNOTATION_STOPPING).n == 0) {
		return false;
	}
	if (json_at(job, "/status/startTime") != NULL) {
		clear_start_time(k, it);
		return true;
	}
	if (json_int(json_at(job, "/status/active"), 0) != 0) {
		return false;
	}
	restore_template(k, it, job);
	return true;
}

/* --- the step --------------------------------------------------------------------------------- */

static bool owns(const struct json *job, const struct json *wl)
{
	return str_eq(json_str(json_get(obj_controller(wl), "uid")), obj_meta(job, "uid"));
}

static mk_str finish_message(const struct json *job)
{
	const struct json *c =
		obj_condition(job, obj_is_true(job, "Complete") ? "Complete" : "Failed");

	return json_str(json_get(c, "message"));
}

/* Its slice has quota, and waits for checks or for its admission. */
static bool grows(const struct json *job, const struct json *wl)
{
	return slices_is_one(wl) && obj_is_true(wl, "QuotaReserved") &&
	       !obj_is_true(wl, "Admitted") && !obj_is_true(wl, "Evicted") && !job_is_finished(job);
}

/* A Job whose Workload is there and is (or may become) its own. */
static void with_workload(struct ks_actors *k, struct item *it, const struct json *job,
			  const struct json *wl)
{
	bool running = obj_is_true(wl, "Admitted") && !obj_is_true(wl, "Evicted");

	if (!obj_controller(wl) && !obj_is_true(wl, "Finished")) {
		if (in_sync(job, wl) || slices_is_one(wl)) {
			take_over(k, it, job, wl);
		} else {
			finish(k, wl, STR("OutOfSync"),
			       STR("The prebuilt workload is out of sync with its user job"));
		}
		return;
	}
	if (!owns(job, wl)) {
		stop(k, it, job);
		return;
	}
	if (job_is_finished(job)) {
		if (!obj_is_true(wl, "Finished")) {
			finish(k, wl,
			       obj_is_true(job, "Complete") ? STR("Succeeded") : STR("Failed"),
			       finish_message(job));
		}
		return;
	}
	if (slices_was_replaced(wl) || grows(job, wl)) {
		return; /* it goes on as it is */
	}
	if (obj_is_true(wl, "Finished") || !running) {
		stop(k, it, job);
	} else if (job_is_suspended(job)) {
		if (obj_annotation(job, ANNOTATION_STOPPING).n != 0) {
			stop(k, it, job);
		} else {
			start(k, it, job, wl);
		}
	}
}

static bool wants_multikueue(const struct ks_actors *k, mk_str ns, mk_str queue);

/* The user moved it to another queue while it waits: so does its Workload, until it has quota. */
static bool follow_queue(struct ks_actors *k, struct item *it, const struct json *job,
			 const struct json *wl)
{
	mk_str queue = obj_label(job, LABEL_QUEUE);
	struct json *patch;

	if (!owns(job, wl) || !job_is_suspended(job) || obj_is_true(wl, "QuotaReserved") ||
	    obj_is_true(wl, "Finished") || str_eq(json_str_at(wl, "/spec/queueName"), queue)) {
		return false;
	}
	patch = json_new_obj(&k->a);
	json_put(&k->a, patch, "/spec/queueName", json_new_str(&k->a, queue));
	return api_merge(k, it,
			 obj_path(&k->a, str_of(RES_WORKLOADS), it->ns, obj_meta(wl, "name")),
			 patch, "kueue");
}

/* What the webhook would have done, for a Job that came past it. */
static bool default_managed_by(struct ks_actors *k, struct item *it, const struct json *job)
{
	mk_str by = json_str(json_at(job, "/spec/managedBy"));
	struct json *patch;

	if ((by.n != 0 && !str_is(by, JOB_CONTROLLER)) || it->fails != 0 ||
	    !wants_multikueue(k, it->ns, obj_label(job, LABEL_QUEUE))) {
		return false;
	}
	patch = json_new_obj(&k->a);
	json_put(&k->a, patch, "/spec/managedBy", json_new_str(&k->a, STR(MULTIKUEUE_CONTROLLER)));
	return api_merge(k, it, job_path(k, it), patch, "kueue");
}

/* One that may have two Workloads: the one that gives it its quota, and a slice that waits. */
static void elastic_step(struct ks_actors *k, struct item *it, const struct json *job)
{
	const struct json *before, *wl = slices_of(k, job, &before);

	if (wl != NULL && follow_queue(k, it, job, wl)) {
		return;
	}
	if (wl != NULL && before != NULL && !job_is_finished(job) &&
	    !obj_is_true(before, "QuotaReserved")) {
		finish(k, before, STR("WorkloadSliceReplaced"),
		       STR("The workload slice is out of sync with its parent job"));
	} else if (wl != NULL &&
		   (job_is_finished(job) || !slices_resize(k, it, wl, job_pods(job)))) {
		if (!job_is_finished(job) && !before && slices_must_grow(wl, job_pods(job))) {
			create_workload(k, it, job, job_workload_name(&k->a, job), wl);
			return;
		}
		with_workload(k, it, job, before != NULL ? before : wl);
	} else if (!wl && !job_is_finished(job) && !stop(k, it, job) &&
		   !default_managed_by(k, it, job)) {
		create_workload(k, it, job, job_workload_name(&k->a, job), NULL);
	}
}

void queue_job_step(struct ks_actors *k, struct item *it)
{
	const struct json *job = ks_get(k->store, RES_JOBS, it->ns, it->name), *wl;
	mk_str name;

	if (!job) {
		item_drop(k, it);
		return;
	}
	name = job_prebuilt(job);
	if (obj_meta(job, "deletionTimestamp").n != 0 || obj_label(job, LABEL_QUEUE).n == 0) {
		return;
	}
	if (name.n != 0) {
		wl = ks_get(k->store, RES_WORKLOADS, it->ns, name);
		if (!wl) {
			if (!job_is_finished(job)) {
				stop(k, it, job);
			}
			return;
		}
		with_workload(k, it, job, wl);
		return;
	}
	if (slices_is_elastic(job)) {
		elastic_step(k, it, job);
		return;
	}
	name = job_workload_name(&k->a, job);
	wl = ks_get(k->store, RES_WORKLOADS, it->ns, name);
	/* Its own one may have another name: that tells a uid, and a restored job got a new one. */
	wl = wl != NULL ? wl : gc_owned_workload(k, obj_meta(job, "uid"));
	if (wl != NULL && follow_queue(k, it, job, wl)) {
		return;
	}
	if (wl != NULL) {
		with_workload(k, it, job, wl);
	} else if (!job_is_finished(job) && !stop(k, it, job) && !default_managed_by(k, it, job)) {
		create_workload(k, it, job, name, NULL);
	}
}

/* --- the webhook ------------------------------------------------------------------------------ */

static bool wants_multikueue(const struct ks_actors *k, mk_str ns, mk_str queue)
{
	const struct json *lq = ks_get(k->store, RES_LOCALQUEUES, ns, queue);
	const struct json *q = ks_get(k->store, RES_CLUSTERQUEUES, STR(""),
				      json_str(json_at(lq, "/spec/clusterQueue")));
	struct json_iter it =
		json_iter(json_at(q, "/spec/admissionChecksStrategy/admissionChecks"));

	while (json_next(&it)) {
		const struct json *ac =
			ks_get(k->store, RES_CHECKS, STR(""), json_str(json_get(it.val, "name")));

		if (str_is(json_str(json_at(ac, "/spec/controllerName")), MULTIKUEUE_CONTROLLER)) {
			return true;
		}
	}
	return false;
}

/* The namespace in "/apis/batch/v1/namespaces/<ns>/jobs[?...]"; empty when it is another path. */
static mk_str jobs_namespace(mk_str target)
{
	mk_str path, ns;

	str_split(&target, '?', &path);
	if (!str_starts(path, STR("/apis/batch/v1/namespaces/"))) {
		return (mk_str){NULL, 0};
	}
	path = str_sub(path, sizeof("/apis/batch/v1/namespaces/") - 1, path.n);
	str_split(&path, '/', &ns);
	return str_is(path, "jobs") ? ns : (mk_str){NULL, 0};
}

mk_str ks_actors_admit(const struct ks_actors *k, const struct ks_request *r, struct arena *arena)
{
	mk_str ns = jobs_namespace(r->target), queue, by;
	struct json *job;

	if (!str_is(r->method, "POST") || ns.n == 0 ||
	    !str_starts(r->content_type, STR("application/json")) ||
	    json_parse(arena, r->body, &job, NULL) != ERR_OK) {
		return r->body;
	}
	queue = obj_label(job, LABEL_QUEUE);
	if (queue.n == 0 || json_type(json_get(job, "spec")) != JSON_OBJ) {
		return r->body;
	}
	json_set_bool(arena, json_get(job, "spec"), "suspend", true);
	by = json_str(json_at(job, "/spec/managedBy"));
	if ((by.n == 0 || str_is(by, JOB_CONTROLLER)) && wants_multikueue(k, ns, queue)) {
		json_set_str(arena, json_get(job, "spec"), "managedBy", STR(MULTIKUEUE_CONTROLLER));
	}
	return json_write(arena, job);
}
