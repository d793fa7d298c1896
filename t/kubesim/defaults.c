/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server fills in: defaults at decoding, and what it generates on a create. */
#include "t/kubesim/store_int.h"

static void dflt(struct arena *a, struct json *o, const char *key, struct json *v)
{
	if (json_type(o) == JSON_OBJ && !json_get(o, key)) {
		json_set(a, o, str_of(key), v);
	}
}

static void dflt_str(struct arena *a, struct json *o, const char *key, const char *v)
{
	dflt(a, o, key, json_new_str(a, str_of(v)));
}

static void dflt_int(struct arena *a, struct json *o, const char *key, int64_t v)
{
	dflt(a, o, key, json_new_int(a, v));
}

static bool is_floating_tag(mk_str image)
{
	ptrdiff_t colon = -1;

	if (str_index(image, '@') >= 0) {
		return false;
	}
	for (size_t i = 0; i < image.n; i++) {
		if (image.p[i] == ':') {
			colon = (ptrdiff_t)i;
		} else if (image.p[i] == '/') {
			colon = -1;
		}
	}
	return colon < 0 || str_is(str_sub(image, (size_t)colon + 1, image.n), "latest");
}

static void container(struct arena *a, struct json *c)
{
	struct json_iter it = json_iter(json_get(c, "ports"));
	struct json *requests;

	while (json_next(&it)) {
		dflt_str(a, it.val, "protocol", "TCP");
	}
	dflt(a, c, "resources", json_new_obj(a));
	it = json_iter(json_at(c, "/resources/limits"));
	if (json_len(json_at(c, "/resources/limits")) > 0 && !json_at(c, "/resources/requests")) {
		json_set(a, json_get(c, "resources"), STR("requests"), json_new_obj(a));
	}
	requests = json_at(c, "/resources/requests");
	while (json_next(&it)) {
		if (!json_getn(requests, it.key)) {
			json_set(a, requests, it.key, json_dup(a, it.val));
		}
	}
	dflt_str(a, c, "terminationMessagePath", "/dev/termination-log");
	dflt_str(a, c, "terminationMessagePolicy", "File");
	dflt_str(a, c, "imagePullPolicy",
		 is_floating_tag(json_str(json_get(c, "image"))) ? "Always" : "IfNotPresent");
}

static void pod_spec(struct arena *a, struct json *spec)
{
	struct json_iter it = json_iter(json_get(spec, "containers"));

	while (json_next(&it)) {
		container(a, it.val);
	}
	it = json_iter(json_get(spec, "initContainers"));
	while (json_next(&it)) {
		container(a, it.val);
	}
	dflt_str(a, spec, "restartPolicy", "Always");
	dflt_int(a, spec, "terminationGracePeriodSeconds", 30);
	dflt_str(a, spec, "dnsPolicy", "ClusterFirst");
	dflt(a, spec, "securityContext", json_new_obj(a));
	dflt_str(a, spec, "schedulerName", "default-scheduler");
}

static void job(struct arena *a, struct json *tree)
{
	struct json *spec = json_get(tree, "spec"),
		    *labels = json_at(tree, "/spec/template/metadata/labels");

	if (json_type(spec) != JSON_OBJ) {
		return;
	}
	if (!json_get(spec, "parallelism")) {
		dflt_int(a, spec, "completions", 1);
	}
	dflt_int(a, spec, "parallelism", 1);
	dflt_int(a, spec, "backoffLimit", json_get(spec, "backoffLimitPerIndex") ? INT32_MAX : 6);
	dflt(a, spec, "manualSelector", json_new_bool(a, false));
	dflt_str(a, spec, "completionMode", "NonIndexed");
	dflt(a, spec, "suspend", json_new_bool(a, false));
	dflt_str(a, spec, "podReplacementPolicy",
		 json_get(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
	dflt(a, spec, "template", json_new_obj(a));
	dflt(a, json_get(spec, "template"), "metadata", json_new_obj(a));
	pod_spec(a, json_at(spec, "/template/spec"));
	if (json_len(labels) > 0 && json_len(json_at(tree, "/metadata/labels")) == 0 &&
	    !json_at(tree, "/spec/selector")) {
		json_set(a, json_get(tree, "metadata"), STR("labels"), json_dup(a, labels));
	}
	dflt(a, tree, "status", json_new_obj(a));
}

static void workload(struct arena *a, struct json *tree)
{
	struct json_iter it = json_iter(json_at(tree, "/spec/podSets"));
	struct json *spec = json_get(tree, "spec");

	dflt(a, spec, "active", json_new_bool(a, true));
	while (json_next(&it)) {
		dflt_str(a, it.val, "name", "main");
		dflt_int(a, it.val, "count", 1);
	}
}

static void namespace(struct arena *a, struct json *tree)
{
	struct json *list = json_new_arr(a), *meta = json_get(tree, "metadata");

	dflt(a, tree, "spec", json_new_obj(a));
	if (!json_at(tree, "/spec/finalizers")) {
		json_add(a, list, json_new_str(a, STR("kubernetes")));
		json_set(a, json_get(tree, "spec"), STR("finalizers"), list);
	}
	dflt(a, meta, "labels", json_new_obj(a));
	dflt(a, json_get(meta, "labels"), "kubernetes.io/metadata.name",
	     json_new_str(a, json_str(json_get(meta, "name"))));
}

static mk_str base64(struct arena *a, mk_str s)
{
	static const char abc[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out = arena_alloc(a, (s.n + 2) / 3 * 4 + 1);
	size_t n = 0;

	if (!out) {
		return (mk_str){NULL, 0};
	}
	for (size_t i = 0; i < s.n; i += 3) {
		uint32_t v = (uint32_t)(unsigned char)s.p[i] << 16;

		v |= i + 1 < s.n ? (uint32_t)(unsigned char)s.p[i + 1] << 8 : 0;
		v |= i + 2 < s.n ? (uint32_t)(unsigned char)s.p[i + 2] : 0;
		out[n++] = abc[v >> 18];
		out[n++] = abc[v >> 12 & 63];
		out[n++] = i + 1 < s.n ? abc[v >> 6 & 63] : '=';
		out[n++] = i + 2 < s.n ? abc[v & 63] : '=';
	}
	return (mk_str){out, n};
}

static void secret(struct arena *a, struct json *tree)
{
	struct json_iter it = json_iter(json_get(tree, "stringData"));

	dflt_str(a, tree, "type", "Opaque");
	if (json_len(json_get(tree, "stringData")) == 0) {
		return;
	}
	dflt(a, tree, "data", json_new_obj(a));
	while (json_next(&it)) {
		json_set(a, json_get(tree, "data"), it.key,
			 json_new_str(a, base64(a, json_str(it.val))));
	}
	json_set(a, tree, STR("stringData"), NULL);
}

void ks_defaults(struct arena *a, const struct ks_resource *r, struct json *tree)
{
	struct json *spec = json_get(tree, "spec");

	if (strcmp(r->id, "batch/v1/jobs") == 0) {
		job(a, tree);
	} else if (strcmp(r->kind, "Workload") == 0) {
		workload(a, tree);
	} else if (strcmp(r->id, "v1/pods") == 0) {
		pod_spec(a, spec);
		dflt(a, spec, "enableServiceLinks", json_new_bool(a, true));
	} else if (strcmp(r->id, "v1/namespaces") == 0) {
		namespace(a, tree);
	} else if (strcmp(r->id, "v1/secrets") == 0) {
		secret(a, tree);
	} else if (strcmp(r->kind, "MultiKueueCluster") == 0) {
		dflt_str(a, json_at(spec, "/clusterSource/kubeConfig"), "locationType", "Secret");
	} else if (strcmp(r->kind, "ClusterQueue") == 0) {
		dflt_str(a, spec, "queueingStrategy", "BestEffortFIFO");
		dflt_str(a, spec, "stopPolicy", "None");
	} else if (strcmp(r->kind, "LocalQueue") == 0) {
		dflt_str(a, spec, "stopPolicy", "None");
	}
}

/*
 * Selector and labels by which a Job finds its pods. Labels that are there
 * stay: validation compares them.
 */
static void job_selector(struct arena *a, struct json *tree)
{
	static const char *const keys[] = {"batch.kubernetes.io/controller-uid",
					   "batch.kubernetes.io/job-name", "controller-uid",
					   "job-name"};
	mk_str uid = json_str_at(tree, "/metadata/uid"), name = json_str_at(tree, "/metadata/name");
	struct json *meta = json_at(tree, "/spec/template/metadata"), *selector = json_new_obj(a);

	if (json_bool(json_at(tree, "/spec/manualSelector")) || json_type(meta) != JSON_OBJ) {
		return;
	}
	dflt(a, meta, "labels", json_new_obj(a));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		dflt(a, json_get(meta, "labels"), keys[i],
		     json_new_str(a, str_ends(str_of(keys[i]), STR("uid")) ? uid : name));
	}
	if (!json_at(tree, "/spec/selector")) {
		json_set(a, selector, STR("matchLabels"), json_new_obj(a));
		json_set_str(a, json_get(selector, "matchLabels"), keys[0], uid);
		json_set(a, json_get(tree, "spec"), STR("selector"), selector);
	}
}

void ks_prepare_create(struct arena *a, const struct ks_resource *r, struct json *tree)
{
	if (strcmp(r->id, "batch/v1/jobs") == 0) {
		job_selector(a, tree);
	} else if (strcmp(r->id, "v1/namespaces") == 0) {
		dflt(a, tree, "status", json_new_obj(a));
		dflt_str(a, json_get(tree, "status"), "phase", "Active");
	} else if (strcmp(r->id, "v1/pods") == 0) {
		dflt(a, tree, "status", json_new_obj(a));
		dflt_str(a, json_get(tree, "status"), "phase", "Pending");
	}
}
