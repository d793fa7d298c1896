/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes back out: the file for Kueue, the section for a dispatcher, and warnings about what
 * Kueue would refuse.
 */
#include "core/base/timefmt.h"
#include "core/config/config_impl.h"
#include "core/config/config_schema.h"

/* Our keys under multiKueue. */
static bool is_ours(mk_str key)
{
	static const char *const ours[] = {
		"plugins",          "dispatchers",      "externalDispatchers", "network",
		"lostWorkerPolicy", "leaseName",        "workerMemory",        "formerOrigins",
		"formerManagers",   "visibility",       "kueueVersion",        "walls",
		"quotaTrees",       "placementTimeout", "unplaceable",         "takeOver",
		"jobStatusSize",    "managerId"};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (str_is(key, ours[i])) {
			return true;
		}
	}
	return false;
}

mk_str config_print_kueue(struct arena *a, const struct config *c)
{
	struct json *out = json_new_obj(a);
	struct json_iter it = json_iter(c->document);
	struct json_iter mk;

	json_set_str(a, out, "apiVersion",
		     c->v1beta1 ? STR("config.kueue.x-k8s.io/v1beta1")
				: STR("config.kueue.x-k8s.io/v1beta2"));
	json_set_str(a, out, "kind", STR("Configuration"));
	while (json_next(&it)) {
		json_set(a, out, it.key, json_dup(a, it.val));
	}
	if (str_is(json_str_at(out, "/leaderElection/resourceName"), CONFIG_LEASE)) {
		/* Kueue would take our Lease, and keep us from leading. */
		json_set(a, json_get(out, "leaderElection"), STR("resourceName"), NULL);
	}
	mk = json_iter(json_get(out, "multiKueue"));
	while (json_next(&mk)) {
		if (is_ours(mk.key)) {
			json_set(a, json_get(out, "multiKueue"), mk.key, NULL);
		}
	}
	return arena_failed(a) ? (mk_str){NULL, 0} : yaml_write(a, out);
}

struct json *config_dispatchers(struct arena *a, const struct config *c)
{
	const struct json *given = c->multikueue.dispatchers;
	struct json *all = json_type(given) == JSON_OBJ ? json_dup(a, given) : json_new_obj(a);
	struct json *v = json_getn(all, STR(CONFIG_INCREMENTAL));

	if (json_type(v) != JSON_OBJ) {
		v = json_new_obj(a);
		json_set(a, all, STR(CONFIG_INCREMENTAL), v);
	}
	if (!json_get(v, "stepSize")) {
		json_set_int(a, v, "stepSize", c->multikueue.step_size);
	}
	if (!json_get(v, "order") && !c->gates[CONFIG_GATE_INCREMENTAL_CONFIG_ORDER]) {
		json_set_str(a, v, "order", STR("name"));
	}
	return arena_failed(a) ? NULL : all;
}

static void warn_negative(struct config_run *r, const char *pointer, const char *path)
{
	const struct json *v = json_at(r->doc, pointer);
	int64_t ns = json_int(v, 0);

	if (json_type(v) == JSON_STR) {
		(void)duration_parse_ns(json_str(v), &ns, NULL);
	}
	if (ns < 0) {
		config_warning(r, str_of(pointer),
			       "%s: Invalid value: must be greater than or equal to 0", path);
	}
}

/* fairSharing.preemptionStrategies: one of the three lists that Kueue takes. */
static void warn_fair_sharing(struct config_run *r)
{
	const struct json *section = json_get(r->doc, "fairSharing");
	const struct json *list = json_get(section, "preemptionStrategies");
	mk_str first = json_str(json_elem(list, 0));
	mk_str second = json_str(json_elem(list, 1));
	bool good = false;

	if (json_type(section) != JSON_OBJ || (r->v1beta1 && json_len(list) == 0)) {
		return;
	}
	if (json_len(list) == 1) {
		good = str_is(first, "LessThanOrEqualToFinalShare") ||
		       str_is(first, "LessThanInitialShare");
	} else if (json_len(list) == 2) {
		good = str_is(first, "LessThanOrEqualToFinalShare") &&
		       str_is(second, "LessThanInitialShare");
	}
	if (!good) {
		config_warning(r, STR("/fairSharing/preemptionStrategies"),
			       "fairSharing.preemptionStrategies: Kueue refuses this list");
	}
}

/* "pods" is what Kueue counts by itself. */
static void warn_reserved(struct config_run *r, mk_str pointer, mk_str name)
{
	if (str_is(name, "pods")) {
		config_warning(r, pointer,
			       "%.*s: Invalid value: \"pods\": Kueue 0.20 does not start with this "
			       "resource name",
			       STR_ARG(config_path(r->a, r->doc, pointer)));
	}
}

static void warn_resources(struct config_run *r)
{
	const mk_str lists[] = {STR("/resources/transformations"),
				STR("/resources/deviceClassMappings")};

	for (size_t k = 0; k < 2; k++) {
		struct json_iter it = json_iter(json_at(r->doc, lists[k].p));

		for (size_t i = 0; json_next(&it); i++) {
			mk_str at = config_index(r->a, lists[k], i);
			const char *key = k == 0 ? "input" : "name";
			struct json_iter out = json_iter(json_get(it.val, "outputs"));

			warn_reserved(r, json_pointer_child(r->a, at, str_of(key)),
				      json_str(json_get(it.val, key)));
			at = json_pointer_child(r->a, at, STR("outputs"));
			while (k == 0 && json_next(&out)) {
				warn_reserved(r, json_pointer_child(r->a, at, out.key), out.key);
			}
		}
	}
}

/* Keys that Kueue 0.19 does not have, and values that 0.20 refuses. */
static void warn_by_version(struct config_run *r, int minor)
{
	static const char *const since_20[] = {"unscheduledTimeout", "maxTimeoutOnWorkload"};
	const mk_str section = STR("/waitForPodsReady");

	for (size_t i = 0; i < 2 && minor < 20; i++) {
		if (json_get(json_get(r->doc, "waitForPodsReady"), since_20[i]) != NULL) {
			config_warning(r, json_pointer_child(r->a, section, str_of(since_20[i])),
				       "waitForPodsReady.%s: Kueue 0.%d refuses this key of 0.20 "
				       "(multiKueue.kueueVersion)",
				       since_20[i], minor);
		}
	}
	if (minor >= 20) {
		config_warn_selector(r, "metrics.localQueueMetrics.localQueueSelector",
				     STR("/metrics/localQueueMetrics/localQueueSelector"));
		warn_resources(r);
	}
}

void config_warn_core(struct config_run *r, const struct config *c)
{
	struct json_iter it = json_iter(json_get(r->doc, "multiKueue"));
	const struct json *mk = json_at(r->doc, "/featureGates/MultiKueue");
	bool told = false;

	while (json_next(&it)) {
		if (is_ours(it.key) && !told) {
			config_warning(
				r, json_pointer_child(r->a, STR("/multiKueue"), it.key),
				"multiKueue.%.*s: Kueue refuses this key: give it the output of "
				"--print-kueue-config",
				STR_ARG(it.key));
			told = true;
		}
	}
	if (json_type(mk) == JSON_BOOL && !json_bool(mk)) {
		config_warning(
			r, STR("/featureGates/MultiKueue"),
			"featureGates: MultiKueue=false switches off Kueue's controllers, not "
			"multikueued");
	}
	warn_negative(r, "/waitForPodsReady/timeout", "waitForPodsReady.timeout");
	warn_negative(r, "/waitForPodsReady/recoveryTimeout", "waitForPodsReady.recoveryTimeout");
	warn_negative(r, "/waitForPodsReady/unscheduledTimeout",
		      "waitForPodsReady.unscheduledTimeout");
	warn_negative(r, "/waitForPodsReady/maxTimeoutOnWorkload",
		      "waitForPodsReady.maxTimeoutOnWorkload");
	warn_negative(r, "/waitForPodsReady/requeuingStrategy/backoffLimitCount",
		      "waitForPodsReady.requeuingStrategy.backoffLimitCount");
	warn_negative(r, "/waitForPodsReady/requeuingStrategy/backoffBaseSeconds",
		      "waitForPodsReady.requeuingStrategy.backoffBaseSeconds");
	warn_negative(r, "/waitForPodsReady/requeuingStrategy/backoffMaxSeconds",
		      "waitForPodsReady.requeuingStrategy.backoffMaxSeconds");
	warn_negative(r, "/admissionFairSharing/usageHalfLifeTime",
		      "admissionFairSharing.usageHalfLifeTime");
	warn_negative(r, "/objectRetentionPolicies/workloads/afterFinished",
		      "objectRetentionPolicies.workloads.afterFinished");
	warn_negative(r, "/objectRetentionPolicies/workloads/afterDeactivatedByKueue",
		      "objectRetentionPolicies.workloads.afterDeactivatedByKueue");
	warn_fair_sharing(r);
	warn_by_version(r, c->multikueue.kueue_minor);
}
