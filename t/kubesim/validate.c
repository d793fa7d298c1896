/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that all objects share, and the small kinds: metadata, Leases, Events. */
#include "t/kubesim/store_int.h"

enum { MAX_NAME = 253, MAX_LABEL = 63, MAX_ANNOTATIONS = 256 * 1024 };

static bool is_lower_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

bool ks_is_dns_subdomain(mk_str s)
{
	bool start = true;

	if (s.n == 0 || s.n > MAX_NAME) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '.') {
			if (start || s.p[i - 1] == '-') {
				return false;
			}
			start = true;
		} else if (is_lower_alnum(c) || (c == '-' && !start)) {
			start = false;
		} else {
			return false;
		}
	}
	return !start && s.p[s.n - 1] != '-';
}

/* [A-Za-z0-9] at both ends, '-', '_', '.' between. */
static bool is_label_word(mk_str s)
{
	if (s.n == 0 || s.n > MAX_LABEL || !is_alnum(s.p[0]) || !is_alnum(s.p[s.n - 1])) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		if (!is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '_' && s.p[i] != '.') {
			return false;
		}
	}
	return true;
}

static bool is_qualified(mk_str key)
{
	ptrdiff_t slash = str_index(key, '/');

	if (slash >= 0) {
		return ks_is_dns_subdomain(str_sub(key, 0, (size_t)slash)) &&
		       is_label_word(str_sub(key, (size_t)slash + 1, key.n));
	}
	return is_label_word(key);
}

void ks_validate_labels(struct ks_causes *v, const char *field, const struct json *labels)
{
	struct json_iter it = json_iter(labels);

	while (json_next(&it)) {
		mk_str value = json_str(it.val);

		if (!is_qualified(it.key)) {
			ks_cause(v, "FieldValueInvalid", field,
				 "Invalid value: \"%.*s\": name part must consist of alphanumeric "
				 "characters, '-', '_' or '.', and must start and end with an "
				 "alphanumeric character",
				 STR_ARG(it.key));
		}
		if (value.n > MAX_LABEL) {
			ks_cause(v, "FieldValueInvalid", field,
				 "Invalid value: \"%.*s\": must be no more than 63 bytes",
				 STR_ARG(value));
		} else if (json_type(it.val) != JSON_STR ||
			   (value.n > 0 && !is_label_word(value))) {
			ks_cause(
				v, "FieldValueInvalid", field,
				"Invalid value: \"%.*s\": a valid label must be an empty string or "
				"consist of alphanumeric characters, '-', '_' or '.', and must "
				"start and end with an alphanumeric character",
				STR_ARG(value));
		}
	}
}

static void annotations(struct ks_causes *v, const struct json *map)
{
	struct json_iter it = json_iter(map);
	size_t total = 0;

	while (json_next(&it)) {
		total += it.key.n + json_str(it.val).n;
		if (!is_qualified(it.key)) {
			ks_cause(v, "FieldValueInvalid", "metadata.annotations",
				 "Invalid value: \"%.*s\": name part must consist of alphanumeric "
				 "characters",
				 STR_ARG(it.key));
		}
	}
	if (total > MAX_ANNOTATIONS) {
		ks_cause(v, "FieldValueTooLong", "metadata.annotations",
			 "Too long: may not be more than 262144 bytes");
	}
}

static void metadata(struct ks_causes *v, const struct json *tree)
{
	struct json_iter it = json_iter(json_at(tree, "/metadata/ownerReferences"));
	mk_str name = json_str_at(tree, "/metadata/name");
	size_t controllers = 0;

	if (name.n == 0) {
		ks_cause(v, "FieldValueRequired", "metadata.name",
			 "Required value: name or generateName is required");
	} else if (!ks_is_dns_subdomain(name) ||
		   (strcmp(v->c->res->kind, "Namespace") == 0 && name.n > MAX_LABEL)) {
		ks_cause(v, "FieldValueInvalid", "metadata.name",
			 "Invalid value: \"%.*s\": a lowercase RFC 1123 subdomain must consist of "
			 "lower case alphanumeric characters, '-' or '.', and must start and end "
			 "with an alphanumeric character",
			 STR_ARG(name));
	}
	ks_validate_labels(v, "metadata.labels", json_at(tree, "/metadata/labels"));
	annotations(v, json_at(tree, "/metadata/annotations"));
	while (json_next(&it)) {
		controllers += json_bool(json_get(it.val, "controller"));
		if (json_str(json_get(it.val, "uid")).n == 0) {
			ks_cause(v, "FieldValueRequired", "metadata.ownerReferences.uid",
				 "Required value: must not be empty");
		}
	}
	if (controllers > 1) {
		ks_cause(v, "FieldValueInvalid", "metadata.ownerReferences",
			 "Invalid value: Only one reference can have Controller set to true");
	}
}

const struct json *ks_condition(const struct json *tree, const char *type)
{
	struct json_iter it = json_iter(json_at(tree, "/status/conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), type)) {
			return it.val;
		}
	}
	return NULL;
}

bool ks_condition_true(const struct json *tree, const char *type)
{
	return str_is(json_str(json_get(ks_condition(tree, type), "status")), "True");
}

/* --- Leases ----------------------------------------------------------------------------------- */
bool ks_is_micro_time(mk_str s)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.ddddddZ";

	if (s.n != sizeof(form) - 1) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		bool digit = s.p[i] >= '0' && s.p[i] <= '9';

		if (form[i] == 'd' ? !digit : s.p[i] != form[i]) {
			return false;
		}
	}
	return true;
}

void ks_validate_lease(struct ks_causes *v, const struct json *tree)
{
	const struct json *spec = json_get(tree, "spec");
	const struct json *duration = json_get(spec, "leaseDurationSeconds");

	if (duration != NULL && json_int(duration, 0) <= 0) {
		ks_cause(v, "FieldValueInvalid", "spec.leaseDurationSeconds",
			 "Invalid value: %lld: must be greater than 0",
			 (long long)json_int(duration, 0));
	}
	if (json_int(json_get(spec, "leaseTransitions"), 0) < 0) {
		ks_cause(v, "FieldValueInvalid", "spec.leaseTransitions",
			 "Invalid value: must be greater than or equal to 0");
	}
}

/*
 * A time that cannot be decoded spoils a whole object (400), but only the result of a patch (422).
 */
bool ks_times_ok(struct ks_ctx *c, const struct json *tree)
{
	static const char *const pointers[] = {"/spec/acquireTime", "/spec/renewTime", "/eventTime",
					       "/series/lastObservedTime"};
	const char *kind = c->res->kind;

	if (strcmp(kind, "Lease") != 0 && strcmp(kind, "Event") != 0) {
		return true;
	}
	for (size_t i = 0; i < sizeof(pointers) / sizeof(*pointers); i++) {
		const struct json *t = json_at(tree, pointers[i]);
		mk_str message;

		if (!t || json_type(t) == JSON_NULL || ks_is_micro_time(json_str(t))) {
			continue;
		}
		message =
			arena_printf(c->a,
				     "%s in version \"%s\" cannot be handled as a %s: parsing time "
				     "\"%.*s\" as \"2006-01-02T15:04:05.000000Z07:00\"",
				     kind, c->res->version, kind, STR_ARG(json_str(t)));
		return strcmp(c->verb, "patch") == 0
			       ? ks_fail_named(c, 422, "Invalid", message, NULL)
			       : ks_fail(c, 400, "BadRequest", message, NULL, NULL);
	}
	return true;
}

/* --- events.k8s.io ---------------------------------------------------------------------------- */
static void required(struct ks_causes *v, const struct json *tree, const char *field, size_t max)
{
	mk_str s = json_str(json_get(tree, field));

	if (s.n == 0) {
		ks_cause(v, "FieldValueRequired", field, "Required value");
	} else if (s.n > max) {
		ks_cause(v, "FieldValueInvalid", field,
			 "Invalid value: \"\": can have at most %zu characters", max);
	}
}

static void event_unchanged(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	struct json_iter it = json_iter(tree);

	while (json_next(&it)) {
		if (!str_is(it.key, "metadata") && !str_is(it.key, "series") &&
		    !json_equal(it.val, json_getn(old, it.key))) {
			ks_cause(v, "FieldValueInvalid", arena_dup(v->c->a, it.key).p,
				 "Invalid value: field is immutable");
		}
	}
}

void ks_validate_events(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	const struct json *series = json_get(tree, "series");
	mk_str type = json_str(json_get(tree, "type"));

	required(v, tree, "reportingController", 1024);
	required(v, tree, "reportingInstance", 128);
	required(v, tree, "action", 128);
	required(v, tree, "reason", 128);
	if (json_str(json_get(tree, "eventTime")).n == 0) {
		ks_cause(v, "FieldValueRequired", "eventTime", "Required value");
	}
	if (!str_is(type, "Normal") && !str_is(type, "Warning")) {
		ks_cause(v, "FieldValueInvalid", "type",
			 "Invalid value: \"%.*s\": has invalid value", STR_ARG(type));
	}
	if (json_str(json_get(tree, "note")).n > 1024) {
		ks_cause(v, "FieldValueInvalid", "note",
			 "Invalid value: \"\": can have at most 1024 bytes");
	}
	if (json_type(series) == JSON_OBJ) {
		if (json_int(json_get(series, "count"), 0) < 2) {
			ks_cause(v, "FieldValueInvalid", "series.count",
				 "Invalid value: should be at least 2");
		}
		if (json_str(json_get(series, "lastObservedTime")).n == 0) {
			ks_cause(v, "FieldValueRequired", "series.lastObservedTime",
				 "Required value");
		}
	}
	if (old != NULL) {
		event_unchanged(v, old, tree);
	}
}

void ks_validate(struct ks_causes *v, const struct json *old, const struct json *tree)
{
	const struct ks_resource *r = v->c->res;

	metadata(v, tree);
	if (strcmp(r->id, "batch/v1/jobs") == 0) {
		ks_validate_job(v, old, tree);
	} else if (strcmp(r->id, "events.k8s.io/v1/events") == 0) {
		ks_validate_events(v, old, tree);
	} else if (strcmp(r->kind, "Lease") == 0) {
		ks_validate_lease(v, tree);
	} else if (strcmp(r->group, "kueue.x-k8s.io") == 0) {
		ks_validate_kueue(v, old, tree);
	}
}
