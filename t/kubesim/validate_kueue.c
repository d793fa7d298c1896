/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of the kueue.x-k8s.io/v1beta2 CRDs, and of Kueue's webhook for Workloads. */
#include "t/kubesim/store_int.h"

enum {
	MAX_CLUSTERS = 20,
	MAX_CLUSTER_NAME = 256,
	MAX_MESSAGE = 32768,
	MAX_REASON = 1024,
	MAX_POD_SETS = 18,
	MAX_CHECKS = 10,
};

/* Message and time, of a condition or of an admission check. */
static void told(struct ks_causes *v, const struct json *o, const char *field)
{
	if (json_str(json_get(o, "message")).n > MAX_MESSAGE) {
		ks_cause(v, "FieldValueTooLong", arena_printf(v->c->a, "%s.message", field).p,
			 "Too long: may not be more than %d bytes", MAX_MESSAGE);
	}
	if (!json_get(o, "message")) {
		ks_cause(v, "FieldValueRequired", arena_printf(v->c->a, "%s.message", field).p,
			 "Required value");
	}
	if (json_str(json_get(o, "lastTransitionTime")).n == 0) {
		ks_cause(v, "FieldValueRequired",
			 arena_printf(v->c->a, "%s.lastTransitionTime", field).p, "Required value");
	}
}

static void conditions(struct ks_causes *v, const struct json *tree)
{
	struct json_iter it = json_iter(json_at(tree, "/status/conditions"));

	for (size_t i = 0; json_next(&it); i++) {
		mk_str status = json_str(json_get(it.val, "status"));
		const char *field = arena_printf(v->c->a, "status.conditions[%zu]", i).p;

		if (json_str(json_get(it.val, "reason")).n == 0) {
			ks_cause(v, "FieldValueInvalid",
				 arena_printf(v->c->a, "%s.reason", field).p,
				 "Invalid value: \"\": reason in body should be at least 1 chars "
				 "long");
		}
		if (json_str(json_get(it.val, "reason")).n > MAX_REASON) {
			ks_cause(v, "FieldValueTooLong",
				 arena_printf(v->c->a, "%s.reason", field).p,
				 "Too long: may not be more than %d bytes", MAX_REASON);
		}
		told(v, it.val, field);
		if (!str_is(status, "True") && !str_is(status, "False") &&
		    !str_is(status, "Unknown")) {
			ks_cause(v, "FieldValueNotSupported",
				 arena_printf(v->c->a, "%s.status", field).p,
				 "Unsupported value: \"%.*s\": supported values: \"True\", "
				 "\"False\", \"Unknown\"",
				 STR_ARG(status));
		}
	}
}

static void checks(struct ks_causes *v, const struct json *tree)
{
	const struct json *list = json_at(tree, "/status/admissionChecks");
	struct json_iter it = json_iter(list);

	if (json_len(list) > MAX_CHECKS) {
		ks_cause(v, "FieldValueTooMany", "status.admissionChecks",
			 "Too many: %zu: must have at most %d items", json_len(list), MAX_CHECKS);
	}
	for (size_t i = 0; json_next(&it); i++) {
		mk_str state = json_str(json_get(it.val, "state"));
		const char *field = arena_printf(v->c->a, "status.admissionChecks[%zu]", i).p;

		if (!str_is(state, "Pending") && !str_is(state, "Ready") &&
		    !str_is(state, "Retry") && !str_is(state, "Rejected")) {
			ks_cause(v, "FieldValueNotSupported",
				 arena_printf(v->c->a, "%s.state", field).p,
				 "Unsupported value: \"%.*s\": supported values: \"Pending\", "
				 "\"Ready\", \"Retry\", \"Rejected\"",
				 STR_ARG(state));
		}
		told(v, it.val, field);
	}
}

static void clusters(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	const struct json *list = json_at(tree, "/status/nominatedClusterNames");
	mk_str name = json_str_at(tree, "/status/clusterName");
	mk_str was = json_str_at(old, "/status/clusterName");
	struct json_iter it = json_iter(list);

	if (json_len(list) > MAX_CLUSTERS) {
		ks_cause(v, "FieldValueTooMany", "status.nominatedClusterNames",
			 "Too many: %zu: must have at most %d items", json_len(list), MAX_CLUSTERS);
		ks_cause(v, "FieldValueInvalid", "<nil>",
			 "Invalid value: null: some validation rules were not checked because the "
			 "object was invalid; correct the existing errors to complete validation");
		return;
	}
	while (json_next(&it)) {
		if (json_str(it.val).n > MAX_CLUSTER_NAME) {
			ks_cause(v, "FieldValueTooLong", "status.nominatedClusterNames",
				 "Too long: may not be more than %d bytes", MAX_CLUSTER_NAME);
		}
	}
	if (name.n > MAX_CLUSTER_NAME) {
		ks_cause(v, "FieldValueTooLong", "status.clusterName",
			 "Too long: may not be more than %d bytes", MAX_CLUSTER_NAME);
	}
	if (name.n > 0 && was.n > 0 && !str_eq(name, was)) {
		ks_cause(v, "FieldValueInvalid", "status",
			 "Invalid value: clusterName is immutable once set");
	}
	if (name.n > 0 && json_len(list) > 0) {
		ks_cause(v, "FieldValueInvalid", "status",
			 "Invalid value: clusterName and nominatedClusterNames are mutually "
			 "exclusive");
	}
}

static void workload(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	const struct json *sets = json_at(tree, "/spec/podSets");
	struct json_iter it = json_iter(sets);

	if (json_len(sets) > MAX_POD_SETS) {
		ks_cause(v, "FieldValueTooMany", "spec.podSets",
			 "Too many: %zu: must have at most %d items", json_len(sets), MAX_POD_SETS);
	}
	if (json_type(sets) != JSON_ARR || json_len(sets) == 0) {
		ks_cause(v, "FieldValueInvalid", "spec.podSets",
			 "Invalid value: spec.podSets in body should have at least 1 items");
	}
	while (json_next(&it)) {
		if (json_type(json_get(it.val, "template")) != JSON_OBJ) {
			ks_cause(v, "FieldValueRequired", "spec.podSets.template",
				 "Required value");
		}
		if (json_int(json_get(it.val, "count"), 0) < 0) {
			ks_cause(v, "FieldValueInvalid", "spec.podSets.count",
				 "Invalid value: should be greater than or equal to 0");
		}
	}
	if (old != NULL && ks_condition_true(old, "QuotaReserved") &&
	    !json_equal(json_at(old, "/spec/queueName"), json_at(tree, "/spec/queueName"))) {
		ks_cause(v, "FieldValueInvalid", "<nil>", "Invalid value: field is immutable");
	}
	checks(v, tree);
	clusters(v, old, tree);
}

static void config(struct ks_causes *v, const struct json *tree)
{
	const struct json *list = json_at(tree, "/spec/clusters");
	struct json_iter it = json_iter(list);
	struct json *seen = json_new_obj(v->c->a);

	if (json_len(list) == 0) {
		ks_cause(v, "FieldValueInvalid", "spec.clusters",
			 "Invalid value: spec.clusters in body should have at least 1 items");
	}
	if (json_len(list) > MAX_CLUSTERS) {
		ks_cause(v, "FieldValueTooMany", "spec.clusters",
			 "Too many: %zu: must have at most %d items", json_len(list), MAX_CLUSTERS);
	}
	while (json_next(&it)) {
		if (json_getn(seen, json_str(it.val)) != NULL) {
			ks_cause(v, "FieldValueDuplicate", "spec.clusters",
				 "Duplicate value: \"%.*s\"", STR_ARG(json_str(it.val)));
		}
		json_set(v->c->a, seen, json_str(it.val), json_new_bool(v->c->a, true));
	}
}

static void cluster(struct ks_causes *v, const struct json *tree)
{
	const struct json *source = json_at(tree, "/spec/clusterSource");
	bool config_set = json_get(source, "kubeConfig") != NULL;
	bool profile_set = json_get(source, "clusterProfileRef") != NULL;

	if (config_set == profile_set) {
		ks_cause(v, "FieldValueInvalid", "spec.clusterSource",
			 "Invalid value: exactly one of the fields in [kubeConfig "
			 "clusterProfileRef] "
			 "must be set");
	}
}

void ks_validate_kueue(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	const char *kind = v->c->res->kind;

	conditions(v, tree);
	if (strcmp(kind, "Workload") == 0) {
		workload(v, old, tree);
	} else if (strcmp(kind, "MultiKueueConfig") == 0) {
		config(v, tree);
	} else if (strcmp(kind, "MultiKueueCluster") == 0) {
		cluster(v, tree);
	} else if (strcmp(kind, "AdmissionCheck") == 0 && old != NULL &&
		   !json_equal(json_at(old, "/spec/controllerName"),
			       json_at(tree, "/spec/controllerName"))) {
		ks_cause(v, "FieldValueInvalid", "spec.controllerName",
			 "Invalid value: field is immutable");
	}
}

/* --- webhook ---------------------------------------------------------------------------------- */
static bool lists(const struct json *list, mk_str name)
{
	struct json_iter it = json_iter(list);

	while (json_next(&it)) {
		if (str_eq(json_str(it.val), name)) {
			return true;
		}
	}
	return false;
}

/* podSetUpdates of a check may not change while it stays Ready. */
static bool updates_changed(const struct json *old, const struct json *tree)
{
	struct json_iter it = json_iter(json_at(tree, "/status/admissionChecks"));

	while (json_next(&it)) {
		struct json_iter was = json_iter(json_at(old, "/status/admissionChecks"));

		while (json_next(&was)) {
			if (json_equal(json_get(was.val, "name"), json_get(it.val, "name")) &&
			    str_is(json_str(json_get(was.val, "state")), "Ready") &&
			    str_is(json_str(json_get(it.val, "state")), "Ready") &&
			    !json_equal(json_get(was.val, "podSetUpdates"),
					json_get(it.val, "podSetUpdates"))) {
				return true;
			}
		}
	}
	return false;
}

/* The admission without the parts that may still change. */
static struct json *fixed_admission(struct arena *a, const struct json *tree)
{
	struct json *copy = json_dup(a, json_at(tree, "/status/admission"));
	struct json_iter it = json_iter(json_get(copy, "podSetAssignments"));

	while (json_next(&it)) {
		json_set(a, it.val, STR("topologyAssignment"), NULL);
		json_set(a, it.val, STR("delayedTopologyRequest"), NULL);
	}
	return copy;
}

/*
 * An elastic Workload that has quota may still shrink: the same pod sets, none with a bigger count.
 */
static bool only_shrinks(struct arena *a, const struct json *old, const struct json *tree)
{
	struct json *before = json_dup(a, json_at(old, "/spec/podSets"));
	struct json *after = json_dup(a, json_at(tree, "/spec/podSets"));

	if (!str_is(json_str_at(old, "/metadata/annotations/kueue.x-k8s.io~1elastic-job"),
		    "true") ||
	    json_len(before) != json_len(after)) {
		return false;
	}
	for (size_t i = 0; i < json_len(before); i++) {
		struct json *x = json_elem(before, i), *y = json_elem(after, i);

		if (json_int(json_get(y, "count"), 1) > json_int(json_get(x, "count"), 1)) {
			return false;
		}
		json_set(a, x, STR("count"), NULL);
		json_set(a, y, STR("count"), NULL);
	}
	return json_equal(before, after);
}

mk_str ks_kueue_webhook(struct ks_ctx *c, const struct json *old, const struct json *tree)
{
	static const char replaces[] =
		"/metadata/annotations/kueue.x-k8s.io~1workload-slice-replacement-for";
	mk_str name = json_str_at(tree, "/status/clusterName");
	const struct json *before, *after;

	if (strcmp(c->res->kind, "Workload") != 0 || c->s->no_kueue_webhook) {
		return (mk_str){NULL, 0};
	}
	if (ks_condition_true(tree, "QuotaReserved") && !json_at(tree, "/status/admission") &&
	    !(ks_condition_true(old, "QuotaReserved") && !json_at(old, "/status/admission"))) {
		return STR("status.admission: Required value: should be set when QuotaReserved "
			   "condition is true");
	}
	if (!old) {
		return (mk_str){NULL, 0};
	}
	if (name.n > 0 && json_str_at(old, "/status/clusterName").n == 0 &&
	    !json_at(tree, replaces) &&
	    !lists(json_at(old, "/status/nominatedClusterNames"), name)) {
		return arena_printf(c->a,
				    "status.clusterName: Invalid value: \"%.*s\": when setting "
				    "clusterName it must be one of the nominatedClusterNames",
				    STR_ARG(name));
	}
	if (ks_condition_true(old, "QuotaReserved") && ks_condition_true(tree, "QuotaReserved") &&
	    !json_equal(json_at(old, "/spec/podSets"), json_at(tree, "/spec/podSets")) &&
	    !only_shrinks(c->a, old, tree)) {
		return STR("spec.podSets: Invalid value: field is immutable");
	}
	before = fixed_admission(c->a, old);
	after = fixed_admission(c->a, tree);
	if (before != NULL && after != NULL && !json_equal(before, after)) {
		return STR("status.admission: Invalid value: field is immutable");
	}
	if (updates_changed(old, tree)) {
		return STR(
			"status.admissionChecks.podSetUpdates: Invalid value: field is immutable");
	}
	return (mk_str){NULL, 0};
}
