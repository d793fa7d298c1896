/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label selectors: are they valid, and do they leave out the namespaces that must never be managed?
 */
#include "core/config/config_impl.h"

static const char *const name_label = "kubernetes.io/metadata.name";

static bool has_value(const struct json *values, mk_str wanted)
{
	struct json_iter it = json_iter(values);

	while (json_next(&it)) {
		if (str_eq(json_str(it.val), wanted)) {
			return true;
		}
	}
	return false;
}

/* One requirement against a namespace that has no label but its name. */
static bool meets(const struct json *requirement, mk_str namespace_)
{
	bool has = str_is(json_str(json_get(requirement, "key")), name_label);
	mk_str operator_ = json_str(json_get(requirement, "operator"));
	bool in = has && has_value(json_get(requirement, "values"), namespace_);

	if (str_is(operator_, "In")) {
		return in;
	}
	if (str_is(operator_, "NotIn")) {
		return !in;
	}
	return str_is(operator_, "Exists") ? has : !has;
}

static bool matches(const struct json *selector, mk_str namespace_)
{
	struct json_iter it = json_iter(json_get(selector, "matchLabels"));

	while (json_next(&it)) {
		if (!str_is(it.key, name_label) || !str_eq(json_str(it.val), namespace_)) {
			return false;
		}
	}
	it = json_iter(json_get(selector, "matchExpressions"));
	while (json_next(&it)) {
		if (!meets(it.val, namespace_)) {
			return false;
		}
	}
	return true;
}

/* As Go prints the struct: members in its order, empty ones left out. */
static mk_str print(struct arena *a, const struct json *selector)
{
	const struct json *labels = json_get(selector, "matchLabels");
	struct json_iter it = json_iter(json_get(selector, "matchExpressions"));
	struct json *out = json_new_obj(a);
	struct json *list = json_new_arr(a);

	if (json_len(labels) > 0) {
		json_set(a, out, STR("matchLabels"), json_dup(a, labels));
	}
	while (json_next(&it)) {
		struct json *e = json_new_obj(a);

		json_set_str(a, e, "key", json_str(json_get(it.val, "key")));
		json_set_str(a, e, "operator", json_str(json_get(it.val, "operator")));
		if (json_len(json_get(it.val, "values")) > 0) {
			json_set(a, e, STR("values"), json_dup(a, json_get(it.val, "values")));
		}
		json_add(a, list, e);
	}
	if (json_len(list) > 0) {
		json_set(a, out, STR("matchExpressions"), list);
	}
	return json_write(a, out);
}

/* Errors of one requirement; false when it cannot be used at all. */
static bool check_requirement(struct config_run *r, const struct json *v, size_t i)
{
	static const char path[] = "managedJobsNamespaceSelector.matchExpressions";
	mk_str pointer =
		config_index(r->a, STR("/managedJobsNamespaceSelector/matchExpressions"), i);
	mk_str operator_ = json_str(json_get(v, "operator"));
	mk_str key = json_str(json_get(v, "key"));
	const struct json *values = json_get(v, "values");
	const char *why = config_label_key_error(r->a, key);
	struct json_iter it = json_iter(values);
	bool good = !why;

	if (str_is(operator_, "In") || str_is(operator_, "NotIn")) {
		if (json_len(values) == 0) {
			config_error(r, pointer,
				     "%s[%zu].values: Required value: must be specified when "
				     "`operator` is "
				     "'In' or 'NotIn'",
				     path, i);
			good = false;
		}
	} else if (str_is(operator_, "Exists") || str_is(operator_, "DoesNotExist")) {
		if (json_len(values) > 0) {
			config_error(r, pointer,
				     "%s[%zu].values: Forbidden: may not be specified when "
				     "`operator` is "
				     "'Exists' or 'DoesNotExist'",
				     path, i);
			good = false;
		}
	} else {
		config_error(r, pointer,
			     "%s[%zu].operator: Invalid value: %s: not a valid selector operator",
			     path, i, config_quote(r->a, operator_));
		good = false;
	}
	if (why != NULL) {
		config_error(r, pointer, "%s[%zu].key: Invalid value: %s: %s", path, i,
			     config_quote(r->a, key), why);
	}
	for (size_t k = 0; json_next(&it); k++) {
		why = config_label_value_error(r->a, json_str(it.val));
		if (why != NULL) {
			config_error(r, pointer, "%s[%zu].values[%zu]: Invalid value: %s: %s", path,
				     i, k, config_quote(r->a, json_str(it.val)), why);
			good = false;
		}
	}
	return good;
}

void config_validate_selector(struct config_run *r, const struct json *selector, mk_str namespace_)
{
	const mk_str namespaces[] = {STR("kube-system"), namespace_};
	struct json_iter it = json_iter(json_get(selector, "matchLabels"));
	bool good = true;

	while (json_next(&it)) {
		const char *why = config_label_key_error(r->a, it.key);
		const char *value_why = config_label_value_error(r->a, json_str(it.val));
		mk_str shown = why ? it.key : json_str(it.val);

		if (why != NULL || value_why != NULL) {
			config_error(
				r, STR("/managedJobsNamespaceSelector/matchLabels"),
				"managedJobsNamespaceSelector.matchLabels: Invalid value: %s: %s",
				config_quote(r->a, shown), why ? why : value_why);
			good = false;
		}
	}
	it = json_iter(json_get(selector, "matchExpressions"));
	for (size_t i = 0; json_next(&it); i++) {
		good = check_requirement(r, it.val, i) && good;
	}
	for (size_t i = 0; good && i < 2; i++) {
		if (matches(selector, namespaces[i])) {
			config_error(r, STR("/managedJobsNamespaceSelector"),
				     "managedJobsNamespaceSelector: Invalid value: %s: should not "
				     "match the "
				     "%s namespace",
				     print(r->a, selector).p, config_quote(r->a, namespaces[i]));
		}
	}
}
