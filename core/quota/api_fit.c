/* SPDX-License-Identifier: Apache-2.0 */
/* Which flavors a pod may use, by labels and taints; see api_work.h. */
#include "core/quota/api_read.h"
#include "core/quota/api_work.h"

/* --- taints ----------------------------------------------------------------------------------- */

static bool tolerates(const struct json *toleration, const struct json *taint)
{
	mk_str op = json_str(api_get(toleration, "operator"));
	mk_str key = json_str(api_get(toleration, "key"));
	mk_str effect = json_str(api_get(toleration, "effect"));

	if (effect.n > 0 && !str_eq(effect, json_str(api_get(taint, "effect")))) {
		return false;
	}
	if (key.n == 0) {
		return str_is(op, "Exists");
	}
	if (!str_eq(key, json_str(api_get(taint, "key")))) {
		return false;
	}
	return str_is(op, "Exists") ||
	       str_eq(json_str(api_get(toleration, "value")), json_str(api_get(taint, "value")));
}

static bool bears_taints(const struct json *spec, const struct json *taints)
{
	struct json_iter taint = json_iter(taints);

	while (json_next(&taint)) {
		struct json_iter t = json_iter(api_get(spec, "tolerations"));
		bool borne = str_is(json_str(api_get(taint.val, "effect")), "PreferNoSchedule");

		while (!borne && json_next(&t)) {
			borne = tolerates(t.val, taint.val);
		}
		if (!borne) {
			return false;
		}
	}
	return true;
}

/* --- labels ----------------------------------------------------------------------------------- */

static bool selects(const struct json *selector, const struct json *labels)
{
	struct json_iter it = json_iter(json_type(selector) == JSON_OBJ ? selector : NULL);

	while (json_next(&it)) {
		const struct json *label = json_getn(labels, it.key);

		/* A label that flavors do not speak of is the scheduler's business. */
		if (label != NULL && !str_eq(json_str(label), json_str(it.val))) {
			return false;
		}
	}
	return true;
}

static bool matches(const struct json *expression, const struct json *labels)
{
	mk_str op = json_str(api_get(expression, "operator"));
	const struct json *label = json_getn(labels, json_str(api_get(expression, "key")));
	struct json_iter it = json_iter(api_get(expression, "values"));
	bool found = false;

	if (!label) {
		return true;
	}
	while (json_next(&it)) {
		found = found || str_eq(json_str(it.val), json_str(label));
	}
	if (str_is(op, "In")) {
		return found;
	}
	if (str_is(op, "NotIn")) {
		return !found;
	}
	return !str_is(op, "DoesNotExist");
}

/* Terms are alternatives, the expressions of a term are not. */
static bool has_affinity(const struct json *spec, const struct json *labels)
{
	const struct json *terms =
		json_at(spec, "/affinity/nodeAffinity/"
			      "requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
	struct json_iter term = json_iter(terms);

	while (json_next(&term)) {
		struct json_iter it = json_iter(api_get(term.val, "matchExpressions"));
		bool all = true;

		while (json_next(&it)) {
			all = all && matches(it.val, labels);
		}
		if (all) {
			return true;
		}
	}
	return json_len(terms) == 0;
}

bool api_work_may_use(const struct api_pod_set *ps, const struct api_flavor *f)
{
	return !f || (bears_taints(ps->spec, f->taints) &&
		      selects(api_get(ps->spec, "nodeSelector"), f->labels) &&
		      has_affinity(ps->spec, f->labels));
}
