/* SPDX-License-Identifier: Apache-2.0 */
/* The two rules of the webhook; see review.h. */
#include "core/admit/review.h"

#include "core/api/admission.h"
#include "core/api/names.h"
#include "core/base/base64.h"

/*
 * A kind whose managedBy is defaulted: where the field stands, and which value of it means the same
 * as none.
 */
struct managed_kind {
	const char *group, *kind;
	const char *parent; /* below spec, or "" */
	const char *built_in;
};

static const struct managed_kind managed_kinds[] = {
	{"batch", "Job", "", "kubernetes.io/job-controller"},
	{"jobset.x-k8s.io", "JobSet", "", "jobset.sigs.k8s.io/jobset-controller"},
	{"trainer.kubeflow.org", "TrainJob", "", "trainer.kubeflow.org/trainjob-controller"},
	{"ray.io", "RayJob", "", "ray.io/kuberay-operator"},
	{"ray.io", "RayCluster", "", "ray.io/kuberay-operator"},
	{"ray.io", "RayService", "", "ray.io/kuberay-operator"},
	{"workload.codeflare.dev", "AppWrapper", "",
	 "workload.codeflare.dev/appwrapper-controller"},
	{"kubeflow.org", "MPIJob", "runPolicy", "kubeflow.org/mpi-operator"},
	{"kubeflow.org", "PyTorchJob", "runPolicy", "kubeflow.org/training-operator"},
	{"kubeflow.org", "TFJob", "runPolicy", "kubeflow.org/training-operator"},
	{"kubeflow.org", "PaddleJob", "runPolicy", "kubeflow.org/training-operator"},
	{"kubeflow.org", "XGBoostJob", "runPolicy", "kubeflow.org/training-operator"},
	{"kubeflow.org", "JAXJob", "runPolicy", "kubeflow.org/training-operator"},
};

/* Members of a pod's spec that Kueue changes when it removes the scheduling gate. */
static const char *const pod_members[] = {"schedulingGates", "nodeSelector", "tolerations",
					  "affinity"};

const char *admit_rule_name(enum admit_rule rule)
{
	static const char *const names[] = {[ADMIT_NONE] = "none",
					    [ADMIT_MANAGED_BY] = "managed_by",
					    [ADMIT_PARKED] = "parked_pod"};

	return names[rule];
}

/* What the rules work with. */
struct review {
	const struct admit_queues *q;
	struct arena *a;
	const struct json *request;
	struct json *patch; /* array */
	enum admit_rule rule;
};

static void patch_op(struct review *r, const char *op, mk_str path, const struct json *value)
{
	struct json *o = json_new_obj(r->a);

	json_set_str(r->a, o, "op", str_of(op));
	json_set_str(r->a, o, "path", path);
	if (value) {
		json_set(r->a, o, STR("value"), json_dup(r->a, value));
	}
	json_add(r->a, r->patch, o);
}

static mk_str queue_of(const struct json *obj)
{
	const struct json *labels = json_get(json_get(obj, "metadata"), "labels");

	return json_str(json_get(labels, NAME_QUEUE));
}

/* ERR_UNAVAILABLE when the queues are not known. */
static enum mk_code leads_away(const struct review *r, const struct json *obj, bool *ret,
			       struct mk_err *err)
{
	mk_str queue = queue_of(obj);
	mk_str ns = json_str(json_get(r->request, "namespace"));
	enum admit_way way;

	if (queue.n == 0) {
		*ret = false;
		return ERR_OK;
	}
	way = admit_queues_ask(r->q, ns, queue);
	if (way == ADMIT_NOT_READY) {
		return err_set(err, ERR_UNAVAILABLE, "the queues are not known yet");
	}
	if (way == ADMIT_UNSURE) {
		return err_set(err, ERR_UNAVAILABLE,
			       "namespace %.*s has more LocalQueues than are remembered, and the "
			       "one that is named is not among them: delete some",
			       STR_ARG(str_cut(ns, ADMIT_SPACE_MAX)));
	}
	*ret = way == ADMIT_LEADS_AWAY;
	return ERR_OK;
}

/* --- managedBy ------------------------------------------------------------------------------- */

static const struct managed_kind *find_managed(mk_str group, mk_str kind)
{
	for (size_t i = 0; i < sizeof(managed_kinds) / sizeof(managed_kinds[0]); i++) {
		if (str_is(group, managed_kinds[i].group) && str_is(kind, managed_kinds[i].kind)) {
			return &managed_kinds[i];
		}
	}
	return NULL;
}

static bool is_unset(const struct json *value, const struct managed_kind *k)
{
	enum json_type type = json_type(value);

	return type == JSON_ABSENT || type == JSON_NULL ||
	       (type == JSON_STR && str_is(json_str(value), k->built_in));
}

static enum mk_code default_managed_by(struct review *r, const struct managed_kind *k,
				       struct mk_err *err)
{
	const struct json *obj = json_get(r->request, "object");
	const struct json *spec = json_get(obj, "spec");
	const struct json *holder = k->parent[0] ? json_get(spec, k->parent) : spec;
	enum json_type type = json_type(holder);
	bool is_missing = k->parent[0] && (type == JSON_ABSENT || type == JSON_NULL);
	struct json *name = json_new_str(r->a, STR(NAME_CONTROLLER));
	bool away = false;
	enum mk_code code;

	if (json_type(spec) != JSON_OBJ || (type != JSON_OBJ && !is_missing) ||
	    !is_unset(json_get(holder, "managedBy"), k)) {
		return ERR_OK;
	}
	code = leads_away(r, obj, &away, err);
	if (code != ERR_OK || !away) {
		return code;
	}
	r->rule = ADMIT_MANAGED_BY;
	if (is_missing) {
		struct json *made = json_new_obj(r->a);

		json_set(r->a, made, STR("managedBy"), name);
		patch_op(r, "add", arena_printf(r->a, "/spec/%s", k->parent), made);
	} else {
		/* To add a member that is there replaces it. */
		patch_op(r, "add",
			 arena_printf(r->a, "/spec/%s%smanagedBy", k->parent,
				      k->parent[0] ? "/" : ""),
			 name);
	}
	return ERR_OK;
}

/* --- parked pods ----------------------------------------------------------------------------- */

static bool is_gated(const struct json *pod)
{
	struct json_iter it = json_iter(json_at(pod, "/spec/schedulingGates"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "name")), NAME_POD_GATE)) {
			return true;
		}
	}
	return false;
}

static enum mk_code keep_parked(struct review *r, struct mk_err *err)
{
	const struct json *pod = json_get(r->request, "object");
	const struct json *old = json_get(r->request, "oldObject");
	bool away = false;
	enum mk_code code;

	if (json_type(json_get(pod, "spec")) != JSON_OBJ || !is_gated(old) || is_gated(pod)) {
		return ERR_OK;
	}
	code = leads_away(r, old, &away, err);
	if (code != ERR_OK || !away) {
		return code;
	}
	r->rule = ADMIT_PARKED;
	for (size_t i = 0; i < sizeof(pod_members) / sizeof(pod_members[0]); i++) {
		const struct json *was = json_get(json_get(old, "spec"), pod_members[i]);
		const struct json *is = json_get(json_get(pod, "spec"), pod_members[i]);
		mk_str path = arena_printf(r->a, "/spec/%s", pod_members[i]);

		if (was && !json_equal(was, is)) {
			patch_op(r, "add", path, was);
		} else if (!was && is) {
			patch_op(r, "remove", path, NULL);
		}
	}
	return ERR_OK;
}

/* --- the review ------------------------------------------------------------------------------ */

static enum mk_code judge(struct review *r, struct mk_err *err)
{
	const struct json *kind = json_get(r->request, "kind");
	mk_str group = json_str(json_get(kind, "group"));
	mk_str name = json_str(json_get(kind, "kind"));
	mk_str operation = json_str(json_get(r->request, "operation"));
	const struct managed_kind *k = find_managed(group, name);

	if (json_str(json_get(r->request, "subResource")).n > 0) {
		return ERR_OK;
	}
	if (k && str_is(operation, "CREATE")) {
		return default_managed_by(r, k, err);
	}
	if (group.n == 0 && str_is(name, "Pod") && str_is(operation, "UPDATE")) {
		return keep_parked(r, err);
	}
	return ERR_OK;
}

static mk_str answer_of(struct review *r)
{
	struct json *response = admission_response(r->a, r->request, true);

	if (json_len(r->patch) > 0) {
		json_set_str(r->a, response, "patchType", STR("JSONPatch"));
		json_set_str(r->a, response, "patch",
			     base64_encode(r->a, json_write(r->a, r->patch)));
	}
	return admission_write(r->a, response);
}

enum mk_code admit_review(const struct admit_queues *q, mk_str text, struct arena *a,
			  mk_str *ret_answer, enum admit_rule *ret_rule, struct mk_err *err)
{
	struct review r = {.q = q, .a = a, .patch = json_new_arr(a)};
	struct json *request = NULL;
	mk_str answer;
	enum mk_code code = admission_read(a, text, &request, err);

	if (code != ERR_OK) {
		return code;
	}
	r.request = request;
	code = judge(&r, err);
	if (code != ERR_OK) {
		return code;
	}
	answer = answer_of(&r);
	if (arena_failed(a)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*ret_answer = answer;
	*ret_rule = r.rule;
	return ERR_OK;
}
