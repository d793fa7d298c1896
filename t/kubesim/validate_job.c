/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of batch/v1 Job: what may change when, and the consistency of its status. */
#include "t/kubesim/store_int.h"

static void immutable(struct ks_causes *v, const struct json *old, const struct json *tree,
		      const char *name)
{
	const struct json *x = json_get(json_get(old, "spec"), name);
	const struct json *y = json_get(json_get(tree, "spec"), name);

	if (!(!x && !y) && !json_equal(x, y)) {
		ks_cause(v, "FieldValueInvalid", arena_printf(v->c->a, "spec.%s", name).p,
			 "Invalid value: %s: field is immutable",
			 y ? str_cut(json_write(v->c->a, y), 200).p : "null");
	}
}

/*
 * The template without what may change while the job waits: scheduling
 * directives, labels, resources.
 */
static struct json *fixed_template(struct arena *a, const struct json *tree)
{
	static const char *const loose[] = {"nodeSelector", "tolerations", "affinity",
					    "schedulingGates"};
	struct json *t = json_dup(a, json_at(tree, "/spec/template"));
	struct json_iter it = json_iter(json_at(t, "/spec/containers"));

	json_set(a, json_get(t, "metadata"), STR("labels"), NULL);
	json_set(a, json_get(t, "metadata"), STR("annotations"), NULL);
	for (size_t i = 0; i < sizeof(loose) / sizeof(*loose); i++) {
		json_set(a, json_get(t, "spec"), str_of(loose[i]), NULL);
	}
	while (json_next(&it)) {
		json_set(a, it.val, STR("resources"), NULL);
	}
	return t;
}

static void template(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	bool not_started = json_str_at(old, "/status/startTime").n == 0;
	bool at_rest = ks_condition_true(old, "Suspended") &&
		       json_int(json_at(old, "/status/active"), 0) == 0;
	bool loose = json_bool(json_at(old, "/spec/suspend")) &&
		     (at_rest || (not_started && !v->c->s->strict_suspend));

	if (!loose || !json_equal(fixed_template(v->c->a, old), fixed_template(v->c->a, tree))) {
		immutable(v, old, tree, "template");
	}
}

static void spec_update(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	static const char *const fixed[] = {
		"selector",         "completionMode",       "managedBy",
		"podFailurePolicy", "backoffLimitPerIndex", "successPolicy"};
	bool elastic =
		str_is(json_str_at(tree, "/spec/completionMode"), "Indexed") &&
		json_equal(json_at(tree, "/spec/completions"), json_at(tree, "/spec/parallelism"));

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
		immutable(v, old, tree, fixed[i]);
	}
	if (!elastic) {
		immutable(v, old, tree, "completions");
	}
	template(v, old, tree);
}

static void generated_selector(struct ks_causes *v, const struct json *tree)
{
	static const char *const keys[] = {"batch.kubernetes.io/controller-uid", "controller-uid"};
	mk_str uid = json_str_at(tree, "/metadata/uid");
	const struct json *labels = json_at(tree, "/spec/template/metadata/labels");
	const struct json *match = json_at(tree, "/spec/selector/matchLabels");
	mk_str selected = json_str(json_get(match, keys[0]));

	for (size_t i = 0; i < 2; i++) {
		if (!str_eq(json_str(json_get(labels, keys[i])), uid)) {
			ks_cause(v, "FieldValueInvalid",
				 arena_printf(v->c->a, "spec.template.metadata.labels[%s]", keys[i])
					 .p,
				 "Invalid value: \"%.*s\": must be '%.*s'",
				 STR_ARG(json_str(json_get(labels, keys[i]))), STR_ARG(uid));
		}
	}
	if (!str_eq(selected, uid) && !str_eq(json_str(json_get(match, keys[1])), uid)) {
		ks_cause(v, "FieldValueInvalid", "spec.selector",
			 "Invalid value: `selector` not auto-generated");
	}
}

static void spec(struct ks_causes *v, const struct json *tree)
{
	mk_str restart = json_str_at(tree, "/spec/template/spec/restartPolicy");
	mk_str by = json_str_at(tree, "/spec/managedBy");

	if (json_type(json_at(tree, "/spec/template/spec")) != JSON_OBJ ||
	    json_len(json_at(tree, "/spec/template/spec/containers")) == 0) {
		ks_cause(v, "FieldValueRequired", "spec.template.spec.containers",
			 "Required value");
	}
	if (!str_is(restart, "Never") && !str_is(restart, "OnFailure")) {
		ks_cause(v, "FieldValueRequired", "spec.template.spec.restartPolicy",
			 "Required value: valid values: \"OnFailure\", \"Never\"");
	}
	if (json_int(json_at(tree, "/spec/parallelism"), 0) < 0) {
		ks_cause(v, "FieldValueInvalid", "spec.parallelism",
			 "Invalid value: must be greater than or equal to 0");
	}
	if (by.n > 63 || (by.n > 0 && str_index(by, '/') <= 0)) {
		ks_cause(v, "FieldValueInvalid", "spec.managedBy",
			 "Invalid value: \"%.*s\": must be a domain-prefixed path", STR_ARG(by));
	}
	ks_validate_labels(v, "spec.template.labels",
			   json_at(tree, "/spec/template/metadata/labels"));
}

/* --- status ----------------------------------------------------------------------------------- */
static void reject(struct ks_causes *v, const char *field, const char *why)
{
	ks_cause(v, "FieldValueInvalid", field, "Invalid value: %s", why);
}

static void finished(struct ks_causes *v, const struct json *tree)
{
	bool complete = ks_condition_true(tree, "Complete"),
	     failed = ks_condition_true(tree, "Failed");
	bool ended = json_str_at(tree, "/status/completionTime").n > 0;

	if (complete && failed) {
		reject(v, "status.conditions",
		       "cannot set Complete=True and Failed=True conditions");
	}
	if (complete && ks_condition_true(tree, "FailureTarget")) {
		reject(v, "status.conditions",
		       "cannot set Complete=True and FailureTarget=true conditions");
	}
	if (complete && !ks_condition_true(tree, "SuccessCriteriaMet")) {
		reject(v, "status.conditions",
		       "cannot set Complete=True condition without the SuccessCriteriaMet "
		       "condition");
	}
	if (failed && !ks_condition_true(tree, "FailureTarget")) {
		reject(v, "status.conditions",
		       "cannot set Failed=True condition without the FailureTarget condition");
	}
	if (complete && !ended) {
		ks_cause(v, "FieldValueRequired", "status.completionTime",
			 "Required value: completionTime is required for Complete jobs");
	}
	if (ended && !complete) {
		reject(v, "status.completionTime",
		       "cannot set completionTime when there is no Complete=True condition");
	}
	if ((complete || failed) && json_str_at(tree, "/status/startTime").n == 0) {
		ks_cause(v, "FieldValueRequired", "status.startTime",
			 "Required value: startTime is required for finished job");
	}
	if ((complete || failed) && json_int(json_at(tree, "/status/active"), 0) > 0) {
		reject(v, "status.active", "active>0 is invalid for finished job");
	}
	if ((complete || failed) && json_int(json_at(tree, "/status/terminating"), 0) > 0) {
		reject(v, "status.terminating", "terminating>0 is invalid for finished job");
	}
	if (ended && str_cmp(json_str_at(tree, "/status/completionTime"),
			     json_str_at(tree, "/status/startTime")) < 0) {
		reject(v, "status.completionTime", "completionTime cannot be set before startTime");
	}
}

static void status_update(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	static const char *const sticky[] = {"Complete", "Failed", "SuccessCriteriaMet",
					     "FailureTarget"};
	const struct json *was = json_at(old, "/status/startTime");
	const struct json *is = json_at(tree, "/status/startTime");
	bool suspended = json_bool(json_at(tree, "/spec/suspend"));

	for (size_t i = 0; i < sizeof(sticky) / sizeof(*sticky); i++) {
		if (ks_condition_true(old, sticky[i]) && !ks_condition_true(tree, sticky[i])) {
			reject(v, "status.conditions",
			       arena_printf(v->c->a, "cannot disable the %s=True condition",
					    sticky[i])
				       .p);
		}
	}
	if (was != NULL && !is && !suspended) {
		ks_cause(v, "FieldValueRequired", "status.startTime",
			 "Required value: startTime cannot be removed for unsuspended job");
	} else if (was != NULL && is != NULL && !json_equal(was, is) && !suspended) {
		ks_cause(v, "FieldValueRequired", "status.startTime",
			 "Required value: startTime cannot be updated for unsuspended job");
	}
	if (json_at(old, "/status/completionTime") != NULL &&
	    !json_equal(json_at(old, "/status/completionTime"),
			json_at(tree, "/status/completionTime"))) {
		reject(v, "status.completionTime", "field is immutable");
	}
	if (json_int(json_at(tree, "/status/ready"), 0) >
	    json_int(json_at(tree, "/status/active"), 0)) {
		reject(v, "status.ready", "cannot set more ready pods than active");
	}
	finished(v, tree);
}

static void conditions(struct ks_causes *v, const struct json *tree)
{
	struct json_iter it = json_iter(json_at(tree, "/status/conditions"));

	while (json_next(&it)) {
		mk_str status = json_str(json_get(it.val, "status"));

		if (!str_is(status, "True") && !str_is(status, "False") &&
		    !str_is(status, "Unknown")) {
			ks_cause(v, "FieldValueNotSupported", "status.conditions[].status",
				 "Unsupported value: \"%.*s\"", STR_ARG(status));
		}
	}
}

/* What does not fit into the Go structure is refused before anything else is looked at. */
static bool types(struct ks_causes *v, const struct json *status)
{
	static const struct {
		const char *name, *go;
		enum json_type type;
	} fields[] = {
		{"active", "int32", JSON_INT},
		{"ready", "int32", JSON_INT},
		{"succeeded", "int32", JSON_INT},
		{"failed", "int32", JSON_INT},
		{"terminating", "int32", JSON_INT},
		{"startTime", "string", JSON_STR},
		{"completionTime", "string", JSON_STR},
		{"conditions", "[]v1.JobCondition", JSON_ARR},
	};
	bool good = true;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const struct json *x = json_get(status, fields[i].name);

		if (x != NULL && json_type(x) != JSON_NULL && json_type(x) != fields[i].type) {
			ks_cause(v, "FieldValueInvalid", "patch",
				 "Invalid value: json: cannot unmarshal into Go struct field "
				 "JobStatus.status.%s of type %s",
				 fields[i].name, fields[i].go);
			good = false;
		}
	}
	return good;
}

void ks_validate_job(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	if (!old) {
		spec(v, tree);
		if (!json_bool(json_at(tree, "/spec/manualSelector"))) {
			generated_selector(v, tree);
		}
		return;
	}
	if (str_is(v->c->sub, "status")) {
		if (!types(v, json_get(tree, "status"))) {
			return;
		}
		if (json_int(json_at(tree, "/status/active"), 0) < 0) {
			reject(v, "status.active", "must be greater than or equal to 0");
		}
		conditions(v, tree);
		if (!json_equal(json_get(old, "status"), json_get(tree, "status"))) {
			status_update(v, old, tree);
		}
		return;
	}
	spec(v, tree);
	spec_update(v, old, tree);
}
