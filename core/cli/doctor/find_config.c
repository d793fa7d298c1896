/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about MultiKueueConfigs, AdmissionChecks and queues of the manager; see doctor.h. */
#include "core/api/names.h"
#include "core/api/selector.h"
#include "core/cli/doctor/doctor.h"

typedef const struct doctor_rule rule;

static mk_str name_of(const struct json *o)
{
	return json_str_at(o, "/metadata/name");
}

static bool is_config(const struct json *check)
{
	return str_is(json_str_at(check, "/spec/parameters/kind"), "MultiKueueConfig") &&
	       str_is(json_str_at(check, "/spec/parameters/apiGroup"), NAME_GROUP);
}

/* Does the list at a pointer of one of the items have that string? */
static bool any_names(const struct json *items, const char *pointer, const char *key, mk_str name)
{
	struct json_iter it = json_iter(items);

	while (json_next(&it)) {
		struct json_iter names = json_iter(json_at(it.val, pointer));

		while (json_next(&names)) {
			mk_str found = key ? row_text(names.val, key) : json_str(names.val);

			if (str_eq(found, name)) {
				return true;
			}
		}
	}
	return false;
}

/* --- configs ---------------------------------------------------------------------------------- */

static void names_missing_cluster(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_CONFIGS));

	while (json_next(&it)) {
		struct json_iter names = json_iter(json_at(it.val, "/spec/clusters"));

		while (json_next(&names)) {
			mk_str name = json_str(names.val);

			if (doctor_item(d, FACT_CLUSTERS, name)) {
				continue;
			}
			doctor_found(
				d, r, w,
				doctor_text(d, "MultiKueueConfig/%.*s", STR_ARG(name_of(it.val))),
				doctor_text(d, "spec.clusters names %.*s, which is not there",
					    STR_ARG(name)),
				STR("the name of a MultiKueueCluster"),
				doctor_text(d,
					    "create MultiKueueCluster %.*s, or kubectl edit "
					    "multikueueconfig %.*s",
					    STR_ARG(name), STR_ARG(name_of(it.val))));
		}
	}
}

static int label_of(void *ctx, mk_str key, mk_str *value)
{
	const struct json *label = json_getn(json_at(ctx, "/metadata/labels"), key);

	*value = json_str(label);
	return label != NULL;
}

static mk_str selector_of(const struct json *config)
{
	return json_str(json_get(json_at(config, "/metadata/annotations"), NAME_SELECTOR));
}

static bool has_selector(const struct json *config)
{
	return json_get(json_at(config, "/metadata/annotations"), NAME_SELECTOR) != NULL;
}

/* As api_selects, of a MultiKueueCluster; NULL: one without labels. */
static int selects(const struct json *config, const struct json *cluster, const char **error,
		   size_t *at)
{
	return api_selects(selector_of(config), label_of, (void *)(uintptr_t)cluster, error, at);
}

bool doctor_config_has(const struct json *config, const struct json *cluster)
{
	struct json_iter names = json_iter(json_at(config, "/spec/clusters"));
	const char *error;
	size_t at;

	while (json_next(&names)) {
		if (str_eq(json_str(names.val), name_of(cluster))) {
			return true;
		}
	}
	return has_selector(config) && selects(config, cluster, &error, &at) == 1;
}

static bool any_has(const struct json *configs, const struct json *cluster)
{
	struct json_iter it = json_iter(configs);

	while (json_next(&it)) {
		if (doctor_config_has(it.val, cluster)) {
			return true;
		}
	}
	return false;
}

static void selector_takes_none(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_CONFIGS));

	while (json_next(&it)) {
		struct json_iter clusters = json_iter(doctor_items(d, FACT_CLUSTERS));
		const char *error = NULL;
		size_t at = 0;
		bool any = !has_selector(it.val);
		int met = any ? 0 : selects(it.val, NULL, &error, &at);

		while (!any && met >= 0 && json_next(&clusters)) {
			any = selects(it.val, clusters.val, &error, &at) == 1;
		}
		if (any || (met >= 0 && !doctor_has(&d->m.fact[FACT_CLUSTERS]))) {
			continue;
		}
		doctor_found(d, r, w,
			     doctor_text(d, "MultiKueueConfig/%.*s", STR_ARG(name_of(it.val))),
			     met < 0 ? doctor_text(d,
						   "annotation " NAME_SELECTOR " has a mistake at "
						   "byte %zu",
						   at + 1)
				     : doctor_text(d,
						   "no MultiKueueCluster has labels that "
						   "annotation " NAME_SELECTOR " asks for: %.*s",
						   STR_ARG(selector_of(it.val))),
			     met < 0 ? doctor_text(d, "%s there", error)
				     : STR("a selector that takes clusters"),
			     doctor_text(d,
					 "kubectl label multikueuecluster, or kubectl annotate "
					 "--overwrite multikueueconfig %.*s " NAME_SELECTOR "=...",
					 STR_ARG(name_of(it.val))));
	}
}

static void cluster_in_no_config(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_CLUSTERS));

	while (doctor_has(&d->m.fact[FACT_CONFIGS]) && json_next(&it)) {
		mk_str name = name_of(it.val);

		if (!any_has(doctor_items(d, FACT_CONFIGS), it.val)) {
			doctor_found(d, r, w,
				     doctor_text(d, "MultiKueueCluster/%.*s", STR_ARG(name)),
				     STR("no MultiKueueConfig has it, so it gets no jobs"),
				     STR("a MultiKueueConfig with it in spec.clusters, or that "
					 "selects its labels"),
				     STR("add it: kubectl edit multikueueconfig; or delete it"));
		}
	}
}

static void config_unused(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_CONFIGS));

	while (doctor_has(&d->m.fact[FACT_CHECKS]) && json_next(&it)) {
		struct json_iter checks = json_iter(doctor_items(d, FACT_CHECKS));
		bool used = false;

		while (json_next(&checks)) {
			used = used || (is_config(checks.val) &&
					str_eq(json_str_at(checks.val, "/spec/parameters/name"),
					       name_of(it.val)));
		}
		if (!used) {
			doctor_found(
				d, r, w,
				doctor_text(d, "MultiKueueConfig/%.*s", STR_ARG(name_of(it.val))),
				STR("no AdmissionCheck leads to it"),
				STR("an AdmissionCheck with it in spec.parameters"),
				STR("create that AdmissionCheck, or delete the config"));
		}
	}
}

/* --- checks ----------------------------------------------------------------------------------- */

static mk_str check_object(struct doctor *d, const struct json *check)
{
	return doctor_text(d, "AdmissionCheck/%.*s", STR_ARG(name_of(check)));
}

static void check_parameters(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_CHECKS));

	while (json_next(&it)) {
		const struct json *p = json_at(it.val, "/spec/parameters");

		if (doctor_is_ours(it.val) && !is_config(it.val)) {
			doctor_found(d, r, w, check_object(d, it.val),
				     p ? doctor_text(d, "spec.parameters: %.*s %.*s in %.*s",
						     STR_ARG(row_text(p, "kind")),
						     STR_ARG(row_text(p, "name")),
						     STR_ARG(row_text(p, "apiGroup")))
				       : STR("no spec.parameters"),
				     STR("spec.parameters: {apiGroup: " NAME_GROUP
					 ", kind: MultiKueueConfig, name: ...}"),
				     doctor_text(d, "kubectl edit admissioncheck %.*s",
						 STR_ARG(name_of(it.val))));
		}
	}
}

static void check_config_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_CHECKS));

	while (doctor_has(&d->m.fact[FACT_CONFIGS]) && json_next(&it)) {
		mk_str name = json_str_at(it.val, "/spec/parameters/name");

		if (doctor_is_ours(it.val) && is_config(it.val) &&
		    !doctor_item(d, FACT_CONFIGS, name)) {
			doctor_found(d, r, w, check_object(d, it.val),
				     doctor_text(d,
						 "spec.parameters names MultiKueueConfig %.*s, "
						 "which is not there",
						 STR_ARG(name)),
				     STR("the name of a MultiKueueConfig"),
				     doctor_text(d,
						 "create MultiKueueConfig %.*s, or kubectl edit "
						 "admissioncheck %.*s",
						 STR_ARG(name), STR_ARG(name_of(it.val))));
		}
	}
}

static void check_controller(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_CHECKS));

	while (json_next(&it)) {
		if (is_config(it.val) && !doctor_is_ours(it.val)) {
			doctor_found(
				d, r, w, check_object(d, it.val),
				doctor_text(d, "spec.controllerName is %.*s",
					    STR_ARG(json_str_at(it.val, "/spec/controllerName"))),
				STR("spec.controllerName: " NAME_CONTROLLER),
				doctor_text(d,
					    "the field cannot be changed: kubectl delete "
					    "admissioncheck %.*s, and create it anew",
					    STR_ARG(name_of(it.val))));
		}
	}
}

static void check_inactive(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_CHECKS));

	while (json_next(&it)) {
		const struct json *active = doctor_condition(it.val, "Active");
		mk_str status = row_text(active, "status");

		if (doctor_is_ours(it.val) && !str_is(status, "True")) {
			doctor_found(d, r, w, check_object(d, it.val),
				     active ? doctor_text(d, "condition Active is %.*s: %.*s",
							  STR_ARG(status),
							  STR_ARG(row_text(active, "message")))
					    : STR("no condition Active: no daemon looked at it"),
				     STR("condition Active is True"),
				     STR("mend what the message names; without one: is the daemon "
					 "running? kubectl multikueue status"));
		}
	}
}

static void check_unused(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_CHECKS));

	while (doctor_has(&d->m.fact[FACT_QUEUES]) && json_next(&it)) {
		if (doctor_is_ours(it.val) &&
		    !any_names(doctor_items(d, FACT_QUEUES),
			       "/spec/admissionChecksStrategy/admissionChecks", "name",
			       name_of(it.val))) {
			doctor_found(d, r, w, check_object(d, it.val),
				     STR("no ClusterQueue has it, so it sends no job anywhere"),
				     STR("a ClusterQueue with it in spec.admissionChecksStrategy"),
				     STR("kubectl edit clusterqueue; or delete the check"));
		}
	}
}

/* --- queues ----------------------------------------------------------------------------------- */

static mk_str queue_object(struct doctor *d, const struct json *queue)
{
	return doctor_text(d, "ClusterQueue/%.*s", STR_ARG(name_of(queue)));
}

static mk_str edit_queue(struct doctor *d, const struct json *queue)
{
	return doctor_text(d, "kubectl edit clusterqueue %.*s", STR_ARG(name_of(queue)));
}

static struct json_iter checks_of(const struct json *queue)
{
	return json_iter(json_at(queue, "/spec/admissionChecksStrategy/admissionChecks"));
}

static void queue_check_missing(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_QUEUES));

	while (doctor_has(&d->m.fact[FACT_CHECKS]) && json_next(&it)) {
		struct json_iter names = checks_of(it.val);

		while (json_next(&names)) {
			mk_str name = row_text(names.val, "name");

			if (!doctor_item(d, FACT_CHECKS, name)) {
				doctor_found(d, r, w, queue_object(d, it.val),
					     doctor_text(d,
							 "it has the check %.*s, which is "
							 "not there",
							 STR_ARG(name)),
					     STR("the name of an AdmissionCheck"),
					     edit_queue(d, it.val));
			}
		}
	}
}

static void queue_some_flavors(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_QUEUES));

	while (json_next(&it)) {
		struct json_iter names = checks_of(it.val);

		while (json_next(&names)) {
			mk_str name = row_text(names.val, "name");

			if (doctor_is_ours(doctor_item(d, FACT_CHECKS, name)) &&
			    json_len(json_get(names.val, "onFlavors")) > 0) {
				doctor_found(
					d, r, w, queue_object(d, it.val),
					doctor_text(d, "the check %.*s is for some flavors only",
						    STR_ARG(name)),
					STR("a check of MultiKueue without onFlavors: Kueue makes "
					    "the queue inactive"),
					edit_queue(d, it.val));
			}
		}
	}
}

static void queue_two_checks(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_QUEUES));

	while (json_next(&it)) {
		struct json_iter names = checks_of(it.val);
		size_t n = 0;

		while (json_next(&names)) {
			n += doctor_is_ours(
				doctor_item(d, FACT_CHECKS, row_text(names.val, "name")));
		}
		if (n > 1) {
			doctor_found(d, r, w, queue_object(d, it.val),
				     doctor_text(d, "it has %zu checks of MultiKueue", n),
				     STR("one: Kueue makes a queue with more inactive"),
				     edit_queue(d, it.val));
		}
	}
}

/* Has it a check of ours, or of none that is there? */
static bool is_routed(const struct doctor *d, const struct json *queue)
{
	for (size_t i = 0; i < d->m.n_routes; i++) {
		if (d->m.routes[i].queue == queue) {
			return true;
		}
	}
	return false;
}

static void queue_inactive(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_QUEUES));

	while (json_next(&it)) {
		const struct json *active = doctor_condition(it.val, "Active");
		mk_str policy = json_str_at(it.val, "/spec/stopPolicy");
		bool stopped = policy.n > 0 && !str_is(policy, "None");

		if (is_routed(d, it.val) && !stopped &&
		    str_is(row_text(active, "status"), "False")) {
			doctor_found(d, r, w, queue_object(d, it.val),
				     doctor_text(d, "condition Active is False: %.*s",
						 STR_ARG(row_text(active, "message"))),
				     STR("condition Active is True"), edit_queue(d, it.val));
		}
	}
}

static void queue_stopped(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_QUEUES));

	while (json_next(&it)) {
		mk_str policy = json_str_at(it.val, "/spec/stopPolicy");

		if (is_routed(d, it.val) && policy.n > 0 && !str_is(policy, "None")) {
			doctor_found(d, r, w, queue_object(d, it.val),
				     doctor_text(d, "spec.stopPolicy is %.*s", STR_ARG(policy)),
				     STR("spec.stopPolicy: None"),
				     doctor_text(d,
						 "kubectl patch clusterqueue %.*s --type merge -p "
						 "'{\"spec\":{\"stopPolicy\":\"None\"}}'",
						 STR_ARG(name_of(it.val))));
		}
	}
}

static void local_queue_nowhere(struct doctor *d, rule *r, struct doctor_worker *w)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_LOCAL_QUEUES));

	while (doctor_has(&d->m.fact[FACT_QUEUES]) && json_next(&it)) {
		mk_str queue = json_str_at(it.val, "/spec/clusterQueue");

		if (!doctor_item(d, FACT_QUEUES, queue)) {
			doctor_found(
				d, r, w,
				doctor_text(d, "LocalQueue/%.*s/%.*s",
					    STR_ARG(json_str_at(it.val, "/metadata/namespace")),
					    STR_ARG(name_of(it.val))),
				doctor_text(d,
					    "spec.clusterQueue is %.*s, which is not "
					    "there",
					    STR_ARG(queue)),
				STR("the name of a ClusterQueue"),
				doctor_text(d,
					    "create ClusterQueue %.*s, or delete the "
					    "LocalQueue",
					    STR_ARG(queue)));
		}
	}
}

const struct doctor_rule doctor_config_rules[] = {
	{"ConfigNamesMissingCluster", DOCTOR_ERROR, "MultiKueueConfigs, MultiKueueClusters",
	 "a config names a cluster that is not there", names_missing_cluster},
	{"ClusterInNoConfig", DOCTOR_WARNING, "MultiKueueConfigs, MultiKueueClusters",
	 "no config has the cluster", cluster_in_no_config},
	{"ConfigSelectsNothing", DOCTOR_WARNING, "MultiKueueConfigs, MultiKueueClusters",
	 "the cluster selector of a config takes none, or has a mistake", selector_takes_none},
	{"ConfigUnused", DOCTOR_WARNING, "MultiKueueConfigs, AdmissionChecks",
	 "no check leads to the config", config_unused},
	{"CheckParametersWrong", DOCTOR_ERROR, "AdmissionChecks",
	 "a check of MultiKueue leads to no MultiKueueConfig", check_parameters},
	{"CheckConfigMissing", DOCTOR_ERROR, "AdmissionChecks, MultiKueueConfigs",
	 "a check leads to a config that is not there", check_config_missing},
	{"CheckControllerWrong", DOCTOR_ERROR, "AdmissionChecks",
	 "a check with a MultiKueueConfig is another controller's", check_controller},
	{"CheckInactive", DOCTOR_ERROR, "AdmissionChecks", "a check of MultiKueue is not Active",
	 check_inactive},
	{"CheckUnused", DOCTOR_WARNING, "AdmissionChecks, ClusterQueues",
	 "no ClusterQueue has the check", check_unused},
	{"QueueCheckMissing", DOCTOR_ERROR, "ClusterQueues, AdmissionChecks",
	 "a ClusterQueue has a check that is not there", queue_check_missing},
	{"QueueCheckSomeFlavors", DOCTOR_ERROR, "ClusterQueues",
	 "the check of MultiKueue is for some flavors only", queue_some_flavors},
	{"QueueTwoChecks", DOCTOR_ERROR, "ClusterQueues",
	 "a ClusterQueue has several checks of MultiKueue", queue_two_checks},
	{"QueueInactive", DOCTOR_ERROR, "ClusterQueues",
	 "a ClusterQueue with the check is not Active", queue_inactive},
	{"QueueStopped", DOCTOR_WARNING, "ClusterQueues",
	 "a ClusterQueue with the check is stopped", queue_stopped},
	{"LocalQueueLeadsNowhere", DOCTOR_ERROR, "LocalQueues, ClusterQueues",
	 "the ClusterQueue of a LocalQueue is not there", local_queue_nowhere},
	{.name = NULL}};
