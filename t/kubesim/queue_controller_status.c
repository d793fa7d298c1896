/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a Workload as the queue controller applies it: under the field manager
 * kueue-admission every write carries all fields that this manager keeps, so that leaving one out
 * deletes it. That is how an eviction forgets clusterName and nominatedClusterNames.
 */
#include <stdio.h>

#include "core/base/timefmt.h"
#include "t/kubesim/queue_controller.h"

#define MANAGER "kueue-admission"

static const char *const owned_conditions[] = {
	"QuotaReserved", "BlockedOnPreemptionGates", "Evicted",  "Admitted",  "Preempted",
	"Requeued",      "DeactivationTarget",       "Finished", "PodsReady",
};

static void copy(struct ks_actors *k, struct json *to, const struct json *from, const char *key)
{
	const struct json *v = json_get(from, key);

	if (v != NULL) {
		json_set(&k->a, to, str_of(key), json_dup(&k->a, v));
	}
}

static struct json *metadata(struct ks_actors *k, const struct json *wl)
{
	struct json *m = json_new_obj(&k->a);

	json_set_str(&k->a, m, "name", obj_meta(wl, "name"));
	json_set_str(&k->a, m, "namespace", obj_meta(wl, "namespace"));
	json_set_str(&k->a, m, "uid", obj_meta(wl, "uid"));
	json_set_str(&k->a, m, "resourceVersion", obj_meta(wl, "resourceVersion"));
	return m;
}

static struct json *conditions(struct ks_actors *k, const struct json *wl)
{
	struct json *list = json_new_arr(&k->a);

	for (size_t i = 0; i < sizeof(owned_conditions) / sizeof(owned_conditions[0]); i++) {
		const struct json *c = obj_condition(wl, owned_conditions[i]);

		if (c != NULL) {
			json_add(&k->a, list, json_dup(&k->a, c));
		}
	}
	return list;
}

struct json *status_body(struct ks_actors *k, const struct json *wl)
{
	struct json *body = json_new_obj(&k->a), *status = json_new_obj(&k->a);
	const struct json *old = json_get(wl, "status");
	struct json *m = metadata(k, wl);

	json_set_str(&k->a, body, "apiVersion", STR("kueue.x-k8s.io/v1beta2"));
	json_set_str(&k->a, body, "kind", STR("Workload"));
	json_set(&k->a, body, STR("metadata"), m);
	json_set(&k->a, body, STR("status"), status);
	copy(k, status, old, "accumulatedPastExecutionTimeSeconds");
	copy(k, status, old, "admission");
	copy(k, status, old, "admissionChecks");
	copy(k, status, old, "clusterName");
	json_set(&k->a, status, STR("conditions"), conditions(k, wl));
	copy(k, status, old, "nominatedClusterNames");
	copy(k, status, old, "preemptionGates");
	copy(k, status, old, "requeueState");
	copy(k, status, old, "schedulingStats");
	copy(k, status, old, "unhealthyNodes");
	/* Not sent: remembered for observedGeneration and taken off in status_apply. */
	json_set_int(&k->a, m, "generation", json_int(json_at(wl, "/metadata/generation"), 1));
	return body;
}

static void set_condition(struct ks_actors *k, struct json *c, bool value, mk_str reason,
			  mk_str message, int64_t generation)
{
	mk_str status = value ? STR("True") : STR("False");

	if (!str_eq(json_str(json_get(c, "status")), status)) {
		json_set_str(&k->a, c, "lastTransitionTime", now_text(k));
	}
	json_set_str(&k->a, c, "message", str_cut(message, 32768));
	json_set_int(&k->a, c, "observedGeneration", generation);
	json_set_str(&k->a, c, "reason", reason);
	json_set_str(&k->a, c, "status", status);
}

void status_condition(struct ks_actors *k, struct json *body, const char *type, bool value,
		      mk_str reason, mk_str message)
{
	struct json *list = json_at(body, "/status/conditions"), *c;
	struct json_iter it = json_iter(list);
	int64_t generation = json_int(json_at(body, "/metadata/generation"), 1);

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), type)) {
			set_condition(k, it.val, value, reason, message, generation);
			return;
		}
	}
	c = json_new_obj(&k->a);
	set_condition(k, c, value, reason, message, generation);
	json_set_str(&k->a, c, "type", str_of(type));
	json_add(&k->a, list, c);
}

void status_drop_condition(struct json *body, const char *type)
{
	struct json *list = json_at(body, "/status/conditions");

	for (size_t i = json_len(list); i > 0; i--) {
		if (str_is(json_str(json_get(json_elem(list, i - 1), "type")), type)) {
			json_remove(list, i - 1);
		}
	}
}

bool status_apply(struct ks_actors *k, struct item *it, const struct json *body)
{
	mk_str path = obj_path(&k->a, str_of(RES_WORKLOADS), it->ns, it->name);
	struct json *send = json_share(&k->a, body);

	json_own(&k->a, send);
	json_own(&k->a, json_get(send, "metadata"));
	json_put(&k->a, send, "/metadata/generation", NULL);
	return api_apply(k, it, arena_printf(&k->a, "%.*s/status", STR_ARG(path)), send, MANAGER);
}

static void count_eviction(struct ks_actors *k, struct json *body, mk_str reason, mk_str cause)
{
	struct json *list = json_at(body, "/status/schedulingStats/evictions"), *e;
	struct json_iter it = json_iter(list);

	while (json_next(&it)) {
		if (str_eq(json_str(json_get(it.val, "reason")), reason) &&
		    str_eq(json_str(json_get(it.val, "underlyingCause")), cause)) {
			int64_t n = json_int(json_get(it.val, "count"), 0);

			json_set_int(&k->a, it.val, "count", n + 1);
			return;
		}
	}
	if (!list) {
		json_put(&k->a, body, "/status/schedulingStats/evictions", json_new_arr(&k->a));
	}
	e = json_new_obj(&k->a);
	json_set_int(&k->a, e, "count", 1);
	json_set_str(&k->a, e, "reason", reason);
	json_set_str(&k->a, e, "underlyingCause", cause);
	json_put(&k->a, body, "/status/schedulingStats/evictions/-", e);
}

static void reset_check(struct ks_actors *k, struct json *check)
{
	mk_str state = json_str(json_get(check, "state"));
	int64_t retries = json_int(json_get(check, "retryCount"), 0);
	bool retry = str_is(state, "Retry");

	if (str_is(state, "Pending")) {
		return;
	}
	json_set_str(&k->a, check, "message",
		     arena_printf(&k->a, "Reset to Pending after eviction. Previously: %.*s",
				  STR_ARG(state)));
	json_set_str(&k->a, check, "state", STR("Pending"));
	json_set_str(&k->a, check, "lastTransitionTime", now_text(k));
	json_set(&k->a, check, STR("retryCount"), retry ? json_new_int(&k->a, retries + 1) : NULL);
	json_set(&k->a, check, STR("podSetUpdates"), NULL);
}

void status_evict(struct ks_actors *k, struct json *body, mk_str reason, mk_str message,
		  mk_str stat, mk_str cause)
{
	struct json *status = json_get(body, "status");
	struct json_iter it = json_iter(json_get(status, "admissionChecks"));

	status_condition(k, body, "Evicted", true, reason, message);
	count_eviction(k, body, stat, cause);
	while (json_next(&it)) {
		reset_check(k, it.val);
	}
	json_set(&k->a, status, STR("clusterName"), NULL);
	json_set(&k->a, status, STR("nominatedClusterNames"), NULL);
	json_set(&k->a, status, STR("unhealthyNodes"), NULL);
}

bool checks_all_ready(const struct json *wl)
{
	struct json_iter it = json_iter(json_at(wl, "/status/admissionChecks"));

	while (json_next(&it)) {
		if (!str_is(json_str(json_get(it.val, "state")), "Ready")) {
			return false;
		}
	}
	return true;
}

void status_release(struct ks_actors *k, struct json *body)
{
	const struct json *evicted = obj_condition(body, "Evicted");
	const struct json *admitted = obj_condition(body, "Admitted");
	mk_str reason = json_str(json_get(evicted, "reason"));
	mk_str message = json_str(json_get(evicted, "message"));
	bool ready = checks_all_ready(body);
	int64_t since = k->now_ms, past;

	if (str_is(json_str(json_get(admitted, "status")), "True")) {
		time_parse(json_str(json_get(admitted, "lastTransitionTime")), &since);
		past = json_int(json_at(body, "/status/accumulatedPastExecutionTimeSeconds"), 0);
		json_put(&k->a, body, "/status/accumulatedPastExecutionTimeSeconds",
			 json_new_int(&k->a, past + (k->now_ms - since) / 1000));
		status_condition(k, body, "Admitted", false,
				 ready ? STR("NoReservation")
				       : STR("NoReservationUnsatisfiedChecks"),
				 ready ? STR("The workload has no reservation")
				       : STR("The workload has no reservation and not all checks "
					     "ready"));
	}
	status_condition(k, body, "QuotaReserved", false, STR("Pending"), message);
	status_condition(k, body, "Requeued", str_is(reason, "Preempted"), reason, message);
	json_put(&k->a, body, "/status/admission", NULL);
}
