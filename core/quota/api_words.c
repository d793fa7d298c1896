/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that nothing reads: fields, annotations and kinds that are nearly, but not quite, those of
 * queue trees. A tree must not silently mean less than it says. The fields of a ClusterQuotaTree
 * are all known; of Kueue's objects only what is near a known word is a fault, since Kueue may have
 * fields of which we know nothing.
 */
#include "core/quota/api_read.h"

enum { RULE = 32, WORD_MAX = 63 };

static const char *const object_words[] = {"apiVersion", "kind",   "metadata",
					   "spec",       "status", NULL};
static const char *const tree_words[] = {"capacityFrom",    "clusterQuotaTemplate",
					 "deletionPolicy",  "enforcement",
					 "fairShare",       "graftAt",
					 "hierachies",      "hierarchies",
					 "overLimitPolicy", "resourceGroup",
					 "resourceGroups",  NULL};
static const char *const group_words[] = {"dynamicChildren", "fence", "policy", "weightedQuotas",
					  NULL};
static const char *const node_words[] = {"clusterQuotaTemplate",
					 "maxResources",
					 "maxWeight",
					 "minResources",
					 "minWeight",
					 "name",
					 NULL};
static const char *const resource_group_words[] = {"coveredResources", "flavors", NULL};
static const char *const flavor_words[] = {"name", "resources", NULL};
static const char *const resource_words[] = {"borrowingLimit", "lendingLimit", "name",
					     "nominalQuota", NULL};
static const char *const graft_words[] = {"node", "tree", NULL};
static const char *const capacity_words[] = {"workers", NULL};
static const char *const workers_words[] = {"dropAfter",        "flavorMap",  "lostAfter",
					    "multiKueueConfig", "multiplier", "raiseAfter",
					    "selector",         NULL};
static const char *const selector_words[] = {"matchExpressions", "matchLabels", NULL};
static const char *const queue_words[] = {"admissionChecks",
					  "admissionChecksStrategy",
					  "admissionScope",
					  "children",
					  "cohort",
					  "cohortName",
					  "fairSharing",
					  "flavorFungibility",
					  "maxWeight",
					  "minWeight",
					  "namespaceSelector",
					  "parent",
					  "policy",
					  "preemption",
					  "queueingStrategy",
					  "resourceGroups",
					  "stopPolicy",
					  NULL};
static const char *const preemption_words[] = {"borrowWithinCohort", "reclaimWithinCohort",
					       "withinClusterQueue", NULL};
static const char *const borrow_words[] = {"maxPriorityThreshold", "policy", NULL};
static const char *const fungibility_words[] = {"preference", "whenCanBorrow", "whenCanPreempt",
						NULL};
static const char *const sharing_words[] = {"weight", NULL};
static const char *const lq_words[] = {"clusterQueue", "fairSharing", "stopPolicy", NULL};
static const char *const flavor_object_words[] = {
	"nodeLabels", "nodeTaints", "relatedElasticQuota", "tolerations", "topologyName", NULL};

static const char *const queue_notes[] = {
	"capacity-from",    "children",          "force",         "max-resources",
	"max-weight",       "min-weight",        "parent",        "policy",
	"preemption-fence", "queueing-strategy", "quota-managed", NULL};
static const char *const tree_notes[] = {"force", NULL};
static const char *const flavor_notes[] = {"related-elastic-quota", NULL};

/* The one of 'words' that 'word', which is none of them, is near to; or NULL. */
static const char *meant(mk_str word, const char *const *words)
{
	struct str_guess g = {.word = word};

	for (; *words != NULL; words++) {
		str_guess_try(&g, str_of(*words));
	}
	return g.best.p;
}

static bool is_one_of(mk_str word, const char *const *words)
{
	while (*words != NULL && !str_is(word, *words)) {
		words++;
	}
	return *words != NULL;
}

/* 'all': what is none of 'words' is a fault even when it is not near one. */
static void check(struct api_reader *r, const struct json *v, const char *const *words, mk_str path,
		  bool all)
{
	struct json_iter it = json_iter(json_type(v) == JSON_OBJ ? v : NULL);

	while (json_next(&it) && !arena_failed(r->a)) {
		const char *near = is_one_of(it.key, words) ? NULL : meant(it.key, words);
		mk_str at;

		if (is_one_of(it.key, words) || (!near && !all)) {
			continue;
		}
		at = api_path(r, "%.*s%s%.*s", STR_ARG(path), path.n > 0 ? "." : "",
			      STR_ARG(it.key));
		api_fault_add(r->a, &r->object->faults, RULE, at, "Unknown field%s%s%s",
			      near != NULL ? ": did you mean \"" : "", near != NULL ? near : "",
			      near != NULL ? "\"?" : "");
	}
}

static mk_str below(struct api_reader *r, mk_str path, const char *field)
{
	return api_path(r, "%.*s.%s", STR_ARG(path), field);
}

/* Also of the JSON in an annotation. */
void api_capacity_words(struct api_reader *r, const struct json *v, mk_str path)
{
	const struct json *workers = api_get(v, "workers");
	mk_str at = below(r, path, "workers");

	check(r, v, capacity_words, path, true);
	check(r, workers, workers_words, at, true);
	check(r, api_get(workers, "selector"), selector_words, below(r, at, "selector"), true);
}

/* --- ClusterQueue, and its template ----------------------------------------------------------- */

static void check_behaviour(struct api_reader *r, const struct json *spec, mk_str path)
{
	const struct json *preemption = api_get(spec, "preemption");
	mk_str at = below(r, path, "preemption");

	check(r, spec, queue_words, path, false);
	check(r, preemption, preemption_words, at, false);
	check(r, api_get(preemption, "borrowWithinCohort"), borrow_words,
	      below(r, at, "borrowWithinCohort"), false);
	check(r, api_get(spec, "flavorFungibility"), fungibility_words,
	      below(r, path, "flavorFungibility"), false);
	check(r, api_get(spec, "fairSharing"), sharing_words, below(r, path, "fairSharing"), false);
}

/* --- ClusterQuotaTree ------------------------------------------------------------------------- */

static void check_flavors(struct api_reader *r, const struct json *list, mk_str path)
{
	struct json_iter it = json_iter(json_type(list) == JSON_ARR ? list : NULL);

	for (size_t i = 0; json_next(&it) && !arena_failed(r->a); i++) {
		mk_str at = api_path(r, "%.*s[%zu]", STR_ARG(path), i);
		const struct json *resources = api_get(it.val, "resources");
		struct json_iter in =
			json_iter(json_type(resources) == JSON_ARR ? resources : NULL);

		check(r, it.val, flavor_words, at, true);
		for (size_t k = 0; json_next(&in); k++) {
			check(r, in.val, resource_words,
			      api_path(r, "%.*s.resources[%zu]", STR_ARG(at), k), true);
		}
	}
}

static void check_resource_group(struct api_reader *r, const struct json *v, mk_str path)
{
	check(r, v, resource_group_words, path, true);
	check_flavors(r, api_get(v, "flavors"), below(r, path, "flavors"));
}

static void check_node(struct api_reader *r, const struct json *v, mk_str path)
{
	check(r, v, node_words, path, true);
	check_flavors(r, api_get(v, "minResources"), below(r, path, "minResources"));
	check_flavors(r, api_get(v, "maxResources"), below(r, path, "maxResources"));
	check_behaviour(r, api_get(v, "clusterQuotaTemplate"),
			below(r, path, "clusterQuotaTemplate"));
}

static void check_hierarchies(struct api_reader *r, const struct json *map, const char *name)
{
	struct json_iter it = json_iter(json_type(map) == JSON_OBJ ? map : NULL);

	while (json_next(&it) && !arena_failed(r->a)) {
		mk_str at = api_path(r, "spec.%s[%.*s]", name, STR_ARG(it.key));
		const struct json *list = api_get(it.val, "weightedQuotas");
		struct json_iter in = json_iter(json_type(list) == JSON_ARR ? list : NULL);

		check(r, it.val, group_words, at, true);
		for (size_t i = 0; json_next(&in) && !arena_failed(r->a); i++) {
			check_node(r, in.val,
				   api_path(r, "%.*s.weightedQuotas[%zu]", STR_ARG(at), i));
		}
	}
}

static void check_tree(struct api_reader *r, const struct json *spec)
{
	const struct json *several = api_get(spec, "resourceGroups");
	struct json_iter it = json_iter(json_type(several) == JSON_ARR ? several : NULL);

	check(r, r->object->json, object_words, STR(""), true);
	check(r, spec, tree_words, STR("spec"), true);
	check_hierarchies(r, api_get(spec, "hierarchies"), "hierarchies");
	check_hierarchies(r, api_get(spec, "hierachies"), "hierachies");
	check_resource_group(r, api_get(spec, "resourceGroup"), STR("spec.resourceGroup"));
	for (size_t i = 0; json_next(&it); i++) {
		check_resource_group(r, it.val, api_path(r, "spec.resourceGroups[%zu]", i));
	}
	check_behaviour(r, api_get(spec, "clusterQuotaTemplate"), STR("spec.clusterQuotaTemplate"));
	check(r, api_get(spec, "graftAt"), graft_words, STR("spec.graftAt"), true);
	api_capacity_words(r, api_get(spec, "capacityFrom"), STR("spec.capacityFrom"));
}

/* --- any object ------------------------------------------------------------------------------- */

/* 'words': annotations of ours that this kind may have; NULL: none. */
static void check_annotations(struct api_reader *r, const char *const *words)
{
	const struct json *all = api_get(api_get(r->object->json, "metadata"), "annotations");
	struct json_iter it = json_iter(json_type(all) == JSON_OBJ ? all : NULL);
	mk_str prefix = STR(API_ANNOTATION);

	while (json_next(&it) && !arena_failed(r->a)) {
		mk_str name = str_sub(it.key, prefix.n, SIZE_MAX);
		bool ours = words != NULL && str_starts(it.key, prefix) && !is_one_of(name, words);
		const char *near = ours ? meant(name, words) : NULL;
		mk_str at = api_path(r, "metadata.annotations[%.*s]", STR_ARG(it.key));

		if (json_type(it.val) != JSON_STR && json_type(it.val) != JSON_NULL) {
			api_fault_add(r->a, &r->object->faults, 0, at,
				      "Invalid value: %.*s: must be a string: quote it",
				      STR_ARG(str_cut(json_write(r->a, it.val), WORD_MAX)));
		}
		if (near != NULL) {
			api_fault_add(r->a, &r->object->faults, RULE, at,
				      "Unknown annotation: did you mean \"" API_ANNOTATION "%s\"?",
				      near);
		}
	}
}

static void check_kind(struct api_reader *r)
{
	const char *kinds[API_OTHER + 1] = {NULL};
	mk_str kind = json_str(api_get(r->object->json, "kind"));
	const char *near;

	for (int k = 0; k < API_OTHER; k++) {
		kinds[k] = api_kind_name((enum api_kind)k);
	}
	near = str_starts(json_str(api_get(r->object->json, "apiVersion")), STR(API_ANNOTATION)) &&
			       !is_one_of(kind, kinds)
		       ? meant(kind, kinds)
		       : NULL;
	if (near != NULL) {
		api_fault_add(r->a, &r->object->faults, RULE, STR("kind"),
			      "Unknown kind \"%.*s\": did you mean \"%s\"?", STR_ARG(kind), near);
	}
}

void api_read_strange(struct api_reader *r)
{
	const struct json *spec = api_get(r->object->json, "spec");
	const char *const *notes = NULL;

	switch (r->object->kind) {
	case API_QUEUE:
		check_behaviour(r, spec, STR("spec"));
		notes = queue_notes;
		break;
	case API_TREE:
		check_tree(r, spec);
		notes = tree_notes;
		break;
	case API_LQ:
		check(r, spec, lq_words, STR("spec"), false);
		check(r, api_get(spec, "fairSharing"), sharing_words, STR("spec.fairSharing"),
		      false);
		break;
	case API_FLAVOR:
		check(r, spec, flavor_object_words, STR("spec"), false);
		notes = flavor_notes;
		break;
	case API_OTHER:
		check_kind(r);
		return;
	case API_STATUS:
	case API_ELASTIC:
	case API_COHORT:
	case API_WORKLOAD:
		break;
	}
	check_annotations(r, notes);
}
