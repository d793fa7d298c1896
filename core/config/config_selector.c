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

/* A selector, and what becomes of what is wrong with it. */
struct checked {
	struct config_run *r;
	const char *path;
	mk_str pointer;
	bool warning; /* multikueued does not use it */
};

static void tell(const struct checked *s, mk_str pointer, mk_str text)
{
	if (s->warning) {
		config_warning(s->r, pointer, "%.*s", STR_ARG(text));
	} else {
		config_error(s->r, pointer, "%.*s", STR_ARG(text));
	}
}

/* What is wrong with the operator of a requirement, or with how many values it has; "" nothing. */
static mk_str operator_error(struct arena *a, const struct json *v)
{
	mk_str operator_ = json_str(json_get(v, "operator"));
	size_t n = json_len(json_get(v, "values"));

	if (str_is(operator_, "In") || str_is(operator_, "NotIn")) {
		return n > 0 ? STR("")
			     : STR("values: Required value: must be specified when `operator` is "
				   "'In' or 'NotIn'");
	}
	if (str_is(operator_, "Exists") || str_is(operator_, "DoesNotExist")) {
		return n == 0 ? STR("")
			      : STR("values: Forbidden: may not be specified when `operator` is "
				    "'Exists' or 'DoesNotExist'");
	}
	return arena_printf(a, "operator: Invalid value: %s: not a valid selector operator",
			    config_quote(a, operator_));
}

/* Findings of one requirement; false when it cannot be used at all. */
static bool check_requirement(const struct checked *s, const struct json *v, size_t i)
{
	struct arena *a = s->r->a;
	mk_str pointer =
		config_index(a, arena_printf(a, "%.*s/matchExpressions", STR_ARG(s->pointer)), i);
	mk_str key = json_str(json_get(v, "key")), problem = operator_error(a, v);
	const char *why = config_label_key_error(a, key);
	struct json_iter it = json_iter(json_get(v, "values"));
	bool good = !why && problem.n == 0;

	if (problem.n > 0) {
		tell(s, pointer,
		     arena_printf(a, "%s.matchExpressions[%zu].%.*s", s->path, i,
				  STR_ARG(problem)));
	}
	if (why != NULL) {
		tell(s, pointer,
		     arena_printf(a, "%s.matchExpressions[%zu].key: Invalid value: %s: %s", s->path,
				  i, config_quote(a, key), why));
	}
	for (size_t k = 0; json_next(&it); k++) {
		why = config_label_value_error(a, json_str(it.val));
		if (why != NULL) {
			tell(s, pointer,
			     arena_printf(
				     a,
				     "%s.matchExpressions[%zu].values[%zu]: Invalid value: %s: %s",
				     s->path, i, k, config_quote(a, json_str(it.val)), why));
			good = false;
		}
	}
	return good;
}

/* Findings of the selector; false when it cannot be used at all. */
static bool check_selector(const struct checked *s, const struct json *selector)
{
	struct arena *a = s->r->a;
	struct json_iter it = json_iter(json_get(selector, "matchLabels"));
	bool good = true;

	while (json_next(&it)) {
		const char *why = config_label_key_error(a, it.key);
		const char *value_why = config_label_value_error(a, json_str(it.val));
		mk_str shown = why ? it.key : json_str(it.val);

		if (why != NULL || value_why != NULL) {
			tell(s, arena_printf(a, "%.*s/matchLabels", STR_ARG(s->pointer)),
			     arena_printf(a, "%s.matchLabels: Invalid value: %s: %s", s->path,
					  config_quote(a, shown), why ? why : value_why));
			good = false;
		}
	}
	it = json_iter(json_get(selector, "matchExpressions"));
	for (size_t i = 0; json_next(&it); i++) {
		good = check_requirement(s, it.val, i) && good;
	}
	return good;
}

void config_warn_selector(struct config_run *r, const char *path, mk_str pointer)
{
	const struct checked s = {.r = r, .path = path, .pointer = pointer, .warning = true};

	(void)check_selector(&s, json_at(r->doc, pointer.p));
}

void config_validate_selector(struct config_run *r, const struct json *selector, mk_str namespace_)
{
	const mk_str namespaces[] = {STR("kube-system"), namespace_};
	const struct checked s = {.r = r,
				  .path = "managedJobsNamespaceSelector",
				  .pointer = STR("/managedJobsNamespaceSelector")};
	bool good = check_selector(&s, selector);

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
